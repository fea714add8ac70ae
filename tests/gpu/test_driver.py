"""What is particular to a GPU: the driver's compiler, memory that is not the host's, contexts that fail."""

import gc

import numpy as np
import pytest

import drawloom
from drawloom import DeviceError, KernelFault, LaunchError, UnsupportedError
from drawloom.runtime import Stream, pinned_array
from drawloom.runtime.cuda import CudaBackend
from tests.runtime import programs


@pytest.fixture
def backend(device: str) -> CudaBackend:
    found = drawloom.runtime.device(device).backend
    assert isinstance(found, CudaBackend)
    return found


def test_the_device_describes_itself(device: str) -> None:
    found = drawloom.devices()
    assert [d.name for d in found][:2] == ["cpu", device]
    gpu = found[1]
    assert gpu.kind == "cuda"
    assert gpu.cores > 0
    assert gpu.memory > 1 << 30
    assert gpu.compute >= (5, 0)
    assert gpu.description
    assert drawloom.runtime.device("cuda") == gpu


def test_a_device_that_is_not_there(device: str) -> None:
    with pytest.raises(DeviceError, match=r"no device cuda:99: no such GPU; there are: cpu, reference, cuda:0"):
        drawloom.runtime.device("cuda:99")


def test_memory_checks_are_refused_with_an_alternative(device: str) -> None:
    with pytest.raises(UnsupportedError, match="compute-sanitizer"):
        drawloom.load(programs.SAXPY, device, check="memory")


def test_a_buffer_of_the_host_is_refused(device: str) -> None:
    kernel = drawloom.load(programs.COORDINATES, device)["coordinates"]
    buffer = drawloom.Buffer.alloc(4, np.uint32, "cpu")
    with pytest.raises(LaunchError, match=rf"the Buffer lives on cpu, the kernel on {device}"):
        kernel[1, 1](buffer)
    with pytest.raises(LaunchError, match="a GPU cannot follow addresses of host memory"):
        kernel[1, 1](np.zeros(4, np.uint32), reaches=[np.zeros(4, np.uint32)])


def test_a_buffer_is_a_cuda_array(device: str) -> None:
    with drawloom.Buffer.from_array(np.arange(6, dtype=np.float32), device) as buffer:
        interface = buffer.__cuda_array_interface__
        assert interface["data"] == (buffer.address, False)
        assert (interface["shape"], interface["typestr"]) == ((6,), "<f4")

        class Other:
            def __init__(self) -> None:
                self.__cuda_array_interface__ = {**interface, "stream": 1}

        y = np.ones(6, np.float32)
        drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, Other(), y, 6)
        np.testing.assert_array_equal(y, np.arange(6) + 1)
        with pytest.raises(DeviceError, match="has no view on the host"):
            buffer.numpy()


def test_too_much_memory_is_an_error_and_nothing_more(device: str) -> None:
    with pytest.raises(DeviceError, match=r"no \d+ bytes of memory"):
        drawloom.Buffer.alloc(1 << 45, np.uint8, device)
    with drawloom.Buffer.alloc(16, np.uint8, device) as buffer:
        assert not buffer.to_array().any()


def test_large_dynamic_shared_memory_is_asked_for(device: str, backend: CudaBackend) -> None:
    data = np.arange(1024, dtype=np.uint32)
    drawloom.load(programs.REVERSE, device)["reverse"][1, 1024, backend.shared_limit](data)
    np.testing.assert_array_equal(data, np.arange(1024)[::-1])


def test_ptx_that_the_driver_refuses_shows_its_log(device: str) -> None:
    """Our verifier accepts a target that no GPU has yet; the driver's compiler does not."""
    newest = programs.SAXPY.replace("sm_60", "sm_121").replace(".version 7.0", ".version 9.0")
    compute = drawloom.runtime.device(device).compute
    if compute >= (12, 1):
        pytest.skip("this GPU runs the newest target that we know")
    with pytest.raises(DeviceError, match="the driver refused the PTX: cuModuleLoadDataEx: CUDA_ERROR"):
        drawloom.load(newest, device, assembler="driver")


