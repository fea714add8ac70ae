"""Kernels in a usual frame, run on the cpu device beside the reference interpreter."""

import numpy as np

import drawloom
from drawloom.ptx import parse, verify

HEADER = ".version 8.3\n.target sm_80\n.address_size 64\n"
#: Registers, and %rd1 = out + 4 * %r1, where %r1 is the thread's number in the grid.
PROLOGUE = """.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>;
ld.param.u64 %rd0, [out];
ld.param.u64 %rd2, [in];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r0, %tid.x;
mad.lo.s32 %r1, %r2, %r3, %r0;
mul.wide.u32 %rd1, %r1, 4;
add.s64 %rd1, %rd0, %rd1;
"""


def kernel(body: str, before: str = "") -> str:
    return HEADER + before + PROLOGUE + body + "\n}\n"


def run(text: str, device: str, threads: int = 64, blocks: int = 1, shared: int = 0, words: int = 0) -> np.ndarray:
    verify(parse(text))
    out = np.zeros(words or threads * blocks, dtype=np.uint32)
    source = np.arange(4096, dtype=np.uint32) * 2654435761 % 1000003
    module = drawloom.load(text, device=device)
    module["k"][blocks, threads, shared](out, source.astype(np.uint32))
    return out


def agrees(text: str, threads: int = 64, blocks: int = 1, shared: int = 0, words: int = 0) -> np.ndarray:
    """The cpu device's output, equal to the reference's."""
    expected = run(text, "reference", threads, blocks, shared, words)
    got = run(text, "cpu", threads, blocks, shared, words)
    np.testing.assert_array_equal(got, expected)
    return got


NESTED_LOOPS = """
mov.u32 %r4, 0; mov.u32 %r5, 0;
OUTER:
mov.u32 %r6, 0;
INNER:
add.u32 %r5, %r5, %r6;
add.u32 %r6, %r6, 1;
and.b32 %r7, %r5, 7;
setp.eq.u32 %p4, %r7, 5;
@%p4 bra NEXT;
setp.le.u32 %p1, %r6, %r0;
@%p1 bra INNER;
xor.b32 %r5, %r5, 12345;
NEXT:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, %r0;
@%p2 bra OUTER;
st.global.u32 [%rd1], %r5;
ret;
"""
