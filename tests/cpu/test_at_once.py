"""Blocks that run at once as one vector: the reference interpreter's results, and warp by warp where they must."""

import numpy as np
import pytest

import drawloom
from drawloom.cpu.compile import KernelCode, compile_kernel
from drawloom.cpu.engine import host
from drawloom.cpu.layouts import layout_of, whole
from drawloom.errors import Error, KernelFault
from drawloom.ptx import parse, verify

HEADER = """.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>;
.shared .align 4 .b32 words[256];
ld.param.u64 %rd0, [out]; ld.param.u32 %r9, [n];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %tid.x; mov.u32 %r6, %tid.y;
mov.u32 %r7, %tid.z; mov.u32 %r8, %ntid.z;
mad.lo.s32 %r31, %r7, %r4, %r6; mad.lo.s32 %r0, %r31, %r3, %r5;
mul.lo.s32 %r30, %r3, %r4; mul.lo.s32 %r29, %r30, %r8; mad.lo.s32 %r1, %r29, %r2, %r0;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd0, %rd2;
mov.u32 %r10, words; shl.b32 %r28, %r0, 2; add.s32 %r11, %r10, %r28;
"""
#: The block in reverse order through shared memory: what one warp writes, another reads.
REVERSE = """
mul.lo.s32 %r12, %r0, 7; st.shared.u32 [%r11], %r12;
bar.sync 0;
sub.s32 %r14, %r29, 1; sub.s32 %r13, %r14, %r0;
shl.b32 %r15, %r13, 2; add.s32 %r16, %r10, %r15; ld.shared.u32 %r17, [%r16];
st.global.u32 [%rd1], %r17; ret;
"""


def kernel(body: str) -> str:
    return HEADER + body + "\n}\n"


def code(text: str, block: tuple[int, int, int], always: bool = True) -> KernelCode:
    module = parse(text)
    verify(module)
    machine = host()
    layout = whole(block) or layout_of(block)
    return compile_kernel(module, "k", layout, False, machine.features, machine.is_x86, False, always)


def run(text: str, device: str, block: tuple[int, int, int], n: int) -> np.ndarray:
    threads = block[0] * block[1] * block[2]
    out = np.zeros(3 * threads, np.uint32)
    drawloom.load(text, device=device)["k"][3, block](out, n)
    return out


def agrees(text: str, block: tuple[int, int, int], n: int = 0) -> None:
    np.testing.assert_array_equal(run(text, "cpu", block, n), run(text, "reference", block, n))


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", "block")


SHAPES = [(64, 1, 1), (128, 1, 1), (256, 1, 1), (8, 8, 1), (16, 16, 1), (32, 4, 1), (64, 2, 2), (4, 4, 4), (8, 4, 2)]


@pytest.mark.parametrize("block", SHAPES)
def test_a_barrier_between_warps(block: tuple[int, int, int]) -> None:
    made = code(kernel(REVERSE), block)
    assert made.lanes == block[0] * block[1] * block[2]
    assert not made.resumable
    agrees(kernel(REVERSE), block)


@pytest.mark.parametrize("block", SHAPES)
@pytest.mark.parametrize("name", ["tid.x", "tid.y", "tid.z", "laneid", "warpid", "nwarpid", "ntid.y", "lanemask_lt"])
def test_special_registers_of_every_thread(block: tuple[int, int, int], name: str) -> None:
    agrees(kernel(f"bar.sync 0; mov.u32 %r12, %{name}; st.global.u32 [%rd1], %r12; ret;"), block)


