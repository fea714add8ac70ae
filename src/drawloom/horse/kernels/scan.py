"""Prefix sums by kernels: a vector of counts or a mask into where each row's results go, in a single pass.

A chained scan with look-back (thesis section 4.3.3, after StreamScan): blocks take numbers from a counter, so that
all before one have started; each sums its tile and says so, adds up what the tiles before it have said, and says the
sum of all to its own end. A state is one 64-bit word, two bits of what it says (nothing, the tile's sum, the sum of
all up to the tile's end) above 62 bits of sum, so nothing else has to be ordered.

    offsets(kernels, counts, rows)          u32 counts -> u32 or u64 offsets, rows + 1 of them, and their total
    scan(kernels, name, walk, arguments, rows)   any ``Walk``: a value a row, and what is done with the sum before it
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import MAX_ROWS, WARP, Rounds, Tile, tile_for
from drawloom.horse.kernels.workspace import Memory, Size
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.types import F64, U32, U64

ALL_LANES: Final = -1
_SUM: Final = 1 << 62
_ALL: Final = 2 << 62
_VALUE: Final = _SUM - 1


class Walk:
    """What a scan adds up and what it does with the sums. ``type`` is that of the sums, "u32" or "u64"; the values of
    a mask are predicates."""

    is_mask = False
    #: Of a mask: whether ``write`` is called for rows that are not chosen, too.
    writes_all = False
    type = "u32"

    def declare(self, emitter: Emitter) -> None:
        """The kernel's first parameters, and what is loaded once."""
        raise NotImplementedError

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        """The row's value; zero or false where ``inside`` does not hold."""
        raise NotImplementedError

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        """Called with the sum of all values before the row's."""
        raise NotImplementedError

    def finish(self, emitter: Emitter, total: Register, rows: Register) -> None:
        """Called in one thread with the sum of all, 64 bits, and how many rows there are."""


class Offsets(Walk):
    """Counts into offsets, with the total behind the last."""

    def __init__(self, type: str) -> None:
        self.type = type

    def declare(self, emitter: Emitter) -> None:
        emitter.pointer_param("counts")
        emitter.pointer_param("offsets")
        self.counts = emitter.pointer("counts")
        self.offsets = emitter.pointer("offsets")

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        return emitter.load("u32", self.counts, row, inside)

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store(self.type, self.offsets, row, before, inside)


def offsets(kernels: DeviceKernels, counts: Memory, rows: int, wide: bool = False) -> tuple[Memory, int]:
    """The sums of the u32 ``counts`` before each of ``rows`` rows, u32 or (``wide``) u64, and the sum of all.

    Offsets of 32 bits are those modulo 2**32: ask the total first.
    """
    made = kernels.workspace.empty(rows, np.uint64 if wide else np.uint32)
    walk = Offsets("u64" if wide else "u32")
    return made, scan(kernels, f"offsets_{walk.type}", walk, [counts, made], rows)


def scan(kernels: DeviceKernels, name: str, walk: Walk, arguments: list[Any], rows: int) -> int:
    """Runs a scan over ``rows`` rows (at most ``MAX_ROWS``) and gives the sum of all values, below 2**62.

    ``name`` says all that ``walk`` was made for; ``arguments`` are for the parameters that it declares.
    """
    return int(scanned(kernels, name, walk, arguments, rows))


def scanned(kernels: DeviceKernels, name: str, walk: Walk, arguments: list[Any], rows: int) -> int | Size:
    """As ``scan``; on a device apart the sum stays there until somebody asks for it."""
    if rows == 0:
        return 0
    assert rows <= MAX_ROWS
    tile = tile_for(kernels.device)
    kernel = kernels.kernel(name, lambda name: scan_module(name, tile, walk))
    blocks = tile.blocks(rows)
    states = kernels.workspace.full(blocks + 2, np.uint64, 0)
    kernel[blocks, tile.threads](*arguments, states, rows)
    return kernels.workspace.size(states, 1)


def scan_module(name: str, tile: Tile, walk: Walk) -> Module:
    """The kernel of a scan. Its last parameters are the states (u64: the counter of blocks, the total, one a block;
    all zero) and the rows (u32)."""
    emitter = Emitter(name)
    walk.declare(emitter)
    emitter.pointer_param("states")
    emitter.scalar_param("rows", U32)
    return _Scan(emitter, tile, walk).module()


