"""Shapes of registers: each transfer rule, joins, and that what a shape claims holds for every lane of every warp."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drawloom
from drawloom.cpu.layouts import SEGMENTS, layout_of
from drawloom.cpu.shapes import AFFINE, UNIFORM, UNIFORM_SHAPE, VARYING, VARYING_SHAPE, WIDENED, Rules, Shape
from drawloom.cpu.shapes import join as joined
from drawloom.cpu.structure import Structure
from drawloom.ptx import parse, verify
from drawloom.ptx.cfg import build_cfg

HEADER = ".version 8.3\n.target sm_80\n.address_size 64\n"
DECLARATIONS = """.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f32 %f<4>;
.local .align 8 .b8 mine[24];
mov.u32 %r0, %tid.x;
ld.param.u32 %r1, [n];
mul.lo.u32 %r2, %r0, 4;
cvt.u64.u32 %rd0, %r0;
cvt.s64.s32 %rd1, %r2;
ld.param.u64 %rd2, [out];
mul.lo.u32 %r3, %r0, %r0;
mov.u32 %r10, %tid.y;
mov.u32 %r11, %laneid;
"""


def shapes_of(body: str, segment: int = 32) -> dict[str, Shape]:
    """The shape of every register of a kernel. %r0 is affine 1, %r1 uniform, %r2 affine 4, %r3 varying; %rd0 and
    %rd1 are widened, %rd2 uniform."""
    module = parse(HEADER + DECLARATIONS + body + "\nret;\n}\n")
    verify(module)
    function = module.functions["k"]
    rules = Rules(segment, frozenset(["out", "n"]), frozenset(["mine"]), 32)
    plan = Structure(build_cfg(function, module), rules, True)
    return {r.name: s for r, s in zip(function.registers, plan.shapes, strict=True) if s is not None}


@pytest.mark.parametrize(
    ("instruction", "register", "expected"),
    [
        ("mov.u32 %r4, 7;", "%r4", "uniform"),
        ("mov.u32 %r4, %r0;", "%r4", "affine 1"),
        ("mov.u32 %r4, %ctaid.x;", "%r4", "uniform"),
        ("mov.u32 %r4, %laneid;", "%r4", "affine 1"),
        ("mov.u32 %r4, %lanemask_lt;", "%r4", "varying"),
        ("mov.u64 %rd4, mine;", "%rd4", "affine 32"),
        ("mov.b32 {%h0, %h1}, %r0;", "%h0", "varying"),
        ("mov.b64 %rd4, {%r0, %r1};", "%rd4", "varying"),
        ("add.u32 %r4, %r0, %r1;", "%r4", "affine 1"),
        ("add.u32 %r4, %r0, %r2;", "%r4", "affine 5"),
        ("add.u32 %r4, %r0, %r3;", "%r4", "varying"),
        ("add.u32 %r4, %r1, %r1;", "%r4", "uniform"),
        ("add.sat.s32 %r4, %r0, 5;", "%r4", "varying"),
        ("sub.u32 %r4, %r1, %r0;", "%r4", "affine -1"),
        ("sub.u32 %r4, %r2, %r2;", "%r4", "uniform"),
        ("neg.s32 %r4, %r2;", "%r4", "affine -4"),
        ("shl.b32 %r4, %r0, 3;", "%r4", "affine 8"),
        ("shl.b32 %r4, %r0, 31;", "%r4", "affine -2147483648"),
        ("shl.b32 %r4, %r0, 32;", "%r4", "varying"),
        ("shl.b32 %r4, %r0, %r1;", "%r4", "varying"),
        ("mul.lo.u32 %r4, %r0, -3;", "%r4", "affine -3"),
        ("mul.lo.u32 %r4, 1073741824, %r2;", "%r4", "uniform"),  # 4 * 2^30 is 0 modulo 2^32
        ("mul.lo.u32 %r4, %r0, %r1;", "%r4", "varying"),
        ("mul.hi.u32 %r4, %r0, 3;", "%r4", "varying"),
        ("mad.lo.u32 %r4, %r0, 3, %r2;", "%r4", "affine 7"),
        ("mad.lo.u32 %r4, %r1, %r1, %r0;", "%r4", "affine 1"),
        ("mul.wide.u32 %rd4, %r2, 8;", "%rd4", "widened 8 4 u"),
        ("mul.wide.s32 %rd4, -8, %r2;", "%rd4", "widened -8 4 s"),
        ("mul.wide.u32 %rd4, %r0, -8;", "%rd4", "varying"),  # the operand is 2^32 - 8, which is not -8
        ("mad.wide.s32 %rd4, %r0, 8, %rd2;", "%rd4", "widened 8 1 s"),
        ("mad.wide.u32 %rd4, %r1, %r1, %rd0;", "%rd4", "widened 1 1 u"),
        ("mad.wide.s32 %rd4, %r0, 8, %rd0;", "%rd4", "varying"),
        ("cvt.u64.u32 %rd4, %r2;", "%rd4", "widened 1 4 u"),
        ("cvt.s64.s32 %rd4, %r2;", "%rd4", "widened 1 4 s"),
        ("cvt.s64.u64 %rd4, %rd1;", "%rd4", "widened 1 4 s"),
        ("cvt.u32.u64 %r4, %rd1;", "%r4", "affine 4"),
        # Of a wide register only the low half is read: OpenCL's `int i = get_global_id(0)`.
        ("cvt.s64.s32 %rd4, %rd0;", "%rd4", "widened 1 1 s"),
        ("add.u64 %rd4, %rd2, %rd0; cvt.s64.s32 %rd5, %rd4;", "%rd5", "widened 1 1 s"),
        ("shl.b64 %rd4, %rd1, 3; cvt.u64.u32 %rd5, %rd4;", "%rd5", "widened 1 32 u"),
        ("shl.b64 %rd4, %rd1, 30; cvt.u64.u32 %rd5, %rd4;", "%rd5", "uniform"),
        ("cvt.s64.s32 %rd4, %rd2;", "%rd4", "uniform"),
        # %tid.x is small, so it has no sign once widened.
        ("cvt.u64.u32 %rd4, %r0; cvt.s64.s32 %rd5, %rd4; add.s64 %rd4, %rd5, %rd2;", "%rd4", "widened 1 1 s"),
        ("add.u32 %r4, %r0, 1; cvt.u64.u32 %rd4, %r4; cvt.s64.s32 %rd4, %r4;", "%rd4", "varying"),
        ("cvt.u64.u16 %rd4, %h0;", "%rd4", "uniform"),
        ("cvt.u16.u32 %h1, %r0;", "%h1", "varying"),
        ("cvt.rn.f32.u32 %f0, %r0;", "%f0", "varying"),
        ("shl.b64 %rd4, %rd1, 3;", "%rd4", "widened 8 4 s"),
        ("shl.b64 %rd4, %rd0, 63;", "%rd4", "widened -9223372036854775808 1 u"),
        ("add.u64 %rd4, %rd2, %rd0;", "%rd4", "widened 1 1 u"),
        ("sub.u64 %rd4, %rd2, %rd1;", "%rd4", "widened -1 4 s"),
        ("sub.u64 %rd4, %rd1, %rd2;", "%rd4", "widened 1 4 s"),
        ("add.u64 %rd4, %rd0, %rd1;", "%rd4", "varying"),
        ("mad.lo.u64 %rd4, %rd0, 12, %rd2;", "%rd4", "widened 12 1 u"),
        ("neg.s64 %rd4, %rd1;", "%rd4", "widened -1 4 s"),
        ("cvta.global.u64 %rd4, %rd0;", "%rd4", "widened 1 1 u"),
        ("cvta.to.shared.u64 %rd4, %rd0;", "%rd4", "varying"),
        ("shr.u32 %r4, %r0, 5;", "%r4", "uniform"),
        ("shr.u32 %r4, %r0, 4;", "%r4", "varying"),
        ("shr.u32 %r4, %r2, 5;", "%r4", "varying"),
        ("and.b32 %r4, %r0, 31;", "%r4", "affine 1"),
        ("and.b32 %r4, %r0, 96;", "%r4", "uniform"),
        ("and.b32 %r4, %r0, 15;", "%r4", "varying"),
        ("setp.lt.u32 %p0, %r0, 64;", "%p0", "uniform"),
        ("setp.le.u32 %p0, %r0, 63;", "%p0", "uniform"),
        ("setp.lt.u32 %p0, %r0, 63;", "%p0", "varying"),
        ("setp.eq.u32 %p0, %r0, 64;", "%p0", "varying"),
        # A widened %tid.x that was scaled or added to is not a multiple of 32 in lane 0, nor below 1024.
        ("shl.b64 %rd4, %rd0, 32; shr.s64 %rd5, %rd4, 30;", "%rd5", "varying"),
        ("mul.wide.u32 %rd4, %r0, 4; shr.u64 %rd5, %rd4, 5;", "%rd5", "varying"),
        ("add.u64 %rd4, %rd2, %rd0; setp.lt.u64 %p0, %rd4, 64;", "%p0", "varying"),
        ("setp.lt.u32 %p0, %r1, 64;", "%p0", "uniform"),
        ("ld.local.u32 %r4, [mine];", "%r4", "varying"),
        ("ld.global.u32 %r4, [%rd2];", "%r4", "uniform"),
        ("cvta.to.global.u64 %rd4, %rd0; ld.global.u32 %r4, [%rd4];", "%r4", "varying"),
        ("atom.global.add.u32 %r4, [%rd2], 1;", "%r4", "varying"),
        ("setp.lt.u32 %p0, %r3, 9; vote.sync.ballot.b32 %r4, %p0, -1;", "%r4", "uniform"),
        ("setp.lt.u32 %p0, %r3, 9; vote.sync.ballot.b32 %r4, %p0, %r3;", "%r4", "varying"),
        ("shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;", "%r4", "varying"),
        ("setp.lt.u32 %p0, %r3, 9; bar.red.popc.u32 %r4, 0, %p0;", "%r4", "uniform"),
        ("add.cc.u32 %r4, %r0, 1; addc.u32 %r5, %r1, 0;", "%r5", "varying"),
        ("add.cc.u32 %r4, %r1, 1; addc.u32 %r5, %r1, 0;", "%r5", "uniform"),
        ("setp.lt.u32 %p0, %r3, 9; mov.u32 %r4, 0; @%p0 mov.u32 %r4, 1;", "%r4", "varying"),
        ("setp.lt.u32 %p0, %r1, 9; mov.u32 %r4, 0; @%p0 mov.u32 %r4, 1;", "%r4", "uniform"),
        ("mov.u32 %r4, %r0; add.u32 %r4, %r4, 32;", "%r4", "affine 1"),  # no more aligned
        ("add.u32 %r4, %r0, 1; add.u32 %r4, %r4, 32;", "%r4", "affine 1"),
        ("add.u32 %r4, %r0, 1; shl.b32 %r4, %r4, 1;", "%r4", "varying"),
    ],
)  # fmt: skip
def test_rule(instruction: str, register: str, expected: str) -> None:
    assert repr(shapes_of(instruction)[register]) == expected


def test_tid_by_the_rows_of_a_warp() -> None:
    body = "mov.u32 %r4, %tid.y; mul.lo.u32 %r5, %r4, %r4; mad.lo.u32 %r6, %r4, 16, %r0; add.u32 %r7, %r4, %r3;"
    whole = shapes_of(body, 32)
    assert [repr(whole[r]) for r in ("%r0", "%r4", "%r5", "%r6")] == ["affine 1", "uniform", "uniform", "affine 1"]
    assert whole["%r0"].aligned
    rows = shapes_of(body, 16)
    assert [repr(rows[r]) for r in ("%r0", "%r4", "%r5", "%r6")] == ["affine 1", "affine 0", "affine 0", "affine 1"]
    assert [rows[r].even for r in ("%r0", "%r4", "%r5", "%r6")] == [True, False, False, False]
    assert repr(shapes_of("shr.u32 %r4, %r0, 5;", 16)["%r4"]) == "varying"
    general = shapes_of(body, 0)
    assert [repr(general[r]) for r in ("%r0", "%r4", "%r6", "%r7")] == ["varying"] * 4


def test_addresses_that_rows_alone_change_are_one_scalar_per_row() -> None:
    """As of `tile[i][ly]`: clang computes `tile + 256 ly - 240 ly`."""
    body = (
        "cvt.u64.u32 %rd4, %r10; mul.wide.u32 %rd5, %r10, 256; add.s64 %rd6, %rd2, %rd5; "
        "mad.lo.s64 %rd7, %rd4, -240, %rd6; mad.lo.s64 %rd8, %rd4, -240, %rd0; sub.s64 %rd9, %rd5, %rd1; "
        "mul.lo.u64 %rd10, %rd8, 0;"
    )
    rows = shapes_of(body, 16)
    expected = {
        "%rd4": "affine 0",
        "%rd6": "affine 0",
        "%rd7": "affine 0",
        "%rd8": "widened 1 1 u",
        "%rd9": "widened -1 4 s",
        "%rd10": "affine 0",
    }
    assert {name: repr(rows[name]) for name in expected} == expected
    assert not any(rows[name].even for name in expected)
    assert repr(shapes_of(body, 32)["%rd7"]) == "uniform"


def test_value_that_lanes_overwrite_while_others_wait_is_varying() -> None:
    """Both arms write a constant; the lanes of the other arm must keep theirs."""
    shapes = shapes_of(
        "setp.lt.u32 %p0, %r3, 9; @%p0 bra A; mov.u32 %r4, 1; bra B; A: mov.u32 %r4, 1; mov.u32 %r5, 2; "
        "add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5; B: st.global.u32 [%rd2], %r4;"
    )
    assert repr(shapes["%r4"]) == "varying"
    assert repr(shapes["%r5"]) == "uniform"  # lives in one arm only


def test_counter_of_a_loop_that_lanes_leave_one_by_one() -> None:
    body = "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, %r3; @%p0 bra L; st.global.u32 [%rd2], {use};"
    assert repr(shapes_of(body.replace("{use}", "%r4"))["%r4"]) == "varying"
    assert repr(shapes_of(body.replace("{use}", "%r1"))["%r4"]) == "uniform"  # nobody looks at it afterwards


ALL = [
    UNIFORM_SHAPE, VARYING_SHAPE, Shape(AFFINE, 1), Shape(AFFINE, 4), Shape(AFFINE, 1, even=False),
    Shape(AFFINE, 1, aligned=True), Shape(AFFINE, 0, even=False), Shape(WIDENED, 1, True, 4, False),
    Shape(WIDENED, 1, True, 4, True), Shape(WIDENED, 1, True, 8, True), Shape(WIDENED, 1, True, 4, False, True),
]  # fmt: skip


@pytest.mark.parametrize("a", ALL, ids=repr)
@pytest.mark.parametrize("b", ALL, ids=repr)
def test_join_is_the_least_shape_over_both(a: Shape, b: Shape) -> None:
    over = joined(a, b)
    assert over is not None
    same_sign = a.signed == b.signed or a.aligned or b.aligned
    if (a.kind, a.stride, a.scale) == (b.kind, b.stride, b.scale) and same_sign:
        assert (over.kind, over.stride, over.scale) == (a.kind, a.stride, a.scale)
        assert all(over.signed == shape.signed for shape in (a, b) if not shape.aligned)
        assert (over.even, over.aligned) == (a.even and b.even, a.aligned and b.aligned)
    else:
        assert over.kind == VARYING
    assert joined(None, a) is a and joined(a, None) is a


# -- what a shape claims, against the values that the reference interpreter computes -------------------------

NARROW = ["%r0", "%r1", "%r2", "%r10", "%r11", "%tid.z", "1", "-1", "4", "31", "2147483647", "-2147483648"]
WIDE = ["%rd0", "%rd1", "%rd2", "1", "-8", "4294967295", "1152921504606846976"]


@st.composite
def straight_line(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Instructions that each write a register of their own, and those registers."""
    lines: list[str] = []
    narrow, wide, written = list(NARROW), list(WIDE), []

    def register(pool: list[str]) -> str:
        return draw(st.sampled_from([x for x in pool if x.startswith("%r")]))

    for number in range(draw(st.integers(4, 12))):
        kind = draw(st.sampled_from(["n2", "n2", "nshift", "nmad", "nmov", "w2", "w2", "wshift", "wmad", "ext", "ext",
                                     "wide", "wide", "widemad", "cut", "again", "again", "wcvt", "neg", "and",
                                     "shr"]))  # fmt: skip
        sign = draw(st.sampled_from("us"))
        n, w = f"%rn{number}", f"%rw{number}"
        a, b = register(narrow), draw(st.sampled_from(narrow))
        if kind in ("n2", "nshift", "nmad", "and", "shr") and b.startswith("%tid"):
            b = register(narrow)
        u, v = register(wide), draw(st.sampled_from(wide))
        shift = draw(st.integers(0, 33))
        op = draw(st.sampled_from(["add", "sub", "mul.lo"]))
        factor = draw(st.sampled_from(["1", "4", "-4", "2147483647", "4294967292", "%r1"]))
        line = {
            "n2": f"{op}.{sign}32 {n}, {a}, {b};",
            "nshift": f"shl.b32 {n}, {a}, {shift};",
            "nmad": f"mad.lo.{sign}32 {n}, {a}, {factor}, {b};",
            "nmov": f"mov.u32 {n}, {b};",
            "neg": f"neg.s32 {n}, {a};",
            "and": f"and.b32 {n}, {a}, {draw(st.sampled_from(['31', '32', '-32', '7', '-1']))};",
            "shr": f"shr.{sign}32 {n}, {a}, {draw(st.sampled_from([4, 5, 6]))};",
            "cut": f"cvt.{sign}32.u64 {n}, {u};",
            "w2": f"{op}.{sign}64 {w}, {u}, {v};",
            "wshift": f"shl.b64 {w}, {u}, {2 * shift};",
            "wmad": f"mad.lo.{sign}64 {w}, {u}, {draw(st.sampled_from(['1', '12', '-4', '%rd2']))}, {v};",
            "ext": f"cvt.{sign}64.{sign}32 {w}, {a};",
            "again": f"cvt.{sign}64.{sign}32 {w}, {u};",
            "wcvt": f"cvt.{sign}64.u64 {w}, {u};",
            "wide": f"mul.wide.{sign}32 {w}, {a}, {factor};",
            "widemad": f"mad.wide.{sign}32 {w}, {a}, {factor}, {v};",
        }[kind]
        lines.append(line)
        target = line.split()[1].rstrip(",")
        written.append(target)
        (narrow if target == n else wide).append(target)
    return lines, written


