"""The code of the thesis's programs and of the first examples, as golden files, and what it computes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from drawloom.lift import (
    Lambda,
    add,
    array,
    as_scalar,
    as_vector,
    compile,
    float32,
    fun,
    id,
    iterate,
    join,
    map_glb,
    map_lcl,
    map_warp,
    map_wrg,
    mult,
    mult_and_sum_up,
    pad,
    parse_program,
    reduce_seq,
    size,
    slide,
    split,
    split_guarded,
    to_global,
    to_local,
    transpose_by_gather,
    vectorize,
    zip,
)
from tests.lift.codegen.runners import check, integers, report
from tests.lift.codegen.test_warps import sum_up
from tests.lift.language.test_listings import partial_dot_product
from tests.lift.programs.matrix_multiplication import multiplication_guarded, multiplication_nvidia

n, m = size("N"), size("M")


def vector_add() -> Lambda:
    return fun(array(float32, n), array(float32, n), lambda x, y: zip(x, y) >> map_glb(add), name="vectorAdd")


def saxpy() -> Lambda:
    return fun(
        float32,
        array(float32, n),
        array(float32, n),
        lambda a, x, y: zip(x, y) >> map_glb(lambda p, q: a * p + q),
        name="saxpy",
    )


def matrix_vector() -> Lambda:
    return fun(
        array(float32, n, m),
        array(float32, m),
        lambda a, x: a >> map_glb(lambda row: zip(row, x) >> reduce_seq(0, mult_and_sum_up)) >> join,
        name="gemvRows",
    )


def matrix_transpose() -> Lambda:
    return fun(
        array(float32, n, m),
        lambda x: x >> transpose_by_gather(n, m) >> map_wrg(map_lcl(id)),
        name="matrixTranspose",
    )


def stencil() -> Lambda:
    return fun(
        array(float32, n),
        lambda x: x >> pad(1, 1, "clamp") >> slide(3, 1) >> map_glb(reduce_seq(0, add)) >> join,
        name="stencil",
    )


def guarded_copy() -> Lambda:
    return fun(
        array(float32, n),
        lambda x: (
            x
            >> split_guarded(8)
            >> map_wrg(lambda part: to_global(map_lcl(id))(to_local(map_lcl(lambda e: e * e))(part)))
            >> join
        ),
        name="guardedSquares",
    )


def vectors() -> Lambda:
    return fun(
        array(float32, n),
        array(float32, n),
        lambda x, y: zip(as_vector(4, x), as_vector(4, y)) >> map_glb(vectorize(4, mult)) >> as_scalar,
        name="vectorMultiply",
    )


def rows_iterate() -> Lambda:
    return fun(
        array(float32, n),
        lambda x: (
            x
            >> split(16)
            >> map_wrg(
                lambda part: (
                    to_local(map_lcl(id))(part)
                    >> iterate(3, lambda part: to_local(map_lcl(lambda e: e + e))(part))
                    >> to_global(map_lcl(id))
                )
            )
            >> join
        ),
        name="doublings",
    )


def warp_sums() -> Lambda:
    return fun(
        array(float32, n),
        lambda x: x >> split(64) >> map_wrg(lambda part: part >> split(32) >> map_warp(sum_up) >> join) >> join,
        name="warpSums",
    )


Make = Callable[[], Lambda]

#: A program, and the shapes of its arguments at several sizes.
PROGRAMS: dict[str, tuple[Make, list[list[Any]]]] = {
    "listing_4_5": (partial_dot_product, [[128, 128], [384, 384], [1280, 1280]]),
    "vector_add": (vector_add, [[1, 1], [7, 7], [1000, 1000]]),
    "saxpy": (saxpy, [["2.0", 1, 1], ["2.0", 131, 131]]),
    "gemv_rows": (matrix_vector, [[(1, 1), 1], [(5, 7), 7], [(131, 3), 3]]),
    "matrix_transpose": (matrix_transpose, [[(1, 1)], [(5, 7)], [(64, 3)]]),
    "stencil": (stencil, [[1], [2], [13], [257]]),
    "guarded_squares": (guarded_copy, [[1], [8], [13], [101]]),
    "vector_multiply": (vectors, [[4, 4], [52, 52]]),
    "doublings": (rows_iterate, [[16], [48]]),
    "warp_sums": (warp_sums, [[64], [320]]),
    "matrix_multiplication_nvidia": (multiplication_nvidia, [[(8, 4), (4, 8)], [(16, 12), (12, 24)]]),
    "matrix_multiplication_guarded": (multiplication_guarded, [[(1, 1), (1, 1)], [(13, 11), (11, 17)]]),
}


def arguments_of(shapes: list[Any]) -> list[Any]:
    """Return a number for each text, and an array for each shape."""
    return [
        float(shape) if isinstance(shape, str) else integers(*np.atleast_1d(shape).tolist(), seed=at)
        for at, shape in enumerate(shapes)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_is_that_of_the_golden_file(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"lift/{name}.cl", report(compile(PROGRAMS[name][0]())))


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_programs_give_what_the_interpreter_gives(name: str) -> None:
    make, sizes = PROGRAMS[name]
    program = make()
    compiled = compile(program)
    for shapes in sizes:
        check(program, compiled, *arguments_of(shapes))


@pytest.mark.parametrize("name", ["listing_4_5", "stencil", "matrix_transpose", "matrix_multiplication_guarded"])
@pytest.mark.parametrize("off", ["array_access", "barriers", "control_flow"])
def test_each_optimisation_can_be_off(name: str, off: str) -> None:
    make, sizes = PROGRAMS[name]
    program = make()
    compiled = compile(program, **{off: False})  # type: ignore[arg-type]
    check(program, compiled, *arguments_of(sizes[-1]))


def test_listing_4_6s_iterations_lose_no_buffer() -> None:
    ones = integers(128) * 0 + 1
    assert compile(partial_dot_product())(ones, ones).tolist() == [128.0]


def test_the_transposition_of_listing_4_4_reads_one_product_and_one_sum() -> None:
    assert "out[wg_0 * N + l_0] = x[l_0 * M + wg_0]" in compile(matrix_transpose()).opencl


def test_known_sizes_become_constants_and_loops_disappear() -> None:
    compiled = compile(vector_add(), {"N": 256}, local_size=128, num_groups=2)
    assert "for" not in compiled.opencl.split("kernel void")[1]
    check(vector_add(), compiled, integers(256), integers(256, seed=2))


@pytest.mark.parametrize(
    "body", ["scatter(reverse) ∘ mapGlb(0)(id)", "mapGlb(0)(id) ∘ padIndex(2, 1, (i, n) → 2*i mod n)"]
)
def test_proofs_that_views_need_do_not_depend_on_the_simplification_of_accesses(body: str) -> None:
    program = parse_program(f"f(x: [float]N) = ({body})(x)")
    check(program, compile(program, array_access=False), integers(5))
