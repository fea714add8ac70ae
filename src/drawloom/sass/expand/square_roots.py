"""``sqrt`` of f32 and f64, rounded correctly in all four directions, and ``rsqrt.approx`` with subnormal operands.

Coupled iteration for the root and half its reciprocal, then a correction by the exact remainder x - g**2 (Markstein,
IBM J. Res. Dev. 34, 1990; Cornea, Harrison and Tang, chapter 9). tests/sass/test_expand_floats.py goes through every
f32 and every estimate that rsqrt.approx may give. For f64 the first correction is rounded to zero: near a tie, g is
then the neighbour below, and the second correction errs by less than the distance of any root from a tie.
Small numbers are scaled by an even power of two first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.sass.expand.rules import Rule, rule

#: The root and half its reciprocal; remainders are exact for operands from 2**-101 on.
_ROOT32: Final = """
    .reg .f32 s, g, h, ng, e, g1, h1, ng1, r;
    rsqrt.approx.ftz.f32 s, operand;
    mul.rn.f32 g, operand, s;
    mul.rn.f32 h, s, 0f3F000000;
    neg.f32 ng, g;
    fma.rn.f32 e, ng, h, 0f3F000000;
    fma.rn.f32 g1, g, e, g;
    fma.rn.f32 h1, h, e, h;
    neg.f32 ng1, g1;
    fma.rn.f32 r, ng1, g1, operand;
"""
#: The error of s is below 2**-52 of it, that of h 1.2 units; g1 is the root rounded down near every tie.
_ROOT64: Final = """
    .reg .f64 s0, s, t, nx, e, p, w, g, h, ng, r0, g1, ng1, r; .reg .b32 low, high, half;
    rsqrt.approx.ftz.f64 s0, operand;
    mul.rn.f64 t, s0, s0;
    neg.f64 nx, operand;
    fma.rn.f64 e, nx, t, 0d3FF0000000000000;
    fma.rn.f64 p, e, 0d3FD8000000000000, 0d3FE0000000000000;
    mul.rn.f64 w, s0, e;
    fma.rn.f64 s, p, w, s0;
    mul.rn.f64 g, operand, s;
    mov.b64 {low, high}, s;
    add.s32 half, high, -0x100000;
    mov.b64 h, {low, half};
    neg.f64 ng, g;
    fma.rn.f64 r0, ng, g, operand;
    fma.rz.f64 g1, r0, h, g;
    neg.f64 ng1, g1;
    fma.rn.f64 r, ng1, g1, operand;
"""


def _root(type: str, rounding: str, operand: str, out: str = "d") -> str:
    """``out`` is the root of ``operand``."""
    body = (_ROOT32 if type == "f32" else _ROOT64).replace("operand", operand)
    h = "h1" if type == "f32" else "h"
    if rounding == "rn":
        return f"{body} fma.rn.{type} {out}, r, {h}, g1;"
    return f"""
        {body}
        .reg .{type} g2, ng2, r2;
        fma.rn.{type} g2, r, {h}, g1;
        neg.{type} ng2, g2;
        fma.rn.{type} r2, ng2, g2, {operand};
        fma.{rounding}.{type} {out}, r2, {h}, g2;
    """


def _quick32(rounding: str, ftz: str) -> str:
    """From 2**-101 to the largest number, by the pattern."""
    return f"""
        .reg .b32 bits, above; .reg .pred good;
        mov.b32 bits, a;
        add.s32 above, bits, 0xF3000000;
        setp.lt.u32 good, above, 0x72800000;
        {_root("f32", rounding, "a")}
        @good bra DONE;
        call.uni (d), $sqrt_{rounding}{ftz}_f32, (a);
    DONE:
    """


def _quick64(rounding: str) -> str:
    """From 2**-960 to the largest number, by the upper word."""
    return f"""
        .reg .b32 upper, above; .reg .pred good;
        mov.b64 {{_, upper}}, a;
        add.s32 above, upper, 0xFC100000;
        setp.lt.u32 good, above, 0x7C000000;
        {_root("f64", rounding, "a")}
        @good bra DONE;
        call.uni (d), $sqrt_{rounding}_f64, (a);
    DONE:
    """


def _function32(name: str) -> str:
    """Small numbers times 2**64; zeros, infinities, NaNs and negative numbers, for which the iteration gives NaN, are
    what sqrt.approx is exact for."""
    _, rounding, *flush = name[1:].split("_")
    ftz = ".ftz" if flush[0] == "ftz" else ""
    return f"""
    .func (.reg .f32 d) {name}(.reg .f32 a)
    {{
        .reg .f32 scaled, found, special, back; .reg .pred number;
        mul.rn{ftz}.f32 scaled, a, 0f5F800000;
        {_root("f32", rounding, "scaled", "found")}
        sqrt.approx.ftz.f32 special, scaled;
        setp.num.f32 number, found, found;
        mul.rn.f32 back, found, 0f2F800000;
        selp.f32 d, back, special, number;
        ret;
    }}
    """


def _function64(name: str) -> str:
    """Small numbers times 2**108; for zeros, infinities, NaNs and negative numbers the iteration gives NaN, which is
    wrong for zeros and the positive infinity."""
    rounding = name[1:].split("_")[1]
    return f"""
    .func (.reg .f64 d) {name}(.reg .f64 a)
    {{
        .reg .f64 scaled, found, back; .reg .pred own;
        mul.rn.f64 scaled, a, 0d46B0000000000000;
        {_root("f64", rounding, "scaled", "found")}
        mul.rn.f64 back, found, 0d3C90000000000000;
        setp.eq.f64 own, a, 0d0000000000000000;
        setp.eq.or.f64 own, a, 0d7FF0000000000000, own;
        selp.f64 d, a, back, own;
        ret;
    }}
    """


_ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {
    **{f"$sqrt_{rounding}{ftz}_f32": _function32 for rounding in _ROUNDINGS for ftz in ("", "_ftz")},
    **{f"$sqrt_{rounding}_f64": _function64 for rounding in _ROUNDINGS},
}

#: Subnormal operands are made 2**24 times larger.
_ENLARGED32: Final = """
    .reg .f32 x; .reg .pred small;
    setp.lt.f32 small, a, 0f00800000;
    mov.f32 x, a;
    @small mul.rn.f32 x, x, 0f4B800000;
    {name}.approx.ftz.f32 d, x;
    @small mul.rn.f32 d, d, {down};
