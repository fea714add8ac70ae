"""Basic blocks and edges of hand-written bodies, and of random ones against the graph they were made from."""

import pytest
from hypothesis import given

from drawloom.errors import VerifyError
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.ir import Function, Instruction, Label
from drawloom.ptx.isa import decode
from tests.ptx.graphs import Graph, cfg_of, edges_of, function_from, graphs


def texts(cfg, block_id):
    return [repr(i) for i in cfg.blocks[block_id].instructions]


def test_straight_line_is_one_block():
    cfg = cfg_of("mov.u32 %r1, 1; add.u32 %r1, %r1, 1; ret;")
    assert edges_of(cfg) == [[]]
    assert cfg.exit_blocks == [0]
    assert cfg.blocks[0].leaves and cfg.blocks[0].returns
    assert cfg.blocks[0].terminator is cfg.blocks[0].instructions[-1]


def test_guarded_branch_has_taken_then_fallthrough():
    cfg = cfg_of("@%p1 bra L; mov.u32 %r1, 1; L: mov.u32 %r2, 2; ret;")
    assert edges_of(cfg) == [[2, 1], [2], []]
    block = cfg.blocks[0]
    assert (block.taken, block.fallthrough) == (2, 1)
    assert (cfg.blocks[1].taken, cfg.blocks[1].fallthrough) == (-1, 2)
    assert cfg.blocks[1].terminator is None
    assert cfg.blocks[2].preds == [0, 1]
    assert cfg.rpo == [0, 1, 2]
    assert cfg.label_block == {"L": 2}


def test_guarded_branch_to_the_next_block_has_one_successor():
    cfg = cfg_of("@%p1 bra L; L: ret;")
    assert edges_of(cfg) == [[1], []]
    assert (cfg.blocks[0].taken, cfg.blocks[0].fallthrough) == (1, 1)
    assert cfg.blocks[1].preds == [0]


@pytest.mark.parametrize(("leaver", "returns"), [("ret", True), ("exit", False), ("trap", False)])
def test_guarded_leaver_falls_through(leaver, returns):
    cfg = cfg_of(f"@!%p1 {leaver}; mov.u32 %r1, 1; {leaver};")
    assert edges_of(cfg) == [[1], []]
    assert cfg.exit_blocks == [0, 1]
    assert [b.leaves for b in cfg.blocks] == [True, True]
    assert [b.returns for b in cfg.blocks] == [returns, returns]
    assert cfg.blocks[0].fallthrough == 1


def test_running_off_the_end_returns():
    cfg = cfg_of("mov.u32 %r1, 1;")
    assert cfg.exit_blocks == [0] and cfg.blocks[0].returns and cfg.blocks[0].terminator is None


def test_guarded_branch_at_the_end_falls_into_an_implicit_return():
    cfg = cfg_of("L: mov.u32 %r1, 1; @%p1 bra L;")
    assert edges_of(cfg) == [[1], [1, 2], []]
    assert cfg.exit_blocks == [2] and cfg.blocks[2].returns and not cfg.blocks[2].instructions


def test_label_at_the_end_is_a_block():
    cfg = cfg_of("@%p1 bra DONE; trap; DONE:")
    assert edges_of(cfg) == [[2, 1], [], []]
    assert [b.returns for b in cfg.blocks] == [False, False, True]


def test_empty_body():
    cfg = build_cfg(Function("f"))
    assert edges_of(cfg) == [[]] and cfg.blocks[0].returns and cfg.rpo == [0]


def test_several_labels_make_one_block():
    cfg = cfg_of("bra B; A: B: C: mov.u32 %r1, 1; @%p1 bra A; @%p1 bra C; ret;")
    assert cfg.blocks[1].labels == ["A", "B", "C"]
    assert edges_of(cfg) == [[1], [1, 2], [1, 3], []]


def test_entry_that_is_a_branch_target_gets_an_empty_block_before_it():
    cfg = cfg_of("TOP: add.u32 %r1, %r1, 1; @%p1 bra TOP; ret;")
    assert edges_of(cfg) == [[1], [1, 2], []]
    assert cfg.entry.instructions == [] and cfg.entry.fallthrough == 1 and cfg.entry.preds == []
    assert (cfg.entry.first, cfg.entry.last) == (0, -1)
    assert cfg.blocks[1].preds == [0, 1] and cfg.blocks[1].taken == 1 and cfg.label_block == {"TOP": 1}


def test_unreachable_code_is_kept_out_of_the_order():
    cfg = cfg_of("bra L; mov.u32 %r1, 1; exit; L: ret;")
    assert len(cfg.blocks) == 3
    assert cfg.rpo == [0, 2] and cfg.rpo_index == [0, -1, 1]
    assert not cfg.is_reachable(1) and cfg.exit_blocks == [2]


