"""Control flow, barriers, warps and memory of the cpu device at their edges, beside the reference interpreter.

Every program here stands for one way in which running warps in lock step goes wrong.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom.cpu.engine import host
from drawloom.errors import DeadlockError, KernelFault, UnsupportedError
from tests.cpu.kernels import HEADER, NESTED_LOOPS, agrees, kernel, run

IRREDUCIBLE = """
and.b32 %r4, %r0, 3;
mov.u32 %r5, 0;
setp.eq.u32 %p1, %r4, 0;
@%p1 bra B;
A: add.u32 %r5, %r5, 3;
setp.gt.u32 %p2, %r5, 40;
@%p2 bra DONE;
B: add.u32 %r5, %r5, 5;
setp.lt.u32 %p3, %r5, 60;
@%p3 bra A;
DONE: st.global.u32 [%rd1], %r5;
ret;
"""

CONTINUE_AND_BREAK = """
mov.u32 %r4, 0; mov.u32 %r5, 1;
LOOP:
add.u32 %r4, %r4, 1;
setp.gt.u32 %p1, %r4, 20;
@%p1 bra DONE;
add.u32 %r6, %r4, %r0;
and.b32 %r7, %r6, 3;
setp.eq.u32 %p2, %r7, 1;
@%p2 bra LOOP;
mad.lo.u32 %r5, %r5, 3, %r4;
setp.eq.u32 %p3, %r7, 3;
@%p3 bra LOOP;
setp.gt.u32 %p4, %r5, 100000;
@!%p4 bra LOOP;
add.u32 %r5, %r5, 7;
DONE:
st.global.u32 [%rd1], %r5;
ret;
"""

EXITS_INSIDE_LOOPS = """
mov.u32 %r4, 0; mov.u32 %r5, 17;
LOOP:
mad.lo.u32 %r5, %r5, 5, %r0;
st.global.u32 [%rd1], %r5;
and.b32 %r6, %r5, 31;
setp.eq.u32 %p1, %r6, 9;
@%p1 exit;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, %r0;
@%p2 bra LOOP;
add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
ret;
"""

SWITCH = """
and.b32 %r4, %r0, 7;
table: .branchtargets C0, C1, C2, C0, C1;
min.u32 %r4, %r4, 4;
brx.idx %r4, table;
C0: mov.u32 %r5, 10; bra JOIN;
C1: mov.u32 %r5, 20;
C2: add.u32 %r5, %r0, 30;
JOIN: add.u32 %r5, %r5, %r4;
st.global.u32 [%rd1], %r5;
ret;
"""

OLD_VALUE_KEPT = """
mov.u32 %r5, 100;
and.b32 %r4, %r0, 1;
setp.eq.u32 %p1, %r4, 0;
@%p1 bra EVEN;
add.u32 %r5, %r5, %r0;
bra JOIN;
EVEN:
mul.lo.u32 %r5, %r5, 3;
JOIN:
@%p1 add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
ret;
"""


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100])
@pytest.mark.parametrize(
    "body", [IRREDUCIBLE, NESTED_LOOPS, CONTINUE_AND_BREAK, EXITS_INSIDE_LOOPS, SWITCH, OLD_VALUE_KEPT],
    ids=["irreducible", "nested", "continue", "exits", "switch", "merge"],
)  # fmt: skip
def test_divergent_control_flow(body: str, threads: int, mode: str) -> None:
    agrees(kernel(body), threads)


def test_masked_off_lanes_do_not_divide_or_load() -> None:
    body = """
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mov.u64 %rd2, 0;
    @%p1 bra SKIP;
    ld.global.u32 %r4, [%rd2+4];
    div.u32 %r5, %r4, %r0;
    st.global.u32 [%rd1], %r5;
    SKIP: ret;
    """
    agrees(kernel(body))


@pytest.mark.parametrize("features", ["sse4.2", "avx2", "avx512", "host"])
@pytest.mark.parametrize("kind", ["clamp", "wrap"])
def test_a_funnel_shift_by_what_is_zero(kind: str, features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SSE, LLVM took the complement of a count that it found late to be 0 for one that 2.0 ** 31 stands for."""
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", features)
    monkeypatch.setenv("DRAWLOOM_LANES", "32")
    try:
        host()
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))
    body = f"""
    mad.wide.u32 %rd3, %r0, 64, %rd2; ld.global.u32 %r4, [%rd3]; ld.global.u64 %rd4, [%rd3+8];
    activemask.b32 %r5; mov.u32 %r6, %lanemask_eq; and.b32 %r5, %r5, %r6; sub.u32 %r5, %r5, %r6;
    mul24.hi.u32 %r5, %r5, %r4; cnot.b64 %rd4, %rd4;
    shf.r.{kind}.b32 %r7, %r4, %r5, %r5;
    red.global.add.u64 [%rd0+112], %rd4;
    st.global.u32 [%rd1], %r7; ret;
    """
    agrees(kernel(body), threads=27, words=30)


