"""Every library function that has kernels beside the host's, at sizes around a warp and a tile, and over a million
rows."""

from collections.abc import Callable

import numpy as np
import pytest

from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import FunctionValue, call
from drawloom.horse.types import BOOL, I64, STR, SYM
from drawloom.horse.values import Dictionary, ListValue, Ragged, Value, Vector, from_values
from drawloom.horse.words import words_of
from tests.horse.kernels.checks import SIZES, kernels_on

MILLION = 1_000_000
Maker = Callable[[np.random.Generator, int], list[Value]]


def integers(rng: np.random.Generator, rows: int, high: int = 2**40) -> Vector:
    return Vector(I64, rng.integers(0, max(high, 1), rows))


def mask(rng: np.random.Generator, rows: int) -> Vector:
    return Vector(BOOL, rng.random(rows) < 0.3)


def places(rng: np.random.Generator, rows: int, low: int = 0) -> Vector:
    """As many positions of a vector of so many rows, from ``low`` on."""
    return Vector(I64, rng.integers(low, rows, rows, np.int32) if rows else np.zeros(0, np.int32))


def ends(rows: int, each: int) -> np.ndarray:
    return np.append(np.arange(0, rows, each), rows)


def cells(vector: Vector, each: int = 10) -> Ragged:
    return Ragged(vector, ends(len(vector), each))


def keys(*columns: Vector) -> ListValue:
    return ListValue(list(columns))


def sorted_keys(rng: np.random.Generator, rows: int) -> Vector:
    return Vector(I64, np.sort(rng.integers(0, rows // 4 + 1, rows)))


def flags(value: bool) -> Vector:
    return Vector(BOOL, np.array([value]))


def one(value: int) -> Vector:
    return Vector(I64, np.array([value]))


def searched(rng: np.random.Generator, rows: int) -> list[Value]:
    """For a fifth as many values: the host's search over a million takes a second."""
    count = min(rows, 100 + rows // 5)
    low = Vector(I64, np.zeros(count, np.int32))
    return [sorted_keys(rng, rows), low, Vector(I64, np.full(count, rows)), integers(rng, count, rows // 4 + 1)]


def matched(rng: np.random.Generator, rows: int) -> list[Value]:
    words = words_of([f"word {n} of {n % 3}" for n in range(max(rows // 5, 1))])
    codes = rng.integers(0, len(words), rows, np.int32)
    return [Vector(STR, codes, words), from_values(["%1%of _"], STR)]


#: Arguments of each function, by how many rows the longest of them has.
ARGUMENTS: dict[str, Maker] = {
    "index": lambda rng, n: [integers(rng, n), places(rng, n)],
    "outer_index": lambda rng, n: [integers(rng, n), places(rng, n, -1)],
    "top": lambda rng, n: [integers(rng, n), one(n // 3), one(-1)],
    "each_right": lambda rng, n: [FunctionValue("index"), integers(rng, n), cells(places(rng, n))],
    "compress": lambda rng, n: [Vector(BOOL, np.arange(n) % 3 == 0) if n == 1 else mask(rng, n), integers(rng, n)],
    "where": lambda rng, n: [mask(rng, n)],
    "before": lambda rng, n: [mask(rng, n), places(rng, n)],
    "each_item": lambda rng, n: [FunctionValue("compress"), cells(mask(rng, n)), cells(integers(rng, n))],
    "touched": lambda rng, n: [places(rng, n), integers(rng, n)],
    "index_a": lambda rng, n: [integers(rng, n), places(rng, n), integers(rng, n)],
    "concat": lambda rng, n: [integers(rng, n // 2), integers(rng, n - n // 2)],
    "raze": lambda rng, n: [keys(integers(rng, n // 3), integers(rng, n - n // 3))],
    "order": lambda rng, n: [keys(integers(rng, n, 1000)), flags(False), flags(True)],
    "order_first": lambda rng, n: [keys(integers(rng, n)), flags(True), flags(True), one(10)],
    "run_start": lambda rng, n: [keys(sorted_keys(rng, n))],
    "run_end": lambda rng, n: [keys(sorted_keys(rng, n))],
    "search": searched,
    "search_after": searched,
    "each": lambda rng, n: [FunctionValue("sum"), cells(integers(rng, n))],
    "each_slice": lambda rng, n: [
        FunctionValue("sum"), integers(rng, n), Vector(I64, np.maximum(np.arange(n) - 2, 0)), Vector(I64, np.arange(n)),
    ],
    "group": lambda rng, n: [keys(integers(rng, n, n // 4))],
    "unique": lambda rng, n: [integers(rng, n, n // 4)],
    "join": lambda rng, n: [keys(integers(rng, n // 4, n)), keys(integers(rng, n, n))],
    "contains": lambda rng, n: [keys(integers(rng, n, n)), keys(integers(rng, n // 4, n))],
    "member": lambda rng, n: [integers(rng, n, n), integers(rng, n // 4, n)],
    "cross": lambda rng, n: [integers(rng, n // 8), integers(rng, 8)],
    "loop_join": lambda rng, n: [
        from_values(["lt", "geq"], SYM), keys(*[integers(rng, n, 100) for _ in range(2)]),
        keys(*[integers(rng, 5, 100) for _ in range(2)]),
    ],
    "like": matched,
    "present": lambda rng, n: [integers(rng, n, n), one(1), one(n)],
}  # fmt: skip


def check(name: str, rows: int) -> None:
    given = ARGUMENTS[name](np.random.default_rng(rows), rows)
    made, wanted = CALLS[name](kernels_on("cpu"), given), call(name, given)
    if made is None:
        assert rows == 0 and name in ("search", "search_after"), "in no rows the host looks"
        return
    assert equal(made, wanted)


def equal(made: Value, wanted: Value) -> bool:
    """Whether two values are, without an object for each row."""
    if isinstance(made, Ragged) and isinstance(wanted, Ragged):
        return np.array_equal(made.offsets, wanted.offsets) and equal(made.flat, wanted.flat)
    if isinstance(made, ListValue) and isinstance(wanted, ListValue):
        return len(made.cells) == len(wanted.cells) and all(map(equal, made.cells, wanted.cells))
    if isinstance(made, Dictionary) and isinstance(wanted, Dictionary):
        return equal(made.keys, wanted.keys) and equal(made.values, wanted.values)
    assert isinstance(made, Vector) and isinstance(wanted, Vector)
    return made.type == wanted.type and np.array_equal(made.data, wanted.data)


@pytest.mark.parametrize("name", CALLS)
def test_every_library_function_at_every_size(name: str) -> None:
    for rows in SIZES:
        check(name, rows)


@pytest.mark.parametrize("name", CALLS)
def test_every_library_function_over_a_million_rows(name: str) -> None:
    check(name, MILLION)
