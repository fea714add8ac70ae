"""Floating point on constants, where there is nothing to round: results that are exactly a normal number of their type,
and not zero, are the same in every rounding mode, with or without ``ftz``, on every machine."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Final

from drawloom.opt.work import signed
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

#: Formats of ``struct`` and least exponents of normal numbers.
_FORMATS: Final[dict[str, tuple[str, str, int]]] = {"f32": ("<f", "<I", -126), "f64": ("<d", "<Q", -1022)}


def computed(opcode: Opcode, patterns: list[int]) -> int | None:
    """The pattern of a sum, product, opposite or conversion; None where it is not exact or not that simple."""
    if opcode.sat or opcode.relu or opcode.approx or opcode.satfinite:
        return None
    to, source = opcode.types[0], opcode.types[-1]
    numbers: list[Fraction] = []
    for pattern in patterns:
        number = value(pattern, source)
        if number is None:
            return None
        numbers.append(number)
    name = opcode.name
    if name == "add":
        return pattern_of(numbers[0] + numbers[1], to)
    if name == "sub":
        return pattern_of(numbers[0] - numbers[1], to)
    if name == "mul":
        return pattern_of(numbers[0] * numbers[1], to)
    if name in ("fma", "mad"):
        return pattern_of(numbers[0] * numbers[1] + numbers[2], to)
    if name in ("neg", "abs"):
        return pattern_of(-numbers[0] if name == "neg" else abs(numbers[0]), to)
    if name != "cvt" or (to.is_float and opcode.rounding.endswith("i") and numbers[0].denominator > 1):
        return None
    return pattern_of(numbers[0], to)


def value(pattern: int, type: Type) -> Fraction | None:
    """The number that a pattern spells; None for zeros of floats, whose sign counts, and what is no normal number."""
    if not type.is_float:
        return Fraction(signed(pattern, type.bits) if type.is_signed else pattern & (1 << type.bits) - 1)
    formats = _FORMATS.get(type.name)
    if formats is None:
        return None
    exponent = pattern >> (23 if type.bits == 32 else 52) & (0xFF if type.bits == 32 else 0x7FF)
    if exponent == 0 or exponent == (0xFF if type.bits == 32 else 0x7FF):
        return None
    return Fraction(struct.unpack(formats[0], struct.pack(formats[1], pattern & (1 << type.bits) - 1))[0])


def pattern_of(number: Fraction, type: Type) -> int | None:
    """The pattern that spells a number exactly; None if none does, or it would be zero or subnormal."""
    if not type.is_float:
        low, high = (-1 << type.bits - 1, 1 << type.bits - 1) if type.is_signed else (0, 1 << type.bits)
        return int(number) & (1 << type.bits) - 1 if number.denominator == 1 and low <= number < high else None
    formats = _FORMATS.get(type.name)
    if formats is None or abs(number) < Fraction(2) ** formats[2]:
        return None
    try:
        packed = struct.pack(formats[0], float(number))
    except OverflowError:
        return None
    if Fraction(struct.unpack(formats[0], packed)[0]) != number:
        return None
    pattern: int = struct.unpack(formats[1], packed)[0]
    return pattern
