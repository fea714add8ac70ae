"""Buffers that become arrays of vectors."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    array,
    as_scalar,
    as_vector,
    compile,
    float32,
    float64,
    fun,
    gather,
    id,
    join,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    mult,
    reduce_seq,
    reverse,
    size,
    slide,
    split,
    to_global,
    to_local,
    vector,
    vectorize,
    zip,
)
from tests.lift.codegen.runners import check, integers

n, m = size("N"), size("M")


def squares(element: Any = float32) -> Lambda:
    return fun(array(element, n), lambda x: x >> as_vector(4) >> map_glb(vectorize(4, lambda e: e * e)) >> as_scalar)


def test_whole_vectors_are_elements_of_arrays_of_vectors() -> None:
    compiled = compile(squares())
    assert "const global float4 *restrict x" in compiled.opencl and "vload" not in compiled.opencl
    check(squares(), compiled, integers(52))


def test_rows_of_vectors_use_that_the_width_divides_their_length() -> None:
    def double(row: Any) -> Any:
        return as_vector(4, row) >> to_global(map_seq(vectorize(4, lambda e: e + e))) >> as_scalar

    program = fun(array(float32, n, m), lambda x: x >> map_glb(double))
    compiled = compile(program)
    assert "x[g_0 * vectors_M + i]" in compiled.opencl
    check(program, compiled, integers(5, 12))


def test_local_vectors_are_declared_as_such() -> None:
    def group(part: Any) -> Any:
        return as_vector(4, part) >> to_local(map_lcl(id)) >> gather(reverse) >> to_global(map_lcl(id)) >> as_scalar

    program = fun(array(float32, n), lambda x: x >> split(64) >> map_wrg(group) >> join)
    compiled = compile(program)
    assert "local float4 tile[16];" in compiled.opencl
    check(program, compiled, integers(192))


def test_a_buffer_with_scalar_accesses_stays_one_of_scalars() -> None:
    program = fun(
        array(float32, n),
        lambda x: (
            zip(as_vector(4, x), split(4, x))
            >> map_glb(
                lambda four, part: (
                    part >> reduce_seq(four, lambda sum, e: vectorize(4, mult)(sum, e)) >> to_global(map_seq(id))
                )
            )
            >> join
            >> as_scalar
        ),
    )
    compiled = compile(program)
    assert "const global float *restrict x" in compiled.opencl and "vload4" in compiled.opencl
    check(program, compiled, integers(20))


def test_overlapping_vectors_are_not_elements_of_an_array_of_vectors() -> None:
    program = fun(
        array(float32, n),
        lambda x: (
            x
            >> slide(4, 1)
            >> map_glb(lambda window: as_vector(4, window) >> to_global(map_seq(id)))
            >> join
            >> as_scalar
        ),
    )
    compiled = compile(program)
    assert "const global float *restrict x" in compiled.opencl and "vload4(0, x +" in compiled.opencl
    check(program, compiled, integers(11))


def test_vectors_of_more_than_16_bytes_keep_the_alignment_of_their_elements() -> None:
    compiled = compile(squares(float64))
    assert "const global double *restrict x" in compiled.opencl and "vload4" in compiled.opencl
    check(squares(float64), compiled, integers(12).astype(np.float64))


def test_vectors_of_three_are_stored_side_by_side() -> None:
    program = fun(array(vector(float32, 3), n), lambda x: x >> map_glb(lambda v: v + v))
    compiled = compile(program)
    assert "const global float *restrict x" in compiled.opencl
    check(program, compiled, integers(7, 3))


def test_arrays_that_are_not_aligned_as_vectors_are_copied() -> None:
    memory = np.zeros(4 * 33 + 16, np.uint8)
    offset = -memory.ctypes.data % 16 + 4
    shifted = memory[offset : offset + 4 * 32].view(np.float32)
    shifted[:] = integers(32)
    assert shifted.ctypes.data % 16 == 4
    check(squares(), compile(squares()), shifted)


def test_unsimplified_indices_stay_loads_of_vectors() -> None:
    compiled = compile(squares(), array_access=False)
    assert "const global float *restrict x" in compiled.opencl
    check(squares(), compiled, integers(12))
