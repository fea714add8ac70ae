"""Which loops may wait for another thread, and which ones the lanes of a warp leave at different times."""

from __future__ import annotations

from drawloom.cpu.shapes import UNIFORM
from drawloom.cpu.structure import Structure
from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Instruction
from drawloom.ptx.isa import ATOMIC, LOAD
from drawloom.ptx.loops import Loop, LoopForest


def spinning_loops(cfg: Cfg, loops: LoopForest) -> set[int]:
    """The headers of loops that may wait for another thread: an exit depends on memory that is read anew each time
    by a volatile, relaxed, acquiring or atomic access."""
    blocks = cfg.blocks
    out: set[int] = set()
    for loop in loops.loops:
        tainted: set[int] = set()
        size = -1
        while len(tainted) != size:
            size = len(tainted)
            for b in loop.blocks:
                for instruction in blocks[b].instructions:
                    if _reads_anew(instruction) or any(r.id in tainted for r in instruction.sources()):
                        tainted.update([r.id for r in instruction.destinations()])
        if _exit_guards(cfg, loop) & tainted:
            out.add(loop.header)
    return out


def varying_exits(plan: Structure) -> set[int]:
    """The headers of loops that the lanes of a warp leave at different times."""
    out: set[int] = set()
    for loop in plan.loops.loops:
        for id in _exit_guards(plan.cfg, loop):
            shape = plan.shapes[id]
            if shape is not None and shape.kind != UNIFORM:
                out.add(loop.header)
    return out


def _reads_anew(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.effect == ATOMIC:
        return opcode.has_destination
    return opcode.effect == LOAD and opcode.order in ("volatile", "relaxed", "acquire")


def _exit_guards(cfg: Cfg, loop: Loop) -> set[int]:
    """The registers that decide whether a loop is left."""
    guards: set[int] = set()
    for b in loop.blocks:
        block = cfg.blocks[b]
        if block.terminator is not None and (block.leaves or any(not loop.contains(s) for s in block.succs)):
            guards.update([r.id for r in block.terminator.sources()])
    return guards
