"""What a connection holds of the host's memory: bytes are asked for before they are taken and counted while they are
held, against a limit that ends a query with an error before the machine swaps.

Whoever evaluates finds the account in ``current_use``; ``ask`` and ``held`` do nothing where there is none.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drawloom.errors import DataError, OutOfMemoryError
from drawloom.runtime.allocators import keep_freed, resident, trim
from drawloom.runtime.machine import available_memory

Array = npt.NDArray[Any]

#: Arrays of fewer bytes are not counted.
COUNTED: Final = 1 << 16
#: What converting a column takes beside it, in pieces of Parquet, Arrow and NumPy: measured.
CONVERTING: Final = 1 << 22
#: So many bytes are worth a millisecond to give back.
LARGE: Final = 1 << 22
#: What a query holds and allocators keep may be so many bytes, or so many times the columns that are stored, before
#: the latter goes back; what is asked for where it is worth a look at how much they keep, and how much is worth it.
_KEPT: Final = 1 << 24
_KEPT_OF_STORED: Final = 2.5
_LOOK: Final = 1 << 20
_WORTH: Final = 1 << 21
#: Seconds after the last query in which another would be faster with what is kept.
_IDLE: Final = 1.0
#: From so many bytes on what is asked for is compared with what the machine has left, too.
_LARGE: Final = 1 << 26
#: How much of what is available a connection may hold.
SHARE: Final = 0.8
_UNITS: Final[dict[str, int]] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class MemoryUse:
    """``current`` bytes are held, ``peak`` at most since ``forget_peak``, in NumPy arrays of ``COUNTED`` bytes or more
    and in what was announced with ``hold``. ``limit`` is the most that may be held; None takes ``SHARE`` of what the
    machine, or its control group, has left now, and never more than is left later on."""

    def __init__(self, limit: int | None = None) -> None:
        keep_freed()
        self.is_share = limit is None
        self.limit: int = int(SHARE * available_memory()) if limit is None else limit
        self.peak = 0
        self._current = 0
        self._held: dict[int, tuple[int, object]] = {}
        #: Arrays that are gone since the last look: finalizers run at any time, also in the middle of a sum. They run
        #: no Python code, in which a KeyboardInterrupt would be lost.
        self._gone: deque[Any] = deque()
        self._keys: dict[int, int] = {}
        #: What was held, that is columns, at ``forget_peak``; what is resident beside what is held and kept; what
        #: seemed to be kept and did not go back the last time; and whether that may have been a builtin's temporaries.
        self._stored = 0
        self._apart = resident()
        self._in_use = 0
        self._within = False
        #: Whose turn it is where there is not enough for all threads.
        self.turn = threading.Lock()
        self._lock = threading.RLock()

    @property
    def current(self) -> int:
        with self._lock:
            while self._gone:
                key = self._keys.pop(id(self._gone.popleft()))
                self._current -= self._held.pop(key)[0]
            return self._current

    def forget_peak(self) -> None:
        self.peak = self._stored = self.current
        self._apart = min(self._apart, max(resident() - self.peak, 0))
        self._in_use = 0

    def give_back(self) -> None:
        """Gives the machine what a query held, once no other has followed for a while."""
        release()
        if self.peak - self.current >= LARGE:
            idle.ended()

    def ask(self, size: int, what: str, begins: bool = False) -> None:
        """Raises OutOfMemoryError where ``size`` bytes more, for ``what``, are more than may be held.

        Before, the machine gets what allocators keep where this is too much beside the columns, or below the limit:
        there are as many allocators as threads, and what one has kept the others take anew. What does not go back is in
        use: of temporaries until the next builtin ``begins``.
        """
        held = self.current
        if begins and self._within:
            self._in_use, self._within = 0, False
        if size >= _LOOK or held + size + _KEPT > self.limit:
            kept = max(resident() - self._apart - held, 0)
            wanted, most = held + size + kept, max(_KEPT, int(_KEPT_OF_STORED * self._stored))
            if wanted > self.limit or (wanted > most and kept >= self._in_use + _WORTH):
                give_back(LARGE)
                self._in_use, self._within = max(resident() - self._apart - held, 0), not begins
        if held + size > self.limit:
            raise OutOfMemoryError(
                f"{what} needs {shown(size)} beside the {shown(held)} held: the limit is {shown(self.limit)}"
            )
        if self.is_share and size >= _LARGE:
            left = available_memory()
            if size > left:
                raise OutOfMemoryError(f"{what} needs {shown(size)}: the machine has {shown(left)} left")

    def hold(self, owner: Any, size: int) -> None:
        """Counts ``size`` bytes for as long as ``owner`` lives."""
        if size < COUNTED:
            return
        key = id(owner)
        with self._lock:
            held = self.current
            if key not in self._held:
                reference = weakref.ref(owner, self._gone.append)
                self._held[key] = (size, reference)
                self._keys[id(reference)] = key
                self._current = held + size
                self.peak = max(self.peak, self._current)

    def hold_array(self, array: Array) -> None:
        """Counts the memory that an array lies in, once, for as long as somebody has it."""
        owner: Any = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is None or isinstance(owner.base, memoryview):
            self.hold(owner, owner.nbytes)

    def __repr__(self) -> str:
        return f"<{shown(self.current)} held, {shown(self.peak)} at most, of {shown(self.limit)}>"


_use: Final[ContextVar[MemoryUse | None]] = ContextVar("use", default=None)


def current_use() -> MemoryUse | None:
    """The account of what is evaluated in this thread."""
    return _use.get()


@contextmanager
def counted_by(use: MemoryUse | None) -> Iterator[None]:
    """What this thread evaluates is counted by ``use``; where NumPy or Arrow get no memory, that is an
    OutOfMemoryError."""
    before = _use.set(use)
    try:
        yield
    except MemoryError as refusal:
        raise OutOfMemoryError(f"the machine has no more memory: {refusal}") from None
    finally:
        _use.reset(before)


@contextmanager
def in_turn(use: MemoryUse | None) -> Iterator[None]:
    """Threads that convert columns do so one after the other where what each works on, ``CONVERTING`` bytes that nobody
    counts, is more than is left below the limit when all do."""
    if use is None or (os.cpu_count() or 1) * CONVERTING <= use.limit - use.current:
        yield
        return
    with use.turn:
        yield


def ask(size: int, what: str) -> None:
    """As ``MemoryUse.ask``, of this thread's account."""
    use = _use.get()
    if use is not None:
        use.ask(size, what)


