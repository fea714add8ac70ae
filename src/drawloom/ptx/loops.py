"""Natural loops of a control-flow graph, their nesting, and the cycles that are no natural loops.

A back edge leads from a latch to a header that dominates it; the loop is what reaches a latch without going
through the header. Loops with the same header are one. What still has a cycle when all back edges are taken away
is irreducible: a region that can be entered at more than one place.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import DominatorTree, dominators


class Loop:
    """A natural loop.

    ``blocks`` holds its block ids in reverse postorder, the header first, inner loops included; ``members`` is
    the same as a bit set. ``latches`` are the blocks with an edge back to the header, ``exits`` the edges
    (inside, outside) that leave, ``parent`` and ``children`` indices into ``LoopForest.loops`` (parent -1: none),
    ``depth`` is 1 for an outermost loop. Blocks in which threads leave the function do not make an exit edge.
    """

    def __init__(self, index: int, header: int) -> None:
        self.index = index
        self.header = header
        self.blocks: list[int] = []
        self.members = 0
        self.latches: list[int] = []
        self.exits: list[tuple[int, int]] = []
        self.parent = -1
        self.children: list[int] = []
        self.depth = 1

    def contains(self, block_id: int) -> bool:
        """Whether the block is in the loop."""
        return self.members >> block_id & 1 != 0

    def __repr__(self) -> str:
        return f"<loop {self.header}: {self.blocks}>"


class LoopForest:
    """All loops of a function, an outer loop before its inner ones, in reverse postorder of the headers.

    ``loop_of[b]`` is the index of the innermost loop around a block, -1 outside of all.
    ``irreducible_regions`` are the cycles with several entries (block ids in reverse postorder), and
    ``irreducible_edges`` the edges that go backwards in reverse postorder without being back edges.
    """

    def __init__(self, loops: list[Loop], loop_of: list[int]) -> None:
        self.loops = loops
        self.loop_of = loop_of
        self.irreducible_edges: list[tuple[int, int]] = []
        self.irreducible_regions: list[list[int]] = []

    @property
    def is_reducible(self) -> bool:
        """Whether every cycle goes through the header of a natural loop that it is entered by."""
        return not self.irreducible_regions

    @property
    def cycles(self) -> bool:
        """Whether control can come to a block twice."""
        return bool(self.loops or self.irreducible_regions)

    def depth(self, block_id: int) -> int:
        """How many loops are around a block."""
        index = self.loop_of[block_id]
        return 0 if index < 0 else self.loops[index].depth

    def is_header(self, block_id: int) -> bool:
        """Whether the block is the header of a loop."""
        index = self.loop_of[block_id]
        return index >= 0 and self.loops[index].header == block_id


def find_loops(cfg: Cfg) -> LoopForest:
    """The loops of the reachable blocks, the same forest every time."""
    if cfg.loops is None:
        cfg.loops = _find_loops(cfg, dominators(cfg))
    return cfg.loops


def _find_loops(cfg: Cfg, tree: DominatorTree) -> LoopForest:
    blocks = cfg.blocks
    index = cfg.rpo_index
    loops: list[Loop] = []
    forest = LoopForest(loops, [-1] * len(blocks))
    for header in cfg.rpo:
        latches = [p for p in blocks[header].preds if index[p] >= index[header] and tree.dominates(header, p)]
        if latches:
            loop = Loop(len(loops), header)
            loop.latches = latches
            loops.append(loop)
    # Inner headers come later in reverse postorder: from the last to the first, every inner loop is complete.
    for loop in reversed(loops):
        _collect(cfg, loop, forest)
    for loop in loops:
        _finish(cfg, loop, forest)
    for source in cfg.rpo:
        for target in blocks[source].succs:
            if index[target] <= index[source] and not tree.dominates(target, source):
                forest.irreducible_edges.append((source, target))
    if forest.irreducible_edges:
        forest.irreducible_regions = _cycles_without_back_edges(cfg, tree)
    return forest


def _collect(cfg: Cfg, loop: Loop, forest: LoopForest) -> None:
    """Finds the blocks of ``loop`` backwards from its latches, and adopts the loops inside that have no parent."""
    loop_of = forest.loop_of
    members = 1 << loop.header
    found = [loop.header]
    stack = list(loop.latches)
    while stack:
        block_id = stack.pop()
        if members >> block_id & 1 or cfg.rpo_index[block_id] < 0:
            continue
        members |= 1 << block_id
        found.append(block_id)
        stack.extend(cfg.blocks[block_id].preds)
    for block_id in found:
        inner = loop_of[block_id]
        if inner < 0:
            loop_of[block_id] = loop.index
        elif forest.loops[inner].header == block_id and forest.loops[inner].parent < 0 and inner != loop.index:
            forest.loops[inner].parent = loop.index
    index = cfg.rpo_index
    found.sort(key=lambda b: index[b])
    loop.blocks = found
    loop.members = members


def _finish(cfg: Cfg, loop: Loop, forest: LoopForest) -> None:
    if loop.parent >= 0:
        parent = forest.loops[loop.parent]
        parent.children.append(loop.index)
        loop.depth = parent.depth + 1
    for block_id in loop.blocks:
        for successor in cfg.blocks[block_id].succs:
            if not loop.members >> successor & 1:
                loop.exits.append((block_id, successor))


def _cycles_without_back_edges(cfg: Cfg, tree: DominatorTree) -> list[list[int]]:
    """The strongly connected components of two blocks or more that are left without the back edges."""
    succs: list[list[int]] = [[] for _ in cfg.blocks]
    for block_id in cfg.rpo:
        succs[block_id] = [s for s in cfg.blocks[block_id].succs if not tree.dominates(s, block_id)]
    regions = [c for c in strongly_connected(succs, cfg.rpo) if len(c) > 1]
    index = cfg.rpo_index
    for region in regions:
        region.sort(key=lambda b: index[b])
    regions.sort(key=lambda r: index[r[0]])
    return regions


def strongly_connected(succs: list[list[int]], nodes: list[int]) -> list[list[int]]:
    """The strongly connected components of the subgraph of ``nodes``, each after those that it leads to.

    Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.
    """
    count = len(succs)
    inside = bytearray(count)
    for node in nodes:
        inside[node] = 1
    number = [-1] * count
    low = [0] * count
    at = [0] * count
    on_stack = bytearray(count)
    open_nodes: list[int] = []
    components: list[list[int]] = []
    clock = 0
    for root in nodes:
        if number[root] >= 0:
            continue
        path = [root]
        while path:
            node = path[-1]
            if number[node] < 0:
                number[node] = low[node] = clock
                clock += 1
                open_nodes.append(node)
                on_stack[node] = 1
            if at[node] < len(succs[node]):
                successor = succs[node][at[node]]
                at[node] += 1
                if inside[successor]:
                    if number[successor] < 0:
                        path.append(successor)
                    elif on_stack[successor]:
                        low[node] = min(low[node], number[successor])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == number[node]:
                component: list[int] = []
                while True:
                    member = open_nodes.pop()
                    on_stack[member] = 0
                    component.append(member)
                    if member == node:
                        break
                components.append(component)
    return components
