"""Loops for the emulator: what an iteration may change, and which registers count it (seed 003, section 4.2).

A loop is entered once, in any of its iterations: what it writes is an uninterpreted value there, unless every way round
adds the same number to it; then it is the initial value plus that number times the iteration.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Module
from drawloom.ptx.isa import STORE
from drawloom.ptx.loops import find_loops
from drawloom.ptx.uniformity import Uniformity
from drawloom.shuffle.expressions import SUM, Expressions
from drawloom.shuffle.visibility import parts, shows_writes

#: Leaves that are the same in every iteration.
_STEADY: Final = frozenset("param special lane warp symbol window".split())


class Round:
    """A cycle that is entered at ``header``: a natural loop (``index`` in the forest), or a region that can be entered
    at several places (``index`` -1)."""

    def __init__(self, index: int, header: int, blocks: list[int]) -> None:
        self.index = index
        self.header = header
        self.blocks = frozenset(blocks)
        self.written = 0  # a bit set of register ids
        self.writes_memory = False
        self.parts = False  # lanes may leave it in different iterations
        self.sees_apart = False  # lanes may see the memory at different times when an iteration begins
        #: By register: what each way round adds to it, an expression; -1 where that is not one number.
        self.steps: dict[int, int] = {}


class Rounds:
    """The cycles of a function by the block that is entered."""

    def __init__(self, cfg: Cfg, uniform: Uniformity, module: Module) -> None:
        self.cfg = cfg
        self.module = module
        #: Whether lanes may part at branches that ``uniform`` takes to be the same for all.
        self.doubtful = False
        #: The blocks from which lanes may go on apart, as a bit set.
        self._parting = 0
        for block_id in cfg.rpo:
            if any(parts(instruction, uniform, module) for instruction in cfg.blocks[block_id].instructions):
                self._parting |= 1 << block_id
        self.forest = find_loops(cfg)
        self.uniform = uniform
        self.by_header: dict[int, Round] = {}
        self.irregular: set[int] = set()
        for loop in self.forest.loops:
            self.by_header[loop.header] = Round(loop.index, loop.header, loop.blocks)
        for region in self.forest.irreducible_regions:
            self.irregular.update(region)
        for _, target in self.forest.irreducible_edges:
            regions = [r for r in self.forest.irreducible_regions if target in r]
            blocks = regions[0] if regions else [target]
            known = self.by_header.get(target)
            if known is not None:
                blocks = sorted(known.blocks | frozenset(blocks))
            self.by_header[target] = Round(-1, target, blocks)
        for one in self.by_header.values():
            self._look_at(one)

    def _look_at(self, one: Round) -> None:
        for block_id in sorted(one.blocks):
            if self.uniform.is_divergent(block_id):
                one.parts = True
            for instruction in self.cfg.blocks[block_id].instructions:
                opcode = instruction.opcode
                for register in instruction.destinations():
                    one.written |= 1 << register.id
                if opcode.effect == STORE or shows_writes(opcode):
                    one.writes_memory = True

    def around(self, block_id: int) -> list[Round]:
        """The cycles that a block is in."""
        return [one for one in self.by_header.values() if block_id in one.blocks]

    def may_be_apart(self, block_id: int) -> bool:
        """Whether lanes that run a block together may be there for the first time and the second: it is in a cycle, and
        they may have parted before on ways that both come to it, in a function that they have called, or where some of
        them wait. (Lanes that left for good run nothing together.)"""
        if not self.around(block_id):
            return False
        leads_there = self.cfg.before(block_id) | 1 << block_id
        if self.doubtful or leads_there & self._parting:
            return True
        for block in self.cfg.blocks:
            if self.uniform.is_divergent(block.id) and self.cfg.is_reachable(block.id):
                if sum(leads_there >> successor & 1 for successor in block.succs) > 1:
                    return True
        return False

    def parts_within(self, block_id: int) -> bool:
        """Return whether lanes may part at an instruction of a block that is not a branch."""
        return self._parting >> block_id & 1 != 0

    def depth(self, block_id: int) -> int:
        """How many loops are around a block."""
        return self.forest.depth(block_id)


def step(x: Expressions, before: int, after: int) -> int:
    """What one iteration adds to a value; -1 where that is not the same number in each."""
    difference = x.sub(after, before)
    return difference if steady(x, difference) else -1


def steady(x: Expressions, e: int) -> bool:
    """Whether an expression is made of what no iteration changes."""
    seen = {e}
    stack = [e]
    while stack:
        e = stack.pop()
        parts = x.parts(e)
        if x.names[e] == "load" and parts:
            return False
        if not parts and x.names[e] != SUM and (x.names[e] not in _STEADY or "@" in x.payloads[e]):
            return False
        for part in parts:
            if part not in seen:
                seen.add(part)
                stack.append(part)
    return True
