"""Proves that expressions are at least zero, and bounds them, from the ranges of their variables.

A proof eliminates the atoms one by one, innermost index first. An atom whose coefficient is at least zero is replaced
by a lower bound, an atom whose coefficient is at most zero by an upper bound. Bounds are expressions: l < M for an
unknown M turns M*N - 1 - (l*M + wg) into zero. A quotient q = a / d is eliminated after a multiplication by d, from
a - d + 1 <= d*q <= a; the whole is an integer, so that d times the whole needs to exceed -d only.
"""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    EXACT_DIVISION,
    INDEX_LEVEL,
    IS_ZERO,
    MINUS_ONE,
    ONE,
    OPERATORS,
    ZERO,
    ArithmeticRefusal,
    Choice,
    Comparison,
    Condition,
    Constant,
    ExactDivision,
    FloorDivision,
    Junction,
    Logarithm,
    Maximum,
    Minimum,
    Nat,
    Power,
    Product,
    Remainder,
    Sum,
    Variable,
    variable,
)
from drawloom.lift.arithmetic.points import is_refuted, is_somewhere_less, reaches
from drawloom.lift.arithmetic.sums import (
    accumulate,
    add,
    build,
    coefficients_of,
    divide_monomial,
    factors_of,
    monomials_of,
    multiply,
    multiply_add,
    scale,
    subtract,
)

UNKNOWN: Final = 0
PROVED: Final = 1
NOT_PROVED: Final = 2

BOUNDED_FROM_ABOVE: Final = 1
BOUNDED_FROM_BELOW: Final = 2

#: Eliminations on one path, and terms of an expression on it, after which a proof gives up.
DEEPEST: Final = 16
LONGEST: Final = 48
#: Steps of a proof over all its paths, after which it gives up. Of 57,000 proofs that succeeded none took more than 63,
#: while conditions inside conditions give every path several facts to try.
MOST_STEPS: Final = 512


class Effort:
    """The steps that the innermost proof may still take."""

    def __init__(self) -> None:
        self.left = MOST_STEPS


EFFORT: Final = Effort()


def is_nonnegative(expression: Nat) -> bool:
    """Return True when `expression` >= 0 is proved for all values of its variables."""
    if isinstance(expression, Constant):
        return expression.value >= 0
    if expression.sign_memo == UNKNOWN:
        if isinstance(expression, Sum) and _has_no_negative_term(expression):
            expression.sign_memo = PROVED
            return True
        if is_refuted(expression):
            expression.sign_memo = NOT_PROVED
            return False
        expression.sign_memo = NOT_PROVED  # a proof does not lean on itself
        outer, EFFORT.left = EFFORT.left, MOST_STEPS
        try:
            expression.sign_memo = PROVED if _prove(expression, DEEPEST, []) else NOT_PROVED
        except ArithmeticRefusal:  # a bound that the atom does not reach, where a division leaves something
            pass
        EFFORT.left = outer
    return expression.sign_memo == PROVED


def is_positive(expression: Nat) -> bool:
    """Return True when `expression` >= 1 is proved."""
    if isinstance(expression, Constant):
        return expression.value > 0
    if reaches(expression, 0, from_above=False):
        return False
    if isinstance(expression, Variable) and isinstance(expression.range.start, Constant):
        return expression.range.start.value > 0
    return is_nonnegative(add(expression, MINUS_ONE))


def is_less(left: Nat, right: Nat) -> bool:
    """Return True when `left` < `right` is proved."""
    if is_somewhere_less(right, left):
        return False
    terms: dict[Nat, int] = {ONE: -1}
    accumulate(terms, right, 1)
    accumulate(terms, left, -1)
    return is_nonnegative(build(terms))


def is_negative(expression: Nat) -> bool:
    """Return True when `expression` < 0 is proved."""
    if isinstance(expression, Constant):
        return expression.value < 0
    return not reaches(expression, 0, from_above=True) and is_nonnegative(subtract(MINUS_ONE, expression))


def is_at_most(left: Nat, right: Nat) -> bool:
    """Return True when `left` <= `right` is proved."""
    return left is right or is_nonnegative(subtract(right, left))


