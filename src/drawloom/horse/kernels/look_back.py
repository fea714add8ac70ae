"""Decoupled look-back: the sum of a block's tile into the sum of all tiles before it, in the pass that made it.

Thesis section 4.3.3, after StreamScan: blocks take numbers from a counter, so that all tiles before one have been
started by somebody who finishes them; each sums its tile and says so, adds up what the tiles before it have said, and
says the sum of all to its own end. A state is one 64-bit word, two bits of what it says (nothing, the tile's sum, the
sum of all up to the tile's end) above 62 bits of sum, so nothing else has to be ordered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.emit import ALL_LANES, WARP, Emitter
from drawloom.horse.kernels.warps import shuffled, warp_scan, warp_sum
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import U32, U64

_SUM: Final = 1 << 62
_ALL: Final = 2 << 62
_VALUE: Final = _SUM - 1


def states_for(tiles: int, streams: int = 1) -> int:
    """How many words ``LookBack`` needs: the counter of tiles, the totals of the streams, one a tile and stream."""
    return 1 + streams * (1 + tiles)


class LookBack:
    """The look-back of blocks of ``warps`` warps over ``streams`` sums a tile at once. ``states`` is the address of
    ``states_for`` words (u64), zero before the launch; words 1 and on are the totals in the end."""

    def __init__(self, emitter: Emitter, states: Register, warps: int, streams: int = 1) -> None:
        self.emitter = emitter
        self.states = states
        self.warps = warps
        self.streams = streams
        self.lane = emitter.special("%laneid")
        self.leads_block = emitter.calc("setp.eq.u32", emitter.special("%tid.x"), 0)
        self.leads_warp = emitter.calc("setp.eq.u32", self.lane, 0)
        self.drawn = Address(emitter.shared_array("number", U32, 1))
        if warps > 1:
            self.warp = emitter.calc("shr.u32", emitter.special("%tid.x"), 5)
            self.sums = [emitter.shared_array(f"sums{s}", U64, WARP) for s in range(streams)]

    def numbered(self) -> Register:
        """The number of the block's next tile, from the counter; the same for all threads, as reading it from shared
        memory shows. Nobody waits for a tile that nobody has: who draws a number has drawn all below, or others
        have."""
        emitter = self.emitter
        drawn = emitter.calc("mov.u64", 0)
        emitter.put("atom.global.add.u64", drawn, Address(self.states), 1, guard=self.leads_block)
        emitter.put("st.shared.u32", self.drawn, emitter.calc("cvt.u32.u64", drawn), guard=self.leads_block)
        emitter.put(*(("bar.sync", 0) if self.warps > 1 else ("bar.warp.sync", ALL_LANES)))
        return emitter.calc("ld.shared.u32", self.drawn)

    def before_warp(
        self, tile: Register, totals: list[Register], is_last: Register, finish: Callable[[list[Register]], None] | None
    ) -> list[Register]:
        """By stream the sum of all before the warp's part of ``tile``, from the ``totals`` of its warps (64 bits,
        below 2**62, in all lanes). ``finish`` (if any) is called in one thread of the tile that ``is_last``, with the
        sums of all, which are the words from 1 on then."""
        emitter = self.emitter
        if self.warps == 1:
            return self.before_tile(tile, totals, is_last, finish)
        mine = [emitter.shared_element(sums, self.warp, 8) for sums in self.sums]
        for place, total in zip(mine, totals):
            emitter.put("st.shared.u64", place, total, guard=self.leads_warp)
        emitter.put("bar.sync", 0)
        with emitter.when(emitter.calc("setp.eq.u32", self.warp, 0)):
            known = emitter.calc("setp.lt.u32", self.lane, self.warps)
            places = [emitter.shared_element(sums, self.lane, 8) for sums in self.sums]
            ones = [emitter.calc("mov.u64", 0) for _ in places]
            for one, place in zip(ones, places):
                emitter.put("ld.shared.u64", one, place, guard=known)
            ends = [warp_scan(emitter, one, self.lane) for one in ones]
            wholes = [shuffled(emitter, end, "idx", WARP - 1) for end in ends]
            before = self.before_tile(tile, wholes, is_last, finish)
            for stream, place in enumerate(places):
                start = emitter.calc("sub.u64", ends[stream], ones[stream])
                emitter.put("st.shared.u64", place, emitter.calc("add.u64", before[stream], start), guard=known)
        emitter.put("bar.sync", 0)
        return [emitter.calc("ld.shared.u64", place) for place in mine]

    def before_tile(
        self, tile: Register, totals: list[Register], is_last: Register, finish: Callable[[list[Register]], None] | None
    ) -> list[Register]:
        """One warp: says the tile's totals, and gives the sums of all tiles before it."""
        emitter = self.emitter
        own = [self.word(tile, stream) for stream in range(self.streams)]
        if self.warps == 1:
            before = [self.said_by_last(tile, stream) for stream in range(self.streams)]
        else:
            for place, total in zip(own, totals):
                said = emitter.calc("or.b64", total, _SUM)
                emitter.put("st.relaxed.gpu.global.u64", place, said, guard=self.leads_warp)
            before = [self.said_before(tile, stream) for stream in range(self.streams)]
        after = [emitter.calc("add.u64", b, t) for b, t in zip(before, totals)]
        for place, sum in zip(own, after):
            emitter.put("st.relaxed.gpu.global.u64", place, emitter.calc("or.b64", sum, _ALL), guard=self.leads_warp)
        with emitter.when(emitter.both(self.leads_warp, is_last)):
            for stream, sum in enumerate(after):
                emitter.put("st.global.u64", Address(self.states, 8 * (1 + stream)), sum)
            if finish is not None:
                finish(after)
        return before

    def word(self, tile: Register, stream: int) -> Address:
        """Where the tile says its sum of a stream."""
        emitter = self.emitter
        index = tile if self.streams == 1 else emitter.calc("mul.lo.u32", tile, self.streams)
        return emitter.element(self.states, emitter.calc("add.u32", index, 1 + self.streams + stream), 8)

    def said_by_last(self, tile: Register, stream: int) -> Register:
        """The sum of a stream over all tiles before, once the last of them says it. Where a block is a warp there are
        few at a time: who looked further back would wait for the same ones."""
        emitter = self.emitter
        there = emitter.calc("setp.ne.u32", tile, 0)
        place = self.word(emitter.calc("selp.b32", emitter.calc("sub.u32", tile, 1), 0, there), stream)
        word = emitter.calc("mov.u64", _ALL)
        with emitter.loop() as waiting:
            emitter.put("ld.relaxed.gpu.global.u64", word, place, guard=there)
            said = emitter.calc("setp.ge.u64", word, _ALL)
            waiting.leave(emitter.calc("vote.sync.all.pred", said, ALL_LANES))
        return emitter.calc("and.b64", word, _VALUE)

    def said_before(self, tile: Register, stream: int) -> Register:
        """The sum of a stream over all tiles before: 32 words at a time, back to one that says the sum of all."""
        emitter = self.emitter
        before = emitter.calc("mov.u64", 0)
        at = emitter.calc("sub.s32", emitter.calc("sub.s32", tile, self.lane), 1)
        with emitter.loop() as further:
            word = self.heard(at, stream)
            complete = emitter.calc("setp.ge.u64", word, _ALL)
            votes = emitter.calc("vote.sync.ballot.b32", complete, ALL_LANES)
            nearest = emitter.calc("clz.b32", emitter.calc("brev.b32", votes))
            counted = emitter.calc("setp.le.u32", self.lane, nearest)
            value = emitter.calc("selp.b64", emitter.calc("and.b64", word, _VALUE), 0, counted)
            emitter.put("add.u64", before, before, warp_sum(emitter, value))
            further.leave(emitter.calc("setp.ne.u32", votes, 0))
            emitter.put("sub.s32", at, at, WARP)
        return before

    def heard(self, at: Register, stream: int) -> Register:
        """What the tiles ``at`` have said, once all of them have said something; tiles before the first: zero."""
        emitter = self.emitter
        there = emitter.calc("setp.ge.s32", at, 0)
        place = self.word(emitter.calc("max.s32", at, 0), stream)
        word = emitter.calc("mov.u64", _ALL)
        with emitter.loop() as waiting:
            emitter.put("ld.relaxed.gpu.global.u64", word, place, guard=there)
            said = emitter.calc("setp.ge.u64", word, _SUM)
            waiting.leave(emitter.calc("vote.sync.all.pred", said, ALL_LANES))
        return word
