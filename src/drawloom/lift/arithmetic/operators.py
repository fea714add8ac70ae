"""Defines the constructors that Python's operators call, normalising or raw, and simplifies raw expressions."""

from __future__ import annotations

from drawloom.lift.arithmetic import choices, divisions, powers, sums
from drawloom.lift.arithmetic.expression import (
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    LOGARITHM,
    MAXIMUM,
    MINIMUM,
    MINUS_ONE,
    ONE,
    OPERATORS,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    Condition,
    Nat,
    Operators,
    Variable,
    as_nat,
    intern_raw,
)
from drawloom.lift.arithmetic.printer import condition_text, text
from drawloom.lift.arithmetic.simplify import simplify, simplify_condition
from drawloom.lift.arithmetic.substitution import substitute


class Normalising(Operators):
    """Constructors that return normal forms; raw operands are simplified first."""

    def add(self, left: Nat, right: Nat) -> Nat:
        return sums.add(simplify(left), simplify(right))

    def subtract(self, left: Nat, right: Nat) -> Nat:
        return sums.subtract(simplify(left), simplify(right))

    def multiply(self, left: Nat, right: Nat) -> Nat:
        return sums.multiply(simplify(left), simplify(right))

    def floor_divide(self, left: Nat, right: Nat) -> Nat:
        return divisions.floor_divide(simplify(left), simplify(right))

    def remainder(self, left: Nat, right: Nat) -> Nat:
        return divisions.remainder(simplify(left), simplify(right))

    def exact_divide(self, left: Nat, right: Nat) -> Nat:
        return divisions.exact_divide(simplify(left), simplify(right))

    def power(self, left: Nat, right: Nat) -> Nat:
        return powers.power(simplify(left), simplify(right))

    def minimum(self, operands: list[Nat]) -> Nat:
        return choices.minimum([simplify(operand) for operand in operands])

    def maximum(self, operands: list[Nat]) -> Nat:
        return choices.maximum([simplify(operand) for operand in operands])

    def log2(self, operand: Nat) -> Nat:
        return powers.log2(simplify(operand))

    def select(self, condition: Condition, then: Nat, otherwise: Nat) -> Nat:
        return choices.select(simplify_condition(condition), simplify(then), simplify(otherwise))

    def substitute(self, expression: Nat, variable: Variable, value: Nat) -> Nat:
        return substitute(expression, {variable: value})

    def text(self, expression: Nat) -> str:
        return text(expression)

    def condition_text(self, condition: Condition) -> str:
        return condition_text(condition)


class Unsimplified(Operators):
    """Constructors that keep what is written."""

    def add(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(SUM, (left, right), None)

    def subtract(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(SUM, (left, intern_raw(PRODUCT, (MINUS_ONE, right), None)), None)

    def multiply(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(PRODUCT, (left, right), None)

    def floor_divide(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(FLOOR_DIVISION, (left, right), None)

    def remainder(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(REMAINDER, (left, right), None)

    def exact_divide(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(EXACT_DIVISION, (left, right), None)

    def power(self, left: Nat, right: Nat) -> Nat:
        return intern_raw(POWER, (left, right), None)

    def minimum(self, operands: list[Nat]) -> Nat:
        return intern_raw(MINIMUM, tuple(operands), None)

    def maximum(self, operands: list[Nat]) -> Nat:
        return intern_raw(MAXIMUM, tuple(operands), None)

    def log2(self, operand: Nat) -> Nat:
        return intern_raw(LOGARITHM, (operand,), None)

    def select(self, condition: Condition, then: Nat, otherwise: Nat) -> Nat:
        return intern_raw(CHOICE, (then, otherwise), condition)

    def text(self, expression: Nat) -> str:
        return text(expression)

    def condition_text(self, condition: Condition) -> str:
        return condition_text(condition)


NORMALISING = Normalising()
OPERATORS.install(NORMALISING, Unsimplified())


# What Python has no operator for


def minimum(*operands: Nat | int) -> Nat:
    """Return the least of the operands.

    Example:
        >>> from drawloom.lift.arithmetic import index, variable
        >>> n = variable("N")
        >>> print(minimum(index("i", n), n))
        i
    """
    return OPERATORS.active.minimum([as_nat(operand) for operand in operands])


def maximum(*operands: Nat | int) -> Nat:
    """Return the greatest of the operands."""
    return OPERATORS.active.maximum([as_nat(operand) for operand in operands])


def ceil_div(dividend: Nat | int, divisor: Nat | int) -> Nat:
    """Return dividend / divisor rounded up, for a positive divisor: (dividend + divisor - 1) / divisor."""
    operators = OPERATORS.active
    above = operators.subtract(as_nat(divisor), ONE)
    return operators.floor_divide(operators.add(as_nat(dividend), above), as_nat(divisor))


def exact_div(dividend: Nat | int, divisor: Nat | int) -> Nat:
    """Return the fraction dividend / divisor, asserting that nothing remains.

    Raises:
        ArithmeticRefusal: both are constants and something remains, or the divisor is zero.

    Example:
        >>> from drawloom.lift.arithmetic import variable
        >>> n = variable("N")
        >>> print(exact_div(n, 4), exact_div(n, 4) * 8)
        N/^4 2*N
    """
    return OPERATORS.active.exact_divide(as_nat(dividend), as_nat(divisor))


def log2(operand: Nat | int) -> Nat:
    """Return the logarithm to base 2 of a positive operand, rounded down."""
    return OPERATORS.active.log2(as_nat(operand))


def select(condition: Condition, then: Nat | int, otherwise: Nat | int) -> Nat:
    """Return `then` where the condition holds, else `otherwise`."""
    return OPERATORS.active.select(condition, as_nat(then), as_nat(otherwise))


def divides(divisor: Nat | int, dividend: Nat | int) -> bool:
    """Return True when `dividend` is proved to be a multiple of `divisor`."""
    return divisions.divides(simplify(as_nat(divisor)), simplify(as_nat(dividend)))


def is_zero(expression: Nat | int) -> bool:
    """Return True when the expression is zero for all values of its variables."""
    return simplify(as_nat(expression)) is as_nat(0)
