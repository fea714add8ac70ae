"""Where the lanes of a warp that part at a branch are made to meet again (thesis section 5.3.3).

From the control-flow graph to a list of meetings: a place where a convergence barrier is set up (BSSY) and the block
at whose beginning everybody waits (BSYNC). A branch whose sides meet inside the same loops sets its barrier up right
before it; one that leaves a loop for some lanes, on the way into the outermost loop that is left, so that it happens
once. Every way from the set-up must lead to the meeting (or out of the kernel: nobody waits for lanes that end), and
nowhere may others join it before; those that come to the same block on a way of their own do not wait there. Where
that is not so (irreducible graphs) lanes are left to meet further on, or not at all.

On sm_61 lanes may leave a loop out of other meetings (`breaks`: PBK, BRK), where nobody waits for them any more: so the
sides of a branch meet inside of a loop although some lanes leave it from there.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import DominatorTree, dominators, post_dominators
from drawloom.ptx.isa import BARRIER, BRANCH, WARP
from drawloom.ptx.loops import LoopForest, find_loops
from drawloom.ptx.uniformity import Branches


class Meeting:
    """The lanes that are together at the end of block `start` (before its branch) or, with `loop` >= 0, on the way
    into that loop's header from outside, meet at the beginning of block `end`; `breaks`: some come to it out of
    meetings inside of this one."""

    def __init__(self, start: int, loop: int, end: int) -> None:
        self.start = start
        self.loop = loop
        self.end = end
        self.breaks = False


class Meetings:
    """What divergent branches need: `kept` are the meetings to set up, before those inside of them, and `ends` gives,
    for a block whose branch parts lanes, where they are together again."""

    def __init__(self, kept: list[Meeting], ends: dict[int, int]) -> None:
        self.kept = kept
        self.ends = ends


def meetings(cfg: Cfg, uniformity: Branches, breaks: bool = False) -> list[Meeting]:
    """The meetings that divergent branches need, those set up first before those inside of them; with ``breaks``, those
    too that lanes can only leave by a break."""
    return find_meetings(cfg, uniformity, breaks).kept


def find_meetings(cfg: Cfg, uniformity: Branches, breaks: bool = False) -> Meetings:
    """The meetings, of those with one end and one inside of another only the outer: the sides of a chain of `else if`
    all wait for the first branch of it."""
    divergent = divergent_branches(cfg, uniformity)
    if not divergent:
        return Meetings([], {})
    finder = Finder(cfg)
    found: dict[tuple[int, int, int], Meeting] = {}
    outer: dict[int, list[Meeting]] = {}  # by the end
    inside: list[tuple[int, Meeting]] = []
    for b in divergent:
        if len(finder.ways[b]) > 1:
            around = finder.around(b, outer.get(finder.post.idom[b], []))
            if around is not None:
                inside.append((b, around))
            needed = [around or finder.meeting_of(b)]
            if breaks:
                needed += finder.left_by_breaks(b, needed[0])
            for meeting in needed:
                if meeting is not None and not only_leaves(cfg, meeting.end):
                    key = meeting.start, meeting.loop, meeting.end
                    if key not in found:
                        found[key] = meeting
                        outer.setdefault(meeting.end, []).append(meeting)
    order = {b: n for n, b in enumerate(cfg.rpo)}
    kept = sorted(found.values(), key=lambda m: (order[m.start], m.loop < 0, -order[m.end]))
    while True:
        wrong = finder.unnested(kept, breaks)
        if wrong is None:
            break
        kept.remove(wrong)
    ends = {m.start: m.end for m in kept if m.loop < 0}
    for b, around in inside:
        if b in finder.under_way and finder.under_way[b].has(around):
            ends[b] = around.end
    return Meetings(kept, ends)


def divergent_branches(cfg: Cfg, uniformity: Branches) -> list[int]:
    """The blocks at whose end lanes may part."""
    return [b for b in cfg.rpo if len(cfg.blocks[b].succs) > 1 and uniformity.is_divergent(b)]


class Stack:
    """The meetings under way: the one set up last, and the rest. Equal ones are the same object."""

    def __init__(self, top: Meeting | None, rest: Stack | None) -> None:
        self.top = top
        self.rest = rest
        self.depth: int = rest.depth + 1 if rest is not None else 0
        self._above: dict[int, Stack] = {}

    def with_top(self, meeting: Meeting) -> Stack:
        found = self._above.get(id(meeting))
        if found is None:
            found = self._above[id(meeting)] = Stack(meeting, self)
        return found

    def has(self, meeting: Meeting) -> bool:
        at: Stack | None = self
        while at is not None and at.top is not meeting:
            at = at.rest
        return at is not None


class Finder:
    """Finds the innermost start and end around a branch between which lanes can be counted."""

    def __init__(self, cfg: Cfg, staying: tuple[list[list[int]], list[bool]] | None = None) -> None:
        self.cfg = cfg
        self.ways, self.leaves = staying or staying_ways(cfg)
        self.tree = dominators(cfg)
        self.post = post_dominators(cfg, self.ways, self.leaves)
        self.loops = find_loops(cfg)
        #: By depth, finders that see no way out of the loops there.
        self.closed: dict[int, Finder] = {}
        self.headed = {loop.header: loop for loop in self.loops.loops}
        self.irregular = {b for region in self.loops.irreducible_regions for b in region}
        #: What is under way at the beginning of each block, as `unnested` found it last.
        self.under_way: dict[int, Stack] = {}

    def around(self, b: int, known: list[Meeting]) -> Meeting | None:
        """The meeting, of those known that end where lanes that part in block ``b`` meet, that they are in anyway."""
        if b in self.irregular:
            return None
        for meeting in known:
            if self.tree.strictly_dominates(meeting.start, b):
                index = self.loops.loop_of[meeting.end]
                if index < 0 or self.loops.loops[index].contains(meeting.start):
                    return meeting
        return None

    def meeting_of(self, b: int) -> Meeting | None:
        """Where lanes that part at the end of block ``b`` meet; None where they end apart."""
        start, end = b, self.post.idom[b]
        while start >= 0 and 0 <= end < len(self.cfg.blocks):
            left = outermost_left(self.loops, start, end)
            if left >= 0:
                start = self.loops.loops[left].header
            if not self.post.strictly_dominates(end, start):
                common = self.post.nearest_common(start, end)
                end = self.post.idom[start] if common == start else common
            elif self.comes_again(start, end):
                end = self.post.idom[end]
            elif self.is_closed(start, end, left):
                return Meeting(start, left, end)
            else:
                start = self.tree.idom[start]
        return None

    def left_by_breaks(self, b: int, around: Meeting | None) -> list[Meeting | None]:
        """Where lanes that part in block ``b`` meet inside the loops that some of them leave."""
        found: list[Meeting | None] = []
        while around is not None and around.loop >= 0 and b not in self.irregular:
            loop = self.loops.loops[around.loop]
            inside = self.within(loop.depth)
            if not loop.contains(b) or len(inside.ways[b]) < 2:
                break
            around = inside.meeting_of(b)
            if around is not None and not loop.contains(around.end):
                break
            found.append(around)
        return found

    def within(self, depth: int) -> Finder:
        """A finder for which no way leads out of the loops of this depth, but at their latches."""
        if depth not in self.closed:
            ways, leaves = list(self.ways), list(self.leaves)
            for loop in self.loops.loops:
                if loop.depth == depth:
                    for b in {inside for inside, _ in loop.exits}:
                        ways[b] = [s for s in ways[b] if loop.contains(s)] or ways[b]
                    for b in loop.latches:
                        leaves[b] = True
            self.closed[depth] = Finder(self.cfg, (ways, leaves))
        return self.closed[depth]

    def is_plain(self, start: int, end: int, left: int) -> bool:
        """Whether ``start`` dominates ``end`` and no round leads back to it past ``end``: the usual case, seen from the
        loops alone."""
        if start in self.irregular or not self.tree.strictly_dominates(start, end):
            return False
        index = self.loops.loop_of[start] if left < 0 else self.loops.loops[left].parent
        while index >= 0:
            loop = self.loops.loops[index]
            if not all(self.tree.dominates(end, latch) for latch in loop.latches):
                return False
            index = loop.parent
        return True

    def unnested(self, found: list[Meeting], breaks: bool = False) -> Meeting | None:
        """A meeting that does not nest in the others: on some way lanes would come to it while another one is under way
        that was set up later, or without its set-up. Follows what is set up along all ways. With ``breaks`` lanes may
        come to a meeting behind a loop out of others, from which none can come so."""
        starting: dict[int, list[Meeting]] = {}
        entering: dict[int, list[Meeting]] = {}
        ending: dict[int, list[Meeting]] = {}
        for meeting in found:
            (starting if meeting.loop < 0 else entering).setdefault(meeting.start, []).append(meeting)
            ending.setdefault(meeting.end, []).append(meeting)
            meeting.breaks = False
        none: list[Meeting] = []
        broken: dict[tuple[int, int], Meeting] = {}  # out of which meeting lanes come to another one
        under_way: dict[int, Stack] = {0: Stack(None, None)}
        self.under_way = under_way
        work = [0]
        while work:
            b = work.pop()
            started = under_way[b]
            if b in starting:
                for meeting in starting[b]:
                    started = started.with_top(meeting)
            for s in self.ways[b]:
                now = started
                for meeting in passed(ending[s], self.tree, self.inside(s, b), b) if s in ending else none:
                    while breaks and meeting.loop >= 0 and now.top is not meeting and now.has(meeting):
                        assert now.top is not None and now.rest is not None
                        broken[id(now.top), id(meeting)] = now.top
                        meeting.breaks = True
                        now = now.rest
                    if now.top is not meeting or now.rest is None:
                        return now.top if now.top is not None and now.has(meeting) else meeting
                    now = now.rest
                if s in entering and not self.inside(s, b):
                    for meeting in entering[s]:
                        now = now.with_top(meeting)
                if s not in under_way:
                    under_way[s] = now
                    work.append(s)
                elif now is not under_way[s] and self.cfg.blocks[s].succs:
                    return (now if now.depth > under_way[s].depth else under_way[s]).top
        return next((left for left in broken.values() if left.breaks), None)

    def inside(self, header: int, b: int) -> bool:
        """Whether a block is in the loop that another one heads."""
        return header in self.headed and self.headed[header].contains(b)

    def comes_again(self, start: int, end: int) -> bool:
        """Whether lanes can come from ``end`` to its waiting block without having been at ``start`` again."""
        members = 0
        index = self.loops.loop_of[end]
        while index >= 0 and not self.loops.loops[index].contains(start):
            if self.loops.loops[index].header != end:
                return True
            members = self.loops.loops[index].members
            index = self.loops.loops[index].parent
        if end not in self.irregular:
            return False
        again = reached(self.ways, end, start)
        sources = [p for p in self.cfg.blocks[end].preds if p in again and not members >> p & 1]
        return any(self.tree.dominates(start, p) for p in sources)

    def is_closed(self, start: int, end: int, left: int) -> bool:
        """Whether nobody comes to a block between ``start`` and ``end`` but through ``start``, once."""
        if self.is_plain(start, end, left):
            return True
        inside = reached(self.ways, start, end)
        if left < 0 and any(p in inside for p in self.cfg.blocks[start].preds):
            return False
        return all(self.tree.dominates(start, b) for b in inside)


def passed(ending: list[Meeting], tree: DominatorTree, is_back: bool, source: int) -> list[Meeting]:
    """The meetings at one block, outer ones first in ``ending``, that lanes pass which come from block ``source``: the
    innermost that this lies in, then the one in which that starts. On a way back to a loop's header there are none."""
    found: list[Meeting] = []
    for meeting in reversed(ending):
        if not is_back and tree.dominates(meeting.start, source):
            found.append(meeting)
            source = meeting.start
    return found


