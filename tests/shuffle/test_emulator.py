"""What the emulator says of small kernels: which loads another lane has done, what that rests on, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest

from drawloom.ptx import parse, verify
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.choose import choose
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.facts import DISTINCT, LANES_ALONG_X, LOCKSTEP, NO_WRAP, Assumption, Report

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 m, .param .u64 other)DIRECTIVES
{
    .reg .pred %p<8>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<40>; .reg .b16 %rs<8>;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m];
    ld.param.u64 %rd3, [other];
    mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;
    mad.lo.s32 %r6, %r4, %r5, %r3;
    mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;
    mul.wide.s32 %rd7, %r6, 4; add.s64 %rd8, %rd1, %rd7; add.s64 %rd9, %rd2, %rd7;
"""


def emulate(body: str, directives: str = "", **options: Any) -> Report:
    """``%rd5`` is in + 4 * tid, ``%rd6`` out + 4 * tid, ``%rd8`` in + 4 * (ctaid * ntid + tid), ``%rd9`` the same of
    out; ``%r1`` and ``%r2`` are n and m."""
    module = parse(HEAD.replace("DIRECTIVES", directives) + body + "\n ret;\n}\n")
    verify(module)
    report = analyse(module, module.kernels[0], Options(**options))
    assert not [r for r in report.refusals if r.at < 0]
    return report


def pairs(report: Report) -> list[tuple[int, int, int]]:
    """``(load, source, delta)`` of what is chosen, loads numbered in program order."""
    place = {at: k for k, at in enumerate(report.loads)}
    return [(place[c.load], place[c.source], c.delta) for c in choose(report, lambda c: True)]


def assumed(report: Report) -> list[Assumption]:
    return [a for c in choose(report, lambda c: True) for a in c.assumptions]


def kinds(report: Report) -> set[str]:
    return {a.kind for a in assumed(report)}


LOAD = "ld.global.f32 %f{0}, [{1}];"
TWO = "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+4];"


# -- distances ----------------------------------------------------------------------------------------------------


def test_the_next_word_is_the_next_lanes() -> None:
    assert pairs(emulate(TWO)) == [(1, 0, 1)]
    assert pairs(emulate("ld.global.f32 %f1, [%rd5+8]; ld.global.f32 %f2, [%rd5];")) == [(1, 0, -2)]
    assert pairs(emulate("ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5];")) == [(1, 0, 0)]


def test_distances_end_with_the_warp() -> None:
    assert pairs(emulate("ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+124];")) == [(1, 0, 31)]
    assert pairs(emulate("ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+128];")) == []


def test_half_a_stride_is_no_distance() -> None:
    assert pairs(emulate("ld.global.u16 %rs1, [%rd5]; ld.global.u16 %rs2, [%rd5+2];")) == []
    wide = "mul.wide.u32 %rd10, %r3, 12; add.s64 %rd11, %rd1, %rd10; "
    assert pairs(emulate(wide + "ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+12];")) == [(1, 0, 1)]
    assert pairs(emulate(wide + "ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+4];")) == []


def test_strides_that_only_the_launch_knows() -> None:
    rows = """cvt.u64.u32 %rd10, %r3; cvt.u64.u32 %rd11, %r1; mul.lo.u64 %rd12, %rd10, %rd11;
    shl.b64 %rd13, %rd12, 2; add.s64 %rd14, %rd1, %rd13; shl.b64 %rd15, %rd11, 2; add.s64 %rd16, %rd14, %rd15;
    ld.global.f32 %f1, [%rd14]; ld.global.f32 %f2, [%rd16]; ld.global.f32 %f3, [%rd16+4];"""
    assert pairs(emulate(rows)) == [(1, 0, 1)]


def test_elements_of_vectors() -> None:
    wide = "mul.wide.u32 %rd10, %r3, 16; add.s64 %rd11, %rd1, %rd10; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd11]; "
    report = emulate(wide + "ld.global.f32 %f5, [%rd11+24];")
    assert pairs(report) == [(1, 0, 1)]
    assert choose(report, lambda c: True)[0].element == 2
    assert pairs(emulate(wide + "ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd11+16];")) == [(1, 0, 1)]
    assert pairs(emulate(wide + "ld.global.v2.f32 {%f5, %f6}, [%rd11+12];")) == []


def test_types_that_fill_registers_differently() -> None:
    assert pairs(emulate("ld.global.f32 %f1, [%rd5]; ld.global.b32 %r9, [%rd5+4];")) == [(1, 0, 1)]
    bytes = "cvt.u64.u32 %rd10, %r3; add.s64 %rd11, %rd1, %rd10; ld.global.u8 %rs1, [%rd11]; "
    assert pairs(emulate(bytes + "ld.global.u8 %rs2, [%rd11+1];")) == [(1, 0, 1)]
    assert pairs(emulate(bytes + "ld.global.s8 %rs2, [%rd11+1];")) == []


def test_a_load_that_is_replaced_is_no_source() -> None:
    body = "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+4]; ld.global.f32 %f3, [%rd5+8];"
    assert pairs(emulate(body)) == [(1, 0, 1), (2, 0, 2)]


# -- lanes --------------------------------------------------------------------------------------------------------


def test_lanes_count_along_x_only_where_the_block_says_so() -> None:
    assert kinds(emulate(TWO)) == {LANES_ALONG_X}
    assert kinds(emulate(TWO, ".reqntid 64, 4, 1")) == set()
    assert kinds(emulate(TWO, ".reqntid 48")) == set()
    row = emulate(TWO, ".reqntid 16, 16, 1")
    assert pairs(row) == [(1, 0, 17)] and kinds(row) == set(), "lanes 0 to 14 have it from the next row"
    assert kinds(emulate(TWO, ".maxntid 64, 4, 1")) == {LANES_ALONG_X}


