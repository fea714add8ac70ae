"""Walks expressions: substitutes variables, finds them, evaluates, and solves equations for unknown lengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drawloom.lift.arithmetic import bounds, sums
from drawloom.lift.arithmetic.conditions import all_of, any_of, compare_to_zero
from drawloom.lift.arithmetic.divisions import exact_divide
from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    IS_ZERO,
    LOGARITHM,
    MAXIMUM,
    MINIMUM,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    ZERO,
    ArithmeticRefusal,
    Choice,
    Comparison,
    Condition,
    Constant,
    ExactDivision,
    Extremum,
    FloorDivision,
    Junction,
    Logarithm,
    Nat,
    Power,
    Product,
    Raw,
    Remainder,
    Sum,
    Truth,
    Variable,
    as_nat,
    constant,
)
from drawloom.lift.arithmetic.simplify import apply_operator, simplify


def substitute(expression: Nat, mapping: Mapping[Variable, Nat | int]) -> Nat:
    """Return the normal form of the expression with every variable of the mapping replaced, all at once.

    The ranges of the variables that stay are not changed: where a range names a replaced variable, replace the variable
    that has this range, too.
    """
    return _Substitution(mapping).expression(expression)


def substitute_condition(condition: Condition, mapping: Mapping[Variable, Nat | int]) -> Condition:
    """Return the normal form of the condition with every variable of the mapping replaced."""
    return _Substitution(mapping).condition(condition)


class _Substitution:
    def __init__(self, mapping: Mapping[Variable, Nat | int]) -> None:
        self.done: dict[Nat, Nat] = {}
        for variable, value in mapping.items():
            self.done[variable] = simplify(as_nat(value))

    def expression(self, node: Nat) -> Nat:
        known = self.done.get(node)
        if known is None:
            known = self.rebuild(node)
            self.done[node] = known
        return known

    def rebuild(self, node: Nat) -> Nat:
        if isinstance(node, (Constant, Variable)):
            return node
        if isinstance(node, Sum):
            terms: dict[Nat, int] = {}
            for monomial, coefficient in zip(node.monomials, node.coefficients):
                sums.accumulate(terms, self.expression(monomial), coefficient)
            return sums.build(terms)
        if isinstance(node, Product):
            product: Nat = constant(1)
            for factor in node.factors:
                product = sums.multiply(product, self.expression(factor))
            return product
        condition = condition_of(node)
        if condition is not None:
            condition = self.condition(condition)
        if isinstance(condition, Truth):
            operands = operands_of(node)
            return self.expression(operands[0] if condition.value else operands[1])
        return apply_operator(operator_of(node), [self.expression(operand) for operand in operands_of(node)], condition)

    def condition(self, condition: Condition) -> Condition:
        if isinstance(condition, Comparison):
            return compare_to_zero(condition.relation, self.expression(condition.difference))
        if isinstance(condition, Junction):
            parts = [self.condition(part) for part in condition.parts]
            return all_of(*parts) if condition.needs_all else any_of(*parts)
        return condition


def operator_of(node: Nat) -> int:
    """Return the kind of an atom, or the operator of a raw node."""
    if isinstance(node, Raw):
        return node.operator
    for kind in (FLOOR_DIVISION, REMAINDER, EXACT_DIVISION, MINIMUM, MAXIMUM, POWER, LOGARITHM, CHOICE):
        if node.traits & 1 << kind:
            return kind
    raise AssertionError(node)


def operands_of(node: Nat) -> tuple[Nat, ...]:
    """Return the operands of an atom or raw node, of a product the factors, of a sum the monomials."""
    if isinstance(node, (FloorDivision, Remainder, ExactDivision, Power)):
        return (node.left, node.right)
    if isinstance(node, Extremum):
        return node.operands
    if isinstance(node, Logarithm):
        return (node.operand,)
    if isinstance(node, Choice):
        return (node.then, node.otherwise)
    if isinstance(node, Raw):
        return node.operands
    if isinstance(node, Product):
        return node.factors
    return node.monomials if isinstance(node, Sum) else ()


def condition_of(node: Nat) -> Condition | None:
    """Return the condition of a choice."""
    if isinstance(node, Choice):
        return node.condition
    return node.condition if isinstance(node, Raw) else None


def free_variables(expression: Nat) -> list[Variable]:
    """Return the variables that stand in an expression, in a fixed order; those of their ranges do not count."""
    found: dict[Variable, None] = {}
    _collect(expression, found, set())
    return sorted(found, key=lambda variable: variable.order)


def free_variables_of_condition(condition: Condition) -> list[Variable]:
    """Return the variables that stand in a condition, in a fixed order."""
    found: dict[Variable, None] = {}
    _collect_condition(condition, found, set())
    return sorted(found, key=lambda variable: variable.order)


def _collect(node: Nat, found: dict[Variable, None], seen: set[Nat]) -> None:
    if node in seen:
        return
    seen.add(node)
    if isinstance(node, Variable):
        found[node] = None
        return
    condition = condition_of(node)
    if condition is not None:
        _collect_condition(condition, found, seen)
    for operand in operands_of(node):
        _collect(operand, found, seen)


def _collect_condition(condition: Condition, found: dict[Variable, None], seen: set[Nat]) -> None:
    if isinstance(condition, Comparison):
        _collect(condition.difference, found, seen)
    elif isinstance(condition, Junction):
        for part in condition.parts:
            _collect_condition(part, found, seen)


def evaluate(expression: Nat, environment: Mapping[Variable, int]) -> int:
    """Return the value where every variable has the value of the environment.

    Raises:
        ArithmeticRefusal: a variable has no value, a divisor is zero, an exact division leaves something, an exponent
            is negative, or a logarithm's operand is not positive.
    """
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Variable):
        if expression not in environment:
            raise ArithmeticRefusal(f"{expression.name}: the variable has no value")
        return environment[expression]
    if isinstance(expression, Sum):
        total = 0
        for monomial, coefficient in zip(expression.monomials, expression.coefficients):
            total += coefficient * evaluate(monomial, environment)
        return total
    if isinstance(expression, Product):
        product = 1
        for factor in expression.factors:
            product *= evaluate(factor, environment)
        return product
    condition = condition_of(expression)
    operands = operands_of(expression)
    if condition is not None:
        return evaluate(operands[0 if evaluate_condition(condition, environment) else 1], environment)
    return _apply(operator_of(expression), [evaluate(operand, environment) for operand in operands])


def _apply(operator: int, values: list[int]) -> int:
    if operator == SUM:
        return values[0] + values[1]
    if operator == PRODUCT:
        return values[0] * values[1]
    if operator == MINIMUM:
        return min(values)
    if operator == MAXIMUM:
        return max(values)
    if operator == LOGARITHM:
        if values[0] <= 0:
            raise ArithmeticRefusal(f"log2({values[0]}): expected a positive operand")
        return values[0].bit_length() - 1
    if operator == POWER:
        if values[1] < 0:
            raise ArithmeticRefusal(f"{values[0]} ** {values[1]}: the exponent is negative, expected at least 0")
        return int(values[0] ** values[1])
    if values[1] == 0:
        raise ArithmeticRefusal(f"{values[0]}: division by zero")
    if operator == REMAINDER:
        return values[0] % values[1]
    if operator == EXACT_DIVISION and values[0] % values[1]:
        raise ArithmeticRefusal(f"{values[0]} /^ {values[1]}: the division leaves {values[0] % values[1]}, expected 0")
    return values[0] // values[1]


def evaluate_condition(condition: Condition, environment: Mapping[Variable, int]) -> bool:
    """Return whether the condition holds where every variable has the value of the environment."""
    if isinstance(condition, Truth):
        return condition.value
    if isinstance(condition, Comparison):
        difference = evaluate(condition.difference, environment)
        if condition.relation == AT_LEAST_ZERO:
            return difference >= 0
        return (difference == 0) == (condition.relation == IS_ZERO)
    assert isinstance(condition, Junction)
    refused: ArithmeticRefusal | None = None
    for part in condition.parts:  # in an order that says nothing of which one guards another
        try:
            if evaluate_condition(part, environment) != condition.needs_all:
                return not condition.needs_all
        except ArithmeticRefusal as refusal:
            refused = refusal
    if refused is not None:
        raise refused
    return condition.needs_all


def solve(left: Nat, right: Nat, unknown: Variable) -> Nat | None:
    """Return the value of `unknown` for which `left` = `right`, or None where no single one follows.

    The equation needs to be linear in the unknown, with a coefficient that is not zero. A quotient that may leave
    something is returned as an exact division, which asserts that it does not.

    Example:
        >>> from drawloom.lift.arithmetic import variable
        >>> n, unknown = variable("N"), variable("u")
        >>> print(solve(unknown * 4, n * 4, unknown), solve(unknown * 4, n, unknown))
        N N/^4
    """
    return _solve_zero(sums.subtract(simplify(left), simplify(right)), unknown)


def _solve_zero(difference: Nat, unknown: Variable) -> Nat | None:
    split = bounds.split_linear(difference, unknown)
    if split is None:
        return None
    slope, rest = split
    if slope is ZERO:
        return _solve_quotient(difference, unknown)
    if unknown in free_variables(slope) or unknown in free_variables(rest):
        return None
    if not bounds.is_positive(slope) and not bounds.is_positive(sums.scale(slope, -1)):
        return None
    try:
        return exact_divide(sums.scale(rest, -1), slope)
    except ArithmeticRefusal:
        return None


def _solve_quotient(difference: Nat, unknown: Variable) -> Nat | None:
    """Solve where the unknown stands in the dividend of one exact division: multiply by its divisor."""
    for monomial in sums.monomials_of(difference):
        for factor in sums.factors_of(monomial):
            if isinstance(factor, ExactDivision) and unknown in free_variables(factor.left):
                multiplied = sums.multiply(difference, factor.right)
                return None if factor in _atoms(multiplied) else _solve_zero(multiplied, unknown)
    return None


def _atoms(expression: Nat) -> Collection[Nat]:
    return [factor for monomial in sums.monomials_of(expression) for factor in sums.factors_of(monomial)]
