"""Loads and stores of neighbours in memory that are done together: which are, which must not be, and the results."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drawloom
from drawloom.cpu import engine
from drawloom.cpu.compile import compile_kernel
from drawloom.errors import UnsupportedError
from drawloom.ptx import parse, verify

HEADER = """.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n, .param .u64 out)
{
.reg .pred %p<4>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<40>;
.local .align 4 .b8 mine[16];
mov.u32 %r0, %tid.x; ld.param.u32 %r1, [n]; setp.ge.u32 %p0, %r0, %r1; @%p0 bra END;
ld.param.u64 %rd0, [data]; mul.wide.u32 %rd1, %r0, STRIDE; add.u64 %rd2, %rd0, %rd1;
ld.param.u64 %rd9, [out]; add.u64 %rd3, %rd9, %rd1; mov.u32 %r2, 7;
mov.u32 %r3, 1; mov.u32 %r4, 2; mov.u32 %r5, 3; mov.u32 %r6, 4;
"""
FOOTER = "\nEND: ret;\n}\n"


#: What the bodies leave out.
WHOLE = {
    "ld ": "ld.global.u32 ", "st ": "st.global.u32 ", "ld.b": "ld.global.b", "st.b": "st.global.b", "mov ": "mov.u32 ",
}  # fmt: skip


def text_of(body: str, stride: int) -> str:
    for short, whole in WHOLE.items():
        body = body.replace(short, whole)
    return HEADER.replace("STRIDE", str(stride)) + body + FOOTER


def counts(body: str, stride: int, features: str = "avx2", check: bool = False) -> tuple[int, int, int]:
    """How many vector loads and stores a kernel has, and how many gathers and loops over lanes."""
    module = parse(text_of(body, stride))
    verify(module)
    has = engine.Host(engine.FEATURE_SETS[features]).features
    text = compile_kernel(module, "k", "linear", check, has).text
    text = re.sub(r"^seldom\d+:\n.*?^row\d+:\n", "", text, flags=re.M | re.S)
    loads = re.findall(r"call <\d+ x \w+> @llvm.masked.load|load <\d+ x \w+>, ptr \S+, align", text)
    stores = re.findall(r"call void @llvm.masked.store|store <\d+ x \w+> \S+, ptr \S+, align", text)
    return len(loads), len(stores), len(re.findall(r"call .*masked\.(?:gather|scatter)|^lane\d+:", text, re.M))


def run(text: str, device: str, data: np.ndarray, n: int, block: int = 64) -> list[np.ndarray]:
    data, out = data.copy(), np.zeros_like(data)
    drawloom.load(text, device=device, level=0)["k"][1, block](data, n, out)
    return [data, out]


def agrees(body: str, stride: int, n: int = 50) -> None:
    """On full warps and on one of which some lanes are not active."""
    data = np.arange(64 * stride, dtype=np.uint8) * np.uint8(37)
    text = text_of(body, stride)
    for mine, wanted in zip(run(text, "cpu", data, n), run(text, "reference", data, n), strict=True):
        np.testing.assert_array_equal(mine, wanted)


LOAD3 = "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4]; ld.global.f32 %f3, [%rd2+8];"
STORE3 = "st.global.f32 [%rd3], %f3; st.global.f32 [%rd3+4], %f1; st.global.f32 [%rd3+8], %f2;"
ORDER = (1, 0, 3, 2)
LOAD4 = " ".join([f"ld %r{3 + i}, [%rd2+{4 * i}];" for i in ORDER])
STORE4 = " ".join([f"st [%rd3+{4 * i}], %r{3 + i};" for i in ORDER])
STORE2 = "st.global.v2.u32 [%rd3], {%r4, %r3}; st.global.v2.u32 [%rd3+8], {%r6, %r5};"

TOGETHER = {
    "three floats": (LOAD3 + STORE3, 12, (1, 1, 0)),
    "four words in any order": (LOAD4 + STORE4, 16, (1, 1, 0)),
    "pairs": (LOAD4 + STORE2, 16, (1, 1, 0)),
    "three of four": (LOAD3 + STORE3, 16, (1, 1, 0)),
    "negative offsets": (
        "ld %r3, [%rd2+-4]; ld %r4, [%rd2+-8]; st [%rd3], %r3; st [%rd3+4], %r4;",
        8, (1, 1, 0),
    ),
    "parameters and arithmetic in between": (
        "ld %r3, [%rd2]; add.u32 %r7, %r3, 1; ld.param.u32 %r8, [n]; ld %r4, [%rd2+4];"
        "st [%rd3], %r7; mul.lo.u32 %r9, %r4, 3; ld.param.u32 %r8, [n]; st [%rd3+4], %r9;",
        8, (1, 1, 0),
    ),
    "loads of two arrays": (
        "ld %r3, [%rd2]; ld %r4, [%rd3]; ld %r5, [%rd2+4]; ld %r6, [%rd3+4];"
        "add.u32 %r7, %r3, %r4; add.u32 %r8, %r5, %r6; st [%rd3], %r7; st [%rd3+4], %r8;",
        8, (2, 1, 0),
    ),
    "halves": (
        "ld.b16 %h0, [%rd2]; ld.b16 %h1, [%rd2+2]; ld.b16 %h2, [%rd2+4]; ld.b16 %h3, [%rd2+6];"
        "st.b16 [%rd3], %h3; st.b16 [%rd3+2], %h2; st.b16 [%rd3+4], %h1; st.b16 [%rd3+6], %h0;",
        8, (1, 1, 0),
    ),
    "bytes with their signs": (
        "ld.global.s8 %r3, [%rd2]; ld.global.u8 %r4, [%rd2+1]; st.global.u16 [%rd3], %r3;",
        2, (1, 1, 0),
    ),
    "doubles": (
        "ld.b64 %rd4, [%rd2]; ld.b64 %rd5, [%rd2+8]; st.b64 [%rd3+8], %rd4; st.b64 [%rd3], %rd5;",
        16, (1, 1, 0),
    ),
    "sixteen": (
        "".join([f"ld %r{i + 10}, [%rd2+{4 * i}];" for i in range(16)])
        + "".join([f"st [%rd3+{4 * i}], %r{25 - i};" for i in range(16)]),
        64, (1, 1, 0),
    ),
    "local memory": (
        "".join([f"st.local.u32 [mine+{4 * i}], %r{i};" for i in range(3)]) + "st.local.u32 [mine+12], 9;"
        + LOAD4.replace("ld ", "ld.local.u32 ").replace("%rd2", "mine") + STORE4,
        16, (1, 2, 0),
    ),
}  # fmt: skip

#: What must stay apart: each would go wrong if it moved.
APART = {
    "a store between loads": "ld %r3, [%rd2]; st [%rd2+4], %r2; ld %r4, [%rd2+4];",
    "an atomic between loads": "ld %r3, [%rd2]; red.global.add.u32 [%rd2+4], 5; ld %r4, [%rd2+4];",
    "a result that is read before": "ld %r3, [%rd2]; add.u32 %r5, %r4, 1; ld %r4, [%rd2+4]; add.u32 %r4, %r4, %r5;",
    "a result that is written before": "ld %r3, [%rd2]; mov %r4, 5; ld %r4, [%rd2+4];",
    "a result that is a guard's": (
        "ld %r3, [%rd2]; setp.eq.u32 %p1, %r4, 0; @%p1 add.u32 %r3, %r3, 1; "
        "ld %r4, [%rd2+4];"
    ),
    "one result for two": "ld %r4, [%rd2]; ld %r4, [%rd2+4]; mov %r3, %r4;",
    "another base": "ld %r3, [%rd2]; add.u64 %rd2, %rd2, 8; ld %r4, [%rd2+-4];",
    "a base that is loaded": (
        "ld.b64 %rd4, [%rd3]; mov.b64 %rd5, %rd2; ld %r3, [%rd5]; "
        "cvt.u64.u32 %rd5, %r0; ld %r4, [%rd2+4];"
    ),
    "beyond the stride": "ld %r3, [%rd2]; ld %r4, [%rd2+8];",
    "a guard": "ld %r3, [%rd2]; setp.lt.u32 %p1, %r0, 9; mov %r4, 0; @%p1 ld %r4, [%rd2+4];",
    "volatile": "ld.volatile.global.u32 %r3, [%rd2]; ld.volatile.global.u32 %r4, [%rd2+4];",
    "a load between stores": "st [%rd2], %r2; ld %r3, [%rd2]; st [%rd2+4], %r0; mov %r4, 1;",
    "a store between stores": (
        "add.u64 %rd5, %rd2, 4; st [%rd2], %r2; st [%rd5], %r0; "
        "st [%rd2+4], %r2; mov %r3, 1; mov %r4, 1;"
    ),
    "a value that changes": "mov %r5, %r0; st [%rd2], %r5; mov %r5, 3; st [%rd2+4], %r5; mov %r3, 1; mov %r4, 1;",
    "a barrier": "ld %r3, [%rd2]; bar.warp.sync -1; ld %r4, [%rd2+4];",
}  # fmt: skip
STORE_BOTH = "st [%rd3], %r3; st [%rd3+4], %r4;"


@pytest.mark.parametrize("features", ["sse4.2", "avx2", "avx512"])
@pytest.mark.parametrize("name", TOGETHER)
def test_neighbours_are_one_access(name: str, features: str) -> None:
    body, stride, expected = TOGETHER[name]
    if name == "three of four" and features == "sse4.2":
        pytest.skip("there are no masks for some of the elements")
    if name == "negative offsets":
        body = "add.u64 %rd2, %rd2, 8;" + body
    assert counts(body, stride, features) == expected


@pytest.mark.parametrize("features", ["sse4.2", "avx2", "avx512"])
@pytest.mark.parametrize("name", TOGETHER)
def test_neighbours_have_their_values(name: str, features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", features)
    try:
        engine.host()
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))
    body, stride, _ = TOGETHER[name]
    if name == "negative offsets":
        body = "add.u64 %rd2, %rd2, 8;" + body
    agrees(body, stride)


@pytest.mark.parametrize("name", APART)
def test_what_stays_apart(name: str) -> None:
    agrees(APART[name] + STORE_BOTH, 8)


def test_checked_accesses_stay_apart() -> None:
    """Each names its own line."""
    body, stride, _ = TOGETHER["three floats"]
    assert counts(body, stride, check=True)[2] > 0
    data = np.zeros(64 * 12 - 4, np.uint8)
    module = drawloom.load(text_of(LOAD3, 12), device="cpu", check="memory")
    with pytest.raises(drawloom.KernelFault, match=r"ld\.global\.f32 %f3"):
        module["k"][1, 64](data, 64, np.zeros(64 * 12, np.uint8))


def test_neighbours_across_the_32_bit_wrap() -> None:
    """The index wraps between two lanes: each lane accesses its own place."""
    body = (
        "add.u32 %r3, %r0, -16; mul.wide.s32 %rd4, %r3, 8; add.u64 %rd4, %rd0, %rd4; add.u64 %rd4, %rd4, 128;"
        "ld %r4, [%rd4]; ld %r5, [%rd4+4]; st [%rd3], %r5; st [%rd3+4], %r4;"
    )
    agrees(body, 8)


# -- programs that are made up ---------------------------------------------------------------------------------


@st.composite
def straight_line(draw: st.DrawFn) -> tuple[str, int]:
    """Accesses within the stride, and arithmetic on what they load."""
    size = draw(st.sampled_from([1, 2, 4, 8]))
    slots = draw(st.integers(2, 8))
    stride = size * slots
    kind = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[size]
    registers = [f"%rd{i}" if size == 8 else f"%r{i}" for i in range(10, 16)]
    wide = "u64" if size == 8 else "u32"
    lines = [f"mov.{wide} {register}, {i};" for i, register in enumerate(registers)]
    for _ in range(draw(st.integers(4, 24))):
        register, other = draw(st.sampled_from(registers)), draw(st.sampled_from(registers))
        base = draw(st.sampled_from(["%rd2", "%rd2", "%rd3"]))
        offset = size * draw(st.integers(0, slots - 1))
        lines.append(
            draw(
                st.sampled_from(
                    [
                        f"ld.global.{kind} {register}, [{base}+{offset}];",
                        f"ld.global.{kind} {register}, [{base}+{offset}];",
                        f"st.global.{kind} [{base}+{offset}], {register};",
                        f"st.global.{kind} [{base}+{offset}], {register};",
                        f"add.{wide} {register}, {other}, 3;",
                    ]
                )
            )
        )
    lines += [f"st.global.{kind} [%rd3+{size * (i % slots)}], {register};" for i, register in enumerate(registers)]
    return "\n".join(lines), stride


@settings(max_examples=25, deadline=None, derandomize=True)
@given(straight_line())
def test_made_up_accesses_agree_with_the_reference(made: tuple[str, int]) -> None:
    agrees(*made)
