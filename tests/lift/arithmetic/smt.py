"""Translates expressions to z3's integers, with the rounding that the expressions have."""

from __future__ import annotations

from typing import Any

import z3

from drawloom.lift.arithmetic import Nat, Variable
from drawloom.lift.arithmetic.expression import (
    AT_LEAST_ZERO,
    CHOICE,
    EXACT_DIVISION,
    FLOOR_DIVISION,
    IS_ZERO,
    MAXIMUM,
    MINIMUM,
    POWER,
    PRODUCT,
    REMAINDER,
    SUM,
    Comparison,
    Condition,
    Constant,
    Junction,
    Product,
    Sum,
    Truth,
)
from drawloom.lift.arithmetic.substitution import condition_of, operands_of, operator_of

#: Powers are an unknown function, of which `Translation` asserts what the rules need.
POWER_OF = z3.Function("power", z3.IntSort(), z3.IntSort(), z3.IntSort())


class Translation:
    """Translates raw or normal forms; `facts` collects the ranges and what is assumed to be defined."""

    def __init__(self, variables: list[Variable]) -> None:
        self.facts: list[Any] = []
        self.known: dict[Variable, Any] = {}
        self.quotients: dict[tuple[str, str], Any] = {}
        for variable in variables:
            name = z3.Int(variable.name)
            self.known[variable] = name
            self.facts.append(name >= self.nat(variable.range.start))
            if variable.range.stop is not None:
                self.facts.append(name < self.nat(variable.range.stop))

    def nat(self, node: Nat) -> Any:
        if isinstance(node, Constant):
            return z3.IntVal(node.value)
        if isinstance(node, Variable):
            return self.known[node]
        if isinstance(node, Sum):
            return z3.Sum([c * self.nat(m) for m, c in zip(node.monomials, node.coefficients)])
        if isinstance(node, Product):
            return z3.Product([self.nat(factor) for factor in node.factors])
        operator = operator_of(node)
        operands = [self.nat(operand) for operand in operands_of(node)]
        if operator == CHOICE:
            condition = condition_of(node)
            assert condition is not None
            return z3.If(self.condition(condition), operands[0], operands[1])
        if operator in (MINIMUM, MAXIMUM):
            found = operands[0]
            for other in operands[1:]:
                found = z3.If((found < other) if operator == MINIMUM else (found > other), found, other)
            return found
        return self.binary(operator, operands[0], operands[1])

    def binary(self, operator: int, left: Any, right: Any) -> Any:
        if operator == SUM:
            return left + right
        if operator == PRODUCT:
            return left * right
        if operator == POWER:
            return self.power(left, right)
        self.facts.append(right != 0)
        if operator == EXACT_DIVISION:
            return self.exact(left, right)
        # z3 keeps the remainder positive; with a positive divisor that is rounding down
        quotient = z3.If(right > 0, left / right, (-left) / (-right))
        assert operator in (FLOOR_DIVISION, REMAINDER)
        return quotient if operator == FLOOR_DIVISION else left - right * quotient

    def exact(self, left: Any, right: Any) -> Any:
        key = (str(z3.simplify(left)), str(z3.simplify(right)))
        if key not in self.quotients:
            self.quotients[key] = z3.Int(f"exact{len(self.quotients)}")
            self.facts.append(self.quotients[key] * right == left)
        return self.quotients[key]

    def power(self, base: Any, exponent: Any) -> Any:
        """Assert powers of sums as products: b^(e + c) for a constant c, and b^e × b^f = b^(e + f)."""
        x, y = z3.Ints("x y")
        self.facts.append(POWER_OF(base, x) * POWER_OF(base, y) == POWER_OF(base, x + y))
        for e in (x, y, x + 1, x + 2):
            self.facts.append(POWER_OF(base, e + 1) == base * POWER_OF(base, e))
        return POWER_OF(base, z3.simplify(exponent))

    def condition(self, condition: Condition) -> Any:
        if isinstance(condition, Truth):
            return z3.BoolVal(condition.value)
        if isinstance(condition, Comparison):
            difference = self.nat(condition.difference)
            if condition.relation == AT_LEAST_ZERO:
                return difference >= 0
            return difference == 0 if condition.relation == IS_ZERO else difference != 0
        assert isinstance(condition, Junction)
        parts = [self.condition(part) for part in condition.parts]
        return z3.And(parts) if condition.needs_all else z3.Or(parts)


def is_proved(facts: list[Any], goal: Any, milliseconds: int = 10_000) -> bool:
    """Return whether z3 proves the goal from the facts."""
    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    solver.add(*facts)
    solver.add(z3.Not(goal))
    return bool(solver.check() == z3.unsat)