def test_the_sign_of_a_replaced_nan() -> None:
    """LLVM took the sign of the NaN that a root gives on x86, not that of the one that the program puts there."""
    body = """
    cvt.rn.f64.s32 %fd1, %r0; sub.f64 %fd1, 0d4024000000000000, %fd1; mov.f64 %fd3, %fd1; sqrt.rn.f64 %fd1, %fd1;
    testp.notanumber.f64 %p1, %fd1; mov.b64 %rd4, %fd1; selp.b64 %rd4, 0x7FF8000000000000, %rd4, %p1;
    mov.b64 %fd2, %rd4; copysign.f64 %fd2, %fd2, %fd3;
    mul.wide.u32 %rd5, %r0, 8; add.u64 %rd5, %rd0, %rd5; mov.b64 {%r5, %r6}, %fd2;
    st.global.v2.u32 [%rd5], {%r5, %r6}; ret;
    """
    agrees(kernel(".reg .f64 %fd<4>;" + body), 64, words=128)


def test_a_barrier_in_a_loop_inside_a_condition(mode: str) -> None:
    body = """
    mov.u32 %r10, smem;
    shl.b32 %r11, %r0, 2;
    add.u32 %r11, %r10, %r11;
    st.shared.u32 [%r11], %r0;
    mov.u32 %r4, %ntid.x;
    LOOP:
    shr.u32 %r4, %r4, 1;
    bar.sync 0;
    setp.ge.u32 %p1, %r0, %r4;
    @%p1 bra SKIP;
    shl.b32 %r12, %r4, 2;
    add.u32 %r12, %r11, %r12;
    ld.shared.u32 %r5, [%r12];
    ld.shared.u32 %r6, [%r11];
    add.u32 %r6, %r6, %r5;
    st.shared.u32 [%r11], %r6;
    SKIP:
    setp.gt.u32 %p2, %r4, 1;
    @%p2 bra LOOP;
    bar.sync 0;
    ld.shared.u32 %r7, [smem];
    st.global.u32 [%rd1], %r7;
    ret;
    """
    out = agrees(kernel(body, ".shared .align 4 .b8 smem[1024];\n"), 256, 3)
    assert set(out) == {256 * 255 // 2}


def test_a_barrier_that_lanes_reach_at_different_times() -> None:
    """Each thread passes as many barriers as its number modulo 4 says, the rest in a second loop."""
    body = """
    and.b32 %r4, %r0, 3; mov.u32 %r5, 0; mov.u32 %r6, 0;
    A: setp.ge.u32 %p1, %r5, %r4;
    @%p1 bra B;
    barrier.sync 0;
    add.u32 %r5, %r5, 1; add.u32 %r6, %r6, 10;
    bra A;
    B: setp.ge.u32 %p2, %r5, 3;
    @%p2 bra DONE;
    barrier.sync 0;
    add.u32 %r5, %r5, 1; add.u32 %r6, %r6, 1;
    bra B;
    DONE: st.global.u32 [%rd1], %r6;
    ret;
    """
    agrees(kernel(body), 64)


@pytest.mark.parametrize("operation", ["popc.u32 %r5", "and.pred %p3", "or.pred %p3"])
def test_a_barrier_that_reduces(operation: str, mode: str) -> None:
    body = f"""
    setp.gt.u32 %p1, %r0, 5;
    mov.u32 %r5, 0;
    bar.red.{operation}, 1, %p1;
    {"selp.u32 %r5, 1, 2, %p3;" if "pred" in operation else ""}
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(body), 70)


def test_a_barrier_of_some_warps_with_arrivals(mode: str) -> None:
    """Warps 0 and 1 produce and arrive, warp 2 waits for both; a count of 96 threads."""
    body = """
    shr.u32 %r4, %r0, 5;
    setp.eq.u32 %p1, %r4, 2;
    @%p1 bra CONSUME;
    shl.b32 %r5, %r0, 2; mov.u32 %r6, smem; add.u32 %r5, %r5, %r6;
    mul.lo.u32 %r7, %r0, 7;
    st.shared.u32 [%r5], %r7;
    bar.arrive 3, 96;
    ret;
    CONSUME:
    bar.sync 3, 96;
    sub.u32 %r8, %r0, 64; shl.b32 %r8, %r8, 2; mov.u32 %r6, smem; add.u32 %r8, %r8, %r6;
    ld.shared.u32 %r9, [%r8];
    ld.shared.u32 %r10, [%r8+128];
    add.u32 %r9, %r9, %r10;
    st.global.u32 [%rd1], %r9;
    ret;
    """
    out = agrees(kernel(body, ".shared .align 4 .b8 smem[256];\n"), 96)
    np.testing.assert_array_equal(out[64:], 7 * (np.arange(32) * 2 + 32))


def test_early_exits_do_not_hold_up_a_barrier(mode: str) -> None:
    body = """
    and.b32 %r4, %r0, 1;
    setp.eq.u32 %p1, %r4, 1;
    @%p1 exit;
    bar.sync 0;
    mov.u32 %r5, 7;
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(body), 128)


