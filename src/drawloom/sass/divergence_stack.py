"""The stack of a warp on sm_61: SYNC and BRK in the place of branches to one, and the bytes that it may need."""

from __future__ import annotations

from typing import Final

from drawloom.sass.effects import effects
from drawloom.sass.machine import MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: What pops tokens, up to the first of what pushed them.
_POPS: Final[dict[str, str]] = {"SYNC": "SSY", "BRK": "PBK"}
_PUSHES: Final = frozenset(_POPS.values())
_CALLS: Final = frozenset({"CAL", "JCAL"})
_TOKEN_BYTES: Final = 16
_LANES: Final = 32


def wait_at_once(code: MachineFunction) -> None:
    """Make branches at the end of a block to a lone SYNC or BRK one; blocks are in the order of their numbers."""
    for block in code.blocks:
        last = block.instructions[-1] if block.instructions else None
        if last is not None and effects(last.opcode).flow == "jump":
            target = code.blocks[last.values[effects(last.opcode).label]]
            if waits(target) and (last.guard == NO_GUARD or target.successors[0] != block.id + 1):
                last.opcode, last.values = target.instructions[0].opcode, []
                block.successors = [target.successors[0] if s == target.id else s for s in block.successors]
    entered = code.ways_in()
    for block in code.blocks[1:]:
        if waits(block) and not entered[block.id]:
            block.instructions, block.successors = [], []


def waits(block: MachineBlock) -> bool:
    """Whether a block is a SYNC or BRK of all lanes and nothing else."""
    if len(block.instructions) != 1:
        return False
    (only,) = block.instructions
    return effects(only.opcode).base in _POPS and only.guard == NO_GUARD


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
    pushed: dict[int, list[str]] = {}
    for entry in [block.id for block in code.blocks if block.id not in entered]:
        pushed[entry] = []
        work = [entry]
        most = 0
        while work:
            block = code.blocks[work.pop()]
            tokens = list(pushed[block.id])
            for instruction in block.instructions:
                found = effects(instruction.opcode)
                if found.base in _PUSHES:
                    tokens.append(found.base)
                most = max(most, len(tokens) + (not without_calls and found.base in _CALLS))
                branches += instruction.guard != NO_GUARD and found.flow in ("jump", "resume")
            last = block.instructions[-1] if block.instructions else None
            popped = left_of(tokens, _POPS.get(effects(last.opcode).base, "")) if last is not None else tokens
            for successor in block.successors:
                loops |= successor <= block.id
                if successor not in pushed:
                    runs_on = last is not None and last.guard != NO_GUARD and successor == block.id + 1
                    pushed[successor] = tokens if runs_on else popped
                    work.append(successor)
        deepest += most
    if not deepest and not branches:
        return None
    return _TOKEN_BYTES * (deepest + (_LANES if loops else min(branches, _LANES)))


def left_of(tokens: list[str], kind: str) -> list[str]:
    """What is left when the last token of a kind is popped, with all above it; "": nothing is."""
    if not kind:
        return tokens
    place = len(tokens) - 1
    while place > 0 and tokens[place] != kind:
        place -= 1
    return tokens[: max(place, 0)]
