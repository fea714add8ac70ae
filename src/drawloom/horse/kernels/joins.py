"""Joins by kernels (thesis section 4.3.4): a table of the shorter side's keys is asked for the longer side's.

Pairs are written in the order of the longer side's rows, then of the other's. Rows with a partner are kept, which is
all where no key is repeated. Else each one's partners are counted, a prefix sum says where its pairs go, and they are
written, 32 rows' by the warp that has them in its lanes: pair after pair in neighbouring lanes, however uneven the
counts are.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import WARP, Emitter
from drawloom.horse.kernels import hashing
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.keys import KeyColumns, key_pairs
from drawloom.horse.kernels.radix import radix_sort
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel, tile_for
from drawloom.horse.kernels.scan import Walk, offsets, scan, scanned
from drawloom.horse.kernels.warps import shuffled
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.library import columns_of
from drawloom.horse.matching import check_pairs
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import ListValue, Value, Vector, as_vector
from drawloom.ptx.ir import Module, Register
from drawloom.ptx.ir import Vector as Pair
from drawloom.ptx.types import U32


def join(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@join(keys, keys)``."""
    both = key_pairs(columns_of(arguments[0]), columns_of(arguments[1]))
    if both is None:
        return None
    left, right = both
    if left.rows < right.rows:
        rows, partners = _pairs(kernels, left, right)
        return ListValue([partners, rows])
    return ListValue([*_pairs(kernels, right, left)])


