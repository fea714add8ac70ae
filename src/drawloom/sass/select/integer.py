"""Selection of integer arithmetic, logic and shifts."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Operand, Register
from drawloom.sass.machine import PT
from drawloom.sass.select.fusion import leave_to_reader
from drawloom.sass.select.operands import (
    FALSE,
    IMMEDIATE,
    REGISTER,
    TRUE,
    ZERO,
    Src,
    imm,
    invert,
    is_zero,
    neg,
    pred,
    reg,
)
from drawloom.sass.select.selector import HANDLERS, Selector

NO_PREDICATE: Final = pred(PT)
_LUT_A: Final = 0xF0
_LUT_B: Final = 0xCC
_LUT_C: Final = 0xAA


def commuted(a: Src, b: Src) -> tuple[Src, Src]:
    """Two operands of a commutative operation, one in a register first."""
    return (b, a) if a.kind != REGISTER and b.kind == REGISTER else (a, b)


def target_register(instruction: Instruction) -> Register:
    register = instruction.operands[0]
    assert isinstance(register, Register)
    return register


def bits_of(instruction: Instruction) -> int:
    """The width of the operation's type."""
    return instruction.opcode.types[0].bits


def narrow(s: Selector, operand: Operand, signed: bool, bits: int = 16) -> Src:
    """A 16-bit (or narrower) operand as the 32-bit number that it stands for."""
    number = s.number_of(operand)
    if number is not None:
        value = number & ((1 << bits) - 1)
        if signed and value >> (bits - 1):
            value -= 1 << bits
        return imm(value) if value else ZERO
    word = s.register_word(operand)
    out = s.fresh()
    extend(s, out, word, bits, signed)
    return reg(out)


def extend(s: Selector, out: int, word: Src, bits: int, signed: bool) -> None:
    """The low bits of a register, extended to 32."""
    if not signed:
        s.emit("LOP3.LUT", [reg(out), word, imm((1 << bits) - 1), ZERO, imm(_LUT_A & _LUT_B), FALSE])
    elif bits == 16:
        s.emit("PRMT", [reg(out), word, imm(0x9910), ZERO])
    else:
        s.emit("PRMT", [reg(out), word, imm(0x8880), ZERO])


# -- addition ----------------------------------------------------------------------------------------------


def add(s: Selector, i: Instruction) -> None:
    if i.opcode.type is not None and i.opcode.type.is_float:
        from drawloom.sass.select.floats import add as add_floats

        add_floats(s, i)
        return
    a, b = i.operands[1], i.operands[2]
    if i.opcode.types[0].lanes == 2:
        from drawloom.sass.select.products import add_packed

        add_packed(s, i)
        return
    if i.opcode.writes_carry:
        carrying(s, i)
        return
    if leave_to_reader(s, i):
        return
    if bits_of(i) == 64:
        add_wide(s, i, False)
        return
    if bits_of(i) == 32 and fused_add(s, i):
        return
    x, y = commuted(s.word(a), s.word(b))
    out = reg(s.home(target_register(i)))
    if i.opcode.sat:
        saturated(s, out, x, y)
    else:
        s.emit("IADD3", [out, s.in_register(x), y, ZERO])


def sub(s: Selector, i: Instruction) -> None:
    if i.opcode.type is not None and i.opcode.type.is_float:
        from drawloom.sass.select.floats import add as add_floats

        add_floats(s, i)
        return
    if i.opcode.writes_carry:
        carrying(s, i)
        return
    if bits_of(i) == 64:
        add_wide(s, i, True)
        return
    x, y = s.word(i.operands[1]), s.word(i.operands[2])
    out = reg(s.home(target_register(i)))
    if i.opcode.sat:
        saturated(s, out, x, Src("-R", s.in_register(y).values, REGISTER))
    elif x.kind == REGISTER:
        s.emit("IADD3", [out, x, neg(y), ZERO])
    else:
        s.emit("IADD3", [out, neg(s.in_register(y)), x, ZERO])