def test_branch_table():
    cfg = cfg_of("T: .branchtargets A, B, A; brx.idx %r1, T; A: ret; B: ret;")
    assert edges_of(cfg) == [[1, 2], [], []]
    assert cfg.blocks[0].targets == [1, 2, 1]
    assert (cfg.blocks[0].taken, cfg.blocks[0].fallthrough) == (-1, -1)


def test_guarded_branch_table_falls_through():
    cfg = cfg_of("@%p1 brx.idx %r1, T; mov.u32 %r1, 1; B: A: ret; T: .branchtargets A, B;")
    assert edges_of(cfg) == [[2, 1], [2], []]
    assert cfg.blocks[0].targets == [2, 2] and cfg.blocks[0].fallthrough == 1


def test_call_of_a_noreturn_function_ends_the_block():
    die = ".extern .func die() .noreturn;\n.extern .func live();"
    cfg = cfg_of("call live; @%p1 call die; mov.u32 %r1, 1; call die; mov.u32 %r1, 2; ret;", die)
    assert edges_of(cfg) == [[1], [], []]
    assert cfg.exit_blocks == [0, 1]
    assert [b.returns for b in cfg.blocks] == [False, False, True]
    assert not cfg.is_reachable(2)


def test_indirect_noreturn_call_ends_the_block():
    cfg = cfg_of("P: .callprototype _ () .noreturn; call %rd1, P; ret;")
    assert len(cfg.blocks) == 2 and not cfg.is_reachable(1)


def test_undefined_label_names_the_place():
    with pytest.raises(VerifyError) as caught:
        cfg_of("mov.u32 %r1, 1;\nbra NOWHERE;\nret;")
    error = caught.value
    assert error.file == "k.ptx" and error.source_line == "bra NOWHERE;" and error.line == 9
    assert "NOWHERE" in error.message and "label" in error.expected


@pytest.mark.parametrize("body", ["T: .branchtargets A; brx.idx %r1, T; ret;", "brx.idx %r1, T; ret;"])
def test_bad_branch_tables_are_refused(body):
    with pytest.raises(VerifyError, match="undefined"):
        cfg_of(body)


@pytest.mark.parametrize("between", [[], [Instruction(decode("ret"), [])]])
def test_label_defined_twice_is_refused(between):
    function = Function("f")
    function.body = [Label("A"), *between, Label("A")]
    with pytest.raises(VerifyError, match="'A' is defined twice"):
        build_cfg(function)


def test_undefined_label_without_a_module_still_is_a_verify_error():
    function = cfg_of("L: bra L;").function
    function.body = [s for s in function.body if not isinstance(s, Label)]
    with pytest.raises(VerifyError, match="'L'"):
        build_cfg(function)


def flattened(function: Function, cfg) -> list[object]:
    return [s for b in cfg.blocks for s in function.body[b.first : b.last + 1]]


@given(graphs())
def test_random_graph_comes_back(graph: Graph):
    function = function_from(graph)
    cfg = build_cfg(function)
    assert flattened(function, cfg) == function.body
    for block in cfg.blocks:
        inside = function.body[block.first : block.last + 1]
        assert block.instructions == [s for s in inside if isinstance(s, Instruction)]
        assert sorted(block.preds) == [p.id for p in cfg.blocks if block.id in p.succs]
    for index, (succs, leaves) in enumerate(graph):
        # All that control reaches from the label within this block's code, through the fallthroughs.
        block = cfg.blocks[cfg.label_block[f"B{index}"]]
        targets, left = set(block.succs), block.leaves
        while block.fallthrough >= 0 and not cfg.blocks[block.fallthrough].labels:
            targets.discard(block.fallthrough)
            block = cfg.blocks[block.fallthrough]
            targets |= set(block.succs)
            left |= block.leaves
        assert targets == {cfg.label_block[f"B{s}"] for s in succs}
        assert left == (leaves or not succs)
    assert cfg.entry.preds == []
    reached = {0}
    for block_id in cfg.rpo[1:]:
        assert any(p in reached or p in cfg.rpo for p in cfg.blocks[block_id].preds)
        reached.add(block_id)
    assert {s for b in cfg.rpo for s in cfg.blocks[b].succs} | {0} == set(cfg.rpo)


@given(graphs())
def test_every_place_has_its_block_and_every_block_what_runs_before_it(graph: Graph):
    cfg = build_cfg(function_from(graph))
    assert [cfg.block_at(at) for b in cfg.blocks for at in range(b.first, b.last + 1)] == [
        b.id for b in cfg.blocks for _ in range(b.first, b.last + 1)
    ]
    for block in cfg.blocks:
        found = {b.id for b in cfg.blocks if cfg.before(block.id) >> b.id & 1}
        assert found == {p for s in {block.id} | found for p in cfg.blocks[s].preds}
