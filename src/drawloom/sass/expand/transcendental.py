"""``lg2``, ``ex2`` and ``tanh`` ``.approx`` in terms of what the special function unit has.

``lg2`` and ``ex2.approx.ftz.f32``, and from sm_75 on ``tanh.approx.f32`` and the f16 forms, are machine instructions;
``sin`` and ``cos`` are so with and without ``.ftz``, as their error is an absolute one. What is left: subnormal
operands and results (PTX ISA 9.0 sections 9.7.3.20 and 9.7.3.21), and pairs of halves.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.sass.expand.rules import Rule, rule

#: A subnormal operand is made 2**100 times larger, so that the error of its logarithm is small beside 100.
_LOGARITHM: Final = """
    .reg .f32 x; .reg .pred small;
    setp.lt.f32 small, a, 0f00800000;
    mov.f32 x, a;
    @small mul.rn.f32 x, x, 0f71800000;
    lg2.approx.ftz.f32 d, x;
    @small add.rn.f32 d, d, 0fC2C80000;
"""
#: Where the result is subnormal, 2**(a + 24) is computed (the sum is exact) and scaled back with one rounding.
_POWER: Final = """
    .reg .f32 x; .reg .pred small;
    setp.lt.f32 small, a, 0fC2FC0000;
    mov.f32 x, a;
    @small add.rn.f32 x, x, 0f41C00000;
    ex2.approx.ftz.f32 d, x;
    @small mul.rn.f32 d, d, 0f33800000;
"""


def _pair(name: str, half: str) -> str:
    """Both halves of a word, one after the other."""
    return f"""
        .reg .b16 low, high, y_low, y_high;
        mov.b32 {{low, high}}, a;
        {name}.{half} y_low, low;
        {name}.{half} y_high, high;
        mov.b32 d, {{y_low, y_high}};
    """


def _halves(opcode: Opcode) -> Rule | None:
    """The rule for a packed type; the scalar ones are machine instructions."""
    assert opcode.type is not None
    if opcode.type.lanes == 1:
        return None
    name = ".".join([opcode.name, *opcode.modifiers])
    return rule("b32 b32", _pair(name, opcode.type.name.removesuffix("x2")))


def logarithm(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``lg2``."""
    return None if opcode.ftz else rule("f32 f32", _LOGARITHM)


def power(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``ex2``."""
    assert opcode.type is not None
    if opcode.type.name != "f32":
        return _halves(opcode)
    return None if opcode.ftz else rule("f32 f32", _POWER)


def tangent(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``tanh``."""
    assert opcode.type is not None
    return None if opcode.type.name == "f32" else _halves(opcode)
