"""The process's allocators so that what a query frees serves the next one, and goes back to the machine when asked.

Arrow's own keeps some 20 MB beside a query's columns for good. Where the user has chosen otherwise in the environment,
that stays.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from mmap import PAGESIZE
from typing import Any, Final

_POOL: Final = "ARROW_DEFAULT_MEMORY_POOL"
#: mallopt's numbers, from malloc.h, and where glibc ends by itself when ever larger pieces are freed: the most that it
#: takes for the first, and twice that.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
MOST_KEPT: Final = 1 << 25
#: What says in the environment that the user has chosen.
_CHOSEN: Final = frozenset(["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
_STATM: Final = "/proc/self/statm"


@cache
def _glibc() -> Any:
    """glibc, as ctypes sees it; None where the C library is another one."""
    import ctypes

    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None


def import_arrow() -> None:
    """Imports pyarrow, if nobody has, with the C library's allocator for its own: it chooses at that moment."""
    if "pyarrow" in sys.modules or _POOL in os.environ or _glibc() is None:
        return
    os.environ[_POOL] = "system"
    try:
        import pyarrow  # noqa: F401
    finally:
        del os.environ[_POOL]


@cache
def keep_freed() -> None:
    """Has glibc keep what is freed of less than 32 MiB at once until ``trim``: the machine clears every page that is
    taken anew."""
    library = _glibc()
    if library is not None and not _CHOSEN & set(os.environ):
        library.mallopt(_M_MMAP_THRESHOLD, MOST_KEPT)
        library.mallopt(_M_TRIM_THRESHOLD, 2 * MOST_KEPT)


def trim() -> None:
    """Gives the machine what glibc keeps for later."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def resident() -> int:
    """The process's bytes that are in the machine's memory; 0 where the system does not say."""
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[1]) * PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0
