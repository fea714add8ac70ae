"""``div`` and ``rem`` of integers, exact for every operand; by zero ``div`` gives all ones and ``rem`` the dividend.

A reciprocal of the divisor, scaled by 2**32 or 2**64 and never too large, comes from ``rcp.approx`` and is made longer
by Newton steps in integers; the quotient that it gives is at most 2 too small (Robison, "N-bit unsigned division via
N-bit multiply-add", ARITH 2005; the error bounds stand beside the code). By constants: multiply by the upper word of
2**n / d (Granlund and Montgomery, PLDI 1994; Warren, Hacker's Delight chapter 10).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import Immediate, Instruction, Operand
from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import Template
from drawloom.sass.expand.rules import Rule

#: q0 <= 2**32 / b with b rounded up and the reciprocal made 2 units smaller than it can be wrong by; the relative
#: error of v0 is below 2**-21, so that v falls short of 2**32 / b by less than 2, and q of a / b by less than 3.
_ESTIMATE32: Final = """
    .reg .f32 f, y, z; .reg .b32 i, j, n, v0, e, v;
    cvt.rp.f32.u32 f, y_b;
    rcp.approx.ftz.f32 y, f;
    mov.b32 i, y;
    add.s32 j, i, 0x0FFFFFFE;
    mov.b32 z, j;
    cvt.rzi.u32.f32 v0, z;
    neg.s32 n, y_b;
    mul.lo.u32 e, v0, n;
    mad.hi.u32 v, v0, e, v0;
"""
_QUOTIENT32: Final = """
    .reg .b32 q, r; .reg .pred p1, p2;
    mul.hi.u32 q, y_a, v;
    mad.lo.u32 r, q, n, y_a;
    setp.ge.u32 p1, r, y_b;
    @p1 sub.u32 r, r, y_b;
    @p1 add.u32 q, q, 1;
    setp.ge.u32 p2, r, y_b;
    @p2 add.u32 q, q, 1;
"""
#: Taking the smaller of r and r - b, which wraps when r < b, needs no predicate.
_REMAINDER32: Final = """
    .reg .b32 q, r0, r1, r2, r3, r;
    mul.hi.u32 q, y_a, v;
    mad.lo.u32 r0, q, n, y_a;
    sub.u32 r1, r0, y_b;
    min.u32 r2, r0, r1;
    sub.u32 r3, r2, y_b;
    min.u32 r, r2, r3;
"""
_MAGNITUDES32: Final = ".reg .b32 y_a, y_b; abs.s32 y_a, a; abs.s32 y_b, b;"


def _direct(body: str) -> str:
    """A piece for operands that are their own magnitudes."""
    return body.replace("y_a", "a").replace("y_b", "b")


_ZERO32: Final = ".reg .pred nz; setp.ne.s32 nz, b, 0;"
_BODIES: Final[dict[str, str]] = {
    "div.u32": _direct(_ESTIMATE32 + _QUOTIENT32) + _ZERO32 + "selp.b32 d, q, -1, nz;",
    "rem.u32": _direct(_ESTIMATE32 + _REMAINDER32) + "mov.b32 d, r;",
    "div.s32": _MAGNITUDES32 + _ESTIMATE32 + _QUOTIENT32 + _ZERO32 + """
        .reg .b32 x; .reg .pred minus;
        xor.b32 x, a, b;
        setp.lt.s32 minus, x, 0;
        @minus neg.s32 q, q;
        selp.b32 d, q, -1, nz;
    """,
    "rem.s32": _MAGNITUDES32 + _ESTIMATE32 + _REMAINDER32 + """
        .reg .pred minus; .reg .b32 w;
        setp.lt.s32 minus, a, 0;
        neg.s32 w, r;
        selp.b32 d, w, r, minus;
    """,
}  # fmt: skip

#: (a + 1/2) / b is at least 1 / (2 b) away from every integer, and the error is below 2**-22 of it; 0 divides to
#: infinity, which converts to all ones.
_QUOTIENT_U16: Final = """
    .reg .f32 x, h, w, y, f; .reg .b32 q;
    cvt.rn.f32.u16 x, a;
    add.rn.f32 h, x, 0f3F000000;
    cvt.rn.f32.u16 w, b;
    rcp.approx.ftz.f32 y, w;
    mul.rn.f32 f, h, y;
    cvt.rzi.u32.f32 q, f;