def test_a_barrier_that_a_warp_never_reaches_is_a_deadlock(mode: str) -> None:
    body = """
    shr.u32 %r4, %r0, 5;
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra A;
    bar.sync 1;
    bra B;
    A: bar.sync 2;
    B: st.global.u32 [%rd1], %r4;
    ret;
    """
    with pytest.raises(DeadlockError) as caught:
        run(kernel(body), "cpu", 64)
    assert caught.value.line > 0
    assert "bar.sync" in str(caught.value)
    agrees(kernel(OLD_VALUE_KEPT))


def test_lanes_of_one_warp_take_a_lock_in_turns() -> None:
    """A lock that lanes in lock step can never get: each lane needs the others to wait their turn."""
    body = """
    SPIN: atom.global.cas.b32 %r4, [lock], 0, 1;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r5, [count];
    add.u32 %r5, %r5, 1;
    st.volatile.global.u32 [count], %r5;
    membar.gl;
    atom.global.exch.b32 %r6, [lock], 0;
    st.global.u32 [%rd1], 1;
    ret;
    """
    text = kernel(body, ".global .u32 lock = 0;\n.global .u32 count = 0;\n")
    module = drawloom.load(text, device="cpu")
    out = np.zeros(256, dtype=np.uint32)
    module["k"][4, 64](out, out)
    assert module.globals["count"][...].item() == 256
    assert out.all()


def test_a_block_waits_for_a_later_block() -> None:
    """Block 0 spins on a flag that only the last block sets, with more blocks than cores."""
    body = """
    setp.eq.u32 %p1, %r2, 0;
    @!%p1 bra SET;
    WAIT: ld.volatile.global.u32 %r4, [flag];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
    st.global.u32 [%rd1], %r4;
    ret;
    SET: mov.u32 %r5, %nctaid.x; sub.u32 %r5, %r5, 1;
    setp.ne.u32 %p3, %r2, %r5;
    @%p3 bra END;
    st.volatile.global.u32 [flag], 42;
    END: ret;
    """
    out = agrees(kernel(body, ".global .u32 flag = 0;\n"), 32, 16)
    assert set(out[:32]) == {42}


