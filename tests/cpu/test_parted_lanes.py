"""Lanes of a warp that part by guards, calls and masks instead of branches, and what a carry flag is to them."""

import numpy as np
import pytest

import drawloom
from drawloom.errors import DeadlockError
from tests.cpu.kernels import agrees, kernel, run

#: %p1: the lower half of the warp.
LOWER = "and.b32 %r20, %r0, 31; setp.lt.u32 %p1, %r20, 16;\n"
CARRY_OF_TWO_SIDES = (
    LOWER
    + """
    @%p1 bra ONE;
    add.cc.u32 %r4, 0, 0;
    bra JOIN;
    ONE: add.cc.u32 %r4, -1, 1;
    JOIN: addc.u32 %r5, 1, 1;
    mov.u32 %r6, 0;
    LOOP: add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, %r5;
    @%p2 bra LOOP;
    st.global.u32 [%rd1], %r6;
    ret;
    """
)


def test_the_carry_flag_of_two_sides_of_a_branch_differs_behind_them(mode: str) -> None:
    assert set(agrees(kernel(CARRY_OF_TWO_SIDES))) == {2, 3}


def test_lanes_that_wait_keep_the_carry_flag(mode: str) -> None:
    body = """
    add.cc.u32 %r4, -1, %r20;
    @%p1 bra JOIN;
    add.cc.u32 %r4, -1, 1;
    sub.cc.u32 %r4, %r20, 24;
    JOIN: addc.u32 %r5, %r0, 0;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(LOWER + body))


def test_carries_of_vectors_compile_without_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM's fast instruction selection ended the process."""
    monkeypatch.setenv("DRAWLOOM_OPTIMIZE", "0")
    body = """
    add.cc.u32 %r4, -9, %r20; addc.cc.u32 %r5, %r20, -12; addc.u32 %r6, %r4, %r5;
    sub.cc.u32 %r4, %r20, 9; subc.cc.u32 %r5, %r20, 12; subc.u32 %r7, %r4, %r5;
    xor.b32 %r6, %r6, %r7;
    st.global.u32 [%rd1], %r6;
    ret;
    """
    agrees(kernel(LOWER + body))


def test_the_carry_flag_lasts_over_a_barrier(mode: str) -> None:
    body = """
    add.cc.u32 %r4, -1, %r20;
    bar.sync 0;
    addc.u32 %r5, %r0, 0;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(LOWER + body))


def test_what_is_given_to_a_call_lasts_over_a_barrier(mode: str) -> None:
    body = """
    .param .align 4 .b8 argument[8];
    st.param.b32 [argument], %r0; st.param.b32 [argument+4], %r1;
    bar.sync 0;
    ld.param.b32 %r5, [argument]; ld.param.b32 %r6, [argument+4]; mad.lo.u32 %r5, %r5, 1000, %r6;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(body))


