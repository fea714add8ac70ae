"""What lanes share no longer once they have left a loop in different iterations, have come back from a function one by
one, or see the memory at different times."""

from __future__ import annotations

import pytest

from drawloom.ptx import parse
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.facts import LOCKSTEP, NO_WRAP
from drawloom.shuffle.pipeline import shuffle
from tests.shuffle.test_emulator import HEAD, assumed, emulate, kinds, loop, pairs

#: ``%r10`` counts up to the lane's own number, or to n.
OWN = "mov.u32 %r10, 0; round: {body} add.s32 %r10, %r10, 1; setp.le.u32 %p1, %r10, {last}; @%p1 bra round; {after}"
#: Loads of in[%r11 + tid] and the next.
BEHIND = """mul.wide.u32 %rd11, %r11, 4; add.s64 %rd12, %rd5, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""

FLOWS = """and.b32 %r12, %r10, 1; setp.eq.u32 %p2, %r12, 0; mov.u32 %r11, 0; @%p2 bra even; mov.u32 %r11, 16; even:"""
COPIED = "add.u32 %r11, %r14, 0; mad.lo.s32 %r14, %r14, 3, 1; and.b32 %r14, %r14, 1023;"
NESTED = """mov.u32 %r14, 0; inner: add.s32 %r14, %r14, 1; setp.le.u32 %p3, %r14, %r10; @%p3 bra inner;
    add.u32 %r11, %r14, 2;"""
MERGED = "mov.u32 %r11, 0;" + "".join(
    f"and.b32 %r12, %r10, {1 << k}; setp.eq.u32 %p2, %r12, 0; @%p2 bra m{k}; add.u32 %r11, %r11, {3 << k}; m{k}:"
    for k in range(6)
)
READ = "ld.global.u32 %r11, [%rd3]; st.global.u32 [%rd3], %r10;"


@pytest.mark.parametrize("body", [FLOWS, COPIED, NESTED, MERGED, READ])
def test_what_an_iteration_made_is_each_lanes_own_behind_a_loop(body: str) -> None:
    """Conditions, copies of variables, counts of inner loops, merged flows, and what was read."""
    text = OWN.format(body=body, last="{last}", after=BEHIND)
    start = "mov.u32 %r14, 1;"
    assert pairs(emulate(start + text.format(last="%r3"))) == []
    if body != READ:
        assert pairs(emulate(start + text.format(last="%r1"))) == [(1, 0, 1)]


def test_a_condition_on_what_lanes_read_at_different_times_is_their_own() -> None:
    after = """mov.b64 %rd13, %rd5; setp.lt.u32 %p2, %r11, 16; @%p2 add.s64 %rd13, %rd13, 64;
    ld.global.nc.f32 %f1, [%rd13]; ld.global.nc.f32 %f2, [%rd13+4];"""
    assert pairs(emulate(OWN.format(body=READ, last="%r3", after=after))) == []


INDIRECT = "ld.global.u32 %r11, [%rd3];" + BEHIND


@pytest.mark.parametrize(
    ("before", "is_shared"),
    [
        ("", True),
        ("atom.global.add.u32 %r20, [%rd2], 1;", False),
        ("bar.warp.sync %r2;", False),
        ("bar.warp.sync -1;", True),
        ("atom.global.add.u32 %r20, [%rd2], 1; bar.sync 0;", True),
        ("atom.global.add.u32 %r20, [%rd2], 1; bar.arrive 0, 64;", False),
        ("ld.volatile.global.u32 %r20, [%rd2];", False),
    ],
)
def test_lanes_that_are_ordered_one_by_one_may_read_different_values(before: str, is_shared: bool) -> None:
    """A lane that has got a lock reads what the last one has left, with all of them at the same instruction."""
    assert (pairs(emulate(before + INDIRECT)) != []) == is_shared


SOME = "setp.lt.u32 %p1, %r3, {0}; "


@pytest.mark.parametrize(
    ("before", "is_shared"),
    [
        (SOME + "@%p1 bra next; bar.warp.sync -1; next: bar.warp.sync -1;", False),
        (SOME + "@%p1 bra next; bar.warp.sync -1; bra end; next: bar.warp.sync -1; end:", False),
        (SOME + "@%p1 bar.warp.sync -1; bar.warp.sync -1;", False),
        (SOME + "@%p1 ret; bar.warp.sync -1;", True),
        (SOME + "@%p1 bra next; add.u32 %r20, %r20, 1; next: bar.warp.sync -1;", True),
        (SOME + "@%p1 bra next; bar.warp.sync -1; next: bar.warp.sync -1; bar.sync 0;", True),
    ],
)
def test_lanes_at_one_warp_barrier_may_be_waited_for_at_another(before: str, is_shared: bool) -> None:
    assert (pairs(emulate(before.format(16) + INDIRECT)) != []) == is_shared
    assert pairs(emulate(before.format("%r1").replace("%r3", "%r2") + INDIRECT)) != []


@pytest.mark.parametrize(
    ("before", "is_shared"),
    [
        ("vote.sync.ballot.b32 %r21, %p2, %r19;", False),
        ("vote.sync.ballot.b32 %r21, %p2, -1;", True),
        ("redux.sync.add.u32 %r21, %r3, %r19;", False),
        ("redux.sync.add.u32 %r21, %r3, -1;", True),
        ("shfl.sync.idx.b32 %r21, %r3, 0, 31, %r19;", False),
        ("shfl.sync.idx.b32 %r21, %r3, 0, 31, -1;", True),
        ("@%p2 bra more; vote.sync.ballot.b32 %r20, %p2, -1; more: vote.sync.ballot.b32 %r21, %p2, -1;", False),
        ("barrier.red.popc.u32 %r21, 0, %p2;", False),
        ("bar.red.popc.u32 %r21, 0, %p2;", True),
        ("mov.u32 %r21, %clock; and.b32 %r21, %r21, 15;", False),
    ],
)
def test_what_lanes_are_told_at_different_times_is_their_own(before: str, is_shared: bool) -> None:
    """Lanes may have come one after the other, and those of each time are told the same."""
    start = "setp.lt.u32 %p2, %r3, 16; activemask.b32 %r19;" + before
    text = start + OWN.format(body="add.s32 %r11, %r10, 0;", last="%r21", after=BEHIND)
    assert (pairs(emulate(text)) != []) == is_shared


@pytest.mark.parametrize("flag", [".uni", ""])
def test_lanes_that_take_a_uniform_branch_may_leave_a_loop_apart(flag: str) -> None:
    """``bra.uni`` promises one way for the lanes that run it together, not for all of the warp."""
    text = OWN.format(body="add.s32 %r11, %r10, 0;", last="%r3", after=BEHIND).replace("bra round", f"bra{flag} round")
    assert pairs(emulate(text)) == []


def test_a_generic_load_that_lanes_share_ends_their_loop_together() -> None:
    text = "ld.global.u64 %rd20, [%rd1]; ld.u32 %r21, [%rd20];" + OWN
    assert pairs(emulate(text.format(body="add.s32 %r11, %r10, 0;", last="%r21", after=BEHIND))) != []


def test_a_loop_whose_end_lanes_have_read_at_different_times_is_left_apart() -> None:
    text = "atom.global.add.u32 %r20, [%rd2], 1; ld.global.u32 %r21, [%rd3];" + OWN
    body = "add.s32 %r11, %r10, 0;"
    assert pairs(emulate(text.format(body=body, last="%r21", after=BEHIND))) == []
    assert pairs(emulate(text.format(body=body, last="%r1", after=BEHIND))) != []


def test_a_loop_that_only_brings_lanes_of_a_warp_together_shows_what_they_wrote() -> None:
    inside = "ld.global.f32 %f2, [%rd5]; {0}"
    before = "ld.global.f32 %f1, [%rd5];"
    assert pairs(emulate(loop(inside.format(""), before=before))) == [(1, 0, 0)]
    for shown in ("bar.warp.sync -1;", "griddepcontrol.wait;"):
        text = HEAD.replace("DIRECTIVES", "").replace("sm_80", "sm_90") + loop(inside.format(shown), before=before)
        module = parse(text + "\n ret;\n}\n")
        assert pairs(analyse(module, module.kernels[0], Options())) == []


def test_the_clock_is_no_step_of_a_loop() -> None:
    body = """mov.u32 %r12, %clock; mul.lo.u32 %r13, %r12, %r10; and.b32 %r15, %r14, 1023; and.b32 %r13, %r13, 1023;
    mul.wide.u32 %rd11, %r13, 4; add.s64 %rd11, %rd1, %rd11; mul.wide.u32 %rd12, %r15, 4; add.s64 %rd12, %rd1, %rd12;
    ld.global.nc.f32 %f1, [%rd11]; ld.global.nc.f32 %f2, [%rd12]; add.u32 %r14, %r14, %r12;"""
    assert pairs(emulate("mov.u32 %r14, 0;" + loop(body))) == []
    assert pairs(emulate("mov.u32 %r14, 0;" + loop(body).replace("%clock", "%ctaid.y"))) == [(1, 0, 0)]


CALLING = """.func f(.param .b32 x)
{
    .reg .pred %p<4>; .reg .b32 %r<9>;
    ld.param.b32 %r1, [x]; mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, %r1;
    BODY
    ret;
}
"""


@pytest.mark.parametrize(("body", "parts"), [("@%p1 ret; add.u32 %r3, %r3, 1;", True), ("add.u32 %r3, %r3, 1;", False)])
def test_lanes_may_come_back_from_a_function_in_different_iterations(body: str, parts: bool) -> None:
    row = """{ .param .b32 x; st.param.b32 [x], %r10; call f, (x); }
    mul.wide.s32 %rd11, %r10, 4; add.s64 %rd12, %rd1, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""
    text = HEAD.replace("DIRECTIVES", "").replace(".visible", CALLING.replace("BODY", body) + ".visible", 1)
    module = parse(text + loop(row, start="%r6", step="%r5") + "\n ret;\n}\n")
    report = analyse(module, module.kernels[0], Options(assume_no_wrap=True))
    assert pairs(report) == [(1, 0, 1)]
    assert (LOCKSTEP in kinds(report)) == parts


