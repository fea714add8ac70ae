"""Looking for GPUs on machines that have none, or whose driver is ill: a reason, never an exception."""

import sys
from enum import IntEnum
from typing import Any

import pytest

import drawloom
from drawloom.runtime import driver as driver_module
from drawloom.runtime.driver import CudaError, Driver, look, look_through


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100


class Attributes:
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = "major"
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = "minor"
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = "cores"


class Api:
    """Answers as cuda.bindings.driver does: a tuple that starts with the result."""

    CUresult = Result
    CUdevice_attribute = Attributes

    def __init__(self, count: int = 1, init: int | Exception = 0) -> None:
        self.count = count
        self.init = init

    def cuInit(self, flags: int) -> tuple[Any, ...]:
        if isinstance(self.init, Exception):
            raise self.init
        return (self.init,)

    def cuDeviceGetCount(self) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, self.count)

    def cuDeviceGet(self, index: int) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, index)

    def cuDeviceGetName(self, length: int, device: int) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, f"GPU {device}".encode().ljust(length, b"\0"))

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, {"major": 8, "minor": 6, "cores": 84}[name])

    def cuDeviceTotalMem(self, device: int) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, 24 << 30)

    def cuGetErrorName(self, code: Result) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, code.name.encode())

    def cuGetErrorString(self, code: Result) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS, b"no CUDA-capable device is detected")


def test_gpus_that_answer() -> None:
    found = look_through(Driver(Api(count=2)))
    assert found.reason == ""
    assert [device.name for device in found.devices] == ["cuda:0", "cuda:1"]
    gpu = found.devices[1]
    assert (gpu.description, gpu.cores, gpu.memory, gpu.compute, gpu.index) == ("GPU 1", 84, 24 << 30, (8, 6), 1)
    assert not gpu.is_host
    assert gpu.as_dict()["compute_capability"] == "8.6"


def test_a_driver_without_a_gpu() -> None:
    found = look_through(Driver(Api(count=0)))
    assert (found.devices, found.reason) == ([], "the NVIDIA driver sees no GPU")


def test_a_driver_that_refuses() -> None:
    found = look_through(Driver(Api(init=100)))
    assert found.devices == []
    assert found.reason == (
        "the NVIDIA driver does not answer: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"
    )


def test_a_library_that_is_not_there() -> None:
    found = look_through(Driver(Api(init=RuntimeError("libcuda.so.1 not found"))))
    assert found.reason == "the NVIDIA driver does not answer: libcuda.so.1 not found"


def test_without_cuda_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    found = look()
    assert found.reason == "cuda-bindings is not installed (pip install 'drawloom[cuda]')"
    monkeypatch.setattr(driver_module, "_probed", found)
    assert [device.name for device in drawloom.devices()] == ["cpu"]
    with pytest.raises(drawloom.DeviceError, match=r"no device cuda:5: cuda-bindings is not installed"):
        drawloom.runtime.device("cuda:5")


class Holder:
    """Has the GPU's last memory, and itself, until garbage is collected."""

    def __init__(self, api: "FullApi") -> None:
        self.own = self
        self.api = api

    def __del__(self) -> None:
        self.api.is_full = False


class FullApi(Api):
    is_full = True

    def cuStreamCreate(self, flags: int) -> tuple[Any, ...]:
        return (Result.CUDA_ERROR_OUT_OF_MEMORY, None) if self.is_full else (Result.CUDA_SUCCESS, "stream")


def test_garbage_goes_before_a_gpu_is_out_of_memory() -> None:
    """Thousands of modules and streams of queries nobody had any more filled an H100."""
    with pytest.raises(CudaError, match="OUT_OF_MEMORY"):
        Driver(FullApi()).call("cuStreamCreate", 0)
    api = FullApi()
    Holder(api)
    assert Driver(api).call("cuStreamCreate", 0) == "stream"


def test_codes_that_nobody_knows_have_a_number() -> None:
    error = Driver(Api()).error("cuMemAlloc", 4242)
    assert isinstance(error, CudaError)
    assert str(error) == "cuMemAlloc: unknown error (4242): unknown error"
