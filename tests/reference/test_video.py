"""Video instructions against the manual's pseudo-code, and by hand where that is worth a name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.harness import body_kernel, launch
from tests.reference.semantics import INTEGER_EDGES, function, samples
from tests.reference.video_manual import NAMES, spellings, video


@pytest.mark.parametrize("name", NAMES)
def test_every_form_does_what_the_pseudo_code_does(name: str) -> None:
    values = samples(INTEGER_EDGES[32], 32, 3, 60)
    for text in spellings(name, 40):
        ours = function(text)
        for a, b, c in values:
            assert ours(a, b, c) == video(text, a, b, c), (text, hex(a), hex(b), hex(c))


def test_intermediate_results_are_wider_than_32_bits() -> None:
    assert function("vadd.u32.u32.u32.sat")(0xFFFFFFFF, 1) == 0xFFFFFFFF
    assert function("vadd.u32.u32.u32.max")(0x7FFFFFFF, 2, 5) == 0x80000001
    assert function("vabsdiff.u32.s32.u32.sat")(0x80000000, 0xFFFFFFFF) == 0xFFFFFFFF
    assert function("vsub.s32.u32.u32.sat")(0, 0xFFFFFFFF) == 0x80000000
    assert function("vmad.u32.u32.u32.sat.shr15")(0xFFFFFFFF, 0xFFFFFFFF, 0) == 0xFFFFFFFF
    assert function("vmad.s32.u32.u32.sat(,-,,)")(0xFFFFFFFF, 0xFFFFFFFF, 0) == 0x80000000


def test_averages_round_halves_away_from_zero() -> None:
    assert function("vavrg4.s32.s32.s32")(0x01FF0203, 0x00FE0304, 0) == 0x01FE0304
    assert function("vavrg2.u32.u32.u32")(0x00010002, 0x00020002, 0) == 0x00020002


def test_selectors_pick_and_merge() -> None:
    body = (
        "ld.param.u64 %d, [out];\nmov.b32 %r1, 0x80FF7F01;\nmov.b32 %r2, 0x01020304;\nmov.b32 %r3, 0xAABBCCDD;\n"
        "vadd.s32.s32.s32 %r4.b2, %r1.h1, %r2.b0, %r3;\nst.global.b32 [%d], %r4;\n"
        "vmad.s32.s32.s32 %r4, -%r1.b2, %r2.b3, %r3;\nst.global.b32 [%d+4], %r4;\n"
        "vsub4.u32.u32.u32.sat %r4.b30, %r1.b3210, %r2.b7777, %r3;\nst.global.b32 [%d+8], %r4;\n"
        "vset2.s32.s32.lt.add %r4, %r1, %r2, %r3;\nst.global.b32 [%d+12], %r4;"
    )
    out = np.zeros(4, np.uint32)
    launch(body_kernel(".reg .b32 %r<5>; .reg .b64 %d;", body), "k", 1, 1, out)
    assert [hex(v) for v in out] == ["0xaa03ccdd", "0xaabbccde", "0x7fbbcc00", "0xaabbccde"]
