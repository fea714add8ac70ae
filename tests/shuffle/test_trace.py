"""What ``drawloom trace`` says of how a warp's lanes lie beside each other."""

from __future__ import annotations

import pytest

from drawloom.ptx import parse
from drawloom.shuffle.emulator import analyse
from drawloom.shuffle.facts import LANES_ALONG_X
from drawloom.shuffle.trace import Trace, trace

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in){shape}
{{
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %l<8>;
    ld.param.u64 %l1, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %laneid;
    {body}
    ret;
}}
"""


def traced(body: str, shape: str = "") -> Trace:
    module = parse(KERNEL.format(body=body, shape=shape))
    return trace(module, analyse(module, module.kernels[0]))


LOAD = "mul.wide.u32 %l2, {}, 4; add.s64 %l2, %l1, %l2; ld.global.b32 %r7, [%l2];"


@pytest.mark.parametrize(
    ("index", "shape", "found"),
    [
        ("mad.lo.s32 %r4, %r2, 8, %r1;", "8, 4, 1", ("contiguous", 128, 128)),
        ("mad.lo.s32 %r4, %r2, 8, %r1;", "8, 8, 1", ("contiguous", 128, 128)),
        ("mad.lo.s32 %r4, %r2, 40, %r1;", "8, 4, 1", ("irregular", 128, 128)),
        ("mov.u32 %r4, %r1;", "8, 4, 1", ("irregular", 32, 32)),
        (
            "mov.u32 %r4, %tid.z; mad.lo.s32 %r4, %r4, 2, %r2; mad.lo.s32 %r4, %r4, 16, %r1; shl.b32 %r4, %r4, 1;",
            "16, 2, 1",
            ("strided", 128, 256),
        ),
        ("mov.u32 %r4, %r2;", "8, 4, 1", ("irregular", 16, 32)),
        ("mov.u32 %r4, %r3;", "8, 4, 1", ("contiguous", 128, 128)),
        ("xor.b32 %r4, %r3, 1;", "8, 4, 1", ("irregular", 128, 128)),
        ("mov.u32 %r4, %r1;", "64, 4, 1", ("contiguous", 128, 128)),
        ("mov.u32 %r4, %r2;", "64, 4, 1", ("uniform", 4, 32)),
    ],
)
def test_in_a_block_of_known_extents_each_lane_has_its_place(
    index: str, shape: str, found: tuple[str, int, int]
) -> None:
    [row] = traced(index + LOAD.format("%r4"), f" .reqntid {shape}").rows
    assert (row.kind, row.used, row.moved) == found
    assert row.rests_on == [] and not row.is_bound


def test_what_is_said_of_tid_rests_on_how_lanes_count() -> None:
    out = traced(LOAD.replace("%l2", "%l3").format("%r3") + LOAD.format("%r1"))
    assert [row.rests_on for row in out.rows] == [[], [LANES_ALONG_X]]
    only_if_along_x = "and.b32 %r4, %r1, 31; setp.ne.s32 %p1, %r4, %r3; @!%p1 bra L; ld.global.b32 %r7, [%l1]; L:"
    assert "if %ntid.x is a multiple of 32" in traced(only_if_along_x).text()
    assert [row.kind for row in traced(only_if_along_x, " .reqntid 8, 4, 1").rows] == ["uniform"]
    again = traced(LOAD.format("%r3") + LOAD.format("%r4").replace("mul", "and.b32 %r4, %r1, 31; mul")).rows[1]
    [(_, _, lane, why)] = [one for one in again.overlaps if one[2] == 0]
    assert lane == 0 and any(LANES_ALONG_X in reason for reason in why)


def test_a_function_that_was_not_analysed_has_a_note() -> None:
    """Its trace raised again what the analysis had noted."""
    out = traced("bra NOWHERE;")
    assert out.rows == []
    assert out.notes == ["the function was not analysed: <text>:8:5: undefined label 'NOWHERE'"]
