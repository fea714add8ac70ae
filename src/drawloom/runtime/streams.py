"""Streams and events: work that runs in order beside the caller, and points in it to wait for."""

from types import TracebackType
from typing import Self

from drawloom.errors import DeviceError
from drawloom.runtime.backend import Mark, Queue
from drawloom.runtime.machine import Device, device


class Event:
    """A point in a stream, made by `Stream.record`."""

    def __init__(self, stream: "Stream", mark: Mark) -> None:
        self.stream = stream
        self.mark = mark

    @property
    def done(self) -> bool:
        """Whether the stream got there."""
        return self.mark.done()

    def synchronize(self) -> None:
        """Waits until the stream got there. Raises the error that stopped it, if one did."""
        self.mark.wait()

    def elapsed(self, since: "Event") -> float:
        """Seconds from `since`, an earlier event of the same device; waits for both."""
        since.synchronize()
        self.synchronize()
        return self.mark.seconds_since(since.mark)


class Stream:
    """Launches and copies that run in order, beside the caller and other streams.

    When one fails, what was put in after it is dropped, and the next `synchronize` raises its error; after
    that the stream is usable again. Use it in a `with` block, or `close` it.
    """

    def __init__(self, on: str | Device | None = None) -> None:
        self.device = device(on)
        self._queue: Queue | None = self.device.backend.queue()

    def queue(self, on: Device) -> Queue:
        """The queue, for work of device `on`. Raises DeviceError when that is another device."""
        if self._queue is None:
            raise DeviceError(f"the stream on {self.device.name} is closed")
        if on.name != self.device.name and not (on.is_host and self.device.is_host):
            raise DeviceError(f"the stream is on {self.device.name}, the work on {on.name}")
        return self._queue

    def synchronize(self) -> None:
        """Waits until everything put in so far is done. Raises the first error of it."""
        self.queue(self.device).wait()

    @property
    def idle(self) -> bool:
        """Whether everything put in so far is done."""
        return self.queue(self.device).idle()

    def record(self) -> Event:
        """An event at the end of what was put in so far."""
        return Event(self, self.queue(self.device).mark())

    def wait(self, event: Event) -> None:
        """Holds what is put in from now on until `event`, of any stream of this device, is reached."""
        if event.stream.device.is_host != self.device.is_host:
            raise DeviceError(f"the event is of {event.stream.device.name}, the stream of {self.device.name}")
        self.queue(self.device).wait_for(event.mark)

    def close(self) -> None:
        """Ends the stream after the work in it. Closing it again does nothing."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.synchronize()
        finally:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_queue", None) is not None:
            self.close()
