"""What a query is at, shown on a terminal once it has taken two seconds: its stage, and statements done of all."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from drawloom.horse.printer import print_statement

if TYPE_CHECKING:
    from drawloom.horse.ir import Statement

#: Seconds before anything is shown.
PATIENCE: Final = 2.0
#: What the stages of a query are called on the screen; the others by their own names.
_NAMES: Final = {"load": "reading columns", "horse": "translating", "prepare": "loading kernels", "ptx": "generating"}
_LABEL: Final = 48


class Progress:
    """Shown on standard error: ``shown`` True or False says whether, None where that is a terminal.

    The query tells of ``stage`` and ``step``, which cost next to nothing; a thread of its own draws.
    """

    def __init__(self, shown: bool | None = None) -> None:
        self.shown = _is_terminal(sys.stderr) if shown is None else shown
        self.label = ""
        self.done = 0
        self.all: int | None = None
        self.lock = threading.Lock()
        self.timer: threading.Timer | None = None
        self.bar: Any = None
        self.is_over = False

    def stage(self, name: str) -> None:
        """The query begins a stage."""
        self.label = _NAMES.get(name, name)
        self.draw()

    def run(self, statements: int) -> None:
        """The program begins to run."""
        self.done, self.all = 0, statements
        self.label = "running"

    def step(self, statement: Statement) -> None:
        """The program begins a statement. In loops a statement is counted every time, and the bar stays full."""
        self.label = ""
        if self.all is not None:
            self.done = min(self.done + 1, self.all)
        if self.bar is not None:
            self.label = print_statement(statement)[0]
            self.draw()

    def draw(self) -> None:
        with self.lock:
            if self.bar is not None:
                self.bar.update(0, description=self.label[:_LABEL], completed=max(self.done - 1, 0), total=self.all)

    def begin(self) -> None:
        """Makes the bar, in the timer's thread."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        with self.lock:
            if self.is_over:
                return
            bar.add_task("", total=None)
            bar.start()
            self.bar = bar
        self.draw()

    def __enter__(self) -> Progress:
        if self.shown:
            self.timer = threading.Timer(PATIENCE, self.begin)
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
        with self.lock:
            self.is_over = True
            if self.bar is not None:
                self.bar.stop()
                self.bar = None


def _is_terminal(stream: Any) -> bool:
    """Whether a stream, if there is one and it is open, is a terminal."""
    return stream is not None and not stream.closed and bool(stream.isatty())