class _Scan:
    def __init__(self, emitter: Emitter, tile: Tile, walk: Walk) -> None:
        self.emitter = emitter
        self.tile = tile
        self.walk = walk
        self.states = emitter.pointer("states")
        self.rows = emitter.param("rows", U32)
        self.lane = emitter.special("%laneid")
        self.below = emitter.special("%lanemask_lt")
        self.thread = emitter.special("%tid.x")
        if tile.warps > 1:
            self.warp = emitter.calc("shr.u32", self.thread, 5)
            self.first_warp = emitter.calc("setp.lt.u32", self.thread, WARP)

    def module(self) -> Module:
        emitter = self.emitter
        block = self.numbered()
        start = emitter.calc("mul.lo.u32", block, self.tile.rows)
        if self.tile.warps > 1:
            start = emitter.calc("mad.lo.u32", self.warp, WARP * self.tile.rounds, start)
        total = self.warp_total(start)
        before = self.before_warp(block, total)
        running = before if self.walk.type == "u64" else emitter.calc("cvt.u32.u64", before)
        with self.rounds(start) as each:
            value = self.walk.value(emitter, each.row, each.inside)
            self.round(each, value, running)
        emitter.op("ret", [])
        return emitter.module()

    def rounds(self, start: Register) -> Rounds:
        """A walk of the warp over its rows, which begin at ``start``."""
        end = self.emitter.calc("add.u32", start, WARP * self.tile.rounds)
        return Rounds(self.emitter, start, self.emitter.calc("min.u32", end, self.rows), WARP, self.lane)

    def numbered(self) -> Register:
        """The block's number: the next of the counter's, the same for all of its threads, as reading it from shared
        memory shows."""
        emitter = self.emitter
        leader = emitter.calc("setp.eq.u32", self.thread, 0)
        drawn = emitter.calc("mov.u64", 0)
        emitter.put("atom.global.add.u64", drawn, Address(self.states), 1, guard=leader)
        block = emitter.calc("cvt.u32.u64", drawn)
        place = Address(emitter.shared_array("number", U32, 1))
        emitter.put("st.shared.u32", place, block, guard=leader)
        emitter.put(*(("bar.sync", 0) if self.tile.warps > 1 else ("bar.warp.sync", ALL_LANES)))
        return emitter.calc("ld.shared.u32", place)

    def warp_total(self, start: Register) -> Register:
        """The sum of the warp's values, 64 bits, in all of its lanes."""
        emitter = self.emitter
        if self.walk.is_mask:
            count = emitter.calc("mov.u32", 0)
            with self.rounds(start) as each:
                chosen = self.walk.value(emitter, each.row, each.inside)
                votes = emitter.calc("vote.sync.ballot.b32", chosen, ALL_LANES)
                emitter.put("add.u32", count, count, emitter.calc("popc.b32", votes))
            return emitter.calc("cvt.u64.u32", count)
        sum = emitter.calc("mov.u64", 0)
        with self.rounds(start) as each:
            value = self.walk.value(emitter, each.row, each.inside)
            emitter.put("add.u64", sum, sum, value if value.type.bits == 64 else emitter.calc("cvt.u64.u32", value))
        return warp_sum(emitter, sum)

    def before_warp(self, block: Register, total: Register) -> Register:
        """The sum of all that the warp's rows follow, from the totals of the block's warps."""
        emitter = self.emitter
        if self.tile.warps == 1:
            return self.look_back(block, total)
        sums = emitter.shared_array("sums", U64, WARP)
        mine = emitter.shared_element(sums, self.warp, 8)
        emitter.put("st.shared.u64", mine, total, guard=emitter.calc("setp.eq.u32", self.lane, 0))
        emitter.put("bar.sync", 0)
        with emitter.when(self.first_warp):
            place = emitter.shared_element(sums, self.lane, 8)
            known = emitter.calc("setp.lt.u32", self.lane, self.tile.warps)
            one = emitter.calc("mov.u64", 0)
            emitter.put("ld.shared.u64", one, place, guard=known)
            ends = warp_scan(emitter, one, self.lane)
            whole = shuffled(emitter, ends, "idx", WARP - 1)
            before = self.look_back(block, whole)
            start = emitter.calc("add.u64", before, emitter.calc("sub.u64", ends, one))
            emitter.put("st.shared.u64", place, start, guard=known)
        emitter.put("bar.sync", 0)
        return emitter.calc("ld.shared.u64", mine)

    def look_back(self, block: Register, total: Register) -> Register:
        """One warp: says the block's total, and gives the sum of all blocks before it (thesis section 4.3.3)."""
        emitter = self.emitter
        leader = emitter.calc("setp.eq.u32", self.lane, 0)
        own = emitter.element(self.states, emitter.calc("add.u32", block, 2), 8)
        said = emitter.calc("or.b64", total, _SUM)
        emitter.put("st.relaxed.gpu.global.u64", own, said, guard=leader)
        before = emitter.calc("mov.u64", 0)
        at = emitter.calc("sub.s32", emitter.calc("sub.s32", block, self.lane), 1)
        with emitter.loop() as further:
            word = self.heard(at)
            complete = emitter.calc("setp.ge.u64", word, _ALL)
            votes = emitter.calc("vote.sync.ballot.b32", complete, ALL_LANES)
            nearest = emitter.calc("clz.b32", emitter.calc("brev.b32", votes))
            counted = emitter.calc("setp.le.u32", self.lane, nearest)
            value = emitter.calc("selp.b64", emitter.calc("and.b64", word, _VALUE), 0, counted)
            emitter.put("add.u64", before, before, warp_sum(emitter, value))
            further.leave(emitter.calc("setp.ne.u32", votes, 0))
            emitter.put("sub.s32", at, at, WARP)
        after = emitter.calc("add.u64", before, total)
        emitter.put("st.relaxed.gpu.global.u64", own, emitter.calc("or.b64", after, _ALL), guard=leader)
        end = emitter.calc("mad.lo.u32", block, self.tile.rows, self.tile.rows)
        last = emitter.both(leader, emitter.calc("setp.ge.u32", end, self.rows))
        with emitter.when(last):
            emitter.put("st.global.u64", Address(self.states, 8), after)
            self.walk.finish(emitter, after, self.rows)
        return before

    def heard(self, at: Register) -> Register:
        """What the blocks ``at`` have said, once all of them have said something; blocks before the first: zero."""
        emitter = self.emitter
        there = emitter.calc("setp.ge.s32", at, 0)
        clamped = emitter.calc("max.s32", at, 0)
        place = emitter.element(self.states, emitter.calc("add.u32", clamped, 2), 8)
        word = emitter.calc("mov.u64", _ALL)
        with emitter.loop() as waiting:
            emitter.put("ld.relaxed.gpu.global.u64", word, place, guard=there)
            said = emitter.calc("setp.ge.u64", word, _SUM)
            waiting.leave(emitter.calc("vote.sync.all.pred", said, ALL_LANES))
        return word

    def round(self, each: Rounds, value: Register, running: Register) -> None:
        """32 rows: ``running`` is the sum before the first of them, and behind them afterwards."""
        emitter, type = self.emitter, self.walk.type
        if self.walk.is_mask:
            votes = emitter.calc("vote.sync.ballot.b32", value, ALL_LANES)
            some = emitter.calc("setp.ne.u32", votes, 0)
            with emitter.when(emitter.either(some, each.inside) if self.walk.writes_all else some):
                rank = emitter.calc("popc.b32", emitter.calc("and.b32", votes, self.below))
                before = emitter.calc("add.u32", running, rank)
                self.walk.write(emitter, each.row, each.inside, value, before)
                emitter.put("add.u32", running, running, emitter.calc("popc.b32", votes))
            return
        if type == "u64" and value.type.bits == 32:
            value = emitter.calc("cvt.u64.u32", value)
        ends = warp_scan(emitter, value, self.lane)
        end = emitter.calc(f"add.{type}", running, ends)
        self.walk.write(emitter, each.row, each.inside, value, emitter.calc(f"sub.{type}", end, value))
        emitter.put(f"mov.{type}", running, shuffled(emitter, end, "idx", WARP - 1))


