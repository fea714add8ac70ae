"""Selection of arithmetic on floats: singles and doubles here, halves in half.py."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register
from drawloom.ptx.types import Type
from drawloom.sass.select import half
from drawloom.sass.select.operands import (
    CONSTANT,
    FALSE,
    IMMEDIATE,
    REGISTER,
    TRUE,
    ZERO,
    Src,
    absolute,
    fimm,
    imm,
    neg,
    pred,
    reg,
)
from drawloom.sass.select.selector import HANDLERS, Selector, float_bits

_ROUNDINGS: Final[dict[str, str]] = {"": "", "rn": "", "rz": ".RZ", "rm": ".RM", "rp": ".RP"}


def target_register(i: Instruction) -> Register:
    register = i.operands[0]
    assert isinstance(register, Register)
    return register


def float_word(s: Selector, operand: Operand, bits: int, part: int) -> Src:
    """A word of a float operand; literals take the type's format."""
    if isinstance(operand, Immediate):
        value = float_bits(operand, bits) >> 32 * part & 0xFFFFFFFF
        return ZERO if value == 0 else imm(value)
    return s.word(operand, part)


def single(s: Selector, operand: Operand) -> Src:
    """A single as an operand of a float instruction."""
    word = float_word(s, operand, 32, 0)
    return fimm(word.values[0] & 0xFFFFFFFF) if word.kind == IMMEDIATE else word


def float_pair(s: Selector, operand: Operand) -> int:
    """A double in a pair of registers."""
    if isinstance(operand, Immediate):
        operand = Immediate(float_bits(operand, 64))
    return s.pair(operand)


def double(s: Selector, operand: Operand) -> Src:
    """A double as an operand: a pair, or two words of a bank; of literals whose lower word is 0 the upper one."""
    if isinstance(operand, Immediate):
        operand = Immediate(float_bits(operand, 64))
    number = s.number_of(operand)
    if number == 0:
        return ZERO
    if number is None and isinstance(operand, Register):
        at = s.banks[s.origin(operand).id]
        if at >= 0:
            return Src("c[I][I]", [0, at], CONSTANT)
    return reg(s.pair(operand))


def suffix(i: Instruction) -> str:
    opcode = i.opcode
    return (".FTZ" if opcode.ftz else "") + _ROUNDINGS[opcode.rounding] + (".SAT" if opcode.sat else "")


def ordered(a: Src, b: Src) -> tuple[Src, Src]:
    return (b, a) if a.kind != REGISTER and b.kind == REGISTER else (a, b)


def double_in_registers(s: Selector, operand: Operand) -> Src:
    source = double(s, operand)
    return source if source.kind == REGISTER else reg(s.pair(operand))


def add(s: Selector, i: Instruction) -> None:
    """``add`` and ``sub``."""
    type = i.opcode.types[0]
    if half.is_half(type):
        half.add(s, i)
        return
    out = reg(s.home(target_register(i)))
    subtract = i.opcode.name == "sub"
    if type.bits == 64:
        a = double_in_registers(s, i.operands[1])
        b = double(s, i.operands[2])
        s.emit("DADD" + suffix(i), [out, a, neg(b) if subtract else b])
        return
    a, b = single(s, i.operands[1]), single(s, i.operands[2])
    if subtract:
        b = fimm(b.values[0] ^ 0x80000000) if b.kind == IMMEDIATE else neg(b)
    a, b = ordered(a, b)
    s.emit("FADD" + suffix(i), [out, s.in_register(a), b])


