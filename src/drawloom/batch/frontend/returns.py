"""`return` to masks: a variable says which items are still in the function, where it is not known otherwise.

    before: if (c) return; x = 1;                 after: if (c) {} else x = 1;
    before: while (x > 0) if (y) return; x = 1;   after: while (live && x > 0) if (y) live = false; if (live) x = 1;

A loop has the variable apart from its condition, so that a counted loop stays one: `guard_body` is for those that are
unrolled, `guard_condition` for all others, of which the condition may hold for ever in an item that returned.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import (
    Assign,
    Block,
    Constant,
    Declare,
    Expression,
    If,
    Logical,
    Loop,
    Read,
    Return,
    Statement,
)
from drawloom.batch.types import BOOL


def replace_returns(body: Block, live: Read) -> Block:
    """Return a function's body without `return`. `live` is a new variable for the items that have not returned."""
    result, needs_live = Returns(live).rewrite(body, True)
    if not needs_live:
        return Block(body.position, (result,))
    return Block(body.position, (Declare(body.position, live.variable, truth(True, body.position)), result))


class Returns:
    """Methods return a statement without `return`, and whether it changes `live`. After one that `is_last` nothing
    follows, so that it need not."""

    def __init__(self, live: Read) -> None:
        self.live = live

    def rewrite(self, statement: Statement, is_last: bool) -> tuple[Statement, bool]:
        match statement:
            case Return(position):
                if is_last:
                    return Block(position, ()), False
                return Assign(position, self.live, truth(False, position)), True
            case Block(position, statements):
                return self.block(position, statements, is_last)
            case If(_, _, then, otherwise):
                first, changes = self.rewrite(then, is_last)
                second, changes_too = (None, False) if otherwise is None else self.rewrite(otherwise, is_last)
                return replace(statement, then=first, otherwise=second), changes or changes_too
            case Loop():
                return self.loop(statement)
            case _:
                return statement, False

    def block(self, position: Position, statements: tuple[Statement, ...], is_last: bool) -> tuple[Statement, bool]:
        result: list[Statement] = []
        for number, child in enumerate(statements):
            rest = statements[number + 1 :]
            if isinstance(child, If) and child.otherwise is None and rest and ends_in_return(child.then):
                # What follows is for the other items.
                child = replace(child, otherwise=Block(position, rest))
                rest = ()
            new, changes = self.rewrite(child, is_last and not rest)
            result.append(new)
            if changes and rest:
                following, _ = self.block(position, rest, is_last)
                result.append(If(position, self.live, following, None))
            if changes or not rest:
                return Block(position, tuple(result)), changes
        return Block(position, tuple(result)), False

    def loop(self, loop: Loop) -> tuple[Statement, bool]:
        body, changes = self.rewrite(loop.body, False)
        if not changes:
            return loop, False
        step = loop.step
        if step is not None and not loop.counts_for_all:
            step = If(loop.position, self.live, step, None)
        return replace(loop, body=body, step=step, live=self.live), True


def guard_body(loop: Loop) -> Loop:
    """Return a loop whose condition alone decides how often it runs; its body is masked in items that returned."""
    if loop.live is None:
        return loop
    return replace(loop, body=If(loop.position, loop.live, loop.body, None), live=None)


def guard_condition(loop: Loop) -> Loop:
    """Return a loop that items leave when they return."""
    if loop.live is None:
        return loop
    condition = Logical(BOOL, loop.position, "&&", loop.live, loop.condition)
    return replace(loop, condition=condition, live=None)


def ends_in_return(statement: Statement) -> bool:
    if isinstance(statement, Block):
        return bool(statement.statements) and ends_in_return(statement.statements[-1])
    return isinstance(statement, Return)


def truth(value: bool, position: Position) -> Expression:
    return Constant(BOOL, position, np.bool_(value))
