"""``div`` and ``rcp`` of f64, rounded correctly in all four directions.

The quick road is that of f32 (see ``float_division``) with a cubic first step, because ``rcp.approx.ftz.f64`` gives
some 20 bits in the upper word only. Its lower word is set to all ones: the estimate is then not too small, and for
the one divisor (fraction all ones) whose reciprocal is hard, both steps end on the right side of the tie.

The slow road divides the significands in [1, 2) and scales the quotient: exactly where the result is normal; where it
is subnormal, it cuts the truncated quotient off at the last place and decides by the exact remainder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import Template
from drawloom.sass.expand.float_division import QuotientRule
from drawloom.sass.expand.rules import Rule, rule

#: y is 1 / divisor with a relative error below 2**-53 (1 + 2**-6) in y1, and half a unit in y.
_RECIPROCAL: Final = """
    .reg .f64 s0, y0, y1, y, nb, e0, e1, e2; .reg .b32 upper, ones;
    rcp.approx.ftz.f64 s0, divisor;
    mov.b64 {_, upper}, s0;
    mov.b32 ones, -1;
    mov.b64 y0, {ones, upper};
    neg.f64 nb, divisor;
    fma.rn.f64 e0, nb, y0, 0d3FF0000000000000;
    fma.rn.f64 e1, e0, e0, e0;
    fma.rn.f64 y1, y0, e1, y0;
    fma.rn.f64 e2, nb, y1, 0d3FF0000000000000;
    fma.rn.f64 y, y1, e2, y1;
"""
_QUOTIENT: Final = """
    .reg .f64 q0, r0;
    mul.rn.f64 q0, dividend, y;
    fma.rn.f64 r0, nb, q0, dividend;