def test_the_carry_flag_lasts_from_round_to_round(mode: str) -> None:
    body = """
    mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, -3;
    add.cc.u32 %r6, %r6, 0;
    LOOP: addc.cc.u32 %r6, %r6, 1;
    addc.u32 %r5, %r5, %r5;
    add.cc.u32 %r6, %r6, %r0;
    add.u32 %r4, %r4, 1;
    setp.le.u32 %p2, %r4, %r20;
    @%p2 bra LOOP;
    addc.u32 %r5, %r5, %r6;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(LOWER + body))


def test_lanes_that_a_guarded_barrier_lets_pass_do_not_wait(mode: str) -> None:
    body = """
    setp.lt.u32 %p3, %r20, 3;
    @!%p1 barrier.red.popc.u32 %r5, 0, %p3;
    barrier.red.popc.u32 %r4, 0, %p3;
    setp.lt.u32 %p3, %r20, 8;
    @%p1 barrier.red.popc.u32 %r5, 0, %p3;
    st.global.u32 [%rd1], %r4;
    ret;
    """
    agrees(kernel(LOWER + body), threads=32)


#: What each half of a warp waits for at its own place, one of them under a guard that lets the others pass.
PARTED = {
    "bar.warp": """
        @%p1 bar.warp.sync -1;
        ld.volatile.global.u32 %r5, [%rd2];
        @!%p1 bar.warp.sync 0xffff0000;
        @%p2 st.volatile.global.u32 [%rd2], 77;
        @!%p1 bar.warp.sync -1;
    """,
    "vote": "@!%p1 vote.sync.ballot.b32 %r5, %p2, -1; @%p1 vote.sync.ballot.b32 %r5, %p1, -1;",
    "shfl": "@!%p1 shfl.sync.bfly.b32 %r5, %r20, 16, 31, -1; @%p1 shfl.sync.bfly.b32 %r5, %r0, 16, 31, -1;",
}


@pytest.mark.parametrize("name", PARTED)
def test_members_that_a_guard_lets_pass_are_waited_for(name: str, mode: str) -> None:
    agrees(kernel(LOWER + "setp.eq.u32 %p2, %r20, 20;" + PARTED[name] + "st.global.u32 [%rd1], %r5; ret;"), 32)


def test_a_guard_that_lanes_share_leaves_nobody_out() -> None:
    body = """
    setp.lt.u32 %p3, %r0, 64;
    activemask.b32 %r4;
    @%p3 vote.sync.ballot.b32 %r4, %p1, -1;
    @%p1 vote.sync.ballot.b32 %r4, %p1, 0xffff;
    st.global.u32 [%rd1], %r4;
    ret;
    """
    assert set(agrees(kernel(LOWER + body))) == {0xFFFF}


FUNCTION = """
.func (.reg .b32 %r1) votes(.reg .b32 %r0)
{
.reg .pred %p<2>;
setp.eq.u32 %p1, %r0, 3;
vote.sync.ballot.b32 %r1, %p1, MASK;
ret;
}
"""


@pytest.mark.parametrize("guard", ["", "@%p1 "])
def test_lanes_outside_a_function_are_waited_for_by_its_warp_operations(guard: str, mode: str) -> None:
    """A branch or a guard around a call leaves lanes behind that the function does not know."""
    branch = "@!%p1 bra OUT;" if not guard else ""
    body = f"mov.u32 %r5, 5; {branch} {guard}call (%r5), votes, (%r20); OUT: st.global.u32 [%rd1], %r5; ret;"
    lower = FUNCTION.replace("MASK", "0xffff")
    assert set(agrees(kernel(LOWER + body, lower))) == {8, 5}
    assert set(agrees(kernel(LOWER + body, FUNCTION.replace("MASK", "-1")), 32)) == {8, 5}


def test_lanes_that_returned_from_a_function_are_waited_for_until_they_leave_the_kernel(mode: str) -> None:
    function = """
    .func votes(.reg .b32 %r0)
    {
    .reg .pred %p1; .reg .b32 %r1;
    setp.lt.u32 %p1, %r0, 3;
    @%p1 LEAVE;
    vote.sync.ballot.b32 %r1, %p1, -1;
    ret;
    }
    """
    body = "call votes, (%r20); st.global.u32 [%rd1], %r20; ret;"
    agrees(kernel(LOWER + body, function.replace("LEAVE", "exit")))
    agrees(kernel(LOWER + body, function.replace("LEAVE", "ret")), 32)


def test_lanes_that_name_each_other_by_masks_that_differ_do_not_meet(mode: str) -> None:
    """The upper lanes wait for the lower ones' second barrier, behind which these have written."""
    body = """
    selp.b32 %r4, 0xffff, -1, %p1;
    selp.b32 %r5, -1, 0xffff0000, %p1;
    setp.eq.u32 %p2, %r20, 3;
    bar.warp.sync %r4;
    @%p2 st.global.u32 [%rd2], 77;
    bar.warp.sync %r5;
    ld.global.u32 %r6, [%rd2];
    st.global.u32 [%rd1], %r6;
    ret;
    """
    agrees(kernel(LOWER + body), 32)


#: Lanes come to one vote by two branches, with what they hold in registers, a carry flag and memory of their own.
MEETING = """
    .local .align 8 .b8 buffer[64];
    mov.u64 %rd4, buffer;
    cvta.local.u64 %rd5, %rd4;
    st.local.u32 [%rd4+4], %r0;
    .param .align 4 .b8 argument[4];
    st.param.b32 [argument], %r0;
    mul.wide.s32 %rd6, %r20, -4;
    setp.gt.u32 %p4, %r20, 9;
    add.cc.u32 %r9, %r20, -8;
    @%p1 bra LEFT;
    mul.lo.u32 %r10, %r0, 3;
    vote.sync.ballot.b32 %r5, %p4, -1;
    ld.u32 %r6, [%rd5+4];
    bra JOIN;
    LEFT:
    add.u32 %r10, %r0, 7;
    and.b32 %r6, %r0, 3;
    ROUND: sub.u32 %r6, %r6, 1; setp.gt.s32 %p5, %r6, 0; @%p5 bra ROUND;
    vote.sync.ballot.b32 %r5, !%p4, -1;
    JOIN:
    addc.u32 %r9, %r10, 0;
    ld.local.u32 %r7, [%rd4+4];
    ld.param.b32 %r8, [argument]; add.u32 %r9, %r9, %r8;
    add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6; add.u32 %r9, %r9, %r7;
    cvt.u32.u64 %r11, %rd6; add.u32 %r9, %r9, %r11;
    """
