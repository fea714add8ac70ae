"""Matrix multiplication: after listing 5.1, figure 5.11 and CLBlast's kernels for NVIDIA and AMD GPUs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    Nat,
    add,
    array,
    as_scalar,
    as_vector,
    dot,
    float32,
    fun,
    head,
    id,
    join,
    make_2d_array,
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
    replicate,
    size,
    split,
    split_guarded,
    split_padded,
    take,
    tile,
    to_global,
    to_local,
    to_private,
    transpose,
    untile,
    unzip,
    zip,
)
from drawloom.lift.arithmetic import ceil_div
from tests.lift.programs.benchmark import Array, Benchmark, Reference, gamma, uniform

TILE = 8  # rows and columns of the result that a work-group computes
DEPTH = 4  # elements of the sum that are in local memory at a time
BLOCK = 2  # rows and columns of the result that a work-item computes
WIDTH = 4  # of vectors


def multiplication() -> Lambda:
    m, n, k = size("M"), size("N"), size("K")
    return fun(
        array(float32, m, k),
        array(float32, k, n),
        lambda a, b: map(
            lambda row: map(lambda column: zip(row, column) >> map(mult) >> reduce(0.0, add), transpose(b)) >> join, a
        ),
        name="matrixMultiplication",
    )


def outer_product_step(block: Any, row: Any, column: Any) -> Any:
    """Add the product of a column of A's block and a row of B's to a block of sums, from private memory."""
    return map_seq(
        lambda sums, a: map_seq(lambda sum, b: sum + a * b, zip(sums, to_private(map_seq(id))(column))),
        zip(block, to_private(map_seq(id))(row)),
    )


def multiplication_nvidia() -> Lambda:
    """Return the tiled form with register blocking: tiles in local memory, blocks in registers, vectorised copies.

    ``M`` and ``N`` must be multiples of `TILE`, ``K`` of `DEPTH`.
    """
    m, n, k = size("M"), size("N"), size("K")
    copy = map_lcl(lambda row: as_vector(WIDTH, row) >> map_lcl(id, dim=0), dim=1)
    blocks = TILE // BLOCK

    def step(accumulated: Any, tile_a: Any, tile_b: Any) -> Any:
        def multiply(local_a: Any, local_b: Any) -> Any:
            return map_lcl(
                lambda sums, block_a: map_lcl(
                    lambda block, block_b: (
                        zip(transpose(block_a), transpose(block_b)) >> reduce_seq(block, outer_product_step) >> head
                    ),
                    zip(sums, split(BLOCK, local_b)),
                    dim=0,
                ),
                zip(accumulated, split(BLOCK, local_a)),
                dim=1,
            )

        scalars = map(lambda row: as_scalar(row))
        return fun(None, None, multiply)(scalars(to_local(copy)(tile_a)), scalars(to_local(copy)(tile_b)))

    zeros = replicate(blocks, replicate(blocks, make_2d_array(BLOCK, BLOCK, 0.0)))
    return fun(
        array(float32, m, k),
        array(float32, k, n),
        lambda a, b: (
            tile(TILE, DEPTH, a)
            >> map_wrg(
                lambda tiles_a: (
                    tile(TILE, DEPTH, transpose(b))
                    >> map_wrg(
                        lambda tiles_b: (
                            zip(tiles_a, tiles_b)
                            >> reduce_seq(zeros, step)
                            >> head
                            >> to_global(map_lcl(map_lcl(map_seq(map_seq(id)), dim=0), dim=1))
                            >> untile
                        ),
                        dim=0,
                    )
                ),
                dim=1,
            )
            >> untile
        ),
        name="matrixMultiplicationNvidia",
    )


def multiplication_guarded() -> Lambda:
    """Return the tiled form for any size: the edges of the matrices and of the sum are guarded."""
    m, n, k = size("M"), size("N"), size("K")

    def tile_product(rows: Any, columns: Any) -> Any:
        """Multiply a block of rows of A by a block of columns of B."""
        zeros = map_lcl(lambda row: map_lcl(lambda column: to_private(id)(0.0), columns, dim=0), rows, dim=1)

        def step(accumulated: Any, chunk: Any) -> Any:
            def multiply(tile_a: Any, tile_b: Any) -> Any:
                return map_lcl(
                    lambda sums, row: map_lcl(
                        lambda sum, column: zip(row, column) >> reduce_seq(sum, mult_and_sum_up) >> head,
                        zip(sums, transpose(tile_b)),
                        dim=0,
                    ),
                    zip(accumulated, transpose(tile_a)),
                    dim=1,
                )

            copy = to_local(map_lcl(map_lcl(id, dim=0), dim=1))
            return fun(None, None, multiply)(copy(unzip(chunk)[0]), copy(unzip(chunk)[1]))

        return (
            zip(transpose(rows), transpose(columns))
            >> split_guarded(DEPTH)
            >> reduce_seq(zeros, step)
            >> head
            >> to_global(map_lcl(map_lcl(id, dim=0), dim=1))
        )

    return fun(
        array(float32, m, k),
        array(float32, k, n),
        lambda a, b: (
            split_guarded(TILE, a)
            >> map_wrg(
                lambda rows: (
                    split_guarded(TILE, transpose(b))
                    >> map_wrg(lambda columns: transpose(tile_product(rows, columns)), dim=0)
                    >> join
                    >> transpose
                ),
                dim=1,
            )
            >> join
        ),
        name="matrixMultiplicationGuarded",
    )


def multiplication_amd() -> Lambda:
    """Return the form without local memory (listing 5.24): blocks of the result for each work-item, vectors.

    ``M`` and ``N`` must be multiples of `BLOCK`, ``K`` of `WIDTH`. B is given transposed.
    """
    return multiplication_by_blocks(lambda matrix, *sizes: matrix, lambda result, *sizes: result, "Amd")


def multiplication_amd_padded() -> Lambda:
    """Return the form without local memory for any size: zeros fill up rows, and the last row is repeated."""

    def fill_up(matrix: Any, rows: Nat, columns: Nat) -> Any:
        missing = ceil_div(rows, BLOCK) * BLOCK - rows
        return matrix >> map(split_padded(WIDTH, 0.0, columns) >> join) >> pad(0, missing, "clamp")

    return multiplication_by_blocks(fill_up, lambda result, rows, columns: take(rows, result) >> map(take(columns)),
                                    "AmdPadded")  # fmt: skip


#: A function of a matrix and its numbers of rows and columns.
OfMatrix = Callable[[Any, Nat, Nat], Any]


def multiplication_by_blocks(fill_up: OfMatrix, cut_off: OfMatrix, name: str) -> Lambda:
    """Return the form without local memory; `fill_up` makes matrices fit the blocks, `cut_off` undoes that."""
    m, n, k = size("M"), size("N"), size("K")

    def step(block: Any, tile_a: Any, tile_b: Any) -> Any:
        return map_seq(
            lambda sums, row: (
                zip(sums, transpose(tile_b))
                >> map_seq(
                    lambda sum, column: (
                        zip(as_vector(WIDTH, row), as_vector(WIDTH, column)) >> map_seq(dot) >> reduce_seq(sum, add)
                    )
                )
                >> join
            ),
            zip(block, transpose(tile_a)),
        )

    return fun(
        array(float32, m, k),
        array(float32, n, k),
        lambda a, b: cut_off(
            split(BLOCK, fill_up(a, m, k))
            >> map_glb(
                lambda rows: (
                    split(BLOCK, fill_up(b, n, k))
                    >> map_glb(
                        lambda columns: (
                            zip(split(WIDTH, transpose(rows)), split(WIDTH, transpose(columns)))
                            >> reduce_seq(make_2d_array(BLOCK, BLOCK, 0.0), step)
                            >> to_global(map_seq(map_seq(map_seq(id))))
                            >> head
                        ),
                        dim=0,
                    )
                ),
                dim=1,
            )
            >> untile,
            m,
            n,
        ),
        name="matrixMultiplication" + name,
    )


def multiplication_of_transposed() -> Lambda:
    m, n, k = size("M"), size("N"), size("K")
    return fun(
        array(float32, m, k),
        array(float32, n, k),
        lambda a, b: map(lambda row: map(lambda other: zip(row, other) >> map(mult) >> reduce(0.0, add), b) >> join, a),
        name="matrixMultiplication",
    )


def arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    m, n, k = sizes
    return [uniform(random, m, k), uniform(random, k, n)]


def arguments_transposed(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    m, n, k = sizes
    return [uniform(random, m, k), uniform(random, n, k)]


def reference(a: Array, b: Array) -> Reference:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return Reference(a @ b, gamma(a.shape[1] + 1) * (np.abs(a) @ np.abs(b)))


SIZES = [(1, 1, 1), (3, 5, 7), (8, 16, 4), (16, 8, 12), (13, 17, 11), (24, 16, 20)]

BENCHMARKS = [
    Benchmark(
        "MM NVIDIA",
        multiplication,
        {"tiled": multiplication_nvidia, "guarded": multiplication_guarded},
        arguments,
        reference,
        SIZES,
        {"tiled": (TILE, TILE, DEPTH)},
    ),
    Benchmark(
        "MM AMD",
        multiplication_of_transposed,
        {"blocked": multiplication_amd, "padded": multiplication_amd_padded},
        arguments_transposed,
        lambda a, b: reference(a, b.T),
        SIZES,
        {"blocked": (BLOCK, BLOCK, WIDTH)},
    ),
]
