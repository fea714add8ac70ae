"""How sm_61 spells conversions, special functions and halves; minima of doubles, sines."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction
from drawloom.sass.machine import RZ
from drawloom.sass.select import integer
from drawloom.sass.select.floats import float_pair, single
from drawloom.sass.select.integer import NO_PREDICATE, target_register
from drawloom.sass.select.operands import FALSE, REGISTER, TRUE, Src, imm, pred, reg
from drawloom.sass.select.pascal.integer import own
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS, SPELLINGS, PascalSelector
from drawloom.sass.select.selector import Selector

_FLOATS: Final = ("F16", "F32", "F64")
_INTEGRAL: Final[dict[str, str]] = {"": "ROUND", "TRUNC": "TRUNC", "FLOOR": "FLOOR", "CEIL": "CEIL"}
_MINUS_ZERO: Final = Src("-R", [RZ], REGISTER)


def take(words: list[str], among: tuple[str, ...], default: str) -> str:
    """The first word, if it is one of these, taken from the list; else the default."""
    return words.pop(0) if words and words[0] in among else default


def ending(words: list[str]) -> str:
    return "".join(["." + word for word in words])


# -- conversions ---------------------------------------------------------------------------------------------


def integer_to_float(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``I2F``: 32 and 64 bits go to a half, and 8 and 16 bits to a double, by way of a single, which is exact enough:
    halves beyond 65504 are infinite, and single precision holds all below; narrow integers it holds all."""
    words = mnemonic.split(".")[1:]
    to = take(words, _FLOATS, "F32")
    source = take(words, ("U8", "S8", "U16", "S16", "U32", "U64", "S64"), "S32")
    rounding = ending(words)
    out, word = operands
    narrow = source[1:] in ("8", "16")
    if to == "F32" or narrow == (to == "F16"):
        s.native(f"I2F.{to}.{source}{rounding}", operands)
        return
    middle = reg(s.fresh())
    s.native(f"I2F.F32.{source}{rounding}", [middle, word])
    s.native("F2F.F64.F32" if to == "F64" else f"F2F.F16.F32{rounding}", [out, middle])


