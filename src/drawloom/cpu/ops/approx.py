"""The ``.approx`` instructions (PTX ISA 9.0 sections 9.7.3.13 to 9.7.3.22, 9.7.4.10, 9.7.4.11) without library calls.

Polynomials are weighted minimax fits whose coefficients were then rounded to ``float``; the error that a fit leaves
stands beside it, and the tests measure every function against the manual's bound over its whole range. With AVX-512
the processor splits exponents and fractions; elsewhere integer arithmetic does.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value, int_const
from drawloom.cpu.ops.common import Emit, bitcast, const, fconst
from drawloom.cpu.ops.half import each_half, half_name
from drawloom.cpu.ops.halves import narrow, widen
from drawloom.cpu.ops.rounding import arithmetic, concatenate, flush, piece, to_integral
from drawloom.cpu.ops.trigonometry import emit_cos, emit_sin, polynomial
from drawloom.ptx.isa import Opcode

#: (2**f - 1) / f on [0, 1]: relative error of 2**f below 2**-28.8.
_EX2: Final[tuple[float, ...]] = (
    0.6931470632553101, 0.2402293086051941, 0.055485282093286514, 0.009675451554358006, 0.0012467846972867846,
    0.00021612914861179888,
)  # fmt: skip
#: log2(1 + f) / f on [-1/4, 1/2]: absolute error of the logarithm below 2**-24.4.
_LG2: Final[tuple[float, ...]] = (
    1.4426958560943604, -0.7213521003723145, 0.48080193996429443, -0.36026105284690857, 0.29080623388290405,
    -0.25194206833839417, 0.2012805938720703, -0.09087900817394257,
)  # fmt: skip
#: tanh(x) = x P(x*x) / Q(x*x) up to 5: relative error below 2**-18.
_TANH_P: Final[tuple[float, ...]] = (
    0.9999964833259583,
    0.11111155897378922,
    0.0010975926415994763,
    -3.1792208119441057e-06,
)
_TANH_Q: Final[tuple[float, ...]] = (1.0, 0.44441765546798706, 0.015939468517899513)
#: From here on tanh is 1 with a relative error below 2**-13.4.
_TANH_ONE: Final = 5.0


def emit_div_approx(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``div.full`` is the true quotient; ``div.approx`` too, but for divisors above 2**126 it is a (1/b) with 1/b
    flushed to zero (section 9.7.3.8)."""
    a, b = [flush(e, v) for v in args] if op.ftz else args
    quotient = e.binary("fdiv", a, b)
    if op.approx:
        magnitude = e.intrinsic("llvm.fabs", [b])
        huge = e.fcmp("ogt", magnitude, fconst(b, 2.0**126))
        finite = e.fcmp("one", magnitude, infinity(b))
        quotient = e.select(
            e.binary("and", huge, finite),
            e.binary("fmul", a, e.intrinsic("llvm.copysign", [fconst(b, 0.0), b])),
            quotient,
        )
    return [flush(e, quotient) if op.ftz else quotient]


