"""Constant offsets out of pointer arithmetic into addresses (Wu and others, "gpucc", CGO 2016, section 3.4.1).

    add.s64 %rd3, %rd1, 8;          (dead)
    add.s64 %rd4, %rd3, %rd2;       add.s64 %rd5, %rd1, %rd2;
    ld.global.f32 %f1, [%rd4+4];    ld.global.f32 %f1, [%rd5+12];

A constant is taken out of sums, differences and shifts of 64 bits, where addresses wrap as registers do, so that this
is exact. Constants that were added in 32 bits and widened come along where ``ranges`` has proved that the sum does not
wrap. What is left is computed anew beside the original; other addresses that differ in the constant find the same
value, as equal ones become one in the end (``number``).
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.number import number_values
from drawloom.opt.work import KEEPS_SIGNED, KEEPS_UNSIGNED, Work, signed
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
    if work.changes:
        work.insert_behind(splitting.behind)
        number_values(work)


#: Instructions that widen 32 bits.
_WIDENING: Final = frozenset("cvt.u64.u32 cvt.s64.s32 mul.wide.u32 mul.wide.s32".split())


class _Splitting:
    """``constants[v]`` is the constant that can be taken out of value ``v``, which ``makers[v]`` computes, ``rests[v]``
    what is left of it; constants may add up to nothing."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.constants: dict[int, int] = {}
        self.depths: dict[int, int] = {}
        self.rests: dict[int, Operand] = {}
        self.makers: dict[int, Instruction] = {}
        self.narrow: dict[int, Instruction] = {}  # what computes values of 32 bits that do not wrap
        self.behind: dict[int, list[Instruction]] = {}  # by id() of the instruction that they follow

    def enter(self, instruction: Instruction) -> None:
        """Note the constant in what an instruction computes."""
        destination = instruction.operands[0] if instruction.operands else None
        if not isinstance(destination, Register):
            return
        if destination.id in self.work.kept:
            self.narrow[destination.id] = instruction
        if destination.type.bits != _BITS:
            return
        constant, depth = self.computed(instruction)
        split = constant != 0 or any(isinstance(o, Register) and o.id in self.makers for o in instruction.operands[1:])
        if split and 0 < depth <= _DEPTH:
            self.constants[destination.id] = constant
            self.depths[destination.id] = depth
            self.makers[destination.id] = instruction

    def computed(self, instruction: Instruction) -> tuple[int, int]:
        """The constant that can be taken out, and behind how many instructions it is."""
        opcode = instruction.opcode
        if opcode.text in _WIDENING:
            return self.widened(instruction)
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

    def widened(self, instruction: Instruction) -> tuple[int, int]:
        """The constant of a widened sum of 32 bits, times the constant that it is multiplied by."""
        source = instruction.operands[1]
        maker = self.narrow.get(source.id) if isinstance(source, Register) else None
        is_signed = instruction.opcode.types[-1].is_signed
        if maker is None or not isinstance(source, Register) or maker.opcode.name != "add":
            return 0, 0
        constant = maker.operands[2]
        if not isinstance(constant, Immediate) or not isinstance(maker.operands[1], Register):
            return 0, 0
        if not self.work.keeps(source, maker, KEEPS_SIGNED if is_signed else KEEPS_UNSIGNED):
            return 0, 0
        value = signed(constant.value, 32) if is_signed else constant.value & 0xFFFFFFFF
        if instruction.opcode.name == "mul":
            factor = instruction.operands[2]
            if not isinstance(factor, Immediate):
                return 0, 0
            value *= signed(factor.value, 32) if is_signed else factor.value & 0xFFFFFFFF
        return signed(value, _BITS), 1

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
            offset = operand.offset + self.constants.get(operand.base.id, 0)
            if operand.base.id not in self.makers or not -_LARGEST_OFFSET <= offset <= _LARGEST_OFFSET:
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
        if not isinstance(operand, Register) or operand.id not in self.makers:
            return operand
        known = self.rests.get(operand.id)
        if known is None:
            known = self.rests[operand.id] = self.make_rest(operand)
        return known

    def make_rest(self, register: Register) -> Operand:
        maker = self.makers[register.id]
        if maker.opcode.text in _WIDENING:
            source = maker.operands[1]
            assert isinstance(source, Register)
            value = self.work.ssa.new_value(register.type)
            sources = [self.narrow[source.id].operands[1], *maker.operands[2:]]
            self.behind.setdefault(id(maker), []).append(Instruction(maker.opcode, [value, *sources], pos=maker.pos))
            return value
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
