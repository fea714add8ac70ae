"""The data-flow framework over structured control flow (thesis section 4.2.1): a function and an analysis into the
state at each statement.

An analysis says what a statement does to a state and how two states merge where paths meet. The walk follows the
branches and loops of the program itself; a loop is walked until its states no longer change, ``break`` and
``continue`` carry theirs to its end and its head, ``return`` to the end of the function. Only one side of each
statement is kept: what comes to it in the direction of the analysis.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from drawloom.horse.ir import Assign, Function, If, Jump, Loop, Return, Statement, reads, walk

T = TypeVar("T")


class Analysis(Generic[T]):
    """States of type ``T``. Merging must only ever lose what is known, and only finitely often."""

    def transfer(self, statement: Statement, state: T) -> T:
        """The state on the statement's other side; of ``if`` and loops only what reading the condition does."""
        raise NotImplementedError

    def merge(self, first: T, second: T, at: Statement) -> T:
        """The state where a path with the one and a path with the other meet: in front of or behind ``at``."""
        raise NotImplementedError


class States(Generic[T]):
    """``at`` is the state before each statement of a forward analysis, behind each of a backward one; statements that
    no path reaches are not in it. ``end`` is the state where the text of the function ends (forward; None where no path
    gets there) or begins (backward)."""

    def __init__(self, at: dict[Statement, T], end: T | None) -> None:
        self.at = at
        self.end = end


def forward(body: list[Statement], start: T, analysis: Analysis[T]) -> States[T]:
    """The state before each statement of a function's body; ``start`` comes to the first one."""
    walker = _Forward(analysis)
    end = walker.block(body, start)
    return States(walker.at, end)


def backward(body: list[Statement], start: T, analysis: Analysis[T]) -> States[T]:
    """The state behind each statement of a function's body; ``start`` is that at its end and at each return."""
    walker = _Backward(analysis, start)
    end = walker.block(body, start)
    return States(walker.at, end)


class _Forward(Generic[T]):
    """``exits`` has for each open loop the states that ``break`` and ``continue`` carry; None is no path."""

    def __init__(self, analysis: Analysis[T]) -> None:
        self.analysis = analysis
        self.at: dict[Statement, T] = {}
        self.exits: list[dict[str, T | None]] = []

    def block(self, body: list[Statement], state: T | None) -> T | None:
        for statement in body:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, statement: Statement, state: T) -> T | None:
        if isinstance(statement, Loop):
            return self.loop(statement, state)
        self.at[statement] = state
        behind = self.analysis.transfer(statement, state)
        if isinstance(statement, If):
            return self.merge(self.block(statement.then, behind), self.block(statement.otherwise, behind), statement)
        if isinstance(statement, Jump):
            exits = self.exits[-1]
            exits[statement.kind] = self.merge(exits[statement.kind], behind, statement)
        return None if isinstance(statement, Jump | Return) else behind

    def loop(self, loop: Loop, state: T) -> T | None:
        """``while`` reads its condition before each round, ``repeat`` its count before the first."""
        is_while = loop.kind == "while"
        self.at[loop] = state
        head = state if is_while else self.analysis.transfer(loop, state)
        while True:
            if is_while:
                self.at[loop] = head
            inside = self.analysis.transfer(loop, head) if is_while else head
            self.exits.append({"break": None, "continue": None})
            end = self.block(loop.body, inside)
            exits = self.exits.pop()
            again = self.merge(self.merge(head, end, loop), exits["continue"], loop)
            assert again is not None
            if again == head:
                return self.merge(inside, exits["break"], loop)
            head = again

    def merge(self, first: T | None, second: T | None, at: Statement) -> T | None:
        if first is None or second is None:
            return first if second is None else second
        return self.analysis.merge(first, second, at)


class _Backward(Generic[T]):
    """``targets`` has for each open loop the states that ``break`` and ``continue`` go to."""

    def __init__(self, analysis: Analysis[T], start: T) -> None:
        self.analysis = analysis
        self.start = start
        self.at: dict[Statement, T] = {}
        self.targets: list[dict[str, T]] = []

    def block(self, body: list[Statement], state: T) -> T:
        for statement in reversed(body):
            state = self.statement(statement, state)
        return state

    def statement(self, statement: Statement, state: T) -> T:
        if isinstance(statement, Return):
            state = self.start
        elif isinstance(statement, Jump):
            state = self.targets[-1][statement.kind]
        self.at[statement] = state
        if isinstance(statement, Loop):
            return self.loop(statement, state)
        if isinstance(statement, If):
            then, otherwise = self.block(statement.then, state), self.block(statement.otherwise, state)
            state = self.analysis.merge(then, otherwise, statement)
        return self.analysis.transfer(statement, state)

    def loop(self, loop: Loop, behind: T) -> T:
        is_while = loop.kind == "while"
        head = self.analysis.transfer(loop, behind) if is_while else behind
        while True:
            self.targets.append({"break": behind, "continue": head})
            inside = self.analysis.merge(behind, self.block(loop.body, head), loop)
            self.targets.pop()
            again = self.analysis.merge(head, self.analysis.transfer(loop, inside) if is_while else inside, loop)
            if again == head:
                return head if is_while else self.analysis.transfer(loop, head)
            head = again


class Variables:
    """The variables of a function by dense numbers; sets of them are integers, a bit each."""

    def __init__(self, function: Function) -> None:
        self.numbers: dict[str, int] = {}
        self.reads: dict[Statement, int] = {}
        self.writes: dict[Statement, int] = {}
        self.params = self.set([p.name for p in function.params])
        for statement in walk(function.body):
            self.reads[statement] = self.set(reads(statement))
            targets = statement.targets if isinstance(statement, Assign) else []
            self.writes[statement] = self.set([t.name for t in targets])

    def set(self, names: list[str]) -> int:
        """The set of the names, which get numbers."""
        bits = 0
        for name in names:
            bits |= 1 << self.numbers.setdefault(name, len(self.numbers))
        return bits

    def names(self, bits: int) -> list[str]:
        """The variables of a set, in the order of their numbers."""
        return [name for name, number in self.numbers.items() if bits >> number & 1]
