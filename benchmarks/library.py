"""Library functions by kernels on the CPU beside NumPy and Arrow, on the same inputs.

    python benchmarks/library.py
    python benchmarks/library.py --only join,group --rows 1000000 --markdown

A row is one call of one builtin. Both sides run by turns; the best of five of each counts, in milliseconds, and the
first call of each, which compiles kernels and makes what columns keep, does not. What measures faster over its rows is
what `drawloom.horse.kernels.library.FASTER_ON_CPU` has.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from drawloom.horse.kernels.device import DeviceKernels  # noqa: E402
from drawloom.horse.kernels.library import CALLS  # noqa: E402
from drawloom.horse.library import call  # noqa: E402
from drawloom.horse.types import F64, I64, STR  # noqa: E402
from drawloom.horse.values import Array, ListValue, Value, Vector, from_values  # noqa: E402
from drawloom.horse.words import words_of  # noqa: E402
from drawloom.runtime import device  # noqa: E402

ROUNDS = 5


def numbers(data: Array) -> Vector:
    return Vector(F64 if data.dtype.kind == "f" else I64, data)


def keys(*columns: Array) -> ListValue:
    return ListValue([numbers(c) for c in columns])


def text(rng: np.random.Generator, rows: int) -> Vector:
    """As many words as rows: some eight words of five letters each, as comments are."""
    syllables = np.array(["quick", "small", "brown", "foxes", "sleep", "about", "final", "green"])
    picked = syllables[rng.integers(0, len(syllables), (rows, 8))]
    words = words_of([" ".join([*row, str(n)]) for n, row in enumerate(picked.tolist())])
    return Vector(STR, rng.integers(0, rows, rows).astype(np.int32), words)


def joins(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    """The sides of joins, by what is particular about them."""
    fourth = rows // 4
    dense = rng.permutation(fourth).astype(np.int32)
    sparse = rng.integers(-(2**62), 2**62, fourth)
    some = rng.integers(0, fourth, rows)
    pair = [rng.integers(0, 2**31, fourth).astype(np.int32), rng.integers(0, 2**31, fourth).astype(np.int32)]
    few = rng.integers(0, rows // 32, fourth).astype(np.int32)
    return {
        "dense keys, each once": ("join", [keys(dense), keys(some.astype(np.int32))]),
        "dense keys, in order": ("join", [keys(np.arange(fourth)), keys(np.sort(some))]),
        "dense keys, eight each": ("join", [keys(few), keys(some.astype(np.int32))]),
        "sparse keys, each once": ("join", [keys(sparse), keys(sparse[some])]),
        "two sparse keys": ("join", [keys(*pair), keys(*[p[some] for p in pair])]),
        "dense key": ("contains", [keys(some), keys(dense[: fourth // 2])]),
        "sparse key": ("contains", [keys(sparse[some]), keys(sparse[: fourth // 2])]),
        "a hundred options": ("member", [numbers(some), numbers(dense[:100])]),
        "every pair": ("cross", [numbers(np.zeros(rows // 8)), numbers(np.zeros(8))]),
    }


def groups(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    sparse = rng.integers(-(2**62), 2**62, 100)
    wide = rng.integers(-(2**62), 2**62, rows // 4)
    return {
        "a hundred values": ("group", [keys(rng.integers(0, 100, rows).astype(np.int8))]),
        "a hundred sparse values": ("group", [keys(sparse[rng.integers(0, 100, rows)])]),
        "as many as a fourth of the rows": ("group", [keys(rng.integers(0, rows // 4, rows).astype(np.int32))]),
        "as many, in order": ("group", [keys(np.sort(rng.integers(0, rows // 4, rows).astype(np.int32)))]),
        "as many, sparse": ("group", [keys(wide[rng.integers(0, rows // 4, rows)])]),
        "two keys": ("group", [keys(sparse[rng.integers(0, 100, rows)], rng.random(9)[rng.integers(0, 9, rows)])]),
        "values, a hundred": ("unique", [numbers(sparse[rng.integers(0, 100, rows)])]),
        "values, a fourth": ("unique", [numbers(rng.integers(0, rows // 4, rows))]),
    }


def likes(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    words = text(rng, rows // 4)
    patterns = {"prefix": "quick%", "suffix": "%9", "within": "%green%", "two parts": "%final%foxes%", "_": "%q_ick%"}
    return {name: ("like", [words, from_values([p], STR)]) for name, p in patterns.items()}


CASES: list[Callable[[np.random.Generator, int], dict[str, tuple[str, list[Value]]]]] = [joins, groups, likes]


def best(calls: list[Callable[[], object]]) -> list[float]:
    """Milliseconds of each, by turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS + 1):
        for made, run in zip(times, calls):
            start = time.perf_counter()
            run()
            made.append((time.perf_counter() - start) * 1e3)
    return [min(made[1:]) for made in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default="", help="builtins, with commas between them")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    kernels = DeviceKernels(device("cpu"))
    line = "| `{}` | {} | {} | {} | {} |" if options.markdown else "{:10} {:34} {:>10} {:>10} {:>7}"
    print(line.format("function", "input", "kernels", "host", "ratio"))
    if options.markdown:
        print("| --- | --- | ---: | ---: | ---: |")
    for cases in CASES:
        for what, (name, arguments) in cases(np.random.default_rng(1), options.rows).items():
            if options.only and name not in options.only.split(","):
                continue
            assert CALLS[name](kernels, arguments) is not None
            ours, host = best([partial(CALLS[name], kernels, arguments), partial(call, name, arguments)])
            print(line.format(name, what, f"{ours:.1f}", f"{host:.1f}", f"{ours / host:.2f}"), flush=True)


if __name__ == "__main__":
    main()
