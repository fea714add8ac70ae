"""Branches that the order of the blocks makes needless, taken away.

BRA on            ->                  @P0 BRA on          @!P0 BRA back
on: ...                on: ...        BRA back      ->    on: ...
                                      on: ...

Lanes that take a branch to the block behind and lanes that do not would part for nothing.
"""

from __future__ import annotations

from drawloom.sass.effects import effects
from drawloom.sass.machine import Machine, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD


def drop_jumps(code: MachineFunction) -> None:
    """Rewrite the ends of all blocks; blocks are in the order of their numbers."""
    entered = code.ways_in()
    for block in code.blocks:
        instructions = block.instructions
        behind = block.id + 1
        if len(instructions) > 1 and jumps_around(instructions[-2], instructions[-1], behind):
            turn(instructions[-2], instructions.pop())
        elif instructions and behind in block.successors and entered[behind] == 1:
            take_over(instructions[-1], block, code.blocks[behind])
        while instructions and target(instructions[-1]) == behind:
            instructions.pop()


def branches(block: MachineBlock) -> list[Machine]:
    """The instructions at the end of a block that change the flow of control or prepare that."""
    instructions = block.instructions
    at = len(instructions)
    while at and effects(instructions[at - 1].opcode).flow:
        at -= 1
    return instructions[at:]


def take_over(branch: Machine, block: MachineBlock, behind: MachineBlock) -> None:
    """Let ``branch``, the end of ``block``, do what the block behind does, if that is a branch that it jumps over."""
    if len(behind.instructions) == 1 and jumps_around(branch, behind.instructions[0], behind.id + 1):
        block.successors = [behind.id, *behind.successors]
        turn(branch, behind.instructions.pop())
        behind.successors = [behind.id + 1]


def jumps_around(branch: Machine, other: Machine, on: int) -> bool:
    """Whether a branch under a guard leads to block ``on``, and one without a guard elsewhere."""
    return branch.guard != NO_GUARD and other.guard == NO_GUARD and target(branch) == on and target(other) >= 0


def turn(branch: Machine, other: Machine) -> None:
    """Where lanes did not branch they go where the other branch leads."""
    branch.guard ^= 1
    branch.values = other.values


def target(instruction: Machine) -> int:
    """The block that a branch leads to; -1 for what is no branch."""
    found = effects(instruction.opcode)
    return instruction.values[found.label] if found.flow == "jump" else -1
