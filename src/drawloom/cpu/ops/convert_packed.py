"""``cvt`` to and from packed halves, ``tf32`` and 8-bit float pairs (PTX ISA 9.0 section 9.7.9.21)."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops.common import bitcast, const, fconst, join, split
from drawloom.cpu.ops.halves import narrow, narrow_pattern, widen
from drawloom.ptx.isa import Opcode

#: The largest finite number of each 8-bit format; both write NaN as 0x7F.
_EIGHT_BITS: Final[dict[str, float]] = {"e4m3x2": 448.0, "e5m2x2": 57344.0}
_LARGEST: Final[dict[str, float]] = {"f16x2": 65504.0, "bf16x2": 255.0 * 2.0**120}
#: The largest ``tf32`` number: 10 fraction bits and the exponent of ``f32``.
_LARGEST_TF32: Final = 2047.0 * 2.0**117


def convert_packed(e: Emitter, op: Opcode, args: list[Value]) -> Value:
    """The packed result; of two sources the first goes into the upper half."""
    target, source = op.types
    if target.name == "tf32":
        return _to_tf32(e, op, args[0])
    if source.name in _EIGHT_BITS:
        low, high = split(e, args[0], "i8")
        return join(e, _from_eight(e, op, low), _from_eight(e, op, high), "i32")
    if target.name in _EIGHT_BITS:
        if source.name == "f32":
            return join(e, _to_eight(e, op, args[1]), _to_eight(e, op, args[0]), "i16")
        low, high = split(e, args[0], "i16")
        name = source.name.removesuffix("x2")
        return join(e, _to_eight(e, op, widen(e, low, name)), _to_eight(e, op, widen(e, high, name)), "i16")
    return join(e, _to_half(e, op, args[1]), _to_half(e, op, args[0]), "i32")


def _to_half(e: Emitter, op: Opcode, value: Value) -> Value:
    if op.satfinite:
        value = _clamp(e, value, _LARGEST[op.types[0].name])
    pattern = narrow(e, value, op.types[0].name.removesuffix("x2"), op.rounding)
    return e.intrinsic("llvm.smax", [pattern, const(pattern, 0)]) if op.relu else pattern


def _to_tf32(e: Emitter, op: Opcode, value: Value) -> Value:
    """A float whose low 13 fraction bits are 0, as its 32-bit pattern; NaN is 0x7FFFFFFF."""
    if op.satfinite:
        value = _clamp(e, value, _LARGEST_TF32)
    short = narrow_pattern(e, value, 10, 8, op.rounding)
    pattern = e.binary("shl", short, const(short, 13))
    if op.relu:
        pattern = e.intrinsic("llvm.smax", [pattern, const(pattern, 0)])
    return e.select(e.fcmp("uno", value, value), const(pattern, 0x7FFFFFFF), pattern)


def _to_eight(e: Emitter, op: Opcode, value: Value) -> Value:
    """An 8-bit pattern, to nearest, saturated to the largest finite number (``.satfinite`` is mandatory)."""
    # With the limit applied before rounding nothing can reach the patterns of infinity and NaN.
    clamped = _clamp(e, value, _EIGHT_BITS[op.types[0].name])
    pattern = _to_e4m3(e, clamped) if op.types[0].name == "e4m3x2" else narrow_pattern(e, clamped, 2, 5, "rn")
    if op.relu:
        negative = e.icmp("ne", e.binary("and", pattern, const(pattern, 0x80)), const(pattern, 0))
        pattern = e.select(negative, const(pattern, 0), pattern)
    pattern = e.select(e.fcmp("uno", value, value), const(pattern, 0x7F), pattern)
    return e.cast("trunc", pattern, "i8")


def _to_e4m3(e: Emitter, value: Value) -> Value:
    """e4m3 uses its top exponent for numbers, so it is no IEEE pattern; |value| is at most 448."""
    bits = bitcast(e, value, "i32")
    magnitude = e.intrinsic("llvm.fabs", [value])
    # Normal numbers: 20 fraction bits go, with ties to even; the exponent bias falls from 127 to 7.
    raw = bitcast(e, magnitude, "i32")
    odd = e.binary("and", e.binary("lshr", raw, const(raw, 20)), const(raw, 1))
    rounded = e.binary("lshr", e.binary("add", e.binary("add", raw, const(raw, (1 << 19) - 1)), odd), const(raw, 20))
    normal = e.binary("sub", rounded, const(raw, 120 << 3))
    # Subnormal numbers are multiples of 2**-9, the unit in the last place of floats in [2**14, 2**15).
    shifted = bitcast(e, e.binary("fadd", magnitude, fconst(magnitude, 2.0**14)), "i32")
    subnormal = e.binary("sub", shifted, const(raw, 141 << 23))
    small = e.fcmp("olt", magnitude, fconst(magnitude, 2.0**-6))
    sign = e.binary("and", e.binary("lshr", bits, const(bits, 24)), const(bits, 0x80))
    return e.binary("or", e.select(small, subnormal, normal), sign)


def _from_eight(e: Emitter, op: Opcode, pattern: Value) -> Value:
    """The f16 pattern of an 8-bit float: exact, NaN to 0x7FFF."""
    wide = e.cast("zext", pattern, "i16")
    if op.types[1].name == "e5m2x2":
        half = e.binary("shl", wide, const(wide, 8))
        magnitude = e.binary("and", half, const(half, 0x7FFF))
        is_nan = e.icmp("ugt", magnitude, const(half, 0x7C00))
    else:
        half = _from_e4m3(e, wide)
        is_nan = e.icmp("eq", e.binary("and", wide, const(wide, 0x7F)), const(wide, 0x7F))
    half = e.select(is_nan, const(half, 0x7FFF), half)
    return e.intrinsic("llvm.smax", [half, const(half, 0)]) if op.relu else half


def _from_e4m3(e: Emitter, wide: Value) -> Value:
    """Rebias by 8; the seven subnormal magnitudes k * 2**-9 are normal halves."""
    magnitude = e.binary("and", wide, const(wide, 0x7F))
    sign = e.binary("shl", e.binary("and", wide, const(wide, 0x80)), const(wide, 8))
    normal = e.binary("add", e.binary("shl", magnitude, const(wide, 7)), const(wide, 8 << 10))
    count = e.cast("uitofp", magnitude, "float")
    subnormal = narrow(e, e.binary("fmul", count, fconst(count, 2.0**-9)), "f16")
    small = e.icmp("ult", magnitude, const(wide, 8))
    return e.binary("or", e.select(small, subnormal, normal), sign)


def _clamp(e: Emitter, value: Value, largest: float) -> Value:
    below = e.select(e.fcmp("ogt", value, fconst(value, largest)), fconst(value, largest), value)
    return e.select(e.fcmp("olt", below, fconst(value, -largest)), fconst(value, -largest), below)
