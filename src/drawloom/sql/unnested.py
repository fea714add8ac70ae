"""The tables of a query's text that were taken out (``tables.py``) to relations of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from drawloom.horse.types import DATE, DAY, I64, TIMESTAMP, VectorType
from drawloom.sql.dependent import Table
from drawloom.sql.made import Elements, Recursive, Series
from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Constant,
    Expression,
    Field,
    Join,
    JoinKey,
    Plan,
    Project,
    Read,
    Relation,
    Values,
    relations,
    within,
)
from drawloom.sql.tables import SEEN, STEP, ElementsTable, RecursiveTable, SeriesTable
from drawloom.sql.tables import Table as TextTable

_EPOCH: Final = datetime(1970, 1, 1)
#: The days that every month has.
_EVERY_MONTH: Final = 28
#: Rows of a series: more are hardly meant.
_MOST_ROWS: Final = 1 << 32


def relation_of(table: TextTable, plan: Callable[[str], Plan | None], unsupported: list[str]) -> Table | None:
    """What the table's name stands for, where ``plan`` gives the tree of a text; None where that is not told."""
    if isinstance(table, RecursiveTable):
        return _recursive(table, plan)
    if isinstance(table, SeriesTable):
        made = plan(table.sql)
        series = None if made is None else _series(table, made.root)
        if series is None:
            what = f"of what are no constants, of days beside months, or of more than {_MOST_ROWS:,} rows"
            unsupported.append(f"table function: {table.function} {what}")
        return None if series is None else Table(series, table.names)
    assert isinstance(table, ElementsTable)
    elements = Elements(table.number)
    if table.sql:
        below = plan(table.sql)
        if below is None:
            return None
        elements.input, elements.list = below.root, Field(0)
    return Table(elements, table.names)


def _recursive(table: RecursiveTable, plan: Callable[[str], Plan | None]) -> Table | None:
    start, step = plan(table.start), plan(table.step)
    if start is None or step is None:
        return None
    roots = [start.root, step.root]
    seen = f"{SEEN}{table.number}"
    if table.is_distinct:
        fields: list[Expression] = [Field(i) for i in range(start.root.width)]
        roots = [Aggregate(root, fields, []) for root in roots]
        keys = [JoinKey(field, field, True) for field in fields]
        roots[1] = Join("anti", roots[1], Read(seen, table.names), keys, None)
    name = f"{STEP}{table.number}"
    return Table(Recursive(name, seen, table.names, roots[0], roots[1], table.is_distinct), table.names)


def find_lists(root: Relation, unsupported: list[str]) -> None:
    """Tells the ``Elements`` below ``root`` what they are of: the argument of the call that asks for its number, in a
    key of the join that they are the other side of, or else anywhere."""
    everything = list(relations(root))
    for relation in reversed(everything):  # joins within joins first
        if isinstance(relation, Join):
            for key in relation.keys:
                for side, asked, other in (
                    (relation.left, key.left, relation.right), (relation.right, key.right, relation.left),
                ):  # fmt: skip
                    for number, argument in _asked(asked):
                        _fill(other, number, side, argument)
    calls: dict[int, list[tuple[Relation, Expression]]] = {}
    for relation in everything:
        for input, expression in _over(relation):
            for number, argument in _asked(expression):
                calls.setdefault(number, []).append((input, argument))
    for relation in everything:
        if not isinstance(relation, Elements) or relation.input is not None:
            continue
        found = calls.get(relation.number, [])
        if len(found) != 1 or any(below is relation for below in relations(found[0][0])):
            unsupported.append("relation: UNNEST of a list that several parts of the plan have")
            return
        relation.input, relation.list = found[0]


def _asked(expression: Expression) -> Iterator[tuple[int, Expression]]:
    """The lists whose numbers are asked for, each with the number of its table."""
    for part in within(expression):
        if isinstance(part, Apply) and part.function == "list_number":
            argument, number = part.arguments
            assert isinstance(number, Constant) and isinstance(number.value, int)
            yield number.value, argument


def _fill(relation: Relation, number: int, input: Relation, argument: Expression) -> None:
    """Tells the elements in a relation, whose table has this number, what they are of."""
    for below in list(relations(relation)):
        if isinstance(below, Elements) and below.number == number and below.input is None:
            below.input, below.list = input, argument


def _over(relation: Relation) -> Iterator[tuple[Relation, Expression]]:
    """The expressions of a relation, each with the relation that it is over."""
    if isinstance(relation, Join):
        for key in relation.keys:
            yield relation.left, key.left
            yield relation.right, key.right
        if relation.condition is not None:
            yield relation, relation.condition
    elif not isinstance(relation, Elements):
        inputs = relation.inputs()
        for expression in relation.expressions():
            yield inputs[0], expression


def _series(table: SeriesTable, root: Relation) -> Series | Values | None:
    """The series of a projection of constants; None for what is none."""
    if not isinstance(root, Project) or not all(isinstance(c, Constant) for c in root.columns):
        return None
    given = [c for c in root.columns if isinstance(c, Constant)]
    values = [c.value for c in given if isinstance(c.value, int)]
    if len(values) != len(given):
        return None
    if all(c.type.is_integer for c in given):
        if len(values) == 1:
            values = [0, *values]
        return _counted(I64, values[0], values[1], values[2] if len(values) == 3 else 1, table.function)
    if len(given) < 3 or not all(c.type in (DATE, TIMESTAMP) for c in given[:2]):
        return None
    low, high = [v * DAY if c.type == DATE else v for v, c in zip(values, given[:2])]
    if table.is_of_months:
        return _by_months(low, high, values[2:], table.function)
    return _counted(TIMESTAMP, low, high, values[2], table.function) if given[2].type.kind == "interval" else None


def _counted(type: VectorType, low: int, high: int, stride: int, function: str) -> Series | None:
    if stride == 0:
        return None
    reach = high - low if stride > 0 else low - high
    size = abs(stride)
    count = reach // size + 1 if function == "generate_series" else -(-reach // size)
    return None if count > _MOST_ROWS else Series(type, low, max(count, 0), stride)


def _by_months(low: int, high: int, after: list[int], function: str) -> Values | None:
    """The moments by so many months that one and two of them after 1970 began are ``after``; None where those are no
    whole months, and for days that some month has not."""
    ends = [_EPOCH + timedelta(microseconds=a) for a in after]
    months = (ends[0].year - 1970) * 12 + ends[0].month - 1
    moment = _EPOCH + timedelta(microseconds=low)
    if months == 0 or ends != [_later(_EPOCH, months), _later(_EPOCH, 2 * months)] or moment.day > _EVERY_MONTH:
        return None
    found: list[int] = []
    while True:
        micros = low + (_later(moment, months * len(found)) - moment) // timedelta(microseconds=1)
        if (micros > high if months > 0 else micros < high) or (micros == high and function == "range"):
            break
        found.append(micros)
    return Values([[Constant(v, TIMESTAMP) for v in found]]) if found else None


def _later(moment: datetime, months: int) -> datetime:
    years, month = divmod(moment.month - 1 + months, 12)
    return moment.replace(year=moment.year + years, month=month + 1)
