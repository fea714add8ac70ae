"""Selection of fields on sm_61, which has instructions for those of words, and how it spells masks and extensions."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction
from drawloom.sass.select import bits
from drawloom.sass.select.integer import target_register
from drawloom.sass.select.operands import IMMEDIATE, REGISTER, ZERO, Src, imm, is_zero, reg
from drawloom.sass.select.pascal.integer import own
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS, SPELLINGS, PascalSelector
from drawloom.sass.select.selector import Selector


def place(s: Selector, i: Instruction, at: int) -> Src:
    """Position and length of a field in one operand, a byte each."""
    numbers = [s.number_of(operand) for operand in i.operands[at : at + 2]]
    if numbers[0] is not None and numbers[1] is not None:
        return imm(numbers[0] & 0xFF | (numbers[1] & 0xFF) << 8)
    both = reg(s.fresh())
    position, length = [s.register_word(operand) for operand in i.operands[at : at + 2]]
    own(s).native("BFI", [both, length, imm(0x808), position])
    return both


def extract_field(s: Selector, i: Instruction) -> None:
    """``bfe``."""
    type = i.opcode.types[0]
    if type.bits == 64:
        bits.extract_field(s, i)
        return
    mnemonic = "BFE" if type.is_signed else "BFE.U32"
    own(s).native(mnemonic, [reg(s.home(target_register(i))), s.register_word(i.operands[1]), place(s, i, 2)])


def insert_field(s: Selector, i: Instruction) -> None:
    """``bfi``."""
    if i.opcode.types[0].bits == 64:
        bits.insert_field(s, i)
        return
    value, old = s.register_word(i.operands[1]), s.register_word(i.operands[2])
    own(s).native("BFI", [reg(s.home(target_register(i))), value, place(s, i, 3), old])


def extend(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``SGXT``: a field from bit 0 on."""
    out, word, length = operands
    if length.kind == IMMEDIATE or is_zero(length):
        field = imm((0 if length.kind == REGISTER else min(length.values[0], 32)) << 8)
    else:
        field = reg(s.fresh())
        s.native("SHL", [field, length, imm(8)])
    s.native("BFE" if mnemonic == "SGXT" else "BFE.U32", [out, word, field])


def mask(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``BMSK``: shifts take any amount beyond the word to nothing."""
    out, position, length = operands
    above = reg(s.fresh())
    s.native("SHL", [above, s.in_register(imm(0xFFFFFFFF)), length])
    below = out if is_zero(position) else reg(s.fresh())
    s.native("LOP.PASS_B", [below, ZERO, Src("~R", above.values, REGISTER)])
    if not is_zero(position):
        s.native("SHL", [out, below, position])


SPELLINGS.update({"SGXT": extend, "BMSK": mask})
PASCAL_HANDLERS.update({"bfe": extract_field, "bfi": insert_field})
