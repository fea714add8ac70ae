"""Work on long arrays block by block, on all cores: NumPy and Arrow let other threads run while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


def on_all_cores(items: Sequence[Item], work: Callable[[Item], T]) -> list[T]:
    """``work(item)`` for every item, in their order."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(work, items))


def in_blocks(rows: int, block: int, work: Callable[[int], T]) -> list[T]:
    """``work(start)`` for every start of a block of ``rows``, in their order; at least one."""
    return on_all_cores(range(0, max(rows, 1), block), work)
