"""Launches on a GPU: a checked request to driver calls, host arrays to device memory and back, errors to exceptions.

A NumPy array that a kernel on a GPU is given is copied there before the launch, and back after it where the
kernel may have written; arrays that overlap share one copy, so that aliases stay aliases.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.errors import DeviceError, KernelFault, LaunchError
from drawloom.ptx.ir import Module
from drawloom.runtime.arguments import Arguments
from drawloom.runtime.assembler import DRIVER, OTHER_WAY, kept_image
from drawloom.runtime.backend import Allocation, Mark, Program, Queue, Request, Timing
from drawloom.runtime.cuda import LANDING_BYTES, CudaBackend
from drawloom.runtime.cuda_copies import copy_down, copy_up, land
from drawloom.runtime.cuda_queue import CudaQueue, Pending, plain_queue
from drawloom.runtime.driver import LAUNCH_OUT_OF_RESOURCES, STICKY, CudaError, Driver
from drawloom.runtime.memory import HOST, Array, Bytes, Span
from drawloom.runtime.optimiser import Optimiser
from drawloom.runtime.variables import find_variable, fitted, variable_layout

LOG_BYTES: Final = 16384
#: Above this, dynamic shared memory must be asked for by name (CUDA programming guide, compute capability 7.x).
PLAIN_SHARED_BYTES: Final = 48 * 1024


class CudaProgram(Program):
    """A module that the driver loaded, for the current context. What it is given is made once."""

    def __init__(self, backend: CudaBackend, module: Module, assembler: str, optimiser: Optimiser) -> None:
        self.backend = backend
        self.module = module
        self.assembler = assembler
        self.generation = -1
        self.handle: Any = None
        self.functions: dict[str, CudaFunction] = {}
        start = time.perf_counter()
        self.image, self.cached = kept_image(optimiser, backend.device, assembler)
        self.compile_seconds = time.perf_counter() - start  # not reported by a launch yet
        self.load()

    def load(self) -> None:
        """Loads the module into the current context, unless it is there."""
        backend = self.backend
        with backend.lock:
            if backend.is_current(self.generation):
                return
            start = time.perf_counter()
            with backend.active() as driver:
                self.handle = self.compile(driver)
            self.functions = {}
            self.generation = backend.generation
            self.compile_seconds += time.perf_counter() - start

    def compile(self, driver: Driver) -> Any:
        """The module handle. Raises DeviceError with the driver's log."""
        option = driver.api.CUjit_option
        log = bytearray(LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return driver.call("cuModuleLoadDataEx", self.image, len(options), options, [log, LOG_BYTES])
        except CudaError as failure:
            if failure.code in STICKY:
                raise
            said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
            where = self.module.filename or "the PTX"
            if self.assembler != DRIVER:
                where = f"our machine code of {where}"
            message = f"{self.backend.device.name}: the driver refused {where}: {failure.message}"
            if self.assembler != DRIVER:
                message += f"\n{OTHER_WAY}"
            raise DeviceError(message + (f"\n{said}" if said else "")) from failure

    def function(self, driver: Driver, name: str, arguments: Arguments) -> "CudaFunction":
        known = self.functions.get(name)
        if known is None:
            handle = driver.call("cuModuleGetFunction", self.handle, name.encode())
            known = self.functions[name] = CudaFunction(driver, handle, arguments)
        return known

    def launch(self, request: Request) -> Timing:
        finished: list[Timing] = []
        with plain_queue(self.backend) as queue:
            self.enqueue(request, queue, finished.append)
        return finished[0]

    def enqueue(self, request: Request, queue: Queue, done: Callable[[Timing], None]) -> Mark:
        assert isinstance(queue, CudaQueue)
        backend = self.backend
        with queue.lock:
            if queue.drops():
                return queue.dropped()
            if not backend.is_current(self.generation):
                self.load()
            if len(backend.running) > len(queue.pending):
                backend.collect_done()
            pending = Pending(backend, request.kernel, (self, request.arguments))
            pending.done = done
            pending.compile_seconds, self.compile_seconds = self.compile_seconds, 0.0
            pending.cached = self.cached
            try:
                with backend.active() as driver:
                    self.start(driver, request, queue, pending)
            except KernelFault as fault:
                queue.failed(fault)
                return queue.dropped()
            except CudaError as failure:
                pending.abandon(backend)
                raise self.launch_error(request, failure) from failure
            except BaseException:
                pending.abandon(backend)
                raise
            return queue.add(pending)

    def start(self, driver: Driver, request: Request, queue: CudaQueue, pending: Pending) -> None:
        arguments, stream = request.arguments, queue.stream
        function = self.function(driver, request.kernel, arguments)
        if request.shared_bytes:
            function.allow_shared(driver, request.shared_bytes)
        staged: list[Staged] = []
        if not arguments.in_buffers:
            staged = staged_copies(self.backend, request)
            pending.memory = [copy.there for copy in staged]
            copy_in(driver, staged, arguments, queue)
        backend = self.backend
        pending.start = backend.record(stream)
        backend.running.append(request.kernel)
        function.launch(driver, request, stream)
        pending.stop = pending.end = backend.record(stream)
        if staged and copy_out(driver, staged, arguments, queue, pending):
            pending.end = backend.record(stream)

    def launch_error(self, request: Request, failure: CudaError) -> Exception:
        if failure.code == LAUNCH_OUT_OF_RESOURCES:
            threads = request.block[0] * request.block[1] * request.block[2]
            return LaunchError(
                f"{self.backend.device.name} has not the registers or shared memory for a block of {threads} "
                f"threads and {request.shared_bytes} bytes of dynamic shared memory; use smaller blocks",
                request.kernel,
            )
        return LaunchError(f"{self.backend.device.name}: {failure.message}", request.kernel)

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None and self.backend.is_current(self.generation):
            with self.backend.active() as driver:
                driver.status("cuModuleUnload", self.handle)

    def variable(self, name: str) -> tuple[int, int]:
        """(address, size in bytes) of a module-level variable."""
        self.load()
        with self.backend.active() as driver:
            address, size = driver.call("cuModuleGetGlobal", self.handle, name.encode())
        return int(address), int(size)

    def read_variable(self, name: str) -> Array:
        dtype, shape = variable_layout(find_variable(self.module, name))
        copy = np.empty(shape, dtype)
        address, _ = self.variable(name)
        with self.backend.active() as driver:
            driver.call("cuMemcpyDtoH", copy.ctypes.data, address, copy.nbytes)
        copy.flags.writeable = False
        return copy

    def write_variable(self, name: str, value: Any) -> None:
        source = fitted(self.module, name, value)
        address, _ = self.variable(name)
        with self.backend.active() as driver:
            driver.call("cuMemcpyHtoD", address, source.ctypes.data, source.nbytes)


class CudaFunction:
    """A kernel of a loaded module, and memory for its parameters that the driver reads while it is called."""

    def __init__(self, driver: Driver, handle: Any, arguments: Arguments) -> None:
        self.handle = handle
        self.call = driver.function("cuLaunchKernel")
        self.lock = threading.Lock()
        self.block = (ctypes.c_uint8 * max(len(arguments.block), 1))()
        self.bytes = memoryview(self.block).cast("B")[: len(arguments.block)]
        base = ctypes.addressof(self.block)
        self.pointers = (ctypes.c_void_p * max(len(arguments.offsets), 1))(*[base + o for o in arguments.offsets])
        self.address = ctypes.addressof(self.pointers)
        self.static_shared = -1  # not asked for yet
        self.most_shared = PLAIN_SHARED_BYTES

    def launch(self, driver: Driver, request: Request, stream: Any) -> None:
        x, y, z = request.grid
        across, down, deep = request.block
        with self.lock:
            self.bytes[:] = request.arguments.block
            (code,) = self.call(self.handle, x, y, z, across, down, deep, request.shared_bytes, stream, self.address, 0)
        if code:
            raise driver.error("cuLaunchKernel", int(code))

    def allow_shared(self, driver: Driver, dynamic: int) -> None:
        """Asks for so much dynamic shared memory, where it is more than any kernel may have."""
        attribute = driver.api.CUfunction_attribute
        if self.static_shared < 0:
            static = attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
            self.static_shared = int(driver.call("cuFuncGetAttribute", static, self.handle))
        if self.static_shared + dynamic > self.most_shared:
            largest = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", self.handle, largest, dynamic)
            self.most_shared = self.static_shared + dynamic


class Staged:
    """`size` bytes of the host at `start` that a launch takes to the device, and where they are there."""

    def __init__(self, start: int, size: int, there: Allocation) -> None:
        self.start = start
        self.size = size
        self.there = there


def staged_copies(backend: CudaBackend, request: Request) -> list[Staged]:
    """Memory on the device for every host range of a launch. Raises LaunchError for ranges that no copy serves."""
    arguments = request.arguments
    if any(span.place == HOST for span in arguments.reaches):
        raise LaunchError(
            f"reaches: a GPU cannot follow addresses of host memory; expected a Buffer on {backend.device.name}",
            request.kernel,
        )
    spans = [pointer.span for pointer in arguments.pointers]
    ranges = merged([(span.address, span.size) for span in spans if span.place == HOST and span.size])
    return [Staged(start, size, backend.staging.allocate(size)) for start, size in ranges]


def copy_in(driver: Driver, staged: list[Staged], arguments: Arguments, queue: CudaQueue) -> None:
    """Copies every host range to the device and puts the device addresses into the parameter block."""
    for copy in staged:
        copy_up(queue.backend, copy.there.address, host_bytes(copy.start, copy.size), queue, copy.there)
    for pointer in arguments.pointers:
        span = pointer.span
        if span.place == HOST:
            at = pointer.parameter.offset
            address = device_address(staged, span) if span.size else 0
            arguments.block[at : at + 8] = address.to_bytes(8, "little")
        elif span.stream:
            driver.call("cuStreamSynchronize", span.stream)


def host_bytes(start: int, size: int) -> Bytes:
    """A range of the host's memory, which somebody else keeps."""
    return np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(start)), dtype=np.uint8)


def device_address(staged: list[Staged], span: Span) -> int:
    for copy in staged:
        if copy.start <= span.address < copy.start + copy.size:
            return copy.there.address + span.address - copy.start
    raise AssertionError("a host range that was not copied in")


def copy_out(driver: Driver, staged: list[Staged], arguments: Arguments, queue: CudaQueue, pending: Pending) -> bool:
    """Queues the copies back of what the kernel may write; whether there are any."""
    written = [p.span for p in arguments.pointers if p.parameter.written and p.span.place == HOST and p.span.size]
    for span in written:
        target, source = host_bytes(span.address, span.size), device_address(staged, span)
        if span.size <= LANDING_BYTES:
            land(queue, target, source, driver, pending)
        else:
            copy_down(queue.backend, target, source, queue, span.owner)
    return bool(written)


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(address, size) ranges, with those that overlap made one."""
    found: list[tuple[int, int]] = []
    for start, size in sorted(ranges):
        if found and start < found[-1][0] + found[-1][1]:
            first, length = found[-1]
            found[-1] = (first, max(length, start + size - first))
        else:
            found.append((start, size))
    return found
