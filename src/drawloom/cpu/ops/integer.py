"""Integer arithmetic and extended precision (PTX ISA 9.0 sections 9.7.1 and 9.7.2) as LLVM integer operations.

Everything wraps modulo two to the width unless ``.sat`` says otherwise; nothing here can trap.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, INT_ELEM, Emitter, Value, int_const
from drawloom.cpu.ops.common import Emit, const, extend, not_, overflow, per_half, smax, split
from drawloom.ptx.isa import Opcode


def emit_add(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``add`` of integers; ``.u16x2``/``.s16x2`` per half; ``.cc`` appends the carry-out."""
    assert op.type is not None
    if op.type.lanes == 2:
        return [per_half(e, _plain_add, op, args, "i16")]
    if op.sat:
        return [e.intrinsic("llvm.sadd.sat", args)]
    if op.writes_carry:
        return list(overflow(e, "llvm.uadd.with.overflow", args[0], args[1]))
    return [e.binary("add", args[0], args[1])]


def emit_sub(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``sub`` of integers; ``.cc`` appends the carry-out, 0 when the subtraction borrowed."""
    if op.sat:
        return [e.intrinsic("llvm.ssub.sat", args)]
    if op.writes_carry:
        result, borrow = overflow(e, "llvm.usub.with.overflow", args[0], args[1])
        return [result, not_(e, borrow)]
    return [e.binary("sub", args[0], args[1])]


def emit_addc(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``addc``: a + b + carry (the last argument, i1)."""
    return _with_carry(e, op, "llvm.uadd.with.overflow", args[0], args[1], args[2])


def emit_subc(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``subc``: a - (b + borrow), the borrow being the complement of the carry, as GPUs have it."""
    out = _with_carry(e, op, "llvm.usub.with.overflow", args[0], args[1], not_(e, args[2]))
    return [out[0], not_(e, out[1])] if op.writes_carry else out


def emit_mul(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``mul.lo``, ``mul.hi``, ``mul.wide`` of integers."""
    return [_product(e, op, args[0], args[1])]


def emit_mad(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``mad.lo``, ``mad.hi``, ``mad.wide``: the product plus ``args[2]``; ``.hi.sat`` clamps the signed sum."""
    product = _product(e, op, args[0], args[1])
    if op.sat:
        return [e.intrinsic("llvm.sadd.sat", [product, args[2]])]
    if op.writes_carry:
        return list(overflow(e, "llvm.uadd.with.overflow", product, args[2]))
    return [e.binary("add", product, args[2])]


def emit_madc(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``madc``: the low or high product plus ``args[2]`` plus carry."""
    product = _product(e, op, args[0], args[1])
    return _with_carry(e, op, "llvm.uadd.with.overflow", product, args[2], args[3])


def emit_mul24(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``mul24``: the low 32 bits, or bits 47..16, of the product of the low 24 bits (section 9.7.1.7)."""
    return [_product24(e, op, args[0], args[1])]


def emit_mad24(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``mad24``: ``mul24`` plus ``args[2]``."""
    product = _product24(e, op, args[0], args[1])
    if op.sat:
        return [e.intrinsic("llvm.sadd.sat", [product, args[2]])]
    return [e.binary("add", product, args[2])]


def emit_sad(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``sad``: c + |a - b|, the difference taken without overflow (section 9.7.1.9)."""
    assert op.type is not None
    a, b, c = args
    below = e.icmp("slt" if op.type.is_signed else "ult", a, b)
    difference = e.select(below, e.binary("sub", b, a), e.binary("sub", a, b))
    return [e.binary("add", c, difference)]


def emit_abs(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``abs`` of a signed integer; the smallest one is its own absolute value."""
    return [absolute(e, args[0])]


def emit_neg(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.binary("sub", const(args[0], 0), args[0])]


def emit_min(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``min`` of integers; ``.relu`` clamps negative results to 0."""
    return _extremum(e, op, args, "min")


def emit_max(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``max`` of integers; ``.relu`` clamps negative results to 0."""
    return _extremum(e, op, args, "max")


def emit_dp4a(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``dp4a``: c plus the four byte products, each byte extended by its operand's own type."""
    a, b, c = args
    total = c
    for byte in range(4):
        x = lane(e, a, 8, byte, op.types[0].is_signed)
        y = lane(e, b, 8, byte, op.types[1].is_signed)
        total = e.binary("add", total, e.binary("mul", x, y))
    return [total]


def emit_dp2a(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``dp2a``: c plus two products of a's 16-bit halves with the low or high two bytes of b."""
    a, b, c = args
    first = 2 if op.half == "hi" else 0
    total = c
    for i in range(2):
        x = lane(e, a, 16, i, op.types[0].is_signed)
        y = lane(e, b, 8, first + i, op.types[1].is_signed)
        total = e.binary("add", total, e.binary("mul", x, y))
    return [total]


def _plain_add(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.binary("add", args[0], args[1])]


def _with_carry(e: Emitter, op: Opcode, name: str, a: Value, b: Value, carry: Value) -> list[Value]:
    """a ± b ± carry; the two partial overflows cannot both happen, so their union is the carry-out."""
    instruction = "add" if name == "llvm.uadd.with.overflow" else "sub"
    wide_carry = e.cast("zext", carry, a.elem)
    if not op.writes_carry:
        return [e.binary(instruction, e.binary(instruction, a, b), wide_carry)]
    partial, first = overflow(e, name, a, b)
    result, second = overflow(e, name, partial, wide_carry)
    return [result, e.binary("or", first, second)]


def _product(e: Emitter, op: Opcode, a: Value, b: Value) -> Value:
    assert op.type is not None
    if op.half == "lo":
        return e.binary("mul", a, b)
    wide = INT_ELEM[2 * op.type.bits]
    full = e.binary("mul", extend(e, a, wide, op.type.is_signed), extend(e, b, wide, op.type.is_signed))
    return full if op.half == "wide" else split(e, full, a.elem)[1]


def _product24(e: Emitter, op: Opcode, a: Value, b: Value) -> Value:
    assert op.type is not None
    signed = op.type.is_signed
    shift = "ashr" if signed else "lshr"
    x = e.binary(shift, e.binary("shl", a, const(a, 8)), const(a, 8))
    y = e.binary(shift, e.binary("shl", b, const(b, 8)), const(b, 8))
    if op.half == "lo":
        return e.binary("mul", x, y)
    full = e.binary("mul", extend(e, x, "i64", signed), extend(e, y, "i64", signed))
    return e.cast("trunc", e.binary("lshr", full, const(full, 16)), "i32")


def absolute(e: Emitter, a: Value) -> Value:
    """|a|; the smallest number stays as it is."""
    return e.call(f"llvm.abs.{_suffix(a)}", a.elem, a.lanes, [a, int_const("i1", 0)])


def _suffix(a: Value) -> str:
    return f"v{a.lanes}{a.elem}" if a.lanes else a.elem


def _extremum(e: Emitter, op: Opcode, args: list[Value], which: str) -> list[Value]:
    assert op.type is not None
    if op.type.lanes == 2:
        return [per_half(e, _half_min if which == "min" else _half_max, op, args, "i16")]
    return [_extremum_of(e, op, args, which)]


def _half_min(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [_extremum_of(e, op, args, "min")]


def _half_max(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [_extremum_of(e, op, args, "max")]


def _extremum_of(e: Emitter, op: Opcode, args: list[Value], which: str) -> Value:
    assert op.type is not None
    result = e.intrinsic(f"llvm.{'s' if op.type.is_signed else 'u'}{which}", args)
    return smax(e, result, const(result, 0)) if op.relu else result


def lane(e: Emitter, a: Value, bits: int, index: int, signed: bool) -> Value:
    """Field ``index`` of ``bits`` bits of an i32, extended to i32."""
    top = ELEM_BITS[a.elem] - bits
    left = e.binary("shl", a, const(a, top - bits * index)) if top != bits * index else a
    return e.binary("ashr" if signed else "lshr", left, const(a, top))


EMIT_INTEGER: Final[dict[str, Emit]] = {
    "addc": emit_addc, "subc": emit_subc, "madc": emit_madc, "mul24": emit_mul24, "mad24": emit_mad24,
    "sad": emit_sad, "dp4a": emit_dp4a, "dp2a": emit_dp2a,
}  # fmt: skip
