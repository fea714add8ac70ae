"""Device functions on the cpu device: calls by name and by address, lanes that return at different times, and functions
that stop in the middle.
"""

import numpy as np
import pytest

import drawloom
from tests.cpu.kernels import agrees, kernel

FUNCTIONS = """
.func (.param .b32 result) power(.param .b32 base, .param .b32 exponent)
{
.reg .b32 %r<8>; .reg .pred %p<2>;
ld.param.u32 %r0, [base];
ld.param.u32 %r1, [exponent];
setp.ne.u32 %p0, %r1, 0;
@%p0 bra MORE;
mov.u32 %r2, 1;
st.param.b32 [result], %r2;
ret;
MORE:
sub.u32 %r3, %r1, 1;
{
.param .b32 a; .param .b32 b; .param .b32 c;
st.param.b32 [a], %r0;
st.param.b32 [b], %r3;
call.uni (c), power, (a, b);
ld.param.b32 %r4, [c];
}
mul.lo.u32 %r5, %r4, %r0;
st.param.b32 [result], %r5;
ret;
}
.func (.param .b32 result) twice(.param .b32 base, .param .b32 exponent)
{
.reg .b32 %r<4>; .reg .pred %p<2>;
ld.param.u32 %r0, [base];
and.b32 %r1, %r0, 7;
setp.eq.u32 %p0, %r1, 7;
@%p0 exit;
shl.b32 %r0, %r0, 1;
st.param.b32 [result], %r0;
ret;
}
"""


def test_recursive_functions_with_divergent_depth(mode: str) -> None:
    body = """
    and.b32 %r4, %r0, 7;
    { .param .b32 a; .param .b32 b; .param .b32 c;
    st.param.b32 [a], 3;
    st.param.b32 [b], %r4;
    call.uni (c), power, (a, b);
    ld.param.b32 %r5, [c]; }
    st.global.u32 [%rd1], %r5;
    ret;
    """
    out = agrees(kernel(body, FUNCTIONS), 40)
    np.testing.assert_array_equal(out, 3 ** (np.arange(40) % 8))


def test_indirect_calls_and_lanes_that_exit_in_them(mode: str) -> None:
    body = """
    and.b32 %r4, %r0, 1;
    setp.eq.u32 %p1, %r4, 0;
    mov.u64 %rd4, power; mov.u64 %rd5, twice;
    selp.b64 %rd6, %rd4, %rd5, %p1;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
    { .param .b32 a; .param .b32 b; .param .b32 c;
    st.param.b32 [a], %r0;
    st.param.b32 [b], 2;
    call (c), %rd6, (a, b), proto;
    ld.param.b32 %r5, [c]; }
    st.global.u32 [%rd1], %r5;
    ret;
    """
    agrees(kernel(body, FUNCTIONS), 48)


def test_a_barrier_inside_a_device_function(mode: str) -> None:
    function = """
    .shared .align 4 .b8 smem[512];
    .func (.param .b32 result) neighbour(.param .b32 value)
    {
    .reg .b32 %r<8>;
    ld.param.u32 %r0, [value];
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, smem; add.u32 %r2, %r2, %r3;
    bar.sync 0;
    st.shared.u32 [%r2], %r0;
    bar.sync 0;
    xor.b32 %r4, %r1, 33; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r3;
    ld.shared.u32 %r5, [%r4];
    st.param.b32 [result], %r5;
    ret;
    }
    """
    call = """
    { .param .b32 a; .param .b32 c;
    st.param.b32 [a], %r4;
    call.uni (c), neighbour, (a);
    ld.param.b32 %r4, [c]; }
    add.u32 %r4, %r4, 1;
    """
    body = "mul.lo.u32 %r4, %r0, 3;" + call + call + "st.global.u32 [%rd1], %r4; ret;"
    agrees(kernel(body, function), 128)


WAITS_IN_A_FUNCTION = """
.version 7.8
.target sm_80
.address_size 64
.visible .global .u32 flag;
.func wait_for(.param .u64 at) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd1, [at];
AGAIN:
  ld.volatile.u32 %r1, [%rd1];
  setp.eq.u32 %p, %r1, 0;
  @%p bra AGAIN;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<4>;
  .reg .pred %p;
  mov.u64 %rd1, flag;
  cvta.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  setp.eq.u32 %p, %r1, %r2;
  @%p bra LAST;
  .param .u64 at;
  st.param.u64 [at], %rd2;
  call wait_for, (at);
  bra DONE;
LAST:
  st.volatile.global.u32 [flag], 1;
DONE:
  ld.param.u64 %rd3, [out];
  mad.wide.u32 %rd4, %r1, 4, %rd3;
  st.global.u32 [%rd4], %r1;
  ret;
}
"""


def test_blocks_that_wait_in_a_function_let_others_go_on() -> None:
    """A function that is not inlined and waits for another block kept its core for ever."""
    out = np.zeros(300, dtype=np.uint32)
    drawloom.load(WAITS_IN_A_FUNCTION, device="cpu")["k"][300, 1](out)
    np.testing.assert_array_equal(out, np.arange(300))


