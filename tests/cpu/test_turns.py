"""Races that come out right on a GPU, where warps run together: loads behind a barrier that one warp would overwrite
before the others have read, and rows of a block that all add to the same elements."""

import numpy as np
import pytest

import drawloom
from drawloom.cpu.compile import compile_kernel
from drawloom.cpu.engine import host
from drawloom.ptx import parse
from tests.cpu.kernels import kernel, run

SUMS = ".shared .align 4 .b8 sums[128];\n.shared .align 4 .b8 others[4096];\n"
#: A block sum, called twice: between its last load and its first store there is no barrier.
BLOCK_SUM = """
    redux.sync.add.u32 %r11, VALUE, -1;
    setp.eq.u32 %p1, %r9, 0;
    @%p1 st.shared.u32 [%r12], %r11;
    bar.sync 0;
    setp.lt.u32 %p2, %r0, 32;
    @!%p2 bra.uni DONE;
    mov.u32 %r13, 0;
    setp.lt.u32 %p3, %r9, %r8;
    @%p3 ld.shared.u32 %r13, [%r14];
    redux.sync.add.u32 %r13, %r13, -1;
    @%p1 st.shared.u32 [sums], %r13;
    DONE: bar.sync 0;
    ld.shared.u32 RESULT, [sums];
    """
SETUP = """
    and.b32 %r9, %r0, 31; shr.u32 %r10, %r0, 5; shr.u32 %r8, %r3, 5;
    mov.u32 %r4, sums; shl.b32 %r5, %r10, 2; add.u32 %r12, %r4, %r5; shl.b32 %r5, %r9, 2; add.u32 %r14, %r4, %r5;
    """


def block_sum(value: str, result: str, label: str) -> str:
    return BLOCK_SUM.replace("VALUE", value).replace("RESULT", result).replace("DONE", label)


def turns_of(text: str) -> int:
    machine = host()
    code = compile_kernel(parse(text), "k", "linear", False, machine.features, machine.is_x86)
    return code.text.count("ret i64 6")