def contains(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@contains(keys, keys)``."""
    both = key_pairs(columns_of(arguments[0]), columns_of(arguments[1]))
    return None if both is None else _masked(kernels, both[0], both[1])


def member(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@member(vector, options)``."""
    both = key_pairs([as_vector(arguments[0])], [as_vector(arguments[1])])
    return None if both is None else _masked(kernels, both[0], both[1])


def _masked(kernels: DeviceKernels, left: KeyColumns, right: KeyColumns) -> Vector:
    if left.rows < right.rows:
        made = hashing.found_by(kernels, left, right)
    else:
        made = hashing.contains(kernels, hashing.build(kernels, right, left, None), left)
    return kernels.workspace.vector(BOOL, made, left.rows)


def cross(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@cross(a, b)``."""
    left, right = [len(as_vector(a)) for a in arguments]
    check_pairs(left * right)
    sides = [kernels.workspace.empty(left * right, ROW) for _ in range(2)]
    _Cross(["left", "right"], {"width": U32}).run(kernels, "cross", [*sides, right], left * right)
    return ListValue([kernels.workspace.vector(I64, side, left * right) for side in sides])


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {
    "join": join, "contains": contains, "member": member, "cross": cross,
}  # fmt: skip


class _Cross(RowKernel):
    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        left, right, width = bases
        row = emitter.calc("div.u32", at.row, width)
        emitter.store("u32", left, at.row, row, at.inside)
        column = emitter.calc("sub.u32", at.row, emitter.calc("mul.lo.u32", row, width))
        emitter.store("u32", right, at.row, column, at.inside)


# Pairs of equal keys


def _pairs(kernels: DeviceKernels, keys: KeyColumns, probing: KeyColumns) -> tuple[Vector, Vector]:
    """The rows of ``probing`` and of ``keys`` of every pair, in that order."""
    leaders = kernels.workspace.empty(keys.rows, ROW)
    table = hashing.build(kernels, keys, probing, leaders)
    found = hashing.find(kernels, table, probing)
    table.memory = None
    hits = [kernels.workspace.empty(probing.rows, ROW) for _ in range(2)]
    count = scanned(kernels, "hits", _Hits(), [found, *hits], probing.rows)
    del found
    if table.repeats:
        hits, count = _expanded(kernels, leaders, keys.rows, hits, int(count))
    rows, partners = [kernels.workspace.vector(I64, side, count) for side in hits]
    return rows, partners


def _expanded(
    kernels: DeviceKernels, leaders: Memory, rows: int, hits: list[Memory], count: int
) -> tuple[list[Memory], int]:
    """The pairs of rows with each of the ``rows`` rows that have their partner for a leader."""
    counts, words = kernels.workspace.full(rows, np.uint32, 0), kernels.workspace.empty(rows, np.uint64)
    _Count(["leaders", "counts", "words"]).run(kernels, "count_rows", [leaders, counts, words], rows)
    starts, _ = offsets(kernels, counts, rows)
    by_leader = radix_sort(kernels, words, rows, 32, 32 + rows.bit_length())
    ends = kernels.workspace.empty(count, np.uint32)
    total = scan(kernels, "ends_of_pairs", _Ends(), [hits[1], counts, ends], count)
    check_pairs(total)
    sides = [kernels.workspace.empty(total, ROW) for _ in range(2)]
    if total:
        threads = tile_for(kernels.device).threads
        kernel = kernels.kernel("write_pairs", _write_pairs)
        kernel[-(-count // threads), threads](*hits, ends, starts, by_leader, *sides, count)
    return sides, total


class _Hits(Walk):
    """The rows that have a partner, and it."""

    is_mask = True

    def declare(self, emitter: Emitter) -> None:
        for name in ("found", "rows_out", "partners_out"):
            emitter.pointer_param(name)
        self.found, self.rows, self.partners = [emitter.pointer(n) for n in ("found", "rows_out", "partners_out")]

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        self.partner = emitter.load("s32", self.found, row, inside)
        return emitter.both(inside, emitter.calc("setp.ge.s32", self.partner, 0))

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.rows, before, row, value)
        emitter.store("u32", self.partners, before, self.partner, value)


class _Count(RowKernel):
    """Counts the rows of each leader, and makes words of leader and row."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        leaders, counts, words = bases
        leader = emitter.load("u32", leaders, at.row, at.inside)
        emitter.put("red.global.add.u32", emitter.element(counts, leader, 4), 1, guard=at.inside)
        emitter.store("u64", words, at.row, emitter.calc("mov.b64", Pair([at.row, leader])), at.inside)


class _Ends(Walk):
    """Where the pairs of each row end."""

    def declare(self, emitter: Emitter) -> None:
        for name in ("found", "counts", "ends"):
            emitter.pointer_param(name)
        self.found, self.counts, self.ends = [emitter.pointer(n) for n in ("found", "counts", "ends")]

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        return emitter.load("u32", self.counts, emitter.load("u32", self.found, row, inside), inside)

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.ends, row, emitter.calc("add.u32", before, value), inside)


def _write_pairs(name: str) -> Module:
    """A warp has 32 rows and writes their pairs, 32 at a time: each lane finds its pair's row among the lanes."""
    emitter = Emitter(name)
    names = ["hits", "leaders", "ends", "starts", "by_leader", "rows_out", "partners_out"]
    for pointer in names:
        emitter.pointer_param(pointer)
    emitter.scalar_param("rows", U32)
    hits, leaders, ends, starts, by_leader, rows_out, partners_out = [emitter.pointer(n) for n in names]
    rows, lane = emitter.param("rows", U32), emitter.special("%laneid")
    row = emitter.calc("mad.lo.u32", emitter.special("%ctaid.x"), emitter.special("%ntid.x"), emitter.special("%tid.x"))
    # Rows past the end have no pairs: theirs begin and end where those of the last row end.
    before, upto = [emitter.calc("min.u32", r, rows) for r in (row, emitter.calc("add.u32", row, 1))]
    start = emitter.load("u32", ends, emitter.calc("sub.u32", before, 1), emitter.calc("setp.ne.u32", before, 0))
    end = emitter.load("u32", ends, emitter.calc("sub.u32", upto, 1))
    inside = emitter.calc("setp.lt.u32", row, rows)
    hit, leader = emitter.load("u32", hits, row, inside), emitter.load("u32", leaders, row, inside)
    place = emitter.load("u32", starts, leader, inside)
    first, stop = shuffled(emitter, start, "idx", 0), shuffled(emitter, end, "idx", WARP - 1)
    with Rounds(emitter, first, stop, WARP, lane) as pair:
        owner = emitter.calc("mov.u32", 0)
        for step in (16, 8, 4, 2, 1):
            later = emitter.calc("add.u32", owner, step)
            reached = emitter.calc("setp.le.u32", shuffled(emitter, start, "idx", later), pair.row)
            emitter.put("mov.u32", owner, later, guard=reached)
        within = emitter.calc("sub.u32", pair.row, shuffled(emitter, start, "idx", owner))
        partner = emitter.calc("add.u32", shuffled(emitter, place, "idx", owner), within)
        emitter.store("u32", rows_out, pair.row, shuffled(emitter, hit, "idx", owner), pair.inside)
        emitter.store("u32", partners_out, pair.row, emitter.load("u64", by_leader, partner, pair.inside), pair.inside)
    emitter.put("ret")
    return emitter.module()
