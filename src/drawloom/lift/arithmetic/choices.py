"""Simplifies minimum, maximum and conditional expressions."""

from __future__ import annotations

from drawloom.lift.arithmetic.bounds import is_at_most
from drawloom.lift.arithmetic.conditions import negation
from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    IS_NOT_ZERO,
    MAXIMUM,
    MINIMUM,
    ArithmeticRefusal,
    Comparison,
    Condition,
    Extremum,
    Junction,
    Maximum,
    Minimum,
    Nat,
    Truth,
    intern_choice,
    intern_extremum,
    order_of,
)
from drawloom.lift.arithmetic.sums import coefficients_of


def minimum(operands: list[Nat]) -> Nat:
    """Return the least of at least one operand, without those that are proved not to be less than another."""
    return _extremum(MINIMUM, operands)


def maximum(operands: list[Nat]) -> Nat:
    """Return the greatest of at least one operand, without those that are proved not to exceed another."""
    return _extremum(MAXIMUM, operands)


def _extremum(kind: int, operands: list[Nat]) -> Nat:
    if not operands:
        raise ArithmeticRefusal("a minimum or maximum of nothing, expected at least one operand")
    flat: list[Nat] = []
    for operand in operands:
        if isinstance(operand, Minimum if kind == MINIMUM else Maximum):
            assert isinstance(operand, Extremum)
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    flat.sort(key=order_of)
    kept: list[Nat] = []
    for operand in flat:
        if any(_decides(kind, other, operand) for other in kept):
            continue
        kept = [other for other in kept if not _decides(kind, operand, other)]
        kept.append(operand)
    return kept[0] if len(kept) == 1 else intern_extremum(kind, tuple(kept))


def _decides(kind: int, one: Nat, other: Nat) -> bool:
    """Return whether `one` makes `other` superfluous."""
    return is_at_most(one, other) if kind == MINIMUM else is_at_most(other, one)


def select(condition: Condition, then: Nat, otherwise: Nat) -> Nat:
    """Return `then` where the condition holds, else `otherwise`."""
    if isinstance(condition, Truth):
        return then if condition.value else otherwise
    if then is otherwise:
        return then
    if _reads_better_negated(condition):
        return intern_choice(negation(condition), otherwise, then)
    return intern_choice(condition, then, otherwise)


def _reads_better_negated(condition: Condition) -> bool:
    """Return whether the one form of a choice has the opposite condition: i < n, a == b and c && d are the forms."""
    if isinstance(condition, Comparison):
        if condition.relation == AT_LEAST_ZERO:
            return not condition.is_raw and coefficients_of(condition.difference)[0] > 0
        return condition.relation == IS_NOT_ZERO
    return isinstance(condition, Junction) and not condition.needs_all
