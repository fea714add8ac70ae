"""Gangs: units of a few lanes of one row of threads, for kernels whose warps need not go in step."""

import numpy as np
import pytest

import drawloom
from drawloom.cpu.compile import compile_kernel
from drawloom.cpu.gangs import gang_for, only_gang_for, suited_layout
from drawloom.ptx import parse
from tests.cpu.kernels import agrees, kernel

AVX2 = frozenset(["avx", "avx2"])
SHARED = ".shared .align 4 .b8 smem[4096];\n"
#: %r11: the thread's own word of shared memory.
OWN = "mov.u32 %r10, smem; shl.b32 %r12, %r0, 2; add.u32 %r11, %r10, %r12;"
#: What each thread of a block of any shape writes at its own place: its number, and its coordinates.
COORDINATES = """
    mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.z; mov.u32 %r6, %ntid.y;
    mad.lo.u32 %r7, %r5, %r6, %r4; mad.lo.u32 %r7, %r7, %r3, %r0;
    mul.wide.u32 %rd4, %r7, 4; add.s64 %rd4, %rd0, %rd4;
    shl.b32 %r8, %r5, 20; shl.b32 %r9, %r4, 10; or.b32 %r8, %r8, %r9; or.b32 %r8, %r8, %r0;
    st.global.u32 [%rd4], %r8; ret;
    """


def gang_of(body: str, before: str = SHARED) -> str:
    module = parse(kernel(body, before))
    return gang_for(module, module.functions["k"], AVX2)


