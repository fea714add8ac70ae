"""Loops in a translation: variables that change, and the statements that a loop repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.horse.ir import Assign, Expression, Loop, Name, Operand, Statement, Target, Use

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator


def declared(t: Translator, value: Operand) -> Name:
    """A variable of its own that holds the value."""
    return t.assign(Use(value), t.type_of(value))


def set_variable(t: Translator, variable: Operand, value: Expression) -> None:
    assert isinstance(variable, Name)
    t.body.append(Assign([Target(variable.name, None)], value))


class Mark:
    """How far the program was: what came after it is forgotten, or is the body of a loop, whose variables are not known
    behind it."""

    def __init__(self, t: Translator) -> None:
        self.t = t
        self.statements = len(t.body)
        self.known = dict(t.known)
        self.working = dict(t.working)

    def go_back(self) -> None:
        del self.t.body[self.statements :]
        self.t.known = self.known
        self.t.working = self.working

    def enclose(self, condition: Operand) -> None:
        body: list[Statement] = self.t.body[self.statements :]
        self.go_back()
        self.t.body.append(Loop("while", condition, body))
