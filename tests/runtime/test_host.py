"""The host devices: checks, interrupts, queues, and the machine as it describes itself."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import drawloom
from drawloom import DeviceError, KernelFault, LaunchError, MemoryAccessError
from drawloom.runtime import Stream, guarded, machine
from drawloom.runtime.host import HostQueue
from tests.runtime import programs


def test_the_cpu_describes_itself() -> None:
    cpu = drawloom.devices()[0]
    assert (cpu.name, cpu.kind) == ("cpu", "cpu")
    assert 1 <= cpu.cores <= (os.cpu_count() or 1)
    assert cpu.memory > 1 << 28
    assert cpu.vector_bits in (64, 128, 256, 512)
    assert cpu.description
    assert cpu == drawloom.runtime.device("cpu")
    assert drawloom.runtime.device(cpu) is cpu
    assert len({cpu, drawloom.runtime.device("cpu")}) == 1
    assert cpu.is_host


def test_the_widest_vector_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for features, bits in (({"avx", "avx2", "sse2"}, 256), ({"sse2"}, 128), (set(), 64), ({"avx512f", "avx"}, 512)):
        monkeypatch.setattr(machine, "cpu_features", lambda found=features: found)
        assert machine.cpu_device().vector_bits == bits


def test_a_check_names_kernel_line_thread_and_address(device: str) -> None:
    kernel = drawloom.load(programs.STORE_AT, device, check="memory")["store_at"]
    out = np.zeros(4, np.uint32)
    kernel[1, 1](out, 3)
    assert out[3] == 7
    with pytest.raises(MemoryAccessError) as caught:
        kernel[1, (1, 2)](out, 4)
    line = programs.STORE_AT[: programs.STORE_AT.index("st.global")].count("\n") + 1
    assert caught.value.kernel == "store_at"
    assert caught.value.line == line
    assert caught.value.address == out.ctypes.data + 16
    assert caught.value.size == 4
    assert caught.value.block == (0, 0, 0)
    assert caught.value.thread == (0, 0, 0)
    kernel[1, 1](out, 0)
    assert out[0] == 7


@pytest.mark.parametrize("words", [64, 1024, 1 << 20])
def test_the_cpu_reads_around_a_buffer_and_does_not_write_there(words: int) -> None:
    """Reads whose values are dropped are no faults on a GPU either; writes damaged the heap, and Python died later."""
    buffer = drawloom.Buffer.alloc(words, np.uint32, "cpu")
    read, write = [drawloom.load(programs.AROUND, "cpu")[name] for name in ("read_at", "write_at")]
    out = np.ones(1, np.uint32)
    for at in (-1024, -1025, words, words + 5000):
        out[:] = 1
        read[1, 1](buffer, at, out)
        assert out[0] == 0
        with pytest.raises(MemoryAccessError, match="kernel write_at: write to read-only memory"):
            write[1, 1](buffer, at)
        with pytest.raises(MemoryAccessError, match="access outside every buffer"):
            drawloom.load(programs.AROUND, "cpu", check="memory")["read_at"][1, 1](buffer, at, out)
    write[1, 1](buffer, words - 1)
    assert buffer.numpy()[-1] == 7
    buffer.free()
    assert (drawloom.Buffer.alloc(words, np.uint32, "cpu").numpy() == 0).all()


def test_views_keep_the_memory_of_a_freed_buffer() -> None:
    buffer = drawloom.Buffer.alloc(100, np.uint32, "cpu")
    view = buffer.numpy()[10:20]
    view[:] = 5
    buffer.free()
    others = [drawloom.Buffer.alloc(100, np.uint32, "cpu") for _ in range(10)]
    assert (view == 5).all()
    assert all((other.numpy() == 0).all() for other in others)


def test_more_small_buffers_than_have_pages_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "MOST_SMALL", 4)
    buffers = [drawloom.Buffer.alloc(3, np.uint32, "cpu") for _ in range(16)]
    for number, buffer in enumerate(buffers):
        buffer.numpy()[:] = number
    assert [int(buffer.numpy().sum()) for buffer in buffers] == [3 * number for number in range(16)]


ABORTS = """
import os, sys
import numpy as np
import drawloom
from tests.runtime import programs
check, faults = sys.argv[1:]
import faulthandler
if faults == "before":
    faulthandler.enable()
drawloom.load(programs.AROUND, "cpu", check=check)["write_at"][1, 1](np.zeros(4, np.uint32), 3)
if faults == "after":
    faulthandler.enable()