WAITING = "setp.lt.u32 %p2, %r3, 16; setp.lt.u32 %p3, %r2, 16; selp.b32 %r19, -1, 0xffff0000, %p2; {0}"


@pytest.mark.parametrize(
    ("before", "is_apart"),
    [
        ("@%p2 bar.warp.sync -1;", True),
        ("@%p3 bar.warp.sync -1;", False),
        ("bar.warp.sync -1;", False),
        ("bar.warp.sync %r19;", True),
        ("vote.sync.ballot.b32 %r20, %p2, %r19;", True),
        ("vote.sync.ballot.b32 %r20, %p2, -1;", False),
        ("@%p2 barrier.sync 0;", True),
        ("barrier.arrive 0, 64;", False),
        ("bar.sync 0;", False),
        ("@%p2 call f;", True),
        ("@%p3 call f;", False),
    ],
)
def test_lanes_that_wait_while_others_go_on_may_be_in_different_iterations(before: str, is_apart: bool) -> None:
    row = """mul.wide.s32 %rd11, %r10, 4; add.s64 %rd12, %rd1, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""
    callee = ".func f() { bar.warp.sync -1; ret; }\n"
    text = HEAD.replace("DIRECTIVES", "").replace(".visible", callee + ".visible", 1) + WAITING.format(before)
    module = parse(text + loop(row, start="%r6", step="%r5") + "\n ret;\n}\n")
    report = analyse(module, module.kernels[0], Options(assume_no_wrap=True))
    assert pairs(report) == [(1, 0, 1)]
    assert (LOCKSTEP in kinds(report)) == is_apart


GUARDED = """and.b32 %r9, %r1, 1; setp.ne.u32 %p1, %r9, 0; cvt.u16.u32 %rs1, %r3; cvt.u16.u32 %rs3, %r1;
    add.s16 %rs1, %rs1, %rs3; mov.u64 %rd10, 0;
    @%p1 bra odd; <even> bra.uni both; odd: mov.b16 %rs2, %rs1; both: @%p1 cvt.s64.s16 %rd10, %rs2;
    shl.b64 %rd11, %rd10, 2; add.s64 %rd12, %rd1, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""


