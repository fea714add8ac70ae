"""Masks: selects by one stand side by side, and those that leave their registers take a byte of the stack."""

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram
from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.masks import group_selects_by_mask
from drawloom.batch.backends.native import NativeCode, NativeKernel
from drawloom.batch.frontend.parser import parse_file
from drawloom.batch.ir.ir import MASK, Kernel
from drawloom.batch.kernels import read_text
from drawloom.cpu.vector.machine import mask_registers
from tests.batch.cases import copied, flat, same

pytest.importorskip("pycparser")


def make_block() -> list[Chunk]:
    """Return c1 = m1 ? a1 : x; c2 = m2 ? a2 : c1; b1 = m1 ? x : a1; b2 = m2 ? x : c2."""
    program = ChunkProgram(8)
    x, a1, a2 = (program.append("input", "double", ()) for _ in range(3))
    m1, m2 = (program.append("input", MASK, ()) for _ in range(2))
    c1 = program.append("select", "double", (m1, a1, x))
    c2 = program.append("select", "double", (m2, a2, c1))
    program.append("select", "double", (m1, x, a1))
    program.append("select", "double", (m2, x, c2))
    return program.block


def test_selects_by_one_mask_stand_side_by_side() -> None:
    block = make_block()
    assert [chunk.number - 5 for chunk in group_selects_by_mask(block)[5:]] == [1, 3, 2, 4]
    assert group_selects_by_mask(block, window=1) == block


def test_a_select_stays_after_its_operands() -> None:
    program = ChunkProgram(8)
    x, mask = program.append("input", "double", ()), program.append("input", MASK, ())
    first = program.append("select", "double", (mask, x, x))
    total = program.append("fadd", "double", (first, x))
    program.append("select", "double", (mask, total, x))
    assert group_selects_by_mask(program.block) == program.block


def test_a_select_stays_after_the_loop_that_it_reads_from() -> None:
    """What a loop leaves has numbers of its own, which no instruction of the block has."""
    program = ChunkProgram(8)
    x, mask = program.append("input", "double", ()), program.append("input", MASK, ())
    program.append("select", "double", (mask, x, x))
    program.append("loop", "double", ())
    left = Chunk(1000, "carried", "double", (), None)
    program.append("select", "double", (mask, left, x))
    assert group_selects_by_mask(program.block) == program.block


def lower_solve(size: int) -> tuple[Kernel, dict[str, object]]:
    kernel = parse_file(read_text("solve"), wg_size=size, defines={"real": "double", "EXCHANGE": "1"})["solve"]
    rng = np.random.default_rng(size)
    arguments = {"mat_a": rng.standard_normal((8, size, size)), "mat_b": rng.standard_normal((8, size)),
                 "mat_x": np.zeros((8, size)), "certain": np.zeros((8, 1), np.uint8), "tolerance": 1e-12}  # fmt: skip
    return batch.lower(kernel), arguments


def test_a_shuffle_and_a_condition_on_its_lane_share_masks() -> None:
    """Both compare a step's pivot with the items after the step's: 3 + 2 + 1 masks for 4 rows."""
    block = cut_into_chunks(lower_solve(4)[0], Layout("interleaved", 8, 8)).block
    masks = {operand.number for chunk in block for operand in chunk.operands if operand.op == "icmp eq"}
    assert len(masks) == 6


@pytest.mark.skipif(not mask_registers(), reason="vectors are masks")
def test_masks_on_the_stack_give_what_the_oracle_gives() -> None:
    lowered, arguments = lower_solve(6)
    text = NativeCode(lowered, "interleaved", 8, 8, registers=8).text
    assert "store volatile i8" in text
    assert "load volatile i8" in text
    expected, found = copied(arguments), copied(arguments)
    batch.interpret_ir(lowered, 8, flat(expected))
    passed = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in found.values()]
    NativeKernel(lowered, "interleaved", 8, 8, registers=8).run(passed, 0, 8)
    assert same(expected, found)
