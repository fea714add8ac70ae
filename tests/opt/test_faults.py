"""What fails without the optimiser fails with it, at the same place: the reference says where, before and after."""

import numpy as np
import pytest

import drawloom
from drawloom.errors import KernelFault, MemoryAccessError

HEAD = """.version 8.3
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 FORMAT[4] = {104, 105, 10, 0};
.visible .entry k(.param .u64 good, .param .u64 bad, .param .u32 n)
{
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .shared .b32 word[32];
    ld.param.u64 %rd1, [good]; ld.param.u64 %rd2, [bad]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
"""
PRINT = """
    { .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %rd8, FORMAT; cvta.global.u64 %rd8, %rd8;
      st.param.b64 [f], %rd8; st.param.b64 [a], 0; call.uni (r), vprintf, (f, a); ld.param.b32 %r8, [r]; }
"""
LOOP = """
    mov.u32 %r3, 0; mov.u32 %r4, 0; bra AGAIN;
AGAIN:
    {first}
    {second}
    add.u32 %r4, %r4, %r5; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1;
    @%p1 bra AGAIN;
    st.global.u32 [%rd4], %r4;
    ret;
"""

#: Bodies, and whether they fail by an address.
KERNELS = {
    "a store of every lane": ("st.global.u32 [%rd5], %r2; ret;", True),
    "the lanes from a number on": (
        "setp.lo.u32 %p1, %r2, 7; @%p1 bra OUT; ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; OUT: ret;", True
    ),
    "a guarded load": (
        "mov.u32 %r5, 0; setp.hs.u32 %p1, %r2, 9; @%p1 ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; ret;", True
    ),
    "an offset behind an address": (
        "add.s64 %rd6, %rd5, 4096; ld.global.u32 %r5, [%rd6+8]; st.global.u32 [%rd4], %r5; ret;", True
    ),
    "a generic address": (
        "cvta.global.u64 %rd6, %rd5; ld.u32 %r5, [%rd6]; st.global.u32 [%rd4], %r5; ret;",
        True,
    ),
    "behind a barrier": (
        "mov.u64 %rd6, word; add.s64 %rd6, %rd6, %rd3; st.shared.u32 [%rd6], %r2; bar.sync 0; "
        "ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; ret;",
        True,
    ),
    "before a trap": ("ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; trap; ret;", True),
    "behind a trap": ("trap; ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; ret;", False),
    "behind the trap of a lane": (
        "setp.eq.u32 %p1, %r2, 40; @%p1 trap; ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd4], %r5; ret;", True
    ),
    "written over behind a trap": (
        "st.global.u32 [%rd5], %r2; setp.eq.u32 %p1, %r2, 40; @%p1 trap; st.global.u32 [%rd5], %r1; ret;", True
    ),
    "of a loop": (LOOP.format(first="ld.global.u32 %r5, [%rd5];", second=""), True),
    "of a loop, of what nobody writes": (LOOP.format(first="ld.global.nc.u32 %r5, [%rd5];", second=""), True),
    "of a loop, behind what is printed": (LOOP.format(first=PRINT, second="ld.global.nc.u32 %r5, [%rd5];"), True),
    "of a loop, behind an atomic": (
        LOOP.format(first="atom.global.add.u32 %r6, [%rd1], 1;", second="ld.global.nc.u32 %r5, [%rd5];"), True
    ),
    "of a loop, in a later round": (
        LOOP.format(
            first="setp.eq.u32 %p2, %r3, 3; selp.b64 %rd6, %rd5, %rd4, %p2;", second="ld.global.u32 %r5, [%rd6];"
        ),
        True,
    ),
}  # fmt: skip


def outcome(text: str, level: int) -> tuple[str, object, list[int]]:
    """How a launch of two blocks ends, and what it leaves."""
    data = np.arange(64, dtype=np.uint32)
    module = drawloom.load(text, "reference", level=level)
    try:
        module["k"][2, 32](data, 0x1234567000, 5)
    except MemoryAccessError as error:
        return "access", (error.line, error.block, error.thread, error.address), data.tolist()
    except KernelFault as error:
        return "fault", (error.line, error.block, error.thread), data.tolist()
    return "", None, data.tolist()


@pytest.mark.parametrize("name", KERNELS)
def test_the_first_fault_is_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    body, by_address = KERNELS[name]
    text = HEAD + body + "\n}\n"
    before = outcome(text, 0)
    printed = capsys.readouterr().out
    assert before[0] == ("access" if by_address else "fault")
    for level in (1, 2, 3):
        assert outcome(text, level) == before
        assert capsys.readouterr().out == printed
