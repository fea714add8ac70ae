"""Dominators and post-dominators of a control-flow graph, and their frontiers.

The algorithm is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): immediate
dominators by intersection along the partly built tree, in reverse postorder until nothing changes; frontiers by
walking up from the predecessors of every join.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg


class DominatorTree:
    """A dominator tree over dense node ids.

    Nodes are block ids; a post-dominator tree has one more, ``root`` = the number of blocks, the virtual exit.
    ``idom[n]`` is the immediate dominator, -1 for the root and for unreachable blocks; ``children[n]`` are in
    visiting order; ``depth[n]`` is 0 at the root, -1 for unreachable blocks; ``order`` lists the tree's nodes,
    the root first, every node after its dominators. ``preds`` are the edges that the tree was built over:
    predecessors in a dominator tree, successors (with the virtual exit) in a post-dominator tree.
    """

    def __init__(self, root: int, order: list[int], preds: list[list[int]]) -> None:
        self.root = root
        self.order = order
        self.preds = preds
        self.idom = _immediate_dominators(root, order, preds)
        count = len(preds)
        self.depth = [-1] * count
        self.depth[root] = 0
        for node in order:
            parent = self.idom[node]
            if parent >= 0:
                self.depth[node] = self.depth[parent] + 1
        # Made and numbered when they are first asked for.
        self._children: list[list[int]] = []
        self._enter: list[int] = []
        self._leave: list[int] = []

    @property
    def children(self) -> list[list[int]]:
        if not self._children:
            children: list[list[int]] = [[] for _ in self.idom]
            for node in self.order:
                if self.idom[node] >= 0:
                    children[self.idom[node]].append(node)
            self._children = children
        return self._children

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the root to ``b`` goes through ``a``; true for ``a == b``. Constant time.

        Unreachable blocks dominate and are dominated by themselves only.
        """
        if a == b:
            return True
        if not self._enter:
            self._number()
        return self._enter[a] >= 0 and self._enter[a] <= self._enter[b] and self._leave[b] <= self._leave[a]

    def strictly_dominates(self, a: int, b: int) -> bool:
        """``dominates(a, b)`` and ``a != b``."""
        return a != b and self.dominates(a, b)

    def nearest_common(self, a: int, b: int) -> int:
        """The deepest node that dominates both; -1 if one of them is unreachable."""
        depth = self.depth
        if depth[a] < 0 or depth[b] < 0:
            return -1
        while a != b:
            if depth[a] >= depth[b]:
                a = self.idom[a]
            else:
                b = self.idom[b]
        return a

    def frontier(self) -> list[list[int]]:
        """The dominance frontier of every node, sorted: where its dominance ends.

        ``m`` is in ``frontier()[n]`` if ``n`` dominates a predecessor of ``m`` but does not strictly dominate ``m``.
        """
        idom = self.idom
        sets: list[set[int]] = [set() for _ in self.preds]
        for node in self.order:
            preds = self.preds[node]
            if len(preds) < 2 and node != self.root:
                continue
            stop = idom[node]
            for runner in preds:
                while runner != stop and runner >= 0 and self.depth[runner] >= 0:
                    sets[runner].add(node)
                    runner = idom[runner]
        return [sorted(s) for s in sets]

    def _number(self) -> None:
        """Numbers the nodes on entering and leaving them, depth first, so that ancestry is an interval test."""
        enter = [-1] * len(self.idom)
        leave = [-1] * len(self.idom)
        clock = 0
        stack = [self.root]
        children = self.children
        while stack:
            node = stack.pop()
            if node < 0:
                leave[-1 - node] = clock
                clock += 1
                continue
            enter[node] = clock
            clock += 1
            stack.append(-1 - node)
            stack.extend(children[node])
        self._enter, self._leave = enter, leave


def dominators(cfg: Cfg) -> DominatorTree:
    """The dominator tree of the blocks that can be reached from the entry, the same one every time."""
    if cfg.tree is None:
        cfg.tree = DominatorTree(0, cfg.rpo, [b.preds for b in cfg.blocks])
    return cfg.tree


