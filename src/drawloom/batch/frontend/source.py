"""The text of a kernel file: places in it, and the errors that quote them."""

from __future__ import annotations

from typing import NamedTuple

from drawloom.errors import ParseError, UnsupportedError, VerifyError


class Position(NamedTuple):
    """A place in a kernel file; lines and columns count from 1."""

    line: int
    column: int


class Source:
    """A kernel file: its name and its text, by line."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = text.split("\n")

    def line_at(self, position: Position) -> str:
        return self.lines[position.line - 1] if 0 < position.line <= len(self.lines) else ""

    def parse_error(self, message: str, position: Position, expected: str = "") -> BatchParseError:
        """Return an error for text that is outside the language."""
        return BatchParseError(message, self.file, position.line, position.column, self.line_at(position), expected)

    def type_error(self, message: str, position: Position, expected: str = "") -> BatchTypeError:
        """Return an error for a program that breaks a rule of the language."""
        return BatchTypeError(message, self.file, position.line, position.column, self.line_at(position), expected)


class BatchParseError(ParseError):
    """Text that is not in the subset of OpenCL C that kernels are written in."""


class BatchTypeError(VerifyError):
    """A kernel that breaks a rule of its language: types, sizes, lanes, indices."""


class MissingParserError(UnsupportedError):
    """pycparser is not installed."""
