"""Which integer instructions are left to the one addition that reads them: products (IMAD, XMAD), shifts (LEA, ISCADD)
and sums (IADD3)."""

from __future__ import annotations

from drawloom.ptx.ir import Immediate, Instruction, Operand, Register
from drawloom.sass.select.selector import Selector


def leave_to_reader(s: Selector, instruction: Instruction) -> bool:
    """Whether the one reader of an `add`, `mul` or `shl` is an addition in the same block that takes it in; then there
    is nothing to select here. Its sources must hold at the reader what they hold now: they are settled, or constants.
    """
    register = instruction.operands[0]
    if not isinstance(register, Register) or not is_absorbed(s, instruction, register):
        return False
    s.absorbed[register.id] = True
    return True


def is_absorbed(s: Selector, instruction: Instruction, register: Register) -> bool:
    opcode = instruction.opcode
    known = s.definitions
    if not known.settled(register) or known.reads[register.id] != 1:
        return False
    reader = known.reader[register.id]
    if reader is None or s.live.place[register.id] >= 0 or not is_plain_sum(reader):
        return False
    type, bits = opcode.types[0], reader.opcode.types[0].bits
    if opcode.name == "mul":
        if not type.is_integer or type.bits != 32 or opcode.half != ("wide" if bits == 64 else "lo"):
            return False
    elif opcode.name == "shl":
        amount = s.number_of(instruction.operands[2])
        if type.bits != bits or (bits == 64 and not s.target.wide) or amount is None or not 0 < amount < 32:
            return False
    elif bits != 32 or not is_plain_sum(instruction) or type.bits != 32:
        return False
    return all(stays(s, operand) for operand in instruction.operands[1:]) and not takes_in(s, reader)


def is_plain_sum(instruction: Instruction) -> bool:
    """Whether an instruction is an addition of integers that neither saturates nor carries."""
    opcode = instruction.opcode
    if opcode.name != "add" or opcode.sat or opcode.writes_carry:
        return False
    type = opcode.types[0]
    return type.is_integer and type.lanes == 1 and type.bits in (32, 64)


def stays(s: Selector, operand: Operand) -> bool:
    """Whether an operand keeps its value, and is not itself left to its reader."""
    if isinstance(operand, Register):
        return s.definitions.settled(operand) and not s.absorbed[operand.id]
    return isinstance(operand, Immediate)


def takes_in(s: Selector, reader: Instruction) -> bool:
    """Whether an addition takes in another instruction already."""
    return any(isinstance(o, Register) and s.absorbed[o.id] for o in reader.operands[1:])
