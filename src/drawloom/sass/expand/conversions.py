"""``cvt`` forms of several steps: saturation, ``.ftz`` between f32 and f64, floats to 8 bits.

Conversions that truncate or extend integers, round, or go between an integer of 16 bits or more and a float are
machine instructions (or one and a mask, which the selector adds).
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.sass.expand.rules import Rule, rule

#: To [+0, 1], NaN to +0, as ``.sat`` of arithmetic does.
_SATURATE: Final[dict[str, str]] = {
    "f16": ".reg .b16 one; mov.b16 one, 0x3C00; mul.rn.sat.f16 d, t, one;",
    "f32": "mul.rn{ftz}.sat.f32 d, t, 0f3F800000;",
    "f64": """
        .reg .f64 u; .reg .pred positive, below;
        setp.gt.f64 positive, t, 0d0000000000000000;
        selp.f64 u, t, 0d0000000000000000, positive;
        setp.lt.f64 below, u, 0d3FF0000000000000;
        selp.f64 d, u, 0d3FF0000000000000, below;
    """,
}


def convert(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``cvt``."""
    if len(opcode.types) != 2:
        return None
    to, source = opcode.types[0], opcode.types[1]
    if to.lanes > 1 or source.lanes > 1 or (to.name not in _SATURATE and not to.is_integer):
        return None
    if to.is_integer:
        if source.is_integer:
            return _clamped(to, source, f"cvt.{_word(source)}.{source.name}") if opcode.sat else None
        if to.bits > 8 or source.bits > 32:
            return None
        modifiers = ".".join([m for m in opcode.modifiers if m != "sat"])
        word = "s32" if to.is_signed else "u32"
        return _clamped(to, source, f"cvt.{modifiers}.{word}.{source.name}")
    return _to_float(opcode, to, source)


def _word(source: Type) -> str:
    """The type of at least 32 bits in which ``source`` is compared."""
    return f"{source.kind}{max(source.bits, 32)}"


def _clamped(to: Type, source: Type, widen: str) -> Rule:
    """``widen`` brings the operand to a word, whose value is brought into the range of ``to``."""
    word = widen.split(".")[-2]
    signed = word[0] == "s"
    low, high = _range(to)
    first, last = _range(source) if source.is_integer else (low - 1 if signed else 0, high + 1)
    steps = f".reg .b{word[1:]} t0, t1, t2; {widen} t0, a;"
    steps += f"max.{word} t1, t0, {low};" if low > first else f"mov.b{word[1:]} t1, t0;"
    steps += f"min.{word} t2, t1, {high};" if high < last else f"mov.b{word[1:]} t2, t1;"
    return rule(f"{_register(to)} {_register(source)}", f"{steps} cvt.{to.name}.{word} d, t2;")


def _range(type: Type) -> tuple[int, int]:
    if type.is_signed:
        return -(1 << type.bits - 1), (1 << type.bits - 1) - 1
    return 0, (1 << type.bits) - 1


def _register(type: Type) -> str:
    """The type of register that a template declares for values of ``type``."""
    if type.is_integer:
        return f"b{max(16, type.bits)}"
    return "b16" if type.bits == 16 else type.name


def _to_float(opcode: Opcode, to: Type, source: Type) -> Rule | None:
    """Flushing and saturating conversions: what the machine converts, and products with 1 for the rest."""
    double = "f64" in (to.name, source.name)
    ftz = opcode.ftz and double and "f32" in (to.name, source.name)
    rounds = opcode.rounding.endswith("i")
    if not ftz and not (opcode.sat and (to is not source or rounds or to.name == "f64")):
        return None
    dropped = ("sat", "ftz") if ftz else ("sat",)
    modifiers = "".join(["." + m for m in opcode.modifiers if m not in dropped])
    steps = f".reg .{_register(source)} s; "
    flush_source = ftz and source.name == "f32"
    steps += "mul.rn.ftz.f32 s, a, 0f3F800000;" if flush_source else ""
    operand = "s" if flush_source else "a"
    steps += f".reg .{_register(to)} t; cvt{modifiers}.{to.name}.{source.name} t, {operand};"
    if opcode.sat:
        steps += _SATURATE[to.name].format(ftz=".ftz" if opcode.ftz and to.name == "f32" else "")
    elif ftz and to.name == "f32":
        steps += "mul.rn.ftz.f32 d, t, 0f3F800000;"
    else:
        steps += f"mov.{_register(to)} d, t;"
    return rule(f"{_register(to)} {_register(source)}", steps)
