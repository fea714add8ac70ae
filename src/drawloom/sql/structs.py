"""Structs as values to HorseIR: numbers of rows of the table that has them as a column. A field is the column that it
is there, with its rows picked as those numbers were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.horse.ir import Literal, Name, Operand, Value
from drawloom.horse.nested import INTO, ROW
from drawloom.horse.types import SYM, VectorType
from drawloom.sql import plan
from drawloom.sql.frames import Frame, Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator


class StructOf(VectorType):
    """Structs of one column: number ``i`` is row ``i`` of the ``column`` of table ``name``, whose numbers ``rows``
    are."""

    def __init__(self, table: Operand, name: str, column: str, rows: Operand) -> None:
        super().__init__(f"struct {name} {column}", "struct", 64)
        self.table = table
        self.name = name
        self.column = column
        self.rows = rows


def stored(t: Translator, table: Operand, name: str, column: str) -> Result:
    """A column of a table."""
    rows = t.stored(table, name, f"{column}{INTO}{ROW}")
    return Result(rows.value, StructOf(table, name, column, rows.value), rows.valid, canonical=True)


def field(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """``get_field(struct, name)``."""
    given, name = t.expression(call.arguments[0], frame), call.arguments[1]
    assert isinstance(given.type, StructOf) and isinstance(name, plan.Constant)
    return of(t, given, given.type, str(name.value))


def of(t: Translator, given: Result, type: StructOf, name: str) -> Result:
    """The field of that name."""
    found = t.stored(type.table, type.name, f"{type.column}{INTO}{name}")
    valid = None if found.valid is None else _picked(t, found.valid, given.value, type.rows)
    return Result(_picked(t, found.value, given.value, type.rows), found.type, t.both([given.valid, valid]))


def shown(t: Translator, numbers: Operand, result: Result, type: StructOf) -> Operand:
    """The column of a result."""
    names: list[Value] = [*t.schema.fields(type.name, type.column)]
    fields: list[Operand] = [t.shown(of(t, result, type, str(name))) for name in names]
    return t.emit("structs", [numbers, Literal(names, SYM), t.emit("list", fields)])


def _picked(t: Translator, value: Operand, rows: Operand, first: Operand) -> Operand:
    """The rows of ``value`` that ``rows`` are of ``first``, which are all of them."""
    assert isinstance(first, Name)
    if isinstance(rows, Name) and rows.name == first.name:
        return value
    before = t.picks.get(rows.name) if isinstance(rows, Name) else None
    if before is None:
        return t.index(value, rows)
    if before.function.name == "compress":
        return t.pick("compress", [before.arguments[0], _picked(t, value, before.arguments[1], first)])
    inner = _picked(t, value, before.arguments[0], first)
    pick = t.index if before.function.name == "index" else t.outer_index
    return pick(inner, before.arguments[1])
