"""Copies that run ahead, and barriers in memory: the cpu device beside the reference, in every layout of lanes."""

from collections.abc import Iterator

import numpy as np
import pytest

import drawloom
from drawloom.errors import Error
from drawloom.ptx import parse, verify
from drawloom.ptx.asynchronous import synchronous

HEADER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;
.shared .align 16 .b8 stage[4096]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u32 %r1, [n];
mov.u32 %r0, %tid.x; mov.u32 %r31, stage; shl.b32 %r30, %r0, 4; add.u32 %r2, %r31, %r30;
mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd1, %rd2; add.u64 %rd4, %rd0, %rd2;
"""
#: What the neighbour's 16 bytes are, to the output.
GIVE = """
xor.b32 %r28, %r30, 1008; add.u32 %r29, %r31, %r28; ld.shared.v2.b64 {%rd30, %rd31}, [%r29];
st.global.v2.b64 [%rd4], {%rd30, %rd31}; ret;
}
"""
CLEAR = "mov.b64 %rd29, -1; st.shared.v2.b64 [%r2], {%rd29, %rd29};\n"
INIT = "setp.ne.u32 %p7, %r0, 0; @!%p7 mbarrier.init.shared.b64 [bar], COUNT; bar.sync 0;\n"
THREADS = 64


@pytest.fixture(params=["32", "1", "block"])
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("DRAWLOOM_LANES", request.param)
    yield request.param


def run(text: str, device: str, n: int = 0) -> np.ndarray:
    given = np.random.default_rng(7).integers(0, 256, THREADS * 16, dtype=np.uint8)
    out = np.zeros(THREADS * 16, np.uint8)
    drawloom.load(text, device=device)["k"][1, THREADS](out, given, np.uint32(n))
    return out


def agrees(body: str, n: int = 0) -> np.ndarray:
    text = HEADER + body + GIVE
    want = run(text, "reference", n)
    assert want.any()
    np.testing.assert_array_equal(run(text, "cpu", n), want)
    return want


COPIES = {
    "4": "cp.async.ca.shared.global [%r2+8], [%rd3+4], 4;",
    "8": "cp.async.ca.shared::cta.global.L2::128B [%r2], [%rd3+8], 8;",
    "16": "cp.async.cg.shared.global [%r2], [%rd3], 16;",
    "part": "and.b32 %r3, %r0, 31; cp.async.ca.shared.global [%r2], [%rd3], 16, %r3;",
    "part of 8": "rem.u32 %r3, %r0, 9; cp.async.ca.shared.global [%r2+8], [%rd3], 8, %r3;",
    "seven": "cp.async.ca.shared.global [%r2], [%rd3], 16, 7;",
    "none": "cp.async.ca.shared.global [%r2], [%rd3], 16, 0; cp.async.ca.shared.global [%r2], [%rd3], 4;",
    "ignored": "setp.lt.u32 %p1, %r0, 21; cp.async.cg.shared.global [%r2], [%rd3], 16, %p1;",
    "taken": "setp.lt.u32 %p1, %r0, 21; cp.async.cg.shared.global [%r2], [%rd3], 16, !%p1;",
    "policy": "mov.b64 %rd9, 0; cp.async.cg.shared.global.L2::cache_hint [%r2], [%rd3], 16, 8, %rd9;",
    "guarded": "setp.lt.u32 %p1, %r0, 9; and.b32 %r3, %r0, 15; @!%p1 cp.async.ca.shared.global [%r2], [%rd3], 16, %r3;",
    "wide": "cvt.u64.u32 %rd9, %r2; cp.async.ca.shared.global [%rd9], [%rd3], 16;",
}


@pytest.mark.parametrize("copy", list(COPIES))
def test_a_copy_brings_what_it_names_and_zeros(lanes: str, copy: str) -> None:
    agrees(CLEAR + COPIES[copy] + "cp.async.wait_all; bar.sync 0;")


def test_groups_are_waited_for_in_their_order(lanes: str) -> None:
    body = """
    cp.async.ca.shared.global [%r2], [%rd3], 8; cp.async.commit_group;
    cp.async.ca.shared.global [%r2+8], [%rd3+8], 8; cp.async.commit_group;
    cp.async.wait_group 1; ld.shared.u32 %r3, [%r2]; cp.async.wait_group 0;
    add.u32 %r3, %r3, 1; st.shared.u32 [%r2], %r3; bar.sync 0;
    """
    agrees(body)


def test_the_reference_shows_what_nobody_waited_for() -> None:
    """The second group is still on its way: the reference keeps what was there, which is one of the legal results."""
    body = (
        CLEAR
        + """
    cp.async.ca.shared.global [%r2], [%rd3], 8; cp.async.commit_group;
    cp.async.ca.shared.global [%r2+8], [%rd3+8], 8; cp.async.commit_group;
    cp.async.wait_group 1; bar.sync 0;
    """
    )
    out = run(HEADER + body + GIVE, "reference").reshape(THREADS, 16)
    assert (out[:, 8:] == 255).all()
    assert not (out[:, :8] == 255).all()


BARRIERS = {
    "tokens": "mbarrier.arrive.shared.b64 %rd9, [bar]; w: mbarrier.test_wait.shared.b64 %p1, [bar], %rd9; @!%p1 bra w;",
    "parity": "mbarrier.arrive.shared.b64 _, [bar]; w: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w;",
    "generic": """
        mov.u64 %rd8, bar; cvta.shared.u64 %rd8, %rd8; mbarrier.arrive.release.cta.b64 %rd9, [%rd8];
        w: mbarrier.try_wait.acquire.cta.b64 %p1, [%rd8], %rd9, 1000; @!%p1 bra w;
    """,
    "copies": """
        cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 %rd9, [bar];
        w: mbarrier.test_wait.shared.b64 %p1, [bar], %rd9; @!%p1 bra w;
    """,
    "copies that count": """
        cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
        w: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w;
    """,
    "bytes": """
        mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 24; mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 8;
        mbarrier.complete_tx.shared.b64 [bar], 32;
        w: mbarrier.test_wait.shared.b64 %p1, [bar], %rd9; @!%p1 bra w;
    """,
}


@pytest.mark.parametrize("way", list(BARRIERS))
def test_a_barrier_in_memory_lets_everybody_see_what_came_before(lanes: str, way: str) -> None:
    copy = "" if way.startswith("copies") else "cp.async.wait_all;"
    body = INIT.replace("COUNT", "64") + f"cp.async.ca.shared.global [%r2], [%rd3], 16; {copy}" + BARRIERS[way]
    agrees(body)


def test_phases_follow_each_other_and_threads_drop_out(lanes: str) -> None:
    """Round by round a thread less: those that are left wait for each other only."""
    body = (
        INIT.replace("COUNT", "64")
        + """
    mov.u32 %r3, 0; mov.u32 %r4, 0; and.b32 %r6, %r0, 3;
    round:
    setp.eq.u32 %p1, %r3, %r6;
    @%p1 mbarrier.arrive_drop.shared.b64 %rd9, [bar];
    @%p1 bra left;
    mbarrier.arrive.shared.b64 %rd9, [bar];
    wait: mbarrier.test_wait.shared.b64 %p2, [bar], %rd9; @!%p2 bra wait;
    add.u32 %r4, %r4, 10; add.u32 %r3, %r3, 1; bra round;
    left: bar.sync 0; st.shared.v4.b32 [%r2], {%r4, %r3, %r6, %r0}; bar.sync 0;
    """
    )
    out = agrees(body).view(np.uint32).reshape(THREADS, 4)
    np.testing.assert_array_equal(out[:, 0], 10 * out[:, 2])


def test_arrivals_count_and_what_is_pending_can_be_asked(lanes: str) -> None:
    body = (
        INIT.replace("COUNT", "70")
        + """
    mov.u32 %r3, 1; setp.eq.u32 %p1, %r0, 5; selp.u32 %r3, 7, 1, %p1;
    @%p1 mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 3;
    @%p1 sub.u32 %r3, %r3, 3;
    bar.sync 0;
    mbarrier.arrive.release.cta.shared::cta.b64 %rd9, [bar], %r3;
    mbarrier.pending_count.b64 %r4, %rd9;
    w: mbarrier.test_wait.shared.b64 %p2, [bar], %rd9; @!%p2 bra w;
    setp.le.u32 %p3, %r4, 67; setp.ge.and.u32 %p3, %r4, 1, %p3; selp.u32 %r5, 1, 2, %p3;
    st.shared.v4.b32 [%r2], {%r5, %r5, %r0, %r3}; mbarrier.inval.shared.b64 [bar]; bar.sync 0;
    """
    )
    out = agrees(body).view(np.uint32).reshape(THREADS, 4)
    assert (out[:, 0] == 1).all()


def test_one_warp_hands_over_to_another(lanes: str) -> None:
    """The first warp fills a buffer again and again, the second empties it: two barriers, many phases."""
    body = """
    .shared .align 8 .b64 empty;
    setp.ne.u32 %p7, %r0, 0; @%p7 bra ready;
    mbarrier.init.shared.b64 [bar], 32; mbarrier.init.shared.b64 [empty], 32;
    ready: bar.sync 0;
    mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0; and.b32 %r6, %r0, 31; shl.b32 %r7, %r6, 2; add.u32 %r8, %r31, %r7;
    xor.b32 %r9, %r7, 20; add.u32 %r9, %r31, %r9; setp.ge.u32 %p1, %r0, 32; @%p1 bra taking;
    making: mad.lo.u32 %r10, %r3, 100, %r6; st.shared.u32 [%r8], %r10;
    mbarrier.arrive.shared.b64 _, [bar]; and.b32 %r11, %r3, 1;
    full: mbarrier.try_wait.parity.shared.b64 %p2, [empty], %r11; @!%p2 bra full;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 5; @%p3 bra making; bra done;
    taking: and.b32 %r11, %r3, 1;
    none: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r11; @!%p2 bra none;
    ld.shared.u32 %r10, [%r9]; mad.lo.u32 %r4, %r4, 3, %r10; mbarrier.arrive.shared.b64 _, [empty];
    add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 5; @%p3 bra taking;
    done: bar.sync 0; st.shared.v4.b32 [%r2], {%r4, %r3, %r0, %r6}; bar.sync 0;
    """
    out = agrees(body).view(np.uint32).reshape(THREADS, 4)
    assert len(set(out[:, 0])) == 33


@pytest.mark.parametrize(
    ("body", "device", "message"),
    [
        ("cp.async.ca.shared.global [%r2+4], [%rd3], 8;", "reference", "misaligned"),
        ("cp.async.ca.shared.global [%r2+4096], [%rd3], 16;", "reference", "outside of shared memory"),
        ("cp.async.ca.shared.global [%r2], [%rd3+4096], 16;", "reference", "outside of every buffer"),
        (INIT.replace("COUNT", "3") + "mbarrier.arrive.noComplete.shared.b64 _, [bar], 4;", "reference", "arrivals"),
        ("mbarrier.init.b64 [%rd4], 3;", "reference", "must be in shared memory"),
    ],
)
def test_wrong_use_is_an_error(body: str, device: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        run(HEADER + body + GIVE, device)


def test_what_is_made_of_it_is_ptx() -> None:
    text = HEADER + INIT.replace("COUNT", "64") + " ".join(COPIES.values()).replace(";", ";\n") + GIVE
    module = parse(text)
    made = synchronous(module)
    verify(made)
    assert parse(str(made)) == made
    assert "cp.async" not in str(made)
    assert "mbarrier" not in str(made)
    assert synchronous(made) is made
