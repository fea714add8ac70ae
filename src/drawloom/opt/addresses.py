"""Constant offsets out of pointer arithmetic into addresses (Wu and others, "gpucc", CGO 2016, section 3.4.1).

    add.s64 %rd3, %rd1, 8;          (dead)
    add.s64 %rd4, %rd3, %rd2;       add.s64 %rd5, %rd1, %rd2;
    ld.global.f32 %f1, [%rd4+4];    ld.global.f32 %f1, [%rd5+12];

A constant is taken out of sums, differences and shifts of 64 bits, where addresses wrap as registers do, so that this
is exact. Constants that were added in 32 bits and widened stay: the sum may have wrapped. What is left is computed anew
beside the original; other addresses that differ in the constant find the same value, and ``number`` makes them one.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Work, signed
from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register
from drawloom.ptx.isa import ATOMIC, LOAD, STORE

_BITS: Final = 64
_LARGEST_OFFSET: Final = (1 << 31) - 1
#: Instructions that a constant is looked for behind.
_DEPTH: Final = 8


def split_addresses(work: Work) -> None:
    """Move constants into every address with a 64-bit register."""
    splitting = _Splitting(work)
    for block in work.preorder():
        for statement in block.statements:
            if isinstance(statement, Instruction):
                if statement.opcode.effect in (LOAD, STORE, ATOMIC) and statement.opcode.name != "mbarrier":
                    splitting.access(statement)
                elif statement.guard is None:
                    splitting.enter(statement)
    work.insert_behind(splitting.behind)


class _Splitting:
    """``constants[v]`` is the constant that can be taken out of value ``v``, ``rests[v]`` what is left of it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.constants: dict[int, int] = {}
        self.depths: dict[int, int] = {}
        self.rests: dict[int, Operand] = {}
        self.makers: dict[int, Instruction] = {}
        self.behind: dict[int, list[Instruction]] = {}  # by id() of the instruction that they follow

    def enter(self, instruction: Instruction) -> None:
        """Note the constant in what an instruction computes."""
        destination = instruction.operands[0] if instruction.operands else None
        if not isinstance(destination, Register) or destination.type.bits != _BITS:
            return
        constant, depth = self.computed(instruction)
        if constant and depth <= _DEPTH:
            self.constants[destination.id] = constant
            self.depths[destination.id] = depth
            self.makers[destination.id] = instruction

    def computed(self, instruction: Instruction) -> tuple[int, int]:
        """The constant that can be taken out, and behind how many instructions it is."""
        opcode = instruction.opcode
        if opcode.writes_carry or opcode.type is None or opcode.type.bits != _BITS or opcode.type.is_float:
            return 0, 0
        operands = instruction.operands
        if opcode.name in ("add", "sub"):
            a, b = self.constant(operands[1]), self.constant(operands[2])
            sum = a + b if opcode.name == "add" else a - b
            return signed(sum, _BITS), 1 + max(self.depth(operands[1]), self.depth(operands[2]))
        if opcode.name == "shl" and isinstance(operands[2], Immediate) and 0 <= operands[2].value < _BITS:
            return signed(self.constant(operands[1]) << operands[2].value, _BITS), 1 + self.depth(operands[1])
        return 0, 0

    def constant(self, operand: Operand) -> int:
        if isinstance(operand, Immediate):
            return signed(operand.value, _BITS)
        return self.constants.get(operand.id, 0) if isinstance(operand, Register) else 0

    def depth(self, operand: Operand) -> int:
        return self.depths.get(operand.id, 0) if isinstance(operand, Register) else 0

    def access(self, instruction: Instruction) -> None:
        """Move the constant of an access's base register into its offset."""
        for place, operand in enumerate(instruction.operands[:2]):
            if not isinstance(operand, Address) or not isinstance(operand.base, Register):
                continue
            constant = self.constants.get(operand.base.id, 0)
            offset = operand.offset + constant
            if not constant or not -_LARGEST_OFFSET <= offset <= _LARGEST_OFFSET:
                continue
            rest = self.rest(operand.base)
            if isinstance(rest, Register):
                before = repr(operand)
                instruction.operands[place] = Address(rest, offset)
                self.work.changed(instruction, f"the address was {before}")

    def rest(self, operand: Operand) -> Operand:
        """An operand without its constant."""
        if isinstance(operand, Immediate):
            return Immediate(0)
        if not isinstance(operand, Register) or not self.constants.get(operand.id, 0):
            return operand
        known = self.rests.get(operand.id)
        if known is None:
            known = self.rests[operand.id] = self.make_rest(operand)
        return known

    def make_rest(self, register: Register) -> Operand:
        maker = self.makers[register.id]
        a, b = self.rest(maker.operands[1]), maker.operands[2]
        if maker.opcode.name != "shl":
            b = self.rest(b)
            if isinstance(b, Immediate):
                return a
            if isinstance(a, Immediate) and maker.opcode.name == "add":
                return b
        elif isinstance(a, Immediate):
            return a
        value = self.work.ssa.new_value(register.type)
        made = Instruction(maker.opcode, [value, a, b], pos=maker.pos)
        self.behind.setdefault(id(maker), []).append(made)
        return value
