"""Prints expressions in the thesis's notation (section 4.3.3), which `parser` reads back.

a + b - c, a*b, a/b (rounded down), a/^b (exact), a mod b, a^b, min(a, b), max(a, b), log2(a), (c ? a : b)
a < b, a <= b, a == b, a != b, c && d, c || d, true, false
"""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    IS_ZERO,
    LOGARITHM,
    MAXIMUM,
    MINIMUM,
    ONE,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    Choice,
    Comparison,
    Condition,
    Constant,
    ExactDivision,
    Extremum,
    FloorDivision,
    Junction,
    Logarithm,
    Minimum,
    Nat,
    Power,
    Product,
    Raw,
    Remainder,
    Sum,
    Truth,
    Variable,
)
from drawloom.lift.arithmetic.sums import build, coefficients_of, factors_of, monomials_of

# How tightly a text binds.
LOOSE: Final = 0
BINDS_SUM: Final = 1
BINDS_PRODUCT: Final = 2
BINDS_POWER: Final = 3
BINDS_ALL: Final = 4

INFIX: Final = {FLOOR_DIVISION: "/", EXACT_DIVISION: "/^", REMAINDER: " mod ", POWER: "^"}


def text(expression: Nat) -> str:
    """Return the expression as text; `parser.parse` returns the same expression."""
    return _text(expression, LOOSE)


def _text(expression: Nat, least: int) -> str:
    """Return the text in parentheses when it binds less than `least`."""
    written, binds = _write(expression)
    return written if binds >= least else f"({written})"


def _write(expression: Nat) -> tuple[str, int]:
    """Return the text and how tightly it binds."""
    if isinstance(expression, Constant):
        return str(expression.value), BINDS_ALL if expression.value >= 0 else BINDS_SUM
    if isinstance(expression, Variable):
        return expression.name, BINDS_ALL
    if isinstance(expression, Sum):
        return _write_sum(expression)
    if isinstance(expression, Product):
        return _write_product(expression)
    if isinstance(expression, FloorDivision):
        return _write_infix(FLOOR_DIVISION, expression.left, expression.right)
    if isinstance(expression, ExactDivision):
        return _write_infix(EXACT_DIVISION, expression.left, expression.right)
    if isinstance(expression, Remainder):
        return _write_infix(REMAINDER, expression.left, expression.right)
    if isinstance(expression, Power):
        return _write_infix(POWER, expression.left, expression.right)
    if isinstance(expression, Extremum):
        return _write_call("min" if isinstance(expression, Minimum) else "max", expression.operands)
    if isinstance(expression, Logarithm):
        return _write_call("log2", (expression.operand,))
    if isinstance(expression, Choice):
        return _write_choice(expression.condition, expression.then, expression.otherwise)
    assert isinstance(expression, Raw)
    return _write_raw(expression)


def _write_sum(expression: Sum) -> tuple[str, int]:
    terms = terms_to_print(expression)
    if len(terms) == 1:
        return _write_term(terms[0][0], terms[0][1]), BINDS_PRODUCT if terms[0][1] > 0 else BINDS_SUM
    written = _write_term(terms[0][0], terms[0][1])
    for monomial, coefficient in terms[1:]:
        sign = " + " if coefficient > 0 else " - "
        written += sign + _write_term(monomial, abs(coefficient))
    return written, BINDS_SUM


def terms_to_print(expression: Sum) -> list[tuple[Nat, int]]:
    """Return monomials and coefficients from great strides to small, as 128*g + 2*l + i, but a positive term first."""
    terms = list(zip(expression.monomials, expression.coefficients))
    terms.sort(key=_stride)
    return positive_first(terms)


def positive_first(terms: list[tuple[Nat, int]]) -> list[tuple[Nat, int]]:
    """Move the first term with a positive coefficient to the front."""
    for position, (_, coefficient) in enumerate(terms):
        if coefficient > 0:
            terms.insert(0, terms.pop(position))
            break
    return terms


def _stride(term: tuple[Nat, int]) -> tuple[int, int]:
    return -len(factors_of(term[0])), -abs(term[1])


