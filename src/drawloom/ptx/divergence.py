"""Which registers a divergent branch makes differ between threads: from a branch to a set of registers.

A register differs although everything that is written to it is the same for all threads, when threads that went
different ways wrote it at different times or places. Registers are storage here, not SSA values, so one more
thing counts: a way that writes a register while threads on another way still need its old value. For a divergent
branch at block B and the places where threads wait for each other, its *stops*, side i is what a thread passes
from the i-th successor of B until it comes to a stop. Then these differ:

1. *merges*: what the sides write that come to a common stop, or to a first common block, and is live there;
2. *clobbers*: what one side writes and is live into a block that only another side has;
3. *temporal divergence*: if one side leaves a loop around B while another comes to its header, what the loop
   writes and is live in the blocks outside that the first comes to, because threads come there in different
   iterations; and what these blocks write and is live in the loop;
4. where a side touches an irreducible cycle: what the sides write and is live anywhere in them or at a stop.

The stops are taken in each way in which warps are run, and what differs in one of them counts: the immediate
post-dominator of B (a reconvergence stack); that and the headers of the loops around B (iterations in lockstep,
linearised); the headers alone, if the post-dominator is in the loop but comes after the header. The order in which
sides run is left open.
"""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import post_dominators
from drawloom.ptx.liveness import Liveness, bits, members
from drawloom.ptx.loops import find_loops


