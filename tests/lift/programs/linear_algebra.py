"""GEMV, ATAX, GESUMMV and SYRK: after CLBlast's kernels and PolyBench's programs."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    add,
    array,
    float32,
    fun,
    gather,
    id,
    join,
    kernel,
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    mult,
    mult_and_sum_up,
    reduce,
    reduce_seq,
    size,
    split,
    split_padded,
    to_global,
    to_local,
    transpose,
    user_function,
    zip,
)
from drawloom.lift.arithmetic import ceil_div
from tests.lift.programs.benchmark import Array, Benchmark, Reference, gamma, uniform

SCALE_AND_ADD = user_function(
    "float scaleAndAdd(float product, float alpha, float y, float beta) { return alpha * product + beta * y; }"
)

GROUP = 8  # work-items of a work-group


def dot_product(row: Any, x: Any) -> Any:
    """Return the sum of products as a high-level expression, an array of one element."""
    return zip(row, x) >> map(mult) >> reduce(0, add)


# GEMV: alpha A x + beta y


def gemv() -> Lambda:
    n, m = size("N"), size("M")
    return fun(
        array(float32, n, m),
        array(float32, m),
        array(float32, n),
        float32,
        float32,
        lambda matrix, x, y, alpha, beta: (
            zip(matrix, y)
            >> map(lambda row, old: map(lambda s: SCALE_AND_ADD(s, alpha, old, beta), dot_product(row, x)))
            >> join
        ),
        name="gemv",
    )


def gemv_global() -> Lambda:
    """Return GEMV with one work-item for each row."""
    n, m = size("N"), size("M")
    return fun(
        array(float32, n, m),
        array(float32, m),
        array(float32, n),
        float32,
        float32,
        lambda matrix, x, y, alpha, beta: (
            zip(matrix, y)
            >> map_glb(
                lambda row, old: (
                    zip(row, x)
                    >> reduce_seq(0, mult_and_sum_up)
                    >> to_global(map_seq(lambda s: SCALE_AND_ADD(s, alpha, old, beta)))
                )
            )
            >> join
        ),
        name="gemvGlobal",
    )


def gemv_groups() -> Lambda:
    """Return GEMV with a work-group for each row: strided partial sums in local memory, coalesced reads.

    Rows are filled up with zeros to a multiple of the work-group's size.
    """
    n, m = size("N"), size("M")
    steps = ceil_div(m, GROUP)
    strided = gather(lambda i: i // steps + GROUP * (i % steps))
    fill_up = split_padded(GROUP, 0.0, m) >> join
    return fun(
        array(float32, n, m),
        array(float32, m),
        array(float32, n),
        float32,
        float32,
        lambda matrix, x, y, alpha, beta: (
            zip(matrix, y)
            >> map_wrg(
                lambda row, old: (
                    zip(fill_up(row), fill_up(x))
                    >> strided
                    >> split(steps)
                    >> map_lcl(reduce_seq(0, mult_and_sum_up) >> to_local(map_seq(id)))
                    >> join
                    >> split(GROUP)
                    >> map_lcl(reduce_seq(0, add) >> to_global(map_seq(lambda s: SCALE_AND_ADD(s, alpha, old, beta))))
                    >> join
                )
            )
            >> join
        ),
        name="gemvGroups",
    )


def gemv_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    n, m = sizes
    return [uniform(random, n, m), uniform(random, m), uniform(random, n), 1.5, -0.75]


def gemv_reference(a: Array, x: Array, y: Array, alpha: float, beta: float) -> Reference:
    a, x, y = [one.astype(np.float64) for one in (a, x, y)]
    magnitude = abs(alpha) * (np.abs(a) @ np.abs(x)) + abs(beta) * np.abs(y)
    return Reference(alpha * (a @ x) + beta * y, gamma(x.size + 3) * magnitude)


# ATAX: Aᵀ (A x), two kernels


def atax() -> Lambda:
    n, m = size("N"), size("M")
    return fun(
        array(float32, n, m),
        array(float32, m),
        lambda matrix, x: (
            map(lambda row: dot_product(row, x), matrix)
            >> join
            >> (lambda product: map(lambda column: dot_product(column, product), transpose(matrix)) >> join)
        ),
        name="atax",
    )


def atax_kernels() -> Lambda:
    n, m = size("N"), size("M")

    def rows_times(matrix: Any, x: Any) -> Any:
        return (
            map_glb(lambda row: zip(row, x) >> reduce_seq(0, mult_and_sum_up) >> to_global(map_seq(id)), matrix) >> join
        )

    first = fun(None, None, rows_times)
    second = fun(None, None, lambda matrix, product: rows_times(transpose(matrix), product))
    return fun(
        array(float32, n, m),
        array(float32, m),
        lambda matrix, x: kernel(second)(matrix, kernel(first)(matrix, x)),
        name="ataxKernels",
    )


def atax_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    n, m = sizes
    return [uniform(random, n, m), uniform(random, m)]


def atax_reference(a: Array, x: Array) -> Reference:
    a, x = a.astype(np.float64), x.astype(np.float64)
    n, m = a.shape
    return Reference(a.T @ (a @ x), gamma(n + m + 1) * (np.abs(a).T @ (np.abs(a) @ np.abs(x))))


# GESUMMV: alpha A x + beta B x


def gesummv() -> Lambda:
    n, m = size("N"), size("M")
    return fun(
        array(float32, n, m),
        array(float32, n, m),
        array(float32, m),
        float32,
        float32,
        lambda a, b, x, alpha, beta: (
            zip(a, b)
            >> map(
                lambda row_a, row_b: (
                    zip(dot_product(row_a, x), dot_product(row_b, x))
                    >> map(lambda s, t: SCALE_AND_ADD(s, alpha, t, beta))
                )
            )
            >> join
        ),
        name="gesummv",
    )


def gesummv_global() -> Lambda:
    n, m = size("N"), size("M")

    def product(row: Any, x: Any) -> Any:
        return zip(row, x) >> reduce_seq(0, mult_and_sum_up)

    return fun(
        array(float32, n, m),
        array(float32, n, m),
        array(float32, m),
        float32,
        float32,
        lambda a, b, x, alpha, beta: (
            zip(a, b)
            >> map_glb(
                lambda row_a, row_b: (
                    zip(product(row_a, x), product(row_b, x))
                    >> to_global(map_seq(lambda s, t: SCALE_AND_ADD(s, alpha, t, beta)))
                )
            )
            >> join
        ),
        name="gesummvGlobal",
    )


def gesummv_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    n, m = sizes
    return [uniform(random, n, m), uniform(random, n, m), uniform(random, m), 1.5, -0.75]


def gesummv_reference(a: Array, b: Array, x: Array, alpha: float, beta: float) -> Reference:
    a, b, x = [one.astype(np.float64) for one in (a, b, x)]
    magnitude = abs(alpha) * (np.abs(a) @ np.abs(x)) + abs(beta) * (np.abs(b) @ np.abs(x))
    return Reference(alpha * (a @ x) + beta * (b @ x), gamma(x.size + 3) * magnitude)


# SYRK: alpha A Aᵀ + beta C


def syrk() -> Lambda:
    n, k = size("N"), size("K")
    return fun(
        array(float32, n, k),
        array(float32, n, n),
        float32,
        float32,
        lambda a, c, alpha, beta: (
            zip(a, c)
            >> map(
                lambda row, old_row: (
                    zip(a, old_row)
                    >> map(
                        lambda other, old: map(lambda s: SCALE_AND_ADD(s, alpha, old, beta), dot_product(row, other))
                    )
                    >> join
                )
            )
        ),
        name="syrk",
    )


def syrk_groups() -> Lambda:
    """Return SYRK by work-groups of blocks of rows, which keep one row each in local memory; any size fits."""
    n, k = size("N"), size("K")
    return fun(
        array(float32, n, k),
        array(float32, n, n),
        float32,
        float32,
        lambda a, c, alpha, beta: (
            zip(a, c)
            >> map_wrg(
                lambda row, old_row: (
                    to_local(map_lcl(id))(row)
                    >> (
                        lambda local_row: (
                            zip(a, old_row)
                            >> map_lcl(
                                lambda other, old: (
                                    zip(local_row, other)
                                    >> reduce_seq(0, mult_and_sum_up)
                                    >> to_global(map_seq(lambda s: SCALE_AND_ADD(s, alpha, old, beta)))
                                )
                            )
                            >> join
                        )
                    )
                )
            )
        ),
        name="syrkGroups",
    )


def syrk_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    n, k = sizes
    return [uniform(random, n, k), uniform(random, n, n), 1.5, -0.75]


def syrk_reference(a: Array, c: Array, alpha: float, beta: float) -> Reference:
    a, c = a.astype(np.float64), c.astype(np.float64)
    magnitude = abs(alpha) * (np.abs(a) @ np.abs(a).T) + abs(beta) * np.abs(c)
    return Reference(alpha * (a @ a.T) + beta * c, gamma(a.shape[1] + 3) * magnitude)


SIZES = [(1, 8), (4, 16), (7, 13), (13, 24), (31, 37)]

BENCHMARKS = [
    Benchmark(
        "GEMV",
        gemv,
        {"global": gemv_global, "groups": gemv_groups},
        gemv_arguments,
        gemv_reference,
        SIZES,
    ),
    Benchmark("ATAX", atax, {"kernels": atax_kernels}, atax_arguments, atax_reference, SIZES),
    Benchmark("GESUMMV", gesummv, {"global": gesummv_global}, gesummv_arguments, gesummv_reference, SIZES),
    Benchmark("SYRK", syrk, {"groups": syrk_groups}, syrk_arguments, syrk_reference, SIZES),
]
