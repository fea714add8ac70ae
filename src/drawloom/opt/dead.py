"""Removes instructions whose results nobody uses, and phis that only feed themselves.

    ld.global.u32 %r1, [%rd1];      (nothing)
    add.u32 %r2, %r1, 1;            -- nobody reads %r2

What has an effect besides its results stays, as does what writes or reads the carry flag. A weak load goes too.
"""

from __future__ import annotations

from drawloom.opt.work import Work, is_plain_load, is_pure
from drawloom.ptx.ir import Instruction, Register, Statement
from drawloom.ptx.ssa import Phi


def remove_dead(work: Work) -> None:
    """Marks what is needed from what has an effect on, then sweeps."""
    ssa = work.ssa
    made_by: list[Instruction | None] = [None] * len(ssa.registers)
    phi_of: list[Phi | None] = [None] * len(ssa.registers)
    needed = bytearray(len(ssa.registers))
    todo: list[Register] = []
    for block in ssa.blocks:
        for phi in block.phis:
            phi_of[phi.destination.id] = phi
        todo.extend(block.results)
        for statement in block.statements:
            if isinstance(statement, Instruction):
                destinations = statement.destinations()
                if is_pure(statement) or is_plain_load(statement):
                    for destination in destinations:
                        made_by[destination.id] = statement
                else:
                    todo.extend(statement.sources())
                    todo.extend([ssa.kept[d.id] for d in destinations if d.id in ssa.kept])
    while todo:
        register = todo.pop()
        if needed[register.id]:
            continue
        needed[register.id] = 1
        phi_made = phi_of[register.id]
        if phi_made is not None:
            todo.extend(phi_made.arguments)
        maker = made_by[register.id]
        if maker is not None:
            todo.extend(maker.sources())
            todo.extend([ssa.kept[d.id] for d in maker.destinations() if d.id in ssa.kept])
    for block in ssa.blocks:
        block.phis = [phi for phi in block.phis if needed[phi.destination.id]]
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction) and _is_dead(statement, needed, made_by):
                for destination in statement.destinations():
                    ssa.kept.pop(destination.id, None)
                work.changed(statement, "removed, nobody uses its result")
                continue
            left.append(statement)
        block.statements = left


def _is_dead(instruction: Instruction, needed: bytearray, made_by: list[Instruction | None]) -> bool:
    """Whether an instruction has no effect besides its results, and nobody needs those."""
    written = instruction.operands[0] if instruction.operands else None
    if isinstance(written, Register):
        return not needed[written.id] and made_by[written.id] is instruction
    if not is_pure(instruction) and not is_plain_load(instruction):
        return False
    return not any(needed[d.id] for d in instruction.destinations())
