"""`drawloom lift`: a Lift program after each stage, down to OpenCL C, PTX and machine code."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from drawloom.lift import Lambda

STAGES = ("lift", "types", "views", "opencl", "ptx", "sass", "cubin")
#: The stages that machine code is made for.
MACHINE_CODE = ("sass", "cubin")
DEFAULT_ARCH = "sm_90"
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
@click.option("--sub-groups", is_flag=True, help="Sub-groups are warps of 32 work-items, with barriers of their own.")
@click.option("--check-indices", is_flag=True, help="Kernels check the indices that are data.")
@click.option("--arch", metavar="SM", help=f"The GPU of --emit sass and cubin; {DEFAULT_ARCH} otherwise.")
@click.option(
    "-o", "output", metavar="FILE", help="Where to write; standard output otherwise, and beside FILE for a cubin."
)
def command(
    file: str,
    stage: str,
    name: str | None,
    sizes: tuple[str, ...],
    local_size: str | None,
    num_groups: str | None,
    without: tuple[str, ...],
    sub_groups: bool,
    check_indices: bool,
    arch: str | None,
    output: str | None,
) -> None:
    """Compile the Lift program in FILE: Python that makes one, or Lift text (.lift).

    A Python file is run, and its module variables that are programs are the ones to choose from.
    """
    from drawloom.cli.outputs import refuse_to_overwrite, write_file

    if output is None:
        output = str(Path(file).with_suffix(".cubin")) if stage == "cubin" else STANDARD_STREAM
    refuse_to_overwrite(output, [file])
    if arch is not None and stage not in MACHINE_CODE:
        raise click.UsageError(f"--arch {arch} is for --emit sass and cubin, found --emit {stage}")
    options: dict[str, Any] = {
        "sizes": dict(numbered(size) for size in sizes),
        "local_size": None if local_size is None else numbers(local_size),
        "num_groups": None if num_groups is None else numbers(num_groups),
        "sub_groups": sub_groups,
        "check_indices": check_indices,
        **{switch: switch.replace("_", "-") not in without for switch in ("array_access", "barriers", "control_flow")},
    }
    content = emit(find_program(file, name), stage, options, arch or DEFAULT_ARCH)
    if output == STANDARD_STREAM:
        if stage == "cubin":
            click.echo(content, nl=False)
            return
        text = content.decode("utf-8")
        click.echo(text, nl=not text.endswith("\n"))
        return
    write_file(output, content)


def emit(program: "Lambda", stage: str, options: dict[str, Any], arch: str) -> bytes:
    """Return a program after a stage, as text in UTF-8 or as a cubin."""
    from drawloom import lift

    if stage == "lift":
        return lift.show_program(program).encode("utf-8")
    if stage == "types":
        return lift.show_types(program).encode("utf-8")
    compiled = lift.compile(program, **options)
    if stage in MACHINE_CODE:
        from drawloom.runtime.optimiser import Optimiser, chosen_level
        from drawloom.sass.assemble import assemble

        # As loading the program optimises its PTX.
        cubin = assemble(Optimiser(compiled.module, chosen_level(None)).whole(), arch)
        return bytes(cubin) if stage == "cubin" else cubin.disassembly().encode("utf-8")
    text: str = getattr(compiled, stage)
    return text.encode("utf-8")


def find_program(file: str, name: str | None) -> "Lambda":
    """Return the program that a file makes.

    Raises:
        DataError: The file cannot be read or run, or has no such program.
    """
    import runpy

    from drawloom.errors import DataError, Error
    from drawloom.lift import Lambda, parse_program

    path = Path(file)
    if not path.is_file():
        raise DataError(f"{file}: no such file")
    if path.suffix != ".py":
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            raise DataError(f"{file}: cannot be read as text: {failure}") from None
        return parse_program(text, file=file)
    try:
        variables = runpy.run_path(file, run_name="<lift>")
    except Error:
        raise
    except (Exception, SystemExit) as failure:
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