def test_an_address_that_is_of_no_known_space_on_one_way_is_refused() -> None:
    body = """setp.gt.s32 %p1, %r1, 0; add.s64 %rd10, %rd5, 4; ld.f32 %f1, [%rd5];
    @%p1 bra L; <other> L: ld.f32 %f2, [%rd10];"""
    assert pairs(emulate(body.replace("<other>", "add.s64 %rd10, %rd10, 0;"))) == [(1, 0, 1)]
    assert pairs(emulate(body.replace("<other>", "ld.global.nc.u64 %rd10, [%rd2];"))) == []


def test_laneid_is_the_lane_whatever_the_block_is() -> None:
    body = """mov.u32 %r9, %laneid; mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd1, %rd10;
    ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+4];"""
    assert pairs(emulate(body)) == [(1, 0, 1)]


LANES = "mov.u32 %r9, %laneid; mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd1, %rd10;"
LOADS = "ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+4];"
BY_TID = "add.s64 %rd12, %rd11, %rd4; ld.global.f32 %f1, [%rd12]; ld.global.f32 %f2, [%rd12+8];"
CARRIED = "add.cc.u32 %r10, %r3, -64; addc.u32 %r11, 0, 0; mad.wide.u32 %rd11, %r11, 64, %rd11;" + LOADS
SOME = "mov.u32 %r10, %tid.y; setp.eq.s32 %p1, %r10, %r1;"


@pytest.mark.parametrize(
    ("body", "needs", "distance"),
    [
        (LANES + LOADS, False, 1),
        (LANES + LOADS + "st.global.f32 [%rd6], %f1;", False, 1),  # what %tid.x is read for comes after
        (LANES + LOADS + SOME + "@%p1 bra L; st.global.f32 [%rd6], %f1; L:", False, 1),
        (LANES + SOME + "@%p1 bra L;" + LOADS + "L:", True, 1),
        (LANES + SOME + "@%p1 ld.global.f32 %f1, [%rd11]; @%p1 ld.global.f32 %f2, [%rd11+4];", True, 0),
        (LANES + "@%p1 st.global.f32 [%rd2], %f3;".replace("@", SOME + "@") + LOADS, True, 1),
        (LANES + BY_TID, True, 0),
        (LANES + CARRIED, True, 1),
        ("and.b32 %r9, %r3, 31; mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd1, %rd10;" + LOADS, True, 17),
        (LANES + "mov.u32 %r10, %tid.y; mad.wide.u32 %rd11, %r10, 64, %rd11;" + LOADS, True, 0),
    ],
)
def test_lanes_need_to_count_along_x_only_where_tid_matters(body: str, needs: bool, distance: int) -> None:
    """``distance`` is that in a block of 16 by 4, where it is known which lane is where; 0 where there is none."""
    assert pairs(emulate(body)) == [(1, 0, 1)]
    assert kinds(emulate(body)) == ({LANES_ALONG_X} if needs else set())
    known = emulate(body, ".reqntid 16, 4, 1")
    assert pairs(known) == ([(1, 0, distance)] if distance else []) and kinds(known) == set()


OF_THREAD = "and.b32 %r10, %r3, 31; mul.wide.u32 %rd12, %r10, 4; add.s64 %rd13, %rd1, %rd12;"
TWICE = LANES + OF_THREAD + "ld.global.f32 %f1, [%rd11]; {} ld.global.f32 %f2, [{}];"


@pytest.mark.parametrize(
    ("between", "address"),
    [
        ("", "%rd13"),
        ("setp.ne.s32 %p1, %r10, %r9; @%p1 st.global.f32 [%rd11], %f3;", "%rd11"),
        ("setp.ne.s32 %p1, %r10, %r9; @!%p1 bra L; st.global.f32 [%rd11], %f3; L:", "%rd11"),
        ("sub.s64 %rd14, %rd13, %rd11; add.s64 %rd14, %rd11, %rd14; st.global.f32 [%rd14+4], %f3;", "%rd11"),
    ],
)
def test_that_tid_is_laneid_rests_on_lanes_along_x_in_one_lane_too(between: str, address: str) -> None:
    """The value that this lane has loaded by the one, it has by the other; a guard is never true; a store is beside."""
    body = TWICE.format(between, address)
    found = emulate(body)
    last = found.loads[-1]
    copies = [c for c in found.find(last, set()) if c.delta == 0]
    assert all({a.kind for a in c.assumptions} == {LANES_ALONG_X} for c in copies)
    assert copies or "[%rd14+4]" in between
    assert kinds(emulate(body, ".reqntid 64, 2, 1")) == set()
    across = emulate(body, ".reqntid 8, 4, 1")
    assert not [c for c in across.find(across.loads[-1], set()) if c.delta == 0]


def test_the_lane_of_tid_and_its_warp() -> None:
    """tid & 31 is the lane, tid >> 5 and tid / 32 are the same in a warp, tid & ~31 too."""
    body = """and.b32 %r9, %r3, 31; shr.u32 %r10, %r3, 5; and.b32 %r11, %r3, -32; div.u32 %r12, %r3, 32;
    mad.lo.u32 %r13, %r10, %r1, %r9; mad.lo.u32 %r13, %r11, %r2, %r13; mad.lo.u32 %r13, %r12, 5, %r13;
    and.b32 %r13, %r9, 31; mad.lo.u32 %r14, %r10, 64, %r13; mul.wide.u32 %rd10, %r14, 4; add.s64 %rd11, %rd1, %rd10;
    ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+-4];"""
    assert pairs(emulate(body)) == [(1, 0, -1)]
    assert kinds(emulate(body)) == {LANES_ALONG_X}