def only_leaves(cfg: Cfg, b: int) -> bool:
    """Whether lanes in a block do nothing but end for good."""
    block = cfg.blocks[b]
    for _ in cfg.blocks:
        instructions = block.instructions
        if len(block.succs) != 1 or len(instructions) != 1 or instructions[0].opcode.effect != BRANCH:
            break
        block = cfg.blocks[block.succs[0]]
    return not block.succs and len(block.instructions) <= 1 and ends(cfg, block.id)


def ends(cfg: Cfg, b: int) -> bool:
    """Whether lanes that leave the function in a block end: those that return from a called one go on elsewhere."""
    block = cfg.blocks[b]
    return block.leaves and (cfg.function.is_entry or not block.returns)


def staying_ways(cfg: Cfg) -> tuple[list[list[int]], list[bool]]:
    """The successors of every block, and whether lanes leave in it, for those who wait: nobody waits for lanes that end
    while others have a way to go on, unless they can only go round until they end too."""
    ways: list[list[int]] = []
    leaves: list[bool] = []
    for block in cfg.blocks:
        staying = [s for s in block.succs if not only_leaves(cfg, s)]
        ways.append(staying or block.succs)
        leaves.append(block.leaves and not (block.succs and ends(cfg, block.id)))
    for b in going_round(ways, leaves):
        ways[b], leaves[b] = cfg.blocks[b].succs, cfg.blocks[b].leaves
    return ways, leaves


