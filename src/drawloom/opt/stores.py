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

from heapq import heapify, heappop, heappush
from typing import Final

from drawloom.opt.memory import Base, Memory, Part, Place, is_elsewhere, memory_of
from drawloom.opt.work import Work
from drawloom.ptx.ir import Instruction, Register, Statement
from drawloom.ptx.isa import BRANCH, EXIT, LOAD, PURE, RETURN, STORE
from drawloom.ptx.ssa import SsaBlock


def remove_stores(work: Work) -> None:
    """Find what is written over behind every block, then walk over each from its end."""
    memory = memory_of(work)
    places = _removable(memory)
    if not places:
        return
    gone: set[int] = set()
    search = _Search(work, memory, places)
    for part in memory.parts(places):
        search.find_needless(part, gone)
    blocks = work.ssa.blocks
    if gone:
        for block in blocks:
            left: list[Statement] = []
            for statement in block.statements:
                if id(statement) in gone:
                    work.changed(statement, "removed, nobody reads it before it is written over or gone")
                else:
                    left.append(statement)
            block.statements = left


def _removable(memory: Memory) -> list[Place]:
    """The places whose stores may be needless: they end with the function, or their base has another store."""
    stores: dict[tuple[str, Base], int] = {}
    for place in memory.places:
        key = (place.space, place.base)
        stores[key] = stores.get(key, 0) + place.stores
    return [p for p in memory.places if p.stores and (p.own or stores[p.space, p.base] > 1)]


def _effects(block: SsaBlock, bases: set[int]) -> list[Instruction]:
    """The instructions of a block that matter: those with effects, and those that compute the base of a place."""
    found: list[Instruction] = []
    for statement in block.statements:
        if isinstance(statement, Instruction):
            if statement.opcode.effect != PURE or not bases.isdisjoint([d.id for d in statement.destinations()]):
                found.append(statement)
    return found


def _before(memory: Memory, part: Part, instruction: Instruction, dead: int) -> int:
    """What is written over before it is read, seen from before an instruction."""
    opcode = instruction.opcode
    if opcode.effect == PURE:
        return dead & ~part.moved_by(instruction)
    place = memory.place(instruction)
    if place is not None:
        if opcode.effect == LOAD:
            dead &= ~part.overlapping(place)
        elif instruction.guard is None:
            dead |= part.covered(place)
    elif opcode.effect not in (PURE, BRANCH, RETURN) and not (opcode.effect == EXIT and opcode.name == "exit"):
        if not is_elsewhere(opcode) or opcode.nc:
            dead &= ~part.touched(opcode)
    return dead & ~part.moved_by(instruction)


class _Search:
    """``found`` has what is written over behind the ends of blocks, on every way on, as far as stores ask for it;
    at the end of the function that is what nobody else can see. ``summaries[b]`` is what a block writes over before it
    reads it, and what it neither reads nor moves."""

    def __init__(self, work: Work, memory: Memory, places: list[Place]) -> None:
        self.blocks = work.ssa.blocks
        self.memory = memory
        self.ends = _ends(self.blocks)
        bases = {place.address.base.id for place in places if isinstance(place.address.base, Register)}
        self.effects = [_effects(block, bases) for block in self.blocks]
        self.reverse_postorder = work.tree.order
        self.order = {block_id: index for index, block_id in enumerate(work.tree.order)}
        self.stored: dict[int, set[int]] = {}  # by place: the blocks with stores
        for block in self.blocks:
            for effect in self.effects[block.id]:
                place = memory.place(effect)
                if place is not None and effect.opcode.effect == STORE:
                    self.stored.setdefault(place.index, set()).add(block.id)
        self.found: dict[int, int] = {}
        self.summaries: dict[int, tuple[int, int]] = {}

    def find_needless(self, part: Part, gone: set[int]) -> None:
        """Note the stores to places of a part, by their id(), that are dead where they stand."""
        starts = sorted(set().union(*[self.stored.get(place.index, ()) for place in part.places]))
        self.solve(part, starts)
        for block_id in starts:
            dead = self.found[block_id]
            for instruction in reversed(self.effects[block_id]):
                place = self.memory.place(instruction)
                if place is not None and instruction.opcode.effect == STORE and dead & part.bit(place):
                    gone.add(id(instruction))
                elif id(instruction) not in gone:
                    dead = _before(self.memory, part, instruction, dead)

    def solve(self, part: Part, starts: list[int]) -> None:
        """Follow the ways on from stores as far as nothing decides about them, then let what is dead fall."""
        self.summaries = {}
        found = self.found = {block_id: self.asked(part, self.effects[block_id]) for block_id in starts}
        todo = [self.order[block_id] for block_id in starts]
        heapify(todo)
        while todo:
            first = heappop(todo)
            if todo and todo[0] == first:
                continue
            block_id = self.reverse_postorder[first]
            for successor in self.blocks[block_id].succs:
                made, kept = self.summary(part, successor)
                before = found.get(successor, 0)
                asked = before | (found[block_id] & kept & ~made)
                if asked != before:
                    found[successor] = asked
                    heappush(todo, self.order[successor])
        own = 0
        for place in part.places:
            if place.own:
                own |= part.bit(place)
        visited = sorted(found, key=self.order.__getitem__, reverse=True)
        for block_id in visited:
            block = self.blocks[block_id]
            leaves = not block.succs or (block.terminator is not None and block.terminator.opcode.effect in _LEAVING)
            if leaves or not self.ends[block_id]:
                found[block_id] &= own if self.ends[block_id] else 0
        changed = True
        while changed:
            changed = False
            for block_id in visited:
                dead = found[block_id]
                for successor in self.blocks[block_id].succs:
                    made, kept = self.summaries[successor]
                    dead &= made | (found.get(successor, 0) & kept)
                if dead != found[block_id]:
                    found[block_id] = dead
                    changed = True

    def asked(self, part: Part, effects: list[Instruction]) -> int:
        """The places that a block stores to and neither writes over nor reads behind that."""
        asked, made, kept = 0, 0, part.all
        for instruction in reversed(effects):
            place = self.memory.place(instruction)
            if place is not None and instruction.opcode.effect == STORE:
                asked |= part.bit(place) & kept & ~made
            made = _before(self.memory, part, instruction, made)
            kept = _before(self.memory, part, instruction, kept)
        return asked

    def summary(self, part: Part, block_id: int) -> tuple[int, int]:
        known = self.summaries.get(block_id)
        if known is None:
            made, kept = 0, part.all
            for instruction in reversed(self.effects[block_id]):
                made = _before(self.memory, part, instruction, made)
                kept = _before(self.memory, part, instruction, kept)
            moved = part.moved([phi.destination for phi in self.blocks[block_id].phis])
            known = self.summaries[block_id] = made & ~moved, kept & ~moved
        return known


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
