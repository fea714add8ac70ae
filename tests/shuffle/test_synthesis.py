"""The code that candidates become: what it looks like, and that kernels compute the same with it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom.errors import DataError
from drawloom.ptx import parse, verify
from drawloom.shuffle.pipeline import Shuffled, shuffle
from tools.fuzz_shuffle import check_program
from tools.programs.stencils import generate_stencil

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "shuffle"

#: out[i] += in[i] .. by some loads of one type around i.
KERNEL = """
.version 6.0
.target sm_60
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n){shape}
{{
    .reg .pred %p<4>; .reg .b16 %s<8>; .reg .b32 %r<16>; .reg .b64 %l<16>; .reg .f32 %f<8>; .reg .f64 %d<8>;
    ld.param.u64 %l1, [in];
    ld.param.u64 %l2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %l3, %r2, %r3;
    cvt.u64.u32 %l4, %r4;
    add.u64 %l3, %l3, %l4;
    shl.b64 %l5, %l3, {shift};
    add.u64 %l6, %l1, %l5;
    shl.b64 %l7, %l3, 3;
    add.u64 %l8, %l2, %l7;
{body}
    st.global.u64 [%l8], %l9;
    ret;
}}
"""
BLOCKS = ((1, 1, 1), (31, 1, 1), (32, 1, 1), (33, 1, 1), (97, 1, 1), (256, 1, 1), (16, 4, 1))


def kernel(body: str, shift: int = 2, shape: str = "") -> str:
    return KERNEL.format(body=body, shift=shift, shape=shape)


def outputs(text: str, block: tuple[int, int, int], device: str = "cpu") -> list[int]:
    """What the threads leave, from the same input every time."""
    numbers = np.random.default_rng(1).integers(0, 1 << 32, 4096, dtype=np.uint32)
    out = np.zeros(1024, np.uint64)
    drawloom.load(text, device=device, reinterpret=True)["k"][2, block](numbers, out, 40)
    return [int(n) for n in out]


def same_on_the_cpu(text: str, shuffles: int, shared: bool = False) -> Shuffled:
    """The module with all shuffles, after it has computed what it did before, in blocks of several sizes and shapes."""
    made = shuffle(text, apply="all", shared=shared)
    verify(parse(str(made)))
    assert made.report.shuffles == shuffles, made.report.text()
    for block in BLOCKS:
        assert outputs(str(made), block) == outputs(text, block), block
    return made


def test_listing_6() -> None:
    made = same_on_the_cpu(kernel("""
    ld.global.nc.f32 %f4, [%l6+12];
    ld.global.nc.f32 %f7, [%l6+4];
    sub.f32 %f1, %f4, %f7;
    mov.b32 %r6, %f1;
    cvt.u64.u32 %l9, %r6;"""), 1)  # fmt: skip
    text = str(made)
    code = text[text.index("activemask") : text.index("sub.f32")]
    words = [word for word in code.replace("@", "").split() if "." in word]
    assert words == ["activemask.b32", "setp.ne.s32", "setp.lt.or.u32", "shfl.sync.up.b32", "ld.global.nc.f32"]
    assert "%laneid" in text
    assert made.version == (6, 2), "activemask is of PTX 6.2"


def test_a_known_shape_of_the_block_needs_no_test_of_it() -> None:
    body = "ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; mul.wide.u32 %l9, %r6, %r7;"
    assert "selp" in str(shuffle(kernel(body), apply="all"))
    made = shuffle(kernel(body, shape=" .reqntid 64"), apply="all")
    assert made.report.shuffles == 1
    assert "selp" not in str(made)


SHAPES = [("16, 2, 1", 0), ("7", 0), ("8, 8, 8", 0), ("48", 1), ("64, 3", 1)]


@pytest.mark.parametrize("shape, shuffles", SHAPES)
def test_what_no_block_of_a_known_shape_does_does_not_pay(shape: str, shuffles: int) -> None:
    text = kernel(
        "ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; mul.wide.u32 %l9, %r6, %r7;", 2, f" .reqntid {shape}"
    )
    report = shuffle(text, arch="sm_61").report
    assert report.shuffles == shuffles
    if not shuffles:
        reason = report.functions[0].kept[1].reason
        assert "does not pay" in reason or "full warp" in reason


def test_laneid_beside_tid_in_every_shape_of_block() -> None:
    """%laneid and %tid.x & 31 name one place in blocks of some shapes only."""
    text = kernel("""
    mov.u32 %r9, %laneid; and.b32 %r10, %r4, 31; mul.wide.u32 %l9, %r9, 4; add.s64 %l9, %l1, %l9;
    mul.wide.u32 %l10, %r10, 4; add.s64 %l10, %l1, %l10; ld.global.u32 %r6, [%l9]; ld.global.u32 %r7, [%l10];
    mov.u32 %r11, %tid.y; mad.lo.u32 %r11, %r11, %r3, %r4; mul.wide.u32 %l7, %r11, 8; add.s64 %l8, %l2, %l7;
    mad.wide.u32 %l9, %r6, %r7, 1;""")
    made = same_on_the_cpu(text, 1)
    assert "shfl" not in str(made) and "%ntid.z" in str(made)
    assert shuffle(text).report.shuffles == 1
    assert shuffle(str(made), apply="all").report.shuffles == 0
    start = "mov.u32 %r9, %laneid;"
    guard = start + " setp.lt.s32 %p2, %r1, 50; mov.b64 {%r6, %r7}, %l1;"
    guarded = text.replace("ld.global", "@%p2 ld.global").replace(start, guard)
    made = same_on_the_cpu(guarded.replace("mov.u32 %r11", "@%p2 ld.global.u32 %r9, [%l10]; mov.u32 %r11"), 2)
    assert shuffle(str(made), apply="all").report.shuffles == 0
    assert shuffle(text.replace("u32 n)", "u32 n) .reqntid 64")).report.shuffles == 1
    assert shuffle(text.replace("u32 n)", "u32 n) .reqntid 8, 4, 1"), apply="profitable").report.shuffles == 0


def test_the_report_tells_what_is_tested_from_what_is_taken_for_granted() -> None:
    laplacian = (GOLDEN / "clang" / "laplacian.ptx").read_text()
    for granted in (False, True):
        report = shuffle(laplacian, apply="all", assume_no_wrap=granted).report
        assert ("which is taken for granted" in report.text()) == granted
        assert "no-wrap" in report.text()


def test_one_load_twice_is_a_copy() -> None:
    made = same_on_the_cpu(kernel("""
    ld.global.u32 %r6, [%l6+4];
    st.global.u32 [%l8], %r6;
    ld.global.nc.u32 %r7, [%l6+8];
    ld.global.nc.u32 %r7, [%l6+8];
    mul.wide.u32 %l9, %r6, %r7;"""), 1)  # fmt: skip
    assert "shfl" not in str(made)
    assert shuffle(str(made), apply="profitable", arch="sm_90").report.shuffles == 0
    assert shuffle(kernel("ld.global.u64 %l9, [%l6]; ld.global.u64 %l9, [%l6];", 3), arch="sm_90").report.shuffles == 1


def test_architectures_without_shuffles_get_copies() -> None:
    loads = "ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; ld.global.u32 %r8, [%l6];"
    text = kernel(loads).replace("sm_60", "sm_20").replace(".version 6.0", ".version 3.0")
    made = shuffle(text, apply="all")
    verify(parse(str(made)))
    assert made.version == (3, 0)
    assert [rewrite.delta for rewrite in made.report.functions[0].rewrites] == [0]
    assert "sm_20 has no shuffles" in made.report.text()


@pytest.mark.parametrize(
    ("shift", "body"),
    [
        (0, "ld.global.u8 %r6, [%l6]; ld.global.u8 %s1, [%l6+3]; cvt.u32.u16 %r7, %s1; mul.wide.u32 %l9, %r6, %r7;"),
        (0, "ld.global.s8 %s1, [%l6]; ld.global.s8 %l9, [%l6+3]; cvt.s64.s16 %l10, %s1; xor.b64 %l9, %l9, %l10;"),
        (1, "ld.global.s16 %s1, [%l6]; ld.global.s16 %r6, [%l6+2]; cvt.s32.s16 %r7, %s1; mul.wide.s32 %l9, %r6, %r7;"),
        (1, "ld.global.u16 %l10, [%l6]; ld.global.u16 %s1, [%l6+2]; cvt.u64.u16 %l9, %s1; xor.b64 %l9, %l9, %l10;"),
        (2, "ld.global.s32 %l9, [%l6]; ld.global.s32 %l10, [%l6+8]; mad.lo.u64 %l9, %l9, 7, %l10;"),
        (2, "ld.global.u32 %r6, [%l6]; ld.global.u32 %l10, [%l6+8]; cvt.u64.u32 %l9, %r6; xor.b64 %l9, %l9, %l10;"),
        (3, "ld.global.u64 %l9, [%l6]; ld.global.u64 %l10, [%l6+248]; mad.lo.u64 %l9, %l9, 7, %l10;"),
        (3, "ld.global.f64 %d1, [%l6+16]; ld.global.f64 %d2, [%l6]; add.f64 %d1, %d1, %d2; mov.b64 %l9, %d1;"),
    ],
)  # fmt: skip
def test_every_width(shift: int, body: str) -> None:
    same_on_the_cpu(kernel(body, shift), 1)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("s32.s16", "s32"), ("u32.u16", "u32"), ("u32.u16", "s32"), ("s32.s8", "s32"), ("s64.s16", "")],
)
def test_an_index_that_was_widened_before_is_compared_as_what_the_register_holds(narrow: str, wide: str) -> None:
    """ptxas takes no ``setp.s16`` of a 32-bit register."""
    index = f"mul.wide.{wide} %l5, %r6, 4;" if wide else "shl.b64 %l5, %l6, 2;"
    read = f"cvt.{narrow} {'%r6' if wide else '%l6'}, %s1; {index} add.u64 %l10, %l1, %l5; ld.global.u32"
    body = f"""add.u32 %r5, %r4, %r1; cvt.u16.u32 %s1, %r5; {read} %r7, [%l10+516];
    add.u32 %r5, %r5, 2; cvt.u16.u32 %s1, %r5; {read} %r8, [%l10+512]; mul.wide.u32 %l9, %r8, %r7;"""
    assert "setp.gt" in str(same_on_the_cpu(kernel(body), 1))


@pytest.mark.parametrize(("type", "is_tested"), [("u16", True), ("s16", True), ("s32", False)])
def test_the_promise_that_indices_do_not_wrap_is_of_32_bits(type: str, is_tested: bool) -> None:
    """Conversions to narrower integers wrap as they are meant to."""
    narrow = "cvt.u16.u32 %s1, %r5; cvt.s64.{0} %l5, %s1;" if is_tested else "cvt.s64.{0} %l5, %r5;"
    read = f"{narrow.format(type)} shl.b64 %l5, %l5, 2; add.u64 %l10, %l1, %l5; ld.global.u32"
    body = f"""add.u32 %r5, %r4, %r1; {read} %r7, [%l10+516];
    add.u32 %r5, %r5, 2; {read} %r8, [%l10+512]; mul.wide.u32 %l9, %r8, %r7;"""
    made = shuffle(kernel(body), apply="all", assume_no_wrap=True)
    assert made.report.shuffles == 1
    assert (f"setp.lt.{type}" in str(made)) == is_tested
    assert ("taken for granted" in made.report.text()) != is_tested


def test_vectors_give_their_elements() -> None:
    made = same_on_the_cpu(kernel("""
    ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%l6];
    ld.global.v2.u32 {%r10, %r11}, [%l6+24];
    ld.global.u32 %r12, [%l6+12];
    mul.wide.u32 %l9, %r6, %r10;
    mad.wide.u32 %l9, %r7, %r11, %l9;
    mad.wide.u32 %l9, %r8, %r12, %l9;
    mad.wide.u32 %l9, %r9, %r12, %l9;""", 4), 2)  # fmt: skip
    assert str(made).count("shfl.sync.down.b32") == 2


def test_a_destination_that_is_the_address_keeps_it_for_the_lanes_at_the_edge() -> None:
    same_on_the_cpu(kernel("""
    ld.global.u64 %l10, [%l6];
    ld.global.u64 %l6, [%l6+8];
    mad.lo.u64 %l9, %l6, 7, %l10;""", 3), 1)  # fmt: skip


def test_a_source_whose_register_is_written_again_is_kept() -> None:
    same_on_the_cpu(kernel("""
    ld.global.u32 %r6, [%l6];
    cvt.u64.u32 %l9, %r6;
    mov.u32 %r6, 7;
    ld.global.u32 %r7, [%l6+4];
    mad.wide.u32 %l9, %r6, %r7, %l9;"""), 1)  # fmt: skip


SKIPPED_SOURCES = {
    "the shape of the block": """
    mov.u32 %r9, %laneid; and.b32 %r10, %r4, 31; mul.wide.u32 %l9, %r9, 2; add.s64 %l9, %l1, %l9;
    mul.wide.u32 %l10, %r10, 2; add.s64 %l10, %l1, %l10; mov.b16 %s2, 7; setp.ne.u32 %p1, %r9, %r10;
    @%p1 bra SKIP;
    ld.global.b16 %s1, [%l9+2];
    SKIP: ld.global.b16 %s2, [%l10];
    cvt.u64.u16 %l9, %s2;""",
    "the guard of the load": """
    mov.u32 %r9, %ctaid.x; setp.eq.u32 %p1, %r9, 0; mov.b16 %s2, 7;
    @!%p1 bra SKIP;
    ld.global.b16 %s1, [%l6+2];
    SKIP: @%p1 ld.global.b16 %s2, [%l6];
    cvt.u64.u16 %l9, %s2;""",
}


@pytest.mark.parametrize("body", SKIPPED_SOURCES.values(), ids=SKIPPED_SOURCES.keys())
def test_the_register_of_a_source_that_was_skipped_is_not_read_unwritten(body: str) -> None:
    text = kernel(body, 1)
    made = same_on_the_cpu(text, 1)
    for block in ((32, 1, 1), (8, 4, 2)):
        assert outputs(str(made), block, "reference") == outputs(text, block, "reference"), block


def test_lanes_whose_guard_is_false_give_their_values() -> None:
    same_on_the_cpu(kernel("""
    and.b32 %r8, %r4, 3;
    setp.eq.u32 %p1, %r8, 1;
    mov.u32 %r7, 9;
    ld.global.u32 %r6, [%l6];
    @!%p1 ld.global.u32 %r7, [%l6+4];
    mul.wide.u32 %l9, %r6, %r7;"""), 1)  # fmt: skip


#: An inner loop that lanes leave apart, in a loop around it.
NESTED = """
    mov.u64 %l9, 0;
    mov.u32 %r10, 3;
