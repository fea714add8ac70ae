"""The text of a kernel file: places in it, and the errors that quote them."""

from __future__ import annotations

from typing import Final, NamedTuple

from drawloom.errors import ParseError, UnsupportedError, VerifyError

#: What some editors begin a text in UTF-8 with.
BYTE_ORDER_MARK: Final = "\ufeff"


class Position(NamedTuple):
    """A place in a kernel file; lines and columns count from 1. `file` is an included one, or nothing."""

    line: int
    column: int
    file: str = ""


class Source:
    """A kernel file: its name and its text, by line. `included` are the files that it includes, by name."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text.removeprefix(BYTE_ORDER_MARK)
        self.file = file
        self.lines = self.text.split("\n")
        self.included: dict[str, Source] = {}

    def at(self, position: Position) -> tuple[str, str]:
        """Return the name of a place's file, and its line."""
        source = self.included.get(position.file, self)
        lines = source.lines
        return source.file, lines[position.line - 1] if 0 < position.line <= len(lines) else ""

    def parse_error(self, message: str, position: Position, expected: str = "") -> BatchParseError:
        """Return an error for text that is outside the language."""
        file, line = self.at(position)
        return BatchParseError(message, file, position.line, position.column, line, expected)

    def type_error(self, message: str, position: Position, expected: str = "") -> BatchTypeError:
        """Return an error for a program that breaks a rule of the language."""
        file, line = self.at(position)
        return BatchTypeError(message, file, position.line, position.column, line, expected)


class BatchParseError(ParseError):
    """Text that is not in the subset of OpenCL C that kernels are written in."""


class BatchTypeError(VerifyError):
    """A kernel that breaks a rule of its language: types, sizes, lanes, indices."""


class MissingParserError(UnsupportedError):
    """pycparser is not installed."""