# A warp's values


def shuffled(emitter: Emitter, value: Register, mode: str, lanes: Register | int) -> Register:
    """Another lane's value of 32 or 64 bits: "up", "down" or "bfly" by ``lanes``, or "idx" of that lane. A lane out
    of range gives the lane's own."""
    bound = 0 if mode == "up" else WARP - 1
    if value.type is F64:
        return emitter.calc("mov.f64", shuffled(emitter, emitter.calc("mov.b64", value), mode, lanes))
    if value.type.bits == 32:
        return emitter.calc(f"shfl.sync.{mode}.b32", value, lanes, bound, ALL_LANES)
    low = emitter.calc("cvt.u32.u64", value)
    high = emitter.calc("cvt.u32.u64", emitter.calc("shr.u64", value, 32))
    low, high = shuffled(emitter, low, mode, lanes), shuffled(emitter, high, mode, lanes)
    upper = emitter.calc("shl.b64", emitter.calc("cvt.u64.u32", high), 32)
    return emitter.calc("or.b64", upper, emitter.calc("cvt.u64.u32", low))


def warp_sum(emitter: Emitter, value: Register) -> Register:
    """The sum of the lanes' integers, in every lane."""
    for lanes in (16, 8, 4, 2, 1):
        value = emitter.calc(f"add.u{value.type.bits}", value, shuffled(emitter, value, "bfly", lanes))
    return value


def warp_scan(emitter: Emitter, value: Register, lane: Register) -> Register:
    """The sum of the integers of the lanes up to and with each."""
    type = f"u{value.type.bits}"
    for lanes in (1, 2, 4, 8, 16):
        other = shuffled(emitter, value, "up", lanes)
        reached = emitter.calc("setp.ge.u32", lane, lanes)
        grown = emitter.calc(f"add.{type}", value, other)
        value = emitter.calc(f"selp.b{value.type.bits}", grown, value, reached)
    return value
