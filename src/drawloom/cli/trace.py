"""`drawloom trace`: PTX to the symbolic memory trace of its kernels."""

import json

import click

from drawloom.errors import DataError


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--kernel", metavar="NAME", help="Only this kernel or function, by symbol or C++ name.")
@click.option(
    "--report", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
@click.option("--distinct-parameters", is_flag=True, help="What one pointer parameter writes no other reads.")
@click.option("--solver-steps", type=click.IntRange(0), default=5000, show_default=True,
              help="How much a solver may do for one kernel.")  # fmt: skip
def command(file: str, kernel: str | None, report: str, distinct_parameters: bool, solver_steps: int) -> None:
    """Show what the kernels of the PTX FILE, - for standard input, read and write.

    For each access: its address as an expression, how the addresses of neighbouring lanes lie to each other, what a
    warp moves, and which earlier loads have read the same, in this lane or another one, and what that rests on.
    """
    from drawloom.cli.assemble import read
    from drawloom.ptx.recovery import parse_known
    from drawloom.runtime.kernel_names import symbol_of
    from drawloom.shuffle.emulator import Options, analyse
    from drawloom.shuffle.trace import trace

    module = parse_known(*read(file))
    options = Options(distinct_parameters=distinct_parameters, shared=True, solver_steps=solver_steps)
    defined = [f for f in module.functions.values() if f.has_body or f.unread is not None]
    names = [f.name for f in defined]
    symbol = None if kernel is None else symbol_of(kernel, names)
    if symbol is not None and symbol not in names:
        raise DataError(f"there is no kernel '{kernel}' in {file}: expected one of {', '.join(names) or 'none'}")
    functions = [f for f in defined if symbol in (None, f.name)]
    traces = [trace(module, analyse(module, function, options)) for function in functions]
    if report == "json":
        click.echo(json.dumps([one.data() for one in traces], indent=2))
    else:
        click.echo("\n".join([one.text() for one in traces]), nl=False)
