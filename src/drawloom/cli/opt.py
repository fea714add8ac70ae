"""`drawloom opt`: PTX to better PTX by the passes of a level, or by those that are named."""

import click

from drawloom.cli.outputs import choose_output, write_file

STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE", required=False)
@click.option(
    "-o", "output", metavar="FILE", default=STANDARD_STREAM, help="Where to write; standard output otherwise."
)
@click.option("--in-place", is_flag=True, help="Write the result over FILE.")
@click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True, help="How much to do.")
@click.option("--passes", metavar="NAMES", help="Run these passes instead, in order, with commas between.")
@click.option("--list", "listed", is_flag=True, help="Print the passes of the level and leave, without a FILE.")
@click.option("--remarks", is_flag=True, help="Say on standard error what was done where.")
@click.option("--promise", metavar="NAMES", help="What is known of the kernels, with commas between; see below.")
@click.option("--bisect", type=click.IntRange(0), metavar="N", help="Stop after N runs of a pass over a function.")
def command(
    file: str | None, output: str, level: int, passes: str | None, listed: bool, remarks: bool,
    promise: str | None, bisect: int | None, in_place: bool,
) -> None:  # fmt: skip
    """Optimise the PTX FILE, - for standard input.

    With --bisect every run of a pass over a function is listed on standard error with its number: halving N finds the
    run that breaks a program.

    Promises: global-parameters, generic addresses that are kernel parameters are global; distinct-parameters, what one
    pointer parameter writes no other reads or writes.
    """
    from drawloom.cli.assemble import read
    from drawloom.opt import Report, optimize
    from drawloom.opt.manager import pass_names
    from drawloom.ptx import parse, verify

    names = pass_names(level, None if passes is None else _listed(passes))
    if listed:
        click.echo("\n".join(names))
        return
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    output = choose_output(file, output, in_place)
    module = parse(*read(file))
    verify(module)
    report = Report()
    promises = () if promise is None else tuple(_listed(promise))
    better = optimize(module, passes=names, limit=bisect, report=report, remarks=remarks, promises=promises)
    text = str(better)
    for remark in report.remarks:
        click.echo(repr(remark), err=True)
    if bisect is not None:
        for run in report.runs:
            click.echo(repr(run), err=True)
        if len(report.runs) < report.total:
            click.echo(f"stopped after {len(report.runs)} of {report.total} runs", err=True)
    write(output, text)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def write(to: str, text: str) -> None:
    """Write to standard output, or a file whole or not at all; what is no file, as /dev/null, is written to. The bytes
    are those that were read, whatever the terminal's encoding is. Raises DataError."""
    data = text.encode("utf-8", "surrogateescape")
    if to == STANDARD_STREAM:
        click.echo(data, nl=False)
        return
    write_file(to, data)
