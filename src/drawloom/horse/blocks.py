"""Work on long arrays block by block, on all cores: NumPy and Arrow let other threads run while they compute. And work
beside the main thread, which hears Ctrl-C while it waits, and behind a call of NumPy, Arrow or LLVM only.

When the user interrupts, or an item fails, the items behind it are given up, and nobody works any more once that is
raised. KeyboardInterrupt may come between any two steps of the main thread, so what it shares with others is kept by
locks and queues of C, which it cannot leave half done, and only others count who works.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from drawloom.threads import interrupt, start

T = TypeVar("T")
Item = TypeVar("Item")
#: Seconds that the main thread waits for interrupted work to end.
_GRACE: Final = 0.1
#: Expressions of a thousand parts are as many frames of the stack.
_STACK_BYTES: Final = 64 << 20


class GivenUp(Exception):
    """In a thread whose work nobody waits for any more; whoever waited raises the reason."""


class _Job:
    """One call: threads take its items in their order. ``failed_at`` is the first item that failed, -1 when the whole
    is given up; ``joined`` helpers have begun to take items and ``left`` of them have ended."""

    def __init__(self, items: Sequence[Any], work: Callable[[Any], Any], around: _Task | None) -> None:
        self.items = items
        self.work = work
        self.around = around
        self.results: list[Any] = [None] * len(items)
        self.lock = threading.Lock()
        self.next = 0
        self.failed_at = len(items)
        self.error: BaseException | None = None
        self.is_closed = False
        self.joined = 0
        self.left = 0
        self.ended: SimpleQueue[None] = SimpleQueue()

    def take(self) -> int:
        """The number of the next item, -1 for none."""
        with self.lock:
            number = self.next
            if number >= len(self.items) or number > self.failed_at:
                return -1
            self.next = number + 1
            return number

    def do(self, number: int) -> None:
        """One item in this thread."""
        before = _task()
        _here.task = _Task(self, number)
        try:
            if self.around is not None and self.around.is_in_vain():
                raise GivenUp
            self.results[number] = self.work(self.items[number])
        except Exception as problem:
            with self.lock:
                if number < self.failed_at:
                    self.failed_at, self.error = number, problem
        finally:
            _here.task = before

    def help(self) -> None:
        """Items for as long as there are some, in a thread that is not the caller's."""
        with self.lock:
            if self.is_closed:
                return
            self.joined += 1
        try:
            while (number := self.take()) >= 0:
                self.do(number)
        except BaseException as problem:  # such as SystemExit: handed to the caller
            self.failed_at, self.error = -1, problem
        with self.lock:
            self.left += 1
        self.ended.put(None)

    def close(self) -> int:
        """Nobody else begins; how many have."""
        with self.lock:
            self.is_closed = True
            return self.joined

    def run(self) -> None:
        """All items, in this thread and in those that help. Raises what the first that failed raised."""
        while (number := self.take()) >= 0:
            self.do(number)
        for _ in range(self.close()):
            self.ended.get()
        self.raise_error()

    def raise_error(self) -> None:
        """What the first item that failed raised. Its frames have the job, which has it no more: both go with the last
        who has the error, and so does the memory of what failed."""
        error, self.error = self.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error

    def give_up(self) -> None:
        """Until nobody works on it any more."""
        self.failed_at = -1
        joined = self.close()
        while self.left < joined:
            time.sleep(0.0005)


class _Task:
    """An item that a thread works on."""

    def __init__(self, job: _Job, number: int) -> None:
        self.job = job
        self.number = number

    def is_in_vain(self) -> bool:
        around = self.job.around
        return self.job.failed_at < self.number or (around is not None and around.is_in_vain())


#: The ``task`` of a thread.
_here = threading.local()


def _task() -> _Task | None:
    found: _Task | None = getattr(_here, "task", None)
    return found


