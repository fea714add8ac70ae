"""Reductions of each cell of a list by kernels: ``@each(@sum, ...)``, ``@avg``, ``@min``, ``@max``, ``@len``.

The geometry of lists (thesis sections 4.3.3 and 6.1.2, figure 6.3): a thread, a quarter of a warp or a warp a cell, by
its rows on average; larger cells go round in a loop. Cells of very many rows are cut into pieces, each a cell of
its own to the kernel, and the host puts their results together.

Integers are added in two halves of 32 bits, neither of which overflows; floats with what each addition rounded away
(Knuth's TwoSum), so that a sum of n values is rounded once, give or take n**2 * 2**-106 of the sum of their magnitudes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.accumulate import two_sum
from drawloom.horse.emit import WARP, Emitter, float64
from drawloom.horse.evaluate import averages, exact, float_sum
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.keys import code
from drawloom.horse.kernels.rows import MAX_ROWS, Rounds, RowKernel, integer64, stored
from drawloom.horse.kernels.sort import ordered
from drawloom.horse.kernels.warps import shuffled
from drawloom.horse.types import F64, I64, I128, MAX_DIGITS, DecimalType, VectorType, scale_of
from drawloom.horse.values import INT64_MAX, INT64_MIN, Array, Ragged, Value, Vector
from drawloom.ptx.ir import Register

#: Most rows of a piece of a cell.
PIECE: Final = 1 << 14
#: Threads that a cell may have, each if cells have as many rows on average.
_WIDTHS: Final = (WARP, WARP // 4, 1)
_SIGN: Final = 1 << 63
_MOST: Final = (1 << 64) - 1
_LOW: Final = (1 << 32) - 1


class Reduce(RowKernel):
    """``width`` rows stand for a cell, which each takes every ``width``-th row of. ``function`` is "sum", of integers
    as their upper and lower halves and of floats as the sum and what it lacks, or "min" or "max" of ordered codes."""

    def __init__(self, function: str, storage: str, width: int) -> None:
        results = ["first", "second"] if function == "sum" else ["first"]
        super().__init__(["values", "begins", "ends", *results])
        self.function = function
        self.storage = storage
        self.width = width

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        values, begins, ends, *results = bases
        shift = self.width.bit_length() - 1
        if self.width == WARP:
            # All lanes of a warp have the same cell, and say so.
            warp = emitter.calc("shr.u32", at.place, shift)
            cell = emitter.calc("add.u32", emitter.calc("shr.u32", at.first, shift), warp)
        else:
            cell = emitter.calc("shr.u32", at.row, shift)
        part = emitter.calc("and.b32", at.place, self.width - 1)
        begin = emitter.calc("cvt.u32.u64", emitter.load("u64", begins, cell, at.inside))
        end = emitter.calc("cvt.u32.u64", emitter.load("u64", ends, cell, at.inside))
        row = emitter.calc("add.u32", begin, part)
        held = self.start(emitter)
        with emitter.loop() as loop:
            loop.leave(emitter.calc("setp.ge.u32", row, end))
            self.take(emitter, held, values, row)
            emitter.put("add.u32", row, row, self.width)
        lanes = self.width // 2
        while lanes:
            self.merge(emitter, held, [shuffled(emitter, h, "bfly", lanes) for h in held])
            lanes //= 2
        leads = emitter.both(at.inside, emitter.calc("setp.eq.u32", part, 0))
        for result, value in zip(results, held):
            emitter.store("f64" if value.type.is_float else "u64", result, cell, value, leads)

    def start(self, emitter: Emitter) -> list[Register]:
        if self.function != "sum":
            return [emitter.calc("mov.u64", _MOST if self.function == "min" else 0)]
        if self.storage[0] == "f":
            return [emitter.calc("mov.f64", float64(0.0)) for _ in range(2)]
        return [emitter.calc("mov.u64", 0) for _ in range(2)]

    def take(self, emitter: Emitter, held: list[Register], values: Register, row: Register) -> None:
        if self.function != "sum":
            value = ordered(emitter, self.storage, code(emitter, values, row, self.storage, keeps_sign=True))
            emitter.put(f"{self.function}.u64", held[0], held[0], value)
            return
        value = emitter.load(self.storage, values, row)
        if self.storage[0] == "f":
            two_sum(emitter, held, emitter.calc("cvt.f64.f32", value) if self.storage == "f32" else value)
            return
        value = integer64(emitter, self.storage, value)
        emitter.put("add.s64", held[0], held[0], emitter.calc("shr.s64", value, 32))
        emitter.put("add.s64", held[1], held[1], emitter.calc("and.b64", value, _LOW))

    def merge(self, emitter: Emitter, held: list[Register], other: list[Register]) -> None:
        if self.function != "sum":
            emitter.put(f"{self.function}.u64", held[0], held[0], other[0])
        elif self.storage[0] == "f":
            two_sum(emitter, held, other[0])
            emitter.put("add.rn.f64", held[1], held[1], other[1])
        else:
            for mine, others in zip(held, other):
                emitter.put("add.s64", mine, mine, others)


# Cells, pieces and results


def reduced(kernels: DeviceKernels, function: str, flat: Vector, begins: Array, ends: Array) -> Vector | None:
    """One value for each ``flat[begin:end]`` as ``evaluate.reduce_cells`` gives it; None for what no kernel takes.
    Raises DataError for an overflow."""
    type, counts = flat.type, ends - begins
    if function == "len":
        return Vector(I64, counts)
    storage = stored(flat)
    if storage is None or storage == "u64" or len(begins) * WARP > MAX_ROWS:
        return None
    if function in ("min", "max"):
        codes = _by_piece(kernels, function, storage, flat, begins, ends)[0]
        return Vector(type, _decoded(codes, counts, flat.dtype), flat.dictionary)
    upper, lower = _by_piece(kernels, "sum", storage, flat, begins, ends)
    if type.is_float:
        with np.errstate(all="ignore"):
            sums = np.where(np.isfinite(upper), upper + lower, upper)
            return Vector(F64, sums / counts if function == "avg" else sums)
    return of_halves(function, type, upper, lower, counts)


def of_halves(function: str, type: VectorType, upper: Array, lower: Array, counts: Array) -> Vector:
    """Sums or averages of integers of ``type`` from the sums of their upper and lower halves. Raises DataError."""
    exact_sums = _whole(upper, lower)
    if function == "avg":
        return Vector(F64, averages(exact_sums, counts, scale_of(type)))
    made: VectorType = DecimalType(MAX_DIGITS, type.scale) if isinstance(type, DecimalType) else I128
    return exact(made, exact_sums, "sum")


def _by_piece(
    kernels: DeviceKernels, function: str, storage: str, flat: Vector, begins: Array, ends: Array
) -> list[Array]:
    """The kernel's results for each cell."""
    is_float, cells = function == "sum" and storage[0] == "f", len(begins)
    firsts, begins, ends = _pieces(begins, ends)
    count, rows = len(begins), int((ends - begins).sum())
    width = next(w for w in _WIDTHS if w <= max(rows // max(count, 1), 1))
    workspace = kernels.workspace
    dtype = np.float64 if is_float else np.int64 if function == "sum" else np.uint64
    made = [workspace.empty(count, dtype) for _ in range(2 if function == "sum" else 1)]
    arguments = [workspace.column(flat, flat.dtype), workspace.put(begins), workspace.put(ends), *made]
    Reduce(function, storage, width).run(kernels, f"cells_{function}_{storage}_{width}", arguments, count * width)
    parts = [workspace.get(m, count) for m in made]
    if count == cells:
        return parts
    if is_float:
        return _merged_floats(parts, firsts)
    pick = {"sum": np.add, "min": np.minimum, "max": np.maximum}[function]
    return [np.asarray(pick.reduceat(part, firsts)) for part in parts]


def _pieces(begins: Array, ends: Array) -> tuple[Array, Array, Array]:
    """The cells cut into pieces: the first piece of each cell, where each piece begins, and where it ends."""
    begins = np.ascontiguousarray(begins, dtype=np.int64)
    ends = np.ascontiguousarray(ends, dtype=np.int64)
    each = np.maximum(-(-(ends - begins) // PIECE), 1)
    firsts = np.cumsum(each) - each
    if not len(each) or int(each.max()) == 1:
        return firsts, begins, ends
    within = np.arange(int(each.sum())) - np.repeat(firsts, each)
    starts = np.repeat(begins, each) + within * PIECE
    return firsts, starts, np.minimum(starts + PIECE, np.repeat(ends, each))


def _merged_floats(parts: list[Array], firsts: Array) -> list[Array]:
    """Sums of pieces, and what these lack, as those of cells."""
    sums, lacking = parts[0][firsts], parts[1][firsts]
    stops = np.append(firsts[1:], len(parts[0]))
    for cell in np.flatnonzero(stops - firsts > 1).tolist():
        pieces = slice(firsts[cell], stops[cell])
        given = parts[0][pieces]
        if np.isfinite(given).all():
            given = np.concatenate([given, parts[1][pieces]])
        sums[cell], lacking[cell] = float_sum(given), 0.0
    return [sums, lacking]


def _whole(upper: Array, lower: Array) -> Array:
    """The sums whose halves these are: Python integers where 64 bits do not do."""
    carried = upper + (lower >> 32)
    if not len(carried) or (int(carried.min()) >= INT64_MIN >> 32 and int(carried.max()) <= INT64_MAX >> 32):
        return np.asarray((carried << 32) | (lower & _LOW))
    return np.asarray((carried.astype(object) << 32) | (lower & _LOW).astype(object))


def _decoded(codes: Array, counts: Array, dtype: np.dtype[Any]) -> Array:
    """The values behind ordered codes; zero for cells of no rows."""
    if dtype.kind == "f":
        is_positive = codes >= np.uint64(_SIGN)
        values = np.where(is_positive, codes ^ np.uint64(_SIGN), ~codes).view(np.float64)
    else:
        values = (codes ^ np.uint64(_SIGN)).view(np.int64)
    return np.where(counts > 0, values, 0).astype(dtype)


def _each(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    from drawloom.horse.library import FunctionValue

    function, cells = arguments
    if not isinstance(function, FunctionValue) or not isinstance(cells, Ragged) or function.name not in _REDUCTIONS:
        return None
    made = reduced(kernels, function.name, cells.flat, cells.offsets[:-1], cells.offsets[1:])
    return None if made is None else Ragged(made, np.arange(cells.count + 1, dtype=np.int64))


_REDUCTIONS: Final = ("sum", "avg", "min", "max", "len")
#: Rows of the table of calls.
CALLS: Final[LibraryCalls] = {"each": _each}
