"""Normalises sums and products: like terms collect, products expand, x mod y finds its x / y (thesis rule 4.4).

A sum in progress is a dictionary from monomials to coefficients. Exact divisions cancel against factors beside them,
powers of one base join.
"""

from __future__ import annotations

from math import gcd
from typing import Any, Final

from drawloom.lift.arithmetic.expression import (
    EXACT_DIVISION,
    FLOOR_DIVISION,
    ONE,
    OPERATORS,
    POWER,
    REMAINDER,
    ZERO,
    ArithmeticRefusal,
    Constant,
    ExactDivision,
    FloorDivision,
    Nat,
    Power,
    Product,
    Remainder,
    Sum,
    constant,
    intern_product,
    intern_sum,
)

RECOMBINES: Final = 1 << REMAINDER | 1 << FLOOR_DIVISION | 1 << EXACT_DIVISION | 1 << POWER
#: The most terms of a product, before like terms collect.
MOST_TERMS: Final = 4096
CANCELS: Final = 1 << EXACT_DIVISION | 1 << POWER

_ONE_MONOMIAL: Final[tuple[Nat, ...]] = (ONE,)
_ONE_COEFFICIENT: Final = (1,)


def monomials_of(expression: Nat) -> tuple[Nat, ...]:
    """Return the monomials of a normal form, the constant's last."""
    if isinstance(expression, Sum):
        return expression.monomials
    if isinstance(expression, Constant):
        return _ONE_MONOMIAL if expression.value else ()
    return (expression,)


def coefficients_of(expression: Nat) -> tuple[int, ...]:
    """Return the coefficients of a normal form, in the order of `monomials_of`."""
    if isinstance(expression, Sum):
        return expression.coefficients
    if isinstance(expression, Constant):
        return (expression.value,) if expression.value else ()
    return _ONE_COEFFICIENT


def factors_of(monomial: Nat) -> tuple[Nat, ...]:
    """Return the sorted atoms of a monomial, none for `ONE`."""
    if isinstance(monomial, Product):
        return monomial.factors
    return () if monomial is ONE else (monomial,)


def constant_term(expression: Nat) -> int:
    """Return the constant of a sum."""
    if isinstance(expression, Sum):
        return expression.coefficients[-1] if expression.monomials[-1] is ONE else 0
    return expression.value if isinstance(expression, Constant) else 0


def add(left: Nat, right: Nat) -> Nat:
    if right is ZERO:
        return left
    if left is ZERO:
        return right
    if isinstance(left, Constant) and isinstance(right, Constant):
        return constant(left.value + right.value)
    return combine(left, 1, right, 1)


def subtract(left: Nat, right: Nat) -> Nat:
    if right is ZERO:
        return left
    if left is right:
        return ZERO
    if isinstance(left, Constant) and isinstance(right, Constant):
        return constant(left.value - right.value)
    return combine(left, 1, right, -1)


def combine(left: Nat, left_times: int, right: Nat, right_times: int) -> Nat:
    """Return left_times × left + right_times × right."""
    terms: dict[Nat, int] = {}
    accumulate(terms, left, left_times)
    accumulate(terms, right, right_times)
    return build(terms)


def scale(expression: Nat, times: int) -> Nat:
    """Return times × expression."""
    if times == 1:
        return expression
    if isinstance(expression, Constant):
        return constant(expression.value * times)
    terms: dict[Nat, int] = {}
    accumulate(terms, expression, times)
    return build(terms)


def accumulate(terms: dict[Nat, int], expression: Nat, times: int) -> None:
    """Add times × expression to a sum in progress."""
    if isinstance(expression, Sum):
        for monomial, coefficient in zip(expression.monomials, expression.coefficients):
            terms[monomial] = terms.get(monomial, 0) + times * coefficient
    elif isinstance(expression, Constant):
        terms[ONE] = terms.get(ONE, 0) + times * expression.value
    else:
        terms[expression] = terms.get(expression, 0) + times


def multiply(left: Nat, right: Nat) -> Nat:
    if isinstance(left, Constant):
        return scale(right, left.value)
    if isinstance(right, Constant):
        return scale(left, right.value)
    if not isinstance(left, Sum) and not isinstance(right, Sum):
        return multiply_monomials(left, right)
    terms: dict[Nat, int] = {}
    left_monomials = monomials_of(left)
    right_monomials = monomials_of(right)
    if len(left_monomials) * len(right_monomials) > MOST_TERMS:
        raise ArithmeticRefusal(f"a product of {len(left_monomials)} and {len(right_monomials)} terms is too long")
    right_coefficients = coefficients_of(right)
    for monomial, coefficient in zip(left_monomials, coefficients_of(left)):
        for other, times in zip(right_monomials, right_coefficients):
            accumulate(terms, multiply_monomials(monomial, other), coefficient * times)
    return build(terms)


