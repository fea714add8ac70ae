"""``@group`` by kernels: rows into words of 64 bits that are neighbours where the keys are equal. And ``@unique``.

By sorting, words are those of ``sort.py``. By hash, each row's leader (``hashing.py``) has a number: leaders are few,
and are sorted by their keys; words of that number above the row's are sorted by the few bits that it has. A scan over
the words finds where groups start. The rows of all groups lie in one vector (thesis figure 6.6b), beside it where each
group starts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels import hashing
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.gather import gathered
from drawloom.horse.kernels.hashing import NO_ROW
from drawloom.horse.kernels.keys import KeyColumns, codes, key_columns
from drawloom.horse.kernels.radix import radix_sort
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel
from drawloom.horse.kernels.scan import Walk, scan
from drawloom.horse.kernels.sort import (
    SortKey,
    row_bits_of,
    rows_of_words,
    sort_keys,
    sorted_rows,
    sorted_words,
    words_of_keys,
)
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.library import columns_of
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import Dictionary, Ragged, Value, Vector, as_vector
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import U32

#: Groups are made by hash where keys have more bits than this, as each eight cost a pass over the words, ...
_SORTED_BITS: Final = 24
#: ... and where among so many rows there are at most so many keys.
_SAMPLE: Final = 1 << 14
_FEW: Final = 1 << 12


class Groups:
    """``rows`` in the order of their groups, and for each of ``count`` groups its first row and its place in ``rows``
    (32 bits, with the end of the last one behind)."""

    def __init__(self, rows: Memory, firsts: Memory, starts: Memory, count: int) -> None:
        self.rows = rows
        self.firsts = firsts
        self.starts = starts
        self.count = count


def group(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@group(columns)``."""
    keys = key_columns(_without_nulls(columns_of(arguments[0])))
    if keys is None:
        return None
    made, workspace = grouped(kernels, keys), kernels.workspace
    offsets = workspace.get(made.starts, made.count + 1).astype(np.int64)
    firsts = workspace.vector(I64, made.firsts, made.count)
    return Dictionary(firsts, Ragged(workspace.vector(I64, made.rows, keys.rows), offsets))


