"""Selection of composed integer arithmetic: ``sad dp4a dp2a mul24 mad24``, ``mad`` that saturates or carries, and the
packed 16-bit ``add``, ``min`` and ``max``."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction, Operand
from drawloom.sass.select.integer import (
    commuted,
    compare_wide,
    extend,
    multiply,
    narrow,
    saturated,
    target_register,
)
from drawloom.sass.select.operands import FALSE, REGISTER, TRUE, ZERO, Src, imm, neg, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector


def absolute_difference(s: Selector, i: Instruction) -> None:
    """``sad``: |a - b| + c."""
    type = i.opcode.types[0]
    out = s.home(target_register(i))
    if type.bits == 64:
        absolute_difference_wide(s, i, out)
        return
    if type.bits == 16:
        a, b = narrow(s, i.operands[1], type.is_signed), narrow(s, i.operands[2], type.is_signed)
    else:
        a, b = s.word(i.operands[1]), s.word(i.operands[2])
    a, b = commuted(a, b)
    mnemonic = "VABSDIFF" if type.is_signed else "VABSDIFF.U32"
    s.emit(mnemonic, [reg(out), s.in_register(a), b, s.register_word(i.operands[3])])


def absolute_difference_wide(s: Selector, i: Instruction, out: int) -> None:
    """The difference is complemented where it is negative, and the 1 that then lacks comes in as a carry."""
    a = [s.register_word(i.operands[1], part) for part in (0, 1)]
    b = [s.register_word(i.operands[2], part) for part in (0, 1)]
    c = [s.word(i.operands[3], part) for part in (0, 1)]
    less = compare_wide(s, "LT", i.opcode.types[0].is_signed, a, b)
    difference, sign = s.fresh(2), reg(s.fresh())
    carry = pred(s.fresh_predicate())
    s.emit("IADD3", [reg(difference), carry, a[0], neg(b[0]), ZERO])
    s.emit("IADD3.X", [reg(difference + 1), a[1], Src("~R", b[1].values, REGISTER), ZERO, carry, FALSE])
    s.emit("SEL", [sign, ZERO, imm(0xFFFFFFFF), Src("!P", less.values, less.kind)])
    magnitude = [reg(s.fresh()), reg(s.fresh())]
    for part in (0, 1):
        s.emit("LOP3.LUT", [magnitude[part], reg(difference + part), sign, ZERO, imm(0x3C), FALSE])  # a ^ b
    following = pred(s.fresh_predicate())
    s.emit("IADD3.X", [reg(out), following, magnitude[0], c[0], ZERO, less, FALSE])
    s.emit("IADD3.X", [reg(out + 1), magnitude[1], c[1], ZERO, following, FALSE])


def dot_product(s: Selector, i: Instruction) -> None:
    """``dp4a`` and ``dp2a``: products of bytes with bytes or halves, added up."""
    a_sign, b_sign = ["S" if t.is_signed else "U" for t in i.opcode.types]
    if i.opcode.name == "dp4a":
        mnemonic = f"IDP.4A.{a_sign}8.{b_sign}8"
    else:
        mnemonic = f"IDP.2A.{i.opcode.half.upper()}.{a_sign}16.{b_sign}8"
    a, b, c = s.register_word(i.operands[1]), s.word(i.operands[2]), s.register_word(i.operands[3])
    s.emit(mnemonic, [reg(s.home(target_register(i))), a, b, c])


def multiply_24(s: Selector, i: Instruction) -> None:
    """``mul24`` and ``mad24``: the low or the upper 32 of the 48 bits of a product, and a sum."""
    opcode = i.opcode
    signed = opcode.types[0].is_signed
    out = reg(s.home(target_register(i)))
    addend = s.word(i.operands[3]) if opcode.name == "mad24" else ZERO
    a, b = commuted(low_24(s, i.operands[1], signed), low_24(s, i.operands[2], signed))
    if opcode.half == "lo":
        s.emit("IMAD", [out, s.in_register(a), b, addend])
        return
    product = s.fresh(2)
    s.emit("IMAD.WIDE" if signed else "IMAD.WIDE.U32", [reg(product), s.in_register(a), b, ZERO])
    upper = out if opcode.name == "mul24" else reg(s.fresh())
    s.emit("SHF.R.U64", [upper, reg(product), imm(16), reg(product + 1)])
    if opcode.sat:
        saturated(s, out, upper, addend)
    elif opcode.name == "mad24":
        s.emit("IADD3", [out, upper, addend, ZERO])


def low_24(s: Selector, operand: Operand, signed: bool) -> Src:
    """The low 24 bits of an operand as a number."""
    if s.number_of(operand) is not None:
        return narrow(s, operand, signed, 24)
    out = s.fresh()
    if signed:
        s.emit("SGXT", [reg(out), s.register_word(operand), imm(24)])
    else:
        extend(s, out, s.register_word(operand), 24, False)
    return reg(out)


def multiply_add(s: Selector, i: Instruction) -> None:
    """``mad`` and ``madc``."""
    opcode = i.opcode
    if not (opcode.sat or opcode.writes_carry or opcode.reads_carry) or opcode.types[0].is_float:
        from drawloom.sass.select.integer import mad

        mad(s, i)
        return
    type = opcode.types[0]
    words = max(1, type.bits // 32)
    product = s.fresh(words)
    multiply(s, i, None, product)
    out = s.home(target_register(i))
    if opcode.sat:
        saturated(s, reg(out), reg(product), s.word(i.operands[3]))
        return
    carry: Src = s.carry() if opcode.reads_carry else FALSE
    for part in range(words):
        following = s.carry() if part == words - 1 else pred(s.fresh_predicate())
        operands = [reg(out + part), following, reg(product + part), s.word(i.operands[3], part), ZERO]
        if part == words - 1 and not opcode.writes_carry:
            del operands[1]
        if carry is FALSE:
            s.emit("IADD3", operands)
        else:
            s.emit("IADD3.X", [*operands, carry, FALSE])
        carry = following


# -- two 16-bit numbers in a word, and .relu ---------------------------------------------------------------


def add_packed(s: Selector, i: Instruction) -> None:
    """``add`` of u16x2 and s16x2 (sm_90)."""
    a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
    s.emit("VIADD.16x2", [reg(s.home(target_register(i))), s.in_register(a), b])


def extremum_packed(s: Selector, i: Instruction) -> None:
    """``min`` and ``max`` of two 16-bit numbers at once, and those that end at 0 from below (sm_90)."""
    opcode = i.opcode
    type = opcode.types[0]
    kind = f".{type.name[0].upper()}16x2" if type.lanes == 2 else "" if type.is_signed else ".U32"
    a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
    which = TRUE if opcode.name == "min" else FALSE
    relu = ".RELU" if opcode.relu else ""
    s.emit(f"VIMNMX{kind}{relu}", [reg(s.home(target_register(i))), s.in_register(a), b, which])


HANDLERS.update(
    {
        "sad": absolute_difference, "dp4a": dot_product, "dp2a": dot_product, "mul24": multiply_24,
        "mad24": multiply_24, "mad": multiply_add, "madc": multiply_add,
    }
)  # fmt: skip
