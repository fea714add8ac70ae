"""Simplifies powers and logarithms to base 2."""

from __future__ import annotations

from drawloom.lift.arithmetic.expression import (
    ONE,
    POWER,
    ArithmeticRefusal,
    Constant,
    Nat,
    Power,
    constant,
    intern_binary,
    intern_logarithm,
)
from drawloom.lift.arithmetic.sums import constant_term, multiply, subtract

#: The greatest constant exponent; more is a mistake of the program, not an index.
GREATEST_EXPONENT = 1024


def power(base: Nat, exponent: Nat) -> Nat:
    """Return base to the exponent. A constant exponent multiplies out, a constant beside an unknown is taken apart."""
    if isinstance(exponent, Constant):
        if exponent.value < 0:
            raise ArithmeticRefusal(f"({base}) ** {exponent.value}: the exponent is negative, expected at least 0")
        if exponent.value > GREATEST_EXPONENT:
            raise ArithmeticRefusal(f"({base}) ** {exponent.value}: expected at most {GREATEST_EXPONENT} as exponent")
        result: Nat = ONE
        for _ in range(exponent.value):
            result = multiply(result, base)
        return result
    if base is ONE:
        return base
    if isinstance(base, Power):
        return power(base.left, multiply(base.right, exponent))
    beside = constant_term(exponent)
    if beside > 0:
        beside_power = power(base, constant(beside))
        return multiply(intern_binary(POWER, base, subtract(exponent, constant(beside))), beside_power)
    return intern_binary(POWER, base, exponent)


def log2(operand: Nat) -> Nat:
    """Return the logarithm to base 2 of a positive operand, rounded down."""
    if isinstance(operand, Constant):
        if operand.value <= 0:
            raise ArithmeticRefusal(f"log2({operand.value}): expected a positive operand")
        return constant(operand.value.bit_length() - 1)
    if isinstance(operand, Power) and isinstance(operand.left, Constant):
        base = operand.left.value
        if base > 0 and base & (base - 1) == 0:
            return multiply(operand.right, constant(base.bit_length() - 1))
    return intern_logarithm(operand)
