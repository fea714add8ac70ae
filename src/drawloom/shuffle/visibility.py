"""What an instruction does to what the lanes of a warp see in memory: whether others' writes become visible, and
whether lanes may do so at different times (PTX ISA 9.0, chapter 8, and section 9.7.13 on barriers)."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Function, Immediate, Instruction, Module, Symbol
from drawloom.ptx.isa import ATOMIC, BARRIER, BRANCH, CALL, EXIT, FENCE, LOAD, RETURN, SIDE, Opcode

#: Side effects that touch no memory that a load could have read.
_HARMLESS: Final = frozenset("brkpt nanosleep pmevent setmaxnreg prefetch prefetchu applypriority stacksave".split())
#: Loads that anything may have written to since: the program says so.
_ORDERED: Final = frozenset("volatile relaxed acquire mmio cv".split())
_ALL_LANES: Final = 0xFFFFFFFF


def is_ordered(opcode: Opcode) -> bool:
    """Whether a load asks for what others have written last."""
    return opcode.effect == LOAD and not _ORDERED.isdisjoint(opcode.modifiers)


def shows_writes(opcode: Opcode) -> bool:
    """Whether what others have written may be visible behind an instruction and not before it."""
    effect = opcode.effect
    if effect == LOAD:
        return is_ordered(opcode)
    if effect == SIDE:
        return opcode.name not in _HARMLESS
    return effect in (ATOMIC, FENCE, BARRIER, CALL) or opcode.name == "bar.warp"


def brings_together(instruction: Instruction) -> bool:
    """Whether all lanes of a warp wait for each other at an instruction, where all run it."""
    opcode = instruction.opcode
    if opcode.name == "bar.warp":
        mask = instruction.operands[0]
        return isinstance(mask, Immediate) and mask.value & _ALL_LANES == _ALL_LANES
    if opcode.effect != BARRIER or opcode.has("arrive"):
        return False
    return opcode.name == "bar" or opcode.has("aligned")


def is_met_apart(instruction: Instruction) -> bool:
    """Whether lanes that run an instruction may see what others write at different times behind it: it orders the
    accesses of some of them, or of each one alone."""
    opcode = instruction.opcode
    if opcode.effect == BARRIER or opcode.name == "bar.warp":
        return not brings_together(instruction)
    return opcode.effect in (ATOMIC, CALL) or is_ordered(opcode)


def may_part(call: Instruction, module: Module) -> bool:
    """Whether lanes that call a function together may come back from it one after the other: all but those that have
    no way but one, and call no others."""
    callee = call.operands[1] if len(call.operands) > 1 else None
    function: Function | None = module.functions.get(callee.name) if isinstance(callee, Symbol) else None
    if function is None or not function.has_body or function.unread is not None:
        return True
    for statement in function.body:
        if not isinstance(statement, Instruction):
            continue
        effect = statement.opcode.effect
        if effect == CALL or (statement.guard is not None and effect in (BRANCH, RETURN, EXIT)):
            return True
        if statement.name == "brx.idx":
            return True
    return False
