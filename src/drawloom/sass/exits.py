"""Branches to code that only leaves the kernel become guarded exits, which part no lanes.

@P0 BRA end          @P0 EXIT                  @P0 BRA on          @!P0 EXIT
...             ->   ...              and      EXIT           ->
end: EXIT            end: EXIT                 on: ...             on: ...
"""

from __future__ import annotations

from drawloom.sass.effects import effects
from drawloom.sass.form import Opcode
from drawloom.sass.isa import Target
from drawloom.sass.jumps import branches
from drawloom.sass.machine import MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD


def leave_at_once(code: MachineFunction, tables: Target) -> None:
    """Rewrite the ends of all blocks; blocks are still in the order of their numbers, guards virtual."""
    leave = tables.opcode("EXIT", "")
    leaving = {block.id for block in code.blocks if only_exits(block)}
    work = sorted(leaving)
    while work:
        work = [block.id for block in code.blocks if turn_branches(block, leaving, leave)]
        leaving.update(work)
    entered = code.ways_in()
    for block in code.blocks:
        beside = block.id + 1
        if beside not in leaving or entered[beside] != 1 or beside not in block.successors:
            continue
        last = block.instructions[-1] if block.instructions else None
        if last is None or last.guard == NO_GUARD or effects(last.opcode).flow != "jump":
            continue
        if last.values[effects(last.opcode).label] == beside + 1:
            last.opcode, last.values, last.guard = leave, [], last.guard ^ 1
            code.blocks[beside].instructions = []
            code.blocks[beside].successors = [beside + 1]
            block.successors = [beside]
    for block in code.blocks[1:]:
        if block.id in leaving and not entered[block.id]:
            block.instructions = []


def turn_branches(block: MachineBlock, leaving: set[int], leave: Opcode) -> bool:
    """Make branches to blocks that only exit exits; whether the block has become one of those."""
    changed = False
    for instruction in branches(block):
        found = effects(instruction.opcode)
        if found.flow == "jump" and instruction.values[found.label] in leaving:
            instruction.opcode, instruction.values = leave, []
            changed = True
    if changed:
        keep_reached(block)
    return changed and block.id not in leaving and only_exits(block)


def only_exits(block: MachineBlock) -> bool:
    """Whether a block is an exit of all lanes and nothing else."""
    if len(block.instructions) != 1:
        return False
    (only,) = block.instructions
    return effects(only.opcode).base == "EXIT" and only.guard == NO_GUARD


def keep_reached(block: MachineBlock) -> None:
    """Take away the successors that no branch names and control does not run into."""
    named = set()
    runs_on = True
    for instruction in block.instructions:
        found = effects(instruction.opcode)
        if found.flow == "jump":
            named.add(instruction.values[found.label])
        elif found.flow == "indirect":
            return
        if found.flow in ("jump", "exit", "return") and instruction.guard == NO_GUARD:
            runs_on = False
    if runs_on:
        named.add(block.id + 1)
    block.successors = [s for s in block.successors if s in named]
