"""Lengths that a chunk does not divide: guards, padding and epilogues, chosen in the program, at any length."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import (
    Lambda,
    LiftCompileError,
    add,
    array,
    as_scalar,
    as_vector,
    compile,
    float32,
    fun,
    gather,
    id,
    join,
    kernel,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    mult,
    parse_program,
    reduce_seq,
    reverse,
    size,
    split,
    split_guarded,
    split_padded,
    take,
    to_global,
    to_local,
    to_private,
    vectorize,
    with_epilogue,
)
from tests.lift.codegen.runners import check, integers

n, m = size("N"), size("M")
LENGTHS = [1, 2, 3, 7, 8, 13, 31]
CHUNK = 4


def guarded() -> Lambda:
    return fun(array(float32, n), lambda x: x >> split_guarded(CHUNK) >> map_glb(map_seq(lambda e: e * e)) >> join)


def padded() -> Lambda:
    squares = map_glb(map_seq(lambda e: e * e))
    return fun(array(float32, n), lambda x: x >> split_padded(CHUNK, 0.0, n) >> squares >> join >> take(n))


def epilogue() -> Lambda:
    whole = split(CHUNK) >> map_glb(map_seq(lambda e: e * e)) >> join
    return fun(array(float32, n), lambda x: with_epilogue(CHUNK, whole, map_glb(lambda e: e * e), n)(x))


def vectors_with_epilogue() -> Lambda:
    whole = as_vector(CHUNK) >> map_glb(vectorize(CHUNK, lambda e: mult(e, e))) >> as_scalar
    return fun(array(float32, n), lambda x: with_epilogue(CHUNK, whole, map_glb(lambda e: e * e), n)(x))


def stored_chunks() -> Lambda:
    """Return chunks as the result itself, which is stored as the array that they are chunks of."""
    return fun(array(float32, n), lambda x: x >> split_guarded(CHUNK) >> map_glb(map_seq(lambda e: e * e)))


def chunks_between_kernels() -> Lambda:
    first = fun(None, lambda x: x >> split_guarded(CHUNK) >> map_glb(map_seq(lambda e: e * e)))
    second = fun(None, lambda chunks: chunks >> map_glb(map_seq(lambda e: e + e)) >> join)
    return fun(array(float32, n), lambda x: kernel(second)(kernel(first)(x)))


def sums_of_chunks() -> Lambda:
    sums = map_glb(reduce_seq(0, add) >> to_global(map_seq(id)))
    return fun(array(float32, n), lambda x: x >> split_guarded(CHUNK) >> sums >> join)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    "make", [guarded, padded, epilogue, vectors_with_epilogue, stored_chunks, chunks_between_kernels, sums_of_chunks]
)
def test_any_length(make: Any, length: int) -> None:
    program = make()
    check(program, compile(program), integers(length))


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_chunks_and_chunks_of_rows(length: int) -> None:
    rows = fun(array(float32, m, n), lambda x: x >> map_glb(split_guarded(CHUNK) >> map_seq(map_seq(lambda e: e * e))))
    check(rows, compile(rows), integers(3, length))
    chunks = fun(array(float32, n, 3), lambda x: x >> split_guarded(CHUNK) >> map_glb(map_seq(map_seq(id))))
    check(chunks, compile(chunks), integers(length, 3))


def staged(space: Any, kind: Any) -> Lambda:
    """Return a program that stores the chunks of a row of 13 elements, and reads them in another order."""
    store = space(kind(map_seq(lambda e: e * e)))
    return fun(
        array(float32, n, 13),
        lambda x: (
            x >> map_wrg(lambda row: row >> split_guarded(CHUNK) >> store >> join >> gather(reverse) >> map_lcl(id))
        ),
    )


@pytest.mark.parametrize("local_size", [None, 2, 3, 16])
def test_chunks_in_local_memory(local_size: int | None) -> None:
    program = staged(to_local, map_lcl)
    compiled = compile(program, local_size=local_size)
    check(program, compiled, integers(3, 13))
    assert "local float tile[13];" in compiled.opencl


def test_no_barrier_where_each_work_item_reads_its_own_chunks() -> None:
    program = fun(
        array(float32, n, 13),
        lambda x: (
            x
            >> map_wrg(
                lambda row: (
                    row
                    >> split_guarded(CHUNK)
                    >> to_local(map_lcl(map_seq(lambda e: e * e)))
                    >> to_global(map_lcl(map_seq(id)))
                    >> join
                )
            )
        ),
    )
    compiled = compile(program)
    check(program, compiled, integers(3, 13))
    assert "barrier" not in compiled.opencl


def test_chunks_in_private_memory() -> None:
    row = split_guarded(CHUNK) >> to_private(map_seq(map_seq(lambda e: e * e))) >> join >> to_global(map_seq(id))
    program = fun(array(float32, n, 7), lambda x: x >> map_glb(row))
    check(program, compile(program), integers(5, 7))


def test_chunks_that_work_items_share_in_private_memory_are_refused() -> None:
    with pytest.raises(
        LiftCompileError, match="mapLcl: work-items share the chunks of a guarded split in private memory"
    ):
        compile(staged(to_private, map_lcl))


def test_the_result_of_chunks_is_the_array_that_was_split() -> None:
    squares = compile(stored_chunks())(np.float32([1, 2, 3, 4, 5]))
    assert squares.tolist() == [1, 4, 9, 16, 25]


@pytest.mark.parametrize("pattern", ["scatter", "gather"])
@pytest.mark.parametrize("length", [1, 3, 7, 8])
def test_results_go_through_rearranged_chunks(pattern: str, length: int) -> None:
    """The length of the last chunk had no value in the kernel."""
    chunks = f"join ∘ mapSeq({pattern}((i, n) → n - i - 1)) ∘ splitGuarded(3)"
    program = parse_program(f"f(x: [[float]{length}]N) = mapGlb(0)({chunks} ∘ toGlobal(mapSeq(add(1))))(x)")
    check(program, compile(program), integers(4, length))
