"""Parts of AND and OR in the order in which they are asked, so that one that may be an error is asked last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from drawloom.sql import plan

T = TypeVar("T")

#: Functions that are no error, whatever their arguments.
_TOTAL: Final = frozenset([
    "equal", "not_equal", "lt", "lte", "gt", "gte", "and", "or", "not", "is_null", "is_not_null", "like", "between",
    "is_not_distinct_from", "is_distinct_from", "is_true", "is_false", "is_not_true", "is_not_false", "upper", "lower",
    "btrim", "ltrim", "rtrim", "character_length", "octet_length", "starts_with", "ends_with", "contains", "front",
])  # fmt: skip
_ARITHMETIC: Final = frozenset(["add", "subtract", "multiply", "divide", "negate", "abs"])


def risk(expression: plan.Expression) -> int:
    """How likely an expression is an error: 0 for never, 1 for what overflows or is not to be cast, 2 for the rest."""
    if isinstance(expression, plan.Apply) and expression.function not in _TOTAL:
        own = 1 if expression.function in _ARITHMETIC else 2
    else:
        own = 1 if isinstance(expression, plan.Cast) and not expression.is_try else 0
    return max([own, *[risk(part) for part in expression.parts()]])


def in_order(expression: plan.Apply) -> list[plan.Expression]:
    """The parts of a chain of AND, or of OR, the least risky first; none where no part is ever an error."""
    made: list[plan.Expression] = []
    waiting: list[plan.Expression] = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, plan.Apply) and part.function == expression.function:
            waiting.extend(reversed(part.arguments))
        else:
            made.append(part)
    risks = {id(part): risk(part) for part in made}
    return sorted(made, key=lambda part: risks[id(part)]) if any(risks.values()) else []


def put_together(
    chain: plan.Expression, word: str, part: Callable[[plan.Expression], T], join: Callable[[T, T], T]
) -> T:
    """What a chain of ``word`` becomes when its parts become something, nested as the chain is."""
    if not isinstance(chain, plan.Apply) or chain.function != word:
        return part(chain)
    left, right = [put_together(a, word, part, join) for a in chain.arguments]
    return join(left, right)
