"""What a connection holds of the host's memory: bytes are asked for before they are taken and counted while they are
held, against a limit that ends a query with an error before the machine swaps.

Whoever evaluates finds the account in ``current_use``; ``ask`` and ``held`` do nothing where there is none.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drawloom import threads
from drawloom.errors import DataError, OutOfMemoryError
from drawloom.runtime.allocators import keep_freed, resident, trim
from drawloom.runtime.machine import available_memory

Array = npt.NDArray[Any]

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
#: Bytes that are asked for at once where something grows.
_GROWN: Final = 1 << 18
#: How much of what is available a connection may hold.
SHARE: Final = 0.8
#: Bytes that a pointer to a Python integer and the integer take: those of more than 64 bits some more.
_PYTHON_INTEGER: Final = 48
_UNITS: Final[dict[str, int]] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _nobody() -> None:
    """Nobody keeps anything."""
    return


class MemoryUse:
    """``current`` bytes are held, ``peak`` at most since the query began, in NumPy arrays and in what was announced
    with ``hold``: strings, Arrow's arrays. ``limit`` is the most that may be held; None takes ``SHARE`` of what the
    machine, or its control group, has left now, and never more than is left later on."""

    def __init__(self, limit: int | None = None) -> None:
        keep_freed()
        self.is_share = limit is None
        self.limit: int = int(SHARE * available_memory()) if limit is None else limit
        self.peak = 0
        #: What the query is about, for errors.
        self.operation = ""
        #: Gives who keeps columns for later queries, if anybody does: drops such as this query does not use until so
        #: many bytes are free.
        self.keeper: Callable[[], Callable[[MemoryUse, int], None] | None] = _nobody
        #: The uses of what is kept have numbers; those of this query are above ``began``.
        self.began = 0
        self._uses: Iterator[int] = itertools.count(1)
        self._current = 0
        self._held: dict[int, tuple[int, Any]] = {}
        #: Arrays that are gone since the last look: finalizers run at any time, also in the middle of a sum. They run
        #: no Python code, in which a KeyboardInterrupt would be lost.
        self._gone: deque[Any] = deque()
        self._keys: dict[int, int] = {}
        #: What was held, that is columns, when the program began; what is resident beside what is held and kept; what
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

    def next_use(self) -> int:
        """The number of one more use of what is kept."""
        return next(self._uses)

    def begin(self) -> None:
        """A query begins: what it does not use may be dropped for it."""
        self.peak, self.operation, self.began = self.current, "", self.next_use()

    def begin_program(self) -> None:
        """The columns of the query are there, its program begins."""
        self._stored = self.current
        self._apart = min(self._apart, max(resident() - self._stored, 0))
        self._in_use = 0

    def give_back(self) -> None:
        """Gives the machine what a query held, once no other has followed for a while."""
        release()
        if self.peak - self.current >= LARGE:
            idle.ended()

    def begin_result(self) -> None:
        """The program is done, its result becomes Arrow's in memory that the last one had: it stays kept below the
        limit."""
        self.operation, self._stored = "the result", self.limit

    def ask(self, size: int, what: str, begins: bool = False) -> None:
        """Raises OutOfMemoryError where ``size`` bytes more, for ``what``, are more than may be held. What is kept for
        other queries goes first.

        Before, the machine gets what allocators keep where this is too much beside the columns, or below the limit:
        there are as many allocators as threads, and what one has kept the others take anew. What does not go back is in
        use: of temporaries until the next builtin ``begins``.
        """
        if begins:
            self.operation = what
            if self._within:
                self._in_use, self._within = 0, False
        held = self.current
        if held + size > self.limit:
            held = self.drop_unused(held + size - self.limit)
        if size >= _LOOK or held + size + _KEPT > self.limit:
            kept = max(resident() - self._apart - held, 0)
            wanted, most = held + size + kept, max(_KEPT, int(_KEPT_OF_STORED * self._stored))
            if wanted > self.limit or (wanted > most and kept >= self._in_use + _WORTH):
                give_back(LARGE)
                self._in_use, self._within = max(resident() - self._apart - held, 0), not begins
        if held + size > self.limit:
            raise OutOfMemoryError(
                f"{self.said(what)} needs {shown(size)} beside the {shown(held)} held: the limit is {shown(self.limit)}"
            )
        if self.is_share and size >= _LARGE:
            left = available_memory()
            if size > left and self.drop_unused(size - left) < held:
                trim()
                left = available_memory()
            if size > left:
                raise OutOfMemoryError(f"{self.said(what)} needs {shown(size)}: the machine has {shown(left)} left")

    def drop_unused(self, size: int) -> int:
        """Drops what is kept and the query does not use, until ``size`` bytes are free; how many are held then."""
        drop = self.keeper()
        if drop is not None:
            with self._lock:
                drop(self, size)
        return self.current

    def said(self, what: str) -> str:
        """``what``, and what the query is about where that does not say it."""
        return what if what.startswith(self.operation) else f"{self.operation}: {what}"

    def refusal(self, problem: MemoryError) -> OutOfMemoryError:
        """What is raised where NumPy, Arrow or Python get no memory."""
        return OutOfMemoryError(
            f"the machine has no more memory for {self.operation or 'the query'}, beside the {shown(self.current)} "
            f"held: the limit is {shown(self.limit)}" + (f" ({problem})" if str(problem) else "")
        )

    def hold(self, owner: Any, size: int) -> None:
        """Counts ``size`` bytes for as long as ``owner`` lives."""
        key = id(owner)
        known = self._held.get(key)
        if known is not None and known[1]() is owner:
            return
        with self._lock:
            held = self.current
            if key not in self._held:
                reference = weakref.ref(owner, self._gone.append)
                self._held[key] = (size, reference)
                self._keys[id(reference)] = key
                self._current = held + size
                self.peak = max(self.peak, self._current)

    def add(self, size: int) -> None:
        """Counts ``size`` bytes until somebody takes them off again."""
        with self._lock:
            self._current = self.current + size
            self.peak = max(self.peak, self._current)

    def hold_array(self, array: Array) -> None:
        """Counts the memory that an array lies in, once, for as long as somebody has it."""
        owner: Any = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is None or isinstance(owner.base, memoryview):
            self.hold(owner, owner.nbytes if owner.dtype != object else _PYTHON_INTEGER * owner.size)

    def __repr__(self) -> str:
        return f"<{shown(self.current)} held, {shown(self.peak)} at most, of {shown(self.limit)}>"


_use: Final[ContextVar[MemoryUse | None]] = ContextVar("use", default=None)


def current_use() -> MemoryUse | None:
    """The account of what is evaluated in this thread."""
    return _use.get()


@contextmanager
def counted_by(use: MemoryUse | None) -> Iterator[None]:
    """What this thread evaluates is counted by ``use``; where NumPy, Arrow or Python get no memory, that is an
    OutOfMemoryError."""
    before = _use.set(use)
    try:
        yield
    except MemoryError as problem:
        if use is None:
            raise OutOfMemoryError(f"the machine has no more memory: {problem}") from None
        raise use.refusal(problem) from None
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


class Growing:
    """What grows by pieces of which nobody knows the size before: counted until the ``growing`` block ends."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.use = _use.get()
        self.size = 0
        self.pending = 0

    def take(self, size: int) -> None:
        """So many bytes more, of which small ones are asked for together."""
        self.pending += size
        if self.pending >= _GROWN and self.use is not None:
            self.use.ask(self.pending, self.what)
            self.use.add(self.pending)
            self.size += self.pending
            self.pending = 0


@contextmanager
def growing(what: str) -> Iterator[Growing]:
    made = Growing(what)
    try:
        yield made
    finally:
        if made.use is not None:
            made.use.add(-made.size)


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
        self.thread: threading.Thread | None = None
        self.lock = threading.Lock()

    def ended(self) -> None:
        """A query has, maybe by KeyboardInterrupt, which may come again between any two steps of this."""
        with self.lock:
            waits = self.due is not None and self.thread is not None and self.thread.is_alive()
            self.due = time.monotonic() + self.seconds
        if not waits:
            self.thread = threads.start(self.wait, "drawloom-idle")

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
