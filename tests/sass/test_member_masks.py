"""Operations between lanes whose member masks differ while they are together: tiles of a warp, lanes of one value. On
an H100 the machine's ballots had the lanes of all tiles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sass.meaning import agree

#: Each is given a predicate %p, a value %v and a mask %m, and leaves %r.
PREDICATE = "selp.u32 %r, 1, 0, %q;"
OPERATIONS = {
    "ballot": "vote.sync.ballot.b32 %r, %p, %m;",
    "any": f"vote.sync.any.pred %q, %p, %m; {PREDICATE}",
    "all": f"vote.sync.all.pred %q, %p, %m; {PREDICATE}",
    "all_not": f"vote.sync.all.pred %q, !%p, %m; {PREDICATE}",
    "uni": f"vote.sync.uni.pred %q, %p, %m; {PREDICATE}",
    "match_any": "match.any.sync.b32 %r, %v, %m;",
    "match_any_64": "cvt.u64.u32 %w, %v; match.any.sync.b64 %r, %w, %m;",
    "match_all": "match.all.sync.b32 %r|%q, %v, %m; @!%q add.u32 %r, %r, 5;",
    "guarded": "mov.u32 %r, 9; @%p vote.sync.ballot.b32 %r, %p, %b;",
} | {
    f"redux_{operation}": f"redux.sync.{operation} %r, %v, %m;"
    for operation in ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32")
}
MASKS = {
    "tiles": "and.b32 %m, %t, 24; shl.b32 %m, 255, %m;",
    "values": "and.b32 %m, %v, 3; match.any.sync.b32 %m, %m, -1;",
    "single": "mov.u32 %m, %lanemask_eq;",
    "whole": "mov.u32 %m, %lanemask_eq; not.b32 %m, %m; or.b32 %m, %m, %lanemask_eq;",
}


def kernel(operation: str, mask: str, lanes: str) -> str:
    mask = mask.replace("shl.b32 %m, 255, %m;", "mov.u32 %r, 255; shl.b32 %m, %r, %m;")
    mask = mask.replace("or.b32 %m, %m, %lanemask_eq;", "mov.u32 %r, %lanemask_eq; or.b32 %m, %m, %r;")
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
    .reg .u64 %o, %w; .reg .u32 %t, %v, %m, %r, %b; .reg .pred %p, %q;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
    ld.global.u32 %v, [%o];
    {lanes}
    setp.ge.s32 %p, %v, 2; vote.sync.ballot.b32 %b, %p, {"0xffffffff" if not lanes else "0xfffff"};
    {mask} {operation}
    st.global.u32 [%o], %r; ret;
}}
"""


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_of_its_own_lanes_only(operation: str, mask: str) -> None:
    rng = np.random.default_rng(len(operation) + 7 * len(mask))
    for values in (rng.integers(-2, 5, 32), rng.integers(1, 3, 32), np.full(32, 2), np.arange(32) - 9):
        target = 80 if operation.startswith("redux") else 75
        for number in (90, target):
            agree(kernel(OPERATIONS[operation], MASKS[mask], ""), "k", 1, 32, values.astype(np.int32), target=number)


@pytest.mark.parametrize("operation", ["all", "uni", "match_all", "redux_min.s32", "ballot"])
def test_lanes_that_ended_are_asked_no_more(operation: str) -> None:
    """They are in the mask of the third tile."""
    text = kernel(OPERATIONS[operation], MASKS["tiles"], "setp.ge.u32 %q, %t, 20; @%q ret;")
    for values in (np.full(32, 2), np.arange(32)):
        agree(text, "k", 1, 32, values.astype(np.int32))


def test_one_lane_of_each_mask_is_elected() -> None:
    text = kernel("elect.sync %r|%q, %m; @%q add.u32 %r, %r, 100;", MASKS["tiles"], "")
    (found,) = agree(text, "k", 1, 32, np.zeros(32, np.int32))
    assert sorted(found)[-4:] == [100, 108, 116, 124]