def test_what_is_another_number_in_each_lane_is_no_source() -> None:
    for opaque in ("mov.u32 %r9, %clock;", "mov.u32 %r9, %lanemask_lt;", "activemask.b32 %r9;"):
        body = f"""{opaque} mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd5, %rd10;
        ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+4]; ld.global.f32 %f3, [%rd11];"""
        assert pairs(emulate(body)) == [(2, 0, 0)], opaque


def test_the_clock_has_gone_on() -> None:
    body = """mov.u32 %r9, %clock; and.b32 %r10, %r9, 4; mov.u32 %r11, %clock; and.b32 %r12, %r11, 4;
    cvt.u64.u32 %rd10, %r10; cvt.u64.u32 %rd11, %r12; add.s64 %rd12, %rd5, %rd10; add.s64 %rd13, %rd5, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [{0}];"""
    assert pairs(emulate(body.format("%rd13"))) == []
    assert pairs(emulate(body.format("%rd12"))) == [(1, 0, 0)]


def test_lanes_of_a_function_may_be_in_different_calls() -> None:
    text = """.version 8.0
    .target sm_80
    .address_size 64
    .func f(.reg .b64 %given) { .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
    mov.u32 %r1, %laneid; mul.wide.u32 %rd2, %r1, 4; ld.global.nc.f32 %f1, [%rd2]; ld.global.nc.f32 %f2, [%rd2+4];
    add.s64 %rd3, %given, %rd2; ld.global.nc.f32 %f1, [%rd3]; ld.global.nc.f32 %f2, [%rd3+4]; ret; }"""
    module = parse(text)
    report = analyse(module, module.functions["f"])
    assert pairs(report) == [(1, 0, 1)] and kinds(report) == {LOCKSTEP}
    assert not assumed(report)[0].testable, "some lanes may have called it once more"


# -- wrap-around --------------------------------------------------------------------------------------------------


def test_an_index_that_may_wrap_is_tested_where_it_is_widened() -> None:
    """The paper takes addresses modulo 2^32, where this holds without a condition; it has a counterexample."""
    report = emulate("ld.global.f32 %f1, [%rd8+12]; ld.global.f32 %f2, [%rd8+4];")
    assert pairs(report) == [(1, 0, -2)]
    assert kinds(report) == {NO_WRAP, LANES_ALONG_X}
    found = next(a for a in assumed(report) if a.kind == NO_WRAP)
    where = report.function.body[found.at]
    assert isinstance(where, Instruction) and repr(where) == "mul.wide.s32 %rd7, %r6, 4"
    assert found.register is not None and found.register.name == "%r6" and found.testable
    assert (found.is_signed, found.bits, found.low, found.high) == (True, 32, -(1 << 31) + 2, (1 << 31) - 1)


def test_an_index_added_before_it_is_widened_needs_nothing() -> None:
    body = """add.s32 %r9, %r6, 1; mul.wide.s32 %rd10, %r9, 4; add.s64 %rd11, %rd1, %rd10;
    ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd11];"""
    assert pairs(emulate(body)) == [(1, 0, 1)]
    assert kinds(emulate(body)) == {LANES_ALONG_X}


def test_unsigned_indices_have_other_limits() -> None:
    body = """mul.wide.u32 %rd10, %r6, 4; add.s64 %rd11, %rd1, %rd10;
    ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd11+12];"""
    found = next(a for a in assumed(emulate(body)) if a.kind == NO_WRAP)
    assert (found.is_signed, found.low, found.high) == (False, 0, (1 << 32) - 1 - 3)


def test_bounds_on_the_way_prove_that_an_index_does_not_wrap() -> None:
    """1 <= i and i < n - 1 leave room for one on either side, and for no more above."""
    guard = """setp.lt.s32 %p1, %r6, 1; add.s32 %r9, %r1, -1; setp.ge.s32 %p2, %r6, %r9; or.pred %p3, %p1, %p2;
    @%p3 bra end;"""
    near = "ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd8+4]; ld.global.f32 %f3, [%rd8+-4]; end:"
    assert pairs(emulate(guard + near)) == [(1, 0, 1), (2, 0, -1)]
    assert kinds(emulate(guard + near)) == {LANES_ALONG_X}
    far = "ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd8+8]; ld.global.f32 %f3, [%rd8+-8]; end:"
    assert [a.high for a in assumed(emulate(guard + far)) if a.kind == NO_WRAP] == [(1 << 31) - 3]


def test_two_indices_of_which_one_wraps_are_compared_by_their_addresses() -> None:
    """sext(i) + sext(n) and sext(i + n): no comparison with numbers tells whether they are equal."""
    body = """mul.wide.s32 %rd10, %r1, 4; add.s64 %rd11, %rd8, %rd10; add.s32 %r9, %r6, %r1;
    mul.wide.s32 %rd12, %r9, 4; add.s64 %rd13, %rd1, %rd12;
    ld.global.f32 %f1, [%rd11]; ld.global.f32 %f2, [%rd13+4];"""
    report = emulate(body)
    assert pairs(report) == [(1, 0, 1)]
    found = [a for a in assumed(report) if a.kind == NO_WRAP]
    assert [a.testable for a in found] == [True, True]
    assert [a.low for a in found if a.second is not None] == [0]
    again = emulate(body.replace("ld.global.f32 %f1, [%rd11];", "ld.global.f32 %f1, [%rd11]; mov.u64 %rd11, %rd1;"))
    assert [a.testable for a in assumed(again) if a.kind == NO_WRAP] == [False]


