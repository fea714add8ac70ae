"""Where the files of `#include "NAME"` come from: the folder of the kernel's file, then the ready kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

#: Names of files, not paths to other folders.
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
INCLUDE: Final = re.compile(r'#[ \t]*include[ \t]*"([^"\n]*)"')


def includes_beside(file: str) -> Callable[[str], str | None]:
    """Return a function from the name of an included file to its text, None where there is no such text.

    Args:
        file: The kernel's file. What is not a file has no folder.
    """
    folder = Path(file).parent if is_file(file) else None

    def find(name: str) -> str | None:
        if not NAME.fullmatch(name):
            return None
        for place in (None if folder is None else folder / name, files("drawloom.batch.kernels") / name):
            if place is not None and place.is_file():
                try:
                    return place.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError):
                    return None
        return None

    return find


def included_texts(text: str, file: str) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of all files that a kernel's text may include, whatever macros are defined."""
    find = includes_beside(file)
    found: dict[str, str] = {}
    open_texts = [text]
    while open_texts:
        for name in INCLUDE.findall(open_texts.pop()):
            included = None if name in found else find(name)
            if included is not None:
                found[name] = included
                open_texts.append(included)
    return tuple(sorted(found.items()))


def is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False
