"""Memory that kernels read and write: NumPy arrays where the device reads the host's, parts of pages elsewhere; and
what is in both places at once, with transfers only where somebody needs them (thesis section 6.3)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.memory import ask, hold_array
from drawloom.horse.ranges import MAX_ROWS
from drawloom.horse.types import VectorType
from drawloom.horse.values import PAD, Array, Deferred, Vector, padded_rows
from drawloom.horse.words import Words
from drawloom.runtime import Buffer
from drawloom.runtime.machine import Device
from drawloom.runtime.pages import Pages

#: What a launch takes for an address: an array on a host device, a buffer on others.
Memory = Any

#: Where the elements of a block are (figure 6.7).
EMPTY: Final = "empty"
HOST: Final = "host"
DEVICE: Final = "device"
SHARED: Final = "shared"


class Workspace:
    """Memory on one device. What it makes is freed with the last reference to it; ``give_back`` gives the device what
    is kept for what comes next."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pages = Pages(device)

    def empty(self, rows: int, dtype: Any) -> Memory:
        """Memory for ``rows`` elements (at least one), whatever it holds."""
        kind = np.dtype(dtype)
        size = max(rows, 1) * kind.itemsize
        if not self.device.is_host:
            return Buffer(self.device, (max(rows, 1),), kind, self.pages.allocate(size))
        ask(size, "a kernel's result")
        made = np.empty(max(rows, 1), dtype=kind)
        hold_array(made)
        return made

    def full(self, rows: int, dtype: Any, value: int) -> Memory:
        """Memory for ``rows`` elements (at least one), all of them ``value``."""
        return self.put(np.full(max(rows, 1), value, dtype=dtype))

    def put(self, array: Array) -> Memory:
        """The array where the device reads it: itself on a host device, a copy on others."""
        if self.device.is_host:
            return array
        made = Buffer(self.device, array.shape, array.dtype, self.pages.allocate(array.nbytes))
        made.copy_from(array)
        return made

    def get(self, memory: Memory, rows: int) -> Array:
        """The first ``rows`` elements as the host reads them; of others nothing is transferred."""
        if self.device.is_host:
            found: Array = memory[:rows]
            return found
        found = np.empty(rows, dtype=memory.dtype)
        if rows:
            memory.allocation().read(found.view(np.uint8), 0, None)
        return found

    def column(self, vector: Vector, dtype: Any, padded: bool = False) -> Memory:
        """The vector's elements as ``dtype``, for kernels to read only, with some behind them up to a multiple of
        ``PAD`` where they are to be ``padded``; text is its codes. On a device apart they stay there for as long as
        the vector lives, unless they are of another type."""
        if self.device.is_host:
            data = vector.padded if padded else vector.data
            return data if data is not None and fits(data, dtype, padded) else converted(vector.data, dtype, padded)
        block = vector.block
        if not isinstance(block, Block) or block.workspace is not self:
            whole = vector.padded
            block = Block(self, vector.data if whole is None else whole)
            vector.block = block
        if fits(block, dtype, padded):
            return block.read_device()
        return self.put(converted(vector.data, dtype, padded))

    def vector(self, type: VectorType, memory: Memory, rows: int | Size, dictionary: Words | None = None) -> Vector:
        """A vector of the first ``rows`` elements that kernels wrote. On a device apart they are there alone until the
        host asks for them."""
        if self.device.is_host:
            return Vector(type, memory[: int(rows)], dictionary)
        block = Block(self, memory, rows)
        made = Vector(type, block, dictionary)
        made.block = block
        return made

    def size(self, memory: Memory, place: int) -> int | Size:
        """The number in one element that kernels wrote: on a device apart it is there until the host asks for it."""
        return int(memory[place]) if self.device.is_host else Size(self, memory, place)

    def give_back(self) -> None:
        self.pages.give_back()


class Size:
    """A number of rows that a kernel found, in the device's memory."""

    def __init__(self, workspace: Workspace, memory: Memory, place: int) -> None:
        self.workspace = workspace
        self.memory: Memory | None = memory
        self.place = place
        self.value = 0

    def __int__(self) -> int:
        if self.memory is not None:
            self.value = int(self.workspace.get(self.memory, self.place + 1)[self.place])
            self.memory = None
        return self.value


