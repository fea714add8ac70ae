"""What is timed: launches of OpenCL kernels, on our CPU device and on a CPU's OpenCL platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drawloom.cuda import compile_opencl
from drawloom.lift import Compiled
from drawloom.runtime import load

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """A kernel's name, its work-groups, the work-items of a group, and its arguments: arrays, ``int`` and ``float``."""

    kernel: str
    groups: Triple
    local_size: Triple
    arguments: Sequence[Any]


@dataclass(frozen=True)
class Side:
    """A program of one or several launches.

    Args:
        text: OpenCL C of all kernels.
        launches: In their order, on arrays that they share.
        results: The arrays that hold the result.
    """

    text: str
    launches: Sequence[Launch]
    results: Sequence[np.ndarray[Any, Any]]


class Recorded(Compiled):
    """A compiled program that keeps its launches."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled.program, compiled.kernels, compiled.calls, compiled.sizes, compiled.functions)
        self.launches: list[Launch] = []

    def load(self, device: str | None) -> Any:
        module = super().load(device)
        return {kernel.name: Recorder(kernel.name, module[kernel.name], self.launches) for kernel in self.kernels}


class Recorder:
    """A kernel that notes each of its launches."""

    def __init__(self, name: str, kernel: Any, launches: list[Launch]) -> None:
        self.name = name
        self.kernel = kernel
        self.launches = launches

    def __getitem__(self, shape: tuple[Triple, Triple]) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            self.launches.append(Launch(self.name, *shape, arguments))
            self.kernel[shape](*arguments)

        return launch


def record(compiled: Compiled, arguments: Sequence[Any]) -> Side:
    """Run a program on the CPU device and return its launches."""
    recorded = Recorded(compiled)
    result = recorded(*arguments, device="cpu")
    count = len(result) if isinstance(result, tuple) else 1
    outputs = [
        argument
        for argument, parameter in zip(recorded.launches[-1].arguments, compiled.kernels[-1].parameters, strict=True)
        if parameter.role == "output"
    ]
    assert len(outputs) == count
    return Side(compiled.opencl, recorded.launches, outputs)


class CPUDevice:
    """Our CPU device."""

    name = "CPU device"

    def prepare(self, side: Side) -> Callable[[], None]:
        """Compile a side's text; the result launches its kernels and waits for them."""
        module = load(compile_opencl(side.text), device="cpu")
        ready = [(module[one.kernel][one.groups, one.local_size], one.arguments) for one in side.launches]

        def run() -> None:
            for launch, arguments in ready:
                launch(*arguments)

        return run

    def fetch(self, side: Side) -> None:
        """The results are in the arrays already."""

    def forget(self) -> None:
        """Nothing is held."""


class OpenCLDevice:
    """A CPU device of an OpenCL platform. Arrays are copied into buffers before the launches that are timed."""

    def __init__(self, device: Any) -> None:
        import pyopencl

        self.cl = pyopencl
        self.name = device.platform.name.strip()
        self.version = (
            f"{device.platform.name.strip()}, {device.version.strip()}, driver {device.driver_version.strip()}"
        )
        self.context = pyopencl.Context([device])
        self.queue = pyopencl.CommandQueue(self.context)
        self.buffers: dict[int, Any] = {}

    def buffer(self, array: np.ndarray[Any, Any]) -> Any:
        """Return the buffer of an array: arrays on the same memory share theirs."""
        address = array.ctypes.data
        if address not in self.buffers:
            flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
            self.buffers[address] = self.cl.Buffer(self.context, flags, hostbuf=array)
        return self.buffers[address]

    def prepare(self, side: Side) -> Callable[[], None]:
        """Build a side's text; the result launches its kernels and waits for them."""
        program = self.cl.Program(self.context, side.text).build()
        ready = []
        for one in side.launches:
            kernel = self.cl.Kernel(program, one.kernel)
            kernel.set_args(*[self.argument(argument) for argument in one.arguments])
            work_items = [groups * local for groups, local in zip(one.groups, one.local_size, strict=True)]
            ready.append((kernel, work_items, one.local_size))

        def run() -> None:
            for kernel, work_items, local_size in ready:
                self.cl.enqueue_nd_range_kernel(self.queue, kernel, work_items, local_size)
            self.queue.finish()

        return run

    def argument(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.buffer(value)
        return np.int32(value) if isinstance(value, int) else np.float32(value)

    def fetch(self, side: Side) -> None:
        """Copy a side's results into their arrays."""
        for array in side.results:
            self.cl.enqueue_copy(self.queue, array, self.buffer(array))

    def forget(self) -> None:
        """Release all buffers."""
        self.buffers.clear()


def find_opencl() -> OpenCLDevice | None:
    """Return the first CPU device, of PoCL before others, that builds a program; None where there is none.

    Oclgrind interprets kernels, so it is not timed.
    """
    try:
        import pyopencl

        platforms = pyopencl.get_platforms()
    except (ImportError, pyopencl.Error):
        return None
    platforms.sort(key=lambda platform: "Portable" not in platform.name)
    for platform in platforms:
        if "Oclgrind" in platform.name:
            continue
        for device in platform.get_devices(pyopencl.device_type.CPU):
            found = OpenCLDevice(device)
            try:
                pyopencl.Program(found.context, "kernel void none(global int *x) { x[0] = 1; }").build()
            except pyopencl.Error:
                continue
            return found
    return None
