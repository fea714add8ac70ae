"""Launches on a GPU: a checked request to driver calls, host arrays to device memory and back, errors to exceptions.

A NumPy array that a kernel on a GPU is given is copied there before the launch, and back after it where the
kernel may have written; arrays that overlap share one copy, so that aliases stay aliases.
"""

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.errors import DeviceError, KernelFault, LaunchError
from drawloom.ptx.ir import Module
from drawloom.runtime.arguments import Arguments
from drawloom.runtime.assembler import DRIVER, OTHER_WAY, image_of
from drawloom.runtime.backend import Mark, Program, Queue, Request, Timing
from drawloom.runtime.cuda import CudaBackend
from drawloom.runtime.driver import LAUNCH_OUT_OF_RESOURCES, NOT_READY, STICKY, SUCCESS, CudaError, Driver
from drawloom.runtime.memory import HOST, Array, Span
from drawloom.runtime.variables import find_variable, fitted, variable_layout

LOG_BYTES: Final = 16384
DEFAULT_STREAM: Final = 0
#: Above this, dynamic shared memory must be asked for by name (CUDA programming guide, compute capability 7.x).
PLAIN_SHARED_BYTES: Final = 48 * 1024
SPIN_SECONDS: Final = 100e-6  # waiting shorter than this is not worth giving up the core
LONGEST_PAUSE: Final = 1e-3


class CudaProgram(Program):
    """A module that the driver loaded, for the current context. What it is given is made once."""

    def __init__(self, backend: CudaBackend, module: Module, assembler: str) -> None:
        self.backend = backend
        self.module = module
        self.assembler = assembler
        self.generation = -1
        self.handle: Any = None
        self.functions: dict[str, Any] = {}
        start = time.perf_counter()
        self.image = image_of(module, backend.device, assembler)
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

    def function(self, driver: Driver, name: str) -> Any:
        known = self.functions.get(name)
        if known is None:
            known = driver.call("cuModuleGetFunction", self.handle, name.encode())
            self.functions[name] = known
        return known

    def launch(self, request: Request) -> Timing:
        self.backend.collect_abandoned()
        queue = CudaQueue(self.backend, owns_stream=False)
        finished: list[Timing] = []
        self.enqueue(request, queue, finished.append)
        try:
            queue.wait()
        except KeyboardInterrupt:
            self.backend.abandoned.append(queue)  # the kernel runs on, and its memory with it
            raise
        return finished[0]

    def enqueue(self, request: Request, queue: Queue, done: Callable[[Timing], None]) -> None:
        assert isinstance(queue, CudaQueue)
        if queue.drops():
            return
        self.load()
        self.backend.collect_done()
        compile_seconds, self.compile_seconds = self.compile_seconds, 0.0
        staging = Staging(self.backend, queue, request)
        pending = Pending(request.kernel, staging, done, compile_seconds)
        try:
            with self.backend.active() as driver:
                self.start(driver, request, queue, pending)
        except KernelFault as fault:
            queue.failed(fault)
        except CudaError as failure:
            pending.abandon(self.backend)
            raise self.launch_error(request, failure) from failure
        else:
            queue.pending.append(pending)

    def start(self, driver: Driver, request: Request, queue: "CudaQueue", pending: "Pending") -> None:
        function = self.function(driver, request.kernel)
        self.allow_shared(driver, function, request.shared_bytes)
        staging = pending.staging
        assert staging is not None
        staging.copy_in(driver)
        pointers, block = parameter_pointers(request.arguments)
        pending.keep = (pointers, block, self)
        pending.begin(driver, queue.stream)
        self.backend.running.append(request.kernel)
        driver.call(
            "cuLaunchKernel",
            function,
            *request.grid,
            *request.block,
            request.shared_bytes,
            queue.stream,
            ctypes.addressof(pointers),
            0,
        )
        pending.kernel_done(driver, queue.stream)
        staging.copy_out(driver)
        pending.end(driver, queue.stream)

    def allow_shared(self, driver: Driver, function: Any, dynamic: int) -> None:
        if not dynamic:
            return
        attribute = driver.api.CUfunction_attribute
        static = int(driver.call("cuFuncGetAttribute", attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function))
        if static + dynamic > PLAIN_SHARED_BYTES:
            largest = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", function, largest, dynamic)

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


def parameter_pointers(arguments: Arguments) -> tuple[Any, Any]:
    """cuLaunchKernel's array of pointers, one per parameter, and the block that they point into."""
    block = (ctypes.c_uint8 * max(len(arguments.block), 1)).from_buffer_copy(bytes(arguments.block) or b"\0")
    base = ctypes.addressof(block)
    offsets = arguments.offsets
    pointers = (ctypes.c_void_p * max(len(offsets), 1))(*[base + offset for offset in offsets])
    return pointers, block


