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
from drawloom.ptx.ir import Immediate, Instruction, Register, Statement
from drawloom.ptx.isa import BRANCH, LOAD, PURE, STORE
from drawloom.ptx.ssa import SsaBlock


class _Loop:
    """A natural loop. ``latches`` lead back to the header; ``before`` runs into it and nowhere else, -1 if there
    is no such block; ``blocks`` are those that no inner loop has, and those of
    inner loops from which something may still move; ``enter`` and ``leave`` number the loops inside, itself first."""

    def __init__(self, header: int, latches: list[int], before: int, memory: Memory) -> None:
        self.header = header
        self.before = before
        self.latches = latches
        self.outer: _Loop | None = None
        self.around: _Loop | None = None  # a loop around it, the outermost that was known when it was last asked for
        self.inner: list[_Loop] = []
        self.blocks: list[int] = []
        #: The loop around all others that something may leave level by level from here; itself where that is none.
        self.outermost = self
        self.enter = 0
        self.leave = 0
        self.written = Writes(memory)


class _Nest:
    """The natural loops of a function, and in which of them a value is computed. Each block is looked at in its
    innermost loop alone, so that time does not grow with the depth."""

    def __init__(self, work: Work, memory: Memory) -> None:
        self.place: dict[int, int] = {}  # of blocks, in preorder
        self.loops: list[_Loop] = []  # inner ones before those around them
        self.innermost: list[_Loop | None] = [None] * len(work.ssa.blocks)
        #: By register: the block that computes it, -1 for parameters.
        self.block_of = [-1] * len(work.ssa.registers)
        blocks, tree = work.ssa.blocks, work.tree
        order = work.preorder()
        for block in order:
            self.place[block.id] = len(self.place)
        for block in reversed(order):
            latches = [p for p in block.preds if tree.dominates(block.id, p)]
            if latches:
                outside = [p for p in block.preds if p not in latches]
                alone = len(outside) == 1 and blocks[outside[0]].succs == [block.id]
                self._enter(_Loop(block.id, latches, outside[0] if alone else -1, memory), blocks)
        for block in order:
            loop = self.innermost[block.id]
            if loop is not None:
                loop.blocks.append(block.id)
                for phi in block.phis:
                    self.block_of[phi.destination.id] = block.id
                for statement in block.statements:
                    if isinstance(statement, Instruction):
                        for register in statement.destinations():
                            self.block_of[register.id] = block.id
                        loop.written.enter(statement)
        self._number()

    def _enter(self, loop: _Loop, blocks: list[SsaBlock]) -> None:
        """Claim the blocks of a loop that no inner loop has. Inner loops count as their headers."""
        self.loops.append(loop)
        self.innermost[loop.header] = loop
        todo = list(loop.latches)
        while todo:
            member = todo.pop()
            inner = self.innermost[member]
            if inner is loop or member not in self.place:
                continue
            if inner is None:
                self.innermost[member] = loop
                todo.extend(blocks[member].preds)
                continue
            inner = _outermost(inner)
            if inner is not loop:
                inner.outer = inner.around = loop
                loop.inner.append(inner)
                todo.extend(blocks[inner.header].preds)

    def _number(self) -> None:
        """Number loops so that those inside of one are an interval. A list stands for the stack of the walk."""
        number = 0
        for root in self.loops:
            todo = [root] if root.outer is None else []
            while todo:
                loop = todo.pop()
                loop.enter = number
                number += 1
                if loop.outer is not None and loop.outer.before >= 0:
                    loop.outermost = loop.outer.outermost
                todo.extend(loop.inner)
        for loop in self.loops:  # inner ones first
            loop.leave = max([loop.enter, *[inner.leave for inner in loop.inner]])

    def changes(self, loop: _Loop, register: Register) -> bool:
        """Return whether a loop computes a value."""
        block = self.block_of[register.id]
        found = self.innermost[block] if block >= 0 else None
        return found is not None and loop.enter <= found.enter <= loop.leave


