"""Rows moved by kernels: ``@index``, ``@outer_index``, ``@compress``, ``@where``, ``@before``, ``@touched``,
``@index_a``, ``@concat``, and the same over lists. Masks become places by the scan of ``scan.py``, in the pass that
writes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.emit import Emitter
from drawloom.horse.evaluate import one_dictionary
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.rows import MAX_ROWS, ROW, Rounds, RowKernel, bits_of, integer64, storage_of, stored
from drawloom.horse.kernels.scan import Walk, scan, scanned
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.library import FunctionValue, top_range
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import ListValue, Ragged, Value, Vector, as_vector
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import U32

#: What a gather found in its positions: bits of one word.
_OUTSIDE: Final = 1
_NONE: Final = 2


# Gathers


def gathered(kernels: DeviceKernels, vector: Vector, places: Vector, outer: bool = False) -> Vector | None:
    """``vector`` at ``places``; with ``outer`` zero where a place is negative. None for operands that no kernel takes.

    Raises DataError for a place that the vector does not have.
    """
    storage, index = stored(vector), stored(places)
    if storage is None or index is None or index[0] == "f":
        return None
    workspace, rows = kernels.workspace, len(places)
    found = workspace.full(1, np.uint32, 0)
    made = workspace.empty(rows, vector.dtype)
    arguments = [
        workspace.column(vector, vector.dtype), workspace.column(places, places.dtype), made, found,
        len(vector),
    ]  # fmt: skip
    kernel = Gather(f"b{bits_of(storage)}", index, outer)
    kernel.run(kernels, f"gather_{bits_of(storage)}_{index}{'_outer' if outer else ''}", arguments, rows)
    seen = int(workspace.get(found, 1)[0])
    if seen & _OUTSIDE:
        raise DataError(f"a row is asked for that is none of {len(vector)}")
    if seen & _NONE and vector.type.kind == "text" and (not len(vector.words) or vector.words[0] != ""):
        return None
    return workspace.vector(vector.type, made, rows, vector.dictionary)


class Gather(RowKernel):
    """``to[row] = from[places[row]]``, and ``found`` what is to be known of the places."""

    def __init__(self, storage: str, index: str, outer: bool) -> None:
        super().__init__(["from", "places", "to", "found"], {"length": U32})
        self.storage = storage
        self.index = index
        self.outer = outer

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        source, places, target, found, length = bases
        place = integer64(emitter, self.index, emitter.load(self.index, places, at.row, at.inside))
        count = emitter.calc("cvt.u64.u32", length)
        known = emitter.both(at.inside, emitter.calc("setp.lt.u64", place, count))
        value = emitter.load(self.storage, source, emitter.calc("cvt.u32.u64", place), known)
        emitter.store(self.storage, target, at.row, value, at.inside)
        strange = emitter.both(at.inside, emitter.negated(known))
        with emitter.when(strange):
            seen = emitter.calc("mov.u32", _OUTSIDE)
            if self.outer:
                none = emitter.calc("setp.lt.s64", place, 0)
                seen = emitter.calc("selp.b32", _NONE, seen, none)
            emitter.put("red.global.or.b32", Address(found), seen)


def _index(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    return gathered(kernels, as_vector(arguments[0]), as_vector(arguments[1]))


def _outer_index(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    return gathered(kernels, as_vector(arguments[0]), as_vector(arguments[1]), True)


def _top(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    start, stop = top_range(arguments)
    return gathered(kernels, as_vector(arguments[0]), Vector(I64, np.arange(start, stop, dtype=ROW)))


def _each_right(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    function, vector, cells = arguments
    if not isinstance(function, FunctionValue) or function.name != "index" or not isinstance(cells, Ragged):
        return None
    flat = gathered(kernels, as_vector(vector), cells.flat)
    return None if flat is None else Ragged(flat, cells.offsets)


# Masks


class Chosen(Walk):
    """Rows where a mask is true: their numbers, or (with a ``storage``) the values there, go to ``to``."""

    is_mask = True

    def __init__(self, storage: str) -> None:
        self.storage = storage

    def declare(self, emitter: Emitter) -> None:
        for name in ("mask", "to", *(["from"] if self.storage else [])):
            emitter.pointer_param(name)
        self.mask, self.target = emitter.pointer("mask"), emitter.pointer("to")
        self.source = emitter.pointer("from") if self.storage else None

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        return emitter.calc("setp.ne.u32", emitter.load("u8", self.mask, row, inside), 0)

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        if self.source is None:
            emitter.store("u32", self.target, before, row, value)
        else:
            moved = emitter.load(self.storage, self.source, row, value)
            emitter.store(self.storage, self.target, before, moved, value)


class Ranks(Walk):
    """How many entries of a mask are true before each row, and behind the last how many there are."""

    is_mask = True
    writes_all = True

    def declare(self, emitter: Emitter) -> None:
        emitter.pointer_param("mask")
        emitter.pointer_param("ranks")
        self.mask, self.ranks = emitter.pointer("mask"), emitter.pointer("ranks")

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        return emitter.calc("setp.ne.u32", emitter.load("u8", self.mask, row, inside), 0)

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.ranks, row, before, inside)

    def finish(self, emitter: Emitter, total: Register, rows: Register) -> None:
        emitter.store("u32", self.ranks, rows, emitter.calc("cvt.u32.u64", total))


def _is_mask(vector: Vector) -> bool:
    return vector.valid is None and vector.dtype == bool and len(vector) <= MAX_ROWS


def chosen(kernels: DeviceKernels, mask: Vector, vector: Vector) -> Vector | None:
    """The entries of ``vector`` where the mask of the same length is true; None for what no kernel takes."""
    storage = stored(vector)
    if storage is None or not _is_mask(mask) or len(mask) != len(vector):
        return None
    workspace, rows = kernels.workspace, len(mask)
    made = workspace.empty(rows, vector.dtype)
    bits = f"b{bits_of(storage)}"
    arguments = [workspace.column(mask, bool), made, workspace.column(vector, vector.dtype)]
    count = scanned(kernels, f"compress_{bits}", Chosen(bits), arguments, rows)
    return workspace.vector(vector.type, made, count, vector.dictionary)


def ranks(kernels: DeviceKernels, mask: Vector) -> Memory:
    """How many entries of the mask are true before each position up to its length, 32 bits each."""
    workspace, rows = kernels.workspace, len(mask)
    if rows == 0:
        return workspace.full(1, np.uint32, 0)
    made = workspace.empty(rows + 1, np.uint32)
    scan(kernels, "ranks", Ranks(), [workspace.column(mask, bool), made], rows)
    return made


def _compress(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    return chosen(kernels, as_vector(arguments[0]), as_vector(arguments[1]))


def _where(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    mask = as_vector(arguments[0])
    if not _is_mask(mask):
        return None
    workspace = kernels.workspace
    made = workspace.empty(len(mask), ROW)
    count = scanned(kernels, "where", Chosen(""), [workspace.column(mask, bool), made], len(mask))
    return workspace.vector(I64, made, count)


def _before(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    mask, positions = as_vector(arguments[0]), as_vector(arguments[1])
    if not _is_mask(mask):
        return None
    counts = kernels.workspace.vector(I64, ranks(kernels, mask), len(mask) + 1)
    return gathered(kernels, counts, positions)


def _each_item(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    function, masks, cells = arguments
    if not isinstance(function, FunctionValue) or function.name != "compress":
        return None
    if not isinstance(masks, Ragged) or not isinstance(cells, Ragged):
        return None
    flat = chosen(kernels, masks.flat, cells.flat)
    if flat is None:
        return None
    counts = kernels.workspace.vector(I64, ranks(kernels, masks.flat), len(masks.flat) + 1)
    kept = gathered(kernels, counts, Vector(I64, masks.offsets))
    return None if kept is None else Ragged(flat, kept.data.astype(np.int64))


# Scatters and copies


class Touch(RowKernel):
    """``mask[places[row]] = 1``; ``found`` tells of places that there are not."""

    def __init__(self, index: str) -> None:
        super().__init__(["places", "mask", "found"], {"length": U32})
        self.index = index

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        places, mask, found, length = bases
        place = integer64(emitter, self.index, emitter.load(self.index, places, at.row, at.inside))
        known = emitter.calc("setp.lt.u64", place, emitter.calc("cvt.u64.u32", length))
        target = emitter.calc("cvt.u32.u64", place)
        emitter.store("u8", mask, target, emitter.calc("mov.u32", 1), emitter.both(at.inside, known))
        strange = emitter.both(at.inside, emitter.negated(known))
        emitter.put("red.global.or.b32", Address(found), _OUTSIDE, guard=strange)


def _touched(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    places, length = as_vector(arguments[0]), len(as_vector(arguments[1]))
    index = stored(places)
    if index is None or index[0] == "f" or length > MAX_ROWS:
        return None
    workspace = kernels.workspace
    made, found = workspace.full(length, np.uint8, 0), workspace.full(1, np.uint32, 0)
    memory = [workspace.column(places, places.dtype), made, found, length]
    Touch(index).run(kernels, f"touched_{index}", memory, len(places))
    if int(workspace.get(found, 1)[0]):
        raise DataError(f"a row is asked for that is none of {length}")
    return Vector(BOOL, workspace.get(made, length).view(bool))


class Last(RowKernel):
    """``last[places[row]]`` is the greatest such row and one, 0 without any; ``found`` tells of places that there are
    not."""

    def __init__(self, index: str) -> None:
        super().__init__(["places", "last", "found"], {"length": U32})
        self.index = index

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        places, last, found, length = bases
        place = integer64(emitter, self.index, emitter.load(self.index, places, at.row, at.inside))
        known = emitter.calc("setp.lt.u64", place, emitter.calc("cvt.u64.u32", length))
        address = emitter.element(last, emitter.calc("cvt.u32.u64", place), 4)
        written = emitter.calc("add.u32", at.row, 1)
        emitter.put("red.global.max.u32", address, written, guard=emitter.both(at.inside, known))
        strange = emitter.both(at.inside, emitter.negated(known))
        emitter.put("red.global.or.b32", Address(found), _OUTSIDE, guard=strange)


class Replace(RowKernel):
    """``to[row] = with[(last[row] - 1) * step]`` where ``last`` has a row, else ``from[row]``; integers widened."""

    def __init__(self, source: str, written: str, target: str) -> None:
        super().__init__(["last", "from", "with", "to"], {"step": U32})
        self.source = source
        self.written = written
        self.target = target

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        last, source, written, target, step = bases
        row = emitter.load("u32", last, at.row, at.inside)
        is_written = emitter.both(at.inside, emitter.calc("setp.ne.u32", row, 0))
        is_kept = emitter.both(at.inside, emitter.negated(is_written))
        place = emitter.calc("mul.lo.u32", emitter.calc("sub.u32", row, 1), step)
        for storage, base, at_row, guard in (
            (self.source, source, at.row, is_kept), (self.written, written, place, is_written),
        ):  # fmt: skip
            value = widened(emitter, storage, self.target, emitter.load(storage, base, at_row, guard))
            emitter.store(self.target, target, at.row, value, guard)


def _index_a(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """Indexed writes: which row writes each place last is known before anything is written, so that it does not depend
    on the order of threads."""
    vector, places, written = [as_vector(a) for a in arguments]
    index, rows = stored(places), len(places)
    if vector.type.kind == "text" and vector.dictionary is not written.dictionary:
        vector, written = one_dictionary([vector, written])
    source, other = stored(vector), stored(written)
    if index is None or index[0] == "f" or source is None or other is None or len(written) not in (1, rows):
        return None
    dtype: Any = np.result_type(vector.dtype, written.dtype)
    target = storage_of(np.empty(0, dtype=dtype))
    if target is None or (target[0] == "f") != (source[0] == "f"):
        return None
    workspace, length = kernels.workspace, len(vector)
    last, found = workspace.full(length, np.uint32, 0), workspace.full(1, np.uint32, 0)
    memory = [workspace.column(places, places.dtype), last, found, length]
    Last(index).run(kernels, f"last_{index}", memory, rows)
    if int(workspace.get(found, 1)[0]):
        raise DataError(f"@index_a: a position outside of the {length} rows")
    made = workspace.empty(length, dtype)
    columns = [workspace.column(v, v.dtype) for v in (vector, written)]
    kernel = Replace(source, other, target)
    kernel.run(kernels, f"replace_{source}_{other}_{target}", [last, *columns, made, int(len(written) > 1)], length)
    return workspace.vector(vector.type, made, length, vector.dictionary)


def widened(emitter: Emitter, source: str, target: str, value: Register) -> Register:
    """A loaded value as one that can be stored as ``target``."""
    return integer64(emitter, source, value) if bits_of(target) == 64 and target[0] != "f" else value


class Copy(RowKernel):
    """``to[start + row] = from[row]``, integers widened."""

    def __init__(self, source: str, target: str) -> None:
        super().__init__(["from", "to"], {"start": U32})
        self.source = source
        self.target = target

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        source, target, start = bases
        value = widened(emitter, self.source, self.target, emitter.load(self.source, source, at.row, at.inside))
        emitter.store(self.target, target, emitter.calc("add.u32", start, at.row), value, at.inside)


def _concat(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    return joined(kernels, [as_vector(a) for a in arguments])


def _raze(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    value = arguments[0]
    if isinstance(value, Ragged):
        return value.flat
    if not isinstance(value, ListValue) or not value.cells:
        return None
    parts = [as_vector(c) for c in value.cells]
    return joined(kernels, parts) if len({p.type for p in parts}) == 1 else None


def joined(kernels: DeviceKernels, parts: list[Vector]) -> Vector | None:
    """The parts one behind the other, as integers of the widest part's width; None for what no kernel takes."""
    if any(part.dictionary is not parts[0].dictionary for part in parts):
        parts = one_dictionary(parts)
    total = sum([len(part) for part in parts])
    if total > MAX_ROWS or any(stored(part) is None for part in parts):
        return None
    dtype: Any = np.result_type(*[part.dtype for part in parts])
    target = storage_of(np.empty(0, dtype=dtype))
    if target is None or (target[0] == "f") != (parts[0].dtype.kind == "f"):
        return None
    workspace = kernels.workspace
    made = workspace.empty(total, dtype)
    start = 0
    for part in parts:
        source = stored(part)
        assert source is not None
        memory = [workspace.column(part, part.dtype), made, start]
        Copy(source, target).run(kernels, f"copy_{source}_{target}", memory, len(part))
        start += len(part)
    return workspace.vector(parts[0].type, made, total, parts[0].dictionary)


#: Rows of the table of calls.
CALLS: Final[LibraryCalls] = {
    "index": _index, "top": _top, "outer_index": _outer_index, "each_right": _each_right,
    "compress": _compress, "where": _where, "before": _before, "each_item": _each_item,
    "touched": _touched, "index_a": _index_a, "concat": _concat, "raze": _raze,
}  # fmt: skip
