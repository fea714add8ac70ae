"""Results of every shape: scalars, vectors, tuples, several arrays, and inputs that are results, too."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, compile, parse_program
from tests.lift.codegen.runners import check_races, integers

NUMBERS = np.int32([5, 3, 1, 7])

RESULTS: list[tuple[str, tuple[Any, ...]]] = [
    ("(x: [float]N) = head ∘ join ∘ mapGlb(0)(toGlobal(mapSeq(id)) ∘ reduceSeq(0, add)) ∘ split(N, x)", (integers(4),)),
    ("(x: [float4]N) = head ∘ mapGlb(0)(id) ∘ take(1, x)", (integers(3, 4),)),
    ("(x: [(float, int)]N) = head ∘ mapGlb(0)(id) ∘ take(1, x)", ((integers(4), NUMBERS),)),
    ("(x: [float]N) = (mapGlb(0)(id, x), mapGlb(0)(neg, x))", (integers(300),)),
    ("(x: [float]N) = mapGlb(0)(λ e . (e, (e + e, neg(e))), x)", (integers(300),)),
    ("(x: [float]N, y: float) = (mapGlb(0)(add(y), x), y)", (integers(300), np.float32(3))),
    (
        "(x: [float]N) = (λ s . (mapGlb(0)(add(s), x), s))(toPrivate(head ∘ reduceSeq(0, add))(x))",
        (integers(300),),
    ),
]


@pytest.mark.parametrize(("text", "arguments"), RESULTS)
@pytest.mark.parametrize("options", [{}, {"num_groups": 1}, {"local_size": 1}])
def test_results(text: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    program = parse_program("f" + text)
    check_races(program, compile(program, **options), *arguments)


#: Parallel maps that only rearrange data: their work-items copy it.
COPIES: list[tuple[str, tuple[Any, ...]]] = [
    ("(x: [[float]4]N) = mapGlb(0)(λ r . zip(r, r), x)", (integers(3, 4),)),
    (
        "(x: [[float]4]N) = mapGlb(1)(mapGlb(0)(join)) ∘ map(transpose) ∘ slide(2, 1) ∘ map(slide(2, 1), x)",
        (integers(5, 4),),
    ),
    ("(x: [float]N) = mapGlb(0)(λ e . replicate(3, e), x)", (integers(5),)),
    ("(x: [float]N) = mapGlb(0)(λ (e, i) . (i, e), zip(x, iota(N)))", (integers(5),)),
    ("(x: [float]N, i: [int]M) = mapGlb(0)(λ k . head(lookup(x, [k])), i)", (integers(8), NUMBERS)),
    ("(x: [[float]4]N) = mapWrg(0)(mapLcl(0)(λ e . e), x)", (integers(5, 4),)),
    (
        "(x: [[float]4]N) = mapWrg(0)(mapLcl(0)(λ e . e) ∘ gather(reverse) ∘ toLocal(mapLcl(0)(neg)), x)",
        (integers(5, 4),),
    ),
]


@pytest.mark.parametrize(("text", "arguments"), COPIES)
def test_parallel_maps_copy_what_they_only_rearrange(text: str, arguments: tuple[Any, ...]) -> None:
    program = parse_program("f" + text)
    check_races(program, compile(program), *arguments)


def test_a_scalar_that_no_work_item_is_chosen_for_is_refused() -> None:
    with pytest.raises(LiftCompileError, match="head: all work-items would write its result, a float"):
        compile(parse_program("f(x: [float]N) = head ∘ mapGlb(0)(id, x)"))
