"""Live variables (thesis figure 4.5): which variables may be read behind each statement."""

from __future__ import annotations

from drawloom.horse.dataflow import Analysis, States, Variables, backward
from drawloom.horse.ir import Function, Statement, walk


class _Live(Analysis[int]):
    def __init__(self, variables: Variables) -> None:
        self.variables = variables

    def transfer(self, statement: Statement, state: int) -> int:
        return state & ~self.variables.writes[statement] | self.variables.reads[statement]

    def merge(self, first: int, second: int, at: Statement) -> int:
        return first | second


def live(function: Function, variables: Variables) -> States[int]:
    """The set of variables that may be read behind each statement of the function."""
    return backward(function.body, 0, _Live(variables))


def done_with(function: Function) -> dict[Statement, list[str]]:
    """For each statement the variables that it, or a statement within, names and that nothing reads any more."""
    variables = Variables(function)
    states = live(function, variables)
    found: dict[Statement, list[str]] = {}
    for statement, behind in states.at.items():
        named = 0
        for part in walk([statement]):
            named |= variables.reads[part] | variables.writes[part]
        found[statement] = variables.names(named & ~behind)
    return found
