"""Values of expressions at a few fixed points of their variables' ranges, which refute what no proof can show.

A proof of `expression >= 0` costs microseconds where it succeeds and many times that where it fails: most fail because
the statement is false, and one negative value shows that at once. The points depend on names and ranges only.
"""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    IS_ZERO,
    Choice,
    Comparison,
    Condition,
    Constant,
    ExactDivision,
    Extremum,
    FloorDivision,
    Junction,
    Logarithm,
    Minimum,
    Nat,
    Power,
    Product,
    Remainder,
    Sum,
    Truth,
    Variable,
)

#: The points: lengths great and indices at their start, at their last value, at one or the other by name; and lengths
#: at their start, indices at their last value.
COUNT: Final = 4
GREAT_FIRST: Final = 0
GREAT_LAST: Final = 1
GREAT_MIXED: Final = 2
LEAST_LAST: Final = 3

#: Great lengths are multiples of this times a small number, so that asserted divisions leave nothing.
MANY_DIVISORS: Final = 64 * 9 * 5 * 7
#: The greatest exponent of a power that is computed.
GREATEST_EXPONENT: Final = 64


def is_refuted(expression: Nat) -> bool:
    """Return whether the expression is negative at one of the points."""
    return any(value is not None and value < 0 for value in points_of(expression))


def reaches(expression: Nat, value: int, from_above: bool) -> bool:
    """Return whether the expression is at least `value` at one of the points, or else at most `value`."""
    for found in points_of(expression):
        if found is not None and (found >= value if from_above else found <= value):
            return True
    return False


def is_somewhere_less(left: Nat, right: Nat) -> bool:
    """Return whether `left` < `right` at one of the points."""
    rights = points_of(right)
    for position, found in enumerate(points_of(left)):
        other = rights[position]
        if found is not None and other is not None and found < other:
            return True
    return False


def points_of(node: Nat) -> tuple[int | None, ...]:
    """Return the value of a normal form at each point, None where it has none."""
    found = node.points
    if found is None:
        found = tuple([_value(node, point) for point in range(COUNT)])
        node.points = found
    return found


def _value(node: Nat, point: int) -> int | None:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Sum):
        total = 0
        for monomial, coefficient in zip(node.monomials, node.coefficients):
            value = points_of(monomial)[point]
            if value is None:
                return None
            total += coefficient * value
        return total
    if isinstance(node, Product):
        product = 1
        for factor in node.factors:
            value = points_of(factor)[point]
            if value is None:
                return None
            product *= value
        return product
    if isinstance(node, Variable):
        return _value_of_variable(node, point)
    if isinstance(node, (FloorDivision, ExactDivision, Remainder, Power)):
        left, right = points_of(node.left)[point], points_of(node.right)[point]
        return None if left is None or right is None else _operate(node, left, right)
    if isinstance(node, Extremum):
        return _value_of_extremum(node, point)
    if isinstance(node, Logarithm):
        operand = points_of(node.operand)[point]
        return None if operand is None or operand <= 0 else operand.bit_length() - 1
    assert isinstance(node, Choice)
    holds = _holds(node.condition, point)
    return None if holds is None else points_of(node.then if holds else node.otherwise)[point]


def _operate(node: Nat, left: int, right: int) -> int | None:
    if isinstance(node, Power):
        return int(left**right) if 0 <= right <= GREATEST_EXPONENT and abs(left) < 1 << 32 else None
    if right == 0 or (isinstance(node, ExactDivision) and left % right):
        return None
    return left % right if isinstance(node, Remainder) else left // right


def _value_of_variable(variable: Variable, point: int) -> int | None:
    start, step = points_of(variable.range.start)[point], points_of(variable.range.step)[point]
    if start is None or step is None or step <= 0:
        return None
    name_sum = sum([ord(letter) for letter in variable.name])
    if variable.range.stop is None:
        if point == LEAST_LAST:
            return start
        least = MANY_DIVISORS * (1 + name_sum % 3)
        return start + max(0, -((start - least) // step)) * step
    stop = points_of(variable.range.stop)[point]
    if stop is None or stop <= start:
        return None
    if point == GREAT_FIRST or (point == GREAT_MIXED and name_sum % 2):
        return start
    return start + (stop - 1 - start) // step * step


def _value_of_extremum(node: Extremum, point: int) -> int | None:
    best: int | None = None
    for operand in node.operands:
        value = points_of(operand)[point]
        if value is None:
            return None
        if best is None or (value < best if isinstance(node, Minimum) else value > best):
            best = value
    return best


def _holds(condition: Condition, point: int) -> bool | None:
    if isinstance(condition, Truth):
        return condition.value
    if isinstance(condition, Comparison):
        difference = points_of(condition.difference)[point]
        if difference is None:
            return None
        if condition.relation == AT_LEAST_ZERO:
            return difference >= 0
        return (difference == 0) == (condition.relation == IS_ZERO)
    assert isinstance(condition, Junction)
    for part in condition.parts:
        holds = _holds(part, point)
        if holds is None or holds != condition.needs_all:
            return holds
    return condition.needs_all