def test_an_index_that_is_another_one_on_another_flow_is_tested_nowhere() -> None:
    """The widening is of ``%r6`` on one flow and of ``%r9`` on the other; what is tested there depends on the flow."""
    body = """mov.u32 %r10, %r6; add.s32 %r9, %r6, %r1; setp.eq.u32 %p1, %r2, 0; @%p1 bra skip; mov.u32 %r10, %r9; skip:
    mul.wide.s32 %rd10, %r10, 4; add.s64 %rd11, %rd3, %rd10;
    ld.global.nc.f32 %f1, [%rd11]; ld.global.nc.f32 %f2, [%rd11+4];"""
    report = emulate(body)
    assert pairs(report) == [(1, 0, 1)]
    assert {a.testable for a in assumed(report) if a.kind == NO_WRAP} == {False}


# -- memory -------------------------------------------------------------------------------------------------------


BETWEEN = "ld.global.f32 %f1, [%rd5]; {0} ld.global.f32 %f2, [%rd5+4];"
NC = "ld.global.nc.f32 %f1, [%rd5]; {0} ld.global.nc.f32 %f2, [%rd5+4];"


@pytest.mark.parametrize(
    "between",
    [
        "st.global.f32 [%rd6], %f1;", "st.global.f32 [%rd5+4], %f1;", "st.global.f32 [%rd5+64], %f1;",
        "st.f32 [%rd6], %f1;", "st.global.f32 [%rd5+-120], %f1;",
        "atom.global.add.u32 %r9, [%rd6], 1;", "red.shared.add.u32 [tile], 1;", "bar.sync 0;", "membar.gl;",
        "bar.warp.sync -1;", "fence.acq_rel.gpu;", "ld.acquire.gpu.global.u32 %r9, [%rd6];",
        "ld.volatile.global.u32 %r9, [%rd6];", "cp.async.wait_all;",
    ],
)  # fmt: skip
def test_what_may_overwrite_a_value_ends_it(between: str) -> None:
    found = emulate(BETWEEN.format(between))
    assert pairs(found) == [] or [a.testable for a in assumed(found) if a.kind == DISTINCT] == [True]
    assert (pairs(found) == []) == ("st." not in between or "%rd6" not in between)
    assert pairs(emulate(NC.format(between)))[-1:] == [(emulate(NC.format(between)).loads.__len__() - 1, 0, 1)]


@pytest.mark.parametrize(
    "between",
    [
        "st.shared.f32 [tile], %f1;", "st.global.f32 [%rd5+256], %f1;", "st.global.f32 [%rd5+-128], %f1;",
        "st.local.f32 [%rd20], %f1;", "shfl.sync.down.b32 %r9, %r9, 1, 31, -1;", "prefetch.global.L1 [%rd6];",
        "vote.sync.any.pred %p1, %p2, -1;",
    ],
)  # fmt: skip
def test_what_is_elsewhere_for_certain_ends_nothing(between: str) -> None:
    assert pairs(emulate(BETWEEN.format("mov.u64 %rd20, 0; mov.u32 %r9, 0; setp.eq.u32 %p2, %r9, 1; " + between))) == [
        (1, 0, 1)
    ]


def test_a_store_that_another_lane_would_do_ends_the_value() -> None:
    """The store of this lane is elsewhere, that of a lane 31 further on is not."""
    assert pairs(emulate(BETWEEN.format("st.global.f32 [%rd5+124], %f1;"))) == []
    assert pairs(emulate(BETWEEN.format("st.global.f32 [%rd5+132], %f1;"))) == [(1, 0, 1)]
    uniform = "st.global.f32 [%rd1+4096], %f1;"
    assert pairs(emulate(BETWEEN.format(uniform))) == []


def test_the_same_value_again_across_a_store_elsewhere() -> None:
    body = "ld.global.f32 %f1, [%rd5]; st.global.f32 [%rd5+256], %f1; ld.global.f32 %f2, [%rd5];"
    assert pairs(emulate(body)) == [(1, 0, 0)]


BETWEEN_VARIABLES = """mov.u64 %rd20, ga; mov.u64 %rd21, gb; add.s64 %rd22, %rd20, %rd4; add.s64 %rd25, %rd21, %rd4;
{} ld.global.f32 %f1, [%rd25]; st.global.f32 [%rd22], %f3; ld.global.f32 %f2, [%rd25];"""


#: The difference of the two comes around a loop, and out of many operations; what is stored to is counted from ``ga``.
AROUND = """mov.u32 %r9, 0; mov.u64 %rd24, 0; around: mad.lo.s64 %rd22, %rd24, 4, %rd20; sub.s64 %rd23, %rd21, %rd20;
    shr.s64 %rd24, %rd23, 2; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r1; @%p1 bra around;"""
MIXED = "sub.s64 %rd23, %rd21, %rd20;" + 101 * "shr.u64 %rd24, %rd23, 1; xor.b64 %rd23, %rd23, %rd24;"
MIXED += "mad.lo.s64 %rd22, %rd23, 4, %rd20;"


