"""Simplifies powers and logarithms to base 2."""

from __future__ import annotations

from typing import Final

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

#: The greatest constant exponent of an unknown base.
GREATEST_EXPONENT: Final = 64
#: The most bits of a constant power.
MOST_BITS: Final = 1024


def power(base: Nat, exponent: Nat) -> Nat:
    """Return base to the exponent. A constant exponent multiplies out, a constant beside an unknown is taken apart."""
    if isinstance(exponent, Constant):
        if exponent.value < 0:
            raise ArithmeticRefusal(f"({base}) ** {exponent.value}: the exponent is negative, expected at least 0")
        if isinstance(base, Constant):
            return _constant_power(base.value, exponent.value)
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


def _constant_power(base: int, exponent: int) -> Nat:
    if abs(base) > 1 and base.bit_length() * exponent > MOST_BITS:
        raise ArithmeticRefusal(f"{base} ** {exponent}: expected a result of at most {MOST_BITS} bits")
    return constant(int(base**exponent))


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
