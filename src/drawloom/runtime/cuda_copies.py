"""Copies between the host and a GPU: page-locked memory goes over the bus itself, other memory through such of ours.

The driver copies page-locked memory beside kernels and beside the caller, and seven times as fast as other memory. So
small copies of that go through a piece of it, large ones in chunks: while some are on the bus, threads copy the next
ones (thesis chapter 7; benchmarks/gpu.py measures the bus, and one thread and several).
"""

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Final

import numpy as np

from drawloom.errors import KernelFault
from drawloom.runtime.backend import Mark, Queue
from drawloom.runtime.cuda import CHUNK_BYTES, LANDING_BYTES, CudaBackend
from drawloom.runtime.cuda_queue import CudaQueue, Pending, plain_queue
from drawloom.runtime.driver import Driver
from drawloom.runtime.memory import Bytes

#: Up to so many bytes the driver takes with the call.
INLINE_BYTES: Final = 1 << 16
#: Chunks of one copy that are on the bus, or wait for it.
CHUNKS_AHEAD: Final = 3
#: Threads that copy chunks within the host: one reads and writes 10 GB/s, eight 32, where the bus takes 54 (H100).
THREADS: Final = max(1, min(6, (os.cpu_count() or 1) // 2))


@cache
def copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "drawloom-copies")


os.register_at_fork(after_in_child=copiers.cache_clear)


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
    filling: deque[Departure] = deque()
    ahead: deque[Mark] = deque()
    for at in range(0, size, CHUNK_BYTES):
        if len(filling) == THREADS:
            ahead.append(filling.popleft().put())
        if len(ahead) == CHUNKS_AHEAD:
            ahead.popleft().wait()  # its chunk serves again
        filling.append(Departure(queue, address + at, source[at : at + CHUNK_BYTES]))
    for departure in filling:
        departure.put()


class Departure:
    """A part of the host's memory on its way to the GPU's ``address``, by a chunk of page-locked memory."""

    def __init__(self, queue: CudaQueue, address: int, part: Bytes) -> None:
        self.queue = queue
        self.address = address
        self.chunk = queue.backend.chunks.allocate(part.nbytes)
        self.filled: Future[None] = copiers().submit(np.copyto, self.chunk.view(), part)

    def put(self) -> Mark:
        """Queues what is left to do, for a chunk that is filled."""
        self.filled.result()
        return self.queue.put(None, self.copy)

    def copy(self, driver: Driver, pending: Pending) -> None:
        pending.memory.append(self.chunk)
        driver.call("cuMemcpyHtoDAsync", self.address, self.chunk.address, self.chunk.size, self.queue.stream)


def copy_down(backend: CudaBackend, target: Bytes, address: int, queue: Queue | None, owner: object) -> None:
    """Copies from the GPU's ``address`` to ``target``. With a queue it is done when the queue got there and somebody
    looked; of large memory that is not page-locked, most is done on return."""
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
    if size <= LANDING_BYTES:
        queue.put(owner, lambda driver, pending: land(queue, target, address, driver, pending))
        return
    arriving: deque[Arrival] = deque()
    emptying: deque[Future[None]] = deque()
    for at in range(0, size, CHUNK_BYTES):
        if len(arriving) == CHUNKS_AHEAD:
            emptying.append(arriving.popleft().arrived())
        if len(emptying) == THREADS:
            emptying.popleft().result()
        arriving.append(Arrival(queue, address + at, target[at : at + CHUNK_BYTES], owner))
    for arrival in arriving:
        emptying.append(arrival.arrived())
    for emptied in emptying:
        emptied.result()


class Arrival:
    """A part of the GPU's memory on its way to the host's, by a chunk of page-locked memory."""

    def __init__(self, queue: CudaQueue, address: int, part: Bytes, owner: object) -> None:
        self.queue = queue
        self.address = address
        self.part = part
        self.chunk = queue.backend.chunks.allocate(part.nbytes)
        self.mark = queue.put((owner, self.chunk), self.copy)

    def copy(self, driver: Driver, pending: Pending) -> None:
        driver.call("cuMemcpyDtoHAsync", self.chunk.address, self.address, self.chunk.size, self.queue.stream)

    def arrived(self) -> "Future[None]":
        """Waits for the GPU; a thread then empties the chunk."""
        self.mark.wait()
        return copiers().submit(self.empty)

    def empty(self) -> None:
        np.copyto(self.part, self.chunk.view())
        self.chunk.release()


def land(queue: CudaQueue, target: Bytes, address: int, driver: Driver, pending: Pending) -> None:
    """Queues a copy to page-locked memory, and from there to ``target`` when ``pending`` is done: for small ones."""
    landing = queue.backend.landing.allocate(target.nbytes)
    pending.landed.append((target, landing))
    driver.call("cuMemcpyDtoHAsync", landing.address, address, target.nbytes, queue.stream)


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
