"""A column of text into codes and a sorted dictionary, by kernels (thesis section 4.3.4: strings in one buffer).

The strings lie in a string pad (``like.py``), one behind the other. They are hashed eight bytes at a time into a table
as ``hashing.py`` has it, which gives each row its leader. The leaders, each a string of its own, are sorted as
``words.py`` sorts: by integers of seven bytes each, those that these leave in doubt, because they are equal and go on,
by the next seven. A row's code is its leader's place. The host makes the dictionary of the leaders' rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.groups import Heads, Number
from drawloom.horse.kernels.hashing import claimed, halves
from drawloom.horse.kernels.keys import hashed, key_columns
from drawloom.horse.kernels.like import StringPad, pad_of, pads_of_rows
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel
from drawloom.horse.kernels.runs import runs
from drawloom.horse.kernels.scan import Walk, scan
from drawloom.horse.kernels.sort import sort_keys, sorted_rows
from drawloom.horse.kernels.workspace import Block, Memory
from drawloom.horse.types import I64
from drawloom.horse.values import Array, Deferred, RawText, Vector, padded_rows
from drawloom.horse.words import Strings, Words, picked
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.ir import Vector as Pair
from drawloom.ptx.types import U32

#: Strings from which on a GPU gives them codes: fewer the host has sorted before its kernels are compiled.
LEAST_ENCODED: Final = 1 << 18
#: Bytes of a string in one key; the eighth says how many there are.
_STEP: Final = 7
_SIGN: Final = 1 << 63
#: Selects the four bytes of a word from the last to the first.
_REVERSED: Final = 0x0123


class Codes(Deferred):
    """The codes of a text that kernels made, and its words; ``block`` has whole tiles of them."""

    def __init__(self, block: Block, rows: int, words: Words) -> None:
        self.block = block
        self.rows = rows
        self.words = words
        self.dtype = block.dtype

    def length(self) -> int:
        return self.rows

    def made(self) -> tuple[Array, Words | None]:
        return self.block.read_host(), self.words


def encode(kernels: DeviceKernels, vector: Vector) -> None:
    """Gives a text of many rows that has none codes where the device reads them; others stay as they are."""
    text = vector.deferred
    if not isinstance(text, RawText) or text.length() < LEAST_ENCODED:
        return
    pad = None if kernels.device.is_host else next(pads_of_rows(kernels, text))[0]
    made, words = encoded(kernels, text.together(), text.dtype, pad)
    block = Block(kernels.workspace, made)
    block.read_host()  # a reset of the device would take what it alone has
    vector.deferred = Codes(block, text.length(), words)
    vector.block = block


def encoded(
    kernels: DeviceKernels, strings: Strings, dtype: np.dtype[Any], pad: StringPad | None = None
) -> tuple[Memory, Words]:
    """For each string, of which the device may have the ``pad``, its place among the distinct ones, in whole tiles of
    ``dtype``; and those."""
    rows, workspace = len(strings), kernels.workspace
    pad = pad or pad_of(kernels, strings)
    entries = 1 << max(2 * rows - 1, 1).bit_length()
    table = workspace.full(entries, np.int64, -1)
    leaders, heads = workspace.empty(rows, ROW), workspace.empty(rows, ROW)
    insert = _Insert(["starts", "bytes", "table", "leaders"], {"mask": U32})
    insert.run(kernels, "insert_strings", [pad.starts, pad.bytes, table, leaders, entries - 1], rows)
    del table
    count = scan(kernels, "heads", Heads(), [leaders, heads], rows)
    order = _ordered(kernels, pad, heads, count)
    numbers = workspace.empty(rows, np.uint32)
    places = workspace.put(np.arange(count, dtype=ROW))
    Number(["order", "heads", "numbers"]).run(kernels, "number_leaders", [places, order, numbers], count)
    made = workspace.full(padded_rows(rows), dtype, 0)
    storage = f"u{8 * dtype.itemsize}"
    _Code(storage).run(kernels, f"codes_{storage}", [leaders, numbers, made], rows)
    return made, Words(picked(strings, workspace.get(order, count)))


def _ordered(kernels: DeviceKernels, pad: StringPad, heads: Memory, count: int) -> Memory:
    """Rows whose strings are distinct, in the order of these."""
    workspace = kernels.workspace
    order, doubtful = heads, workspace.put(np.arange(count, dtype=ROW))
    run: Memory = None
    open_, depth = count, 0
    while open_:
        keys, rows = workspace.empty(open_, np.int64), workspace.empty(open_, ROW)
        key = _Key(["starts", "bytes", "order", "doubtful", "keys", "strings"], {"depth": U32})
        key.run(kernels, "keys_of_strings", [pad.starts, pad.bytes, order, doubtful, keys, rows, depth], open_)
        columns = [workspace.vector(I64, memory, open_) for memory in ([keys] if run is None else [run, keys])]
        ups = [True] * len(columns)
        sorts = sort_keys(kernels, columns, ups, ups)
        assert sorts is not None
        moved = [workspace.empty(open_, np.int64), workspace.empty(open_, ROW)]
        by_key = sorted_rows(kernels, sorts, open_)
        arguments = [by_key, keys, rows, doubtful, order, moved[0]]
        names = ["by_key", "keys", "strings", "doubtful", "order", "moved"]
        _Move(names).run(kernels, "move_strings", arguments, open_)
        if run is not None:
            _Pick(["by_key", "from", "to"]).run(kernels, "pick_runs", [by_key, run, moved[1]], open_)
        sorted_ = [workspace.vector(I64, m, open_) for m in (moved[:1] if run is None else moved[::-1])]
        both = key_columns(sorted_)
        assert both is not None
        numbers, starts, _ = runs(kernels, both)
        further, run = workspace.empty(open_, ROW), workspace.empty(open_, ROW)
        open_ = scan(kernels, "doubtful", _Doubtful(), [numbers, starts, doubtful, further, run], open_)
        doubtful = further
        depth += _STEP
    return order


# Kernels


def _string(
    emitter: Emitter, starts: Register, text: Register, row: Register, skipped: Register | None = None
) -> tuple[Register, Register]:
    """Where a row's string begins, behind the bytes that are skipped, and how many bytes it has from there."""
    start = emitter.load("u64", starts, row)
    end = emitter.load("u64", starts, emitter.calc("add.u32", row, 1))
    length = emitter.calc("cvt.u32.u64", emitter.calc("sub.s64", end, start))
    address = emitter.calc("add.s64", text, start)
    if skipped is None:
        return address, length
    return emitter.calc("add.s64", address, emitter.calc("cvt.u64.u32", skipped)), emitter.calc(
        "sub.u32", length, skipped
    )


