"""NVIDIA GPUs: modules, memory and launches through the driver, which loads our machine code or compiles PTX itself.

An error of a kernel (an illegal address, a trap) makes the driver's context refuse everything after it. The
context is then destroyed and made anew, and modules are loaded again on their next use; buffers of before are
lost and say so. Where the driver cannot make a new context, the GPU stays refused with that reason, and the
rest of the process is unharmed.
"""

import threading
import weakref
from types import TracebackType
from typing import Any, Final

from drawloom.errors import DeviceError, KernelFault, LaunchError, UnsupportedError
from drawloom.ptx.ir import Module
from drawloom.runtime.backend import Allocation, Backend, Program, Queue
from drawloom.runtime.driver import STICKY, CudaError, Driver, probe
from drawloom.runtime.machine import Device
from drawloom.runtime.memory import HOST, Bytes, Span, aligned_bytes
from drawloom.runtime.optimiser import Optimiser
from drawloom.runtime.pages import Pages

#: Bytes of a page of device memory for launches' host arrays, of one of page-locked memory for what is small, and of
#: the chunks in which other memory of the host goes through such.
STAGING_BYTES: Final = 16 << 20
LANDING_BYTES: Final = 1 << 20
CHUNK_BYTES: Final = 2 << 20
#: Page-locking goes by pages of the machine.
PAGE_ALIGNMENT: Final = 4096
_REGISTER_PORTABLE: Final = 1  # CU_MEMHOSTREGISTER_PORTABLE


class _Here(threading.local):
    """The generations of the contexts that this thread's `active` blocks are in, the outermost first."""

    def __init__(self) -> None:
        self.generations: list[int] = []


class Active:
    """`with backend.active() as driver`: the GPU's context is current in this thread.

    Blocks nest, and the outermost alone calls the driver. Any call may report what a kernel did earlier: such an error
    makes a new context and comes out as KernelFault. Raises DeviceError when the GPU is lost.
    """

    def __init__(self, backend: "CudaBackend") -> None:
        self.backend = backend
        self.here = _Here()

    def __enter__(self) -> Driver:
        backend = self.backend
        if backend.lost:
            raise DeviceError(f"{backend.device.name}: {backend.lost}")
        generations = self.here.generations
        generation = backend.generation
        if not generations or generations[-1] != generation:
            backend.driver.call("cuCtxPushCurrent", backend.context)
        generations.append(generation)
        return backend.driver

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        generations = self.here.generations
        generation = generations.pop()
        if not generations or generations[-1] != generation:
            self.backend.driver.status("cuCtxPopCurrent")
        if isinstance(failure, CudaError) and failure.code in STICKY:
            raise self.backend.reset(failure, generation) from failure


