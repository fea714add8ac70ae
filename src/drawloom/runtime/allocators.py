"""The process's allocators so that what is freed goes back to the machine.

Arrow's own keeps some 20 MB beside a query's columns, and glibc's pieces of up to 32 MiB. Where the user has chosen
otherwise in the environment, that stays.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any, Final

_POOL: Final = "ARROW_DEFAULT_MEMORY_POOL"
#: mallopt's number, from malloc.h.
_M_MMAP_THRESHOLD: Final = -3


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
def keep_little(size: int) -> None:
    """Has glibc give back what is freed of ``size`` bytes or more at once, which otherwise grows to 32 MiB."""
    library = _glibc()
    if library is not None and not {"MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"} & set(os.environ):
        library.mallopt(_M_MMAP_THRESHOLD, size)


def trim() -> None:
    """Gives the machine what glibc keeps for later."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
