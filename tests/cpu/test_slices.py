"""Slices: what a large warp-wide kernel computes between warp operations, 8 lanes at a time."""

import numpy as np
import pytest

from drawloom.cpu.body import Place
from drawloom.cpu.compile import compile_kernel
from drawloom.cpu.engine import FEATURE_SETS, LEVELS
from drawloom.cpu.neighbours import Groups
from drawloom.cpu.slices import Slices
from drawloom.ptx import parse
from tests.cpu.kernels import agrees, kernel, run

#: A dozen steps of which the last needs the whole warp.
STEPS = """
    and.b32 %r5, %r4, 4095; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd4, %rd2, %rd4; ld.global.u32 %r6, [%rd4];
    add.u32 %r9, %r9, %r3; setp.gt.u32 %p1, %r6, 500000; @%p1 add.u32 %r4, %r4, %r6; @!%p1 xor.b32 %r4, %r4, %r9;
    mad.lo.u32 %r4, %r4, 5, %r1; cvt.rn.f32.u32 %f1, %r6; fma.rn.f32 %f2, %f1, 0f3F000000, %f2;
    shfl.sync.up.b32 %r7, %r4, 1, 0, %r17; add.u32 %r4, %r4, %r7;
"""
START = "activemask.b32 %r17; mov.u32 %r4, %r1; mov.u32 %r7, 5; mov.u32 %r9, 7; mov.f32 %f2, 0f00000000;\n"
END = "mov.b32 %r8, %f2; xor.b32 %r4, %r4, %r8; st.global.u32 [%rd1], %r4; ret;"


@pytest.fixture(autouse=True, params=["sse4.2", "avx2"])
def features(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", request.param)


def stretches(text: str, monkeypatch: pytest.MonkeyPatch, features: str = "avx2") -> int:
    """How many stretches the kernel is compiled with."""
    counts = []
    find = Slices.find

    def counted(self: Slices, groups: dict[int, Groups], turns: set[Place]) -> dict[int, dict[int, object]]:
        found = find(self, groups, turns)
        counts.append(sum(len(block) for block in found.values()))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Slices, "find", counted)
        compile_kernel(parse(text), "k", "linear", False, LEVELS[FEATURE_SETS[features]])
    return sum(counts)