class _Helpers:
    """Threads that sleep until there are jobs; a forked child starts its own."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.started = 0

    def call(self, job: _Job, wanted: int) -> None:
        while self.started < wanted:
            self.started += 1
            start(self.serve, "drawloom-blocks")
        for _ in range(wanted):
            self.jobs.put(job)

    def serve(self) -> None:
        while True:
            job = self.jobs.get()
            job.help()
            del job  # it holds arrays


_helpers = _Helpers()


class _Side:
    """A thread for one job at a time. Once it was interrupted it ends: that may hit it behind the job."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.is_dropped = False
        self.thread = start(self.serve, "drawloom-aside", _STACK_BYTES)

    def serve(self) -> None:
        try:
            while not self.is_dropped:
                job = self.jobs.get()
                if job is not None:
                    job.help()
                del job  # it holds arrays
        except KeyboardInterrupt:  # behind the job
            pass

    def interrupt(self, job: _Job) -> None:
        """As Ctrl-C would, were this the main thread. It has ended then, or does so with the call that it is in."""
        self.is_dropped = True
        job.failed_at = -1
        job.close()
        interrupt(self.thread)
        self.jobs.put(None)
        until = time.monotonic() + _GRACE
        while self.thread.is_alive() and time.monotonic() < until:
            time.sleep(0.0005)


#: The threads that work for the main one: only the last is not dropped, and those before it may not have ended yet.
_sides: list[_Side] = []


def _ready_side() -> _Side:
    """A thread without work, once those that were interrupted have ended: what they work on may be the same."""
    while _sides and _sides[0].is_dropped:
        if _sides[0].thread.is_alive():
            time.sleep(0.0005)
        else:
            del _sides[0]
    if not _sides:
        _sides.append(_Side())
    return _sides[0]


def _forget() -> None:
    global _helpers
    _helpers = _Helpers()
    _sides.clear()


os.register_at_fork(after_in_child=_forget)


def on_all_cores(items: Sequence[Item], work: Callable[[Item], T]) -> list[T]:
    """``work(item)`` for every item, in their order."""
    if len(items) < 2:
        return [work(item) for item in items]
    job = _Job(items, work, _task())
    try:
        _helpers.call(job, min(len(items), os.cpu_count() or 1) - 1)
        job.run()
    except BaseException:
        job.give_up()
        raise
    return job.results


def aside(work: Callable[[], T]) -> T:
    """``work()``, in another thread where this is the main one. A KeyboardInterrupt that comes meanwhile is raised in
    the work, and here soon, be the work in a call that does not hear of it."""
    is_main = threading.current_thread() is threading.main_thread()
    return _beside(_ready_side(), work) if is_main else work()


def apart(work: Callable[[], T]) -> T:
    """As ``aside``, of work on what is nobody else's: once it is interrupted nobody waits for its end, which of a call
    that hears late comes long after."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    side = _Side()
    try:
        return _beside(side, work)
    finally:
        side.is_dropped = True
        side.jobs.put(None)


def _beside(side: _Side, work: Callable[[], T]) -> T:
    """``work()`` in the side's thread."""
    context = contextvars.copy_context()
    job = _Job([work], context.run, None)
    try:
        side.jobs.put(job)
        job.ended.get()
    except BaseException:
        side.interrupt(job)
        raise
    job.raise_error()
    made: T = job.results[0]
    return made


def go_on() -> None:
    """To be called now and then by work that takes long. Raises KeyboardInterrupt in the main thread, and GivenUp where
    the work is of no use any more."""
    threading.current_thread()  # compiled code does not look for signals, Python code that it calls does
    task = _task()
    if task is not None and task.is_in_vain():
        raise GivenUp


def while_wanted(items: Iterable[T]) -> Iterator[T]:
    """The items, as long as ``go_on`` raises nothing."""
    for item in items:
        go_on()
        yield item


def in_blocks(rows: int, block: int, work: Callable[[int], T]) -> list[T]:
    """``work(start)`` for every start of a block of ``rows``, in their order; at least one."""
    return on_all_cores(range(0, max(rows, 1), block), work)
