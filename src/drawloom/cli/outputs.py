"""The output file of a command: checked against the files that the command reads, and written whole or not at all."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Final

import click

from drawloom.errors import DataError
from drawloom.files import find_overwritten, whole_file

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


def write_file(path: str | PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file. What is not a plain file there, as /dev/null, is written to.
        data: The content.

    Raises:
        DataError: The system refuses.
    """
    try:
        with whole_file(path) as file:
            file.write(data)
    except OSError as failure:
        raise DataError(f"cannot write {fspath(path)}: {failure.strerror}") from failure
