"""`drawloom sql "select ..." --table lineitem=path.parquet`: a query from the command line to a table, CSV or JSON."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from drawloom.cli import tables as tables_option
from drawloom.cli.outputs import refuse_to_overwrite

if TYPE_CHECKING:
    import pyarrow as pa

    from drawloom.sql.profile import Profile


class Command(click.Command):
    """A command whose `--profile` may stand without a value, wherever it stands, and whose query may begin with a
    comment."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = ["--profile=text" if arg == "--profile" else arg for arg in args]
        # No option has white space or a second line in its name, which SQL comments have.
        return super().parse_args(ctx, [f" {word}" if is_comment(word) else word for word in words])


def is_comment(word: str) -> bool:
    """Whether a word of the command line is SQL that begins with a comment of a line."""
    return (word.startswith("--") and not word.partition("=")[0].isprintable()) or word.startswith("-- ")


@click.command("sql", cls=Command)
@click.argument("query")
@tables_option.OPTION
@click.option("--delimiter", metavar="CHAR", help="What is between the columns of CSV files.")
@click.option("--no-header", is_flag=True, help="CSV files have no line of names; the columns are f0, f1, ...")
@click.option("-d", "--device", default=None, help="cpu (the default), reference or cuda:N.")
@click.option(
    "--emit",
    type=click.Choice(["plan", "relation", "horse", "outline", "ptx", "sass"]),
    help="Print the query after a stage instead of running it.",
)
@click.option("--arch", metavar="SM", help="The GPU that --emit sass is for, such as sm_86.")
@click.option("--outline", type=tables_option.MODE, default="full", show_default=True,
              help="How much goes into one kernel.")  # fmt: skip
@click.option("--library", type=tables_option.LIBRARY, help="Who does sorts, groups and joins.")
@click.option("--fallback", type=click.Choice(["datafusion"]), help="Who runs what is not built yet, and says so.")
@click.option("--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--profile", type=click.Choice(["text", "json", "html"]), metavar="[=text|json|html]",
              help="Say on stderr what each stage, kernel and library call took.")  # fmt: skip
@click.option("--profile-to", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the profile there, as HTML or JSON if the name says so.")  # fmt: skip
@click.option("--memory-limit", metavar="SIZE", help="The most host memory that the query may take, such as 4G.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar, even on a terminal.")
def command(
    query: str,
    tables: tuple[str, ...],
    delimiter: str | None,
    no_header: bool,
    device: str | None,
    emit: str | None,
    arch: str | None,
    outline: str,
    library: str | None,
    fallback: str | None,
    style: str,
    profile: str | None,
    profile_to: str | None,
    memory_limit: str | None,
    quiet: bool,
) -> None:
    """Run QUERY over Parquet and CSV files. `-` reads it from standard input."""
    if arch is not None and emit != "sass":
        raise click.UsageError("--arch is for --emit sass")
    from drawloom.sql import connect

    if profile_to is not None:
        refuse_to_overwrite(profile_to, tables_option.files(tables))
    text = sys.stdin.read() if query == "-" else query
    connection = connect(device, memory_limit)
    tables_option.register(connection, tables, delimiter, not no_header)
    relation = connection.sql(
        text, outline=outline, library=library, fallback=fallback, progress=False if quiet else None
    )
    if emit is not None:
        click.echo(relation.explain(emit, arch or ""), nl=False)
        return
    if profile is None and profile_to is None:
        click.echo(render(relation.arrow(), style), nl=False)
        return
    table, took = relation.profiled()
    click.echo(render(table, style), nl=False)
    if profile_to is not None:
        write_profile(took, profile_to, profile)
    else:
        click.echo(profile_as(took, profile or "text"), err=True, nl=False)


def profile_as(profile: Profile, style: str) -> str:
    if style == "html":
        return profile.html()
    return profile.json() if style == "json" else f"{profile}\n"


def write_profile(profile: Profile, path: str, style: str | None) -> None:
    """Writes the profile as ``style``, or as the name of the file says. Raises DataError where that cannot be done."""
    from drawloom.errors import DataError
    from drawloom.files import whole_file

    ending = os.path.splitext(path)[1].lower().removeprefix(".")
    kind = style or {"html": "html", "htm": "html", "json": "json"}.get(ending, "text")
    try:
        with whole_file(path) as file:
            file.write(profile_as(profile, kind).encode())
    except OSError as problem:
        raise DataError(f"{path}: the profile cannot be written: {problem.strerror}") from None


def render(table: pa.Table, style: str) -> str:
    """The table as text: aligned columns, CSV with a header, or JSON, an object a row."""
    if style == "csv":
        return as_csv(table)
    if style == "json":
        return as_json(table)
    return as_text(table)


def as_text(table: pa.Table) -> str:
    from drawloom.sql import shown
    from drawloom.sql.relation import rows_of

    count = f"({table.num_rows} row{'' if table.num_rows == 1 else 's'})"
    return shown.as_text(table.column_names, table.schema.types, rows_of(table), count)


def as_csv(table: pa.Table) -> str:
    """NULL is nothing, the empty text a pair of quotes."""
    from drawloom.sql.relation import rows_of
    from drawloom.sql.shown import shown

    def cell(value: Any) -> str:
        text = "" if value is None else shown(value)
        is_quoted = value == "" or not {",", '"', "\n", "\r"}.isdisjoint(text)
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    return "".join([",".join(map(cell, row)) + "\n" for row in [table.column_names, *rows_of(table)]])


def as_json(table: pa.Table) -> str:
    """Numbers that JSON readers would round (decimals) or have no word for (NaN, infinities) and dates are strings.
    Columns of one name get numbers."""
    import json

    from drawloom.sql.relation import rows_of
    from drawloom.sql.repeated import unlike

    names = unlike(table.column_names)
    lines = [json.dumps(dict(zip(names, map(plain, row)))) for row in rows_of(table)]
    return "".join([line + "\n" for line in lines])


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
