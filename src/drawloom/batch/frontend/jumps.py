"""`return`, `break` and `continue` to masks: variables say which items go on, where it is not known otherwise.

    before: if (c) return; x = 1;                 after: if (c) {} else x = 1;
    before: while (x > 0) if (y) return; x = 1;   after: while (live && x > 0) if (y) live = false; if (live) x = 1;
    before: while (x > 0) { if (c) { if (d) break; y = 1; } z = 1; }
    after:  stays = true; while (stays && x > 0) { if (c) { if (d) stays = false; else y = 1; } if (stays) z = 1; }

A loop has its variables apart from its condition, so that a counted loop stays one: `guard_body` is for those that are
unrolled, `guard_condition` for all others, of which the condition may hold for ever in an item that left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import (
    Assign,
    Block,
    Break,
    Constant,
    Continue,
    Declare,
    Expression,
    If,
    Jump,
    Logical,
    Loop,
    Read,
    Return,
    Statement,
    Switch,
)
from drawloom.batch.types import BOOL

#: Variables that a statement clears in the items that jump.
Flags = tuple[Read, ...]


def replace_jumps(body: Block, new_flag: Callable[[str, Position], Read]) -> Block:
    """Return a function's body without `return`, `break` and `continue`.

    Args:
        body: The body.
        new_flag: Makes a variable of type bool for the items that have not jumped.
    """
    live = new_flag("is live", body.position)
    result, flags = JumpReplacer(live, new_flag).rewrite(body, Return)
    if not flags:
        return Block(body.position, (result,))
    return Block(body.position, (Declare(body.position, live.variable, truth(True, body.position)), result))


class JumpReplacer:
    """Methods return a statement without jumps, and the flags that it clears. `last` is the jump to the end of the
    statement, which needs no flag: `return` at the end of a function, `continue` at the end of a loop's body,
    `break` at the end of a switch.

    `live` is cleared by `return`, `loops` has what `break` and `continue` clear in the loops and switches
    around.
    """

    def __init__(self, live: Read, new_flag: Callable[[str, Position], Read]) -> None:
        self.live = live
        self.new_flag = new_flag
        self.loops: list[tuple[Read, Read]] = []

    def rewrite(self, statement: Statement, last: type[Jump] | None) -> tuple[Statement, Flags]:
        match statement:
            case Return(position) | Break(position) | Continue(position):
                if type(statement) is last:
                    return Block(position, ()), ()
                flag = self.flag_of(statement)
                return Assign(position, flag, truth(False, position)), (flag,)
            case Block(position, statements):
                return self.block(position, statements, last)
            case If(_, _, then, otherwise):
                first, flags = self.rewrite(then, last)
                second, more = (None, ()) if otherwise is None else self.rewrite(otherwise, last)
                return replace(statement, then=first, otherwise=second), unite(flags, more)
            case Switch():
                return self.switch(statement)
            case Loop():
                return self.loop(statement)
            case _:
                return statement, ()

    def flag_of(self, jump: Jump) -> Read:
        match jump:
            case Return():
                return self.live
            case Break():
                return self.loops[-1][0]
            case Continue():
                return self.loops[-1][1]

    def block(
        self, position: Position, statements: tuple[Statement, ...], last: type[Jump] | None
    ) -> tuple[Statement, Flags]:
        result: list[Statement] = []
        for number, child in enumerate(statements):
            rest = statements[number + 1 :]
            if isinstance(child, If) and child.otherwise is None and rest and ends_in_jump(child.then):
                # What follows is for the other items.
                child = replace(child, otherwise=Block(position, rest))
                rest = ()
            new, flags = self.rewrite(child, None if rest else last)
            result.append(new)
            if flags and rest:
                following, more = self.block(position, rest, last)
                result.append(If(position, all_of(flags), following, None))
                flags = unite(flags, more)
            if flags or not rest:
                return Block(position, tuple(result)), flags
        return Block(position, tuple(result)), ()

    def switch(self, switch: Switch) -> tuple[Statement, Flags]:
        place = switch.position
        stays = self.new_flag("stays", place)
        self.loops.append((stays, self.loops[-1][1] if self.loops else stays))
        body, flags = self.rewrite(switch.body, Break)
        self.loops.pop()
        if stays not in flags:
            return body, flags
        begin = Declare(place, stays.variable, truth(True, place))
        return Block(place, (begin, body)), tuple(flag for flag in flags if flag != stays)

    def loop(self, loop: Loop) -> tuple[Statement, Flags]:
        place = loop.position
        stays, goes_on = self.new_flag("stays", place), self.new_flag("goes on", place)
        self.loops.append((stays, goes_on))
        body, flags = self.rewrite(loop.body, Continue)
        self.loops.pop()
        if goes_on in flags:
            body = Block(place, (Declare(place, goes_on.variable, truth(True, place)), body))
        leaving = tuple(flag for flag in flags if flag != goes_on)
        loop = replace(loop, body=body)
        if leaving:
            step = loop.step
            if step is not None and not loop.counts_for_all:
                step = If(place, all_of(leaving), step, None)
            loop = replace(loop, step=step, live=all_of(leaving))
        if stays not in leaving:
            return loop, leaving
        begin = Declare(place, stays.variable, truth(True, place))
        return Block(place, (begin, loop)), tuple(flag for flag in leaving if flag != stays)


def unite(flags: Flags, more: Flags) -> Flags:
    return tuple(dict.fromkeys((*flags, *more)))


def all_of(flags: Flags) -> Expression:
    """Return whether an item cleared none of the flags."""
    result: Expression = flags[0]
    for flag in flags[1:]:
        result = Logical(BOOL, flag.position, "&&", result, flag)
    return result


def guard_body(loop: Loop) -> Loop:
    """Return a loop whose condition alone decides how often it runs; its body is masked in items that left."""
    if loop.live is None:
        return loop
    return replace(loop, body=If(loop.position, loop.live, loop.body, None), live=None)


def guard_condition(loop: Loop) -> Loop:
    """Return a loop of which the condition has what items clear when they leave."""
    if loop.live is None:
        return loop
    condition = Logical(BOOL, loop.position, "&&", loop.live, loop.condition)
    return replace(loop, condition=condition, live=None)


def ends_in_jump(statement: Statement) -> bool:
    if isinstance(statement, Block):
        return bool(statement.statements) and ends_in_jump(statement.statements[-1])
    return isinstance(statement, Return | Break | Continue)


def truth(value: bool, position: Position) -> Expression:
    return Constant(BOOL, position, np.bool_(value))
