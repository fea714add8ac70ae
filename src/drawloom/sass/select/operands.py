"""Operands of machine instructions as the selector builds them: their place in a signature and their numbers."""

from __future__ import annotations

from itertools import count
from typing import Final

from mypy_extensions import mypyc_attr

from drawloom.sass.machine import PT, RZ

REGISTER: Final = 0
IMMEDIATE: Final = 1
CONSTANT: Final = 2
OTHER: Final = 3


#: A number for every text of an operand, in the order in which they were met: from 1 on, so that a row of them is a
#: number again, CODE_BITS bits each.
_codes: Final[dict[str, int]] = {}
_numbers: Final = count(1)
CODE_BITS: Final = 8


def code_of(text: str) -> int:
    """The same number for the same text, in this process."""
    found = _codes.get(text)
    if found is None:
        found = _codes.setdefault(text, next(_numbers))
        assert found < 1 << CODE_BITS
    return found


_REGISTER_CODE: Final = code_of("R")
_IMMEDIATE_CODE: Final = code_of("I")
_BANK_CODE: Final = code_of("c[I][I]")
_PREDICATE_CODE: Final = code_of("P")
_COMPLEMENT_CODE: Final = code_of("!P")


@mypyc_attr(acyclic=True)
class Src:
    """`text` is the operand's part of the signature and `code` its number, `values` its numbers, `kind` whether it can
    be moved to a register: `REGISTER` (is one), `IMMEDIATE`, `CONSTANT` (constant bank), `OTHER` (cannot)."""

    def __init__(self, text: str, values: list[int], kind: int, code: int = 0) -> None:
        self.text = text
        self.values = values
        self.kind = kind
        self.code = code or code_of(text)


ZERO: Final = Src("R", [RZ], REGISTER)
TRUE: Final = Src("P", [PT], OTHER)
FALSE: Final = Src("!P", [PT], OTHER)


#: Operands that were made before, by value: they are never changed. First general registers, virtual ones among them.
_KEPT_REGISTERS: Final = 1 << 13
_KEPT_INTEGERS: Final = 1 << 8
_registers: Final[list[Src | None]] = [None] * _KEPT_REGISTERS
_predicates: Final[list[Src | None]] = [None] * _KEPT_REGISTERS
_integers: Final[list[Src | None]] = [None] * _KEPT_INTEGERS


def reg(value: int) -> Src:
    """A general register."""
    found = _registers[value] if value < _KEPT_REGISTERS else None
    if found is None:
        found = Src("R", [value], REGISTER, _REGISTER_CODE)
        if value < _KEPT_REGISTERS:
            _registers[value] = found
    return found


def imm(value: int) -> Src:
    """An integer."""
    found = _integers[value] if 0 <= value < _KEPT_INTEGERS else None
    if found is None:
        found = Src("I", [value], IMMEDIATE, _IMMEDIATE_CODE)
        if 0 <= value < _KEPT_INTEGERS:
            _integers[value] = found
    return found


def fimm(bits: int) -> Src:
    """A float by its bits."""
    return Src("F", [bits], IMMEDIATE)


def bank(offset: int, number: int = 0) -> Src:
    """A word of a constant bank, at a byte offset."""
    return Src("c[I][I]", [number, offset], CONSTANT, _BANK_CODE)


def pred(value: int, negated: bool = False) -> Src:
    """A predicate."""
    if negated:
        return Src("!P", [value], OTHER, _COMPLEMENT_CODE)
    found = _predicates[value] if value < _KEPT_REGISTERS else None
    if found is None:
        found = Src("P", [value], OTHER, _PREDICATE_CODE)
        if value < _KEPT_REGISTERS:
            _predicates[value] = found
    return found


def label(block: int) -> Src:
    """The beginning of a block."""
    return Src("L", [block], OTHER)


def neg(a: Src) -> Src:
    """The negative of an operand; integers are negated at once."""
    if a.text == "I":
        return Src("I", [-a.values[0]], IMMEDIATE)
    return Src(a.text[1:] if a.text[0] == "-" else "-" + a.text, a.values, a.kind)


def absolute(a: Src) -> Src:
    """The absolute value of a register or constant."""
    return Src(f"|{a.text.lstrip('-')}|", a.values, a.kind)


def invert(a: Src) -> Src:
    """The complement of a predicate (`!`)."""
    return Src(a.text[1:] if a.text[0] == "!" else "!" + a.text, a.values, a.kind)


def is_zero(a: Src) -> bool:
    """Whether an operand is the number 0 or RZ."""
    return (a.kind == IMMEDIATE and a.values[0] == 0) or (a.kind == REGISTER and a.values[0] == RZ)
