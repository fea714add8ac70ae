"""What has been written, by the framework of ``dataflow.py``: definite assignment, reaching definitions, and the data
objects that variables stand for (thesis sections 4.1, 4.2.2 and 4.2.3).
"""

from __future__ import annotations

from drawloom.horse.dataflow import Analysis, States, Variables, forward
from drawloom.horse.ir import Assign, CheckCast, Function, Name, Statement, Use, assigned_once, walk


class _Assigned(Analysis[int]):
    """The set of variables that every path has written."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables

    def transfer(self, statement: Statement, state: int) -> int:
        return state | self.variables.writes[statement]

    def merge(self, first: int, second: int, at: Statement) -> int:
        return first & second


def assigned(function: Function, variables: Variables) -> States[int]:
    """The set of variables that are assigned on every path to each statement."""
    return forward(function.body, variables.params, _Assigned(variables))


class Definitions:
    """The definitions of a function by dense numbers: its parameters, then each target of each statement.

    ``of`` has the set of all definitions of a variable, ``writes`` of a statement, ``places`` the statement of each
    number, None for a parameter.
    """

    def __init__(self, function: Function) -> None:
        self.places: list[Statement | None] = []
        self.variables: list[str] = []
        self.of: dict[str, int] = {}
        self.writes: dict[Statement, int] = {}
        self.start = sum([self.add(p.name, None) for p in function.params])
        for statement in walk(function.body):
            targets = statement.targets if isinstance(statement, Assign) else []
            self.writes[statement] = sum([self.add(t.name, statement) for t in targets])

    def add(self, variable: str, place: Statement | None) -> int:
        bit = 1 << len(self.places)
        self.places.append(place)
        self.variables.append(variable)
        self.of[variable] = self.of.get(variable, 0) | bit
        return bit

    def numbers(self, bits: int) -> list[int]:
        return [n for n in range(bits.bit_length()) if bits >> n & 1]


class _Reaching(Analysis[int]):
    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def transfer(self, statement: Statement, state: int) -> int:
        made = self.definitions.writes[statement]
        if isinstance(statement, Assign):
            for target in statement.targets:
                state &= ~self.definitions.of[target.name]
        return state | made

    def merge(self, first: int, second: int, at: Statement) -> int:
        return first | second


def reaching(function: Function, definitions: Definitions) -> States[int]:
    """The set of definitions that may have written what each statement finds in its variables."""
    return forward(function.body, definitions.start, _Reaching(definitions))


def objects(function: Function) -> dict[str, str]:
    """The data that each variable stands for: that of what it is a copy of, else its own.

    A copy ``b = a`` that is the only definition of ``b`` is the same rows as ``a`` wherever ``b`` is assigned; where
    ``a`` is written several times, as the one definition of ``a`` that reaches the copy (``a#2``, by its number). Where
    several reach it, and of what is itself written several times, the data are its own.
    """
    single = assigned_once(function)
    written = {t.name for s in walk(function.body) if isinstance(s, Assign) for t in s.targets}
    once = single | {p.name for p in function.params if p.name not in written}
    found = {name: name for name in [*[p.name for p in function.params], *written]}
    reached: _Reached | None = None
    for statement in walk(function.body):
        if not isinstance(statement, Assign) or len(statement.targets) != 1:
            continue
        value = statement.value.value if isinstance(statement.value, CheckCast) else statement.value
        target = statement.targets[0].name
        if not isinstance(value, Use) or not isinstance(value.operand, Name) or target not in once:
            continue
        if value.operand.name in once:
            found[target] = found[value.operand.name]
        else:
            reached = reached or _Reached(function)
            found[target] = reached.data(value.operand.name, statement) or target
    return found


class _Reached:
    """The definitions that reach each statement, for those who ask."""

    def __init__(self, function: Function) -> None:
        self.definitions = Definitions(function)
        self.at = reaching(function, self.definitions).at

    def data(self, variable: str, statement: Statement) -> str:
        """The one definition of the variable that reaches the statement; "" where several do, or none."""
        numbers = self.definitions.numbers(self.at.get(statement, 0) & self.definitions.of[variable])
        return f"{variable}#{numbers[0]}" if len(numbers) == 1 else ""
