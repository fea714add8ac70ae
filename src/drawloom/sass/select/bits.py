"""Selection of what works on fields and single bits: ``bfe bfi bfind clz szext bmsk fns lop3 testp copysign``."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.sass.machine import PT, RZ
from drawloom.sass.select.floats import float_word
from drawloom.sass.select.integer import NO_PREDICATE, extremum, target_register
from drawloom.sass.select.operands import FALSE, IMMEDIATE, TRUE, ZERO, Src, imm, invert, is_zero, neg, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector

_AND = 0xC0
_OR = 0xFC
_XOR = 0x3C
_NOT_B = 0x33
#: a where b is 1, else c.
_CHOOSE = 0xE2


def low_byte(s: Selector, operand: Operand) -> Src:
    """Position and length of a field are bytes; the rest of their registers does not count."""
    number = s.number_of(operand)
    if number is not None:
        return imm(number & 0xFF) if number & 0xFF else ZERO
    out = reg(s.fresh())
    s.emit("LOP3.LUT", [out, s.register_word(operand), imm(0xFF), ZERO, imm(_AND), FALSE])
    return out


def plus(s: Selector, a: Src, b: int) -> Src:
    """A word plus a number, without an instruction where the word is known."""
    if a.kind == IMMEDIATE or is_zero(a):
        total = (a.values[0] if a.kind == IMMEDIATE else 0) + b
        return imm(total) if total else ZERO
    out = reg(s.fresh())
    s.emit("IADD3", [out, a, imm(b), ZERO])
    return out


def at_least_zero(s: Selector, a: Src) -> Src:
    """A signed word, or 0 where it is negative."""
    if a.kind == IMMEDIATE:
        return imm(a.values[0]) if a.values[0] > 0 else ZERO
    out = reg(s.fresh())
    extremum(s, "max", True, out, a, ZERO)
    return out


def extract_field(s: Selector, i: Instruction) -> None:
    """``bfe``: shifted down, which fills with the sign, then cut to the length."""
    type = i.opcode.types[0]
    out = s.home(target_register(i))
    position, length = low_byte(s, i.operands[2]), low_byte(s, i.operands[3])
    kind = "" if type.is_signed else ".U32"
    high_shift = "SHF.R.S32.HI" if type.is_signed else "SHF.R.U32.HI"
    if type.bits == 32:
        word = s.register_word(i.operands[1])
        if not is_zero(position):
            shifted = reg(s.fresh())
            s.emit(high_shift, [shifted, ZERO, position, word])
            word = shifted
        s.emit("SGXT" + kind, [reg(out), word, length])
        return
    words = [s.register_word(i.operands[1], part) for part in (0, 1)]
    low, high = reg(s.fresh()), reg(s.fresh())
    s.emit("SHF.R.S64" if type.is_signed else "SHF.R.U64", [low, words[0], position, words[1]])
    s.emit(high_shift, [high, ZERO, position, words[1]])
    s.emit("SGXT" + kind, [reg(out), low, length])
    if length.kind == IMMEDIATE or is_zero(length):
        if length.kind == IMMEDIATE and length.values[0] > 32:
            s.emit("SGXT" + kind, [reg(out + 1), high, imm(length.values[0] - 32)])
        elif type.is_signed:
            s.emit("SHF.R.S32.HI", [reg(out + 1), ZERO, imm(31), reg(out)])
        else:
            s.emit("MOV", [reg(out + 1), ZERO])
        return
    beyond: Src = ZERO
    if type.is_signed:
        beyond = reg(s.fresh())
        s.emit("SHF.R.S32.HI", [beyond, ZERO, imm(31), reg(out)])
    longer, rest = pred(s.fresh_predicate()), reg(s.fresh())
    s.emit("ISETP.GT.U32.AND", [longer, NO_PREDICATE, length, imm(32), TRUE])
    s.emit("SGXT" + kind, [rest, high, plus(s, length, -32)])
    s.emit("SEL", [reg(out + 1), rest, beyond, longer])


def insert_field(s: Selector, i: Instruction) -> None:
    """``bfi``: a mask of the field chooses between the shifted value and what was there."""
    type = i.opcode.types[0]
    out = s.home(target_register(i))
    position, length = low_byte(s, i.operands[3]), low_byte(s, i.operands[4])
    known = (position.kind == IMMEDIATE or is_zero(position)) and (length.kind == IMMEDIATE or is_zero(length))
    masks: list[Src] = []
    if known:
        at = 0 if is_zero(position) else position.values[0]
        field = ((1 << (0 if is_zero(length) else length.values[0])) - 1) << at
        masks = [imm(field >> 32 * part & 0xFFFFFFFF) for part in range(type.bits // 32)]
    else:
        masks = field_masks(s, position, length, type.bits // 32)
    low = reg(s.fresh())
    if type.bits == 32:
        s.emit("SHF.L.U32", [low, s.register_word(i.operands[1]), position, ZERO])
        s.emit("LOP3.LUT", [reg(out), low, masks[0], s.register_word(i.operands[2]), imm(_CHOOSE), FALSE])
        return
    words = [s.register_word(i.operands[1], part) for part in (0, 1)]
    high = reg(s.fresh())
    s.emit("SHF.L.U32", [low, words[0], position, ZERO])
    s.emit("SHF.L.U64.HI", [high, words[0], position, words[1]])
    for part, shifted in enumerate((low, high)):
        old = s.register_word(i.operands[2], part)
        s.emit("LOP3.LUT", [reg(out + part), shifted, masks[part], old, imm(_CHOOSE), FALSE])


def field_masks(s: Selector, position: Src, length: Src, words: int) -> list[Src]:
    """Ones where a field lies; its part above the lowest word is a field of its own."""
    masks = [reg(s.fresh())]
    s.emit("BMSK", [masks[0], s.in_register(position), length])
    if words == 2:
        total = reg(s.fresh())
        s.emit("IADD3", [total, s.in_register(position), length, ZERO])
        start, end = at_least_zero(s, plus(s, position, -32)), at_least_zero(s, plus(s, total, -32))
        width, high = reg(s.fresh()), reg(s.fresh())
        s.emit("IADD3", [width, end, neg(start), ZERO])
        s.emit("BMSK", [high, s.in_register(start), width])
        masks.append(high)
    return masks


# -- the highest bit ---------------------------------------------------------------------------------------


def find_highest(s: Selector, i: Instruction) -> None:
    """``bfind``: the highest bit that is no copy of the sign, from the bottom or (``.shiftamt``) from the top."""
    opcode = i.opcode
    type = opcode.types[0]
    out = reg(s.home(target_register(i)))
    from_top = opcode.has("shiftamt")
    if type.bits == 32:
        mnemonic = "FLO" + ("" if type.is_signed else ".U32") + (".SH" if from_top else "")
        s.emit(mnemonic, [out, s.register_word(i.operands[1])])
        return
    words = [s.register_word(i.operands[1], part) for part in (0, 1)]
    if type.is_signed:
        sign, plain = reg(s.fresh()), [reg(s.fresh()), reg(s.fresh())]
        s.emit("SHF.R.S32.HI", [sign, ZERO, imm(31), words[1]])
        for part in (0, 1):
            s.emit("LOP3.LUT", [plain[part], words[part], sign, ZERO, imm(_XOR), FALSE])
        words = plain
    found, in_high = highest(s, words)
    base = reg(s.fresh())
    if not from_top:
        s.emit("SEL", [base, ZERO, imm(32), invert(in_high)])
        s.emit("IADD3", [out, found, base, ZERO])
        return
    amount, none = reg(s.fresh()), pred(s.fresh_predicate())
    s.emit("ISETP.EQ.AND", [none, NO_PREDICATE, found, imm(-1), TRUE])
    s.emit("SEL", [base, s.in_register(imm(31)), imm(63), in_high])
    s.emit("IADD3", [amount, base, neg(found), ZERO])
    s.emit("SEL", [out, amount, imm(0xFFFFFFFF), invert(none)])


def highest(s: Selector, words: list[Src]) -> tuple[Src, Src]:
    """The highest bit in the upper word, or in the lower one if that is 0 (-1 if both are); and which it was."""
    in_high, word, found = pred(s.fresh_predicate()), reg(s.fresh()), reg(s.fresh())
    s.emit("ISETP.NE.U32.AND", [in_high, NO_PREDICATE, words[1], ZERO, TRUE])
    s.emit("SEL", [word, words[1], words[0], in_high])
    s.emit("FLO.U32", [found, word])
    return found, in_high


def count_leading_zeros(s: Selector, i: Instruction) -> None:
    """``clz``."""
    out = reg(s.home(target_register(i)))
    base: Src = imm(31)
    if i.opcode.types[0].bits == 64:
        found, in_high = highest(s, [s.register_word(i.operands[1], part) for part in (0, 1)])
        base = reg(s.fresh())
        s.emit("SEL", [base, s.in_register(imm(31)), imm(63), in_high])
    else:
        found = reg(s.fresh())
        s.emit("FLO.U32", [found, s.register_word(i.operands[1])])
    s.emit("IADD3", [out, neg(found), base, ZERO])


def extend_sign(s: Selector, i: Instruction) -> None:
    """``szext``."""
    mnemonic = "SGXT" + (".W" if i.opcode.has("wrap") else "") + ("" if i.opcode.types[0].is_signed else ".U32")
    s.emit(mnemonic, [reg(s.home(target_register(i))), s.register_word(i.operands[1]), s.word(i.operands[2])])


def bit_mask(s: Selector, i: Instruction) -> None:
    """``bmsk``."""
    mnemonic = "BMSK.W" if i.opcode.has("wrap") else "BMSK"
    s.emit(mnemonic, [reg(s.home(target_register(i))), s.register_word(i.operands[1]), s.word(i.operands[2])])


def find_nth_set(s: Selector, i: Instruction) -> None:
    """``fns``: counting down is counting up in the reversed word. The place is searched for by halves: how many bits
    below the middle are set says on which side it lies."""
    out = reg(s.home(target_register(i)))
    mask, base, offset = [s.register_word(o) for o in i.operands[1:4]]
    down, here = pred(s.fresh_predicate()), pred(s.fresh_predicate())
    reversed_, mirrored, word, start = [reg(s.fresh()) for _ in range(4)]
    s.emit("ISETP.LT.AND", [down, NO_PREDICATE, offset, ZERO, TRUE])
    s.emit("ISETP.EQ.AND", [here, NO_PREDICATE, offset, ZERO, TRUE])
    s.emit("BREV", [reversed_, mask])
    s.emit("SEL", [word, reversed_, mask, down])
    s.emit("IADD3", [mirrored, neg(base), imm(31), ZERO])
    s.emit("SEL", [start, mirrored, base, down])
    # Candidates are the bits from the start on, or the one there; wanted is which of them.
    ones, allowed, kept, distance, wanted = [reg(s.fresh()) for _ in range(5)]
    s.emit("SEL", [ones, s.in_register(imm(1)), imm(0xFFFFFFFF), here])
    s.emit("SHF.L.U32", [allowed, ones, start, ZERO])
    s.emit("LOP3.LUT", [kept, word, allowed, ZERO, imm(_AND), FALSE])
    s.emit("IABS", [distance, offset])
    s.emit("SEL", [wanted, distance, imm(1), invert(here)])
    place: Src = ZERO
    for step in (16, 8, 4, 2, 1):
        middle = plus(s, place, step)
        below, part, count, chosen = [reg(s.fresh()) for _ in range(4)]
        upper = pred(s.fresh_predicate())
        if middle.kind == IMMEDIATE:
            s.emit("LOP3.LUT", [part, kept, imm((1 << step) - 1), ZERO, imm(_AND), FALSE])
        else:
            s.emit("BMSK", [below, ZERO, middle])
            s.emit("LOP3.LUT", [part, kept, below, ZERO, imm(_AND), FALSE])
        s.emit("POPC", [count, part])
        s.emit("ISETP.LT.U32.AND", [upper, NO_PREDICATE, count, wanted, TRUE])
        if middle.kind == IMMEDIATE:
            s.emit("SEL", [chosen, ZERO, middle, invert(upper)])
        else:
            s.emit("SEL", [chosen, middle, place, upper])
        place = chosen
    total, back, answer = [reg(s.fresh()) for _ in range(3)]
    enough = pred(s.fresh_predicate())
    s.emit("POPC", [total, kept])
    s.emit("ISETP.GE.U32.AND", [enough, NO_PREDICATE, total, wanted, TRUE])
    s.emit("IADD3", [back, neg(place), imm(31), ZERO])
    s.emit("SEL", [answer, back, place, down])
    s.emit("SEL", [out, answer, imm(0xFFFFFFFF), enough])


# -- logic with a predicate, tests of floats ---------------------------------------------------------------


def logic_of_three(s: Selector, i: Instruction) -> None:
    """``lop3``; with a predicate: whether the result is not 0, combined with another predicate."""
    lut = (s.number_of(i.operands[4]) or 0) & 0xFF
    target = i.operands[0]
    value = target.first if isinstance(target, Pair) else target
    out = reg(s.home(value) if isinstance(value, Register) else RZ)
    a, b, c = s.register_word(i.operands[1]), s.word(i.operands[2]), s.register_word(i.operands[3])
    if not i.opcode.operation:
        s.emit("LOP3.LUT", [out, a, b, c, imm(lut), FALSE])
        return
    holds = target.second if isinstance(target, Pair) else None
    predicate = pred(s.home(holds) if isinstance(holds, Register) else PT)
    mnemonic = "LOP3.LUT.PAND" if i.opcode.operation == "and" else "LOP3.LUT"
    s.emit(mnemonic, [predicate, out, a, b, c, imm(lut), s.predicate(i.operands[5])])


def test_property(s: Selector, i: Instruction) -> None:
    """``testp``: what the exponent says, on the pattern without its sign as an unsigned number."""
    bits = i.opcode.types[0].bits
    out = pred(s.home(target_register(i)))
    words = [s.in_register(float_word(s, i.operands[1], bits, part)) for part in range(bits // 32)]
    top = reg(s.fresh())
    s.emit("LOP3.LUT", [top, words[-1], imm(0x7FFFFFFF), ZERO, imm(_AND), FALSE])
    infinity, smallest = (0x7FF00000, 0x00100000) if bits == 64 else (0x7F800000, 0x00800000)
    test = i.opcode.operation
    if test == "finite":
        s.emit("ISETP.LT.U32.AND", [out, NO_PREDICATE, top, imm(infinity), TRUE])
    elif test in ("infinite", "number", "notanumber"):
        relation = {"infinite": "EQ", "number": "LE", "notanumber": "GT"}[test]
        if bits == 64:
            s.compare_wide(relation, False, [out, NO_PREDICATE], [words[0], top], [ZERO, imm(infinity)])
        else:
            s.emit(f"ISETP.{relation}.U32.AND", [out, NO_PREDICATE, top, imm(infinity), TRUE])
    else:
        whole = top
        if bits == 64:
            whole = reg(s.fresh())
            s.emit("LOP3.LUT", [whole, top, words[0], ZERO, imm(_OR), FALSE])
        first = pred(s.fresh_predicate())
        if test == "normal":
            s.emit("ISETP.LT.U32.AND", [first, NO_PREDICATE, plus(s, top, -smallest), imm(infinity - smallest), TRUE])
            s.emit("ISETP.EQ.U32.OR", [out, NO_PREDICATE, whole, ZERO, first])
        else:
            s.emit("ISETP.LT.U32.AND", [first, NO_PREDICATE, top, imm(smallest), TRUE])
            s.emit("ISETP.NE.U32.AND", [out, NO_PREDICATE, whole, ZERO, first])


def copy_sign(s: Selector, i: Instruction) -> None:
    """``copysign``: the sign of a, the rest of b."""
    bits = i.opcode.types[0].bits
    out = s.home(target_register(i))
    last = bits // 32 - 1
    sign = s.in_register(float_word(s, i.operands[1], bits, last))
    value = s.in_register(float_word(s, i.operands[2], bits, last))
    if last:
        s.emit("MOV", [reg(out), float_word(s, i.operands[2], bits, 0)])
    s.emit("LOP3.LUT", [reg(out + last), sign, imm(0x80000000), value, imm(_CHOOSE), FALSE])


HANDLERS.update(
    {
        "bfe": extract_field, "bfi": insert_field, "bfind": find_highest, "clz": count_leading_zeros,
        "szext": extend_sign, "bmsk": bit_mask, "fns": find_nth_set, "lop3": logic_of_three,
        "testp": test_property, "copysign": copy_sign,
    }
)  # fmt: skip