def program(lines: list[str], written: list[str], extent: tuple[int, int, int], slots: int) -> str:
    """A kernel that runs the lines and stores what each register holds, 64 bits per thread and register."""
    x, y, _ = extent
    stores = []
    for i, name in enumerate(written):
        source = name
        if name.startswith("%rn"):
            stores.append(f"cvt.u64.u32 %rd9, {name};")
            source = "%rd9"
        stores.append(f"st.global.u64 [%rd8+{8 * i}], {source};")
    return (
        HEADER + DECLARATIONS + ".reg .b32 %rn<12>; .reg .b64 %rw<12>;\n" + "\n".join(lines) + "\n"
        "mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z;\n"
        f"mad.lo.u32 %r8, %r9, {y}, %r8; mad.lo.u32 %r8, %r8, {x}, %r0;\n"
        f"mul.wide.u32 %rd8, %r8, {8 * slots}; add.u64 %rd8, %rd2, %rd8;\n" + "\n".join(stores) + "\nret;\n}\n"
    )  # fmt: skip


def values_of(text: str, device: str, extent: tuple[int, int, int], slots: int) -> np.ndarray:
    """uint64[threads, slots]. ``out`` stands at the same address on every device: it takes part in the values."""
    out = OUT[: extent[0] * extent[1] * extent[2] * slots]
    out[:] = 0
    drawloom.load(text, device=device)["k"][1, extent](out, np.uint32(0x7FFFFFF0))
    return out.reshape(-1, slots).copy()