def post_dominators(cfg: Cfg, succs: list[list[int]] | None = None, leaves: list[bool] | None = None) -> DominatorTree:
    """The post-dominator tree of the reachable blocks, its root a virtual exit with id ``len(cfg.blocks)``.

    Every block in which threads can leave the function has an edge to the virtual exit, also when it has other
    successors (a guarded ``exit``). Where control can never leave again (a cycle without a way out), every block
    with a back edge in reverse postorder gets such an edge: the loop is taken to end at its latches, so each
    reachable block has a post-dominator and branches inside a single-latch endless loop reconverge inside it.

    ``succs`` and ``leaves`` (by block) take the places of the blocks' own, with fewer edges.
    """
    count = len(cfg.blocks)
    forward = [b.succs for b in cfg.blocks] if succs is None else list(succs)
    backward: list[list[int]] = [[] for _ in range(count + 1)]
    for block_id in cfg.rpo:
        for successor in forward[block_id]:
            backward[successor].append(block_id)
    leaves = [b.leaves for b in cfg.blocks] if leaves is None else list(leaves)
    for block_id in _endless_latches(cfg, forward, backward, leaves):
        leaves[block_id] = True
    for block_id in cfg.rpo:
        if leaves[block_id]:
            forward[block_id] = [*forward[block_id], count]
            backward[count].append(block_id)
    forward.append([])
    order = _reverse_postorder(backward, count, cfg.rpo_index)
    return DominatorTree(count, order, forward)


def controlled(cfg: Cfg, starts: list[int]) -> set[int]:
    """The blocks that may run behind the end of one of ``starts`` before its post-dominator does: what control depends
    on it for, and on that again (Ferrante, Ottenstein and Warren, "The Program Dependence Graph and Its Use in
    Optimization", 1987)."""
    above = post_dominators(cfg).idom
    found: set[int] = set()
    stack = list(starts)
    walked = set(starts)
    while stack:
        block_id = stack.pop()
        for successor in cfg.blocks[block_id].succs:
            inside = successor
            while inside != above[block_id]:
                found.add(inside)
                if inside not in walked:
                    walked.add(inside)
                    stack.append(inside)
                inside = above[inside]
    return found


def _endless_latches(cfg: Cfg, forward: list[list[int]], backward: list[list[int]], leaves: list[bool]) -> list[int]:
    """The sources of back edges among the reachable blocks from which no path leaves the function, if these can
    only be left by being in a cycle for ever."""
    index = cfg.rpo_index
    latches: list[int] = []
    for block_id in cfg.rpo:
        for successor in forward[block_id]:
            if index[successor] <= index[block_id]:
                latches.append(block_id)
                break
    if not latches:
        return latches
    leaving = [False] * len(cfg.blocks)
    stack = [block_id for block_id in cfg.rpo if leaves[block_id]]
    for block_id in stack:
        leaving[block_id] = True
    while stack:
        for pred in backward[stack.pop()]:
            if not leaving[pred]:
                leaving[pred] = True
                stack.append(pred)
    return [block_id for block_id in latches if not leaving[block_id]]


def _reverse_postorder(edges: list[list[int]], root: int, index: list[int]) -> list[int]:
    """Reverse postorder from ``root`` over ``edges``, through nodes with ``index`` >= 0 only."""
    order: list[int] = []
    seen = [False] * len(edges)
    seen[root] = True
    stack = [root]
    at = [0] * len(edges)
    while stack:
        node = stack[-1]
        place = at[node]
        if place == len(edges[node]):
            stack.pop()
            order.append(node)
            continue
        at[node] = place + 1
        successor = edges[node][place]
        if not seen[successor] and index[successor] >= 0:
            seen[successor] = True
            stack.append(successor)
    order.reverse()
    return order


def _immediate_dominators(root: int, order: list[int], preds: list[list[int]]) -> list[int]:
    place = [-1] * len(preds)
    for index, node in enumerate(order):
        place[node] = index
    # Worked out on places, in which a dominator is always smaller; a negative entry is not known yet.
    above = [-1] * len(order)
    above[0] = 0
    walked = [0] * len(order)  # for which node the way up from here was last seen to lead to its `best`
    stamp = 0
    changed = True
    while changed:
        changed = False
        for index in range(1, len(order)):
            best = -1
            stamp += 1
            for pred in preds[order[index]]:
                other = place[pred]
                if other < 0 or above[other] < 0:
                    continue
                if best < 0:
                    best = other
                    continue
                while other != best:
                    if other < best:
                        best = above[best]
                    elif walked[other] == stamp:
                        break
                    else:
                        walked[other] = stamp
                        other = above[other]
            if above[index] != best:
                above[index] = best
                changed = True
    idom = [-1] * len(preds)
    for index in range(1, len(order)):
        idom[order[index]] = order[above[index]]
    return idom