"""
#: The reciprocal is made larger by 2**-18, more than its error, so that exact quotients are not cut short; other
#: quotients are at least 2**-15 of themselves below the next integer.
_QUOTIENT_S16: Final = """
    .reg .f32 x, w, y, h, f; .reg .b32 q0, q; .reg .pred nz;
    cvt.rn.f32.s16 x, a;
    cvt.rn.f32.s16 w, b;
    rcp.approx.ftz.f32 y, w;
    mul.rn.f32 h, y, 0f3F800020;
    mul.rn.f32 f, x, h;
    cvt.rzi.s32.f32 q0, f;
    setp.ne.f32 nz, w, 0f00000000;
    selp.b32 q, q0, -1, nz;
"""
_TO_REMAINDER16: Final = """
    .reg .b16 s, t;
    cvt.u16.u32 s, q;
    mul.lo.u16 t, s, b;
    sub.u16 d, a, t;
"""
_BODIES16: Final[dict[str, str]] = {
    "div.u16": _QUOTIENT_U16 + "cvt.u16.u32 d, q;",
    "div.s16": _QUOTIENT_S16 + "cvt.u16.u32 d, q;",
    "rem.u16": _QUOTIENT_U16 + _TO_REMAINDER16,
    "rem.s16": _QUOTIENT_S16 + _TO_REMAINDER16,
}

#: As for 32 bits, with a second Newton step: |x - v0| <= x 2**-21 + 1 for x = 2**64 / b, each step squares it (over x)
#: and cuts off less than 1, so that v falls short of x by less than 2.
_WIDE: Final = """
    .reg .f32 f, y, z; .reg .b32 i, j; .reg .b64 n, v0, v1, v, e0, e1, h0, h1, q, r; .reg .pred p1, p2;
    cvt.rp.f32.u64 f, y_b;
    rcp.approx.ftz.f32 y, f;
    mov.b32 i, y;
    add.s32 j, i, 0x1FFFFFFE;
    mov.b32 z, j;
    cvt.rzi.u64.f32 v0, z;
    neg.s64 n, y_b;
    mul.lo.u64 e0, v0, n;
    mul.hi.u64 h0, v0, e0;
    add.u64 v1, v0, h0;
    mul.lo.u64 e1, v1, n;
    mul.hi.u64 h1, v1, e1;
    add.u64 v, v1, h1;
    mul.hi.u64 q, y_a, v;
    mad.lo.u64 r, q, n, y_a;
    setp.ge.u64 p1, r, y_b;
    @p1 sub.u64 r, r, y_b;