OUT = np.zeros(128 * 16, dtype=np.uint64)
EXTENTS = [(64, 1, 1), (96, 1, 1), (32, 2, 1), (16, 4, 1), (8, 4, 2), (8, 5, 1), (5, 3, 4), (12, 4, 2), (48, 2, 1)]


def check_claim(shape: Shape, warp: list[int], segment: int, bits: int) -> None:
    """What ``shape`` says about the values of a whole warp, lane by lane."""
    modulus = 1 << bits
    width = segment or 32
    rows = [warp[i : i + width] for i in range(0, 32, width)]
    if shape.kind == UNIFORM:
        assert len(set(warp)) == 1
    elif shape.kind == AFFINE:
        for row in rows:
            assert row == [(row[0] + shape.stride * column) % modulus for column in range(width)]
        if shape.aligned:
            assert max(warp) < 1024 and (segment != 32 or warp[0] % 32 == 0)
    elif shape.kind == WIDENED:
        # The index wraps 32 bits at most every other lane; each wrap moves the whole by scale * 2^32.
        wraps = {(shape.scale * (k << 32)) % modulus for k in range(-33, 34)}
        for row in rows:
            for column, value in enumerate(row):
                assert (value - row[0] - shape.scale * shape.stride * column) % modulus in wraps
    if shape.kind in (AFFINE, WIDENED) and shape.even:
        assert all(row == rows[0] for row in rows)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(straight_line(), st.sampled_from(EXTENTS))
