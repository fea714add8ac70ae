"""Integer values as polynomials of the values that they are computed from: what ``strength`` and ``addresses`` compare.

    Sum      ::= (Monomial -> coefficient)*         -- modulo 2^w, w the width of the register; no coefficient is 0
    Monomial ::= () | (Atom,) | (Atom, Atom)        -- the constant; a value; the product of two, the lesser first
    Atom     ::= the id of a value of that width, or of a 32-bit one that is widened (with its sign, or zeros)

Everything here is exact, as registers wrap: ``add``, ``sub``, ``neg``, ``mul.lo``, ``mad.lo``, ``shl`` by a constant,
and the wide products of widened values. A sum of 32 bits that is widened is the sum of what is widened, if ``ranges``
has proved that it does not wrap. What is nothing of these, or would have too many terms, is an atom.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.facts import literal_pattern, operand_type
from drawloom.opt.work import KEEPS_SIGNED, KEEPS_UNSIGNED, Work, signed
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register

Monomial = tuple[int, ...]
Sum = dict[Monomial, int]
#: What two equal sums have in common, for tables.
SumKey = tuple[tuple[Monomial, int], ...]

#: Terms that a sum may have; the index arithmetic of compilers seldom has more than five.
_MOST_TERMS: Final = 6
_SIGNED_ATOM: Final = 1 << 40
_UNSIGNED_ATOM: Final = 2 << 40


def key_of(sum: Sum) -> SumKey:
    """A tuple that is equal for equal sums."""
    if len(sum) < 2:
        return tuple(sum.items())
    return tuple(sorted(sum.items()))


def plain_atom(monomial: Monomial) -> int:
    """The value that a monomial is, -1 if it is none of the sum's own width."""
    return monomial[0] if len(monomial) == 1 and monomial[0] < _SIGNED_ATOM else -1