def mul(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    if half.is_half(type):
        half.mul(s, i)
        return
    out = reg(s.home(target_register(i)))
    if type.bits == 64:
        s.emit("DMUL" + suffix(i), [out, double_in_registers(s, i.operands[1]), double(s, i.operands[2])])
        return
    a, b = ordered(single(s, i.operands[1]), single(s, i.operands[2]))
    s.emit("FMUL" + suffix(i), [out, s.in_register(a), b])


def fma(s: Selector, i: Instruction) -> None:
    """``fma`` and ``mad``."""
    type = i.opcode.types[0]
    if half.is_half(type):
        half.fma(s, i)
        return
    out = reg(s.home(target_register(i)))
    if type.bits == 64:
        a, b = double_in_registers(s, i.operands[1]), double(s, i.operands[2])
        c = double_in_registers(s, i.operands[3])
        s.emit("DFMA" + suffix(i), [out, a, b, c])
        return
    a, b = ordered(single(s, i.operands[1]), single(s, i.operands[2]))
    s.emit("FFMA" + suffix(i), [out, s.in_register(a), b, single(s, i.operands[3])])


def negate(s: Selector, i: Instruction) -> None:
    """``neg`` of floats; without ``.ftz`` a matter of the sign bit alone."""
    sign(s, i, 0x80000000, 0x3C)  # a ^ b


def absolute_value(s: Selector, i: Instruction) -> None:
    """``abs`` of floats."""
    sign(s, i, 0x7FFFFFFF, 0xC0)  # a & b


def sign(s: Selector, i: Instruction, mask: int, lut: int) -> None:
    type = i.opcode.types[0]
    if half.is_half(type):
        half.sign(s, i)
        return
    out = s.home(target_register(i))
    if type.bits == 32 and i.opcode.ftz:
        word = s.register_word(i.operands[1])
        s.emit("FADD.FTZ", [reg(out), absolute(word) if lut == 0xC0 else neg(word), Src("-R", [255], REGISTER)])
        return
    last = type.bits // 32 - 1
    for part in range(last):
        s.emit("MOV", [reg(out + part), float_word(s, i.operands[1], type.bits, part)])
    word = s.in_register(float_word(s, i.operands[1], type.bits, last))
    s.emit("LOP3.LUT", [reg(out + last), word, imm(mask), ZERO, imm(lut), FALSE])


def minimum(s: Selector, i: Instruction) -> None:
    """``min`` and ``max`` of singles and doubles."""
    type = i.opcode.types[0]
    if half.is_half(type):
        half.minimum(s, i)
        return
    out = s.home(target_register(i))
    which = TRUE if i.opcode.name == "min" else FALSE
    if type.bits == 32 and len(i.operands) == 3:
        a, b = ordered(single(s, i.operands[1]), single(s, i.operands[2]))
        kind = (".FTZ" if i.opcode.ftz else "") + (".NAN" if i.opcode.nan else "")
        if i.opcode.has("xorsign"):
            a, b = absolute(s.in_register(a)), absolute(s.in_register(b))
            kind += ".XORSIGN"
        s.emit("FMNMX" + kind, [reg(out), s.in_register(a), b, which])
        return
    if type.bits == 64:
        # Of two zeros the sign decides; a NaN gives way to a number.
        a, b = [reg(float_pair(s, o)) for o in i.operands[1:3]]
        less, unordered = pred(s.fresh_predicate()), pred(s.fresh_predicate())
        relation = "LT" if i.opcode.name == "min" else "GT"
        s.emit(f"DSETP.{relation}.AND", [less, NO_PREDICATE, a, b, TRUE])
        s.emit("DSETP.NEU.AND", [unordered, NO_PREDICATE, b, b, TRUE])
        chosen = pred(s.fresh_predicate())
        signs = pred(s.fresh_predicate())
        high = [reg(a.values[0] + 1), reg(b.values[0] + 1)]
        order = "LT" if i.opcode.name == "min" else "GT"
        s.emit("DSETP.EQ.AND", [signs, NO_PREDICATE, a, b, TRUE])
        s.emit(f"ISETP.{order}.AND", [signs, NO_PREDICATE, *high, signs])
        s.emit("PLOP3.LUT", [chosen, NO_PREDICATE, less, unordered, signs, imm(0xFE), imm(0)])
        for part in (0, 1):
            s.emit("SEL", [reg(out + part), reg(a.values[0] + part), reg(b.values[0] + part), chosen])
        return
    raise UnsupportedError(f"'{i.opcode.text}' is not supported by the assembler yet")


NO_PREDICATE: Final = pred(7)

#: Comparisons of floats: ordered ones are false with a NaN, those that end in U true.
RELATIONS: Final[dict[str, str]] = {
    "eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE", "equ": "EQU", "neu": "NEU",
    "ltu": "LTU", "leu": "LEU", "gtu": "GTU", "geu": "GEU", "num": "NUM", "nan": "NAN",
}  # fmt: skip


def compare(s: Selector, i: Instruction, type: Type, outs: list[Src], combine: str, other: Src) -> None:
    relation = RELATIONS[i.opcode.compare]
    a, b = i.operands[1], i.operands[2]
    if type.bits == 64:
        s.emit(f"DSETP.{relation}.{combine}", [*outs, double_in_registers(s, a), double(s, b), other])
        return
    ftz = ".FTZ" if i.opcode.ftz else ""
    s.emit(f"FSETP.{relation}{ftz}.{combine}", [*outs, s.in_register(single(s, a)), single(s, b), other])


#: Functions of the special function unit.
_FUNCTIONS: Final[dict[str, str]] = {
    "rcp": "RCP", "rsqrt": "RSQ", "sqrt": "SQRT", "lg2": "LG2", "ex2": "EX2", "tanh": "TANH",
}  # fmt: skip
_INVERSE_OF_TWO_PI: Final = 0x3E22F983


def function(s: Selector, i: Instruction) -> None:
    """``rcp.approx.ftz`` and its kin; doubles in the upper word."""
    type = i.opcode.types[0]
    if half.is_half(type):
        half.function(s, i, _FUNCTIONS[i.opcode.name])
        return
    out = s.home(target_register(i))
    name = _FUNCTIONS[i.opcode.name]
    if type.bits == 64:
        s.emit(f"MUFU.{name}64H", [reg(out + 1), s.in_register(float_word(s, i.operands[1], 64, 1))])
        s.emit("MOV", [reg(out), ZERO])
        return
    s.emit(f"MUFU.{name}", [reg(out), s.in_register(single(s, i.operands[1]))])


def trigonometric(s: Selector, i: Instruction) -> None:
    """``sin`` and ``cos``: the unit takes turns, not radians."""
    out = s.home(target_register(i))
    turns = s.fresh()
    ftz = ".FTZ" if i.opcode.ftz else ""
    s.emit(f"FMUL{ftz}.RZ", [reg(turns), s.in_register(single(s, i.operands[1])), fimm(_INVERSE_OF_TWO_PI)])
    s.emit("MUFU.SIN" if i.opcode.name == "sin" else "MUFU.COS", [reg(out), reg(turns)])


HANDLERS.update({"fma": fma, "sin": trigonometric, "cos": trigonometric, **dict.fromkeys(_FUNCTIONS, function)})
