"""Each rule of well-formedness refuses what breaks it, naming the pattern and the line, and accepts what does not."""

import pytest

from drawloom.lift import WellFormednessError, check_well_formed, infer_types
from drawloom.lift.language.parser import parse_program
from drawloom.lift.language.well_formed import is_low_level
from tests.lift.language.test_listings import partial_dot_product

ACCEPTED = [
    "f(x: [float]N) = mapGlb(0)(id, x)",
    "f(x: [[float]M]N) = mapGlb(1)(mapGlb(0)(id), x)",
    "f(x: [[float]M]N) = mapWrg(0)(mapLcl(0)(id), x)",
    "f(x: [[[float]4]M]N) = mapWrg(0)(mapLcl(0)(toGlobal(mapSeq(id)) ∘ toPrivate(mapSeq(id))), x)",
    "f(x: [[float]M]N) = mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ gather(reverse) ∘ toLocal(mapLcl(0)(id)), x)",
    "f(x: [[[float]M]K]N) = mapWrg(1)(mapWrg(0)(mapLcl(0)(id)), x)",
    "f(x: [[[float]32]M]N) = mapWrg(0)(mapWarp(0)(mapLane(0)(id)), x)",
    "f(x: [[[float]4]M]N) = map(transpose) ∘ mapWrg(0)(mapLcl(0)(mapSeq(id))) ∘ map(map(gather(reverse)), x)",
    "f(x: [float]N, y: [float]M) = mapGlb(0)(λ a . reduceSeq(0, λ (acc, b) . acc + a × b, y), x)",
    "f(x: [float]N) = kernel(mapGlb(0)(id)) ∘ kernel(mapGlb(0)(id), x)",
    "f(x: [[float]M]N, s: float) = mapWrg(0)(λ row . mapLcl(0)(add(toPrivate(id)(s)), row), x)",
    "f(x: [[float]M]N, s: float) = mapWrg(0)(λ row . (λ t . mapLcl(0)(add(t), row))(toPrivate(add)(s, s)), x)",
]

ATOMIC = [
    "f(x: [int]N, y: [int]4) = mapAtomicGlb(0)(λ v . (v, 1), add, y, x)",
    "f(x: [[int]M]N) = mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ mapAtomicLcl(0)(λ v . (v, 1), add, replicate(4, 0)), x)",
]
ACCEPTED.extend(ATOMIC)