def unique(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@unique(vector)``: of each key the least row."""
    keys = key_columns([as_vector(arguments[0])])
    if keys is None:
        return None
    leaders = hashing.build_with_leaders(kernels, keys)
    least = kernels.workspace.full(keys.rows, np.uint32, NO_ROW)
    _Least(["leaders", "least"]).run(kernels, "least_rows", [leaders, least], keys.rows)
    made = kernels.workspace.empty(keys.rows, ROW)
    count = scan(kernels, "firsts", _Firsts(), [leaders, made, least], keys.rows)
    return kernels.workspace.vector(I64, made, count)


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {"group": group, "unique": unique}


def _without_nulls(columns: list[Vector]) -> list[Vector]:
    """The columns, those with NULLs as two: whether it is one, so that they come last, and the value or zero."""
    made: list[Vector] = []
    for column in columns:
        if column.valid is not None:
            made.append(Vector(BOOL, ~column.valid))
            column = Vector(column.type, np.where(column.valid, column.data, column.dtype.type(0)), column.words)
        made.append(column)
    return made


def grouped(kernels: DeviceKernels, keys: KeyColumns) -> Groups:
    """The rows by their keys, groups in ascending order, the rows of one in their own."""
    sorts = _ascending(kernels, keys.vectors)
    if keys.rows and _prefers_hash(kernels, keys, sorts):
        return by_hash(kernels, keys)
    return by_sort(kernels, keys, sorts)


def _ascending(kernels: DeviceKernels, vectors: list[Vector]) -> list[SortKey]:
    keys = sort_keys(kernels, vectors, [True] * len(vectors), [False] * len(vectors))
    assert keys is not None  # what is a key of a table is one of a sort
    return keys


def _prefers_hash(kernels: DeviceKernels, keys: KeyColumns, sorts: list[SortKey]) -> bool:
    """Whether the keys have many bits, and few values among the first rows."""
    if sum([key.bits for key in sorts]) <= _SORTED_BITS or keys.rows <= _SAMPLE:
        return False
    sample = keys.first(_SAMPLE)
    _, count = _leaders(kernels, sample, hashing.build_with_leaders(kernels, sample))
    return count <= _FEW


def by_sort(kernels: DeviceKernels, keys: KeyColumns, sorts: list[SortKey]) -> Groups:
    """Groups out of rows that are sorted by their keys."""
    words = sorted_words(kernels, sorts, keys.rows)
    if len(words_of_keys(sorts, keys.rows)) == 1:
        return _of_words(kernels, words, keys.rows)
    rows = rows_of_words(kernels, words, keys.rows, row_bits_of(keys.rows))
    arguments = [rows, *keys.memory(kernels)]
    return _with_starts(kernels, f"starts_{keys.suffix}", _KeyStarts(keys), arguments, rows, keys.rows)


def by_hash(kernels: DeviceKernels, keys: KeyColumns) -> Groups:
    """Groups out of rows that are sorted by the number of their leader."""
    leaders = hashing.build_with_leaders(kernels, keys)
    heads, count = _leaders(kernels, keys, leaders)
    places = kernels.workspace.vector(I64, heads, count)
    vectors = [gathered(kernels, vector, places) for vector in keys.vectors]
    order = sorted_rows(kernels, _ascending(kernels, [v for v in vectors if v is not None]), count)
    numbers = kernels.workspace.empty(keys.rows, np.uint32)
    Number(["order", "heads", "numbers"]).run(kernels, "number_leaders", [order, heads, numbers], count)
    words = kernels.workspace.empty(keys.rows, np.uint64)
    row_bits = row_bits_of(keys.rows)
    kernel = _NumberWords(["leaders", "numbers", "words"], {"row_bits": U32})
    kernel.run(kernels, "words_of_numbers", [leaders, numbers, words, row_bits], keys.rows)
    words = radix_sort(kernels, words, keys.rows, row_bits, row_bits + count.bit_length())
    return _of_words(kernels, words, keys.rows)


def _leaders(kernels: DeviceKernels, keys: KeyColumns, leaders: Memory) -> tuple[Memory, int]:
    """The rows that lead, and how many they are."""
    heads = kernels.workspace.empty(keys.rows, ROW)
    return heads, scan(kernels, "heads", Heads(), [leaders, heads], keys.rows)


def _of_words(kernels: DeviceKernels, words: Memory, rows: int) -> Groups:
    ordered = rows_of_words(kernels, words, rows, row_bits_of(rows))
    return _with_starts(kernels, "starts_of_words", _WordStarts(), [ordered, words, row_bits_of(rows)], ordered, rows)


def _with_starts(
    kernels: DeviceKernels, name: str, walk: Walk, arguments: list[object], ordered: Memory, rows: int
) -> Groups:
    firsts = kernels.workspace.empty(rows, ROW)
    starts = kernels.workspace.full(rows + 1, np.uint32, 0)
    count = scan(kernels, name, walk, [firsts, starts, *arguments], rows)
    return Groups(ordered, firsts, starts, count)


# Kernels


class Heads(Walk):
    """The rows that are their own leaders."""

    is_mask = True

    def declare(self, emitter: Emitter) -> None:
        for name in ("leaders", "heads"):
            emitter.pointer_param(name)
        self.leaders, self.heads = emitter.pointer("leaders"), emitter.pointer("heads")

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        leader = emitter.load("u32", self.leaders, row, inside)
        return emitter.both(inside, emitter.calc("setp.eq.u32", leader, row))

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.heads, before, row, value)


class _Firsts(Heads):
    """The rows that are the least of their leader's."""

    def declare(self, emitter: Emitter) -> None:
        super().declare(emitter)
        emitter.pointer_param("least")
        self.least = emitter.pointer("least")

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        leader = emitter.load("u32", self.leaders, row, inside)
        least = emitter.load("u32", self.least, leader, inside)
        return emitter.both(inside, emitter.calc("setp.eq.u32", least, row))


class _Least(RowKernel):
    """The least row of each leader."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        leaders, least = bases
        leader = emitter.load("u32", leaders, at.row, at.inside)
        emitter.put("red.global.min.u32", emitter.element(least, leader, 4), at.row, guard=at.inside)


class Number(RowKernel):
    """Leaders get their number in the order of the keys."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        order, heads, numbers = bases
        head = emitter.load("u32", heads, emitter.load("u32", order, at.row, at.inside), at.inside)
        emitter.store("u32", numbers, head, at.row, at.inside)


class _NumberWords(RowKernel):
    """Words of each row's group above its own number."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        leaders, numbers, words, row_bits = bases
        leader = emitter.load("u32", leaders, at.row, at.inside)
        number = emitter.calc("cvt.u64.u32", emitter.load("u32", numbers, leader, at.inside))
        word = emitter.calc("or.b64", emitter.calc("shl.b64", number, row_bits), emitter.calc("cvt.u64.u32", at.row))
        emitter.store("u64", words, at.row, word, at.inside)


class _Starts(Walk):
    """Places where another group starts than that of the place before."""

    is_mask = True

    def declare(self, emitter: Emitter) -> None:
        for name in ("firsts", "starts", "ordered"):
            emitter.pointer_param(name)
        self.firsts, self.starts, self.ordered = [emitter.pointer(n) for n in ("firsts", "starts", "ordered")]

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        first = emitter.both(inside, emitter.calc("setp.eq.u32", row, 0))
        follows = emitter.both(inside, emitter.calc("setp.ne.u32", row, 0))
        return emitter.either(first, self.differs(emitter, row, emitter.calc("sub.u32", row, 1), follows))

    def differs(self, emitter: Emitter, row: Register, before: Register, follows: Register) -> Register:
        """Whether the groups at two places differ; false where ``follows`` is."""
        raise NotImplementedError

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u32", self.firsts, before, emitter.load("u32", self.ordered, row, value), value)
        emitter.store("u32", self.starts, before, row, value)

    def finish(self, emitter: Emitter, total: Register, rows: Register) -> None:
        emitter.put("st.global.u32", Address(emitter.calc("mad.lo.s64", total, 4, self.starts)), rows)


class _WordStarts(_Starts):
    """Groups are in the words, above the rows."""

    def declare(self, emitter: Emitter) -> None:
        super().declare(emitter)
        emitter.pointer_param("words")
        emitter.scalar_param("row_bits", U32)
        self.words, self.row_bits = emitter.pointer("words"), emitter.param("row_bits", U32)

    def differs(self, emitter: Emitter, row: Register, before: Register, follows: Register) -> Register:
        both = [emitter.load("u64", self.words, at, follows) for at in (row, before)]
        return emitter.calc("setp.ne.u64", *[emitter.calc("shr.u64", word, self.row_bits) for word in both])


class _KeyStarts(_Starts):
    """Groups are those of the keys' own columns."""

    def __init__(self, keys: KeyColumns) -> None:
        self.keys = keys

    def declare(self, emitter: Emitter) -> None:
        super().declare(emitter)
        names = [f"key{n}" for n in range(len(self.keys.storages))]
        for name in names:
            emitter.pointer_param(name)
        self.columns = [emitter.pointer(name) for name in names]

    def differs(self, emitter: Emitter, row: Register, before: Register, follows: Register) -> Register:
        made = emitter.calc("setp.ne.u32", row, row)
        with emitter.when(follows):
            both = [emitter.load("u32", self.ordered, at) for at in (row, before)]
            ours, its = [codes(emitter, self.columns, at, self.keys.storages) for at in both]
            for a, b in zip(ours, its):
                emitter.put("or.pred", made, made, emitter.calc("setp.ne.s64", a, b))
        return made
