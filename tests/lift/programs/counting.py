"""Histogram (an atomic map) and prefix sum (scans of blocks, of their sums, and a last addition)."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    add,
    array,
    float32,
    fun,
    id,
    join,
    kernel,
    map_atomic,
    map_atomic_glb,
    map_atomic_lcl,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    reduce_seq,
    replicate,
    scan,
    scan_exclusive_seq,
    scan_seq,
    size,
    split,
    split_guarded,
    split_padded,
    take,
    to_global,
    transpose,
    user_function,
    zip,
)
from tests.lift.programs.benchmark import Array, Benchmark, Reference, gamma, uniform

BINS = 16
CHUNK = 32
BIN = user_function(f"(int, int) bin(float x) {{ return tuple((int)((x + 1.0f) * {BINS / 2}f), 1); }}")


def histogram() -> Lambda:
    n = size("N")
    return fun(array(float32, n), lambda xs: map_atomic(BIN, add)(replicate(BINS, 0), xs), name="histogram")


def histogram_global() -> Lambda:
    return fun(
        array(float32, size("N")), lambda xs: map_atomic_glb(BIN, add)(replicate(BINS, 0), xs), name="histogramGlobal"
    )


def histogram_groups() -> Lambda:
    """Return a histogram of every chunk in local memory, and a second kernel that adds them up."""
    n = size("N")
    chunks = fun(
        None,
        lambda xs: (
            split_guarded(CHUNK, xs)
            >> map_wrg(lambda chunk: map_atomic_lcl(BIN, add)(replicate(BINS, 0), chunk) >> to_global(map_lcl(id)))
        ),
    )
    total = fun(None, lambda bins: transpose(bins) >> map_glb(reduce_seq(0, add) >> to_global(map_seq(id))) >> join)
    return fun(array(float32, n), lambda xs: kernel(total)(kernel(chunks)(xs)), name="histogramGroups")


def histogram_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    (n,) = sizes
    return [uniform(random, n)]


def histogram_reference(xs: Array) -> Reference:
    bins = ((xs + np.float32(1)) * np.float32(BINS / 2)).astype(np.int64)
    return Reference(np.bincount(bins, minlength=BINS), np.zeros(BINS))


BLOCK = 8


def prefix_sum() -> Lambda:
    return fun(array(float32, size("N")), lambda xs: scan(0.0, add)(xs), name="prefixSum")


def prefix_sum_kernels() -> Lambda:
    """Return three kernels: sums of blocks, their exclusive scan, and scans of padded blocks from there."""
    n = size("N")
    sums = fun(
        None, lambda xs: split_guarded(BLOCK, xs) >> map_glb(reduce_seq(0.0, add) >> to_global(map_seq(id))) >> join
    )
    starts = fun(None, lambda totals: totals >> split_all(n) >> map_glb(scan_exclusive_seq(0.0, add)) >> join)
    blocks = fun(
        None,
        None,
        lambda xs, starts: (
            zip(split_padded(BLOCK, 0.0, n)(xs), starts)
            >> map_glb(lambda chunk, start: scan_seq(start, add)(chunk))
            >> join
            >> take(n)
        ),
    )
    return fun(
        array(float32, n), lambda xs: kernel(blocks)(xs, kernel(starts)(kernel(sums)(xs))), name="prefixSumKernels"
    )


def split_all(n: Any) -> Any:
    """Return a split into one chunk, so that one work-item scans all sums."""
    return split((n + BLOCK - 1) // BLOCK)


def prefix_sum_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    (n,) = sizes
    return [uniform(random, n)]


def prefix_sum_reference(xs: Array) -> Reference:
    xs = xs.astype(np.float64)
    return Reference(np.cumsum(xs), gamma(len(xs) + 1) * np.cumsum(np.abs(xs)))


BENCHMARKS = [
    Benchmark(
        "Histogram",
        histogram,
        {"global": histogram_global, "groups": histogram_groups},
        histogram_arguments,
        histogram_reference,
        [(1,), (7,), (100,), (997,)],
    ),
    Benchmark(
        "Prefix sum",
        prefix_sum,
        {"kernels": prefix_sum_kernels},
        prefix_sum_arguments,
        prefix_sum_reference,
        [(1,), (8,), (16,), (31,), (64,), (97,)],
    ),
]
