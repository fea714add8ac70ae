"""Copies are followed to what they copy, and a phi that can only have one value is that value.

    mov.u32 %r2, %r1;               (nothing)
    add.u32 %r3, %r2, %r2;          add.u32 %r3, %r1, %r1;

A copy between registers of types that do not go in the same places stays.
"""

from __future__ import annotations

from drawloom.opt.work import Replacements, Work, can_replace
from drawloom.ptx.ir import Instruction, Register, Statement
from drawloom.ptx.ssa import Phi


def follow_copies(work: Work) -> None:
    """Replace the destinations of unguarded moves of whole registers, then phis, inner ones first."""
    replacements = Replacements(work.ssa)
    for block in work.preorder():
        left: list[Statement] = []
        phis: list[Phi] = []
        for phi in block.phis:
            source = _only_value(phi, replacements)
            if source is not None and can_replace(phi.destination, source):
                replacements.replace(phi.destination, source)
                work.changed(None, f"{phi!r}: is {source!r}")
            else:
                phis.append(phi)
        block.phis = phis
        for statement in block.statements:
            if isinstance(statement, Instruction):
                replacements.rewrite(statement)
                if statement.opcode.name == "mov" and statement.guard is None and statement.opcode.vector == 1:
                    destination, copied = statement.operands[0], statement.operands[1]
                    if isinstance(destination, Register) and isinstance(copied, Register):
                        if can_replace(destination, copied):
                            replacements.replace(destination, copied)
                            work.changed(statement, f"is {copied!r}")
                            continue
            left.append(statement)
        block.statements = left
    replacements.finish()


def _only_value(phi: Phi, replacements: Replacements) -> Register | None:
    """The value that every argument of a phi is, itself apart; it is computed before the phi."""
    found: Register | None = None
    for argument in phi.arguments:
        value = replacements.value(argument)
        if value is phi.destination:
            continue
        if found is not None and value is not found:
            return None
        found = value
    return found