def saturated(s: Selector, out: Src, a: Src, b: Src) -> None:
    """Signed addition that stops at the ends of the range: an overflow has the sign that neither operand has."""
    total, limit = s.fresh(), s.fresh()
    a, b = s.in_register(a), b if b.text == "-R" else s.in_register(b)
    if b.text == "-R":
        # a - b overflows when the signs of a and b differ and that of the difference is b's.
        s.emit("IADD3", [reg(total), a, b, ZERO])
        lut = 0x42  # (a ^ b) & ~(b ^ total): a b t = 100 is 4 -> bit; derived below
        lut = sum(1 << n for n in range(8) if (n >> 2 & 1) != (n >> 1 & 1) and (n >> 1 & 1) == (n & 1))
    else:
        s.emit("IADD3", [reg(total), a, b, ZERO])
        lut = sum(1 << n for n in range(8) if (n >> 2 & 1) == (n >> 1 & 1) and (n >> 1 & 1) != (n & 1))
    over = s.fresh()
    plain = Src("R", b.values, REGISTER)
    s.emit("LOP3.LUT", [reg(over), a, plain, reg(total), imm(lut), FALSE])
    s.emit("SHF.R.S32.HI", [reg(limit), ZERO, imm(31), reg(total)])
    s.emit("LOP3.LUT", [reg(limit), reg(limit), imm(0x80000000), ZERO, imm(_LUT_A ^ _LUT_B), FALSE])
    overflowed = s.fresh_predicate()
    s.emit("ISETP.LT.AND", [pred(overflowed), NO_PREDICATE, reg(over), ZERO, TRUE])
    s.emit("SEL", [out, reg(limit), reg(total), pred(overflowed)])


def fused_add(s: Selector, i: Instruction) -> bool:
    """An addition that takes in the product or shift that makes one of its operands."""
    for a, b in ((i.operands[1], i.operands[2]), (i.operands[2], i.operands[1])):
        product = s.defining(a, "mul")
        if product is not None:
            x, y = commuted(s.word(product.operands[1]), s.word(product.operands[2]))
            s.emit("IMAD", [reg(s.home(target_register(i))), s.in_register(x), y, s.word(b)])
            return True
        shift = s.defining(a, "shl")
        if shift is not None:
            amount = s.number_of(shift.operands[2]) or 0
            word = s.register_word(shift.operands[1])
            s.emit("LEA", [reg(s.home(target_register(i))), word, s.word(b), imm(amount)])
            return True
        total = s.defining(a, "add")
        if total is not None:
            x, y = s.word(total.operands[1]), s.word(total.operands[2])
            three = sorted([x, y, s.word(b)], key=lambda o: o.kind)
            s.emit(
                "IADD3",
                [reg(s.home(target_register(i))), s.in_register(three[0]), three[2], s.in_register(three[1])],
            )
            return True
    return False


def add_wide(s: Selector, i: Instruction, subtract: bool) -> None:
    """64 bits as two words with a carry in a predicate."""
    out = s.home(target_register(i))
    a, b = i.operands[1], i.operands[2]
    if not subtract:
        for x, y in ((a, b), (b, a)):
            product = s.defining(x, "mul")
            if product is not None:
                wide_product(s, product, out, s.wide(y))
                return
            shifted = s.defining(x, "shl")
            if shifted is not None:
                scaled_wide(s, shifted, out, y)
                return
    if subtract:
        carry = pred(s.fresh_predicate())
        low, high = s.register_word(a, 0), s.register_word(a, 1)
        s.emit("IADD3", [reg(out), carry, low, _minus(s, s.word(b, 0)), ZERO])
        s.emit("IADD3.X", [reg(out + 1), high, _complement(s, s.word(b, 1)), ZERO, carry, FALSE])
        return
    low_a, low_b = commuted(s.word(a, 0), s.word(b, 0))
    high_a, high_b = commuted(s.word(a, 1), s.word(b, 1))
    if is_zero(low_b):
        if low_a.values != [out]:
            s.emit("MOV", [reg(out), low_a])
        s.emit("IADD3", [reg(out + 1), s.in_register(high_a), high_b, ZERO])
        return
    carry = pred(s.fresh_predicate())
    s.emit("IADD3", [reg(out), carry, s.in_register(low_a), low_b, ZERO])
    s.emit("IADD3.X", [reg(out + 1), s.in_register(high_a), high_b, ZERO, carry, FALSE])


