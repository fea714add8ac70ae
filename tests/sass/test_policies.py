"""``createpolicy.range`` on the interpreter, against what ptxas 12.9's code gives there."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from drawloom.sass.assemble import assemble
from drawloom.sass.interpreter import run

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 output, .param .u64 at, .param .u32 first, .param .u32 all)
{
    .reg .u64 %o, %a, %p; .reg .u32 %f, %t;
    ld.param.u64 %o, [output]; ld.param.u64 %a, [at]; ld.param.u32 %f, [first]; ld.param.u32 %t, [all];
    LINE
    st.global.u64 [%o], %p;
    ret;
}
"""
LAST_FIRST = "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %p, [%a], %f, %t;"
UNCHANGED = "createpolicy.range.L2::evict_unchanged.b64 %p, [%a+96], 65536, %t;"
EXPECTED = [
    (LAST_FIRST, 0x7F0012345678, 0x100000, 0x400000, 0x1D36842000000000),
    (LAST_FIRST, 0x10000, 0x5, 0x0, 0x1800000000000000),
    (LAST_FIRST, 0x7FFFFFFF000, 0xFFFFF000, 0xFFFFFFFF, 0x1DD7F02000000000),
    (LAST_FIRST, 0x200000000, 0x1000, 0x1000, 0x1D00002000000000),
    (LAST_FIRST, 0x300000123, 0x300000, 0x1234567, 0x1D6001A000000000),
    (UNCHANGED, 0x7F0000FFFFE0, 0x0, 0x8000000, 0x1881002000000000),
]


@pytest.mark.parametrize("target", [80, 90])
@pytest.mark.parametrize(("line", "at", "first", "whole", "policy"), EXPECTED)
def test_a_policy_of_a_range(target: int, line: str, at: int, first: int, whole: int, policy: int) -> None:
    cubin = assemble(KERNEL.replace("LINE", line), f"sm_{target}")
    out = np.zeros(1, np.uint64)
    params = struct.pack("<QQII", out.ctypes.data, at, first, whole)
    run(cubin, "k", (1, 1, 1), (1, 1, 1), params, buffers=[(out.ctypes.data, 8)])
    assert hex(out[0]) == hex(policy)
