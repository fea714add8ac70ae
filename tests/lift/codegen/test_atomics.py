"""Atomic updates of every width that OpenCL has, in global and in local memory."""

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, WellFormednessError, compile, parse_program
from tests.lift.codegen.runners import check

PLACES = np.int32([1, 2, 3, 1, 0, 0, 0, 3, 3] * 40)
TYPES = {"int": "i4", "uint": "u4", "float": "f4", "long": "i8", "ulong": "u8", "double": "f8"}
OPERATORS = ["add", "mult", "minimum", "maximum"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("type", TYPES)
def test_updates_in_global_memory(type: str, operator: str) -> None:
    factor = 1 if operator == "mult" and type == "float" else 2  # 2 to the 120th power is no float32
    update = f"λ v . (v, ({type}){factor})"
    program = parse_program(f"f(x: [int]N, y: [{type}]4) = mapAtomicGlb(0)({update}, {operator}, y, x)")
    check(program, compile(program), PLACES, np.array([1, 2, 3, 4], TYPES[type]))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("type", TYPES)
def test_updates_in_local_memory(type: str, operator: str) -> None:
    updates = f"mapAtomicLcl(0)(λ v . (v, ({type})2), {operator}, replicate(4, ({type})1))"
    program = parse_program(f"f(x: [[int]9]N) = mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ {updates}, x)")
    check(program, compile(program), PLACES.reshape(40, 9))


@pytest.mark.parametrize(
    ("type", "operator", "extension"),
    [("long", "add", "base"), ("ulong", "maximum", "extended"), ("double", "add", "base"), ("long", "mult", "base")],
)
def test_eight_bytes_need_an_extension(type: str, operator: str, extension: str) -> None:
    text = f"f(x: [int]N, y: [{type}]4) = mapAtomicGlb(0)(λ v . (v, ({type})1), {operator}, y, x)"
    assert f"cl_khr_int64_{extension}_atomics : enable" in compile(parse_program(text)).opencl


@pytest.mark.parametrize("type", ["char", "uchar", "short", "ushort", "half"])
def test_narrow_elements_are_refused_by_name(type: str) -> None:
    text = f"f(x: [int]N, y: [{type}]4) = mapAtomicGlb(0)(λ v . (v, ({type})1), add, y, x)"
    with pytest.raises(
        LiftCompileError, match=f"mapAtomicGlb: elements of type {type} have no atomic update"
    ) as refusal:
        compile(parse_program(text))
    assert refusal.value.expected == "scalars of 4 or 8 bytes, such as int or long"
    assert refusal.value.line == 1


def test_a_function_may_be_called_as_a_variable_of_the_loop_is() -> None:
    text = "[associative] [commutative] float seen(float x, float y) { return x * y; }\n"
    text += "f(before: [int]N, y: [float]4) = mapAtomicGlb(0)(λ word . (word, 2.0f), seen, y, before)"
    program = parse_program(text)
    check(program, compile(program), PLACES[:30], np.float32([1, 2, 3, 4]))


UPDATES = "mapAtomicGlb(0)(λ v . (v, 1), add, y, x)"
#: Where the result of an atomic map stands in the program's.
RESULTS = [
    f"gather(reverse) ∘ {UPDATES}",
    f"split(2) ∘ {UPDATES}",
    f"transpose ∘ split(2) ∘ {UPDATES}",
    f"take(3) ∘ {UPDATES}",
    f"({UPDATES}, mapGlb(0)(neg, x))",
    f"(mapGlb(0)(neg, x), gather(reverse) ∘ {UPDATES})",
    f"({UPDATES}, mapAtomicGlb(0)(λ v . (v, 2), add, gather(reverse, y), x))",
    f"(λ s . gather(reverse, s))({UPDATES})",
    "mapAtomicGlb(0)(λ v . (v, 1), add, replicate(4, 7), x)",
]


@pytest.mark.parametrize("result", RESULTS)
def test_the_start_is_where_the_updates_are(result: str) -> None:
    program = parse_program(f"f(x: [int]N, y: [int]4) = {result}")
    check(program, compile(program), PLACES, np.int32([10, 20, 30, 40]))


def test_a_start_that_the_kernel_computes_is_refused() -> None:
    text = "f(x: [int]N) = mapAtomicGlb(0)(λ v . (v, 1), add, mapSeq(add(1), replicate(4, 0)), x)"
    with pytest.raises((LiftCompileError, WellFormednessError)):
        compile(parse_program(text))


@pytest.mark.parametrize("num_groups", [1, 2, 7])
def test_launches_have_the_known_number_of_groups(num_groups: int) -> None:
    """More work-groups than the code knows of counted elements twice."""
    program = parse_program(f"f(x: [int]N, y: [int]4) = {UPDATES}")
    compiled = compile(program, num_groups=num_groups, local_size=16)
    assert compiled.kernels[0].num_groups({}) == (num_groups, 1, 1)
    check(program, compiled, PLACES, np.int32([10, 20, 30, 40]))
