"""A few of the programs of ``tools/fuzz_horse.py``."""

import pytest

from tools.fuzz_horse import check


@pytest.mark.parametrize("seed", range(5))
def test_generated_programs_give_what_the_interpreter_gives(seed: int) -> None:
    assert check(seed, "reference", statements=10) in ("", "refused")


@pytest.mark.parametrize("seed", range(2))
def test_generated_programs_on_the_cpu(seed: int) -> None:
    assert check(seed, "cpu", ("full",), 10, "kernels") in ("", "refused")