def multiply_add(slope: Nat, value: Nat, rest: Nat) -> Nat:
    """Return slope × value + rest."""
    if isinstance(slope, Constant):
        return combine(value, slope.value, rest, 1)
    return add(multiply(slope, value), rest)


def multiply_monomials(left: Nat, right: Nat) -> Nat:
    """Return the product of two monomials: a monomial, unless an exact division cancels to a sum."""
    if left is ONE:
        return right
    if right is ONE:
        return left
    factors = list(factors_of(left) + factors_of(right))
    if (left.traits | right.traits) & CANCELS:
        return _multiply_cancelling(factors)
    factors.sort(key=_order)
    return intern_product(tuple(factors))


def _order(node: Nat) -> tuple[Any, ...]:
    return node.order


def divide_monomial(monomial: Nat, divisor: Nat) -> Nat | None:
    """Return the monomial without the factors of `divisor`, or None when it lacks one of them."""
    if divisor is ONE:
        return monomial
    if monomial is divisor:
        return ONE
    if not isinstance(monomial, Product):
        return None
    rest = list(monomial.factors)
    for factor in factors_of(divisor):
        if factor not in rest:
            return None
        rest.remove(factor)
    return intern_product(tuple(rest))


def common_factors(one: Nat, other: Nat) -> Nat:
    """Return the greatest monomial that divides both monomials."""
    if one is other:
        return one
    rest = list(factors_of(other))
    common = []
    for factor in factors_of(one):
        if factor in rest:
            rest.remove(factor)
            common.append(factor)
    return intern_product(tuple(common))


def build(terms: dict[Nat, int]) -> Nat:
    """Return the normal form of a sum in progress, which it may change."""
    traits = 0
    zeros = 0
    for monomial, coefficient in terms.items():
        if coefficient == 0:
            zeros += 1
        else:
            traits |= monomial.traits
    if traits & RECOMBINES:
        if traits & CANCELS:
            _cancel_coefficients(terms)
        while _recombine(terms, traits):
            pass
        zeros = 1
    if zeros:
        kept = [monomial for monomial, coefficient in terms.items() if coefficient != 0]
    else:
        kept = list(terms)
    if len(kept) == 2:
        if kept[1].order < kept[0].order:
            kept.reverse()
    elif len(kept) > 2:
        kept.sort(key=_order)
    return intern_sum(tuple(kept), tuple([terms[monomial] for monomial in kept]))


def content(expression: Nat) -> int:
    """Return the greatest integer that divides every coefficient."""
    divisor = 0
    for coefficient in coefficients_of(expression):
        divisor = gcd(divisor, coefficient)
    return divisor


