"""Selection of conversions: ``cvt`` between integers, between integers and floats, between floats, and packing.

A result is computed in the width of the destination type and then extended to the register, which may be wider.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, SpecialRegister
from drawloom.ptx.types import S32, Type
from drawloom.sass.select.floats import double_in_registers, single
from drawloom.sass.select.integer import NO_PREDICATE, extend, extremum, target_register
from drawloom.sass.select.moves import copy
from drawloom.sass.select.operands import FALSE, REGISTER, TRUE, ZERO, Src, absolute, fimm, imm, invert, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector
from drawloom.sass.select.specials import special_word

_ROUNDINGS: Final[dict[str, str]] = {"": "", "rn": "", "rz": ".RZ", "rm": ".RM", "rp": ".RP"}
_INTEGRAL: Final[dict[str, str]] = {"rni": "", "rzi": ".TRUNC", "rmi": ".FLOOR", "rpi": ".CEIL"}
_INFINITY: Final = 0x7F800000
_ONE: Final = 0x3FF0000000000000
MINUS_ZERO: Final = Src("-R", [255], REGISTER)
MINUS_ZERO_HALF: Final = Src("-R.H0_H0", [255], REGISTER)


def convert(s: Selector, i: Instruction) -> None:
    """``cvt``."""
    to, source = i.opcode.types[0], i.opcode.types[1]
    if to.lanes == 2 or source.lanes == 2:
        pack_floats(s, i)
    elif to.is_float and source.is_float:
        convert_float(s, i, to, source)
    elif to.is_float:
        float_of_integer(s, i, to, source)
    elif source.is_float:
        integer_of_float(s, i, to, source)
    else:
        convert_integer(s, i, to, source)


# -- results -----------------------------------------------------------------------------------------------


def result(s: Selector, register: Register, type: Type) -> int:
    """Where a value of this type is computed: the register's home if that is not wider, else a new register."""
    return s.home(register) if register.type.bits == type.bits else s.fresh(max(1, type.bits // 32))


def finish(s: Selector, register: Register, value: int, type: Type) -> None:
    """Put a value of this type, computed at `result(...)`, into a register that may be wider."""
    if register.type.bits != type.bits:
        widen(s, register, reg(value), type.bits, type.is_signed)


def widen(s: Selector, register: Register, low: Src, bits: int, signed: bool) -> None:
    """The low ``bits`` of a word, extended to all of a register."""
    out = s.home(register)
    if bits < min(register.type.bits, 32):
        extend(s, out, s.in_register(low), bits, signed)
    else:
        s.emit("MOV", [reg(out), low])
    if register.type.bits == 64:
        if signed:
            s.emit("SHF.R.S32.HI", [reg(out + 1), ZERO, imm(31), reg(out)])
        else:
            s.emit("MOV", [reg(out + 1), ZERO])


def source_word(s: Selector, operand: Operand, part: int = 0) -> Src:
    """A word of an integer operand, which may be a special register."""
    if isinstance(operand, SpecialRegister):
        return special_word(s, operand.name, part)
    return s.word(operand, part)


# -- between integers --------------------------------------------------------------------------------------


def convert_integer(s: Selector, i: Instruction, to: Type, source: Type) -> None:
    """Widening repeats the source's sign or zeros; narrowing cuts, or stops at the ends of the range (``.sat``)."""
    register, operand = target_register(i), i.operands[1]
    number = s.number_of(operand)
    if number is not None:
        copy(s, register, Immediate(converted(number, to, source, i.opcode.sat, register.type.bits)))
    elif i.opcode.sat:
        saturate_integer(s, register, operand, to, source)
    else:
        resize(s, register, operand, to, source)


def converted(number: int, to: Type, source: Type, sat: bool, bits: int) -> int:
    """What ``cvt`` makes of a constant, as the pattern in a register of so many bits."""
    value = number & (1 << source.bits) - 1
    if source.is_signed and value >> source.bits - 1:
        value -= 1 << source.bits
    low, high = limits(to)
    if sat:
        value = min(max(value, low), high)
    value &= (1 << to.bits) - 1
    if value > high:
        value -= 1 << to.bits
    return value & (1 << bits) - 1


def limits(type: Type) -> tuple[int, int]:
    """The smallest and largest number of an integer type."""
    if type.is_signed:
        return -(1 << type.bits - 1), (1 << type.bits - 1) - 1
    return 0, (1 << type.bits) - 1


def resize(s: Selector, register: Register, operand: Operand, to: Type, source: Type) -> None:
    """Extend from the source's width where that is smaller, then from the destination's to the register's."""
    wanted = register.type.bits
    steps: list[Type] = []
    if source.bits < to.bits:
        steps.append(source)
    if to.bits < wanted and not (steps and (to.is_signed or not source.is_signed)):
        steps.append(to)
    if not steps:
        if isinstance(operand, SpecialRegister):
            for part in range(max(1, wanted // 32)):
                s.emit("MOV", [reg(s.home(register) + part), source_word(s, operand, part)])
        else:
            copy(s, register, operand)
        return
    word = source_word(s, operand)
    if len(steps) == 2:
        narrow = s.fresh()
        extend(s, narrow, s.in_register(word), steps[0].bits, steps[0].is_signed)
        word = reg(narrow)
    widen(s, register, word, steps[-1].bits, steps[-1].is_signed)


def saturate_integer(s: Selector, register: Register, operand: Operand, to: Type, source: Type) -> None:
    """``.sat``: first to 32 bits where the source has 64, then to what is narrower."""
    if to.bits == 64:
        saturate_to_wide(s, register, operand, to, source)
        return
    low, high = limits(to)
    signed = source.is_signed if source.bits <= 32 else source.is_signed and to.is_signed
    bits = min(source.bits, 32)
    bounds: list[tuple[str, int]] = []
    if signed and low > -(1 << bits - 1):
        bounds.append(("max", low))
    if high < (1 << bits - signed) - 1:
        bounds.append(("min", high))
    out = s.home(register)
    if source.bits == 64:
        word = reg(s.fresh() if bounds else out)
        fit_word(s, operand, to.is_signed, source.is_signed, word)
    else:
        word = s.register_word(operand)
        if source.bits < 32:
            full = s.fresh()
            extend(s, full, word, source.bits, signed)
            word = reg(full)
    for place, (which, bound) in enumerate(bounds):
        target = reg(out if place == len(bounds) - 1 else s.fresh())
        extremum(s, which, signed, target, word, imm(bound) if bound else ZERO)
        word = target
    if register.type.bits == 64:
        if to.is_signed:
            s.emit("SHF.R.S32.HI", [reg(out + 1), ZERO, imm(31), reg(out)])
        else:
            s.emit("MOV", [reg(out + 1), ZERO])


def fit_word(s: Selector, operand: Operand, signed: bool, from_signed: bool, out: Src) -> None:
    """The nearest 32-bit number to one of 64 bits; of an unsigned one the nearest unsigned."""
    low, high = s.register_word(operand, 0), s.register_word(operand, 1)
    fits = pred(s.fresh_predicate())
    if not from_signed:
        s.emit("ISETP.EQ.U32.AND", [fits, NO_PREDICATE, high, ZERO, TRUE])
        s.emit("SEL", [out, low, imm(0xFFFFFFFF), fits])
        return
    sign, limit = reg(s.fresh()), reg(s.fresh())
    s.emit("SHF.R.S32.HI", [sign, ZERO, imm(31), high])
    if signed:
        extension = reg(s.fresh())
        s.emit("SHF.R.S32.HI", [extension, ZERO, imm(31), low])
        s.emit("ISETP.EQ.U32.AND", [fits, NO_PREDICATE, high, extension, TRUE])
        s.emit("LOP3.LUT", [limit, sign, imm(0x7FFFFFFF), ZERO, imm(0x3C), FALSE])  # a ^ b
    else:
        s.emit("ISETP.EQ.U32.AND", [fits, NO_PREDICATE, high, ZERO, TRUE])
        s.emit("LOP3.LUT", [limit, ZERO, sign, ZERO, imm(0x33), FALSE])  # ~b
    s.emit("SEL", [out, low, limit, fits])


def saturate_to_wide(s: Selector, register: Register, operand: Operand, to: Type, source: Type) -> None:
    """``.sat`` to 64 bits: negative numbers to 0, or those beyond the largest signed one to that."""
    out = s.home(register)
    if source.bits < 64:
        word = s.register_word(operand)
        if source.bits < 32:
            full = s.fresh()
            extend(s, full, word, source.bits, True)
            word = reg(full)
        extremum(s, "max", True, reg(out), word, ZERO)
        s.emit("MOV", [reg(out + 1), ZERO])
        return
    low, high = s.register_word(operand, 0), s.register_word(operand, 1)
    beyond = pred(s.fresh_predicate())
    s.emit("ISETP.LT.AND", [beyond, NO_PREDICATE, high, ZERO, TRUE])
    limit_low, limit_high = (imm(0xFFFFFFFF), imm(0x7FFFFFFF)) if to.is_signed else (ZERO, ZERO)
    s.emit("SEL", [reg(out), low, limit_low, invert(beyond)])
    s.emit("SEL", [reg(out + 1), high, limit_high, invert(beyond)])


# -- between integers and floats ---------------------------------------------------------------------------


def float_of_integer(s: Selector, i: Instruction, to: Type, source: Type) -> None:
    """Integers to floats; 32-bit ones to singles in the fixed pipe where there is one (sm_86 on)."""
    opcode, register, operand = i.opcode, target_register(i), i.operands[1]
    rounding = _ROUNDINGS[opcode.rounding]
    if source.bits == 64:
        word = reg(s.pair(operand))
    else:
        word = s.in_register(source_word(s, operand))
    out = result(s, register, to)
    made = out if not opcode.sat else s.fresh(max(1, to.bits // 32))
    if to.bits == source.bits == 32 and s.number >= 86 and rounding in ("", ".RZ"):
        s.emit(f"I2FP.F32.{source.name.upper()}{rounding}", [reg(made), word])
    else:
        of = "" if to.name == "f32" else "." + to.name.upper()
        kind = "" if source is S32 else "." + source.name.upper()
        s.emit(f"I2F{of}{kind}{rounding}", [reg(made), word])
    if opcode.sat:
        saturate_float(s, out, made, to, False)
    finish(s, register, out, to)


def integer_of_float(s: Selector, i: Instruction, to: Type, source: Type) -> None:
    """Floats to integers: always to the nearest in range; NaN to 0, or to the top bit where 64 bits are involved."""
    opcode, register = i.opcode, target_register(i)
    ftz = ".FTZ" if opcode.ftz and source.name == "f32" else ""
    kind = "" if to is S32 else "." + to.name.upper()
    of = "" if source.name == "f32" else "." + source.name.upper()
    nan_to_zero = "" if source.bits == 64 or to.bits == 64 else ".NTZ"
    out = result(s, register, to)
    s.emit(f"F2I{ftz}{kind}{of}{_INTEGRAL[opcode.rounding]}{nan_to_zero}", [reg(out), float_source(s, i, source)])
    finish(s, register, out, to)


def float_source(s: Selector, i: Instruction, type: Type, at: int = 1) -> Src:
    """A float operand in registers."""
    operand = i.operands[at]
    if type.bits == 64:
        return double_in_registers(s, operand)
    return s.in_register(single(s, operand)) if type.bits == 32 else s.register_word(operand)


# -- between floats ----------------------------------------------------------------------------------------


def convert_float(s: Selector, i: Instruction, to: Type, source: Type) -> None:
    """One rounding at most; ``.ftz`` is about singles, ``.sat`` is applied to whichever side is cheaper."""
    opcode, register = i.opcode, target_register(i)
    word = float_source(s, i, source)
    if opcode.ftz and source.name == "f32" and to.name != "f32":
        word = flushed(s, word)
    out = result(s, register, to)
    if to.name == "tf32":
        to_tf32(s, i, out, word)
    elif to is source:
        round_in_format(s, i, out, word, to)
    elif opcode.sat and to.bits > source.bits:
        # Every number of the source is one of the destination: clamp the narrow one.
        clamped = s.fresh()
        saturate_float(s, clamped, word.values[0], source, False)
        change_format(s, i, out, reg(clamped), to, source)
    elif opcode.sat or (opcode.ftz and to.name == "f32"):
        made = s.fresh()
        change_format(s, i, made, word, to, source)
        if opcode.sat:
            saturate_float(s, out, made, to, opcode.ftz)
        else:
            s.emit("FADD.FTZ", [reg(out), reg(made), MINUS_ZERO])
    else:
        change_format(s, i, out, word, to, source)
    finish(s, register, out, to)


def flushed(s: Selector, word: Src) -> Src:
    """A single with zero in place of a subnormal number."""
    out = reg(s.fresh())
    s.emit("FADD.FTZ", [out, word, MINUS_ZERO])
    return out


def change_format(s: Selector, i: Instruction, out: int, word: Src, to: Type, source: Type) -> None:
    """From one format to another, rounded as the instruction says."""
    opcode = i.opcode
    rounding = _ROUNDINGS[opcode.rounding]
    half = Src("R.H0_H0", word.values, REGISTER)
    if source.name == "f16" and to.name == "f32":
        if s.number >= 80:
            s.emit("HADD2.F32", [reg(out), MINUS_ZERO, half])
        else:
            s.emit("HADD2.F32", [reg(out), half, MINUS_ZERO_HALF])
    elif source.name == "bf16" and to.name == "f32":
        s.emit("SHF.L.U32", [reg(out), word, imm(16), ZERO])
    elif source.name == "f32" and to.bits == 16 and rounding in ("", ".RZ") and s.number >= 80:
        s.emit(f"F2FP{limited(i)}{packed_format(s, to)}.PACK_AB{rounding}", [reg(out), ZERO, word])
    else:
        s.emit(f"F2F.{to.name.upper()}.{source.name.upper()}{rounding}", [reg(out), word])


def limited(i: Instruction) -> str:
    return (".SATFINITE" if i.opcode.satfinite else "") + (".RELU" if i.opcode.relu else "")


def packed_format(s: Selector, to: Type) -> str:
    """How the text of F2FP says its formats: before sm_89 only bf16 is named."""
    name = to.name.removesuffix("x2").upper()
    if s.number >= 89:
        return f".{name}.F32"
    return "" if name == "F16" else "." + name


def round_in_format(s: Selector, i: Instruction, out: int, word: Src, type: Type) -> None:
    """To an integral value, or no more than ``.ftz`` and ``.sat``."""
    opcode = i.opcode
    ftz = ".FTZ" if opcode.ftz else ""
    if opcode.rounding and type.name == "bf16":
        wide, whole = reg(s.fresh()), reg(s.fresh())  # integers of bf16 are those of its size in a single
        s.emit("SHF.L.U32", [wide, word, imm(16), ZERO])
        s.emit(f"FRND{_INTEGRAL[opcode.rounding]}", [whole, wide])
        s.emit("SHF.R.U32.HI", [reg(out), ZERO, imm(16), whole])
    elif opcode.rounding:
        of = "" if type.name == "f32" else "." + type.name.upper()
        made = s.fresh(max(1, type.bits // 32)) if opcode.sat else out
        s.emit(f"FRND{of}{ftz}{_INTEGRAL[opcode.rounding]}", [reg(made), word])
        if opcode.sat:
            saturate_float(s, out, made, type, opcode.ftz)
    elif opcode.sat:
        saturate_float(s, out, word.values[0], type, opcode.ftz)
    elif type.bits == 64:
        s.emit("DADD", [reg(out), word, MINUS_ZERO])
    elif type.bits == 32:
        s.emit("FADD" + ftz, [reg(out), word, MINUS_ZERO])
    else:
        half = Src("R.H0_H0", word.values, REGISTER)
        if type.name == "f16":
            s.emit("HADD2", [reg(out), half, MINUS_ZERO_HALF])
        else:
            zero = Src("R.H0_H0", [255], REGISTER)
            s.emit("HFMA2.BF16_V2", [reg(out), MINUS_ZERO_HALF, zero, half])


def saturate_float(s: Selector, out: int, value: int, type: Type, ftz: bool) -> None:
    """``.sat``: between +0 and 1, NaN to +0. ``value`` may be ``out``."""
    if type.bits == 32:
        s.emit("FADD.FTZ.SAT" if ftz else "FADD.SAT", [reg(out), ZERO, reg(value)])
    elif type.bits == 16:
        s.emit("HADD2.SAT", [reg(out), Src("R.H0_H0", [value], REGISTER), MINUS_ZERO_HALF])
    else:
        positive, below = pred(s.fresh_predicate()), pred(s.fresh_predicate())
        top = reg(s.fresh())
        s.emit("DSETP.GT.AND", [positive, NO_PREDICATE, reg(value), ZERO, TRUE])
        s.emit("DSETP.LT.AND", [below, NO_PREDICATE, reg(value), reg(s.pair(Immediate(_ONE))), positive])
        s.emit("SEL", [top, reg(value + 1), imm(_ONE >> 32), below])
        s.emit("SEL", [reg(out), reg(value), ZERO, below])
        s.emit("SEL", [reg(out + 1), top, ZERO, positive])


def to_tf32(s: Selector, i: Instruction, out: int, word: Src) -> None:
    """tf32 is a single whose lowest 13 bits are 0. ``.rna`` adds half a unit to the magnitude of finite numbers."""
    opcode = i.opcode
    if opcode.rounding != "rna":
        s.emit(f"F2FP{limited(i)}.TF32.F32.PACK_B{_ROUNDINGS[opcode.rounding]}", [reg(out), word])
        return
    number, half, total = reg(s.fresh()), reg(s.fresh()), reg(s.fresh())
    special = pred(s.fresh_predicate())
    s.emit("FADD", [number, word, MINUS_ZERO])  # all NaNs become one whose upper bits say so
    s.emit("FSETP.GEU.AND", [special, NO_PREDICATE, absolute(number), fimm(_INFINITY), TRUE])
    s.emit("SEL", [half, ZERO, imm(0x1000), special])
    s.emit("IADD3", [total, number, half, ZERO])
    if not opcode.satfinite:
        s.emit("LOP3.LUT", [reg(out), total, imm(0xFFFFE000), ZERO, imm(0xC0), FALSE])
        return
    rounded, back = reg(s.fresh()), reg(s.fresh())
    infinite = pred(s.fresh_predicate())
    s.emit("LOP3.LUT", [rounded, total, imm(0xFFFFE000), ZERO, imm(0xC0), FALSE])
    s.emit("FSETP.EQ.AND", [infinite, NO_PREDICATE, absolute(rounded), fimm(_INFINITY), TRUE])
    s.emit("SEL", [back, ZERO, imm(0xFFFFE000), invert(infinite)])
    s.emit("IADD3", [reg(out), rounded, back, ZERO])


# -- packing -----------------------------------------------------------------------------------------------


def pack_floats(s: Selector, i: Instruction) -> None:
    """Two floats into one register (the first into the upper half), and between pairs of halves and of bytes."""
    opcode = i.opcode
    to, source = opcode.types[0], opcode.types[1]
    out = reg(s.home(target_register(i)))
    name = to.name.removesuffix("x2").upper()
    rounding = _ROUNDINGS[opcode.rounding]
    if source.lanes == 1:
        a, b = float_source(s, i, source, 1), float_source(s, i, source, 2)
        if to.bits == 16:
            s.emit(f"F2FP{limited(i)}.{name}.F32.PACK_AB_MERGE_C", [out, a, b, ZERO])
        else:
            s.emit(f"F2FP{limited(i)}{packed_format(s, to)}.PACK_AB{rounding}", [out, a, b])
    elif to.bits == 16:
        s.emit(f"F2FP{limited(i)}.{name}.F16.UNPACK_B_MERGE_C", [out, s.register_word(i.operands[1]), ZERO])
    else:
        kind = source.name.removesuffix("x2").upper()
        s.emit(f"F2FP{limited(i)}.{name}.{kind}.UNPACK_B", [out, s.register_word(i.operands[1])])


def pack_integers(s: Selector, i: Instruction) -> None:
    """``cvt.pack.sat``: two saturated integers, the second lowest, below the low bits of a third word."""
    kind = next(w for w in i.opcode.text.split(".")[2:] if w not in ("sat", "s32", "b32"))
    bits = int(kind[1:])
    out = reg(s.home(target_register(i)))
    a, b = s.register_word(i.operands[1]), s.word(i.operands[2])
    upper = s.register_word(i.operands[3]) if len(i.operands) > 3 else ZERO
    if bits >= 8:
        s.emit(f"I2IP.{kind.upper()}.S32.SAT", [out, a, b, upper])
        return
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    for place, value in enumerate((a, s.in_register(b))):
        bounded, clamped, shifted = reg(s.fresh()), reg(s.fresh()), reg(s.fresh())
        extremum(s, "max", True, bounded, value, imm(low) if low else ZERO)
        extremum(s, "min", True, clamped, bounded, imm(high))
        s.emit("SHF.L.U32", [shifted, upper, imm(bits), ZERO])
        upper = out if place else reg(s.fresh())
        s.emit("LOP3.LUT", [upper, clamped, imm((1 << bits) - 1), shifted, imm(0xEA), FALSE])  # a & b | c


HANDLERS.update({"cvt": convert, "cvt.pack": pack_integers})
