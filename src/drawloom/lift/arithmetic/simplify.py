"""Applies the rules of each operator, and with them turns raw expressions into normal forms."""

from __future__ import annotations

from drawloom.lift.arithmetic import choices, divisions, powers, sums
from drawloom.lift.arithmetic.conditions import all_of, any_of, compare_to_zero
from drawloom.lift.arithmetic.expression import (
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    LOGARITHM,
    MAXIMUM,
    MINIMUM,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    Comparison,
    Condition,
    Junction,
    Nat,
    Raw,
)


def simplify(expression: Nat) -> Nat:
    """Return the normal form; an expression that was not made by `unsimplified()` has it already."""
    if not isinstance(expression, Raw):
        return expression
    condition = None if expression.condition is None else simplify_condition(expression.condition)
    return apply_operator(expression.operator, [simplify(operand) for operand in expression.operands], condition)


def apply_operator(operator: int, operands: list[Nat], condition: Condition | None) -> Nat:
    """Return the normal form of an operation on normal forms."""
    if operator == SUM:
        return sums.add(operands[0], operands[1])
    if operator == PRODUCT:
        return sums.multiply(operands[0], operands[1])
    if operator == FLOOR_DIVISION:
        return divisions.floor_divide(operands[0], operands[1])
    if operator == REMAINDER:
        return divisions.remainder(operands[0], operands[1])
    if operator == EXACT_DIVISION:
        return divisions.exact_divide(operands[0], operands[1])
    if operator == POWER:
        return powers.power(operands[0], operands[1])
    if operator == MINIMUM:
        return choices.minimum(operands)
    if operator == MAXIMUM:
        return choices.maximum(operands)
    if operator == LOGARITHM:
        return powers.log2(operands[0])
    assert operator == CHOICE and condition is not None
    return choices.select(condition, operands[0], operands[1])


def simplify_condition(condition: Condition) -> Condition:
    """Return the normal form of a condition over raw expressions."""
    if not condition.is_raw:
        return condition
    if isinstance(condition, Comparison):
        return compare_to_zero(condition.relation, simplify(condition.difference))
    assert isinstance(condition, Junction)
    parts = [simplify_condition(part) for part in condition.parts]
    return all_of(*parts) if condition.needs_all else any_of(*parts)
