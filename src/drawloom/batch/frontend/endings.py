"""Statements to whether their end is reached: a function with a result has to return one on every path."""

from __future__ import annotations

from drawloom.batch.frontend.constants import constant_value
from drawloom.batch.frontend.syntax import Block, Break, Continue, If, Loop, Return, Statement, Switch


def always_returns(statement: Statement) -> bool:
    """Return whether no item gets to the end of a statement: all return before, or stay in a loop for ever."""
    match statement:
        case Return():
            return True
        case Block(_, statements):
            return any(map(always_returns, statements))
        case If(_, condition, then, otherwise):
            holds = constant_value(condition)
            branches = [then, otherwise] if holds is None else [then if holds else otherwise]
            return all(branch is not None and always_returns(branch) for branch in branches)
        case Switch(_, body, has_default):
            # All items that enter get to the last label, if they do not return before.
            last = body.statements[-1] if body.statements else None
            is_closed = has_default and not jumps_out(body, (Break,))
            return is_closed and isinstance(last, If) and always_returns(last.then)
        case Loop():
            if constant_value(statement.condition):
                return not jumps_out(statement.body, (Break,))
            runs_once = not statement.tests_first and not jumps_out(statement.body, (Break, Continue))
            return runs_once and always_returns(statement.body)
        case _:
            return False


def jumps_out(statement: Statement, jumps: tuple[type[Statement], ...]) -> bool:
    """Return whether a statement has a `break` or a `continue` for what is around the statement."""
    match statement:
        case Block(_, statements):
            return any(jumps_out(child, jumps) for child in statements)
        case If(_, _, then, otherwise):
            return jumps_out(then, jumps) or (otherwise is not None and jumps_out(otherwise, jumps))
        case Switch(_, body):
            return Continue in jumps and jumps_out(body, (Continue,))
        case _:
            return isinstance(statement, jumps)
