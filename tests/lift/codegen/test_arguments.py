"""Arguments of kernels that are not arrays: scalars of every type, vectors, and tuples of them."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import compile, parse_program
from tests.lift.codegen.runners import check

SELECT = "float select_sign(float x, bool keep) { if (keep) { return x; } return -x; }\n"
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
         "ulong": "u8", "half": "f2", "float": "f4", "double": "f8"}  # fmt: skip


@pytest.mark.parametrize("type", TYPES)
def test_scalars(type: str) -> None:
    program = parse_program(f"f(x: [{type}]N, y: {type}) = mapGlb(0)(λ e . add(e, y), x)")
    check(program, compile(program), np.arange(5).astype(TYPES[type]), np.dtype(TYPES[type]).type(7))


@pytest.mark.parametrize("keep", [True, False])
def test_truth_values(keep: bool) -> None:
    program = parse_program(SELECT + "f(x: [float]N, y: bool) = mapGlb(0)(λ e . select_sign(e, y), x)")
    compiled = compile(program)
    check(program, compiled, np.arange(5, dtype=np.float32), keep)
    assert "uchar y" in compiled.opencl  # OpenCL has no arguments of type bool


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("type", ["uchar", "int", "float", "double"])
def test_vectors(type: str, width: int) -> None:
    program = parse_program(f"f(x: [{type}{width}]N, y: {type}{width}) = mapGlb(0)(λ e . add(e, y), x)")
    values = np.arange(width).astype(TYPES[type])
    compiled = compile(program)
    check(program, compiled, np.ones((3, width), TYPES[type]), values)
    assert f"{type}{width} y" in compiled.opencl


COMPONENTS = [
    ("y: float4", "y", np.float32([1, 2, 3, 4])),
    ("y: (float4, int)", "get(0, y)", (np.float32([1, 2, 3, 4]), np.int32(3))),
]


@pytest.mark.parametrize(("parameter", "vector", "value"), COMPONENTS)
def test_components_of_vectors(parameter: str, vector: str, value: Any) -> None:
    program = parse_program(
        f"f(x: [float]N, {parameter}) = mapGlb(0)(λ e . reduceSeq(e, add, asScalar([{vector}])), x)"
    )
    check(program, compile(program), np.ones(3, np.float32), value)
