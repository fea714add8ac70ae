"""Shape analysis (thesis section 4.2.3): the layout and size of every variable, from the builtins' shape rules.

    Shape ::= Vector(Size) | List(Size) | Lists | Dictionary(Size) | Cells(Size) | Singles(Size) | Table | Unknown
    Size  ::= Constant(k) | Symbol(table) | Compressed(Size, mask) | Dynamic(variable)

A dynamic size is named after the variable that first had it, so that two variables made to one length stay equal: both
rows of a join, what is picked by them, and what is computed from that.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Expression,
    Function,
    FunctionRef,
    Literal,
    Name,
    Operand,
    Statement,
    Use,
    assigned_once,
    walk,
)


class Size:
    """A size; equal when printed alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


class Constant(Size):
    def __init__(self, count: int) -> None:
        super().__init__(str(count))
        self.count = count


class Symbol(Size):
    """The rows of a stored table, by the variable that loads it."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"`{variable}")
        self.variable = variable


class Compressed(Size):
    """The rows of ``size`` where the boolean vector ``mask`` is true."""

    def __init__(self, size: Size, mask: str) -> None:
        super().__init__(f"{size}[{mask}]")
        self.size = size
        self.mask = mask


class Dynamic(Size):
    """What only the run tells, by the variable that has so many rows, or cells of so many."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"?{variable}")
        self.variable = variable


class Shape:
    """What ``kind`` says, ``size`` counts:

    - "vector": its rows; "list": the rows of each of its cells; "lists": nothing, cells of unlike sizes;
    - "dict": its groups; "cells": the cells of a list that has one for each of them; "singles": such cells of one row;
    - "table": its rows; "?": nothing.
    """

    def __init__(self, kind: str, size: Size) -> None:
        self.kind = kind
        self.size = size

    def __str__(self) -> str:
        return f"{self.kind}({self.size})"


def analyse(function: Function) -> dict[str, Shape]:
    """The shape of every variable of a function; parameters have a size of their own.

    What is assigned several times has the shape that all assignments agree on (figure 4.8 merges others to a size known
    at run time), found as a fixed point from the first assignment on.
    """
    once = assigned_once(function)
    merged: dict[str, Shape] = {}
    while True:
        shapes: dict[str, Shape] = {p.name: Shape("vector", Dynamic(p.name)) for p in function.params}
        shapes.update(merged)
        changed = False
        for statement in walk(function.body):
            if not isinstance(statement, Assign):
                continue
            for target in statement.targets:
                made = _shape(target.name, statement.value, shapes, once)
                if target.name not in once:
                    made = _merge(target.name, merged.get(target.name, made), made)
                    changed = changed or str(merged.get(target.name)) != str(made)
                    merged[target.name] = made
                shapes[target.name] = made
        if not changed:
            return shapes


def _merge(name: str, first: Shape, second: Shape) -> Shape:
    """The shape of a variable that has either; its own name is no size, which may differ from one time to the next."""
    lasts = isinstance(second.size, Constant) or isinstance(base(second.size), Symbol)
    same = first.kind == second.kind and first.size == second.size and lasts and second.kind != "table"
    return second if same else Shape("?", Dynamic(name))


def base(size: Size) -> Symbol | Dynamic | None:
    """The rows that ``size`` counts or selects from, a stored table's or those of a run; None for a constant."""
    while isinstance(size, Compressed):
        size = size.size
    return size if isinstance(size, Symbol | Dynamic) else None


def operand_size(operand: Operand, shapes: dict[str, Shape]) -> Size | None:
    """The size of a vector operand; None for anything else."""
    if isinstance(operand, Literal):
        return Constant(len(operand.values))
    if isinstance(operand, Name):
        shape = shapes.get(operand.name)
        return shape.size if shape is not None and shape.kind == "vector" else None
    return None


