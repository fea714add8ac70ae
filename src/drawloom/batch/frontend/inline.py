"""Calls of functions and assignments within expressions to statements, because InfReg-IR has neither.

    before: x = a + square(b);                            before: x = a[i++];
    after:  { double v = b; double r; r = v * v; x = a + r; }     after: { int old = i; i = old + 1; x = a[old]; }

A call stands before the statement that it is part of, after the operands to its left, which are kept in variables if
the call may change them. So does an assignment. `return` masks items by a variable of the call, unless nothing follows,
`break` and `continue` by variables of their loop.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from drawloom.batch.frontend.jumps import guard_condition, replace_jumps, truth
from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import (
    Assign,
    Binary,
    Block,
    Conditional,
    Constant,
    Declare,
    Effect,
    Element,
    Evaluate,
    Expression,
    Function,
    Identity,
    If,
    Invoke,
    Kernel,
    Load,
    Logical,
    Loop,
    Read,
    ScalarParameter,
    Statement,
    Unary,
    Variable,
)
from drawloom.batch.frontend.walk import (
    expressions_in,
    operands_of,
    runs_statements,
    statements_run_by,
)
from drawloom.batch.types import BOOL


def inline_calls(kernel: Kernel) -> Kernel:
    """Return a kernel without calls, jumps and assignments within expressions."""
    inliner = Inliner(kernel.variables)
    body = inliner.statement(replace_jumps(kernel.body, inliner.new_flag))
    assert isinstance(body, Block)
    return replace(kernel, body=body, variables=inliner.variables)


class Inliner:
    """`copies` are the variables of the call of each function that is being made, or was made last."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.copies: dict[Variable, Variable] = {}
        #: What has to run before the expression that is being rewritten.
        self.before: list[Statement] = []

    def new_variable(self, name: str, like: Variable | Expression, position: Position) -> Variable:
        self.variables += 1
        if isinstance(like, Variable):
            return replace(like, number=self.variables)
        return Variable(name, like.type, 0, False, self.variables, position)

    # Statements.

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Block(position, statements):
                return Block(position, tuple(self.statement(child) for child in statements))
            case Loop():
                return self.loop(statement)
            case If(position, condition, then, otherwise):
                holds, before = self.rewrite(condition)
                other = None if otherwise is None else self.statement(otherwise)
                return after(before, replace(statement, condition=holds, then=self.statement(then), otherwise=other))
            case Declare(position, variable, initial):
                variable = self.copies.get(variable, variable)
                if initial is None:
                    return Declare(position, variable, None)
                value, before = self.rewrite(initial)
                begin: list[Statement] = [Declare(position, variable, None)] if before else []
                return after([*begin, *before], Declare(position, variable, value))
            case Assign():
                return self.assignment(statement)
            case Evaluate(position, value):
                value, before = self.rewrite(value)
                return after(before, Evaluate(position, value))
            case _:
                raise AssertionError(statement)

    def assignment(self, statement: Assign) -> Statement:
        target = statement.target
        parts = [statement.value] if isinstance(target, Read) else [statement.value, target.index]
        outer, self.before = self.before, []
        value, *index = self.operands(parts)
        before, self.before = self.before, outer
        if isinstance(target, Load):
            target = replace(target, index=index[0])
        elif isinstance(target, Element):
            target = replace(target, variable=self.copy_of(target.variable), index=index[0])
        else:
            target = replace(target, variable=self.copy_of(target.variable))
        return after(before, Assign(statement.position, target, value))

    def loop(self, loop: Loop) -> Statement:
        first = None if loop.first is None else self.statement(loop.first)
        if not runs_statements(loop.condition):
            condition, _ = self.rewrite(loop.condition)
            body = self.statement(loop.body)
            step = None if loop.step is None else self.statement(loop.step)
            return replace(loop, first=first, condition=condition, body=body, step=step)
        return self.loop_with_calls(loop, first)

    def loop_with_calls(self, loop: Loop, first: Statement | None) -> Statement:
        """Compute a condition with calls in the body, into a variable that is the new condition."""
        loop, place = guard_condition(loop), loop.position
        goes_on = Read(BOOL, place, self.new_variable("goes on", loop.condition, place))
        begin = Declare(place, goes_on.variable, truth(True, place))
        first = begin if first is None else Block(place, (first, begin))
        if not loop.tests_first:
            body = self.statement(loop.body)
            test = self.test(loop.condition, goes_on)
            return Loop(place, first, goes_on, None, Block(place, (body, test)), False, False)
        test = self.test(loop.condition, goes_on)
        inner = self.statement(loop.body)
        step = None if loop.step is None else self.statement(loop.step)
        if step is not None and not loop.counts_for_all:
            inner, step = Block(place, (inner, step)), None
        body = Block(place, (test, If(place, goes_on, inner, None)))
        return Loop(place, first, goes_on, step, body, True, loop.counts_for_all)

    def test(self, condition: Expression, goes_on: Read) -> Statement:
        value, before = self.rewrite(condition)
        return after(before, Assign(condition.position, goes_on, value))

    # Expressions.

    def rewrite(self, expression: Expression) -> tuple[Expression, list[Statement]]:
        """Return an expression without calls, and what has to run before it."""
        outer, self.before = self.before, []
        result = self.expression(expression)
        before, self.before = self.before, outer
        return result, before

    def copy_of(self, variable: Variable) -> Variable:
        return self.copies.get(variable, variable)

    def expression(self, expression: Expression) -> Expression:
        match expression:
            case Constant() | ScalarParameter() | Identity():
                return expression
            case Read(_, _, variable):
                copy = self.copy_of(variable)
                return expression if copy is variable else replace(expression, variable=copy)
            case Invoke():
                return self.call(expression)
            case Effect(_, _, statements, value):
                self.before += [self.statement(child) for child in statements]
                return self.expression(value)
            case Logical(_, position, op, left, right) if runs_statements(right):
                first = self.keep(self.expression(left))
                chosen = first if op == "&&" else Unary(BOOL, position, "!", first)
                return replace(expression, left=first, right=self.arm(chosen, right))
            case Conditional() if runs_statements(expression.then) or runs_statements(expression.otherwise):
                return self.conditional(expression)
            case _:
                return self.rebuild(expression)

    def rebuild(self, expression: Expression) -> Expression:
        """Return an expression with rewritten operands."""
        parts = list(operands_of(expression))
        new = self.operands(parts, isinstance(expression, Binary) and expression.op in "+-")
        if isinstance(expression, Element) and expression.variable in self.copies:
            expression = replace(expression, variable=self.copies[expression.variable])
        elif all(one is other for one, other in zip(parts, new)):
            return expression
        changes: dict[str, Any] = {}
        rest = iter(new)
        for field in fields(expression):
            part = getattr(expression, field.name)
            if isinstance(part, Expression):
                changes[field.name] = next(rest)
            elif isinstance(part, tuple) and part and isinstance(part[0], Expression):
                changes[field.name] = tuple(next(rest) for _ in part)
        return replace(expression, **changes)

    def operands(self, parts: list[Expression], fuses: bool = False) -> list[Expression]:
        """Rewrite operands from left to right; those that a call or an assignment to their right may change are kept.

        Args:
            parts: The operands.
            fuses: They are those of a sum, which may be rounded once with a product: its factors are kept.
        """
        result: list[Expression] = []
        for number, part in enumerate(parts):
            new = self.expression(part)
            if self.has_effects(parts[number + 1 :]):
                new = self.keep_factors(new) if fuses else self.keep(new)
            result.append(new)
        return result

    def keep_factors(self, value: Expression) -> Expression:
        if isinstance(value, Binary) and value.op == "*" and value.type.is_float:
            return replace(value, left=self.keep(value.left), right=self.keep(value.right))
        return self.keep(value)

    def keep(self, value: Expression) -> Expression:
        """Return a variable that has a value as it is now."""
        if isinstance(value, Constant | ScalarParameter | Identity):
            return value
        variable = self.new_variable("kept", value, value.position)
        self.before.append(Declare(value.position, variable, value))
        return Read(value.type, value.position, variable)

    def arm(self, chosen: Expression, arm: Expression) -> Expression:
        """Rewrite an operand that is evaluated in some items only."""
        value, before = self.rewrite(arm)
        if before:
            self.before.append(If(arm.position, chosen, Block(arm.position, tuple(before)), None, True))
        return value

    def conditional(self, expression: Conditional) -> Expression:
        position = expression.position
        chosen = self.keep(self.expression(expression.condition))
        then = self.arm(chosen, expression.then)
        if self.has_effects([expression.otherwise]):
            zero = Constant(then.type, position, then.type.dtype.type(0))
            then = self.keep(Conditional(then.type, position, chosen, then, zero))
        otherwise = self.arm(Unary(BOOL, position, "!", chosen), expression.otherwise)
        return replace(expression, condition=chosen, then=then, otherwise=otherwise)

    def has_effects(self, expressions: list[Expression]) -> bool:
        """Return whether a call or an assignment may change what other expressions read."""
        return any(
            isinstance(part, Effect) or (isinstance(part, Invoke) and part.function.writes)
            for expression in expressions
            for part in expressions_in(expression)
        )

    # Calls.

    def call(self, call: Invoke) -> Expression:
        """Put the body of a function before the current expression; returns its result."""
        function, place = call.function, call.position
        arguments = self.operands(list(call.arguments))
        targets = (*function.parameters, *function.results)
        for variable in dict.fromkeys(target.variable for target in targets):
            self.copies[variable] = self.new_variable("", variable, place)
        declared = [part for part in statements_run_by(function.body) if isinstance(part, Declare)]
        for part in declared:
            self.copies[part.variable] = self.new_variable("", part.variable, place)
        self.before += self.begin(function, arguments, place)
        body = self.statement(replace_jumps(function.body, self.new_flag))
        self.before.append(body)
        return truth(False, place) if call.result is None else self.expression(call.result)

    def begin(self, function: Function, arguments: list[Expression], place: Position) -> list[Statement]:
        """Return the declarations of a call's parameters and results."""
        result: list[Statement] = []
        values = {target.variable: value for target, value in zip(function.parameters, arguments)}
        for target in dict.fromkeys(target.variable for target in (*function.parameters, *function.results)):
            initial = values.get(target) if not target.extent else None
            result.append(Declare(place, self.copies[target], initial))
        for element, value in zip(function.parameters, arguments):
            if isinstance(element, Element):
                renamed = replace(element, variable=self.copies[element.variable])
                result.append(Assign(place, renamed, value))
        return result

    def new_flag(self, name: str, position: Position) -> Read:
        return Read(BOOL, position, self.new_variable(name, truth(True, position), position))


def after(before: list[Statement], statement: Statement) -> Statement:
    """Return a statement with what has to run before it."""
    return Block(statement.position, (*before, statement)) if before else statement
