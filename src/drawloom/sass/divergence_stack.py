"""The stack of a warp on sm_61: SYNC in the place of branches to one, and the bytes that the stack may need."""

from __future__ import annotations

from typing import Final

from drawloom.sass.effects import effects
from drawloom.sass.isa import Target
from drawloom.sass.machine import MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

_PUSHES: Final = frozenset({"SSY", "PBK"})
_CALLS: Final = frozenset({"CAL", "JCAL"})
_TOKEN_BYTES: Final = 16
_LANES: Final = 32


def wait_at_once(code: MachineFunction, tables: Target) -> None:
    """Make branches at the end of a block to a lone SYNC a SYNC; blocks are in the order of their numbers."""
    opcode = tables.opcode("SYNC", "")
    for block in code.blocks:
        last = block.instructions[-1] if block.instructions else None
        if last is not None and effects(last.opcode).flow == "jump":
            target = code.blocks[last.values[effects(last.opcode).label]]
            if waits(target) and (last.guard == NO_GUARD or target.successors[0] != block.id + 1):
                last.opcode, last.values = opcode, []
                block.successors = [target.successors[0] if s == target.id else s for s in block.successors]
    entered = code.ways_in()
    for block in code.blocks[1:]:
        if waits(block) and not entered[block.id]:
            block.instructions, block.successors = [], []


def waits(block: MachineBlock) -> bool:
    """Whether a block is a SYNC of all lanes and nothing else."""
    if len(block.instructions) != 1:
        return False
    (only,) = block.instructions
    return effects(only.opcode).base == "SYNC" and only.guard == NO_GUARD


def stack_bytes(code: MachineFunction, without_calls: bool = False) -> int | None:
    """The bytes that the stack may need for a kernel and the functions behind it that do not call themselves; None if
    it stays empty; ``without_calls`` leaves out what calls push.

    A token has 16 bytes. What SSY and CAL have pushed depends on the place. On top of it come the sides of branches
    that wait: one for each branch, but no more than there are lanes; where there are loops as many as that, since every
    round may leave some behind.
    """
    entered = {successor for block in code.blocks for successor in block.successors}
    deepest = branches = 0
    loops = False
    depth: dict[int, int] = {}
    for entry in [block.id for block in code.blocks if block.id not in entered]:
        depth[entry] = 0
        work = [entry]
        most = 0
        while work:
            block = code.blocks[work.pop()]
            tokens = depth[block.id]
            for instruction in block.instructions:
                found = effects(instruction.opcode)
                tokens += found.base in _PUSHES
                most = max(most, tokens + (not without_calls and found.base in _CALLS))
                branches += instruction.guard != NO_GUARD and found.flow in ("jump", "resume")
            last = block.instructions[-1] if block.instructions else None
            synced = last is not None and effects(last.opcode).base == "SYNC"
            for successor in block.successors:
                loops |= successor <= block.id
                if successor not in depth:
                    runs_on = last is not None and last.guard != NO_GUARD and successor == block.id + 1
                    depth[successor] = tokens - (synced and not runs_on)
                    work.append(successor)
        deepest += most
    if not deepest and not branches:
        return None
    return _TOKEN_BYTES * (deepest + (_LANES if loops else min(branches, _LANES)))
