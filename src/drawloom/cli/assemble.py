"""`drawloom as`: PTX to a cubin, with ptxas's options, so that it can stand in its place in a build."""

import os
import sys
import tempfile
from pathlib import Path

import click

from drawloom.errors import DataError


@click.command(name="as")
@click.argument("files", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), nargs=-1, required=True)
@click.option(
    "-arch", "--gpu-name", "--gpu-architecture", "arch", default="sm_90", show_default=True, help="Target: sm_90."
)
@click.option("-o", "--output-file", "output", type=click.Path(path_type=Path), help="The cubin (one input file).")
@click.option("-v", "--verbose", is_flag=True, help="Print registers, stack, spills and memory of every kernel.")
@click.option("-O", "--opt-level", type=click.IntRange(0, 4), default=3, help="0 keeps the program's order.")
@click.option(
    "-maxrregcount", "--maxrregcount", "registers", type=click.IntRange(16, 255), default=255, help="Registers."
)
@click.option("--schedule", type=click.Choice(["list", "serial"]), default="list", help="serial waits for everything.")
@click.option("--cuda", type=click.Choice(["12", "13"]), default="12", show_default=True, help="Layout of the file.")
def command(
    files: tuple[Path, ...],
    arch: str,
    output: Path | None,
    verbose: bool,
    opt_level: int,
    registers: int,
    schedule: str,
    cuda: str,
) -> None:
    """Assemble the PTX FILES, each to a cubin beside it (FILE.cubin), or to -o; - is standard input.

    An option that ptxas has and that is not listed here is refused by name.
    """
    from drawloom.sass.assemble import assemble

    if output is not None and len(files) > 1:
        raise click.UsageError("-o takes one input file")
    for file in files:
        text, name = read(file)
        serial = schedule == "serial" or opt_level == 0
        cubin = assemble(text, arch, max_registers=registers, serial=serial, cuda=int(cuda), filename=name)
        write(output or (Path("elf.cubin") if name == "<stdin>" else file.with_suffix(".cubin")), bytes(cubin))
        if verbose:
            click.echo(cubin.report(), nl=False, err=True)


def read(file: Path) -> tuple[str, str]:
    """The text of a file and the name that errors call it."""
    if str(file) == "-":
        return sys.stdin.read(), "<stdin>"
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape"), str(file)
    except OSError as failure:
        raise DataError(f"cannot read {file}: {failure.strerror}") from failure


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as failure:
        raise DataError(f"cannot write {path}: {failure.strerror}") from failure