def _bytes(emitter: Emitter, address: Register, left: Register, most: int) -> Register:
    """The first bytes of a string, ``most`` (to eight) or all of them, with zeros behind; read by whole words."""
    taken = emitter.calc("min.u32", left, most)
    within = emitter.calc("and.b32", emitter.calc("cvt.u32.u64", address), 7)
    whole = emitter.calc("and.b64", address, -8)
    low, high = emitter.calc("mov.u64", 0), emitter.calc("mov.u64", 0)
    emitter.put("ld.global.u64", low, Address(whole), guard=emitter.calc("setp.ne.u32", left, 0))
    beyond = emitter.calc("setp.gt.u32", emitter.calc("add.u32", within, taken), 8)
    emitter.put("ld.global.u64", high, Address(whole, 8), guard=beyond)
    shift = emitter.calc("shl.b32", within, 3)
    low = emitter.calc("shr.u64", low, shift)
    # Shifts of 64 and more give zero.
    high = emitter.calc("shl.b64", high, emitter.calc("sub.u32", 64, shift))
    cut = emitter.calc("sub.u32", 64, emitter.calc("shl.b32", taken, 3))
    return emitter.calc("shr.u64", emitter.calc("shl.b64", emitter.calc("or.b64", low, high), cut), cut)


class _Insert(RowKernel):
    """Puts strings into a table; gives their leaders. An entry is a tag, 32 bits of the hash, above a row."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        starts, text, table, leaders, mask = bases
        with emitter.when(at.inside):
            address, length = _string(emitter, starts, text, at.row)
            slot, tag = halves(emitter, self.hash(emitter, address, length))
            slot = emitter.calc("and.b32", slot, mask)
            leader = emitter.calc("mov.u32", at.row)
            mine = emitter.calc("mov.b64", Pair([at.row, tag]))
            with emitter.loop() as further:
                entry, won = claimed(emitter, emitter.element(table, slot, 8), mine)
                further.leave(won)
                its, its_tag = halves(emitter, entry)
                same = emitter.calc("setp.eq.u32", its_tag, tag)
                with emitter.when(same):
                    self.compare(emitter, same, address, length, _string(emitter, starts, text, its))
                emitter.put("mov.u32", leader, its, guard=same)
                further.leave(same)
                emitter.put("add.u32", slot, slot, 1)
                emitter.put("and.b32", slot, slot, mask)
            emitter.store("u32", leaders, at.row, leader)

    def hash(self, emitter: Emitter, address: Register, length: Register) -> Register:
        made = emitter.calc("cvt.u64.u32", length)
        place, left = emitter.calc("mov.u64", address), emitter.calc("mov.u32", length)
        with emitter.loop() as further:
            eight = _bytes(emitter, place, left, 8)
            emitter.put("mov.u64", made, hashed(emitter, [emitter.calc("add.s64", made, eight)]))
            further.leave(emitter.calc("setp.le.u32", left, 8))
            emitter.put("add.s64", place, place, 8)
            emitter.put("sub.u32", left, left, 8)
        return made

    def compare(
        self, emitter: Emitter, same: Register, address: Register, length: Register, other: tuple[Register, Register]
    ) -> None:
        """``same`` becomes whether two strings are equal."""
        emitter.put("setp.eq.u32", same, length, other[1])
        place, its, left = [emitter.calc(m, v) for m, v in zip(_MOVES, (address, other[0], length))]
        with emitter.loop() as further:
            further.leave(emitter.negated(same))
            ours, theirs = _bytes(emitter, place, left, 8), _bytes(emitter, its, left, 8)
            emitter.put("setp.eq.u64", same, ours, theirs)
            further.leave(emitter.calc("setp.le.u32", left, 8))
            emitter.put("add.s64", place, place, 8)
            emitter.put("add.s64", its, its, 8)
            emitter.put("sub.u32", left, left, 8)


_MOVES: Final = ("mov.u64", "mov.u64", "mov.u32")


class _Key(RowKernel):
    """The next seven bytes of strings in doubt, the first highest, above how many are left; and the strings' rows."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        starts, text, order, doubtful, keys, rows, depth = bases
        with emitter.when(at.inside):
            row = emitter.load("u32", order, emitter.load("u32", doubtful, at.row))
            address, left = _string(emitter, starts, text, row, depth)
            low, high = halves(emitter, _bytes(emitter, address, left, _STEP))
            low, high = [emitter.calc("prmt.b32", half, 0, _REVERSED) for half in (low, high)]
            key = emitter.calc("mov.b64", Pair([high, low]))
            count = emitter.calc("cvt.u64.u32", emitter.calc("min.u32", left, _STEP + 1))
            # Keys are sorted as signed integers.
            key = emitter.calc("xor.b64", emitter.calc("or.b64", key, count), -_SIGN)
            emitter.store("u64", keys, at.row, key)
            emitter.store("u32", rows, at.row, row)


