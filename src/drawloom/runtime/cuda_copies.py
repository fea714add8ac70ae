"""Copies between the host and a GPU: page-locked memory goes over the bus itself, other memory through such of ours.

The driver copies page-locked memory beside kernels and beside the caller, and faster. Small copies of other memory go
through a piece of it, large ones in chunks: while one is on the bus, the processor copies the next (thesis chapter 7).
"""

from collections import deque
from typing import Final

from drawloom.errors import KernelFault
from drawloom.runtime.backend import Allocation, Mark, Queue
from drawloom.runtime.cuda import CHUNK_BYTES, LANDING_BYTES, CudaBackend
from drawloom.runtime.cuda_queue import CudaQueue, Pending, plain_queue
from drawloom.runtime.driver import Driver
from drawloom.runtime.memory import Bytes

#: Up to so many bytes the driver takes with the call.
INLINE_BYTES: Final = 1 << 16
#: Chunks of one copy that are on the bus, or wait for it.
CHUNKS_AHEAD: Final = 3


def copy_up(backend: CudaBackend, address: int, source: Bytes, queue: Queue | None, owner: object) -> None:
    """Copies ``source`` to the GPU's ``address``; ``owner`` has that memory. With a queue it is done when the queue got
    there, and page-locked memory must stay as it is until then; without one it keeps order with all queues."""
    start, size = int(source.ctypes.data), source.nbytes
    if queue is None:
        if size <= INLINE_BYTES or backend.is_pinned(start, size):
            with backend.active() as driver:
                driver.call("cuMemcpyHtoD", address, start, size)
            return
        with plain_queue(backend) as plain:
            copy_up(backend, address, source, plain, owner)
        return
    assert isinstance(queue, CudaQueue)
    if backend.is_pinned(start, size):
        queue.copy("cuMemcpyHtoDAsync", address, start, size, (owner, source))
        return
    if size <= INLINE_BYTES:
        at_once(queue, "cuMemcpyHtoDAsync", address, start, size)
        return
    ahead: deque[Mark] = deque()
    for at in range(0, size, CHUNK_BYTES):
        if len(ahead) == CHUNKS_AHEAD:
            ahead.popleft().wait()
        part = source[at : at + CHUNK_BYTES]
        chunk = backend.chunks.allocate(part.nbytes)
        chunk.view()[:] = part
        ahead.append(queue.put((owner, source), Up(queue, address + at, chunk)))


class Up:
    """The driver calls that copy a piece of page-locked memory to the GPU."""

    def __init__(self, queue: CudaQueue, address: int, piece: Allocation) -> None:
        self.queue = queue
        self.address = address
        self.piece = piece

    def __call__(self, driver: Driver, pending: Pending) -> None:
        pending.memory.append(self.piece)
        driver.call("cuMemcpyHtoDAsync", self.address, self.piece.address, self.piece.size, self.queue.stream)


def copy_down(backend: CudaBackend, target: Bytes, address: int, queue: Queue | None, owner: object) -> None:
    """Copies from the GPU's ``address`` to ``target``. With a queue it is done when the queue got there and somebody
    looked."""
    start, size = int(target.ctypes.data), target.nbytes
    if queue is None:
        if size <= INLINE_BYTES or backend.is_pinned(start, size):
            with backend.active() as driver:
                driver.call("cuMemcpyDtoH", start, address, size)
            return
        with plain_queue(backend) as plain:
            copy_down(backend, target, address, plain, owner)
        return
    assert isinstance(queue, CudaQueue)
    if backend.is_pinned(start, size):
        queue.copy("cuMemcpyDtoHAsync", start, address, size, (owner, target))
        return
    ahead: deque[Mark] = deque()
    for at in range(0, size, CHUNK_BYTES):
        if len(ahead) == CHUNKS_AHEAD:
            ahead.popleft().wait()
        part = target[at : at + CHUNK_BYTES]
        ahead.append(queue.put((owner, target), Down(queue, address + at, part)))


class Down:
    """The driver calls that copy to a piece of page-locked memory, from which ``target`` gets it when that is done."""

    def __init__(self, queue: CudaQueue, address: int, target: Bytes) -> None:
        self.queue = queue
        self.address = address
        self.target = target

    def __call__(self, driver: Driver, pending: Pending) -> None:
        land(self.queue.backend, self.target, self.address, self.queue.stream, driver, pending)


def land(backend: CudaBackend, target: Bytes, address: int, stream: object, driver: Driver, pending: Pending) -> None:
    """Queues a copy to page-locked memory, and from there to ``target`` when ``pending`` is done."""
    pages = backend.chunks if target.nbytes > LANDING_BYTES else backend.landing
    landing = pages.allocate(target.nbytes)
    pending.landed.append((target, landing))
    driver.call("cuMemcpyDtoHAsync", landing.address, address, target.nbytes, stream)


def fill(backend: CudaBackend, address: int, byte: int, size: int, queue: Queue | None) -> None:
    """Makes all of ``size`` bytes of the GPU ``byte``."""
    if queue is None:
        with backend.active() as driver:
            driver.call("cuMemsetD8", address, byte, size)
        return
    assert isinstance(queue, CudaQueue)
    at_once(queue, "cuMemsetD8Async", address, byte, size)


def at_once(queue: CudaQueue, function: str, *values: int) -> None:
    """Queues a call of the driver that keeps no memory of the host."""
    if queue.drops():
        return
    try:
        with queue.backend.active() as driver:
            driver.call(function, *values, queue.stream)
    except KernelFault as fault:
        queue.failed(fault)
