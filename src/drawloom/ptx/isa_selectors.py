"""The byte and halfword selectors and the signs of video operands (PTX ISA 9.0 section 9.7.18), as part of the opcode.

What an instruction takes of a register is what it does, not where it is: ``vadd.s32.u32.s32 d.h0, a.b1, b, c`` is
kept as the opcode ``vadd.s32.u32.s32(.h0,.b1,,)`` with plain registers as operands, so no pass need know of selectors.
A selector is ``""``, ``".b1"``, ``"-"`` or ``"-.b1"``; the first belongs to the destination.
"""

from __future__ import annotations

import re
from typing import Final

_SCALAR_OPERATIONS: Final = "vadd vsub vabsdiff vmin vmax vshl vshr vset vmad".split()
_PACKED_STEMS: Final = "vadd vsub vavrg vabsdiff vmin vmax vset".split()
#: How many fields each video instruction works on: 1, or 2 halfwords, or 4 bytes.
FIELDS: Final[dict[str, int]] = {
    **dict.fromkeys(_SCALAR_OPERATIONS, 1),
    **{f"{stem}{fields}": fields for stem in _PACKED_STEMS for fields in (2, 4)},
}

_SCALAR: Final = re.compile(r"\.(b[0-3]|h[01])", re.ASCII)
#: Per number of fields: what a destination takes (fields from the highest down), and a source.
_DESTINATIONS: Final = {1: _SCALAR, 2: re.compile(r"\.h1?0?(?<=\d)"), 4: re.compile(r"\.b3?2?1?0?(?<=\d)")}
_SOURCES: Final = {1: _SCALAR, 2: re.compile(r"\.h[0-3]{2}"), 4: re.compile(r"\.b[0-7]{4}")}
_EXPECTED: Final = {
    1: ("'.b0' to '.b3', '.h0' or '.h1'", "'.b0' to '.b3', '.h0' or '.h1'"),
    2: ("'.h0', '.h1' or '.h10'", "'.h' and two digits from 0 to 3"),
    4: ("'.b' and some of the digits 3210 in this order", "'.b' and four digits from 0 to 7"),
}
_OPERAND: Final = re.compile(r"\s*(-?)\s*([%$_a-zA-Z][\w$]*(?:\.[a-z])?)\s*(\.[bh][0-9]+)?\s*", re.ASCII)


def split_selectors(text: str) -> tuple[list[str], str]:
    """``(selectors, plain operands)`` of an operand list as it is written."""
    selectors: list[str] = []
    plain: list[str] = []
    for part in text.split(","):
        match = _OPERAND.fullmatch(part)
        if match is None or match.group(2) == "WARP_SZ":
            selectors.append("")
            plain.append(part)
        else:
            selectors.append(match.group(1) + (match.group(3) or ""))
            plain.append(match.group(2))
    return selectors, ", ".join(plain) if any(selectors) else text


def selected(operand: str, selector: str) -> str:
    """An operand's text with its selector and sign, as PTX writes it."""
    return f"-{operand}{selector[1:]}" if selector[:1] == "-" else operand + selector


def wrong_selectors(name: str, modifiers: list[str], selectors: list[str]) -> tuple[str, str] | None:
    """``(message, expected)`` where the opcode does not take these selectors, None where it does."""
    fields = FIELDS.get(name)
    if fields is None:
        return f"'{name}' takes no selectors", "registers"
    for position, selector in enumerate(selectors):
        sign, field = selector[:1] == "-", selector.lstrip("-")
        what = f"operand {position + 1} of '{name}' is written '{selected('r', selector)}'"
        if sign and (name != "vmad" or position == 0):
            return what, "a minus before a source of 'vmad' only"
        if not field:
            continue
        if position > 2 or (position == 0 and name == "vmad"):
            return what, "no selector"
        allowed = _SOURCES[fields] if position else _DESTINATIONS[fields]
        if allowed.fullmatch(field) is None:
            return what, _EXPECTED[fields][1 if position else 0]
    if fields == 1 and selectors[0]:
        if len(selectors) < 4:
            return f"'{name}' merges into nothing", "a third source, which gives the other bits of the destination"
        if not {"add", "min", "max"}.isdisjoint(modifiers):
            return f"'{name}' both merges and has a second operation", "one of them"
    if name == "vmad":
        return _wrong_signs(modifiers, [s[:1] == "-" for s in selectors])
    return None


def _wrong_signs(modifiers: list[str], signs: list[bool]) -> tuple[str, str] | None:
    product, addend = len(signs) > 2 and signs[1] != signs[2], len(signs) > 3 and signs[3]
    if "po" in modifiers and (product or addend):
        return "'vmad.po' with a negated operand", "no minus, or no '.po'"
    if product and addend:
        return "'vmad' with both product and addend negated", "a minus before one of the factors or before the addend"
    return None