class CudaBackend(Backend):
    """One GPU and its primary context. `generation` counts the contexts there have been."""

    def __init__(self, device: Device, driver: Driver | None = None) -> None:
        found = driver if driver is not None else probe().driver
        if found is None:
            raise DeviceError(f"{device.name}: {probe().reason}")
        self.device = device
        self.driver: Driver = found
        self.lock = threading.RLock()
        self.generation = 0
        self.lost = ""
        self.fault = KernelFault("")  # why the last context was destroyed
        self.running: list[str] = []  # the kernels of launches that are not known to be done, oldest first
        self.queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self.abandoned: list[Queue] = []  # launches that Ctrl-C left running
        self.plain: list[Queue] = []  # queues for launches without a stream that nobody uses now
        self.spare_events: list[Any] = []
        self.record_event = found.function("cuEventRecord")
        self.query_event = found.function("cuEventQuery")
        self.handle = self.driver.call("cuDeviceGet", device.index)
        self.context = self.driver.call("cuDevicePrimaryCtxRetain", self.handle)
        self.shared_limit = self.driver.attribute(self.handle, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.blocks = Active(self)
        #: Device memory for the host arrays of a launch, and page-locked memory of the host for what comes down.
        self.staging: Pages = DevicePages(self)
        self.landing: Pages = LockedPages(self, LANDING_BYTES)
        self.chunks: Pages = LockedPages(self, CHUNK_BYTES)
        self.pinned: dict[int, int] = {}  # address and size of page-locked memory of the host that is not ours

    def active(self) -> Active:
        return self.blocks

    def session(self) -> Active:
        return self.blocks

    def record(self, stream: Any) -> Any:
        """An event at the end of what the stream has; the context must be active."""
        try:
            event = self.spare_events.pop()
        except IndexError:
            event = self.driver.call("cuEventCreate", 0)
        (code,) = self.record_event(event, stream)
        if code:
            raise self.driver.error("cuEventRecord", int(code))
        return event

    def give_event(self, event: Any, generation: int) -> None:
        """Keeps an event of the context of `generation` for the next one who needs one."""
        if event is not None and self.is_current(generation):
            self.spare_events.append(event)

    def is_current(self, generation: int) -> bool:
        return generation == self.generation and not self.lost

    def reset(self, failure: CudaError, generation: int) -> KernelFault:
        """Destroys the context of `generation` after a sticky error, makes a new one, and returns the fault.

        Called once per failure: threads that saw the same error find a newer generation.
        """
        with self.lock:
            if generation != self.generation or self.lost:
                return self.fault
            self.fault = self.blame(failure)
            self.running.clear()
            self.spare_events.clear()
            self.plain.clear()
            self.pinned.clear()
            self.generation += 1
            try:
                self.driver.call("cuDevicePrimaryCtxReset", self.handle)
                self.driver.status("cuDevicePrimaryCtxRelease", self.handle)
                self.context = self.driver.call("cuDevicePrimaryCtxRetain", self.handle)
                self.prove_usable()
            except CudaError as refusal:
                self.lost = (
                    f"the driver cannot use the GPU again in this process after a kernel failed ({refusal}); "
                    "start a new process"
                )
            return self.fault

    def blame(self, failure: CudaError) -> KernelFault:
        """The fault, named after the oldest launch that is not known to be done."""
        names = list(dict.fromkeys(self.running))
        message = f"{STICKY[failure.code]} ({failure.name})"
        if len(names) > 1:
            message += f"; the driver does not say which kernel it was of {', '.join(names)}"
        return KernelFault(message, names[0] if names else "")

    def prove_usable(self) -> None:
        """A new context may answer and still refuse work: allocate, clear, wait, free."""
        driver = self.driver
        driver.call("cuCtxPushCurrent", self.context)
        try:
            address = driver.call("cuMemAlloc", 256)
            driver.call("cuMemsetD8", address, 0, 256)
            driver.call("cuCtxSynchronize")
            driver.call("cuMemFree", address)
        finally:
            driver.status("cuCtxPopCurrent")

    def collect_done(self) -> None:
        """Looks which launches are done, so that a fault is blamed on one that is not."""
        if self.running:
            for queue in list(self.queues):
                queue.idle()

    def collect_abandoned(self) -> None:
        """Frees the memory of interrupted launches that ended since."""
        still: list[Queue] = []
        for queue in self.abandoned:
            try:
                if not queue.idle():
                    still.append(queue)
            except (LaunchError, DeviceError):
                pass  # whoever launched it was interrupted and is gone
        self.abandoned = still

    def allocate(self, size: int, zero: bool = True) -> Allocation:
        return CudaAllocation(self, size, zero)

    def program(self, module: Module, check: str, assembler: str, optimiser: Optimiser) -> Program:
        from drawloom.runtime.cuda_launch import CudaProgram

        if check:
            raise UnsupportedError(
                f"{self.device.name}: check={check} works on cpu and reference only; on a GPU use compute-sanitizer"
            )
        return CudaProgram(self, module, assembler, optimiser)

    def queue(self) -> Queue:
        from drawloom.runtime.cuda_queue import CudaQueue

        return CudaQueue(self)

    def pin(self, memory: Bytes) -> None:
        """Page-locks memory that stays NumPy's own, so that losing the context cannot take it away."""
        if not memory.nbytes:
            return
        self.lock_pages(memory)
        self.pinned[memory.ctypes.data] = memory.nbytes
        owner = memory if memory.base is None else memory.base
        weakref.finalize(owner, self.unpin, memory.ctypes.data, self.generation)

    def unpin(self, address: int, generation: int) -> None:
        if self.is_current(generation):
            self.pinned.pop(address, None)
        self.unlock_pages(address, generation)

    def is_pinned(self, address: int, size: int) -> bool:
        """Whether the driver copies to and from this memory of the host while nobody waits."""
        return any(start <= address and address + size <= start + length for start, length in self.pinned.items())

    def lock_pages(self, memory: Bytes) -> None:
        """Page-locks memory of the host. Raises DeviceError where the driver does not take it."""
        with self.active() as driver:
            driver.call("cuMemHostRegister", memory.ctypes.data, memory.nbytes, _REGISTER_PORTABLE)

    def unlock_pages(self, address: int, generation: int) -> None:
        if self.is_current(generation):
            with self.active() as driver:
                driver.status("cuMemHostUnregister", address)


class CudaAllocation(Allocation):
    """Device memory of one context, zeroed where asked."""

    def __init__(self, backend: CudaBackend, size: int, zero: bool) -> None:
        self.backend = backend
        self.generation = backend.generation
        self.size = size
        self.address = 0
        if size:
            with backend.active() as driver:
                try:
                    self.address = int(driver.call("cuMemAlloc", size))
                except CudaError as failure:
                    raise DeviceError(f"{backend.device.name}: no {size} bytes of memory: {failure}") from failure
                if zero:
                    driver.call("cuMemsetD8", self.address, 0, size)

    def require(self) -> None:
        if not self.backend.is_current(self.generation):
            raise DeviceError(
                f"the memory on {self.backend.device.name} was lost when the GPU was reset after a failed kernel"
            )

    def span(self) -> Span:
        self.require()
        return Span(self.address, self.size, "cuda", True, self)

    def view(self) -> Bytes:
        raise DeviceError(f"memory on {self.backend.device.name} has no view on the host; copy it with to_array")

    def read(self, target: Bytes, offset: int, queue: Queue | None) -> None:
        from drawloom.runtime.cuda_copies import copy_down

        self.require()
        if target.nbytes:
            copy_down(self.backend, target, self.address + offset, queue, self)

    def write(self, source: Bytes, offset: int, queue: Queue | None) -> None:
        from drawloom.runtime.cuda_copies import copy_up

        self.require()
        if source.nbytes:
            copy_up(self.backend, self.address + offset, source, queue, self)

    def fill(self, byte: int, offset: int, size: int, queue: Queue | None) -> None:
        from drawloom.runtime.cuda_copies import fill

        self.require()
        fill(self.backend, self.address + offset, byte, size, queue)

    def release(self) -> None:
        if self.address and self.backend.is_current(self.generation):
            with self.backend.active() as driver:
                driver.status("cuMemFree", self.address)


class DevicePages(Pages):
    """Device memory that launches take for host arrays, and give back."""

    def __init__(self, backend: CudaBackend) -> None:
        super().__init__(backend.device, STAGING_BYTES)
        self.backend = backend

    def make(self, size: int) -> Allocation:
        return self.backend.allocate(size, zero=False)


class LockedPages(Pages):
    """Page-locked memory of the host, for copies that nobody waits for."""

    def __init__(self, backend: CudaBackend, page_bytes: int) -> None:
        super().__init__(backend.device, page_bytes)
        self.backend = backend

    def make(self, size: int) -> Allocation:
        return LockedAllocation(self.backend, size)


class LockedAllocation(Allocation):
    """Page-locked memory of the host for as long as the context is: afterwards plain memory."""

    def __init__(self, backend: CudaBackend, size: int) -> None:
        self.backend = backend
        self.generation = backend.generation
        self.size = size
        self.memory = aligned_bytes(size, PAGE_ALIGNMENT, zero=False)
        self.address = int(self.memory.ctypes.data)
        backend.lock_pages(self.memory)

    def require(self) -> None:
        if not self.backend.is_current(self.generation):
            raise DeviceError(f"the memory is page-locked for {self.backend.device.name} no more, which was reset")

    def span(self) -> Span:
        self.require()
        return Span(self.address, self.size, HOST, True, self, self.memory)

    def view(self) -> Bytes:
        return self.memory

    def release(self) -> None:
        self.backend.unlock_pages(self.address, self.generation)
