"""Signals inside kernels of the cpu device become exceptions; signals outside stay what they are.

Whatever kills the process when the guard fails runs in a process of its own.
"""

import os
import signal
import subprocess
import sys

import pytest

from drawloom.cpu import faults

pytestmark = pytest.mark.skipif(not faults.available(), reason="the fault guard is for Linux on x86-64")

PREAMBLE = '''
import ctypes, faulthandler, mmap, os, signal, sys, threading
import numpy as np
import drawloom
from drawloom.errors import Error, KernelFault, MemoryAccessError

TEXT = """.version 8.3
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 FORMAT[6] = {91, 37, 115, 93, 10, 0}; // "[%s]"
.visible .entry loads(.param .u64 address, .param .u64 out, .param .u32 at)
{   // thread `at` of the grid loads; the others only write their number
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [address]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [at];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd2, %rd3;
    setp.ne.u32 %p1, %r5, %r1;
    @%p1 bra NUMBER;
    ld.global.u32 %r5, [%rd1];
NUMBER:
    st.global.u32 [%rd3], %r5;
    ret;
}
.visible .entry stores(.param .u64 address)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [address]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry behind_a_barrier(.param .u64 address, .param .u64 out)
{   // block 5 loads
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .b32 word;
    ld.param.u64 %rd1, [address]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x; st.shared.u32 [word], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [word];
    setp.ne.u32 %p1, %r2, 5;
    @%p1 bra DONE;
    ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd2], %r3;
DONE:
    ret;
}
.visible .entry forever(.param .u64 address)
{   // block 0 loads; the others go on for ever
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [address]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;
    ret;
AGAIN:
    mad.lo.u32 %r2, %r2, 1664525, 1013904223;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry waits(.param .u64 address, .param .u64 flag)
{   // block 0 loads; the others wait for a flag that nobody sets
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [address]; ld.param.u64 %rd2, [flag]; mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;
AGAIN:
    ld.volatile.global.u32 %r2, [%rd2];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra AGAIN;
    ret;
}
.visible .entry pairs(.param .u64 address, .param .u64 out)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [address]; ld.param.u64 %rd2, [out];
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    ret;
}
.visible .entry prints(.param .u64 string)
{
    .reg .b32 %r<2>; .reg .b64 %rd<4>; .local .align 8 .b8 args[8];
    ld.param.u64 %rd1, [string];
    st.local.u64 [args], %rd1;
    mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2;
    mov.u64 %rd3, FORMAT; cvta.global.u64 %rd3, %rd3;
    { .param .b64 f; .param .b64 a; .param .b32 r;
      st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
      call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }
    ret;
}
.func (.param .b32 r) deep(.param .b32 n)
{   // 32 of these frames are 34 MiB: the second goes past the thread's stack before any function looks at the depth
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .local .align 4 .b8 room[1114112];
    ld.param.b32 %r1, [n];
    mul.wide.u32 %rd2, %r1, 4; mov.u64 %rd1, room; add.s64 %rd1, %rd1, %rd2;
    st.local.u32 [%rd1], %r1; add.u32 %r2, %r1, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), deep, (a); ld.param.b32 %r3, [b]; }
    ld.local.u32 %r4, [%rd1]; add.u32 %r3, %r3, %r4;
    st.param.b32 [r], %r3;
    ret;
}
.visible .entry recurses(.param .u64 out)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], 0; call.uni (b), deep, (a); ld.param.b32 %r1, [b]; }
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry stops(.param .u64 out)
{
    brkpt;
    ret;
}
"""
module = drawloom.load(TEXT, device="cpu")
WILD = 0x1234567000
OUT = np.zeros(64 * 1024, np.uint32)

def fails(launch, *args, match="", address=None, kind=MemoryAccessError):
    try:
        launch(*args)
    except kind as error:
        assert match in str(error), str(error)
        assert address is None or error.address == address, hex(error.address)
        return error
    raise AssertionError("no error")

def good():
    OUT[:] = 0
    number = np.array([0], np.uint32)
    module["loads"][1024, 64](number, OUT, OUT.size)
    assert (OUT == np.arange(OUT.size)).all()
'''


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + code], capture_output=True, text=True, timeout=120, env=env, check=False
    )


