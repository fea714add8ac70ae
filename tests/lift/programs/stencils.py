"""FDTD-2D (after PolyBench) and a Poisson stencil in three dimensions."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    add,
    array,
    concat,
    drop,
    float32,
    fun,
    head,
    id,
    join,
    kernel,
    map,
    map_glb,
    map_seq,
    mult,
    mult_and_sum_up,
    reduce,
    reduce_seq,
    replicate,
    size,
    slide,
    take,
    to_global,
    transpose,
    user_function,
    zip,
)
from tests.lift.programs.benchmark import Array, Benchmark, Reference, gamma, uniform

# FDTD-2D: one time step over ex of N × (M + 1), ey of (N + 1) × M and hz of N × M

ELECTRIC = user_function("float electric(float e, float here, float before) { return e - 0.5f * (here - before); }")
MAGNETIC = user_function(
    "float magnetic(float h, float ex, float nextX, float ey, float nextY)"
    "{ return h - 0.7f * (nextX - ex + nextY - ey); }"
)


def fdtd_with(outer: Any, inner: Any, kernels: Any, name: str) -> Lambda:
    """Return a time step: ey from hz, ex from hz, then hz from both; the first row of ey is `source`."""
    n, m = size("N"), size("M")

    def inner_rows(field: Any, previous: Any, current: Any) -> Any:
        return zip(field, current, previous) >> outer(
            lambda row, here, before: zip(row, here, before) >> inner(ELECTRIC)
        )

    def next_ey(ey: Any, hz: Any, source: Any) -> Any:
        first = replicate(1, replicate(m, source))
        return concat(first, take(n, drop(1, ey))) >> (
            lambda fields: concat(
                take(1, fields) >> outer(lambda row: row >> inner(id)),
                inner_rows(drop(1, fields) >> take(n - 1), take(n - 1, hz), drop(1, hz)),
                drop(n, fields) >> outer(lambda row: row >> inner(id)),
            )
        )

    def next_ex(ex: Any, hz: Any) -> Any:
        return transpose(
            concat(
                take(1, transpose(ex)) >> outer(lambda row: row >> inner(id)),
                inner_rows(drop(1, transpose(ex)) >> take(m - 1), take(m - 1, transpose(hz)), drop(1, transpose(hz))),
                drop(m, transpose(ex)) >> outer(lambda row: row >> inner(id)),
            )
        )

    def next_hz(hz: Any, ex: Any, ey: Any) -> Any:
        return zip(hz, ex, take(n, ey), drop(1, ey)) >> outer(
            lambda h, x, y, below: zip(h, take(m, x), drop(1, x), y, below) >> inner(MAGNETIC)
        )

    first, second, third = (
        fun(None, None, None, next_ey),
        fun(None, None, next_ex),
        fun(None, None, None, next_hz),
    )

    def step(ex: Any, ey: Any, hz: Any, source: Any) -> Any:
        return fun(
            None,
            None,
            lambda new_ey, new_ex: (new_ex, new_ey, kernels(third)(hz, new_ex, new_ey)),
        )(kernels(first)(ey, hz, source), kernels(second)(ex, hz))

    return fun(array(float32, n, m + 1), array(float32, n + 1, m), array(float32, n, m), float32, step, name=name)


def fdtd() -> Lambda:
    return fdtd_with(map, map, lambda function: function, "fdtd")


def fdtd_kernels() -> Lambda:
    return fdtd_with(
        lambda function: map_glb(function, dim=1), lambda function: map_glb(function, dim=0), kernel, "fdtdKernels"
    )


def fdtd_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    n, m = sizes
    return [uniform(random, n, m + 1), uniform(random, n + 1, m), uniform(random, n, m), 0.25]


def fdtd_reference(ex: Array, ey: Array, hz: Array, source: float) -> Reference:
    def step(ex: Array, ey: Array, hz: Array, source: float, sign: float) -> tuple[Array, Array, Array]:
        ex, ey = ex.copy(), ey.copy()
        ey[0] = source
        ey[1:-1] -= 0.5 * (hz[1:] + sign * hz[:-1]) * -sign
        ex[:, 1:-1] -= 0.5 * (hz[:, 1:] + sign * hz[:, :-1]) * -sign
        new = hz - -sign * np.float32(0.7).astype(np.float64) * (
            ex[:, 1:] + sign * ex[:, :-1] + ey[1:] + sign * ey[:-1]
        )
        return ex, ey, new

    ex, ey, hz = ex.astype(np.float64), ey.astype(np.float64), hz.astype(np.float64)
    values = step(ex, ey, hz, source, -1.0)
    sizes = step(np.abs(ex), np.abs(ey), np.abs(hz), abs(source), 1.0)
    return Reference(values, tuple(gamma(10) * np.abs(one) for one in sizes))


# Poisson: 19 points of the cube around every inner point

CENTRE, FACE, EDGE = 2.666, -0.166, -0.0833


def weight(distance: int) -> float:
    return {0: CENTRE, 1: FACE, 2: EDGE, 3: 0.0}[distance]


WEIGHTS = [weight(abs(x) + abs(y) + abs(z)) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]


def cubes(grid: Any) -> Any:
    """Return the 27 points around every inner point, as arrays of 27 elements.

    Windows of planes, then of rows, then of points: every slide moves its window behind the dimensions that remain.
    """
    planes = grid >> slide(3, 1)  # [x][dx][y][z]
    rows = planes >> map(map(slide(3, 1)))  # [x][dx][y][dy][z]
    points = rows >> map(map(map(map(slide(3, 1)))))  # [x][dx][y][dy][z][dz]
    grouped = points >> map(transpose) >> map(map(map(transpose)))  # [x][y][dx][z][dy][dz]
    together = grouped >> map(map(transpose))  # [x][y][z][dx][dy][dz]
    return together >> map(map(map(join << join)))


def poisson_with(outer: Any, middle: Any, inner: Any, weigh: Any, name: str) -> Lambda:
    return fun(
        array(float32, size("X"), size("Y"), size("Z")),
        lambda grid: cubes(grid) >> outer(middle(inner(lambda cube: weigh(zip(cube, WEIGHTS)) >> head))),
        name=name,
    )


def poisson() -> Lambda:
    return poisson_with(map, map, map, lambda pairs: pairs >> map(mult) >> reduce(0.0, add), "poisson")


def poisson_global() -> Lambda:
    return poisson_with(
        lambda function: map_glb(function, dim=2),
        lambda function: map_glb(function, dim=1),
        lambda function: map_glb(function, dim=0),
        lambda pairs: pairs >> reduce_seq(0.0, mult_and_sum_up) >> to_global(map_seq(id)),
        "poissonGlobal",
    )


def poisson_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    return [uniform(random, *sizes)]


def poisson_reference(grid: Array) -> Reference:
    windows = np.lib.stride_tricks.sliding_window_view(grid.astype(np.float64), (3, 3, 3))
    windows = windows.reshape(*windows.shape[:3], 27)
    weights = np.array(WEIGHTS, np.float32).astype(np.float64)
    return Reference(windows @ weights, gamma(28) * (np.abs(windows) @ np.abs(weights)))


BENCHMARKS = [
    Benchmark("FDTD-2D", fdtd, {"kernels": fdtd_kernels}, fdtd_arguments, fdtd_reference, [(2, 2), (5, 3), (7, 13)]),
    Benchmark(
        "3-D Poisson stencil",
        poisson,
        {"global": poisson_global},
        poisson_arguments,
        poisson_reference,
        [(3, 3, 3), (5, 3, 7), (4, 6, 5)],
    ),
]