@pytest.mark.parametrize("threads", [64, 512, 1024])
def test_a_block_sum_that_is_called_again_is_read_by_all_warps_first(threads: int, mode: str) -> None:
    body = SETUP + block_sum("%r0", "%r20", "ONE") + block_sum("1", "%r21", "TWO")
    out = run(kernel(body + "sub.u32 %r20, %r20, %r21; st.global.u32 [%rd1], %r20; ret;", SUMS), "cpu", threads, 3)
    assert set(out) == {threads * (threads - 1) // 2 - threads}


def test_a_warp_that_has_parted_reads_with_the_others(mode: str) -> None:
    part = """
    setp.lt.u32 %p4, %r9, 7;
    @%p4 vote.sync.any.pred %p5, %p4, -1;
    @!%p4 vote.sync.any.pred %p5, %p4, -1;
    """
    body = SETUP + part + block_sum("%r0", "%r20", "ONE") + block_sum("1", "%r21", "TWO")
    out = run(kernel(body + "sub.u32 %r20, %r20, %r21; st.global.u32 [%rd1], %r20; ret;", SUMS), "cpu", 96)
    assert set(out) == {96 * 95 // 2 - 96}


READ = "mov.u32 %r4, sums; bar.sync 0; ld.shared.u32 %r5, [sums]; ld.shared.u32 %r6, [%r4+4]; add.u32 %r5, %r5, %r6;"
WRITES = {
    "the same variable": ("st.shared.u32 [%r4+8], %r5;", 1),
    "an atomic": ("red.shared.add.u32 [sums], 1;", 1),
    "a generic address": ("st.u32 [%rd1], %r5;", 1),
    "another variable": ("mov.u32 %r7, others; st.shared.u32 [%r7], %r5;", 0),
    "global memory": ("st.global.u32 [%rd1], %r5;", 0),
    "a barrier before": ("bar.sync 0; st.shared.u32 [sums], %r5;", 0),
    "one way of two": ("setp.eq.u32 %p1, %r3, 3; @%p1 bra OUT; st.shared.u32 [sums], %r5; OUT:", 1),
    "the next round": ("setp.eq.u32 %p1, %r3, 3; @%p1 bra TOP;", 1),
}


@pytest.mark.parametrize("name", WRITES)
def test_warps_take_turns_only_where_what_they_read_may_be_overwritten(name: str) -> None:
    write, count = WRITES[name]
    text = kernel(f"TOP: st.shared.u32 [sums], %r0; {READ} {write} st.global.u32 [%rd1], %r5; ret;", SUMS)
    assert turns_of(text) == count


#: A block sum in a loop over halves whose number is only known at run time: a branch lies between the last barrier and
#: the load of the sum.
TREE_SUM = """
    mov.u32 %r4, others; mad.lo.u32 %r4, %r0, 4, %r4;
    st.shared.u32 [%r4], VALUE;
    shr.u32 %r6, %r3, 1;
    bar.sync 0;
    setp.eq.u32 %p1, %r6, 0;
    @%p1 bra DONE;
    ROUND: setp.ge.u32 %p2, %r0, %r6;
    @%p2 bra NEXT;
    mad.lo.u32 %r7, %r6, 4, %r4;
    ld.shared.u32 %r8, [%r4]; ld.shared.u32 %r9, [%r7]; add.u32 %r8, %r8, %r9; st.shared.u32 [%r4], %r8;
    NEXT: bar.sync 0;
    shr.u32 %r6, %r6, 1;
    setp.ne.u32 %p1, %r6, 0;
    @%p1 bra ROUND;
    DONE: ld.shared.u32 RESULT, [others];
    """


def tree_sum(value: str, result: str, label: str) -> str:
    text = TREE_SUM.replace("VALUE", value).replace("RESULT", result)
    for name in ("ROUND", "NEXT", "DONE"):
        text = text.replace(name, f"{name}_{label}")
    return text


@pytest.mark.parametrize("threads", [64, 512, 1024])
def test_a_sum_in_a_loop_of_unknown_length_is_read_by_all_warps_first(threads: int, mode: str) -> None:
    body = tree_sum("%r0", "%r20", "ONE") + tree_sum("1", "%r21", "TWO")
    out = run(kernel(body + "sub.u32 %r20, %r20, %r21; st.global.u32 [%rd1], %r20; ret;", SUMS), "cpu", threads, 3)
    assert set(out) == {threads * (threads - 1) // 2 - threads}


def test_a_load_in_a_loop_without_a_barrier_costs_no_turn_a_round() -> None:
    rounds = "LOOP: ld.shared.u32 %r5, [sums]; add.u32 %r6, %r6, %r5; setp.lt.u32 %p1, %r6, 9; @%p1 bra LOOP;"
    stores = "st.shared.u32 [sums], %r6; st.global.u32 [%rd1], %r6;"
    assert turns_of(kernel(f"mov.u32 %r6, 0; bar.sync 0; {rounds} {stores} ret;", SUMS)) == 0


#: Every row of a block adds to the elements of its columns.
ADD = "ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, %r0; st.global.u32 [%rd1], %r4;"
TELLS_ROWS = {
    "nothing": "",
    "the row": "mov.u32 %r5, %tid.y; setp.ne.u32 %p1, %r5, 0; @%p1 exit;",
    "an atomic": "red.global.add.u32 [%rd1], 1;",
    "a lane": "mov.u32 %r5, %laneid; setp.ge.u32 %p1, %r5, 8; @%p1 exit;",
}


@pytest.mark.parametrize("block", [(32, 8, 1), (16, 4, 2), (40, 3, 1), (8, 2, 2)])
def test_rows_that_all_do_the_same_do_it_in_step(block: tuple[int, int, int], mode: str) -> None:
    out = np.full(2 * block[0], 5, np.uint32)
    drawloom.load(kernel(ADD + "ret;"), device="cpu")["k"][2, block](out, out)
    np.testing.assert_array_equal(out, np.tile(np.arange(block[0]) + 5, 2))


@pytest.mark.parametrize("what", TELLS_ROWS)
def test_rows_that_differ_all_run(what: str) -> None:
    machine = host()
    text = kernel(TELLS_ROWS[what] + ADD + "ret;")
    code = compile_kernel(parse(text), "k", "rows32", False, machine.features, machine.is_x86)
    assert code.alike == (what == "nothing")
    out = np.zeros(32, np.uint32)
    drawloom.load(kernel("red.global.add.u32 [%rd1], 1; ret;"), device="cpu")["k"][1, (32, 8)](out, out)
    assert set(out) == {8}


def test_loads_of_places_that_differ_between_lanes_cost_no_turn() -> None:
    own = "mov.u32 %r4, sums; mad.lo.u32 %r4, %r0, 4, %r4; bar.sync 0;"
    body = own + "ld.shared.u32 %r5, [%r4]; st.shared.u32 [%r4], %r5;"
    assert turns_of(kernel(body + "bar.sync 0; ret;", SUMS)) == 0
    assert np.all(run(kernel(body + "st.global.u32 [%rd1], 3; ret;", SUMS), "cpu", 32) == 3)