def divide_coefficients(expression: Nat, divisor: int) -> Nat:
    """Return the expression with every coefficient divided, which must leave nothing."""
    if divisor == 1:
        return expression
    return intern_sum(
        monomials_of(expression), tuple([coefficient // divisor for coefficient in coefficients_of(expression)])
    )


# Exact divisions and powers as factors


def _multiply_cancelling(factors: list[Nat]) -> Nat:
    """Return the product of atoms of which some are exact divisions or powers."""
    normalising = OPERATORS.normalising
    for position, factor in enumerate(factors):
        if isinstance(factor, ExactDivision):
            rest = factors[:position] + factors[position + 1 :]
            for other in rest:
                divided = _divide_denominator(factor.right, other)
                if divided is not None:
                    rest.remove(other)
                    return multiply(normalising.exact_divide(factor.left, divided), _multiply_cancelling(rest))
        elif isinstance(factor, Power):
            rest = factors[:position] + factors[position + 1 :]
            for other in rest:
                exponent: Nat | None = None
                if other is factor.left and constant_term(factor.right) < 0:
                    exponent = ONE
                elif isinstance(other, Power) and other.left is factor.left:
                    exponent = other.right
                if exponent is not None:
                    rest.remove(other)
                    joined = normalising.power(factor.left, add(factor.right, exponent))
                    return multiply(joined, _multiply_cancelling(rest))
    factors.sort(key=_order)
    return intern_product(tuple(factors))


def _divide_denominator(denominator: Nat, factor: Nat) -> Nat | None:
    """Return the denominator / factor when every term has the factor."""
    monomials = []
    for monomial in monomials_of(denominator):
        divided = divide_monomial(monomial, factor)
        if divided is None:
            return None
        monomials.append(divided)
    return intern_sum(tuple(monomials), coefficients_of(denominator))


def _cancel_coefficients(terms: dict[Nat, int]) -> None:
    """Cancel the coefficients of terms against the constant denominators of their exact divisions."""
    for monomial in list(terms):
        coefficient = terms[monomial]
        if coefficient in (-1, 0, 1) or not monomial.traits & CANCELS:
            continue
        for factor in factors_of(monomial):
            cancelled: Nat | None = None
            divisor = 1
            if isinstance(factor, ExactDivision):
                divisor = gcd(coefficient, content(factor.right))
                if divisor > 1:
                    denominator = divide_coefficients(factor.right, divisor)
                    cancelled = OPERATORS.normalising.exact_divide(factor.left, denominator)
            elif isinstance(factor, Power) and isinstance(factor.left, Constant) and constant_term(factor.right) < 0:
                if coefficient % factor.left.value == 0:
                    divisor = factor.left.value
                    cancelled = OPERATORS.normalising.power(factor.left, add(factor.right, ONE))
            if cancelled is not None:
                del terms[monomial]
                rest = divide_monomial(monomial, factor)
                assert rest is not None
                accumulate(terms, scale(multiply(rest, cancelled), coefficient // divisor), 1)
                break


# Quotients and remainders of the same division


def _recombine(terms: dict[Nat, int], traits: int) -> bool:
    """Apply one of the rules that need two terms; return whether one applied."""
    if len(terms) < 2:
        return False
    for monomial, coefficient in terms.items():
        if coefficient == 0 or not monomial.traits & RECOMBINES:
            continue
        for factor in factors_of(monomial):
            rest: Nat | None = None
            if isinstance(factor, Remainder) and traits & 1 << FLOOR_DIVISION:
                rest = _find_quotient(terms, monomial, coefficient, factor)
            elif isinstance(factor, FloorDivision):
                rest = _find_dividend(terms, monomial, coefficient, factor)
            elif isinstance(factor, ExactDivision):
                rest = _find_product(terms, monomial, coefficient, factor)
            if rest is not None:
                accumulate(terms, rest, 1)
                return True
    return False


def _find_quotient(terms: dict[Nat, int], monomial: Nat, coefficient: int, factor: Remainder) -> Nat | None:
    """y × (x / y) + x mod y = x (rule 4.4): take both from the terms and return what replaces them."""
    rest = divide_monomial(monomial, factor)
    assert rest is not None
    quotient = OPERATORS.normalising.floor_divide(factor.left, factor.right)
    pattern = scale(multiply(rest, multiply(quotient, factor.right)), coefficient)
    if not _contains(terms, pattern):
        return None
    accumulate(terms, pattern, -1)
    terms[monomial] -= coefficient
    return scale(multiply(rest, factor.left), coefficient)


def _find_dividend(terms: dict[Nat, int], monomial: Nat, coefficient: int, factor: FloorDivision) -> Nat | None:
    """x - y × (x / y) = x mod y: take both from the terms and return what replaces them."""
    divisor_monomials = monomials_of(factor.right)
    divisor_coefficient = coefficients_of(factor.right)[0]
    if len(divisor_monomials) != 1 or coefficient % divisor_coefficient:
        return None
    rest = divide_monomial(monomial, factor)
    assert rest is not None
    rest = divide_monomial(rest, divisor_monomials[0])
    if rest is None:
        return None
    if rest is ONE and monomials_of(factor.left)[0] not in terms:
        return None
    times = -(coefficient // divisor_coefficient)
    pattern = scale(multiply(rest, factor.left), times)
    if not _contains(terms, pattern):
        return None
    accumulate(terms, pattern, -1)
    terms[monomial] -= coefficient
    return scale(multiply(rest, OPERATORS.normalising.remainder(factor.left, factor.right)), times)


def _find_product(terms: dict[Nat, int], monomial: Nat, coefficient: int, factor: ExactDivision) -> Nat | None:
    """y × (x /^ y) = x for a sum y: take the product's terms and return what replaces them."""
    if not isinstance(factor.right, Sum) or coefficient % factor.right.coefficients[0]:
        return None
    rest = divide_monomial(monomial, factor)
    assert rest is not None
    rest = divide_monomial(rest, factor.right.monomials[0])
    if rest is None:
        return None
    times = coefficient // factor.right.coefficients[0]
    beside = (*factors_of(rest), factor)
    found: dict[Nat, int] = {}
    for part, part_coefficient in zip(factor.right.monomials, factor.right.coefficients):
        factors = list(beside + factors_of(part))
        factors.sort(key=_order)
        found[intern_product(tuple(factors))] = part_coefficient * times
    pattern = intern_sum(tuple(found), tuple(found.values()))
    if not _contains(terms, pattern):
        return None
    accumulate(terms, pattern, -1)
    return scale(multiply(rest, factor.left), times)


def _contains(terms: dict[Nat, int], pattern: Nat) -> bool:
    """Return whether every term of the pattern stands in the sum, with at least its coefficient."""
    if pattern is ZERO:
        return False
    for monomial, coefficient in zip(monomials_of(pattern), coefficients_of(pattern)):
        present = terms.get(monomial, 0)
        if present * coefficient <= 0 or abs(present) < abs(coefficient):
            return False
    return True