def passes(code: str, **environment: str) -> str:
    done = run(code + "\ngood()\nprint('good')", **environment)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr}"
    assert done.stdout.endswith("good\n")
    return done.stdout


def dies(code: str) -> str:
    done = run(code + "\nprint('alive')")
    assert done.returncode == -signal.SIGSEGV, f"exit {done.returncode}\n{done.stderr}"
    assert "alive" not in done.stdout
    return done.stderr


# -- inside a kernel -------------------------------------------------------------------------------------


def test_a_wild_load_names_kernel_access_address_and_what_to_do() -> None:
    passes("""
error = fails(module["loads"][1, 32], WILD, OUT, 3, address=WILD)
assert str(error) == (
    'kernel loads: read from unmapped memory at 0x1234567000; '
    'check="memory" or DRAWLOOM_CHECK=memory finds the PTX line\\n  in block (0, 0, 0)'
), str(error)
assert error.kernel == "loads" and error.block == (0, 0, 0) and error.thread is None
checked = fails(drawloom.load(TEXT, device="cpu", check="memory")["loads"][1, 32], WILD, OUT, 3)
assert checked.thread == (3, 0, 0) and "ld.global.u32 %r5" in checked.source_line
""")


def test_a_wild_store_and_null() -> None:
    passes("""
fails(module["stores"][1, 1], WILD, address=WILD, match="kernel stores: write to unmapped memory at 0x1234567000")
fails(module["stores"][1, 1], None, address=0, match="write to unmapped memory at 0x0")
fails(module["loads"][1, 32], None, OUT, 0, address=0, match="read from unmapped memory at 0x0")
""")


def test_addresses_that_no_memory_can_have() -> None:
    passes("""
fails(module["loads"][1, 32], 1 << 63, OUT, 0, match="misaligned, or that no memory can have")
fails(module["stores"][1, 32], 0x00ffffffffff0000, match="misaligned, or that no memory can have")
fails(module["loads"][1, 32], 0xffffffffff000000, OUT, 0, address=0xffffffffff000000)
""")


def test_read_only_memory_and_a_file_cut_short(tmp_path) -> None:
    passes(f"""
words = np.arange(4096, dtype=np.uint32)
words.tofile({str(tmp_path / "words")!r})
with open({str(tmp_path / "words")!r}, "r+b") as file:
    mapped = np.memmap(file, np.uint32, "r")
    address = mapped.ctypes.data
    module["loads"][1, 32](address + 400, OUT, 0)
    assert OUT[0] == 100
    fails(module["stores"][1, 1], address, address=address, match="write to read-only memory")
    file.truncate(4096)
    fails(module["loads"][1, 32], address + 8192, OUT, 0, address=address + 8192, match="its file has no data")
""")


def test_a_misaligned_vector_leaves_the_process_alive() -> None:
    passes("""
words = np.arange(64, dtype=np.uint32)
try:
    module["pairs"][1, 1](words.ctypes.data + 4, OUT)
except MemoryAccessError as error:
    assert "misaligned" in str(error)
""")


@pytest.mark.parametrize("lanes", ["", "1"])
def test_one_thread_of_many_blocks(lanes: str) -> None:
    passes(
        """
for thread in (0, 65535, 12345):
    error = fails(module["loads"][1024, 64], WILD, OUT, thread, address=WILD)
    assert error.block == (thread // 64, 0, 0)
""",
        DRAWLOOM_LANES=lanes,
    )


@pytest.mark.parametrize("lanes", ["", "1"])
def test_kernels_that_stop_name_the_block_too(lanes: str) -> None:
    passes(
        """
for _ in range(20):
    error = fails(module["behind_a_barrier"][64, 64], WILD, OUT, address=WILD)
    assert error.block == (5, 0, 0), error.block
""",
        DRAWLOOM_LANES=lanes,
    )


def test_the_other_workers_stop() -> None:
    passes(
        """
for _ in range(5):
    fails(module["forever"][8, 32], WILD, address=WILD)
    fails(module["waits"][8, 32], WILD, OUT[:1], address=WILD)
""",
        DRAWLOOM_THREADS="4",
    )


def test_every_worker_at_once() -> None:
    passes(
        """
for _ in range(50):
    fails(module["stores"][64, 1], WILD, address=WILD)
""",
        DRAWLOOM_THREADS="8",
    )


