"""Generated programs on a GPU, in a process of its own: a kernel that faults or hangs takes that process with it,
and the next program gets a new one (after a fault the driver refuses a process everything)."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from typing import Any, Final

from drawloom.errors import DeviceError, Error
from drawloom.runtime import device as find_device
from drawloom.runtime.cuda import CudaBackend
from tools.fuzz import Outcome
from tools.programs import Program

#: Seconds for a kernel; these take microseconds.
PATIENCE: Final = 10.0
_NOT_READY: Final = 600
_NEW: Final = multiprocessing.get_context("fork")


class GpuRunner:
    """Runs kernels `k` of images on the first GPU. The process that calls must not have used the GPU itself."""

    def __init__(self) -> None:
        self.process: multiprocessing.process.BaseProcess | None = None
        self.connection: Connection | None = None

    def run(self, program: Program, image: bytes, times: int = 1) -> list[Outcome]:
        """Run a cubin, or PTX text that ends in a zero byte, so many times. Errors are part of the outcomes; after
        one no more are made."""
        if self.process is None:
            self.connection, child = _NEW.Pipe()
            self.process = _NEW.Process(target=_serve, args=(child, self.connection))
            self.process.start()
            child.close()
        assert self.connection is not None
        try:
            self.connection.send((program, image, times))
            answer: list[Outcome] | str = self.connection.recv()
            if isinstance(answer, str):
                raise DeviceError(answer)
            found = answer
        except (EOFError, OSError):
            found = [Outcome(program.output, program.accumulators, "the kernel does not end")]
        if found[-1].error:
            self.close()
        return found

    def close(self) -> None:
        if self.process is not None and self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
            self.process = None


def _serve(connection: Connection, other: Connection) -> None:
    other.close()  # the end of whoever asks, which must be the only one: its end is the end of this process
    try:
        backend = find_device("cuda:0").backend
    except Error as error:
        connection.send(str(error))
        return
    assert isinstance(backend, CudaBackend)
    while True:
        try:
            program, image, times = connection.recv()
        except EOFError:
            return
        found: list[Outcome] = []
        for _ in range(times):
            found.append(_run(backend, program, image))
            if found[-1].error:
                break
        connection.send(found)


def _run(backend: CudaBackend, program: Program, image: bytes) -> Outcome:
    arrays = [program.input.copy(), program.output.copy(), program.accumulators.copy()]
    try:
        with backend.active() as driver:
            module = driver.call("cuModuleLoadData", image)
            addresses = []
            for array in arrays:
                addresses.append(int(driver.call("cuMemAlloc", max(array.nbytes, 1))))
                driver.call("cuMemcpyHtoD", addresses[-1], array.ctypes.data, array.nbytes)
            _launch(driver, module, program, addresses)
            for array, address in zip(arrays, addresses, strict=True):
                driver.call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)
                driver.call("cuMemFree", address)
            driver.call("cuModuleUnload", module)
    except Error as error:
        return Outcome(arrays[1], arrays[2], f"{type(error).__name__}: {error}")
    return Outcome(arrays[1], arrays[2])


def _launch(driver: Any, module: Any, program: Program, addresses: list[int]) -> None:
    function = driver.call("cuModuleGetFunction", module, b"k")
    values = [*map(ctypes.c_uint64, addresses), ctypes.c_uint32(program.n)]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    driver.call(
        "cuLaunchKernel", function, *program.grid, *program.block, program.shared_bytes, 0,
        ctypes.addressof(pointers), 0,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while driver.status("cuStreamQuery", 0)[0] == _NOT_READY:
        if time.monotonic() > deadline:
            os._exit(86)  # the kernel goes with the process
    driver.call("cuCtxSynchronize")
