"""Uniformity: hand-written kernels for every rule, and random ones run as a warp with shared scalar registers."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.ir import Address, Function, Instruction, SpecialRegister
from drawloom.ptx.liveness import liveness
from drawloom.ptx.loops import find_loops
from drawloom.ptx.uniformity import (
    AFFINE,
    CLASS_NAMES,
    UNIFORM_BLOCK,
    UNIFORM_WARP,
    VARYING,
    BlockShape,
    Uniformity,
    branches,
    uniformity,
)
from tests.ptx.graphs import HEADER, Graph, cfg_of, fill, function_from, graphs, insn, parse
from tests.ptx.small_machine import run
from tests.ptx.small_warp import LANES, Warp, run_in_lockstep, run_with_stack

LINE = BlockShape(x_is_warps=True)


def analyse(body: str, shape: BlockShape | None = LINE, extra: str = "") -> Uniformity:
    return uniformity(cfg_of(body, extra), shape)


def kind(found: Uniformity, name: str) -> int:
    (register,) = [r for r in found.cfg.function.registers if r.name == name]
    return found.kind(register.id)


def stride(found: Uniformity, name: str) -> int:
    (register,) = [r for r in found.cfg.function.registers if r.name == name]
    return found.stride(register.id)


def likely(found: Uniformity, name: str) -> int | None:
    (register,) = [r for r in found.cfg.function.registers if r.name == name]
    return found.likely_stride(register.id)


@pytest.mark.parametrize(
    ("shape", "kinds"),
    [
        (BlockShape(), (VARYING, VARYING, VARYING)),
        (BlockShape(x_is_warps=True), (AFFINE, UNIFORM_WARP, UNIFORM_WARP)),
        (BlockShape(64, 2, 2), (AFFINE, UNIFORM_WARP, UNIFORM_WARP)),
        (BlockShape(48, 1, 1), (AFFINE, UNIFORM_BLOCK, UNIFORM_BLOCK)),
        (BlockShape(0, 1, 1), (AFFINE, UNIFORM_BLOCK, UNIFORM_BLOCK)),
        (BlockShape(16, 16, 1), (VARYING, VARYING, UNIFORM_BLOCK)),
        (BlockShape(1, 64, 1), (UNIFORM_BLOCK, VARYING, UNIFORM_BLOCK)),
    ],
)
def test_thread_index_by_block_shape(shape: BlockShape, kinds: tuple[int, int, int]):
    found = analyse("mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; ret;", shape)
    assert tuple(kind(found, f"%r{i}") for i in (1, 2, 3)) == kinds
    vector = analyse("mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; ret;", shape)
    assert tuple(kind(vector, f"%r{i}") for i in (1, 2, 3)) == kinds
    assert kind(vector, "%r4") == UNIFORM_BLOCK


@pytest.mark.parametrize(
    ("body", "expected", "expected_stride"),
    [
        ("mov.u32 %r9, %ctaid.x;", UNIFORM_BLOCK, 0),
        ("mov.u32 %r9, %ntid.x;", UNIFORM_BLOCK, 0),
        ("mov.u32 %r9, %nctaid.y;", UNIFORM_BLOCK, 0),
        ("mov.u32 %r9, %laneid;", AFFINE, 1),
        ("mov.u32 %r9, %lanemask_lt;", VARYING, None),
        ("mov.u32 %r9, %warpid;", UNIFORM_WARP, 0),
        ("mov.u32 %r9, %clock;", VARYING, None),
        ("ld.param.u32 %r9, [p];", UNIFORM_BLOCK, 0),
        ("mov.u32 %r9, 7;", UNIFORM_BLOCK, 0),
        ("add.u32 %r9, %r1, 5;", AFFINE, 1),
        ("add.u32 %r9, %r1, %r1;", AFFINE, 2),
        ("sub.u32 %r9, %r2, %r1;", AFFINE, -1),
        ("sub.u32 %r9, %r1, %r1;", UNIFORM_WARP, 0),
        ("neg.s32 %r9, %r1;", AFFINE, -1),
        ("shl.b32 %r9, %r1, 3;", AFFINE, 8),
        ("shl.b32 %r9, %r1, 32;", VARYING, None),
        ("shl.b32 %r9, %r1, %r2;", VARYING, None),
        ("mul.lo.u32 %r9, %r1, 12;", AFFINE, 12),
        ("mul.lo.s32 %r9, -3, %r1;", AFFINE, -3),
        ("mul.lo.s32 %r9, %r1, %r2;", VARYING, None),
        ("mul.hi.u32 %r9, %r1, 4;", VARYING, None),
        ("mad.lo.s32 %r9, %r2, %r2, %r1;", AFFINE, 1),
        ("mad.lo.s32 %r9, %r1, 4, %r1;", AFFINE, 5),
        ("mul.lo.u32 %r9, %r1, 0;", UNIFORM_BLOCK, 0),
        ("mul.lo.u32 %r9, %r1, 2147483648; shl.b32 %r9, %r9, 1;", VARYING, None),
        ("and.b32 %r9, %r1, 31;", VARYING, None),
        ("xor.b32 %r9, %r2, 1;", UNIFORM_BLOCK, 0),
        ("selp.b32 %r9, %r1, %r1, %p1;", AFFINE, 1),
        ("setp.eq.u32 %p2, %r1, 3; selp.b32 %r9, 1, 2, %p2;", VARYING, None),
        ("min.u32 %r9, %r2, 4;", UNIFORM_BLOCK, 0),
        ("add.sat.s32 %r9, %r1, 1;", VARYING, None),
        ("activemask.b32 %r9;", UNIFORM_WARP, 0),
        ("vote.sync.ballot.b32 %r9, %p1, -1;", UNIFORM_WARP, 0),
        ("vote.sync.ballot.b32 %r9, %p1, %r1;", VARYING, None),
        ("redux.sync.add.u32 %r9, %r1, -1;", UNIFORM_WARP, 0),
        ("match.any.sync.b32 %r9, %r1, -1;", VARYING, None),
        ("match.all.sync.b32 %r9|%p1, %r1, -1;", UNIFORM_WARP, 0),
        ("bar.red.popc.u32 %r9, 0, %p1;", UNIFORM_BLOCK, 0),
        ("shfl.sync.idx.b32 %r9|%p1, %r1, 0, 31, -1;", UNIFORM_WARP, 0),
        ("shfl.sync.idx.b32 %r9|%p1, %r1, %r2, 31, -1;", UNIFORM_WARP, 0),
        ("shfl.sync.idx.b32 %r9|%p1, %r1, 0, 7199, -1;", VARYING, None),
        ("shfl.sync.idx.b32 %r9|%p1, %r1, %r1, 31, -1;", VARYING, None),
        ("shfl.sync.down.b32 %r9|%p1, %r1, 1, 31, -1;", VARYING, None),
        ("shfl.sync.down.b32 %r9|%p1, %r2, 1, 31, -1;", UNIFORM_BLOCK, 0),
        ("ld.global.u32 %r9, [%rd1];", UNIFORM_WARP, 0),
        ("ld.u32 %r9, [%rd1];", UNIFORM_WARP, 0),
        ("ld.shared.u32 %r9, [%rd1];", UNIFORM_WARP, 0),
        ("ld.local.u32 %r9, [%rd1];", VARYING, None),
        ("ld.const.u32 %r9, [%rd1];", UNIFORM_BLOCK, 0),
        ("ld.global.nc.u32 %r9, [%rd1];", UNIFORM_BLOCK, 0),
        ("ld.volatile.global.u32 %r9, [%rd1];", VARYING, None),
        ("ld.acquire.gpu.global.u32 %r9, [%rd1];", VARYING, None),
        ("cvt.u64.u32 %rd2, %r1; ld.global.u32 %r9, [%rd2];", VARYING, None),
        ("atom.global.add.u32 %r9, [%rd1], 1;", VARYING, None),
        ("add.cc.u32 %r8, %r2, %r2; addc.u32 %r9, %r2, 0;", UNIFORM_BLOCK, 0),
        ("add.cc.u32 %r8, %r1, %r2; addc.u32 %r9, %r2, 0;", VARYING, None),
    ],
)
def test_one_rule(body: str, expected: int, expected_stride: int | None):
    # r1 is affine with stride 1, r2 and rd1 are the same for the block, p1 varies.
    start = (
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %rd1, [p];"
        "mov.u32 %r3, %lanemask_lt; setp.eq.u32 %p1, %r3, 5;"
    )
    if "selp.b32 %r9, %r1, %r1" in body:
        start += "setp.eq.u32 %p1, %r2, 5;"
        start = start.replace("setp.eq.u32 %p1, %r3, 5;", "")
    found = analyse(start + body + "ret;")
    assert CLASS_NAMES[kind(found, "%r9")] == CLASS_NAMES[expected]
    if expected_stride is None:
        with pytest.raises(ValueError, match="%r9 is varying"):
            stride(found, "%r9")
    else:
        assert stride(found, "%r9") == expected_stride


def test_widening_needs_a_proof_that_no_lane_wraps():
    found = analyse(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r2, 256, %r1;"
        "mul.wide.u32 %rd1, %r1, 4; cvt.s64.s32 %rd2, %r1; shl.b64 %rd3, %rd2, 3;"
        "mul.wide.s32 %rd4, %r3, 4; cvt.u64.u32 %rd5, %r3; ld.param.u64 %rd6, [p]; add.s64 %rd7, %rd6, %rd4; ret;"
    )
    assert (kind(found, "%rd1"), stride(found, "%rd1")) == (AFFINE, 4)
    assert (kind(found, "%rd3"), stride(found, "%rd3")) == (AFFINE, 8)
    assert (kind(found, "%r3"), stride(found, "%r3")) == (AFFINE, 1)
    # ctaid * 256 + tid may wrap in the middle of a warp.
    assert (kind(found, "%rd4"), kind(found, "%rd5"), kind(found, "%rd7")) == (VARYING, VARYING, VARYING)
    assert (likely(found, "%rd4"), likely(found, "%rd5"), likely(found, "%rd7")) == (4, 1, 4)
    assert likely(found, "%rd6") is None


def test_negative_stride_does_not_widen():
    found = analyse("mov.u32 %r1, %tid.x; sub.u32 %r2, 10, %r1; cvt.u64.u32 %rd1, %r2; ret;")
    assert kind(found, "%r2") == AFFINE and kind(found, "%rd1") == VARYING


def test_truncation_of_what_was_widened_is_affine_again():
    found = analyse(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; add.u32 %r3, %r2, %r1; cvt.u64.u32 %rd1, %r3;"
        "add.u64 %rd2, %rd1, 12; cvt.u32.u64 %r4, %rd2; ret;"
    )
    assert kind(found, "%rd2") == VARYING and (kind(found, "%r4"), stride(found, "%r4")) == (AFFINE, 1)


def test_growing_bound_in_a_loop_is_given_up():
    found = analyse(
        "mov.u32 %r1, %tid.x; ld.param.u32 %r5, [p]; L: add.u32 %r1, %r1, 32; cvt.u64.u32 %rd1, %r1;"
        "setp.lt.u32 %p1, %r1, %r5; vote.sync.any.pred %p2, %p1, -1; @%p2 bra L; ret;"
    )
    assert kind(found, "%r1") == AFFINE and kind(found, "%rd1") == VARYING and likely(found, "%rd1") == 1


DIVERGE = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; mov.u32 %r2, 5;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Merged after both arms, after one arm; not live at the join; private to both arms.
        ("@%p1 bra A; mov.u32 %r9, 1; bra B; A: mov.u32 %r9, 2; B: st.global.u32 [%rd1], %r9; ret;", VARYING),
        ("mov.u32 %r9, 1; @%p1 bra B; mov.u32 %r9, 2; B: st.global.u32 [%rd1], %r9; ret;", VARYING),
        ("mov.u32 %r9, 1; st.global.u32 [%rd1], %r9; @%p1 bra B; mov.u32 %r9, 2; B: ret;", UNIFORM_BLOCK),
        ("@%p1 bra A; mov.u32 %r9, 1; st.global.u32 [%rd1], %r9; bra B; A: mov.u32 %r9, 2; B: ret;", UNIFORM_BLOCK),
        # One arm writes what the other still reads.
        ("mov.u32 %r9, 1; @%p1 bra A; mov.u32 %r9, 2; bra B; A: st.global.u32 [%rd1], %r9; B: ret;", VARYING),
        # Guards.
        ("mov.u32 %r9, 1; @%p1 mov.u32 %r9, 2; ret;", VARYING),
        ("setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 1; @%p2 mov.u32 %r9, 2; ret;", UNIFORM_BLOCK),
        # Temporal divergence, and a counter that is only read inside.
        ("mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r1; @%p2 bra L;"
         "st.global.u32 [%rd1], %r9; ret;", VARYING),
        ("mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r1; @%p2 bra L; ret;", UNIFORM_BLOCK),
        # Leaving the function in a loop disturbs nothing.
        ("mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; @%p1 exit; setp.lt.u32 %p2, %r9, %r2; @%p2 bra L;"
         "st.global.u32 [%rd1], %r9; ret;", UNIFORM_BLOCK),
        ("mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; @%p1 bra X; setp.lt.u32 %p2, %r9, %r2; @%p2 bra L;"
         "st.global.u32 [%rd1], %r9; ret; X: exit;", UNIFORM_BLOCK),
        # A break out of two loops.
        ("mov.u32 %r9, 0; O: add.u32 %r9, %r9, 1; I: @%p1 bra X; setp.lt.u32 %p2, %r9, %r2; @%p2 bra I;"
         "setp.lt.u32 %p3, %r9, 9; @%p3 bra O; ret; X: st.global.u32 [%rd1], %r9; ret;", VARYING),
        # Two latches in a loop with a second exit: with a reconvergence stack one side runs ahead.
        ("mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; @%p1 bra A; setp.eq.u32 %p2, %r9, 6; @%p2 bra X; bra L;"
         "A: setp.eq.u32 %p2, %r9, 4; @!%p2 bra L; ret; X: ret;", VARYING),
        ("L: @%p1 bra A; mov.u32 %r9, 3; setp.eq.u32 %p2, %r2, 6; @%p2 bra X; bra L;"
         "A: mov.u32 %r9, 4; bra L; X: st.global.u32 [%rd1], %r9; ret;", VARYING),
        # An irreducible cycle.
        ("mov.u32 %r9, 0; @%p1 bra B; A: add.u32 %r9, %r9, 1; B: setp.lt.u32 %p2, %r9, %r2; @%p2 bra A; ret;", VARYING),
        # .uni promises that all lanes go one way.
        ("mov.u32 %r9, 1; @%p1 bra.uni B; mov.u32 %r9, 2; B: st.global.u32 [%rd1], %r9; ret;", UNIFORM_WARP),
        # A branch table.
        ("T: .branchtargets A, B, C; brx.idx %r1, T; A: mov.u32 %r9, 1; bra D; B: mov.u32 %r9, 2; bra D;"
         "C: mov.u32 %r9, 3; D: st.global.u32 [%rd1], %r9; ret;", VARYING),
    ],
)  # fmt: skip
def test_control_dependence(body: str, expected: int):
    assert CLASS_NAMES[kind(analyse(DIVERGE + body), "%r9")] == CLASS_NAMES[expected]


def test_warp_uniform_branch_makes_block_values_differ_between_warps():
    found = analyse(
        "mov.u32 %r1, %tid.y; setp.eq.u32 %p1, %r1, 0; mov.u32 %r9, 1; @%p1 bra B; mov.u32 %r9, 2;"
        "B: st.global.u32 [%rd1], %r9; ret;"
    )
    assert found.branch(0) == UNIFORM_WARP and not found.is_divergent(0)
    assert kind(found, "%r9") == UNIFORM_WARP


def test_divergent_branches_are_named():
    found = analyse(DIVERGE + "@%p1 exit; setp.eq.u32 %p2, %r2, 1; @%p2 bra B; mov.u32 %r3, 1; B: ret;")
    assert [found.is_divergent(b.id) for b in found.cfg.blocks] == [True, False, False, False]
    assert [found.branch(b.id) for b in found.cfg.blocks] == [VARYING] + [UNIFORM_BLOCK] * 3


def test_results_of_calls_vary():
    extra = ".func (.param .u32 out) f(.param .u32 a);"
    body = (
        "{ .param .u32 a0; .param .u32 r0; st.param.u32 [a0], 1; call (r0), f, (a0); ld.param.u32 %r9, [r0]; }"
        "ld.param.u32 %r8, [p]; ret;"
    )
    found = analyse(body, extra=extra)
    assert kind(found, "%r9") == VARYING and kind(found, "%r8") == UNIFORM_BLOCK


def test_parameters_of_device_functions_vary():
    text = HEADER + (
        ".func f(.param .u32 a, .reg .u32 %b)\n{ .reg .u32 %r<5>; ld.param.u32 %r1, [a]; add.u32 %r2, %b, 1;"
        "mov.u32 %r3, %ctaid.x; ret; }\n"
    )
    found = uniformity(build_cfg(parse(text).functions["f"]))
    assert [kind(found, f"%r{i}") for i in (1, 2, 3)] == [VARYING, VARYING, UNIFORM_BLOCK]


def test_generic_address_of_a_local_variable_varies():
    body = ".local .b32 x[4]; mov.u64 %rd1, x; cvta.local.u64 %rd2, %rd1; ld.u32 %r9, [%rd2]; ret;"
    assert kind(analyse(body), "%r9") == VARYING
    shared = ".shared .b32 x[4]; mov.u64 %rd1, x; cvta.shared.u64 %rd2, %rd1; ld.u32 %r9, [%rd2]; ret;"
    assert kind(analyse(shared), "%r9") == UNIFORM_WARP


def test_register_that_is_never_written_is_uniform():
    assert kind(analyse("st.global.u32 [%rd1], %r9; ret;"), "%r9") == UNIFORM_BLOCK
    assert kind(analyse("mov.u32 %r1, %tid.x; mul.lo.u32 %r8, %r1, %r9; ret;"), "%r8") == VARYING


REGISTERS = 8


@st.composite
def programs(draw: st.DrawFn) -> Function:
    """Random graphs whose blocks mix lane numbers and constants, compare, guard and store."""
    graph: Graph = draw(graphs(most_blocks=8))
    function = function_from(graph, registers=REGISTERS)
    predicate, selector, free = function.registers[0], function.registers[1], function.registers[2:]
    any_register = st.sampled_from(free)
    # Only some registers get what depends on the lane, so that others have a chance to stay uniform.
    lanes, same = st.sampled_from(free[:3]), st.sampled_from(free[3:])
    bodies: list[list[Instruction]] = []
    for _ in graph:
        body: list[Instruction] = []
        for _ in range(draw(st.integers(1, 4))):
            guard = draw(st.sampled_from([None] * 7 + [predicate]))
            negated = guard is not None and draw(st.booleans())
            a, b = draw(any_register), draw(any_register)
            d = draw(lanes)
            if draw(st.integers(0, 3)):
                d, a, b = draw(same), draw(same), draw(same)
            what = draw(st.sampled_from("mov add const const count count lane mul setp test selector st".split()))
            if what == "mov":
                body.append(insn("mov.u32", d, a, guard=guard, negated=negated))
            elif what == "add":
                body.append(insn("add.u32", d, a, b, guard=guard, negated=negated))
            elif what == "const":
                body.append(insn("mov.u32", d, draw(st.integers(0, 9)), guard=guard, negated=negated))
            elif what == "count":
                body.append(insn("add.u32", d, d, 1))
            elif what == "lane":
                body.append(insn("add.u32", draw(lanes), draw(lanes), SpecialRegister("%laneid")))
            elif what == "mul":
                body.append(insn("mul.lo.u32", d, a, draw(st.integers(0, 5))))
            elif what == "setp":
                body.append(insn("setp.lt.u32", predicate, a, b, guard=guard, negated=negated))
            elif what == "test":
                body.append(insn("setp.lt.u32", predicate, draw(any_register), draw(st.integers(1, 6))))
            elif what == "selector":
                body.append(insn("mov.u32", selector, draw(any_register)))
            else:
                body.append(insn("st.global.u32", Address(None, 16), a, guard=guard, negated=negated))
        body.extend([insn("st.global.u32", Address(None, 16), r) for r in free[3:]])
        bodies.append(body)
    fill(function, graph, bodies)
    # Lanes differ from the start, in the first register and mostly in what branches ask.
    lane = SpecialRegister("%laneid")
    start = [insn("mov.u32", r, i + 1) for i, r in enumerate(free[1:])]
    start.append(insn("mov.u32", free[0], lane))
    start.append(insn("mov.u32", selector, draw(st.sampled_from([lane, lane, 1]))))
    start.append(insn("setp.lt.u32", predicate, draw(st.sampled_from([free[0], free[0], free[1]])), 2))
    function.body[:0] = start
    return function


def check_lanes(function: Function, warp: Warp, ended: bool) -> None:
    for lane in range(LANES):
        alone, alone_ended = run(function, {}, most_steps=4000, most_stores=2000, lane=lane)
        found = warp.stores[lane]
        common = min(len(alone), len(found))
        assert found[:common] == alone[:common]
        if ended and alone_ended:
            assert found == alone


@given(programs(), st.booleans())
def test_scalar_storage_gives_the_same_with_a_reconvergence_stack(function: Function, last_side_first: bool):
    cfg = build_cfg(function)
    warp = Warp(cfg, uniformity(cfg), most_steps=200)
    check_lanes(function, warp, run_with_stack(warp, last_side_first))


@given(programs())
def test_scalar_storage_gives_the_same_with_iterations_in_lockstep(function: Function):
    cfg = build_cfg(function)
    assume(find_loops(cfg).is_reducible)
    warp = Warp(cfg, uniformity(cfg), most_steps=200)
    check_lanes(function, warp, run_in_lockstep(warp))


@given(programs())
def test_branches_alone_are_judged_as_with_all_registers(function: Function):
    cfg = build_cfg(function)
    found, whole = branches(cfg, liveness(cfg)), uniformity(cfg)
    assert [found.is_divergent(b) for b in cfg.rpo] == [whole.is_divergent(b) for b in cfg.rpo]


def test_a_carry_flag_that_outlasts_its_block_differs_where_lanes_part() -> None:
    body = """
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra ONE;
    add.cc.u32 %r2, 0, 0;
    bra JOIN;
    ONE: add.cc.u32 %r2, -1, 1;
    JOIN: addc.u32 %r3, 1, 1;
    ret;
    """
    assert kind(analyse(body), "%r3") == VARYING
