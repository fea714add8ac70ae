"""What several commands take: `--table NAME=PATH` to the tables they work on, and the modes of the outliner."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from drawloom.horse.ir import Module
    from drawloom.horse.values import Source
    from drawloom.sql.connection import Connection

OPTION: Final[Callable[[Any], Any]] = click.option(
    "-t", "--table", "tables", multiple=True, metavar="NAME=PATH",
    help="A table: a Parquet or CSV file, a glob, or a folder of files. Without NAME=, a file is a table by its own "
         "name, and a folder as many as it has files and folders. Repeat for more.",
)  # fmt: skip

#: The outliner's modes, as `drawloom.horse.outline.MODES` has them: importing that takes longer than `--help` may.
MODE: Final = click.Choice(["none", "flow", "full"])

#: Who does library functions, as `drawloom.horse.kernels.library.CHOICES` has them.
LIBRARY: Final = click.Choice(["auto", "kernels", "host"])


def paths(tables: tuple[str, ...]) -> dict[str, str]:
    """The path of each table. Raises UsageError for a malformed or repeated one."""
    named: list[tuple[str, str]] = []
    for table in tables:
        name, equals, path = table.partition("=")
        if equals and name and path:
            named.append((name, path))
        elif os.path.exists(table):
            named.extend(within(table))
        else:
            raise click.UsageError(f"--table {table}: NAME=PATH, a file or a folder was expected")
    found: dict[str, str] = {}
    for name, path in named:
        if name in found:
            raise click.UsageError(f"--table {name} is given twice")
        found[name] = path
    return found


def within(path: str) -> list[tuple[str, str]]:
    """The tables that a path without a name is: itself if it is a file, else each file and folder of files in it."""
    from drawloom.horse.files import format_of, in_folder

    def named(entry: str) -> tuple[str, str]:
        return os.path.basename(entry).partition(".")[0], entry

    if not os.path.isdir(path):
        return [named(path)]
    entries = [os.path.join(path, entry) for entry in sorted(os.listdir(path)) if not entry.startswith((".", "_"))]
    found = [named(e) for e in entries if (in_folder(e) if os.path.isdir(e) else format_of(e))]
    if not found:
        raise click.UsageError(f"--table {path}: this folder has no Parquet or CSV file")
    return found


def files(tables: tuple[str, ...]) -> list[str]:
    """The files that the tables are read from."""
    from drawloom.horse.files import found

    return [file for path in paths(tables).values() for file in found(path)]


def register(
    connection: Connection, tables: tuple[str, ...], delimiter: str | None = None, header: bool = True
) -> None:
    """Makes the tables known to a connection; ``delimiter`` and ``header`` are of those in CSV files. Raises UsageError
    where there is none that they could be for."""
    from drawloom.horse.files import format_of, found

    is_plain = delimiter is None and header
    some_csv = False
    for name, path in paths(tables).items():
        is_csv = not is_plain and all(format_of(file) == "csv" for file in found(path))
        some_csv = some_csv or is_csv
        if is_csv:
            connection.register(name, path, delimiter=delimiter, header=header)
        else:
            connection.register(name, path)
    if not is_plain and not some_csv:
        raise click.UsageError("--delimiter and --no-header are for CSV files")


def sources(tables: tuple[str, ...]) -> dict[str, Source]:
    """The tables that a HorseIR program loads. Raises DataError for files that cannot be read."""
    from drawloom.horse.files import open_files

    return {name: open_files(name, [path]) for name, path in paths(tables).items()}


def read_hir(path: str) -> Module:
    """The HorseIR modules in a file as one. Raises DataError where it cannot be read, and what is wrong in it."""
    from drawloom.errors import DataError
    from drawloom.horse.parser import parse_modules
    from drawloom.horse.symbols import link

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    return link(parse_modules(text, path))
