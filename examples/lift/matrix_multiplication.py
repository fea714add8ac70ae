"""Matrix multiplication in tiles, from a Lift program to OpenCL C, run on the CPU device.

    python examples/lift/matrix_multiplication.py

prints the kernel, and how far its result is from NumPy's.
"""

import numpy as np

from drawloom.lift import (
    array,
    compile,
    float32,
    fun,
    head,
    id,
    join,
    map_lcl,
    map_wrg,
    mult_and_sum_up,
    reduce_seq,
    size,
    split_guarded,
    to_global,
    to_local,
    to_private,
    transpose,
    unzip,
    zip,
)

TILE, DEPTH = 8, 4
m, n, k = size("M"), size("N"), size("K")


def tile_product(rows, columns):
    """Multiply up to TILE rows of A by up to TILE columns of B: one work-item for each element of the result."""
    zeros = map_lcl(lambda row: map_lcl(lambda column: to_private(id)(0.0), columns, dim=0), rows, dim=1)
    copy = to_local(map_lcl(map_lcl(id, dim=0), dim=1))

    def step(sums, chunk):
        def multiply(tile_a, tile_b):
            def element(total, row, column):
                return zip(row, column) >> reduce_seq(total, mult_and_sum_up) >> head

            return zip(sums, transpose(tile_a)) >> map_lcl(
                lambda totals, row: (
                    zip(totals, transpose(tile_b)) >> map_lcl(lambda total, column: element(total, row, column), dim=0)
                ),
                dim=1,
            )

        return fun(None, None, multiply)(copy(unzip(chunk)[0]), copy(unzip(chunk)[1]))

    chunks = zip(transpose(rows), transpose(columns)) >> split_guarded(DEPTH)
    return chunks >> reduce_seq(zeros, step) >> head >> to_global(map_lcl(map_lcl(id, dim=0), dim=1))


def row_of_tiles(b):
    return lambda rows: (
        split_guarded(TILE, transpose(b))
        >> map_wrg(lambda columns: transpose(tile_product(rows, columns)), dim=0)
        >> join
        >> transpose
    )


multiplication = fun(
    array(float32, m, k),
    array(float32, k, n),
    lambda a, b: split_guarded(TILE, a) >> map_wrg(row_of_tiles(b), dim=1) >> join,
    name="multiply",
)


def main() -> None:
    compiled = compile(multiplication)
    print(compiled.opencl)
    random = np.random.default_rng(1)
    a, b = random.uniform(-1, 1, (37, 29)).astype("f"), random.uniform(-1, 1, (29, 41)).astype("f")
    print("largest difference from NumPy:", float(np.abs(compiled(a, b) - a @ b).max()))


if __name__ == "__main__":
    main()
