"""Loop nests of hand-written bodies, and of random graphs against definitions checked with networkx."""

import networkx
from hypothesis import given

from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import dominators
from drawloom.ptx.loops import find_loops, strongly_connected
from tests.ptx.graphs import Graph, cfg_of, function_from, graphs, with_exit

NEST = """
OUTER: add.u32 %r1, %r1, 1;
INNER: add.u32 %r2, %r2, 1; @%p1 bra INNER;
@%p2 bra OUTER;
LAST: @%p3 bra LAST;
ret;
"""


def test_nest():
    cfg = cfg_of(NEST)
    forest = find_loops(cfg)
    assert forest.is_reducible and forest.irreducible_edges == []
    outer, inner, last = forest.loops
    assert (outer.header, outer.blocks, outer.latches, outer.exits) == (1, [1, 2, 3], [3], [(3, 4)])
    assert (inner.header, inner.blocks, inner.latches, inner.exits) == (2, [2], [2], [(2, 3)])
    assert (last.header, last.latches, last.exits) == (4, [4], [(4, 5)])
    assert (outer.parent, inner.parent, last.parent) == (-1, 0, -1)
    assert (outer.children, inner.depth, outer.depth) == ([1], 2, 1)
    assert [forest.depth(b) for b in range(6)] == [0, 1, 2, 1, 1, 0]
    assert [forest.is_header(b) for b in range(6)] == [False, True, True, False, True, False]
    assert outer.contains(2) and not inner.contains(3)


def test_two_latches_share_one_loop():
    cfg = cfg_of("L: @%p1 bra A; bra L; A: @%p2 bra L; ret;")
    (loop,) = find_loops(cfg).loops
    assert sorted(loop.latches) == [2, 3] and sorted(loop.blocks) == [1, 2, 3]


def test_two_entries_are_irreducible():
    cfg = cfg_of("@%p1 bra B; A: add.u32 %r1, %r1, 1; B: @%p2 bra A; ret;")
    forest = find_loops(cfg)
    assert not forest.is_reducible
    assert [sorted(r) for r in forest.irreducible_regions] == [[1, 2]] and len(forest.irreducible_edges) == 1
    assert forest.loops == []


def test_irreducible_region_inside_a_natural_loop():
    cfg = cfg_of("L: @%p1 bra B; A: add.u32 %r1, %r1, 1; B: @%p2 bra A; @%p3 bra L; ret;")
    forest = find_loops(cfg)
    (loop,) = forest.loops
    assert loop.header == 1 and sorted(loop.blocks) == [1, 2, 3, 4]
    assert [sorted(r) for r in forest.irreducible_regions] == [[2, 3]]


@given(graphs())
def test_random_graphs(graph: Graph):
    cfg = build_cfg(function_from(graph))
    forest = find_loops(cfg)
    tree = dominators(cfg)
    whole = with_exit(cfg).subgraph(cfg.rpo)
    back = [(a, b) for a, b in whole.edges if tree.dominates(b, a)]
    assert sorted(loop.header for loop in forest.loops) == sorted({b for _, b in back})
    for loop in forest.loops:
        latches = {a for a, b in back if b == loop.header}
        assert set(loop.latches) == latches
        without_header = whole.subgraph([n for n in whole if n != loop.header])
        members = {loop.header} | latches
        for node in without_header:
            if any(n in without_header and networkx.has_path(without_header, node, n) for n in latches):
                members.add(node)
        assert set(loop.blocks) == members and loop.blocks[0] == loop.header
        assert loop.members == sum(1 << b for b in members)
        assert set(loop.exits) == {(a, b) for a, b in whole.edges if a in members and b not in members}
        # The parent is the smallest other loop around the header.
        around = [o for o in forest.loops if o is not loop and loop.header in o.blocks]
        smallest = min(around, key=lambda o: len(o.blocks), default=None)
        assert loop.parent == (-1 if smallest is None else smallest.index)
        assert loop.depth == len(around) + 1
        assert all(set(loop.blocks) <= set(o.blocks) for o in around)
    for block_id in cfg.rpo:
        inside = [o for o in forest.loops if block_id in o.blocks]
        assert forest.depth(block_id) == len(inside)
        assert forest.loop_of[block_id] == min(inside, key=lambda o: len(o.blocks)).index if inside else True
    rest = networkx.DiGraph([e for e in whole.edges if e not in back])
    regions = [c for c in networkx.strongly_connected_components(rest) if len(c) > 1]
    assert sorted(map(sorted, forest.irreducible_regions)) == sorted(map(sorted, regions))
    assert forest.is_reducible == networkx.is_directed_acyclic_graph(rest)
    assert forest.is_reducible == (forest.irreducible_edges == [])


@given(graphs(most_blocks=12))
def test_strongly_connected_components_agree_with_networkx(graph: Graph):
    succs = [list(s) for s, _ in graph]
    whole = networkx.DiGraph()
    whole.add_nodes_from(range(len(succs)))
    whole.add_edges_from((a, b) for a in range(len(succs)) for b in succs[a])
    nodes = [n for n in range(len(succs)) if n % 4 != 3]
    found = strongly_connected(succs, nodes)
    expected = networkx.strongly_connected_components(whole.subgraph(nodes))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    seen: set[int] = set()
    for component in found:
        seen |= set(component)
        assert all(s in seen for n in component for s in succs[n] if s in nodes)
