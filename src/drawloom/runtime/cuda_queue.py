"""Streams of a GPU: work that was queued and is not known to be done, points in it, and what is left to do after it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from drawloom.errors import DeviceError, KernelFault, LaunchError
from drawloom.runtime.backend import Allocation, Mark, Queue, Timing
from drawloom.runtime.cuda import CudaBackend
from drawloom.runtime.driver import NOT_READY, SUCCESS, Driver
from drawloom.runtime.memory import Bytes

DEFAULT_STREAM: Final = 0
SPIN_SECONDS: Final = 500e-6  # waiting shorter than this is not worth giving up the core: a sleep takes 60 us at least
LONGEST_PAUSE: Final = 1e-3
#: A pause in waiting, by how long it has taken so far: it makes the wait that much longer at most.
PAUSE_SHARE: Final = 0.125
#: Work that a stream may have before the next one looks whether the oldest is done.
UNSEEN: Final = 32


class Pending:
    """Work on a stream that is not known to be done: its events, and what must live until then.

    `kernel` is "" for a copy. Until it `is_done` the driver may be working on it; `error` is why it never will be.
    """

    def __init__(self, backend: CudaBackend, kernel: str, keep: object) -> None:
        self.generation = backend.generation
        self.kernel = kernel
        self.keep: object = keep
        self.done: Callable[[Timing], None] | None = None
        self.compile_seconds = 0.0
        self.cached = False
        self.start: Any = None  # before the kernel
        self.stop: Any = None  # after it
        self.end: Any = None  # after the copies back
        self.memory: list[Allocation] = []  # released when it is done
        self.landed: list[tuple[Bytes, Allocation]] = []  # copied when it is done: from the allocation's view
        self.is_done = False
        self.error: Exception | None = None

    def finish(self, driver: Driver, backend: CudaBackend) -> None:
        """What is left when the stream got there."""
        seconds = 0.0
        if self.done is not None:
            seconds = float(driver.call("cuEventElapsedTime", self.start, self.stop)) / 1e3
        for target, landing in self.landed:
            target[:] = landing.view()[: target.nbytes]
        self.abandon(backend)
        self.is_done = True
        if self.done is not None:
            self.done(Timing(self.compile_seconds, seconds, self.cached))

    def abandon(self, backend: CudaBackend) -> None:
        """Gives back what it holds of the driver."""
        if self.kernel:
            with backend.lock:
                if self.kernel in backend.running:
                    backend.running.remove(self.kernel)
        for event in (self.start, self.stop, None if self.end is self.stop else self.end):
            backend.give_event(event, self.generation)
        self.start = self.stop = self.end = None
        for memory in self.memory:
            memory.release()
        for _, landing in self.landed:
            landing.release()
        self.memory, self.landed, self.keep = [], [], None

    def fail(self, error: Exception) -> None:
        """It went with its context, or was never queued."""
        self.error = error
        self.landed, self.memory, self.keep = [], [], None


class PendingMark(Mark):
    """The end of one work on a queue."""

    def __init__(self, queue: "CudaQueue", pending: Pending) -> None:
        self.queue = queue
        self.pending = pending

    def done(self) -> bool:
        if not self.pending.is_done and self.pending.error is None:
            self.queue.collect()
        return self.pending.is_done or self.pending.error is not None

    def wait(self) -> None:
        self.queue.wait_pending(self.pending)
        if self.pending.error is not None:
            raise self.pending.error


class CudaMark(Mark):
    """An event of the driver; on a stream that failed, the error that it waits to report."""

    def __init__(self, queue: "CudaQueue") -> None:
        self.queue = queue
        self.generation = queue.generation
        self.event: Any = None
        self.error: Exception | None = None
        try:
            if not queue.drops():
                with queue.backend.active():
                    self.event = queue.backend.record(queue.stream)
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
        if getattr(self, "event", None) is not None:
            self.queue.backend.give_event(self.event, self.generation)


class CudaQueue(Queue):
    """A stream of the driver, or its default stream, and the work on it that is not known to be done."""

    def __init__(self, backend: CudaBackend, owns_stream: bool = True) -> None:
        self.backend = backend
        self.owns_stream = owns_stream
        self.pending: deque[Pending] = deque()
        self.error: Exception | None = None  # what stopped the queue; work is dropped until `wait` raised it
        self.stream: Any = DEFAULT_STREAM
        self.lock = threading.RLock()  # `pending` has the order of the stream; other threads look at what is done here
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
        if self.error is None and not self.backend.is_current(self.generation):
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
        for pending in self.pending:
            pending.fail(self.error)
        self.pending.clear()  # their memory and events went with the context
        if not self.backend.lost:
            self.open()

    def add(self, pending: Pending) -> Mark:
        """Its work is queued up to `pending.end`."""
        self.pending.append(pending)
        if len(self.pending) > UNSEEN:
            self.collect()
        return PendingMark(self, pending)

    def dropped(self) -> Mark:
        """For work that came after an error."""
        pending = Pending(self.backend, "", None)
        pending.error = self.error
        return PendingMark(self, pending)

    def wait(self) -> None:
        """Polls, so that Ctrl-C is seen while a kernel runs; the kernel then runs on to its end."""
        with self.lock:
            last = None if self.drops() or not self.pending else self.pending[-1]
        if last is not None:
            self.wait_pending(last)
        error, self.error = self.error, None
        if error is not None:
            raise error

    def wait_pending(self, pending: Pending) -> None:
        """Until the work is done, and with it all before it, or the stream failed."""
        if not pending.is_done and pending.error is None:
            self.wait_event(pending.end)
            self.collect(pending)

    def wait_event(self, event: Any) -> None:
        """Until the event is reached or the stream failed."""
        if event is None:
            return
        start = time.perf_counter()
        try:
            with self.backend.active() as driver:
                while (code := self.backend.query_event(event)[0]) == NOT_READY:
                    waited = time.perf_counter() - start
                    if waited > SPIN_SECONDS:
                        time.sleep(min(waited * PAUSE_SHARE, LONGEST_PAUSE))
                if code:
                    raise driver.error("cuEventQuery", int(code))
        except KernelFault as fault:
            self.failed(fault)

    def reached(self, event: Any) -> bool | None:
        """Whether the stream got there; None when it failed."""
        try:
            with self.backend.active() as driver:
                (code,) = self.backend.query_event(event)
                if code and code != NOT_READY:
                    raise driver.error("cuEventQuery", int(code))
                return not code
        except KernelFault as fault:
            self.failed(fault)
            return None

    def collect(self, known: Pending | None = None) -> None:
        """Reports the work that is done, in order; `known` is done, and so is all before it."""
        with self.lock:
            if self.drops() or not self.pending:
                return
            if known is not None and (known.is_done or known not in self.pending):
                known = None
            pending = self.pending[0]
            try:
                with self.backend.active() as driver:
                    while self.pending:
                        pending = self.pending[0]
                        if known is None and not self.reached(pending.end):
                            return
                        self.pending.popleft()
                        pending.finish(driver, self.backend)
                        if pending is known:
                            known = None
            except KernelFault as fault:
                pending.fail(fault)
                self.failed(fault)

    def idle(self) -> bool:
        if self.pending:
            self.collect()
        return not self.pending

    def copy(self, function: str, to: int, source: int, size: int, keep: object) -> None:
        """Queues a copy; `keep` lives until it is done."""
        self.put(keep, lambda driver, pending: driver.call(function, to, source, size, self.stream))

    def put(self, keep: object, work: Callable[[Driver, Pending], object]) -> Mark:
        """Queues the driver calls of `work`; `keep` lives until they are done."""
        with self.lock:
            if self.drops():
                return self.dropped()
            pending = Pending(self.backend, "", keep)
            try:
                with self.backend.active() as driver:
                    work(driver, pending)
                    pending.end = self.backend.record(self.stream)
            except KernelFault as fault:
                self.failed(fault)
                return self.dropped()
            except BaseException:
                pending.abandon(self.backend)
                raise
            return self.add(pending)

    def mark(self) -> Mark:
        return CudaMark(self)

    def wait_for(self, mark: Mark) -> None:
        """What comes next waits for the mark, of another queue of this GPU."""
        if isinstance(mark, PendingMark):
            event, lost = mark.pending.end, mark.pending.error is not None
        else:
            assert isinstance(mark, CudaMark)
            event, lost = mark.event, mark.error is not None
        if lost or event is None or self.drops():
            return
        if isinstance(mark, CudaMark):
            mark.require()
        try:
            with self.backend.active() as driver:
                driver.call("cuStreamWaitEvent", self.stream, event, 0)
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


@contextmanager
def plain_queue(backend: CudaBackend) -> Iterator[CudaQueue]:
    """A queue on the default stream, for work that the caller waits for: it is done when the block ends.

    Ctrl-C leaves what runs on the GPU to its end, and its memory with it.
    """
    if backend.abandoned:
        backend.collect_abandoned()
    try:
        queue = backend.plain.pop()
    except IndexError:
        queue = CudaQueue(backend, owns_stream=False)
    assert isinstance(queue, CudaQueue)
    try:
        yield queue
        queue.wait()
    except KeyboardInterrupt:
        backend.abandoned.append(queue)
        raise
    if backend.is_current(queue.generation):
        backend.plain.append(queue)
