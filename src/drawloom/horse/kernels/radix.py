"""A stable sort of 64-bit words by some of their bits, eight at a time from the lowest up (LSD radix sort).

A pass counts how often each digit stands in each tile, makes of the counts where each tile's words of each digit go
(one scan: ``scan.py``), and writes them there. Within a warp a word's place among those of its digit comes from votes,
one a bit of the digit; warps of a block have counters of their own, so that words of one digit keep their order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import ALL_LANES, WARP, Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import Rounds, Tile, rows_of_block, tile_for
from drawloom.horse.kernels.scan import offsets
from drawloom.horse.kernels.warps import shuffled, warp_scan
from drawloom.horse.kernels.workspace import Memory
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.types import U32, U64

_BITS: Final = 8
_DIGITS: Final = 1 << _BITS


def radix_sort(kernels: DeviceKernels, words: Memory, rows: int, low: int, high: int) -> Memory:
    """The u64 ``words`` in ascending order of their bits from ``low`` to below ``high``, words that are equal there in
    the order that they had. ``words`` is overwritten; the result may be it."""
    tile = tile_for(kernels.device)
    blocks = tile.blocks(rows)
    count = kernels.kernel("radix_count", lambda name: count_module(name, tile))
    move = kernels.kernel("radix_move", lambda name: move_module(name, tile))
    other = kernels.workspace.empty(rows, np.uint64)
    # With a zero behind them, so that the number of rows is behind the places.
    counts = kernels.workspace.full(_DIGITS * blocks + 1, np.uint32, 0)
    for shift in range(low, high, _BITS):
        mask = (1 << min(_BITS, high - shift)) - 1
        count[blocks, tile.threads](words, counts, shift, mask, rows)
        places, _ = offsets(kernels, counts, _DIGITS * blocks + 1)
        move[blocks, tile.threads](words, other, places, shift, mask, rows)
        words, other = other, words
    return words


class _Pass:
    """What both kernels of a pass begin with: parameters ``words``, ``others``, ``shift``, ``mask``, ``rows``."""

    def __init__(self, name: str, tile: Tile, others: list[str]) -> None:
        self.emitter = emitter = Emitter(name)
        self.tile = tile
        for pointer in ("words", *others):
            emitter.pointer_param(pointer)
        for scalar in ("shift", "mask", "rows"):
            emitter.scalar_param(scalar, U32)
        self.words = emitter.pointer("words")
        self.others = [emitter.pointer(other) for other in others]
        self.shift, self.mask, self.rows = [emitter.param(s, U32) for s in ("shift", "mask", "rows")]
        self.thread = emitter.special("%tid.x")
        self.block = emitter.special("%ctaid.x")
        self.blocks = emitter.special("%nctaid.x")

    def word(self, at: Rounds) -> Register:
        return self.emitter.load("u64", self.words, at.row, at.inside)

    def digit(self, word: Register) -> Register:
        shifted = self.emitter.calc("cvt.u32.u64", self.emitter.calc("shr.u64", word, self.shift))
        return self.emitter.calc("and.b32", shifted, self.mask)

    def own_digits(self) -> list[Register]:
        """The digits whose counters this thread looks after."""
        return [self.emitter.calc("add.u32", self.thread, d) for d in range(0, _DIGITS, self.tile.threads)]

    def place(self, digit: Register) -> Register:
        """Where the counts of all tiles have this block's of a digit: the tiles of one digit lie together."""
        return self.emitter.calc("mad.lo.u32", digit, self.blocks, self.block)

    def of_warp(self, start: Register, counters: Register) -> tuple[Register, Register, Register]:
        """The warp's counters, the first of its rows, and the row behind them."""
        emitter, tile = self.emitter, self.tile
        if tile.warps > 1:
            warp = emitter.calc("shr.u32", self.thread, 5)
            start = emitter.calc("mad.lo.u32", warp, WARP * tile.rounds, start)
            counters = emitter.calc("mad.lo.u32", warp, 4 * _DIGITS, counters)
        end = emitter.calc("add.u32", start, WARP * tile.rounds)
        return counters, start, emitter.calc("min.u32", end, self.rows)

    def count_by_warp(self, counters: Register, own: Register, rounds: Rounds) -> None:
        """How often each digit stands in the rows of each warp."""
        for digit in self.own_digits():
            for counter in _of_warps(self.emitter, counters, digit, self.tile.warps):
                self.emitter.put("st.shared.u32", counter, 0)
        self.emitter.put("bar.sync", 0)
        with rounds as at:
            self.counted(own, at)
        self.emitter.put("bar.sync", 0)

    def local_starts(self, places: Register, counters: Register, moves: Register, lane: Register) -> None:
        """Makes of the warps' counters where each warp's words of each digit begin in the tile's order, and ``moves``
        what is added to a place there for the place in the target. The first warp looks after all digits."""
        emitter = self.emitter
        with emitter.when(emitter.calc("setp.lt.u32", self.thread, WARP)):
            running = emitter.calc("mov.u32", 0)
            for part in range(0, _DIGITS, WARP):
                digit = emitter.calc("add.u32", lane, part)
                place = self.place(digit)
                begin = emitter.load("u32", places, place)
                end = emitter.load("u32", places, emitter.calc("add.u32", place, 1))
                count = emitter.calc("sub.u32", end, begin)
                ends = emitter.calc("add.u32", running, warp_scan(emitter, count, lane))
                local = emitter.calc("sub.u32", ends, count)
                emitter.put(
                    "st.shared.u32", emitter.shared_element(moves, digit, 4), emitter.calc("sub.u32", begin, local)
                )
                running = shuffled(emitter, ends, "idx", WARP - 1)
                *earlier, last = _of_warps(emitter, counters, digit, self.tile.warps)
                for counter in earlier:
                    own = emitter.calc("ld.shared.u32", counter)
                    emitter.put("st.shared.u32", counter, local)
                    local = emitter.calc("add.u32", local, own)
                emitter.put("st.shared.u32", last, local)
        emitter.put("bar.sync", 0)

    def counted(self, counters: Register, at: Rounds) -> None:
        digit = self.digit(self.word(at))
        self.emitter.put("red.shared.add.u32", self.emitter.shared_element(counters, digit, 4), 1, guard=at.inside)