def float_to_integer(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``F2I``: of doubles to words only, of halves to words at most."""
    words = [word for word in mnemonic.split(".")[1:] if word != "NTZ"]
    ftz = take(words, ("FTZ",), "")
    to = take(words, ("U8", "S8", "U16", "S16", "U32", "U64", "S64"), "S32")
    source = take(words, _FLOATS, "F32")
    rounding = ending(words)
    out, value = operands
    if ftz and to[1:] == "64":
        flushed = reg(s.fresh())
        s.native("FADD.FTZ", [flushed, value, _MINUS_ZERO])
        ftz, value = "", flushed
    if source == "F16" and to[1:] == "64":
        wide = reg(s.fresh())
        s.native("F2F.F32.F16", [wide, value])
        source, value = "F32", wide
    ftz = ".FTZ" if ftz else ""
    if to[1:] == "8" or (to[1:] == "16" and source == "F64"):
        word = reg(s.fresh())
        s.native(f"F2I{ftz}.{to[0]}32.{source}{rounding}", [word, value])
        if source != "F64" or to[0] == "S":
            s.native(f"I2I.{to}.{to[0]}32.SAT", [out, word])
            return
        # What is no number gives the top bit of the type; of a word cut to that it would be the largest number.
        cut, is_number = reg(s.fresh()), pred(s.fresh_predicate())
        s.native(f"I2I.{to}.U32.SAT", [cut, word])
        s.native("DSETP.NUM.AND", [is_number, NO_PREDICATE, value, value, TRUE])
        s.native("SEL", [out, cut, imm(1 << int(to[1:]) - 1), is_number])
        return
    s.native(f"F2I{ftz}.{to}.{source}{rounding}", [out, value])


def round_to_integral(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``FRND``."""
    words = mnemonic.split(".")[1:]
    type = take(words, _FLOATS, "F32")
    ftz = take(words, ("FTZ",), "")
    kind = _INTEGRAL[words[0] if words else ""]
    s.native(f"F2F{'.FTZ' if ftz else ''}.{type}.{type}.{kind}", operands)


def change_format(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``F2F``: between halves and doubles by way of a single."""
    words = mnemonic.split(".")[1:]
    to, source, rounding = words[0], words[1], ending(words[2:])
    out, value = operands
    single = reg(s.fresh())
    if (to, source) == ("F64", "F16"):
        s.native("F2F.F32.F16", [single, value])
        s.native("F2F.F64.F32", [out, single])
    elif (to, source) == ("F16", "F64"):
        s.native(f"F2F.F32.F64{rounding or '.RZ'}", [single, value])
        if not rounding:
            single = odd(s, single, value)
        s.native(f"F2F.F16.F32{rounding}", [out, single])
    else:
        s.native(mnemonic, operands)


def odd(s: PascalSelector, cut: Src, value: Src) -> Src:
    """A double that was cut off to a single, its last bit set where that was not exact: rounded again, it comes out
    as if it had been rounded once."""
    back, inexact = reg(s.fresh(2)), pred(s.fresh_predicate())
    marked, out = reg(s.fresh()), reg(s.fresh())
    s.native("F2F.F64.F32", [back, cut])
    s.native("DSETP.NE.AND", [inexact, NO_PREDICATE, back, value, TRUE])
    s.native("LOP32I.OR", [marked, cut, imm(1)])
    s.native("SEL", [out, marked, cut, inexact])
    return out


# -- halves --------------------------------------------------------------------------------------------------


def add_halves(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``HADD2``; as a conversion to a single it is F2F."""
    if mnemonic == "HADD2.F32":
        value = next(o for o in operands[1:] if o.values != [RZ])
        s.native("F2F.F32.F16", [operands[0], Src("R", value.values, REGISTER)])
    else:
        s.native(mnemonic, [half(operand) for operand in operands])


def half(operand: Src) -> Src:
    """An operand whose half stands inside of the bars of its magnitude."""
    return Src(operand.text.replace("|R|.H0_H0", "|R.H0_H0|"), operand.values, operand.kind)


# -- functions, minima ---------------------------------------------------------------------------------------


def function(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``MUFU``: the argument of a power is brought into the unit's range first."""
    if mnemonic == "MUFU.EX2":
        reduced = reg(s.fresh())
        s.native("RRO.EX2", [reduced, operands[1]])
        operands = [operands[0], reduced]
    s.native(mnemonic, operands)


def trigonometric(s: Selector, i: Instruction) -> None:
    """``sin`` and ``cos``."""
    reduced = reg(s.fresh())
    own(s).native("RRO.SINCOS", [reduced, s.in_register(single(s, i.operands[1]))])
    name = "MUFU.SIN" if i.opcode.name == "sin" else "MUFU.COS"
    own(s).native(name, [reg(s.home(target_register(i))), reduced])


def minimum(s: Selector, i: Instruction) -> None:
    """``min`` and ``max``: doubles have an instruction."""
    type = i.opcode.types[0]
    if type.name != "f64":
        integer.minimum(s, i)
        return
    a, b = [reg(float_pair(s, o)) for o in i.operands[1:3]]
    which = TRUE if i.opcode.name == "min" else FALSE
    own(s).native("DMNMX", [reg(s.home(target_register(i))), a, b, which])


SPELLINGS.update(
    {
        "I2F": integer_to_float, "F2I": float_to_integer, "FRND": round_to_integral, "F2F": change_format,
        "HADD2": add_halves, "MUFU": function,
    }
)  # fmt: skip
PASCAL_HANDLERS.update({"sin": trigonometric, "cos": trigonometric, "min": minimum, "max": minimum})
