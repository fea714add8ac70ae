"""Memory that kernels read and write: NumPy arrays where the device reads the host's, parts of pages elsewhere; and
what is in both places at once, with transfers only where somebody needs them (thesis section 6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError, DeviceError, Error
from drawloom.horse.blocks import in_blocks
from drawloom.horse.kernels.sending import ColumnPort, Sent
from drawloom.horse.memory import ask, hold_array
from drawloom.horse.ranges import MAX_ROWS
from drawloom.horse.types import VectorType
from drawloom.horse.values import PAD, Array, Deferred, Vector, padded_rows
from drawloom.horse.words import Words
from drawloom.runtime import Buffer, Stream
from drawloom.runtime.allocators import MOST_KEPT
from drawloom.runtime.backend import Queue
from drawloom.runtime.machine import Device
from drawloom.runtime.pages import PAGE_BYTES, Pages

#: What a launch takes for an address: an array on a host device, a buffer on others.
Memory = Any

#: Elements that a core fills at a time.
_FILLED: Final = 1 << 18

#: Where the elements of a block are (figure 6.7).
EMPTY: Final = "empty"
HOST: Final = "host"
DEVICE: Final = "device"
SHARED: Final = "shared"


class Workspace:
    """Memory on one device. What it makes is freed with the last reference to it; ``give_back`` gives the device what
    is kept for what comes next.

    On a device apart all that is done with it goes on one ``stream``, beside the host and in order, so that memory
    serves again before the device is done with it; the host waits where it asks for what is there. Columns travel
    apart, in memory of their own.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pages = Pages(device)
        self._stream: Stream | None = None
        self._columns: ColumnPort | None = None
        #: Gives text codes by kernels, where it has none.
        self.encode: Callable[[Workspace, Vector], None] | None = None

    @property
    def stream(self) -> Stream | None:
        """Where kernels go; None on a host device, where they are done when they return."""
        if self._stream is None and not self.device.is_host:
            self._stream = Stream(self.device)
        return self._stream

    def queue(self) -> Queue | None:
        stream = self.stream
        return None if stream is None else stream.queue(self.device)

    def wait(self) -> None:
        """Until the device is done. Raises what work on it raised."""
        if self._stream is not None:
            self._stream.synchronize()

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
        one = np.full(1, value, dtype=dtype).tobytes()
        if self.device.is_host:
            return self.filled(max(rows, 1), np.dtype(dtype), value)
        if len(set(one)) > 1:
            return self.put(np.full(max(rows, 1), value, dtype=dtype))
        made = self.empty(rows, dtype)
        made.allocation().fill(one[0], 0, made.size, self.queue())
        return made

    def filled(self, rows: int, dtype: np.dtype[Any], value: int) -> Array:
        """As ``full``, on a host: on all cores, or by the system where it gives pages of zeros."""
        size = rows * dtype.itemsize
        if value == 0 and size >= MOST_KEPT:
            ask(size, "a kernel's result")
            array: Array = np.zeros(rows, dtype=dtype)
            hold_array(array)
            return array
        array = self.empty(rows, dtype)

        def fill(start: int) -> None:
            array[start : start + _FILLED] = value

        in_blocks(rows, _FILLED, fill)
        return array

    def put(self, array: Array) -> Memory:
        """The array where the device reads it: itself on a host device, a copy on others."""
        if self.device.is_host:
            return array
        made = Buffer(self.device, array.shape, array.dtype, self.pages.allocate(array.nbytes))
        made.copy_from(array, self.stream)
        return made

    def has(self, memory: Memory) -> bool:
        """Whether it is still there: a GPU that was reset lost what it had."""
        if not self.device.is_host:
            try:
                memory.allocation().require()
            except DeviceError:
                return False
        return True

    def get(self, memory: Memory, rows: int) -> Array:
        """The first ``rows`` elements as the host reads them; of others nothing is transferred."""
        return self.gets([(memory, 0, rows)])[0]

    def gets(self, wanted: list[tuple[Memory, int, int]]) -> list[Array]:
        """Of each memory the elements from one on, as many as said, in one wait for all of them."""
        if self.device.is_host:
            return [memory[begin : begin + rows] for memory, begin, rows in wanted]
        queue, found = self.queue(), []
        for memory, begin, rows in wanted:
            made: Array = np.empty(rows, dtype=memory.dtype)
            if rows:
                memory.allocation().read(made.view(np.uint8), begin * made.itemsize, queue)
            found.append(made)
        self.wait()
        return found

    def fetch(self, vectors: list[Vector]) -> None:
        """Brings to the host what vectors have on the device alone, in one wait."""
        blocks = [v.deferred for v in vectors if isinstance(v.deferred, Block) and not v.deferred.on_host]
        found = self.gets([(block.buffer, 0, block.length()) for block in blocks])
        for block, array in zip(blocks, found):
            block.arrived(array)

    def column(self, vector: Vector, dtype: Any, padded: bool = False) -> Memory:
        """The vector's elements as ``dtype``, for kernels to read only, with some behind them up to a multiple of
        ``PAD`` where they are to be ``padded``; text is its codes. On a device apart they stay there for as long as
        the vector lives, unless they are of another type."""
        if self.device.is_host:
            data = vector.padded if padded else vector.data
            return data if data is not None and fits(data, dtype, padded) else converted(vector.data, dtype, padded)
        block = self.block(vector)
        if fits(block, dtype, padded):
            return block.read_device()
        return self.put(converted(vector.data, dtype, padded))

    def send(self, vector: Vector, dtype: Any, padded: bool = False) -> None:
        """Begins to take a stored column to where ``column`` will ask for it, beside the host and kernels."""
        if self.device.is_host or vector.deferred is not None:
            return
        block = self.block(vector)
        if block.state == HOST and fits(block, dtype, padded):
            block.send()

    def block(self, vector: Vector) -> Block:
        if self.encode is not None:
            self.encode(self, vector)
        block = vector.block
        if not isinstance(block, Block) or block.workspace is not self:
            whole = vector.padded
            block = Block(self, vector.data if whole is None else whole)
            vector.block = block
        return block

    @property
    def columns(self) -> ColumnPort:
        if self._columns is None:
            assert self.stream is not None
            self._columns = ColumnPort(self.device, self.stream)
        return self._columns

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
        return int(memory[place]) if self.device.is_host else Size(Scratch(self, memory, place, 1), 0)

    def give_back(self) -> None:
        """Waits until the device is done, and gives it the memory that nobody has, one page aside: making one takes the
        driver longer than many a query takes."""
        self.wait()
        self.pages.give_back(PAGE_BYTES)
        if self._columns is not None:
            self._columns.give_back()

    def drop(self) -> None:
        """After an error: waits for what is left to do, and passes over what it raises."""
        for stream in (self._stream, None if self._columns is None else self._columns.stream):
            try:
                if stream is not None:
                    stream.synchronize()
            except Error:
                pass  # whoever asked has an error already


