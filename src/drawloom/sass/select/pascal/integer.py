"""Selection of integers on sm_61 where it is another way than by the common handlers: the carry flag, saturation,
products."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction, Operand
from drawloom.sass.select import floats, integer, products
from drawloom.sass.select.fusion import leave_to_reader
from drawloom.sass.select.integer import bits_of, commuted, narrow, target_register
from drawloom.sass.select.operands import IMMEDIATE, OTHER, REGISTER, ZERO, Src, imm, neg, reg
from drawloom.sass.select.pascal.products import high_word, low_word, low_words, wide_product
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS, PascalSelector
from drawloom.sass.select.selector import Selector


def own(s: Selector) -> PascalSelector:
    assert isinstance(s, PascalSelector)
    return s


def flagged(out: int) -> Src:
    """A destination whose carry goes to CC."""
    return Src("R.CC", [out], OTHER)


# -- sums ----------------------------------------------------------------------------------------------------


def add(s: Selector, i: Instruction) -> None:
    """``add`` and ``sub``."""
    opcode = i.opcode
    type = opcode.types[0]
    if type.is_integer and opcode.writes_carry:
        carrying(s, i)
    elif type.is_integer and opcode.sat:
        saturated(own(s), reg(s.home(target_register(i))), s.word(i.operands[1]), s.word(i.operands[2]), opcode.name)
    elif opcode.name == "add":
        integer.add(s, i)
    else:
        integer.sub(s, i)


def saturated(s: PascalSelector, out: Src, a: Src, b: Src, name: str) -> None:
    """A signed sum or difference that stops at the ends of the range."""
    if name == "sub":
        s.native("IADD.SAT", [out, s.in_register(a), neg(s.in_register(b))])
    else:
        a, b = commuted(a, b)
        s.native("IADD32I.SAT" if b.kind == IMMEDIATE else "IADD.SAT", [out, s.in_register(a), b])


def carrying(s: Selector, i: Instruction) -> None:
    """``add.cc addc sub.cc subc``: CC is the carry, of differences 'no borrow'."""
    p = own(s)
    opcode = i.opcode
    subtract = opcode.name.startswith("sub")
    out = s.home(target_register(i))
    words = range(2 if bits_of(i) == 64 else 1)
    pairs = [(s.word(i.operands[1], part), s.word(i.operands[2], part)) for part in words]
    sources = [(s.in_register(a), b) if subtract else commuted(a, b) for a, b in pairs]
    sum_words(p, out, [(s.in_register(a), b) for a, b in sources], opcode.reads_carry, opcode.writes_carry, subtract)


def sum_words(
    s: PascalSelector, out: int, words: list[tuple[Src, Src]], carry_in: bool, carry_out: bool, subtract: bool = False
) -> None:
    """Sums or differences of words, lowest first, each with the carry of the one before."""
    if carry_in:
        s.take_carry()
    extended = carry_in
    for part, (a, b) in enumerate(words):
        last = part == len(words) - 1
        if subtract:
            if b.kind == IMMEDIATE:
                b = imm(~b.values[0] & 0xFFFFFFFF if extended else -b.values[0])
            else:
                b = neg(b)
        mnemonic = ("IADD32I" if b.kind == IMMEDIATE else "IADD") + (".X" if extended else "")
        s.native(mnemonic, [flagged(out + part) if carry_out or not last else reg(out + part), a, b])
        extended = True
    if carry_out:
        s.note_carry()


# -- products ------------------------------------------------------------------------------------------------


def multiply(s: Selector, i: Instruction) -> None:
    """``mul``, ``mad`` and ``madc``."""
    opcode = i.opcode
    if opcode.types[0].is_float:
        if opcode.name == "mul":
            floats.mul(s, i)
        else:
            floats.fma(s, i)
        return
    if opcode.name == "mul" and leave_to_reader(s, i):
        return
    p = own(s)
    out = s.home(target_register(i))
    addend = i.operands[3] if len(i.operands) > 3 else None
    carries = opcode.writes_carry or opcode.reads_carry
    if addend is None or not (carries or opcode.sat):
        product(p, i, out, addend)
        return
    words = 2 if opcode.types[0].bits == 64 else 1
    value = s.fresh(words)
    product(p, i, value, None)
    if opcode.sat:
        saturated(p, reg(out), reg(value), s.word(addend), "add")
        return
    parts = [(reg(value + n), s.word(addend, n)) for n in range(words)]
    sum_words(p, out, parts, opcode.reads_carry, opcode.writes_carry)


def product(s: PascalSelector, i: Instruction, out: int, addend: Operand | None) -> None:
    """The product of the operands 1 and 2, plus an addend."""
    opcode = i.opcode
    type = opcode.types[0]
    signed = type.is_signed
    if type.bits == 64:
        product_64(s, i, out, addend)
    elif type.bits == 16:
        product_16(s, i, out, addend)
    elif opcode.half == "wide":
        a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
        wide_product(s, out, a, b, ZERO if addend is None else s.wide(addend), signed)
    else:
        a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
        c = ZERO if addend is None else s.word(addend)
        if opcode.half == "hi":
            high_word(s, reg(out), a, b, c, signed)
        else:
            low_word(s, reg(out), a, b, c)


def product_16(s: PascalSelector, i: Instruction, out: int, addend: Operand | None) -> None:
    """XMAD takes the halves of registers as they are."""
    opcode = i.opcode
    signed = opcode.types[0].is_signed
    a, b = commuted(s.word(i.operands[1]), s.word(i.operands[2]))
    a = s.in_register(a)
    b = imm(b.values[0] & 0xFFFF) if b.kind == IMMEDIATE else s.in_register(b)
    mnemonic = "XMAD.S16.S16" if signed else "XMAD"
    c = ZERO if addend is None else s.register_word(addend)
    if opcode.half != "hi":
        s.native(mnemonic, [reg(out), a, b, c])
        return
    whole = reg(s.fresh())
    s.native(mnemonic, [whole, a, b, ZERO])
    if addend is None:
        s.native("SHR" if signed else "SHR.U32", [reg(out), whole, imm(16)])
    else:
        high = reg(s.fresh())
        s.native("SHR" if signed else "SHR.U32", [high, whole, imm(16)])
        s.native("IADD", [reg(out), high, c])


def product_64(s: PascalSelector, i: Instruction, out: int, addend: Operand | None) -> None:
    """64-bit products by 32-bit parts."""
    a = [s.register_word(i.operands[1], part) for part in (0, 1)]
    b = [s.register_word(i.operands[2], part) for part in (0, 1)]
    if i.opcode.half == "hi":
        integer.multiply_64(s, i, out, addend)
        return
    low_words(s, out, a, b, [ZERO if addend is None else s.word(addend, part) for part in (0, 1)])


def multiply_24(s: Selector, i: Instruction) -> None:
    """``mul24`` and ``mad24``: the low or the upper 32 of the 48 bits of a product, and a sum."""
    p = own(s)
    opcode = i.opcode
    signed = opcode.types[0].is_signed
    out = reg(s.home(target_register(i)))
    addend = s.word(i.operands[3]) if opcode.name == "mad24" else ZERO
    a, b = commuted(products.low_24(s, i.operands[1], signed), products.low_24(s, i.operands[2], signed))
    if opcode.half == "lo":
        low_word(p, out, a, b, addend)
        return
    pair = s.fresh(2)
    wide_product(p, pair, a, b, ZERO, signed)
    top = out if opcode.name == "mul24" else reg(s.fresh())
    p.native("SHF.R.U64", [top, reg(pair), imm(16), reg(pair + 1)])
    if opcode.sat:
        saturated(p, out, top, addend, "add")
    elif opcode.name == "mad24":
        s.emit("IADD3", [out, top, addend, ZERO])


# -- one operand, distances -----------------------------------------------------------------------------------


def absolute_value(s: Selector, i: Instruction) -> None:
    """``abs``."""
    type = i.opcode.types[0]
    if not type.is_float and type.bits == 16:
        word = Src("|R|", s.register_word(i.operands[1]).values, REGISTER)
        own(s).native("I2I.S16.S16", [reg(s.home(target_register(i))), word])
    else:
        integer.absolute_value(s, i)


def absolute_difference(s: Selector, i: Instruction) -> None:
    """``sad``: |a - b| + c."""
    p = own(s)
    type = i.opcode.types[0]
    out = s.home(target_register(i))
    if type.bits != 64:
        a, b, c = [s.register_word(o) if type.bits == 32 else s.in_register(narrow(s, o, type.is_signed))
                   for o in i.operands[1:4]]  # fmt: skip
        s.emit("VABSDIFF" if type.is_signed else "VABSDIFF.U32", [reg(out), a, b, c])
        return
    a_words = [s.register_word(i.operands[1], part) for part in (0, 1)]
    b_words = [s.register_word(i.operands[2], part) for part in (0, 1)]
    c_words = [s.word(i.operands[3], part) for part in (0, 1)]
    less = integer.compare_wide(s, "LT", type.is_signed, a_words, b_words)
    larger, smaller = [reg(s.fresh()), reg(s.fresh())], [reg(s.fresh()), reg(s.fresh())]
    for part in (0, 1):
        s.emit("SEL", [larger[part], b_words[part], a_words[part], less])
        s.emit("SEL", [smaller[part], a_words[part], b_words[part], less])
    distance = s.fresh(2)
    sum_words(p, distance, list(zip(larger, smaller, strict=True)), False, False, True)
    sum_words(p, out, [(reg(distance + part), c_words[part]) for part in (0, 1)], False, False)


PASCAL_HANDLERS.update(
    {
        "add": add, "sub": add, "addc": carrying, "subc": carrying, "mul": multiply, "mad": multiply,
        "madc": multiply, "mul24": multiply_24, "mad24": multiply_24, "abs": absolute_value,
        "sad": absolute_difference,
    }
)  # fmt: skip
