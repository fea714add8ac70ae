"""Random kernels: both oracles, and machine code in several layouts (tools/fuzz_batch.py draws more)."""

import pytest

from drawloom.batch import BatchTypeError, lower, parse_file
from tests.batch.random_kernels import Generator
from tools.fuzz_batch import check, check_mutated

pytest.importorskip("pycparser")


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_kernels_agree(first: int) -> None:
    for seed in range(first, first + 5):
        assert check(seed) == ""


class WithoutEffects(Generator):
    draws_effects = False


@pytest.mark.parametrize("seed", [442, 452])
def test_kernels_that_llvm_once_failed_on(seed: int) -> None:
    """For AVX-512, LLVM 22.1 asserted on interleaved stores of 1024 bits, and permuted lanes wrongly."""
    assert check(seed, draw=WithoutEffects) == ""


def test_damaged_kernels_are_refused_or_accepted_and_nothing_else() -> None:
    """A `drawloom.Error` with its place, or InfReg-IR that verifies."""
    found = [check_mutated(seed) for seed in range(200)]
    assert [fault for fault, _ in found if fault] == []
    assert 100 < sum(is_refused for _, is_refused in found) < 195


@pytest.mark.parametrize(
    "loops",
    ["for (int i = 0; i < 99; i++) for (int j = 0; j < 99; j++) for (int k = 0; k < 99; k++) ;",
     "int s = 0; while (s < 99) { int t = 0; while (t < 99) t += 1; s += 1; }"],
)  # fmt: skip
def test_loops_that_unroll_for_ever_are_refused_with_their_place(loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawloom.batch.frontend.lower.MOST_STEPS", 3000)
    kernel = parse_file(f"__kernel void k(int *p) {{\n    {loops}\n}}", wg_size=4, file="k.cl")["k"]
    with pytest.raises(BatchTypeError, match=r"k\.cl:2:\d+: k has more than 3,000 statements after unrolling"):
        lower(kernel)
