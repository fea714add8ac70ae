"""Memory of a device in pages: one allocation of the device serves many, each the next bytes of a page, as sbrk does.

Thesis section 6.3.1: allocations of the driver take long, the longer the larger they are, and it clears nothing here.
"""

from __future__ import annotations

import threading
from typing import Final

from drawloom.errors import DeviceError
from drawloom.runtime.backend import Allocation, Queue
from drawloom.runtime.machine import Device
from drawloom.runtime.memory import ALLOCATION_ALIGNMENT, Bytes, Span

#: Bytes of a page; what is larger gets one of its own.
PAGE_BYTES: Final = 64 << 20


class Page:
    """One allocation of the device: the bytes before ``top`` are handed out, in ``live`` parts; those before ``high``
    were at some time."""

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation
        self.top = 0
        self.live = 0
        self.high = 0

    @property
    def is_usable(self) -> bool:
        """Whether the device still has it: a GPU that was reset has not."""
        try:
            self.allocation.require()
        except DeviceError:
            return False
        return True


class Part(Allocation):
    """``size`` bytes of a page, uncleared; ``is_fresh`` where nobody had any of it before, who may still be working on
    it."""

    def __init__(self, pages: Pages, page: Page, offset: int, size: int, is_fresh: bool) -> None:
        self.pages = pages
        self.page = page
        self.offset = offset
        self.size = size
        self.address = page.allocation.address + offset
        self.is_fresh = is_fresh

    def require(self) -> None:
        self.page.allocation.require()

    def span(self) -> Span:
        whole = self.page.allocation.span()
        view = None if whole.view is None else whole.view[self.offset : self.offset + self.size]
        return Span(self.address, self.size, whole.place, True, self, view)

    def view(self) -> Bytes:
        return self.page.allocation.view()[self.offset : self.offset + self.size]

    def read(self, target: Bytes, offset: int, queue: Queue | None) -> None:
        self.page.allocation.read(target, self.offset + offset, queue)

    def write(self, source: Bytes, offset: int, queue: Queue | None) -> None:
        self.page.allocation.write(source, self.offset + offset, queue)

    def fill(self, byte: int, offset: int, size: int, queue: Queue | None) -> None:
        self.page.allocation.fill(byte, self.offset + offset, size, queue)

    def shrink(self, size: int) -> None:
        """Keeps the first ``size`` bytes where they are; the tail is the page's again if nothing lies behind it."""
        with self.pages.lock:
            if self.page.top == self.offset + aligned(self.size):
                self.page.top = self.offset + aligned(size)
            self.size = size

    def release(self) -> None:
        with self.pages.lock:
            page = self.page
            page.live -= 1
            if page.live == 0:
                page.top = 0
            elif page.top == self.offset + aligned(self.size):
                page.top = self.offset


class Pages:
    """The pages of one device. Those that nobody uses any more serve again, until ``give_back``."""

    def __init__(self, device: Device, page_bytes: int = PAGE_BYTES) -> None:
        self.device = device
        self.page_bytes = page_bytes
        self.pages: list[Page] = []
        self.lock = threading.RLock()
        #: The most bytes of the device that were in pages.
        self.peak = 0

    @property
    def size(self) -> int:
        """Bytes of the device that are in pages."""
        return sum([page.allocation.size for page in self.pages])

    def allocate(self, size: int) -> Part:
        """``size`` bytes at an address that ``ALLOCATION_ALIGNMENT`` divides. Raises DeviceError where the device has
        no more."""
        needed = aligned(size)
        with self.lock:
            self.pages = [page for page in self.pages if page.is_usable]
            fitting = [page for page in self.pages if page.allocation.size - page.top >= needed]
            # The fullest one, so that empty ones stay whole.
            page = min(fitting, key=lambda p: p.allocation.size - p.top, default=None) or self.add(needed)
            # Taken before anything is made: that may finalize a part, which lowers the top.
            offset, page.top = page.top, page.top + needed
            page.live += 1
            is_fresh, page.high = offset >= page.high, max(page.high, page.top)
            return Part(self, page, offset, size, is_fresh)

    def make(self, size: int) -> Allocation:
        """The memory of a page."""
        return self.device.backend.allocate(size, zero=False)

    def add(self, needed: int) -> Page:
        size = max(self.page_bytes, needed)
        try:
            allocation = self.make(size)
        except DeviceError:
            self.give_back()
            allocation = self.make(needed)
        page = Page(allocation)
        self.pages.append(page)
        self.peak = max(self.peak, self.size)
        return page

    def __del__(self) -> None:
        for page in self.pages:
            page.allocation.release()

    def give_back(self, keep: int = 0) -> None:
        """Gives the device the pages that nothing lies in, but for one of at most ``keep`` bytes."""
        with self.lock:
            kept = next((page for page in self.pages if not page.live and page.allocation.size <= keep), None)
            empty = [page for page in self.pages if not page.live and page is not kept]
            self.pages = [page for page in self.pages if page.live or page is kept]
        for page in empty:
            page.allocation.release()


def aligned(size: int) -> int:
    return max(-(-size // ALLOCATION_ALIGNMENT), 1) * ALLOCATION_ALIGNMENT