"""
#: A cubic step from the upper word; ``d`` is 1 / sqrt(operand).
_RECIPROCAL64: Final = """
    .reg .f64 s0, t, nx, e, p, w;
    rsqrt.approx.ftz.f64 s0, operand;
    mul.rn.f64 t, s0, s0;
    neg.f64 nx, operand;
    fma.rn.f64 e, nx, t, 0d3FF0000000000000;
    fma.rn.f64 p, e, 0d3FD8000000000000, 0d3FE0000000000000;
    mul.rn.f64 w, s0, e;
    fma.rn.f64 d, p, w, s0;
"""
_QUICK_RECIPROCAL64: Final = """
    .reg .b32 upper, above; .reg .pred good;
    mov.b64 {_, upper}, a;
    add.s32 above, upper, 0xFFF00000;
    setp.lt.u32 good, above, 0x7FE00000;
""" + _RECIPROCAL64.replace("operand", "a") + """
    @good bra DONE;
    call.uni (d), $rsqrt_f64, (a);
DONE:
"""  # fmt: skip


def _reciprocal_function(name: str) -> str:
    """Operands 2**108 times larger; what the estimate is exact for (zeros, infinities, NaNs) has no further step."""
    body = _RECIPROCAL64.replace("operand", "x").replace(" d,", " found,")
    return f"""
    .func (.reg .f64 d) {name}(.reg .f64 a)
    {{
        .reg .f64 x, found, size, back; .reg .pred regular;
        mul.rn.f64 x, a, 0d46B0000000000000;
        {body}
        mul.rn.f64 back, found, 0d4350000000000000;
        setp.num.f64 regular, found, found;
        selp.f64 d, back, s0, regular;
        ret;
    }}
    """


FUNCTIONS["$rsqrt_f64"] = _reciprocal_function


def square_root(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``sqrt``; ``sqrt.approx.ftz.f32`` is a machine instruction."""
    assert opcode.type is not None
    if opcode.approx:
        if opcode.ftz:
            return None
        return rule("f32 f32", _ENLARGED32.format(name="sqrt", down="0f39800000"))
    if opcode.type.name == "f64":
        return rule("f64 f64", _quick64(opcode.rounding))
    return rule("f32 f32", _quick32(opcode.rounding, "_ftz" if opcode.ftz else ""))


def reciprocal_root(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``rsqrt``; those with ``.ftz`` are machine instructions."""
    assert opcode.type is not None
    if opcode.ftz:
        return None
    if opcode.type.name == "f64":
        return rule("f64 f64", _QUICK_RECIPROCAL64)
    return rule("f32 f32", _ENLARGED32.format(name="rsqrt", down="0f45800000"))
