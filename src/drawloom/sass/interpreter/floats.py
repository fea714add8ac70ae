"""Single and double precision: sums, products, fused ones, selection, extrema, special functions.

Rounding to nearest runs on NumPy, whose sums and products of floats are IEEE's; the fused product of singles goes
through doubles rounded to odd, which one more rounding cannot spoil. Everything else is computed lane by lane.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.sass.interpreter import exact
from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.comparisons import flushed
from drawloom.sass.interpreter.exact import BF16, F16, F32, F64, F64_HIGH, RN, Format
from drawloom.sass.interpreter.operation import Builder, Operation, Read, per_lane
from drawloom.sass.interpreter.state import Step, Warp

ROUNDINGS: Final = ("RM", "RP", "RZ", "RN")
Ternary = Callable[[Row, Row, Row, Row], Row]  # lanes, a, b, c


def rounding_of(operation: Operation) -> str:
    return next((m for m in operation.modifiers if m in ROUNDINGS), RN)


def single_bits(operation: Operation, at: int, ftz: bool = False) -> Read:
    """A 32-bit operand's bits, with its signs."""
    operand = operation.operands[at]
    return _signed_bits(operation.word(at, False), operand.negative, operand.absolute, np.uint32(0x80000000), ftz)


def double_bits(operation: Operation, at: int) -> Read:
    """A 64-bit operand's bits, with its signs."""
    operand = operation.operands[at]
    return _signed_bits(operation.long(at), operand.negative, operand.absolute, np.uint64(1 << 63), False)


def _signed_bits(read: Read, negative: bool, absolute: bool, sign: np.unsignedinteger[Any], ftz: bool) -> Read:
    if not (negative or absolute or ftz):
        return read

    def bits(w: Warp) -> Row:
        row = read(w)
        if ftz:
            row = flushed(row)
        if absolute:
            row = row & ~sign
        return row ^ sign if negative else row

    return bits


def canonical(values: Row, type: type[np.generic], nan: int) -> Row:
    """The bits of floats, with one NaN."""
    return np.where(np.isnan(values), type(nan), values.view(type))


def odd_sum(product: Row, addend: Row) -> Row:
    """Doubles `product + addend` rounded to odd: where inexact, the neighbour whose last bit is 1."""
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    bits = total.view(np.uint64)
    inexact = (error != 0) & np.isfinite(total) & (bits & np.uint64(1) == 0)
    outward = (error > 0) == (total > 0)
    one = np.uint64(1)
    return np.where(inexact, np.where(outward, bits + one, bits - one), bits).view(np.float64)


def fused_nearest(a: Row, b: Row, c: Row) -> Row:
    """`a * b + c` of singles' bits."""
    x, y, z = (row.view(np.float32).astype(np.float64) for row in (a, b, c))
    return canonical(odd_sum(x * y, z).astype(np.float32), np.uint32, F32.nan)


def single(operation: Operation) -> Step:
    """FADD, FMUL, FFMA."""
    operation.only("FTZ", "SAT", *ROUNDINGS)
    ftz, mode = operation.has("FTZ"), rounding_of(operation)
    write = operation.destination()
    reads = [single_bits(operation, at, ftz) for at in range(1, len(operation.operands))]
    nearest: dict[str, Callable[..., Row]] = {
        "FADD": lambda a, b: canonical(a.view(np.float32) + b.view(np.float32), np.uint32, F32.nan),
        "FMUL": lambda a, b: canonical(a.view(np.float32) * b.view(np.float32), np.uint32, F32.nan),
        "FFMA": fused_nearest,
    }
    compute = nearest[operation.base] if mode == RN else None
    function = lane_function(operation.base[1:], F32, mode)
    saturates = operation.has("SAT")

    def run(w: Warp, m: Row) -> None:
        values = [read(w) for read in reads]
        out = compute(*values) if compute is not None else per_lane(m, function, *values).astype(np.uint32)
        if ftz:
            out = flushed(out)
        write(w, m, saturated(out) if saturates else out)

    return run


def lane_function(name: str, f: Format, mode: str) -> Callable[..., int]:
    """ADD, MUL or FMA of one lane."""
    if name == "ADD":
        return lambda a, b: exact.add(f, a, b, mode)
    if name == "MUL":
        return lambda a, b: exact.mul(f, a, b, mode)
    return lambda a, b, c: exact.fma(f, a, b, c, mode)


def saturated(row: Row) -> Row:
    """Singles into [+0, 1]."""
    value = row.view(np.float32)
    return np.where(value > 0, np.minimum(value, np.float32(1)), np.float32(0)).view(np.uint32)


def double(operation: Operation) -> Step:
    """DADD, DMUL, DFMA."""
    operation.only(*ROUNDINGS)
    mode = rounding_of(operation)
    write = operation.long_destination()
    reads = [double_bits(operation, at) for at in range(1, len(operation.operands))]
    nearest: dict[str, Callable[..., Row]] = {
        "DADD": lambda a, b: canonical(a.view(np.float64) + b.view(np.float64), np.uint64, F64.nan),
        "DMUL": lambda a, b: canonical(a.view(np.float64) * b.view(np.float64), np.uint64, F64.nan),
    }
    compute = nearest.get(operation.base) if mode == RN else None
    function = lane_function(operation.base[1:], F64, mode)
    if compute is not None:
        return lambda w, m: write(w, m, compute(*[read(w) for read in reads]))
    return lambda w, m: write(w, m, per_lane(m, function, *[read(w) for read in reads]))


