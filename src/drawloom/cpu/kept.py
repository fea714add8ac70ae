"""Which registers a state's frame already holds when a warp stops again: those need not be saved anew.

Forward over the blocks: after a stop everything that was live across it is in the frame; a definition takes its
register out. Inside regions other lanes' definitions come in between, so nothing is taken for granted there.
"""

from __future__ import annotations

from drawloom.cpu.structure import Structure
from drawloom.ptx.ir import Instruction
from drawloom.ptx.isa import BARRIER, WARP


class Kept:
    """``at(block)`` is the bit set of registers that the frame holds at the block's beginning."""

    def __init__(self, plan: Structure, lanes: int) -> None:
        self.plan = plan
        self.lanes = lanes
        everything = (1 << len(plan.cfg.function.registers)) - 1
        count = len(plan.cfg.blocks)
        self.begin = [everything] * count
        self.begin[plan.order[0]] = 0
        end = [everything] * count
        changed = True
        while changed:
            changed = False
            for b in plan.order:
                held = self.begin[b]
                for p in plan.preds[b]:
                    held &= end[p]
                self.begin[b] = held
                after = self.walk(b, held)
                if after != end[b]:
                    end[b] = after
                    changed = True

    def at(self, block: int) -> int:
        return self.begin[block] if self.plan.region_of[block] < 0 else 0

    def stops(self, instruction: Instruction) -> bool:
        """Whether a warp (lane by lane: a thread) may return to the scheduler here."""
        effect = instruction.opcode.effect
        return effect == BARRIER or (effect == WARP and not self.lanes and instruction.opcode.name != "activemask")

    def walk(self, block: int, held: int) -> int:
        """What the frame holds behind the block when it holds ``held`` at its beginning."""
        live_after = self.plan.live.live_after(block)
        for index, instruction in enumerate(self.plan.cfg.blocks[block].instructions):
            held = self.step(instruction, live_after[index], held, block)
        return held

    def step(self, instruction: Instruction, live: int, held: int, block: int) -> int:
        """What the frame holds behind one instruction; ``live`` is live behind it."""
        written = 0
        for register in instruction.destinations():
            written |= 1 << register.id
        if instruction.guard is None and self.plan.region_of[block] < 0 and self.stops(instruction):
            held |= live & ~written
        return held & ~written