def test_an_index_is_tested_only_where_all_flows_have_it_in_that_register() -> None:
    """Under a guard that one of the flows makes false, the register may hold anything there."""
    other = assumed(emulate(GUARDED.replace("<even>", "cvt.s64.s16 %rd10, %rs1; mov.b16 %rs2, 0;")))
    assert {a.kind for a in other if not a.testable} >= {NO_WRAP}
    same = assumed(emulate(GUARDED.replace("<even>", "cvt.s64.s16 %rd10, %rs1; mov.b16 %rs2, %rs1;")))
    assert [a.testable for a in same if a.kind == NO_WRAP] == [True]


def test_nothing_is_written_for_an_index_that_one_flow_does_not_test() -> None:
    text = HEAD.replace("DIRECTIVES", "") + GUARDED.replace("<even>", "cvt.s64.s16 %rd10, %rs1; mov.b16 %rs2, 0;")
    made = shuffle(text + "\n ret;\n}\n", apply="all")
    assert made.report.shuffles == 0
    assert not [i for i in made.kernels[0].body if isinstance(i, Instruction) and i.name == "shfl"]


CARRIED = """addc.u32 %r11, %r1, 0; mul.wide.u32 %rd11, %r11, 4; add.s64 %rd12, %rd5, %rd11;
    ld.global.nc.f32 {0}, [%rd12];"""


