"""Threads that run kernels: started once, asleep between launches, one job at a time or several beside each other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Final

#: Device functions recurse on the native stack, 32 lanes at a time.
STACK_BYTES: Final = 64 << 20


class Job:
    """A function that several threads run, each with its number."""

    def __init__(self, body: Callable[[int], None], workers: int) -> None:
        self.body = body
        self.left = workers
        self.done = threading.Event()
        self.lock = threading.Lock()
        self.error: BaseException | None = None

    def run(self, index: int) -> None:
        try:
            self.body(index)
        except BaseException as error:  # handed to the thread that waits
            self.error = error
        with self.lock:
            self.left -= 1
            if self.left == 0:
                self.done.set()

    def wait(self, seconds: float) -> bool:
        """Whether all threads are done, after at most ``seconds``. Raises what a thread raised."""
        finished = self.done.wait(seconds)
        if finished and self.error is not None:
            raise self.error
        return finished

    def join(self) -> None:
        """Wait to the end, whatever happened."""
        self.done.wait()


class Pool:
    """Sleeping threads; there are always as many as the largest set of jobs at one time needed."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[tuple[Job, int]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.threads = 0
        self.wanted = 0

    def start(self, body: Callable[[int], None], workers: int) -> Job:
        job = Job(body, workers)
        with self.lock:
            self.wanted += workers
            missing = self.wanted - self.threads
            if missing > 0:
                self._grow(missing)
        for index in range(workers):
            self.tasks.put((job, index))
        return job

    def _grow(self, count: int) -> None:
        before = threading.stack_size(STACK_BYTES)
        try:
            for _ in range(count):
                threading.Thread(target=self._serve, name="drawloom", daemon=True).start()
        finally:
            threading.stack_size(before)
        self.threads += count

    def _serve(self) -> None:
        while True:
            job, index = self.tasks.get()
            job.run(index)
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