@pytest.mark.parametrize(
    ("between", "is_based"),
    [
        ("", True),
        ("mad.wide.u32 %rd22, %r1, 4, %rd22;", True),
        ("shl.b64 %rd23, %rd3, 2; add.s64 %rd22, %rd22, %rd23;", True),  # a count of 64 bits
        (
            "sub.s64 %rd23, %rd21, %rd20; cvt.u32.u64 %r9, %rd23; cvt.s64.s32 %rd23, %r9; add.s64 %rd22, %rd22, %rd23;",
            False,
        ),
        (AROUND, False),
        (MIXED, False),
        (
            "sub.s64 %rd23, %rd3, %rd2; cvt.u32.u64 %r9, %rd23; cvt.s64.s32 %rd23, %r9; add.s64 %rd22, %rd22, %rd23;",
            False,
        ),
        ("sub.s64 %rd23, %rd3, %rd2; add.s64 %rd22, %rd22, %rd23;", False),
        ("xor.b64 %rd23, %rd3, %rd2; shl.b64 %rd23, %rd23, 2; add.s64 %rd22, %rd22, %rd23;", False),
        ("sub.s64 %rd23, %rd21, %rd20; shr.s64 %rd23, %rd23, 2; mad.lo.s64 %rd22, %rd23, 4, %rd22;", False),
    ],
)
def test_the_difference_of_two_pointers_leads_from_one_variable_to_the_other(between: str, is_based: bool) -> None:
    head = HEAD.replace("DIRECTIVES", "").replace(".visible", "".join(
        [f".global .align 4 .b8 {name}[512];\n" for name in ("ga", "gb")]) + ".visible")  # fmt: skip
    module = parse(head + BETWEEN_VARIABLES.format(between) + "\n ret;\n}\n")
    verify(module)
    assert pairs(analyse(module, module.kernels[0])) == ([(1, 0, 0)] if is_based else [])


def test_parameters_that_are_promised_to_be_apart() -> None:
    body = BETWEEN.format("st.global.f32 [%rd6], %f1;")
    report = emulate(body, distinct_parameters=True)
    assert pairs(report) == [(1, 0, 1)]
    assert DISTINCT in kinds(report)
    same = BETWEEN.format("st.global.f32 [%rd5], %f1;")
    assert pairs(emulate(same, distinct_parameters=True)) == []


def test_pointers_in_one_structure_are_one_parameter() -> None:
    text = HEAD.replace("DIRECTIVES", "").replace(".param .u64 other)", ".param .align 8 .b8 other[16])")
    text = text.replace("[other]", "[other+{0}]") + "ld.param.u64 %rd4, [{1}]; "
    text += "ld.global.f32 %f1, [%rd3]; st.global.f32 [%rd4], %f2; ld.global.f32 %f3, [%rd3]; ret; }"
    for offset, other, tests in ((0, "other+8", 1), (8, "other", 1), (0, "out", 0)):
        module = parse(text.replace("{0}", str(offset)).replace("{1}", other))
        report = analyse(module, module.kernels[0], Options(distinct_parameters=True))
        assert pairs(report) == [(1, 0, 0)]
        assert [len(a.overlaps) for a in assumed(report) if a.kind == DISTINCT] == [tests], "a promise, or a test"


def test_indirect_addresses_are_the_same_while_nobody_writes() -> None:
    body = """ld.global.u32 %r9, [%rd5]; {0} mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd3, %rd10;
    ld.global.nc.f32 %f1, [%rd11]; ld.global.u32 %r10, [%rd5]; mul.wide.u32 %rd12, %r10, 4;
    add.s64 %rd13, %rd3, %rd12; ld.global.nc.f32 %f2, [%rd13];"""
    assert pairs(emulate(body.format(""))) == [(2, 0, 0), (3, 1, 0)]
    assert pairs(emulate(body.replace("%f1, [%rd11];", "%f1, [%rd11]; st.global.f32 [%rd1], %f1;").format(""))) == []


def test_shared_memory_is_looked_at_when_asked() -> None:
    body = """mov.u32 %r9, tile; shl.b32 %r10, %r3, 2; add.s32 %r11, %r9, %r10;
    ld.shared.f32 %f1, [%r11]; ld.shared.f32 %f2, [%r11+4];"""
    assert pairs(emulate(body)) == []
    assert pairs(emulate(body, shared=True)) == [(1, 0, 1)]


def test_shared_arrays_of_the_launch_are_all_one() -> None:
    """Two ``.extern`` arrays begin at one place; two of the module do not."""
    body = """mov.u32 %r9, a; mov.u32 %r10, b; shl.b32 %r11, %r3, 2; add.s32 %r12, %r9, %r11; add.s32 %r13, %r10, %r11;
    ld.shared.f32 %f1, [%r12]; st.shared.f32 [%r13], %f1; ld.shared.f32 %f2, [%r12+4]; ret; }"""
    for declared, found in (
        (".extern .shared .align 4 .b8 {0}[];", []),
        (".shared .align 4 .b8 {0}[128];", [(1, 0, 1)]),
    ):
        variables = declared.format("a") + declared.format("b") + "\n.visible"
        module = parse(HEAD.replace("DIRECTIVES", "").replace(".visible", variables, 1) + body)
        assert pairs(analyse(module, module.kernels[0], Options(shared=True))) == found


def test_a_pointer_from_memory_plus_a_parameter_may_be_in_any_space() -> None:
    body = """ld.global.nc.u64 %rd10, [%rd1]; add.s64 %rd11, %rd10, %rd3; add.s64 %rd11, %rd11, %rd4;
    ld.f32 %f1, [%rd11]; ld.f32 %f2, [%rd11+4];"""
    assert pairs(emulate(body)) == []