def hold(owner: Any, size: int) -> None:
    """As ``MemoryUse.hold``, of this thread's account."""
    use = _use.get()
    if use is not None:
        use.hold(owner, size)


def hold_array(array: Array) -> None:
    use = _use.get()
    if use is not None:
        use.hold_array(array)


def sparse(rows: int, dtype: Any) -> Array:
    """An array that takes a page of the machine's when somebody writes into it: NumPy's large ones take two megabytes
    at a time."""
    size = rows * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.empty(rows, dtype=dtype)
    return np.frombuffer(mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS), dtype=dtype)


def closed_up(array: Array, step: int, counts: list[int]) -> Array:
    """The rows of an array that are in use, one behind the other: of each ``step`` of its rows so many of the
    first as ``counts`` says. They stay in its memory, whose rest goes back; it is of no use then."""
    end = 0
    for start, count in zip(range(0, len(counts) * step, step), counts):
        if end < start:
            array[end : end + count] = array[start : start + count]
        end += count
    if array.base is None:
        array.resize(end, refcheck=False)  # what lies behind goes back
        return array
    base: Any = array.base
    pages: mmap = base.obj
    size = -(-end * array.itemsize // PAGESIZE) * PAGESIZE
    if size < len(pages):
        pages.madvise(MADV_DONTNEED, size)
    return np.frombuffer(pages, dtype=array.dtype, count=end)


def limit_of(given: int | str | None) -> int | None:
    """A limit as a user gives it, bytes or text such as "512M" or "4 GiB"; None and "" for the default.

    Raises DataError for anything else.
    """
    text = str(os.environ.get("DRAWLOOM_MEMORY_LIMIT", "") if given is None else given).strip()
    if not text:
        return None
    unit = text.upper().removesuffix("IB").removesuffix("B").lstrip("0123456789. ")
    number = text.upper().removesuffix("IB").removesuffix("B").removesuffix(unit)
    try:
        size = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise DataError(f"memory_limit={given if given is not None else text!r}: bytes, or text such as '4G' expected")
    return size


def shown(size: int) -> str:
    """Bytes as a person reads them: "3.2 GiB"."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{size / (1 << bits):.1f} {unit}"
    return f"{size} bytes"


def give_back(size: int) -> None:
    """Gives the machine what Arrow's allocator keeps for later in this thread, and after work on ``size`` bytes, where
    these are many, what the C library's keeps."""
    release()
    if size >= LARGE:
        trim()


def release() -> None:
    """Gives the machine what Arrow's allocator keeps for later in this thread, where that is its own."""
    pool = pa.default_memory_pool()
    if pool.backend_name != "system":
        pool.release_unused()


class Idle:
    """Gives the machine what the C library's allocator keeps, ``seconds`` after the last query has ended: the next one
    takes a fifth longer where it has to take all of it anew."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: When it will be due; None where nobody waits.
        self.due: float | None = None
        self.lock = threading.Lock()

    def ended(self) -> None:
        """A query has."""
        with self.lock:
            waits = self.due is not None
            self.due = time.monotonic() + self.seconds
        if not waits:
            threading.Thread(target=self.wait, name="drawloom-idle", daemon=True).start()

    def wait(self) -> None:
        while (left := self.left()) > 0:
            time.sleep(left)
        trim()

    def left(self) -> float:
        """The seconds that are left; afterwards nobody waits."""
        with self.lock:
            left = (self.due or 0.0) - time.monotonic()
            if left <= 0:
                self.due = None
            return left


idle = Idle(_IDLE)


def _forget() -> None:
    global idle
    idle = Idle(idle.seconds)


os.register_at_fork(after_in_child=_forget)