def _prove(expression: Nat, depth: int, facts: list[Nat]) -> bool:
    """Prove `expression` >= 0 where every fact is at least zero, by at most `depth` eliminations on one path."""
    if EFFORT.left == 0:
        return False
    EFFORT.left -= 1
    if isinstance(expression, Constant):
        return expression.value >= 0
    if isinstance(expression, Product):
        return all(is_nonnegative(factor) for factor in expression.factors)
    if depth < DEEPEST:
        if expression.sign_memo == PROVED:
            return True
        if not facts:
            if expression.sign_memo == NOT_PROVED:
                return False
            if is_refuted(expression):
                expression.sign_memo = NOT_PROVED
                return False
    if not isinstance(expression, Sum):
        return _prove_atom(expression, depth, facts)
    if _has_no_negative_term(expression):
        return True
    if depth == 0 or len(expression.monomials) > LONGEST:
        return False
    if expression.level >= INDEX_LEVEL:
        bound = _bound_terms(expression)
        if bound is not None and _prove(bound, depth - 1, facts):
            if not facts:
                expression.sign_memo = PROVED
            return True
    atom = _innermost(expression)
    if atom is None:
        return False
    if atom.level < INDEX_LEVEL and expression.traits & 1 << EXACT_DIVISION:
        replaced = _replace_exact_division(expression)
        if replaced is not None:
            return _prove(replaced, depth - 1, [])
    if not _eliminate(expression, atom, depth, facts):
        return False
    if not facts:
        expression.sign_memo = PROVED
    return True


def _has_no_negative_term(expression: Sum) -> bool:
    for monomial, coefficient in zip(expression.monomials, expression.coefficients):
        if coefficient < 0 or not is_nonnegative(monomial):
            return False
    return True


def _bound_terms(expression: Sum) -> Nat | None:
    """Return a lower bound of a sum, each of its terms with indices bounded by itself, or None when none is found."""
    terms: dict[Nat, int] = {}
    for monomial, coefficient in zip(expression.monomials, expression.coefficients):
        bound: Nat | None = monomial
        if monomial.level >= INDEX_LEVEL:
            bound = bound_monomial(monomial, coefficient < 0)
            if bound is None:
                return None
        assert bound is not None
        accumulate(terms, bound, coefficient)
    return build(terms)


def bound_monomial(monomial: Nat, from_above: bool) -> Nat | None:
    """Return a bound of a monomial, the product of its factors' bounds where all are at least zero, or None."""
    known = BOUNDED_FROM_ABOVE if from_above else BOUNDED_FROM_BELOW
    if not monomial.bounds_memo & known:
        monomial.bounds_memo |= known
        bound: Nat = ONE
        for factor in factors_of(monomial):
            of_factor: Nat | None = factor
            if factor.level >= INDEX_LEVEL:
                bounds = upper_bounds(factor) if from_above else lower_bounds(factor)
                of_factor = bounds[0] if bounds else None
            if of_factor is None or (isinstance(monomial, Product) and not is_nonnegative(factor)):
                return None
            bound = multiply(bound, of_factor)
        if from_above:
            monomial.upper = bound
        else:
            monomial.lower = bound
    return monomial.upper if from_above else monomial.lower


def _prove_atom(atom: Nat, depth: int, facts: list[Nat]) -> bool:
    if isinstance(atom, Variable):
        return is_nonnegative(atom.range.start)
    if isinstance(atom, (FloorDivision, ExactDivision)):
        return is_nonnegative(atom.left) and is_positive(atom.right)
    if isinstance(atom, Remainder):
        return is_positive(atom.right)
    if isinstance(atom, (Power, Logarithm)):
        return True if isinstance(atom, Logarithm) else is_nonnegative(atom.left)
    return depth > 0 and _eliminate(atom, atom, depth, facts)


def _replace_exact_division(expression: Nat) -> Nat | None:
    """Replace v by d × q where the quotient q = v /^ d of a length v stands in the expression."""
    for monomial in monomials_of(expression):
        for factor in factors_of(monomial):
            if isinstance(factor, ExactDivision) and isinstance(factor.left, Variable):
                if factor.whole is None and is_positive(factor.left) and is_positive(factor.right):
                    factor.whole = variable(f"{factor.left.name}/^{factor.right}")
                if factor.whole is not None:
                    value = multiply(factor.whole, factor.right)
                    return OPERATORS.normalising.substitute(expression, factor.left, value)
    return None


def _innermost(expression: Nat) -> Nat | None:
    """Return the atom of the highest level, which no other atom's bounds contain."""
    found: Nat | None = None
    for monomial in monomials_of(expression):
        for factor in factors_of(monomial):
            if (
                found is None
                or factor.level > found.level
                or (factor.level == found.level and factor.order < found.order)
            ):
                found = factor
    return found