class Staging:
    """The device copies of a launch's host arrays, for as long as the launch takes."""

    def __init__(self, backend: CudaBackend, queue: "CudaQueue", request: Request) -> None:
        self.backend = backend
        self.queue = queue
        self.request = request
        self.generation = backend.generation
        self.blocks: list[tuple[int, int, int]] = []  # host address, size in bytes, device address

    def host_spans(self) -> list[Span]:
        arguments = self.request.arguments
        if any(span.place == HOST for span in arguments.reaches):
            raise LaunchError(
                "reaches: a GPU cannot follow addresses of host memory; expected a Buffer on "
                + self.backend.device.name,
                self.request.kernel,
            )
        spans = [pointer.span for pointer in arguments.pointers]
        return [span for span in spans if span.place == HOST and span.size]

    def copy_in(self, driver: Driver) -> None:
        """Copies every host range to the device and puts the device addresses into the parameter block."""
        arguments = self.request.arguments
        for start, size in merged([(span.address, span.size) for span in self.host_spans()]):
            address = int(driver.call("cuMemAlloc", size))
            self.blocks.append((start, size, address))
            driver.call("cuMemcpyHtoDAsync", address, start, size, self.queue.stream)
        for pointer in arguments.pointers:
            span = pointer.span
            if span.place == HOST:
                at = pointer.parameter.offset
                address = self.device_address(span) if span.size else 0
                arguments.block[at : at + 8] = address.to_bytes(8, "little")
            elif span.stream:
                driver.call("cuStreamSynchronize", span.stream)

    def device_address(self, span: Span) -> int:
        for start, size, address in self.blocks:
            if start <= span.address < start + size:
                return address + span.address - start
        raise AssertionError("a host range that was not copied in")

    def copy_out(self, driver: Driver) -> None:
        """Queues the copies back of what the kernel may write."""
        for pointer in self.request.arguments.pointers:
            span = pointer.span
            if span.place == HOST and span.size and pointer.parameter.written:
                address = self.device_address(span)
                driver.call("cuMemcpyDtoHAsync", span.address, address, span.size, self.queue.stream)

    def release(self) -> None:
        blocks, self.blocks = self.blocks, []
        if blocks and self.backend.is_current(self.generation):
            with self.backend.active() as driver:
                for _, _, address in blocks:
                    driver.status("cuMemFree", address)


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


class Pending:
    """Work on a stream that is not known to be done: its events, and what must live until then.

    `kernel` is "" for a copy.
    """

    def __init__(
        self, kernel: str, staging: Staging | None, done: Callable[[Timing], None] | None, compile_seconds: float
    ) -> None:
        self.kernel = kernel
        self.staging = staging
        self.done = done
        self.compile_seconds = compile_seconds
        self.keep: object = None
        self.events: list[Any] = []  # before the kernel, after it, after the copies back

    def begin(self, driver: Driver, stream: Any) -> None:
        for _ in range(3):
            self.events.append(driver.call("cuEventCreate", 0))
        driver.call("cuEventRecord", self.events[0], stream)

    def kernel_done(self, driver: Driver, stream: Any) -> None:
        driver.call("cuEventRecord", self.events[1], stream)

    def end(self, driver: Driver, stream: Any) -> None:
        driver.call("cuEventRecord", self.events[2], stream)

    def finish(self, driver: Driver, backend: CudaBackend) -> None:
        milliseconds = float(driver.call("cuEventElapsedTime", self.events[0], self.events[1]))
        self.abandon(backend)
        if self.done is not None:
            self.done(Timing(self.compile_seconds, milliseconds / 1e3, False))

    def abandon(self, backend: CudaBackend) -> None:
        """Gives back what the driver holds for it."""
        with backend.lock:
            if self.kernel in backend.running:
                backend.running.remove(self.kernel)
        events, self.events = self.events, []
        if self.staging is not None:
            self.staging.release()
        if events:
            with backend.active() as driver:
                for event in events:
                    driver.status("cuEventDestroy", event)


class CudaMark(Mark):
    """An event of the driver; on a stream that failed, the error that it waits to report."""

    def __init__(self, queue: "CudaQueue") -> None:
        self.queue = queue
        self.generation = queue.generation
        self.event: Any = None
        self.error: Exception | None = None
        try:
            if not queue.drops():
                with queue.backend.active() as driver:
                    self.event = driver.call("cuEventCreate", 0)
                    driver.call("cuEventRecord", self.event, queue.stream)
        except KernelFault as fault:
            queue.failed(fault)
        self.error = queue.error

    def done(self) -> bool:
        if self.error is not None:
            return True
        self.require()
        with self.queue.backend.active() as driver:
            code, _ = driver.status("cuEventQuery", self.event)
        if code == SUCCESS:
            self.queue.collect()
        return code == SUCCESS

    def wait(self) -> None:
        if self.error is None:
            self.require()
            self.queue.wait_event(self.event)
            self.queue.collect()
            self.error = self.queue.error
        if self.error is not None:
            raise self.error

    def require(self) -> None:
        if not self.queue.backend.is_current(self.generation):
            name = self.queue.backend.device.name
            raise DeviceError(f"the event was lost when {name} was reset: {self.queue.backend.fault}")

    def seconds_since(self, earlier: Mark) -> float:
        assert isinstance(earlier, CudaMark)
        self.require()
        earlier.require()
        with self.queue.backend.active() as driver:
            return float(driver.call("cuEventElapsedTime", earlier.event, self.event)) / 1e3

    def __del__(self) -> None:
        queue = getattr(self, "queue", None)
        if queue is not None and self.event is not None and queue.backend.is_current(self.generation):
            with queue.backend.active() as driver:
                driver.status("cuEventDestroy", self.event)


