"""16-bit floats as integers: ``f16`` and ``bf16`` patterns to ``float`` values and back, every rounding exact once.

Targets with F16C convert halves in hardware; elsewhere, and for ``bf16`` and directed roundings, the conversion is
integer arithmetic on the pattern of the wider format.
"""

from __future__ import annotations

from drawloom.cpu.emitter import Emitter, Value, float_const
from drawloom.cpu.ops.common import bitcast, const, not_


def widen(e: Emitter, bits: Value, name: str) -> Value:
    """The exact ``float`` value of an i16 pattern of ``"f16"`` or ``"bf16"``."""
    if name == "bf16":
        wide = e.cast("zext", bits, "i32")
        return bitcast(e, e.binary("shl", wide, const(wide, 16)), "float")
    if "f16c" in e.features or "avx512f" in e.features:
        return e.cast("fpext", bitcast(e, bits, "half"), "float")
    return _widen_half(e, bits)


def narrow(e: Emitter, value: Value, name: str, mode: str = "rn") -> Value:
    """The i16 pattern of ``"f16"`` or ``"bf16"`` nearest to a ``float`` or ``double`` in direction ``mode``.

    NaN becomes the canonical 0x7FFF.
    """
    if name == "f16" and mode == "rn" and ("f16c" in e.features or "avx512f" in e.features):
        single = to_odd_float(e, value) if value.elem == "double" else value
        pattern = bitcast(e, e.cast("fptrunc", single, "half"), "i16")
        # Asking the half and not the float lets LLVM keep the whole computation in halves where it can.
        is_nan = e.icmp("ugt", e.binary("and", pattern, const(pattern, 0x7FFF)), const(pattern, 0x7C00))
        return e.select(is_nan, const(pattern, 0x7FFF), pattern)
    fraction, exponent_bits = (10, 5) if name == "f16" else (7, 8)
    pattern = e.cast("trunc", narrow_pattern(e, value, fraction, exponent_bits, mode), "i16")
    return e.select(e.fcmp("uno", value, value), const(pattern, 0x7FFF), pattern)


def narrow_pattern(e: Emitter, value: Value, fraction: int, exponent_bits: int, mode: str) -> Value:
    """The IEEE-style pattern with ``fraction`` and ``exponent_bits`` bits of a number (not NaN), as an integer as
    wide as ``value``; what is too large becomes infinity or the largest number as ``mode`` (rn rna rz rm rp) says."""
    double = value.elem == "double"
    elem, source_fraction, source_bias = ("i64", 52, 1023) if double else ("i32", 23, 127)
    total = 64 if double else 32
    bias = (1 << (exponent_bits - 1)) - 1
    bits = bitcast(e, value, elem)
    magnitude = e.binary("and", bits, const(bits, (1 << (total - 1)) - 1))
    negative = e.icmp("slt", bits, const(bits, 0))
    exponent = e.binary("lshr", magnitude, const(bits, source_fraction))
    # Normal results drop a fixed number of bits; below the smallest normal one more for each binade.
    lowest_normal = source_bias - bias + 1
    subnormal = e.icmp("ult", exponent, const(bits, lowest_normal))
    fraction_mask = (1 << source_fraction) - 1
    hidden = e.icmp("ne", exponent, const(bits, 0))
    significand = e.binary("or", e.binary("and", magnitude, const(bits, fraction_mask)),
                           e.select(hidden, const(bits, fraction_mask + 1), const(bits, 0)))  # fmt: skip
    shift = source_fraction - fraction
    below = e.binary("sub", const(bits, lowest_normal), e.intrinsic("llvm.umax", [exponent, const(bits, 1)]))
    below = e.intrinsic("llvm.umin", [below, const(bits, source_fraction + 2 - shift)])
    amount = e.binary("add", below, const(bits, shift))
    amount = e.select(subnormal, amount, const(bits, shift))
    rebased = e.binary("sub", magnitude, const(bits, (lowest_normal - 1) << source_fraction))
    unrounded = e.select(subnormal, significand, rebased)
    rounded = shift_rounding(e, unrounded, amount, negative, mode)
    infinity = ((1 << exponent_bits) - 1) << fraction
    limit = const(bits, infinity)
    if mode == "rz":
        limit = const(bits, infinity - 1)
    elif mode == "rm":
        limit = e.select(negative, const(bits, infinity), const(bits, infinity - 1))
    elif mode == "rp":
        limit = e.select(negative, const(bits, infinity - 1), const(bits, infinity))
    clamped = e.intrinsic("llvm.umin", [rounded, limit])
    infinite = e.icmp("eq", magnitude, const(bits, ((1 << (total - 1 - source_fraction)) - 1) << source_fraction))
    clamped = e.select(infinite, const(bits, infinity), clamped)
    sign = e.select(negative, const(bits, 1 << (fraction + exponent_bits)), const(bits, 0))
    return e.binary("or", clamped, sign)


def shift_rounding(e: Emitter, a: Value, amount: Value, negative: Value, mode: str) -> Value:
    """The magnitude ``a >> amount`` (0 < amount < width - 1), rounded as ``mode`` says for a number of that sign."""
    one = const(a, 1)
    unit = e.binary("shl", one, amount)
    if mode == "rz":
        return e.binary("lshr", a, amount)
    if mode in ("rm", "rp"):
        away = negative if mode == "rm" else not_(e, negative)
        addend = e.select(away, e.binary("sub", unit, one), const(a, 0))
        return e.binary("lshr", e.binary("add", a, addend), amount)
    half = e.binary("lshr", unit, one)
    if mode == "rna":
        return e.binary("lshr", e.binary("add", a, half), amount)
    odd = e.binary("and", e.binary("lshr", a, amount), one)
    addend = e.binary("add", e.binary("sub", half, one), odd)
    return e.binary("lshr", e.binary("add", a, addend), amount)


def to_odd_float(e: Emitter, value: Value) -> Value:
    """A double rounded to odd in the normal range of ``float``: rounding on to a half is then the only rounding."""
    bits = bitcast(e, value, "i64")
    dropped = (1 << 29) - 1
    inexact = e.icmp("ne", e.binary("and", bits, const(bits, dropped)), const(bits, 0))
    kept = e.binary("and", bits, const(bits, ~dropped))
    odd = e.select(inexact, e.binary("or", kept, const(bits, dropped + 1)), kept)
    return e.cast("fptrunc", bitcast(e, odd, "double"), "float")


def _widen_half(e: Emitter, bits: Value) -> Value:
    """Shift exponent and fraction into place, then correct the bias by an exact multiplication."""
    wide = e.cast("zext", bits, "i32")
    magnitude = e.binary("shl", e.binary("and", wide, const(wide, 0x7FFF)), const(wide, 13))
    scale = float_const("float", 2.0**112, bits.lanes)
    scaled = bitcast(e, e.binary("fmul", bitcast(e, magnitude, "float"), scale), "i32")
    special = e.icmp("uge", magnitude, const(wide, 0x7C00 << 13))
    finite_or_not = e.select(special, e.binary("or", magnitude, const(wide, 0x7F800000)), scaled)
    sign = e.binary("shl", e.binary("and", wide, const(wide, 0x8000)), const(wide, 16))
    return bitcast(e, e.binary("or", finite_or_not, sign), "float")