def scaled_wide(s: Selector, shifted: Instruction, out: int, b: Operand) -> None:
    """A pair times a power of two, plus another one: LEA, whose carry the upper word takes in."""
    carry = pred(s.fresh_predicate())
    amount = imm(s.number_of(shifted.operands[2]) or 0)
    low = s.register_word(shifted.operands[1], 0)
    s.emit("LEA", [reg(out), carry, low, s.word(b, 0), amount])
    source = shifted.operands[1]
    known = s.definitions.instruction[source.id] if isinstance(source, Register) else None
    if known is not None and known.opcode.name == "cvt" and [t.name for t in known.opcode.types] == ["s64", "s32"]:
        s.emit("LEA.HI.X.SX32", [reg(out + 1), low, s.word(b, 1), amount, carry])
    else:
        s.emit("LEA.HI.X", [reg(out + 1), low, s.word(b, 1), s.register_word(source, 1), amount, carry])


def _minus(s: Selector, a: Src) -> Src:
    """The negative of a word, as the low half of a subtraction takes it; 0 as a register, whose carry is right."""
    if a.kind == IMMEDIATE:
        return Src("-R", s.in_register(a).values, REGISTER)
    return neg(a)


def _complement(s: Selector, a: Src) -> Src:
    """The complement of a word, as the high half of a subtraction takes it."""
    if a.kind == IMMEDIATE:
        return imm(~a.values[0] & 0xFFFFFFFF)
    return Src("~" + a.text, a.values, a.kind)


# -- carry chains ------------------------------------------------------------------------------------------


def carrying(s: Selector, i: Instruction) -> None:
    """``add.cc``, ``addc``, ``sub.cc``, ``subc``: the carry flag is a predicate; of subtractions it is 'no borrow'."""
    opcode = i.opcode
    subtract = opcode.name.startswith("sub")
    out = s.home(target_register(i))
    words = 2 if bits_of(i) == 64 else 1
    carry = s.carry() if opcode.reads_carry else TRUE if subtract else FALSE
    for part in range(words):
        a, b = s.word(i.operands[1], part), s.word(i.operands[2], part)
        if not subtract:
            a, b = commuted(a, b)
        last = part == words - 1
        following = s.carry() if last else pred(s.fresh_predicate())
        wanted = opcode.writes_carry or not last
        x = s.in_register(a)
        y = _complement(s, b) if subtract else b
        if not wanted:
            s.emit("IADD3.X", [reg(out + part), x, y, ZERO, carry, FALSE])
        elif carry is FALSE:
            s.emit("IADD3", [reg(out + part), following, x, y, ZERO])
        else:
            s.emit("IADD3.X", [reg(out + part), following, x, y, ZERO, carry, FALSE])
        carry = following


# -- multiplication ----------------------------------------------------------------------------------------


