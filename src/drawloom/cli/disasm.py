"""`drawloom disasm`: the machine code of a cubin, as nvdisasm prints it, with the scheduling bits."""

from pathlib import Path

import click

from drawloom.errors import DataError, Error


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--hex", "show_words", is_flag=True, help="Also print every instruction word.")
@click.option("--function", "only", default="", metavar="NAME", help="Only the section of this function.")
def command(file: Path, show_words: bool, only: str) -> None:
    """Disassemble the code sections of the cubin FILE.

    Behind every instruction stand its scheduling bits: the scoreboards it waits for (B), those it sets when its
    operands are read (R) and its result is written (W), Y where the warp may be switched, and the stall (S).
    """
    from drawloom.sass.listing import list_cubin

    try:
        data = file.read_bytes()
    except OSError as failure:
        raise DataError(f"cannot read {file}: {failure.strerror}") from failure
    try:
        listing = list_cubin(data, show_words, only)
    except Error as refusal:
        raise DataError(f"{file}: {refusal}") from refusal
    click.echo(listing, nl=False)
