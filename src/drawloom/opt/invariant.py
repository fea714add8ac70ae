"""Instructions whose operands a loop does not change, before the loop.

    again: mul.lo.u32 %r3, %r1, 5;  mul.lo.u32 %r3, %r1, 5;
    add.u32 %r2, %r2, %r3;          again: add.u32 %r2, %r2, %r3;
    ...  @%p1 bra again;            ...  @%p1 bra again;

They go to the end of the block that runs into the loop, where there is one; from inner loops first, so that they may
go out of several. Divisions and roots go from blocks that every round runs, loads only from the first block of the
loop, and only if nothing in the loop may write what they read; those that may fault not over what others can see.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.memory import Memory, Writes, memory_of
from drawloom.opt.work import Work, is_pure, reads_what_never_changes
from drawloom.ptx.ir import Immediate, Instruction, Statement
from drawloom.ptx.isa import BRANCH, LOAD, PURE, STORE
from drawloom.ptx.ssa import SsaBlock


class _Loop:
    """A natural loop: ``members`` is a set of block ids, ``ordered`` the same as dominators come before others,
    ``latches`` lead back to the header."""

    def __init__(self, header: int, members: set[int], latches: list[int]) -> None:
        self.header = header
        self.members = members
        self.ordered: list[int] = []
        self.latches = latches


def move_invariants(work: Work) -> None:
    """Move out of every loop that one block runs into."""
    memory: Memory | None = None
    undefined = work.maybe_undefined()
    for loop in _loops(work):
        blocks = work.ssa.blocks
        outside = [p for p in blocks[loop.header].preds if p not in loop.members]
        if len(outside) == 1 and blocks[outside[0]].succs == [loop.header]:
            if memory is None:
                memory = memory_of(work)
            _move(work, memory, loop, blocks[outside[0]], undefined)


def _loops(work: Work) -> list[_Loop]:
    """The natural loops, inner ones before those around them."""
    blocks, tree = work.ssa.blocks, work.tree
    found: list[_Loop] = []
    place: dict[int, int] = {}  # in preorder
    for block in work.preorder():
        place[block.id] = len(place)
        latches = [p for p in block.preds if tree.dominates(block.id, p)]
        if latches:
            members = {block.id}
            todo = list(latches)
            while todo:
                member = todo.pop()
                if member not in members:
                    members.add(member)
                    todo.extend(blocks[member].preds)
            found.append(_Loop(block.id, members, latches))
    for loop in found:
        loop.ordered = sorted(loop.members, key=lambda member: place[member])
    found.sort(key=lambda loop: len(loop.members))
    return found


def _move(work: Work, memory: Memory, loop: _Loop, before: SsaBlock, undefined: set[int]) -> None:
    changing = set(undefined)
    written = Writes(memory)
    for block_id in loop.members:
        block = work.ssa.blocks[block_id]
        changing.update([phi.destination.id for phi in block.phis])
        for statement in block.statements:
            if isinstance(statement, Instruction):
                changing.update([d.id for d in statement.destinations()])
                written.enter(statement)
    moved: list[Statement] = []
    for block_id in loop.ordered:
        block = work.ssa.blocks[block_id]
        left: list[Statement] = []
        first = block.id == loop.header
        every_round = all(work.tree.dominates(block.id, latch) for latch in loop.latches)
        for statement in block.statements:
            if isinstance(statement, Instruction) and not any(r.id in changing for r in statement.sources()):
                place = memory.place(statement) if first else None
                stays = place is None or statement.guard is not None or written.reach(place)
                if not stays or _can_move(work, statement, first, every_round):
                    moved.append(statement)
                    work.moved(statement)
                    changing.difference_update([d.id for d in statement.destinations() if d.id not in undefined])
                    work.changed(statement, "computed before the loop")
                    continue
            if isinstance(statement, Instruction) and _is_seen(statement):
                first = False
            left.append(statement)
        block.statements = left
    end = len(before.statements) - (1 if before.terminator is not None else 0)
    before.statements[end:end] = moved


def _is_seen(instruction: Instruction) -> bool:
    """Whether others see that an instruction has run, so that no fault of one behind may come before it."""
    opcode = instruction.opcode
    return opcode.effect not in (PURE, LOAD, STORE, BRANCH) or opcode.order not in ("", "weak")


#: What is too dear to be computed for nothing.
_DEAR: Final = frozenset("div rem sqrt rcp rsqrt".split())


def _can_move(work: Work, instruction: Instruction, first: bool, every_round: bool) -> bool:
    """Whether an instruction may run before the loop: ``first`` is its first block. Literals cost no register there."""
    if instruction.guard is not None or work.is_decided(instruction):
        return False
    if is_pure(instruction):
        if instruction.opcode.name == "mov" and isinstance(instruction.operands[1], Immediate):
            return False
        return every_round or instruction.opcode.name not in _DEAR
    return first and reads_what_never_changes(work, instruction)