STOPS_BESIDE_AN_INDIRECT_CALL = """
.version 7.8
.target sm_80
.address_size 64
.func (.param .u32 out) twice(.param .u32 in) {
  .reg .b32 %r;
  ld.param.u32 %r, [in];
  add.u32 %r, %r, %r;
  st.param.u32 [out], %r;
  ret;
}
.func meet() {
  bar.sync 0;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<3>;
  .shared .u32 line[64];
  mov.u32 %r1, %tid.x;
  mov.u64 %rd1, line;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.shared.u32 [%rd2], %r1;
  call meet;
  xor.b32 %r2, %r1, 63;
  mad.wide.u32 %rd2, %r2, 4, %rd1;
  ld.shared.u32 %r2, [%rd2];
  mov.u64 %rd3, twice;
  .param .u32 in;
  .param .u32 doubled;
  st.param.u32 [in], %r2;
  P: .callprototype (.param .u32 _) _ (.param .u32 _);
  call (doubled), %rd3, (in), P;
  ld.param.u32 %r2, [doubled];
  ld.param.u64 %rd4, [out];
  mad.wide.u32 %rd4, %r1, 4, %rd4;
  st.global.u32 [%rd4], %r2;
  ret;
}
"""


def test_an_indirect_call_reaches_no_function_whose_address_nobody_takes() -> None:
    """A function with a barrier was refused in a kernel that also calls something by its address."""
    out = np.zeros(64, dtype=np.uint32)
    drawloom.load(STOPS_BESIDE_AN_INDIRECT_CALL, device="cpu")["k"][1, 64](out)
    np.testing.assert_array_equal(out, 2 * (63 - np.arange(64)))


STOPS_WITH_A_PARAMETER_BY_ADDRESS = """
.version 7.8
.target sm_80
.address_size 64
.func (.param .b32 result) pick(.param .align 4 .b8 words[16], .param .b32 index) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<5>;
  mov.b64 %rd1, words;
  ld.param.u32 %r1, [index];
  bar.sync 0;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.local.u32 %r2, [%rd3];
  st.local.u32 [%rd1], %r1;
  bar.sync 0;
  ld.param.u32 %r3, [words];
  mad.lo.u32 %r4, %r3, 100, %r2;
  st.param.b32 [result], %r4;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<6>;
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 3;
  mul.lo.u32 %r3, %r1, 2;
  .param .align 4 .b8 given[16];
  .param .b32 index;
  .param .b32 result;
  st.param.b32 [given+0], %r3;
  st.param.b32 [given+4], %r1;
  st.param.b32 [given+8], %r3;
  st.param.b32 [given+12], %r1;
  st.param.b32 [index], %r2;
  call (result), pick, (given, index);
  ld.param.b32 %r4, [result];
  ld.param.u64 %rd1, [out];
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r4;
  ret;
}
"""


@pytest.mark.parametrize("check", ["off", "memory"])
def test_a_function_that_stops_takes_the_address_of_its_parameter(check: str) -> None:
    """Such a function becomes part of the kernel, which has no addresses of its own `.param` variables."""
    out = np.zeros(96, dtype=np.uint32)
    drawloom.load(STOPS_WITH_A_PARAMETER_BY_ADDRESS, device="cpu", check=check, level=0)["k"][1, 96](out)
    lane = np.arange(96, dtype=np.uint32)
    np.testing.assert_array_equal(out, lane % 4 * 100 + np.where(lane % 2, lane, lane * 2))


EARLY_RESULT = """
.func (.reg .b32 y) f(.reg .b32 x)
{
.reg .pred p;
setp.gt.u32 p, x, 5;
mov.b32 y, 7;
@p ret;
add.u32 y, x, 1;
BODY
ret;
}
"""


BRANCHES = "{ .reg .pred q; and.b32 x, x, 1; setp.eq.u32 q, x, 0; @q bra E; mov.b32 y, 9; E: }"


@pytest.mark.parametrize("body", ["", BRANCHES])
def test_results_of_lanes_that_return_early(mode: str, body: str) -> None:
    """The other lanes go on and write the same register."""
    call = "call.uni (%r5), f, (%r0); st.global.u32 [%rd1], %r5; ret;"
    agrees(kernel(call, EARLY_RESULT.replace("BODY", body)))


PREDICATES = """.version 8.0
.target sm_80
.address_size 64
.func (.reg .pred %q) above(.reg .u32 %x, .reg .pred %flip)
{
setp.gt.u32 %q, %x, 3;
@%flip not.pred %q, %q;
BODY
ret;
}
.visible .entry k(.param .u64 out)
{
.reg .pred %p, %f; .reg .u32 %r<4>; .reg .u64 %d;
mov.u32 %r1, %tid.x;
setp.lt.u32 %f, %r1, 2;
call (%p), above, (%r1, %f);
selp.u32 %r2, 1, 0, %p;
ld.param.u64 %d, [out];
mad.wide.u32 %d, %r1, 4, %d;
st.global.u32 [%d], %r2;
ret;
}
"""


@pytest.mark.parametrize("body", ["", "bar.sync 0;"])
def test_functions_take_and_return_predicates(mode: str, body: str) -> None:
    lane = np.arange(40)
    for device in ("cpu", "reference"):
        out = np.zeros(40, dtype=np.uint32)
        drawloom.load(PREDICATES.replace("BODY", body), device=device)["k"][1, 40](out)
        np.testing.assert_array_equal(out, (lane > 3) ^ (lane < 2), err_msg=device)
