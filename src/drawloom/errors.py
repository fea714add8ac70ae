"""Every exception that Drawloom raises on purpose, from a message and a place to the text a user reads.

Whatever a user hands in and we refuse raises `Error` or a subclass. `str(error)` is the whole report; the
command line prints exactly that and exits 1. This file imports nothing of ours, so every room may import it.
"""

from collections.abc import Sequence
from typing import Final

TAB_WIDTH: Final = 4
LONGEST_QUOTE: Final = 400  # characters of a source line in a report


class Error(Exception):
    """A refusal that the user can act on. `message` is the first line, without a place."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class SourceError(Error):
    """A refusal of text at one place.

    `line` and `column` count from 1; 0 means unknown, and `column` is 0 whenever `line` is. `source_line`
    is the text of that line without its newline, or "" when it is not at hand. `expected` says what would
    have been accepted there, or "" when the message says it already.
    """

    def __init__(
        self,
        message: str,
        file: str = "<text>",
        line: int = 0,
        column: int = 0,
        source_line: str = "",
        expected: str = "",
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line
        self.expected = expected

    def __str__(self) -> str:
        report = self.place() + ": " + self.message
        if self.source_line:
            report += "\n" + quote_line(self.source_line, self.column)
        if self.expected:
            report += "\n  expected " + self.expected
        return report

    def place(self) -> str:
        """`file:line:column`, leaving out what is unknown."""
        file = self.file or "<text>"
        if self.line <= 0:
            return file
        if self.column <= 0:
            return f"{file}:{self.line}"
        return f"{file}:{self.line}:{self.column}"


class ParseError(SourceError):
    """Text that is not in the language it should be in."""


class VerifyError(SourceError):
    """A well-formed program that breaks a rule of its language: types, labels, widths, versions."""


class LaunchError(Error):
    """A launch that was refused before it started, or that failed while running, on the named kernel."""

    def __init__(self, message: str, kernel: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel

    def __str__(self) -> str:
        return f"kernel {self.kernel}: {self.message}" if self.kernel else self.message


class KernelFault(LaunchError):
    """An error of the program while it runs, at a PTX line, a block and a thread of it where they are known.

    `thread` and `block` are (x, y, z), or None where the device cannot say. `line` is the PTX line, 0 if
    unknown, and `source_line` is its text.
    """

    def __init__(
        self,
        message: str,
        kernel: str = "",
        file: str = "",
        line: int = 0,
        source_line: str = "",
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
    ) -> None:
        super().__init__(message, kernel)
        self.file = file
        self.line = line
        self.source_line = source_line
        self.block = block
        self.thread = thread

    def __str__(self) -> str:
        report = f"kernel {self.kernel}: {self.message}" if self.kernel else self.message
        if self.block is not None:
            report += f"\n  in block {self.block}"
        if self.thread is not None:
            report += f"\n  in thread {self.thread}"
        if self.line > 0:
            report += f"\n  at {self.file or 'PTX'}:{self.line}"
            if self.source_line:
                report += "\n" + quote_line(self.source_line, 0)
        return report


class MemoryAccessError(KernelFault):
    """An access outside every buffer, or not aligned to its size. `address` and `size` are in bytes; `size` is 0
    where the device cannot say."""

    def __init__(
        self,
        message: str,
        kernel: str = "",
        file: str = "",
        line: int = 0,
        source_line: str = "",
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        address: int = 0,
        size: int = 0,
    ) -> None:
        super().__init__(message, kernel, file, line, source_line, block, thread)
        self.address = address
        self.size = size

    def __str__(self) -> str:
        where = f"\n  address 0x{self.address:x}, {self.size} bytes" if self.size else ""
        return super().__str__() + where


class DeadlockError(KernelFault):
    """Threads that wait for something no thread can do any more."""


class RaceError(KernelFault):
    """Two unordered accesses of different threads to the same bytes, at least one of them a write."""


class DeviceError(Error):
    """A device that does not exist, does not answer, or reported a failure of its own."""


class UnsupportedError(Error):
    """A correct program that asks for what is not built. `items` holds everything unsupported, in order."""

    def __init__(self, message: str, items: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.items: list[str] = list(items)

    def __str__(self) -> str:
        return self.message + "".join("\n  - " + item for item in self.items)


class CacheError(Error):
    """The kernel cache cannot be used: its folder cannot be made, read or written."""


class DataError(Error):
    """Data that cannot be read or held: a missing or damaged file, a wrong type, an overflow."""


class StatementError(DataError):
    """Data that one statement of a program cannot take, at its place; ``line`` is 0 where that is unknown."""

    def __init__(self, message: str, report: str, line: int = 0) -> None:
        super().__init__(message)
        self.report = report
        self.line = line

    def __str__(self) -> str:
        return self.report


class OutOfMemoryError(Error):
    """What was asked for needs more memory than the limit allows, or than the machine has. Nothing is left behind."""


def quote_line(source_line: str, column: int) -> str:
    """`source_line` indented by two, and under it a caret at `column` (from 1; 0 draws none).

    Tabs become spaces so that the caret stands under the character it means. Of a very long line only the
    part around the column is shown.
    """
    if len(source_line) > LONGEST_QUOTE:
        start = max(0, min(column - LONGEST_QUOTE // 2, len(source_line) - LONGEST_QUOTE))
        source_line = source_line[start : start + LONGEST_QUOTE]
        column = max(0, column - start)
    shown = "  " + source_line.expandtabs(TAB_WIDTH).rstrip()
    if column <= 0:
        return shown
    width = len(source_line[: column - 1].expandtabs(TAB_WIDTH))
    return shown + "\n  " + " " * width + "^"


def count(number: int, word: str) -> str:
    """Return a number with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