@pytest.mark.parametrize("threads", [64, 50, 7])
def test_steps_between_shuffles(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernel(START + STEPS * 50 + END)
    agrees(text, threads, 2)
    assert stretches(text, monkeypatch) >= 50
    assert stretches(text, monkeypatch, "avx512") == 0


def test_lanes_that_wait_keep_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the lanes go through steps of their own, without the shuffle, and meet the others again."""
    alone = STEPS.replace("shfl.sync.up.b32 %r7, %r4, 1, 0, %r17;", "")
    body = f"""{START} and.b32 %r10, %r0, 1; setp.eq.u32 %p3, %r10, 0;
        @%p3 bra EVEN; {alone * 20} bra MEET; EVEN: {alone * 20} MEET: {STEPS} {END}"""
    assert stretches(kernel(body), monkeypatch) >= 3
    for threads in (64, 41):
        agrees(kernel(body), threads)


def test_a_loop_carries_values_over_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"""{START} mov.u32 %r11, 0;
        LOOP: {STEPS * 45} add.u32 %r11, %r11, 1; setp.lt.u32 %p4, %r11, %r2; @%p4 bra LOOP; {END}"""
    assert stretches(kernel(body), monkeypatch) >= 45
    agrees(kernel(body), 96, 4)


def test_all_lanes_load_before_any_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's warp moves its words by one: each lane stores what it loaded from its neighbour's place."""
    shift = "ld.shared.u32 %r12, [%r13+4]; st.shared.u32 [%r13], %r12;"
    body = f"""mov.u32 %r10, smem; shl.b32 %r12, %r0, 2; add.u32 %r13, %r10, %r12; st.shared.u32 [%r13], %r1;
        {START} {(STEPS + shift) * 20} {STEPS * 20} ld.shared.u32 %r4, [%r13]; st.global.u32 [%rd1], %r4; ret;"""
    text = kernel(body, ".shared .align 4 .b8 smem[256];\n")
    assert stretches(text, monkeypatch) >= 40
    np.testing.assert_array_equal(run(text, "cpu", 32)[:12], range(20, 32))


def test_lane_numbers_and_local_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    own = """mov.u32 %r14, %laneid; mov.u32 %r15, %lanemask_lt; xor.b32 %r14, %r14, %r15; add.u32 %r4, %r4, %r14;
        xor.b32 %r14, %r4, 9; mul.lo.u32 %r4, %r14, 3;
        st.local.u32 [mine], %r4; ld.local.u32 %r16, [mine]; add.u32 %r4, %r4, %r16;"""
    text = kernel(f".local .align 4 .b8 mine[8]; {START} {(STEPS + own) * 40} {END}")
    assert stretches(text, monkeypatch) >= 40
    agrees(text, 64)


def test_a_body_of_few_instructions_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stretches(kernel(START + STEPS * 4 + END), monkeypatch) == 0


def test_all_lanes_store_before_any_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp in step: each lane loads what another slice's lane stored just before, with no barrier in between."""
    turn = "st.shared.u32 [%r13], %r4; ld.shared.u32 %r12, [%r14]; add.u32 %r4, %r12, 1;"
    body = f"""mov.u32 %r10, smem; shl.b32 %r12, %r0, 2; add.u32 %r13, %r10, %r12; xor.b32 %r12, %r12, 64;
        add.u32 %r14, %r10, %r12; {START} mov.u32 %r4, %r0; {turn * 20}
        st.global.u32 [%rd1], %r4; mov.u32 %r4, 1; {STEPS * 40} ret;"""
    text = kernel(body, ".shared .align 4 .b8 smem[128];\n")
    assert stretches(text, monkeypatch) >= 40
    np.testing.assert_array_equal(run(text, "cpu", 32), np.arange(32) + 20)


def test_registers_outlast_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a warp keeps over a stop is in its state all the time: vectors, predicates, and the masks of loops."""
    stop = "bar.sync 0; st.shared.u32 [%r13], %r4; bar.sync 0; ld.shared.u32 %r12, [%r14]; @%p5 xor.b32 %r4, %r4, %r12;"
    body = f"""mov.u32 %r10, smem; shl.b32 %r12, %r0, 2; add.u32 %r13, %r10, %r12; xor.b32 %r12, %r12, 128;
        add.u32 %r14, %r10, %r12; and.b32 %r12, %r0, 5; setp.ne.u32 %p5, %r12, 0;
        {START} {(STEPS + stop) * 28} {END}"""
    text = kernel(body, ".shared .align 4 .b8 smem[512];\n")
    assert stretches(text, monkeypatch) >= 28
    agrees(text, 128, 3)


def test_loads_and_stores_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of structures, which one access does for all lanes of a slice."""
    fields = """ld.global.u32 %r12, [%rd5]; ld.global.u32 %r14, [%rd5+4]; ld.global.u32 %r15, [%rd5+8];
        ld.global.u32 %r16, [%rd5+12]; add.u32 %r12, %r12, %r14; xor.b32 %r15, %r15, %r16; add.u32 %r4, %r4, %r12;
        add.u32 %r4, %r4, %r15; st.shared.u32 [%rd6], %r12; st.shared.u32 [%rd6+4], %r4;"""
    body = f"""mul.wide.u32 %rd5, %r0, 16; mul.wide.u32 %rd6, %r0, 8; mov.u64 %rd7, smem; add.s64 %rd6, %rd7, %rd6;
        add.s64 %rd5, %rd2, %rd5; {START} {(STEPS + fields) * 24} ld.shared.u32 %r5, [%rd6+4]; add.u32 %r4, %r4, %r5;
        {END}"""
    text = kernel(body, ".shared .align 8 .b8 smem[512];\n")
    assert stretches(text, monkeypatch) >= 24
    for threads in (64, 37):
        agrees(text, threads)


def test_arguments_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    called = """.func (.param .b32 out) half(.param .b32 of, .param .b64 at) {
        .reg .b32 %a<3>; .reg .b64 %b; ld.param.u32 %a0, [of]; ld.param.u64 %b, [at]; ld.global.u32 %a1, [%b];
        shr.u32 %a0, %a0, 1; add.u32 %a0, %a0, %a1; st.param.b32 [out], %a0; ret; }
    """
    call = """{ .param .b32 of; .param .b64 at; .param .b32 got; st.param.b32 [of], %r4; st.param.b64 [at], %rd4;
        call (got), half, (of, at); ld.param.b32 %r4, [got]; }"""
    text = kernel(f"{START} {(STEPS + call) * 8} {STEPS * 30} {END}", called)
    assert stretches(text, monkeypatch) >= 38
    agrees(text, 50)


def test_what_a_barrier_shared_is_read_by_all_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warp 0 overwrites what the others have yet to read, unless warps take turns behind the load."""
    turn = """bar.sync 0; setp.eq.u32 %p5, %r0, 0; @%p5 st.shared.u32 [sum], %r4; bar.sync 0;
        ld.shared.u32 %r12, [sum]; add.u32 %r13, %r12, 7; @%p5 st.shared.u32 [sum], %r13; xor.b32 %r4, %r4, %r12;"""
    body = f"{START} {(STEPS + turn) * 24} st.global.u32 [%rd1], %r12; ret;"
    text = kernel(body, ".shared .align 4 .b8 sum[4];\n")
    assert stretches(text, monkeypatch) >= 24
    assert len(set(run(text, "cpu", 256))) == 1