REFUSED = [
    ("f(x: [int]N, y: [int]4) = mapAtomic(λ v . (v × 1, 1), add, y, x)", "it computes inside mapAtomic"),
    ("f(x: [int]N, y: [int]4) = mapAtomicLcl(0)(λ v . (v, 1), add, y, x)", "mapAtomicLcl: it stands outside mapWrg"),
    (
        "f(x: [[int]M]N, y: [int]4) = mapWrg(0)(mapAtomicGlb(0)(λ v . (v, 1), add, y), x)",
        "mapAtomicGlb: it stands inside mapWrg",
    ),
    (
        "f(x: [int]N, y: [int]4) = mapGlb(0)(add(1)) ∘ mapAtomicGlb(0)(λ v . (v, 1), add, y, x)",
        "mapGlb: it reads an array that mapGlb or mapWrg",
    ),
    ("f(x: [float]N) = mapLcl(0)(id, x)", "mapLcl: it stands outside mapWrg"),
    ("f(x: [[float]M]N) = mapGlb(0)(mapLcl(0)(id), x)", "mapLcl: it stands outside mapWrg"),
    ("f(x: [[float]M]N) = mapWrg(0)(mapGlb(0)(id), x)", "mapGlb: it stands inside mapWrg"),
    ("f(x: [[float]M]N) = mapGlb(0)(mapWrg(0)(id), x)", "mapWrg: it stands inside mapGlb"),
    ("f(x: [[float]M]N) = mapSeq(mapGlb(0)(id), x)", "mapGlb: it stands inside mapSeq"),
    ("f(x: [[float]M]N) = mapGlb(0)(mapGlb(0)(id), x)", "mapGlb: it stands inside another mapGlb of dimension 0"),
    ("f(x: [[[float]K]M]N) = mapWrg(0)(mapLcl(0)(mapLcl(0)(id)), x)", "mapLcl: it stands inside another mapLcl"),
    ("f(x: [float]N) = mapSeq(id, x)", "id: it writes outside all parallel maps"),
    ("f(x: [float]N) = reduceSeq(0, add, x)", "function add: it writes outside all parallel maps"),
    ("f(x: [[float]M]N) = mapWrg(0)(mapSeq(id), x)", "id: it writes inside mapWrg but outside mapLcl"),
    ("f(x: [[float]M]N) = mapGlb(0)(map(id), x)", "id: it computes inside map"),
    ("f(x: [[float]M]N) = mapGlb(0)(reduce(0, add), x)", "function add: it computes inside reduce"),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ mapGlb(0)(id, x)", "mapGlb: it reads an array that mapGlb or mapWrg"),
    (
        "f(x: [float]N) = mapGlb(0)(id) ∘ gather(reverse) ∘ join ∘ mapWrg(0)(mapLcl(0)(id)) ∘ split(4, x)",
        "mapGlb: it reads an array that mapGlb or mapWrg",
    ),
    (
        "f(x: [float]N) = (λ y . mapGlb(0)(λ a . reduceSeq(a, add, y), x))(mapGlb(0)(id, x))",
        "mapGlb: it reads y, which mapGlb or mapWrg",
    ),
    ("f(x: [[float]M]N) = mapWrg(0)(toLocal(mapLcl(0)(id)), x)", "mapWrg: its results are in local memory, by toLocal"),
    (
        "f(x: [[float]M]N) = mapWrg(0)(gather(reverse) ∘ mapLcl(0)(toLocal(id)), x)",
        "mapWrg: its results are in local memory, by toLocal, and end with the work-group",
    ),
    ("f(x: [float]N) = mapGlb(0)(toPrivate(id), x)", "mapGlb: its results are in private memory, by toPrivate"),
    ("f(x: [float]N) = mapGlb(0)(toLocal(id), x)", "toLocal: it stands outside mapWrg"),
    ("f(x: [[float]M]N) = mapWrg(0)(mapLane(0)(id), x)", "mapLane: it stands outside mapWarp"),
    (
        "f(x: [[[[float]L]K]M]N) = mapWrg(0)(mapLcl(0)(mapWarp(0)(mapLane(0)(id))), x)",
        "mapWarp: it stands inside mapLcl",
    ),
    (
        "f(x: [[[[float]L]K]M]N) = mapWrg(0)(mapWarp(0)(mapLcl(1)(mapLane(0)(id))), x)",
        "mapLcl: it stands inside mapWarp, and mapLcl is for whole groups",
    ),
    (
        "f(x: [[[[float]L]K]M]N) = mapWrg(0)(mapWarp(0)(mapWarp(1)(mapLane(1)(id))), x)",
        "mapWarp: it stands inside another mapWarp",
    ),
    (
        "f(x: [[[float]K]M]N) = mapWrg(0)(mapWarp(0)(mapLane(1)(id)), x)",
        "mapLane: it is of dimension 1 and stands inside mapWarp of dimension 0",
    ),
    (
        "f(x: [[[float]K]M]N) = mapWrg(0)(mapWarp(0)(mapSeq(id)), x)",
        "id: it writes inside mapWarp but outside mapLane",
    ),
    (
        "f(x: [[[int]K]M]N) = mapWrg(0)(mapWarp(0)(toGlobal(mapLane(0)(id)) ∘ "
        "mapAtomicLcl(0)(λ v . (v, 1), add, replicate(2, 0))), x)",
        "mapAtomicLcl: it stands inside mapWarp, and mapAtomicLcl is for whole groups",
    ),
    ("f(x: [[float]M]N) = mapGlb(0)(kernel(mapGlb(1)(id)), x)", "kernel: it stands inside mapGlb"),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ kernel(mapGlb(0)(id), x)", "id: it computes outside the program's kernels"),
    ("f(x: [float]N, y: float) = kernel(mapGlb(0)(add(y)), x)", "kernel: its function uses y"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    check_well_formed(infer_types(parse_program(text)))


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    program = infer_types(parse_program(text))
    with pytest.raises(WellFormednessError) as refusal:
        check_well_formed(program)
    assert message in str(refusal.value)
    assert str(refusal.value).startswith("<text>:1:")
    assert refusal.value.expected


def test_listing_4_5_is_well_formed() -> None:
    check_well_formed(infer_types(partial_dot_product()))


def test_low_level_programs_are_told_from_high_level_ones() -> None:
    assert is_low_level(partial_dot_product())
    assert not is_low_level(parse_program("f(x: [float]N) = reduce(0, add) ∘ map(mult(2), x)"))
