"""``cvt`` between integers and ``f16 bf16 f32 f64`` (PTX ISA 9.0 section 9.7.9.21); packed forms are elsewhere.

Float to integer saturates; NaN gives 0, or the top bit alone when source or destination has 64 bits.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops.common import Emit, const, fconst
from drawloom.cpu.ops.convert_packed import convert_packed
from drawloom.cpu.ops.halves import narrow, widen
from drawloom.cpu.ops.rounding import convert, flush, saturate, to_integral
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import S32, Type

_TO_INTEGRAL: Final[dict[str, str]] = {
    "rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil",
}  # fmt: skip
_F16_ONE: Final = 0x3C00
_F16_INFINITY: Final = 0x7C00
_PACKED: Final = frozenset("f16x2 bf16x2 tf32 e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2".split())


def emit_cvt(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``cvt``: one value of the destination's width from one value of the source's (two for packed halves)."""
    target, source = op.types
    if target.name in _PACKED or source.name in _PACKED:
        return [convert_packed(e, op, args)]
    if not target.is_float:
        return [_to_integer(e, op, target, source, args[0])]
    if not source.is_float:
        return [_from_integer(e, op, target, source, args[0])]
    return [_float_to_float(e, op, target, source, args[0])]


def emit_cvt_pack(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``cvt.pack``: a and b saturated to 2 to 16 bits, a above b, above them the low bits of c (section 9.7.9.22)."""
    word = next(m for m in op.text.split(".") if m in _PACK_BITS)
    bits = _PACK_BITS[word]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if word[0] == "s" else (0, (1 << bits) - 1)
    fields: list[Value] = []
    for a in args[:2]:
        clamped = e.intrinsic("llvm.smax", [a, const(a, low)])
        clamped = e.intrinsic("llvm.smin", [clamped, const(a, high)])
        fields.append(e.binary("and", clamped, const(a, (1 << bits) - 1)))
    packed = e.binary("or", e.binary("shl", fields[0], const(fields[0], bits)), fields[1])
    if bits == 16:
        return [packed]
    return [e.binary("or", packed, e.binary("shl", args[2], const(args[2], 2 * bits)))]


_PACK_BITS: Final[dict[str, int]] = {"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}


def _to_integer(e: Emitter, op: Opcode, target: Type, source: Type, a: Value) -> Value:
    if source.is_float:
        return _float_to_integer(e, op, target, source, a)
    if op.sat:
        a = _clamp(e, a, target, source)
    elem = f"i{target.bits}"
    if target.bits < source.bits:
        return e.cast("trunc", a, elem)
    return e.cast("sext" if source.is_signed else "zext", a, elem)


def _clamp(e: Emitter, a: Value, target: Type, source: Type) -> Value:
    """``.sat``: limit an integer of ``source`` to the range of ``target``, still in the source's width."""
    bits = target.bits
    low = -(1 << bits - 1) if target.is_signed else 0
    high = (1 << (bits - 1 if target.is_signed else bits)) - 1
    if source.is_signed:
        if low > -(1 << source.bits - 1):
            a = e.intrinsic("llvm.smax", [a, const(a, low)])
        if high < (1 << source.bits - 1) - 1:
            a = e.intrinsic("llvm.smin", [a, const(a, high)])
    elif high < (1 << source.bits) - 1:
        a = e.intrinsic("llvm.umin", [a, const(a, high)])
    return a


def _float_to_integer(e: Emitter, op: Opcode, target: Type, source: Type, a: Value) -> Value:
    value = _as_number(e, op, source, a)
    if op.rounding != "rzi":
        value = to_integral(e, _TO_INTEGRAL[op.rounding], value)
    result = _saturating(e, value, target)
    if source.name == "f64" or target.bits == 64:
        result = e.select(e.fcmp("uno", value, value), const(result, 1 << (target.bits - 1)), result)
    return result


def _saturating(e: Emitter, value: Value, target: Type) -> Value:
    """A float without fraction, or truncated, as ``target``, clamped; NaN to 0.

    LLVM's own saturating conversion takes vectors apart, so the plain one is used and what it leaves open, frozen
    to some value, is selected away.
    """
    if target.bits < 32:
        wide = _saturating(e, value, S32)
        low = -(1 << target.bits - 1) if target.is_signed else 0
        high = (1 << (target.bits - 1 if target.is_signed else target.bits)) - 1
        wide = e.intrinsic("llvm.smax", [wide, const(wide, low)])
        wide = e.intrinsic("llvm.smin", [wide, const(wide, high)])
        return e.cast("trunc", wide, f"i{target.bits}")
    raw = e.cast("fptosi" if target.is_signed else "fptoui", value, f"i{target.bits}")
    result = e.value(raw.elem, raw.lanes, f"freeze {raw.typed}")
    if not target.is_signed:
        above = e.fcmp("oge", value, fconst(value, 2.0**target.bits))
        result = e.select(above, const(result, -1), result)
        # Below 1 everything is 0, and a NaN with it.
        return e.select(e.fcmp("ult", value, fconst(value, 1.0)), const(result, 0), result)
    limit = 2.0 ** (target.bits - 1)
    highest = (1 << target.bits - 1) - 1
    result = e.select(e.fcmp("oge", value, fconst(value, limit)), const(result, highest), result)
    result = e.select(e.fcmp("olt", value, fconst(value, -limit)), const(result, highest + 1), result)
    return e.select(e.fcmp("uno", value, value), const(result, 0), result)


def _from_integer(e: Emitter, op: Opcode, target: Type, source: Type, a: Value) -> Value:
    name = "sitofp" if source.is_signed else "uitofp"
    if target.name in ("f32", "f64"):
        elem = "float" if target.name == "f32" else "double"
        if op.rounding == "rn" or source.bits <= (16 if elem == "float" else 32):
            value = e.cast(name, a, elem)
        elif source.bits <= 32:
            value = convert(e, "fptrunc", e.cast(name, a, "double"), elem, op.rounding)
        else:
            # Where LLVM builds the conversion from a subtraction, rounding down would make zero negative.
            rounded = convert(e, name, a, elem, op.rounding)
            value = e.select(e.icmp("eq", a, const(a, 0)), fconst(rounded, 0.0), rounded)
        return saturate(e, value) if op.sat else value
    if source.bits <= 32:
        pattern = narrow(e, e.cast(name, a, "double"), target.name, op.rounding)
    else:
        pattern = narrow(e, _odd_double(e, a, source.is_signed), target.name, op.rounding)
    return _saturate_half(e, pattern) if op.sat else pattern


def _odd_double(e: Emitter, a: Value, signed: bool) -> Value:
    """A 64-bit integer as a double rounded to odd: its low bits are folded into one sticky bit first."""
    negative = e.icmp("slt", a, const(a, 0))
    magnitude = e.select(negative, e.binary("sub", const(a, 0), a), a) if signed else a
    low = e.icmp("ne", e.binary("and", magnitude, const(a, 0xFFF)), const(a, 0))
    sticky = e.binary("or", e.binary("and", magnitude, const(a, ~0xFFF)), e.select(low, const(a, 0x800), const(a, 0)))
    large = e.icmp("uge", magnitude, const(a, 1 << 53))
    value = e.cast("uitofp", e.select(large, sticky, magnitude), "double")
    return e.select(negative, e.fneg(value), value) if signed else value


def _float_to_float(e: Emitter, op: Opcode, target: Type, source: Type, a: Value) -> Value:
    value = _as_number(e, op, source, a)
    if op.rounding in _TO_INTEGRAL:
        value = to_integral(e, _TO_INTEGRAL[op.rounding], value)
    if target.name in ("f16", "bf16"):
        return _to_half(e, op, target, source, a, value)
    if target.name == "f32" and source.name == "f64":
        value = convert(e, "fptrunc", value, "float", op.rounding)
    elif target.name == "f64":
        value = e.cast("fpext", value, "double")
    if op.ftz and target.name == "f32":
        value = flush(e, value)
    return saturate(e, value) if op.sat else value


def _to_half(e: Emitter, op: Opcode, target: Type, source: Type, a: Value, value: Value) -> Value:
    same = target is source and op.rounding not in _TO_INTEGRAL
    mode = op.rounding if op.rounding in ("rz", "rm", "rp") else "rn"
    if op.satfinite:
        value = clamp_finite(e, value, LARGEST[target.name])
    pattern = a if same else narrow(e, value, target.name, mode)
    if op.relu:
        pattern = e.intrinsic("llvm.smax", [pattern, const(pattern, 0)])
    return _saturate_half(e, pattern) if op.sat else pattern


#: The largest finite numbers of the 16-bit formats.
LARGEST: Final[dict[str, float]] = {"f16": 65504.0, "bf16": 255.0 * 2.0**120}


def clamp_finite(e: Emitter, value: Value, largest: float) -> Value:
    """``.satfinite``: what is larger becomes the largest number; NaN stays."""
    below = e.select(e.fcmp("ogt", value, fconst(value, largest)), fconst(value, largest), value)
    return e.select(e.fcmp("olt", below, fconst(value, -largest)), fconst(value, -largest), below)


def _saturate_half(e: Emitter, pattern: Value) -> Value:
    """``.sat`` of an f16: as signed integers, patterns order like the numbers from 0 up."""
    low = e.intrinsic("llvm.smax", [pattern, const(pattern, 0)])
    clamped = e.intrinsic("llvm.smin", [low, const(pattern, _F16_ONE)])
    return e.select(e.icmp("sgt", pattern, const(pattern, _F16_INFINITY)), const(pattern, 0), clamped)


def _as_number(e: Emitter, op: Opcode, source: Type, a: Value) -> Value:
    """The source as ``float`` or ``double``; ``.ftz`` concerns single precision only."""
    if source.name in ("f16", "bf16"):
        return widen(e, a, source.name)
    return flush(e, a) if op.ftz and source.name == "f32" else a


EMIT_CONVERT: Final[dict[str, Emit]] = {"cvt": emit_cvt, "cvt.pack": emit_cvt_pack}
