"""Instructions that work on fields of registers, as expressions: video instructions (PTX ISA 9.0 section 9.7.18), pairs
of 16-bit integers, ``cvt.pack`` and ``prmt``.

Video instructions compute with exact numbers, which are bit-vectors here that are wide enough for all of them, and cut
these to the widths that the manual's pseudo-code declares.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.ptx.permutations import PERMUTATIONS
from drawloom.shuffle.expressions import Expressions

#: Wide enough for a result of 34 bits plus a third operand; for a product of two numbers of 33 bits plus a third one.
_EXACT: Final = 40
_PRODUCT: Final = 72
#: The result of a scalar instruction has 33 bits before it is cut; a shift to the left 34.
_RESULT: Final = 33
_SHIFTED: Final = 34
_NO_SELECTORS: Final = ("", "", "", "")


def clamped(x: Expressions, wide: int, bits: int, to_signed: bool, is_signed: bool = True) -> int:
    """The nearest number that so many bits hold of one in more bits, which is ``is_signed``."""
    width = x.widths[wide]
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if to_signed else (0, (1 << bits) - 1)
    least, most = x.constant(low, width), x.constant(high, width)
    if low or is_signed:
        wide = x.select(x.less(wide, least, True), least, wide)
    wide = x.select(x.less(most, wide, is_signed), most, wide)
    return x.truncate(wide, bits)


def relation(x: Expressions, compare: str, a: int, b: int, is_signed: bool) -> int:
    """The predicate of a comparison."""
    if compare == "eq":
        return x.equal(a, b)
    if compare == "ne":
        return x.negate(x.equal(a, b))
    if compare in ("lt", "lo"):
        return x.less(a, b, is_signed)
    if compare in ("ge", "hs"):
        return x.negate(x.less(a, b, is_signed))
    if compare in ("gt", "hi"):
        return x.less(b, a, is_signed)
    return x.negate(x.less(b, a, is_signed))


# -- video ---------------------------------------------------------------------------------------------------


def video(x: Expressions, op: Opcode, v: list[int]) -> int:
    """A video instruction."""
    if op.name == "vmad":
        return _product_sum(x, op, v)
    return _scalar(x, op, v) if FIELDS[op.name] == 1 else _packed(x, op, v)


def _place(selector: str) -> tuple[int, int]:
    """``(lowest bit, bits)`` of what a scalar instruction takes of a register."""
    field = selector.lstrip("-")
    if not field:
        return 0, 32
    bits = 16 if field[1] == "h" else 8
    return bits * int(field[2]), bits


def _number(x: Expressions, register: int, selector: str, is_signed: bool, width: int) -> int:
    """The number in a field of a register."""
    at, bits = _place(selector)
    return x.extend(x.extracted(register, at, bits), width, is_signed)


def _computed(x: Expressions, op: Opcode, a: int, b: int) -> int:
    """The operation on two exact numbers."""
    width = x.widths[a]
    stem = op.name.rstrip("24")
    if stem == "vadd":
        return x.add(a, b)
    if stem == "vsub":
        return x.sub(a, b)
    if stem == "vabsdiff":
        return x.select(x.less(a, b, True), x.sub(b, a), x.sub(a, b))
    if stem in ("vmin", "vmax"):
        return _nearest(x, stem == "vmin", a, b)
    if stem == "vset":
        return x.extend(relation(x, op.compare, a, b, True), width, False)
    if stem == "vavrg":
        total = x.add(a, b)
        up = x.extend(x.negate(x.less(total, x.constant(0, width), True)), width, False)
        return x.shift_right(x.add(total, up), x.constant(1, 32), True)
    count = x.truncate(b, 32)
    if op.has("wrap"):
        count = x.masked(count, 31)
    else:
        most = x.constant(32, 32)
        count = x.select(x.less(count, most, False), count, most)
    if stem == "vshr":
        return x.shift_right(a, count, True)
    return x.extend(x.shift_left(x.truncate(a, _SHIFTED), count), width, True)


def _nearest(x: Expressions, is_least: bool, a: int, b: int) -> int:
    less = x.less(a, b, True)
    return x.select(less, a, b) if is_least else x.select(less, b, a)


def _scalar(x: Expressions, op: Opcode, v: list[int]) -> int:
    """One field of each source; the result goes into a field of the third source, or is combined with it."""
    selectors = op.selectors or _NO_SELECTORS
    is_comparison = op.name == "vset"
    sources = op.types if is_comparison else op.types[1:]
    is_signed = op.types[0].is_signed and not is_comparison
    numbers = [_number(x, v[k], selectors[k + 1], sources[k].is_signed, _EXACT) for k in range(2)]
    out = _computed(x, op, numbers[0], numbers[1])
    at, bits = _place(selectors[0])
    if op.sat:
        out = x.extend(clamped(x, out, bits, is_signed), _EXACT, is_signed)
    else:
        out = x.extend(x.truncate(out, _RESULT), _EXACT, True)
    if op.operation:
        third = x.extend(v[2], _EXACT, is_signed)
        out = x.add(out, third) if op.operation == "add" else _nearest(x, op.operation == "min", out, third)
    out = x.truncate(out, 32)
    return out if bits == 32 else _put(x, v[2], out, at, bits)


def _put(x: Expressions, into: int, value: int, at: int, bits: int) -> int:
    """A register with the low bits of a value in one of its fields."""
    field = x.scale(x.extend(x.truncate(value, bits), 32, False), 1 << at)
    return x.add(x.masked(into, 0xFFFFFFFF ^ ((1 << bits) - 1) << at), field)


def _product_sum(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``vmad``: a product and a third number, of which minus signs and ``.po`` make something else; then scaled."""
    selectors = op.selectors or _NO_SELECTORS
    first, second = [_number(x, v[k], selectors[k + 1], op.types[k + 1].is_signed, _PRODUCT) for k in range(2)]
    minus_product = selectors[1].startswith("-") != selectors[2].startswith("-")
    minus_third = selectors[3].startswith("-")
    is_signed = op.types[1].is_signed or op.types[2].is_signed or minus_product or minus_third
    third = x.extend(v[2], _PRODUCT, is_signed)
    total = x.combine(x.mul(first, second), -1 if minus_product else 1, third, -1 if minus_third else 1)
    total = x.scale(total, 1, 1 if op.has("po") else 0)
    scale = 7 if op.has("shr7") else 15 if op.has("shr15") else 0
    total = x.shift_right(total, x.constant(scale, 32), True)
    return clamped(x, total, 32, is_signed) if op.sat else x.truncate(total, 32)


