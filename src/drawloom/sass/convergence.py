"""Where the lanes of a warp that part at a branch are made to meet again (thesis section 5.3.3).

From the control-flow graph to a list of meetings: a place where a convergence barrier is set up (BSSY) and the block
at whose beginning everybody waits (BSYNC). A branch whose sides meet inside the same loops sets its barrier up right
before it; one that leaves a loop for some lanes, on the way into the outermost loop that is left, so that it happens
once. Every way to the meeting must lead past the set-up and every way from the set-up to the meeting (or out of the
kernel: nobody waits for lanes that end); where that is not so (irreducible graphs, several ways into a loop's end)
lanes are left to meet further on, or not at all.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import dominators, post_dominators
from drawloom.ptx.isa import BARRIER, WARP
from drawloom.ptx.liveness import members
from drawloom.ptx.loops import LoopForest, find_loops
from drawloom.ptx.uniformity import Uniformity


class Meeting:
    """The lanes that are together at the end of block `start` (before its branch) or, with `loop` >= 0, on the way
    into that loop's header from outside, meet at the beginning of block `end`."""

    def __init__(self, start: int, loop: int, end: int) -> None:
        self.start = start
        self.loop = loop
        self.end = end


def meetings(cfg: Cfg, uniformity: Uniformity) -> list[Meeting]:
    """The meetings that divergent branches need, those set up first before those inside of them."""
    if not any(len(cfg.blocks[b].succs) > 1 and uniformity.is_divergent(b) for b in cfg.rpo):
        return []
    ways, leaves = staying_ways(cfg)
    divergent = [b for b in cfg.rpo if len(ways[b]) > 1 and uniformity.is_divergent(b)]
    tree = dominators(cfg)
    post = post_dominators(cfg, ways, leaves)
    loops = find_loops(cfg, tree)
    count = len(cfg.blocks)
    found: dict[tuple[int, int, int], Meeting] = {}
    for b in divergent:
        end = post.idom[b]
        if not 0 <= end < count or cfg.rpo_index[end] < 0:
            continue
        left = outermost_left(loops, b, end)
        if left < 0:
            if tree.strictly_dominates(b, end):
                found[b, -1, end] = Meeting(b, -1, end)
            continue
        header = loops.loops[left].header
        end = post.idom[header]
        while 0 <= end < count and loops.loops[left].contains(end):
            end = post.idom[end]
        if 0 <= end < count and tree.strictly_dominates(header, end):
            found[header, left, end] = Meeting(header, left, end)
    for region in loops.irreducible_regions:
        # Lanes that go round would come to the end again without having been at the start.
        found = {key: meeting for key, meeting in found.items() if meeting.end not in region}
    order = {b: n for n, b in enumerate(cfg.rpo)}
    kept = [meeting for meeting in found.values() if not only_leaves(cfg, meeting.end)]
    return sorted(kept, key=lambda m: (order[m.start], m.loop < 0, -order[m.end]))


def only_leaves(cfg: Cfg, b: int) -> bool:
    """Whether lanes in a block do nothing but end for good."""
    block = cfg.blocks[b]
    return ends(cfg, b) and not block.succs and len(block.instructions) <= 1


def ends(cfg: Cfg, b: int) -> bool:
    """Whether lanes that leave the function in a block end: those that return from a called one go on elsewhere."""
    block = cfg.blocks[b]
    return block.leaves and (cfg.function.is_entry or not block.returns)


def staying_ways(cfg: Cfg) -> tuple[list[list[int]], list[bool]]:
    """The successors of every block, and whether lanes leave in it, for those who wait: nobody waits for lanes that end
    while others have a way to go on."""
    ways = []
    leaves = []
    for block in cfg.blocks:
        staying = [s for s in block.succs if not only_leaves(cfg, s)]
        ways.append(staying or block.succs)
        leaves.append(block.leaves and not (block.succs and ends(cfg, block.id)))
    return ways, leaves


def outermost_left(loops: LoopForest, b: int, end: int) -> int:
    """The outermost loop around ``b`` that does not contain ``end``, or -1."""
    left = -1
    index = loops.loop_of[b]
    while index >= 0:
        if not loops.loops[index].contains(end):
            left = index
        index = loops.loops[index].parent
    return left


def parted(cfg: Cfg, uniformity: Uniformity) -> list[bool]:
    """For each block, whether lanes of a warp that are to run it may come to it one after the other.

    They may between a divergent branch and the block where its lanes meet, and behind a branch without a meeting;
    not on one side of a branch whose other sides only leave the kernel.
    """
    count = len(cfg.blocks)
    out = [False] * count
    divergent = [b for b in cfg.rpo if len(cfg.blocks[b].succs) > 1 and uniformity.is_divergent(b)]
    if not divergent:
        return out
    met = {m.start: m.end for m in meetings(cfg, uniformity) if m.loop < 0}
    for b in divergent:
        stop = met.get(b, -1)
        sides = [reached(cfg, successor, stop) for successor in cfg.blocks[b].succs]
        for n, side in enumerate(sides):
            others = 0
            for other in sides[:n] + sides[n + 1 :]:
                others |= other
            if stop >= 0 or any(syncs(cfg, x) for x in members(others)):
                for x in members(side):
                    out[x] = True
    return out


def reached(cfg: Cfg, first: int, stop: int) -> int:
    """The blocks on ways from ``first`` that do not go through ``stop``, as bits."""
    seen = 0
    work = [first]
    while work:
        b = work.pop()
        if b != stop and not seen >> b & 1:
            seen |= 1 << b
            work += cfg.blocks[b].succs
    return seen


def syncs(cfg: Cfg, block: int) -> bool:
    """Whether lanes wait for others in a block, so that those of another one may be meant."""
    return any(i.opcode.effect in (WARP, BARRIER) for i in cfg.blocks[block].instructions)
