"""How sm_61 spells integer arithmetic, logic, shifts and predicates that the common handlers emit."""

from __future__ import annotations

from typing import Final

from drawloom.sass.machine import PT
from drawloom.sass.select.operands import (
    IMMEDIATE,
    OTHER,
    REGISTER,
    ZERO,
    Src,
    absolute,
    imm,
    is_zero,
    pred,
    reg,
)
from drawloom.sass.select.pascal.products import high_word, low_word, wide_product
from drawloom.sass.select.pascal.selector import SPELLINGS, PascalSelector

#: Tables of two operands that LOP has.
_LOGIC: Final[dict[int, str]] = {0xC0: "AND", 0xFC: "OR", 0x3C: "XOR"}
_NOT_B: Final = 0x33
_COPY_A: Final = 0xF0
#: Tables of predicates: how the first two are combined, and the result with the third.
_PREDICATES: Final[dict[int, tuple[str, str]]] = {
    0xF0: ("AND", "AND"), 0xC0: ("AND", "AND"), 0xFC: ("OR", "AND"), 0x3C: ("XOR", "AND"), 0xFE: ("OR", "OR"),
    0x80: ("AND", "AND"),
}  # fmt: skip


def flagged(out: Src) -> Src:
    """A destination whose carry goes to CC."""
    return Src("R.CC", out.values, OTHER)


def move(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    s.native("MOV32I" if operands[1].kind == IMMEDIATE else "MOV", operands)


def add(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``IADD3`` of two operands, with the carry out of it in CC where a predicate is named for it; and of three."""
    out, first = operands[0], 1
    extended = mnemonic.endswith(".X")
    carried = operands[1].text == "P"
    if carried:
        out, first = flagged(out), 2
    a, b, c = operands[first : first + 3]
    if extended:
        b = Src(b.text.replace("~", "-"), b.values, b.kind)
        a = Src(a.text.replace("~", "-"), a.values, a.kind)
        assert operands[first + 3].text == "P", "a carry comes from CC"
    if not is_zero(c):
        assert not extended and not carried
        if is_zero(b):
            b, c = c, b
        else:
            s.native("IADD3", [out, a, b, c])
            return
    two(s, ".X" if extended else "", out, a, b)


def two(s: PascalSelector, modifiers: str, out: Src, a: Src, b: Src) -> None:
    """The sum of two words; an immediate has 32 bits always."""
    if a.text == b.text == "-R":
        a = Src("R", s.in_register(negated(s, a)).values, REGISTER)
    s.native(("IADD32I" if b.kind == IMMEDIATE else "IADD") + modifiers, [out, a, b])


def negated(s: PascalSelector, a: Src) -> Src:
    out = reg(s.fresh())
    s.native("IADD", [out, a, ZERO])
    return out


def logic(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``LOP3.LUT`` of two operands where LOP has the function."""
    out, a, b, c, lut = operands[:5]
    name = _LOGIC.get(lut.values[0])
    if is_zero(c) and name is not None:
        s.native(f"LOP32I.{name}" if b.kind == IMMEDIATE else f"LOP.{name}", [out, a, b])
    elif is_zero(a) and is_zero(c) and lut.values[0] == _NOT_B:
        s.native("LOP.PASS_B", [out, ZERO, Src("~R", s.in_register(b).values, REGISTER)])
    else:
        s.native("LOP3.LUT", [out, a, b, c, lut])


def shift(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``SHF``: of one word SHL or SHR; of two the one or the other."""
    out, low, amount, high = operands
    kind = mnemonic.partition(".")[2]
    if is_zero(amount) and amount.kind == REGISTER:
        amount = imm(0)
    if kind == "L.U32" and is_zero(high):
        s.native("SHL", [out, low, amount])
    elif kind in ("R.S32.HI", "R.U32.HI") and is_zero(low):
        s.native("SHR" if kind[2] == "S" else "SHR.U32", [out, high, amount])
    else:
        s.native(_FUNNELS[kind], [out, low, amount, high])


#: Left, the upper word of two words; right, the lower one.
_FUNNELS: Final[dict[str, str]] = {
    "L.U64.HI": "SHF.L.U64", "R.U64": "SHF.R.U64", "R.S64": "SHF.R.S64", "L.U32.HI": "SHF.L", "L.W.U32.HI": "SHF.L.W",
    "R.U32": "SHF.R", "R.W.U32": "SHF.R.W",
}  # fmt: skip


def scaled_add(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``LEA`` of words."""
    s.native("ISCADD", operands)


def compare(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``ISETP``: the upper words of a 64-bit comparison take what the difference of the lower ones left in CC."""
    assert not mnemonic.endswith(".EX"), "64-bit comparisons have handlers of their own"
    s.native(mnemonic, operands)


def predicate_logic(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``PLOP3.LUT`` of what PSETP has: two combinations of three predicates."""
    out, other, a, b, c, lut, _ = operands
    first, second = _PREDICATES[lut.values[0]]
    if lut.values[0] == _COPY_A:
        b = c = pred(PT)
    s.native(f"PSETP.{first}.{second}", [out, other, a, b, c])


def magnitude(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``IABS``."""
    s.native("I2I.S32.S32", [operands[0], absolute(operands[1])])


def reverse(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``BREV``: a field of all bits."""
    s.native("BFE.U32.BREV", [*operands, imm(0x2000)])


def multiply(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``IMAD``: 16 by 16 bits at a time."""
    kind = mnemonic.partition(".")[2]
    out, a, b, c = operands
    if kind == "":
        low_word(s, out, a, b, c)
    elif kind.startswith("HI"):
        assert is_zero(c)
        high_word(s, out, a, b, ZERO, kind == "HI")
    else:
        wide_product(s, out.values[0], a, b, c, kind == "WIDE")


def difference(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``VABSDIFF``."""
    s.native("VABSDIFF.SD.ACC" if mnemonic == "VABSDIFF" else "VABSDIFF.U32.U32.ACC", operands)


SPELLINGS.update(
    {
        "MOV": move, "IADD3": add, "LOP3": logic, "SHF": shift, "LEA": scaled_add, "ISETP": compare,
        "PLOP3": predicate_logic, "IABS": magnitude, "BREV": reverse, "IMAD": multiply,
        "VABSDIFF": difference,
    }
)  # fmt: skip