def _packed(x: Expressions, op: Opcode, v: list[int]) -> int:
    """Some fields of the destination, each from two of the bytes or halfwords of both sources; the others, or what is
    added to, are the third's."""
    fields = FIELDS[op.name]
    bits = 32 // fields
    selectors = op.selectors or _NO_SELECTORS
    places = [_digits(selectors[1], fields, 0), _digits(selectors[2], fields, fields)]
    sources = op.types if op.name.startswith("vset") else op.types[1:]
    both = x.concatenated(v[:2])
    out = v[2]
    for field in _digits(selectors[0], fields, 0):
        numbers = [
            x.extend(x.extracted(both, bits * places[k][field], bits), 32, sources[k].is_signed) for k in range(2)
        ]
        made = _computed(x, op, numbers[0], numbers[1])
        if op.operation == "add":
            out = x.add(out, made)
            continue
        if op.sat:
            made = x.extend(clamped(x, made, bits, op.types[0].is_signed), 32, False)
        out = _put(x, out, made, bits * field, bits)
    return out


def _digits(selector: str, fields: int, first: int) -> list[int]:
    """Which fields a selector says, from the lowest field of the destination up; without one all from ``first`` on."""
    if not selector:
        return list(range(first, first + fields))
    return [int(digit) for digit in selector[:1:-1]]


# -- packed integers and bytes -------------------------------------------------------------------------------


def halves(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``add``, ``min`` and ``max`` of two 16-bit integers each."""
    assert op.type is not None
    is_signed = op.type.is_signed
    parts: list[int] = []
    for at in (0, 16):
        a, b = [x.extracted(source, at, 16) for source in v]
        if op.name == "add":
            parts.append(x.add(a, b))
            continue
        less = x.less(a, b, is_signed)
        part = x.select(less, a, b) if op.name == "min" else x.select(less, b, a)
        if op.relu:
            zero = x.constant(0, 16)
            part = x.select(x.less(part, zero, True), zero, part)
        parts.append(part)
    return x.concatenated(parts)


def pack(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``cvt.pack``: two saturated integers below the low bits of the third; the second stands lowest."""
    narrow = op.text.split(".")[3]
    bits = int(narrow[1:])
    parts = [clamped(x, source, bits, narrow[0] == "s") for source in (v[1], v[0])]
    rest = 32 - 2 * bits
    if rest:
        parts.append(x.truncate(v[2], rest))
    return x.concatenated(parts)


def permute(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``prmt``: four bytes of eight, each or its sign."""
    both = x.concatenated(v[:2])
    parts: list[int] = []
    for place in range(4):
        if op.operation:
            parts.append(_byte_of_mode(x, both, op.operation, place, v[2]))
            continue
        control = x.masked(x.shift_right(v[2], x.constant(4 * place, 32), False), 15)
        moved = x.shift_right(both, x.scale(x.masked(control, 7), 8), False)
        byte = x.truncate(moved, 8)
        if 0 <= x.value(control) <= 7:
            parts.append(byte)
            continue
        sign = x.select(x.less(byte, x.constant(0, 8), True), x.constant(255, 8), x.constant(0, 8))
        parts.append(x.select(x.less(x.constant(7, 32), control, False), sign, byte))
    return x.concatenated(parts)


def _byte_of_mode(x: Expressions, both: int, mode: str, place: int, control: int) -> int:
    row = x.masked(control, 3)
    bytes = [x.extracted(both, 8 * sources[place], 8) for sources in PERMUTATIONS[mode]]
    out = bytes[3]
    for k in range(3):
        out = x.select(x.equal(row, x.constant(k, 32)), bytes[k], out)
    return out
