"""The text of a program: its kernels are one OpenCL program, whatever their functions and parameters are called."""

import numpy as np
import pytest

from drawloom.cuda import compile_opencl
from drawloom.lift import (
    Lambda,
    add,
    array,
    compile,
    float32,
    fun,
    int32,
    kernel,
    map_glb,
    map_seq,
    parse_program,
    size,
    user_function,
)
from tests.lift.codegen.runners import check, integers

n = size("N")


def two_kernels() -> Lambda:
    """Return kernels that call one function for two types, and each another one of the same name."""
    square = user_function("float step(float x) { return x * x; }")
    half = user_function("float step(float x) { return x / 2.0f; }")
    first = fun(None, lambda x: x >> map_glb(lambda e: add(square(e), square(e))))
    second = fun(None, None, lambda x, counts: x >> map_glb(lambda e: half(e)))
    return fun(
        array(float32, n), array(int32, n), lambda x, counts: kernel(second)(kernel(first)(x), counts), name="both"
    )


def test_kernels_share_their_functions() -> None:
    compiled = compile(two_kernels())
    check(two_kernels(), compiled, integers(5), np.arange(5, dtype=np.int32))
    assert compiled.opencl.count("float add(float x, float y) {") == 1
    assert [one.name for one in compile_opencl(compiled.opencl).kernels] == ["both_1", "both_2"]


@pytest.mark.parametrize("name", ["add", "dot", "max", "float4", "get_global_id", "kernel", "out", "as_int", "π"])
def test_a_program_may_have_any_name(name: str) -> None:
    program = fun(array(float32, n), lambda x: map_glb(lambda e: e + e, x), name=name)
    check(program, compile(program), integers(5))


@pytest.mark.parametrize(
    "name", ["get_global_id", "vload4", "min", "float4", "half", "out", "add", "N", "g_id_0", "barrier"]
)
def test_a_parameter_may_have_any_name(name: str) -> None:
    program = parse_program(f"f({name}: [float]M, y: float) = mapGlb(0)(λ e . e + y, {name})")
    check(program, compile(program), integers(5), 2.0)


@pytest.mark.parametrize(
    "name", ["get_local_id", "as_float", "atomic_add", "convert_int", "vstore4", "word", "native_sin"]
)
def test_a_user_function_may_have_any_name(name: str) -> None:
    program = parse_program(f"float {name}(float x) {{ return x * 2.0f; }}\nf(x: [float]N) = mapGlb(0)({name}, x)")
    check(program, compile(program), integers(5))


@pytest.mark.parametrize("name", ["float", "add", "g_id_0", "get_global_id", "x", "out", "barrier", "restrict"])
def test_a_size_may_have_any_name(name: str) -> None:
    program = fun(array(float32, size(name), 3), lambda x: map_glb(map_seq(lambda e: add(e, e)), x))
    for options in ({}, {"num_groups": 1}):
        check(program, compile(program, **options), integers(5, 3))  # type: ignore[arg-type]


def test_known_sizes_may_have_any_name() -> None:
    program = parse_program("f(x: [float]float) = mapGlb(0)(neg, x)")
    check(program, compile(program, {"float": 5}), integers(5))
