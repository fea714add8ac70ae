"""Filters in one work-item: the kept elements, the rest and their number, in every address space."""

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, WellFormednessError, compile, parse_program
from tests.lift.codegen.runners import check_races

ODD = "bool odd(int x) { return x % 2 == 1; }\n"
ROWS = np.int32([[1, 2, 3, 4, 5], [2, 4, 6, 8, 10], [1, 3, 5, 7, 9]])
KEPT = "(λ k . mapSeq(add(get(1, k)), get(0, k)))"

PROGRAMS = {
    "both results": "mapGlb(0)(filterSeq(odd, 0), x)",
    "the elements": "mapGlb(0)(get(0) ∘ filterSeq(odd, 0), x)",
    "the number": "mapGlb(0)(get(1) ∘ filterSeq(odd, 0), x)",
    "an integer decides": "mapGlb(0)(filterSeq(λ y . y, 7), x)",
    "tuples": "mapGlb(0)(λ r . filterSeq(λ (a, b) . odd(a), (0, 0), zip(r, gather(reverse, r))), x)",
    "in private memory": f"mapGlb(0)(λ r . {KEPT}(toPrivate(filterSeq(odd, -7))(r)), x)",
    "in local memory": "mapWrg(0)(λ r . (λ k . mapLcl(0)(add(get(1, head(k))), join(map(get(0), k)))) ∘ "
    "toLocal(mapLcl(0)(filterSeq(odd, 0)))(split(5, r)), x)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows(name: str) -> None:
    program = parse_program(ODD + f"f(x: [[int]5]N) = {PROGRAMS[name]}")
    check_races(program, compile(program), ROWS)


def test_arrays() -> None:
    program = parse_program(
        ODD + "f(x: [[[int]4]M]N) = mapGlb(0)(filterSeq(λ a . odd(head(drop(1, a))), replicate(4, 0)), x)"
    )
    check_races(program, compile(program), (np.arange(24, dtype=np.int32) // 3).reshape(2, 3, 4))


@pytest.mark.parametrize("length", [1, 2, 31])
def test_any_length(length: int) -> None:
    program = parse_program(ODD + "f(x: [[int]M]N) = mapGlb(0)(filterSeq(odd, 0), x)")
    check_races(program, compile(program), np.arange(3 * length, dtype=np.int32).reshape(3, length))


def test_a_filter_without_a_work_item_is_refused() -> None:
    with pytest.raises(WellFormednessError, match="it computes inside filter") as refusal:
        compile(parse_program(ODD + "f(x: [[int]M]N) = mapGlb(0)(filter(odd, 0), x)"))
    assert refusal.value.expected == "filterSeq"
    text = "f(x: [[int]M]N) = mapWrg(0)(λ r . filterSeq(λ y . y, 0, r), x)"
    with pytest.raises(LiftCompileError, match="filterSeq: all work-items would write to the same place"):
        compile(parse_program(text))
