"""`drawloom build`: CUDA C++ or OpenCL C to PTX, to machine code, or to its listing."""

from pathlib import Path

import click

from drawloom.cli.sources import is_source, options_of, translate
from drawloom.errors import DataError

STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--emit", type=click.Choice(["ptx", "cubin", "sass"]), default="ptx", show_default=True,
              help="What to make; sass is the listing of the cubin.")  # fmt: skip
@click.option("--arch", default="sm_80", show_default=True, metavar="sm_NN", help="The GPU that it is for.")
@click.option("-o", "output", metavar="FILE", help="Where to write; text goes to standard output otherwise.")
@options_of
def command(
    file: str, emit: str, arch: str, output: str | None, defines: tuple[str, ...], includes: tuple[str, ...],
    standard: str, level: int, line_info: bool, fast_math: bool,
) -> None:  # fmt: skip
    """Compile the kernels of FILE, CUDA C++ (.cu) or OpenCL C (.cl), with clang and, for machine code, our assembler.

    No CUDA toolkit takes part. A cubin is written beside FILE unless -o names another place.
    """
    from drawloom.cli.opt import write
    from drawloom.cli.outputs import refuse_to_overwrite
    from drawloom.cuda.compiler import Options, verified

    if not is_source(file):
        raise click.UsageError(f"{file}: expected a .cu or .cl file")
    if output is None and emit == "cubin":
        output = str(Path(file).with_suffix(".cubin"))
    if output is not None:
        refuse_to_overwrite(output, [file])
    options = Options(standard, level, defines, includes, line_info, fast_math)
    translated = translate(file, arch, options)
    text, module = translated.ptx, verified(translated)
    if emit == "ptx":
        write(STANDARD_STREAM if output is None else output, text)
        return
    from drawloom.opt import optimize
    from drawloom.sass.assemble import assemble

    cubin = assemble(optimize(module, min(level, 2)) if level else module, arch, line_info=line_info)
    for warning in cubin.warnings:
        click.echo(f"warning: {file}: {warning}", err=True)
    if emit == "cubin":
        if output is None or output == STANDARD_STREAM:
            raise DataError("a cubin is no text: name a file with -o")
        cubin.save(output)
        return
    from drawloom.sass.listing import list_cubin

    write(STANDARD_STREAM if output is None else output, list_cubin(bytes(cubin)))
