"""Checked accesses to local memory: those inside a function's variables pass, on both devices; others are told."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom.errors import MemoryAccessError

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
#: A leaf that is inlined into its caller's native frame, with a .local depot and a parameter by address.
PICK = """
.func (.param .b32 r) pick(.param .b32 i, .param .b32 x, .param .align 4 .b8 w[16]) {
  .local .align 8 .b8 depot[40];
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u32 %r1, [i];
  ld.param.u32 %r2, [x];
  mov.u64 %rd1, depot;
  st.local.u32 [%rd1], %r2;
  add.u32 %r3, %r2, 1;
  st.local.u32 [%rd1+36], %r3;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  cvta.local.u64 %rd4, %rd3;
  ld.u32 %r4, [%rd4];
  mov.b64 %rd5, w;
  cvta.local.u64 %rd6, %rd5;
  ld.u32 %r5, [%rd6+8];
  add.u32 %r4, %r4, %r5;
  st.param.b32 [r], %r4;
  ret;
}
"""
CALL = """
.visible .entry k(.param .u64 out, .param .u32 at) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [at];
  mov.u32 %r2, %tid.x;
  {
  .param .b32 p0; .param .b32 p1; .param .align 4 .b8 p2[16]; .param .b32 q;
  st.param.b32 [p0], %r1;
  st.param.b32 [p1], %r2;
  st.param.b32 [p2], %r2;
  st.param.b32 [p2+4], %r2;
  st.param.b32 [p2+8], %r2;
  st.param.b32 [p2+12], %r2;
  call.uni (q), pick, (p0, p1, p2);
  ld.param.b32 %r3, [q];
  }
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
"""
DEVICES = ["cpu", "reference"]


def test_local_variables_and_parameters_of_a_called_function_are_inside() -> None:
    """They stood above the check's own frame where LLVM had inlined the function, and were 'outside every buffer'."""
    for device in DEVICES:
        kernel = drawloom.load(HEAD + PICK + CALL, device=device, check="memory")["k"]
        out = np.zeros(40, np.uint32)
        kernel[1, 40](out, 9)
        np.testing.assert_array_equal(out, 2 * np.arange(40) + 1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("at", [10, -1, 1000])
def test_an_access_past_a_called_functions_variable_is_told(device: str, at: int) -> None:
    kernel = drawloom.load(HEAD + PICK + CALL, device=device, check="memory")["k"]
    with pytest.raises(MemoryAccessError) as caught:
        kernel[1, 40](np.zeros(40, np.uint32), at & 0xFFFFFFFF)
    assert "ld.u32 %r4" in caught.value.source_line


NEIGHBOUR = """
.visible .entry k(.param .u64 out) {
  .local .align 4 .b8 depot[16];
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  mov.u64 %rd1, depot;
  st.local.u32 [%rd1+12], 7;
  st.local.u32 [%rd1+16], 8;
  ret;
}
"""
RETURNED = """
.func (.param .b64 r) leak() {
  .local .align 4 .b8 depot[16];
  .reg .b64 %rd<3>;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  st.param.b64 [r], %rd2;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<3>;
  .param .b64 q;
  call.uni (q), leak, ();
  ld.param.b64 %rd1, [q];
  st.u32 [%rd1], 8;
  ret;
}
"""
GROWN = """
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<3>;
  alloca.u64 %rd1, 16;
  st.local.u32 [%rd1+12], 7;
  st.local.u32 [%rd1+16], 8;
  ret;
}
"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("body", [NEIGHBOUR, RETURNED, GROWN])
def test_local_memory_of_another_thread_or_of_nobody_is_told(device: str, body: str) -> None:
    """The next thread's variables, those of a function that returned, and what lies above the stack."""
    kernel = drawloom.load(HEAD + body, device=device, check="memory", level=0)["k"]
    with pytest.raises(MemoryAccessError) as caught:
        kernel[1, 40](np.zeros(40, np.uint32))
    assert ", 8;" in caught.value.source_line


FACTORIAL = """
.func (.param .b32 r) down(.param .b32 n, .param .b64 outer) {
  .local .align 4 .b8 mine[4];
  .reg .b64 %rd<5>; .reg .b32 %r<9>; .reg .pred %p;
  ld.param.u32 %r1, [n];
  ld.param.u64 %rd1, [outer];
  ld.u32 %r2, [%rd1];
  add.u32 %r3, %r2, %r1;
  mov.u64 %rd2, mine;
  st.local.u32 [%rd2], %r3;
  mov.u32 %r4, %r3;
  setp.eq.u32 %p, %r1, 0;
  @%p bra END;
  cvta.local.u64 %rd3, %rd2;
  sub.u32 %r5, %r1, 1;
  {
  .param .b32 p0; .param .b64 p1; .param .b32 q;
  st.param.b32 [p0], %r5;
  st.param.b64 [p1], %rd3;
  call.uni (q), down, (p0, p1);
  ld.param.b32 %r4, [q];
  }
END:
  st.param.b32 [r], %r4;
  ret;
}
.visible .entry k(.param .u64 out) {
  .local .align 4 .b8 depot[4];
  .reg .b64 %rd<5>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.u64 %rd1, depot;
  st.local.u32 [%rd1], 0;
  bar.sync 0;
  cvta.local.u64 %rd2, %rd1;
  {
  .param .b32 p0; .param .b64 p1; .param .b32 q;
  st.param.b32 [p0], %r1;
  st.param.b64 [p1], %rd2;
  call.uni (q), down, (p0, p1);
  ld.param.b32 %r2, [q];
  }
  ld.param.u64 %rd3, [out];
  mad.wide.u32 %rd3, %r1, 4, %rd3;
  st.global.u32 [%rd3], %r2;
  ret;
}
"""


@pytest.mark.parametrize("lanes", ["", "1"])
def test_functions_may_access_their_callers_variables(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through recursion, behind a barrier, warp by warp and lane by lane."""
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    for device in DEVICES:
        out = np.zeros(70, np.uint32)
        drawloom.load(HEAD + FACTORIAL, device=device, check="memory")["k"][1, 70](out)
        np.testing.assert_array_equal(out, np.arange(70) * np.arange(1, 71) // 2)


SINE = """
extern "C" __global__ void k(int n, const double* x, double* y) {
  int i = threadIdx.x;
  if (i < n) y[i] = sin(x[i]);
}
"""


def check_sine(text: str, kernel: str, *rest: object) -> None:
    """Sines of large numbers, whose argument is reduced in a function with local memory, pass the check."""
    x = np.array([0.5, -1e9, 1e16, 1e22, -3e200])
    expected = [math.sin(value) for value in x]
    for device in DEVICES:
        y = np.zeros(5)
        drawloom.load(text, device=device, check="memory")[kernel][1, 32](*[*rest, x, y])
        np.testing.assert_allclose(y, expected, rtol=1e-15)


def test_the_sine_of_a_large_number_by_nvcc_passes(nvcc: str, tmp_path: Path) -> None:
    source = tmp_path / "sine.cu"
    source.write_text(SINE)
    subprocess.run([nvcc, "-ptx", "-arch=sm_80", str(source), "-o", str(tmp_path / "sine.ptx")], check=True)
    check_sine(str(tmp_path / "sine.ptx"), "k", np.int32(5))


def test_the_sine_of_a_large_number_by_numba_passes() -> None:
    cuda = pytest.importorskip("numba.cuda")
    float64 = pytest.importorskip("numba").float64

    def sine(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < 5:
            y[i] = math.sin(x[i])

    try:
        text, _ = cuda.compile_ptx(sine, (types_pointer(float64), types_pointer(float64)), cc=(8, 0))
    except Exception as refusal:
        pytest.skip(f"Numba compiles nothing here: {refusal}")
    check_sine(text, next(iter(drawloom.load(text, device="reference"))))


def types_pointer(element: object) -> object:
    """Numba's type of a plain pointer, which is a single parameter of the kernel."""
    from numba import types

    return types.CPointer(element)
