"""`drawloom sql "select ..." --table lineitem=path.parquet`: a query from the command line to a table, CSV or JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from drawloom.cli import tables as tables_option

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("sql")
@click.argument("query")
@tables_option.OPTION
@click.option("-d", "--device", default=None, help="cpu (the default), reference or cuda:N.")
@click.option(
    "--emit",
    type=click.Choice(["plan", "relation", "horse", "outline", "ptx"]),
    help="Print the query after a stage instead of running it.",
)
@click.option("--outline", type=tables_option.MODE, default="full", show_default=True,
              help="How much goes into one kernel.")  # fmt: skip
@click.option("--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--profile", is_flag=True, help="Say on stderr what each stage took.")
def command(
    query: str,
    tables: tuple[str, ...],
    device: str | None,
    emit: str | None,
    outline: str,
    style: str,
    profile: bool,
) -> None:
    """Run QUERY over Parquet files. `-` reads it from standard input."""
    from drawloom.sql import connect

    text = sys.stdin.read() if query == "-" else query
    connection = connect(device)
    for name, path in tables_option.paths(tables).items():
        connection.register(name, path)
    relation = connection.sql(text, outline)
    if emit is not None:
        click.echo(relation.explain(emit), nl=False)
        return
    click.echo(render(relation.arrow(), style), nl=False)
    if profile:
        click.echo(str(relation.profile()), err=True)


def render(table: pa.Table, style: str) -> str:
    """The table as text: aligned columns, CSV with a header, or JSON, an object a row."""
    if style == "csv":
        return as_csv(table)
    if style == "json":
        return as_json(table)
    return as_text(table)


def as_text(table: pa.Table) -> str:
    from drawloom.sql.relation import rows_of

    rows = [[shown(v) for v in row] for row in rows_of(table)]
    widths = [max([len(n), *[len(r[i]) for r in rows]]) for i, n in enumerate(table.column_names)]
    right = [is_number(f.type) for f in table.schema]

    def line(cells: list[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right)]
        return "  ".join(padded).rstrip() + "\n"

    count = f"({len(rows)} row{'' if len(rows) == 1 else 's'})\n"
    return line(table.column_names) + line(["-" * w for w in widths]) + "".join([line(r) for r in rows]) + count


def as_csv(table: pa.Table) -> str:
    import csv
    import io

    from drawloom.sql.relation import rows_of

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([["" if v is None else shown(v) for v in row] for row in rows_of(table)])
    return out.getvalue()


def as_json(table: pa.Table) -> str:
    """Numbers that JSON readers would round (decimals) and dates are strings."""
    import json

    from drawloom.sql.relation import rows_of

    lines = [json.dumps(dict(zip(table.column_names, map(plain, row)))) for row in rows_of(table)]
    return "".join([line + "\n" for line in lines])


def is_number(type: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(type) or types.is_floating(type) or types.is_decimal(type))


def shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