"""
_WIDE_ENDS: Final[dict[str, str]] = {
    "div": """
        @p1 add.u64 q, q, 1;
        setp.ge.u64 p2, r, y_b;
        @p2 add.u64 q, q, 1;
    """,
    "rem": """
        setp.ge.u64 p2, r, y_b;
        @p2 sub.u64 r, r, y_b;
    """,
}


def _wide_function(name: str) -> str:
    """``$div_u64`` and its like: 32-bit division where both magnitudes have no upper word."""
    operation, type = name[1:].split("_")
    is_signed = type == "s64"
    remainder = operation == "rem"
    magnitudes = "abs.s64 y_a, a; abs.s64 y_b, b;" if is_signed else "mov.b64 y_a, a; mov.b64 y_b, b;"
    short = (_ESTIMATE32 + (_REMAINDER32 if remainder else _QUOTIENT32)).replace("y_a", "a0").replace("y_b", "b0")
    long = _WIDE + _WIDE_ENDS[operation]
    sign = ""
    if is_signed:
        sign = ".reg .pred minus; " + ("mov.b64 x, a;" if remainder else "xor.b64 x, a, b;")
        sign += "setp.lt.s64 minus, x, 0; @minus neg.s64 m, m;"
    last = "mov.b64 d, m;" if remainder else "setp.ne.s64 nz, b, 0; selp.b64 d, m, -1, nz;"
    result = "r" if remainder else "q"
    return f"""
    .func (.reg .b64 d) {name}(.reg .b64 a, .reg .b64 b)
    {{
        .reg .b64 y_a, y_b, m, x; .reg .b32 a0, a1, b0, b1, either, s; .reg .pred wide, nz;
        {magnitudes}
        mov.b64 {{a0, a1}}, y_a;
        mov.b64 {{b0, b1}}, y_b;
        or.b32 either, a1, b1;
        setp.ne.s32 wide, either, 0;
        @wide bra WIDE;
        {{ {short} mov.b32 s, {result}; }}
        mov.b64 m, {{s, 0}};
        bra DONE;
    WIDE:
        {{ {long} mov.b64 m, {result}; }}
    DONE:
        {sign}
        {last}
        ret;
    }}
    """


FUNCTIONS: Final[dict[str, Callable[[str], str]]] = dict.fromkeys(
    ("$div_u64", "$div_s64", "$rem_u64", "$rem_s64"), _wide_function
)


class DivisionRule(Rule):
    """Division by a register, or by a constant."""

    def __init__(self, template: Template, opcode: Opcode) -> None:
        super().__init__(template)
        assert opcode.type is not None
        self.name = opcode.name
        self.type = opcode.type.name
        self.by_constant: dict[int, Template] = {}

    def choose(self, instruction: Instruction) -> tuple[Template, list[Operand]]:
        divisor = instruction.operands[2]
        if not isinstance(divisor, Immediate):
            return self.template, instruction.operands[1:]
        known = self.by_constant.get(divisor.value)
        if known is None:
            if len(self.by_constant) > _MAX_CONSTANTS:
                self.by_constant.clear()
            known = Template([self.type, self.type], constant_body(self.name, self.type, divisor.value))
            self.by_constant[divisor.value] = known
        return known, instruction.operands[1:2]


_MAX_CONSTANTS: Final = 1024


def divide(opcode: Opcode) -> Rule:
    """The rule for ``div`` and ``rem`` of an integer type."""
    assert opcode.type is not None
    type = opcode.type.name
    key = f"{opcode.name}.{type}"
    if opcode.type.bits == 64:
        body = f"call.uni (d), ${opcode.name}_{type}, (a, b);"
    else:
        body = _BODIES16[key] if opcode.type.bits == 16 else _BODIES[key]
    return DivisionRule(Template([type, type, type], body), opcode)


# -- constants ---------------------------------------------------------------------------------------------


def constant_body(name: str, type: str, divisor: int) -> str:
    """``d`` is ``a`` divided by ``divisor``, or its remainder; ``type`` is that of ``a`` and ``d``."""
    bits = int(type[1:])
    is_signed = type[0] == "s"
    divisor &= (1 << bits) - 1
    if is_signed and divisor >> bits - 1:
        divisor -= 1 << bits
    if bits == 16:
        return _narrow_constant(name, is_signed, divisor)
    quotient = _signed_constant(bits, divisor) if is_signed else _unsigned_constant(bits, divisor)
    if name == "div":
        return f"{quotient} mov.b{bits} d, q;"
    if divisor == 0:
        return f"mov.b{bits} d, a;"
    if not is_signed and divisor & divisor - 1 == 0:
        return f"and.b{bits} d, a, {divisor - 1};"
    return f"{quotient} mad.lo.s{bits} d, q, {_literal(-divisor, bits)}, a;"


def _narrow_constant(name: str, is_signed: bool, divisor: int) -> str:
    """16 bits by way of 32."""
    if divisor == 0:
        return "mov.b16 d, -1;" if name == "div" else "mov.b16 d, a;"
    sign = "s" if is_signed else "u"
    body = constant_body(name, f"{sign}32", divisor)
    inner = re.sub(r"\bd\b", "narrow", re.sub(r"\ba\b", "wide", body))
    return f".reg .b32 wide, narrow; cvt.{sign}32.{sign}16 wide, a; {inner} cvt.u16.u32 d, narrow;"


def _literal(value: int, bits: int) -> int:
    """``value`` as the signed number of ``bits`` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _unsigned_constant(bits: int, divisor: int) -> str:
    """``q`` is ``a`` over ``divisor``."""
    declare = f".reg .b{bits} q, t, u, w;"
    if divisor == 0:
        return f"{declare} mov.b{bits} q, -1;"
    if divisor & divisor - 1 == 0:
        return f"{declare} shr.u{bits} q, a, {divisor.bit_length() - 1};"
    multiplier, shift = _multiplier(bits, bits, divisor)
    if multiplier < 1 << bits:
        return f"{declare} mul.hi.u{bits} t, a, {_literal(multiplier, bits)}; shr.u{bits} q, t, {shift};"
    zeros = (divisor & -divisor).bit_length() - 1
    if zeros:
        # What is left of the dividend after the even part of the divisor has fewer bits.
        multiplier, shift = _multiplier(bits, bits - zeros, divisor >> zeros)
        return (
            f"{declare} shr.u{bits} w, a, {zeros}; mul.hi.u{bits} t, w, {_literal(multiplier, bits)}; "
            f"shr.u{bits} q, t, {shift};"
        )
    # The multiplier has one bit more than a word: floor((a + mulhi) / 2) without losing the carry.
    return (
        f"{declare} .reg .b{bits} s; mul.hi.u{bits} t, a, {_literal(multiplier, bits)}; sub.u{bits} u, a, t; "
        f"shr.u{bits} w, u, 1; add.u{bits} s, w, t; shr.u{bits} q, s, {shift - 1};"
    )


