"""``div`` and ``rcp`` of f32, rounded correctly in all four directions.

The quick road follows Markstein (IBM J. Res. Dev. 34, 1990) and Cornea, Harrison and Tang (Scientific Computing on
Itanium-based Systems, chapter 8): one step makes the reciprocal correct, the remainder a - b q, which ``fma`` gives
exactly, makes the quotient correct. e + e**2 is rounded up because of one divisor, whose fraction is all ones:
otherwise a reciprocal that is one unit too small would stay so, at a tie. tests/sass/test_expand_floats.py goes
through every reciprocal and every quotient near a tie, for every estimate that rcp.approx may give.

The slow road computes in double precision, in which every operand is a normal number, and rounds once: a quotient of
24-bit numbers is either exact or 2**-48 of itself away from every 25-bit number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import FLOAT32, FLOAT64, Immediate, Instruction, Operand
from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import Template
from drawloom.sass.expand.rules import Rule, rule

#: y is 1 / divisor rounded to nearest; nb is -divisor.
_RECIPROCAL: Final = """
    .reg .f32 y0, y, nb, e0, e;
    rcp.approx.ftz.f32 y0, divisor;
    neg.f32 nb, divisor;
    fma.rn.f32 e0, nb, y0, 0f3F800000;
    fma.rp.f32 e, e0, e0, e0;
    fma.rn.f32 y, y0, e, y0;
"""
_QUOTIENT: Final = """
    .reg .f32 q0, r0;
    mul.rn.f32 q0, a, y;
    fma.rn.f32 r0, nb, q0, a;
"""


def _last_steps(rounding: str, nearest: str, numerator: str) -> str:
    """``d`` from the nearest quotient, which ``nearest`` computes into its first operand."""
    if rounding == "rn":
        return nearest.format("d")
    return f"""
        .reg .f32 q1, r1;
        {nearest.format("q1")}
        fma.rn.f32 r1, nb, q1, {numerator};
        fma.{rounding}.f32 d, r1, y, q1;
    """


def _divide(rounding: str, ftz: str) -> str:
    """Small dividends, whose remainder is not exact, and results that are subnormal, zero, infinite or NaN go the
    slow road; so do all divisors that are no normal numbers below 2**126, because their q is zero or NaN."""
    return f"""
        .reg .f32 size_a, size_d; .reg .pred exact, good;
        {_RECIPROCAL.replace("divisor", "b")} {_QUOTIENT} {_last_steps(rounding, "fma.rn.f32 {}, r0, y, q0;", "a")}
        abs.f32 size_a, a;
        setp.ge.f32 exact, size_a, 0f0D800000;
        abs.f32 size_d, d;
        setp.gt.and.f32 good, size_d, 0f00800000, exact;
        @good bra DONE;
        call.uni (d), $div_{rounding}{ftz}_f32, (a, b);
    DONE:
    """


def _reciprocal(rounding: str, ftz: str) -> str:
    last = "mov.f32 d, y;" if rounding == "rn" else _last_steps(rounding, "mov.f32 {}, y;", "0f3F800000")
    return f"""
        .reg .f32 size; .reg .pred good;
        {_RECIPROCAL.replace("divisor", "a")} {last}
        abs.f32 size, d;
        setp.gt.f32 good, size, 0f00800000;
        @good bra DONE;
        call.uni (d), $div_{rounding}{ftz}_f32, (0f3F800000, a);
    DONE:
    """


def _function(name: str) -> str:
    """``$div_rn_f32``, ``$div_rz_ftz_f32`` and so on, for all operands.

    The first quotient is right where an operand is 0, infinite or NaN; the refined one is 0 or NaN there.
    """
    _, rounding, *flush = name[1:].split("_")
    ftz = ".ftz" if flush[0] == "ftz" else ""
    # No machine flushes when it converts between f32 and f64: a product with 1 does.
    inputs = "mul.rn{0}.f32 {1}1, {1}, 0f3F800000;" if ftz else "mov.f32 {1}1, {1};"
    result = "mul.rn.ftz.f32 d, rounded, 0f3F800000;" if ftz else "mov.f32 d, rounded;"
    return f"""
    .func (.reg .f32 d) {name}(.reg .f32 a, .reg .f32 b)
    {{
        .reg .f32 a1, b1, rounded;
        {inputs.format(ftz, "a")} {inputs.format(ftz, "b")}
        .reg .f64 x, w, y0, y1, y, nw, e0, e1, e2, q0, q1, q2, r, q, size; .reg .pred regular;
        cvt.f64.f32 x, a1;
        cvt.f64.f32 w, b1;
        rcp.approx.ftz.f64 y0, w;
        neg.f64 nw, w;
        mul.rn.f64 q0, x, y0;
        fma.rn.f64 e0, nw, y0, 0d3FF0000000000000;
        fma.rn.f64 e1, e0, e0, e0;
        fma.rn.f64 y1, y0, e1, y0;
        mul.rn.f64 q1, x, y1;
        fma.rn.f64 r, nw, q1, x;
        fma.rn.f64 q2, r, y1, q1;
        abs.f64 size, q2;
        setp.gt.f64 regular, size, 0d0000000000000000;
        selp.f64 q, q2, q0, regular;
        cvt.{rounding}.f32.f64 rounded, q;
        {result}
        ret;
    }}
    """


_ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {
    f"$div_{rounding}{ftz}_f32": _function for rounding in _ROUNDINGS for ftz in ("", "_ftz")
}

# -- .approx and .full -------------------------------------------------------------------------------------

#: For subnormal divisors, both are made 2**24 times larger (PTX ISA 9.0 section 9.7.3.8).
_APPROXIMATE: Final = """
    .reg .f32 size, b1, a1, y; .reg .pred small;
    abs.f32 size, b;
    setp.lt.f32 small, size, 0f00800000;
    .reg .f32 factor;
    selp.f32 factor, 0f4B800000, 0f3F800000, small;
    mul.rn.f32 b1, b, factor;
    mul.rn.f32 a1, a, factor;
    rcp.approx.ftz.f32 y, b1;
    mul.rn.f32 d, a1, y;
