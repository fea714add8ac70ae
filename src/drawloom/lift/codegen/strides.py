"""Counts sequential loops in the steps of their indices: 64 more in each round, where the round's number is only used
times 64.

Device compilers that vectorise over work-items see neighbouring elements in ``a[i + l]``; in ``a[64 * i + l]``, with a
division in the loop's bound, PoCL 3.1 does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from drawloom.lift.arithmetic import (
    ONE,
    ZERO,
    Condition,
    Nat,
    Variable,
    constant,
    exact_div,
    free_variables,
    free_variables_of_condition,
    simplify,
    variable,
)
from drawloom.lift.arithmetic.bounds import split_linear
from drawloom.lift.arithmetic.expression import CHOICE, MAXIMUM, MINIMUM
from drawloom.lift.arithmetic.sums import content
from drawloom.lift.codegen.launch import REDUCE, SEQ
from drawloom.lift.codegen.syntax import (
    FOR,
    Access,
    Assign,
    Choose,
    DeclareIndex,
    If,
    Index,
    Loop,
    SetIndex,
    Statement,
    body_of,
    values_of,
)
from drawloom.lift.codegen.unroll import substitute_statement
from drawloom.lift.codegen.vector_buffers import VectorIndices

#: What a loop's bound may not have to be multiplied: `8 * min(...)` is harder to read than what it saves.
HARD = 1 << MINIMUM | 1 << MAXIMUM | 1 << CHOICE


def count_in_strides(statements: list[Statement], vectors: VectorIndices) -> list[Statement]:
    """Return statements whose sequential loops count in what all uses of their variables are multiples of."""
    done: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop | If):
            statement.body = count_in_strides(statement.body, vectors)
        done.append(strided(statement, vectors) if isinstance(statement, Loop) else statement)
    return done


def strided(loop: Loop, vectors: VectorIndices) -> Loop:
    if loop.form != FOR or loop.kind not in (SEQ, REDUCE) or loop.start is not ZERO or loop.step is not ONE:
        return loop
    stride = gcd(*[factor_of(loop.variable, use) for use in uses_of(loop.body, vectors)])
    stop = simplify(loop.stop * stride)
    if stride <= 1 or stop.traits & HARD:
        return loop
    counter = variable(loop.variable.name, 0, stop, stride)
    body = [substitute_statement(inner, {loop.variable: exact_div(counter, stride)}) for inner in loop.body]
    step = constant(stride)
    return Loop(counter, ZERO, stop, step, body, FOR, loop.kind, loop.dimension, loop.position, loop.keyword)


def factor_of(counter: Variable, use: Nat | Condition) -> int:
    """Return the greatest constant that what a variable adds to an expression is a multiple of, 0 for nothing."""
    if isinstance(use, Condition):
        return 1 if counter in free_variables_of_condition(use) else 0
    if counter not in free_variables(use):
        return 0
    parts = split_linear(use, counter)
    if parts is None or any(counter in free_variables(part) for part in parts):
        return 1
    return content(parts[0])


def uses_of(statements: list[Statement], vectors: VectorIndices) -> Iterator[Nat | Condition]:
    """Yield the indices, sizes and conditions of statements."""
    for statement in statements:
        if isinstance(statement, Assign):
            yield from indices_of(statement.place, vectors)
        if isinstance(statement, Assign | DeclareIndex):
            for value in values_of(statement.value):
                if isinstance(value, Access):
                    yield from indices_of(value, vectors)
                elif isinstance(value, Index):
                    yield value.nat
                elif isinstance(value, Choose):
                    yield value.condition
        elif isinstance(statement, SetIndex):
            yield statement.value
        elif isinstance(statement, If):
            yield statement.condition
        elif isinstance(statement, Loop):
            yield from (statement.start, statement.stop, statement.step)
        yield from uses_of(body_of(statement) or [], vectors)


def indices_of(access: Access, vectors: VectorIndices) -> Iterator[Nat]:
    """Yield an element's index, or a vector's among vectors."""
    of_vector = vectors.find(access.index, access.width) if access.width else None
    yield access.index if of_vector is None else of_vector
    if access.component is not None:
        yield access.component
