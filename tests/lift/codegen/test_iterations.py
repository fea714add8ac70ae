"""Iterations over every kind of element, in every address space, without data races."""

from typing import Any

import pytest

from drawloom.lift import compile, parse_program
from tests.lift.codegen.runners import check_races, integers

#: The type of a row, its shape, and what a work-group does with a row.
ROWS: dict[str, tuple[str, tuple[int, ...], str]] = {
    "scalars": (
        "[float]16",
        (16,),
        "toGlobal(mapLcl(0)(id)) ∘ iterate(3, toLocal(mapLcl(0)(add(1))) ∘ gather(reverse))",
    ),
    "tuples": (
        "[float]16",
        (16,),
        "toGlobal(mapLcl(0)(λ (a, b) . a + b)) ∘ iterate(3, toLocal(mapLcl(0)(λ (a, b) . (b, a + 1))) ∘ "
        "gather(reverse)) ∘ toLocal(mapLcl(0)(λ e . (e, e + e)))",
    ),
    "tuples of half the length": (
        "[float]16",
        (16,),
        "toGlobal(mapLcl(0)(λ (a, b) . a + b)) ∘ iterate(3, join ∘ mapLcl(0)(toLocal(mapSeq(id)) ∘ "
        "reduceSeq((0, 0), λ (s, t) . (get(0, s) + get(0, t), get(1, s) + get(1, t)))) ∘ split(2)) ∘ "
        "toLocal(mapLcl(0)(λ e . (e, e + e)))",
    ),
    "arrays": (
        "[[float]2]8",
        (8, 2),
        "toGlobal(mapLcl(0)(mapSeq(id))) ∘ iterate(3, toLocal(mapLcl(0)(mapSeq(add(1)))) ∘ gather(reverse)) ∘ "
        "toLocal(mapLcl(0)(mapSeq(id)))",
    ),
    "vectors": (
        "[float2]8",
        (8, 2),
        "toGlobal(mapLcl(0)(id)) ∘ iterate(3, toLocal(mapLcl(0)(id)) ∘ gather(reverse)) ∘ toLocal(mapLcl(0)(id))",
    ),
    "in global memory": ("[float]16", (16,), "iterate(3, toGlobal(mapLcl(0)(add(1))) ∘ gather(reverse))"),
    "none": ("[float]16", (16,), "mapLcl(0)(id) ∘ iterate(0, toLocal(mapLcl(0)(add(1))))"),
}


@pytest.mark.parametrize("local_size", [None, 3, 32])
@pytest.mark.parametrize("name", ROWS)
def test_iterations_of_a_group(name: str, local_size: int | None) -> None:
    type, shape, body = ROWS[name]
    program = parse_program(f"f(x: [{type}]N) = mapWrg(0)({body}, x)")
    check_races(program, compile(program, local_size=local_size), integers(3, *shape))


PRIVATE = [
    "iterate(3, mapSeq(add(1)) ∘ gather(reverse))",
    "iterate(3, join ∘ mapSeq(mapSeq(id) ∘ reduceSeq(0, add)) ∘ split(2))",
    "mapSeq(id) ∘ iterate(3, toPrivate(mapSeq(add(1))) ∘ gather(reverse))",
    "mapSeq(λ (a, b) . a + b) ∘ iterate(3, toPrivate(mapSeq(λ (a, b) . (b, a)))) ∘ toPrivate(mapSeq(λ e . (e, 1 + e)))",
]


@pytest.mark.parametrize("body", PRIVATE)
def test_iterations_of_a_work_item(body: Any) -> None:
    program = parse_program(f"f(x: [[float]16]N) = mapGlb(0)({body}, x)")
    check_races(program, compile(program), integers(3, 16))


def test_iterations_of_rows_of_a_group() -> None:
    row = "toGlobal(mapLcl(0)(id)) ∘ iterate(3, toLocal(mapLcl(0)(add(1))) ∘ gather(reverse))"
    program = parse_program(f"f(x: [[[float]8]2]N) = mapWrg(0)(mapLcl(1)({row}), x)")
    check_races(program, compile(program, local_size=(4, 2)), integers(3, 2, 8))