def going_round(ways: list[list[int]], leaves: list[bool]) -> list[int]:
    """The blocks from which no way leads to one where lanes leave."""
    ending = list(leaves)
    found = True
    while found:
        found = False
        for b in range(len(ways) - 1, -1, -1):
            if not ending[b]:
                for s in ways[b]:
                    if ending[s]:
                        found = ending[b] = True
                        break
    return [b for b in range(len(ways)) if not ending[b]]


def outermost_left(loops: LoopForest, b: int, end: int) -> int:
    """The outermost loop around ``b`` that does not contain ``end``, or -1."""
    left = -1
    index = loops.loop_of[b]
    while index >= 0:
        if not loops.loops[index].contains(end):
            left = index
        index = loops.loops[index].parent
    return left


def parted(cfg: Cfg, uniformity: Branches) -> list[bool]:
    """For each block, whether lanes of a warp that are to run it may come to it one after the other.

    They may between a divergent branch and the block where its lanes meet, and behind a branch without a meeting;
    not on one side of a branch whose other sides only leave the kernel. Behind `nanosleep` they may everywhere: on an
    H100 lanes that have slept on one side of a branch do not always wait at its BSYNC.
    """
    out = [False] * len(cfg.blocks)
    ways = [block.succs for block in cfg.blocks]
    awake: set[int] = set()
    for block in cfg.rpo:
        if any(i.opcode.name == "nanosleep" for i in cfg.blocks[block].instructions):
            awake |= reached(ways, block, -1, awake)
    for block in awake:
        out[block] = True
    divergent = divergent_branches(cfg, uniformity)
    if not divergent:
        return out
    ends = find_meetings(cfg, uniformity).ends
    seen: dict[int, set[int]] = {}  # by the end: what inner branches part is parted by outer ones already
    for b in divergent:
        stop = ends.get(b, -1)
        if stop >= 0:
            known = seen.setdefault(stop, set())
            if b not in known:
                for successor in ways[b]:
                    known |= reached(ways, successor, stop, known)
            continue
        sides = [reached(ways, successor, stop) for successor in ways[b]]
        for n, side in enumerate(sides):
            others = set().union(*sides[:n], *sides[n + 1 :])
            if any(syncs(cfg, x) for x in others):
                for x in side:
                    out[x] = True
    for known in seen.values():
        for x in known:
            out[x] = True
    return out


def reached(ways: list[list[int]], first: int, stop: int, known: set[int] | None = None) -> set[int]:
    """The blocks on ways from ``first`` that do not go through ``stop``, nor through those that are ``known``."""
    seen: set[int] = set()
    work = [first]
    while work:
        b = work.pop()
        if b != stop and b not in seen and (known is None or b not in known):
            seen.add(b)
            work += ways[b]
    return seen


def syncs(cfg: Cfg, block: int) -> bool:
    """Whether lanes wait for others in a block, so that those of another one may be meant."""
    return any(i.opcode.effect in (WARP, BARRIER) for i in cfg.blocks[block].instructions)
