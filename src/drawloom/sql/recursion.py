"""Recursive queries to HorseIR: a loop whose variables are the columns of the rows that the next step goes on from, and
those of all rows so far.

    w = start;  all = start;  more = @gt(@len(w), 0)
    while (more) { s = step over w;  all = @concat(all, s);  w = s;  more = @gt(@len(s), 0) }

A step is translated until its columns are known not to be NULL where the loop's are taken not to be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand, Use
from drawloom.horse.types import BOOL, I64, VectorType
from drawloom.sql.frames import Column, Frame, Result
from drawloom.sql.lists import ListOf, mask, together
from drawloom.sql.loops import Mark, declared, set_variable
from drawloom.sql.made import Recursive

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_TRUE: Final = Literal([1], BOOL)
_NONE: Final = Literal([], I64)


class _Rows:
    """Variables that hold rows: of each column its values, and where they are not NULL if some may be; of lists their
    elements too."""

    def __init__(self, columns: list[Result]) -> None:
        self.columns = columns

    def operands(self) -> list[Operand]:
        made: list[Operand] = []

        def take(operand: Operand) -> Operand:
            made.append(operand)
            return operand

        for column in self.columns:
            _mapped(column, take)
        return made

    def frame(self) -> Frame:
        def column(result: Result) -> Column:
            return lambda: result

        return Frame([column(c) for c in self.columns], lambda: self.columns[0].value)


def _mapped(result: Result, change: Callable[[Operand], Operand]) -> Result:
    """The result with other operands in the place of its own."""
    type = result.type
    value, valid = change(result.value), None if result.valid is None else change(result.valid)
    if isinstance(type, ListOf):
        type = ListOf(_mapped(type.elements, change), change(type.low), change(type.high))
    return Result(value, type, valid)


def recursive(t: Translator, relation: Recursive) -> Frame:
    """The rows, made once however often they are read."""
    found = t.working.get(relation.name)
    if found is None:
        found = t.working[relation.name] = _made(t, relation)
    return found


def _made(t: Translator, relation: Recursive) -> Frame:
    start = t.relation(relation.start)
    first = [c() for c in start.columns]
    may_be_null = [c.valid is not None for c in first]
    while True:
        before = Mark(t)
        begun = _Rows([_whole(t, c, start, null) for c, null in zip(first, may_be_null)])
        rows, seen = _variables(t, begun), _variables(t, begun)
        more = declared(t, t.emit("gt", [t.emit("len", [begun.operands()[0]]), Literal([0], I64)]))
        inside = Mark(t)
        for name, read in ((relation.name, rows), (relation.seen, seen)):
            t.tables[name] = dict(zip(relation.names, read.frame().columns))
        step = t.relation(relation.step)
        made = [_cast(t, c(), r.type) for c, r in zip(step.columns, first)]
        needed = [null or c.valid is not None for null, c in zip(may_be_null, made)]
        if needed != may_be_null:
            may_be_null = needed
            before.go_back()
            continue
        new = _Rows([_whole(t, c, step, null) for c, null in zip(made, may_be_null)])
        longer = _Rows([_behind(t, so_far, found) for so_far, found in zip(seen.columns, new.columns)])
        for so_far, found in zip(seen.operands(), longer.operands()):
            set_variable(t, so_far, Use(found))
        for row, found in zip(rows.operands(), new.operands()):
            set_variable(t, row, Use(found))
        set_variable(t, more, Use(t.emit("gt", [t.emit("len", [new.operands()[0]]), Literal([0], I64)])))
        inside.enclose(more)
        return seen.frame()


def _cast(t: Translator, result: Result, type: VectorType) -> Result:
    if isinstance(type, ListOf) and isinstance(result.type, ListOf):
        elements = t.cast(result.type.elements, type.elements.type)
        return Result(result.value, ListOf(elements, result.type.low, result.type.high), result.valid)
    if isinstance(type, ListOf):
        return together(t, [Result(_NONE, type), result])[1]
    return t.cast(result, type)


def _whole(t: Translator, result: Result, frame: Frame, may_be_null: bool) -> Result:
    """The column as long as the frame, with its validity where that is wanted."""
    type = result.type
    if isinstance(type, ListOf):
        elements = type.elements
        known = Result(elements.value, elements.type, mask(t, elements.valid, elements.value))
        type = ListOf(known, type.low, type.high)
    valid = t.spread(result.valid or _TRUE, frame) if may_be_null else None
    return Result(t.spread(result.value, frame), type, valid)


def _behind(t: Translator, before: Result, more: Result) -> Result:
    """The rows of both."""
    sides = together(t, [before, more])
    valid = None
    if before.valid is not None and more.valid is not None:
        valid = t.emit("concat", [before.valid, more.valid])
    return Result(t.emit("concat", [s.value for s in sides]), sides[0].type, valid)


def _variables(t: Translator, rows: _Rows) -> _Rows:
    """Variables of their own for rows."""
    return _Rows([_mapped(c, lambda operand: declared(t, operand)) for c in rows.columns])
