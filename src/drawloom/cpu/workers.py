"""Threads that run kernels: started once, asleep between launches, one job at a time or several beside each other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from drawloom.threads import start

#: Device functions recurse on the native stack, 32 lanes at a time.
STACK_BYTES: Final = 64 << 20


class Job:
    """A function that several threads run, each with its number.

    KeyboardInterrupt may come between any two steps of the thread that waits. So what it shares with the others is held
    by locks of C, which it cannot leave half taken, and only the others count who has ``joined`` and ``left``.
    """

    def __init__(self, body: Callable[[int], None], workers: int) -> None:
        self.body = body
        self.workers = workers
        self.lock = threading.Lock()
        self.is_closed = False
        self.joined = 0
        self.left = 0
        self.error: BaseException | None = None
        #: Free once all workers are done; only then is ``is_finished`` set.
        self.done = threading.Lock()
        self.done.acquire()
        self.is_finished = False

    def run(self, index: int) -> None:
        with self.lock:
            if self.is_closed:
                return
            self.joined += 1
        try:
            self.body(index)
        except BaseException as error:  # handed to the thread that waits
            self.error = error
        with self.lock:
            self.left += 1
            if self.left == self.workers:
                self.is_finished = True
                self.done.release()

    def wait(self, seconds: float) -> bool:
        """Whether all threads are done, after at most ``seconds``. Raises what a thread raised."""
        if not self.is_finished:
            self.done.acquire(timeout=seconds)
        if self.is_finished and self.error is not None:
            raise self.error
        return self.is_finished

    def abandon(self) -> None:
        """Until nobody runs it, whatever happened; who has not begun does not begin."""
        with self.lock:
            self.is_closed = True
        while self.left < self.joined:
            time.sleep(0.0005)


class Pool:
    """Sleeping threads; there are always as many as the largest set of jobs at one time needed."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[tuple[Job, int]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.threads = 0
        self.wanted = 0

    def start(self, job: Job) -> None:
        with self.lock:
            self.wanted += job.workers
            missing = self.wanted - self.threads
            if missing > 0:
                self._grow(missing)
        for index in range(job.workers):
            self.tasks.put((job, index))

    def _grow(self, count: int) -> None:
        for _ in range(count):
            start(self._serve, "drawloom", STACK_BYTES)
            self.threads += 1

    def _serve(self) -> None:
        while True:
            job, index = self.tasks.get()
            job.run(index)
            del job  # it holds the arguments alive
            with self.lock:
                self.wanted -= 1


_pool: Pool | None = None
_pool_lock: Final = threading.Lock()


def pool() -> Pool:
    """The process's threads; a forked child starts its own."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = Pool()
            _register_fork()
        return _pool


def _register_fork() -> None:
    import os

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    global _pool
    _pool = None