def _outermost(loop: _Loop) -> _Loop:
    """The outermost loop around one that is known so far; paths are halved, so that they stay short."""
    while loop.around is not None:
        if loop.around.around is not None:
            loop.around = loop.around.around
        loop = loop.around
    return loop


def move_invariants(work: Work) -> None:
    """Move out of every loop that one block runs into."""
    if not _turns_back(work):
        return
    memory = memory_of(work)
    undefined = work.maybe_undefined()
    nest = _Nest(work, memory)
    blocks = work.ssa.blocks
    for loop in nest.loops:
        loop.blocks.sort(key=lambda block: nest.place[block])
        left = loop.blocks
        if loop.before >= 0:
            left = _move(work, memory, nest, loop, blocks[loop.before], undefined)
        if loop.outer is not None:
            loop.outer.blocks.extend(left)
            loop.outer.written.join(loop.written)


def _turns_back(work: Work) -> bool:
    """Return whether there is a loop."""
    tree = work.tree
    return any(tree.dominates(block.id, p) for block in work.preorder() for p in block.preds)


def _move(work: Work, memory: Memory, nest: _Nest, loop: _Loop, before: SsaBlock, undefined: set[int]) -> list[int]:
    """Move what a loop does not change before it. Returns the blocks with an instruction that stays as it is dear
    and some round may not run it: each round of an outer loop may."""
    moved: list[Statement] = []
    pending: list[int] = []
    for block_id in loop.blocks:
        block = work.ssa.blocks[block_id]
        left: list[Statement] = []
        first = block.id == loop.header
        every_round = all(work.tree.dominates(block.id, latch) for latch in loop.latches)
        for statement in block.statements:
            if isinstance(statement, Instruction) and not _depends(nest, loop, statement, undefined):
                place = memory.place(statement) if first else None
                stays = place is None or statement.guard is not None or loop.written.reach(place)
                if not stays or _can_move(work, statement, first, every_round):
                    end = before
                    if place is None and statement.opcode.name not in _DEAR:
                        end = _climbed(work, nest, loop, statement)
                    if end is before:
                        moved.append(statement)
                    else:
                        _append(end, [statement])
                    work.moved(statement)
                    for register in statement.destinations():
                        nest.block_of[register.id] = end.id
                    work.changed(statement, "computed before the loop")
                    continue
                if not every_round and statement.opcode.name in _DEAR and pending[-1:] != [block_id]:
                    pending.append(block_id)
            if isinstance(statement, Instruction) and _is_seen(statement):
                first = False
            left.append(statement)
        block.statements = left
    _append(before, moved)
    return pending


def _append(block: SsaBlock, moved: list[Statement]) -> None:
    """Put instructions at the end of a block, before its terminator."""
    end = len(block.statements) - (1 if block.terminator is not None else 0)
    block.statements[end:end] = moved


def _climbed(work: Work, nest: _Nest, loop: _Loop, instruction: Instruction) -> SsaBlock:
    """The block before the outermost loop that an instruction may leave: level by level it would be moved as often as
    loops are around it."""
    if not any(nest.changes(loop.outermost, register) for register in instruction.sources()):
        return work.ssa.blocks[loop.outermost.before]
    while True:
        outer = loop.outer
        if outer is None or outer.before < 0:
            break
        if any(nest.changes(outer, register) for register in instruction.sources()):
            break
        loop = outer
    return work.ssa.blocks[loop.before]


def _depends(nest: _Nest, loop: _Loop, instruction: Instruction, undefined: set[int]) -> bool:
    """Return whether an instruction reads what a loop computes, or what nobody may have written."""
    return any(register.id in undefined or nest.changes(loop, register) for register in instruction.sources())


def _is_seen(instruction: Instruction) -> bool:
    """Whether others see that an instruction has run, so that no fault of one behind may come before it."""
    opcode = instruction.opcode
    return opcode.effect not in (PURE, LOAD, STORE, BRANCH) or not opcode.weak


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
