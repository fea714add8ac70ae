"""Conversions between integers and floats of all widths, and rounding in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.sass.interpreter import exact
from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.exact import F16, F32, FORMATS, RM, RN, RP, RZ, Format
from drawloom.sass.interpreter.floats import ROUNDINGS, rounding_of
from drawloom.sass.interpreter.operation import Builder, Operation, Read, Write, per_lane
from drawloom.sass.interpreter.state import Step, Warp

INTEGERS: Final[dict[str, tuple[int, bool]]] = {
    f"{letter}{bits}": (bits, letter == "S") for letter in "US" for bits in (2, 4, 8, 16, 32, 64)
}
TO_INTEGRAL: Final[dict[str, str]] = {"TRUNC": RZ, "FLOOR": RM, "CEIL": RP}


def number_of(a: int, bits: int, is_signed: bool) -> int:
    """What a pattern says as an integer."""
    a &= (1 << bits) - 1
    return a - (1 << bits) if is_signed and a >> bits - 1 else a


def clamped(value: int, bits: int, is_signed: bool) -> int:
    """The nearest integer that has so many bits."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def _types(operation: Operation) -> tuple[str, str]:
    """The types of result and source; what the mnemonic leaves out is S32 or F32."""
    found = [m for m in operation.modifiers if m in INTEGERS or m in FORMATS]
    to_integer = operation.base in ("F2I", "F2IP")
    if len(found) == 2:
        return found[0], found[1]
    if operation.base == "F2F" or operation.base == "FRND":
        return (found[0], found[0]) if found else ("F32", "F32")
    if not found:
        return ("S32", "F32") if to_integer else ("F32", "S32")
    is_integer = found[0] in INTEGERS
    if to_integer:
        return (found[0], "F32") if is_integer else ("S32", found[0])
    return ("F32", found[0]) if is_integer else (found[0], "S32")


def _source(operation: Operation, type: str) -> tuple[Read, int]:
    """The source's bits and how far up the value stands in them (`R5.B2`, `R5.H1`)."""
    bits = INTEGERS[type][0] if type in INTEGERS else FORMATS[type].bits
    if bits == 64:
        return operation.long(1), 0
    part = operation.operands[1].after.strip("|").lstrip(".")
    if part and not (part[0] in "BH" and part[1:2].isdigit()):
        raise operation.unsupported(f"a source with .{part}")
    shift = int(part[1]) * (8 if part[0] == "B" else 16) if part else 0
    return operation.word(1, False), shift


def _result(operation: Operation, type: str) -> Write:
    bits = INTEGERS[type][0] if type in INTEGERS else FORMATS[type].bits
    return operation.long_destination() if bits == 64 else operation.destination()


def _signs(operation: Operation, f: Format) -> Callable[[int], int]:
    """The signs before a float source."""
    negative, absolute = operation.operands[1].negative, operation.operands[1].absolute

    def signs(a: int) -> int:
        a &= f.mask
        if absolute:
            a &= f.magnitude
        return a ^ f.sign if negative else a

    return signs


def _step(operation: Operation, to: str, source: str, function: Callable[[int], int]) -> Step:
    """Runs `function` from source pattern to result pattern; narrow results fill the register."""
    read, shift = _source(operation, source)
    write = _result(operation, to)
    mask = (1 << 64) - 1 if to in ("U64", "S64", "F64") else (1 << 32) - 1

    def lane(a: int) -> int:
        return function(a >> shift) & mask

    return lambda w, m: write(w, m, per_lane(m, lane, read(w)))


def integer_to_float(operation: Operation) -> Step:
    """I2F and I2FP."""
    operation.only(*ROUNDINGS, *INTEGERS, *FORMATS)
    to, source = _types(operation)
    bits, is_signed = INTEGERS[source]
    f, mode = FORMATS[to], rounding_of(operation)
    negative, absolute = operation.operands[1].negative, operation.operands[1].absolute

    def function(a: int) -> int:
        value = number_of(a, bits, is_signed)
        value = abs(value) if absolute else value
        return f.pattern(-value if negative else value, 0, mode)

    return _step(operation, to, source, function)


def float_to_integer(operation: Operation) -> Step:
    """F2I: to the nearest of the range. Of a NaN the top bit; 0 with .NTZ, and on sm_61 unless a side has 64 bits."""
    operation.only("FTZ", "NTZ", *TO_INTEGRAL, *INTEGERS, *FORMATS)
    to, source = _types(operation)
    bits, is_signed = INTEGERS[to]
    f = FORMATS[source]
    mode = next((TO_INTEGRAL[m] for m in operation.modifiers if m in TO_INTEGRAL), RN)
    signs, ftz = _signs(operation, f), operation.has("FTZ")
    is_zero = operation.has("NTZ") or (bits < 64 and source != "F64" and not operation.instruction.opcode.form.wide)
    of_nan = 0 if is_zero else 1 << bits - 1

    def function(a: int) -> int:
        a = signs(a)
        if f.is_nan(a):
            return of_nan
        if not f.is_finite(a):
            return clamped(-(1 << 70) if a & f.sign else 1 << 70, bits, is_signed)
        return clamped(exact.to_integral(f, f.flush(a) if ftz else a, mode), bits, is_signed)

    return _step(operation, to, source, function)


