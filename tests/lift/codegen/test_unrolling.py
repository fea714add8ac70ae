"""Loops over registers are written out, with the conditions that each copy decides and with names of its own."""

import numpy as np

from drawloom.lift import compile, parse_program
from tests.lift.codegen.runners import check, integers


def test_a_copy_has_only_the_registers_that_its_condition_chooses() -> None:
    program = parse_program(
        "f(x: [[float]3]N) = mapGlb(0)(λ r . (λ p . toGlobal(mapSeq(id))(concat(p, p)))(toPrivate(mapSeq(neg))(r)), x)"
    )
    compiled = compile(program)
    check(program, compiled, integers(5, 3))
    assert "?" not in compiled.opencl


def test_writes_that_a_copy_excludes_are_left_out() -> None:
    program = parse_program(
        "f(x: [[float]4]N) = mapGlb(0)(toGlobal(mapSeq(id)) ∘ toPrivate(λ r . take(3) ∘ mapSeq(neg)(r)), x)"
    )
    compiled = compile(program)
    check(program, compiled, integers(5, 4))
    assert "if" not in compiled.opencl.split("kernel void")[1]


def test_each_copy_declares_its_own_indices() -> None:
    program = parse_program(
        "f(x: [[float]3]N, i: [int]4) = mapGlb(0)(λ r . toGlobal(mapSeq(id)) ∘ toPrivate(mapSeq(id))(lookup(r, i)), x)"
    )
    check(program, compile(program), integers(5, 3), np.int32([2, 0, 1, 1]))


def test_each_copy_has_its_own_iterations() -> None:
    halves = "iterate(2, join ∘ mapLcl(0)(toLocal(mapSeq(id)) ∘ reduceSeq(0, add)) ∘ split(2))"
    rows = f"toPrivate(mapSeq(mapLcl(0)(id) ∘ {halves}))"
    program = parse_program(f"f(x: [[[float]8]3]N) = mapWrg(0)(toGlobal(mapSeq(mapLcl(0)(id))) ∘ {rows}, x)")
    check(program, compile(program), integers(5, 3, 8))
