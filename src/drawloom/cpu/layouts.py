"""How the threads of a block lie over the lanes of a vector: by gangs or warps, the whole block at once, or one by one.

    gang4, gang8, gang16                       so many threads of one row at a time; blocks of any shape
    linear, rows32, rows16, rows8, general     a warp at a time; blocks of any size with such rows
    16x16x1                                    the whole block at once: one vector for all threads of just this shape

A gang has as many lanes as a vector register has elements, where a warp's values take several registers each. It never
spans rows of threads: a row that is not a multiple of the gang ends in a gang with lanes that no thread has.

A block whose warps only meet at barriers that all of them reach needs no stops when it runs at once: the warps go
in step, what they share is in registers, and loads of all warps are under way together.
"""

from __future__ import annotations

import os
from typing import Final

from drawloom.cpu import abi
from drawloom.errors import LaunchError
from drawloom.ptx.ir import Function, Immediate, Instruction
from drawloom.ptx.isa import BARRIER, CALL

#: How many lanes have consecutive %tid.x where a warp runs at a time: one row; rows of whole warps; rows of 16 or 8
#: threads; no such order.
SEGMENTS: Final[dict[str, int]] = {"linear": 32, "rows32": 32, "rows16": 16, "rows8": 8, "general": 0}
#: The layouts of gangs, and their lanes.
GANGS: Final[dict[str, int]] = {"gang4": 4, "gang8": 8, "gang16": 16}
LINEAR: Final = "linear"
GENERAL: Final = "general"
#: Sizes of blocks that may run at once. More threads than these would fill the vector registers with one value.
_WHOLE: Final = frozenset({64, 128, 256})
#: Instructions of a kernel beyond which it is not run at once, for the code grows with the lanes.
_LONGEST: Final = 1000


class Layout:
    """The lanes of one function while it is lowered.

    ``lanes``: those of a vector, 0 lane by lane. ``segment`` of them have consecutive ``%tid.x``, the next ones the
    next ``%tid.y`` (0: no such order); ``linear``: the block is one row, y and z are 0. ``block`` is the shape of
    the blocks where it is known; ``always``: run them at once even if that gains nothing. ``gang``: no unit spans
    rows of threads.
    """

    def __init__(
        self, lanes: int, segment: int, linear: bool, block: tuple[int, int, int] | None = None, always: bool = False,
        gang: bool = False,
    ) -> None:  # fmt: skip
        self.lanes = lanes
        self.segment = segment
        self.linear = linear
        self.block = block
        self.always = always
        self.gang = gang


def lanes_wanted() -> str:
    """DRAWLOOM_LANES: empty, ``1`` (lane by lane), ``32`` (warp by warp) or ``block`` (blocks at once if possible)."""
    wanted = os.environ.get("DRAWLOOM_LANES", "")
    if wanted not in ("", "1", "4", "8", "16", "32", "block"):
        raise LaunchError(f"DRAWLOOM_LANES is '{wanted}'; it takes 1, 4, 8, 16, 32 or block")
    return wanted


def layout_of(block: tuple[int, int, int]) -> str:
    """The name of the layout, a key of ``SEGMENTS``, that runs blocks of this shape warp by warp."""
    x, y, z = block
    if y == 1 and z == 1:
        return LINEAR
    if x % abi.WARP == 0:
        return "rows32"
    return f"rows{x}" if x in (8, 16) else "general"


def whole(block: tuple[int, int, int]) -> str:
    """The name of the layout that runs blocks of this shape at once; empty if they are of no such size."""
    x, y, z = block
    return f"{x}x{y}x{z}" if x * y * z in _WHOLE else ""


def warps(name: str, lanes: int) -> Layout:
    """The layout of that name with ``lanes`` 32, or 0 lane by lane."""
    return Layout(lanes, SEGMENTS[name], name == LINEAR)


def gang(name: str) -> Layout:
    """The layout of that name, a key of ``GANGS``."""
    return Layout(GANGS[name], GANGS[name], False, gang=True)


def block_of(name: str) -> tuple[int, int, int] | None:
    """The shape of the blocks that a layout runs at once; None for those that go warp by warp."""
    if name in SEGMENTS or name in GANGS:
        return None
    x, y, z = [int(part) for part in name.split("x")]
    return x, y, z


def at_once(block: tuple[int, int, int], always: bool) -> Layout:
    """The layout that runs blocks of this shape at once."""
    x, y, z = block
    return Layout(x * y * z, x if x >= 8 else 0, y == 1 and z == 1, block, always)


def gains_at_once(function: Function) -> bool:
    """Whether a kernel has barriers, and no calls, which take its lanes one by one."""
    barriers = False
    count = 0
    for statement in function.body:
        if not isinstance(statement, Instruction):
            continue
        count += 1
        effect = statement.opcode.effect
        if effect == CALL:
            return False
        barriers = barriers or effect == BARRIER
    return barriers and count <= _LONGEST


def register_bytes(features: frozenset[str]) -> int:
    """The bytes of all vector registers of a CPU with these features (LLVM's names)."""
    return 32 * 64 if "avx512f" in features else 16 * 32 if "avx" in features else 16 * 16


def passes_at_once(instruction: Instruction) -> bool:
    """Whether a barrier waits for all threads of the block and computes nothing: with one vector nobody waits."""
    opcode = instruction.opcode
    number = instruction.operands[0]
    if opcode.action != "sync" or len(instruction.operands) > 1:
        return False
    return isinstance(number, Immediate) and 0 <= number.value < 16
