"""`drawloom explain "select ..."`: a query or HorseIR program after each stage, or its outline as a picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from drawloom.cli import tables as tables_option

if TYPE_CHECKING:
    from drawloom.horse.program import Program


@click.command("explain")
@click.argument("query")
@tables_option.OPTION
@click.option("--outline", is_flag=True, help="Draw the dependence graph, kernels as clusters.")
@click.option("--mode", type=tables_option.MODE, default="full", show_default=True,
              help="How much goes into one kernel.")  # fmt: skip
@click.option("--format", "style", type=click.Choice(["text", "dot", "svg"]), default="text", show_default=True,
              help="What the outline is drawn as.")  # fmt: skip
@click.option("-d", "--device", default=None, help="cpu (the default), reference or cuda:N.")
def command(query: str, tables: tuple[str, ...], outline: bool, mode: str, style: str, device: str | None) -> None:
    """Show QUERY, SQL text or a .hir file, after each stage; or its outline. `-` reads SQL from standard input.

    Nothing runs. An SVG picture stands for itself: drawloom explain --outline --format svg ... > outline.svg
    """
    if style != "text" and not outline:
        raise click.UsageError(f"--format {style} is for --outline")
    from drawloom.horse import picture

    shapes = {"text": picture.as_text, "dot": picture.as_dot, "svg": picture.as_svg}
    if query.endswith(".hir"):
        from drawloom.horse.program import Program

        program: Program = Program(tables_option.read_hir(query), tables_option.sources(tables), mode=mode)
        stages = {"horse": str(program.module), "outline": str(program.outlined.module), "ptx": program.ptx()}
        whole = "\n".join([f"-- {stage}\n{text}" for stage, text in stages.items()])
        click.echo(shapes[style](program.outlined) if outline else whole, nl=False)
        return
    from drawloom.sql import connect

    connection = connect(device)
    tables_option.register(connection, tables)
    relation = connection.sql(sys.stdin.read() if query == "-" else query, outline=mode)
    click.echo(shapes[style](relation.query.program().outlined) if outline else relation.explain(), nl=False)
