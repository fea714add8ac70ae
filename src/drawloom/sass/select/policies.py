"""Selection of ``createpolicy``: 64 bits that say how the second cache keeps lines; the upper word holds the priorities
and which part of the accesses has the first of them, in sixteenths. Read off what ptxas 12.9 makes of it."""

from __future__ import annotations

import struct
from typing import Final

from drawloom.ptx.ir import Immediate, Instruction
from drawloom.ptx.isa import Opcode
from drawloom.sass.select.floats import single, target_register
from drawloom.sass.select.moves import copy
from drawloom.sass.select.operands import FALSE, ZERO, fimm, imm, reg
from drawloom.sass.select.selector import HANDLERS, Selector, float_bits

#: The first priority; the second one is ``evict_unchanged``, or ``evict_first`` with the bit below.
_PRIORITIES: Final[dict[str, int]] = {
    "L2::evict_unchanged": 0x10, "L2::evict_first": 0x12, "L2::evict_last": 0x14, "L2::evict_normal": 0x16,
}  # fmt: skip
_FRACTION_AT: Final = 20
_SIXTEENTHS: Final = 15.99


def priorities(opcode: Opcode) -> int:
    """The upper byte of a policy."""
    words = [m for m in opcode.modifiers if m in _PRIORITIES]
    return _PRIORITIES[words[0]] | (len(words) > 1 and words[1] == "L2::evict_first")


def fractional(s: Selector, i: Instruction) -> None:
    """``createpolicy.fractional``: without a fraction it is 1."""
    upper = priorities(i.opcode) << 24
    register = target_register(i)
    fraction = i.operands[1] if len(i.operands) > 1 else Immediate(0x3F800000)
    if isinstance(fraction, Immediate):
        value = struct.unpack("<f", float_bits(fraction, 32).to_bytes(4, "little"))[0]
        copy(s, register, Immediate((upper | (int(value * _SIXTEENTHS) & 15) << _FRACTION_AT) << 32))
        return
    scale = int.from_bytes(struct.pack("<f", _SIXTEENTHS), "little")
    scaled, whole, shifted = reg(s.fresh()), reg(s.fresh()), reg(s.fresh())
    s.emit("FMUL", [scaled, s.in_register(single(s, fraction)), fimm(scale)])
    s.emit("F2I.U32.TRUNC.NTZ", [whole, scaled])
    s.emit("SHF.L.U32", [shifted, whole, imm(_FRACTION_AT), ZERO])
    out = s.home(register)
    kept = reg(s.fresh())
    s.emit("LOP3.LUT", [kept, shifted, imm(15 << _FRACTION_AT), ZERO, imm(0xC0), FALSE])  # a & b
    s.emit("LOP3.LUT", [reg(out + 1), kept, imm(upper), ZERO, imm(0xFC), FALSE])  # a | b
    s.emit("MOV", [reg(out), ZERO])


def convert(s: Selector, i: Instruction) -> None:
    """``createpolicy.cvt``: CUDA's access property is the policy."""
    copy(s, target_register(i), i.operands[1])


HANDLERS.update({"createpolicy.fractional": fractional, "createpolicy.cvt": convert})