def _multiplier(bits: int, dividend_bits: int, divisor: int) -> tuple[int, int]:
    """The smallest ``(m, s)`` with ``floor(a m / 2**(bits + s)) == floor(a / divisor)`` for all dividends."""
    for shift in range(divisor.bit_length() + 1):
        multiplier = -(-(1 << bits + shift) // divisor)
        if multiplier * divisor - (1 << bits + shift) << dividend_bits <= 1 << bits + shift:
            return multiplier, shift
    raise AssertionError("a divisor has a multiplier")


def _signed_constant(bits: int, divisor: int) -> str:
    """``q`` is ``a`` over ``divisor``, truncated."""
    declare = f".reg .b{bits} q, t, u, w, x;"
    magnitude = abs(divisor)
    last = bits - 1
    if divisor == 0:
        return f"{declare} mov.b{bits} q, -1;"
    if magnitude == 1:
        return f"{declare} {'mov.b' if divisor == 1 else 'neg.s'}{bits} q, a;"
    if magnitude & magnitude - 1 == 0:
        power = magnitude.bit_length() - 1
        rounded = f"shr.s{bits} t, a, {last}; shr.u{bits} u, t, {bits - power}; add.s{bits} w, a, u;"
        if divisor > 0:
            return f"{declare} {rounded} shr.s{bits} q, w, {power};"
        return f"{declare} {rounded} shr.s{bits} x, w, {power}; neg.s{bits} q, x;"
    multiplier, shift = _multiplier(bits, bits - 1, magnitude)
    product = f"mul.hi.s{bits} t, a, {_literal(multiplier, bits)};"
    if multiplier >> last:
        # The multiplier was read as a negative number.
        product += f" add.s{bits} w, t, a;"
    else:
        product += f" mov.b{bits} w, t;"
    shifted = f"shr.s{bits} x, w, {shift};" if shift else f"mov.b{bits} x, w;"
    # One more where the quotient is negative: rounding down becomes rounding to zero.
    if divisor > 0:
        return f"{declare} {product} {shifted} shr.u{bits} u, a, {last}; add.s{bits} q, x, u;"
    return f"{declare} {product} {shifted} shr.s{bits} u, a, {last}; sub.s{bits} q, u, x;"
