"""The state spaces (PTX ISA 9.0 section 5.1): global memory of this process, and windows for the others.

A generic address inside a window means shared, local or parameter memory; every other one is a real address. The
windows lie where no user address of a 64-bit system can be.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from typing import Final

SHARED_WINDOW: Final = 1 << 60
LOCAL_WINDOW: Final = 1 << 61
PARAM_WINDOW: Final = 1 << 62
WINDOW_SIZE: Final = 1 << 32
#: What CUDA gives a thread at most (CUDA C++ Programming Guide, compute capabilities).
LOCAL_LIMIT: Final = 512 << 10
HEAP_ALIGNMENT: Final = 16


class Fault(Exception):
    """Something a running thread did wrong; the machine adds the thread, the block and the line."""


class AccessFault(Fault):
    """An access to ``size`` bytes at ``address`` that memory does not have or that is not aligned."""

    def __init__(self, message: str, address: int, size: int) -> None:
        super().__init__(message)
        self.address = address
        self.size = size


class RaceFault(Fault):
    """Two accesses to one place that nothing orders."""


def check_alignment(address: int, size: int, space: str) -> None:
    """Accesses are aligned to their whole size, vectors included (section 6.4.1)."""
    if address & (size - 1):
        message = f"misaligned access to {space} memory: {size} bytes must stand at a multiple of {size}"
        raise AccessFault(message, address, size)


class GlobalMemory:
    """The ranges of this process that a kernel may touch: ``(address, bytes)`` pairs, and what ``malloc`` adds."""

    def __init__(self, buffers: list[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._views: list[memoryview] = []
        for start, size in sorted(buffers):
            if size <= 0:
                continue
            if self._ends and start < self._ends[-1]:
                # Views of one array overlap; one range covers them.
                first = self._starts.pop()
                end = max(self._ends.pop(), start + size)
                self._views.pop()
                self._append(first, end - first)
            else:
                self._append(start, size)
        self._heap: dict[int, ctypes.Array[ctypes.c_char]] = {}

    def _append(self, start: int, size: int) -> None:
        self._starts.append(start)
        self._ends.append(start + size)
        self._views.append(_view(start, size))

    def load(self, address: int, size: int) -> int:
        """The little-endian value of ``size`` bytes at ``address``."""
        if address & (size - 1):
            check_alignment(address, size, "global")
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address + size > self._ends[at]:
            raise self._outside(address, size)
        offset = address - self._starts[at]
        return int.from_bytes(self._views[at][offset : offset + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        if address & (size - 1):
            check_alignment(address, size, "global")
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address + size > self._ends[at]:
            raise self._outside(address, size)
        offset = address - self._starts[at]
        self._views[at][offset : offset + size] = value.to_bytes(size, "little")

    def _outside(self, address: int, size: int) -> AccessFault:
        message = f"access outside of every buffer: {size} bytes of global memory"
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            message += f", {address - self._ends[at]} bytes past the end of a buffer of "
            message += f"{self._ends[at] - self._starts[at]} bytes"
        return AccessFault(message, address, size)

    def read_string(self, address: int) -> bytes:
        """The bytes before the NUL at ``address``."""
        out = bytearray()
        while byte := self.load(address + len(out), 1):
            out.append(byte)
        return bytes(out)

    def allocate(self, size: int) -> int:
        """``malloc``: the address of ``size`` fresh bytes; they live until ``free`` or the end of the launch."""
        block = ctypes.create_string_buffer(max(size, 1) + HEAP_ALIGNMENT)
        address = (ctypes.addressof(block) + HEAP_ALIGNMENT - 1) & -HEAP_ALIGNMENT
        at = bisect_right(self._starts, address)
        self._starts.insert(at, address)
        self._ends.insert(at, address + size)
        self._views.insert(at, _view(address, size))
        self._heap[address] = block
        return address

    def free(self, address: int) -> None:
        """``free``: raises Fault for what ``malloc`` did not give or what was freed before."""
        if address == 0:
            return
        if self._heap.pop(address, None) is None:
            raise Fault(f"free of 0x{address:x}, which malloc did not return or which was freed before")
        at = bisect_right(self._starts, address) - 1
        del self._starts[at], self._ends[at], self._views[at]


def _view(start: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(start)).cast("B")


class ByteMemory:
    """A window's memory: bytes from address 0, such as a thread's local memory or the parameter block."""

    def __init__(self, name: str, data: bytearray) -> None:
        self.name = name
        self.data = data

    def load(self, address: int, size: int) -> int:
        if address & (size - 1):
            check_alignment(address, size, self.name)
        if address < 0 or address + size > len(self.data):
            raise self._outside(address, size)
        return int.from_bytes(self.data[address : address + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        if address & (size - 1):
            check_alignment(address, size, self.name)
        if address < 0 or address + size > len(self.data):
            raise self._outside(address, size)
        self.data[address : address + size] = value.to_bytes(size, "little")

    def _outside(self, address: int, size: int) -> AccessFault:
        message = f"access outside of {self.name} memory, which has {len(self.data)} bytes: {size} bytes"
        return AccessFault(message, address, size)


class LocalMemory(ByteMemory):
    """A thread's local memory: a stack of variables, of which an access must stay inside one."""

    def __init__(self) -> None:
        super().__init__("local", bytearray())
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, size: int) -> None:
        """Add a variable above all others."""
        self._starts.append(start)
        self._ends.append(start + size)

    def cut(self, top: int) -> None:
        """Remove the variables from ``top`` on."""
        while self._starts and self._starts[-1] >= top:
            self._starts.pop()
            self._ends.pop()

    def load(self, address: int, size: int) -> int:
        self._require(address, size)
        return super().load(address, size)

    def store(self, address: int, size: int, value: int) -> None:
        self._require(address, size)
        super().store(address, size, value)

    def _require(self, address: int, size: int) -> None:
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address + size > self._ends[at]:
            check_alignment(address, size, self.name)
            raise AccessFault(f"access outside of every variable in local memory: {size} bytes", address, size)


def space_of(address: int) -> str:
    """The space that a generic address lies in: shared, local, param or global."""
    if address < SHARED_WINDOW:
        return "global"
    if address < SHARED_WINDOW + WINDOW_SIZE:
        return "shared"
    if LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
        return "local"
    if PARAM_WINDOW <= address < PARAM_WINDOW + WINDOW_SIZE:
        return "param"
    return "global"


#: The first generic address of each window; global and const addresses are generic ones already.
WINDOWS: Final[dict[str, int]] = {
    "shared": SHARED_WINDOW, "shared::cluster": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW,
    "global": 0, "const": 0,
}  # fmt: skip
