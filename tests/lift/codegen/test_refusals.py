"""Programs that have no code are refused with the pattern and the Python line."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from drawloom import DataError
from drawloom.lift import (
    Lambda,
    LiftCompileError,
    LiftTypeError,
    SizeError,
    array,
    compile,
    float32,
    fun,
    gather,
    id,
    interpret,
    map,
    map_glb,
    map_lcl,
    map_wrg,
    pad,
    pad_value,
    parse_program,
    replicate,
    size,
    slide,
    to_global,
    to_local,
    user_function,
)
from tests.lift.codegen.runners import integers

n, m = size("N"), size("M")


def program(body: Callable[..., object], *lengths: object) -> Lambda:
    return fun(array(float32, *(lengths or (n,))), body)  # type: ignore[arg-type]


REPEATED = "its result is written to memory, where it may have an element of its argument several times"
REFUSED = {
    "no work-items": (lambda x: map(id, x), "does not say which work-items"),
    "windows of what is computed": (lambda x: slide(3, 1, map_glb(id, x)), f"slide: {REPEATED}"),
    "padding of what is computed": (lambda x: pad(1, 1, "clamp", map_glb(id, x)), f"pad: {REPEATED}"),
    "padding by a function": (lambda x: pad(1, 1, lambda i, n: i % n, map_glb(id, x)), f"padIndex: {REPEATED}"),
    "padding by a value": (lambda x: pad_value(1, 1, 0.0, map_glb(id, x)), f"padValue: {REPEATED}"),
    "copies of what is computed": (lambda x: replicate(2, map_glb(id, x)), f"replicate: {REPEATED}"),
    "an unknown inverse": (
        lambda x: gather(lambda i, n: 5 * i % n)(map_glb(id, x)),
        "gather: its index function .* would have to be inverted",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_code_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    with pytest.raises(LiftCompileError, match=message) as refusal:
        compile(program(body))
    assert refusal.value.file == __file__
    assert refusal.value.line > 0


def test_local_arrays_need_known_sizes() -> None:
    copies = program(lambda x: x >> map_wrg(lambda row: to_global(map_lcl(id))(to_local(map_lcl(id))(row))), n, m)
    with pytest.raises(LiftCompileError, match="mapLcl: an array of M elements in local memory"):
        compile(copies)
    assert "local float tile[5];" in compile(copies, {"M": 5}).opencl


def test_work_items_of_a_dimension_that_no_map_shares_are_refused() -> None:
    with pytest.raises(LiftCompileError, match="2 work-items in dimension 1"):
        compile(program(lambda x: map_glb(id, x)), local_size=(4, 2))


@pytest.mark.parametrize("run", [lambda program: compile(program), lambda program: partial(interpret, program)])
def test_arrays_that_do_not_fit_are_refused_at_their_parameter(run: Callable[[Lambda], Callable[..., Any]]) -> None:
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    both = fun(array(float32, n), array(float32, n), lambda x, y: map_glb(id, x))
    refused: list[tuple[list[Any], str, str]] = [
        ([integers(2), integers(3)], "axis 0 of argument y has length 3, expected N = 2", "y: [float]N"),
        ([integers(2).astype("d"), integers(2)], "argument x: expected elements of float32", "x: [float]N"),
        ([integers(2), integers(2, 2)], "argument y: expected 1 axes", "y: [float]N"),
        ([integers(2), None], "argument y: expected a NumPy array of float32, found NoneType", "y: [float]N"),
    ]
    for arguments, message, parameter in refused:
        with pytest.raises(SizeError) as refusal:
            run(both)(*arguments)
        assert str(refusal.value).startswith(f"{__file__}:{line}: {message}")
        assert str(refusal.value).endswith(f"\n  parameter {parameter}")
    with pytest.raises(SizeError, match=f":{line}: the program takes 2 arguments, found 1\n  expected x: "):
        run(both)(integers(2))


def test_launches_that_no_device_has_are_refused_when_they_are_compiled() -> None:
    copies = program(lambda x: map_glb(id, x))
    for local_size in (2.5, "4", (), (4, 4, 4, 4), 0, True, (4, -1)):
        with pytest.raises(SizeError, match=r"local_size is .*, expected one to three positive whole numbers"):
            compile(copies, local_size=local_size)  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="work-groups of 4096 work-items, expected at most 1024"):
        compile(copies, local_size=4096)
    with pytest.raises(SizeError, match="num_groups is 4, expected None with exact_groups"):
        compile(copies, num_groups=4, exact_groups=True)
    with pytest.raises(SizeError, match="sizes is 5, expected a dictionary"):
        compile(copies, 5)  # type: ignore[arg-type]


def test_a_compiled_program_shows_its_type_and_its_kernels() -> None:
    copies = fun(array(float32, n), lambda x: map_glb(id, x), name="copies")
    assert repr(compile(copies)) == (
        "Compiled copies(x: [float]N) → [float]N\n  kernel copies(x, out, N), local size (128, 1, 1)"
    )
    assert repr(compile(copies, {"N": 8})).startswith("Compiled copies(x: [float]N) → [float]N, N = 8\n")


@pytest.mark.parametrize("program", ["f(x: [float]N) = id(x)", 5, None])
def test_what_is_not_a_program_is_refused(program: Any) -> None:
    with pytest.raises(DataError, match="is not a program\n  expected what fun or parse_program returns"):
        compile(program)


def test_no_parameter_has_the_name_of_a_type_that_opencl_reserves() -> None:
    for name in ("float", "int", "half", "uchar"):
        text = compile(parse_program(f"f({name}: [float]N) = mapGlb(0)(id, {name})")).opencl
        assert re.search(rf"restrict {name}(2|3|4|8|16)\b", text) is None


def test_an_error_in_a_user_function_has_the_line_of_python() -> None:
    with pytest.raises(LiftTypeError, match=r"test_refusals\.py:\d+: user function:1:32: .* q is not declared"):
        user_function("float sq(float x) { return x * q ; }")
