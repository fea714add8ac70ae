"""A table of rows by their keys, filled and asked by kernels: for each key one row that has it, its leader.

Where few integers are possible the table is addressed by the key itself: 32 bits an entry, a row or -1. All rows write
theirs, and whichever remains leads. Elsewhere it is a hash table (thesis section 4.3.4): a power of two of entries, at
most half of them taken, open addressing from the murmur3 hash on. An entry is a tag above a row; the tag is 32 bits of
the hash, so that a key's columns are read again only where it is probably equal, or the key itself where that has 32
bits. An entry is written once, by compare and swap: a lane that loses sees who won and goes on, so none waits for
another.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.keys import KeyColumns, codes, hashed
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel
from drawloom.horse.kernels.sort import measured
from drawloom.horse.kernels.workspace import Memory
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.ir import Vector as Pair
from drawloom.ptx.types import B32, S64, U32, Type

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

    def scalars(self) -> dict[str, Type]:
        """The parameters that say how the table is addressed."""
        if not self.sizes:
            return {"mask": U32}
        numbers = range(len(self.sizes))
        return {f"{what}{n}": S64 for what in ("low", "size") for n in numbers}

    def scalar_values(self) -> list[int]:
        return [*self.lows, *self.sizes] if self.sizes else [self.size - 1]


def build_with_leaders(kernels: DeviceKernels, keys: KeyColumns) -> Memory:
    """Each row's leader (32 bits)."""
    leaders = kernels.workspace.empty(keys.rows, ROW)
    build(kernels, keys, keys, leaders)
    return leaders


def build(kernels: DeviceKernels, keys: KeyColumns, probing: KeyColumns, leaders: Memory | None) -> KeyTable:
    """The table of all rows of ``keys``, to be asked for those of ``probing``.

    ``leaders`` becomes each row's leader (32 bits) where it is not None; only then ``repeats`` is known.
    """
    lows, sizes = _direct(kernels, keys, probing)
    is_exact = [s in _NARROW for s in (*keys.storages, *probing.storages)] == [True, True]
    table = KeyTable(keys, lows, sizes, is_exact and not sizes)
    table.memory = kernels.workspace.full(table.size, ROW if sizes else np.int64, -1)
    pointers, scalars = [table.memory, *keys.memory(kernels)], table.scalar_values()
    repeats = kernels.workspace.full(1, np.int32, 0)
    found = [] if leaders is None else [repeats, leaders]
    if sizes:
        _Place(table).run(kernels, f"place_{keys.suffix}", [*pointers, *scalars], keys.rows)
        if found:
            _Lead(table).run(kernels, f"lead_{keys.suffix}", [*pointers, *found, *scalars], keys.rows)
    else:
        name = f"insert_{table.kind}_{keys.suffix}" + ("_leaders" if found else "")
        _Insert(table, bool(found)).run(kernels, name, [*pointers, *found, *scalars], keys.rows)
    if found:
        table.repeats = bool(kernels.workspace.get(repeats, 1)[0])
    return table


def _direct(kernels: DeviceKernels, keys: KeyColumns, probing: KeyColumns) -> tuple[list[int], list[int]]:
    """The least value and the number of values of each key, where a table may have an entry for each combination."""
    if not keys.is_integer:
        return [], []
    ranges = measured(kernels, keys.vectors)
    sizes = [high - low + 1 for low, high in ranges]
    entries = 1
    for size in sizes:
        entries *= size
    few = entries <= _SPARSE * (keys.rows + probing.rows) + _SMALL
    return ([low for low, _ in ranges], sizes) if few else ([], [])


def find(kernels: DeviceKernels, table: KeyTable, probing: KeyColumns) -> Memory:
    """For each row of ``probing`` the leader of its key, -1 where the table has none (32 bits)."""
    return _asked(kernels, table, probing, "find", ROW)


def contains(kernels: DeviceKernels, table: KeyTable, probing: KeyColumns) -> Memory:
    """For each row of ``probing`` whether the table has its key."""
    return _asked(kernels, table, probing, "contains", np.bool_)


def found_by(kernels: DeviceKernels, keys: KeyColumns, probing: KeyColumns) -> Memory:
    """For each row of ``keys`` whether ``probing`` has its key, by a table of ``keys``."""
    leaders = kernels.workspace.empty(keys.rows, ROW)
    table = build(kernels, keys, probing, leaders)
    marks, made = kernels.workspace.full(keys.rows, np.bool_, 0), kernels.workspace.empty(keys.rows, np.bool_)
    _asked(kernels, table, probing, "mark", np.bool_, marks)
    _OfLeaders(["leaders", "marks", "out"]).run(kernels, "marks_of_leaders", [leaders, marks, made], keys.rows)
    return made


