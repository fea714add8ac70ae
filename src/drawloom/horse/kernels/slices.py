"""Reductions of slices of sorted rows by kernels, the frames of window functions: ``@each_slice``.

Slices of few rows are reduced as cells are (``cells.py``). Sums of integers over longer ones are differences of
running sums, made by two scans: of the upper halves, moved so that none is negative, and of the lower ones. Doubles,
least and greatest values of long slices are the host's, which makes blocks of 1, 2, 4, ... rows first and so looks
at no row more often than there are such.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.cells import of_halves, reduced
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.rows import Rounds, RowKernel, integer64, stored
from drawloom.horse.kernels.scan import offsets
from drawloom.horse.library import FunctionValue
from drawloom.horse.values import Array, Ragged, Value, Vector, as_vector
from drawloom.ptx.ir import Register

#: Rows that a slice has at most, on average, where each of them is looked at for it.
_SHORT: Final = 16
#: What is added to upper halves.
_BIAS: Final = 1 << 31
#: Rows whose halves add up to less than the 62 bits of a scan.
_MOST: Final = 1 << 30


def each_slice(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@each_slice(function, vector, low, high)``."""
    function, values = arguments[0], as_vector(arguments[1])
    if not isinstance(function, FunctionValue) or function.name not in ("sum", "avg", "min", "max"):
        return None
    low, high = [as_vector(a).data.astype(np.int64, copy=False) for a in arguments[2:]]
    # Rows of one frame follow each other: whole partitions and peers are reduced once.
    differs = np.ones(len(low), dtype=bool)
    differs[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first = np.flatnonzero(differs)
    begins, ends = low[first], high[first]
    made = _reduced(kernels, function.name, values, begins, ends)
    if made is None:
        return None
    each = made if len(first) == len(low) else made.take(np.cumsum(differs) - 1)
    return Ragged(each, np.arange(len(low) + 1, dtype=np.int64))


def _reduced(kernels: DeviceKernels, name: str, values: Vector, begins: Array, ends: Array) -> Vector | None:
    if int((ends - begins).sum()) <= max(_SHORT * len(begins), len(values)):
        return reduced(kernels, name, values, begins, ends)
    storage = stored(values)
    if storage is None or storage[0] != "s" or name not in ("sum", "avg") or len(values) >= _MOST:
        return None
    rows, workspace = len(values), kernels.workspace
    halves = [workspace.full(rows + 1, np.uint32, 0) for _ in range(2)]
    column = workspace.column(values, values.dtype)
    _Halves(storage).run(kernels, f"halves_{storage}", [column, *halves], rows)
    running = [offsets(kernels, half, rows + 1, True)[0] for half in halves]
    made = [workspace.empty(len(begins), np.int64) for _ in range(2)]
    bounds = [workspace.put(np.ascontiguousarray(b)) for b in (begins, ends)]
    _Between(["upper", "lower", "begins", "ends", "uppers", "lowers"]).run(
        kernels, "sums_between", [*running, *bounds, *made], len(begins)
    )
    upper, lower = [workspace.get(m, len(begins)) for m in made]
    return of_halves(name, values.type, upper, lower, ends - begins)


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {"each_slice": each_slice}


class _Halves(RowKernel):
    """Integers as their upper 32 bits, plus 2**31, and their lower ones."""

    def __init__(self, storage: str) -> None:
        super().__init__(["values", "upper", "lower"])
        self.storage = storage

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        values, upper, lower = bases
        value = integer64(emitter, self.storage, emitter.load(self.storage, values, at.row, at.inside))
        high = emitter.calc("cvt.u32.u64", emitter.calc("shr.s64", value, 32))
        emitter.store("u32", upper, at.row, emitter.calc("xor.b32", high, -_BIAS), at.inside)
        emitter.store("u32", lower, at.row, emitter.calc("cvt.u32.u64", value), at.inside)


class _Between(RowKernel):
    """The sums of halves between two rows of running sums."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        upper, lower, begins, ends, uppers, lowers = bases
        with emitter.when(at.inside):
            begin, end = [emitter.calc("cvt.u32.u64", emitter.load("u64", b, at.row)) for b in (begins, ends)]
            for running, to in ((upper, uppers), (lower, lowers)):
                sums = [emitter.load("u64", running, place) for place in (end, begin)]
                made = emitter.calc("sub.s64", *sums)
                if running is upper:
                    count = emitter.calc("cvt.u64.u32", emitter.calc("sub.u32", end, begin))
                    made = emitter.calc("sub.s64", made, emitter.calc("shl.b64", count, 31))
                emitter.store("u64", to, at.row, made)