def test_generic_loads_by_a_parameter_are_global() -> None:
    assert pairs(emulate("ld.f32 %f1, [%rd5]; ld.f32 %f2, [%rd5+4];")) == [(1, 0, 1)]
    unknown = "ld.global.u64 %rd10, [%rd1]; add.s64 %rd11, %rd10, %rd4; ld.f32 %f1, [%rd11]; ld.f32 %f2, [%rd11+4];"
    report = emulate(unknown)
    assert pairs(report) == [] and len(report.refusals) == 2
    assert "any space" in report.refusals[0].reason


# -- flows --------------------------------------------------------------------------------------------------------


MIXED = """{0} @%p1 bra other_way; mov.u64 %rd10, %rd5; bra.uni meet; other_way: add.s64 %rd10, %rd3, %rd4; meet:
ld.global.nc.f32 %f1, [%rd10]; ld.global.nc.f32 %f2, [%rd10+4];"""


def test_lanes_on_different_flows_have_different_values() -> None:
    """Each lane by itself finds its value one lane on, but that lane may have read elsewhere."""
    odd = MIXED.format("and.b32 %r9, %r3, 1; setp.eq.u32 %p1, %r9, 1;")
    assert pairs(emulate(odd)) == []
    together = MIXED.format("setp.eq.u32 %p1, %r1, 1;")
    assert pairs(emulate(together)) == [(1, 0, 1)]
    assert choose(emulate(together), lambda c: True)[0].flows == 2


def test_flows_that_do_not_touch_addresses() -> None:
    body = """ld.global.nc.f32 %f1, [%rd5]; and.b32 %r9, %r3, 1; setp.eq.u32 %p1, %r9, 1; @%p1 bra skip;
    add.f32 %f1, %f1, %f1; skip: ld.global.nc.f32 %f2, [%rd5+4];"""
    report = emulate(body)
    assert pairs(report) == [(1, 0, 1)]


def test_a_source_on_one_way_only_is_none() -> None:
    body = """setp.eq.u32 %p1, %r1, 1; @%p1 bra skip; ld.global.nc.f32 %f1, [%rd5]; skip:
    ld.global.nc.f32 %f2, [%rd5+4];"""
    assert pairs(emulate(body)) == []


def test_ways_that_nobody_takes() -> None:
    """The second branch is decided by the first."""
    body = """setp.lt.s32 %p1, %r1, 5; @%p1 bra small; ld.global.nc.f32 %f1, [%rd5]; small: setp.lt.s32 %p2, %r1, 5;
    @%p2 bra end; ld.global.nc.f32 %f2, [%rd5+4]; end:"""
    assert pairs(emulate(body)) == [(1, 0, 1)]
    narrower = body.replace("setp.lt.s32 %p2, %r1, 5", "setp.lt.s32 %p2, %r1, 3")
    assert pairs(emulate(narrower)) == []
    wider = body.replace("setp.lt.s32 %p2, %r1, 5", "setp.le.s32 %p2, %r1, 7")
    assert pairs(emulate(wider)) == [(1, 0, 1)]


def test_guarded_sources_only_with_the_same_shared_guard() -> None:
    body = "{0} @%p1 ld.global.nc.f32 %f1, [%rd5]; {1} ld.global.nc.f32 %f2, [%rd5+4];"
    own = "setp.lt.s32 %p1, %r3, 5;"
    shared = "setp.lt.s32 %p1, %r1, 5;"
    assert pairs(emulate(body.format(own, "@%p1"))) == []
    assert pairs(emulate(body.format(shared, ""))) == []
    assert pairs(emulate(body.format(shared, "@!%p1"))) == []
    assert pairs(emulate(body.format(shared, "@%p1"))) == [(1, 0, 1)]


def test_lanes_whose_guard_is_false_have_loaded_what_they_give() -> None:
    """They came by another way, which all lanes share or which has the source too (seed 60382 of the stencils)."""
    body = """setp.gt.s32 %p1, {0}, 5; @%p1 bra past; ld.global.nc.f32 %f1, [%rd5]; past:
    @!%p1 ld.global.nc.f32 %f2, [%rd5+4];"""
    assert pairs(emulate(body.format("%r3"))) == []
    assert pairs(emulate(body.format("%r1"))) == [(1, 0, 1)]
    both = body.replace("past:", "bra on; past: ld.global.nc.f32 %f3, [%rd5]; on:")
    assert pairs(emulate(both.format("%r3"))) == []
    before = body.replace("setp", "ld.global.nc.f32 %f3, [%rd5+4]; setp")
    assert pairs(emulate(before.format("%r3"))) == [(1, 0, -1), (2, 0, 0)]


def test_addresses_written_under_a_guard() -> None:
    """A select of the lane's own condition moves with the lane."""
    body = """mov.u64 %rd10, %rd5; setp.lt.s32 %p1, {0}, 5; @%p1 add.s64 %rd10, %rd3, %rd4;
    ld.global.nc.f32 %f1, [%rd10]; ld.global.nc.f32 %f2, [%rd10+4];"""
    assert pairs(emulate(body.format("%r3"))) == []
    assert pairs(emulate(body.format("%r1"))) == [(1, 0, 1)]


def test_the_number_of_flows_is_bounded() -> None:
    """Thirty undecided branches, each with its own part in the address, are a thousand million flows."""
    parts = []
    for k in range(30):
        parts.append(
            f"and.b32 %r9, %r1, {1 << k}; setp.eq.u32 %p1, %r9, 0; @%p1 bra l{k}; add.s64 %rd5, %rd5, {4 << k}; l{k}:"
        )
    report = emulate("\n".join(parts) + TWO)
    assert pairs(report) == [(1, 0, 1)]
    assert report.merged > 0 and report.seconds < 5