def _asked(
    kernels: DeviceKernels, table: KeyTable, probing: KeyColumns, what: str, dtype: type, into: Memory | None = None
) -> Memory:
    out = kernels.workspace.empty(probing.rows, dtype) if into is None else into
    pointers = [table.memory, *table.keys.memory(kernels), *probing.memory(kernels), out]
    name = f"{what}_{table.kind}_{table.keys.suffix}_by_{probing.suffix}"
    _Ask(table, probing, what).run(kernels, name, [*pointers, *table.scalar_values()], probing.rows)
    return out


# Kernels


class _TableKernel(RowKernel):
    """A kernel with a table: its memory, its keys' columns, the pointers ``others``, and how it is addressed."""

    def __init__(self, table: KeyTable, others: list[str]) -> None:
        keys = [f"key{n}" for n in range(len(table.keys.storages))]
        super().__init__(["table", *keys, *others], table.scalars())
        self.table = table

    def columns(self, bases: list[Register]) -> list[Register]:
        return bases[1 : 1 + len(self.table.keys.storages)]

    def place(self, emitter: Emitter, bases: list[Register], keys: list[Register]) -> tuple[Register, Register]:
        """The entry of a table addressed by keys, and whether there is one."""
        count = len(keys)
        lows, sizes = bases[-2 * count : -count], bases[-count:]
        index = emitter.calc("sub.s64", keys[0], lows[0])
        inside = emitter.calc("setp.lt.u64", index, sizes[0])
        for key, low, size in zip(keys[1:], lows[1:], sizes[1:]):
            above = emitter.calc("sub.s64", key, low)
            inside = emitter.both(inside, emitter.calc("setp.lt.u64", above, size))
            index = emitter.calc("mad.lo.s64", index, size, above)
        return emitter.calc("cvt.u32.u64", index), inside

    def start(self, emitter: Emitter, bases: list[Register], keys: list[Register]) -> tuple[Register, Register]:
        """The first entry of a hash table where a key may stand, and its tag."""
        low, high = halves(emitter, hashed(emitter, keys))
        slot = emitter.calc("and.b32", low, bases[-1])
        return slot, emitter.calc("cvt.u32.u64", keys[0]) if self.table.is_exact else high

    def if_same(
        self, emitter: Emitter, bases: list[Register], entry: Register, tag: Register, keys: list[Register]
    ) -> tuple[Register, Register]:
        """The row of an entry, and whether it has the keys; its columns are read where its tag is equal."""
        row, its_tag = halves(emitter, entry)
        equal = emitter.calc("setp.eq.u32", its_tag, tag)
        if self.table.is_exact:
            return row, equal
        same = emitter.calc("mov.pred", equal)
        with emitter.when(equal):
            for key, its in zip(keys, codes(emitter, self.columns(bases), row, self.table.keys.storages)):
                emitter.put("and.pred", same, same, emitter.calc("setp.eq.s64", key, its))
        return row, same

    def led(self, emitter: Emitter, bases: list[Register], row: Register, leader: Register) -> None:
        """Stores a row's leader, and whether it is another row."""
        repeats, leaders = bases[1 + len(self.table.keys.storages) :][:2]
        emitter.store("u32", leaders, row, leader)
        emitter.put("st.global.u32", Address(repeats), 1, guard=emitter.calc("setp.ne.u32", leader, row))

    def next(self, emitter: Emitter, bases: list[Register], slot: Register) -> None:
        emitter.put("add.u32", slot, slot, 1)
        emitter.put("and.b32", slot, slot, bases[-1])


def halves(emitter: Emitter, wide: Register) -> tuple[Register, Register]:
    """The low and the high 32 bits."""
    low, high = emitter.register(B32), emitter.register(B32)
    emitter.put("mov.b64", Pair([low, high]), wide)
    return low, high


class _Place(_TableKernel):
    """Writes every row into a table addressed by keys: one of those with its key remains."""

    def __init__(self, table: KeyTable) -> None:
        super().__init__(table, [])

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        with emitter.when(at.inside):
            keys = codes(emitter, self.columns(bases), at.row, self.table.keys.storages)
            index, _ = self.place(emitter, bases, keys)
            emitter.store("u32", bases[0], index, at.row)