class Scratch:
    """Elements of a device that the host reads all at once, when it first needs some: ``rows`` of ``memory``."""

    def __init__(self, workspace: Workspace, memory: Memory, begin: int, rows: int) -> None:
        self.workspace = workspace
        self.memory: Memory | None = memory
        self.begin = begin
        self.rows = rows
        self.found: Array | None = None

    def read(self) -> Array:
        if self.found is None:
            (self.found,) = self.workspace.gets([(self.memory, self.begin, self.rows)])
            self.memory = None
        return self.found


class Size:
    """A number of rows that a kernel found, among what it left in the device's memory."""

    def __init__(self, scratch: Scratch, place: int) -> None:
        self.scratch = scratch
        self.place = place

    def __int__(self) -> int:
        return int(self.scratch.read()[self.place])


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
        self.sent: Sent | None = None  # on its way to the device, from where it is on the host
        #: The least and the greatest code of the elements as ``sort.SortKey`` has them, where that was measured.
        self.bounds: tuple[int, int] | None = None
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
            self.arrived(self.workspace.get(self.buffer, self.length()))
        assert self.host is not None
        return self.host

    def arrived(self, array: Array) -> None:
        """The host has it too."""
        self.host, self.on_host = array, True
        hold_array(array)

    def read_device(self) -> Buffer:
        """Where the device reads: from the host, where only that has them."""
        self.require()
        self.arrive()
        if not self.on_device:
            assert self.host is not None
            self.buffer = self.workspace.put(self.host)
            self.on_device = True
        assert self.buffer is not None
        return self.buffer

    def send(self) -> None:
        """Begins to copy what only the host has; where the device has no memory now, whoever reads there will see."""
        assert self.host is not None
        try:
            self.sent = self.workspace.columns.send(self.host)
        except DeviceError:
            return
        self.buffer, self.on_device = self.sent.buffer, True

    def arrive(self) -> None:
        """What comes next on the device waits for what is on its way there. What a reset took from a device is the
        host's again."""
        sent, self.sent = self.sent, None
        if self.buffer is None or not self.on_host:
            return
        try:
            if sent is not None:
                sent.arrive(self.workspace.stream)
        except DeviceError:
            self.buffer = None
        if self.buffer is None or not self.workspace.has(self.buffer):
            self.buffer, self.on_device = None, False

    def write_host(self) -> Array:
        """Where the host writes: afterwards the device has them no more."""
        self.arrive()
        self.bounds = None
        if self.state == EMPTY:
            self.host, self.on_host = np.empty(self.length(), dtype=self.dtype), True
        made = self.read_host()
        self.buffer, self.on_device = None, False
        return made

    def write_device(self) -> Buffer:
        """Where the device writes: afterwards the host has them no more."""
        self.bounds = None
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