@pytest.mark.parametrize(
    "operation",
    [
        "shfl.sync.down.b32 %r12, %r0, 3, 31, -1;",
        "shfl.sync.idx.b32 %r12|%p1, %r0, %r5, 0x1807, -1; selp.b32 %r12, %r12, -1, %p1;",
        "shfl.sync.up.b32 %r12, %r0, 5, 0, -1;",
        "and.b32 %r13, %r0, 37; setp.gt.u32 %p1, %r13, 8; vote.sync.ballot.b32 %r12, %p1, -1;",
        "setp.gt.u32 %p1, %r0, 40; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r12, 1, 2, %p2;",
        "setp.gt.u32 %p1, %r0, 40; vote.sync.uni.pred %p2, %p1, -1; selp.b32 %r12, 1, 2, %p2;",
        "and.b32 %r13, %r0, 5; match.any.sync.b32 %r12, %r13, -1;",
        "shr.u32 %r13, %r0, 5; match.all.sync.b32 %r12|%p1, %r13, -1; selp.b32 %r12, %r12, 7, %p1;",
        "redux.sync.max.u32 %r12, %r0, -1;",
        "activemask.b32 %r12;",
    ],
)
def test_warp_operations_stay_inside_their_warp(operation: str) -> None:
    text = kernel(f"bar.sync 0; {operation} st.global.u32 [%rd1], %r12; ret;")
    assert code(text, (128, 1, 1)).lanes == 128
    for block in ((128, 1, 1), (16, 8, 1)):
        agrees(text, block)


def test_active_lanes_while_whole_warps_are_elsewhere() -> None:
    text = kernel(
        "bar.sync 0; mov.u32 %r12, 5; setp.lt.u32 %p1, %r0, 64; @!%p1 bra SKIP;"
        "activemask.b32 %r12; SKIP: st.global.u32 [%rd1], %r12; ret;"
    )
    assert code(text, (128, 1, 1)).lanes == 128
    agrees(text, (128, 1, 1))


def test_threads_that_leave_before_the_barrier() -> None:
    text = kernel(f"mov.u32 %r20, %tid.x; setp.ge.u32 %p1, %r20, %r9; @%p1 ret; {REVERSE}")
    assert code(text, (256, 1, 1)).lanes == 256
    agrees(text.replace("sub.s32 %r13, %r14, %r0;", "mov.u32 %r13, %r0;"), (256, 1, 1), 77)


def test_a_loop_of_barriers() -> None:
    """A reduction by halves in shared memory, n times."""
    text = kernel(
        "st.shared.u32 [%r11], %r1; mov.u32 %r12, 128;"
        "LOOP: bar.sync 0; setp.ge.u32 %p1, %r0, %r12; @%p1 bra NEXT;"
        "shl.b32 %r13, %r12, 2; add.s32 %r13, %r11, %r13; ld.shared.u32 %r14, [%r13]; ld.shared.u32 %r15, [%r11];"
        "add.s32 %r15, %r14, %r15; st.shared.u32 [%r11], %r15;"
        "NEXT: shr.u32 %r12, %r12, 1; setp.ne.u32 %p2, %r12, 0; @%p2 bra LOOP;"
        "bar.sync 0; ld.shared.u32 %r16, [words]; st.global.u32 [%rd1], %r16; ret;"
    )
    assert code(text, (256, 1, 1)).lanes == 256
    agrees(text, (256, 1, 1))


@pytest.mark.parametrize(
    ("what", "lanes", "update"),
    [
        ("a word that all share", 64, "red.shared.add.u32 [words], %r0;"),
        ("the first thread", 64, "setp.eq.u32 %p1, %r0, 0; @%p1 red.shared.add.u32 [words+4], 5;"),
        ("a word for each thread", 32, "red.shared.add.u32 [%r11], %r0;"),
        (
            "a word for each thread in a loop",
            64,
            "mov.u32 %r12, 0; NEXT: red.shared.add.u32 [%r11], %r0; add.u32 %r12, %r12, 1;"
            "setp.lt.u32 %p1, %r12, %r9; @%p1 bra NEXT;",
        ),
    ],
)
def test_blocks_whose_atomics_gain_by_it_run_at_once(what: str, lanes: int, update: str) -> None:
    text = kernel(
        f"mov.u32 %r13, 0; st.shared.u32 [%r11], %r13; bar.sync 0; {update} bar.sync 0;"
        "ld.shared.u32 %r15, [%r11]; st.global.u32 [%rd1], %r15; ret;"
    )
    assert code(text, (64, 1, 1), always=False).lanes == lanes
    agrees(text, (64, 1, 1), 3)


