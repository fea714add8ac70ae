"""Compiling without looking for garbage: all that a compiler makes is new and stays until the end, so that Python's
collector finds nothing, and takes time for every object there is.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")


class _Rest:
    """Who has the collector rest, of all threads and however deep, and whether it was on before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: set[object] = set()
        self.was_on = False


_rest: Final = _Rest()


def uncollected(work: Callable[[], T]) -> T:
    """``work()``, while which the collector rests; behind the last of several it is on again if it was."""
    user = object()
    try:  # around all of it: an interrupt may come anywhere
        with _rest.lock:
            if not _rest.users:
                _rest.was_on = gc.isenabled()
            _rest.users.add(user)
            gc.disable()
        return work()
    finally:
        with _rest.lock:
            _rest.users.discard(user)
            if not _rest.users and _rest.was_on:
                gc.enable()
