"""Maps of different dimensions in one kernel: what several work-items would compute alike is stored by one of them."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, compile, parse_program
from tests.lift.codegen.runners import check_races, integers

SIZES = [(4, 4), (4, 1), (2, 2), (1, 4)]
COUNTS = np.int32([[1, 0, 3, 2, 1, 1], [0, 0, 0, 2, 3, 1]])


@pytest.mark.parametrize("local_size", SIZES)
@pytest.mark.parametrize("copy", ["id", "add(1)"])
def test_phases_of_two_dimensions(copy: str, local_size: tuple[int, int]) -> None:
    program = parse_program(
        "f(x: [[float]16]N) = "
        f"mapWrg(0)(λ r . toGlobal(mapLcl(1)(id)) ∘ gather(reverse) ∘ toLocal(mapLcl(0)({copy}))(r), x)"
    )
    check_races(program, compile(program, local_size=local_size), integers(2, 16))


@pytest.mark.parametrize("local_size", SIZES)
def test_an_accumulator_that_is_updated_in_place(local_size: tuple[int, int]) -> None:
    sums = "reduceSeq(toLocal(mapLcl(0)(id))(replicate(16, 0)), λ (s, y) . mapLcl(0)(add, zip(s, y)))"
    program = parse_program(f"f(x: [[[float]16]4]N) = mapWrg(0)(join ∘ mapSeq(toGlobal(mapLcl(1)(id))) ∘ {sums}, x)")
    check_races(program, compile(program, local_size=local_size), integers(2, 4, 16))


@pytest.mark.parametrize("local_size", SIZES)
def test_atomic_updates_are_made_once(local_size: tuple[int, int]) -> None:
    counts = "mapAtomicLcl(0)(λ v . (v, 1), add, replicate(4, 0))"
    program = parse_program(f"f(x: [[int]6]N) = mapWrg(0)(toGlobal(mapLcl(1)(add(1))) ∘ {counts}, x)")
    check_races(program, compile(program, local_size=local_size), COUNTS)


def test_two_results_over_two_dimensions_of_groups() -> None:
    program = parse_program("f(x: [int]N) = (mapGlb(1)(id, x), mapGlb(0)(neg, x))")
    compiled = compile(program, local_size=(2, 2))
    check_races(program, compiled, COUNTS.reshape(-1))
    assert "if (l_id_0 < 1 && wg_id_0 < 1) {" in compiled.opencl


@pytest.mark.parametrize("local_size", SIZES)
def test_private_values_are_computed_by_all_work_items(local_size: tuple[int, int]) -> None:
    program = parse_program(
        "f(x: [[float]8]N, y: [float]4) = mapWrg(0)(λ r . (λ s . (mapLcl(0)(add(s), r), mapLcl(1)(mult(s), r)))"
        "(toPrivate(head ∘ reduceSeq(0, add))(y)), x)"
    )
    check_races(program, compile(program, local_size=local_size), integers(2, 8), integers(4))


EXCHANGES = [
    "mapGlb(1)(mapGlb(0)(neg) ∘ toGlobal(mapSeq(neg)))",
    "mapGlb(1)(toGlobal(mapSeq(neg)) ∘ mapGlb(0)(neg))",
    "mapGlb(1)(λ r . (λ s . mapGlb(0)(add(head(reduceSeq(0, add, s))), r))(toGlobal(mapSeq(neg))(r)))",
    "mapGlb(0)(mapGlb(1)(neg) ∘ toGlobal(scanSeq(0, add)))",
]


@pytest.mark.parametrize("maps", EXCHANGES)
@pytest.mark.parametrize("options", [{}, {"num_groups": (1, 1)}, {"local_size": (1, 1)}])
def test_work_items_that_would_have_to_wait_for_others_are_refused(maps: str, options: dict[str, Any]) -> None:
    """The first work-item stored what the others read at once."""
    with pytest.raises(
        LiftCompileError, match="it reads what other work-items have stored in global memory"
    ) as refusal:
        compile(parse_program(f"f(x: [[float]8]N) = ({maps})(x)"), **options)
    assert refusal.value.line == 1


@pytest.mark.parametrize(
    "maps",
    [
        "mapWrg(1)(mapWrg(0)(mapLcl(0)(neg)) ∘ toGlobal(mapLcl(1)(mapLcl(0)(neg))))",
        "mapWrg(1)(mapLcl(1)(mapLcl(0)(neg)) ∘ mapWrg(0)(mapLcl(0)(neg)))",
    ],
)
def test_work_groups_that_would_have_to_wait_for_others_are_refused(maps: str) -> None:
    with pytest.raises(LiftCompileError, match="it reads what other work-items have stored in global memory"):
        compile(parse_program(f"f(x: [[[float]4]4]N) = ({maps})(x)"))


@pytest.mark.parametrize("maps", EXCHANGES)
def test_one_work_item_waits_for_nobody(maps: str) -> None:
    program = parse_program(f"f(x: [[float]8]N) = ({maps})(x)")
    check_races(program, compile(program, local_size=(1, 1), num_groups=(1, 1)), integers(3, 8))


@pytest.mark.parametrize("local_size", SIZES)
def test_what_is_private_or_stored_by_the_reader_is_no_exchange(local_size: tuple[int, int]) -> None:
    for maps in (
        "mapGlb(1)(mapGlb(0)(neg) ∘ toPrivate(mapSeq(neg)))",
        "mapGlb(1)(mapGlb(0)(toGlobal(mapSeq(neg)) ∘ toGlobal(mapSeq(neg))) ∘ split(4))",
        "mapGlb(1)(toGlobal(mapSeq(neg)) ∘ toGlobal(mapSeq(neg)))",
    ):
        program = parse_program(f"f(x: [[float]8]N) = ({maps})(x)")
        size = local_size if "mapGlb(0)" in maps else (1, local_size[1])
        check_races(program, compile(program, local_size=size), integers(3, 8))


def test_kernels_with_one_dimension_have_no_conditions() -> None:
    program = parse_program("f(x: [[float]16]N) = mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ toLocal(mapLcl(0)(id)), x)")
    assert "if" not in compile(program).opencl
