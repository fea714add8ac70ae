"""A range of independent items over the worker pool that the CPU device has, in parts that threads take in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from drawloom.cpu import available_cores
from drawloom.cpu.workers import Job, pool

__all__ = ["available_cores", "run_ranges"]

#: Parts for each thread, so that a thread that was held up leaves its share to the others.
PARTS_EACH: Final = 16
WAIT_SECONDS: Final = 0.1


def run_ranges(body: Callable[[int, int], None], first: int, last: int, step: int, least: int = 1) -> None:
    """Call a function for parts of a range, from several threads at once.

    Args:
        body: Takes the first item of a part and the one after its last, and releases the interpreter lock meanwhile.
        first: The first item.
        last: The item after the last; last - first is a multiple of `step`.
        step: Parts begin and end at multiples of it from `first`.
        least: Fewer steps than this are not worth a thread.

    Raises:
        What the body raises in any thread. Parts that have begun are finished first.
    """
    steps = (last - first) // step
    workers = max(1, min(available_cores(), steps // max(least, 1)))
    if workers == 1:
        if steps:
            body(first, last)
        return
    parts = workers * PARTS_EACH
    bounds = [first + steps * number // parts * step for number in range(parts + 1)]
    lock = threading.Lock()
    waiting = list(reversed(range(parts)))

    def take_parts(_: int) -> None:
        while True:
            with lock:
                if not waiting:
                    return
                part = waiting.pop()
            if bounds[part] < bounds[part + 1]:
                body(bounds[part], bounds[part + 1])

    job = Job(take_parts, workers - 1)
    try:
        pool().start(job)
        take_parts(workers)
        while not job.wait(WAIT_SECONDS):
            pass
    except BaseException:
        with lock:
            waiting.clear()
        job.abandon()
        raise
