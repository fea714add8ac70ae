"""``sin.approx`` and ``cos.approx`` (PTX ISA 9.0 sections 9.7.3.18 and 9.7.3.19): one reduction modulo pi, one
polynomial on [-pi/2, pi/2], and a sign.

Up to ``_LIMIT`` the reduction is a two-part subtraction of n * pi; larger arguments branch to an exact one in integers
that takes the needed bits of 1/pi, so even the largest floats keep an absolute error near 2**-24.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value, int_const, type_of
from drawloom.cpu.ops.common import bitcast, const, fconst
from drawloom.cpu.ops.rounding import flush
from drawloom.ptx.isa import Opcode

#: (sin r / r - 1) / r**2 in r**2 up to pi/2: absolute error of the sine below 2**-27.6.
_SIN: Final[tuple[float, ...]] = (
    -0.16666656732559204,
    0.008333017118275166,
    -0.00019806601630989462,
    2.600024345156271e-06,
)
#: (cos r - 1) / r**2 in r**2 up to pi/2: absolute error of the cosine below 2**-24.1.
_COS: Final[tuple[float, ...]] = (
    -0.4999993145465851,
    0.041663989424705505,
    -0.001385591458529234,
    2.319407394679729e-05,
)
#: pi rounded down to a float and the rest: a positive rest keeps the sign of -0 through the subtraction.
_PI_HIGH: Final = 3.141592502593994
_PI_LOW: Final = 1.5099580252808664e-07
#: 1 / pi as a float.
_ONE_OVER_PI: Final = 0.31830987334251404
#: Up to here n stays below 2**14, where what the two parts of pi leave out is below 2**-34.
_LIMIT: Final = 32768.0
#: floor(2**256 / pi): enough bits for the largest exponent, 104, and 96 of fraction.
_INVERSE_PI: Final = 0x517CC1B727220A94FE13ABE8FA9A6EE06DB14ACC9E21C820FF28B1D5EF5DE2B0


def polynomial(e: Emitter, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's scheme, fused where the target can; coefficients from the constant up."""
    result = fconst(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = multiply_add(e, result, x, fconst(x, coefficient))
    return result


def multiply_add(e: Emitter, a: Value, b: Value, c: Value) -> Value:
    """a * b + c, fused where that is one instruction: for approximations only, where either rounding will do."""
    if "fma" in e.features or "avx512f" in e.features:
        return e.intrinsic("llvm.fma", [a, b, c])
    return e.binary("fadd", e.binary("fmul", a, b), c)


def emit_sin(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``sin.approx``: absolute error below 2**-22 everywhere; NaN for infinities; -0 stays -0."""
    return [_call(e, op, args[0])]


def emit_cos(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``cos.approx``: absolute error below 2**-22 everywhere; NaN for infinities."""
    return [_call(e, op, args[0])]


def _call(e: Emitter, op: Opcode, a: Value) -> Value:
    x = flush(e, a) if op.ftz else a
    name = f"drawloom.{op.name}.{'v' + str(a.lanes) if a.lanes else 's'}"
    if name not in e.declarations:
        _define(e, name, op.name, a.lanes)
    result = e.value("float", a.lanes, f"call {a.type} @{name}({x.typed})")
    return flush(e, result) if op.ftz and op.name == "sin" else result


def _define(e: Emitter, name: str, function: str, lanes: int) -> None:
    """The function with the branch to the exact reduction, for LLVM to inline."""
    inner = Emitter(e.features)
    vector = type_of("float", lanes)
    x = Value("%x", "float", lanes)
    inner.line(f"define internal {vector} @{name}({vector} %x) alwaysinline nounwind {{")
    inner.line("entry:")
    scaled = multiply_add(inner, x, fconst(x, _ONE_OVER_PI), fconst(x, 12582912.0))
    count = inner.binary("fsub", scaled, fconst(x, 12582912.0))
    reduced = _subtract_multiple(inner, x, count)
    parity = inner.binary("shl", bitcast(inner, scaled, "i32"), int_const("i32", 31, lanes))
    large = _is_large(inner, x)
    any_large = large
    if lanes:
        bits = inner.value("i" + str(lanes), 0, f"bitcast {large.typed} to i{lanes}")
        any_large = inner.value("i1", 0, f"icmp ne i{lanes} {bits.text}, 0")
    inner.line(f'  br i1 {any_large.text}, label %exact, label %join, !prof !{{!"branch_weights", i32 1, i32 1000}}')
    inner.line("exact:")
    pair = "{ " + vector + ", " + type_of("i32", lanes) + " }"
    reduce_name = _define_reduction(e, lanes)
    both = inner.fresh()
    inner.line(f"  {both} = call {pair} @{reduce_name}({vector} %x)")
    far = inner.value("float", lanes, f"extractvalue {pair} {both}, 0")
    far_parity = inner.value("i32", lanes, f"extractvalue {pair} {both}, 1")
    chosen = inner.select(large, far, reduced)
    chosen_parity = inner.select(large, far_parity, parity)
    inner.line("  br label %join")
    inner.line("join:")
    r = inner.value("float", lanes, f"phi {vector} [ {reduced.text}, %entry ], [ {chosen.text}, %exact ]")
    sign = inner.value(
        "i32", lanes, f"phi {type_of('i32', lanes)} [ {parity.text}, %entry ], [ {chosen_parity.text}, %exact ]"
    )
    value = _on_half_circle(inner, function, r)
    signed = inner.binary("xor", bitcast(inner, value, "i32"), sign)
    inner.line(f"  ret {bitcast(inner, signed, 'float').typed}")
    inner.line("}")
    e.declarations.update(inner.declarations)
    e.declarations[name] = "\n".join(inner.lines)


def _on_half_circle(e: Emitter, function: str, r: Value) -> Value:
    square = e.binary("fmul", r, r)
    if function == "cos":
        return polynomial(e, square, (1.0, *_COS))
    return e.binary("fmul", r, polynomial(e, square, (1.0, *_SIN)))


def _subtract_multiple(e: Emitter, x: Value, count: Value) -> Value:
    """x - count * pi."""
    if "fma" in e.features or "avx512f" in e.features:
        minus = e.fneg(count)
        first = e.intrinsic("llvm.fma", [minus, fconst(x, _PI_HIGH), x])
        return e.intrinsic("llvm.fma", [minus, fconst(x, _PI_LOW), first])
    wide = e.cast("fpext", count, "double")
    product = e.binary("fmul", wide, fconst(wide, 3.141592653589793))
    exact = e.binary("fsub", e.cast("fpext", x, "double"), product)
    return e.cast("fptrunc", exact, "float")


def _is_large(e: Emitter, x: Value) -> Value:
    """_LIMIT < |x| < infinity, on the pattern."""
    bits = bitcast(e, x, "i32")
    magnitude = e.binary("and", bits, const(bits, 0x7FFFFFFF))
    above = e.binary("sub", magnitude, const(bits, 0x47000000))
    return e.icmp("ult", above, const(bits, 0x7F800000 - 0x47000000))


def _define_reduction(e: Emitter, lanes: int) -> str:
    """``{float, i32} f(float)`` gives x - n pi and n's parity in the sign bit; the vector one loops over it."""
    scalar = "drawloom.reduce_pi.s"
    if scalar not in e.declarations:
        # With x = m * 2**e, the 96 bits m * floor(2**(95 + e) / pi) mod 2**96 are x / pi mod 2, 95 bits of them
        # fraction; what the floor left out is below m * 2**-95.
        e.declarations[scalar] = f"""define internal {{ float, i32 }} @{scalar}(float %x) noinline nounwind {{
  %bits = bitcast float %x to i32
  %biased = lshr i32 %bits, 23
  %exponent = and i32 %biased, 255
  %fraction = and i32 %bits, 8388607
  %significand = or i32 %fraction, 8388608
  %wanted = sub i32 311, %exponent
  %shift32 = call i32 @llvm.umin.i32(i32 %wanted, i32 255)
  %shift = zext i32 %shift32 to i256
  %window256 = lshr i256 {_INVERSE_PI}, %shift
  %window = trunc i256 %window256 to i96
  %m = zext i32 %significand to i96
  %turns = mul i96 %m, %window
  %top = lshr i96 %turns, 94
  %top32 = trunc i96 %top to i32
  %low = and i32 %top32, 1
  %high = lshr i32 %top32, 1
  %parity = xor i32 %low, %high
  %parity_bit = shl i32 %parity, 31
  %part96 = lshr i96 %turns, 31
  %part = trunc i96 %part96 to i64
  %part_f = sitofp i64 %part to double
  %r_f = fmul double %part_f, {_hex_double(3.141592653589793 * 2.0**-64)}
  %r = fptrunc double %r_f to float
  %r_bits = bitcast float %r to i32
  %sign = and i32 %bits, -2147483648
  %signed = xor i32 %r_bits, %sign
  %result = bitcast i32 %signed to float
  %pair = insertvalue {{ float, i32 }} poison, float %result, 0
  %pair2 = insertvalue {{ float, i32 }} %pair, i32 %parity_bit, 1
  ret {{ float, i32 }} %pair2
}}"""
        e.declare("llvm.umin.i32", "i32", ["i32", "i32"])
    if not lanes:
        return scalar
    name = f"drawloom.reduce_pi.v{lanes}"
    pair = f"{{ <{lanes} x float>, <{lanes} x i32> }}"
    e.declarations[name] = f"""define internal {pair} @{name}(<{lanes} x float> %x) noinline nounwind {{
entry:
  %values = alloca <{lanes} x float>
  %parities = alloca <{lanes} x i32>
  store <{lanes} x float> %x, ptr %values
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %value_place = getelementptr float, ptr %values, i64 %i
  %parity_place = getelementptr i32, ptr %parities, i64 %i
  %one = load float, ptr %value_place
  %both = call {{ float, i32 }} @{scalar}(float %one)
  %value = extractvalue {{ float, i32 }} %both, 0
  %parity = extractvalue {{ float, i32 }} %both, 1
  store float %value, ptr %value_place
  store i32 %parity, ptr %parity_place
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, {lanes}
  br i1 %done, label %end, label %loop
end:
  %r = load <{lanes} x float>, ptr %values
  %p = load <{lanes} x i32>, ptr %parities
  %pair = insertvalue {pair} poison, <{lanes} x float> %r, 0
  %pair2 = insertvalue {pair} %pair, <{lanes} x i32> %p, 1
  ret {pair} %pair2
}}"""
    return name


def _hex_double(value: float) -> str:
    return fconst(Value("", "double", 0), value).text
