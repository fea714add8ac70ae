"""`drawloom lift`: a Lift program after each stage, down to OpenCL C and PTX."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from drawloom.lift import Lambda

STAGES = ("lift", "types", "views", "opencl", "ptx")
STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--emit", "stage", type=click.Choice(STAGES), default="opencl", show_default=True, help="What to print.")
@click.option("--program", "name", metavar="NAME", help="The program to take where FILE has several.")
@click.option("--size", "sizes", metavar="NAME=NUMBER", multiple=True, help="A size that is known; may be repeated.")
@click.option("--local-size", metavar="X[,Y[,Z]]", help="Work-items of a work-group.")
@click.option("--num-groups", metavar="X[,Y[,Z]]", help="Work-groups, where they are known.")
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(("array-access", "barriers", "control-flow")),
    help="Leave out an optimisation: simplified indices, eliminated barriers, loops made if or nothing.",
)
@click.option(
    "-o", "output", metavar="FILE", default=STANDARD_STREAM, help="Where to write; standard output otherwise."
)
def command(
    file: str,
    stage: str,
    name: str | None,
    sizes: tuple[str, ...],
    local_size: str | None,
    num_groups: str | None,
    without: tuple[str, ...],
    output: str,
) -> None:
    """Compile the Lift program in FILE: Python that makes one, or Lift text (.lift).

    A Python file is run, and its module variables that are programs are the ones to choose from.
    """
    from drawloom.cli.outputs import refuse_to_overwrite
    from drawloom.files import whole_file

    refuse_to_overwrite(output, [file])
    text = emit(file, stage, name, sizes, (local_size, num_groups), without)
    if output == STANDARD_STREAM:
        click.echo(text, nl=not text.endswith("\n"))
        return
    with whole_file(output) as there:
        there.write(text.encode("utf-8"))


def emit(
    file: str,
    stage: str,
    name: str | None,
    sizes: tuple[str, ...],
    threads: tuple[str | None, str | None],
    without: tuple[str, ...],
) -> str:
    """Return the program in a file after a stage."""
    from drawloom import lift

    program = find_program(file, name)
    if stage == "lift":
        return lift.show_program(program)
    if stage == "types":
        return lift.show_types(program)
    known = dict(numbered(size) for size in sizes)
    local_size, num_groups = [None if one is None else numbers(one) for one in threads]
    compiled = lift.compile(
        program,
        known,
        local_size=local_size,
        num_groups=num_groups,
        array_access="array-access" not in without,
        barriers="barriers" not in without,
        control_flow="control-flow" not in without,
    )
    return {"views": lambda: compiled.views, "opencl": lambda: compiled.opencl, "ptx": lambda: compiled.ptx}[stage]()


def find_program(file: str, name: str | None) -> "Lambda":
    """Return the program that a file makes.

    Raises:
        DataError: The file cannot be read or run, or has no such program.
    """
    import runpy
    from pathlib import Path

    from drawloom.errors import DataError, Error
    from drawloom.lift import Lambda, parse_program

    path = Path(file)
    if not path.is_file():
        raise DataError(f"{file}: no such file")
    if path.suffix != ".py":
        return parse_program(path.read_text(encoding="utf-8"), file=file)
    try:
        variables = runpy.run_path(file, run_name="<lift>")
    except Error:
        raise
    except Exception as failure:
        raise DataError(f"{file}: running it failed: {type(failure).__name__}: {failure}") from None
    programs = {key: value for key, value in variables.items() if isinstance(value, Lambda) and is_program(value)}
    if name is not None:
        if name not in programs:
            raise DataError(f"{file}: no program {name}\n  expected {', '.join(programs) or 'a module variable'}")
        return programs[name]
    if len(programs) != 1:
        found = ", ".join(programs) if programs else "none"
        raise DataError(f"{file}: expected one program, found {found}; choose with --program NAME")
    return next(iter(programs.values()))


def is_program(value: "Lambda") -> bool:
    """Return True for a lambda whose parameters all have types."""
    return all(parameter.declared is not None for parameter in value.parameters)


def numbered(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not number.isdigit():
        raise click.UsageError(f"--size {text}: expected NAME=NUMBER")
    return name, int(number)


def numbers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdigit() for part in parts):
        raise click.UsageError(f"{text}: expected one to three numbers with commas between")
    return tuple([int(part) for part in parts])