def count_module(name: str, tile: Tile) -> Module:
    """How often each digit stands in each tile."""
    self = _Pass(name, tile, ["counts"])
    emitter = self.emitter
    counters = emitter.shared_array("counters", U32, _DIGITS)
    for digit in self.own_digits():
        emitter.put("st.shared.u32", emitter.shared_element(counters, digit, 4), 0)
    emitter.put("bar.sync", 0)
    with rows_of_block(emitter, tile, self.rows) as at:
        self.counted(counters, at)
    emitter.put("bar.sync", 0)
    for digit in self.own_digits():
        count = emitter.calc("ld.shared.u32", emitter.shared_element(counters, digit, 4))
        emitter.store("u32", self.others[0], self.place(digit), count)
    emitter.op("ret", [])
    return emitter.module()


def move_module(name: str, tile: Tile) -> Module:
    """Each word to its place, from where the words of each digit and tile go.

    The tile is put into the order of its digits in shared memory first: words of a digit leave as one run.
    """
    self = _Pass(name, tile, ["target", "places"])
    emitter = self.emitter
    target, places = self.others
    held = emitter.shared_array("held", U64, tile.rows)
    counters = emitter.shared_array("counters", U32, _DIGITS * tile.warps)
    moves = emitter.shared_array("moves", U32, _DIGITS)
    lane, below = emitter.special("%laneid"), emitter.special("%lanemask_lt")
    start = emitter.calc("mul.lo.u32", self.block, tile.rows)
    own, first, stop = self.of_warp(start, counters)
    if tile.warps > 1:
        self.count_by_warp(counters, own, Rounds(emitter, first, stop, WARP, lane))
    self.local_starts(places, counters, moves, lane)
    with Rounds(emitter, first, stop, WARP, lane) as at:
        word = self.word(at)
        digit = self.digit(word)
        peers = _peers(emitter, digit, at.inside)
        rank = emitter.calc("popc.b32", emitter.calc("and.b32", peers, below))
        counter = emitter.shared_element(own, digit, 4)
        base = emitter.calc("ld.shared.u32", counter)
        place = emitter.calc("add.u32", base, rank)
        emitter.put("st.shared.u64", emitter.shared_element(held, place, 8), word, guard=at.inside)
        emitter.put("bar.warp.sync", ALL_LANES)
        after = emitter.calc("add.u32", base, emitter.calc("popc.b32", peers))
        leads = emitter.both(at.inside, emitter.calc("setp.eq.u32", rank, 0))
        emitter.put("st.shared.u32", counter, after, guard=leads)
        emitter.put("bar.warp.sync", ALL_LANES)
    emitter.put("bar.sync", 0)
    count = emitter.calc("min.u32", emitter.calc("sub.u32", self.rows, start), tile.rows)
    none = emitter.calc("mov.u32", 0)
    with Rounds(emitter, none, count, tile.threads, self.thread) as at, emitter.when(at.inside):
        word = emitter.calc("ld.shared.u64", emitter.shared_element(held, at.row, 8))
        move = emitter.calc("ld.shared.u32", emitter.shared_element(moves, self.digit(word), 4))
        emitter.store("u64", target, emitter.calc("add.u32", move, at.row), word)
    emitter.op("ret", [])
    return emitter.module()


def _of_warps(emitter: Emitter, counters: Register, digit: Register, warps: int) -> list[Address]:
    """A digit's counters, one a warp."""
    first = emitter.calc("mad.lo.u32", digit, 4, counters)
    return [Address(first, 4 * _DIGITS * warp) for warp in range(warps)]


def _peers(emitter: Emitter, digit: Register, inside: Register) -> Register:
    """The lanes inside that have the same digit."""
    peers = emitter.calc("vote.sync.ballot.b32", inside, ALL_LANES)
    for bit in range(_BITS):
        has = emitter.calc("setp.ne.u32", emitter.calc("and.b32", digit, 1 << bit), 0)
        votes = emitter.calc("vote.sync.ballot.b32", has, ALL_LANES)
        alike = emitter.calc("selp.b32", votes, emitter.calc("not.b32", votes), has)
        peers = emitter.calc("and.b32", peers, alike)
    return peers