def _write_term(monomial: Nat, coefficient: int) -> str:
    if monomial is ONE:
        return str(coefficient)
    if coefficient == 1:
        return _text(monomial, BINDS_PRODUCT)
    if coefficient == -1:
        return "-" + _factors_text(monomial)
    return f"{coefficient}*{_factors_text(monomial)}"


def _factors_text(monomial: Nat) -> str:
    return _write_product(monomial)[0] if isinstance(monomial, Product) else _text(monomial, BINDS_POWER)


def _write_product(expression: Product) -> tuple[str, int]:
    written = []
    position = 0
    factors = expression.factors
    while position < len(factors):
        count = factors.count(factors[position])
        if count == 1:
            written.append(_text(factors[position], BINDS_POWER))
        else:
            written.append(f"{_text(factors[position], BINDS_ALL)}^{count}")
        position += count
    return "*".join(written), BINDS_PRODUCT


def _write_infix(kind: int, left: Nat, right: Nat) -> tuple[str, int]:
    if kind == POWER:
        return f"{_text(left, BINDS_ALL)}^{_text(right, BINDS_ALL)}", BINDS_POWER
    least = BINDS_POWER
    if isinstance(left, (Product, Sum)):
        least = BINDS_PRODUCT
    return f"{_text(left, least)}{INFIX[kind]}{_text(right, BINDS_POWER)}", BINDS_PRODUCT


def _write_call(name: str, operands: tuple[Nat, ...]) -> tuple[str, int]:
    return f"{name}({', '.join([text(operand) for operand in operands])})", BINDS_ALL


def _write_choice(condition: Condition, then: Nat, otherwise: Nat) -> tuple[str, int]:
    return f"({condition_text(condition)} ? {text(then)} : {text(otherwise)})", BINDS_ALL


def _write_raw(expression: Raw) -> tuple[str, int]:
    operands = expression.operands
    if expression.operator == SUM:
        return f"{_text(operands[0], BINDS_SUM)} + {_text(operands[1], BINDS_PRODUCT)}", BINDS_SUM
    if expression.operator == PRODUCT:
        return f"{_text(operands[0], BINDS_POWER)}*{_text(operands[1], BINDS_POWER)}", BINDS_PRODUCT
    if expression.operator == MINIMUM:
        return _write_call("min", operands)
    if expression.operator == MAXIMUM:
        return _write_call("max", operands)
    if expression.operator == LOGARITHM:
        return _write_call("log2", operands)
    if expression.operator == CHOICE:
        assert expression.condition is not None
        return _write_choice(expression.condition, operands[0], operands[1])
    return _write_infix(expression.operator, operands[0], operands[1])


def condition_text(condition: Condition) -> str:
    """Return the condition as text; `parser.parse_condition` returns the same condition."""
    if isinstance(condition, Truth):
        return "true" if condition.value else "false"
    if isinstance(condition, Comparison):
        relation, left, right = sides(condition)
        return f"{text(left)} {relation} {text(right)}"
    assert isinstance(condition, Junction)
    parts = []
    for part in condition.parts:
        written = condition_text(part)
        parts.append(f"({written})" if isinstance(part, Junction) else written)
    return (" && " if condition.needs_all else " || ").join(parts)


def sides(condition: Comparison) -> tuple[str, Nat, Nat]:
    """Return relation, left and right side of a comparison, each with positive coefficients only."""
    difference = condition.difference
    if isinstance(difference, Raw):
        zero = build({})
        if condition.relation == AT_LEAST_ZERO:
            return "<=", zero, difference
        return "==" if condition.relation == IS_ZERO else "!=", difference, zero
    left: dict[Nat, int] = {}
    right: dict[Nat, int] = {}
    last = 0
    for monomial, coefficient in zip(monomials_of(difference), coefficients_of(difference)):
        if monomial is ONE:
            last = coefficient
        elif coefficient > 0:
            right[monomial] = coefficient
        else:
            left[monomial] = -coefficient
    if condition.relation != AT_LEAST_ZERO:
        (right if last > 0 else left)[ONE] = abs(last)
        return "==" if condition.relation == IS_ZERO else "!=", build(right), build(left)
    if last < 0 or not right:
        (right if last >= 0 else left)[ONE] = last + 1 if last >= 0 else -last - 1
        return "<", build(left), build(right)
    right[ONE] = last
    return "<=", build(left), build(right)
