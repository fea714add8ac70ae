"""The 16 kernels of seed 003, table 2, by clang and nvcc: the shuffles of the paper, and the same results as before."""

from __future__ import annotations

from typing import Final

import pytest

from drawloom.ptx import parse, verify
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.pipeline import shuffle
from tools.shuffle_suite import COMPILERS, SIZES, TABLE, differences, text_of

#: The sine and cosine of nvcc look numbers up in a table in global memory.
LOOKED_UP: Final = {("nvcc", "sincos"): 2}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", TABLE)
def test_shuffles_per_loads_are_those_of_the_paper(name: str, compiler: str) -> None:
    shuffles, loads = TABLE[name]
    made = shuffle(text_of(compiler, name), apply="all", assume_no_wrap=True)
    verify(parse(str(made)))
    assert (made.report.shuffles, made.report.loads) == (shuffles, loads + LOOKED_UP.get((compiler, name), 0))


@pytest.mark.parametrize("device", SIZES)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [name for name, (shuffles, _) in TABLE.items() if shuffles])
def test_results_are_the_same_bits(name: str, compiler: str, device: str) -> None:
    module = parse(text_of(compiler, name))
    made = shuffle(module, apply="all")
    assert made.report.shuffles == TABLE[name][0]
    launches, wrong = differences(module, made, device)
    assert launches == {"reference": 6, "cpu": 8}[device]
    assert not wrong


def test_the_original_loads_stay_for_the_lanes_that_need_them() -> None:
    before = parse(text_of("clang", "jacobi"))
    after = shuffle(before, apply="all").kernels[0]
    guarded = [s for s in after.body if isinstance(s, Instruction) and s.name == "ld" and s.guard is not None]
    assert len(guarded) == TABLE["jacobi"][0]