class _Move(RowKernel):
    """Strings in doubt to their places, and their keys in that order."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        by_key, keys, rows, doubtful, order, moved = bases
        with emitter.when(at.inside):
            place = emitter.load("u32", by_key, at.row)
            emitter.store("u64", moved, at.row, emitter.load("u64", keys, place))
            emitter.store("u32", order, emitter.load("u32", doubtful, at.row), emitter.load("u32", rows, place))


class _Pick(RowKernel):
    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        by_key, source, target = bases
        with emitter.when(at.inside):
            place = emitter.load("u32", by_key, at.row)
            emitter.store("u32", target, at.row, emitter.load("u32", source, place))


class _Doubtful(Walk):
    """The places of strings in runs of several with equal keys, and the runs."""

    is_mask = True

    def declare(self, emitter: Emitter) -> None:
        names = ("numbers", "starts", "doubtful", "further", "runs")
        for name in names:
            emitter.pointer_param(name)
        self.numbers, self.starts, self.doubtful, self.further, self.runs = [emitter.pointer(n) for n in names]

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        self.number = emitter.load("u32", self.numbers, row, inside)
        start = emitter.load("u32", self.starts, self.number, inside)
        end = emitter.load("u32", self.starts, emitter.calc("add.u32", self.number, 1), inside)
        return emitter.both(inside, emitter.calc("setp.gt.u32", emitter.calc("sub.u32", end, start), 1))

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        place = emitter.load("u32", self.doubtful, row, value)
        emitter.store("u32", self.further, before, place, value)
        emitter.store("u32", self.runs, before, self.number, value)


class _Code(RowKernel):
    """The number of each row's leader."""

    def __init__(self, storage: str) -> None:
        super().__init__(["leaders", "numbers", "codes"])
        self.storage = storage

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        leaders, numbers, made = bases
        leader = emitter.load("u32", leaders, at.row, at.inside)
        code = emitter.load("u32", numbers, leader, at.inside)
        emitter.store(self.storage, made, at.row, code, at.inside)