def test_merged_flows_of_lanes_that_differ() -> None:
    parts = []
    for k in range(30):
        parts.append(
            f"and.b32 %r9, %r3, {k}; setp.eq.u32 %p1, %r9, 0; @%p1 bra l{k}; add.s64 %rd5, %rd5, {4 << k}; l{k}:"
        )
    report = emulate("\n".join(parts) + TWO)
    assert pairs(report) == [] and report.merged > 0


# -- loops --------------------------------------------------------------------------------------------------------


LOOP = """mov.u32 %r10, {start}; mov.u64 %rd10, %rd5; {before}
loop: setp.ge.s32 %p1, %r10, %r1; @%p1 bra end;
{body}
add.s32 %r10, %r10, {step}; bra.uni loop; end: {after}"""


def loop(body: str, start: str = "0", step: str = "1", before: str = "", after: str = "") -> str:
    return LOOP.format(body=body, start=start, step=step, before=before, after=after)


ROW = "mul.wide.s32 %rd11, %r10, 4; add.s64 %rd12, %rd5, %rd11; ld.global.nc.f32 %f1, [%rd12]; "


def test_inside_of_an_iteration() -> None:
    report = emulate(loop(ROW + "ld.global.nc.f32 %f2, [%rd12+4];"))
    assert pairs(report) == [(1, 0, 1)]
    assert kinds(report) == {LANES_ALONG_X}


def test_a_pointer_and_an_index_that_count_together() -> None:
    """Both are what they were plus the iteration times a step, so they stay as far apart as they were."""
    body = ROW + "ld.global.nc.f32 %f2, [%rd10+4]; add.s64 %rd10, %rd10, 4;"
    report = emulate(loop(body).replace("mul.wide.s32 %rd11, %r10, 4", "cvt.u64.u32 %rd11, 0"), solver_steps=0)
    assert pairs(report) == []  # one moves, the other does not
    both = """ld.global.nc.f32 %f1, [%rd10]; ld.global.nc.f32 %f2, [%rd13+4]; add.s64 %rd10, %rd10, 4;
    add.s64 %rd13, %rd13, 4;"""
    assert pairs(emulate(loop(both, before="mov.u64 %rd13, %rd5;"))) == [(1, 0, 1)]
    faster = both.replace("%rd13, %rd13, 4", "%rd13, %rd13, 8")
    assert pairs(emulate(loop(faster, before="mov.u64 %rd13, %rd5;"))) == []


#: An expression that has its beginning in it thousands of times, by a handful of others.
COUNTED = "clz.b32 %r12, %r12; add.u32 %r12, %r12, %r4; xor.b32 %r12, %r12, %r2; " * 4


def test_what_an_expression_has_in_it_many_times_is_looked_at_once() -> None:
    """Whether it has a pointer in it, and whether an iteration changes it, was asked on each way down to a leaf."""
    before = "mov.u32 %r12, %r1;" + COUNTED
    apart = "mad.wide.u32 %rd12, %r12, 4, %rd5; ld.global.f32 %f1, [%rd12]; ld.global.f32 %f2, [%rd12+4];"
    assert pairs(emulate(before + apart + "st.global.f32 [%rd12], %f1;")) == [(1, 0, 1)]
    row = ROW + "ld.global.nc.f32 %f2, [%rd12+4]; add.u32 %r10, %r10, %r12;"
    assert pairs(emulate(loop(row, before=before))) == [(1, 0, 1)]


def test_lanes_that_may_be_in_different_iterations() -> None:
    """Who has left the loop does not come back, so the lanes of a whole warp have always been together; not so where
    they may have parted before, and each goes round as it comes."""
    own = ROW + "ld.global.nc.f32 %f2, [%rd12+4];"
    row = own.replace("%rd12, %rd5", "%rd12, %rd1")
    report = emulate(loop(row, start="%r6", step="%r5"))
    assert pairs(report) == [(1, 0, 1)] and LOCKSTEP not in kinds(report)
    part = "and.b32 %r20, %r3, 1; setp.eq.u32 %p5, %r20, 0; @%p5 bra {0}; add.s32 %r21, %r21, 1; {0}:"
    assert LOCKSTEP in kinds(emulate(loop(row, start="%r6", step="%r5", before=part.format("first"))))
    assert LOCKSTEP in kinds(emulate(loop(row + part.format("second"), start="%r6", step="%r5")))
    assert LOCKSTEP in kinds(emulate(loop(part.format("third") + own)))
    assert LOCKSTEP not in kinds(emulate(loop(own, after=part.format("fourth"))))
    gone = "and.b32 %r20, %r3, 1; setp.eq.u32 %p5, %r20, 0; @%p5 ret;"
    assert LOCKSTEP not in kinds(emulate(loop(own, before=gone)))
    once = part.format("fifth") + TWO
    assert pairs(emulate(once)) == [(1, 0, 1)] and LOCKSTEP not in kinds(emulate(once))


def test_a_value_of_the_last_iteration_is_no_source() -> None:
    """The load behind the loop finds what the last iteration read, and the one before the loop holds."""
    assert pairs(emulate(loop(ROW, after="ld.global.nc.f32 %f2, [%rd12+4];"))) == []
    outside = loop("ld.global.nc.f32 %f2, [%rd5+4];", before="ld.global.nc.f32 %f1, [%rd5];")
    assert pairs(emulate(outside)) == [(1, 0, 1)]