OUTER:
    and.b32 %r11, %r4, 3;
    mov.u64 %l10, %l6;
INNER:
    ld.global.u32 %r6, [%l10];
    ld.global.u32 %r7, [%l10+4];
    mad.wide.u32 %l9, %r6, %r7, %l9;
    add.u64 %l10, %l10, 4;
    sub.u32 %r11, %r11, 1;
    setp.ge.s32 %p1, %r11, 0;
    @%p1 bra INNER;
    sub.u32 %r10, %r10, 1;
    setp.ge.s32 %p2, %r10, 0;
    @%p2 bra OUTER;"""


def test_lanes_in_different_iterations_of_a_loop_around_give_each_other_nothing() -> None:
    text = kernel(NESTED)
    made = same_on_the_cpu(text, 1)
    assert "in the same iteration" in made.report.text()
    for block in ((32, 1, 1), (97, 1, 1)):
        assert outputs(str(made), block, "reference") == outputs(text, block, "reference"), block


#: Odd lanes skip the last row, even ones the first, so they come to the inner loop together in different rows.
SKEWED = """
    mov.u64 %l9, 0;
    mov.u32 %r10, 0;
    and.b32 %r13, %r4, 1;
    mul.lo.u32 %r13, %r13, 3;
OUTER:
    setp.eq.u32 %p3, %r10, %r13;
    @%p3 bra NEXT;
    mul.wide.u32 %l10, %r10, 128;
    add.u64 %l10, %l10, %l6;
    mov.u32 %r11, %r4;
