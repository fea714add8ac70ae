"""Live registers against a search over paths by definition, and hand-written cases with guards and calls."""

from hypothesis import given
from hypothesis import strategies as st

from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import Function, Instruction
from drawloom.ptx.liveness import before, bits, liveness, members, pressure
from tests.ptx.graphs import HEADER, Graph, cfg_of, fill, function_from, graphs, insn, parse


def names(cfg: Cfg, live: int) -> set[str]:
    return {cfg.function.registers[r].name for r in members(live)}


def test_branch_and_join():
    cfg = cfg_of("mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, %r2; L: add.u32 %r3, %r1, %r4; ret;")
    live = liveness(cfg)
    assert names(cfg, live.live_in[0]) == {"%p1", "%r2", "%r4"}
    assert names(cfg, live.live_out[0]) == {"%r1", "%r2", "%r4"}
    assert names(cfg, live.live_in[1]) == {"%r2", "%r4"}
    assert names(cfg, live.live_in[2]) == {"%r1", "%r4"}
    assert live.live_out[2] == 0


def test_guarded_definition_keeps_the_old_value_alive():
    cfg = cfg_of("@%p1 mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; ret;")
    assert names(cfg, liveness(cfg).live_in[0]) == {"%p1", "%r1", "%rd1"}


def test_loop_carries_its_counter():
    cfg = cfg_of("mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L; ret;")
    live = liveness(cfg)
    assert names(cfg, live.live_out[1]) == {"%r1", "%r2"}
    assert [names(cfg, s) for s in live.live_after(1)] == [{"%r1", "%r2"}, {"%r1", "%r2", "%p1"}, {"%r1", "%r2"}]


def test_every_operand_form_is_read():
    cfg = cfg_of(
        "ld.global.v2.u32 {%r1, %r2}, [%rd1+8]; setp.eq.and.u32 %p1|%p2, %r1, %r3, !%p3;"
        "mov.b64 %rd2, {%r4, %r5}; st.global.v2.u32 [%rd2], {%r6, %r2}; ret;"
    )
    assert names(cfg, liveness(cfg).live_in[0]) == {"%rd1", "%r3", "%p3", "%r4", "%r5", "%r6"}


def test_device_function_reads_its_result_at_ret_only():
    text = HEADER + (
        ".func (.reg .u32 %out) f(.reg .u32 %a, .reg .u32 %b)\n{ .reg .pred %p<3>; .reg .u32 %t;\n"
        "setp.eq.u32 %p1, %a, 0; @%p1 trap; setp.eq.u32 %p2, %b, 1; mov.u32 %out, %a; @%p2 ret;"
        "mov.u32 %out, %b; }\n"
    )
    module = parse(text)
    cfg = build_cfg(module.functions["f"], module)
    live = liveness(cfg)
    assert names(cfg, live.live_in[0]) == {"%a", "%b"}
    assert names(cfg, live.live_out[0]) == {"%a", "%b"}
    assert names(cfg, live.live_out[1]) == {"%out", "%b"}
    assert names(cfg, live.live_out[2]) == {"%out"}


def test_results_of_a_call_in_registers_are_written():
    cfg = cfg_of("call (%r1), f, (%r2); st.global.u32 [%rd1], %r1; ret;", ".extern .func (.reg .u32 r) f(.reg .u32 a);")
    assert names(cfg, liveness(cfg).live_in[0]) == {"%r2", "%rd1"}


def test_pressure_counts_words_and_predicates():
    cfg = cfg_of(
        "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p1, %r1, %r2;"
        "setp.ne.u32 %p2, %r1, 1; and.pred %p1, %p1, %p2; @%p1 st.global.u32 [%rd1], %r2; ret;"
    )
    found = pressure(cfg, liveness(cfg))
    assert (found.words, found.predicates) == (4, 2)


def test_pressure_counts_a_result_that_nobody_reads():
    cfg = cfg_of("mov.u64 %rd2, 1; st.global.u32 [%rd1], %r1; ret;")
    assert pressure(cfg, liveness(cfg)).words == 5


@given(st.sets(st.integers(0, 300) | st.integers(0, 5000)))
def test_bit_sets_come_back(ids: set[int]):
    assert members(bits(list(ids))) == sorted(ids)
    assert bits(list(ids)) == sum(1 << i for i in ids)


REGISTERS = 4


@st.composite
def programs(draw: st.DrawFn) -> Function:
    graph: Graph = draw(graphs(most_blocks=7))
    bodies: list[list[Instruction]] = []
    function = function_from(graph, registers=REGISTERS)
    free = function.registers[2:]
    for _ in graph:
        body = []
        for _ in range(draw(st.integers(0, 3))):
            guard = function.registers[0] if draw(st.booleans()) else None
            d, a, b = (draw(st.sampled_from(free)) for _ in range(3))
            body.append(insn("add.u32", d, a, b, guard=guard))
        bodies.append(body)
    fill(function, graph, bodies)
    return function


def reads_first(cfg: Cfg, block_id: int, index: int, register: int) -> bool:
    """Whether some path from just before instruction ``index`` of a block reads ``register`` before writing it."""
    seen: set[int] = set()
    work = [(block_id, index)]
    while work:
        block_id, index = work.pop()
        for instruction in cfg.blocks[block_id].instructions[index:]:
            if register in [r.id for r in instruction.sources()]:
                return True
            if instruction.guard is None and register in [r.id for r in instruction.destinations()]:
                break
        else:
            for successor in cfg.blocks[block_id].succs:
                if successor not in seen:
                    seen.add(successor)
                    work.append((successor, 0))
    return False


@given(programs())
def test_liveness_agrees_with_a_search_over_paths(function: Function):
    cfg = build_cfg(function)
    live = liveness(cfg)
    for block in cfg.blocks:
        count = len(block.instructions)
        after = live.live_after(block.id)
        for register in range(len(function.registers)):
            assert live.live_in[block.id] >> register & 1 == reads_first(cfg, block.id, 0, register)
            assert live.live_out[block.id] >> register & 1 == reads_first(cfg, block.id, count, register)
            for index in range(count):
                assert after[index] >> register & 1 == reads_first(cfg, block.id, index + 1, register)
        if block.instructions:
            assert before(block.instructions[0], after[0]) == live.live_in[block.id]
