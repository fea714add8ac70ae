"""Bits that nvdisasm does not print, in forms that ptxas was never seen to use.

A form that only flipped bits led to has there what the flipped word happened to have. The hardware reads them all the
same: on sm_90 `LEA R24, P2, R14, 0xc00, 0x2` is an illegal instruction where the field of its third register is not
RZ. They are taken from forms of the same instruction that ptxas does use, the most alike first.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, Final

from drawloom.sass.isa import bits_of

#: Places of what is needed here in a row.
STRUCTURE, FIXED, MASK, OPERANDS, FIELDS, SEEN, TARGETS = 0, 2, 3, 4, 5, 9, 10
#: Guard and scheduling bits, by the digits of a word: 64 bits (sm_61) or 128.
_OWN: Final = {16: 0xF << 16, 32: 0xF << 12 | ((1 << 21) - 1) << 105}


def settle_unprinted(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows of one mnemonic with the unprinted bits of those settled that ptxas does not use; rows that have become
    equal are one. `rows` are as in the tables (docs/sass.md)."""
    used = [row for row in rows if row[SEEN] == "ptxas"]
    settled: dict[str, list[Any]] = {}
    for row in rows:
        row = list(row)
        if row[SEEN] != "ptxas":
            row[FIXED] = f"{_settled(row, used):0{len(row[FIXED])}x}"
        known = settled.setdefault(repr(row[:SEEN]), row)
        known[TARGETS] |= row[TARGETS]
        if row[SEEN] == "ptxas":
            known[SEEN] = "ptxas"
    return list(settled.values())


def _settled(row: list[Any], used: list[list[Any]]) -> int:
    word = int(row[FIXED], 16)
    open_bits = ~_printed(row) & ((1 << 4 * len(row[FIXED])) - 1)
    for other in sorted(used, key=lambda other: _likeness(row, other), reverse=True):
        known = open_bits & ~_printed(other)
        word = word & ~known | int(other[FIXED], 16) & known
        open_bits &= ~known
    return word


def _likeness(row: list[Any], other: list[Any]) -> tuple[float, bool]:
    matcher = SequenceMatcher(None, row[STRUCTURE].split(" "), other[STRUCTURE].split(" "), autojunk=False)
    return matcher.ratio(), bool(row[TARGETS] & other[TARGETS])


def _printed(row: list[Any]) -> int:
    """The bits of a form that its text tells, and those of guard, control and reuse."""
    bits = int(row[MASK], 16) | _OWN[len(row[MASK])]
    for operand in row[OPERANDS]:
        for piece in operand.rstrip("s~!").split(","):
            low, _, width = piece.partition("<<")[0].partition("+")
            bits |= ((1 << int(width)) - 1) << int(low)
    for where, _, _ in row[FIELDS]:
        for bit in bits_of(where):
            bits |= 1 << bit
    return bits
