"""Arrays whose elements the kernel cannot mean are refused before anything runs."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom.errors import LaunchError
from drawloom.ptx import parse
from drawloom.runtime import Buffer
from drawloom.runtime.element_types import accessed_types, contradicts
from tests.runtime import programs

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"


def types_of(body: str, parameters: int = 2) -> list[str]:
    listed = ", ".join(f".param .u64 p{n}" for n in range(parameters))
    registers = ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<3>; .reg .b16 %h<3>; .reg .pred %p;"
    loads = "".join(f"ld.param.u64 %rd{n}, [p{n}];" for n in range(parameters))
    module = parse(f"{HEADER}.visible .entry k({listed}) {{ {registers} {loads} {body} ret; }}")
    found = accessed_types(module.functions["k"])
    return ["?" if types is None else " ".join(sorted(type_.name for type_ in types)) for types in found]


ACCESSES = {
    "each pointer has its own": ("ld.global.f32 %f1, [%rd0]; st.global.u32 [%rd1], %r1;", "f32", "u32"),
    "several types": ("ld.global.f32 %f1, [%rd0]; ld.global.f64 %d1, [%rd0+8];", "f32 f64", ""),
    "vectors": ("ld.global.v2.f32 {%f1, %f2}, [%rd0];", "f32", ""),
    "an index from a parameter": (
        "shl.b64 %rd3, %rd1, 2; add.s64 %rd4, %rd0, %rd3; ld.global.f32 %f1, [%rd4];", "f32", "",
    ),
    "an index from memory": (
        "ld.global.s32 %r1, [%rd1]; mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd0, %rd3; ld.global.f32 %f1, [%rd4];",
        "f32", "s32",
    ),
    "an address in two steps": (
        "cvta.to.global.u64 %rd2, %rd0; mad.wide.s32 %rd3, %r1, 4, %rd2; atom.global.add.f32 %f1, [%rd3], %f2;",
        "f32", "",
    ),
    "one of two pointers": (
        "selp.b64 %rd2, %rd0, %rd1, %p; ld.global.f32 %f1, [%rd2]; ld.global.f32 %f1, [%rd0];", "?", "?",
    ),
    "a pointer that is stored": ("ld.global.f32 %f1, [%rd0]; st.global.u64 [%rd1], %rd0;", "?", "u64"),
    "a copy that runs ahead": (
        "ld.global.f32 %f1, [%rd0]; cp.async.ca.shared.global [%r1], [%rd0], 4; ld.global.u8 %h1, [%rd1];", "?", "u8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCESSES)
def test_types_of_accesses(name: str) -> None:
    body, first, second = ACCESSES[name]
    assert types_of(body) == [first, second]


@pytest.mark.parametrize(
    ("element", "accessed", "refused"),
    [
        ("f8", "f32", True), ("i8", "s32", True), ("i8", "u32", True), ("i4", "f32", True), ("f4", "s32", True),
        ("f4", "f64", True), ("i4", "s64", True), ("f8", "b32", True), ("u4", "s32", False), ("f4", "b32", False),
        ("f4", "b64", False), ("f2", "b32", False), ("f2", "u16", False), ("u1", "f32", False), ("i1", "f64", True),
        ("?", "f32", True), ("i1", "s8", False),
        ("i1", "b32", False), ("?", "u8", False), ("?", "b8", False), ("f4", "u8", False), ("c8", "f32", False),
        ("c16", "f32", True), ("M8[s]", "s64", False),
        ("V12", "f32", False), ("f4", "f16x2", True), ("f2", "f16x2", False),
    ],
)  # fmt: skip
def test_which_elements_contradict_an_access(element: str, accessed: str, refused: bool) -> None:
    from drawloom.ptx.types import TYPES

    assert contradicts(np.dtype(element), frozenset([TYPES[accessed]])) is refused


def test_one_access_that_agrees_is_enough() -> None:
    from drawloom.ptx.types import F32, F64

    assert not contradicts(np.dtype("f4"), frozenset([F32, F64]))
    assert not contradicts(np.dtype("f4"), frozenset())
    assert not contradicts(np.dtype("f4"), None)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_numpys_default_float_in_a_kernel_of_single_floats(device: str) -> None:
    y = np.zeros(4, np.float32)
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    for x in (np.ones(4), pa.array([1.0] * 4), Buffer.from_array(np.ones(4), device), memoryview(np.ones(4))):
        with pytest.raises(LaunchError, match=r"\(x\): its elements are float64, but the kernel accesses \.f32"):
            saxpy[1, 4](1.0, x, y, 4)
    assert (y == 0).all()
    saxpy[1, 4](1.0, np.ones(4).view(np.uint8), y, 4)
    as_they_are = drawloom.load(programs.SAXPY, device, reinterpret=True)["saxpy"]
    as_they_are[1, 4](1.0, np.ones(4), y, 4)
    np.testing.assert_array_equal(y, [0, 3.75, 0, 3.75])


def test_empty_arrays_may_be_of_any_type() -> None:
    drawloom.load(programs.SAXPY)["saxpy"][1, 4](1.0, np.zeros(0), np.zeros(0), 0)


def test_arrays_by_name_and_by_position(tmp_path: Path) -> None:
    saxpy = drawloom.load(programs.SAXPY)["saxpy"]
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    saxpy[1, 4](2.0, n=4, y=y, x=x)
    np.testing.assert_array_equal(y, [2] * 4)
    for given, refusal in (
        ({"x": x, "y": y}, "no value for n"),
        ({"x": x, "y": y, "n": 4, "m": 4}, "no parameter 'm'; there are: a, x, y, n"),
        ({"a": 1.0, "x": x, "y": y, "n": 4}, "parameter 'a' is given twice"),
    ):
        with pytest.raises(LaunchError, match=refusal):
            saxpy[1, 4](2.0, **given)
