"""A value packed from lanes' halves varies over lanes, wherever the halves came from."""

import numpy as np
import pytest

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


VECTORS = """.version 8.0
.target sm_61
.address_size 64
.visible .entry k(.param .u64 data)
{
    .reg .v2 .f32 v, w;
    .reg .v4 .u32 %q<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    mov.v4.u32 %q0, %tid;
    mov.v4.u32 %q1, %ntid;
    mad.lo.u32 %q0.x, %q0.y, %q1.x, %q0.x;
    mul.wide.u32 %rd2, %q0.x, 8;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.v2.f32 v, [%rd1];
    mov.v2.f32 w, v;
    add.f32 w.x, v.y, v.x;
    mul.f32 w.g, v.r, 0f40000000;
    st.global.v2.f32 [%rd1], w;
    ret;
}
"""


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("block", [(16, 1), (8, 2), (3, 5)])
def test_components_of_vector_registers(block: tuple[int, int], device: str, level: int) -> None:
    data = np.arange(2 * block[0] * block[1], dtype=np.float32)
    x, y = data[::2].copy(), data[1::2].copy()
    drawloom.load(VECTORS, device=device, level=level)["k"][1, block](data)
    assert data[::2].tolist() == (x + y).tolist() and data[1::2].tolist() == (2 * x).tolist()


def test_components_of_vector_registers_assemble() -> None:
    for arch in ("sm_61", "sm_75", "sm_90"):
        assert drawloom.assemble(VECTORS, arch).kernels["k"].code