class _Lead(_TableKernel):
    """Gives the leaders of the rows of a table addressed by keys, and whether any is another row."""

    def __init__(self, table: KeyTable) -> None:
        super().__init__(table, ["repeats", "leaders"])

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        with emitter.when(at.inside):
            keys = codes(emitter, self.columns(bases), at.row, self.table.keys.storages)
            index, _ = self.place(emitter, bases, keys)
            self.led(emitter, bases, at.row, emitter.load("u32", bases[0], index))


class _Insert(_TableKernel):
    """Puts rows into a hash table; gives their leaders, and whether any is another row."""

    def __init__(self, table: KeyTable, gives_leaders: bool) -> None:
        super().__init__(table, ["repeats", "leaders"] if gives_leaders else [])
        self.gives_leaders = gives_leaders

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        with emitter.when(at.inside):
            keys = codes(emitter, self.columns(bases), at.row, self.table.keys.storages)
            leader = self.leader(emitter, bases, keys, at.row)
            if self.gives_leaders:
                self.led(emitter, bases, at.row, leader)

    def leader(self, emitter: Emitter, bases: list[Register], keys: list[Register], row: Register) -> Register:
        leader = emitter.calc("mov.u32", row)
        slot, tag = self.start(emitter, bases, keys)
        mine = emitter.calc("mov.b64", Pair([row, tag]))
        with emitter.loop() as further:
            entry, won = claimed(emitter, emitter.element(bases[0], slot, 8), mine)
            further.leave(won)
            its, same = self.if_same(emitter, bases, entry, tag, keys)
            emitter.put("mov.u32", leader, its, guard=same)
            further.leave(same)
            self.next(emitter, bases, slot)
        return leader


def claimed(emitter: Emitter, at: Address, mine: Register) -> tuple[Register, Register]:
    """What stood at ``at``, and whether that was nothing, so that ``mine`` stands there now.

    An entry that is not empty never changes, so only what looks empty is asked for by an atomic.
    """
    entry = emitter.calc("ld.global.b64", at)
    free = emitter.calc("setp.eq.b64", entry, _EMPTY)
    emitter.put("atom.global.cas.b64", entry, at, _EMPTY, mine, guard=free)
    return entry, emitter.calc("setp.eq.b64", entry, _EMPTY)


class _OfLeaders(RowKernel):
    """Each row gets its leader's mark."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        leaders, marks, out = bases
        leader = emitter.load("u32", leaders, at.row, at.inside)
        emitter.store("u8", out, at.row, emitter.load("u8", marks, leader, at.inside), at.inside)


class _Ask(_TableKernel):
    """Finds the leaders of other rows' keys: gives them, or whether there are any, or marks them."""

    def __init__(self, table: KeyTable, probing: KeyColumns, what: str) -> None:
        super().__init__(table, [*[f"probe{n}" for n in range(len(probing.storages))], "out"])
        self.probing = probing
        self.what = what

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        count = len(self.probing.storages)
        *columns, out = bases[1 + count : 2 + 2 * count]
        with emitter.when(at.inside):
            keys = codes(emitter, columns, at.row, self.probing.storages)
            leader = emitter.calc("mov.u32", NO_ROW)
            find = self.direct if self.table.sizes else self.hashed
            find(emitter, bases, keys, leader)
            known = emitter.calc("setp.ge.s32", leader, 0)
            if self.what == "find":
                emitter.store("u32", out, at.row, leader)
            elif self.what == "mark":
                emitter.store("u8", out, leader, emitter.calc("mov.u32", 1), known)
            else:
                emitter.store("u8", out, at.row, emitter.calc("selp.u32", 1, 0, known))

    def direct(self, emitter: Emitter, bases: list[Register], keys: list[Register], leader: Register) -> None:
        index, inside = self.place(emitter, bases, keys)
        emitter.put("ld.global.u32", leader, emitter.element(bases[0], index, 4), guard=inside)

    def hashed(self, emitter: Emitter, bases: list[Register], keys: list[Register], leader: Register) -> None:
        slot, tag = self.start(emitter, bases, keys)
        with emitter.loop() as further:
            entry = emitter.load("b64", bases[0], slot)
            further.leave(emitter.calc("setp.eq.b64", entry, _EMPTY))
            its, same = self.if_same(emitter, bases, entry, tag, keys)
            emitter.put("mov.u32", leader, its, guard=same)
            further.leave(same)
            self.next(emitter, bases, slot)
