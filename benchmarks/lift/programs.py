"""Low-level Lift programs with the work-groups, tiles and register blocks of the kernels that table 4.2 compares with.

The programs of `tests/lift/programs` that already have these optimisations are used from there; these have more.
"""

from collections.abc import Callable
from typing import Any

from drawloom.lift import (
    Lambda,
    add,
    array,
    as_scalar,
    as_vector,
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
    mult_and_sum_up,
    pad,
    reduce_seq,
    replicate,
    size,
    slide,
    split,
    split_guarded,
    tile,
    to_global,
    to_local,
    to_private,
    transpose,
    untile,
    unzip,
    user_function,
    vector,
    zip,
)
from tests.lift.programs.imaging import RADIUS, WEIGHTS
from tests.lift.programs.linear_algebra import SCALE_AND_ADD

# Convolution after NVIDIA's sample: tiles of rows, then of columns, with their borders in local memory


def convolution_blocks(rows_tile: tuple[int, int], columns_tile: tuple[int, int]) -> Lambda:
    """Return one kernel for rows and one for columns, whose work-groups compute tiles of (height, width) pixels."""
    n, m = size("N"), size("M")

    def weigh(window: Any, weights: Any) -> Any:
        return zip(window, weights) >> reduce_seq(0.0, mult_and_sum_up) >> to_global(map_seq(id)) >> head

    def copy(part: Any) -> Any:
        return to_local(map_lcl(map_lcl(id, dim=0), dim=1))(part)

    def convolve(windows: Callable[[Any], Any], part: Any, weights: Any) -> Any:
        return windows(copy(part)) >> map_lcl(map_lcl(lambda window: weigh(window, weights), dim=0), dim=1)

    def rows(image: Any, weights: Any) -> Any:
        height, width = rows_tile

        def block(strip: Any) -> Any:
            parts = strip >> map(pad(RADIUS, RADIUS, "clamp") >> slide(width + 2 * RADIUS, width)) >> transpose
            convolved = map_wrg(lambda part: convolve(map(slide(WEIGHTS, 1)), part, weights), dim=0)(parts)
            return convolved >> transpose >> map(join)

        return image >> split(height) >> map_wrg(block, dim=1) >> join

    def columns(image: Any, weights: Any) -> Any:
        height, width = columns_tile

        def windows(part: Any) -> Any:
            return part >> slide(WEIGHTS, 1) >> map(transpose)

        def block(strip: Any) -> Any:
            parts = strip >> map(split(width)) >> transpose
            convolved = map_wrg(lambda part: convolve(windows, part, weights), dim=0)(parts)
            return convolved >> transpose >> map(join)

        strips = image >> pad(RADIUS, RADIUS, "clamp") >> slide(height + 2 * RADIUS, height)
        return strips >> map_wrg(block, dim=1) >> join

    first, second = fun(None, None, rows), fun(None, None, columns)
    return fun(
        array(float32, n, m),
        array(float32, WEIGHTS),
        lambda image, weights: kernel(second)(kernel(first)(image, weights), weights),
        name="convolutionBlocks",
    )


# Products of matrices and vectors after CLBlast


def product_by_groups(row: Any, x: Any, group: int, finish: Any) -> Any:
    """Return what `finish` makes of a sum of products: coalesced reads, partial sums in local memory."""
    return (
        zip(row, x)
        >> split(group)
        >> transpose
        >> map_lcl(reduce_seq(0, mult_and_sum_up) >> to_local(map_seq(id)))
        >> join
        >> split(group)
        >> map_lcl(reduce_seq(0, add) >> to_global(map_seq(finish)))
        >> join
    )


