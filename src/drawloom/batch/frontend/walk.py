"""What statements and expressions contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from drawloom.batch.frontend.syntax import (
    Assign,
    Block,
    Declare,
    Effect,
    Evaluate,
    Expression,
    If,
    Invoke,
    Load,
    Loop,
    Read,
    Statement,
    Switch,
    Variable,
)


def statements_in(statement: Statement) -> Iterator[Statement]:
    """Yield a statement and all within it."""
    yield statement
    match statement:
        case Block(_, statements):
            children: tuple[Statement | None, ...] = statements
        case If(_, _, then, otherwise):
            children = (then, otherwise)
        case Switch(_, body):
            children = (body,)
        case Loop(_, first, _, step, body):
            children = (first, body, step)
        case _:
            return
    for child in children:
        if child is not None:
            yield from statements_in(child)


def statements_run_by(statement: Statement) -> Iterator[Statement]:
    """Yield a statement and all within it, those of its expressions too."""
    for part in statements_in(statement):
        yield part
        for expression in expressions_of(part):
            for effect in outer_effects_in(expression):
                for child in effect.statements:
                    yield from statements_run_by(child)


def outer_effects_in(expression: Expression) -> Iterator[Effect]:
    """Yield the effects in an expression, but for those in the statements of another one."""
    if isinstance(expression, Effect):
        yield expression
        yield from outer_effects_in(expression.value)
        return
    for operand in operands_of(expression):
        yield from outer_effects_in(operand)


def expressions_of(statement: Statement) -> Iterator[Expression]:
    """Yield the expressions of a statement itself, not those of statements within it."""
    match statement:
        case Assign(_, target, value):
            yield value
            if not isinstance(target, Read):
                yield target.index
        case Declare(_, _, initial):
            if initial is not None:
                yield initial
        case Evaluate(_, value) | If(_, value):
            yield value
        case Loop(_, _, condition):
            yield condition
            if statement.live is not None:
                yield statement.live


def operands_of(expression: Expression) -> Iterator[Expression]:
    """Yield the operands of an expression, from left to right; those of an effect's statements are among them."""
    if isinstance(expression, Effect):
        for statement in expression.statements:
            yield from expressions_of(statement)
    for field in fields(expression):
        part = getattr(expression, field.name)
        if isinstance(part, Expression):
            yield part
        elif isinstance(part, tuple):
            for argument in part:
                if isinstance(argument, Expression):
                    yield argument


def expressions_in(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all within it."""
    yield expression
    for operand in operands_of(expression):
        yield from expressions_in(operand)


def calls_in(expressions: Iterable[Expression]) -> list[Invoke]:
    """Return the calls in expressions."""
    return [part for expression in expressions for part in expressions_in(expression) if isinstance(part, Invoke)]


def assigned_variables(statement: Statement) -> set[Variable]:
    """Return the variables that a statement, or one within it, assigns to or declares."""
    found: set[Variable] = set()
    for part in statements_in(statement):
        if isinstance(part, Assign) and not isinstance(part.target, Load):
            found.add(part.target.variable)
        elif isinstance(part, Declare):
            found.add(part.variable)
    return found


def runs_statements(expression: Expression) -> bool:
    """Return whether an expression contains a call of a function or an assignment."""
    return any(isinstance(part, Invoke | Effect) for part in expressions_in(expression))
