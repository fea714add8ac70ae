"""Cheap instructions of short conditional blocks go before the branch (Wu and others, "gpucc", CGO 2016, 3.5).

    @%p1 bra skip;                  add.u64 %rd3, %rd1, %rd2;
    add.u64 %rd3, %rd1, %rd2;       @%p1 bra skip;
    ld.global.u32 %r1, [%rd3];      ld.global.u32 %r1, [%rd3];
    skip: ...                       skip: ...

What is before the branch dominates more: straight-line strength reduction and value numbering find it, and the rest of
the block may be short enough for the back end to predicate. Two thresholds bound what a thread may compute in vain:
how much a block may give, and how much may stay behind for which it was not worth it.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Work, is_pure
from drawloom.ptx.ir import Instruction, Statement
from drawloom.ptx.ssa import SsaBlock

#: Instructions that one block may give away, and that may stay behind.
_MOST_HOISTED: Final = 7
_MOST_LEFT: Final = 5
#: Index and pointer arithmetic, each in one issue slot or two; what is dearer is not computed in vain.
_CHEAP: Final = frozenset("add sub shl shr and or xor not neg mul mad cvt cvta mov selp setp min max bfe".split())


def speculate(work: Work) -> None:
    """Visit the successors of every guarded branch, inner ones first, so that what moves may move on."""
    undefined = work.maybe_undefined()
    for block in reversed(work.preorder()):
        terminator = block.terminator
        if terminator is None or terminator.guard is None or terminator.opcode.name != "bra":
            continue
        for successor in block.succs:
            side = work.ssa.blocks[successor]
            if side.preds == [block.id] and side is not block:
                _hoist(work, side, block, undefined)


def _hoist(work: Work, side: SsaBlock, block: SsaBlock, undefined: set[int]) -> None:
    """Move what can go from ``side`` to the end of ``block``, if it is little and little stays."""
    moved: list[Statement] = []
    left: list[Statement] = []
    staying = undefined | {phi.destination.id for phi in side.phis}
    cost = stay = 0
    for statement in side.statements:
        if not isinstance(statement, Instruction):
            left.append(statement)
            continue
        free = is_cheap(statement) and not work.is_decided(statement)
        if free and not any(r.id in staying for r in statement.sources()):
            moved.append(statement)
            cost += 1
            continue
        left.append(statement)
        staying.update([d.id for d in statement.destinations()])
        stay += statement is not side.terminator
    if not moved or cost > _MOST_HOISTED or stay > _MOST_LEFT:
        return
    side.statements = left
    place = len(block.statements) - 1
    block.statements[place:place] = moved
    for statement in moved:
        if isinstance(statement, Instruction):
            work.moved(statement)
        work.changed(statement, "computed before the branch")


def is_cheap(instruction: Instruction) -> bool:
    """Whether an instruction may run in vain."""
    opcode = instruction.opcode
    type = opcode.type
    if instruction.guard is not None or opcode.name not in _CHEAP or not is_pure(instruction):
        return False
    if opcode.name in ("mul", "mad") and type is not None and type.bits > 32:
        return False
    return all(not t.is_float or t.bits <= 32 for t in opcode.types)