def test_atomics_of_all_warps() -> None:
    text = kernel(
        "setp.ne.u32 %p1, %r0, 0; @%p1 bra GO; mov.u32 %r12, 0; st.shared.u32 [words], %r12; GO: bar.sync 0;"
        "atom.shared.add.u32 %r13, [words], %r0; and.b32 %r14, %r0, 28; add.s32 %r14, %r10, %r14;"
        "red.shared.add.u32 [%r14+64], 1; bar.sync 0; ld.shared.u32 %r15, [words]; st.global.u32 [%rd1], %r15; ret;"
    )
    assert code(text, (256, 1, 1)).lanes == 256
    agrees(text, (256, 1, 1))


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("a count", "bar.sync 1, 64; st.global.u32 [%rd1], %r0; ret;"),
        ("a reduction", "setp.gt.u32 %p1, %r0, 9; bar.red.popc.u32 %r12, 0, %p1; st.global.u32 [%rd1], %r12; ret;"),
        ("a variable number", "and.b32 %r12, %r9, 15; bar.sync %r12; st.global.u32 [%rd1], %r0; ret;"),
        (
            "a producer and a consumer",
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra FIRST; bar.sync 1, 64; ld.shared.u32 %r12, [words];"
            "st.global.u32 [%rd1], %r12; ret; FIRST: mov.u32 %r12, 9; setp.eq.u32 %p2, %r0, 0;"
            "@%p2 st.shared.u32 [words], %r12; bar.arrive 1, 64;"
            "st.global.u32 [%rd1], %r12; ret;",
        ),
        (
            "sides of a branch between warps",
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra FIRST; bar.sync 0; st.global.u32 [%rd1], %r0; ret;"
            "FIRST: bar.sync 0; st.global.u32 [%rd1], %r9; ret;",
        ),
        (
            "a warp that waits for another",
            "setp.ge.u32 %p1, %r0, 32; @%p1 bra WAIT; mov.u32 %r12, 1; st.volatile.shared.u32 [words], %r12;"
            "bra.uni DONE; WAIT: ld.volatile.shared.u32 %r13, [words]; setp.ne.u32 %p2, %r13, 1; @%p2 bra WAIT;"
            "DONE: bar.sync 0; st.global.u32 [%rd1], %r0; ret;",
        ),
    ],
)
def test_what_must_go_warp_by_warp(what: str, body: str) -> None:
    made = code(kernel(body), (64, 1, 1))
    assert made.lanes < 64, what
    agrees(kernel(body), (64, 1, 1), 3)


def test_the_fault_names_the_thread() -> None:
    text = kernel("bar.sync 0; setp.ne.u32 %p1, %r0, 201; @%p1 bra GO; trap; GO: st.global.u32 [%rd1], %r0; ret;")
    assert code(text, (16, 16, 1)).lanes == 256
    with pytest.raises(KernelFault) as fault:
        run(text, "cpu", (16, 16, 1), 0)
    assert fault.value.thread == (201 % 16, 201 // 16, 0)


def test_values_that_would_spill_are_left_to_warps() -> None:
    wide = " ".join([f"ld.shared.u32 %r{i}, [%r11+{4 * (i - 12)}]; " for i in range(12, 28)])
    total = " ".join([f"add.s32 %r12, %r12, %r{i};" for i in range(13, 28)])
    text = kernel(f"bar.sync 0; {wide} bar.sync 0; {total} st.global.u32 [%rd1], %r12; ret;")
    assert code(text, (256, 1, 1), always=False).lanes == 32
    assert code(text, (256, 1, 1), always=True).lanes == 256
    assert code(kernel(REVERSE), (256, 1, 1), always=False).lanes == 256


def test_an_unknown_way_to_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", "12")
    with pytest.raises(Error, match="DRAWLOOM_LANES is '12'"):
        run(kernel(REVERSE), "cpu", (64, 1, 1), 0)
