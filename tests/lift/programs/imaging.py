"""MRI-Q (after Parboil), Convolution (after NVIDIA's sample) and the Harris corner detector."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    Nat,
    add,
    array,
    float32,
    fun,
    head,
    id,
    join,
    kernel,
    literal,
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    mult,
    mult_and_sum_up,
    pad,
    reduce,
    reduce_seq,
    size,
    slide,
    take,
    to_global,
    to_local,
    to_private,
    transpose,
    unzip,
    user_function,
    zip,
)
from drawloom.lift.arithmetic import ceil_div
from tests.lift.programs.benchmark import UNIT, Array, Benchmark, Reference, gamma, uniform

# MRI-Q: two kernels

MAGNITUDE = user_function("float magnitude(float re, float im) { return re * re + im * im; }")
ADD_PHASE = user_function(
    """
    (float, float) addPhase((float, float) sum, float x, float y, float z, (float, float, float, float) k) {
      float angle = 6.2831855f * (k._0 * x + k._1 * y + k._2 * z);
      return tuple(sum._0 + k._3 * cos(angle), sum._1 + k._3 * sin(angle));
    }
    """
)


def mriq_with(outer: Any, inner: Any, kernels: Any, name: str, multiple_of: int = 1) -> Lambda:
    k, n = size("K"), size("N", multiple_of)
    vector = array(float32, n)
    magnitudes = fun(None, None, lambda re, im: zip(re, im) >> outer(MAGNITUDE))

    def sums(kx: Any, ky: Any, kz: Any, magnitude: Any, x: Any, y: Any, z: Any, re: Any, im: Any) -> Any:
        return (
            zip(x, y, z, re, im)
            >> outer(
                lambda x, y, z, re, im: (
                    zip(kx, ky, kz, magnitude)
                    >> reduce_seq((re, im), lambda sum, k: ADD_PHASE(sum, x, y, z, k))
                    >> inner
                )
            )
            >> join
            >> unzip
        )

    second = fun(*[None] * 9, sums)
    return fun(
        *[array(float32, k)] * 5,
        *[vector] * 5,
        lambda phi_re, phi_im, kx, ky, kz, x, y, z, re, im: kernels(second)(
            kx, ky, kz, kernels(magnitudes)(phi_re, phi_im), x, y, z, re, im
        ),
        name=name,
    )


def mriq() -> Lambda:
    return mriq_with(map, lambda sums: sums, lambda function: function, "mriq")


def mriq_kernels(multiple_of: int = 1) -> Lambda:
    """Return a kernel for the magnitudes and one for the sums, for a number of voxels that some number divides."""
    return mriq_with(map_glb, to_global(map_seq(id)), kernel, "mriqKernels", multiple_of)


def mriq_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    k, n = sizes
    return [*uniform(random, 5, k), *uniform(random, 3, n), *np.zeros((2, n), np.float32)]


def mriq_reference(*arguments: Array) -> Reference:
    phi_re, phi_im, kx, ky, kz, x, y, z, re, im = [one.astype(np.float64) for one in arguments]
    magnitude = phi_re**2 + phi_im**2
    angle = 2 * np.pi * (np.outer(x, kx) + np.outer(y, ky) + np.outer(z, kz))
    scale = 2 * np.pi * (np.outer(abs(x), abs(kx)) + np.outer(abs(y), abs(ky)) + np.outer(abs(z), abs(kz)))
    # The angle is off by 6 u of its terms, as 2 pi is rounded, too; sine and cosine have a slope of 1 and err by 4 u.
    term = magnitude * (gamma(6) * scale + 4 * UNIT)
    error = term.sum(axis=1) + gamma(len(kx) + 4) * magnitude.sum()
    return Reference(
        (re + (magnitude * np.cos(angle)).sum(axis=1), im + (magnitude * np.sin(angle)).sum(axis=1)), (error, error)
    )


# Convolution: rows, then columns, each with 17 weights

RADIUS = 8
WEIGHTS = 2 * RADIUS + 1
TILE = 4


def convolve(outer: Any, inner: Any, weigh: Any, image: Any, weights: Any) -> Any:
    """Convolve every row of an image."""
    return image >> outer(
        lambda row: (
            row >> pad(RADIUS, RADIUS, "clamp") >> slide(WEIGHTS, 1) >> inner(lambda window: weigh(window, weights))
        )
    )


def convolution() -> Lambda:
    n, m = size("N"), size("M")

    def weigh(window: Any, weights: Any) -> Any:
        return zip(window, weights) >> map(mult) >> reduce(0.0, add) >> head

    return fun(
        array(float32, n, m),
        array(float32, WEIGHTS),
        lambda image, weights: (
            convolve(map, map, weigh, image, weights)
            >> transpose
            >> (lambda rows: transpose(convolve(map, map, weigh, rows, weights)))
        ),
        name="convolution",
    )


def convolution_kernels() -> Lambda:
    """Return one kernel for rows and one for columns, a work-item for each pixel."""
    n, m = size("N"), size("M")

    def weigh(window: Any, weights: Any) -> Any:
        return zip(window, weights) >> reduce_seq(0.0, mult_and_sum_up) >> to_global(map_seq(id)) >> head

    def rows(image: Any, weights: Any) -> Any:
        return convolve(lambda f: map_glb(f, dim=1), lambda f: map_glb(f, dim=0), weigh, image, weights)

    first = fun(None, None, rows)
    second = fun(None, None, lambda image, weights: transpose(rows(transpose(image), weights)))
    return fun(
        array(float32, n, m),
        array(float32, WEIGHTS),
        lambda image, weights: kernel(second)(kernel(first)(image, weights), weights),
        name="convolutionKernels",
    )


def convolution_tiles() -> Lambda:
    """Return kernels that read overlapping tiles of rows through local memory; rows are padded to whole tiles."""
    n, m = size("N"), size("M")

    def rows(image: Any, weights: Any, width: Nat) -> Any:
        missing = ceil_div(width, TILE) * TILE - width
        return image >> map_wrg(
            lambda row: (
                row
                >> pad(RADIUS, RADIUS + missing, "clamp")
                >> slide(TILE + 2 * RADIUS, TILE)
                >> map_wrg(
                    lambda part: (
                        to_local(map_lcl(id))(part)
                        >> slide(WEIGHTS, 1)
                        >> map_lcl(
                            lambda window: (
                                zip(window, weights)
                                >> reduce_seq(0.0, mult_and_sum_up)
                                >> to_global(map_seq(id))
                                >> head
                            )
                        )
                    ),
                    dim=0,
                )
                >> join
                >> take(width)
            ),
            dim=1,
        )

    first = fun(None, None, lambda image, weights: rows(image, weights, m))
    second = fun(None, None, lambda image, weights: transpose(rows(transpose(image), weights, n)))
    return fun(
        array(float32, n, m),
        array(float32, WEIGHTS),
        lambda image, weights: kernel(second)(kernel(first)(image, weights), weights),
        name="convolutionTiles",
    )


def convolution_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    return [uniform(random, *sizes), uniform(random, WEIGHTS)]


def convolution_reference(image: Array, weights: Array) -> Reference:
    def blur(image: Array, weights: Array) -> Array:
        for axis in (1, 0):
            before = [(0, 0), (0, 0)]
            before[axis] = (RADIUS, RADIUS)
            padded = np.pad(image, before, "edge")
            windows = np.lib.stride_tricks.sliding_window_view(padded, WEIGHTS, axis=axis)
            image = windows @ weights
        return image

    image, weights = image.astype(np.float64), weights.astype(np.float64)
    return Reference(blur(image, weights), gamma(2 * (WEIGHTS + 1)) * blur(np.abs(image), np.abs(weights)))


# Harris corners: gradients by Sobel, sums over 3 × 3 windows, determinant minus a part of the squared trace

SOBEL_X = [-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0]
SOBEL_Y = [-1.0, -2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0]
KAPPA = 0.0625
PRODUCTS = user_function(
    "(float, float, float) products(float dx, float dy) { return tuple(dx * dx, dx * dy, dy * dy); }"
)
ADD_PRODUCTS = user_function(
    """
    (float, float, float) addProducts((float, float, float) a, (float, float, float) b) {
      return tuple(a._0 + b._0, a._1 + b._1, a._2 + b._2);
    }
    """,
    associative=True,
    commutative=True,
    neutral=0,
)
RESPONSE = user_function(
    """
    float response((float, float, float) s) {
      float trace = s._0 + s._2;
      return s._0 * s._2 - s._1 * s._1 - 0.0625f * trace * trace;
    }
    """
)
ZERO3 = (literal(0, float32), literal(0, float32), literal(0, float32))


def windows(image: Any) -> Any:
    """Return the 3 × 3 window around every inner pixel, as arrays of nine elements."""
    return image >> slide(3, 1) >> map(transpose) >> map(slide(3, 1)) >> map(map(join << transpose))


def harris_with(outer: Any, inner: Any, weigh: Any, total: Any, kernels: Any, name: str) -> Lambda:
    n, m = size("N"), size("M")

    def gradients(image: Any) -> Any:
        return windows(image) >> outer(inner(lambda window: PRODUCTS(weigh(window, SOBEL_X), weigh(window, SOBEL_Y))))

    def responses(products: Any) -> Any:
        return windows(products) >> outer(inner(lambda window: RESPONSE(total(window))))

    first, second = fun(None, gradients), fun(None, responses)
    return fun(array(float32, n, m), lambda image: kernels(second)(kernels(first)(image)), name=name)


def harris() -> Lambda:
    return harris_with(
        map,
        map,
        lambda window, weights: zip(window, weights) >> map(mult) >> reduce(0.0, add) >> head,
        lambda window: window >> reduce(ZERO3, ADD_PRODUCTS) >> head,
        lambda function: function,
        "harris",
    )


def harris_kernels() -> Lambda:
    return harris_with(
        lambda f: map_glb(f, dim=1),
        lambda f: map_glb(to_global(fun(None, f)), dim=0),
        lambda window, weights: zip(window, weights) >> to_private(reduce_seq(0.0, mult_and_sum_up)) >> head,
        lambda window: window >> to_private(reduce_seq(ZERO3, ADD_PRODUCTS)) >> head,
        kernel,
        "harrisKernels",
    )


def harris_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    return [uniform(random, *sizes)]


def harris_reference(image: Array) -> Reference:
    def around(image: Array) -> Array:
        return np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(
            image.shape[0] - 2, image.shape[1] - 2, 9
        )

    image = image.astype(np.float64)
    dx, dy = around(image) @ SOBEL_X, around(image) @ SOBEL_Y
    xx, xy, yy = [around(one).sum(axis=2) for one in (dx * dx, dx * dy, dy * dy)]
    size = around(np.abs(image)) @ np.abs(SOBEL_X), around(np.abs(image)) @ np.abs(SOBEL_Y)
    xx1, xy1, yy1 = [around(one).sum(axis=2) for one in (size[0] ** 2, size[0] * size[1], size[1] ** 2)]
    magnitude = xx1 * yy1 + xy1 * xy1 + KAPPA * (xx1 + yy1) ** 2
    return Reference(xx * yy - xy * xy - KAPPA * (xx + yy) ** 2, gamma(2 * (2 * 9 + 1 + 9) + 6) * magnitude)


IMAGES = [(4, 4), (5, 8), (7, 13), (12, 8)]

BENCHMARKS = [
    Benchmark(
        "MRI-Q", mriq, {"kernels": mriq_kernels}, mriq_arguments, mriq_reference, [(1, 1), (7, 5), (16, 8), (13, 31)]
    ),
    Benchmark(
        "Convolution",
        convolution,
        {"kernels": convolution_kernels, "tiles": convolution_tiles},
        convolution_arguments,
        convolution_reference,
        IMAGES,
    ),
    Benchmark(
        "Harris corner detection",
        harris,
        {"kernels": harris_kernels},
        harris_arguments,
        harris_reference,
        [(5, 5), (7, 8), (11, 13)],
    ),
]