def test_a_hundred_times_with_good_launches_between() -> None:
    passes("""
for i in range(100):
    fails(module["loads"][256, 64], WILD + 4096 * i, OUT, 64 * i, address=WILD + 4096 * i)
    good()
workers = [t for t in threading.enumerate() if t.name == "drawloom"]
assert len(workers) <= len(os.sched_getaffinity(0)), workers
""")


def test_several_threads_launch_and_fail_beside_each_other() -> None:
    passes("""
wrong = []
def work(number):
    out = np.zeros(4096, np.uint32)
    for i in range(40):
        try:
            address = WILD + 65536 * number + 4096 * (i % 8)
            fails(module["loads"][64, 64], address, out, 64 * i, address=address)
            module["loads"][64, 64](0, out, out.size)
            assert (out == np.arange(out.size)).all()
        except BaseException as error:
            wrong.append(error)
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, wrong
""")


def test_on_a_stream_it_is_raised_when_synchronized() -> None:
    passes("""
stream = drawloom.Stream("cpu")
module["loads"][64, 64, stream](WILD, OUT, 7)
fails(stream.synchronize, address=WILD, match="kernel loads: read")
module["loads"][64, 64, stream](0, OUT, OUT.size)
stream.synchronize()
assert (OUT[:4096] == np.arange(4096)).all()
stream.close()
""")


def test_in_a_forked_child() -> None:
    passes("""
good()
child = os.fork()
if child == 0:
    fails(module["loads"][64, 64], WILD, OUT, 7, address=WILD)
    good()
    os._exit(42)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
""")


def test_printing_a_wild_string() -> None:
    out = passes(
        """
module["prints"][1, 1](np.frombuffer(b"text\\\\0", np.uint8))
error = fails(module["prints"][1, 1], WILD, address=WILD, match="kernel prints: read from unmapped memory")
assert error.thread == (0, 0, 0)
""".replace("\\\\0", "\\0")
    )
    assert out.startswith("[text]\n")


def test_frames_so_large_that_they_leave_the_stack_are_a_stack_overflow() -> None:
    passes("""
for _ in range(3):
    error = fails(module["recurses"][4, 32], OUT, kind=KernelFault, match="stack overflow")
    assert not isinstance(error, MemoryAccessError) and error.line == 0
""")


def test_brkpt_is_not_called_trap() -> None:
    passes('fails(module["stops"][1, 1], OUT, kind=KernelFault, match="kernel stops: the kernel stopped at brkpt")')


def test_ctrl_c_still_stops_a_launch() -> None:
    passes("""
fails(module["stores"][64, 1], WILD, address=WILD)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
number = np.array([0], np.uint32)
try:
    module["waits"][8, 32](number, OUT[:1])
except KeyboardInterrupt:
    pass
else:
    raise AssertionError
""")


# -- the guard itself ------------------------------------------------------------------------------------

GUARDED = '''
good()
from drawloom.cpu import engine, faults
IR = """
define void @divides(ptr %a, ptr %b) {
  %d = load volatile i32, ptr %a
  %q = sdiv i32 7, %d
  store volatile i32 %q, ptr %a
  ret void
}
define void @illegal(ptr %a, ptr %b) {
  call void @llvm.trap()
  unreachable
}
define void @rounds_up(ptr %a, ptr %b) {
  store i32 24448, ptr %b
  call void @llvm.x86.sse.ldmxcsr(ptr %b)
  %d = load volatile i32, ptr %a
  ret void
}
define void @jumps(ptr %a, ptr %b) {
  call void %a()
  ret void
}
define void @calls(ptr %a, ptr %b) {
  call void %a()
  store volatile i32 1, ptr %b
  %again = load volatile i32, ptr inttoptr (i64 4096 to ptr)
  ret void
}
declare void @llvm.trap()
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""
loaded = engine.Loaded(engine.object_code(IR), ["divides", "illegal", "rounds_up", "jumps", "calls"])
word = (ctypes.c_int32 * 1)()
def call(name, a, b=ctypes.addressof(word)):
    return faults.guarded(loaded.addresses[name])(a, b)
'''