def products_by_tiles(rows: Any, x: Any, group: int, zeros: Any = None) -> Any:
    """Return the products of some rows with a vector that work-groups read in tiles through local memory.

    Args:
        rows: As many as a group has work-items, unless `zeros` is given.
        x: The vector.
        group: The work-items of a group, and the elements of a tile.
        zeros: What the sums start from, one for each row.
    """

    def step(sums: Any, part: Any, rows: Any) -> Any:
        return to_local(map_lcl(id))(part) >> (
            lambda local: (
                zip(sums, rows) >> map_lcl(lambda sum, row: zip(row, local) >> reduce_seq(sum, mult_and_sum_up) >> head)
            )
        )

    start = replicate(group, 0.0) if zeros is None else zeros
    return zip(split(group, x), transpose(map(split(group))(rows))) >> reduce_seq(start, step) >> head


def gemv_rows(group: int) -> Lambda:
    """Return GEMV with a work-group for each row; ``M`` must be a multiple of its size."""
    n, m = size("N"), size("M")
    return fun(
        array(float32, n, m),
        array(float32, m),
        array(float32, n),
        float32,
        float32,
        lambda matrix, x, y, alpha, beta: (
            zip(matrix, y)
            >> map_wrg(
                lambda row, old: product_by_groups(row, x, group, lambda sum: SCALE_AND_ADD(sum, alpha, old, beta))
            )
            >> join
        ),
        name="gemvRows",
    )


def atax_tiles(group: int) -> Lambda:
    """Return a kernel of a work-group for each row and, for the transposed matrix, one that tiles the vector.

    ``N`` and ``M`` must be multiples of the groups' size.
    """
    n, m = size("N"), size("M")

    def by_rows(matrix: Any, x: Any) -> Any:
        return matrix >> map_wrg(lambda row: product_by_groups(row, x, group, id)) >> join

    def by_columns(matrix: Any, product: Any) -> Any:
        return (
            transpose(matrix)
            >> split(group)
            >> map_wrg(lambda rows: products_by_tiles(rows, product, group) >> to_global(map_lcl(id)))
            >> join
        )

    first, second = fun(None, None, by_rows), fun(None, None, by_columns)
    return fun(
        array(float32, n, m),
        array(float32, m),
        lambda matrix, x: kernel(second)(matrix, kernel(first)(matrix, x)),
        name="ataxTiles",
    )


def gesummv_tiles(group: int) -> Lambda:
    """Return two products of a matrix and a vector, with a work-item for each row, as CLBlast computes GESUMMV.

    The last group is guarded, and ``M`` must be a multiple of the groups' size.
    """
    n, m = size("N"), size("M")

    def products(rows: Any, x: Any) -> Any:
        return products_by_tiles(rows, x, group, rows >> map_lcl(lambda row: to_private(id)(0.0)))

    def product(b: Any, x: Any) -> Any:
        return split_guarded(group, b) >> map_wrg(lambda rows: products(rows, x) >> to_global(map_lcl(id))) >> join

    def weigh(a: Any, x: Any, product: Any, alpha: Any, beta: Any) -> Any:
        def weigh_both(sum: Any, other: Any) -> Any:
            return SCALE_AND_ADD(sum, alpha, other, beta)

        def group_of(pairs: Any) -> Any:
            rows, others = unzip(pairs)[0], unzip(pairs)[1]
            return zip(products(rows, x), others) >> to_global(map_lcl(weigh_both))

        return zip(a, product) >> split_guarded(group) >> map_wrg(group_of) >> join

    first, second = fun(None, None, product), fun(*[None] * 5, weigh)
    return fun(
        array(float32, n, m),
        array(float32, n, m),
        array(float32, m),
        float32,
        float32,
        lambda a, b, x, alpha, beta: kernel(second)(a, x, kernel(first)(b, x), alpha, beta),
        name="gesummvTiles",
    )


# Matrix multiplication after CLBlast

WIDTH = 4  # of vectors, and of the register blocks
ADD_SCALED = user_function("float4 addScaled(float4 sum, float a, float4 b) { return sum + a * b; }")
ZEROS = replicate(WIDTH, replicate(1, literal(0, vector(float32, WIDTH))))