def emit_rcp(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``rcp.approx``: the true reciprocal; of ``f64`` only the upper words take part (section 9.7.3.14)."""
    if args[0].elem == "double":
        return [_upper_words(e, args[0], False)]
    a = flush(e, args[0]) if op.ftz else args[0]
    result = e.binary("fdiv", fconst(a, 1.0), a)
    return [flush(e, result) if op.ftz else result]


def emit_sqrt(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``sqrt.approx``: the true square root."""
    a = flush(e, args[0]) if op.ftz else args[0]
    return [arithmetic(e, "sqrt", [a], "rn")]


def emit_rsqrt(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``rsqrt.approx``: one over the square root, infinite with the sign of a zero."""
    a = args[0]
    if a.elem == "double":
        if op.ftz:
            return [_upper_words(e, a, True)]
        return [e.binary("fdiv", fconst(a, 1.0), arithmetic(e, "sqrt", [a], "rn"))]
    if op.ftz:
        a = flush(e, a)
    if "avx512f" in e.features:
        return [_like(e, _rsqrt_newton(e, _vector(e, a)), a)]
    # Half a unit of error in the root and half in the quotient stay below 2**-23 together.
    return [e.binary("fdiv", fconst(a, 1.0), arithmetic(e, "sqrt", [a], "rn"))]


def emit_lg2(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``lg2.approx``: -infinity for zeros, NaN for negative numbers."""
    a = flush(e, args[0]) if op.ftz else args[0]
    if "avx512f" in e.features:
        exponent, mantissa = _split_avx512(e, _vector(e, a))
        return [_like(e, _log_of(e, exponent, mantissa), a)]
    tiny = e.fcmp("olt", a, fconst(a, 2.0**-126))
    scaled = e.select(tiny, e.binary("fmul", a, fconst(a, 2.0**24)), a)
    bits = bitcast(e, scaled, "i32")
    # The mantissa in [3/4, 3/2): subtracting the pattern of 3/4 leaves the exponent in the upper bits.
    offset = e.binary("sub", bits, const(bits, 0x3F400000))
    power = e.binary("and", offset, const(bits, -(1 << 23)))
    mantissa = bitcast(e, e.binary("sub", bits, power), "float")
    exponent = e.cast("sitofp", e.binary("ashr", offset, const(bits, 23)), "float")
    exponent = e.select(tiny, e.binary("fsub", exponent, fconst(exponent, 24.0)), exponent)
    result = _log_of(e, exponent, mantissa)
    # Zeros, infinity, negative numbers and NaN have no exponent to split off.
    result = e.select(e.fcmp("oeq", a, infinity(a)), a, result)
    result = e.select(e.fcmp("oeq", a, fconst(a, 0.0)), e.fneg(infinity(a)), result)
    invalid = e.fcmp("ult", a, fconst(a, 0.0))
    return [e.select(invalid, _nan(a), result)]


def emit_ex2(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``ex2.approx``: at most 2 units in the last place, subnormal results included."""
    assert op.type is not None
    if op.type.bits // op.type.lanes == 16:
        return [each_half(e, _ex2_half, op, args)]
    result = exp2(e, args[0])
    return [flush(e, result) if op.ftz else result]


def emit_tanh(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``tanh.approx``."""
    assert op.type is not None
    if op.type.bits // op.type.lanes == 16:
        return [each_half(e, _tanh_half, op, args)]
    return [_tanh(e, args[0])]


def exp2(e: Emitter, x: Value) -> Value:
    """2**x of ``float``; exact for integers."""
    if "avx512dq" in e.features:
        # The fraction x - floor(x) is 0 for infinities, and scaling takes floor(x) by itself.
        wide = _vector(e, x)
        fraction = _avx512(e, "mask.reduce.ps", [wide], "i32 1")
        return _like(e, _avx512(e, "mask.scalef.ps", [_power(e, fraction), wide], ""), x)
    # Beyond these the result is zero or infinite; NaN passes both comparisons by.
    clamped = e.select(e.fcmp("ogt", x, fconst(x, 130.0)), fconst(x, 130.0), x)
    clamped = e.select(e.fcmp("olt", clamped, fconst(x, -160.0)), fconst(x, -160.0), clamped)
    whole = to_integral(e, "floor", clamped)
    power = _power(e, e.binary("fsub", clamped, whole))
    # 1.5 * 2**23 brings the integer into the low bits, also where a NaN makes it meaningless.
    magic = e.binary("fadd", whole, fconst(x, 12582912.0))
    count = e.binary("sub", bitcast(e, magic, "i32"), int_const("i32", 0x4B400000, x.lanes))
    half = e.binary("ashr", count, const(count, 1))
    rest = e.binary("sub", count, half)
    # Two exact steps, of which only the last can round, when the result is subnormal.
    return e.binary("fmul", e.binary("fmul", power, _power_of_two(e, half)), _power_of_two(e, rest))


def infinity(like: Value) -> Value:
    text = "0x7FF0000000000000"
    return Value(f"splat ({like.elem} {text})" if like.lanes else text, like.elem, like.lanes)


def _nan(like: Value) -> Value:
    text = "0x7FFFFFFFE0000000"
    return Value(f"splat ({like.elem} {text})" if like.lanes else text, like.elem, like.lanes)


def _power(e: Emitter, fraction: Value) -> Value:
    return polynomial(e, fraction, (1.0, *_EX2))


def _power_of_two(e: Emitter, count: Value) -> Value:
    """2**count for -126 <= count <= 127."""
    biased = e.binary("add", count, const(count, 127))
    return bitcast(e, e.binary("shl", biased, const(count, 23)), "float")


def _log_of(e: Emitter, exponent: Value, mantissa: Value) -> Value:
    f = e.binary("fsub", mantissa, fconst(mantissa, 1.0))
    return e.binary("fadd", exponent, e.binary("fmul", f, polynomial(e, f, _LG2)))


def _split_avx512(e: Emitter, a: Value) -> tuple[Value, Value]:
    """log2 of the power of two and the mantissa in [3/4, 3/2); (-infinity, 1) for zeros, NaN for negative numbers."""
    mantissa = _avx512(e, "mask.getmant.ps", [a], "i32 15")
    whole = _avx512(e, "mask.getexp.ps", [a], "")
    # The mantissa's own exponent is -1 where it lies below 1.
    below = e.fcmp("olt", mantissa, fconst(mantissa, 1.0))
    adjusted = e.select(below, e.binary("fadd", whole, fconst(whole, 1.0)), whole)
    return adjusted, mantissa


def _vector(e: Emitter, a: Value) -> Value:
    """A scalar, or a packed pair, as the first lanes of a full vector: uniform values take the same road, with the
    same result, as others."""
    if a.lanes >= 16:
        return a
    if not a.lanes:
        return e.value(a.elem, 16, f"insertelement <16 x float> zeroinitializer, {a.typed}, i32 0")
    indices = ", ".join([f"i32 {min(i, a.lanes)}" for i in range(16)])
    return e.value(a.elem, 16, f"shufflevector {a.typed}, {a.type} zeroinitializer, <16 x i32> <{indices}>")


def _like(e: Emitter, result: Value, a: Value) -> Value:
    """Undo ``_vector``."""
    if not a.lanes:
        return e.extract(result, int_const("i32", 0))
    return result if a.lanes == result.lanes else piece(e, result, 0, a.lanes)


def _avx512(e: Emitter, name: str, args: list[Value], immediate: str) -> Value:
    """A masked AVX-512 intrinsic (all lanes on, current rounding) on each 16 lanes."""
    pieces: list[Value] = []
    full = f"llvm.x86.avx512.{name}.512"
    for start in range(0, args[0].lanes, 16):
        parts = [piece(e, a, start, 16) for a in args]
        operands = [p.typed for p in parts]
        types = [p.type for p in parts]
        if immediate:
            operands.append(immediate)
            types.append("i32")
        operands += ["<16 x float> zeroinitializer", "i16 -1"]
        types += ["<16 x float>", "i16"]
        if not name.startswith("rsqrt14"):
            operands.append("i32 4")
            types.append("i32")
        e.declare(full, "<16 x float>", types)
        pieces.append(e.value("float", 16, f"call <16 x float> @{full}({', '.join(operands)})"))
    return concatenate(e, pieces)


def _rsqrt_newton(e: Emitter, a: Value) -> Value:
    """A 14-bit estimate and one Newton step: relative error below 2**-24 * 1.5 + 2**-27."""
    estimate = _avx512(e, "rsqrt14.ps", [a], "")
    scaled = e.binary("fmul", a, estimate)
    error = e.intrinsic("llvm.fma", [e.fneg(scaled), estimate, fconst(a, 1.0)])
    half = e.binary("fmul", estimate, fconst(a, 0.5))
    refined = e.intrinsic("llvm.fma", [half, error, estimate])
    # 0 and infinity make the step NaN where the estimate is already the answer.
    return e.select(e.fcmp("uno", error, error), estimate, refined)


def _tanh(e: Emitter, x: Value) -> Value:
    y = e.binary("fmul", x, x)
    quotient = e.binary("fdiv", e.binary("fmul", x, polynomial(e, y, _TANH_P)), polynomial(e, y, _TANH_Q))
    large = e.fcmp("ogt", e.intrinsic("llvm.fabs", [x]), fconst(x, _TANH_ONE))
    return e.select(large, e.intrinsic("llvm.copysign", [fconst(x, 1.0), x]), quotient)


def _ex2_half(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    name = half_name(op)
    pattern = narrow(e, exp2(e, widen(e, args[0], name)), name)
    if op.ftz:
        tiny = e.icmp("ult", pattern, const(pattern, 0x0080))
        pattern = e.select(tiny, const(pattern, 0), pattern)
    return [pattern]


def _tanh_half(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    name = half_name(op)
    return [narrow(e, _tanh(e, widen(e, args[0], name)), name)]


def _upper_words(e: Emitter, a: Value, root: bool) -> Value:
    """``rcp`` and ``rsqrt.approx.ftz.f64``: operand and result are 1.11.20 formats in the upper 32 bits."""
    bits = bitcast(e, a, "i64")
    upper = bitcast(e, e.binary("and", bits, const(bits, -(1 << 32))), "double")
    flushed = flush(e, upper)
    value = arithmetic(e, "sqrt", [flushed], "rn") if root else flushed
    result = flush(e, e.binary("fdiv", fconst(value, 1.0), value))
    raw = bitcast(e, result, "i64")
    odd = e.binary("and", e.binary("lshr", raw, const(raw, 32)), const(raw, 1))
    rounded = e.binary("add", raw, e.binary("add", odd, const(raw, (1 << 31) - 1)))
    kept = e.binary("and", rounded, const(raw, -(1 << 32)))
    canonical = const(raw, 0x7FFFFFFF00000000)
    return bitcast(e, e.select(e.fcmp("uno", result, result), canonical, kept), "double")


EMIT_APPROX: Final[dict[str, Emit]] = {
    "rsqrt": emit_rsqrt, "sin": emit_sin, "cos": emit_cos, "lg2": emit_lg2, "ex2": emit_ex2, "tanh": emit_tanh,
}  # fmt: skip