def test_what_our_assembler_refuses_is_an_error_that_names_the_other_way(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = programs.SAXPY.replace("sm_60", "sm_121").replace(".version 7.0", ".version 9.0")
    with pytest.raises(UnsupportedError, match=r"our assembler refuses the PTX; assembler='driver'") as caught:
        drawloom.load(newest, device)
    assert "the PTX is for sm_121" in str(caught.value)
    monkeypatch.setenv("DRAWLOOM_ASSEMBLER", "nobody")
    with pytest.raises(drawloom.DataError, match="assembler=nobody: expected drawloom or driver"):
        drawloom.load(programs.SAXPY, device)


@pytest.mark.parametrize("assembler", ["drawloom", "driver"])
def test_both_ways_to_machine_code(device: str, assembler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name and by the environment."""
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    module = drawloom.load(programs.SAXPY, device, assembler=assembler)
    assert module.program.image.startswith(b"\x7fELF") == (assembler == "drawloom")
    module["saxpy"][4, 32](2.0, x, y, 100)
    np.testing.assert_array_equal(y, 2 * x + 1)
    monkeypatch.setenv("DRAWLOOM_ASSEMBLER", assembler)
    assert drawloom.load(programs.SAXPY, device).program.image == module.program.image


@pytest.mark.faults
def test_an_illegal_address_names_the_kernel_and_resets_the_gpu(device: str, backend: CudaBackend) -> None:
    kept = drawloom.Buffer.alloc(16, np.uint8, device)
    kernel = drawloom.load(programs.STORE_AT, device)["store_at"]
    with drawloom.Buffer.alloc(4, np.uint32, device) as buffer:
        with pytest.raises(KernelFault, match=r"kernel store_at: .*address.*ILLEGAL_ADDRESS") as caught:
            kernel[1, 1](buffer, 2**31)
        assert caught.value.kernel == "store_at"
        with pytest.raises(DeviceError, match="was lost when the GPU was reset after a failed kernel"):
            kept.to_array()
        with pytest.raises(DeviceError, match="was lost"):
            kernel[1, 1](buffer, 0)
    out = np.zeros(4, np.uint32)
    kernel[1, 1](out, 2)
    assert out.tolist() == [0, 0, 7, 0]
    kept.free()


@pytest.mark.faults
def test_the_end_of_a_stream_that_failed_raises_nothing(device: str) -> None:
    stream = Stream(device)
    drawloom.load(programs.TRAP, device)["stop"][1, 1, stream]()
    stream.close()
    y = np.ones(4, np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 4](1.0, y, y, 4)
    assert (y == 2).all()


@pytest.mark.faults
def test_streams_and_events_of_before_a_reset(device: str) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    with Stream(device) as stream:
        y = np.ones(4, np.float32)
        saxpy[1, 4, stream](1.0, y, y, 4)
        stream.synchronize()
        event = stream.record()
        with pytest.raises(KernelFault, match="kernel stop"):
            drawloom.load(programs.TRAP, device)["stop"][1, 1]()
        with pytest.raises(DeviceError, match=r"the event was lost when cuda:\d+ was reset: kernel stop"):
            event.synchronize()
        saxpy[1, 4, stream](1.0, y, y, 4)
        stream.synchronize()
        assert (y == 4).all()


def test_memory_comes_back(device: str, backend: CudaBackend) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    y = np.ones(1 << 20, np.float32)
    saxpy[1, 256](1.0, y, y, 256)

    def free_bytes() -> int:
        gc.collect()
        with backend.active() as driver:
            return int(driver.call("cuMemGetInfo")[0])

    before = free_bytes()
    for _ in range(20):
        saxpy[1, 256](1.0, y, y, 256)
        drawloom.Buffer.from_array(y, device)
    assert free_bytes() >= before - (8 << 20)


@pytest.mark.parametrize("size", [1, 1 << 16, (1 << 16) + 1, 4 << 20, (17 << 20) + 3])
def test_copies_of_every_size_by_page_locked_memory_or_not(device: str, size: int) -> None:
    """Inline, through one piece, through chunks; and page-locked memory itself."""
    data = np.arange(size, dtype=np.uint64).astype(np.uint8)
    locked = pinned_array(size, np.uint8, device)
    with drawloom.Buffer.from_array(data, device) as buffer, Stream(device) as stream:
        np.testing.assert_array_equal(buffer.to_array(), data)
        np.testing.assert_array_equal(buffer.to_array(locked), data)
        buffer.copy_from(data[::-1].copy(), stream)  # nobody else has this array, which is gone at once
        back = buffer.to_array(None, stream)
        buffer.copy_from(locked, stream)
        stream.synchronize()
        np.testing.assert_array_equal(back, data[::-1])
        np.testing.assert_array_equal(buffer.to_array(), data)


def test_large_arrays_are_arguments(device: str) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    y = np.arange(5 << 20, dtype=np.float32)
    saxpy[1, 4](1.0, y, y, 4)
    assert y[:5].tolist() == [0, 2, 4, 6, 4]
    np.testing.assert_array_equal(y[5:], np.arange(5, 5 << 20, dtype=np.float32))
    with Stream(device) as stream:
        saxpy[1, 4, stream](1.0, y, y, 4)
    assert y[:5].tolist() == [0, 4, 8, 12, 4]