def _eliminate(expression: Nat, atom: Nat, depth: int, facts: list[Nat]) -> bool:
    """Prove `expression` >= 0 by its values where `atom` is at its bounds."""
    split = split_linear(expression, atom)
    if split is None:
        return _eliminate_power(expression, atom, depth, facts)
    slope, rest = split
    rises = is_nonnegative(slope)
    falls = not rises and is_nonnegative(scale(slope, -1))
    if isinstance(atom, Minimum):
        return _eliminate_extremum(atom.operands, slope, rest, not falls, depth, facts)
    if isinstance(atom, Maximum):
        return _eliminate_extremum(atom.operands, slope, rest, not rises, depth, facts)
    if isinstance(atom, Choice):
        weight = slope if rises else scale(slope, -1) if falls else ONE
        return _eliminate_choice(atom, slope, rest, weight, depth, facts)
    if isinstance(atom, (FloorDivision, ExactDivision)) and (rises or falls) and is_positive(atom.right):
        dividend = atom.left
        if rises and isinstance(atom, FloorDivision):
            dividend = add(subtract(dividend, atom.right), ONE)
        least = add(multiply(rest, atom.right), add(atom.right, MINUS_ONE))
        if _prove(multiply_add(slope, dividend, least), depth - 1, facts):
            return True
    if not falls and not _at_any(slope, rest, lower_bounds(atom), depth, facts):
        return False
    return rises or _at_any(slope, rest, upper_bounds(atom), depth, facts)


def _at_any(slope: Nat, rest: Nat, bounds: list[Nat], depth: int, facts: list[Nat]) -> bool:
    return any(_prove(multiply_add(slope, bound, rest), depth - 1, facts) for bound in bounds)


def _eliminate_extremum(
    operands: tuple[Nat, ...], slope: Nat, rest: Nat, needs_all: bool, depth: int, facts: list[Nat]
) -> bool:
    for operand in operands:
        if _prove(multiply_add(slope, operand, rest), depth - 1, facts) != needs_all:
            return not needs_all
    return needs_all


def _eliminate_choice(atom: Choice, slope: Nat, rest: Nat, weight: Nat, depth: int, facts: list[Nat]) -> bool:
    then = multiply_add(slope, atom.then, rest)
    if not _prove_given(then, facts + facts_of(atom.condition, True), weight, depth - 1):
        return False
    otherwise = multiply_add(slope, atom.otherwise, rest)
    return _prove_given(otherwise, facts + facts_of(atom.condition, False), weight, depth - 1)


def _prove_given(expression: Nat, facts: list[Nat], weight: Nat, depth: int) -> bool:
    """Prove `expression` >= 0 from the ranges, or by one fact: the expression is at least `weight` × fact, where the
    weight is at least zero, or the fact cannot be."""
    return _prove(expression, depth, facts) or any(
        _prove(subtract(expression, multiply(weight, fact)), depth, facts) or is_negative(fact) for fact in facts
    )


def facts_of(condition: Condition, holds: bool) -> list[Nat]:
    """Return expressions that are at least zero where the condition holds, or where it does not."""
    if isinstance(condition, Comparison):
        if condition.relation == AT_LEAST_ZERO:
            if holds:
                return [condition.difference]
            return [add(scale(condition.difference, -1), MINUS_ONE)]
        if (condition.relation == IS_ZERO) == holds:
            return [condition.difference, scale(condition.difference, -1)]
    elif isinstance(condition, Junction) and condition.needs_all == holds:
        facts = []
        for part in condition.parts:
            facts += facts_of(part, holds)
        return facts
    return []


def _eliminate_power(expression: Nat, atom: Nat, depth: int, facts: list[Nat]) -> bool:
    """Eliminate an atom that stands in higher powers: at least zero, and all its coefficients of one sign."""
    if not is_nonnegative(atom):
        return False
    with_atom: dict[Nat, int] = {}
    for monomial, coefficient in zip(monomials_of(expression), coefficients_of(expression)):
        if divide_monomial(monomial, atom) is not None:
            with_atom[monomial] = coefficient
    part = build(with_atom)
    slopes = []
    while part is not ZERO:
        degree, slope, part = _leading(part, atom)
        slopes.append((degree, slope))
    if all(is_nonnegative(slope) for _, slope in slopes):
        bounds = lower_bounds(atom)
    elif all(is_nonnegative(scale(slope, -1)) for _, slope in slopes):
        bounds = upper_bounds(atom)
    else:
        return False
    for bound in bounds:
        value = subtract(expression, build(with_atom))
        for degree, slope in slopes:
            for _ in range(degree):
                slope = multiply(slope, bound)
            value = add(value, slope)
        if _prove(value, depth - 1, facts):
            return True
    return False


def _leading(expression: Nat, atom: Nat) -> tuple[int, Nat, Nat]:
    """Return the highest power of `atom` in an expression, its coefficient, and the terms without that power."""
    counts = [factors_of(monomial).count(atom) for monomial in monomials_of(expression)]
    degree = max(counts)
    slope: dict[Nat, int] = {}
    rest: dict[Nat, int] = {}
    for monomial, coefficient, count in zip(monomials_of(expression), coefficients_of(expression), counts):
        if count < degree:
            rest[monomial] = coefficient
            continue
        for _ in range(degree):
            divided = divide_monomial(monomial, atom)
            assert divided is not None
            monomial = divided
        slope[monomial] = coefficient
    return degree, build(slope), build(rest)


