"""Permutations of indices in both directions: what is written through gather, and read through scatter."""

import pytest

from drawloom.lift import (
    Lambda,
    array,
    compile,
    float32,
    fun,
    id,
    map_glb,
    map_seq,
    parse_program,
    size,
    transpose_by_gather,
)
from tests.lift.codegen.runners import check, integers

n, m = size("N"), size("M")
SYMBOLIC = [
    "reverse",
    "(i, n) → (i + 1) mod n",
    "(i, n) → (i + n - 2) mod n",
    "(i, n) → (i + 5) mod n",
    "(i, n) → (n - i) mod n",
]
CONSTANT = ["i → i / 4 + (i mod 4) * 3", "i → i / 6 + (i mod 6) * 2", "(i, n) → (n + 3 - i) mod n"]
PLACES = [
    "gather({}) ∘ mapGlb(0)(id, x)",
    "mapGlb(0)(id) ∘ scatter({}, x)",
    "scatter({}) ∘ mapGlb(0)(id) ∘ gather({}, x)",
]


@pytest.mark.parametrize("length", [2, 3, 12, 13])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("index", SYMBOLIC)
def test_any_length(index: str, place: str, length: int) -> None:
    program = parse_program(f"f(x: [float]N) = {place.format(index, index)}")
    check(program, compile(program), integers(length))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("index", CONSTANT)
def test_known_lengths(index: str, place: str) -> None:
    program = parse_program(f"f(x: [float]12) = {place.format(index, index)}")
    check(program, compile(program), integers(12))


def written_transposition() -> Lambda:
    return fun(array(float32, n, m), lambda x: x >> map_glb(map_seq(id)) >> transpose_by_gather(n, m))


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 2)])
def test_what_is_written_through_listing_4_4s_transposition(shape: tuple[int, int]) -> None:
    compiled = compile(written_transposition())
    check(written_transposition(), compiled, integers(*shape))
    assert "out[g_0 + i * N] = x[g_0 * M + i];" in compiled.opencl
