"""How deep expressions may be: each part within the next is some frames of the stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from drawloom.errors import UnsupportedError

#: Python's frames while a query is prepared: enough for a thousand parts, and within 8 MiB of a compiled build's stack.
_FRAMES: Final = 8000
_lock: Final = Lock()
_entered: list[int] = []


@contextmanager
def refuses_depth() -> Iterator[None]:
    """Room for deep expressions, for whoever is first to enter until the last has left. UnsupportedError in place of
    RecursionError."""
    with _lock:
        _entered.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_FRAMES, _entered[0]))
    try:
        yield
    except RecursionError:
        raise UnsupportedError("this query needs what is not built yet:", [
            "an expression of more than a thousand parts, each within the next",
        ]) from None  # fmt: skip
    finally:
        with _lock:
            first = _entered.pop(0)
            if _entered:
                _entered[0] = first
            else:
                sys.setrecursionlimit(first)
