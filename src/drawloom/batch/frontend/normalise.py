"""The body of an innermost loop as guarded assignments: conditions become arrays of masks, inner scalars arrays.

    before: { double t = b[ix]; if (t > 0) a[ix] = t; }
    after:  t'[home] = b[ix];   mask[home] = t'[home] > 0;   a[ix] = t'[home] when mask[home]

Every turn has its own element, at the index `home`, so that no turn waits for another because of a temporary.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

from drawloom.batch.frontend.syntax import (
    Assign,
    Block,
    Declare,
    Element,
    Evaluate,
    Expression,
    If,
    Load,
    Read,
    Statement,
    Unary,
    Variable,
)
from drawloom.batch.frontend.walk import assigned_variables, expressions_in, statements_in
from drawloom.batch.types import BOOL, LONG


class Guarded(NamedTuple):
    """An assignment that runs in the items for which all guards hold; that of an initial value reaches every item, and
    the guards are for its loads."""

    target: Read | Element | Load
    value: Expression
    guards: tuple[Expression, ...]
    is_initial: bool = False


class Body(NamedTuple):
    """A normalised body. `home` is the index of a turn in the arrays of `shadows`."""

    statements: tuple[Guarded, ...]
    home: Variable
    shadows: tuple[Variable, ...]


def normalise_body(body: Statement, extent: int) -> Body | None:
    """Return a loop's body as guarded assignments; None where it has loops, arrays or local variables of its own.

    Args:
        body: The body of a loop.
        extent: The elements of the arrays that stand for temporaries.
    """
    normaliser = Normaliser(body, extent)
    try:
        normaliser.walk(body, ())
    except NotFlat:
        return None
    return Body(tuple(normaliser.result), normaliser.home, tuple(normaliser.shadows))


class NotFlat(Exception):
    """The body is more than assignments under conditions."""


class Normaliser:
    """Negative numbers are those of variables made here: they clash with none of the kernel's."""

    def __init__(self, body: Statement, extent: int) -> None:
        self.extent = extent
        self.home = Variable("home", LONG, 0, False, -1, body.position)
        self.changes = assigned_variables(body)
        self.stores = any(isinstance(part, Assign) and isinstance(part.target, Load) for part in statements_in(body))
        self.assignments = [
            part.target.variable for part in statements_in(body)
            if isinstance(part, Assign) and not isinstance(part.target, Load)
        ]  # fmt: skip
        #: Variables of the body that stand for expressions, and those that are arrays now.
        self.fixed: dict[Variable, Expression] = {}
        self.private: dict[Variable, Variable] = {}
        self.shadows: list[Variable] = []
        self.result: list[Guarded] = []

    def shadow(self, name: str, like: Variable | None, statement: Statement) -> Variable:
        scalar = BOOL if like is None else like.type
        made = Variable(name, scalar, self.extent, False, -2 - len(self.shadows), statement.position)
        self.shadows.append(made)
        return made

    def at_home(self, variable: Variable, statement: Statement) -> Element:
        place = statement.position
        return Element(variable.type, place, variable, Read(LONG, place, self.home))

    def walk(self, statement: Statement, guards: tuple[Expression, ...]) -> None:
        match statement:
            case Block(_, statements):
                for child in statements:
                    self.walk(child, guards)
            case Declare(_, variable, initial):
                if variable.extent or variable.is_local:
                    raise NotFlat
                if initial is not None and self.is_fixed(variable, initial):
                    self.fixed[variable] = self.rename(initial)
                    return
                self.private[variable] = self.shadow(variable.name, variable, statement)
                if initial is not None:
                    target = self.at_home(self.private[variable], statement)
                    self.result.append(Guarded(target, self.rename(initial), guards, True))
            case Evaluate():
                return
            case Assign(_, target, value):
                renamed = self.rename(target)
                assert isinstance(renamed, Read | Element | Load)
                if not isinstance(renamed, Load) and renamed.variable.is_local:
                    raise NotFlat
                self.result.append(Guarded(renamed, self.rename(value), guards))
            case If(position, condition, then, otherwise):
                holds = self.rename(condition)
                if not self.is_invariant(holds):
                    mask = self.at_home(self.shadow("mask", None, statement), statement)
                    self.result.append(Guarded(mask, holds, guards))
                    holds = mask
                self.walk(then, (*guards, holds))
                if otherwise is not None:
                    self.walk(otherwise, (*guards, Unary(BOOL, position, "!", holds)))
            case _:
                raise NotFlat

    def is_fixed(self, variable: Variable, initial: Expression) -> bool:
        """Return whether a variable is another name for an expression that does not change in the turn."""
        if self.assignments.count(variable) or any(isinstance(part, Load) for part in expressions_in(initial)):
            return False
        return self.is_invariant(self.rename(initial))

    def is_invariant(self, condition: Expression) -> bool:
        """Return whether a condition is the same wherever it stands in the turn."""
        for part in expressions_in(condition):
            if isinstance(part, Read | Element) and (part.variable in self.changes or part.variable in self.shadows):
                return False
            if isinstance(part, Load) and self.stores:
                return False
        return True

    def rename(self, expression: Expression) -> Expression:
        """Replace the body's own scalars by their arrays."""
        if not self.private and not self.fixed:
            return expression
        if isinstance(expression, Read) and expression.variable in self.fixed:
            return self.fixed[expression.variable]
        if isinstance(expression, Read) and expression.variable in self.private:
            variable = self.private[expression.variable]
            return Element(expression.type, expression.position, variable, Read(LONG, expression.position, self.home))
        changes: dict[str, Any] = {}
        for field in fields(expression):
            part = getattr(expression, field.name)
            if isinstance(part, Expression):
                changes[field.name] = self.rename(part)
            elif isinstance(part, tuple) and part and isinstance(part[0], Expression):
                changes[field.name] = tuple(self.rename(argument) for argument in part)
        return replace(expression, **changes) if changes else expression
