"""What ``main`` says of the tables that it loads beside what these are: names, columns and their types.

Kernels are made for the types that a program declares, so these are compared with the stored ones before. Names that
only the run tells are the interpreter's to find.
"""

from __future__ import annotations

from collections.abc import Mapping

from drawloom.errors import DataError
from drawloom.horse.ir import Assign, Call, CheckCast, Module, Name, Operand, Pos, literal_value, walk
from drawloom.horse.signatures import READS_COLUMN
from drawloom.horse.symbols import refusal, refused_data
from drawloom.horse.types import accepts
from drawloom.horse.values import Source

#: What reads a column of a table, by its name.


def check_tables(module: Module, sources: Mapping[str, Source]) -> None:
    """Raises DataError for a table or column that is not there, and VerifyError for a column of another type than it is
    checked to have, with the place in the program's text."""
    main = module.function("main")
    tables: dict[str, Source] = {}
    for statement in [] if main is None else walk(main.body):
        if not isinstance(statement, Assign):
            continue
        value = statement.value
        call = value.value if isinstance(value, CheckCast) else value
        if not isinstance(call, Call):
            continue
        if call.function.name == "load_table":
            source = _table(module, call, sources)
            if source is not None:
                tables[statement.targets[0].name] = source
        elif call.function.name in READS_COLUMN:
            table, column = call.arguments[0], _only(call.arguments[1])
            source = tables.get(table.name) if isinstance(table, Name) else None
            if source is not None and column:
                _check_column(module, source, column, value if isinstance(value, CheckCast) else None, call.pos)


def _table(module: Module, call: Call, sources: Mapping[str, Source]) -> Source | None:
    name = _only(call.arguments[0])
    if name and name not in sources:
        given = ", ".join(sorted(sources)) or "none is given"
        problem = DataError(f"there is no table '{name}' (tables: {given})")
        raise refused_data(module, problem, call.pos)
    return sources.get(name)


def _check_column(module: Module, source: Source, column: str, cast: CheckCast | None, pos: Pos) -> None:
    try:
        stored = source.column_type(column)
    except DataError as problem:
        raise refused_data(module, problem, pos) from None
    if cast is not None and not accepts(cast.type, stored):
        message = f"column '{column}' of table '{source.name}' is {stored}, not {cast.type}"
        raise refusal(module, message, cast.pos, str(stored))


def _only(operand: Operand) -> str:
    """The one name that a literal has; "" for any other operand."""
    name = literal_value(operand)
    return "" if name is None else str(name)
