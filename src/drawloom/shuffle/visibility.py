"""What an instruction does to what the lanes of a warp see in memory: whether others' writes become visible, and
whether lanes may do so at different times (PTX ISA 9.0, chapter 8, and section 9.7.13 on barriers)."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import controlled
from drawloom.ptx.ir import Function, Immediate, Instruction, Module, Operand, Symbol
from drawloom.ptx.isa import ATOMIC, BARRIER, BRANCH, CALL, EXIT, FENCE, LOAD, RETURN, SIDE, WARP, Opcode
from drawloom.ptx.uniformity import Uniformity

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
        return is_full(instruction.operands[0])
    if opcode.effect != BARRIER or opcode.has("arrive"):
        return False
    return opcode.name == "bar" or opcode.has("aligned")


def asks_all(instruction: Instruction, waits_apart: bool) -> bool:
    """Whether what an instruction says comes from all lanes of a warp, at one time."""
    if instruction.opcode.effect == BARRIER:
        return brings_together(instruction)
    if instruction.opcode.effect != WARP or not instruction.opcode.sync or waits_apart:
        return False
    return is_full(instruction.operands[-1])


def is_full(mask: Operand) -> bool:
    """Whether a mask is that of all lanes."""
    return isinstance(mask, Immediate) and mask.value & _ALL_LANES == _ALL_LANES


def waits(instruction: Instruction) -> bool:
    """Whether lanes of a warp wait for each other at an instruction."""
    opcode = instruction.opcode
    return opcode.name == "bar.warp" or (opcode.effect == WARP and opcode.sync)


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
    function = known_callee(call, module)
    if function is None:
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


def parts(instruction: Instruction, uniform: Uniformity, module: Module) -> bool:
    """Whether lanes that come to an instruction together, which is no branch, may go on at different times: some call
    or wait where others do not, or wait for others."""
    opcode = instruction.opcode
    is_call = opcode.effect == CALL
    if not is_call and opcode.effect != BARRIER and not waits(instruction):
        return False
    guard = instruction.guard
    if guard is not None and not uniform.is_uniform(guard.id):
        return True
    if is_call:
        return may_part(instruction, module)
    if opcode.effect == BARRIER:
        return not opcode.has("arrive") and not brings_together(instruction)
    return not is_full(instruction.operands[0 if opcode.name == "bar.warp" else -1])


def may_wait(call: Instruction, module: Module) -> bool:
    """Whether lanes may wait for each other in a function that is called."""
    function = known_callee(call, module)
    if function is None:
        return True
    instructions = [statement for statement in function.body if isinstance(statement, Instruction)]
    return any(i.opcode.effect == CALL or waits(i) for i in instructions)


def known_callee(call: Instruction, module: Module) -> Function | None:
    """The function that is called, where its body is known."""
    callee = call.operands[1] if len(call.operands) > 1 else None
    function: Function | None = module.functions.get(callee.name) if isinstance(callee, Symbol) else None
    return function if function is not None and function.has_body and function.unread is None else None


def waits_apart(cfg: Cfg, uniform: Uniformity, module: Module, doubtful: bool) -> bool:
    """Whether lanes at one ``bar.warp.sync``, or vote, may be waited for by lanes at another one, so that all have
    passed one of them at different times: one is in a function that some lanes may call alone, under a guard that lanes
    do not share, or on one of two ways from where they part that both lead to some. Where ``uniform`` is ``doubtful``
    they may part at every branch."""
    waiting = 0
    for block_id in cfg.rpo:
        for instruction in cfg.blocks[block_id].instructions:
            if instruction.opcode.effect == CALL and may_wait(instruction, module):
                if may_part(instruction, module):
                    return True
                waiting |= 1 << block_id
            elif waits(instruction):
                guard = instruction.guard
                if not cfg.function.is_entry or (guard and (doubtful or not uniform.is_uniform(guard.id))):
                    return True
                waiting |= 1 << block_id
    if not waiting:
        return False
    leads = waiting
    for block_id in cfg.rpo:
        if waiting >> block_id & 1:
            leads |= cfg.before(block_id)
    starts = [b for b in cfg.rpo if doubtful or uniform.is_divergent(b)]
    starts = [b for b in starts if sum(leads >> successor & 1 for successor in cfg.blocks[b].succs) > 1]
    return any(waiting >> block_id & 1 for block_id in controlled(cfg, starts))