@pytest.mark.parametrize("ways", [2, 20])
def test_the_carry_flag_of_joined_flows_is_each_lanes_own(ways: int) -> None:
    cases = " ".join(
        f"setp.ne.u32 %p1, %r3, {k}; @%p1 bra n{k}; add.cc.u32 %r10, -1, {k % 2}; mov.u32 %r14, {k}; bra join; n{k}:"
        for k in range(1, ways)
    )
    text = "mov.u32 %r14, 0;" + cases + "add.cc.u32 %r10, 0, 0; join:" + CARRIED.format("%f1")
    keeps_flows = " mul.wide.u32 %rd13, %r14, 4; add.s64 %rd13, %rd13, %rd1; st.global.f32 [%rd13], %f1;"
    after = " ld.global.nc.f32 %f2, [%rd12+4];"
    for body in (text + after, text + after + keeps_flows):
        assert pairs(emulate(body)) == []
    assert pairs(emulate("add.cc.u32 %r10, %r1, %r2;" + CARRIED.format("%f1") + after)) != []


def test_the_carry_flag_of_an_iteration_is_not_that_of_another_loop() -> None:
    text = f"""mov.u32 %r14, 0; add.cc.u32 %r15, %r14, 0;
    outer: {CARRIED.format("%f1")} mov.u32 %r16, 0; add.cc.u32 %r15, %r1, %r14;
    inner: {CARRIED.format("%f2")} add.cc.u32 %r15, %r2, %r16;
    add.s32 %r16, %r16, 1; setp.lt.u32 %p1, %r16, %r1; @%p1 bra inner;
    add.s32 %r14, %r14, 1; setp.lt.u32 %p1, %r14, %r1; @%p1 bra outer;"""
    assert pairs(emulate(text)) == []


@pytest.mark.parametrize("space", ["local", "shared", "global"])
def test_a_variable_in_local_memory_is_at_an_address_of_each_lanes_own(space: str) -> None:
    text = f"""{".local .b32 own;" if space == "local" else ""} mov.u64 %rd10, {"own" if space == "local" else "tile"};
    cvta.{space}.u64 %rd10, %rd10; and.b64 %rd10, %rd10, 252; add.s64 %rd12, %rd5, %rd10;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""
    assert (pairs(emulate(text)) == []) == (space == "local")
