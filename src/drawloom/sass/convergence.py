"""Where the lanes of a warp that part at a branch are made to meet again (thesis section 5.3.3).

From the control-flow graph to a list of meetings: a place where a convergence barrier is set up (BSSY) and the block
at whose beginning everybody waits (BSYNC). A branch whose sides meet inside the same loops sets its barrier up right
before it; one that leaves a loop for some lanes, on the way into the outermost loop that is left, so that it happens
once. Every way from the set-up must lead to the meeting (or out of the kernel: nobody waits for lanes that end), and
nowhere may others join it before; those that come to the same block on a way of their own do not wait there. Where
that is not so (irreducible graphs) lanes are left to meet further on, or not at all.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import DominatorTree, dominators, post_dominators
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
            if is_closed(ways, tree, b, end):
                found[b, -1, end] = Meeting(b, -1, end)
            continue
        header = loops.loops[left].header
        end = post.idom[header]
        while 0 <= end < count and loops.loops[left].contains(end):
            end = post.idom[end]
        if 0 <= end < count and is_closed(ways, tree, header, end):
            found[header, left, end] = Meeting(header, left, end)
    for region in loops.irreducible_regions:
        for key, meeting in list(found.items()):
            if meeting.start in region or meeting.end in region:
                del found[key]
                start, end = around(region, meeting, tree.idom, post.idom)
                if not (start >= 0 and 0 <= end < count and post.dominates(end, start)):
                    continue
                if tree.strictly_dominates(start, end) and outermost_left(loops, start, end) < 0:
                    found[start, -1, end] = Meeting(start, -1, end)
    order = {b: n for n, b in enumerate(cfg.rpo)}
    kept = [meeting for meeting in found.values() if not only_leaves(cfg, meeting.end)]
    return sorted(kept, key=lambda m: (order[m.start], m.loop < 0, -order[m.end]))


def around(region: list[int], meeting: Meeting, idom: list[int], post_idom: list[int]) -> tuple[int, int]:
    """A start before and an end behind a cycle with several entries, in which lanes would set up and wait for others
    of an earlier round; -1 where there is none."""
    start, end = meeting.start, meeting.end
    while start in region:
        start = idom[start]
    while end in region:
        end = post_idom[end]
    return start, end


def is_closed(ways: list[list[int]], tree: DominatorTree, start: int, end: int) -> bool:
    """Whether nobody comes to a block between ``start`` and ``end`` but through ``start``."""
    if tree.strictly_dominates(start, end):
        return True
    return all(tree.dominates(start, b) for b in members(reached(ways, start, end)))


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
    ways = [block.succs for block in cfg.blocks]
    met = {m.start: m.end for m in meetings(cfg, uniformity) if m.loop < 0}
    for b in divergent:
        stop = met.get(b, -1)
        sides = [reached(ways, successor, stop) for successor in cfg.blocks[b].succs]
        for n, side in enumerate(sides):
            others = 0
            for other in sides[:n] + sides[n + 1 :]:
                others |= other
            if stop >= 0 or any(syncs(cfg, x) for x in members(others)):
                for x in members(side):
                    out[x] = True
    return out


def reached(ways: list[list[int]], first: int, stop: int) -> int:
    """The blocks on ways from ``first`` that do not go through ``stop``, as bits."""
    seen = 0
    work = [first]
    while work:
        b = work.pop()
        if b != stop and not seen >> b & 1:
            seen |= 1 << b
            work += ways[b]
    return seen


def syncs(cfg: Cfg, block: int) -> bool:
    """Whether lanes wait for others in a block, so that those of another one may be meant."""
    return any(i.opcode.effect in (WARP, BARRIER) for i in cfg.blocks[block].instructions)