def test_a_warp_waits_for_another_warp_of_its_block() -> None:
    body = """
    shr.u32 %r4, %r0, 5;
    setp.eq.u32 %p1, %r4, 0;
    @!%p1 bra SET;
    WAIT: ld.volatile.shared.u32 %r5, [flag];
    setp.ne.u32 %p2, %r5, 9;
    @%p2 bra WAIT;
    bra END;
    SET: mov.u32 %r5, 9;
    st.volatile.shared.u32 [flag], %r5;
    END: st.global.u32 [%rd1], %r5;
    ret;
    """
    out = run(kernel(body, ".shared .u32 flag;\n"), "cpu", 64)
    assert set(out) == {9}


def test_a_spin_that_nobody_ends_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    import drawloom.cpu.program as program

    monkeypatch.setattr(program, "SPIN_LIMIT_SECONDS", 0.5)
    body = """
    WAIT: ld.volatile.global.u32 %r4, [flag];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
    st.global.u32 [%rd1], %r4;
    ret;
    """
    with pytest.raises(DeadlockError):
        run(kernel(body, ".global .u32 flag = 0;\n"), "cpu", 32, 4)
    agrees(kernel(OLD_VALUE_KEPT))


def test_local_arrays_and_generic_addresses(mode: str) -> None:
    body = """
    .local .align 8 .b8 buffer[64];
    mov.u64 %rd4, buffer;
    cvta.local.u64 %rd5, %rd4;
    mov.u32 %r4, 0;
    FILL: mul.wide.u32 %rd6, %r4, 4; add.s64 %rd7, %rd5, %rd6;
    mad.lo.u32 %r5, %r4, %r0, 5;
    st.u32 [%rd7], %r5;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 16; @%p1 bra FILL;
    and.b32 %r6, %r0, 15; mul.wide.u32 %rd6, %r6, 4; add.s64 %rd8, %rd4, %rd6;
    ld.local.u32 %r7, [%rd8];
    isspacep.local %p2, %rd5;
    selp.u32 %r8, 1000, 0, %p2;
    isspacep.shared %p3, %rd5;
    selp.u32 %r9, 5000, 0, %p3;
    add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9;
    st.global.u32 [%rd1], %r7;
    ret;
    """
    agrees(kernel(body), 64)


def test_contiguous_access_across_the_32_bit_wrap() -> None:
    """Indices 2^32 - 16 + lane wrap to small numbers: lanes 16 to 31 must read from the front."""
    body = """
    add.u32 %r4, %r0, 0xFFFFFFF0;
    mul.wide.u32 %rd4, %r4, 4;
    setp.lt.u32 %p1, %r0, 16;
    mov.u64 %rd5, 0x3FFFFFFC0;
    @!%p1 mov.u64 %rd5, 0;
    sub.s64 %rd6, %rd4, %rd5;
    add.s64 %rd6, %rd2, %rd6;
    ld.global.u32 %r5, [%rd6];
    st.global.u32 [%rd1], %r5;
    add.s64 %rd7, %rd2, %rd4;
    @%p1 mov.u64 %rd7, %rd2;
    ld.global.u32 %r6, [%rd7];
    add.u32 %r5, %r5, %r6;
    mul.wide.u32 %rd8, %r4, 4;
    add.s64 %rd9, %rd2, %rd8;
    @%p1 bra END;
    ld.global.u32 %r7, [%rd9];
    add.u32 %r5, %r5, %r7;
    st.global.u32 [%rd1], %r5;
    END: ret;
    """
    agrees(kernel(body), 32)


