"""Finds what constant folding hides: integer constants whose result wraps.

DuckDB gives an error for an overflow; DataFusion folds integers modulo 2**64 before a plan reaches us. The plan before
optimisation still has the operation, so that such a query is refused, not answered wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from drawloom.horse.types import I64, exact_bounds
from drawloom.sql.plan import Apply, Cast, Constant, Expression, Relation, relations, within

_OVERFLOW: Final = "integer constants whose result needs more than 64 bits"
_EXACT: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
}  # fmt: skip


def hidden_by_folding(root: Relation) -> list[str]:
    """What the plan computes from constants that folding would answer wrong, each once."""
    found: list[str] = []
    for relation in relations(root):
        for expression in relation.expressions():
            for part in within(expression):
                what = _hidden(part)
                if what and what not in found:
                    found.append(what)
    return found


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
