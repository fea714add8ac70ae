"""Memory: ranges of this process, the shared memory of a block, the local memory of every lane.

A generic address inside a window means shared or local memory; every other one is a real address. The windows lie
where no user address of a 64-bit system can be.
"""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import ALL, AccessFault, Fault, Row

SHARED_WINDOW: Final = 1 << 60
LOCAL_WINDOW: Final = 1 << 61
WINDOW_SIZE: Final = 1 << 32

VIEWS: Final[dict[int, type[np.generic]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Region:
    """Bytes from `start` on, `size` of them, seen as bytes, halves, words and pairs of words."""

    def __init__(self, start: int, size: int, data: Row, space: str) -> None:
        """`data` are bytes from `start` rounded down to 16 on, up to a multiple of 16."""
        self.start = start
        self.end = start + size
        self.base = np.uint64(start & -16)
        self.space = space
        self.views = {width: data.view(type) for width, type in VIEWS.items()}

    def offsets(self, addresses: Row, size: int) -> Row:
        """Where in the views, in bytes, an access of `size` bytes at each address is. Raises AccessFault."""
        numbers = addresses.tolist()
        if min(numbers) < self.start or max(numbers) + size > self.end:
            address = next(a for a in numbers if a < self.start or a + size > self.end)
            raise AccessFault(f"access outside of {self.space} memory: {size} bytes", address, size)
        return (addresses - self.base).view(np.int64)


def process_region(start: int, size: int) -> Region:
    """A range of this process's memory."""
    base, end = start & -16, start + size + 15 & -16
    return Region(start, size, bytes_at(base, end - base), "global")


def bytes_at(address: int, size: int) -> Row:
    """Bytes of this process, to read and write."""
    return np.frombuffer(memoryview((ctypes.c_ubyte * size).from_address(address)), np.uint8)


class GlobalMemory:
    """The ranges that a kernel may touch: (address, bytes) pairs, which may overlap."""

    def __init__(self, buffers: list[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, size in sorted(buffers):
            if size <= 0:
                continue
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], start + size)
            else:
                merged.append((start, start + size))
        self.regions = [process_region(start, end - start) for start, end in merged]
        self.starts = np.array([region.start for region in self.regions], np.uint64)
        self._heap: dict[int, ctypes.Array[ctypes.c_char]] = {}

    def allocate(self, size: int) -> int:
        """`malloc`: the address of so many fresh bytes; they live until `free` or the end of the launch."""
        block = ctypes.create_string_buffer(max(size, 1) + 32)
        address = ctypes.addressof(block) + 15 & -16
        self._heap[address] = block
        self._set([*self.regions, process_region(address, size)])
        return address

    def free(self, address: int) -> None:
        """`free`; raises Fault for what `malloc` did not give or what was freed before."""
        if address and self._heap.pop(address, None) is None:
            raise Fault(f"free of 0x{address:x}, which malloc did not return or which was freed before")
        self._set([region for region in self.regions if not address or region.start != address])

    def _set(self, regions: list[Region]) -> None:
        self.regions = sorted(regions, key=lambda region: region.start)
        self.starts = np.array([region.start for region in self.regions], np.uint64)

    def split(self, addresses: Row, size: int) -> list[tuple[Row | slice, Region]]:
        """Which of the addresses lie in which range. Raises AccessFault for those in none."""
        at = np.searchsorted(self.starts, addresses, "right") - 1
        found = sorted(set(at.tolist()))
        if found[0] < 0:
            address = int(addresses[int(np.argmin(at))])
            raise AccessFault(f"access outside of every buffer: {size} bytes of global memory", address, size)
        if len(found) == 1:
            return [(ALL, self.regions[found[0]])]
        return [((at == n).nonzero()[0], self.regions[n]) for n in found]


def check_alignment(addresses: Row, size: int, space: str) -> None:
    """Accesses are aligned to their whole size."""
    if int(np.bitwise_or.reduce(addresses)) & size - 1:
        address = next(a for a in addresses.tolist() if a & size - 1)
        message = f"misaligned access to {space} memory: {size} bytes must stand at a multiple of {size}"
        raise AccessFault(message, address, size)


def read(region: Region, offsets: Row, size: int) -> list[Row]:
    """The words of `size` bytes at every offset; bytes and halves fill words with zeros."""
    if size < 4:
        return [region.views[size][offsets >> (size >> 1)].astype(np.uint32)]
    view, places = region.views[4], offsets >> 2
    return [view[places + n] if n else view[places] for n in range(size // 4)]


def write(region: Region, offsets: Row, size: int, words: list[Row]) -> None:
    """Stores words, or the low bytes of one; of several lanes at one place the last wins."""
    if size < 4:
        region.views[size][offsets >> (size >> 1)] = words[0].astype(VIEWS[size])
        return
    view, places = region.views[4], offsets >> 2
    for n, word in enumerate(words):
        view[places + n if n else places] = word
