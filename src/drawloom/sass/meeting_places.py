"""From meetings of lanes (convergence.py) to instructions: where lanes part a place is prepared where they wait.

    sm_75 and later                             sm_61, on the stack of the warp
    start:  BSSY B0, end; @P0 BRA other         start:  SSY end; @P0 BRA other
    wait:   BSYNC B0                            wait:   SYNC       (PBK and BRK where `breaks`)
    end:    ...                                 end:    ...

Every way into the meeting from its start leads through a block of its own that waits; behind it the lanes go on
together. Into a loop leads, where that is needed, one more block: it prepares what lanes do when they leave the loop.
On sm_61 what is prepared last is done first: meetings nest, since the ways from a start all lead to its end and the
end of what starts in between lies on them.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.loops import Loop, LoopForest
from drawloom.sass.convergence import Meeting
from drawloom.sass.effects import effects
from drawloom.sass.isa import Target
from drawloom.sass.jumps import branches
from drawloom.sass.machine import BARRIER, Machine, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: What control does not run on behind, if it has no guard.
LEAVES: Final = ("jump", "indirect", "exit", "return")
#: The same, but with no block behind it either way.
_STOPS: Final = ("SYNC", "BRK")


class Waits:
    """The meetings at one block, an outer one before those inside of it: where each starts and the block in which
    lanes wait. Behind all of them they go on at `last`; `members` are, as bits, the blocks of the loop that the block
    heads."""

    def __init__(self, last: int, loop: Loop | None) -> None:
        self.last = last
        self.members = loop.members if loop is not None else 0
        self.starts: list[int] = []
        self.blocks: list[MachineBlock] = []

    def way(self, tree: DominatorTree, source: int) -> int:
        """Where lanes go that come from block ``source``: to the innermost meeting that it lies in."""
        if self.members >> source & 1:
            return -1
        for start, block in zip(reversed(self.starts), reversed(self.blocks)):
            if tree.dominates(start, source):
                return block.id
        return self.last


def set_meetings(
    code: MachineFunction, tables: Target, found: list[Meeting], loops: LoopForest, tree: DominatorTree
) -> None:
    """Put the meetings, those that start first being first, into the code of a function; blocks get new numbers."""
    if not found:
        return
    headed = {loop.header: loop for loop in loops.loops}
    entries: dict[int, MachineBlock] = {}
    for meeting in found:
        if meeting.loop >= 0 and meeting.start not in entries:
            entry = entries[meeting.start] = MachineBlock(len(code.blocks) + len(entries))
            entry.successors = [meeting.start]
    count = len(code.blocks) + len(entries)
    places: dict[int, Waits] = {}
    for end in sorted({*entries, *[meeting.end for meeting in found]}):
        places[end] = Waits(entries[end].id if end in entries else end, headed.get(end))
    starts: dict[int, list[Machine]] = {}
    for meeting in found:
        prepare, wait = instructions_of(code, tables, meeting.breaks)
        block = MachineBlock(count)
        block.instructions.append(wait)
        count += 1
        waits = places[meeting.end]
        prepare.values[-1] = waits.way(tree, meeting.start)
        block.successors = [prepare.values[-1]]
        waits.starts.append(meeting.start)
        waits.blocks.append(block)
        if meeting.loop < 0:
            starts.setdefault(meeting.start, []).append(prepare)
        else:
            entries[meeting.start].instructions.append(prepare)
    for start, prepared in starts.items():
        instructions = code.blocks[start].instructions
        at = len(instructions)
        while at and effects(instructions[at - 1].opcode).flow in LEAVES and not instructions[at - 1].clobbers:
            at -= 1
        instructions[at:at] = prepared
    place_waits(code, tables, places, entries, tree)
    renumber(code)


def instructions_of(code: MachineFunction, tables: Target, breaks: bool) -> tuple[Machine, Machine]:
    """What prepares a meeting, its label still open, and what waits there."""
    if not tables.wide:
        prepare, wait = ("PBK", "BRK") if breaks else ("SSY", "SYNC")
        return Machine(tables.opcode(prepare, "L"), [-1]), Machine(tables.opcode(wait, ""), [])
    barrier = code.register(BARRIER)
    return Machine(tables.opcode("BSSY", "B,L"), [barrier, -1]), Machine(tables.opcode("BSYNC", "B"), [barrier])


def place_waits(
    code: MachineFunction, tables: Target, places: dict[int, Waits], entries: dict[int, MachineBlock],
    tree: DominatorTree,
) -> None:  # fmt: skip
    """Put the waiting blocks, inner ones first, and the entry of a loop before the blocks that they lead to."""
    placed: list[MachineBlock] = []
    falling = -1  # where control runs to off the end of the last one
    for block in code.blocks:
        turned = {s: places[s].way(tree, block.id) for s in block.successors if s in places}
        waits = places.get(block.id)
        chain = waits.blocks[::-1] if waits is not None else []
        if block.id in entries:
            chain.append(entries[block.id])
        for before in chain:
            before.depth = block.depth - (1 if waits is not None and waits.members else 0)
            join_up(placed, falling, before, tables)
            placed.append(before)
            falling = before.successors[0] if falls_through(before) else -1
        join_up(placed, falling, block, tables)
        placed.append(block)
        following = block.id + 1
        falling = -1
        if following in block.successors and falls_through(block):
            falling = turned.get(following, -1)
            falling = following if falling < 0 else falling
        redirect(block, turned)
    code.blocks = placed


def join_up(placed: list[MachineBlock], falling: int, block: MachineBlock, tables: Target) -> None:
    """Branch from the end of the last block to ``falling``, if that is not ``block``, which comes next."""
    if falling >= 0 and falling != block.id:
        placed[-1].instructions.append(Machine(tables.opcode("BRA", "L"), [falling]))


def redirect(block: MachineBlock, turned: dict[int, int]) -> None:
    """Lead ways out of a block elsewhere, but for those with -1."""
    turned = {s: to for s, to in turned.items() if to >= 0}
    if not turned:
        return
    block.successors = [turned.get(s, s) for s in block.successors]
    for instruction in branches(block):
        found = effects(instruction.opcode)
        if found.flow == "jump":
            target = instruction.values[found.label]
            instruction.values[found.label] = turned.get(target, target)


def falls_through(block: MachineBlock) -> bool:
    """Whether control can run off the end of a block."""
    if not block.instructions:
        return True
    last = block.instructions[-1]
    found = effects(last.opcode)
    if last.clobbers:
        return True  # a call, though it may be by JMX
    return (found.flow not in LEAVES and found.base not in _STOPS) or last.guard != NO_GUARD


def renumber(code: MachineFunction) -> None:
    """Make every block's id its place."""
    new = [0] * len(code.blocks)
    for place, block in enumerate(code.blocks):
        new[block.id] = place
    for block in code.blocks:
        block.id = new[block.id]
        block.successors = [new[s] for s in block.successors]
        for instruction in branches(block):
            label = effects(instruction.opcode).branch_label
            if label >= 0:
                instruction.values[label] = new[instruction.values[label]]


__all__ = ["LEAVES", "falls_through", "set_meetings"]
