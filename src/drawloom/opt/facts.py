"""What is known about values while a pass walks over a function in preorder: constants, and who computes them."""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Replacements
from drawloom.ptx.ir import INT, Immediate, Instruction, Not, Operand, Register
from drawloom.ptx.isa import Opcode
from drawloom.ptx.layout import literal_bytes
from drawloom.ptx.ssa import SsaFunction
from drawloom.ptx.types import Type, integer_type


class Facts:
    """``definitions[v]`` is the unguarded pure instruction that computes value ``v``, once it has been walked over."""

    def __init__(self, ssa: SsaFunction) -> None:
        self.replacements = Replacements(ssa)
        self.constants = self.replacements.constants
        self.definitions: list[Instruction | None] = [None] * len(ssa.registers)

    def define(self, instruction: Instruction) -> None:
        """Note the unguarded pure instruction that computes its destinations."""
        written = instruction.operands[0]
        if isinstance(written, Register):
            self.definitions[written.id] = instruction
            return
        for destination in instruction.destinations():
            self.definitions[destination.id] = instruction

    def maker(self, operand: Operand, name: str) -> Instruction | None:
        """The instruction of this base name that computes a register; None if another does, or nobody knows."""
        if not isinstance(operand, Register):
            return None
        found = self.definitions[operand.id]
        return found if found is not None and found.opcode.name == name else None

    def pattern(self, instruction: Instruction, index: int) -> int | None:
        """The pattern of a source operand, if it is constant."""
        operand = instruction.operands[index]
        if isinstance(operand, Register):
            return self.constants.get(operand.id)
        if isinstance(operand, Immediate):
            return literal_pattern(operand, operand_type(instruction.opcode, index))
        if isinstance(operand, Not):
            known = self.constants.get(operand.register.id)
            return None if known is None else 1 - known
        return None


def literal_pattern(literal: Immediate, type: Type | None) -> int:
    """The pattern of a literal where an operand of this type stands; None is a 32-bit integer."""
    if literal.kind == INT:
        return literal.value & (1 << (32 if type is None else type.bits)) - 1
    if type is None or not type.is_float:
        return literal.value
    return int.from_bytes(literal_bytes(literal, type), "little")


#: Operands, by opcode, that are 32-bit numbers whatever the type of the instruction is.
_COUNTS: Final[dict[str, tuple[int, ...]]] = {
    "shl": (2,),
    "shr": (2,),
    "shf": (3,),
    "bfe": (2, 3),
    "bfi": (3, 4),
    "lop3": (4,),
    "slct": (3,),
}


def operand_type(opcode: Opcode, index: int) -> Type | None:
    """The type that a literal at ``index`` has; None where it is a 32-bit integer."""
    if index in _COUNTS.get(opcode.name, ()) or not opcode.types:
        return None
    if opcode.half == "wide" and index == 3:
        return WIDE[opcode.types[0].name]
    return opcode.types[-1]


WIDE: Final[dict[str, Type]] = {name: integer_type(name[0], 2 * int(name[1:])) for name in ("u16", "s16", "u32", "s32")}
