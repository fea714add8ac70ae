"""``createpolicy.range`` (PTX ISA 9.0 section 9.7.9.18) to PTX that works out the 64 bits of the policy.

The range is cut into blocks of 2^s bytes, 4 KB or so many that 128 of them hold it. From the bottom the upper word
has, from bit 5 on, how many blocks have the first priority, from bit 12 on the number of their first, from bit 20 on
s - 12, and on top the priorities with bit 3 for "a range"; a range of no bytes changes nothing. Read off what ptxas
12.9 makes of it.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Address, Immediate, Instruction, Operand
from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import Template
from drawloom.sass.expand.rules import Rule
from drawloom.sass.select.policies import priorities

_IS_RANGE: Final = 8
_RANGE: Final = """
    .reg .u64 at, first, end; .reg .f32 f; .reg .u32 s, block, upper, word, none; .reg .pred any;
    mov.u64 at, a;
    add.u64 at, at, b;
    cvt.rn.f32.u32 f, e;
    lg2.approx.ftz.f32 f, f;
    cvt.rpi.u32.f32 s, f;
    add.u32 s, s, -7;
    max.s32 s, s, 12;
    mov.u32 block, 1;
    shl.b32 block, block, s;
    add.u32 block, block, c;
    add.u32 block, block, -1;
    cvt.u64.u32 end, block;
    add.u64 end, end, at;
    shr.u64 end, end, s;
    shr.u64 first, at, s;
    sub.u64 end, end, first;
    min.u64 end, end, 127;
    cvt.u32.u64 upper, end;
    shl.b32 upper, upper, 5;
    cvt.u32.u64 word, first;
    bfi.b32 upper, word, upper, 12, 7;
    add.u32 s, s, -12;
    bfi.b32 upper, s, upper, 20, 4;
    or.b32 upper, upper, {priorities};
    setp.ne.u32 any, e, 0;
    selp.b32 upper, upper, {nothing}, any;
    mov.u32 none, 0;
    mov.b64 d, {{none, upper}};
"""


class RangeRule(Rule):
    """Sources are the base of the address, its offset, and the two sizes."""

    def choose(self, instruction: Instruction) -> tuple[Template, list[Operand]]:
        address = instruction.operands[1]
        assert isinstance(address, Address)
        if address.base is None:
            return self.template, [Immediate(address.offset), Immediate(0), *instruction.operands[2:]]
        return self.template, [address.base, Immediate(address.offset), *instruction.operands[2:]]


def policy_of_range(opcode: Opcode, target: int) -> Rule:
    """The rule for ``createpolicy.range``."""
    words = priorities(opcode) | _IS_RANGE
    nothing = 0x10 | _IS_RANGE
    text = _RANGE.format(priorities=words << 24, nothing=nothing << 24)
    return RangeRule(Template(["u64", "u64", "u64", "u32", "u32"], text))