@pytest.mark.parametrize("block", [(16, 4, 1), (16, 16, 1), (8, 8, 2), (16, 3, 1), (5, 7, 3), (64, 2, 2), (33, 3, 1)])
def test_blocks_of_every_shape(block: tuple[int, int, int]) -> None:
    text = (
        HEADER
        + """
    .shared .align 4 .b8 tile[8192];
    .visible .entry k(.param .u64 out, .param .u64 in)
    {
    .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .pred %p<4>;
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
    mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
    shl.b32 %r6, %r5, 2; mov.u32 %r7, tile; add.u32 %r6, %r6, %r7;
    mad.lo.u32 %r8, %r1, 100, %r0;
    mul.wide.s32 %rd2, %r8, 4; add.s64 %rd2, %rd1, %rd2;
    ld.global.u32 %r9, [%rd2];
    st.shared.u32 [%r6], %r9;
    bar.sync 0;
    mul.lo.u32 %r10, %r1, %r3; shl.b32 %r10, %r10, 2; add.u32 %r10, %r10, %r7;
    ld.shared.u32 %r11, [%r10];
    add.u32 %r9, %r9, %r11;
    mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd0, %rd3;
    st.global.u32 [%rd3], %r9;
    ret;
    }
    """
    )
    count = block[0] * block[1] * block[2]
    results = []
    for device in ("reference", "cpu"):
        out = np.zeros(count, dtype=np.uint32)
        source = np.arange(4096, dtype=np.uint32) * 7
        drawloom.load(text, device=device)["k"][1, block](out, source)
        results.append(out)
    np.testing.assert_array_equal(results[1], results[0])


def test_printf_assert_and_the_heap(capfd: pytest.CaptureFixture[str]) -> None:
    before = """
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
    .extern .func (.param .b64 r) malloc(.param .b64 n);
    .extern .func free(.param .b64 p);
    .global .align 1 .b8 fmt[12] = {116, 37, 100, 58, 37, 117, 10, 0};
    """
    body = """
    .local .align 8 .b8 args[8];
    mov.u64 %rd4, args; cvta.local.u64 %rd5, %rd4;
    { .param .b64 n; .param .b64 p; st.param.b64 [n], 16; call.uni (p), malloc, (n); ld.param.b64 %rd6, [p]; }
    mul.lo.u32 %r4, %r0, 9; st.u32 [%rd6+8], %r4; ld.u32 %r5, [%rd6+8];
    { .param .b64 p; st.param.b64 [p], %rd6; call.uni free, (p); }
    st.global.u32 [%rd1], %r5;
    setp.gt.u32 %p1, %r0, 2; @%p1 ret;
    st.local.u32 [%rd4], %r0; st.local.u32 [%rd4+4], %r5;
    mov.u64 %rd7, fmt; cvta.global.u64 %rd8, %rd7;
    { .param .b64 a; .param .b64 b; .param .b32 c;
    st.param.b64 [a], %rd8; st.param.b64 [b], %rd5; call.uni (c), vprintf, (a, b); }
    ret;
    """
    out = run(kernel(body, before), "cpu", 40)
    np.testing.assert_array_equal(out, np.arange(40) * 9)
    assert capfd.readouterr().out == "t0:0\nt1:9\nt2:18\n"