def test_other_signals_of_the_processor() -> None:
    passes(
        GUARDED
        + """
assert str(call("divides", ctypes.addressof(word))) == "an arithmetic exception"
assert str(call("illegal", 0)) == "an illegal instruction"
assert str(call("jumps", WILD)) == "jump to unmapped memory at 0x1234567000"
word[0] = 7
assert call("divides", ctypes.addressof(word)) is None and word[0] == 1
"""
    )


def test_the_rounding_mode_is_put_back() -> None:
    passes(
        GUARDED
        + """
assert call("rounds_up", WILD).address == WILD
tiny = float("1e-30")
assert 1.0 + tiny == 1.0
assert call("rounds_up", ctypes.addressof(word)) is None
assert 1.0 + tiny > 1.0  # without a signal nobody does
"""
    )


def test_guards_nest_and_python_called_from_a_kernel_is_outside() -> None:
    passes(
        GUARDED
        + """
seen = []
def inner():
    seen.append(call("jumps", WILD))
    frame = ctypes.c_int64.from_address(faults._record() + 16)
    seen.append(frame.value)
    return 0
Callback = ctypes.CFUNCTYPE(ctypes.c_int64)
callback = Callback(faults.outside(inner))
fault = call("calls", ctypes.cast(callback, ctypes.c_void_p).value)
assert fault.address == 4096 and word[0] == 1
assert seen[0].address == WILD and seen[1] == 0
assert ctypes.c_int64.from_address(faults._record() + 16).value == 0
"""
    )


# -- outside kernels -------------------------------------------------------------------------------------

FATAL = "Fatal Python error: Segmentation fault"
CRASH = "\nctypes.string_at(WILD)"


def test_a_fault_outside_kernels_still_kills() -> None:
    assert dies('fails(module["stores"][1, 32], WILD)\ngood()' + CRASH) == ""


def test_a_fault_in_another_thread_or_by_kill_still_kills() -> None:
    dies("good()\nt = threading.Thread(target=ctypes.string_at, args=(WILD,)); t.start(); t.join()")
    dies("good()\nos.kill(os.getpid(), signal.SIGSEGV)")
    dies("good()\nsignal.raise_signal(signal.SIGSEGV)")


def test_a_fault_in_python_that_a_kernel_calls_still_kills() -> None:
    error = dies("""
faulthandler.enable()
class Writer:
    def write(self, text):
        ctypes.string_at(WILD)
sys.stdout = Writer()
module["prints"][1, 1](None)
""")
    assert FATAL in error and "in write" in error


@pytest.mark.parametrize(
    "before",
    [
        'faulthandler.enable()\nfails(module["stores"][1, 32], WILD)',
        'fails(module["stores"][1, 32], WILD)\nfaulthandler.enable()',
        'good()\nfaulthandler.enable()\nfails(module["stores"][1, 32], WILD)',
        "faulthandler.enable()\ngood()\nfaulthandler.disable()\ngood()\nfaulthandler.enable()\ngood()",
    ],
    ids=["before", "after", "between", "again"],
)
@pytest.mark.parametrize("crash", [CRASH, "\nos.kill(os.getpid(), signal.SIGSEGV)"], ids=["access", "kill"])
def test_faulthandler_prints_once(before: str, crash: str) -> None:
    error = dies(before + crash)
    assert error.count(FATAL) == 1, error


def test_faulthandler_disabled_again_does_not_hang() -> None:
    error = dies("good()\nfaulthandler.enable()\ngood()\nfaulthandler.disable()" + CRASH)
    assert FATAL not in error


def test_a_handler_in_python_gets_what_is_sent() -> None:
    for when in ("good()\n" + "{}", "{}" + "\ngood()", "good()\n{}\ngood()"):
        passes(
            when.format("got = []\nsignal.signal(signal.SIGBUS, lambda *a: got.append(a[0]))")
            + """
os.kill(os.getpid(), signal.SIGBUS)
assert got == [signal.SIGBUS]
signal.raise_signal(signal.SIGBUS)
assert len(got) == 2
fails(module["stores"][1, 32], WILD)
"""
        )


def test_an_ignored_signal_stays_ignored() -> None:
    passes("signal.signal(signal.SIGSEGV, signal.SIG_IGN)\ngood()\nos.kill(os.getpid(), signal.SIGSEGV)")
