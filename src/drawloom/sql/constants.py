"""Finds what constant folding hides: integer constants whose result wraps.

DuckDB gives an error for an overflow; DataFusion folds integers modulo 2**64, or what their type has of bits, before a
plan reaches us. The plan before
optimisation still has the operation, so that such a query is refused, not answered wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from drawloom.horse.types import VectorType, exact_bounds
from drawloom.sql.plan import Apply, Cast, Constant, Expression, Relation, relations, within

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
    found = _integer(expression)
    if found is None:
        return ""
    value, type = found
    low, high = exact_bounds(type)
    return "" if low <= value <= high else f"integer constants whose result needs more than {type.bits} bits"


def _integer(expression: Expression) -> tuple[int, VectorType] | None:
    """The exact value of integer constants that are added, subtracted, multiplied or negated, and the type that the
    planner gives it."""
    if isinstance(expression, Constant):
        is_integer = expression.type.is_integer and isinstance(expression.value, int)
        return (int(expression.value or 0), expression.type) if is_integer else None
    if isinstance(expression, Cast):
        found = _integer(expression.input) if expression.type.is_integer else None
        return None if found is None else (found[0], expression.type)
    if not isinstance(expression, Apply):
        return None
    sides = [found for a in expression.arguments if (found := _integer(a)) is not None]
    if expression.function == "negate" and sides:
        return -sides[0][0], sides[0][1]
    if expression.function not in _EXACT or len(sides) != 2 or len(expression.arguments) != 2:
        return None
    (left, one), (right, other) = sides
    return _EXACT[expression.function](left, right), one if one.bits >= other.bits else other
