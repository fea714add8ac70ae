"""What was proved of an instruction where it stood, behind a branch, does not hold where a pass moves it to: programs
give the same on the reference before and after."""

from __future__ import annotations

import numpy as np
import pytest

import drawloom
from drawloom.opt import LEVELS, optimize

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<16>;
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 0;
    cvt.s64.s32 %d2, %r1; add.s64 %d3, %d2, 100; st.global.u64 [%d1+8], %d3;
"""
#: n + 1 does not wrap where n is less than 40, and is less than 200 there; behind the join it may be anything.
SUM = "add.s32 %r4, %r1, 1; xor.b32 %r5, %r4, %r3; add.u32 %r2, %r2, %r5;"
SUM_BEHIND = "add.s32 %r6, %r1, 1; cvt.s64.s32 %d4, %r6; add.s64 %d5, %d4, 100; st.global.u64 [%d1+16], %d5;"
TEST = "setp.lt.s32 %p2, %r1, 200; selp.u32 %r4, 7, 9, %p2; add.u32 %r2, %r2, %r4;"
TEST_BEHIND = "add.s64 %d6, %d1, 24; setp.lt.s32 %p3, %r1, 200; @%p3 st.global.u32 [%d6+8], 1;"
LOOP = """
AGAIN: setp.ge.s32 %p1, %r1, 40; @%p1 bra OVER; {inside} st.global.u32 [%d1+40], %r3;
OVER: add.u32 %r3, %r3, 1; setp.lt.u32 %p4, %r3, 5; @%p4 bra AGAIN;
"""
BRANCH = "setp.ge.s32 %p1, %r1, 40; @%p1 bra OVER; {inside} st.global.u32 [%d1+40], %r3;\nOVER:"
SELECTION = "setp.ge.s32 %p1, %r1, 40; @%p1 bra OVER; {inside}\nOVER:"
END = " st.global.u32 [%d1], %r2; ret; }"
#: Which passes find a fact, move what it is about, and use it.
ORDERS = {
    LOOP: "narrow invariant strength addresses number fold flow",
    BRANCH: "narrow speculate strength addresses number fold flow",
    SELECTION: "narrow select strength addresses number fold flow",
}


def result(text: str, n: int) -> list[int]:
    out = np.zeros(16, np.uint32)
    drawloom.load(text, device="reference", level=0)["k"][1, 1](out, n)
    return [int(word) for word in out]


@pytest.mark.parametrize("n", [3, 0x7FFFFFFF])
@pytest.mark.parametrize(("inside", "behind"), [(SUM, SUM_BEHIND), (TEST, TEST_BEHIND)], ids=["sum", "test"])
@pytest.mark.parametrize("way", [LOOP, BRANCH, SELECTION], ids=["loop", "branch", "selection"])
def test_a_fact_behind_a_branch_stays_there(way: str, inside: str, behind: str, n: int) -> None:
    text = HEAD + way.format(inside=inside) + behind + END
    expected = result(text, n)
    for passes in [ORDERS[way].split(), *[list(level) for level in LEVELS]]:
        assert result(str(optimize(text, passes=passes, check=True)), n) == expected, passes


NEST = """
ROW: mov.u32 %r6, 0;
COLUMN: {inside}
    add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, 3; @%p4 bra COLUMN;
    {behind} add.u32 %r3, %r3, 1; setp.lt.u32 %p5, %r3, 4; @%p5 bra ROW;
"""


@pytest.mark.parametrize(
    ("inside", "behind", "opcode", "label"),
    [
        ("mul.lo.u32 %r7, %r1, %r1; add.u32 %r2, %r2, %r7;", "", "mul.lo.u32", "ROW:"),
        ("mul.lo.u32 %r7, %r1, %r3; add.u32 %r2, %r2, %r7;", "", "mul.lo.u32", "COLUMN:"),
        ("mul.lo.u32 %r7, %r1, %r1; div.u32 %r8, %r7, 7; add.u32 %r2, %r2, %r8;", "", "div.u32", "ROW:"),
        ("setp.eq.u32 %p6, %r6, 1; @%p6 bra OVER; div.u32 %r8, %r1, 7; add.u32 %r2, %r2, %r8; OVER:", "", "div", ""),
        ("ld.global.u32 %r7, [%d1+8]; add.u32 %r2, %r2, %r7;", "", "ld.global", "ROW:"),
        ("ld.global.u32 %r7, [%d1]; add.u32 %r2, %r2, %r7;", "st.global.u32 [%d1], %r2;", "ld.glob", "COLUMN:"),
    ],
    ids=["both", "inner", "division", "division behind a branch", "load", "load that the outer loop writes"],
)  # fmt: skip
def test_an_instruction_leaves_the_loops_that_do_not_change_it(
    inside: str, behind: str, opcode: str, label: str
) -> None:
    """The label is that of the outermost loop that it left, "" where it stays."""
    text = HEAD + NEST.format(inside=inside, behind=behind) + END
    made = str(optimize(text, passes=["invariant"], check=True))
    assert result(made, 9) == result(text, 9)
    place = made.index(opcode)
    for name in ("ROW:", "COLUMN:"):
        left = bool(label) and (label == "ROW:" or name == "COLUMN:")
        assert (place < made.index(name)) == left, name
