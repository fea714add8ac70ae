"""Data races in shared memory: accesses that neither barriers, warp synchronisation nor releases order.

Happens-before with one vector clock per thread of a block. A clock maps a thread's index to the latest epoch of it
that is known to be over; an access of epoch ``e`` by thread ``u`` is ordered before this thread when
``e <= clock[u]``. Strong accesses (atomics, volatile, relaxed, acquire, release) do not race with each other
(PTX ISA 9.0 section 8.7), and order others only together with fences or their own semantics (section 8.8).

Threads that write the same bytes to one place do not race with each other, which is stricter in the manual: compilers
(Triton) let every lane store what all lanes hold, and hardware gives that meaning. Who reads must come after them all.
"""

from __future__ import annotations

from drawloom.ptx.ir import Instruction
from drawloom.reference.memory import ByteMemory, RaceFault

#: ``(thread index, epoch, strong, instruction)``
Access = tuple[int, int, bool, Instruction]


class Clock:
    """What one thread knows of the others; ``known`` lists are shared between threads and never changed."""

    def __init__(self, index: int, known: list[int]) -> None:
        self.index = index
        self.known = known
        self.epoch = 1
        self._fenced: list[int] | None = None
        self._observed: list[list[int]] = []

    def snapshot(self) -> list[int]:
        """Everything up to now, this thread's own work included; later work is a new epoch."""
        now = self.known.copy()
        now[self.index] = self.epoch
        self.epoch += 1
        return now

    def learn(self, known: list[int]) -> None:
        """Order everything that ``known`` covers before what this thread does next."""
        self.known = list(map(max, self.known, known))

    def fence(self) -> None:
        """``fence`` and ``membar``: what was observed so far is ordered; later strong writes release until here."""
        for known in self._observed:
            self.learn(known)
        self._observed.clear()
        self._fenced = self.snapshot()

    def released(self, releases: bool) -> list[int] | None:
        """What a strong write makes known to those who observe it."""
        return self.snapshot() if releases else self._fenced

    def observe(self, known: list[int], acquires: bool) -> None:
        """A strong read saw a write that released ``known``."""
        if acquires:
            self.learn(known)
        else:
            self._observed.append(known)


def synchronise(clocks: list[Clock], arrived: list[list[int]]) -> None:
    """Order everything that ``clocks`` and the snapshots in ``arrived`` cover before what ``clocks`` do next."""
    distinct = {id(c.known): c.known for c in clocks}
    for known in arrived:
        distinct[id(known)] = known
    lists = list(distinct.values())
    joined = lists[0].copy() if len(lists) == 1 else list(map(max, *lists))
    for clock in clocks:
        joined[clock.index] = clock.epoch
    for clock in clocks:
        clock.known = joined
        clock.epoch += 1


class Locations:
    """What strong writes to each address have released, for one block."""

    def __init__(self) -> None:
        self._released: dict[int, list[int]] = {}

    def write(self, clock: Clock, address: int, releases: bool, keeps: bool) -> None:
        """A strong write; ``keeps`` (read-modify-write) continues the release sequence that was there."""
        fresh = clock.released(releases)
        before = self._released.get(address) if keeps else None
        if fresh is None:
            if before is None:
                self._released.pop(address, None)
        else:
            self._released[address] = fresh if before is None else list(map(max, before, fresh))

    def read(self, clock: Clock, address: int, acquires: bool) -> None:
        """A strong read."""
        known = self._released.get(address)
        if known is not None:
            clock.observe(known, acquires)


class SharedMemory(ByteMemory):
    """The shared memory of one block, with who last wrote and who read every byte since."""

    def __init__(self, size: int, fill: int = 0) -> None:
        super().__init__("shared", bytearray([fill]) * size)
        self._writes: list[Access | None] = [None] * size
        self._reads: list[dict[int, Access] | None] = [None] * size
        #: Of bytes that several threads wrote alike: the writes before the last.
        self._alike: dict[int, list[Access]] = {}

    def read(self, clock: Clock, address: int, size: int, strong: bool, where: Instruction) -> int:
        """``load`` by one thread; raises RaceFault when another thread's write is not ordered before it."""
        value = self.load(address, size)
        access = (clock.index, clock.epoch, strong, where)
        previous: Access | None = None
        for at in range(address, address + size):
            write = self._writes[at]
            if write is not None and write is not previous:
                self._check(clock, write, access, at, "read", "written")
                previous = write
            if at in self._alike:
                for write in self._alike[at]:
                    self._check(clock, write, access, at, "read", "written")
            reads = self._reads[at]
            if reads is None:
                self._reads[at] = {clock.index: access}
            else:
                mine = reads.get(clock.index)
                if mine is None or mine[1] != clock.epoch or mine[2]:
                    reads[clock.index] = access
        return value

    def write(self, clock: Clock, address: int, size: int, value: int, strong: bool, where: Instruction) -> None:
        """``store`` by one thread; raises RaceFault when another thread's access is not ordered before it."""
        present = self.data[address : address + size]
        self.store(address, size, value)
        access = (clock.index, clock.epoch, strong, where)
        previous: Access | None = None
        for at in range(address, address + size):
            write = self._writes[at]
            if write is not None and write is not previous:
                if at in self._alike or not self._ordered(clock, write, access):
                    self._join(clock, access, at, present[at - address])
                else:
                    previous = write
            reads = self._reads[at]
            if reads is not None:
                for read in reads.values():
                    self._check(clock, read, access, at, "written", "read")
                self._reads[at] = None
            self._writes[at] = access

    def _join(self, clock: Clock, access: Access, at: int, present: int) -> None:
        """A write beside others that it is not ordered behind: they must have written the same."""
        last = self._writes[at]
        assert last is not None
        unordered = [w for w in [*self._alike.pop(at, []), last] if not self._ordered(clock, w, access)]
        if not unordered:
            return
        if self.data[at] != present:
            self._check(clock, unordered[-1], access, at, "written", "written")
        self._alike[at] = unordered

    def _check(self, clock: Clock, earlier: Access, access: Access, at: int, now: str, then: str) -> None:
        if not self._ordered(clock, earlier, access):
            raise UnorderedAccess(f"data race: byte {at} of shared memory is {now} while", earlier[0], then, earlier[3])

    def _ordered(self, clock: Clock, earlier: Access, access: Access) -> bool:
        """Whether two accesses do not race: one thread's, or ordered, or both strong."""
        thread, epoch, strong, _ = earlier
        return thread == clock.index or epoch <= clock.known[thread] or (strong and access[2])


class UnorderedAccess(RaceFault):
    """A race with an earlier access by the thread with index ``thread`` at ``where``, which has ``then`` it."""

    def __init__(self, message: str, thread: int, then: str, where: Instruction) -> None:
        super().__init__(message)
        self.thread = thread
        self.then = then
        self.where = where
