"""A run of HorseIR to a record of its calls: what each was given and gave, and how long it took.

The interpreter tells a ``Watch`` of every statement and call; without one it does nothing for it. Time that calls
within a call take is theirs, so that the seconds of all records add up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.ir import Assign, Call, Function, Statement
from drawloom.horse.values import Dictionary, ListValue, Ragged, TableValue, Value, Vector

if TYPE_CHECKING:
    from drawloom.runtime.module import Launch

#: What a record is of: a kernel of the program, a library function, other work of the host over rows.
KERNEL: Final = "kernel"
LIBRARY: Final = "library"
HOST: Final = "host"


class Record:
    """One call. ``statement`` is that of ``main`` which it is part of, ``depth`` how many calls are around it;
    ``target`` is the variable that it makes; ``rows_in`` has each length of its operands once, the largest first,
    ``bytes_in`` and ``bytes_out`` what operands and results take in memory.

    ``seconds`` is the call without what was compiled for it and without calls inside it; ``launches`` are the kernels
    that it launched.
    """

    def __init__(self, kind: str, name: str, statement: Statement, target: str) -> None:
        self.kind = kind
        self.name = name
        self.statement = statement
        self.target = target
        self.depth = 0
        self.rows_in: list[int] = []
        self.rows_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.seconds = 0.0
        self.launches: list[Launch] = []
        # While it runs: when it began, what calls inside it took, and how many launches there were before it.
        self.begun = 0.0
        self.inside = 0.0
        self.launched = 0


class Watch:
    """``step`` is called before every statement; it may raise. With ``launches``, the list that the runtime adds every
    launch to, each call leaves a record in ``records``, in the order in which they began."""

    def __init__(self, step: Callable[[Statement], None] | None = None, launches: list[Launch] | None = None) -> None:
        self.step = step
        self.launches = launches
        self.records: list[Record] = []
        self.open: list[Record] = []
        self.statement: Statement | None = None

    def begin_statement(self, statement: Statement) -> None:
        self.statement = statement
        if self.step is not None:
            self.step(statement)

    def begin(self, call: Call, own: Function | None, arguments: list[Value]) -> None:
        if self.launches is None:
            return
        statement = self.statement
        assert statement is not None
        name = call.function.name
        if own is not None:
            kind = KERNEL if own.is_kernel else HOST
        else:
            kind = LIBRARY if BUILTINS[name].target == "lib" else HOST
        target = statement.targets[0].name if isinstance(statement, Assign) else ""
        record = Record(kind, name, self.open[0].statement if self.open else statement, target)
        record.depth = len(self.open)
        lengths: set[int] = set()
        for value in arguments:
            rows, size = extent(value)
            lengths.add(rows)
            record.bytes_in += size
        record.rows_in = sorted([r for r in lengths if r >= 0], reverse=True)
        record.launched = len(self.launches)
        self.open.append(record)
        self.records.append(record)
        record.begun = time.perf_counter()

    def end(self, results: list[Value]) -> None:
        if self.launches is None:
            return
        record = self.open.pop()
        for launch in self.launches[record.launched :]:
            launch.wait()  # on a device apart: its time is the call's
        took = time.perf_counter() - record.begun
        if self.open:
            self.open[-1].inside += took
        record.launches = self.launches[record.launched :]
        del self.launches[record.launched :]  # a call around this one does not have them too
        record.seconds = max(took - record.inside - sum([n.compile_seconds for n in record.launches]), 0.0)
        for value in results:
            rows, size = extent(value)
            record.rows_out = max(record.rows_out, rows)
            record.bytes_out += size


def extent(value: Value) -> tuple[int, int]:
    """The rows and bytes of a value: those of a list's longest cell and of all its cells; -1 rows for no data."""
    if isinstance(value, Vector):
        return len(value), value.nbytes
    if isinstance(value, Ragged):
        return len(value.flat), value.flat.nbytes + value.offsets.nbytes
    if isinstance(value, Dictionary):
        rows, size = extent(value.values)
        return rows, size + value.keys.nbytes
    cells: list[Value] = []
    if isinstance(value, ListValue):
        cells = value.cells
    elif isinstance(value, TableValue) and value.source is None:
        cells.extend(value.columns)
    found = [extent(cell) for cell in cells]
    return max([rows for rows, _ in found], default=-1), sum([size for _, size in found])
