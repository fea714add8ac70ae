"""A table of rows by their keys, filled and asked by kernels: for each key one row that has it, its leader.

Where few integers are possible the table is addressed by the key itself: 32 bits an entry, a row or -1. Elsewhere it is
a hash table (thesis section 4.3.4): a power of two of entries, at most half of them taken, open addressing from the
murmur3 hash on. An entry is a tag above a row; the tag is 32 bits of the hash, so that a key's columns are read again
only where it is probably equal, or the key itself where that has 32 bits. An entry is written once, by compare and
swap: a lane that loses sees who won and goes on, so none waits for another.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.keys import KeyColumns, codes, hashed
from drawloom.horse.kernels.rows import ROW, Tile, rows_of_block, tile_for
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.values import bounds
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.ir import Vector as Pair
from drawloom.ptx.types import B32, S64, U32

#: Entries that a table addressed by the key may have, a row, and anyway.
_SPARSE: Final = 8
_SMALL: Final = 1 << 16
_EMPTY: Final = (1 << 64) - 1
#: -1 in the 32 bits of a row.
NO_ROW: Final = (1 << 32) - 1
_NARROW: Final = ("s8", "s16", "s32", "u8")


class KeyTable:
    """Leaders of the keys of ``keys``: ``memory`` has ``size`` entries.

    ``lows`` and ``sizes`` bound each key where the table is addressed by them (else they are empty). ``is_exact`` says
    that a tag is the key. ``repeats`` whether any key stands in several rows.
    """

    def __init__(self, keys: KeyColumns, lows: list[int], sizes: list[int], is_exact: bool) -> None:
        self.keys = keys
        self.lows = lows
        self.sizes = sizes
        self.is_exact = is_exact
        self.size = int(np.prod(sizes)) if sizes else 1 << max(2 * keys.rows - 1, 1).bit_length()
        self.memory: Memory = None
        self.repeats = False

    @property
    def kind(self) -> str:
        """The table's part of a kernel's name."""
        return "direct" if self.sizes else "exact" if self.is_exact else "hash"

    def arguments(self, kernels: DeviceKernels) -> list[object]:
        """What kernels take that read the table."""
        made: list[object] = [self.memory, *self.keys.memory(kernels)]
        if not self.sizes:
            return [*made, self.size - 1]
        for low, size in zip(self.lows, self.sizes):
            made += [low, size]
        return made


def build(kernels: DeviceKernels, keys: KeyColumns, probing: KeyColumns, leaders: Memory | None) -> KeyTable:
    """The table of all rows of ``keys``, to be asked for those of ``probing``.

    ``leaders`` becomes each row's leader (32 bits) where it is not None.
    """
    lows, sizes = _direct(keys)
    is_exact = [s in _NARROW for s in (*keys.storages, *probing.storages)] == [True, True]
    table = KeyTable(keys, lows, sizes, is_exact and not sizes)
    table.memory = kernels.workspace.full(table.size, ROW if sizes else np.int64, -1)
    repeats = kernels.workspace.full(1, np.int32, 0)
    if keys.rows:
        name = f"insert_{table.kind}_{keys.suffix}" + ("" if leaders is None else "_leaders")
        tile = tile_for(kernels.device)
        kernel = kernels.kernel(name, lambda name: _insert(name, tile, table, leaders is not None))
        out = [] if leaders is None else [leaders]
        kernel[tile.blocks(keys.rows), tile.threads](*table.arguments(kernels), repeats, *out, keys.rows)
    table.repeats = bool(kernels.workspace.get(repeats, 1)[0])
    return table


def _direct(keys: KeyColumns) -> tuple[list[int], list[int]]:
    """The least value and the number of values of each key, where a table may have an entry for each combination."""
    if not keys.is_integer:
        return [], []
    ranges = [bounds(v.data) for v in keys.vectors]
    sizes = [high - low + 1 for low, high in ranges]
    entries = 1
    for size in sizes:
        entries *= size
    return ([low for low, _ in ranges], sizes) if entries <= _SPARSE * keys.rows + _SMALL else ([], [])


def find(kernels: DeviceKernels, table: KeyTable, probing: KeyColumns) -> Memory:
    """For each row of ``probing`` the leader of its key, -1 where the table has none (32 bits)."""
    return _asked(kernels, table, probing, "find", ROW)


def contains(kernels: DeviceKernels, table: KeyTable, probing: KeyColumns) -> Memory:
    """For each row of ``probing`` whether the table has its key."""
    return _asked(kernels, table, probing, "contains", np.bool_)


def _asked(kernels: DeviceKernels, table: KeyTable, probing: KeyColumns, what: str, dtype: type) -> Memory:
    out = kernels.workspace.empty(probing.rows, dtype)
    if probing.rows:
        name = f"{what}_{table.kind}_{table.keys.suffix}_by_{probing.suffix}"
        tile = tile_for(kernels.device)
        kernel = kernels.kernel(name, lambda name: _ask(name, tile, table, probing, what))
        arguments = [*table.arguments(kernels), *probing.memory(kernels), out, probing.rows]
        kernel[tile.blocks(probing.rows), tile.threads](*arguments)
    return out


# Kernels


class _Reader:
    """The table's parameters, and the instructions that look into it."""

    def __init__(self, emitter: Emitter, table: KeyTable) -> None:
        self.emitter = emitter
        self.table = table
        storages = table.keys.storages
        emitter.pointer_param("table")
        for number in range(len(storages)):
            emitter.pointer_param(f"key{number}")
        if table.sizes:
            for number in range(len(storages)):
                emitter.scalar_param(f"low{number}", S64)
                emitter.scalar_param(f"size{number}", S64)
        else:
            emitter.scalar_param("mask", U32)

    def read_params(self) -> None:
        emitter = self.emitter
        numbers = range(len(self.table.keys.storages))
        self.base = emitter.pointer("table")
        self.columns = [emitter.pointer(f"key{n}") for n in numbers]
        if self.table.sizes:
            self.lows = [emitter.param(f"low{n}", S64) for n in numbers]
            self.sizes = [emitter.param(f"size{n}", S64) for n in numbers]
        else:
            self.mask = emitter.param("mask", U32)

    def place(self, keys: list[Register]) -> tuple[Register, Register]:
        """The entry of a table addressed by keys, and whether there is one."""
        emitter = self.emitter
        index = emitter.calc("sub.s64", keys[0], self.lows[0])
        inside = emitter.calc("setp.lt.u64", index, self.sizes[0])
        for key, low, size in zip(keys[1:], self.lows[1:], self.sizes[1:]):
            above = emitter.calc("sub.s64", key, low)
            inside = emitter.both(inside, emitter.calc("setp.lt.u64", above, size))
            index = emitter.calc("mad.lo.s64", index, size, above)
        return emitter.calc("cvt.u32.u64", index), inside

    def start(self, keys: list[Register]) -> tuple[Register, Register]:
        """The first entry of a hash table where a key may stand, and its tag."""
        emitter = self.emitter
        low, high = halves(emitter, hashed(emitter, keys))
        slot = emitter.calc("and.b32", low, self.mask)
        return slot, emitter.calc("cvt.u32.u64", keys[0]) if self.table.is_exact else high

    def same(self, row: Register, tags_equal: Register, keys: list[Register]) -> Register:
        """Whether ``row`` of the table has the keys; its columns are read where its tag is equal."""
        emitter = self.emitter
        if self.table.is_exact:
            return tags_equal
        made = emitter.calc("mov.pred", tags_equal)
        with emitter.when(tags_equal):
            for key, its in zip(keys, codes(emitter, self.columns, row, self.table.keys.storages)):
                emitter.put("and.pred", made, made, emitter.calc("setp.eq.s64", key, its))
        return made

    def next(self, slot: Register) -> None:
        self.emitter.put("add.u32", slot, slot, 1)
        self.emitter.put("and.b32", slot, slot, self.mask)