@pytest.mark.parametrize("lanes", ["4", "8", "16"])
@pytest.mark.parametrize("block", [(64, 1, 1), (5, 1, 1), (12, 4, 1), (3, 5, 7), (1, 40, 2), (17, 3, 1)])
def test_threads_of_blocks_of_any_shape_have_their_coordinates(
    block: tuple[int, int, int], lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    out = np.zeros(block[0] * block[1] * block[2], np.uint32)
    drawloom.load(kernel(COORDINATES), device="cpu")["k"][1, block](out, out)
    x, y, z = [axis.ravel() for axis in np.indices(block[::-1])[::-1]]
    np.testing.assert_array_equal(out, x | y << 10 | z << 20)


def test_barriers_hold_among_gangs_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread reads what the thread at the other end has written."""
    monkeypatch.setenv("DRAWLOOM_LANES", "8")
    body = f"""{OWN} st.shared.u32 [%r11], %r0; bar.sync 0;
        sub.u32 %r4, %r3, %r0; sub.u32 %r4, %r4, 1; shl.b32 %r4, %r4, 2; add.u32 %r4, %r10, %r4;
        ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5; ret;"""
    for threads in (7, 32, 100, 256):
        np.testing.assert_array_equal(agrees(kernel(body, SHARED), threads)[::-1], np.arange(threads))


def test_a_reduction_over_a_barrier_counts_threads_not_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", "8")
    body = "setp.gt.u32 %p1, %r0, 4; bar.red.popc.u32 %r4, 0, %p1; st.global.u32 [%rd1], %r4; ret;"
    assert set(agrees(kernel(body), 77)) == {72}


def test_warp_operations_and_what_numbers_lanes_keep_warps() -> None:
    assert gang_of("st.global.u32 [%rd1], %r0; ret;") == "gang8"
    assert gang_of("mov.u32 %r4, %laneid; st.global.u32 [%rd1], %r4; ret;") == ""
    assert gang_of("vote.sync.ballot.b32 %r4, 1, -1; st.global.u32 [%rd1], %r4; ret;") == ""
    assert gang_of(f"{OWN} ld.volatile.shared.u32 %r4, [%r11]; st.global.u32 [%rd1], %r4; ret;") == ""
    assert gang_of("bar.sync 0, 64; st.global.u32 [%rd1], %r0; ret;") == ""


HAND_OVER = f"{OWN} st.shared.u32 [%r11], %r0; {{between}} ld.shared.u32 %r5, [{{address}}]; st.global.u32 [%rd1], %r5;"


@pytest.mark.parametrize(
    ("address", "between", "gang"),
    [
        ("%r11", "", "gang8"),  # a lane's own word
        ("%r11+64", "", ""),  # that of the sixteenth lane after it
        ("%r11+124", "", ""),
        ("%r11+128", "", "gang8"),  # of no lane of this warp
        ("%r11+64", "bar.sync 0;", "gang8"),
        ("%r11+2", "", ""),  # half of the next lane's
        ("%r10", "", ""),  # the first lane's
        ("%r11", "add.u32 %r11, %r11, 4;", ""),  # the register has changed
        ("other", "", "gang8"),  # another variable
    ],
)
def test_lanes_that_hand_values_over_without_a_barrier_keep_warps(address: str, between: str, gang: str) -> None:
    before = SHARED + ".shared .align 4 .b8 other[64];\n"
    assert gang_of(HAND_OVER.format(address=address, between=between), before) == gang


@pytest.mark.parametrize(("constant", "gang"), [(64, ""), (640, "gang8")])
def test_a_constant_that_is_added_to_an_address_counts(constant: int, gang: str) -> None:
    body = f"{OWN} st.shared.u32 [%r11], %r0; add.u32 %r13, %r11, {constant}; add.u32 %r14, %r13, 4;"
    assert gang_of(f"{body} ld.shared.u32 %r5, [%r14]; st.global.u32 [%rd1], %r5; ret;") == gang


def test_places_from_an_irregular_address_are_no_hand_over() -> None:
    body = f"{OWN} shr.u32 %r13, %r0, 1; and.b32 %r14, %r0, 1; mad.lo.u32 %r13, %r14, 512, %r13; shl.b32 %r13, %r13, 2;"
    body += "add.u32 %r13, %r10, %r13; st.shared.u32 [%r13], %r0; ld.shared.u32 %r5, [%r13+4];"
    assert gang_of(f"{body} st.global.u32 [%rd1], %r5; ret;") == "gang8"


def test_a_hand_over_around_a_loop_is_found() -> None:
    body = f"""{OWN} mov.u32 %r4, 0;
        LOOP: ld.shared.u32 %r5, [%r11+8]; st.shared.u32 [%r11], %r5;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 4; @%p1 bra LOOP; ret;"""
    assert gang_of(body) == ""
    assert gang_of(body.replace("add.u32 %r4,", "bar.sync 0; add.u32 %r4,", 1)) == "gang8"


def test_odd_rows_and_large_kernels_go_by_gangs_others_by_warps() -> None:
    small = parse(kernel("st.global.u32 [%rd1], %r0; ret;"))
    large = parse(kernel("add.u32 %r0, %r0, 1;" * 501 + "st.global.u32 [%rd1], %r0; ret;"))
    assert suited_layout(small, small.functions["k"], (64, 1, 1), AVX2) == "linear"
    assert suited_layout(small, small.functions["k"], (12, 4, 1), AVX2) == "gang8"
    assert suited_layout(large, large.functions["k"], (64, 1, 1), AVX2) == "gang8"
    assert gang_for(small, small.functions["k"], frozenset(["avx", "avx512f"])) == "gang16"


def test_large_kernels_of_doubles_have_half_the_lanes() -> None:
    body = "add.rn.f64 %d0, %d0, %d0;" * 501 + "ret;"
    module = parse(kernel(".reg .f64 %d<2>; mov.f64 %d0, 0d0000000000000000;" + body))
    assert only_gang_for(module, module.functions["k"], AVX2) == "gang4"


def test_masks_that_outlast_a_block_are_not_packed_into_bits() -> None:
    module = parse(kernel("setp.lt.u32 %p1, %r0, 3; @%p1 bra ON; mov.u32 %r4, 7; ON: st.global.u32 [%rd1], %r4; ret;"))
    code = compile_kernel(module, "k", "gang8", False, AVX2)
    assert "alloca <8 x i1>" not in code.text
    code = compile_kernel(module, "k", "gang16", False, AVX2 | {"avx512f"})
    assert "alloca <16 x i1>" in code.text


def test_scattered_stores_share_a_function() -> None:
    stores = "mul.lo.u32 %r4, %r0, 9; mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd0, %rd4;"
    stores += "st.global.u32 [%rd4], %r0; st.global.u32 [%rd4+4], %r1;" * 50
    module = parse(kernel(stores + "ret;"))
    code = compile_kernel(module, "k", "gang8", False, AVX2)
    assert code.text.count("define internal void @scatter.") == 1