def test_shapes_claim_nothing_that_is_false(made: tuple[list[str], list[str]], extent: tuple[int, int, int]) -> None:
    lines, written = made
    segment = SEGMENTS[layout_of(extent)]
    text = program(lines, written, extent, len(written))
    values = values_of(text, "reference", extent, len(written))
    shapes = shapes_of(".reg .b32 %rn<12>; .reg .b64 %rw<12>;\n" + "\n".join(lines), segment)
    for first in range(0, len(values) - 31, 32):
        for i, name in enumerate(written):
            warp = [int(v) for v in values[first : first + 32, i]]
            check_claim(shapes[name], warp, segment, 32 if name.startswith("%rn") else 64)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(straight_line(), st.sampled_from(EXTENTS))
def test_values_equal_the_reference(made: tuple[list[str], list[str]], extent: tuple[int, int, int]) -> None:
    text = program(*made, extent, len(made[1]))
    expected = values_of(text, "reference", extent, len(made[1]))
    np.testing.assert_array_equal(values_of(text, "cpu", extent, len(made[1])), expected)


@pytest.mark.parametrize(
    "steps",
    [
        "mul.wide.u32 %rd3, %r0, 8; cvt.s64.u64 %rd3, %rd3;",
        "mul.wide.u32 %rd3, %r0, 8; mad.wide.u32 %rd3, %r5, %r5, %rd3; sub.u64 %rd3, %rd3, 9;",
        "mul.wide.s32 %rd3, %r0, 8; mad.wide.s32 %rd3, %r6, 4, %rd3; add.u64 %rd3, %rd3, 12;",
    ],
    ids=["conversion to the same width", "unsigned uniform product added", "signed uniform product added"],
)
def test_widened_register_goes_through(steps: str) -> None:
    """These took the wide register for its own 32-bit index, and the addresses went wild."""
    text = (
        HEADER
        + DECLARATIONS
        + "mov.u32 %r5, 3; mov.u32 %r6, -3;"
        + steps
        + ("add.u64 %rd4, %rd2, %rd3; st.global.u64 [%rd4], %rd3; ret; }")
    )
    expected = values_of(text, "reference", (64, 1, 1), 1)
    assert expected.ravel().tolist() == [8 * i for i in range(64)]
    np.testing.assert_array_equal(values_of(text, "cpu", (64, 1, 1), 1), expected)


def test_cvta_of_an_indexed_parameter() -> None:
    text = (
        HEADER
        + """.visible .entry k(.param .u64 out, .param .align 4 .b8 table[256])
{ .reg .b32 %r<4>; .reg .b64 %rd<8>;
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;
mov.b64 %rd3, table; add.u64 %rd3, %rd3, %rd1; cvta.param.u64 %rd4, %rd3; ld.u32 %r1, [%rd4];
st.global.u32 [%rd2], %r1; ret; }
"""
    )
    table = np.arange(64, dtype=np.uint32) * 3
    out = np.zeros(64, dtype=np.uint32)
    drawloom.load(text, device="cpu")["k"][1, 64](out, table.view(np.uint8))
    np.testing.assert_array_equal(out, table)