def halves(emitter: Emitter, wide: Register) -> tuple[Register, Register]:
    """The low and the high 32 bits."""
    low, high = emitter.register(B32), emitter.register(B32)
    emitter.put("mov.b64", Pair([low, high]), wide)
    return low, high


def _insert(name: str, tile: Tile, table: KeyTable, gives_leaders: bool) -> Module:
    emitter = Emitter(name)
    reader = _Reader(emitter, table)
    emitter.pointer_param("repeats")
    if gives_leaders:
        emitter.pointer_param("leaders")
    emitter.scalar_param("rows", U32)
    reader.read_params()
    repeats = Address(emitter.pointer("repeats"))
    leaders = emitter.pointer("leaders") if gives_leaders else None
    with rows_of_block(emitter, tile, emitter.param("rows", U32)) as each, emitter.when(each.inside):
        keys = codes(emitter, reader.columns, each.row, table.keys.storages)
        leader = _insert_direct(reader, keys, each.row) if table.sizes else _insert_hashed(reader, keys, each.row)
        emitter.put("st.global.u32", repeats, 1, guard=emitter.calc("setp.ne.u32", leader, each.row))
        if leaders is not None:
            emitter.store("u32", leaders, each.row, leader)
    emitter.put("ret")
    return emitter.module()