INNER:
    ld.global.u32 %r6, [%l10];
    ld.global.u32 %r7, [%l10+4];
    mad.wide.u32 %l9, %r6, %r7, %l9;
    add.u64 %l10, %l10, 128;
    add.u32 %r11, %r11, 32;
    setp.lt.u32 %p1, %r11, 70;
    @%p1 bra INNER;
NEXT:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, 4;
    @%p2 bra OUTER;"""


@pytest.mark.parametrize("part", ["counters", "vote"])
@pytest.mark.parametrize("body", [NESTED, SKEWED], ids=["trips differ", "rows are skipped"])
def test_each_part_of_the_test_of_iterations_is_needed(body: str, part: str) -> None:
    """Without the counters lanes in different rows pass for one meeting, without the vote those of two meetings."""
    text = kernel(body)
    block = (32, 1, 1)
    expected = outputs(text, block, "reference")
    made = str(shuffle(text, apply="all"))
    assert "vote.sync.any" in made and "shfl.sync.idx" in made
    assert outputs(made, block, "reference") == expected
    lines = made.splitlines()
    if part == "counters":
        lines = [line for line in lines if "@!" not in line]
    else:
        voted = [line.replace(",", " ").replace(";", " ").split()[1:3] for line in lines if "vote.sync.any" in line]
        lines = [line if "vote.sync.any" not in line else f"    setp.ne.s32 {voted[0][0]}, 0, 0;" for line in lines]
    is_hit = body == SKEWED or part == "vote"
    assert (outputs("\n".join(lines), block, "reference") != expected) == is_hit


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("places", [0, 1, 64, 128], ids=["equal", "one place apart", "side by side", "apart"])
def test_a_store_through_another_pointer_is_seen_where_the_two_overlap(places: int, device: str) -> None:
    """Each thread stores at its place of ``out``, and loads its place of ``in`` before and after."""
    text = kernel(
        """
    ld.global.u32 %r6, [%l6];
    add.u32 %r6, %r6, 5;
    st.global.u32 [%l8], %r6;
    ld.global.u32 %r7, [%l6];
    mul.wide.u32 %l9, %r6, %r7;
    bar.sync 0;""",
        3,
    )
    made = shuffle(text, apply="all")
    assert made.report.shuffles == 1
    results = []
    for module in (text, str(made)):
        array = np.arange(256, dtype=np.uint64)
        # Of threads that share a place only the first runs, so that no two race.
        threads = 64 if places in (0, 64, 128) else 1
        drawloom.load(module, device=device, reinterpret=True)["k"][1, threads](array, array[places:], 0)
        results.append(array.tobytes())
    assert results[0] == results[1]


def test_the_test_of_pointers_pays_in_a_loop_and_not_for_one_load() -> None:
    again = "ld.global.u32 %r6, [%l6]; st.global.u32 [%l8], %r6; ld.global.u32 %r7, [%l6];"
    once = kernel(again + "mul.wide.u32 %l9, %r6, %r7;", 3)
    assert shuffle(once, arch="sm_70").report.shuffles == 0
    assert shuffle(once, apply="all").report.shuffles == 1
    loop = f"mov.u32 %r10, 0; AGAIN: {again} add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 9; @%p1 bra AGAIN;"
    often = kernel(loop + "mul.wide.u32 %l9, %r6, %r7;", 3)
    assert shuffle(often, arch="sm_70").report.shuffles == 1
    assert shuffle(often, arch="cpu").report.shuffles == 0


def test_shared_memory_is_an_option() -> None:
    body = """
    .shared .b32 pool[512];
    mov.u32 %r10, pool;
    mad.lo.u32 %r10, %r4, 4, %r10;
    ld.global.u32 %r6, [%l6];
    st.shared.u32 [%r10], %r6;
    bar.sync 0;
    ld.shared.u32 %r7, [%r10];
    ld.shared.u32 %r8, [%r10];
    mul.wide.u32 %l9, %r7, %r8;"""
    assert shuffle(kernel(body), apply="all").report.shuffles == 0
    same_on_the_cpu(kernel(body), 1, shared=True)


def test_the_default_is_what_pays() -> None:
    body = "ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; mul.wide.u32 %l9, %r6, %r7;"
    made = {arch: shuffle(kernel(body), arch=arch).report for arch in ("sm_52", "sm_61", "sm_70", "sm_90", "cpu")}
    assert {arch: report.shuffles for arch, report in made.items()} == {
        "sm_52": 1, "sm_61": 1, "sm_70": 0, "sm_90": 0, "cpu": 0,
    }  # fmt: skip
    assert "does not pay on sm_90" in made["sm_90"].text()


def test_a_value_that_the_lane_has_itself_pays_on_the_cpu() -> None:
    body = "ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6]; mul.wide.u32 %l9, %r6, %r7;"
    assert shuffle(kernel(body), arch="cpu").report.shuffles == 1


def test_none_only_reports() -> None:
    text = kernel("ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; mul.wide.u32 %l9, %r6, %r7;")
    made = shuffle(text, apply="none")
    assert made == parse(text)
    assert (made.report.shuffles, made.report.loads) == (1, 2)
    assert "can be shuffles" in made.report.text()


def test_variants_leave_out_loads_and_say_that_they_are_wrong() -> None:
    text = kernel("ld.global.u32 %r6, [%l6]; ld.global.u32 %r7, [%l6+4]; mul.wide.u32 %l9, %r6, %r7;")
    for variant, shuffles in (("no-load", 0), ("no-corner", 1)):
        made = shuffle(text, apply="all", variant=variant)
        verify(parse(str(made)))
        assert str(made).count("ld.global") == 1
        assert str(made).count("shfl.sync") == shuffles
        assert made.report.text().splitlines()[1].startswith("warning: these are not the results")


def test_words_that_do_not_exist_are_refused() -> None:
    text = kernel("mov.u64 %l9, 0;")
    with pytest.raises(DataError, match="no way to apply 'some'"):
        shuffle(text, apply="some")
    with pytest.raises(DataError, match="no variant 'no-code'"):
        shuffle(text, variant="no-code")
    for arch in ("70", "sm70", "sm_", "gpu"):
        with pytest.raises(DataError, match=f"no architecture '{arch}'"):
            shuffle(text, arch=arch)


def test_the_room_can_be_called() -> None:
    import_module("drawloom.shuffle.facts")  # which puts the room, not a function, into drawloom
    made = drawloom.shuffle(kernel("mov.u64 %l9, 0;"))
    assert made.report.shuffles == 0


@pytest.mark.parametrize("seed", range(9000, 9004))
def test_generated_kernels_compute_the_same(seed: int) -> None:
    message, _ = check_program(generate_stencil(seed))
    assert message == ""
