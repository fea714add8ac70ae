"""Integer, logic and shift instructions on bit patterns (PTX ISA 9.0 sections 9.7.1, 9.7.2 and 9.7.8).

A value is the unsigned number that its bits spell; ``signed`` reads it as two's complement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.permutations import PERMUTATIONS
from drawloom.ptx.types import Type
from drawloom.reference.floats import Semantics, per_lane

MASK32: Final = 0xFFFFFFFF


def signed(value: int, bits: int) -> int:
    """The two's complement reading of a ``bits`` wide pattern."""
    half = 1 << (bits - 1)
    return (value ^ half) - half


def clamp(value: int, bits: int, is_signed: bool) -> int:
    """The pattern of the nearest number that ``bits`` bits can hold."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return (low if value < low else high if value > high else value) & (1 << bits) - 1


def reader(type: Type) -> Callable[[int], int]:
    """Patterns of ``type`` to numbers."""
    if type.is_signed:
        half = 1 << (type.bits // type.lanes - 1)
        return lambda v: (v ^ half) - half
    # Adding zero refuses an undefined value as every arithmetic does.
    return lambda v: v + 0


def _shape(op: Opcode) -> tuple[int, int, Callable[[int], int]]:
    """``(bits, mask, reader)`` of one lane of the instruction type."""
    assert op.type is not None
    bits = op.type.bits // op.type.lanes
    return bits, (1 << bits) - 1, reader(op.type)


def _add_sub(op: Opcode) -> Semantics:
    bits, mask, number = _shape(op)
    assert op.type is not None
    minus = op.name == "sub"
    if op.sat:
        if minus:
            return lambda a, b: clamp(number(a) - number(b), bits, True)
        return lambda a, b: clamp(number(a) + number(b), bits, True)
    if minus:
        return per_lane(op.type, lambda a, b: (a - b) & mask)
    return per_lane(op.type, lambda a, b: (a + b) & mask)


def _mul(op: Opcode) -> Semantics:
    bits, mask, number = _shape(op)
    if op.half == "lo":
        return lambda a, b: a * b & mask
    if op.half == "hi":
        return lambda a, b: number(a) * number(b) >> bits & mask
    wide = (1 << 2 * bits) - 1
    return lambda a, b: number(a) * number(b) & wide


def _mad(op: Opcode) -> Semantics:
    bits, mask, number = _shape(op)
    if op.half == "lo":
        return lambda a, b, c: a * b + c & mask
    if op.half == "wide":
        wide = (1 << 2 * bits) - 1
        return lambda a, b, c: number(a) * number(b) + c & wide
    if op.sat:
        return lambda a, b, c: clamp((number(a) * number(b) >> bits) + number(c), bits, True)
    return lambda a, b, c: (number(a) * number(b) >> bits) + c & mask


def _product24(op: Opcode) -> Semantics:
    """Bits 31..0 (``.lo``) or 47..16 (``.hi``) of the product of the low 24 bits, as a number."""
    assert op.type is not None
    is_signed = op.type.is_signed
    shift = 16 if op.half == "hi" else 0

    def product(a: int, b: int) -> int:
        a, b = a & 0xFFFFFF, b & 0xFFFFFF
        if is_signed:
            a, b = signed(a, 24), signed(b, 24)
        return a * b >> shift

    return product


def _mul24(op: Opcode) -> Semantics:
    product = _product24(op)
    return lambda a, b: product(a, b) & MASK32


def _mad24(op: Opcode) -> Semantics:
    product = _product24(op)
    if op.sat:
        return lambda a, b, c: clamp(product(a, b) + signed(c, 32), 32, True)
    return lambda a, b, c: product(a, b) + c & MASK32


def _sad(op: Opcode) -> Semantics:
    _, mask, number = _shape(op)
    return lambda a, b, c: abs(number(a) - number(b)) + c & mask


def _div(op: Opcode) -> Semantics:
    """Truncates; by zero the manual leaves the result open, the hardware gives all ones."""
    _, mask, number = _shape(op)

    def div(a: int, b: int) -> int:
        x, y = number(a), number(b)
        if y == 0:
            return mask
        quotient = abs(x) // abs(y)
        return (quotient if (x < 0) == (y < 0) else -quotient) & mask

    return div


def _rem(op: Opcode) -> Semantics:
    """Has the sign of the dividend; by zero the manual leaves it open, here it is the dividend."""
    _, mask, number = _shape(op)

    def rem(a: int, b: int) -> int:
        x, y = number(a), number(b)
        if y == 0:
            return a
        remainder = abs(x) % abs(y)
        return (-remainder if x < 0 else remainder) & mask

    return rem


def _abs(op: Opcode) -> Semantics:
    _, mask, number = _shape(op)
    return lambda a: abs(number(a)) & mask


def _neg(op: Opcode) -> Semantics:
    _, mask, _ = _shape(op)
    return lambda a: -a & mask


def _min_max(op: Opcode) -> Semantics:
    _, _, number = _shape(op)
    assert op.type is not None
    smaller = op.name == "min"
    floor_at_zero = op.relu

    def select(a: int, b: int) -> int:
        out = a if (number(a) < number(b)) == smaller else b
        return 0 if floor_at_zero and number(out) < 0 else out

    return per_lane(op.type, select)


def _popc(op: Opcode) -> Semantics:
    return lambda a: (a + 0).bit_count()


def _clz(op: Opcode) -> Semantics:
    bits, _, _ = _shape(op)
    return lambda a: bits - (a + 0).bit_length()


def _bfind(op: Opcode) -> Semantics:
    bits, mask, number = _shape(op)
    shift_amount = op.has("shiftamt")

    def bfind(a: int) -> int:
        found = (a if number(a) >= 0 else ~a & mask).bit_length() - 1
        if found < 0:
            return MASK32
        return bits - 1 - found if shift_amount else found

    return bfind


def _fns(op: Opcode) -> Semantics:
    def fns(mask: int, base: int, offset: int) -> int:
        steps = signed(offset, 32)
        if steps == 0:
            return base if mask >> base & 1 else MASK32
        count = abs(steps) - 1
        position = base
        while 0 <= position < 32:
            if mask >> position & 1:
                if count == 0:
                    return position
                count -= 1
            position += 1 if steps > 0 else -1
        return MASK32

    return fns


def _brev(op: Opcode) -> Semantics:
    bits, _, _ = _shape(op)
    return lambda a: int(f"{a + 0:0{bits}b}"[::-1], 2)


def _bfe(op: Opcode) -> Semantics:
    bits, mask, _ = _shape(op)
    assert op.type is not None
    is_signed = op.type.is_signed

    def bfe(a: int, b: int, c: int) -> int:
        position, length = b & 0xFF, c & 0xFF
        field = a >> position & (1 << length) - 1
        if is_signed and length and a >> min(position + length - 1, bits - 1) & 1:
            # The field holds what is left of `a` above `position`; ones fill everything beyond it.
            field |= ~((1 << min(length, max(bits - position, 0))) - 1)
        return field & mask

    return bfe


def _bfi(op: Opcode) -> Semantics:
    _, mask, _ = _shape(op)

    def bfi(a: int, b: int, c: int, d: int) -> int:
        field = ((1 << (d & 0xFF)) - 1 << (c & 0xFF)) & mask
        return a << (c & 0xFF) & field | b & ~field

    return bfi


def _szext(op: Opcode) -> Semantics:
    assert op.type is not None
    is_signed = op.type.is_signed
    clamps = op.has("clamp")

    def szext(a: int, b: int) -> int:
        if b >= 32 and clamps:
            return a + 0
        width = b & 31
        low = a & (1 << width) - 1
        if is_signed and width and low >> (width - 1):
            return low | MASK32 << width & MASK32
        return low

    return szext


def _bmsk(op: Opcode) -> Semantics:
    clamps = op.has("clamp")

    def bmsk(a: int, b: int) -> int:
        position, width = a & 31, b & 31
        if clamps and a >= 32:
            return 0
        from_position = MASK32 << position & MASK32
        if position + width >= 32 or (clamps and b >= 32):
            return from_position
        if width == 0:
            return 0
        return from_position & ~(MASK32 << position + width)

    return bmsk


def _bytes_of(value: int, count: int, width: int, is_signed: bool) -> list[int]:
    mask = (1 << width) - 1
    fields = [value >> width * i & mask for i in range(count)]
    return [signed(f, width) for f in fields] if is_signed else fields


def _dp4a(op: Opcode) -> Semantics:
    a_signed, b_signed = op.types[0].is_signed, op.types[1].is_signed

    def dp4a(a: int, b: int, c: int) -> int:
        terms = zip(_bytes_of(a, 4, 8, a_signed), _bytes_of(b, 4, 8, b_signed), strict=True)
        return c + sum([x * y for x, y in terms]) & MASK32

    return dp4a


def _dp2a(op: Opcode) -> Semantics:
    a_signed, b_signed = op.types[0].is_signed, op.types[1].is_signed
    first = 2 if op.half == "hi" else 0

    def dp2a(a: int, b: int, c: int) -> int:
        halves = _bytes_of(a, 2, 16, a_signed)
        chosen = _bytes_of(b, 4, 8, b_signed)[first : first + 2]
        return c + halves[0] * chosen[0] + halves[1] * chosen[1] & MASK32

    return dp2a


def _and(op: Opcode) -> Semantics:
    return lambda a, b: a & b


def _or(op: Opcode) -> Semantics:
    return lambda a, b: a | b


def _xor(op: Opcode) -> Semantics:
    return lambda a, b: a ^ b


def _not(op: Opcode) -> Semantics:
    assert op.type is not None
    mask = (1 << op.type.bits) - 1
    return lambda a: a ^ mask


def _cnot(op: Opcode) -> Semantics:
    return lambda a: 1 if a + 0 == 0 else 0


def lop3(a: int, b: int, c: int, table: int) -> int:
    """Bit i of the result is bit ``4*a[i] + 2*b[i] + c[i]`` of ``table`` (section 9.7.8.6)."""
    out = 0 & (a | b | c)
    for index in range(8):
        if table >> index & 1:
            out |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return out & MASK32


def _lop3(op: Opcode) -> Semantics:
    return lop3


def _shf(op: Opcode) -> Semantics:
    left = op.has("l")
    clamps = op.has("clamp")

    def shf(a: int, b: int, c: int) -> int:
        n = min(c, 32) if clamps else c & 31
        both = b << 32 | a
        return (both << n >> 32 if left else both >> n) & MASK32

    return shf


def _shl(op: Opcode) -> Semantics:
    bits, mask, _ = _shape(op)
    return lambda a, b: a << min(b, bits) & mask


def _shr(op: Opcode) -> Semantics:
    bits, mask, number = _shape(op)
    return lambda a, b: number(a) >> min(b, bits) & mask


def _prmt(op: Opcode) -> Semantics:
    if op.operation:
        rows = PERMUTATIONS[op.operation]

        def prmt_mode(a: int, b: int, c: int) -> int:
            both = b << 32 | a
            return sum([(both >> 8 * source & 0xFF) << 8 * i for i, source in enumerate(rows[c & 3])])

        return prmt_mode

    def prmt(a: int, b: int, c: int) -> int:
        both = b << 32 | a
        out = 0
        for i in range(4):
            control = c >> 4 * i & 0xF
            byte = both >> 8 * (control & 7) & 0xFF
            if control & 8:
                byte = 0xFF if byte & 0x80 else 0
            out |= byte << 8 * i
        return out

    return prmt


INTEGER_OPERATIONS: Final[dict[str, Callable[[Opcode], Semantics]]] = {
    "add": _add_sub, "sub": _add_sub, "mul": _mul, "mad": _mad, "mul24": _mul24, "mad24": _mad24, "sad": _sad,
    "div": _div, "rem": _rem, "abs": _abs, "neg": _neg, "min": _min_max, "max": _min_max, "popc": _popc, "clz": _clz,
    "bfind": _bfind, "fns": _fns, "brev": _brev, "bfe": _bfe, "bfi": _bfi, "szext": _szext, "bmsk": _bmsk,
    "dp4a": _dp4a, "dp2a": _dp2a, "and": _and, "or": _or, "xor": _xor, "not": _not, "cnot": _cnot, "lop3": _lop3,
    "shf": _shf, "shl": _shl, "shr": _shr, "prmt": _prmt,
}  # fmt: skip

#: ``(result, carry out)`` of operands and a carry in (section 9.7.2); of ``sub`` the carry is 'no borrow'.
CarrySemantics = Callable[..., tuple[int, int]]


def carry_operation(op: Opcode) -> CarrySemantics:
    """``add.cc addc sub.cc subc mad.cc madc``: a function of the operands and, last, the carry in."""
    bits, mask, number = _shape(op)
    if op.name in ("add", "addc"):
        return lambda a, b, carry: ((total := a + b + carry) & mask, total >> bits)
    # Of subtractions the carry is that of a + ~b + 1, as on GPUs, so that chains may mix them with additions.
    if op.name == "sub":
        return lambda a, b, carry: ((total := a + (b ^ mask) + 1) & mask, total >> bits)
    if op.name == "subc":
        return lambda a, b, carry: ((total := a + (b ^ mask) + carry) & mask, total >> bits)
    if op.half == "lo":
        return lambda a, b, c, carry: ((total := (a * b & mask) + c + carry) & mask, total >> bits)
    return lambda a, b, c, carry: (
        (total := (number(a) * number(b) >> bits & mask) + c + carry) & mask,
        total >> bits,
    )
