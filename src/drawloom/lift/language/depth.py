"""How deeply programs may nest, and room on Python's stack for those that do.

The passes over a program are recursive. `Call` refuses programs of more than `DEEPEST` levels, so that the room which
`room_for_depth` makes is enough for every pass, whatever the depth from which a user calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

#: Calls inside each other, in arguments and in functions of patterns.
DEEPEST: Final = 300
#: Levels of a text: a call has up to three, as in ``map(λ x . f(x))``.
DEEPEST_TEXT: Final = 3 * DEEPEST + 60
#: Frames for a pass: the parser has some 8 for each of its levels.
FRAMES: Final = 10_000

lock: Final = Lock()
limits: Final[list[int]] = []


@contextmanager
def room_for_depth() -> Iterator[None]:
    """Raise Python's recursion limit by `FRAMES` until the last of those who are inside has left."""
    with lock:
        limits.append(sys.getrecursionlimit())
        if len(limits) == 1:
            sys.setrecursionlimit(limits[0] + FRAMES)
    try:
        yield
    finally:
        with lock:
            first = limits.pop(0)
            if limits:
                limits[0] = first
            else:
                sys.setrecursionlimit(first)
