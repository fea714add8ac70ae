"""Runs a HorseIR program over Arrow columns by the interpreter and on a device, for comparison."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from drawloom.horse.launch import Resident
from drawloom.horse.parser import parse
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.store import from_arrow
from drawloom.runtime.machine import device as find_device


def program(table: pa.Table, body: str, reduces_lanes: bool = True, mode: str = "full", results: int = 1) -> Program:
    """The program whose ``main`` is ``body``, which returns so many tables; every column ``c`` of ``table`` is the
    variable ``c``."""
    source = from_arrow("t", table)
    lines = ["var t:table = @load_table(`t:sym);"]
    for name in table.column_names:
        type = source.column_type(name)
        lines.append(f"var {name}:{type} = check_cast(@column_value(t, `{name}:sym), {type});")
    gives = ", ".join(["table"] * results)
    text = f"module m {{ import Builtin.*; def main() : {gives} {{ " + "\n".join([*lines, body]) + " } }"
    return Program(parse(text), {"t": source}, reduces_lanes, mode)


def on_device(made: Program, device: str) -> pa.Table:
    where = find_device(device)
    return LoadedProgram(made, where, Resident(where)).run().to_arrow()


def result(names: list[str]) -> str:
    """The statements that return variables as the columns of a table."""
    symbols = ", ".join([f"`{n}" for n in names])
    literal = f"({symbols}):sym" if len(names) > 1 else f"{symbols}:sym"
    return f"var zl:list<?> = @list({', '.join(names)}); var zt:table = @table({literal}, zl); return zt;"


def columns(**arrays: tuple[list[Any], pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array(values, type) for name, (values, type) in arrays.items()})


def control(made: Program) -> str:
    """The control code that is left of ``main``, as text."""
    text = str(made.outlined.module)
    start = text.index("def main")
    return text[start : text.index("\n    }", start)]
