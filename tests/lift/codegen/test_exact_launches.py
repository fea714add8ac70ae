"""Launches with exactly the groups that a program's maps need, and sizes that are known to be multiples."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import (
    Lambda,
    SizeError,
    add,
    array,
    as_scalar,
    as_vector,
    compile,
    concat,
    float32,
    fun,
    interpret,
    join,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    reduce_seq,
    size,
    slide,
    split,
    split_guarded,
    to_global,
    vectorize,
)
from tests.lift.codegen.runners import check, integers

n, m = size("N"), size("M")


def body(compiled: Any) -> str:
    """Return the text of a kernel without its user functions."""
    text: str = compiled.opencl
    return text[text.index("kernel void") :]


def doubles() -> Lambda:
    return fun(array(float32, n), lambda x: x >> map_glb(lambda e: e + e))


@pytest.mark.parametrize("length", [1, 127, 128, 1000])
def test_an_exact_launch_needs_a_guard_and_no_loop(length: int) -> None:
    compiled = compile(doubles(), exact_groups=True)
    assert "for (" not in body(compiled) and "if (g_id_0 < N)" in body(compiled)
    check(doubles(), compiled, integers(length))


@pytest.mark.parametrize("length", [1, 16, 45])
def test_groups_of_an_exact_launch_need_neither(length: int) -> None:
    program = fun(array(float32, n), lambda x: x >> split_guarded(16) >> map_wrg(map_lcl(lambda e: e + e)) >> join)
    compiled = compile(program, exact_groups=True)
    assert "for (" not in body(compiled) and "wg_count_0" not in body(compiled)
    check(program, compiled, integers(length))


def test_maps_of_different_lengths_share_an_exact_launch() -> None:
    def both(x: Any, y: Any) -> Any:
        return concat(x >> map_glb(lambda e: e + e), y >> map_glb(lambda e: e * e))

    program = fun(array(float32, n), array(float32, m), both)
    compiled = compile(program, exact_groups=True)
    assert "for (" not in body(compiled)
    check(program, compiled, integers(300), integers(7))
    check(program, compiled, integers(7), integers(300))


def test_an_exact_launch_with_too_many_groups_is_refused() -> None:
    program = fun(array(float32, n, m), lambda x: x >> map_glb(map_glb(lambda e: e + e, dim=0), dim=1))
    kernel = compile(program, local_size=(16, 1), exact_groups=True).kernels[0]
    assert kernel.num_groups({n: 65535, m: 1 << 30}) == (1 << 26, 65535, 1)
    with pytest.raises(SizeError, match="65536 work-groups in dimension 1, expected at most 65535"):
        kernel.num_groups({n: 65536, m: 1})
    assert compile(program, local_size=(16, 1)).kernels[0].num_groups({n: 65536, m: 1}) == (1, 65535, 1)


def test_a_size_that_groups_divide_needs_no_guard() -> None:
    k = size("K", multiple_of=128)
    program = fun(array(float32, k), lambda x: x >> map_glb(lambda e: e + e))
    compiled = compile(program, exact_groups=True)
    assert "if (" not in body(compiled) and "for (" not in body(compiled)
    check(program, compiled, integers(384))
    for run in (compiled, lambda x: interpret(program, x)):
        with pytest.raises(SizeError, match="size K is 200, expected a multiple of 128"):
            run(integers(200))
        with pytest.raises(SizeError, match="size K is 64, expected 128 or more"):
            run(integers(64))


def test_vectors_of_a_size_that_groups_divide_need_no_guard() -> None:
    k = size("K", multiple_of=64)
    program = fun(array(float32, k), lambda x: x >> as_vector(4) >> map_glb(vectorize(4, lambda e: e * e)) >> as_scalar)
    compiled = compile(program, local_size=16, exact_groups=True)
    assert "if (" not in body(compiled)
    check(program, compiled, integers(192))


REFUSED = {
    "split": (
        lambda x: x >> split(4) >> map_glb(map_seq(lambda e: e + e)) >> join,
        "split: 7 elements cannot be split into chunks of 4",
    ),
    "asVector": (
        lambda x: x >> as_vector(4) >> map_glb(vectorize(4, lambda e: e + e)) >> as_scalar,
        "asVector: 7 elements cannot be read as vectors of 4",
    ),
    "slide": (
        lambda x: x >> slide(3, 3) >> map_glb(reduce_seq(0, add) >> to_global(map_seq(lambda e: e + e))) >> join,
        "slide: windows of 3 elements every 3 do not fit 7 elements",
    ),
}  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_sizes_that_a_pattern_does_not_divide_are_refused_before_the_launch(pattern: str) -> None:
    make, message = REFUSED[pattern]
    compiled = compile(fun(array(float32, n), make))
    with pytest.raises(SizeError, match=f"test_exact_launches.py:[0-9]+: {message}"):
        compiled(np.ones(7, np.float32))
    compiled(np.ones(12, np.float32))


def test_known_sizes_that_a_pattern_does_not_divide_are_refused_when_compiled() -> None:
    make, message = REFUSED["split"]
    with pytest.raises(SizeError, match=message):
        compile(fun(array(float32, n), make), {"N": 7})
