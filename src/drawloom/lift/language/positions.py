"""Where a part of a program was made: the Python line of a builder call, or the line and column of parsed text."""

from __future__ import annotations

import linecache
import os
import sys
from typing import Final

LANGUAGE_FOLDER: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Position:
    """A file and a line from 1; ``column`` is 0 for Python, whose frames do not say it, and ``line`` 0 if unknown.

    ``source_line`` is the text of the line where it is at hand, as for parsed text.
    """

    def __init__(self, file: str = "", line: int = 0, column: int = 0, source_line: str = "") -> None:
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line

    def read_source_line(self) -> str:
        """Return the text of the line, read from the Python file if it was not kept; "" where there is none."""
        return self.source_line or linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "unknown place"


NOWHERE: Final = Position()


def caller() -> Position:
    """Return the place of the innermost frame outside this package: the user's line that called a builder."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LANGUAGE_FOLDER):
        frame = frame.f_back
    return Position(frame.f_code.co_filename, frame.f_lineno)
