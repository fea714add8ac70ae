"""Registers have no addresses: what unrolling makes of loops over private arrays, and which elements exist."""

import re
from typing import Any

import pytest

from drawloom.lift import (
    Lambda,
    LiftCompileError,
    add,
    array,
    compile,
    concat,
    drop,
    float32,
    fun,
    id,
    iterate,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    neg,
    pad_value,
    reduce_seq,
    reverse,
    scatter,
    size,
    slide,
    split,
    to_global,
    to_local,
    to_private,
)
from tests.lift.codegen.runners import check, integers

n = size("N")
registers = to_private(map_seq(id))


def of_rows(length: int, body: Any) -> Lambda:
    return fun(array(float32, n, length), lambda x: x >> map_glb(body))


@pytest.mark.parametrize("switch", ["array_access", "barriers", "control_flow"])
def test_padded_registers_name_no_element_beyond_their_ends(switch: str) -> None:
    """Unrolled windows over a padded private array named the registers p_-1 and p_4, which do not exist."""
    program = of_rows(
        4, lambda row: registers(row) >> pad_value(1, 1, 0.5) >> slide(3, 1) >> map_seq(reduce_seq(0, add))
    )
    compiled = compile(program, **{switch: False})  # type: ignore[arg-type]
    check(program, compiled, integers(5, 4))
    assert set(re.findall(r"\bp_\w+", compiled.opencl)) == {f"p_{at}" for at in range(4)}


def test_registers_that_never_exist_are_not_declared() -> None:
    """An element that is computed but dropped was assigned to the register p_-1 of an array of none."""
    program = of_rows(1, lambda row: row >> registers >> drop(1) >> (lambda none: concat(none, row)) >> map_seq(neg))
    check(program, compile(program), integers(3, 1))


def test_branches_that_never_run_are_left_out() -> None:
    program = of_rows(2, lambda row: concat(registers(row), row) >> to_global(map_seq(neg)))
    body = compile(program).opencl.split("kernel void")[1]
    assert "?" not in body and "if (" not in body
    check(program, compile(program), integers(3, 2))


def test_iterations_inside_unrolled_loops_have_pointers_of_their_own() -> None:
    """The copies of an unrolled loop's body declared the pointers of an iteration again."""
    program = of_rows(
        4,
        lambda row: (
            split(2, row)
            >> map_seq(lambda part: part >> iterate(3, to_global(map_seq(neg))) >> registers)
            >> to_global(map_seq(map_seq(id)))
        ),
    )
    check(program, compile(program), integers(3, 4))


def test_buffers_that_only_pointers_name_are_declared() -> None:
    """Nothing is copied out of an iteration of which no element is kept, but its pointers are exchanged."""
    program = fun(
        array(float32, n, 2),
        lambda x: (
            x
            >> map_wrg(
                lambda row: (
                    to_local(map_lcl(id))(row)
                    >> iterate(2, to_local(map_lcl(neg)))
                    >> drop(2)
                    >> (lambda none: to_global(map_lcl(id))(none))
                )
            )
        ),
    )
    assert compile(program)(integers(3, 2)).shape == (3, 0)


def test_arrays_that_grow_are_not_cut_to_their_first_length() -> None:
    """The size of an iterated array was taken to be at most the one before the first iteration."""
    program = fun(
        array(float32, n, 1),
        lambda x: (
            x
            >> map_wrg(
                lambda row: (
                    to_local(map_lcl(id))(row)
                    >> iterate(3, lambda part: concat(part, part) >> to_local(map_lcl(neg)))
                    >> to_global(map_lcl(id))
                )
            )
        ),
    )
    check(program, compile(program, local_size=2), integers(3, 1))


def test_global_buffers_of_arrays_that_grow_have_their_greatest_length() -> None:
    """A buffer in global memory had a size that only the kernel knows, which the host could not allocate."""
    program = fun(
        array(float32, n, 2),
        lambda x: (
            x
            >> map_wrg(
                lambda row: (
                    to_local(map_lcl(id))(row)
                    >> iterate(
                        2,
                        lambda part: (
                            to_global(map_lcl(neg))(part) >> (lambda kept: to_local(map_lcl(id))(concat(kept, kept)))
                        ),
                    )
                    >> to_global(map_lcl(id))
                )
            )
        ),
    )
    check(program, compile(program), integers(3, 2))


def test_registers_that_another_work_item_reads_are_refused() -> None:
    """Each work-item has registers of its own, so scattered elements were never read."""
    program = fun(
        array(float32, n, 3),
        lambda x: x >> map_wrg(lambda row: to_private(map_lcl(neg))(row) >> scatter(reverse) >> to_global(map_lcl(id))),
    )
    with pytest.raises(LiftCompileError, match="an element of it is read by another work-item") as refusal:
        compile(program)
    assert refusal.value.line > 0
