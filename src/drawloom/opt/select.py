"""Small conditional blocks become selections: if-conversion, so that no thread of a warp waits for another.

    @%p1 bra other;                 selp.b32 %r3, %r2, %r1, %p1;
    mov.u32 %r3, %r1;               ...
    bra join;
    other: mov.u32 %r3, %r2;
    join: ...

Both sides, or the one there is, must do nothing but a few cheap instructions that ``speculate`` would move, and the
join may need a few selections at most. Branches that are the same for a warp (``.uni``) stay. Values that may be
undefined are not selected. Longer sides, and those with stores, are left to the back end, which predicates them.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.speculate import is_cheap
from drawloom.opt.work import Work
from drawloom.ptx.ir import Directive, Instruction, LabelRef, Statement
from drawloom.ptx.isa import decode
from drawloom.ptx.ssa import SsaBlock
from drawloom.ptx.types import PRED

#: Instructions of both sides together that every thread may run, and selections behind them.
_MOST_MOVED: Final = 4
_MOST_SELECTED: Final = 2


def select(work: Work) -> None:
    """Convert inner branches first: what is joined may be a side of another."""
    undefined = work.maybe_undefined()
    converted = False
    for block in reversed(work.preorder()):
        if _convert(work, block, undefined):
            converted = True
    if converted:
        work.number_blocks([block for block in work.ssa.blocks if block.preds or block.id == 0])


def _convert(work: Work, block: SsaBlock, undefined: set[int]) -> bool:
    """Turn the branch at the end of a block into selections if both its ways meet at once."""
    branch = block.terminator
    if branch is None or branch.guard is None or branch.opcode.text != "bra" or len(block.succs) != 2:
        return False
    ways = [_way(work, block, successor) for successor in block.succs]
    if ways[0][1] != ways[1][1] or ways[0][1] < 0:
        return False
    join = work.ssa.blocks[ways[0][1]]
    sides = [work.ssa.blocks[side] for side, _ in ways if side >= 0]
    moved = [s for side in sides for s in side.statements if s is not side.terminator and not _is_position(s)]
    places = [join.preds.index(block.id if side < 0 else side) for side, _ in ways]
    differing = [phi for phi in join.phis if phi.arguments[places[0]] is not phi.arguments[places[1]]]
    if len(moved) > _MOST_MOVED or len(differing) > _MOST_SELECTED:
        return False
    for statement in moved:
        if not isinstance(statement, Instruction) or not is_cheap(statement):
            return False
        if any(register.id in undefined for register in statement.sources()):
            return False
    for phi in differing:
        chosen = [phi.arguments[place] for place in places]
        if any(a.id in undefined or a.type is PRED or a.type.bits > 64 or a.type is not chosen[0].type for a in chosen):
            return False
    for statement in moved:
        if isinstance(statement, Instruction):
            work.moved(statement)
    block.statements = [*[s for s in block.statements if s is not branch], *moved]
    for phi in differing:
        first, second = (phi.arguments[place] for place in places)
        if branch.guard_negated:
            first, second = second, first
        value = work.ssa.new_value(first.type)
        made = Instruction(decode(f"selp.b{value.type.bits}"), [value, first, second, branch.guard], pos=branch.pos)
        block.statements.append(made)
        work.changed(made, "instead of a branch")
        phi.arguments[places[0]] = value
    if not differing:
        work.changed(branch, "removed, both ways do nothing")
    _join(work, block, join, sides, places)
    return True


def _is_position(statement: Statement) -> bool:
    return isinstance(statement, Directive) and statement.name == ".loc"


def _way(work: Work, block: SsaBlock, successor: int) -> tuple[int, int]:
    """The side that an edge leads to, -1 if it leads to the join at once, and the join, -1 if there is none."""
    side = work.ssa.blocks[successor]
    if len(side.preds) > 1:
        return -1, side.id
    terminator = side.terminator
    if side.phis or len(side.succs) != 1 or side.succs[0] in (block.id, side.id):
        return -1, -1
    if terminator is not None and (terminator.guard is not None or terminator.opcode.name != "bra"):
        return -1, -1
    return side.id, side.succs[0]


def _join(work: Work, block: SsaBlock, join: SsaBlock, sides: list[SsaBlock], places: list[int]) -> None:
    """Let a block lead to the join alone; the sides have no edges any more."""
    for phi in join.phis:
        phi.arguments = [a for place, a in enumerate(phi.arguments) if place != places[1]]
    join.preds[places[0]] = block.id
    del join.preds[places[1]]
    for side in sides:
        side.preds, side.succs = [], []
    block.succs, block.terminator, block.results = [join.id], None, []
    following = block.id + 1
    while following < len(work.ssa.blocks) and not work.ssa.blocks[following].preds:
        following += 1
    if following != join.id:
        if not join.labels:
            join.labels.append(work.new_label())
        block.terminator = Instruction(decode("bra"), [LabelRef(join.labels[0].name)])
        block.statements.append(block.terminator)