def split_linear(expression: Nat, atom: Nat) -> tuple[Nat, Nat] | None:
    """Return slope and rest with expression = slope × atom + rest, or None when the atom stands in higher powers."""
    slope: dict[Nat, int] = {}
    rest: dict[Nat, int] = {}
    for monomial, coefficient in zip(monomials_of(expression), coefficients_of(expression)):
        if monomial is atom:
            slope[ONE] = coefficient
        elif isinstance(monomial, Product) and atom in monomial.factors:
            divided = divide_monomial(monomial, atom)
            assert divided is not None
            if divided is atom or (isinstance(divided, Product) and atom in divided.factors):
                return None
            slope[divided] = coefficient
        else:
            rest[monomial] = coefficient
    return build(slope), build(rest)


def lower_bounds(atom: Nat) -> list[Nat]:
    """Return expressions that the atom is never below, without atoms of its level."""
    if isinstance(atom, Variable):
        return [atom.range.start]
    if isinstance(atom, (FloorDivision, ExactDivision)):
        if not is_positive(atom.right):
            return []
        if isinstance(atom, ExactDivision) and is_positive(atom.left):
            return [ONE]
        if is_nonnegative(atom.left):
            return [ZERO]
        dividend = lower_bound(atom.left) if atom.left.level >= INDEX_LEVEL else None
        return [] if dividend is None else [OPERATORS.normalising.floor_divide(dividend, atom.right)]
    if isinstance(atom, Remainder):
        return [ZERO] if is_positive(atom.right) else []
    if isinstance(atom, Power):
        return [ONE] if is_positive(atom.left) else []
    if isinstance(atom, Maximum):
        return list(atom.operands)
    return [ZERO] if isinstance(atom, Logarithm) else []


def upper_bounds(atom: Nat) -> list[Nat]:
    """Return expressions that the atom never exceeds, without atoms of its level."""
    if isinstance(atom, Variable):
        if atom.range.stop is None:
            return []
        return [subtract(atom.range.stop, last_step(atom))]
    if isinstance(atom, (FloorDivision, ExactDivision)):
        if not is_positive(atom.right):
            return []
        dividend = upper_bound(atom.left) if atom.left.level >= INDEX_LEVEL else None
        if dividend is not None:
            return [OPERATORS.normalising.floor_divide(dividend, atom.right)]
        return [atom.left] if is_nonnegative(atom.left) else []
    if isinstance(atom, Minimum):
        return list(atom.operands)
    if isinstance(atom, Remainder):
        if not is_positive(atom.right):
            return []
        below = add(atom.right, MINUS_ONE)
        return [below, atom.left] if is_nonnegative(atom.left) else [below]
    if isinstance(atom, Logarithm):
        return [add(atom.operand, MINUS_ONE)]
    return []


def last_step(variable: Variable) -> Nat:
    """Return how far below its stop a variable ends: its step where that divides the range, else one."""
    stop = variable.range.stop
    if stop is None or variable.range.step is ONE:
        return ONE
    length = subtract(stop, variable.range.start)
    if OPERATORS.normalising.remainder(length, variable.range.step) is ZERO:
        return variable.range.step
    return ONE


def lower_bound(expression: Nat) -> Nat | None:
    """Return an expression of lengths only that a normal form is never below, or None when none is found."""
    return _bound_or_none(expression, False)


def upper_bound(expression: Nat) -> Nat | None:
    """Return an expression of lengths only that a normal form never exceeds, or None when none is found."""
    return _bound_or_none(expression, True)


def _bound_or_none(expression: Nat, from_above: bool) -> Nat | None:
    try:
        return _bound(expression, from_above)
    except ArithmeticRefusal:  # as in is_nonnegative
        return None


def _bound(expression: Nat, from_above: bool) -> Nat | None:
    """Replace the atoms that depend on indices, innermost first, by bounds in the direction of their coefficients."""
    for _ in range(DEEPEST):
        atom: Nat | None = None
        for monomial in monomials_of(expression):
            for factor in factors_of(monomial):
                if factor.level >= INDEX_LEVEL and (atom is None or factor.level > atom.level):
                    atom = factor
        if atom is None:
            return expression
        split = split_linear(expression, atom)
        if split is None:
            return None
        slope, rest = split
        if is_nonnegative(slope):
            bounds = upper_bounds(atom) if from_above else lower_bounds(atom)
        elif is_nonnegative(scale(slope, -1)):
            bounds = lower_bounds(atom) if from_above else upper_bounds(atom)
        else:
            return None
        if not bounds:
            return None
        expression = add(multiply(slope, bounds[0]), rest)
    return None