def mul(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    if type.is_float:
        from drawloom.sass.select.floats import mul as mul_floats

        mul_floats(s, i)
        return
    if not leave_to_reader(s, i):
        multiply(s, i, None)


def mad(s: Selector, i: Instruction) -> None:
    if i.opcode.types[0].is_float:
        from drawloom.sass.select.floats import fma

        fma(s, i)
        return
    multiply(s, i, i.operands[3])


def multiply(s: Selector, i: Instruction, addend: Operand | None, into: int = -1) -> None:
    """``mul`` and ``mad``: lo, hi and wide, of 16, 32 and 64 bits; into the instruction's destination or ``into``."""
    opcode = i.opcode
    type = opcode.types[0]
    out = s.home(target_register(i)) if into < 0 else into
    if type.bits == 64:
        multiply_64(s, i, out, addend)
        return
    if opcode.half == "wide" and type.bits == 32:
        wide_product(s, i, out, ZERO if addend is None else s.wide(addend))
        return
    if type.bits == 16:
        a, b = narrow(s, i.operands[1], type.is_signed), narrow(s, i.operands[2], type.is_signed)
        a, b = commuted(a, b)
        c = ZERO if addend is None else s.word(addend)
        if opcode.half == "hi":
            product = s.fresh()
            s.emit("IMAD", [reg(product), s.in_register(a), b, ZERO])
            high = out if addend is None else s.fresh()
            s.emit("SHF.R.S32.HI" if type.is_signed else "SHF.R.U32.HI", [reg(high), ZERO, imm(16), reg(product)])
            if addend is not None:
                s.emit("IADD3", [reg(out), reg(high), c, ZERO])
            return
        s.emit("IMAD", [reg(out), s.in_register(a), b, c])
        return
    a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
    c = ZERO if addend is None else s.word(addend)
    if opcode.half == "hi":
        mnemonic = "IMAD.HI" if type.is_signed else "IMAD.HI.U32"
        high = out if addend is None else s.fresh()
        s.emit(mnemonic, [reg(high), s.in_register(a), b, ZERO])
        if addend is not None:
            s.emit("IADD3", [reg(out), reg(high), c, ZERO])
        return
    s.emit("IMAD", [reg(out), s.in_register(a), b, c])


def wide_product(s: Selector, i: Instruction, out: int, addend: Src) -> None:
    """The 64-bit product of two 32-bit operands of ``i``, plus a pair."""
    mnemonic = "IMAD.WIDE" if i.opcode.types[0].is_signed else "IMAD.WIDE.U32"
    a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
    s.emit(mnemonic, [reg(out), s.in_register(a), b, addend])


def multiply_64(s: Selector, i: Instruction, out: int, addend: Operand | None) -> None:
    """64-bit products by 32-bit parts."""
    a = [s.register_word(i.operands[1], part) for part in (0, 1)]
    b = [s.register_word(i.operands[2], part) for part in (0, 1)]
    if i.opcode.half == "hi":
        high = s.fresh(2) if addend is not None else out
        high_product(s, a, b, high, i.opcode.types[0].is_signed)
        if addend is not None:
            sum_wide(s, out, [reg(high), reg(high + 1)], [s.word(addend, 0), s.word(addend, 1)])
        return
    low = s.fresh(2)
    s.emit("IMAD.WIDE.U32", [reg(low), a[0], b[0], ZERO if addend is None else s.wide(addend)])
    cross = s.fresh()
    s.emit("IMAD", [reg(cross), a[0], b[1], reg(low + 1)])
    s.emit("IMAD", [reg(out + 1), a[1], b[0], reg(cross)])
    s.emit("MOV", [reg(out), reg(low)])


def sum_wide(s: Selector, out: int, a: list[Src], b: list[Src]) -> None:
    """The 64-bit sum of two pairs of words."""
    carry = pred(s.fresh_predicate())
    s.emit("IADD3", [reg(out), carry, s.in_register(a[0]), b[0], ZERO])
    s.emit("IADD3.X", [reg(out + 1), s.in_register(a[1]), b[1], ZERO, carry, FALSE])


def high_product(s: Selector, a: list[Src], b: list[Src], out: int, signed: bool) -> None:
    """The upper 64 bits of a 128-bit product (schoolbook: four products, carries between them)."""
    low, middle, sum_ = s.fresh(2), s.fresh(2), s.fresh(2)
    s.emit("IMAD.WIDE.U32", [reg(low), a[0], b[0], ZERO])
    # middle = a1 * b0 + high word of low: below 2^64.
    carried = s.fresh(2)
    s.emit("MOV", [reg(carried), reg(low + 1)])
    s.emit("MOV", [reg(carried + 1), ZERO])
    s.emit("IMAD.WIDE.U32", [reg(middle), a[1], b[0], reg(carried)])
    # sum = a0 * b1 + low word of middle: below 2^64.
    below = s.fresh(2)
    s.emit("MOV", [reg(below), reg(middle)])
    s.emit("MOV", [reg(below + 1), ZERO])
    s.emit("IMAD.WIDE.U32", [reg(sum_), a[0], b[1], reg(below)])
    # high = a1 * b1 + high word of middle + high word of sum.
    top = s.fresh(2)
    s.emit("MOV", [reg(top), reg(middle + 1)])
    s.emit("MOV", [reg(top + 1), ZERO])
    product = s.fresh(2)
    s.emit("IMAD.WIDE.U32", [reg(product), a[1], b[1], reg(top)])
    total = out if not signed else s.fresh(2)
    sum_wide(s, total, [reg(product), reg(product + 1)], [reg(sum_ + 1), ZERO])
    if not signed:
        return
    # A negative factor was taken as 2^64 more than it is.
    for factor, other in ((a, b), (b, a)):
        sign = s.fresh()
        s.emit("SHF.R.S32.HI", [reg(sign), ZERO, imm(31), factor[1]])
        masked = s.fresh(2)
        for part in (0, 1):
            s.emit("LOP3.LUT", [reg(masked + part), other[part], reg(sign), ZERO, imm(_LUT_A & _LUT_B), FALSE])
        result = out if factor is b else s.fresh(2)
        carry = pred(s.fresh_predicate())
        s.emit("IADD3", [reg(result), carry, reg(total), neg(reg(masked)), ZERO])
        s.emit(
            "IADD3.X",
            [reg(result + 1), reg(total + 1), Src("~R", [masked + 1], REGISTER), ZERO, carry, FALSE],
        )
        total = result


# -- one operand, minima -----------------------------------------------------------------------------------


def negate(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    if type.is_float:
        from drawloom.sass.select.floats import negate as negate_float

        negate_float(s, i)
        return
    out = s.home(target_register(i))
    if type.bits == 64:
        a = [s.register_word(i.operands[1], part) for part in (0, 1)]
        carry = pred(s.fresh_predicate())
        s.emit("IADD3", [reg(out), carry, neg(a[0]), ZERO, ZERO])
        s.emit("IADD3.X", [reg(out + 1), ZERO, Src("~R", a[1].values, REGISTER), ZERO, carry, FALSE])
        return
    s.emit("IADD3", [reg(out), neg(s.register_word(i.operands[1])), ZERO, ZERO])


def absolute_value(s: Selector, i: Instruction) -> None:
    type = i.opcode.types[0]
    if type.is_float:
        from drawloom.sass.select.floats import absolute_value as absolute_float

        absolute_float(s, i)
        return
    out = s.home(target_register(i))
    if type.bits == 64:
        a = [s.register_word(i.operands[1], part) for part in (0, 1)]
        negative = pred(s.fresh_predicate())
        minus = s.fresh(2)
        carry = pred(s.fresh_predicate())
        s.emit("ISETP.LT.AND", [negative, NO_PREDICATE, a[1], ZERO, TRUE])
        s.emit("IADD3", [reg(minus), carry, neg(a[0]), ZERO, ZERO])
        s.emit("IADD3.X", [reg(minus + 1), ZERO, Src("~R", a[1].values, REGISTER), ZERO, carry, FALSE])
        for part in (0, 1):
            s.emit("SEL", [reg(out + part), reg(minus + part), a[part], negative])
        return
    word = s.register_word(i.operands[1]) if type.bits == 32 else narrow(s, i.operands[1], True)
    s.emit("IABS", [reg(out), word])


def minimum(s: Selector, i: Instruction) -> None:
    """``min`` and ``max``."""
    type = i.opcode.types[0]
    if type.is_float:
        from drawloom.sass.select.floats import minimum as minimum_float

        minimum_float(s, i)
        return
    if type.lanes == 2 or i.opcode.relu:
        from drawloom.sass.select.products import extremum_packed

        extremum_packed(s, i)
        return
    out = s.home(target_register(i))
    if type.bits == 64:
        a = [s.register_word(i.operands[1], part) for part in (0, 1)]
        b = [s.word(i.operands[2], part) for part in (0, 1)]
        less = compare_wide(s, "LT" if i.opcode.name == "min" else "GT", type.is_signed, a, b)
        for part in (0, 1):
            s.emit("SEL", [reg(out + part), a[part], b[part], less])
        return
    if type.bits == 16:
        a16, b16 = narrow(s, i.operands[1], type.is_signed), narrow(s, i.operands[2], type.is_signed)
    else:
        a16, b16 = s.word(i.operands[1]), s.word(i.operands[2])
    x, y = commuted(a16, b16)
    extremum(s, i.opcode.name, type.is_signed, reg(out), s.in_register(x), y)


def extremum(s: Selector, which: str, signed: bool, out: Src, a: Src, b: Src) -> None:
    """The smaller (``"min"``) or larger (``"max"``) of two words, the first in a register."""
    mnemonic = "IMNMX" if s.number < 90 else "VIMNMX"
    s.emit(mnemonic if signed else mnemonic + ".U32", [out, a, b, TRUE if which == "min" else FALSE])


def compare_wide(s: Selector, relation: str, signed: bool, a: list[Src], b: list[Src]) -> Src:
    """A 64-bit comparison in a new predicate."""
    out = pred(s.fresh_predicate())
    s.compare_wide(relation, signed, [out, NO_PREDICATE], a, b)
    return out


# -- logic -------------------------------------------------------------------------------------------------


_LUTS: Final[dict[str, int]] = {"and": _LUT_A & _LUT_B, "or": _LUT_A | _LUT_B, "xor": _LUT_A ^ _LUT_B}


def logic(s: Selector, i: Instruction) -> None:
    """``and``, ``or``, ``xor``, of predicates or of 16 to 64 bits."""
    type = i.opcode.types[0]
    name = i.opcode.name
    out = s.home(target_register(i))
    if type.kind == "p":
        a, b = s.predicate(i.operands[1]), s.predicate(i.operands[2])
        s.emit("PLOP3.LUT", [pred(out), NO_PREDICATE, a, b, TRUE, *predicate_lut(_LUTS[name])])
        return
    for part in range(max(1, type.bits // 32)):
        x, y = commuted(s.word(i.operands[1], part), s.word(i.operands[2], part))
        if is_zero(y) and name != "and":
            s.emit("MOV", [reg(out + part), x])
        elif is_zero(y):
            s.emit("MOV", [reg(out + part), ZERO])
        else:
            s.emit("LOP3.LUT", [reg(out + part), s.in_register(x), y, ZERO, imm(_LUTS[name]), FALSE])


def predicate_lut(lut: int) -> list[Src]:
    """The two numbers of a PLOP3: the table of the first result, and that of the second, which nobody wants."""
    return [imm(lut), imm(0)]


def complement(s: Selector, i: Instruction) -> None:
    """``not``."""
    type = i.opcode.types[0]
    out = s.home(target_register(i))
    if type.kind == "p":
        a = s.predicate(i.operands[1])
        s.emit("PLOP3.LUT", [pred(out), NO_PREDICATE, invert(a), TRUE, TRUE, *predicate_lut(0xF0)])
        return
    for part in range(max(1, type.bits // 32)):
        word = s.register_word(i.operands[1], part)
        s.emit("LOP3.LUT", [reg(out + part), ZERO, word, ZERO, imm(~_LUT_B & 0xFF), FALSE])


def count_not(s: Selector, i: Instruction) -> None:
    """``cnot``: whether all bits are 0."""
    out = s.home(target_register(i))
    bits = bits_of(i)
    zero = pred(s.fresh_predicate())
    word = s.register_word(i.operands[1]) if bits >= 32 else narrow(s, i.operands[1], False)
    if bits == 64:
        both = s.fresh()
        s.emit("LOP3.LUT", [reg(both), word, s.word(i.operands[1], 1), ZERO, imm(_LUT_A | _LUT_B), FALSE])
        word = reg(both)
    s.emit("ISETP.EQ.U32.AND", [zero, NO_PREDICATE, word, ZERO, TRUE])
    s.emit("SEL", [reg(out), ZERO, imm(1), invert(zero)])
    if bits == 64:
        s.emit("MOV", [reg(out + 1), ZERO])


# -- shifts ------------------------------------------------------------------------------------------------


def shift(s: Selector, i: Instruction) -> None:
    """``shl`` and ``shr``: amounts beyond the width shift everything out."""
    opcode = i.opcode
    type = opcode.types[0]
    left = opcode.name == "shl"
    if left and leave_to_reader(s, i):
        return
    out = s.home(target_register(i))
    amount = s.word(i.operands[2])
    if amount.kind == IMMEDIATE:
        amount = imm(min(amount.values[0], type.bits))
    if type.bits == 64:
        shift_wide(s, i, out, left, amount)
        return
    if type.bits == 16:
        if left:
            word = s.register_word(i.operands[1])
        else:
            word = s.in_register(narrow(s, i.operands[1], type.is_signed))
    else:
        word = s.register_word(i.operands[1])
    if left:
        s.emit("SHF.L.U32", [reg(out), word, amount, ZERO])
    else:
        s.emit("SHF.R.S32.HI" if type.is_signed else "SHF.R.U32.HI", [reg(out), ZERO, amount, word])


def shift_wide(s: Selector, i: Instruction, out: int, left: bool, amount: Src) -> None:
    """64 bits: one word from both, the other from one; funnel shifts clamp the amount at 64."""
    low, high = s.register_word(i.operands[1], 0), s.register_word(i.operands[1], 1)
    signed = i.opcode.types[0].is_signed
    if left:
        top = s.fresh()
        s.emit("SHF.L.U64.HI", [reg(top), low, amount, high])
        s.emit("SHF.L.U32", [reg(out), low, amount, ZERO])
        s.emit("MOV", [reg(out + 1), reg(top)])
        return
    bottom = s.fresh()
    s.emit("SHF.R.S64" if signed else "SHF.R.U64", [reg(bottom), low, amount, high])
    s.emit("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", [reg(out + 1), ZERO, amount, high])
    s.emit("MOV", [reg(out), reg(bottom)])


def funnel(s: Selector, i: Instruction) -> None:
    """``shf.l`` and ``shf.r``, wrapping or clamping."""
    out = reg(s.home(target_register(i)))
    low, high, amount = s.register_word(i.operands[1]), s.register_word(i.operands[2]), s.word(i.operands[3])
    wrap = ".W" if i.opcode.has("wrap") else ""
    if i.opcode.has("l"):
        s.emit(f"SHF.L{wrap}.U32.HI", [out, low, amount, high])
    else:
        s.emit(f"SHF.R{wrap}.U32", [out, low, amount, high])


# -- bits --------------------------------------------------------------------------------------------------


def population(s: Selector, i: Instruction) -> None:
    """``popc``."""
    out = s.home(target_register(i))
    if bits_of(i) == 64:
        low = s.fresh()
        s.emit("POPC", [reg(low), s.register_word(i.operands[1], 0)])
        high = s.fresh()
        s.emit("POPC", [reg(high), s.register_word(i.operands[1], 1)])
        s.emit("IADD3", [reg(out), reg(low), reg(high), ZERO])
        return
    s.emit("POPC", [reg(out), s.register_word(i.operands[1])])


def reverse(s: Selector, i: Instruction) -> None:
    """``brev``."""
    out = s.home(target_register(i))
    if bits_of(i) == 64:
        low = s.fresh()
        s.emit("BREV", [reg(low), s.register_word(i.operands[1], 1)])
        s.emit("BREV", [reg(out + 1), s.register_word(i.operands[1], 0)])
        s.emit("MOV", [reg(out), reg(low)])
        return
    s.emit("BREV", [reg(out), s.register_word(i.operands[1])])


def permute(s: Selector, i: Instruction) -> None:
    """``prmt``; its named modes are what the selector's low bits then choose."""
    opcode = i.opcode
    out = reg(s.home(target_register(i)))
    a, b, c = s.register_word(i.operands[1]), s.register_word(i.operands[2]), s.word(i.operands[3])
    mode = {"f4e": ".F4E", "b4e": ".B4E", "rc8": ".RC8", "ecl": ".ECL", "ecr": ".ECR", "rc16": ".RC16"}.get(
        opcode.operation, ""
    )
    s.emit("PRMT" + mode, [out, a, c, b])


HANDLERS.update(
    {
        "add": add, "sub": sub, "addc": carrying, "subc": carrying, "mul": mul, "mad": mad, "neg": negate,
        "abs": absolute_value, "min": minimum, "max": minimum, "and": logic, "or": logic, "xor": logic,
        "not": complement, "cnot": count_not, "shl": shift, "shr": shift, "shf": funnel,
        "popc": population, "brev": reverse, "prmt": permute,
    }
)  # fmt: skip
