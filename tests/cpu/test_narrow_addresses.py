"""Addresses of local and const memory in 32-bit registers, which clang makes with short pointers."""

from collections.abc import Callable

import numpy as np
import pytest

import drawloom

HEADER = ".version 8.3\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 out)
{{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
.local .align 8 .b8 frame[64];
ld.param.u64 %rd0, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 4;
add.s64 %rd1, %rd0, %rd1;
and.b32 %r1, %r0, 3;
shl.b32 %r1, %r1, 2;
{body}
st.global.u32 [%rd1], %r9;
ret;
}}
"""
BODIES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "local, the same offset in all lanes": (
        "mov.u32 %r2, frame; st.local.u32 [%r2+8], %r0; ld.local.u32 %r9, [%r2+8];",
        lambda i: i,
    ),
    "local, an offset for each lane": (
        "mov.u32 %r2, frame; add.u32 %r2, %r2, %r1; st.local.u32 [%r2], %r0; ld.local.u32 %r9, [%r2];",
        lambda i: i,
    ),
    "const, the same for all lanes": ("mov.u32 %r2, table; ld.const.u32 %r9, [%r2+12];", lambda i: 0 * i + 9),
    "const, an offset for each lane": (
        "mov.u32 %r2, table; add.u32 %r2, %r2, %r1; ld.const.u32 %r9, [%r2];",
        lambda i: 6 + i % 4,
    ),
}


@pytest.mark.parametrize("check", ["off", "memory"])
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("name", list(BODIES))
def test_a_32_bit_register_addresses_local_and_const_memory(name: str, device: str, check: str) -> None:
    body, expected = BODIES[name]
    text = HEADER + ".const .align 4 .u32 table[4] = {6, 7, 8, 9};\n" + KERNEL.format(body=body)
    out = np.zeros(64, dtype=np.uint32)
    drawloom.load(text, device=device, check=check)["k"][1, 64](out)
    np.testing.assert_array_equal(out, expected(np.arange(64)))


def test_a_32_bit_address_beyond_the_frame_is_named() -> None:
    text = HEADER + KERNEL.format(body="mov.u32 %r2, frame; st.local.u32 [%r2+8388608], %r0; mov.u32 %r9, 0;")
    with pytest.raises(drawloom.MemoryAccessError, match="access outside"):
        drawloom.load(text, device="cpu", check="memory")["k"][1, 64](np.zeros(64, dtype=np.uint32))
