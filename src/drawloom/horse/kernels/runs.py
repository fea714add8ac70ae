"""Positions in sorted rows by kernels: ``@run_start``, ``@run_end``, ``@search``, ``@search_after``.

Runs are numbered by one scan, which also writes where each begins; each row then looks its run up.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.keys import KeyColumns, codes, key_columns
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel, integer64, stored
from drawloom.horse.kernels.scan import Walk, scan
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.types import I64
from drawloom.horse.values import ListValue, Value, Vector, as_vector
from drawloom.ptx.ir import Register
from drawloom.ptx.types import U32


class Begins(Walk):
    """Each row's run, in ``numbers``, and where each run begins, in ``starts``, with the number of rows behind."""

    is_mask = True
    writes_all = True

    def __init__(self, storages: list[str]) -> None:
        self.storages = storages

    def declare(self, emitter: Emitter) -> None:
        names = [f"column{n}" for n in range(len(self.storages))]
        for name in (*names, "numbers", "starts"):
            emitter.pointer_param(name)
        self.columns = [emitter.pointer(name) for name in names]
        self.numbers, self.starts = emitter.pointer("numbers"), emitter.pointer("starts")

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        differing = emitter.calc("mov.u64", 1)
        follows = emitter.both(inside, emitter.calc("setp.ne.u32", row, 0))
        with emitter.when(follows):
            emitter.put("mov.u64", differing, 0)
            above = codes(emitter, self.columns, emitter.calc("sub.u32", row, 1), self.storages)
            for one, other in zip(above, codes(emitter, self.columns, row, self.storages)):
                emitter.put("or.b64", differing, differing, emitter.calc("xor.b64", one, other))
        return emitter.both(inside, emitter.calc("setp.ne.u64", differing, 0))

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.starts, before, row, value)
        earlier = emitter.calc("sub.u32", before, 1)
        emitter.store("u32", self.numbers, row, emitter.calc("selp.b32", before, earlier, value), inside)

    def finish(self, emitter: Emitter, total: Register, rows: Register) -> None:
        emitter.store("u32", self.starts, emitter.calc("cvt.u32.u64", total), rows)


def runs(kernels: DeviceKernels, keys: KeyColumns) -> tuple[Memory, Memory, int]:
    """For each row the number of the run of equal keys that it is in; where each run begins, with the number of rows
    behind the last; how many runs there are. All of 32 bits."""
    numbers = kernels.workspace.empty(keys.rows, ROW)
    starts = kernels.workspace.empty(keys.rows + 1, ROW)
    arguments = [*keys.memory(kernels), numbers, starts]
    return numbers, starts, scan(kernels, f"runs_{keys.suffix}", Begins(keys.storages), arguments, keys.rows)


class Looked(RowKernel):
    """``to[row] = starts[numbers[row] + further]``."""

    def __init__(self) -> None:
        super().__init__(["numbers", "starts", "to"], {"further": U32})

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        numbers, starts, target, further = bases
        with emitter.when(at.inside):
            number = emitter.calc("add.u32", emitter.load("u32", numbers, at.row), further)
            emitter.store("u32", target, at.row, emitter.load("u32", starts, number))


def _run_bound(kernels: DeviceKernels, arguments: list[Value], further: int) -> Value | None:
    cells = arguments[0]
    keys = key_columns([as_vector(c) for c in cells.cells]) if isinstance(cells, ListValue) else None
    if keys is None:
        return None
    made = kernels.workspace.empty(keys.rows, ROW)
    if keys.rows:
        numbers, starts, _ = runs(kernels, keys)
        Looked().run(kernels, "runs_looked_up", [numbers, starts, made, further], keys.rows)
    return kernels.workspace.vector(I64, made, keys.rows)


class Search(RowKernel):
    """A binary search a row, over ``values`` from ``low`` to below ``high``."""

    def __init__(self, storages: list[str], after: bool) -> None:
        super().__init__(["values", "low", "high", "target", "to"], {"length": U32})
        self.storages = storages
        self.after = after

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        values, *others, made, length = bases
        with emitter.when(at.inside):
            loaded = [emitter.load(s, base, at.row) for s, base in zip(self.storages[1:], others)]
            low, high, target = [
                emitter.calc("mov.b64", integer64(emitter, s, v)) for s, v in zip(self.storages[1:], loaded)
            ]
            last = emitter.calc("sub.s64", emitter.calc("cvt.u64.u32", length), 1)
            with emitter.loop() as loop:
                loop.leave(emitter.calc("setp.ge.s64", low, high))
                middle = emitter.calc("shr.s64", emitter.calc("add.s64", low, high), 1)
                place = emitter.calc("max.s64", emitter.calc("min.s64", middle, last), 0)
                found = emitter.load(self.storages[0], values, emitter.calc("cvt.u32.u64", place))
                compare = "setp.le.s64" if self.after else "setp.lt.s64"
                is_low = emitter.calc(compare, integer64(emitter, self.storages[0], found), target)
                further = emitter.calc("add.s64", middle, 1)
                emitter.put("selp.b64", low, further, low, is_low)
                emitter.put("selp.b64", high, high, middle, is_low)
            emitter.store("u64", made, at.row, low)


def _search(kernels: DeviceKernels, arguments: list[Value], after: bool) -> Value | None:
    vectors = [as_vector(a) for a in arguments]
    storages = [stored(v) or "" for v in vectors]
    rows = len(vectors[1])
    if any(s in ("", "u64", "f32", "f64") for s in storages) or any(len(v) != rows for v in vectors[1:]):
        return None
    if not len(vectors[0]):
        return None
    workspace = kernels.workspace
    made = workspace.empty(rows, np.int64)
    memory = [workspace.column(v, v.dtype) for v in vectors]
    name = f"search{'_after' if after else ''}_{'_'.join(storages)}"
    Search(storages, after).run(kernels, name, [*memory, made, len(vectors[0])], rows)
    return Vector(I64, workspace.get(made, rows))


#: Rows of the table of calls.
CALLS: Final[LibraryCalls] = {
    "run_start": lambda kernels, arguments: _run_bound(kernels, arguments, 0),
    "run_end": lambda kernels, arguments: _run_bound(kernels, arguments, 1),
    "search": lambda kernels, arguments: _search(kernels, arguments, False),
    "search_after": lambda kernels, arguments: _search(kernels, arguments, True),
}
