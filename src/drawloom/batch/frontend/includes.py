"""Where the files of `#include "NAME"` come from: the folder of the kernel's file, then the ready kernels."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

from drawloom.batch.frontend.source import BatchParseError

#: Names of files, not paths to other folders.
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
INCLUDE: Final = re.compile(r'#[ \t]*include[ \t]*"([^"\n]*)"')


Find = Callable[[str], str | None]


def find_ready(name: str) -> str | None:
    """Return the text of a ready kernel's file by its name, None where there is none."""
    if not NAME.fullmatch(name):
        return None
    place = files("drawloom.batch.kernels") / name
    return place.read_text(encoding="utf-8") if place.is_file() else None


def find_beside(folder: Path) -> Find:
    """Return a function that finds the text of a file in a folder, else among the ready kernels."""

    def find(name: str) -> str | None:
        if not NAME.fullmatch(name):
            return None
        if not (folder / name).is_file():
            return find_ready(name)
        try:
            return read_file(folder / name, name)
        except OSError:
            return None

    return find


def included_texts(text: str, find: Find) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of all files that a kernel's text may include, whatever macros are defined."""
    found: dict[str, str] = {}
    open_texts = [text]
    while open_texts:
        for name in INCLUDE.findall(open_texts.pop()):
            included = None if name in found else find(name)
            if included is not None:
                found[name] = included
                open_texts.append(included)
    return tuple(sorted(found.items()))


def read_file(path: Path, name: str) -> str:
    """Return the text of a file.

    Args:
        path: The file.
        name: What errors call the file.

    Raises:
        BatchParseError: A byte is not UTF-8.
        OSError: The file cannot be read.
    """
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as failure:
        begin = data.rfind(b"\n", 0, failure.start) + 1
        line = data[begin:].split(b"\n", 1)[0].decode("utf-8", "replace")
        column = len(data[begin : failure.start].decode("utf-8")) + 1
        message = f"the byte 0x{data[failure.start]:02x} is not UTF-8"
        number = data.count(b"\n", 0, begin) + 1
        raise BatchParseError(message, name, number, column, line, "a text in UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