def add_outer_product(sums: Any, column: Any, row: Any) -> Any:
    """Add the product of `WIDTH` elements of A's column and of B's row to a block of sums, all in registers."""

    def add_rows(column: Any, row: Any) -> Any:
        return zip(sums, as_scalar(column)) >> map_seq(
            lambda sums, a: zip(sums, row) >> map_seq(lambda sum, b: ADD_SCALED(sum, a, b))
        )

    copy = to_private(map_seq(id))
    return fun(None, None, add_rows)(copy(as_vector(WIDTH, column)), copy(as_vector(WIDTH, row)))


def multiplication_tiled(rows: int, depth: int) -> Lambda:
    """Return the form with local memory: `rows` × `rows` tiles of the result, `depth` of the sum at a time.

    A is given transposed. ``M`` and ``N`` must be multiples of `rows`, ``K`` of `depth`.
    """
    m, n, k = size("M"), size("N"), size("K")
    blocks = rows // WIDTH
    each_block = [lambda f: map_lcl(f, dim=1), lambda f: map_lcl(f, dim=0)]

    def copy(part: Any) -> Any:
        """Copy a tile by vectors, which all work-items share in the order in which they lie in memory."""
        copied = map(as_vector(WIDTH))(part) >> join >> split(blocks) >> to_local(map_lcl(map_lcl(id, dim=0), dim=1))
        return copied >> join >> split(rows // WIDTH) >> map(as_scalar)

    def step(accumulated: Any, tile_a: Any, tile_b: Any) -> Any:
        def multiply(local_a: Any, local_b: Any) -> Any:
            return zip(accumulated, split(WIDTH, transpose(local_a))) >> each_block[0](
                lambda sums, block_a: (
                    zip(sums, split(WIDTH, transpose(local_b)))
                    >> each_block[1](
                        lambda block, block_b: (
                            zip(transpose(block_a), transpose(block_b)) >> reduce_seq(block, add_outer_product) >> head
                        )
                    )
                )
            )

        return fun(None, None, multiply)(copy(tile_a), copy(tile_b))

    def tiles(matrix: Any) -> Any:
        """Cut a matrix into tiles of `depth` × `rows`: [columns of tiles][tiles][depth][rows]."""
        return tile(depth, rows, matrix) >> transpose

    return fun(
        array(float32, k, m),
        array(float32, k, n),
        lambda a, b: (
            tiles(a)
            >> map_wrg(
                lambda tiles_a: (
                    tiles(b)
                    >> map_wrg(
                        lambda tiles_b: (
                            zip(tiles_a, tiles_b)
                            >> reduce_seq(replicate(blocks, replicate(blocks, ZEROS)), step)
                            >> head
                            >> to_global(map_lcl(map_lcl(map_seq(map_seq(id)), dim=0), dim=1))
                            >> map(map(map(as_scalar)))
                            >> untile
                        ),
                        dim=0,
                    )
                ),
                dim=1,
            )
            >> untile
        ),
        name="matrixMultiplicationTiled",
    )


def multiplication_blocked() -> Lambda:
    """Return the form without local memory. A is given transposed; groups of (16, 8) divide ``N / 4`` and ``M / 4``."""
    m, n, k = size("M", 8 * WIDTH), size("N", 16 * WIDTH), size("K")
    return fun(
        array(float32, k, m),
        array(float32, k, n),
        lambda a, b: (
            split(WIDTH, transpose(a))
            >> map_glb(
                lambda rows: (
                    split(WIDTH, transpose(b))
                    >> map_glb(
                        lambda columns: (
                            zip(transpose(rows), transpose(columns))
                            >> reduce_seq(ZEROS, add_outer_product)
                            >> head
                            >> to_global(map_seq(map_seq(id)))
                            >> map(as_scalar)
                        ),
                        dim=0,
                    )
                ),
                dim=1,
            )
            >> untile
        ),
        name="matrixMultiplicationBlocked",
    )