def test_a_trap_names_line_block_and_thread(mode: str) -> None:
    body = "setp.eq.u32 %p1, %r1, 77;\n@%p1 trap;\nst.global.u32 [%rd1], 1;\nret;"
    with pytest.raises(KernelFault) as caught:
        run(kernel(body), "cpu", 64, 3)
    assert caught.value.block == (1, 0, 0)
    assert caught.value.thread == (13, 0, 0)
    assert "trap" in caught.value.source_line


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_an_endless_kernel(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    text = kernel("LOOP: add.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, %r1; or.pred %p1, %p1, !%p1; @%p1 bra LOOP; ret;")
    text = text.replace("LOOP:", "mov.u32 %r4, 0;\nLOOP:", 1)
    script.write_text(
        "import numpy as np, drawloom\n"
        f"m = drawloom.load({text!r}, device='cpu')\n"
        "a = np.zeros(64, dtype=np.uint32)\n"
        "print('ready', flush=True)\n"
        "try:\n    m['k'][8, 64](a, a)\nexcept KeyboardInterrupt:\n    print('stopped', flush=True)\n"
        f"m = drawloom.load({kernel(OLD_VALUE_KEPT)!r}, device='cpu')\n"
        "m['k'][1, 64](a, a)\nprint(int(a[0]))\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "stopped\n301\n"


def test_launches_from_several_threads_at_once() -> None:
    module = drawloom.load(kernel(NESTED_LOOPS), device="cpu")
    expected = run(kernel(NESTED_LOOPS), "reference", 64)
    results = [np.zeros(64, dtype=np.uint32) for _ in range(8)]
    workers = [threading.Thread(target=lambda r=r: module["k"][1, 64](r, r)) for r in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_atomics_of_every_block_add_up(mode: str) -> None:
    body = """
    atom.global.add.u32 %r4, [%rd0], 1;
    red.global.max.u32 [%rd0+4], %r1;
    red.global.xor.b32 [%rd0+8], %r1;
    atom.global.inc.u32 %r5, [%rd0+12], 9;
    red.global.add.f32 [%rd0+16], 0f3F800000;
    atom.global.add.u64 %rd4, [%rd0+24], 3;
    atom.global.min.s32 %r6, [%rd0+32], -5;
    ret;
    """
    out = agrees(kernel(body), 100, 7)
    assert out[0] == 700
    assert ctypes.c_float.from_buffer_copy(out[4:5].tobytes()).value == 700.0


@pytest.mark.parametrize("leave", ["exit", "ret"])
def test_nothing_runs_behind_the_exit_of_a_whole_warp(mode: str, leave: str) -> None:
    """A guard that differed from lane to lane let a warp go on without lanes, and touch what is the same for all."""
    body = (
        f"mov.u32 %r5, 32; setp.ge.u32 %p1, %r1, %r5; shr.u32 %r6, %r0, 5; mov.u32 %r7, %lanemask_lt;"
        "setp.ge.and.u32 %p1, %r7, 0, %p1;"
        f"@%p1 {leave}; add.u32 %r6, %r6, 1; st.global.u32 [%rd0+256], %r6; st.global.u32 [%rd1], 5; ret;"
    )
    got = agrees(kernel(body), 64, words=128)
    assert got.tolist() == [5] * 32 + [0] * 32 + [1] + [0] * 63


def test_no_load_behind_the_exit_of_a_whole_warp(mode: str) -> None:
    body = (
        "mov.u32 %r5, %lanemask_lt; setp.ge.u32 %p1, %r5, 0; @%p1 exit;"
        "mov.u64 %rd5, 16; ld.volatile.global.u32 %r6, [%rd5]; st.global.u32 [%rd1], %r6; ret;"
    )
    assert agrees(kernel(body), 32).tolist() == [0] * 32


def test_no_load_behind_the_return_of_a_whole_warp(mode: str) -> None:
    function = """.func f(.param .b64 p) { .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
mov.u32 %r1, %lanemask_lt; setp.ge.u32 %p1, %r1, 0; @%p1 ret;
mov.u64 %rd1, 16; ld.volatile.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], %r2; ret; }
"""
    body = "{ .param .b64 q; st.param.b64 [q], %rd1; call f, (q); } st.global.u32 [%rd1], 7; ret;"
    assert agrees(kernel(body, function), 32).tolist() == [7] * 32


@pytest.mark.parametrize("guard", ["", "@%p2 ", "@!%p2 ", "@%p3 ", "@!%p3 "])
def test_guarded_barrier_in_a_region(mode: str, guard: str) -> None:
    """The mask of the block was lost when the warp went on behind the barrier, and LLVM refused the kernel."""
    body = (
        "setp.lt.u32 %p1, %r0, 7; setp.ge.u32 %p2, %r3, 1; mov.u32 %r9, %lanemask_lt; setp.gt.u32 %p3, %r9, 4000;"
        f"@%p1 bra N; A: st.global.u32 [%rd1], 2; ret; N: mov.u32 %r6, 1; {guard}bar.sync 0;"
        "st.global.u32 [%rd1], %r6; ret;"
    )
    assert agrees(kernel(body), 40).tolist() == [1] * 7 + [2] * 33


@pytest.mark.parametrize("guard", ["", "@%p2 ", "@!%p2 ", "@%p3 "])
def test_guarded_barrier_with_a_result(mode: str, guard: str) -> None:
    body = (
        "setp.lt.u32 %p1, %r0, 7; setp.ge.u32 %p2, %r3, 1; mov.u32 %r9, %lanemask_lt; setp.ge.u32 %p3, %r9, 0;"
        f"mov.u32 %r6, 1000; {guard}bar.red.popc.u32 %r6, 0, %p1; st.global.u32 [%rd1], %r6; ret;"
    )
    assert agrees(kernel(body), 64).tolist() == [1000 if "!" in guard else 7] * 64


def test_endless_recursion_is_a_stack_overflow() -> None:
    function = """
    .func forever(.param .b32 n)
    {
    .reg .b32 %r<4>;
    .local .align 8 .b8 frame[256];
    ld.param.b32 %r0, [n];
    st.local.b32 [frame], %r0;
    add.u32 %r1, %r0, 1;
    { .param .b32 m; st.param.b32 [m], %r1; call.uni forever, (m); }
    ld.local.b32 %r2, [frame];
    st.local.b32 [frame+4], %r2;
    ret;
    }
    """
    body = "{ .param .b32 m; st.param.b32 [m], %r0; call.uni forever, (m); } st.global.u32 [%rd1], 1; ret;"
    with pytest.raises(KernelFault, match="stack overflow"):
        run(kernel(body, function), "cpu", 64)
    agrees(kernel(OLD_VALUE_KEPT))


LAST_BLOCK_RELEASES = """
mov.u32 %r4, %nctaid.x; sub.u32 %r5, %r4, 1;
setp.eq.u32 %p1, %r2, %r5;
@%p1 bra RELEASE;
WAIT: ld.acquire.gpu.global.u32 %r6, [%rd0];
setp.eq.u32 %p2, %r6, 0;
@%p2 bra WAIT;
bra.uni DONE;
RELEASE: mov.u32 %r7, 7; st.release.gpu.global.u32 [%rd0], %r7;
DONE: st.global.u32 [%rd1+4], %r2; ret;
"""


def test_hundreds_of_blocks_wait_for_the_last() -> None:
    out = run(kernel(LAST_BLOCK_RELEASES), "cpu", threads=1, blocks=300, words=302)
    np.testing.assert_array_equal(out[1:301], np.arange(300))


def test_more_blocks_wait_than_can_be_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawloom.cpu.program._SLOTS_WHEN_SPINNING", 4)
    monkeypatch.setattr("drawloom.cpu.program.SPIN_LIMIT_SECONDS", 0.5)
    with pytest.raises(DeadlockError, match=r"the first 4 blocks, as many as can be under way .* 2 have not begun"):
        run(kernel(LAST_BLOCK_RELEASES), "cpu", threads=1, blocks=6, words=8)


def test_local_memory_behind_a_guarded_warp_barrier() -> None:
    """LLVM refused the code: the address of local memory was loaded in the branch of the guard."""
    text = (
        HEADER
        + """.visible .entry k(.param .u64 out)
{
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .local .align 4 .b32 mine[2];
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; st.local.u32 [mine], %r0; setp.lt.u32 %p0, %r0, 9;
@%p0 bar.warp.sync 511;
ld.local.u32 %r1, [mine]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r1; ret;
}
"""
    )
    out = np.zeros(32, np.uint32)
    drawloom.load(text, device="cpu", level=0)["k"][1, 32](out)
    assert out.tolist() == list(range(32))
