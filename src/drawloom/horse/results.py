"""What ``main`` returns as Arrow tables, to print: tables themselves, and other values with names for their columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from drawloom.horse.compound import cells
from drawloom.horse.printer import print_literal
from drawloom.horse.types import VectorType
from drawloom.horse.values import (
    Dictionary,
    Enumeration,
    ListValue,
    Ragged,
    TableValue,
    Value,
    Vector,
    strings,
    vector_to_arrow,
)


def whole(table: TableValue) -> TableValue:
    """The table with its columns: those of a stored one are read, with their NULLs. Raises DataError."""
    if table.source is None:
        return table
    columns: list[Vector] = []
    for name in table.names:
        column = table.source.column(name)
        columns.append(Vector(column.vector.type, column.vector.data, column.vector.dictionary, column.valid))
    return TableValue(table.names, columns)


def to_arrow(value: Value) -> pa.Table:
    """A vector is the column ``value``, a list one with a row for each cell; a dictionary has ``key`` and ``value``, an
    enumeration ``value`` and the ``row`` that it points to. Cells stand as HorseIR literals. Raises DataError."""
    if isinstance(value, TableValue):
        return whole(value).to_arrow()
    if isinstance(value, Dictionary):
        return pa.table({"key": vector_to_arrow(value.keys), "value": _column(value.values)})
    if isinstance(value, Enumeration):
        fetched = value.foreign.take(value.rows.data)
        return pa.table({"value": vector_to_arrow(fetched), "row": vector_to_arrow(value.rows)})
    return pa.table({"value": _column(value)})


def _column(value: Value) -> Any:
    if isinstance(value, Vector):
        return vector_to_arrow(value)
    return pa.array([literal(cell) for cell in cells(value)], pa.string())


def literal(value: Value) -> str:
    """A value as HorseIR writes its literals; what has none in brackets."""
    if isinstance(value, Vector):
        assert isinstance(value.type, VectorType)
        if value.type.kind == "text":
            return print_literal(list(strings(value)), value.type)
        return print_literal(value.data.tolist(), value.type)
    if isinstance(value, ListValue | Ragged):
        return "[" + ", ".join([literal(cell) for cell in cells(value)]) + "]"
    if isinstance(value, Dictionary):
        return "{" + literal(value.keys) + ": " + literal(value.values) + "}"
    if isinstance(value, Enumeration):
        return literal(value.foreign.take(value.rows.data))
    assert isinstance(value, TableValue)
    made = whole(value)
    columns = [f"{name}: {literal(column)}" for name, column in zip(made.names, made.columns)]
    return "{" + ", ".join(columns) + "}"
