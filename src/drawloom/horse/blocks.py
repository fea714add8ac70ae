"""Work on long arrays block by block, on all cores: NumPy and Arrow let other threads run while they compute.

When the user interrupts, or one item fails, the others are given up, and nobody works any more once that is raised.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


class GivenUp(Exception):
    """In a thread whose work nobody waits for any more; whoever waited raises the reason."""


class _Stop:
    """Whether the items of one call, or of the one that it is within, are given up."""

    def __init__(self, around: _Stop | None) -> None:
        self.around = around
        self.is_set = False

    def reached(self) -> bool:
        return self.is_set or (self.around is not None and self.around.reached())


#: The ``stop`` of the items that a thread works on.
_here = threading.local()


def on_all_cores(items: Sequence[Item], work: Callable[[Item], T]) -> list[T]:
    """``work(item)`` for every item, in their order."""
    if len(items) < 2:
        return [work(item) for item in items]
    stop = _Stop(getattr(_here, "stop", None))

    def one(item: Item) -> T:
        _here.stop = stop
        go_on()
        return work(item)

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        try:
            return list(threads.map(one, items))
        except BaseException:
            stop.is_set = True
            raise


def go_on() -> None:
    """To be called now and then by work that takes long. Raises KeyboardInterrupt in the main thread, GivenUp in
    others, where the work is of no use any more."""
    threading.current_thread()  # compiled code does not look for signals, Python code that it calls does
    stop: _Stop | None = getattr(_here, "stop", None)
    if stop is not None and stop.reached():
        raise GivenUp


def while_wanted(items: Iterable[T]) -> Iterator[T]:
    """The items, as long as ``go_on`` raises nothing."""
    for item in items:
        go_on()
        yield item


def in_blocks(rows: int, block: int, work: Callable[[int], T]) -> list[T]:
    """``work(start)`` for every start of a block of ``rows``, in their order; at least one."""
    return on_all_cores(range(0, max(rows, 1), block), work)
