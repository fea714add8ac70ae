"""Stored columns on their way to a device apart: from the host's memory to the device's, beside the host and kernels.

Threads bring them to a stream of their own; kernels that need one wait for it on the device (thesis chapter 7).
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from drawloom.errors import DeviceError
from drawloom.horse.values import Array
from drawloom.runtime import Buffer, Event, Stream
from drawloom.runtime.machine import Device
from drawloom.runtime.pages import Pages

#: Columns on their way at once: while one waits for the bus, the next is prepared.
THREADS: Final = 2


class ColumnPort:
    """Memory of a device for columns, and the stream that fills it. What was others' before is filled only when
    ``kernels``, the stream that reads columns, is done with it."""

    def __init__(self, device: Device, kernels: Stream) -> None:
        self.device = device
        self.kernels = kernels
        self.stream = Stream(device)
        self.pages = Pages(device)
        self.threads = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1), "drawloom-columns")

    def send(self, array: Array) -> Sent:
        """Begins to copy an array, which must stay as it is. Raises DeviceError where the device has no memory left."""
        part = self.pages.allocate(array.nbytes)
        sent = Sent(Buffer(self.device, array.shape, array.dtype, part), array)
        after = None if part.is_fresh else self.kernels.record()
        self.threads.submit(sent.run, self.stream, after)
        return sent

    def give_back(self) -> None:
        """Gives the device the memory that nobody has."""
        self.stream.synchronize()
        self.pages.give_back()


class Sent:
    """One array on its way to ``buffer``."""

    def __init__(self, buffer: Buffer, array: Array) -> None:
        self.buffer = buffer
        self.array: Array | None = array
        self.is_queued = threading.Event()
        self.error: BaseException | None = None
        self.event: Event | None = None

    def run(self, stream: Stream, after: Event | None) -> None:
        """In a thread of its own: until all of the array was read."""
        try:
            if after is not None:
                stream.wait(after)
            self.buffer.copy_from(self.array, stream)
            self.event = stream.record()
        except BaseException as problem:  # handed to whoever needs the column
            self.error = problem
        self.array = None
        self.is_queued.set()

    def arrive(self, stream: Stream | None) -> None:
        """What comes next on ``stream`` waits until the array is there. Raises DeviceError where it will never be."""
        self.is_queued.wait()
        if self.error is not None or self.event is None or stream is None:
            raise DeviceError(f"a column did not get to the device: {self.error}")
        stream.wait(self.event)
