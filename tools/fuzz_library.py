"""Random calls of library functions by kernels and on the host: finds those whose values differ in any bit.

    python -m tools.fuzz_library --count 2000 --seed 0 --device cpu

Keys of joins, groups and orders are of every kind and skew, patterns of LIKE of every form. The exit status is 1 when
any call differed; each one that does is printed with the seed that makes it again (``--seed N --count 1``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from drawloom.horse.kernels import groups
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import FunctionValue, call
from drawloom.horse.types import BOOL, F32, F64, I64, STR, SYM
from drawloom.horse.values import Array, Dictionary, ListValue, Ragged, Value, Vector, from_values
from drawloom.horse.words import words_of
from drawloom.runtime import device
from tools import driver
from tools.driver import Verdict

Random = np.random.Generator
SIZES: Final = (0, 1, 2, 31, 32, 33, 97, 500, 1025, 5000)
WORDS: Final = words_of(["", "a", "ab", "abab", "b%", "é", "éa", "🙂", "🙂b_", "\\", "aé🙂b", "bb\n", "abcabcab"])
PARTS: Final = ["a", "b", "ab", "é", "🙂", "%", "%", "_", "\\%", "\\_", "\\", "\n"]
_ODD: Final = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1e30])


def floats(rng: Random, rows: int, values: int) -> Array:
    return np.where(rng.random(rows) < 0.5, rng.choice(_ODD, rows), rng.integers(0, values + 1, rows) / 3)


#: A column of so many rows with so many values, by what kernels find in memory.
COLUMNS: Final[dict[str, Callable[[Random, int, int], Vector]]] = {
    "i8": lambda r, n, m: Vector(I64, r.integers(-min(m, 128), min(m, 127) + 1, n).astype(np.int8)),
    "i16": lambda r, n, m: Vector(I64, r.integers(0, m + 1, n).astype(np.int16)),
    "i32": lambda r, n, m: Vector(I64, (r.integers(0, m + 1, n) * 70_001 - 2**30).astype(np.int32)),
    "i64": lambda r, n, m: Vector(I64, r.integers(0, m + 1, n) * 0x1234_5678_9ABC - 2**61),
    "f32": lambda r, n, m: Vector(F32, floats(r, n, m).astype(np.float32)),
    "f64": lambda r, n, m: Vector(F64, floats(r, n, m)),
    "str": lambda r, n, m: Vector(STR, r.integers(0, min(m + 1, len(WORDS)), n).astype(np.int8), WORDS),
}


def random_call(rng: Random) -> tuple[str, list[Value]]:
    name = str(rng.choice(["join", "join", "contains", "member", "group", "group", "unique", "loop_join", "like"]))
    kinds = [str(k) for k in rng.choice(list(COLUMNS), 1 if name in ("member", "unique") else int(rng.integers(1, 4)))]
    left, right = int(rng.choice(SIZES)), int(rng.choice(SIZES))
    values = int(rng.choice([1, 3, 40, 1000, 30_000]))

    def side(rows: int) -> list[Value]:
        return [COLUMNS[kind](rng, rows, values) for kind in kinds]

    if name == "like":
        pattern = "".join([str(p) for p in rng.choice(PARTS, int(rng.integers(0, 7)))])
        return name, [COLUMNS["str"](rng, left, 100), from_values([pattern], STR)]
    if name in ("member", "unique"):
        return name, [*side(left), *(side(right) if name == "member" else [])]
    lists: list[Value] = [ListValue(side(left)), *([] if name == "group" else [ListValue(side(right))])]
    if name == "loop_join":
        tests = rng.choice(["eq", "neq", "lt", "leq", "gt", "geq"], len(kinds))
        return name, [from_values([str(t) for t in tests], SYM), *lists]
    return name, lists


PICKING: Final = ("index", "outer_index", "index_a", "before", "touched", "search", "search_after")


def picking(rng: Random, name: str, column: Vector, mask: Vector, places: Vector) -> list[Value]:
    """The operands of a call that reads or writes at positions."""
    rows, picks = len(column), len(places)
    if name == "outer_index":
        return [column, Vector(I64, np.where(rng.random(picks) < 0.2, -1, places.data))]
    if name == "index_a":
        return [column, places, column.take(rng.integers(0, rows, picks if rng.random() < 0.8 else 1))]
    if name.startswith("search"):
        low = rng.integers(0, rows + 1, picks)
        bounds = [Vector(I64, low.astype(np.int32)), Vector(I64, rng.integers(low, rows + 1))]
        return [Vector(I64, np.sort(rng.integers(-50, 50, rows))), *bounds, Vector(I64, rng.integers(-60, 60, picks))]
    if name == "touched":
        return [places, mask]
    return [column if name == "index" else mask, places]


def random_rows(rng: Random) -> tuple[str, list[Value]]:
    """A call of what sorts, picks, compacts, or reduces rows."""
    name = str(rng.choice([*["order"] * 4, *["each"] * 2, "compress", "order_first", "run_start", "run_end", *PICKING]))
    rows, values = int(rng.choice([2, *SIZES[3:], 20_000])), int(rng.choice([1, 3, 40, 1000, 30_000]))
    columns = [COLUMNS[str(kind)](rng, rows, values) for kind in rng.choice(list(COLUMNS), int(rng.integers(1, 4)))]
    if name.startswith("run"):
        return name, [ListValue(list(columns))]
    if name.startswith("order"):
        for column in columns:
            column.valid = rng.random(rows) < 0.8 if rng.random() < 0.3 else None
        flags = [Vector(BOOL, rng.random(len(columns)) < 0.5) for _ in range(2)]
        wanted = [Vector(I64, rng.integers(0, 200, 1))] if name == "order_first" else []
        return name, [ListValue(list(columns)), *flags, *wanted]
    mask = Vector(BOOL, rng.random(rows) < rng.random())
    if name == "compress":
        return name, [mask, columns[0]]
    places = Vector(I64, rng.integers(0, rows, int(rng.choice(SIZES))))
    if name in PICKING:
        return name, picking(rng, name, columns[0], mask, places)
    cuts = np.sort(rng.integers(0, rows + 1, int(rng.integers(0, 2 * rows))))
    cells = Ragged(columns[0], np.concatenate([[0], cuts, [rows]]))
    exact = columns[0].type == I64
    return name, [FunctionValue(str(rng.choice(["min", "max", *(["sum", "avg"] if exact else [])]))), cells]


def arrays(value: Value | None) -> list[Array]:
    """What a value holds."""
    if isinstance(value, Dictionary):
        assert isinstance(value.values, Ragged)
        return [*arrays(value.keys), *arrays(value.values.flat), value.values.offsets]
    if isinstance(value, ListValue):
        return [made for cell in value.cells for made in arrays(cell)]
    if isinstance(value, Ragged):
        return [*arrays(value.flat), value.offsets]
    assert isinstance(value, Vector), f"no kernel took the call, or gave a {type(value).__name__}"
    return [value.data]


def equal(a: Array, b: Array) -> bool:
    """Whether the values are, NaN being itself."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def differs(kernels: DeviceKernels, seed: int) -> str:
    """The call of a seed, where its values differ; else ""."""
    rng = np.random.default_rng(seed)
    name, arguments = random_call(rng) if rng.random() < 0.5 else random_rows(rng)
    by_hash = bool(rng.random() < 0.5)
    chosen, groups._prefers_hash = groups._prefers_hash, lambda *given: by_hash
    try:
        ours, host = arrays(CALLS[name](kernels, arguments)), arrays(call(name, arguments))
    finally:
        groups._prefers_hash = chosen
    same = len(ours) == len(host) and all(equal(a, b) for a, b in zip(ours, host))
    return "" if same else f"@{name}, {'by hash, ' if by_hash else ''}seed {seed}"


@cache
def kernels_on(name: str) -> DeviceKernels:
    return DeviceKernels(device(name))


def verdict(seed: int, device: str) -> list[Verdict]:
    return [Verdict(differs(kernels_on(device), seed))]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_library")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    return driver.run(given, [given.device], partial(verdict, device=given.device), driver.say)


if __name__ == "__main__":
    sys.exit(main())