sys.stdout.flush()
os.abort()
"""


@pytest.mark.parametrize("check, faults", [("off", ""), ("off", "before"), ("off", "after"), ("memory", "")])
def test_an_abort_after_unchecked_kernels_says_what_to_run(check: str, faults: str) -> None:
    """glibc finds the damage that a kernel did to its heap, and says 'double free or corruption'."""
    done = subprocess.run([sys.executable, "-c", ABORTS, check, faults], capture_output=True, text=True)
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.count("DRAWLOOM_CHECK=memory names the line") == (check == "off")
    assert done.stderr.count("Fatal Python error: Aborted") == bool(faults)


def test_memory_that_was_not_named_is_out_of_bounds(device: str) -> None:
    out = np.zeros(4, np.uint32)
    kernel = drawloom.load(programs.STORE_AT, device, check="memory")["store_at"]
    with pytest.raises(MemoryAccessError):
        kernel[1, 1](out.ctypes.data, 0)
    kernel[1, 1](out.ctypes.data, 0, reaches=[out])
    assert out[0] == 7


def test_a_number_of_threads_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = drawloom.load(programs.COORDINATES, "cpu")["coordinates"]
    for threads in ("1", "3", "0", ""):
        monkeypatch.setenv("DRAWLOOM_THREADS", threads)
        out = np.zeros(64 * 32, np.uint32)
        kernel[64, 32](out)
        np.testing.assert_array_equal(out, np.arange(out.size))
    for wrong in ("many", "-1", "1.5", "5000"):
        monkeypatch.setenv("DRAWLOOM_THREADS", wrong)
        with pytest.raises(LaunchError, match=f"kernel coordinates: DRAWLOOM_THREADS={wrong}: expected a number"):
            kernel[1, 32](out)


def test_a_buffer_is_an_array_of_the_host(device: str) -> None:
    with drawloom.Buffer.alloc((3, 4), np.float32, device) as buffer:
        view = buffer.numpy()
        assert view.shape == (3, 4)
        assert view.ctypes.data == buffer.address
        assert buffer.address % 256 == 0
        view[2, 3] = 5
        assert buffer.to_array()[2, 3] == 5
        assert not hasattr(buffer, "__cuda_array_interface__")
        assert len(buffer) == 3
    view[0, 0] = 1  # a view keeps the memory


def test_buffers_that_cannot_be() -> None:
    with pytest.raises(DeviceError, match=r"cpu: no \d+ bytes of memory left"):
        drawloom.Buffer.alloc(1 << 62)
    with pytest.raises(DeviceError, match=r"cpu: no \d+ bytes of memory left"):
        drawloom.Buffer.alloc((1 << 40, 1 << 40), np.float64)
    with pytest.raises(drawloom.DataError, match="extents are not negative"):
        drawloom.Buffer.alloc((2, -1))
    with pytest.raises(drawloom.DataError, match="elements are Python objects"):
        drawloom.Buffer.alloc(2, object)
    with pytest.raises(drawloom.DataError, match="a buffer of 'zz': expected a NumPy type"):
        drawloom.Buffer.alloc(2, "zz")


def test_a_stream_runs_beside_the_caller() -> None:
    queue = HostQueue()
    gate = threading.Event()
    done: list[int] = []
    queue.put(gate.wait)
    queue.put(lambda: done.append(1))
    mark = queue.mark()
    assert not queue.idle()
    assert not mark.done()
    assert done == []
    gate.set()
    queue.wait()
    assert done == [1]
    assert mark.done()
    queue.close()
    with pytest.raises(DeviceError, match="closed"):
        queue.put(gate.wait)


def test_what_follows_an_error_is_dropped_until_it_is_raised() -> None:
    queue = HostQueue()
    done: list[str] = []

    def fail() -> None:
        raise KernelFault("went wrong", "first")

    queue.put(fail)
    queue.put(lambda: done.append("dropped"))
    mark = queue.mark()
    with pytest.raises(KernelFault, match="kernel first: went wrong"):
        mark.wait()
    with pytest.raises(KernelFault, match="kernel first: went wrong"):
        queue.wait()
    queue.put(lambda: done.append("after"))
    queue.wait()
    assert done == ["after"]
    queue.close()


def test_closing_a_stream_lets_its_work_end() -> None:
    queue = HostQueue()
    done: list[int] = []
    for index in range(100):
        queue.put(lambda index=index: done.append(index))
    queue.close()
    assert queue.thread is not None
    queue.thread.join(10)
    assert done == list(range(100))


def test_a_launch_behind_a_failed_one_did_not_run() -> None:
    stream = Stream("cpu")
    stop = drawloom.load(programs.TRAP, "cpu")["stop"]
    y = np.ones(4, np.float32)
    stop[1, 1, stream]()
    behind = drawloom.load(programs.SAXPY, "cpu")["saxpy"][1, 4, stream](1.0, y, y, 4)
    with pytest.raises(KernelFault, match="kernel stop"):
        behind.wait()
    with pytest.raises(KernelFault, match="kernel stop"):
        stream.synchronize()
    with pytest.raises(LaunchError):
        behind.run_seconds
    assert (y == 1).all()
    stream.close()


def test_launches_from_many_threads(device: str) -> None:
    module = drawloom.load(programs.SAXPY, device)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for _ in range(5):
                y = np.full(200, seed, np.float32)
                module["saxpy"][2, 128](1.0, y, y, 200)
                np.testing.assert_array_equal(y, 2 * seed)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


INTERRUPTED = """
    import sys, time
    import numpy as np
    import drawloom
    from tests.runtime import programs

    device, asynchronous = sys.argv[1], sys.argv[2] == "stream"
    flag = np.zeros(1, np.uint32)
    kernel = drawloom.load(programs.SPIN, device)["spin"]
    done = flag.copy()
    done[0] = 1
    kernel[1, 1](done)
    stream = drawloom.Stream(device) if asynchronous else None
    print("spinning", flush=True)
    try:
        kernel[1, 1, stream](flag) if stream else kernel[1, 1](flag)
        if stream:
            stream.synchronize()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    if stream:
        flag[0] = 1
        stream.synchronize()
    kernel[2, 32](done)
    y = np.ones(100, np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 128](1.0, y, y, 100)
    print("usable" if (y == 2).all() else "broken", flush=True)
"""


@pytest.mark.parametrize("how", ["call", "stream"])
def test_ctrl_c_stops_a_launch_and_leaves_the_process_usable(device: str, how: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), device, how]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "spinning\n"
        time.sleep(0.3)
        asked = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - asked < 2
        assert child.stdout.readline() == "usable\n"
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.communicate()
