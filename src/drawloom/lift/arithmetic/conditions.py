"""Conditions over expressions: comparisons in one normal form, junctions, and their proof from ranges.

Over integers a < b is b - a - 1 >= 0, and its opposite is a - b >= 0. A comparison that the ranges decide is a `Truth`.
"""

from __future__ import annotations

from drawloom.lift.arithmetic.bounds import is_negative, is_nonnegative, is_positive
from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    FALSE,
    IS_NOT_ZERO,
    IS_RAW,
    IS_ZERO,
    ONE,
    OPERATORS,
    TRUE,
    ZERO,
    Comparison,
    Condition,
    Junction,
    Nat,
    Truth,
    as_nat,
    constant,
    intern_comparison,
    intern_junction,
)
from drawloom.lift.arithmetic.sums import coefficients_of, constant_term, content, divide_coefficients, scale


def less(left: Nat | int, right: Nat | int) -> Condition:
    """Return the condition left < right."""
    return _at_least_zero(OPERATORS.active.subtract(OPERATORS.active.subtract(as_nat(right), as_nat(left)), ONE))


def less_equal(left: Nat | int, right: Nat | int) -> Condition:
    """Return the condition left <= right."""
    return _at_least_zero(OPERATORS.active.subtract(as_nat(right), as_nat(left)))


def equal(left: Nat | int, right: Nat | int) -> Condition:
    """Return the condition left = right."""
    return compare_to_zero(IS_ZERO, OPERATORS.active.subtract(as_nat(left), as_nat(right)))


def not_equal(left: Nat | int, right: Nat | int) -> Condition:
    """Return the condition left != right."""
    return compare_to_zero(IS_NOT_ZERO, OPERATORS.active.subtract(as_nat(left), as_nat(right)))


def _at_least_zero(difference: Nat) -> Condition:
    return compare_to_zero(AT_LEAST_ZERO, difference)


def compare_to_zero(relation: int, difference: Nat) -> Condition:
    """Return the normal form of a comparison, decided where the ranges decide it."""
    if difference.traits & IS_RAW:
        return intern_comparison(relation, difference)
    if relation == AT_LEAST_ZERO:
        if is_nonnegative(difference):
            return TRUE
        if is_negative(difference):
            return FALSE
        return intern_comparison(relation, _without_common_factor(difference))
    if difference is ZERO:
        return TRUE if relation == IS_ZERO else FALSE
    if is_positive(difference) or is_negative(difference):
        return FALSE if relation == IS_ZERO else TRUE
    if coefficients_of(difference)[0] < 0:
        difference = scale(difference, -1)
    return intern_comparison(relation, divide_coefficients(difference, content(difference)))


def _without_common_factor(difference: Nat) -> Nat:
    """Divide k*a + c >= 0 by k: a + c / k >= 0, rounded down."""
    last = constant_term(difference)
    rest = difference if last == 0 else OPERATORS.normalising.subtract(difference, constant(last))
    times = content(rest)
    if times < 2:
        return difference
    return OPERATORS.normalising.add(divide_coefficients(rest, times), constant(last // times))


def negation(condition: Condition) -> Condition:
    """Return the opposite of a condition."""
    if isinstance(condition, Truth):
        return FALSE if condition.value else TRUE
    if isinstance(condition, Comparison):
        if condition.relation == AT_LEAST_ZERO:
            if condition.is_raw:
                minus = OPERATORS.raw.subtract(ZERO, condition.difference)
                return intern_comparison(AT_LEAST_ZERO, OPERATORS.raw.subtract(minus, ONE))
            return _at_least_zero(scale(OPERATORS.normalising.add(condition.difference, ONE), -1))
        return intern_comparison(IS_ZERO + IS_NOT_ZERO - condition.relation, condition.difference)
    assert isinstance(condition, Junction)
    return _junction(not condition.needs_all, [negation(part) for part in condition.parts])


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that all the conditions hold."""
    return _junction(True, list(conditions))


def any_of(*conditions: Condition) -> Condition:
    """Return the condition that at least one of the conditions holds."""
    return _junction(False, list(conditions))


def _junction(needs_all: bool, conditions: list[Condition]) -> Condition:
    parts: list[Condition] = []
    for condition in conditions:
        if isinstance(condition, Truth):
            if condition.value != needs_all:
                return condition
        elif isinstance(condition, Junction) and condition.needs_all == needs_all:
            parts.extend([part for part in condition.parts if part not in parts])
        elif condition not in parts:
            parts.append(condition)
    if not parts:
        return TRUE if needs_all else FALSE
    parts.sort(key=lambda part: part.order)
    return parts[0] if len(parts) == 1 else intern_junction(needs_all, tuple(parts))


def is_provably_true(condition: Condition) -> bool:
    """Return True when the ranges of the variables prove the condition."""
    return isinstance(condition, Truth) and condition.value


def is_provably_false(condition: Condition) -> bool:
    """Return True when the ranges of the variables refute the condition."""
    return isinstance(condition, Truth) and not condition.value
