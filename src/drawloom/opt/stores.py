"""Stores that nobody sees are removed: the thread itself writes over them before anybody could have read them, or they
are in local memory that ends with the function.

    st.global.u32 [%rd1], 0;        (nothing)
    @%p1 bra L;                     @%p1 bra L;
    st.global.u32 [%rd1], %r1;      st.global.u32 [%rd1], %r1;
    ret;                            ret;
    L: st.global.u32 [%rd1], %r2;   L: st.global.u32 [%rd1], %r2;

What is written over on every way to the end is found by iteration over the blocks, backwards. Barriers, fences, warp
operations, atomics, calls and volatile accesses end it, as others may read there, and so do loads of what may overlap,
and the instruction that computes the address: behind it in a loop, the same register is another place.
Of a loop that nothing leaves nothing is known.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.memory import Base, Memory, is_elsewhere, memory_of
from drawloom.opt.work import Work
from drawloom.ptx.ir import Instruction, Statement
from drawloom.ptx.isa import BRANCH, EXIT, LOAD, PURE, RETURN, STORE
from drawloom.ptx.ssa import SsaBlock


def remove_stores(work: Work) -> None:
    """Find what is written over behind every block, then walk over each from its end."""
    memory = memory_of(work)
    own = 0
    for place in memory.places:
        if place.own:
            own |= place.bit
    if not memory.stored or not (own or _may_cover(memory)):
        return
    behind = _solved(work, memory, own)
    for block in work.ssa.blocks:
        if behind[block.id] or memory.stored > 1:
            _sweep(work, memory, block, behind[block.id])


def _may_cover(memory: Memory) -> bool:
    """Whether one base has two stores, of which one may be to the bytes of the other."""
    seen: set[tuple[str, Base]] = set()
    for place in memory.places:
        if place.stores:
            key = (place.space, place.base)
            if place.stores > 1 or key in seen:
                return True
            seen.add(key)
    return False


def _sweep(work: Work, memory: Memory, block: SsaBlock, dead: int) -> None:
    left: list[Statement] = []
    for statement in reversed(block.statements):
        if isinstance(statement, Instruction):
            place = memory.place(statement)
            if place is not None and statement.opcode.effect == STORE and dead >> place.index & 1:
                work.changed(statement, "removed, nobody reads it before it is written over or gone")
                continue
            dead = _before(memory, statement, dead)
        left.append(statement)
    left.reverse()
    block.statements = left


def _before(memory: Memory, instruction: Instruction, dead: int) -> int:
    """What is written over before it is read, seen from before an instruction."""
    opcode = instruction.opcode
    if opcode.effect == PURE:
        return dead & ~memory.moved_by(instruction)
    place = memory.place(instruction)
    if place is not None:
        if opcode.effect == LOAD:
            dead &= ~memory.overlapping(place)
        elif instruction.guard is None:
            dead |= memory.covered(place)
    elif opcode.effect not in (PURE, BRANCH, RETURN) and not (opcode.effect == EXIT and opcode.name == "exit"):
        if not is_elsewhere(opcode) or opcode.nc:
            dead &= ~memory.touched(opcode)
    return dead & ~memory.moved_by(instruction)


def _solved(work: Work, memory: Memory, own: int) -> list[int]:
    """For every block, what is written over behind its end on every way on; at the end of the function that is what
    nobody else can see."""
    blocks = work.ssa.blocks
    ends = _ends(blocks)
    behind = [memory.all if end else 0 for end in ends]
    before = [memory.all if end else 0 for end in ends]
    summaries = [_summary(memory, block) for block in blocks]
    changed = True
    while changed:
        changed = False
        for block_id in reversed(work.tree.order):
            block = blocks[block_id]
            dead = behind[block_id]
            leaves = not block.succs or (block.terminator is not None and block.terminator.opcode.effect in _LEAVING)
            if leaves:
                dead &= own
            for successor in block.succs:
                dead &= before[successor]
            behind[block_id] = dead
            made, kept = summaries[block_id]
            dead = made | (dead & kept)
            if dead != before[block_id]:
                before[block_id] = dead
                changed = True
    return behind


def _summary(memory: Memory, block: SsaBlock) -> tuple[int, int]:
    """What a block writes over before it reads it, and what it neither reads nor moves."""
    made, kept = 0, memory.all
    for statement in reversed(block.statements):
        if isinstance(statement, Instruction) and statement.opcode.effect != BRANCH:
            made, kept = _before(memory, statement, made), _before(memory, statement, kept)
    moved = memory.moved([phi.destination for phi in block.phis])
    return made & ~moved, kept & ~moved


_LEAVING: Final = (RETURN, EXIT)


def _ends(blocks: list[SsaBlock]) -> list[bool]:
    """Whether a way leads from a block out of the function."""
    found = [not b.succs or (b.terminator is not None and b.terminator.opcode.effect in _LEAVING) for b in blocks]
    todo = [block.id for block in blocks if found[block.id]]
    while todo:
        for pred in blocks[todo.pop()].preds:
            if not found[pred]:
                found[pred] = True
                todo.append(pred)
    return found