class Divergence:
    """Answers ``differing(block)`` for one function; keeps what all branches share.

    Registers are bit sets of places in ``live``: what is live at no border cannot differ. ``asked`` are those about
    which anything is to be known.
    """

    def __init__(self, cfg: Cfg, live: Liveness, asked: int) -> None:
        self.cfg = cfg
        self.live_into_block = live.into
        self.post_idom = post_dominators(cfg).idom
        self.forest = find_loops(cfg)
        self.written = [written & asked for written in live.written]
        self.loop_written: list[int] = []
        for loop in self.forest.loops:
            written = 0
            for block_id in loop.blocks:
                written |= self.written[block_id]
            self.loop_written.append(written)
        self.irreducible = 0
        for region in self.forest.irreducible_regions:
            for block_id in region:
                self.irreducible |= 1 << block_id
        #: When a walk came to each block last, three numbers a walk: as one of the side, a stop, a stop reached.
        self.seen = vec[i64]([0] * len(cfg.blocks))
        self.walk: i64 = 0

    def differing(self, block_id: int) -> int:
        """The registers that differ because threads part at the end of ``block_id`` (PTX 9.7.12)."""
        succs = self.cfg.blocks[block_id].succs
        if len(succs) < 2:
            return 0
        count = len(self.cfg.blocks)
        join = self.post_idom[block_id]
        join_bit = 0 if join == count else 1 << join
        headers = self.headers(block_id)
        out = self.between(block_id, join_bit)
        if headers & ~join_bit:
            out |= self.between(block_id, headers | join_bit)
            if self.goes_round(block_id, headers & ~join_bit, join):
                out |= self.between(block_id, headers)
        return out

    def headers(self, block_id: int) -> int:
        """The headers of the loops around a block, as a bit set."""
        out = 0
        index = self.forest.loop_of[block_id]
        while index >= 0:
            loop = self.forest.loops[index]
            out |= 1 << loop.header
            index = loop.parent
        return out

    def goes_round(self, block_id: int, headers: int, join: int) -> bool:
        """Whether a thread can come to one of the headers and then, in the same loop, to ``join``."""
        index = self.forest.loop_of[block_id]
        while index >= 0:
            loop = self.forest.loops[index]
            if headers >> loop.header & 1 and join < len(self.cfg.blocks) and loop.contains(join):
                for successor in self.cfg.blocks[block_id].succs:
                    if self.side(successor, 1 << loop.header | 1 << join)[1] >> loop.header & 1:
                        return True
            index = loop.parent
        return False

    def between(self, block_id: int, stops: int) -> int:
        """``differing`` if the threads meet again at ``stops``."""
        succs = self.cfg.blocks[block_id].succs
        sides: list[int] = []
        reached: list[int] = []
        writes: list[int] = []
        for successor in succs:
            side, stopped, written = self.side(successor, stops)
            sides.append(side)
            reached.append(stopped)
            writes.append(written)
        touched = 1 << block_id
        for side in sides:
            touched |= side
        if touched & self.irreducible:
            out = self.conservative(sides, reached)
        else:
            out = self.clobbers_and_merges(succs, sides, reached, writes)
        return out | self.temporal(block_id, sides, reached)

    def side(self, start: int, stops: int) -> tuple[int, int, int]:
        """The blocks from ``start`` on up to ``stops``, without them, those of the stops that are reached, and what the
        blocks write."""
        if stops >> start & 1:
            return 0, 1 << start, 0
        blocks = self.cfg.blocks
        seen = self.seen
        self.walk += 3
        walk = self.walk
        for stop in members(stops):
            seen[stop] = walk + 1
        seen[start] = walk
        found = [start]
        stopped: list[int] = []
        written = 0
        for block_id in found:
            written |= self.written[block_id]
            for successor in blocks[block_id].succs:
                mark = seen[successor]
                if mark < walk:
                    seen[successor] = walk
                    found.append(successor)
                elif mark == walk + 1:
                    seen[successor] = walk + 2
                    stopped.append(successor)
        return bits(found), bits(stopped), written

    def clobbers_and_merges(self, succs: list[int], sides: list[int], reached: list[int], writes: list[int]) -> int:
        if not any(writes):
            return 0
        once = 0
        shared = 0
        stop_once = 0
        stop_shared = 0
        for side, stopped in zip(sides, reached):
            shared |= once & side
            once |= side
            stop_shared |= stop_once & stopped
            stop_once |= stopped
        out = 0
        for place in range(len(sides)):
            others = 0
            for other in range(len(sides)):
                if other != place:
                    others |= writes[other]
            if others:
                out |= others & self.live_into(sides[place] & ~shared)
        for place in range(len(sides)):
            everything = 0
            for other in range(len(sides)):
                # What matters at a merge is what the sides that come there write.
                if other == place or sides[other] & sides[place] or reached[other] & reached[place]:
                    everything |= writes[other]
            merging = reached[place] & stop_shared
            merging |= self.first_shared(succs[place], sides[place], shared)
            out |= everything & self.live_into(merging)
        return out

    def first_shared(self, start: int, side: int, shared: int) -> int:
        """The shared blocks of a side that a thread can come to from a block that is not shared."""
        blocks = self.cfg.blocks
        out = 1 << start & shared
        remaining = side & shared
        while remaining:
            lowest = remaining & -remaining
            remaining ^= lowest
            for pred in blocks[lowest.bit_length() - 1].preds:
                if side >> pred & 1 and not shared >> pred & 1:
                    out |= lowest
                    break
        return out

    def temporal(self, block_id: int, sides: list[int], reached: list[int]) -> int:
        """What differs because threads of one side leave a loop around ``block_id`` while another side stays."""
        out = 0
        headers = 0
        index = self.forest.loop_of[block_id]
        while index >= 0:
            loop = self.forest.loops[index]
            headers |= 1 << loop.header
            staying = [place for place in range(len(sides)) if reached[place] & headers]
            for place in range(len(sides)):
                outside = (sides[place] | reached[place]) & ~loop.members
                if outside and staying and staying != [place]:
                    out |= self.loop_written[index] & self.live_into(outside)
                    out |= self.written_in(sides[place] & outside) & self.live_into(loop.members)
            index = loop.parent
        return out

    def conservative(self, sides: list[int], reached: list[int]) -> int:
        covered = 0
        stopped = 0
        for side, stop in zip(sides, reached):
            covered |= side
            stopped |= stop
        return self.written_in(covered | stopped) & self.live_into(covered | stopped)

    def written_in(self, blocks: int) -> int:
        out = 0
        while blocks:
            lowest = blocks & -blocks
            blocks ^= lowest
            out |= self.written[lowest.bit_length() - 1]
        return out

    def live_into(self, blocks: int) -> int:
        out = 0
        while blocks:
            lowest = blocks & -blocks
            blocks ^= lowest
            out |= self.live_into_block[lowest.bit_length() - 1]
        return out