"""
_APPROXIMATE_FTZ: Final = ".reg .f32 y; rcp.approx.ftz.f32 y, b; mul.rn.ftz.f32 d, a, y;"
#: As above, and for divisors above 2**126, whose reciprocal is subnormal, both are made 4 times smaller.
_FULL: Final = """
    .reg .f32 size, b1, a1, y, up, factor; .reg .pred small, large;
    abs.f32 size, b;
    setp.lt.f32 small, size, 0f00800000;
    setp.gt.f32 large, size, 0f7E800000;
    selp.f32 up, 0f4B800000, 0f3F800000, small;
    selp.f32 factor, 0f3E800000, up, large;
    mul.rn.f32 b1, b, factor;
    mul.rn.f32 a1, a, factor;
    rcp.approx.ftz.f32 y, b1;
    mul.rn.f32 d, a1, y;
"""
_FULL_FTZ: Final = """
    .reg .f32 size, b1, a1, y, factor; .reg .pred large;
    abs.ftz.f32 size, b;
    setp.gt.ftz.f32 large, size, 0f7E800000;
    selp.f32 factor, 0f3E800000, 0f3F800000, large;
    mul.rn.ftz.f32 b1, b, factor;
    mul.rn.ftz.f32 a1, a, factor;
    rcp.approx.ftz.f32 y, b1;
    mul.rn.ftz.f32 d, a1, y;
"""
#: The reciprocal of a subnormal or very large number, scaled back (section 9.7.3.13).
_RECIPROCAL_APPROXIMATE: Final = """
    .reg .f32 size, a1, y, up, factor; .reg .pred small, large;
    abs.f32 size, a;
    setp.lt.f32 small, size, 0f00800000;
    setp.gt.f32 large, size, 0f7E800000;
    selp.f32 up, 0f4B800000, 0f3F800000, small;
    selp.f32 factor, 0f3E800000, up, large;
    mul.rn.f32 a1, a, factor;
    rcp.approx.ftz.f32 y, a1;
    mul.rn.f32 d, y, factor;
"""


class QuotientRule(Rule):
    """Division; that of 1 is a reciprocal."""

    def __init__(self, template: Template, reciprocal: Template) -> None:
        super().__init__(template)
        self.reciprocal = reciprocal

    def choose(self, instruction: Instruction) -> tuple[Template, list[Operand]]:
        operands = instruction.operands
        dividend = operands[1]
        if isinstance(dividend, Immediate) and _ONES.get(dividend.kind) == dividend.value:
            return self.reciprocal, operands[2:]
        return self.template, operands[1:]


_ONES: Final[dict[int, int]] = {FLOAT32: 0x3F800000, FLOAT64: 0x3FF0000000000000}


def divide(opcode: Opcode) -> Rule:
    """The rule for ``div`` of f32."""
    if opcode.approx:
        return rule("f32 f32 f32", _APPROXIMATE_FTZ if opcode.ftz else _APPROXIMATE)
    if opcode.full:
        return rule("f32 f32 f32", _FULL_FTZ if opcode.ftz else _FULL)
    ftz = "_ftz" if opcode.ftz else ""
    quotient = Template(["f32", "f32", "f32"], _divide(opcode.rounding, ftz))
    return QuotientRule(quotient, Template(["f32", "f32"], _reciprocal(opcode.rounding, ftz)))


def reciprocal(opcode: Opcode) -> Rule | None:
    """The rule for ``rcp`` of f32; ``rcp.approx.ftz.f32`` is a machine instruction."""
    if opcode.approx:
        return None if opcode.ftz else rule("f32 f32", _RECIPROCAL_APPROXIMATE)
    return rule("f32 f32", _reciprocal(opcode.rounding, "_ftz" if opcode.ftz else ""))
