"""Selection of arithmetic on halves: f16 and bf16, alone in the low half of a register or two in one.

The machine works on pairs; a scalar is taken from the low half of its register as `R.H0_H0`, and what then stands in
the upper half of the result nobody reads.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.ptx.types import Type
from drawloom.sass.select.integer import NO_PREDICATE, target_register
from drawloom.sass.select.operands import FALSE, REGISTER, TRUE, ZERO, Src, imm, invert, neg, pred, reg
from drawloom.sass.select.selector import Selector

#: 1.0 as the only bits of a result of ``set``.
ONES: Final[dict[str, int]] = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def is_half(type: Type) -> bool:
    """Whether this file selects operations of a type."""
    return type.name in ("f16", "f16x2", "bf16", "bf16x2")


def lanes(s: Selector, operand: Operand, type: Type, magnitude: bool = False) -> Src:
    """An operand: the low half twice, or both halves; or their absolute values."""
    word = s.register_word(operand)
    text = "|R|" if magnitude else "R"
    return Src(text if type.lanes == 2 else text + ".H0_H0", word.values, REGISTER)


def mnemonic(base: str, type: Type, *modifiers: str) -> str:
    return base + (".BF16_V2" if type.name.startswith("bf16") else "") + "".join(modifiers)


def ending(i: Instruction) -> str:
    return (".FTZ" if i.opcode.ftz else "") + (".SAT" if i.opcode.sat else "")


def add(s: Selector, i: Instruction) -> None:
    """``add`` and ``sub``."""
    type = i.opcode.types[0]
    a, b = lanes(s, i.operands[1], type), lanes(s, i.operands[2], type)
    out = reg(s.home(target_register(i)))
    s.emit(mnemonic("HADD2", type, ending(i)), [out, a, neg(b) if i.opcode.name == "sub" else b])


def mul(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    a, b = lanes(s, i.operands[1], type), lanes(s, i.operands[2], type)
    s.emit(mnemonic("HMUL2", type, ending(i)), [reg(s.home(target_register(i))), a, b])


def fma(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    sources = [lanes(s, o, type) for o in i.operands[1:4]]
    more = (".OOB" if i.opcode.has("oob") else "") + (".RELU" if i.opcode.relu else "")
    s.emit(mnemonic("HFMA2", type, ending(i), more), [reg(s.home(target_register(i))), *sources])


def sign(s: Selector, i: Instruction) -> None:
    """``neg`` and ``abs``: of the sign bits alone, unless subnormal numbers have to go."""
    type = i.opcode.types[0]
    out = reg(s.home(target_register(i)))
    absolute = i.opcode.name == "abs"
    if i.opcode.ftz:
        a = lanes(s, i.operands[1], type, absolute)
        s.emit(mnemonic("HADD2.FTZ", type), [out, a if absolute else neg(a), Src("-R.H0_H0", [255], REGISTER)])
        return
    mask, lut = (0x7FFF7FFF, 0xC0) if absolute else (0x80008000, 0x3C)  # a & b, a ^ b
    s.emit("LOP3.LUT", [out, s.register_word(i.operands[1]), imm(mask), ZERO, imm(lut), FALSE])


def minimum(s: Selector, i: Instruction) -> None:
    """``min`` and ``max``."""
    opcode = i.opcode
    type = opcode.types[0]
    a, b = [lanes(s, o, type, opcode.has("abs")) for o in i.operands[1:3]]
    more = (".FTZ" if opcode.ftz else "") + (".NAN" if opcode.nan else "")
    more += ".XORSIGN" if opcode.has("xorsign") else ""
    which = TRUE if opcode.name == "min" else FALSE
    s.emit(mnemonic("HMNMX2", type, more), [reg(s.home(target_register(i))), a, b, which])


def function(s: Selector, i: Instruction, name: str) -> None:
    """``ex2`` and ``tanh``, one half at a time."""
    type = i.opcode.types[0]
    out = reg(s.home(target_register(i)))
    word = s.register_word(i.operands[1])
    unit = f"MUFU.{name}.{type.name.removesuffix('x2').upper()}"
    if type.lanes == 1:
        s.emit(unit, [out, word])
        return
    low, high = reg(s.fresh()), reg(s.fresh())
    s.emit(unit, [low, word])
    s.emit(unit, [high, Src("R.H1", word.values, REGISTER)])
    s.emit("PRMT", [out, low, imm(0x5410), high])


# -- comparison --------------------------------------------------------------------------------------------


def set_predicate(s: Selector, i: Instruction, relation: str, combine: str, other: Src) -> None:
    """``setp``: of two halves each has a predicate of its own."""
    type = i.opcode.types[-1]
    target = i.operands[0]
    wanted = [target.first, target.second] if isinstance(target, Pair) else [target, None]
    outs = [pred(s.home(o)) if isinstance(o, Register) else NO_PREDICATE for o in wanted]
    compare(s, i, type, outs, relation, combine, other)


def compare(s: Selector, i: Instruction, type: Type, outs: list[Src], relation: str, combine: str, other: Src) -> None:
    """Compare operands 1 and 2 into the predicates of the low and the high half."""
    a, b = lanes(s, i.operands[1], type), lanes(s, i.operands[2], type)
    ftz = ".FTZ" if i.opcode.ftz else ""
    s.emit(mnemonic("HSETP2", type, f".{relation}{ftz}.{combine}"), [*outs, a, b, other])


def set_value(s: Selector, i: Instruction, relation: str, combine: str, other: Src) -> None:
    """``set`` of halves: all ones or 1.0 in each half that the result has."""
    result, type = i.opcode.types[0], i.opcode.types[1]
    out = reg(s.home(target_register(i)))
    ftz = ".FTZ" if i.opcode.ftz else ""
    if type.lanes == 2 or result is type or (result.bits == 16 and not result.is_float):
        a, b = lanes(s, i.operands[1], type), lanes(s, i.operands[2], type)
        as_float = ".BF" if result.is_float else ""
        s.emit(mnemonic("HSET2", type, f"{as_float}.{relation}{ftz}.{combine}"), [out, a, b, other])
        return
    holds = pred(s.fresh_predicate())
    compare(s, i, type, [holds, NO_PREDICATE], relation, combine, other)
    value = ONES[result.name] if result.is_float else 0xFFFFFFFF
    s.emit("SEL", [out, ZERO, imm(value), invert(holds)])
