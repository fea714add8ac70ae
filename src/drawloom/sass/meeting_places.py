"""From meetings of lanes (convergence.py) to instructions: where lanes part a place is prepared where they wait.

    sm_75 and later                             sm_61, on the stack of the warp
    start:  BSSY B0, end; @P0 BRA other         start:  SSY end; @P0 BRA other
    wait:   BSYNC B0                            wait:   SYNC
    end:    ...                                 end:    ...

Every way into the meeting leads through a block of its own that waits; behind the last of them the lanes go on
together. Into a loop leads, where that is needed, one more block: it prepares what lanes do when they leave the loop.
On sm_61 what is prepared last is done first: meetings nest, since the ways from a start all lead to its end and the
end of what starts in between lies on them.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.loops import Loop, LoopForest
from drawloom.sass.convergence import Meeting
from drawloom.sass.effects import effects
from drawloom.sass.isa import Target
from drawloom.sass.machine import BARRIER, Machine, MachineBlock, MachineFunction
from drawloom.sass.section import branch_label
from drawloom.sass.syntax import NO_GUARD

#: What control does not run on behind, if it has no guard.
LEAVES: Final = ("jump", "indirect", "exit", "return")
#: The same, but with no block behind it either way.
_STOPS: Final = ("SYNC", "BRK")


def set_meetings(code: MachineFunction, tables: Target, found: list[Meeting], loops: LoopForest) -> None:
    """Put the meetings, those that start first being first, into the code of a function; blocks get new numbers."""
    headed = {loop.header: loop for loop in loops.loops}
    starts: dict[int, list[Machine]] = {}
    waits: dict[int, list[tuple[MachineBlock, Machine]]] = {}
    entries: dict[int, MachineBlock] = {}
    count = len(code.blocks)
    for meeting in found:
        prepare, wait = instructions_of(code, tables)
        block = MachineBlock(count)
        block.instructions.append(wait)
        count += 1
        waits.setdefault(meeting.end, []).insert(0, (block, prepare))
        if meeting.loop < 0:
            starts.setdefault(meeting.start, []).append(prepare)
            continue
        if meeting.start not in entries:
            entries[meeting.start] = MachineBlock(count)
            count += 1
        entries[meeting.start].instructions.append(prepare)
    for start, prepared in starts.items():
        instructions = code.blocks[start].instructions
        at = len(instructions)
        while at and effects(instructions[at - 1].opcode).flow in LEAVES:
            at -= 1
        instructions[at:at] = prepared
    chains: dict[int, list[MachineBlock]] = {}
    for end in sorted({*waits, *entries}):
        waiting = waits.get(end, [])
        chain = chains[end] = [block for block, _ in waiting]
        if end in entries:
            chain.append(entries[end])
        behind = [*[block.id for block in chain[1:]], end]
        for block, following in zip(chain, behind, strict=True):
            block.successors = [following]
        for (_, prepare), following in zip(waiting, behind):
            prepare.values[-1] = following
    put_before(code, tables, chains, headed)
    renumber(code)


def instructions_of(code: MachineFunction, tables: Target) -> tuple[Machine, Machine]:
    """What prepares a meeting, its label still open, and what waits there."""
    if not tables.wide:
        return Machine(tables.opcode("SSY", "L"), [-1]), Machine(tables.opcode("SYNC", ""), [])
    barrier = code.register(BARRIER)
    return Machine(tables.opcode("BSSY", "B,L"), [barrier, -1]), Machine(tables.opcode("BSYNC", "B"), [barrier])


def put_before(
    code: MachineFunction, tables: Target, chains: dict[int, list[MachineBlock]], headed: dict[int, Loop]
) -> None:
    """Make each chain the way into its block; of a loop's header, the way from outside of the loop."""
    inside = {end: headed[end].members if end in headed else 0 for end in chains}
    placed: list[MachineBlock] = []
    for block in code.blocks:
        redirect(block, code.ptx_blocks, chains, inside)
        if block.id in chains:
            if placed and inside[block.id] >> placed[-1].id & 1 and falls_through(placed[-1]):
                placed[-1].instructions.append(Machine(tables.opcode("BRA", "L"), [block.id]))
            for before in chains[block.id]:
                before.depth = block.depth - (1 if block.id in headed else 0)
            placed += chains[block.id]
        placed.append(block)
    code.blocks = placed


def redirect(
    block: MachineBlock, ptx_blocks: int, chains: dict[int, list[MachineBlock]], inside: dict[int, int]
) -> None:
    """Lead the ways out of a block into the chains before the blocks that they go to, but for the ways in a loop."""
    turned = {
        s: chains[s][0].id
        for s in block.successors
        if s in chains and not (block.id < ptx_blocks and inside[s] >> block.id & 1)
    }
    if not turned:
        return
    block.successors = [turned.get(s, s) for s in block.successors]
    for instruction in block.instructions:
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
    return (found.flow not in LEAVES and found.base not in _STOPS) or last.guard != NO_GUARD


def renumber(code: MachineFunction) -> None:
    """Make every block's id its place."""
    new = {block.id: place for place, block in enumerate(code.blocks)}
    for block in code.blocks:
        block.id = new[block.id]
        block.successors = [new[s] for s in block.successors]
        for instruction in block.instructions:
            label = branch_label(instruction)
            if label >= 0:
                instruction.values[label] = new[instruction.values[label]]


__all__ = ["LEAVES", "falls_through", "set_meetings"]
