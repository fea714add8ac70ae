"""Prefix sums by kernels: a vector of counts or a mask into where each row's results go, in a single pass.

A chained scan (thesis section 4.3.3): each block sums its tile, looks back for what is before it (``look_back.py``),
and walks over its tile again.

    offsets(kernels, counts, rows)          u32 counts -> u32 or u64 offsets, rows + 1 of them, and their total
    scan(kernels, name, walk, arguments, rows)   any ``Walk``: a value a row, and what is done with the sum before it
"""

from __future__ import annotations

from typing import Any

import numpy as np

from drawloom.horse.emit import ALL_LANES, WARP, Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.look_back import LookBack, states_for
from drawloom.horse.kernels.rows import MAX_ROWS, Rounds, Tile, tile_for
from drawloom.horse.kernels.warps import shuffled, warp_scan, warp_sum
from drawloom.horse.kernels.workspace import Memory, Size
from drawloom.ptx.ir import Module, Register
from drawloom.ptx.types import U32


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
    states = kernels.workspace.full(states_for(blocks), np.uint64, 0)
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
        self.look_back = LookBack(emitter, self.states, tile.warps)

    def module(self) -> Module:
        emitter = self.emitter
        block = self.look_back.numbered()
        begin = emitter.calc("mul.lo.u32", block, self.tile.rows)
        is_last = emitter.calc("setp.ge.u32", emitter.calc("add.u32", begin, self.tile.rows), self.rows)
        start = begin
        if self.tile.warps > 1:
            start = emitter.calc("mad.lo.u32", self.look_back.warp, WARP * self.tile.rounds, begin)
        (before,) = self.look_back.before_warp(block, [self.warp_total(start)], is_last, self.finish)
        running = before if self.walk.type == "u64" else emitter.calc("cvt.u32.u64", before)
        with self.rounds(start) as each:
            value = self.walk.value(emitter, each.row, each.inside)
            self.round(each, value, running)
        emitter.op("ret", [])
        return emitter.module()

    def finish(self, totals: list[Register]) -> None:
        self.walk.finish(self.emitter, totals[0], self.rows)

    def rounds(self, start: Register) -> Rounds:
        """A walk of the warp over its rows, which begin at ``start``."""
        end = self.emitter.calc("add.u32", start, WARP * self.tile.rounds)
        return Rounds(self.emitter, start, self.emitter.calc("min.u32", end, self.rows), WARP, self.lane)

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
