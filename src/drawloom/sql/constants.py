"""Finds what constant folding hides: integer constants whose result wraps.

DuckDB gives an error for an overflow; DataFusion folds integers modulo 2**64 before a plan reaches us. The plan before
optimisation still has the operation, so that such a query is refused, not answered wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Final

from drawloom.horse.types import I64, exact_bounds
from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Case,
    Cast,
    Constant,
    Empty,
    Expression,
    Filter,
    InList,
    Project,
    Read,
    Relation,
    Sort,
)

_OVERFLOW: Final = "integer constants whose result needs more than 64 bits"
_EXACT: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
}  # fmt: skip


def hidden_by_folding(relation: Relation) -> list[str]:
    """What the plan computes from constants that folding would answer wrong, each once."""
    found: list[str] = []
    while not isinstance(relation, Read | Empty):
        for expression in _expressions(relation):
            for part in _parts(expression):
                what = _hidden(part)
                if what and what not in found:
                    found.append(what)
        below = getattr(relation, "input", None)
        assert isinstance(below, Relation)
        relation = below
    return found


def _expressions(relation: Relation) -> list[Expression]:
    if isinstance(relation, Filter):
        return [relation.condition]
    if isinstance(relation, Project):
        return relation.expressions
    if isinstance(relation, Aggregate):
        of_measures = [e for m in relation.measures for e in (m.argument, m.condition)]
        return [*relation.keys, *[e for e in of_measures if e is not None]]
    return [k.expression for k in relation.keys] if isinstance(relation, Sort) else []


def _parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    yield expression
    inner: list[Expression] = []
    if isinstance(expression, Apply):
        inner = expression.arguments
    elif isinstance(expression, Cast):
        inner = [expression.input]
    elif isinstance(expression, Case):
        inner = [e for branch in expression.branches for e in branch]
        if expression.otherwise is not None:
            inner.append(expression.otherwise)
    elif isinstance(expression, InList):
        inner = [expression.input, *expression.options]
    for part in inner:
        yield from _parts(part)


def _hidden(expression: Expression) -> str:
    if not isinstance(expression, Apply):
        return ""
    value = _integer(expression)
    low, high = exact_bounds(I64)
    return "" if value is None or low <= value <= high else _OVERFLOW


def _integer(expression: Expression) -> int | None:
    """The exact value of integer constants that are added, subtracted, multiplied or negated."""
    if isinstance(expression, Constant):
        return expression.value if expression.type.is_integer and isinstance(expression.value, int) else None
    if isinstance(expression, Cast):
        return _integer(expression.input) if expression.type.is_integer else None
    if not isinstance(expression, Apply):
        return None
    values = [_integer(a) for a in expression.arguments]
    if expression.function == "negate" and values[0] is not None:
        return -values[0]
    known = [v for v in values if v is not None]
    if expression.function not in _EXACT or len(known) != 2 or len(values) != 2:
        return None
    return _EXACT[expression.function](known[0], known[1])
