"""Host devices: kernels that read and write this process's own memory, compiled (`cpu`) or interpreted (`reference`).

A queue is a worker thread; launches release the interpreter lock, so that queues and the caller overlap.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from drawloom.errors import DeviceError, LaunchError
from drawloom.ptx.ir import Module
from drawloom.runtime.backend import (
    Allocation,
    Backend,
    Mark,
    Program,
    Queue,
    Request,
    Timing,
    named,
)
from drawloom.runtime.guarded import guarded_bytes
from drawloom.runtime.machine import Device
from drawloom.runtime.memory import Array, Bytes, Span, host_span
from drawloom.runtime.variables import ModuleImage
from drawloom.threads import start

if TYPE_CHECKING:
    from drawloom.cpu import Program as CpuProgram
    from drawloom.runtime.optimiser import Optimiser

#: Shared memory of a block, static and dynamic: what the largest GPUs have (compute capability 9.0).
SHARED_LIMIT: Final = 227 * 1024


class HostAllocation(Allocation):
    """NumPy memory. A view of it outlives `release`, because NumPy counts its references."""

    def __init__(self, memory: Bytes) -> None:
        self.memory = memory
        self.address = memory.ctypes.data
        self.size = memory.nbytes

    def span(self) -> Span:
        return host_span(self.memory, self)

    def view(self) -> Bytes:
        return self.memory

    def read(self, target: Bytes, offset: int, queue: Queue | None) -> None:
        self.copy(target, self.memory[offset : offset + target.nbytes], queue)

    def write(self, source: Bytes, offset: int, queue: Queue | None) -> None:
        self.copy(self.memory[offset : offset + source.nbytes], source, queue)

    def copy(self, target: Bytes, source: Bytes, queue: Queue | None) -> None:
        if queue is None:
            np.copyto(target, source)
        else:
            assert isinstance(queue, HostQueue)
            queue.put(lambda: np.copyto(target, source))

    def fill(self, byte: int, offset: int, size: int, queue: Queue | None) -> None:
        self.copy(self.memory[offset : offset + size], np.full(1, byte, np.uint8), queue)

    def release(self) -> None:
        self.memory = np.empty(0, np.uint8)


class HostMark(Mark):
    """Reached when the worker comes to it; `error` is what stopped the queue before that."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.error: BaseException | None = None
        self.seconds = 0.0

    def reach(self, error: BaseException | None) -> None:
        self.error = error
        self.seconds = time.perf_counter()
        self.reached.set()

    def done(self) -> bool:
        return self.reached.is_set()

    def wait(self) -> None:
        self.reached.wait()
        if self.error is not None:
            raise self.error

    def seconds_since(self, earlier: Mark) -> float:
        assert isinstance(earlier, HostMark)
        return self.seconds - earlier.seconds


Work = Callable[[], object] | HostMark


class HostQueue(Queue):
    """A worker thread, started with the first work, and the work it has not done yet."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.work: deque[Work] = deque()
        self.running = False
        self.closed = False
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None

    def put(self, work: Work) -> None:
        with self.changed:
            if self.closed:
                raise DeviceError("the stream is closed")
            self.work.append(work)
            if self.thread is None:
                self.thread = start(self.serve, "drawloom-stream")
            self.changed.notify_all()

    def serve(self) -> None:
        while True:
            with self.changed:
                self.running = False
                self.changed.notify_all()
                while not self.work and not self.closed:
                    self.changed.wait()
                if not self.work:
                    return
                work = self.work.popleft()
                self.running = True
                error = self.error
            if isinstance(work, HostMark):
                work.reach(error)
            elif error is None:
                self.do(work)
            del work  # it holds the arguments alive

    def do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # handed to whoever synchronizes
            with self.changed:
                self.error = error

    def wait(self) -> None:
        with self.changed:
            while self.work or self.running:
                self.changed.wait()
            error, self.error = self.error, None
        if error is not None:
            raise error

    def idle(self) -> bool:
        with self.changed:
            return not self.work and not self.running

    def mark(self) -> Mark:
        mark = HostMark()
        self.put(mark)
        return mark

    def wait_for(self, mark: Mark) -> None:
        assert isinstance(mark, HostMark)
        self.put(mark.reached.wait)

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()


class HostProgram(Program):
    """A module whose variables lie in one NumPy image."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.image = ModuleImage(module)

    def launch(self, request: Request) -> Timing:
        ranges = request.arguments.host_ranges()
        ranges.extend(self.image.ranges())
        try:
            return self.run(request, ranges)
        except Exception as error:
            raise named(error, request.kernel) from error.__cause__

    def run(self, request: Request, ranges: list[tuple[int, int]]) -> Timing:
        raise NotImplementedError

    def enqueue(self, request: Request, queue: Queue, done: Callable[[Timing], None]) -> Mark:
        assert isinstance(queue, HostQueue)
        queue.put(lambda: done(self.launch(request)))
        return queue.mark()

    def read_variable(self, name: str) -> Array:
        return self.image.view(name)

    def write_variable(self, name: str, value: Any) -> None:
        self.image.write(name, value)


class ReferenceProgram(HostProgram):
    """Runs on the interpreter, which always checks memory."""

    def run(self, request: Request, ranges: list[tuple[int, int]]) -> Timing:
        from drawloom import reference

        start = time.perf_counter()
        reference.run(
            self.module,
            request.kernel,
            request.grid,
            request.block,
            bytes(request.arguments.block),
            shared_bytes=request.shared_bytes,
            image_base=self.image.address,
            buffers=ranges,
        )
        return Timing(0.0, time.perf_counter() - start, False)


class CompiledProgram(HostProgram):
    """Runs as vector code on every core."""

    def __init__(self, module: Module, program: "CpuProgram") -> None:
        super().__init__(module)
        self.program = program

    def run(self, request: Request, ranges: list[tuple[int, int]]) -> Timing:
        stats = self.program.launch(
            request.kernel,
            request.grid,
            request.block,
            request.shared_bytes,
            bytes(request.arguments.block),
            self.image.address,
            ranges,
            threads=chosen_threads(),
        )
        return Timing(stats.compile_seconds, stats.run_seconds, stats.cached)


class HostBackend(Backend):
    def __init__(self, device: Device) -> None:
        self.device = device
        self.shared_limit = SHARED_LIMIT

    def allocate(self, size: int, zero: bool = True) -> Allocation:
        try:
            return HostAllocation(guarded_bytes(size, zero=zero))
        except (MemoryError, ValueError) as refusal:  # ValueError: more than the address space has
            raise DeviceError(f"{self.device.name}: no {size} bytes of memory left") from refusal

    def queue(self) -> Queue:
        return HostQueue()

    def pin(self, memory: Bytes) -> None:
        """Host memory is the device's memory already."""


class ReferenceBackend(HostBackend):
    def program(self, module: Module, check: str, assembler: str, optimiser: "Optimiser") -> Program:
        return ReferenceProgram(optimiser.whole())


class CpuBackend(HostBackend):
    def program(self, module: Module, check: str, assembler: str, optimiser: "Optimiser") -> Program:
        from drawloom.cpu import Program as CpuProgram
        from drawloom.runtime.cache import kernel_store

        return CompiledProgram(module, CpuProgram(module, kernel_store(), bool(check), optimiser, check == "race"))


def chosen_threads() -> int:
    """DRAWLOOM_THREADS: how many OS threads a launch may use; 0 or unset means one per core."""
    text = os.environ.get("DRAWLOOM_THREADS", "")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text) <= 4096):
        raise LaunchError(f"DRAWLOOM_THREADS={text}: expected a number of threads from 0 to 4096")
    return int(text)
