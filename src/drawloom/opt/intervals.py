"""Intervals of integers, and what instructions make of them: the arithmetic of ``ranges``.

Range ::= low, high        -- the value is congruent, modulo 2^w, to a number between them
                           -- -2^(w-1) <= low <= high < 2^w, so one interval may be signed or unsigned
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

Interval = tuple[int, int]


@mypyc_attr(acyclic=True)
class Range:
    """Numbers between ``low`` and ``high``, both with them, modulo 2^``bits``."""

    def __init__(self, low: int, high: int, bits: int) -> None:
        self.low = low
        self.high = high
        self.bits = bits

    @property
    def full(self) -> bool:
        return self.high - self.low >= (1 << self.bits) - 1

    def unsigned(self) -> tuple[int, int]:
        """The least and the largest of the patterns, as unsigned numbers."""
        if self.low >= 0:
            return self.low, self.high
        if self.high < 0:
            return self.low + (1 << self.bits), self.high + (1 << self.bits)
        return 0, (1 << self.bits) - 1

    def signed(self) -> tuple[int, int]:
        """The same, as signed numbers."""
        half = 1 << (self.bits - 1)
        if self.high < half:
            return self.low, self.high
        if self.low >= half:
            return self.low - 2 * half, self.high - 2 * half
        return -half, half - 1

    def read(self, is_signed: bool) -> tuple[int, int]:
        return self.signed() if is_signed else self.unsigned()

    def __repr__(self) -> str:
        return f"{self.low}..{self.high}"


def anything(bits: int) -> Range:
    """All numbers of a width."""
    return Range(0, (1 << bits) - 1, bits)


def ranged(low: int, high: int, bits: int) -> Range:
    """The numbers between two that may lie outside of the width: they wrap together, or anything is possible."""
    size = 1 << bits
    if high - low >= size - 1:
        return anything(bits)
    if low < -(size >> 1):
        low, high = low + size, high + size
    elif high >= size:
        low, high = low - size, high - size
    if low < -(size >> 1) or high >= size:
        return anything(bits)
    return Range(low, high, bits)


def union(a: Range, b: Range) -> Range:
    """Either: by the reading that leaves fewer numbers."""
    pairs = [(a.signed(), b.signed()), (a.unsigned(), b.unsigned())]
    low, high = min([(min(x[0], y[0]), max(x[1], y[1])) for x, y in pairs], key=lambda pair: pair[1] - pair[0])
    return Range(low, high, a.bits)


def intersection(range: Range, low: int, high: int, is_signed: bool) -> Range:
    """What of a range is between two numbers, read as its type says; all of it if that is nothing."""
    lowest, highest = range.read(is_signed)
    low, high = max(low, lowest), min(high, highest)
    if low > high or high - low >= range.high - range.low:
        return range
    return Range(low, high, range.bits)


# -- instructions ------------------------------------------------------------------------------------------

#: What an instruction makes of the ranges of its sources, in a register of so many bits; None: anything.
Rule = Callable[[Opcode, list[Range], int], Range | None]


def exact(name: str, operands: list[Interval]) -> Interval:
    """The numbers that a sum, difference or product is between, before it wraps."""
    if name == "neg":
        return -operands[0][1], -operands[0][0]
    (low, high), (least, most) = operands[0], operands[1]
    if name == "add":
        return low + least, high + most
    if name == "sub":
        return low - most, high - least
    if low >= 0 and least >= 0:
        smallest, largest = low * least, high * most
    else:
        products = (low * least, low * most, high * least, high * most)
        smallest, largest = min(products), max(products)
    if name == "mul":
        return smallest, largest
    return smallest + operands[2][0], largest + operands[2][1]


#: Instructions that ``exact`` is about; of ``mul`` and ``mad`` those that give the low half.
ARITHMETIC: Final = frozenset("add sub neg mul mad".split())


def wrapped(signed: Interval, unsigned: Interval, bits: int) -> Range:
    """The range of a result from what it is exactly in both readings: the narrower one."""
    a, b = ranged(signed[0], signed[1], bits), ranged(unsigned[0], unsigned[1], bits)
    return a if a.high - a.low < b.high - b.low else b


def _masked(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """``and``: no more than the lesser of those that have no sign; what a negative mask leaves is not more."""
    highest = [r.unsigned()[1] for r in operands]
    return Range(0, min(highest), bits)


def _joined(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """``or``, ``xor``: no more bits than the sources have."""
    (low, high), (least, most) = (r.unsigned() for r in operands)
    return Range(max(low, least) if opcode.name == "or" else 0, (1 << max(high, most).bit_length()) - 1, bits)


def _shifted_left(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    amount, most = operands[1].unsigned()
    if amount != most or amount >= bits:
        return None
    factor = 1 << amount
    pairs = [(low * factor, high * factor) for low, high in (operands[0].signed(), operands[0].unsigned())]
    return wrapped(pairs[0], pairs[1], bits)


def _shifted_right(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    low, high = operands[0].read(_is_signed(opcode))
    least, most = (min(amount, bits) for amount in operands[1].unsigned())
    return Range(low >> (most if low >= 0 else least), high >> (least if high >= 0 else most), bits)


def _is_signed(opcode: Opcode) -> bool:
    return opcode.types[-1].is_signed


def _least(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    (low, high), (least, most) = (r.read(_is_signed(opcode)) for r in operands)
    return Range(min(low, least), min(high, most), bits)


def _largest(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    (low, high), (least, most) = (r.read(_is_signed(opcode)) for r in operands)
    return Range(max(low, least), max(high, most), bits)


def _quotient(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """Of numbers that are not negative by positive ones."""
    (low, high), (least, most) = (r.read(_is_signed(opcode)) for r in operands)
    return Range(low // most, high // least, bits) if low >= 0 and least > 0 else None


def _remainder(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    (low, high), (least, most) = (r.read(_is_signed(opcode)) for r in operands)
    if least <= 0:
        return None
    return Range(0 if low >= 0 else max(low, 1 - most), min(max(high, 0), most - 1), bits)


def _absolute(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    low, high = operands[0].signed()
    return Range(0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)), bits)


def _either(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    return union(operands[0], operands[1])


def _counted(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """``popc``, ``clz``."""
    return Range(0, opcode.types[-1].bits, bits)


def _field(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """``bfe``: as many bits as the last operand says, which is taken modulo 256."""
    length = operands[2].unsigned()[1]
    if length >= opcode.types[-1].bits:
        return None
    if not _is_signed(opcode):
        return Range(0, (1 << length) - 1, bits)
    return Range(-(1 << length >> 1), (1 << length >> 1) - (1 if length else 0), bits)


def _converted(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """``cvt`` between integers: the source as its type reads it, in the destination as its own type extends it."""
    to, source = opcode.types
    low, high = _fitted(operands[0].low, operands[0].high, source)
    low, high = _fitted(low, high, to)
    return Range(low, high, bits)


def _fitted(low: int, high: int, type: Type) -> Interval:
    """Numbers as a type reads their low bits."""
    found = ranged(low, high, type.bits)
    return found.read(type.is_signed)


def _loaded(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    """A load that widens."""
    type = opcode.types[0]
    return None if type.bits >= bits or type.kind not in "us" else Range(*_fitted(0, (1 << type.bits) - 1, type), bits)


RULES: Final[dict[str, Rule]] = {
    "and": _masked, "or": _joined, "xor": _joined, "shl": _shifted_left, "shr": _shifted_right, "min": _least,
    "max": _largest, "div": _quotient, "rem": _remainder, "abs": _absolute, "selp": _either, "popc": _counted,
    "clz": _counted, "bfe": _field, "cvt": _converted, "ld": _loaded,
}  # fmt: skip
