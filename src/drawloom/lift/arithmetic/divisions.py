"""Simplifies integer division and modulo with the ranges of variables (thesis rules 4.1 to 4.6, and more).

Both take the multiples of the divisor out of the dividend first, p = s*q + r. Where 0 <= r < q is proved, the results
are s and r: this alone turns figure 4.6's first line into its third. The rest is reduced by common factors, and by a
split of the divisor: for q = g*d and r = g*a + b with 0 <= b < g, r / q = a / d and r mod q = g * (a mod d) + b.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from drawloom.lift.arithmetic.bounds import is_less, is_negative, is_nonnegative, is_positive
from drawloom.lift.arithmetic.expression import (
    EXACT_DIVISION,
    FLOOR_DIVISION,
    MINUS_ONE,
    ONE,
    REMAINDER,
    ZERO,
    ArithmeticRefusal,
    Constant,
    ExactDivision,
    FloorDivision,
    Nat,
    Remainder,
    Sum,
    Variable,
    constant,
    intern_binary,
    newer,
)
from drawloom.lift.arithmetic.sums import (
    accumulate,
    add,
    build,
    coefficients_of,
    common_factors,
    content,
    divide_coefficients,
    divide_monomial,
    factors_of,
    monomials_of,
    multiply,
    scale,
    subtract,
)

#: Steps of a long division by a sum after which it gives up.
LONGEST_DIVISION: Final = 32


def floor_divide(dividend: Nat, divisor: Nat) -> Nat:
    """Return the normal form of dividend / divisor, rounded down."""
    return _remembered(FLOOR_DIVISION, dividend, divisor)


def remainder(dividend: Nat, divisor: Nat) -> Nat:
    """Return the normal form of dividend mod divisor."""
    return _remembered(REMAINDER, dividend, divisor)


def exact_divide(dividend: Nat, divisor: Nat) -> Nat:
    """Return the normal form of dividend / divisor, asserted to leave nothing."""
    return _remembered(EXACT_DIVISION, dividend, divisor)


def divides(divisor: Nat, dividend: Nat) -> bool:
    """Return True when `dividend` is proved to be a multiple of `divisor`."""
    return remainder(dividend, divisor) is ZERO


def _remembered(kind: int, dividend: Nat, divisor: Nat) -> Nat:
    if divisor is ONE:
        return ZERO if kind == REMAINDER else dividend
    if divisor is ZERO:
        raise ArithmeticRefusal(f"{dividend}: division by zero")
    if isinstance(divisor, Constant) and isinstance(dividend, Constant):
        return _fold(kind, dividend.value, divisor.value)
    results = newer(dividend.home, divisor.home).results
    key = (kind, dividend, divisor)
    result = results.get(key)
    if result is None:
        if kind == FLOOR_DIVISION:
            result = _floor_divide(dividend, divisor)
        elif kind == REMAINDER:
            result = _remainder(dividend, divisor)
        else:
            result = _exact_divide(dividend, divisor)
        results[key] = result
    return result


def _fold(kind: int, dividend: int, divisor: int) -> Nat:
    if kind == REMAINDER:
        return constant(dividend % divisor)
    if kind == EXACT_DIVISION and dividend % divisor:
        raise ArithmeticRefusal(f"{dividend} /^ {divisor}: the division leaves {dividend % divisor}, expected 0")
    return constant(dividend // divisor)


def _floor_divide(dividend: Nat, divisor: Nat) -> Nat:
    if isinstance(divisor, Constant) and divisor.value < 0:
        return floor_divide(scale(dividend, -1), constant(-divisor.value))
    if isinstance(dividend, Remainder) and dividend.right is divisor:
        return ZERO
    multiple, rest = take_multiples(dividend, divisor)
    if isinstance(multiple, Constant):
        known = _place(dividend, divisor)
        if known is not None:
            if known == 0:
                _share(REMAINDER, dividend, divisor, dividend)
            return constant(known)
    if multiple is not ZERO:
        multiple, rest = _keep_nonnegative(dividend, divisor, multiple, rest)
        if multiple is not ZERO:
            quotient = floor_divide(rest, divisor)
            if quotient is ZERO:
                _share(REMAINDER, dividend, divisor, rest)
            return add(multiple, quotient)
    if _counts_down(dividend, divisor):
        return subtract(MINUS_ONE, floor_divide(subtract(MINUS_ONE, dividend), divisor))
    common, common_times = common_divisor(dividend, divisor)
    if common is not ONE or common_times != 1:
        return floor_divide(divide_term(dividend, common, common_times), divide_term(divisor, common, common_times))
    inner = _divide_inner(dividend, divisor)
    if inner is not None:
        return inner
    split = _split_divisor(dividend, divisor)
    if split is not None:
        part, quotient, _ = split
        return floor_divide(quotient, divide_exactly(divisor, part))
    return intern_binary(FLOOR_DIVISION, dividend, divisor)


def _share(kind: int, dividend: Nat, divisor: Nat, result: Nat) -> None:
    """Remember the result that came with another: indices take quotient and remainder of the same operands."""
    newer(dividend.home, divisor.home).results[kind, dividend, divisor] = result


def _divide_inner(dividend: Nat, divisor: Nat) -> Nat | None:
    """(a / b) / c = a / (b*c), and (a mod (b*c)) / c = (a / c) mod b, for positive b and c."""
    if not isinstance(dividend, (FloorDivision, Remainder)):
        return None
    if not is_positive(divisor) or not is_positive(dividend.right):
        return None
    if isinstance(dividend, FloorDivision):
        return floor_divide(dividend.left, multiply(dividend.right, divisor))
    factor, rest = take_exact_multiples(dividend.right, divisor)
    if rest is not ZERO:
        return None
    return remainder(floor_divide(dividend.left, divisor), factor)


def _remainder(dividend: Nat, divisor: Nat) -> Nat:
    if isinstance(divisor, Constant) and divisor.value < 0:
        return scale(remainder(scale(dividend, -1), constant(-divisor.value)), -1)
    if isinstance(dividend, Remainder) and dividend.right is divisor:
        return dividend
    multiple, rest = take_multiples(dividend, divisor)
    if isinstance(multiple, Constant):
        known = _place(dividend, divisor)
        if known is not None:
            _share(FLOOR_DIVISION, dividend, divisor, constant(known))
            return subtract(dividend, scale(divisor, known))
    if multiple is not ZERO:
        multiple, rest = _keep_nonnegative(dividend, divisor, multiple, rest)
        if multiple is not ZERO:
            left = remainder(rest, divisor)
            if left is rest:
                _share(FLOOR_DIVISION, dividend, divisor, multiple)
            return left
    if _counts_down(dividend, divisor):
        return subtract(add(divisor, MINUS_ONE), remainder(subtract(MINUS_ONE, dividend), divisor))
    common, common_times = common_divisor(dividend, divisor)
    if common is not ONE or common_times != 1:
        reduced = remainder(divide_term(dividend, common, common_times), divide_term(divisor, common, common_times))
        return scale(multiply(common, reduced), common_times)
    without = _drop_inner_remainders(dividend, divisor)
    if without is not dividend:
        return remainder(without, divisor)
    split = _split_divisor(dividend, divisor)
    if split is not None:
        part, quotient, rest = split
        return add(multiply(part, remainder(quotient, divide_exactly(divisor, part))), rest)
    return intern_binary(REMAINDER, dividend, divisor)


def _place(dividend: Nat, divisor: Nat) -> int | None:
    """Return k when k × divisor <= dividend < (k + 1) × divisor is proved for k = 0 or -1 (rules 4.1 and 4.3)."""
    if is_nonnegative(dividend):
        return 0 if is_less(dividend, divisor) else None
    if is_negative(dividend) and is_nonnegative(add(dividend, divisor)):
        return -1
    return None


def _counts_down(dividend: Nat, divisor: Nat) -> bool:
    """Return whether -1 - dividend is the better dividend, as for reversed arrays: (-1 - x) / y = -1 - x / y and
    (-1 - x) mod y = y - 1 - x mod y for positive y."""
    if is_nonnegative(dividend) or not is_positive(divisor):
        return False
    if is_negative(dividend):
        return True
    negative = [c < 0 for m, c in zip(monomials_of(dividend), coefficients_of(dividend)) if m is not ONE]
    return bool(negative) and all(negative)


def _keep_nonnegative(dividend: Nat, divisor: Nat, multiple: Nat, rest: Nat) -> tuple[Nat, Nat]:
    """Give multiples of the divisor back to the rest until it is at least zero, where the dividend is proved to be: C
    divides such a rest without more code."""
    if is_nonnegative(rest) or not is_nonnegative(dividend):
        return multiple, rest
    if _place(rest, divisor) is not None or _counts_down(rest, divisor):
        return multiple, rest
    kept: Nat = ZERO
    for monomial, coefficient in zip(monomials_of(multiple), coefficients_of(multiple)):
        if coefficient > 0:
            term = scale(monomial, coefficient)
            with_term = add(rest, multiply(term, divisor))
            if is_nonnegative(with_term):
                return subtract(multiple, term), with_term
            kept = add(kept, term)
    return subtract(multiple, kept), add(rest, multiply(kept, divisor))


def take_multiples(dividend: Nat, divisor: Nat) -> tuple[Nat, Nat]:
    """Return s and r with dividend = s × divisor + r, every term of the dividend that the divisor divides taken into s
    (rules 4.2, 4.5 and 4.6)."""
    if isinstance(divisor, Sum) and len(divisor.monomials) > 1:
        return _divide_long(dividend, divisor)
    divisor_monomial = monomials_of(divisor)[0]
    divisor_coefficient = coefficients_of(divisor)[0]
    multiple: dict[Nat, int] = {}
    rest: dict[Nat, int] = {}
    for monomial, coefficient in zip(monomials_of(dividend), coefficients_of(dividend)):
        divided = divide_monomial(monomial, divisor_monomial)
        times = 0
        if divided is ONE and divisor_monomial is ONE:
            times = coefficient // divisor_coefficient  # the constant's rest is in 0 .. divisor - 1
        elif divided is not None:
            times = abs(coefficient) // divisor_coefficient * (1 if coefficient > 0 else -1)
        if divided is not None and times:
            accumulate(multiple, divided, times)
        left = coefficient - times * divisor_coefficient
        if left:
            whole = _divide_by_steps(monomial, left, divisor)
            if whole is None:
                whole = _divide_by_quotient(monomial, left, divisor)
            if whole is None:
                rest[monomial] = left
            else:
                accumulate(multiple, whole, 1)
    return build(multiple), build(rest)


def _divide_by_quotient(monomial: Nat, coefficient: int, divisor: Nat) -> Nat | None:
    """Return coefficient × monomial / divisor where the divisor has a factor n /^ d: (d × term) / (d × divisor)."""
    if not divisor.traits & 1 << EXACT_DIVISION:
        return None
    for factor in factors_of(monomials_of(divisor)[0]):
        if isinstance(factor, ExactDivision):
            divided, left = take_exact_multiples(
                scale(multiply(monomial, factor.right), coefficient), multiply(divisor, factor.right)
            )
            return divided if left is ZERO else None
    return None


def _divide_by_steps(monomial: Nat, coefficient: int, divisor: Nat) -> Nat | None:
    """Return coefficient × monomial / divisor as an exact division where the steps of its variables prove that nothing
    is left."""
    if not isinstance(divisor, Constant) or monomial is ONE:
        return None
    known = abs(coefficient)
    for factor in factors_of(monomial):
        known *= known_divisor(factor)
    if known == 0 or known % divisor.value:
        return None
    return exact_divide(scale(monomial, coefficient), divisor)


def known_divisor(atom: Nat) -> int:
    """Return an integer that divides every value of an atom."""
    if isinstance(atom, Variable):
        if isinstance(atom.range.step, Constant) and isinstance(atom.range.start, Constant):
            return gcd(atom.range.step.value, atom.range.start.value)
    if isinstance(atom, ExactDivision) and isinstance(atom.right, Constant):
        known = 0
        for monomial, coefficient in zip(monomials_of(atom.left), coefficients_of(atom.left)):
            for factor in factors_of(monomial):
                coefficient *= known_divisor(factor)
            known = gcd(known, coefficient)
        if known % atom.right.value == 0:
            return known // atom.right.value
    return 1


def _divide_long(dividend: Nat, divisor: Sum) -> tuple[Nat, Nat]:
    """Divide by a sum like polynomials, by the divisor's leading term; keep the result where it helps."""
    lead = divisor.monomials[0]
    lead_coefficient = divisor.coefficients[0]
    multiple: Nat = ZERO
    rest = dividend
    for _ in range(LONGEST_DIVISION):
        step: Nat = ZERO
        for monomial, coefficient in zip(monomials_of(rest), coefficients_of(rest)):
            divided = divide_monomial(monomial, lead)
            if divided is not None and coefficient % lead_coefficient == 0:
                step = scale(divided, coefficient // lead_coefficient)
                break
        if step is ZERO:
            break
        multiple = add(multiple, step)
        rest = subtract(rest, multiply(step, divisor))
    if multiple is ZERO or rest is ZERO:
        return multiple, rest
    if len(monomials_of(rest)) < len(monomials_of(dividend)) or _place(rest, divisor) is not None:
        return multiple, rest
    return ZERO, dividend


def common_divisor(one: Nat, other: Nat) -> tuple[Nat, int]:
    """Return the greatest monomial and integer that divide every term of both."""
    times = gcd(content(one), content(other))
    common: Nat | None = None
    for monomial in monomials_of(one) + monomials_of(other):
        common = monomial if common is None else common_factors(common, monomial)
        if common is ONE:
            break
    return (ONE if common is None else common), times


def divide_term(expression: Nat, monomial: Nat, times: int) -> Nat:
    """Return the expression / (times × monomial), which divides every term."""
    if monomial is ONE:
        return divide_coefficients(expression, times)
    terms: dict[Nat, int] = {}
    for part, coefficient in zip(monomials_of(expression), coefficients_of(expression)):
        divided = divide_monomial(part, monomial)
        assert divided is not None
        accumulate(terms, divided, coefficient // times)
    return build(terms)


def divide_exactly(dividend: Nat, divisor: Nat) -> Nat:
    """Return dividend / divisor for a divisor of one term that divides every term."""
    return divide_term(dividend, monomials_of(divisor)[0], coefficients_of(divisor)[0])


def _split_divisor(dividend: Nat, divisor: Nat) -> tuple[Nat, Nat, Nat] | None:
    """Find g, a and b with dividend = g × a + b, 0 <= b < g, where g divides the divisor of one term."""
    divisor_monomials = monomials_of(divisor)
    if len(divisor_monomials) != 1 or not is_positive(divisor):
        return None  # for d < 0 and b > 0, g*a + b is divided by g*d as a + 1 is by d where d divides a
    divisor_times = coefficients_of(divisor)[0]
    tried = []
    for monomial, coefficient in zip(monomials_of(dividend), coefficients_of(dividend)):
        common = common_factors(monomial, divisor_monomials[0])
        part = scale(common, gcd(coefficient, divisor_times))
        if part is ONE or part in tried:
            continue
        tried.append(part)
        quotient: dict[Nat, int] = {}
        rest: dict[Nat, int] = {}
        times = coefficients_of(part)[0]
        for other, other_times in zip(monomials_of(dividend), coefficients_of(dividend)):
            divided = divide_monomial(other, common)
            if divided is not None and other_times % times == 0:
                accumulate(quotient, divided, other_times // times)
            else:
                rest[other] = other_times
        below = build(rest)
        if is_nonnegative(below) and is_less(below, part):
            return part, build(quotient), below
    return None


def _drop_inner_remainders(dividend: Nat, divisor: Nat) -> Nat:
    """a mod d becomes a where the divisor divides d. A factor beside it would make the sum greater than `int` holds."""
    if not dividend.traits & 1 << REMAINDER:
        return dividend
    for monomial, coefficient in zip(monomials_of(dividend), coefficients_of(dividend)):
        if isinstance(monomial, Remainder) and coefficient in (-1, 1):
            _, left = take_multiples(monomial.right, divisor)
            if left is ZERO:
                return add(dividend, scale(subtract(monomial.left, monomial), coefficient))
    return dividend


def _exact_divide(dividend: Nat, divisor: Nat) -> Nat:
    if dividend is ZERO:
        return ZERO
    if isinstance(divisor, Constant) and divisor.value < 0:
        return exact_divide(scale(dividend, -1), constant(-divisor.value))
    common, times = common_divisor(dividend, divisor)
    if common is not ONE or times != 1:
        return exact_divide(divide_term(dividend, common, times), divide_term(divisor, common, times))
    multiple, rest = take_exact_multiples(dividend, divisor)
    if multiple is not ZERO:
        return add(multiple, exact_divide(rest, divisor))
    if isinstance(dividend, ExactDivision):
        return exact_divide(dividend.left, multiply(dividend.right, divisor))
    return intern_binary(EXACT_DIVISION, dividend, divisor)


def take_exact_multiples(dividend: Nat, divisor: Nat) -> tuple[Nat, Nat]:
    """Like `take_multiples`, of whole terms only: what is left of a term needs to stay a multiple."""
    if isinstance(divisor, Sum) and len(divisor.monomials) > 1:
        multiple, rest = _divide_long(dividend, divisor)
        return (multiple, rest) if rest is ZERO else (ZERO, dividend)
    divisor_monomial = monomials_of(divisor)[0]
    divisor_coefficient = coefficients_of(divisor)[0]
    whole: dict[Nat, int] = {}
    left: dict[Nat, int] = {}
    for monomial, coefficient in zip(monomials_of(dividend), coefficients_of(dividend)):
        divided = divide_monomial(monomial, divisor_monomial)
        if divided is None or coefficient % divisor_coefficient:
            left[monomial] = coefficient
        else:
            accumulate(whole, divided, coefficient // divisor_coefficient)
    return build(whole), build(left)
