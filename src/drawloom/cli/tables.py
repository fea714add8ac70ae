"""What several commands take: `--table NAME=PATH` to the tables they work on, and the modes of the outliner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from drawloom.horse.ir import Module
    from drawloom.horse.values import Source

OPTION: Final[Callable[[Any], Any]] = click.option(
    "-t", "--table", "tables", multiple=True, metavar="NAME=PATH", help="A Parquet file as a table; repeat for more."
)

#: The outliner's modes, as `drawloom.horse.outline.MODES` has them: importing that takes longer than `--help` may.
MODE: Final = click.Choice(["none", "flow", "full"])


def paths(tables: tuple[str, ...]) -> dict[str, str]:
    """The path of each table. Raises UsageError for a malformed or repeated one."""
    found: dict[str, str] = {}
    for table in tables:
        name, equals, path = table.partition("=")
        if not equals or not name or not path:
            raise click.UsageError(f"--table {table}: NAME=PATH was expected")
        if name in found:
            raise click.UsageError(f"--table {name} is given twice")
        found[name] = path
    return found


def sources(tables: tuple[str, ...]) -> dict[str, Source]:
    """The tables that a HorseIR program loads. Raises DataError for a file that is no Parquet file."""
    from drawloom.horse.store import open_parquet

    return {name: open_parquet(name, path) for name, path in paths(tables).items()}


def read_hir(path: str) -> Module:
    """The HorseIR module in a file. Raises DataError where it cannot be read, and what parsing raises."""
    from drawloom.errors import DataError
    from drawloom.horse.parser import parse

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    return parse(text, path)
