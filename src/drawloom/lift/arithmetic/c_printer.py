"""Prints expressions as C and OpenCL C, with the same value for every value in the variables' ranges.

The C computes in `int`: every intermediate value needs to fit 32 bits. Division in C rounds towards zero, division of
expressions towards minus infinity. Where a dividend is not proved to be at least zero, the C adds the divisor first, if
that is proved to suffice, or tests the sign.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from drawloom.lift.arithmetic.bounds import is_nonnegative, is_positive
from drawloom.lift.arithmetic.expression import (
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    LOGARITHM,
    MAXIMUM,
    MINIMUM,
    ONE,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    ArithmeticRefusal,
    Choice,
    Comparison,
    Condition,
    Constant,
    Junction,
    Nat,
    Product,
    Raw,
    Sum,
    Truth,
    Variable,
)
from drawloom.lift.arithmetic.printer import positive_first, sides, terms_to_print
from drawloom.lift.arithmetic.simplify import simplify
from drawloom.lift.arithmetic.substitution import free_variables, operands_of, operator_of
from drawloom.lift.arithmetic.sums import add

# C's precedences, from loose to tight.
LOOSE: Final = 0
BINDS_CHOICE: Final = 1
BINDS_OR: Final = 2
BINDS_AND: Final = 3
BINDS_EQUAL: Final = 4
BINDS_LESS: Final = 5
BINDS_SHIFT: Final = 6
BINDS_SUM: Final = 7
BINDS_PRODUCT: Final = 8
BINDS_UNARY: Final = 9
BINDS_ALL: Final = 10

GREATEST_INT: Final = (1 << 31) - 1

#: The depth of constants in a sum: after all other terms.
LAST: Final = 1 << 30


def c_text(expression: Nat) -> str:
    """Return a C expression with the value of `expression`, in `int` arithmetic.

    Raises:
        ArithmeticRefusal: the expression has a divisor that is not proved to be positive, a power whose base is not two
            and whose exponent is not constant, or a number that does not fit `int`.

    Example:
        >>> from drawloom.lift.arithmetic import index, variable
        >>> n = variable("N")
        >>> i = index("i", n)
        >>> print(c_text((i - 1) % n))
        (i - 1 + N) % N
    """
    if isinstance(expression, Variable):
        return expression.name
    return _text(expression, LOOSE)


#: A monomial and its coefficient.
Term = tuple[Nat, int]


def c_text_by_depth(
    expression: Nat,
    depths: Mapping[Variable, int],
    uniform: Collection[Variable] = (),
    own: Collection[str] = (),
) -> str:
    """Return a C expression like `c_text`, with the terms of a sum ordered by the loops that change them.

    What an inner loop does not change is then a sum of its own, which compilers compute before the loop. Where
    neighbouring work-items access neighbouring elements, compilers for CPUs see so if several terms that all work-items
    share are a sum, too: an offset from where each work-item begins. Without such an offset, what follows the start of
    a row that a work-group shares is a sum.

    Args:
        expression: The expression.
        depths: The depths of loops by their variables; all others do not change.
        uniform: The variables of loops that have one value for all work-items.
        own: The names of the other variables that differ between the work-items of a group.

    Example:
        >>> from drawloom.lift.arithmetic import index, variable
        >>> i, j, k = index("i", 8), index("j", 8), index("k", 8)
        >>> print(c_text_by_depth(8 * i + j + 1, {i: 2, j: 1}))
        j + 8 * i + 1
        >>> print(c_text_by_depth(8 * i + j + k + 1, {i: 2, j: 1}, {i, j}, {"k"}))
        k + (j + 8 * i) + 1
        >>> print(c_text_by_depth(k * variable("N") + 8 * i + j, {i: 1}, {i}, {"j"}))
        k * N + (j + 8 * i)
    """
    if not isinstance(expression, Sum) or not depths:
        return c_text(expression)

    def depth(term: Term) -> int:
        return max([depths.get(variable, 0) for variable in free_variables(term[0])], default=LAST)

    terms = sorted(terms_to_print(expression), key=depth)
    constants = [term for term in terms if depth(term) == LAST]
    terms = terms[: len(terms) - len(constants)]
    offset = [term for term in terms if depth(term) > 0 and uniform_only(term[0], depths, uniform)]
    start = [term for term in terms if depth(term) == 0 and is_start_of_row(term[0], own)]
    has_neighbours = any(times == 1 and isinstance(one, Variable) and one.name in own for one, times in terms)
    if not has_neighbours:
        return _write_terms(positive_first([*terms, *constants]))[0]
    if len(offset) >= 2:
        first, second = [term for term in terms if term not in offset], positive_first(offset)
    else:
        first, second = start, [term for term in terms if term not in start]
        if not first or len(second) < 2 or depth(second[0]) > 0 or any(times < 0 for _, times in second):
            return _write_terms(positive_first([*terms, *constants]))[0]
    last = "".join([f" {'+' if times > 0 else '-'} {_write_term(one, abs(times))}" for one, times in constants])
    return f"{_write_terms(positive_first(first))[0]} + ({_write_terms(second)[0]}){last}"


def is_start_of_row(monomial: Nat, own: Collection[str]) -> bool:
    """Return True for a product of variables that have one value for the work-items of a group."""
    names = [variable.name for variable in free_variables(monomial)]
    return len(names) > 1 and not any(name in own for name in names)


def uniform_only(monomial: Nat, depths: Mapping[Variable, int], uniform: Collection[Variable]) -> bool:
    """Return True when all variables of loops in a term are uniform."""
    return all(variable in uniform for variable in free_variables(monomial) if depths.get(variable))


def c_condition(condition: Condition) -> str:
    """Return a C expression that is not zero where the condition holds, like `c_text`."""
    return _condition(condition, LOOSE)


def _text(expression: Nat, least: int) -> str:
    written, binds = _write(expression)
    return written if binds >= least else f"({written})"


def _write(expression: Nat) -> tuple[str, int]:
    if isinstance(expression, Constant):
        return _number(expression.value), BINDS_ALL if expression.value >= 0 else BINDS_UNARY
    if isinstance(expression, Variable):
        return (f"(int){expression.name}", BINDS_UNARY) if expression.is_call else (expression.name, BINDS_ALL)
    if isinstance(expression, Sum):
        return _write_sum(expression)
    if isinstance(expression, Product):
        return " * ".join([_text(factor, BINDS_UNARY) for factor in expression.factors]), BINDS_PRODUCT
    return _write_operation(operator_of(expression), operands_of(expression), expression)


def _write_sum(expression: Sum) -> tuple[str, int]:
    return _write_terms(terms_to_print(expression))


def _write_terms(terms: list[tuple[Nat, int]]) -> tuple[str, int]:
    if len(terms) == 1:
        return _write_term(terms[0][0], terms[0][1]), BINDS_PRODUCT
    written = _write_term(terms[0][0], terms[0][1])
    for monomial, coefficient in terms[1:]:
        sign = " + " if coefficient > 0 else " - "
        written += sign + _write_term(monomial, abs(coefficient))
    return written, BINDS_SUM


def _write_term(monomial: Nat, coefficient: int) -> str:
    if monomial is ONE:
        return _number(coefficient)
    if coefficient == 1:
        return _text(monomial, BINDS_PRODUCT)
    if coefficient == -1 and not isinstance(monomial, Product):
        return "-" + _text(monomial, BINDS_UNARY)
    factors = monomial.factors if isinstance(monomial, Product) else (monomial,)
    return " * ".join([_number(coefficient), *[_text(factor, BINDS_UNARY) for factor in factors]])


def _number(value: int) -> str:
    if abs(value) > GREATEST_INT:
        raise ArithmeticRefusal(f"{value} does not fit C's int\n  expected at most {GREATEST_INT}")
    return str(value)


def _write_operation(operator: int, operands: tuple[Nat, ...], node: Nat) -> tuple[str, int]:
    if operator == SUM:
        return f"{_text(operands[0], BINDS_SUM)} + {_text(operands[1], BINDS_PRODUCT)}", BINDS_SUM
    if operator == PRODUCT:
        return f"{_text(operands[0], BINDS_PRODUCT)} * {_text(operands[1], BINDS_UNARY)}", BINDS_PRODUCT
    if operator in (FLOOR_DIVISION, EXACT_DIVISION, REMAINDER):
        return _write_division(operator, operands[0], operands[1])
    if operator in (MINIMUM, MAXIMUM):
        name = "min" if operator == MINIMUM else "max"
        written = _text(operands[0], LOOSE)
        for operand in operands[1:]:
            written = f"{name}({written}, {_text(operand, LOOSE)})"
        return written, BINDS_ALL
    if operator == POWER:
        return _write_power(operands[0], operands[1])
    if operator == LOGARITHM:
        return f"31 - clz({_text(operands[0], LOOSE)})", BINDS_SUM
    assert operator == CHOICE and isinstance(node, (Choice, Raw)) and node.condition is not None
    condition = _condition(node.condition, BINDS_OR)
    then, otherwise = _text(operands[0], BINDS_OR), _text(operands[1], BINDS_OR)
    return f"{condition} ? {then} : {otherwise}", BINDS_CHOICE


def _write_power(base: Nat, exponent: Nat) -> tuple[str, int]:
    if isinstance(exponent, Constant) and exponent.value > 0:
        return " * ".join([_text(base, BINDS_UNARY)] * exponent.value), BINDS_PRODUCT
    if isinstance(base, Constant) and base.value == 2:
        return f"1 << {_text(exponent, BINDS_SUM)}", BINDS_SHIFT
    raise ArithmeticRefusal(f"({base}) ^ ({exponent}): C has no such power, expected base 2 or a constant exponent")


def _write_division(operator: int, dividend: Nat, divisor: Nat) -> tuple[str, int]:
    simple_dividend = simplify(dividend)
    simple_divisor = simplify(divisor)
    if operator == EXACT_DIVISION:
        return f"{_text(dividend, BINDS_PRODUCT)} / {_text(divisor, BINDS_UNARY)}", BINDS_PRODUCT
    if not is_positive(simple_divisor):
        raise ArithmeticRefusal(
            f"{divisor}: the divisor is not proved to be positive\n  expected lengths with a start of at least 1"
        )
    below = _text(divisor, BINDS_UNARY)
    sign = "%" if operator == REMAINDER else "/"
    if is_nonnegative(simple_dividend):
        return f"{_text(dividend, BINDS_PRODUCT)} {sign} {below}", BINDS_PRODUCT
    if is_nonnegative(add(simple_dividend, simple_divisor)):
        written = f"({_text(dividend, BINDS_SUM)} + {_text(divisor, BINDS_PRODUCT)}) {sign} {below}"
        return (written, BINDS_PRODUCT) if operator == REMAINDER else (f"{written} - 1", BINDS_SUM)
    above = _text(dividend, BINDS_PRODUCT)
    if operator == REMAINDER:
        return f"({above} % {below} + {_text(divisor, BINDS_PRODUCT)}) % {below}", BINDS_PRODUCT
    least = _text(dividend, BINDS_LESS + 1)
    quotient = f"{above} / {below}"
    return f"{quotient} - ({least} < {quotient} * {below} ? 1 : 0)", BINDS_SUM


def _condition(condition: Condition, least: int) -> str:
    written, binds = _write_condition(condition)
    return written if binds >= least else f"({written})"


def _write_condition(condition: Condition) -> tuple[str, int]:
    if isinstance(condition, Truth):
        return "1" if condition.value else "0", BINDS_ALL
    if isinstance(condition, Comparison):
        relation, left, right = sides(condition)
        binds = BINDS_LESS if relation in ("<", "<=") else BINDS_EQUAL
        return f"{_text(left, binds + 1)} {relation} {_text(right, binds + 1)}", binds
    assert isinstance(condition, Junction)
    # gcc warns about && inside of || without parentheses
    parts = [_condition(part, BINDS_EQUAL) for part in condition.parts]
    return (" && ".join(parts), BINDS_AND) if condition.needs_all else (" || ".join(parts), BINDS_OR)