class Sums:
    """The sums of the values that were walked over. Integer registers of 32 and 64 bits have one."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.known: dict[int, Sum] = {}
        self.makers: dict[int, Instruction] = {}  # of values of 32 bits that do not wrap

    def of(self, operand: Operand, bits: int) -> Sum:
        """The sum of an operand that stands where ``bits`` bits are read."""
        if isinstance(operand, Immediate):
            return _normal({(): literal_pattern(operand, None) if bits == 32 else operand.value}, bits)
        assert isinstance(operand, Register)
        known = self.known.get(operand.id)
        return {(operand.id,): 1} if known is None else known

    def enter(self, instruction: Instruction) -> Sum | None:
        """The sum of what an unguarded pure instruction computes, noted for those that follow; None if it has none."""
        destination = instruction.operands[0]
        if not isinstance(destination, Register) or destination.type.bits not in (32, 64):
            return None
        if destination.type.bits == 32 and destination.id in self.work.kept:
            self.makers[destination.id] = instruction
        sum = _computed(self, instruction, destination.type.bits)
        if sum is not None and len(sum) <= _MOST_TERMS:
            self.known[destination.id] = sum
            return sum
        return None

    def widened(self, register: Register, is_signed: bool, depth: int = 4) -> Sum:
        """The 64-bit sum of a 32-bit value that is widened with its sign, or with zeros."""
        maker = self.makers.get(register.id)
        if (
            maker is not None
            and depth
            and self.work.keeps(register, maker, KEEPS_SIGNED if is_signed else KEEPS_UNSIGNED)
        ):
            parts = [self.widened_operand(o, is_signed, depth - 1) for o in maker.operands[1:]]
            name = maker.opcode.name
            found: Sum | None = None
            if name in ("add", "sub"):
                found = plus(parts[0], parts[1], 1 if name == "add" else -1, 64)
            elif name == "mul" and maker.opcode.half == "lo":
                found = times(parts[0], parts[1], 64)
            elif name == "shl":
                found = plus({}, parts[0], 1 << parts[1].get((), 0), 64)
            if found is not None and len(found) <= _MOST_TERMS:
                return found
        is_signed = is_signed or register.id in self.work.never_negative
        return {(register.id | (_SIGNED_ATOM if is_signed else _UNSIGNED_ATOM),): 1}

    def widened_operand(self, operand: Operand, is_signed: bool, depth: int) -> Sum:
        if isinstance(operand, Immediate):
            value = literal_pattern(operand, None)
            return _normal({(): signed(value, 32) if is_signed else value}, 64)
        assert isinstance(operand, Register)
        return self.widened(operand, is_signed, depth)


def _computed(sums: Sums, instruction: Instruction, bits: int) -> Sum | None:
    opcode = instruction.opcode
    type = opcode.type
    operands = instruction.operands
    name = opcode.name
    if type is None or type.is_float or type.lanes > 1 or opcode.sat or opcode.writes_carry or opcode.reads_carry:
        return None
    for operand in operands[1:]:
        if not isinstance(operand, (Register, Immediate)):
            return None
    if name in ("add", "sub"):
        sign = 1 if name == "add" else -1
        return plus(sums.of(operands[1], bits), sums.of(operands[2], bits), sign, bits)
    if name == "neg":
        return plus({}, sums.of(operands[1], bits), -1, bits)
    if name == "shl":
        amount = operands[2]
        if not isinstance(amount, Immediate) or not 0 <= amount.value < bits:
            return None
        return plus({}, sums.of(operands[1], bits), 1 << amount.value, bits)
    if name in ("mul", "mad") and opcode.half in ("lo", "wide"):
        a, b = (_factor(sums, instruction, index, bits) for index in (1, 2))
        product = times(a, b, bits)
        return product if product is None or name == "mul" else plus(product, sums.of(operands[3], bits), 1, bits)
    if name == "cvt" and opcode.types[0].bits == 64 and opcode.types[1].bits == 32 and opcode.types[1].is_integer:
        source = operands[1]
        if isinstance(source, Register) and source.type.bits == 32 and opcode.types[0].is_integer:
            return sums.widened(source, opcode.types[1].is_signed)
    return None


def _factor(sums: Sums, instruction: Instruction, index: int, bits: int) -> Sum:
    """A factor of a product; those of a wide one are widened, and not looked into, as what they are may wrap."""
    operand = instruction.operands[index]
    opcode = instruction.opcode
    if opcode.half != "wide":
        return sums.of(operand, bits)
    type = operand_type(opcode, index)
    assert type is not None
    if isinstance(operand, Immediate):
        pattern = literal_pattern(operand, type)
        value = pattern - (1 << type.bits) if type.is_signed and pattern >> (type.bits - 1) else pattern
        return _normal({(): value}, bits)
    assert isinstance(operand, Register)
    if type.bits != 32 or operand.type.bits != 32:
        return {(operand.id | (_SIGNED_ATOM if type.is_signed else _UNSIGNED_ATOM),): 1}
    return sums.widened(operand, type.is_signed)


def _normal(sum: Sum, bits: int) -> Sum:
    mask = (1 << bits) - 1
    return {m: c & mask for m, c in sum.items() if c & mask}


def plus(a: Sum, b: Sum, factor: int, bits: int) -> Sum:
    """``a + factor * b``."""
    out = dict(a)
    for monomial, coefficient in b.items():
        out[monomial] = out.get(monomial, 0) + factor * coefficient
    return _normal(out, bits)


def times(a: Sum, b: Sum, bits: int) -> Sum | None:
    """The product; None where it has more than two factors or too many terms."""
    if len(a) * len(b) > _MOST_TERMS:
        return None
    out: Sum = {}
    for first, c in a.items():
        for second, d in b.items():
            if len(first) + len(second) > 2:
                return None
            monomial = tuple(sorted(first + second))
            out[monomial] = out.get(monomial, 0) + c * d
    return _normal(out, bits)
