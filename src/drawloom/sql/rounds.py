"""Joins whose pairs are looked at a part at a time, so that never all of them have a place in memory.

    while (more) { found = those of the next pairs for which the condition holds;  what is asked of these;  more = ... }

Without keys a round has a part of the left side's rows, each with all of the right side's. By keys the right side's
rows lie group by group, each row of the left side that has partners knows where those begin and how many there are,
and a round has the next pairs by number, wherever one row's end: a key that most rows have makes no round longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import FunctionRef, Literal, Operand, Use
from drawloom.horse.types import BOOL, I64, SYM
from drawloom.sql import lists, plan
from drawloom.sql.frames import Frame
from drawloom.sql.loops import Mark, declared, set_variable

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

#: Pairs that are looked at in a round, about: of 2**18 to 2**22 this took a processor least.
ROUND: Final = 1 << 21
_ZERO: Final = Literal([0], I64)
_ONE: Final = Literal([1], I64)


class Pairs:
    """Row numbers of both sides: those that match, and then, from an outer join, -1 for a side without a partner."""

    def __init__(self, left: Operand, right: Operand) -> None:
        self.left = left
        self.right = right


class Kept:
    """All pairs of all rounds."""

    def __init__(self, t: Translator) -> None:
        self.t = t
        self.lefts, self.rights = [declared(t, Literal([], I64)) for _ in range(2)]

    def add(self, found: Pairs) -> None:
        set_variable(self.t, self.lefts, Use(self.t.emit("concat", [self.lefts, found.left])))
        set_variable(self.t, self.rights, Use(self.t.emit("concat", [self.rights, found.right])))

    def pairs(self) -> Pairs:
        """By the same positions, so that both are known to have one length."""
        there = self.t.emit("where", [self.t.emit("geq", [self.lefts, _ZERO])])
        return Pairs(self.t.emit("index", [self.lefts, there]), self.t.emit("index", [self.rights, there]))


class Touched:
    """Which of the left side's rows are in a pair."""

    def __init__(self, t: Translator, left: Frame) -> None:
        self.t = t
        self.anchor = left.anchor()
        self.mask = declared(t, t.emit("fill", [Literal([0], BOOL), self.anchor]))

    def add(self, found: Pairs) -> None:
        hit = self.t.emit("touched", [found.left, self.anchor])
        set_variable(self.t, self.mask, Use(self.t.emit("or", [self.mask, hit])))


#: The pairs of these rows of both sides for which the condition holds.
Filter = Callable[[Pairs], Pairs]


def compute_columns(condition: plan.Expression | None, left: Frame, right: Frame) -> None:
    """Before the loop what the condition reads, which the loop would compute in every round."""
    whole = [*left.columns, *right.columns]
    for field in [p for c in plan.conjuncts(condition) for p in plan.within(c) if isinstance(p, plan.Field)]:
        whole[field.index]()


def by_rows(t: Translator, left: Frame, right: Frame, found_of: Callable[[Frame], Pairs], into: Kept | Touched) -> None:
    """Puts the pairs that ``found_of`` says for some rows of the left side into ``into``, in rounds."""
    count, others = [t.emit("len", [side.anchor()]) for side in (left, right)]
    others = t.emit("if_else", [t.emit("gt", [others, _ZERO]), others, _ONE])
    share = t.emit("floor", [t.emit("div", [Literal([ROUND], I64), others])])
    part = t.emit("plus", [_whole(t, share), _ONE])
    every = t.emit("range", [count])
    first, more = declared(t, _ZERO), declared(t, t.emit("gt", [count, _ZERO]))
    inside = Mark(t)
    rows = t.emit("top", [every, first, part])
    found = found_of(t.picked(left, rows))
    into.add(Pairs(t.index(rows, found.left), found.right))
    after = t.emit("plus", [first, part])
    set_variable(t, more, Use(t.emit("gt", [count, after])))
    set_variable(t, first, Use(after))
    inside.enclose(more)


def by_keys(t: Translator, lefts: list[Operand], rights: list[Operand], filtered: Filter, into: Kept | Touched) -> None:
    """Puts those pairs of equal keys into ``into`` that are left by ``filtered``, in rounds."""
    groups = t.emit("group", [t.emit("list", rights, "rounds")])
    firsts, members = t.emit("keys", [groups]), t.emit("values", [groups])
    order = t.emit("raze", [members])
    sizes = t.emit("raze", [t.emit("each", [FunctionRef("len"), members])])
    keys: list[Operand] = [t.emit("index", [r, firsts]) for r in rights]
    joined = t.emit("join", [t.emit("list", lefts, "join"), t.emit("list", keys, "join")])
    rows, which = [t.emit("item", [joined, Literal([side], I64)]) for side in (0, 1)]
    counts = t.emit("index", [sizes, which])
    low = t.emit("index", [lists.sums_before(t, sizes), which])
    before = lists.sums_before(t, counts)
    total, height = _whole(t, t.emit("sum", [counts])), t.emit("len", [counts])
    every, nowhere = t.emit("range", [height]), t.emit("fill", [Literal([-1], I64), order])
    first, more = declared(t, _ZERO), declared(t, t.emit("gt", [total, _ZERO]))
    inside = Mark(t)
    after = t.emit("plus", [first, Literal([ROUND], I64)])
    begin = t.emit("minus", [t.emit("search_after", [before, _ZERO, height, first]), _ONE])
    end = t.emit("search", [before, _ZERO, height, after])
    some = t.emit("top", [every, begin, t.emit("minus", [end, begin])])
    start, partners, own = [t.emit("index", [v, some]) for v in (before, low, counts)]
    skipped, reached = t.emit("minus", [first, start]), t.emit("minus", [after, start])
    skipped = t.emit("if_else", [t.emit("gt", [skipped, _ZERO]), skipped, _ZERO])
    reached = t.emit("if_else", [t.emit("lt", [reached, own]), reached, own])
    bounds = [t.emit("plus", [partners, edge]) for edge in (skipped, reached)]
    slices = t.emit("distinct_slices", [nowhere, *bounds])
    each, places = [t.emit("item", [slices, Literal([side], I64)]) for side in (0, 1)]
    into.add(filtered(Pairs(t.emit("index", [t.emit("index", [rows, some]), each]), t.emit("index", [order, places]))))
    set_variable(t, more, Use(t.emit("gt", [total, after])))
    set_variable(t, first, Use(after))
    inside.enclose(more)


def _whole(t: Translator, number: Operand) -> Operand:
    return t.emit("convert", [number, Literal(["i64"], SYM)])
