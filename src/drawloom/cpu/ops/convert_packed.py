"""``cvt`` to and from packed halves, ``tf32`` and pairs of floats of 4 to 8 bits (PTX ISA 9.0 section 9.7.9.21)."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops.common import bitcast, const, fconst, join, split
from drawloom.cpu.ops.halves import narrow, narrow_pattern, widen
from drawloom.ptx.isa import Opcode


class _Small:
    """A format of a few bits: ``largest`` finite number, what NaN becomes, and the bits in which one value is kept."""

    def __init__(self, exponent: int, fraction: int, largest: float, nan: int, kept: int = 8) -> None:
        self.fraction = fraction
        self.bias = (1 << exponent - 1) - 1
        self.sign_at = exponent + fraction
        self.largest = largest
        self.nan = nan
        self.kept = kept


#: e5m2 has the patterns of IEEE 754; the others use the top exponent for numbers, those below eight bits all of it.
_SMALL: Final[dict[str, _Small]] = {
    "e4m3x2": _Small(4, 3, 448.0, 0x7F), "e5m2x2": _Small(5, 2, 57344.0, 0x7F), "e2m1x2": _Small(2, 1, 6.0, 0x7, 4),
    "e2m3x2": _Small(2, 3, 7.5, 0x1F), "e3m2x2": _Small(3, 2, 28.0, 0x1F),
}  # fmt: skip
_LARGEST: Final[dict[str, float]] = {"f16x2": 65504.0, "bf16x2": 255.0 * 2.0**120}
#: The largest ``tf32`` number: 10 fraction bits and the exponent of ``f32``.
_LARGEST_TF32: Final = 2047.0 * 2.0**117


def convert_packed(e: Emitter, op: Opcode, args: list[Value]) -> Value:
    """The packed result; of two sources the first goes into the upper half."""
    target, source = op.types
    if target.name == "tf32":
        return _to_tf32(e, op, args[0])
    if target.name == "ue8m0x2":
        return _to_scales(e, op, args)
    if source.name == "ue8m0x2":
        low, high = split(e, args[0], "i8")
        return join(e, _from_scale(e, low), _from_scale(e, high), "i32")
    small = _SMALL.get(source.name)
    if small is not None:
        low, high = _parts(e, small, args[0])
        return join(e, _from_small(e, op, small, low), _from_small(e, op, small, high), "i32")
    small = _SMALL.get(target.name)
    if small is not None:
        if source.name == "f32":
            high, low = args[0], args[1]
        else:
            low, high = split(e, args[0], "i16")
            name = source.name.removesuffix("x2")
            low, high = widen(e, low, name), widen(e, high, name)
        first, second = _to_small(e, op, small, low), _to_small(e, op, small, high)
        if small.kept == 8:
            return join(e, first, second, "i16")
        return e.binary("or", first, e.binary("shl", second, const(second, small.kept)))
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


def _to_small(e: Emitter, op: Opcode, small: _Small, value: Value) -> Value:
    """An i8 pattern, to nearest, saturated to the largest finite number (``.satfinite`` is mandatory)."""
    # With the limit applied before rounding nothing can reach the patterns of infinity and NaN.
    clamped = _clamp(e, value, small.largest)
    if op.types[0].name == "e5m2x2":
        pattern = narrow_pattern(e, clamped, 2, 5, "rn")
    else:
        pattern = _to_numbers(e, small, clamped)
    if op.relu:
        negative = e.icmp("ne", e.binary("and", pattern, const(pattern, 1 << small.sign_at)), const(pattern, 0))
        pattern = e.select(negative, const(pattern, 0), pattern)
    pattern = e.select(e.fcmp("uno", value, value), const(pattern, small.nan), pattern)
    return e.cast("trunc", pattern, "i8")


def _to_numbers(e: Emitter, small: _Small, value: Value) -> Value:
    """The pattern in a format whose top exponent is one of numbers; the value is in its range."""
    bits = bitcast(e, value, "i32")
    magnitude = e.intrinsic("llvm.fabs", [value])
    # Normal numbers lose fraction bits, with ties to even, and the bias falls from 127.
    dropped = 23 - small.fraction
    raw = bitcast(e, magnitude, "i32")
    odd = e.binary("and", e.binary("lshr", raw, const(raw, dropped)), const(raw, 1))
    near = e.binary("add", e.binary("add", raw, const(raw, (1 << dropped - 1) - 1)), odd)
    rounded = e.binary("lshr", near, const(raw, dropped))
    normal = e.binary("sub", rounded, const(raw, 127 - small.bias << small.fraction))
    # Subnormal ones are multiples of 2**unit, the unit in the last place of floats from 2**(23 + unit) on.
    unit = 1 - small.bias - small.fraction
    shifted = bitcast(e, e.binary("fadd", magnitude, fconst(magnitude, 2.0 ** (23 + unit))), "i32")
    subnormal = e.binary("sub", shifted, const(raw, 127 + 23 + unit << 23))
    is_small = e.fcmp("olt", magnitude, fconst(magnitude, 2.0 ** (1 - small.bias)))
    sign = e.binary("and", e.binary("lshr", bits, const(bits, 31 - small.sign_at)), const(bits, 1 << small.sign_at))
    return e.binary("or", e.select(is_small, subnormal, normal), sign)


def _parts(e: Emitter, small: _Small, pair: Value) -> tuple[Value, Value]:
    """The low and the high one of two small floats, as i8."""
    if small.kept == 8:
        low, high = split(e, pair, "i8")
        return low, high
    return e.binary("and", pair, const(pair, (1 << small.kept) - 1)), e.binary("lshr", pair, const(pair, small.kept))


def _from_small(e: Emitter, op: Opcode, small: _Small, pattern: Value) -> Value:
    """The f16 pattern of a small float: exact, NaN to 0x7FFF."""
    wide = e.cast("zext", pattern, "i16")
    name = op.types[1].name
    if name == "e5m2x2":
        half = e.binary("shl", wide, const(wide, 8))
        is_nan = e.icmp("ugt", e.binary("and", half, const(half, 0x7FFF)), const(half, 0x7C00))
        half = e.select(is_nan, const(half, 0x7FFF), half)
    else:
        half = _from_numbers(e, small, wide)
    if name == "e4m3x2":
        is_nan = e.icmp("eq", e.binary("and", wide, const(wide, 0x7F)), const(wide, 0x7F))
        half = e.select(is_nan, const(half, 0x7FFF), half)
    return e.intrinsic("llvm.smax", [half, const(half, 0)]) if op.relu else half


def _from_numbers(e: Emitter, small: _Small, wide: Value) -> Value:
    """Rebias to 15; the subnormal magnitudes are normal halves."""
    magnitude = e.binary("and", wide, const(wide, (1 << small.sign_at) - 1))
    negative = e.binary("and", wide, const(wide, 1 << small.sign_at))
    sign = e.binary("shl", negative, const(wide, 15 - small.sign_at))
    moved = e.binary("shl", magnitude, const(wide, 10 - small.fraction))
    normal = e.binary("add", moved, const(wide, 15 - small.bias << 10))
    count = e.cast("uitofp", magnitude, "float")
    unit = 2.0 ** (1 - small.bias - small.fraction)
    subnormal = narrow(e, e.binary("fmul", count, fconst(count, unit)), "f16")
    is_small = e.icmp("ult", magnitude, const(wide, 1 << small.fraction))
    return e.binary("or", e.select(is_small, subnormal, normal), sign)


def _to_scales(e: Emitter, op: Opcode, args: list[Value]) -> Value:
    """Two powers of two, 2**(n - 127), without signs; 0xFF is NaN, and without ``.satfinite`` what is too large."""
    if op.types[1].name == "f32":
        high, low = bitcast(e, args[0], "i32"), bitcast(e, args[1], "i32")
    else:
        low = e.binary("shl", args[0], const(args[0], 16))
        high = args[0]
    parts: list[Value] = []
    for bits in (low, high):
        fraction, infinity = (1 << 23) - 1, 0xFF << 23
        if op.types[1].name != "f32":
            bits = e.binary("and", bits, const(bits, 0xFFFF0000))
        magnitude = e.binary("and", bits, const(bits, 0x7FFFFFFF))
        scale = e.binary("lshr", magnitude, const(bits, 23))
        if op.rounding == "rp":
            between = e.icmp("ne", e.binary("and", magnitude, const(bits, fraction)), const(bits, 0))
            between = e.binary("and", between, e.icmp("ugt", magnitude, const(bits, 1 << 22)))
            between = e.binary("and", between, e.icmp("ult", magnitude, const(bits, infinity)))
            scale = e.binary("add", scale, e.cast("zext", between, "i32"))
        if op.satfinite:
            number = e.icmp("ule", magnitude, const(bits, infinity))
            scale = e.select(number, e.intrinsic("llvm.umin", [scale, const(bits, 0xFE)]), scale)
        parts.append(e.cast("trunc", scale, "i8"))
    return join(e, parts[0], parts[1], "i16")


def _from_scale(e: Emitter, pattern: Value) -> Value:
    """The bf16 pattern of a power of two."""
    wide = e.cast("zext", pattern, "i16")
    half = e.select(e.icmp("eq", wide, const(wide, 0)), const(wide, 0x40), e.binary("shl", wide, const(wide, 7)))
    return e.select(e.icmp("eq", wide, const(wide, 0xFF)), const(wide, 0x7FFF), half)


def _clamp(e: Emitter, value: Value, largest: float) -> Value:
    below = e.select(e.fcmp("ogt", value, fconst(value, largest)), fconst(value, largest), value)
    return e.select(e.fcmp("olt", below, fconst(value, -largest)), fconst(value, -largest), below)