"""


def _last_steps(rounding: str, nearest: str, dividend: str) -> str:
    if rounding == "rn":
        return nearest.format("d")
    return f"""
        .reg .f64 q1, r1;
        {nearest.format("q1")}
        fma.rn.f64 r1, nb, q1, {dividend};
        fma.{rounding}.f64 d, r1, y, q1;
    """


def _divide(rounding: str) -> str:
    """The comparisons read the upper words as f32: dividends from 2**-960 on have exact remainders, divisors below
    2**1009 normal reciprocals; results are normal, no infinity and no NaN."""
    quotient = _QUOTIENT.replace("dividend", "a")
    return f"""
        .reg .b32 high_a, high_b, high_d; .reg .f32 size_a, size_b, size_d; .reg .pred exact, small, good;
        {_RECIPROCAL.replace("divisor", "b")} {quotient} {_last_steps(rounding, "fma.rn.f64 {}, r0, y, q0;", "a")}
        mov.b64 {{_, high_a}}, a;
        abs.f32 size_a, high_a;
        setp.ge.f32 exact, size_a, 0f03F00000;
        mov.b64 {{_, high_b}}, b;
        abs.f32 size_b, high_b;
        setp.lt.and.f32 small, size_b, 0f7F000000, exact;
        mov.b64 {{_, high_d}}, d;
        abs.f32 size_d, high_d;
        setp.gt.and.f32 good, size_d, 0f00100000, small;
        @good bra DONE;
        call.uni (d), $div_{rounding}_f64, (a, b);
    DONE:
    """


def _reciprocal(rounding: str) -> str:
    """Divisors from 2**-1022 to 2**1009: their exponents, less 1, are small as unsigned numbers."""
    last = "mov.f64 d, y;" if rounding == "rn" else _last_steps(rounding, "mov.f64 {}, y;", "0d3FF0000000000000")
    return f"""
        .reg .b32 high, twice, above; .reg .pred good;
        {_RECIPROCAL.replace("divisor", "a")} {last}
        mov.b64 {{_, high}}, a;
        shl.b32 twice, high, 1;
        add.s32 above, twice, 0xFFE00000;
        setp.lt.u32 good, above, 0xFDE00000;
        @good bra DONE;
        call.uni (d), $div_{rounding}_f64, (0d3FF0000000000000, a);
    DONE:
    """


def _significand(name: str) -> str:
    """``m_`` is the significand in [1, 2) and ``x_`` the biased exponent of the finite number ``name``."""
    return f"""
        {{ .reg .b32 low, high, kept, put; .reg .f64 v; .reg .pred tiny;
        mov.b64 {{low, high}}, {name};
        and.b32 high, high, 0x7FFFFFFF;
        setp.lt.u32 tiny, high, 0x00100000;
        mov.b64 v, {{low, high}};
        @tiny mul.rn.f64 v, v, 0d4350000000000000;
        mov.b64 {{low, high}}, v;
        shr.u32 x_{name}, high, 20;
        @tiny sub.s32 x_{name}, x_{name}, 54;
        and.b32 kept, high, 0x000FFFFF;
        or.b32 put, kept, 0x3FF00000;
        mov.b64 m_{name}, {{low, put}}; }}
    """


_INCREMENT: Final = ".reg .b64 one; selp.b64 one, 1, 0, up; add.s64 result, c, one;"
#: ``result`` is c, or one unit more; h is the remainder r less half a unit of the divisor.
_ROUND: Final[dict[str, str]] = {
    "rn": """
        .reg .f64 half, h; .reg .b64 odd; .reg .pred over, tie, up;
        mul.rn.f64 half, unit, 0dBFE0000000000000;
        fma.rn.f64 h, half, m_b, r;
        setp.gt.f64 over, h, 0d0000000000000000;
        and.b64 odd, c, 1;
        setp.ne.s64 tie, odd, 0;
        setp.eq.and.f64 tie, h, 0d0000000000000000, tie;
        or.pred up, over, tie;
    """ + _INCREMENT,
    "rz": "mov.b64 result, c;",
    "rm": ".reg .pred up; setp.gt.and.f64 up, r, 0d0000000000000000, minus;" + _INCREMENT,
    "rp": ".reg .pred up; setp.gt.and.f64 up, r, 0d0000000000000000, !minus;" + _INCREMENT,
}  # fmt: skip


def _function(name: str) -> str:
    """``$div_rn_f64`` and so on, for all operands."""
    rounding = name[1:].split("_")[1]
    reciprocal = _RECIPROCAL.replace("divisor", "m_b")
    return f"""
    .func (.reg .f64 d) {name}(.reg .f64 a, .reg .f64 b)
    {{
        .reg .f64 size_a, size_b, m_a, m_b; .reg .b32 x_a, x_b, k, kc; .reg .pred finite_a, finite_b, finite;
        abs.f64 size_a, a;
        abs.f64 size_b, b;
        setp.lt.f64 finite_a, size_a, 0d7FF0000000000000;
        setp.gt.and.f64 finite_a, size_a, 0d0000000000000000, finite_a;
        setp.lt.f64 finite_b, size_b, 0d7FF0000000000000;
        setp.gt.and.f64 finite_b, size_b, 0d0000000000000000, finite_b;
        and.pred finite, finite_a, finite_b;
        @finite bra FINITE;
        // Zeros, infinities and NaNs: a times 0, infinity, NaN or, for another divisor, 1 of b's sign.
        // The estimate sees upper words only: that of a NaN may be the one of an infinity.
        {{ .reg .f64 inverse, one, times; .reg .pred unordered;
        rcp.approx.ftz.f64 inverse, b;
        setp.nan.f64 unordered, b, b;
        @unordered mov.f64 inverse, b;
        copysign.f64 one, b, 0d3FF0000000000000;
        selp.f64 times, one, inverse, finite_b;
        mul.rn.f64 d, a, times; }}
        bra DONE;
    FINITE:
        {_significand("a")} {_significand("b")}
        .reg .f64 q, r1, t; .reg .b32 sign_a, sign; .reg .pred minus;
        mov.b64 {{_, sign_a}}, a;
        mov.b64 {{_, sign}}, b;
        xor.b32 sign, sign, sign_a;
        and.b32 sign, sign, 0x80000000;
        setp.ne.s32 minus, sign, 0;
        sub.s32 k, x_a, x_b;
        {reciprocal} {_QUOTIENT.replace("dividend", "m_a")}
        fma.rn.f64 q, r0, y, q0;
        fma.rn.f64 r1, nb, q, m_a;
        // The result is q 2**k: normal from k = -1022 on, where q is 1 or more, from -1021 on where it is less.
        .reg .b32 first; .reg .pred less, subnormal;
        setp.lt.f64 less, q, 0d3FF0000000000000;
        selp.b32 first, -1021, -1022, less;
        setp.lt.s32 subnormal, k, first;
        @subnormal bra SUBNORMAL;
        .reg .b64 signed; .reg .f64 signed_q, signed_r, signed_y, whole, part, power, rest; .reg .b32 k1, k2, word;
        mov.b64 signed, {{0, sign}};
        xor.b64 signed_q, q, signed;
        xor.b64 signed_r, r1, signed;
        fma.{rounding}.f64 whole, signed_r, y, signed_q;
        // In two steps, as 2**k alone can be too large.
        min.s32 kc, k, 1500;
        shr.s32 k1, kc, 1;
        sub.s32 k2, kc, k1;
        add.s32 word, k1, 1023;
        shl.b32 word, word, 20;
        mov.b64 power, {{0, word}};
        mul.rn.f64 part, whole, power;
        add.s32 word, k2, 1023;
        shl.b32 word, word, 20;
        mov.b64 rest, {{0, word}};
        mul.{rounding}.f64 d, part, rest;
        bra DONE;
    SUBNORMAL:
        // The truncated quotient, cut off at the last place of subnormals: its integer c, and the remainder r.
        .reg .b32 drop, field; .reg .b64 bits, fraction, integer, c, kept, result;
        .reg .f64 cut, r, unit, times;
        fma.rz.f64 t, r1, y, q;
        mov.b64 bits, t;
        shr.u64 fraction, bits, 52;
        cvt.u32.u64 field, fraction;
        sub.s32 drop, 1, k;
        sub.s32 drop, drop, field;
        min.s32 drop, drop, 60;
        and.b64 integer, bits, 0x000FFFFFFFFFFFFF;
        or.b64 integer, integer, 0x0010000000000000;
        shr.u64 c, integer, drop;
        shl.b64 kept, c, drop;
        cvt.rn.f64.u64 cut, kept;
        sub.s32 field, field, 52;
        shl.b32 field, field, 20;
        mov.b64 unit, {{0, field}};
        mul.rn.f64 cut, cut, unit;
        add.s32 drop, drop, 1023;
        shl.b32 drop, drop, 20;
        mov.b64 times, {{0, drop}};
        mul.rn.f64 unit, unit, times;
        fma.rn.f64 r, nb, cut, m_a;
        {_ROUND[rounding]}
        mov.b64 signed, {{0, sign}};
        or.b64 d, result, signed;
    DONE:
        ret;
    }}
    """


_ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {f"$div_{rounding}_f64": _function for rounding in _ROUNDINGS}


def divide(opcode: Opcode) -> Rule:
    """The rule for ``div`` of f64."""
    rounding = opcode.rounding
    quotient = Template(["f64", "f64", "f64"], _divide(rounding))
    return QuotientRule(quotient, Template(["f64", "f64"], _reciprocal(rounding)))


def reciprocal(opcode: Opcode) -> Rule | None:
    """The rule for ``rcp`` of f64; ``rcp.approx.ftz.f64`` is a machine instruction."""
    return None if opcode.approx else rule("f64 f64", _reciprocal(opcode.rounding))