def select(operation: Operation) -> Step:
    """FSEL: `a` where the predicate is true, else `b`."""
    operation.only("FTZ")
    ftz = operation.has("FTZ")
    write, choice = operation.destination(), operation.predicate(3)
    a, b = single_bits(operation, 1, ftz), single_bits(operation, 2, ftz)
    return lambda w, m: write(w, m, np.where(choice(w), a(w), b(w)))


def extremum(operation: Operation) -> Step:
    """FMNMX: the smaller where the predicate is true, else the larger. .XORSIGN takes the sign of both operands'
    signs multiplied."""
    operation.only("FTZ", "NAN", "XORSIGN")
    ftz, propagate, xorsign = operation.has("FTZ"), operation.has("NAN"), operation.has("XORSIGN")
    write, smaller = operation.destination(), operation.predicate(3)
    reads = [single_bits(operation, 1, ftz), single_bits(operation, 2, ftz)]
    bare = [operation.word(1, False), operation.word(2, False)]

    def lane(a: int, b: int, least: int, sign: int) -> int:
        out = exact.extremum(F32, a, b, bool(least), propagate)
        return out & F32.magnitude | sign if xorsign and not F32.is_nan(out) else out

    def run(w: Warp, m: Row) -> None:
        sign = (bare[0](w) ^ bare[1](w)) & np.uint32(0x80000000)
        write(w, m, per_lane(m, lane, reads[0](w), reads[1](w), smaller(w), sign))

    return run


def check_division(operation: Operation) -> Step:
    """FCHK: whether `a / b` needs the long way: exponents near the ends of the range, or far apart."""
    operation.only("DIVIDE")
    write, a, b = operation.destination(), operation.word(1, False), operation.word(2, False)

    def run(w: Warp, m: Row) -> None:
        x, y = ((row >> np.uint32(23) & np.uint32(0xFF)).astype(np.int64) for row in (a(w), b(w)))
        easy = (y >= 2) & (y <= 252) & (x >= 26) & (x <= 252) & (x - y > -124) & (x - y < 125)
        write(w, m, ~easy)

    return run


# Special functions: algebraic ones rounded to nearest, the others by the C library, all well inside their bounds.


def to_float(f: Format, a: int) -> float:
    if not f.is_finite(a):
        return math.nan if f.is_nan(a) else -math.inf if a & f.sign else math.inf
    n, e = f.number(a)
    return math.copysign(math.ldexp(n, e), -1.0 if a & f.sign else 1.0)


def from_float(f: Format, value: float) -> int:
    return exact.convert(f, F64, int(struct.unpack("<Q", struct.pack("<d", value))[0]), RN)


def _by_library(function: Callable[[float], float]) -> Callable[[Format, int], int]:
    return lambda f, a: from_float(f, function(to_float(f, a)))


def _turn(function: Callable[[float], float]) -> Callable[[float], float]:
    """Of an angle in whole turns."""
    return lambda x: function(math.tau * math.fmod(x, 1.0)) if math.isfinite(x) else math.nan


def _logarithm(x: float) -> float:
    if x <= 0.0 or math.isnan(x):
        return -math.inf if x == 0.0 else math.nan
    return math.log2(x)


def _power(x: float) -> float:
    return math.inf if x >= 1024.0 else 0.0 if x < -1100.0 else math.exp2(x)


_FUNCTIONS: Final[dict[str, Callable[[Format, int], int]]] = {
    "RCP": exact.reciprocal, "RSQ": exact.reciprocal_root, "SQRT": exact.root, "SIN": _by_library(_turn(math.sin)),
    "COS": _by_library(_turn(math.cos)), "LG2": _by_library(_logarithm), "EX2": _by_library(_power),
    "TANH": _by_library(math.tanh),
}  # fmt: skip


def special_function(operation: Operation) -> Step:
    """MUFU: of singles, whose subnormals count as zeros, of halves, and of the upper words of doubles. .SIN and .COS
    take their angles in turns."""
    operation.only(*_FUNCTIONS, "RCP64H", "RSQ64H", "F16", "BF16")
    name = operation.modifiers[0]
    f = F64_HIGH if name.endswith("64H") else F16 if operation.has("F16") else BF16 if operation.has("BF16") else F32
    function = _FUNCTIONS[name.removesuffix("64H")]
    write = operation.destination()
    operand = operation.operands[1]
    read = operation.word(1, False)
    upper = f.bits == 16 and operand.after.endswith("H1")
    flushes = f.bits == 32 and name != "TANH"

    def lane(a: int) -> int:
        a = (a >> 16 if upper else a) & f.mask
        if operand.absolute:
            a &= f.magnitude
        if operand.negative:
            a ^= f.sign
        return f.flush(function(f, f.flush(a))) if flushes else function(f, a)

    return lambda w, m: write(w, m, per_lane(m, lane, read(w)))


BUILDERS: Final[dict[str, Builder]] = {
    "FADD": single, "FMUL": single, "FFMA": single, "DADD": double, "DMUL": double, "DFMA": double, "FSEL": select,
    "FMNMX": extremum, "FCHK": check_division, "MUFU": special_function,
}  # fmt: skip
