"""Memory on a device as one object with an owner: allocated, filled, read back, and freed exactly once."""

import math
import threading
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from drawloom.errors import DataError, DeviceError
from drawloom.runtime.backend import Allocation
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.memory import Array, Bytes, NotMemory, Span, aligned_bytes, bytes_view
from drawloom.runtime.streams import Stream

Shape = int | tuple[int, ...]


class Buffer:
    """A dense array on a device: `shape` elements of `dtype`, `size` bytes at `address`.

    Make one with `Buffer.alloc` (zeroed) or `Buffer.from_array`. It is freed by `free()`, at the end of a
    `with` block, or with the last reference to it; using it afterwards raises DeviceError.
    """

    def __init__(
        self, where: Device, shape: tuple[int, ...], dtype: np.dtype[Any], allocation: Allocation | None = None
    ) -> None:
        self.device = where
        self.shape = shape
        self.dtype = dtype
        self.size = math.prod(shape) * dtype.itemsize
        self._lock = threading.Lock()
        self._allocation: Allocation | None = allocation or where.backend.allocate(self.size)
        self._span: Span | None = None

    @classmethod
    def alloc(cls, shape: Shape, dtype: npt.DTypeLike = np.uint8, device: str | Device | None = None) -> "Buffer":
        """A zeroed buffer; `device` is as for `load`. Raises DeviceError when the device has not that much memory."""
        extents = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
        if any(extent < 0 for extent in extents):
            raise DataError(f"a buffer of shape {extents}: extents are not negative")
        try:
            kind = np.dtype(dtype)
        except TypeError as refusal:
            raise DataError(f"a buffer of {dtype!r}: expected a NumPy type") from refusal
        if kind.hasobject:
            raise DataError(f"a buffer of {kind}: its elements are Python objects")
        return cls(find_device(device), extents, kind)

    @classmethod
    def from_array(cls, array: object, device: str | Device | None = None) -> "Buffer":
        """A buffer with the shape, type and a copy of the contents of an array."""
        source = as_array(array)
        made = cls.alloc(source.shape, source.dtype, device)
        made.copy_from(source)
        return made

    @property
    def freed(self) -> bool:
        return self._allocation is None

    @property
    def address(self) -> int:
        """The address on its device."""
        return self.allocation().address

    def allocation(self) -> Allocation:
        allocation = self._allocation
        if allocation is None:
            raise DeviceError(f"the Buffer of {self.size} bytes on {self.device.name} is freed")
        return allocation

    def span(self) -> Span:
        """For launches: its memory as a span."""
        allocation = self.allocation()
        if self._span is None:
            self._span = allocation.span()
            self._span.element = self.dtype
        else:
            allocation.require()
        return self._span

    def numpy(self) -> Array:
        """The memory itself as a NumPy array; writes go to the buffer.

        Only on host devices. Raises DeviceError on others: copy with `to_array` there.
        """
        return self.allocation().view().view(self.dtype).reshape(self.shape)

    def to_array(self, out: Array | None = None, stream: Stream | None = None) -> Array:
        """A copy of the contents, in `out` where given (contiguous, of the same size in bytes).

        With a stream the copy is done when the stream got there. Raises DataError when `out` does not fit.
        """
        target = np.empty(self.shape, self.dtype) if out is None else out
        view = self.fitting(target)
        if not target.flags.writeable:
            raise DataError("cannot copy a Buffer into a read-only array")
        self.allocation().read(view, 0, None if stream is None else stream.queue(self.device))
        return target

    def copy_from(self, array: object, stream: Stream | None = None) -> None:
        """Overwrites the contents with those of an array of the same size in bytes.

        With a stream, `array` must stay as it is until the stream got there. Raises DataError when it does
        not fit.
        """
        view = self.fitting(as_array(array))
        self.allocation().write(view, 0, None if stream is None else stream.queue(self.device))

    def fitting(self, array: Array) -> Bytes:
        try:
            view = bytes_view(array)
        except NotMemory as refusal:
            raise DataError(f"cannot copy between a Buffer and this array: {refusal}") from refusal
        if view.nbytes != self.size:
            raise DataError(f"the array has {view.nbytes} bytes, the Buffer {self.size}")
        return view

    def shrink(self, rows: int) -> None:
        """Keeps the first `rows` elements of a buffer of one dimension where they are. Raises DataError for more."""
        if len(self.shape) != 1 or not 0 <= rows <= self.shape[0]:
            raise DataError(f"a Buffer of shape {self.shape} cannot shrink to {rows}")
        self.shape = (rows,)
        self.size = rows * self.dtype.itemsize
        self.allocation().shrink(self.size)
        self._span = None

    def free(self) -> None:
        """Gives the memory back now. Freeing it again does nothing."""
        with self._lock:
            allocation, self._allocation = self._allocation, None
        if allocation is not None:
            allocation.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __del__(self) -> None:
        if getattr(self, "_allocation", None) is not None:
            self.free()

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        if self.device.is_host:
            raise AttributeError("a Buffer on a host device has no __cuda_array_interface__")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a Buffer without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        state = "freed" if self.freed else f"0x{self.address:x}"
        return f"<Buffer {self.dtype}{list(self.shape)} on {self.device.name}: {state}>"


def as_array(value: object) -> Array:
    """An array-like as a contiguous NumPy array, copied only when it must be."""
    if isinstance(value, np.ndarray):
        return value if value.flags.c_contiguous else np.ascontiguousarray(value)
    if type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "to_numpy"):
        return np.ascontiguousarray(value.to_numpy())
    return np.ascontiguousarray(value)


def pinned_array(shape: Shape, dtype: npt.DTypeLike = np.uint8, device: str | Device | None = None) -> Array:
    """A zeroed NumPy array in page-locked memory, which GPU copies on a stream need to overlap with kernels.

    On host devices it is an ordinary array. Raises DeviceError when the memory cannot be locked.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = np.dtype(dtype)
    memory = aligned_bytes(math.prod(extents) * kind.itemsize, 4096)
    find_device(device).backend.pin(memory)
    return memory.view(kind).reshape(extents)
