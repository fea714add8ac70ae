"""What every command that writes a file asks first: whether the file is one that the command reads."""

from collections.abc import Iterable
from os import PathLike
from typing import Final

import click

from drawloom.errors import DataError
from drawloom.files import find_overwritten

STANDARD_STREAM: Final = "-"


def refuse_to_overwrite(output: str | PathLike[str], inputs: Iterable[str | PathLike[str]], in_place: str = "") -> None:
    """Refuse an output file that is also an input file.

    Args:
        output: The path that the command will write.
        inputs: The paths that the command reads; `-` and other names without a file are ignored.
        in_place: The option of the command that allows it, "" if there is none.

    Raises:
        DataError: `output` is one of `inputs`, or a symbolic or hard link to one.
    """
    found = find_overwritten(output, inputs)
    if found:
        remedy = f"name another output, or add {in_place}" if in_place else "name another output"
        raise DataError(f"{output}: the output would overwrite the input {found}\n  expected another file: {remedy}")


def choose_output(file: str, output: str, in_place: bool) -> str:
    """Return where the rewritten `file` goes: `output`, or `file` itself with --in-place.

    Raises:
        UsageError: --in-place with another output, or with standard input.
        DataError: `output` is `file` without --in-place.
    """
    if not in_place:
        refuse_to_overwrite(output, [file], "--in-place")
        return output
    if file == STANDARD_STREAM:
        raise click.UsageError("--in-place needs a file, found standard input")
    if output not in (STANDARD_STREAM, file):
        raise click.UsageError(f"--in-place writes {file}, and -o names {output}: expected one of the two")
    return file
