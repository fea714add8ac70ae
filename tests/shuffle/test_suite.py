"""The 16 kernels of seed 003, table 2, by clang and nvcc: the shuffles of the paper, and the same results as before."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

import drawloom
from drawloom.ptx import parse, verify
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.pipeline import shuffle
from tools.shuffle_suite import COMPILERS, FOLDER, SIZES, TABLE, differences, text_of

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


def strided(text: str, device: str, shape: tuple[int, ...]) -> bytes:
    """What ``smooth`` leaves in one array, which all three pointers lead into."""
    block, blocks, nx, ny, stride = shape
    field = np.random.default_rng(3).random(2400, dtype=np.float32)
    drawloom.load(text, device=device)["smooth"][blocks, block](field[1800:], field, field[600:], nx, ny, stride, 1)
    return field.tobytes()


#: Threads of a block, blocks, extents of the field, stride of the loop along x.
SHAPES: Final = {
    "whole warps": (64, 1, 130, 5, 64),
    "a stride that is no multiple of a warp": (64, 1, 100, 5, 45),
    "a last warp in part": (48, 2, 70, 6, 96),
    "fewer places than lanes": (64, 1, 20, 9, 64),
    "strides of one": (32, 1, 40, 4, 1),
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_kernel_with_grid_stride_loops_has_the_shuffles_of_one_without(compiler: str) -> None:
    text = (FOLDER / "strided" / compiler / "smooth.ptx").read_text()
    made = shuffle(text, apply="all")
    verify(parse(str(made)))
    assert (made.report.shuffles, made.report.loads) == (3, 6)
    assert str(made).count("vote.sync.any") == 1
    assert shuffle(str(made), apply="all").report.shuffles == 0


@pytest.mark.parametrize("device", SIZES)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_grid_stride_loops_of_every_shape_leave_the_same_bits(
    shape: tuple[int, ...], compiler: str, device: str
) -> None:
    text = (FOLDER / "strided" / compiler / "smooth.ptx").read_text()
    made = str(shuffle(text, apply="all"))
    assert strided(made, device, shape) == strided(text, device, shape)
