"""Integer ``div`` and ``rem`` (PTX ISA 9.0 sections 9.7.1.10 and 9.7.1.11), which can never trap here.

A zero divisor gives the quotient whose bits are all ones and the dividend as remainder; the smallest signed
integer by -1 wraps. Vectors divide in floating point, whose truncated quotient is exact for integers a, b below 2**p
in a format of p bits: if it is no integer, it lies at least 1/b below the next one, and rounding moves it by at most
(a/b) 2**-p, which is less. Longer integers take two steps: a first quotient that is never too large, and one of what
it leaves.
"""

from __future__ import annotations

from struct import pack
from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, Emitter, Value
from drawloom.cpu.ops.common import const, fconst, literal
from drawloom.ptx.isa import Opcode

_FLOAT: Final[dict[str, str]] = {"i16": "float", "i32": "double"}


def emit_div(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``div``: the quotient rounded towards zero."""
    assert op.type is not None
    quotient, _ = _divide(e, args[0], args[1], op.type.is_signed)
    return [quotient]


def emit_rem(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``rem``: the remainder, with the sign of the dividend."""
    assert op.type is not None
    _, remainder = _divide(e, args[0], args[1], op.type.is_signed)
    return [remainder]


def _divide(e: Emitter, a: Value, b: Value, signed: bool) -> tuple[Value, Value]:
    """Quotient and remainder; LLVM drops the one that is not used."""
    divisor = literal(b)
    if divisor == 0:
        return const(a, -1), a
    if divisor is not None and divisor != (1 << ELEM_BITS[b.elem]) - 1:
        size = (1 << 64) - divisor if signed and divisor >> 63 else divisor
        if a.lanes and a.elem == "i64" and size & (size - 1) and "avx512dq" in e.features:
            return _by_constant(e, a, size, signed, size != divisor)
        # LLVM turns a constant divisor into multiplications. All ones may be -1, which could overflow.
        return _native(e, a, b, signed)
    zero = e.icmp("eq", b, const(b, 0))
    unsafe = zero
    if signed:
        lowest = e.icmp("eq", a, const(a, 1 << (ELEM_BITS[a.elem] - 1)))
        minus_one = e.icmp("eq", b, const(b, -1))
        unsafe = e.binary("or", zero, e.binary("and", lowest, minus_one))
    # By 1 the dividend stays as it is, which is also the wrapped quotient of the overflow case.
    safe = e.select(unsafe, const(b, 1), b)
    if not a.lanes:
        quotient, remainder = _native(e, a, safe, signed)
    elif a.elem == "i64":
        quotient = _vector_divide64(e, a, safe, signed)
        remainder = e.binary("sub", a, e.binary("mul", quotient, safe))
    else:
        quotient = _by_float(e, a, safe, signed)
        remainder = e.binary("sub", a, e.binary("mul", quotient, safe))
    return e.select(zero, const(a, -1), quotient), e.select(zero, a, remainder)


def _by_constant(e: Emitter, a: Value, divisor: int, signed: bool, negated: bool) -> tuple[Value, Value]:
    """64-bit lanes by the reciprocal of a constant, where LLVM would multiply lane by lane; ``_by_doubles`` says why
    that is right. From 2**15 on one step is enough: the quotient, below 2**49, is too small by one at most."""
    zero = const(a, 0)
    negative = e.icmp("slt", a, zero)
    left = e.select(negative, e.binary("sub", zero, a), a) if signed else a
    reciprocal = fconst(Value("", "double", a.lanes), _BELOW_ONE / divisor)
    quotient = zero
    for _ in range(1 if divisor >> 15 else 2):
        taken = e.cast("fptoui", e.binary("fmul", e.cast("uitofp", left, "double"), reciprocal), "i64")
        quotient = e.binary("add", quotient, taken)
        left = e.binary("sub", left, e.binary("mul", taken, const(a, divisor)))
    missing = e.icmp("uge", left, const(a, divisor))
    quotient = e.select(missing, e.binary("add", quotient, const(a, 1)), quotient)
    left = e.select(missing, e.binary("sub", left, const(a, divisor)), left)
    if not signed:
        return quotient, left
    minus = e.binary("sub", zero, quotient)
    quotient = e.select(negative, quotient, minus) if negated else e.select(negative, minus, quotient)
    return quotient, e.select(negative, e.binary("sub", zero, left), left)


def _native(e: Emitter, a: Value, b: Value, signed: bool) -> tuple[Value, Value]:
    prefix = "s" if signed else "u"
    return e.binary(prefix + "div", a, b), e.binary(prefix + "rem", a, b)


def _by_float(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    to_float = "sitofp" if signed else "uitofp"
    elem = _FLOAT[a.elem]
    quotient = e.binary("fdiv", e.cast(to_float, a, elem), e.cast(to_float, b, elem))
    return e.cast("fptosi" if signed else "fptoui", quotient, a.elem)


def _vector_divide64(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    """64-bit lanes: a function that takes the short way when every operand is short, else the long one: by doubles
    where the CPU converts 64-bit integers to and from them, else lane by lane."""
    name = f"drawloom.{'s' if signed else 'u'}div64.v{a.lanes}"
    if name not in e.declarations:
        e.declare(f"llvm.vector.reduce.or.v{a.lanes}i64", "i64", [a.type])
        by_doubles = "avx512dq" in e.features
        e.declarations[name] = (_by_doubles if by_doubles else _lane_by_lane)(name, a.lanes, signed)
    return e.value(a.elem, a.lanes, f"call {a.type} @{name}({a.typed}, {b.typed})")


def _by_doubles(name: str, lanes: int, signed: bool) -> str:
    """Operands of 53 bits (52 and a sign) by one division of doubles. Else what a has over b is taken off twice, by
    1/b as a double that is too small by 8 to 12 units of 2**-53, whatever is rounded: so no quotient is too large. The
    first leaves less than b + a 2**-49, without wrapping; the second less than 2 b, and where that is b or more one is
    missing."""
    vector, doubles, mask = f"<{lanes} x i64>", f"<{lanes} x double>", f"<{lanes} x i1>"
    excess = 1 << 52 if signed else 0
    absolute, negated = [], []
    for one in "ab" if signed else "":
        absolute += [
            f"%{one}_minus = sub {vector} zeroinitializer, %{one}",
            f"%{one}_negative = icmp slt {vector} %{one}, zeroinitializer",
            f"%{one}_size = select {mask} %{one}_negative, {vector} %{one}_minus, {vector} %{one}",
        ]
    if signed:
        negated = [
            f"%negative = xor {mask} %a_negative, %b_negative",
            f"%minus = sub {vector} zeroinitializer, %size",
            f"%long = select {mask} %negative, {vector} %minus, {vector} %size",
        ]
    a, b, size = ("%a_size", "%b_size", "%size") if signed else ("%a", "%b", "%long")
    lines = [
        f"define internal {vector} @{name}({vector} %a, {vector} %b) noinline nounwind memory(none) {{",
        "entry:",
        f"%a_over = add {vector} %a, splat (i64 {excess})",
        f"%b_over = add {vector} %b, splat (i64 {excess})",
        f"%over = or {vector} %a_over, %b_over",
        f"%high = lshr {vector} %over, splat (i64 53)",
        f"%any = call i64 @llvm.vector.reduce.or.v{lanes}i64({vector} %high)",
        "%fits = icmp eq i64 %any, 0",
        "br i1 %fits, label %fast, label %slow",
        "fast:",
        f"%af = sitofp {vector} %a to {doubles}",
        f"%bf = sitofp {vector} %b to {doubles}",
        f"%qf = fdiv {doubles} %af, %bf",
        f"%short = fptosi {doubles} %qf to {vector}",
        f"ret {vector} %short",
        "slow:",
        *absolute,
        f"%divisor = uitofp {vector} {b} to {doubles}",
        f"%reciprocal = fdiv {doubles} splat (double 0x{pack('>d', _BELOW_ONE).hex().upper()}), %divisor",
        *_step(vector, doubles, 1, a, b),
        *_step(vector, doubles, 2, "%left1", b),
        f"%sum = add {vector} %q1, %q2",
        f"%missing = icmp uge {vector} %left2, {b}",
        f"%one = zext {mask} %missing to {vector}",
        f"{size} = add {vector} %sum, %one",
        *negated,
        f"ret {vector} %long",
        "}",
    ]
    return "\n".join(lines)


#: Eight units of 2**-53 are more than four roundings.
_BELOW_ONE: Final = 1 - 8 * 2.0**-53


def _step(vector: str, doubles: str, number: int, a: str, b: str) -> list[str]:
    """``a`` times the reciprocal, and what that leaves of ``a``."""
    return [
        f"%f{number} = uitofp {vector} {a} to {doubles}",
        f"%qf{number} = fmul {doubles} %f{number}, %reciprocal",
        f"%q{number} = fptoui {doubles} %qf{number} to {vector}",
        f"%taken{number} = mul {vector} %q{number}, {b}",
        f"%left{number} = sub {vector} {a}, %taken{number}",
    ]


def _lane_by_lane(name: str, lanes: int, signed: bool) -> str:
    """Operands of 32 bits by doubles, others by the CPU's own division."""
    vector = f"<{lanes} x i64>"
    doubles = f"<{lanes} x double>"
    narrow = f"<{lanes} x i32>"
    extend, to_float, to_int, divide = ("sext", "sitofp", "fptosi", "sdiv") if signed else (
        "zext", "uitofp", "fptoui", "udiv")  # fmt: skip
    # A signed 32-bit pair has one overflowing quotient, 2**31; the conversion goes to 64 bits for its sake.
    return f"""define internal {vector} @{name}({vector} %a, {vector} %b) noinline nounwind {{
entry:
  %x = alloca {vector}
  %y = alloca {vector}
  store {vector} %a, ptr %x
  store {vector} %b, ptr %y
  %a32 = trunc {vector} %a to {narrow}
  %b32 = trunc {vector} %b to {narrow}
  %a64 = {extend} {narrow} %a32 to {vector}
  %b64 = {extend} {narrow} %b32 to {vector}
  %a_off = xor {vector} %a, %a64
  %b_off = xor {vector} %b, %b64
  %off = or {vector} %a_off, %b_off
  %wide = call i64 @llvm.vector.reduce.or.v{lanes}i64({vector} %off)
  %fits = icmp eq i64 %wide, 0
  br i1 %fits, label %fast, label %loop
fast:
  %af = {to_float} {narrow} %a32 to {doubles}
  %bf = {to_float} {narrow} %b32 to {doubles}
  %qf = fdiv {doubles} %af, %bf
  %q = {to_int} {doubles} %qf to {vector}
  ret {vector} %q
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %xp = getelementptr i64, ptr %x, i64 %i
  %yp = getelementptr i64, ptr %y, i64 %i
  %xi = load i64, ptr %xp
  %yi = load i64, ptr %yp
  %zi = {divide} i64 %xi, %yi
  store i64 %zi, ptr %xp
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, {lanes}
  br i1 %done, label %end, label %loop
end:
  %more = load {vector}, ptr %x
  ret {vector} %more
}}"""
