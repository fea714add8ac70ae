"""`drawloom shuffle`: PTX to PTX in which loads that a neighbouring lane has done are shuffles."""

import os

import click

from drawloom.files import find_overwritten

STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "-o", "output", metavar="FILE", default=STANDARD_STREAM, help="Where to write; standard output otherwise."
)
@click.option("--in-place", is_flag=True, help="Write the result over FILE.")
@click.option("--apply", type=click.Choice(["profitable", "all", "none"]), default="profitable", show_default=True,
              help="What to rewrite: what pays on the target, all that can be, or nothing.")  # fmt: skip
@click.option("--report", type=click.Choice(["text", "json", "html"]), help="Say what became of each load.")
@click.option("--report-file", metavar="FILE", help="Where, - for standard output; standard error otherwise.")
@click.option("--arch", metavar="sm_NN", default="", help="What it is to pay on; the PTX's target otherwise.")
@click.option("--assume-no-wrap", is_flag=True, help="Indices of 32 bits do not wrap around: no tests for it.")
@click.option("--distinct-parameters", is_flag=True, help="What one pointer parameter writes no other reads.")
@click.option("--shared", is_flag=True, help="Loads from shared memory, too.")
@click.option("--variant", type=click.Choice(["no-load", "no-corner"]), default=None,
              help="Code with WRONG results, to see where time goes.")  # fmt: skip
def command(
    file: str, output: str, apply: str, report: str | None, report_file: str | None, arch: str, assume_no_wrap: bool,
    distinct_parameters: bool, shared: bool, variant: str | None, in_place: bool,
) -> None:  # fmt: skip
    """Rewrite the PTX FILE, - for standard input, so that lanes of a warp give each other what they have loaded.

    Every value that cannot be proved to be the same is tested for at run time, and loaded where it may not be.
    Instructions and functions that are not covered stay as they are, and the report names them.
    """
    from drawloom.cli.assemble import read
    from drawloom.cli.opt import write
    from drawloom.cli.outputs import choose_output
    from drawloom.ptx.recovery import parse_known
    from drawloom.shuffle.pipeline import shuffle

    output = choose_output(file, output, in_place)
    check_report_file(report, report_file, file, output)
    text, name = read(file)
    module = parse_known(text, name)
    made = shuffle(
        module, apply=apply, assume_no_wrap=assume_no_wrap, distinct_parameters=distinct_parameters, shared=shared,
        variant=variant or "", arch=arch,
    )  # fmt: skip
    summary = made.report
    if summary.is_applied and summary.shuffles:
        text = (f"// {summary.warning}\n" if summary.warning else "") + str(made)
    if report is None or report_file is not None:  # else the report on standard error says it, and stands alone
        if summary.warning:
            click.echo(f"warning: {summary.warning}", err=True)
        for function in module.functions.values():
            if function.unread is not None:
                click.echo(f"warning: {function.name} stays as it is: {function.unread.refusal}", err=True)
    said = {"text": summary.text, "json": summary.json, "html": summary.html}[report]() if report is not None else ""
    if report_file is not None:
        write(report_file, said)  # before the output, which a command that fails must not leave
    write(output, text)
    if report_file is None:
        click.echo(said, nl=False, err=True)


def check_report_file(report: str | None, report_file: str | None, file: str, output: str) -> None:
    """Raises UsageError for a place of a report that is another file's, too."""
    if report_file is None:
        return
    if report is None:
        raise click.UsageError("--report-file needs --report: text, json or html")
    others = {"the output": output} | ({"the input": file} if file != STANDARD_STREAM else {})
    for what, other in others.items():
        if is_one_file(other, report_file):
            raise click.UsageError(f"--report-file {report_file} is {what}, too")


def is_one_file(path: str, other: str) -> bool:
    """Whether what is written to two paths goes to one file; /dev/null and its like take everything."""
    if os.path.exists(path) and os.path.exists(other):
        return bool(find_overwritten(path, [other]))
    return path == other
