"""Accesses that are checked on the cpu device: those outside every buffer are told, all others pass."""

import numpy as np
import pytest

import drawloom
from drawloom.errors import MemoryAccessError
from drawloom.ptx import parse
from tests.cpu.kernels import NESTED_LOOPS, kernel, run


def test_checked_accesses_name_line_thread_and_address() -> None:
    body = "setp.ne.u32 %p1, %r1, 40;\n@%p1 bra OK;\nadd.s64 %rd1, %rd1, 1000000;\nOK: st.global.u32 [%rd1], 1;\nret;"
    out = np.zeros(64, dtype=np.uint32)
    module = drawloom.load(kernel(body), device="cpu", check="memory")
    with pytest.raises(MemoryAccessError) as caught:
        module["k"][2, 32](out, out)
    error = caught.value
    assert (error.block, error.thread) == ((1, 0, 0), (8, 0, 0))
    assert error.address == out.ctypes.data + 160 + 1000000
    assert error.size == 4
    assert "st.global.u32" in error.source_line


TWO_VARIABLES = """
.version 7.8
.target sm_80
.address_size 64
.visible .global .u32 first[4];
.visible .global .u32 second[4];
.visible .entry k(.param .u32 at) {
  .reg .b64 %rd<3>;
  .reg .b32 %r;
  ld.param.u32 %r, [at];
  mov.u64 %rd1, first;
  mad.wide.u32 %rd2, %r, 4, %rd1;
  st.global.u32 [%rd2], 7;
  ret;
}
"""


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_access_past_a_variable_into_the_next_is_told(device: str) -> None:
    """They stood next to each other, and all of them were one range."""
    module = drawloom.load(TWO_VARIABLES, device=device, check="memory")
    module["k"][1, 1](3)
    with pytest.raises(drawloom.Error, match=r"outside (of )?every buffer"):
        module["k"][1, 1](4)


def test_a_checked_run_of_correct_code_finds_nothing() -> None:
    module = drawloom.load(kernel(NESTED_LOOPS), device="cpu", check="memory")
    out = np.zeros(100, dtype=np.uint32)
    module["k"][1, 100](out, out)
    np.testing.assert_array_equal(out, run(kernel(NESTED_LOOPS), "reference", 100))


PARAMETER_BY_ADDRESS = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .align 4 .b8 words[16], .param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<3>;
  mov.b64 %rd1, words;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd2;
  ld.u32 %r2, [%rd3];
  ld.param.u64 %rd4, [out];
  mad.wide.u32 %rd4, %r1, 4, %rd4;
  st.global.u32 [%rd4], %r2;
  ret;
}
"""


def test_a_checked_run_knows_the_addresses_of_parameters() -> None:
    out = np.zeros(4, dtype=np.uint32)
    drawloom.load(PARAMETER_BY_ADDRESS, device="cpu", check="memory")["k"][1, 4](np.arange(5, 9, dtype=np.uint32), out)
    np.testing.assert_array_equal(out, [5, 6, 7, 8])


def test_a_constant_null_pointer_is_an_address_like_any_other() -> None:
    """With checks it is found; the compiler must not take the access for impossible and drop it."""
    module = drawloom.load(kernel("mov.u64 %rd5, 0;\nst.global.u32 [%rd5], 1;\nret;"), device="cpu", check="memory")
    out = np.zeros(64, dtype=np.uint32)
    with pytest.raises(MemoryAccessError) as caught:
        module["k"][1, 32](out, out)
    assert caught.value.address == 0
    text = drawloom.cpu.Program(parse(kernel("mov.u64 %rd5, 0;\nst.global.u32 [%rd5], 1;\nret;"))).llvm(
        "k", optimised=True
    )
    assert "unreachable" not in text
