"""K-Means and NN (after Rodinia): distances between points."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    add,
    array,
    float32,
    fun,
    head,
    id,
    int32,
    join,
    literal,
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    reduce,
    reduce_seq,
    size,
    split_guarded,
    to_global,
    to_private,
    transpose,
    tuple_of,
    user_function,
    zip,
)
from tests.lift.programs.benchmark import Array, Benchmark, Reference, gamma

SQUARED_DIFFERENCE = user_function("float squaredDifference(float a, float b) { return (a - b) * (a - b); }")
ADD_SQUARE = user_function("float addSquare(float sum, float a, float b) { return sum + (a - b) * (a - b); }")
NEARER = user_function(
    """
    (float, int, int) nearer((float, int, int) best, float distance) {
      if (distance < best._0) { best._0 = distance; best._1 = best._2; }
      best._2 += 1;
      return best;
    }
    """
)
START = (3.4e38, literal(0, int32), literal(0, int32))


def k_means() -> Lambda:
    p, c, f = size("P"), size("C"), size("F")
    return fun(
        array(float32, f, p),
        array(float32, c, f),
        lambda features, clusters: (
            transpose(features)
            >> map(
                lambda point: (
                    clusters
                    >> map(lambda cluster: zip(point, cluster) >> map(SQUARED_DIFFERENCE) >> reduce(0.0, add))
                    >> join
                    >> reduce_seq(START, NEARER)
                    >> map(lambda best: best[1])
                )
            )
            >> join
        ),
        name="kMeans",
    )


def k_means_global() -> Lambda:
    p, c, f = size("P"), size("C"), size("F")
    return fun(
        array(float32, f, p),
        array(float32, c, f),
        lambda features, clusters: (
            transpose(features)
            >> map_glb(
                lambda point: (
                    clusters
                    >> reduce_seq(
                        START,
                        lambda best, cluster: NEARER(
                            best, zip(point, cluster) >> reduce_seq(0.0, ADD_SQUARE) >> to_private(head)
                        ),
                    )
                    >> to_global(map_seq(lambda best: id(best[1])))
                )
            )
            >> join
        ),
        name="kMeansGlobal",
    )


def k_means_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    """Put every point near one cluster, so that rounding does not decide which is nearest."""
    p, c, f = sizes
    clusters = random.permutation(4 * c)[:c, np.newaxis] + random.uniform(-0.1, 0.1, (c, f))
    points = clusters[random.integers(0, c, p)] + random.uniform(-0.1, 0.1, (p, f))
    return [np.ascontiguousarray(points.T, np.float32), clusters.astype(np.float32)]


def k_means_reference(features: Array, clusters: Array) -> Reference:
    points, clusters = features.T.astype(np.float64), clusters.astype(np.float64)
    distances = ((points[:, np.newaxis] - clusters[np.newaxis]) ** 2).sum(axis=2)
    nearest = np.argmin(distances, axis=1)
    return Reference(nearest, np.zeros(len(nearest)))


DISTANCE = user_function(
    "float distance((float, float) at, float x, float y)"
    "{ return sqrt((at._0 - x) * (at._0 - x) + (at._1 - y) * (at._1 - y)); }"
)


def nearest_neighbour_with(outer: Any, name: str) -> Lambda:
    return fun(
        array(tuple_of(float32, float32), size("N")),
        float32,
        float32,
        lambda points, x, y: points >> outer(lambda point: DISTANCE(point, x, y)),
        name=name,
    )


def nearest_neighbour() -> Lambda:
    return nearest_neighbour_with(map, "nn")


def nearest_neighbour_global() -> Lambda:
    return nearest_neighbour_with(map_glb, "nnGlobal")


def nearest_neighbour_groups() -> Lambda:
    return nearest_neighbour_with(lambda f: split_guarded(4) >> map_wrg(map_lcl(f)) >> join, "nnGroups")


def nearest_neighbour_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    (n,) = sizes
    latitudes = random.uniform(7, 63, n).astype(np.float32)
    longitudes = random.uniform(0, 358, n).astype(np.float32)
    return [(latitudes, longitudes), 30.0, 90.0]


def nearest_neighbour_reference(points: tuple[Array, Array], x: float, y: float) -> Reference:
    distances = np.hypot(points[0].astype(np.float64) - x, points[1].astype(np.float64) - y)
    return Reference(distances, gamma(6) * distances)  # the differences are exact up to u of themselves


BENCHMARKS = [
    Benchmark(
        "K-Means",
        k_means,
        {"global": k_means_global},
        k_means_arguments,
        k_means_reference,
        [(1, 1, 1), (5, 3, 2), (13, 5, 7), (32, 4, 6)],
    ),
    Benchmark(
        "NN",
        nearest_neighbour,
        {"global": nearest_neighbour_global, "groups": nearest_neighbour_groups},
        nearest_neighbour_arguments,
        nearest_neighbour_reference,
        [(1,), (5,), (16,), (31,)],
    ),
]
