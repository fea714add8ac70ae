"""Instructions that no compiler of ours makes: the cpu device leaves the same bytes as the reference."""

from __future__ import annotations

import numpy as np

import drawloom

KERNEL = """.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<4>; .reg .b16 %h<4>; .reg .pred %p;
ld.param.u64 %d0, [out];
ld.param.u64 %d1, [in];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d2, %r0, 16;
add.u64 %d1, %d1, %d2;
add.u64 %d0, %d0, %d2;
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d3, 0.5;
createpolicy.cvt.L2.b64 %d4, %d3;
createpolicy.range.global.L2::evict_last.b64 %d5, [%d1], 16, 4096;
ld.global.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%d1], %d5;
setp.lt.u32 %p, %r0, 20;
mov.b32 %r5, 0;
@%p vadd.s32.u32.s32.sat %r5.h1, %r1.b2, %r2.h0, %r3;
@!%p vmad.s32.u32.s32.sat.shr7 %r5, -%r1.h0, %r2, %r3;
vabsdiff4.u32.s32.u32.add %r6.b310, %r1.b7103, %r2.b2222, %r4;
vset2.s32.s32.lt %r7.h0, %r1.h31, %r2, %r5;
cvt.u16.u32 %h0, %r4;
mov.b32 %f0, %r3;
add.rz.f32.bf16 %f1, %h0, %f0;
fma.rm.sat.f32.f16 %f1, %h0, %h0, %f1;
mov.b32 %r8, %f1;
st.global.v4.b32 [%d0], {%r5, %r6, %r7, %r8};
ret;
}
"""


def test_video_policies_and_mixed_precision() -> None:
    values = np.random.default_rng(5).integers(0, 1 << 32, (80, 4), dtype=np.uint32)
    results = []
    for device in ("cpu", "reference"):
        out = np.zeros_like(values)
        drawloom.load(KERNEL, device=device)["k"][1, 80](out, values)
        results.append(out)
    assert np.array_equal(results[0], results[1])
    assert (results[0] != 0).any(axis=0).all()


CHAIN = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in];
mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 16; add.u64 %d1, %d1, %d2; add.u64 %d0, %d0, %d2;
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];
sub.cc.u32 %r5, %r1, %r2;
addc.cc.u32 %r6, %r3, %r4;
subc.cc.u32 %r7, %r1, %r3;
madc.lo.u32 %r8, %r2, 3, %r4;
st.global.v4.u32 [%d0], {%r5, %r6, %r7, %r8};
ret;
}
"""


def test_additions_take_in_the_carry_of_subtractions_and_the_other_way() -> None:
    """As machine code does: the carry of a subtraction is that of a + ~b + 1, the complement of the borrow."""
    values = np.random.default_rng(6).integers(0, 1 << 32, (64, 4), dtype=np.uint32)
    values[:4] = [[5, 3, 7, 0], [3, 5, 7, 0], [5, 5, 0xFFFFFFFF, 0], [0, 1, 0xFFFFFFFF, 1]]
    a, b, c, d = [column.astype(object) for column in values.T]
    low = 0xFFFFFFFF
    first = a + (b ^ low) + 1
    second = c + d + (first >> 32)
    third = a + (c ^ low) + (second >> 32)
    fourth = b * 3 + d + (third >> 32)
    expected = np.stack([(part & low).astype(np.uint32) for part in (first, second, third, fourth)], axis=1)
    for device in ("cpu", "reference"):
        out = np.zeros_like(values)
        drawloom.load(CHAIN, device=device)["k"][1, 64](out, values)
        assert np.array_equal(out, expected), device
