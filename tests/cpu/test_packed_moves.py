"""A value packed from lanes' halves varies over lanes, wherever the halves came from."""

import numpy as np

import drawloom

BUTTERFLY = """.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .reg .pred %p<3>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd1, %r0, 8, %rd0;
    cvt.u64.u32 %rd2, %r0;
    mov.u32 %r5, 16;
L:
    mov.b64 {%r1, %r2}, %rd2;
    shfl.sync.bfly.b32 %r3, %r1, %r5, 31, -1;
    shfl.sync.bfly.b32 %r4, %r2, %r5, 31, -1;
    mov.b64 %rd3, {%r3, %r4};
    add.s64 %rd2, %rd2, %rd3;
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p0, %r5, 0;
    @%p0 bra.uni L;
    st.global.u64 [%rd1], %rd2;
    ret;
}
"""


def test_halves_shuffled_apart_and_packed_again() -> None:
    out = np.zeros(64, dtype=np.int64)
    drawloom.load(BUTTERFLY, device="cpu")["k"][1, 64](out)
    assert out.tolist() == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32
