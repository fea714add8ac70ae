"""A stable sort of 64-bit words by some of their bits, eight at a time from the lowest up (LSD radix sort).

A pass counts how often each digit stands in each tile, makes of the counts where each tile's words of each digit go
(one scan: ``scan.py``), and writes them there. Within a warp a word's place among those of its digit comes from votes,
one a bit of the digit; warps of a block have counters of their own, so that words of one digit keep their order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import WARP, Rounds, Tile, rows_of_block, tile_for
from drawloom.horse.kernels.scan import ALL_LANES, offsets
from drawloom.horse.kernels.workspace import Memory
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.types import U32
from drawloom.runtime.machine import Device

_BITS: Final = 8
_DIGITS: Final = 1 << _BITS
#: A tile of a radix sort has as many more rounds, so that there are few counters beside the words.
_LONGER: Final = 2


def radix_sort(kernels: DeviceKernels, words: Memory, rows: int, low: int, high: int) -> Memory:
    """The u64 ``words`` in ascending order of their bits from ``low`` to below ``high``, words that are equal there in
    the order that they had. ``words`` is overwritten; the result may be it."""
    tile = radix_tile(kernels.device)
    blocks = tile.blocks(rows)
    count = kernels.kernel("radix_count", lambda name: count_module(name, tile))
    move = kernels.kernel("radix_move", lambda name: move_module(name, tile))
    other = kernels.workspace.empty(rows, np.uint64)
    counts = kernels.workspace.empty(_DIGITS * blocks, np.uint32)
    for shift in range(low, high, _BITS):
        mask = (1 << min(_BITS, high - shift)) - 1
        count[blocks, tile.threads](words, counts, shift, mask, rows)
        places, _ = offsets(kernels, counts, _DIGITS * blocks)
        move[blocks, tile.threads](words, other, places, shift, mask, rows)
        words, other = other, words
    return words


def radix_tile(device: Device) -> Tile:
    tile = tile_for(device)
    return Tile(tile.threads, _LONGER * tile.rounds)


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
    """Each word to its place, from where the words of each digit and tile go."""
    self = _Pass(name, tile, ["target", "places"])
    emitter = self.emitter
    target, places = self.others
    counters = emitter.shared_array("counters", U32, _DIGITS * tile.warps)
    start = emitter.calc("mul.lo.u32", self.block, tile.rows)
    own = counters
    if tile.warps > 1:
        warp = emitter.calc("shr.u32", self.thread, 5)
        start = emitter.calc("mad.lo.u32", warp, WARP * tile.rounds, start)
        own = emitter.calc("mad.lo.u32", warp, 4 * _DIGITS, counters)
    end = emitter.calc("add.u32", start, WARP * tile.rounds)
    stop = emitter.calc("min.u32", end, self.rows)
    lane = emitter.special("%laneid")
    if tile.warps > 1:
        for digit in self.own_digits():
            for counter in _of_warps(emitter, counters, digit, tile.warps):
                emitter.put("st.shared.u32", counter, 0)
        emitter.put("bar.sync", 0)
        with Rounds(emitter, start, stop, WARP, lane) as at:
            self.counted(own, at)
        emitter.put("bar.sync", 0)
    for digit in self.own_digits():
        running = emitter.load("u32", places, self.place(digit))
        *earlier, last = _of_warps(emitter, counters, digit, tile.warps)
        for counter in earlier:
            count = emitter.calc("ld.shared.u32", counter)
            emitter.put("st.shared.u32", counter, running)
            running = emitter.calc("add.u32", running, count)
        emitter.put("st.shared.u32", last, running)
    emitter.put("bar.sync", 0)
    below = emitter.special("%lanemask_lt")
    with Rounds(emitter, start, stop, WARP, lane) as at:
        word = self.word(at)
        digit = self.digit(word)
        peers = _peers(emitter, digit, at.inside)
        rank = emitter.calc("popc.b32", emitter.calc("and.b32", peers, below))
        address = emitter.shared_element(own, digit, 4)
        first = emitter.calc("ld.shared.u32", address)
        emitter.store("u64", target, emitter.calc("add.u32", first, rank), word, at.inside)
        emitter.put("bar.warp.sync", ALL_LANES)
        after = emitter.calc("add.u32", first, emitter.calc("popc.b32", peers))
        leads = emitter.both(at.inside, emitter.calc("setp.eq.u32", rank, 0))
        emitter.put("st.shared.u32", address, after, guard=leads)
        emitter.put("bar.warp.sync", ALL_LANES)
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