BETWEEN = {
    "nothing": "",
    "barriers": "bar.sync 0; barrier.red.popc.u32 %r12, 1, %p1; add.u32 %r9, %r9, %r12;",
    "a barrier that one warp only arrives at": """
        setp.lt.u32 %p6, %r0, 32; @%p6 bra ARRIVE; bar.sync 2, 64; bra.uni ON; ARRIVE: bar.arrive 2, 64; ON:
        """,
    "a loop around a barrier": """
        mov.u32 %r12, 0;
        TIMES: bar.sync 0; add.u32 %r9, %r9, %r12; add.u32 %r12, %r12, 1;
        setp.lt.u32 %p6, %r12, 3; @%p6 bra TIMES;
        """,
    "a wait for the last warp": """
        setp.ne.u32 %p6, %r0, LAST; @%p6 bra WAIT;
        st.volatile.global.u32 [%rd2], 1234567;
        WAIT: ld.volatile.global.u32 %r12, [%rd2]; setp.ne.u32 %p6, %r12, 1234567; @%p6 bra.uni WAIT;
        """,
}


@pytest.mark.parametrize(
    ("between", "threads"), [*[(name, 64) for name in BETWEEN], ("barriers", 44), ("a wait for the last warp", 44)]
)
def test_lanes_that_arrive_by_two_branches_meet_with_all_they_have(between: str, threads: int, mode: str) -> None:
    text = BETWEEN[between].replace("LAST", str(threads - 1))
    agrees(kernel(LOWER + MEETING + text + "st.global.u32 [%rd1], %r9; ret;"), threads, 2)


def test_a_warp_meets_again_in_every_round_of_a_loop_and_in_blocks_of_every_shape(mode: str) -> None:
    body = """
    mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r0; mul.wide.u32 %rd1, %r1, 4;
    add.u64 %rd1, %rd0, %rd1; mov.u32 %r4, 0; mov.u32 %r5, %r1; setp.lt.u32 %p1, %r0, 3;
    AGAIN: @%p1 bra LEFT;
    redux.sync.add.u32 %r5, %r5, -1; xor.b32 %r5, %r5, %r1;
    bra NEXT;
    LEFT: redux.sync.add.u32 %r5, %r0, -1;
    NEXT: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; @%p2 bra AGAIN;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    for block in ((64, 1, 1), (16, 5, 1), (5, 9, 1)):
        out = {d: np.zeros(128, np.uint32) for d in ("cpu", "reference")}
        for device, array in out.items():
            drawloom.load(kernel(body), device=device)["k"][1, block](array, array)
        np.testing.assert_array_equal(out["cpu"], out["reference"])


def test_accesses_of_a_warp_that_has_parted_are_checked() -> None:
    body = MEETING.replace("addc.u32 %r9", "setp.eq.u32 %p6, %r0, 37; @%p6 ld.global.u32 %r9, [%rd0+-64]; addc.u32 %r9")
    module = drawloom.load(kernel(LOWER + body + "st.global.u32 [%rd1], %r9; ret;"), device="cpu", check="memory")
    with pytest.raises(drawloom.MemoryAccessError) as caught:
        module["k"][1, 64](np.zeros(64, np.uint32), np.zeros(64, np.uint32))
    assert caught.value.thread == (37, 0, 0)


def test_lanes_that_wait_in_different_operations_are_a_deadlock(mode: str) -> None:
    body = """
    @%p1 vote.sync.ballot.b32 %r5, %p1, -1;
    @!%p1 redux.sync.add.u32 %r5, %r0, -1;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    with pytest.raises(DeadlockError, match=r"(?s)never come.*vote\.sync"):
        run(kernel(LOWER + body), "cpu", 64)


def test_a_lane_that_its_own_member_mask_leaves_out_is_an_error_that_says_so() -> None:
    """Undefined in PTX; HeCBench's bscan counts the lanes below by `__ballot_sync((1 << lane) - 1, p)`."""
    body = """
    mov.u32 %r5, %lanemask_lt;
    vote.sync.ballot.b32 %r5, %p1, %r5;
    bar.sync 0;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    with pytest.raises(DeadlockError, match=r"(?s)the mask leaves out its own lane.*vote\.sync"):
        run(kernel(LOWER + body), "cpu", 64)


@pytest.mark.parametrize("meet", ["bar.sync 0;", ""])
def test_masks_of_halves_and_of_equal_values_are_no_obstacle(meet: str, mode: str) -> None:
    body = f"""
    selp.b32 %r4, 0xffff, 0xffff0000, %p1;
    {meet}
    vote.sync.ballot.b32 %r5, %p1, %r4;
    and.b32 %r6, %r0, 3;
    match.any.sync.b32 %r7, %r6, -1;
    redux.sync.add.u32 %r8, %r0, %r7;
    setp.ge.u32 %p2, %r0, 50;
    @%p2 exit;
    redux.sync.add.u32 %r9, %r0, %r4;
    xor.b32 %r8, %r8, %r5; add.u32 %r8, %r8, %r9;
    st.global.u32 [%rd1], %r8;
    ret;
    """
    agrees(kernel(LOWER + body))