class CudaQueue(Queue):
    """A stream of the driver, or its default stream, and the launches on it that are not known to be done."""

    def __init__(self, backend: CudaBackend, owns_stream: bool = True) -> None:
        self.backend = backend
        self.owns_stream = owns_stream
        self.pending: deque[Pending] = deque()
        self.error: Exception | None = None  # what stopped the queue; work is dropped until `wait` raised it
        self.stream: Any = DEFAULT_STREAM
        self.lock = threading.RLock()  # other threads' launches look at what is done here
        self.open()
        backend.queues.add(self)

    def open(self) -> None:
        """Makes the stream in the current context. CU_STREAM_DEFAULT: it keeps order with plain launches."""
        self.generation = self.backend.generation
        if self.owns_stream:
            with self.backend.active() as driver:
                self.stream = driver.call("cuStreamCreate", 0)

    def drops(self) -> bool:
        """Whether new work is dropped; a stream whose context is gone is made again first."""
        if not self.backend.is_current(self.generation):
            if self.pending:
                name = self.backend.device.name
                self.failed(DeviceError(f"work on the stream was lost when {name} was reset: {self.backend.fault}"))
            else:
                self.open()
        return self.error is not None

    def failed(self, error: Exception) -> None:
        """Keeps the first error for `wait`; whoever launched without a stream waits at once."""
        if self.error is None:
            self.error = error
        self.pending.clear()  # their memory and events went with the context
        if not self.backend.lost:
            self.open()

    def wait(self) -> None:
        """Polls, so that Ctrl-C is seen while a kernel runs; the kernel then runs on to its end."""
        if not self.drops():
            if self.pending:
                self.wait_event(self.pending[-1].events[2])
            self.collect()
        error, self.error = self.error, None
        if error is not None:
            raise error

    def wait_event(self, event: Any) -> None:
        """Until the event is reached or the stream failed."""
        deadline = time.perf_counter() + SPIN_SECONDS
        pause = 10e-6
        while self.reached(event) is False:
            if time.perf_counter() > deadline:
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    def reached(self, event: Any) -> bool | None:
        """Whether the stream got there; None when it failed."""
        try:
            with self.backend.active() as driver:
                code, _ = driver.status("cuEventQuery", event)
                if code not in (SUCCESS, NOT_READY):
                    raise driver.error("cuEventQuery", code)
                return code == SUCCESS
        except KernelFault as fault:
            self.failed(fault)
            return None

    def collect(self) -> None:
        """Reports the launches that are done, in order."""
        with self.lock:
            while not self.drops() and self.pending:
                if not self.reached(self.pending[0].events[2]):
                    return
                pending = self.pending.popleft()
                with self.backend.active() as driver:
                    pending.finish(driver, self.backend)

    def copy(self, function: str, to: int, source: int, size: int, keep: object) -> None:
        """Queues a copy; `keep` lives until it is done."""
        if self.drops():
            return
        pending = Pending("", None, None, 0.0)
        pending.keep = keep
        try:
            with self.backend.active() as driver:
                pending.begin(driver, self.stream)
                driver.call(function, to, source, size, self.stream)
                pending.kernel_done(driver, self.stream)
                pending.end(driver, self.stream)
        except KernelFault as fault:
            self.failed(fault)
        else:
            self.pending.append(pending)

    def idle(self) -> bool:
        self.collect()
        return not self.pending

    def mark(self) -> Mark:
        return CudaMark(self)

    def wait_for(self, mark: Mark) -> None:
        assert isinstance(mark, CudaMark)
        if mark.error is not None or self.drops():
            return
        mark.require()
        try:
            with self.backend.active() as driver:
                driver.call("cuStreamWaitEvent", self.stream, mark.event, 0)
        except KernelFault as fault:
            self.failed(fault)

    def close(self) -> None:
        if not self.owns_stream:
            return
        try:
            self.wait()
        except (LaunchError, DeviceError):
            pass  # nobody synchronized; whoever waits on a launch of it still sees the error
        if self.backend.is_current(self.generation):
            with self.backend.active() as driver:
                driver.status("cuStreamDestroy", self.stream)
