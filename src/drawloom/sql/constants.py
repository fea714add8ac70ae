"""Finds what constant folding hides: integer constants whose result wraps, and functions of constant lists and texts
that DataFusion computes in another way than DuckDB.

DuckDB gives an error for an overflow; DataFusion folds integers modulo 2**64, or what their type has of bits, before a
plan reaches us. The plan before
optimisation still has the operation, so that such a query is refused, not answered wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from drawloom.horse.types import VectorType, exact_bounds
from drawloom.sql.plan import Apply, Cast, Constant, Expression, Field, Relation, relations, within

_EXACT: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
}  # fmt: skip


#: Functions that DataFusion computes of constants as DuckDB does not, and those that it does so for lists alone.
_FOLDED: Final = frozenset(["array_distinct", "string_to_array"])
_OF_LISTS: Final = frozenset(["character_length", "concat"])
#: What a text has where it has one of them, or a cast to a list.
_WORDS: Final = ("distinct(", "string_split", "str_split", "string_to_array", "length", "concat", "[]")


def may_fold_lists(text: str) -> bool:
    """Whether a text may have a function of constants that is folded in another way than DuckDB's."""
    lower = text.lower().replace(" ", "")
    return any(word in lower for word in _WORDS)


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
    if not any(isinstance(part, Field) for part in within(expression)):
        given = [part.function for a in expression.arguments for part in within(a) if isinstance(part, Apply)]
        if expression.function in _FOLDED or (expression.function in _OF_LISTS and "make_array" in given):
            return f"function: {expression.function} of constants"
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
