"""Decides conditions that are constant, and removes the branches that never run.

The edge of an array is a condition over indices. Where an index is a number, the branch that is not taken may name an
element that does not exist, and would ask for barriers. Unrolling, which makes numbers of indices, decides in the same
way.
"""

from __future__ import annotations

from drawloom.lift.arithmetic import Condition, is_provably_false, is_provably_true
from drawloom.lift.arithmetic.simplify import simplify_condition
from drawloom.lift.codegen.syntax import (
    Apply,
    Assign,
    AtomicUpdate,
    Choose,
    DeclareIndex,
    If,
    Loop,
    Member,
    Statement,
    Value,
)


def decide_branches(statements: list[Statement]) -> list[Statement]:
    """Return statements without the branches whose conditions are known."""
    done: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop):
            statement.body = decide_branches(statement.body)
        elif isinstance(statement, If):
            verdict = decide(statement.condition)
            if verdict is False:
                continue
            body = decide_branches(statement.body)
            if verdict is True:
                done.extend(body)
                continue
            statement = If(statement.condition, body)
        elif isinstance(statement, AtomicUpdate):
            statement = AtomicUpdate(statement.place, decided_value(statement.value), statement.builtin, statement.word)
        elif isinstance(statement, Assign):
            statement = Assign(statement.place, decided_value(statement.value))
        elif isinstance(statement, DeclareIndex):
            statement = DeclareIndex(statement.variable, decided_value(statement.value))
        done.append(statement)
    return done


def decide(condition: Condition) -> bool | None:
    """Return whether a condition holds, or None where that depends on the work-item or iteration."""
    normal = simplify_condition(condition)
    if is_provably_true(normal):
        return True
    return False if is_provably_false(normal) else None


def decided_value(value: Value) -> Value:
    if isinstance(value, Choose):
        verdict = decide(value.condition)
        if verdict is not None:
            return decided_value(value.then if verdict else value.otherwise)
        return Choose(value.condition, decided_value(value.then), decided_value(value.otherwise))
    if isinstance(value, Apply):
        return Apply(value.name, [decided_value(one) for one in value.arguments], value.closing)
    if isinstance(value, Member):
        return Member(decided_value(value.operand), value.name)
    return value
