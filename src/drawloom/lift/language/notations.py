"""What the text of a program writes short: literals of a stated type, `tile` and `untile`."""

from __future__ import annotations

from drawloom.lift.arithmetic import Nat
from drawloom.lift.language.apply import as_lambda
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter, Scalar
from drawloom.lift.language.lexer import Source, Token
from drawloom.lift.language.patterns.algorithmic import Map
from drawloom.lift.language.patterns.layout import Join, Split, Transpose
from drawloom.lift.language.positions import Position
from drawloom.lift.language.types import ScalarType, Type, VectorType


def make_literal(source: Source, token: Token, parts: list[Literal], type: Type) -> Literal:
    """Return a literal of a stated type, or refuse numbers that it cannot hold."""
    assert isinstance(type, ScalarType | VectorType)
    scalar = type.element if isinstance(type, VectorType) else type
    width = type.width if isinstance(type, VectorType) else 1
    if len(parts) not in (1, width):
        raise source.refuse(f"{type} of {len(parts)} components", str(width), token)
    values: list[Scalar] = []
    for part in parts:
        value = part.value
        assert not isinstance(value, tuple)
        low = -(2 ** (scalar.bits - 1)) if scalar.kind == "int" else 0
        fits = (
            isinstance(value, bool)
            if scalar.kind == "bool"
            else not isinstance(value, bool)
            and (scalar.is_float or (isinstance(value, int) and low <= value < low + 2**scalar.bits))
        )
        if not fits or part.declared not in (None, scalar):
            raise source.refuse(f"{value} is not a number of type {scalar}", f"a number of type {scalar}", token)
        values.append(float(value) if scalar.is_float else value)
    position = source.position(token)
    if len(set(map(repr, values))) == 1:
        return Literal(values[0], type, None, position)
    return Literal(tuple(values), type, None, position)


def tile_function(rows: Nat, columns: Nat, position: Position) -> Lambda:
    """Return ``map(transpose) ∘ map(map(split(columns))) ∘ split(rows)``."""
    split_columns = as_lambda(Split((columns,), (), position), position)
    inner = as_lambda(Map((), (split_columns,), position), position)
    cut = Map((), (inner,), position)
    turn = Map((), (as_lambda(Transpose((), (), position), position),), position)
    return compose_all([turn, cut, Split((rows,), (), position)], position)


def untile_function(position: Position) -> Lambda:
    """Return ``join ∘ map(map(join)) ∘ map(transpose)``."""
    inner = as_lambda(Map((), (as_lambda(Join((), (), position), position),), position), position)
    turn = Map((), (as_lambda(Transpose((), (), position), position),), position)
    return compose_all([Join((), (), position), Map((), (inner,), position), turn], position)


def compose_all(functions: list[Function], position: Position) -> Lambda:
    """Return the composition of functions of one argument, the last applied first."""
    parameter = Parameter("p", position=position)
    body: Expression = parameter
    for function in reversed(functions):
        body = Call(function, (body,), None, position)
    return Lambda((parameter,), body, position)