def _shape(name: str, expression: Expression, shapes: dict[str, Shape], once: set[str]) -> Shape:
    if isinstance(expression, CheckCast):
        return _shape(name, expression.value, shapes, once)
    if isinstance(expression, Use):
        return _operand_shape(name, expression.operand, shapes)
    assert isinstance(expression, Call)
    builtin = BUILTINS.get(expression.function.name)
    if builtin is None:
        return Shape("?", Dynamic(name))
    return _by_rule(builtin.shape, name, expression.arguments, shapes, once)


#: Rules that keep the size of their first argument, where it has the second shape, in the first.
_FROM_FIRST: Final[dict[str, tuple[str, str]]] = {
    "column": ("vector", "table"), "rows": ("vector", "list"), "item": ("vector", "list"), "keys": ("vector", "dict"),
    "values": ("cells", "dict"), "raze": ("vector", "singles"),
}  # fmt: skip


def _by_rule(rule: str, name: str, arguments: list[Operand], shapes: dict[str, Shape], once: set[str]) -> Shape:
    dynamic = Dynamic(name)
    if rule == "table":
        return Shape("table", Symbol(name))
    if rule in ("scalar", "one"):
        return Shape("vector", Constant(1))
    if rule == "list":
        sizes = [operand_size(a, shapes) for a in arguments]
        same = sizes[0] if sizes and all(s == sizes[0] for s in sizes) else None
        return Shape("lists", dynamic) if same is None else Shape("list", same)
    if rule == "none":
        return Shape("list", dynamic)
    if rule in _FROM_FIRST:
        kind, given = _FROM_FIRST[rule]
        first = _operand_shape(name, arguments[0], shapes)
        return Shape(kind, first.size if first.kind == given else dynamic)
    if rule in ("first", "unary"):
        return _operand_shape(name, arguments[0], shapes)
    if rule == "second":
        return _operand_shape(name, arguments[1], shapes)
    if rule in ("binary", "ternary"):
        return Shape("vector", _element_wise(name, arguments, shapes))
    if rule in ("compress", "where"):
        mask, size = arguments[0], operand_size(arguments[-1], shapes)
        if isinstance(mask, Name) and mask.name in once and size is not None and size == operand_size(mask, shapes):
            return Shape("vector", Compressed(size, mask.name))
        return Shape("vector", dynamic)
    if rule == "group":
        return Shape("dict", dynamic)
    if rule in ("each", "each_right", "each_item"):
        cells = _operand_shape(name, arguments[2 if rule == "each_right" else 1], shapes)
        made = "singles" if rule == "each" and _reduces(arguments[0]) else "cells"
        return Shape(made, cells.size) if cells.kind == "cells" else Shape("?", dynamic)
    return Shape("vector" if rule == "vector" else "?", dynamic)


def _reduces(function: Operand) -> bool:
    builtin = BUILTINS.get(function.name) if isinstance(function, FunctionRef) else None
    return builtin is not None and builtin.is_reduction


def _element_wise(name: str, arguments: list[Operand], shapes: dict[str, Shape]) -> Size:
    """Table 4.4: scalars are spread, equal sizes are kept, everything else is only known at run time."""
    found: Size = Constant(1)
    for argument in arguments:
        size = operand_size(argument, shapes)
        if size is None:
            return Dynamic(name)
        if size == found or (isinstance(size, Constant) and size.count == 1):
            continue
        if not (isinstance(found, Constant) and found.count == 1):
            return Dynamic(name)
        found = size
    return found


def _operand_shape(name: str, operand: Operand, shapes: dict[str, Shape]) -> Shape:
    if isinstance(operand, Literal):
        return Shape("vector", Constant(len(operand.values)))
    if isinstance(operand, Name) and operand.name in shapes:
        return shapes[operand.name]
    return Shape("?", Dynamic(name))


def is_straight(body: list[Statement]) -> bool:
    """Whether the body is assignments and then one return."""
    from drawloom.horse.ir import Return

    return bool(body) and isinstance(body[-1], Return) and all(isinstance(s, Assign) for s in body[:-1])
