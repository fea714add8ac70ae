"""Work on long arrays block by block, on all cores: NumPy and Arrow let other threads run while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_blocks(rows: int, block: int, work: Callable[[int], T]) -> list[T]:
    """``work(start)`` for every start of a block of ``rows``, in their order; at least one."""
    starts = range(0, max(rows, 1), block)
    if len(starts) == 1:
        return [work(0)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(work, starts))