def _insert_direct(reader: _Reader, keys: list[Register], row: Register) -> Register:
    """The leader of the row's key."""
    emitter = reader.emitter
    index, _ = reader.place(keys)
    its, won = _claimed(emitter, emitter.element(reader.base, index, 4), "b32", row, NO_ROW)
    return emitter.calc("selp.b32", row, its, won)


def _insert_hashed(reader: _Reader, keys: list[Register], row: Register) -> Register:
    """The leader of the row's key."""
    emitter = reader.emitter
    leader = emitter.calc("mov.u32", row)
    slot, tag = reader.start(keys)
    mine = emitter.calc("mov.b64", Pair([row, tag]))
    with emitter.loop() as further:
        entry, won = _claimed(emitter, emitter.element(reader.base, slot, 8), "b64", mine, _EMPTY)
        further.leave(won)
        its, its_tag = halves(emitter, entry)
        same = reader.same(its, emitter.calc("setp.eq.u32", its_tag, tag), keys)
        emitter.put("mov.u32", leader, its, guard=same)
        further.leave(same)
        reader.next(slot)
    return leader


def _claimed(emitter: Emitter, at: Address, type: str, mine: Register, empty: int) -> tuple[Register, Register]:
    """What stood at ``at``, and whether that was nothing, so that ``mine`` stands there now.

    An entry that is not empty never changes, so only what looks empty is asked for by an atomic.
    """
    entry = emitter.calc(f"ld.global.{type}", at)
    free = emitter.calc(f"setp.eq.{type}", entry, empty)
    emitter.put(f"atom.global.cas.{type}", entry, at, empty, mine, guard=free)
    return entry, emitter.calc(f"setp.eq.{type}", entry, empty)


def _ask(name: str, tile: Tile, table: KeyTable, probing: KeyColumns, what: str) -> Module:
    emitter = Emitter(name)
    reader = _Reader(emitter, table)
    for number in range(len(probing.storages)):
        emitter.pointer_param(f"probe{number}")
    emitter.pointer_param("out")
    emitter.scalar_param("rows", U32)
    reader.read_params()
    columns = [emitter.pointer(f"probe{n}") for n in range(len(probing.storages))]
    out = emitter.pointer("out")
    with rows_of_block(emitter, tile, emitter.param("rows", U32)) as each, emitter.when(each.inside):
        keys = codes(emitter, columns, each.row, probing.storages)
        leader = _find_direct(reader, keys) if table.sizes else _find_hashed(reader, keys)
        if what == "find":
            emitter.store("u32", out, each.row, leader)
        else:
            known = emitter.calc("setp.ge.s32", leader, 0)
            emitter.store("u8", out, each.row, emitter.calc("selp.u32", 1, 0, known))
    emitter.put("ret")
    return emitter.module()


def _find_direct(reader: _Reader, keys: list[Register]) -> Register:
    """The leader of the key, -1 where there is none."""
    emitter = reader.emitter
    leader = emitter.calc("mov.u32", NO_ROW)
    index, inside = reader.place(keys)
    emitter.put("ld.global.u32", leader, emitter.element(reader.base, index, 4), guard=inside)
    return leader


def _find_hashed(reader: _Reader, keys: list[Register]) -> Register:
    """The leader of the key, -1 where there is none."""
    emitter = reader.emitter
    leader = emitter.calc("mov.u32", NO_ROW)
    slot, tag = reader.start(keys)
    with emitter.loop() as further:
        entry = emitter.load("b64", reader.base, slot)
        further.leave(emitter.calc("setp.eq.b64", entry, _EMPTY))
        its, its_tag = halves(emitter, entry)
        same = reader.same(its, emitter.calc("setp.eq.u32", its_tag, tag), keys)
        emitter.put("mov.u32", leader, its, guard=same)
        further.leave(same)
        reader.next(slot)
    return leader