def test_a_loop_that_writes_ends_what_was_read_before() -> None:
    body = "ld.global.f32 %f2, [%rd5+4]; st.global.f32 [%rd6], %f2;"
    assert pairs(emulate(loop(body, before="ld.global.f32 %f1, [%rd5];"))) == []
    inside = "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+4]; st.global.f32 [%rd6], %f2;"
    assert pairs(emulate(loop(inside))) == [(1, 0, 1)]


def test_a_chain_of_pointers_is_another_one_in_each_lane() -> None:
    chase = "ld.global.nc.u64 %rd10, [%rd10]; ld.global.nc.f32 %f1, [%rd10]; ld.global.nc.f32 %f2, [%rd10+4];"
    assert pairs(emulate(loop(chase))) == []


def test_a_count_that_lanes_leave_with_is_their_own() -> None:
    """Behind a loop that lanes leave in different iterations its counter is no longer the same in all of them."""
    after = """sub.s32 %r11, %r10, %r10; add.s32 %r12, %r13, 0; mul.wide.u32 %rd11, %r12, 4; add.s64 %rd12, %rd5, %rd11;
    ld.global.nc.f32 %f1, [%rd12]; ld.global.nc.f32 %f2, [%rd12+4];"""
    text = loop("add.s32 %r13, %r13, 1;", start="{0}", before="mov.u32 %r13, 0;", after=after)
    assert pairs(emulate(text.format("%r6"))) == []
    assert pairs(emulate(text.format("0"))) == [(1, 0, 1)]


def test_nested_loops() -> None:
    inner = """mov.u32 %r14, 0; inner: setp.ge.s32 %p2, %r14, %r2; @%p2 bra inner_end;
    mad.lo.s32 %r15, %r10, %r2, %r14; cvt.s64.s32 %rd13, %r15; shl.b64 %rd14, %rd13, 2; add.s64 %rd15, %rd5, %rd14;
    ld.global.nc.f32 %f1, [%rd15]; ld.global.nc.f32 %f2, [%rd15+-4];
    add.s32 %r14, %r14, 1; bra.uni inner; inner_end:"""
    report = emulate(loop(inner))
    assert pairs(report) == [(1, 0, -1)]
    assert {access.depth for access in report.trace} == {2}


def test_cycles_with_two_entries_are_refused() -> None:
    body = """setp.eq.u32 %p1, %r1, 0; @%p1 bra second; first: ld.global.nc.f32 %f1, [%rd5];
    ld.global.nc.f32 %f2, [%rd5+4]; second: add.s32 %r1, %r1, -1; setp.ne.u32 %p2, %r1, 0; @%p2 bra first;"""
    report = emulate(body)
    assert pairs(report) == []
    assert {r.reason for r in report.refusals} == {"it is in a cycle that can be entered at several places"}


# -- what the normal form does not decide -------------------------------------------------------------------------


def test_the_solver_decides_what_the_normal_form_does_not() -> None:
    """(t | n) + (t & n) is t + n."""
    pytest.importorskip("bitwuzla")
    body = """or.b32 %r9, %r3, %r1; and.b32 %r10, %r3, %r1; add.s32 %r11, %r9, %r10; add.s32 %r12, %r3, %r1;
    add.s32 %r12, %r12, 1; cvt.u64.u32 %rd10, %r11; cvt.u64.u32 %rd11, %r12;
    add.s64 %rd12, %rd1, %rd10; add.s64 %rd13, %rd1, %rd11;
    ld.global.nc.u8 %rs1, [%rd12]; ld.global.nc.u8 %rs2, [%rd13];"""
    assert pairs(emulate(body, solver_steps=100000)) == [(1, 0, 1)]
    assert pairs(emulate(body, solver_steps=0)) == []
    assert pairs(emulate(body.replace("%r12, 1", "%r12, %r1"), solver_steps=50000)) == []


def test_patterns_that_move_with_the_lane_in_no_one_way() -> None:
    """t ^ 1 is one lane on for the even, one back for the odd ones."""
    body = """xor.b32 %r9, %r3, 1; mul.wide.u32 %rd10, %r9, 4; add.s64 %rd11, %rd1, %rd10;
    ld.global.nc.f32 %f1, [%rd5]; ld.global.nc.f32 %f2, [%rd11]; ld.global.nc.f32 %f3, [%rd11];"""
    assert pairs(emulate(body)) == [(2, 1, 0)]


# -- bad input ----------------------------------------------------------------------------------------------------


def test_calls_and_tables_of_branches() -> None:
    body = """{ .param .b32 a; st.param.b32 [a], %r1; call.uni f, (a); }
    t: .branchtargets one, two; brx.idx %r1, t; one: add.s64 %rd5, %rd5, 4; two:"""
    module = parse(HEAD.replace("DIRECTIVES", "").replace(".visible", ".extern .func f(.param .b32 a);\n.visible", 1)
                   + TWO + body + TWO + " ret;\n}\n")  # fmt: skip
    report = analyse(module, module.kernels[0])
    assert pairs(report) == [(1, 0, 1), (3, 2, 1)]


def test_a_branch_to_nowhere_is_a_refusal() -> None:
    module = parse(HEAD.replace("DIRECTIVES", "") + "bra.uni nowhere;\n ret;\n}\n")
    report = analyse(module, module.kernels[0])
    assert [r.at for r in report.refusals] == [-1] and not pairs(report)
