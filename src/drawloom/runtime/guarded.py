"""Host memory between pages that can only be read. A kernel may read a little before or after it, as on a GPU, where
the neighbourhood is mapped; a write there is a fault of the kernel, and harms nobody's memory.

    SLACK_BYTES: read, not written | pages, of which the memory has the end | SLACK_BYTES

What is freed serves again. Only on Linux; elsewhere it is NumPy's memory, and so are small pieces beyond the first
MOST_SMALL, as a process has 65530 mappings.
"""

import ctypes
import mmap
import sys
import threading
from typing import Any, Final

import numpy as np

from drawloom.runtime.memory import ALLOCATION_ALIGNMENT, Bytes, aligned_bytes

SLACK_BYTES: Final = 1 << 20
#: Pieces of at most SMALL_BYTES that have pages of their own at a time.
MOST_SMALL: Final = 8192
SMALL_BYTES: Final = 64 << 10
#: Bytes of free pages that the machine does not get back.
MOST_FREE: Final = 64 << 20
#: From here on NumPy asks for huge pages, and so does this (numpy/_core/src/multiarray/alloc.c).
_HUGE_BYTES: Final = 4 << 20
#: More than a process of x86-64 or ARM can address.
_TOO_MANY_BYTES: Final = 1 << 56
_MAP_FAILED: Final = (1 << 64) - 1


def guarded_bytes(size: int, alignment: int = ALLOCATION_ALIGNMENT, zero: bool = True) -> Bytes:
    """`size` bytes of host memory whose address is a multiple of `alignment`, a power of two up to a page.

    What follows the last byte, from the next multiple of `alignment` on, can only be read, and so can what is a page
    before the first one. The bytes are 0 where `zero` asks for it. Raises MemoryError when there is not that much.
    """
    whole = _rounded(size, mmap.PAGESIZE)
    is_small = whole <= SMALL_BYTES
    if sys.platform != "linux" or alignment > mmap.PAGESIZE or (is_small and _pool.small >= MOST_SMALL):
        return aligned_bytes(size, alignment, zero)
    pages = _Pages(whole)
    first = whole - _rounded(size, alignment)
    array = np.asarray(pages)[first : first + size]
    if zero and pages.is_used:
        array.fill(0)
    return array


class _Pool:
    """The free pages, by their bytes. What frees may be the garbage collector in the middle of anything here."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.free: dict[int, list[int]] = {}
        self.free_bytes = 0
        #: Small mappings, in use or free.
        self.small = 0
        self.library: Any = None

    def take(self, size: int) -> tuple[int, bool]:
        """The address of pages, and whether somebody used them before. Raises MemoryError."""
        with self.lock:
            known = self.free.get(size)
            if known:
                self.free_bytes -= size
                return known.pop(), True
            if size >= _TOO_MANY_BYTES:
                raise MemoryError(f"no {size} bytes of address space are left")
            if self.library is None:
                self.library = _system_calls()
            self.small += size <= SMALL_BYTES
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        start = self.library.mmap(None, size + 2 * SLACK_BYTES, mmap.PROT_READ, flags, -1, 0)
        if start == _MAP_FAILED:
            self.small -= size <= SMALL_BYTES
            raise MemoryError(f"no {size} bytes of address space are left")
        address = int(start) + SLACK_BYTES
        if self.library.mprotect(address, size, mmap.PROT_READ | mmap.PROT_WRITE):
            self.unmap(address, size)
            raise MemoryError(f"no {size} bytes of memory are left")
        if size >= _HUGE_BYTES:
            self.library.madvise(address, size, mmap.MADV_HUGEPAGE)
        return address, False

    def give(self, address: int, size: int) -> None:
        """Keep pages for the next who asks for as many; those kept before go where it gets too much."""
        dropped: dict[int, list[int]] = {}
        with self.lock:
            if self.free_bytes + size > MOST_FREE:
                dropped, self.free, self.free_bytes = self.free, {}, 0
            if size <= MOST_FREE // 2:
                self.free.setdefault(size, []).append(address)
                self.free_bytes += size
            else:
                dropped.setdefault(size, []).append(address)
        for bytes_, addresses in dropped.items():
            for other in addresses:
                self.unmap(other, bytes_)

    def unmap(self, address: int, size: int) -> None:
        with self.lock:
            self.small -= size <= SMALL_BYTES
        self.library.munmap(address - SLACK_BYTES, size + 2 * SLACK_BYTES)


class _Pages:
    """The owner of pages: NumPy's views of them keep it alive."""

    def __init__(self, size: int) -> None:
        self.size = 0
        self.address, self.is_used = _pool.take(size)
        self.size = size

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if self.size:
            _pool.give(self.address, self.size)


def _system_calls() -> Any:
    """The C library with what changes mappings."""
    library = ctypes.CDLL(None)
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes, library.mmap.restype = (place, size, number, number, number, ctypes.c_int64), place
    library.munmap.argtypes = (place, size)
    library.mprotect.argtypes = library.madvise.argtypes = (place, size, number)
    return library


def _rounded(size: int, unit: int) -> int:
    return max(-(-size // unit), 1) * unit


_pool: Final = _Pool()
