"""Dominator and post-dominator trees and frontiers against networkx, and hand-written endless loops."""

import networkx
from hypothesis import given

from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import controlled, dominators, post_dominators
from tests.ptx.graphs import Graph, cfg_of, function_from, graphs, with_exit


def test_diamond():
    cfg = cfg_of("@%p1 bra A; mov.u32 %r1, 1; bra B; A: mov.u32 %r1, 2; B: ret;")
    tree = dominators(cfg)
    assert tree.idom == [-1, 0, 0, 0]
    assert tree.frontier() == [[], [3], [3], []]
    assert tree.depth == [0, 1, 1, 1]
    post = post_dominators(cfg)
    assert post.root == 4 and post.idom == [3, 3, 3, 4, -1]
    assert post.frontier() == [[], [0], [0], [], []]


def test_guarded_exit_has_the_virtual_exit_as_post_dominator():
    cfg = cfg_of("@%p1 exit; mov.u32 %r1, 1; ret;")
    assert post_dominators(cfg).idom == [2, 2, -1]


def test_endless_loop_ends_at_its_latch():
    body = "L: @%p1 bra A; mov.u32 %r1, 1; bra B; A: mov.u32 %r1, 2; B: bra L;"
    cfg = cfg_of(body)
    assert [b.succs for b in cfg.blocks] == [[1], [3, 2], [4], [4], [1]]
    assert post_dominators(cfg).idom == [1, 4, 4, 4, 5, -1]


def test_branch_between_an_endless_loop_and_the_end_has_no_common_block():
    cfg = cfg_of("@%p1 bra L; ret; L: bra L;")
    post = post_dominators(cfg)
    assert post.idom == [3, 3, 3, -1]


def test_unreachable_blocks_are_in_no_tree():
    cfg = cfg_of("bra L; M: bra L; L: ret;")
    tree, post = dominators(cfg), post_dominators(cfg)
    assert tree.idom == [-1, -1, 0] and tree.depth[1] == -1
    assert tree.dominates(1, 1) and not tree.dominates(0, 1) and not tree.dominates(1, 2)
    assert post.idom[1] == -1 and not post.dominates(2, 1)
    assert tree.nearest_common(0, 1) == -1 and tree.nearest_common(0, 2) == 0


def by_definition(graph: networkx.DiGraph, root: int) -> dict[int, set[int]]:
    """For every node the nodes that cannot be avoided on the way from ``root``."""
    out = {}
    for node in graph:
        out[node] = set()
        for candidate in graph:
            rest = graph.subgraph([n for n in graph if n != candidate])
            if candidate in (root, node) or not networkx.has_path(rest, root, node):
                out[node].add(candidate)
    return out


@given(graphs(most_blocks=9))
def test_dominators_agree_with_networkx(graph: Graph):
    cfg = build_cfg(function_from(graph))
    tree = dominators(cfg)
    oracle = with_exit(cfg).subgraph(cfg.rpo)
    expected = networkx.immediate_dominators(oracle, 0)
    assert {b: tree.idom[b] for b in cfg.rpo if b != 0} == {b: d for b, d in expected.items() if b != 0}
    frontier = networkx.dominance_frontiers(oracle, 0)
    assert [set(f) for f in tree.frontier()] == [set(frontier.get(b.id, ())) for b in cfg.blocks]
    sets = by_definition(oracle, 0)
    for a in cfg.rpo:
        for b in cfg.rpo:
            assert tree.dominates(a, b) == (a in sets[b])
            assert tree.strictly_dominates(a, b) == (a != b and a in sets[b])
            common = sets[a] & sets[b]
            assert tree.nearest_common(a, b) == max(common, key=lambda n: tree.depth[n])
    assert sorted(tree.order) == sorted(cfg.rpo)
    assert all(tree.order.index(tree.idom[n]) < tree.order.index(n) for n in tree.order[1:])


@given(graphs(most_blocks=9))
def test_post_dominators_agree_with_networkx(graph: Graph):
    cfg = build_cfg(function_from(graph))
    exit_node = len(cfg.blocks)
    post = post_dominators(cfg)
    oracle = with_exit(cfg)
    stuck = [b for b in cfg.rpo if not networkx.has_path(oracle, b, exit_node)]
    for source in stuck:
        if any(cfg.rpo_index[s] <= cfg.rpo_index[source] for s in cfg.blocks[source].succs):
            oracle.add_edge(source, exit_node)
    expected = networkx.immediate_dominators(oracle.reverse(), exit_node)
    assert {b: post.idom[b] for b in cfg.rpo} == {b: expected[b] for b in cfg.rpo}
    frontier = networkx.dominance_frontiers(oracle.reverse(), exit_node)
    assert [set(post.frontier()[b]) for b in cfg.rpo] == [set(frontier[b]) for b in cfg.rpo]
    sets = by_definition(oracle.reverse(), exit_node)
    assert all(post.dominates(a, b) == (a in sets[b]) for a in cfg.rpo for b in cfg.rpo)


@given(graphs(most_blocks=9))
def test_what_a_block_controls_is_on_a_way_that_avoids_its_post_dominator(graph: Graph):
    cfg = build_cfg(function_from(graph))
    post = post_dominators(cfg)
    for block_id in cfg.rpo:
        ways = networkx.DiGraph()
        ways.add_nodes_from(cfg.rpo)
        ways.add_edges_from([(b, s) for b in cfg.rpo for s in cfg.blocks[b].succs])
        if post.idom[block_id] in ways:
            ways.remove_node(post.idom[block_id])
        starts = [s for s in cfg.blocks[block_id].succs if s in ways]
        expected = {b for s in starts for b in [s, *networkx.descendants(ways, s)]}
        assert controlled(cfg, [block_id]) == expected
