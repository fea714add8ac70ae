"""Simplifies minimum, maximum and conditional expressions."""

from __future__ import annotations

from typing import Any

from drawloom.lift.arithmetic.bounds import is_at_most
from drawloom.lift.arithmetic.conditions import negation
from drawloom.lift.arithmetic.expression import (
    MAXIMUM,
    MINIMUM,
    ArithmeticRefusal,
    Condition,
    Extremum,
    Maximum,
    Minimum,
    Nat,
    Truth,
    intern_choice,
    intern_extremum,
)


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
    flat.sort(key=_order)
    kept: list[Nat] = []
    for operand in flat:
        if any(_decides(kind, other, operand) for other in kept):
            continue
        kept = [other for other in kept if not _decides(kind, operand, other)]
        kept.append(operand)
    return kept[0] if len(kept) == 1 else intern_extremum(kind, tuple(kept))


def _order(node: Nat) -> tuple[Any, ...]:
    return node.order


def _decides(kind: int, one: Nat, other: Nat) -> bool:
    """Return whether `one` makes `other` superfluous."""
    return is_at_most(one, other) if kind == MINIMUM else is_at_most(other, one)


def select(condition: Condition, then: Nat, otherwise: Nat) -> Nat:
    """Return `then` where the condition holds, else `otherwise`."""
    if isinstance(condition, Truth):
        return then if condition.value else otherwise
    if then is otherwise:
        return then
    opposite = negation(condition)
    if opposite.order < condition.order:
        return intern_choice(opposite, otherwise, then)
    return intern_choice(condition, then, otherwise)
