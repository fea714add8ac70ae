"""Library functions by kernels on the CPU beside NumPy and Arrow, on the same inputs.

    python benchmarks/library.py
    python benchmarks/library.py --only join,group --rows 1000000 --markdown
    python benchmarks/library.py --processor        # where the machine has other work

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
import pyarrow as pa  # noqa: E402

from drawloom.horse.kernels.device import DeviceKernels  # noqa: E402
from drawloom.horse.kernels.dictionary import encoded  # noqa: E402
from drawloom.horse.kernels.library import CALLS  # noqa: E402
from drawloom.horse.library import FunctionValue, call  # noqa: E402
from drawloom.horse.types import BOOL, F64, I64, STR, SYM  # noqa: E402
from drawloom.horse.values import Array, ListValue, Ragged, Value, Vector, from_values  # noqa: E402
from drawloom.horse.words import ranked, words_of  # noqa: E402
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
        "16,000,000 pairs, few equal": ("loop_join", [from_values(["eq"], SYM), keys(few[:4000]), keys(dense[:4000])]),
        "16,000,000 pairs, two ranges": (
            "loop_join",
            [from_values(["lt", "gt"], SYM), keys(few[:4000], few[:4000]), keys(dense[:4000], few[:4000])],
        ),
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


def rows(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    """Rows that are picked, by where they lie."""
    data = numbers(rng.integers(-(2**62), 2**62, rows))
    half = Vector(BOOL, rng.random(rows) < 0.5)
    few = Vector(BOOL, rng.random(rows) < 0.01)
    positions = rng.integers(0, rows, rows).astype(np.int32)
    cells = Ragged(data, np.linspace(0, rows, rows // 8).astype(np.int64))
    return {
        "half of the rows": ("compress", [half, data]),
        "one in a hundred": ("compress", [few, data]),
        "half": ("where", [half]),
        "one in a hundred, where": ("where", [few]),
        "anywhere": ("index", [data, numbers(positions)]),
        "in order": ("index", [data, numbers(np.sort(positions))]),
        "anywhere, some missing": ("outer_index", [data, numbers(positions - 1)]),
        "counts before positions": ("before", [half, numbers(np.sort(positions))]),
        "two halves": ("concat", [data, data]),
        "cells of eight": ("each_item", [FunctionValue("compress"), Ragged(half, cells.offsets), cells]),
    }


def orders(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    up, two, ten = Vector(BOOL, np.ones(1, bool)), Vector(BOOL, np.ones(2, bool)), numbers(np.array([10]))
    small = keys(rng.integers(0, 2**16, rows).astype(np.int16))
    medium = keys(rng.integers(0, 2**30, rows).astype(np.int32))
    floats = keys(rng.random(rows))
    pair = keys(rng.integers(0, 2**62, rows), rng.random(rows))
    bytes_first = keys(rng.integers(0, 3, rows).astype(np.int8), rng.random(rows))
    return {
        "16 bits": ("order", [small, up, up]),
        "30 bits": ("order", [medium, up, up]),
        "doubles": ("order", [floats, up, up]),
        "64 bits and doubles": ("order", [pair, two, two]),
        "a thousand rows": ("order", [keys(rng.integers(0, 2**30, 1000)), up, up]),
        "ten of 30 bits": ("order_first", [medium, up, up, ten]),
        "ten of doubles": ("order_first", [floats, up, up, ten]),
        "ten of two keys": ("order_first", [pair, two, two, ten]),
        "ten of two keys, the first a byte": ("order_first", [bytes_first, two, two, ten]),
    }


def segments(rng: np.random.Generator, rows: int) -> dict[str, tuple[str, list[Value]]]:
    data, floats = numbers(rng.integers(-(2**40), 2**40, rows)), numbers(rng.normal(size=rows))
    ends = [np.linspace(0, rows, count + 1).astype(np.int64) for count in (rows // 4, rows // 100, 5)]
    several, many, five = [Ragged(data, e) for e in ends]
    runs = np.sort(rng.integers(0, rows // 4, rows).astype(np.int32))
    low, targets = np.zeros(rows, np.int32), rng.integers(0, rows // 4, rows).astype(np.int32)
    return {
        "sums of cells of four": ("each", [FunctionValue("sum"), several]),
        "sums of cells of a hundred": ("each", [FunctionValue("sum"), many]),
        "sums of five cells": ("each", [FunctionValue("sum"), five]),
        "sums of doubles, a hundred": ("each", [FunctionValue("sum"), Ragged(floats, many.offsets)]),
        "greatest of four": ("each", [FunctionValue("max"), several]),
        "least of doubles, a hundred": ("each", [FunctionValue("min"), Ragged(floats, many.offsets)]),
        "runs of four": ("run_start", [ListValue([numbers(runs)])]),
        "runs of four, two keys": ("run_end", [ListValue([numbers(runs), floats])]),
        "in all rows": ("search", [numbers(runs), numbers(low), numbers(low + rows), numbers(targets)]),
    }


def dictionaries(rng: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Strings that get codes, by how many of them differ."""
    count = rows // 4
    return {
        "a thousand words": words_like(rng.integers(0, 1000, count)),
        "every fourth another": words_like(rng.integers(0, count // 4, count)),
        "all distinct": words_like(rng.permutation(count)),
        "eight words each": text(rng, count).words.arrow.take(pa.array(rng.permutation(count))),
    }


def words_like(numbers: Array) -> pa.Array:
    return pa.array([f"Customer#{n:09d}" for n in numbers.tolist()], pa.large_string())


CASES: list[Callable[[np.random.Generator, int], dict[str, tuple[str, list[Value]]]]] = [
    joins, groups, likes, rows, orders, segments,
]  # fmt: skip


def best(calls: list[Callable[[], object]], clock: Callable[[], float]) -> list[float]:
    """Milliseconds of each, by turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS + 1):
        for made, run in zip(times, calls):
            start = clock()
            run()
            made.append((clock() - start) * 1e3)
    return [min(made[1:]) for made in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default="", help="builtins, with commas between them")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--processor", action="store_true", help="time of all threads on processors, not the clock's")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
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
            ours, host = best([partial(CALLS[name], kernels, arguments), partial(call, name, arguments)], clock)
            print(line.format(name, what, f"{ours:.1f}", f"{host:.1f}", f"{ours / host:.2f}"), flush=True)
    for what, strings in dictionaries(np.random.default_rng(1), options.rows).items():
        if options.only and "dictionary" not in options.only.split(","):
            continue
        sides: list[Callable[[], object]] = [
            partial(encoded, kernels, strings, np.dtype(np.int32)),
            partial(ranked, strings),
        ]
        ours, host = best(sides, clock)
        print(line.format("dictionary", what, f"{ours:.1f}", f"{host:.1f}", f"{ours / host:.2f}"), flush=True)


if __name__ == "__main__":
    main()
