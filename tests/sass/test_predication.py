"""Short branches as instructions under a guard: which ones, what stays in them, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from drawloom.ptx import parse
from drawloom.sass.assemble import assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.isa import load_target
from drawloom.sass.predication import MOST, predicate
from tests.sass.meaning import agree

HEADER = """.version 8.0
.target sm_61
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .s32 n) {
    .reg .pred %p<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    .shared .b32 tile[64];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.s32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
    setp.lt.s32 %p1, %r2, %r1;
    mov.b32 %r3, 5;
"""
FOOTER = "    st.global.b32 [%rd2], %r3;\n    ret;\n}\n"
SKIPPED = "@!%p1 bra end;\n ld.global.u32 %r4, [%rd1];\n add.s32 %r3, %r4, 1;\nend:\n"
BOTH = (
    "@%p1 bra other;\n ld.global.u32 %r4, [%rd1];\n add.s32 %r5, %r4, 1;\n xor.b32 %r3, %r5, 77;\n bra.uni end;\n"
    "other:\n sub.s32 %r5, %r2, %r1;\n ld.global.u32 %r6, [%rd1+4];\n min.s32 %r3, %r5, %r6;\nend:\n"
)
#: The loaded value is the one of the round before in lanes that do not load.
KEPT = (
    "mov.b32 %r7, 0;\nmov.b32 %r4, 9;\nagain:\n and.b32 %r8, %r7, 1;\n setp.eq.u32 %p2, %r8, 0;\n@%p2 bra over;\n"
    " ld.global.u32 %r4, [%rd1];\nover:\n mad.lo.s32 %r3, %r3, 3, %r4;\n add.s32 %r7, %r7, 1;\n"
    " setp.lt.s32 %p3, %r7, 5;\n@%p3 bra again;\n"
)


def ways(body: str, target: int = 90) -> tuple[list[str], str]:
    """The opcodes of jumps that are left in a kernel, and its text."""
    function = parse(HEADER + body + FOOTER).functions["k"]
    made = predicate(function, target).function
    return [i.opcode.name for i in made.instructions() if i.opcode.name == "bra"], "\n".join(map(repr, made.body))


@pytest.mark.parametrize("target", [61, 90])
@pytest.mark.parametrize("body", [SKIPPED, BOTH, KEPT], ids=["one side", "two sides", "kept"])
def test_they_mean_the_same(body: str, target: int) -> None:
    given = np.arange(40, dtype=np.int32) * 7919 % 1000
    for bound in (0, 13, 32):
        agree(HEADER + body + FOOTER, "k", 1, 32, given, np.zeros(40, np.int32), bound, target=target)


def test_a_skipped_side_and_two_sides_leave_no_branch() -> None:
    assert ways(SKIPPED)[0] == []
    jumps, text = ways(BOTH)
    assert jumps == []
    assert "@!%p1 ld.global.u32 %r4" in text and "@%p1 ld.global.u32 %r6" in text  # memory is accessed under the guard
    assert "\nadd.s32 %r5, %r4, 1" in text and "\nsub.s32 %r5" in text  # what one side computes for itself is not
    assert "@!%p1 xor.b32 %r3" in text and "@%p1 min.s32 %r3" in text  # what lives on is


def test_no_lane_is_gathered_after_short_sides() -> None:
    for target, gathering in ((61, "SSY"), (90, "BSSY")):
        for body, expected in ((BOTH, False), (BOTH.replace("xor.b32 %r3", "bar.sync 0;\n xor.b32 %r3"), True)):
            kernel = assemble(HEADER + body + FOOTER, f"sm_{target}").kernels["k"]
            code = unpack_section(load_target(target), kernel.code)
            assert any(i.opcode.mnemonic == gathering for i in code) is expected


@pytest.mark.parametrize("body", [
    SKIPPED.replace("add.s32", "bar.warp.sync -1;\n add.s32"),
    SKIPPED.replace("add.s32", "shfl.sync.idx.b32 %r4, %r4, 0, 31, -1;\n add.s32"),
    SKIPPED.replace("add.s32", "setp.eq.u32 %p1, %r4, 1;\n add.s32"),
    SKIPPED.replace("add.s32", "@%p2 add.s32"),
    SKIPPED.replace("add.s32", "mov.u32 %r9, %clock;\n add.s32"),
    SKIPPED.replace("add.s32", "add.s32 %r9, %r4, 1;\n" * MOST[90] + " add.s32"),
    SKIPPED.replace("add.s32", "ret;\n add.s32"),
], ids=["barrier", "shuffle", "guard written", "guarded", "clock", "long", "exit"])  # fmt: skip
def test_what_has_to_be_jumped_over_is(body: str) -> None:
    assert ways(body)[0] == ["bra"]


def test_products_are_short_where_the_machine_has_them() -> None:
    body = SKIPPED.replace("add.s32 %r3, %r4, 1", "mul.lo.s32 %r5, %r4, %r4;\n mad.lo.s32 %r3, %r5, %r4, %r2")
    assert ways(body, 90)[0] == [] and ways(body, 61)[0] == ["bra"]


def test_a_side_that_others_jump_into_stays() -> None:
    body = "@%p2 bra other;\n" + BOTH
    assert ways(body)[0] == ["bra", "bra", "bra"]


def test_a_label_that_others_name_stays() -> None:
    jumps, text = ways("@%p2 bra end;\n add.s32 %r9, %r1, 1;\n bar.sync 0;\n" + SKIPPED)
    assert jumps == ["bra"] and "Label" in text


def test_a_loaded_value_of_one_side_lives_in_it_only() -> None:
    loop = "again:\n" + SKIPPED + " add.s32 %r1, %r1, -1;\n setp.gt.s32 %p3, %r1, 0;\n@%p3 bra again;\n"
    function = parse(HEADER + loop + FOOTER).functions["k"]
    names = {function.registers[id].name for id in predicate(function, 90).begun}
    assert names == {"%r4"}
