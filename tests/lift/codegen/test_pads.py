"""Padding by an index function: the elements, and the proof that no other element is read."""

from collections.abc import Callable
from typing import Any

import pytest

from drawloom.lift import (
    LiftCompileError,
    add,
    array,
    compile,
    float32,
    fun,
    id,
    join,
    map_glb,
    pad,
    reduce_seq,
    size,
    slide,
)
from drawloom.lift.arithmetic import maximum, minimum
from tests.lift.codegen.runners import check, integers

n = size("N")

PROVED: dict[str, Callable[[Any, Any], Any]] = {
    "clamp": lambda i, n: clamp(i, n),
    "wrap": lambda i, n: i % n,
    "stride": lambda i, n: (3 * i + 1) % n,
    "first": lambda i, n: 0,
    "reflect": lambda i, n: clamp(-i, n),
}


def clamp(i: Any, n: Any) -> Any:
    return maximum(minimum(i, n - 1), 0)


@pytest.mark.parametrize("length", [1, 2, 5, 13])
@pytest.mark.parametrize("name", PROVED)
def test_elements_outside_are_chosen_by_a_function(name: str, length: int) -> None:
    program = fun(array(float32, n), lambda x: x >> pad(2, 3, PROVED[name]) >> map_glb(id))
    check(program, compile(program), integers(length))
    sums = fun(
        array(float32, n), lambda x: x >> pad(1, 1, PROVED[name]) >> slide(3, 1) >> map_glb(reduce_seq(0, add)) >> join
    )
    check(sums, compile(sums), integers(length))


def test_a_function_that_keeps_what_is_inside_needs_no_condition() -> None:
    program = fun(array(float32, n), lambda x: x >> pad(1, 1, PROVED["clamp"]) >> map_glb(id))
    assert "out[g_0] = x[max(min(g_0 - 1, N - 1), 0)];" in compile(program).opencl


def test_one_end_only() -> None:
    program = fun(array(float32, n), lambda x: x >> pad(1, 0, lambda i: -1 - i) >> map_glb(id))
    check(program, compile(program), integers(5))


@pytest.mark.parametrize("function", [lambda i: i, lambda i: -i, lambda i, n: n - 1 - i])
def test_a_function_that_may_leave_the_array_is_refused(function: object) -> None:
    program = fun(array(float32, n), lambda x: x >> pad(1, 1, function) >> map_glb(id))  # type: ignore[arg-type]
    with pytest.raises(
        LiftCompileError, match=r"padIndex: its index function .* is not proved to return an index"
    ) as refusal:
        compile(program)
    assert refusal.value.file == __file__
