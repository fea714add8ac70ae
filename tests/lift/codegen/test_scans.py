"""Scans whose results are scalars, vectors, tuples and arrays."""

import numpy as np
import pytest

from drawloom.lift import compile, parse_program
from tests.lift.codegen.runners import check, integers

#: Programs over rows of four elements or of three vectors of four, as the text after ``r .``.
SCALARS = [
    "scanSeq(0, add, r)",
    "scanExclusiveSeq(1, sub, r)",
    "scanSeq((0, 1), λ (s, y) . (get(0, s) + y, get(1, s) + 1), r)",
    "scanExclusiveSeq((0, 1), λ (s, y) . (get(0, s) + y, get(1, s) + 1), r)",
    "scanSeq((0, (0, 0)), λ (s, y) . (y, (get(0, s), get(0, get(1, s)))), r)",
]
ARRAYS = [
    "scanSeq(replicate(4, 0), λ (s, y) . mapSeq(add, zip(s, y)), r)",
    "scanExclusiveSeq(replicate(4, 0), λ (s, y) . mapSeq(add, zip(s, y)), r)",
    "scanSeq(replicate(4, 0), λ (s, y) . mapSeq(add, zip(gather(reverse, s), y)), r)",
    "scanExclusiveSeq(replicate(4, 0), λ (s, y) . mapSeq(add, zip(gather(reverse, s), y)), r)",
    "scanSeq((replicate(4, 0), 0), λ (s, y) . (mapSeq(add, zip(get(0, s), y)), get(1, s) + head(y)), r)",
    "toGlobal(mapSeq(mapSeq(add(1)))) ∘ toPrivate(scanSeq(replicate(4, 0), λ (s, y) . mapSeq(add, zip(s, y))))(r)",
]
GROUPS = [
    "scanSeq(replicate(4, 0), λ (s, y) . mapLcl(0)(add, zip(s, y)), r)",
    "scanExclusiveSeq(replicate(4, 0), λ (s, y) . mapLcl(0)(add, zip(s, y)), r)",
    "scanSeq(toLocal(mapLcl(0)(id))(replicate(4, 0)), λ (s, y) . mapLcl(0)(add, zip(gather(reverse, s), y)), r)",
    "scanExclusiveSeq(toLocal(mapLcl(0)(id))(replicate(4, 0)), "
    "λ (s, y) . mapLcl(0)(add, zip(gather(reverse, s), y)), r)",
]


@pytest.mark.parametrize("scan", SCALARS)
def test_scans_of_scalars_and_tuples(scan: str) -> None:
    program = parse_program(f"f(x: [[float]4]N) = mapGlb(0)(λ r . {scan}, x)")
    check(program, compile(program), integers(5, 4))


@pytest.mark.parametrize("scan", ARRAYS)
def test_scans_of_arrays(scan: str) -> None:
    program = parse_program(f"f(x: [[[float]4]M]N) = mapGlb(0)(λ r . {scan}, x)")
    check(program, compile(program, {"M": 3}), integers(5, 3, 4))


@pytest.mark.parametrize("local_size", [None, 2, 3])
@pytest.mark.parametrize("scan", GROUPS)
def test_scans_of_arrays_by_a_group(scan: str, local_size: int | None) -> None:
    program = parse_program(f"f(x: [[[float]4]M]N) = mapWrg(0)(λ r . {scan}, x)")
    check(program, compile(program, local_size=local_size), integers(5, 3, 4))


def test_scans_of_vectors() -> None:
    program = parse_program("f(x: [[float4]M]N) = mapGlb(0)(λ r . scanSeq((float4)0.0f, add, r), x)")
    check(program, compile(program), integers(5, 3, 4))


def test_a_scan_of_no_elements() -> None:
    program = parse_program("f(x: [[float]4]N) = mapGlb(0)(λ r . scanSeq(0, add) ∘ take(0, r), x)")
    assert compile(program)(np.ones((2, 4), np.float32)).shape == (2, 0)