def float_to_float(operation: Operation) -> Step:
    """F2F. .FTZ is about singles."""
    operation.only("FTZ", "SAT", *ROUNDINGS, *FORMATS)
    to, source = _types(operation)
    f, result, mode = FORMATS[source], FORMATS[to], rounding_of(operation)
    signs, ftz, sat = _signs(operation, f), operation.has("FTZ"), operation.has("SAT")

    def function(a: int) -> int:
        a = signs(a)
        if ftz and f is F32:
            a = f.flush(a)
        out = exact.convert(result, f, a, mode)
        if ftz and result is F32:
            out = result.flush(out)
        return exact.saturate(result, out) if sat else out

    return _step(operation, to, source, function)


def round_in_place(operation: Operation) -> Step:
    """FRND: to a whole number of the same format."""
    operation.only("FTZ", *TO_INTEGRAL, *FORMATS)
    to, source = _types(operation)
    f = FORMATS[to]
    mode = next((TO_INTEGRAL[m] for m in operation.modifiers if m in TO_INTEGRAL), RN)
    signs, ftz = _signs(operation, f), operation.has("FTZ")

    def function(a: int) -> int:
        a = signs(a)
        if ftz:
            a = f.flush(a)
        if not f.is_finite(a):
            return f.nan if f.is_nan(a) else a
        return f.pattern(exact.to_integral(f, a, mode), 0, RN, a & f.sign)

    return _step(operation, to, source, function)


def pack_floats(operation: Operation) -> Step:
    """F2FP: two narrow floats of two singles (.PACK_AB, the second is the lower), or of the halves of a word; with
    .MERGE_C the upper half of the result is the lower one of the last operand. .PACK_B: one tf32 of one single."""
    kinds = ("PACK_B", "PACK_AB", "UNPACK_B", "UNPACK_B_MERGE_C", "PACK_AB_MERGE_C")
    operation.only("RELU", "SATFINITE", *ROUNDINGS, *FORMATS, *kinds)
    kind = next(m for m in operation.modifiers if m in kinds)
    named = [FORMATS[m] for m in operation.modifiers if m in FORMATS]
    to, source = named if len(named) == 2 else ((named or [F16])[0], F32)  # up to sm_89 the usual types are not printed
    mode, finite, relu = rounding_of(operation), operation.has("SATFINITE"), operation.has("RELU")
    write = operation.destination()
    reads = [operation.word(at, False) for at in range(1, len(operation.operands))]
    signs = [(operation.operands[at].negative, operation.operands[at].absolute) for at in range(1, 1 + len(reads))]

    def one(a: int, negative: bool, absolute: bool) -> int:
        a &= source.mask
        if absolute:
            a &= source.magnitude
        if negative:
            a ^= source.sign
        out = exact.convert(to, source, a, mode, finite)
        return out if not relu or (not out & to.sign) or to.is_nan(out) else 0

    def lane(*values: int) -> int:
        if kind == "PACK_B":  # a tf32 stands in the upper bits of a word
            return one(values[0], *signs[0]) << 32 - to.bits
        if kind.startswith("PACK_AB"):
            high, low = one(values[0], *signs[0]), one(values[1], *signs[1])
        else:
            high, low = one(values[0] >> source.bits, *signs[0]), one(values[0], *signs[0])
        packed = high << to.bits | low
        return packed | (values[-1] & 0xFFFF) << 16 if kind.endswith("MERGE_C") else packed

    return lambda w, m: write(w, m, per_lane(m, lane, *[read(w) for read in reads]))


def narrow_integer(operation: Operation) -> Step:
    """I2I: a word clamped into a narrower type."""
    operation.only("SAT", *INTEGERS)
    to, source = _types(operation)
    (bits, is_signed), (width, source_signed) = INTEGERS[to], INTEGERS[source]
    return _step(operation, to, source, lambda a: clamped(number_of(a, width, source_signed), bits, is_signed))


def pack_integers(operation: Operation) -> Step:
    """I2IP: two words clamped into narrow integers, below the low bits of the third."""
    operation.only("SAT", *INTEGERS)
    to = operation.modifiers[0]
    bits, is_signed = INTEGERS[to]
    write = operation.destination()
    reads = [operation.word(at, False) for at in range(1, 4)]
    mask = (1 << bits) - 1

    def lane(a: int, b: int, c: int) -> int:
        high = clamped(number_of(a, 32, True), bits, is_signed) & mask
        low = clamped(number_of(b, 32, True), bits, is_signed) & mask
        return (c << 2 * bits | high << bits | low) & 0xFFFFFFFF

    def run(w: Warp, m: Row) -> None:
        write(w, m, per_lane(m, lane, *[read(w) for read in reads]))

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "I2F": integer_to_float, "I2FP": integer_to_float, "F2I": float_to_integer, "F2F": float_to_float,
    "FRND": round_in_place, "F2FP": pack_floats, "I2I": narrow_integer, "I2IP": pack_integers,
}  # fmt: skip
