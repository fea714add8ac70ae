"""Selection of `alloca`, `stacksave` and `stackrestore`: the stack pointer moves, and a frame pointer stays.

Arguments of calls stand at the stack pointer, so what `alloca` gives begins above room for them.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Register
from drawloom.ptx.layout import align_up, stack_alignment
from drawloom.sass.machine import STACK_POINTER
from drawloom.sass.select.operands import FALSE, IMMEDIATE, ZERO, imm, neg, reg
from drawloom.sass.select.selector import HANDLERS, Selector

#: What functions that are called rely on.
_FRAME_ALIGNMENT: Final = 16


def allocate(s: Selector, i: Instruction) -> None:
    """``alloca``."""
    alignment = stack_alignment(i)
    if s.has_calls:
        alignment = max(alignment, _FRAME_ALIGNMENT)
    room = align_up(s.out.outgoing, alignment)
    more = room - s.out.outgoing
    size = s.word(i.operands[1])
    if size.kind == IMMEDIATE:
        size, more = imm(size.values[0] + more), 0
    pointer = reg(STACK_POINTER)
    s.emit("IADD3", [pointer, pointer, neg(size), ZERO])
    if more:
        s.emit("IADD3", [pointer, pointer, imm(-more), ZERO])
    s.emit("LOP3.LUT", [pointer, pointer, imm(-alignment & 0xFFFFFFFF), ZERO, imm(0xC0), FALSE])
    give(s, i, room)


def save(s: Selector, i: Instruction) -> None:
    """``stacksave``."""
    give(s, i, 0)


def restore(s: Selector, i: Instruction) -> None:
    """``stackrestore``."""
    s.emit("MOV", [reg(STACK_POINTER), s.word(i.operands[0])])


def give(s: Selector, i: Instruction, distance: int) -> None:
    """An address in local memory so far above the stack pointer."""
    register = i.operands[0]
    assert isinstance(register, Register)
    out = s.home(register)
    if distance:
        s.emit("IADD3", [reg(out), reg(STACK_POINTER), imm(distance), ZERO])
    else:
        s.emit("MOV", [reg(out), reg(STACK_POINTER)])
    for part in range(1, register.type.bits // 32):
        s.emit("MOV", [reg(out + part), ZERO])


HANDLERS.update({"alloca": allocate, "stacksave": save, "stackrestore": restore})