class Block(Deferred):
    """Elements of one type on the host, on the device, or on both: whoever asks to read gets a copy that is up to date,
    whoever asks to write the only one. ``given`` is an array of the host, a buffer of the device, or a type, for
    ``rows`` elements that nobody wrote yet; fewer ``rows`` than a buffer has (None: all) give its tail back."""

    def __init__(self, workspace: Workspace, given: Any, rows: int | Size | None = None) -> None:
        self.workspace = workspace
        self.rows: int | Size = 0
        self.host: Array | None = None
        self.buffer: Buffer | None = None
        self.on_host = self.on_device = False
        if isinstance(given, np.ndarray):
            self.host, self.on_host = given, True
            self.dtype = given.dtype
        elif isinstance(given, Buffer):
            self.buffer, self.on_device = given, True
            self.dtype = given.dtype
        else:
            self.dtype = np.dtype(given)
        self.rows = len(given) if rows is None else rows
        if isinstance(rows, int):
            self.shrink(rows)

    @property
    def state(self) -> str:
        if self.on_host and self.on_device:
            return SHARED
        return HOST if self.on_host else DEVICE if self.on_device else EMPTY

    def length(self) -> int:
        rows = self.rows
        if isinstance(rows, Size):
            self.rows = rows = int(rows)
            self.shrink(rows)
        return rows

    def shrink(self, rows: int) -> None:
        if self.buffer is not None and rows < len(self.buffer):
            self.buffer.shrink(rows)

    def read_host(self) -> Array:
        """Where the host reads: from the device, where only that has them."""
        self.require()
        if not self.on_host:
            self.host = self.workspace.get(self.buffer, self.length())
            hold_array(self.host)
            self.on_host = True
        assert self.host is not None
        return self.host

    def read_device(self) -> Buffer:
        """Where the device reads: from the host, where only that has them."""
        self.require()
        if not self.on_device:
            assert self.host is not None
            self.buffer = self.workspace.put(self.host)
            self.on_device = True
        assert self.buffer is not None
        return self.buffer

    def write_host(self) -> Array:
        """Where the host writes: afterwards the device has them no more."""
        if self.state == EMPTY:
            self.host, self.on_host = np.empty(self.length(), dtype=self.dtype), True
        made = self.read_host()
        self.buffer, self.on_device = None, False
        return made

    def write_device(self) -> Buffer:
        """Where the device writes: afterwards the host has them no more."""
        if self.state == EMPTY:
            self.buffer, self.on_device = self.workspace.empty(self.length(), self.dtype), True
        made = self.read_device()
        self.host, self.on_host = None, False
        return made

    def require(self) -> None:
        if self.state == EMPTY:
            raise AssertionError("a block is read that nobody wrote")

    def made(self) -> tuple[Array, Words | None]:
        return self.read_host(), None


def fits(held: Array | Block, dtype: Any, padded: bool) -> bool:
    """Whether kernels can read the elements as they lie: of the type, one at least, and whole tiles if so asked."""
    length = held.length() if isinstance(held, Block) else len(held) if held.flags.c_contiguous else 0
    return held.dtype == dtype and length > 0 and (not padded or length % PAD == 0)


def converted(data: Array, dtype: Any, padded: bool) -> Array:
    """The elements as kernels read them. Raises DataError for those that these were not made for: the analysis of
    ranges takes row numbers for numbers of 31 bits."""
    rows = len(data)
    if data.dtype.kind == "i" and data.dtype.itemsize > np.dtype(dtype).itemsize and rows:
        limits = np.iinfo(dtype)
        if int(data.min()) < limits.min or int(data.max()) > limits.max:
            raise DataError(f"overflow: {MAX_ROWS} rows are all that a kernel takes")
    wanted = padded_rows(rows) if padded else max(rows, 1)
    ask(wanted * np.dtype(dtype).itemsize, "a column in another type")
    made = np.empty(wanted, dtype=dtype)
    made[:rows] = data
    made[rows:] = 0
    return made
