"""``cvt`` and ``cvt.pack`` (PTX ISA 9.0 sections 9.7.9.21 and 9.7.9.22) on bit patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import UE8M0X2, Type
from drawloom.reference.floats import Semantics, relu, saturate
from drawloom.reference.formats import BF16, F32, RM, RN, RP, RZ, TF32, Format, format_of
from drawloom.reference.integers import clamp, reader, signed

_TO_INTEGER: Final[dict[str, str]] = {"rni": RN, "rzi": RZ, "rmi": RM, "rpi": RP}


def convert(op: Opcode) -> Semantics:
    """A function from the source pattern(s) of a ``cvt`` to the pattern of its destination type."""
    destination, source = op.types[0], op.types[1]
    if destination is UE8M0X2:
        return _to_scales(op, source)
    if source is UE8M0X2:
        return lambda a: _scale(a >> 8 & 0xFF) << 16 | _scale(a & 0xFF)
    if destination.lanes == 2 or source.lanes == 2:
        return _packed(op, destination, source)
    if not source.is_float:
        return _from_integer(op, destination, source)
    if not destination.is_float:
        return _float_to_integer(op, destination, source)
    return _float_to_float(op, format_of(destination), format_of(source))


def _from_integer(op: Opcode, destination: Type, source: Type) -> Semantics:
    number = reader(source)
    if destination.is_float:
        f = format_of(destination)
        mode = op.rounding or RN

        def to_float(a: int) -> int:
            value = number(a)
            out = f.round(1 if value < 0 else 0, abs(value), 0, mode)
            return saturate(f, out) if op.sat else out

        return to_float
    bits = destination.bits
    if op.sat:
        return lambda a: clamp(number(a), bits, destination.is_signed)
    mask = (1 << bits) - 1
    return lambda a: number(a) & mask


def round_to_integer(f: Format, pattern: int, mode: str) -> int:
    """The integer that a finite pattern rounds to."""
    sign, significand, exponent = f.unpack(pattern)
    if exponent >= 0:
        magnitude = significand << exponent
    else:
        magnitude = significand >> -exponent
        rest = significand & (1 << -exponent) - 1
        half = 1 << -exponent - 1
        up = rest and mode == (RM if sign else RP)
        nearest = mode == RN and (rest > half or (rest == half and magnitude & 1))
        magnitude += 1 if up or nearest else 0
    return -magnitude if sign else magnitude


def _float_to_integer(op: Opcode, destination: Type, source: Type) -> Semantics:
    """Out of range goes to the nearest end of the range, with and without ``.sat``. NaN gives 0 where the source
    is no f64 and the destination no 64-bit integer, else only the top bit of the destination is set."""
    f = format_of(source)
    mode = _TO_INTEGER[op.rounding]
    bits, is_signed = destination.bits, destination.is_signed
    lowest, highest = clamp(-(1 << 70), bits, is_signed), clamp(1 << 70, bits, is_signed)
    of_nan = 1 << bits - 1 if source.bits == 64 or bits == 64 else 0

    def to_integer(a: int) -> int:
        if op.ftz:
            a = f.flush(a)
        if not f.is_finite(a):
            if f.is_nan(a):
                return of_nan
            return lowest if a & f.sign_bit else highest
        return clamp(round_to_integer(f, a, mode), bits, is_signed)

    return to_integer


def reformat(to: Format, source: Format, pattern: int, mode: str, satfinite: bool = False) -> int:
    """The pattern in ``to`` of a pattern in ``source``, rounded once; NaN becomes the canonical NaN.

    ``satfinite`` turns what is too large, infinities too, into the largest finite number.
    """
    if source.is_nan(pattern):
        return to.nan
    sign = 1 if pattern & source.sign_bit else 0
    if not source.is_finite(pattern):
        out = (to.sign_bit if sign else 0) | to.beyond
    else:
        out = to.round(*source.unpack(pattern), mode)
    if satfinite and not to.is_finite(out):
        return out & to.sign_bit | to.largest
    return out


def _float_to_float(op: Opcode, to: Format, source: Format) -> Semantics:
    shift = 13 if to is TF32 else 0
    to_integral = _TO_INTEGER.get(op.rounding, "")
    mode = op.rounding or RN
    # `.ftz` is about single precision.
    flush_input = op.ftz and source is F32
    flush_result = op.ftz and to is F32

    def compute(a: int) -> int:
        if flush_input:
            a = source.flush(a)
        if to_integral and source.is_finite(a):
            value = round_to_integer(source, a, to_integral)
            out = to.round(1 if a & source.sign_bit else 0, abs(value), 0, RN)
        else:
            out = reformat(to, source, a, RN if to_integral else mode, op.satfinite)
        if flush_result:
            out = to.flush(out)
        if op.sat:
            out = saturate(to, out)
        if op.relu:
            out = relu(to, out)
        return out << shift

    return compute


def _packed(op: Opcode, destination: Type, source: Type) -> Semantics:
    """To or from two lanes; the first of two sources fills the upper lane."""
    to, f = format_of(destination), format_of(source)
    width = destination.bits // destination.lanes
    source_width = source.bits // source.lanes
    mask = (1 << source_width) - 1
    mode = op.rounding or RN

    def one(a: int) -> int:
        out = reformat(to, f, a, mode, op.satfinite)
        return relu(to, out) if op.relu else out

    if source.lanes == 2:
        return lambda a: one(a >> source_width & mask) << width | one(a & mask)
    return lambda a, b: one(a) << width | one(b)


def _to_scales(op: Opcode, source: Type) -> Semantics:
    """To two powers of two, 2**(n - 127), without signs; 0xFF is NaN, and where ``.satfinite`` is not written what is
    too large, too."""
    shift = F32.bits - source.bits // source.lanes
    up = op.rounding == RP

    def one(a: int) -> int:
        magnitude = a << shift & F32.magnitude_mask
        out = magnitude >> F32.fraction_bits
        if up and magnitude & F32.fraction_mask and F32.hidden >> 1 < magnitude < F32.infinity:
            out += 1  # what is at most 2**-127 is that
        return 0xFE if op.satfinite and out == 0xFF and magnitude <= F32.infinity else out

    if source.lanes == 2:
        return lambda a: one(a >> 16 & 0xFFFF) << 8 | one(a & 0xFFFF)
    return lambda a, b: one(a) << 8 | one(b)


def _scale(pattern: int) -> int:
    """The bf16 pattern of 2**(pattern - 127)."""
    return BF16.nan if pattern == 0xFF else pattern << BF16.fraction_bits or BF16.hidden >> 1


def convert_pack(op: Opcode) -> Semantics:
    """``cvt.pack.sat``: two saturated integers below the low bits of ``c``; ``b`` stands lowest."""
    narrow = next(w for w in op.text.split(".")[2:] if w not in ("sat", "s32", "b32"))
    bits = int(narrow[1:])
    is_signed = narrow[0] == "s"

    def pack(a: int, b: int, c: int = 0) -> int:
        high = clamp(signed(a, 32), bits, is_signed)
        low = clamp(signed(b, 32), bits, is_signed)
        return (c << 2 * bits | high << bits | low) & 0xFFFFFFFF

    return pack


CONVERSION_OPERATIONS: Final[dict[str, Callable[[Opcode], Semantics]]] = {"cvt": convert, "cvt.pack": convert_pack}
