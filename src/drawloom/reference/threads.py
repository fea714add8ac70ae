"""Threads, warps and blocks: their state, and how threads wait for each other at barriers and warp operations.

A thread runs until it waits or its time slice ends. Whoever completes a barrier or a warp operation writes the
results of all threads in it and lets them run on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.ptx.ir import Function, Instruction
from drawloom.reference.memory import LOCAL_LIMIT, Fault, LocalMemory
from drawloom.reference.races import Clock, Locations, SharedMemory, synchronise
from drawloom.reference.warp_semantics import Collective, Results, Values

if TYPE_CHECKING:
    from drawloom.reference.decode import Launch

#: A register's value: a bit pattern, or None before it is written.
Registers = list[int | None]
#: One decoded instruction: returns the index of the next one, None for the one that follows, or a signal below.
Handler = Callable[[Registers, "Thread"], "int | None"]

#: Signals of a handler, all negative: the thread waits; the frame changed; the time slice is over; it has exited.
WAIT: Final = -1
FRAME: Final = -2
YIELD: Final = -3
DONE: Final = -4

RUNNABLE: Final = 0
#: At a barrier or a ``.sync`` warp operation.
WAITING: Final = 1
#: At an operation of the converged lanes (``activemask``, ``vote`` without ``.sync``): waits for lanes to come.
CONVERGING: Final = 2
EXITED: Final = 3

WARP_SIZE: Final = 32
#: So often may the other lanes of a warp get a time slice before an operation of the converged lanes stops waiting.
CONVERGENCE_PATIENCE: Final = 64


class Code:
    """A function decoded for one launch: a handler per instruction, and how to make a frame for it.

    ``template`` holds None per register, then the constants; ``frame_symbols`` are ``(slot, offset)`` of addresses
    in the frame; ``specials`` are ``(slot, reader)`` of special registers that never change.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.handlers: list[Handler] = []
        self.instructions: list[Instruction] = []
        self.template: Registers = [None] * len(function.registers)
        self.frame_symbols: list[tuple[int, int]] = []
        self.specials: list[tuple[int, Callable[[Thread], int]]] = []
        #: ``(offset, size)`` of what stands in the frame, in the order of the offsets.
        self.variables: list[tuple[int, int]] = []
        self.frame_size = 0
        self.frame_alignment = 16


class Frame:
    """An activation of a function. ``results`` copies what it returns into the caller's frame, given both; the stack
    ended at ``below`` before it."""

    __slots__ = ("base", "below", "code", "pc", "registers", "results")

    def __init__(
        self, code: Code, base: int, below: int, registers: Registers,
        results: Callable[[Thread, Frame, Frame], None] | None,
    ) -> None:  # fmt: skip
        self.code = code
        self.base = base
        self.below = below
        self.registers = registers
        self.pc = 0
        self.results = results


class PendingCopy:
    """An asynchronous copy on its way: ``value`` is to be written to ``size`` bytes of shared memory at ``address``."""

    def __init__(self, address: int, size: int, value: int, where: Instruction) -> None:
        self.address = address
        self.size = size
        self.value = value
        self.where = where


class Thread:
    """One thread: its place, its call stack, its local memory and what it waits for."""

    __slots__ = (
        "block", "carry", "clock", "copies", "frames", "index", "lane", "local", "stack_top", "state", "tid",
        "waits_at", "warp",
    )  # fmt: skip

    def __init__(self, block: Block, warp: Warp, index: int, tid: tuple[int, int, int]) -> None:
        self.block: Block = block
        self.warp: Warp = warp
        self.index = index
        self.lane = index % WARP_SIZE
        self.tid = tid
        self.frames: list[Frame] = []
        self.local = LocalMemory()
        self.stack_top = 0
        self.carry: int | None = None
        self.state = RUNNABLE
        self.waits_at: Instruction | None = None
        self.clock = Clock(index, block.no_knowledge)
        #: Groups of asynchronous copies that were not waited for; the last one is still open.
        self.copies: list[list[PendingCopy]] = [[]]

    def push(self, code: Code, results: Callable[[Thread, Frame, Frame], None] | None = None) -> Frame:
        """Enter ``code``: a fresh frame on top of the stack and of local memory."""
        below = self.stack_top
        base = self.take(code.frame_size, code.frame_alignment)
        for offset, size in code.variables:
            self.local.add(base + offset, size)
        registers = code.template.copy()
        for slot, offset in code.frame_symbols:
            registers[slot] = base + offset
        for slot, read in code.specials:
            registers[slot] = read(self)
        frame = Frame(code, base, below, registers, results)
        self.frames.append(frame)
        return frame

    def allocate(self, size: int, alignment: int) -> int:
        """``alloca``: a variable of ``size`` bytes on top of the stack; its address, a multiple of ``alignment``."""
        start = self.take(size, alignment)
        self.local.add(start, size)
        return start

    def release(self, top: int) -> None:
        """End the stack at ``top``, and all variables from there on."""
        self.stack_top = top
        self.local.cut(top)

    def take(self, size: int, alignment: int) -> int:
        """Take ``size`` bytes of zeroed local memory from the stack; their address, a multiple of ``alignment``."""
        start = (self.stack_top + alignment - 1) & -alignment
        end = (start + size + 15) & -16
        if end > LOCAL_LIMIT:
            raise Fault(f"stack overflow: {end} bytes of local memory, the limit is {LOCAL_LIMIT}")
        data = self.local.data
        data[self.stack_top : end] = bytes(end - self.stack_top)
        self.stack_top = end
        return start

    def pop(self) -> None:
        """Leave the top frame, handing its results to the frame below."""
        frame = self.frames.pop()
        if frame.results is not None:
            frame.results(self, frame, self.frames[-1])
        self.release(frame.below)

    def wait(self, where: Instruction, state: int = WAITING) -> int:
        self.state = state
        self.waits_at = where
        return WAIT


class Arrival:
    """A thread at a warp operation: what it brings, and where its results go."""

    __slots__ = ("destinations", "registers", "thread", "values")

    def __init__(
        self, thread: Thread, registers: Registers, values: tuple[int | None, ...], destinations: list[int]
    ) -> None:
        self.thread = thread
        self.registers = registers
        self.values = values
        self.destinations = destinations


class Gathering:
    """Lanes of a warp that have arrived at one operation."""

    def __init__(self, mask: int, collective: Collective, orders_memory: bool, rank: tuple[int, int]) -> None:
        self.mask = mask
        self.collective = collective
        self.orders_memory = orders_memory
        self.rank = rank
        self.arrivals: dict[int, Arrival] = {}
        self.present = 0

    def add(self, arrival: Arrival) -> None:
        lane = arrival.thread.lane
        self.arrivals[lane] = arrival
        self.present |= 1 << lane

    def complete(self) -> None:
        """Compute, write every lane's results and let the lanes run on."""
        arrivals = {lane: self.arrivals[lane] for lane in sorted(self.arrivals)}
        values: Values = {lane: a.values for lane, a in arrivals.items()}
        results: Results = self.collective(values)
        for lane, arrival in arrivals.items():
            for slot, value in zip(arrival.destinations, results[lane], strict=False):
                arrival.registers[slot] = value
            arrival.thread.state = RUNNABLE
        if self.orders_memory:
            synchronise([a.thread.clock for a in arrivals.values()], [])


class Warp:
    """Up to 32 threads; ``alive`` has a bit for every lane that exists and has not exited."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.threads: list[Thread] = []
        self.alive = 0
        self._pending: dict[tuple[str, int], Gathering] = {}
        self._converging: dict[tuple[int, int, int], Gathering] = {}
        self._patience = CONVERGENCE_PATIENCE

    def arrive(
        self, key: str, mask: int, where: Instruction, arrival: Arrival, collective: Collective, orders_memory: bool
    ) -> int | None:
        """A ``.sync`` operation: the lane waits for every lane of ``mask`` that has not exited (9.7.9.6)."""
        thread = arrival.thread
        if not mask >> thread.lane & 1:
            raise Fault(f"lane {thread.lane} executes {key} with member mask 0x{mask:08x}, which leaves it out")
        gathering = self._pending.get((key, mask))
        if gathering is None:
            gathering = self._pending[key, mask] = Gathering(mask, collective, orders_memory, (0, 0))
        gathering.add(arrival)
        if mask & self.alive & ~gathering.present:
            return thread.wait(where)
        del self._pending[key, mask]
        gathering.complete()
        return None

    def converge(self, where: Instruction, pc: int, arrival: Arrival, collective: Collective) -> int:
        """An operation of the lanes that execute together: waits until no other lane can still come along."""
        thread = arrival.thread
        depth = len(thread.frames)
        key = (id(where), depth, 0)
        gathering = self._converging.get(key)
        if gathering is None:
            # Deeper calls and earlier instructions first: those lanes are behind.
            gathering = self._converging[key] = Gathering(0, collective, False, (-depth, pc))
        gathering.add(arrival)
        return thread.wait(where, CONVERGING)

    def settle(self) -> bool:
        """Let converged lanes run on when no other lane of the warp can run, or has run for long enough."""
        if not self._converging:
            return False
        if any(t.state == RUNNABLE for t in self.threads) and self._patience > 0:
            self._patience -= 1
            return False
        self._patience = CONVERGENCE_PATIENCE
        key = min(self._converging, key=lambda k: self._converging[k].rank)
        self._converging.pop(key).complete()
        return True

    def leave(self, thread: Thread) -> None:
        """``thread`` has exited: nobody waits for it any more."""
        self.alive &= ~(1 << thread.lane)
        for key, gathering in list(self._pending.items()):
            if not gathering.mask & self.alive & ~gathering.present:
                del self._pending[key]
                gathering.complete()


Reduction = Callable[[list[int]], int]


class Barrier:
    """One of the 16 barriers of a block, until it completes (section 9.7.13.1).

    Arrivals count by warps: a warp has arrived when each of its threads that has not exited has. ``expected`` is the
    number of threads, 0 for all of the block; ``reduce`` is what ``red`` does with the predicates.
    """

    def __init__(self, block: Block, expected: int, action: str, reduce: Reduction | None) -> None:
        self.block = block
        self.expected = expected
        self.action = action
        self.reduce = reduce
        self.waiting: list[tuple[Thread, Registers, int]] = []
        self._full_warps = 0
        self._present: dict[int, int] = {}
        self._sites: dict[int, Instruction] = {}
        self._predicates: list[int] = []
        self._snapshots: list[list[int]] = []

    def arrive(self, thread: Thread, where: Instruction, aligned: bool) -> None:
        """Count ``thread``; raises Fault where the manual leaves the behaviour undefined."""
        warp = thread.warp.index
        if aligned and self._sites.setdefault(warp, where) is not where:
            raise Fault("barrier divergence: threads of one warp arrive at different instructions of a barrier")
        bit = 1 << thread.lane
        present = self._present.get(warp, 0)
        if present & bit:
            raise Fault("barrier divergence: a thread arrives again before the rest of its warp has arrived")
        self._present[warp] = present | bit

    def release(self, clock: Clock) -> None:
        """The memory ordering of ``arrive``: what is waiting synchronises with everything up to here."""
        self._snapshots.append(clock.snapshot())

    def wait(self, thread: Thread, registers: Registers, slot: int, predicate: int) -> None:
        self.waiting.append((thread, registers, slot))
        self._predicates.append(predicate)

    def is_complete(self) -> bool:
        warps = self.block.warps
        if self.expected == 0:
            return all(not warp.alive & ~self._present.get(warp.index, 0) for warp in warps)
        for index, present in list(self._present.items()):
            if not warps[index].alive & ~present:
                self._full_warps += 1
                del self._present[index]
                self._sites.pop(index, None)
        arrived = self._full_warps * WARP_SIZE
        if arrived > self.expected:
            raise Fault(f"{arrived} threads arrive at a barrier for {self.expected}")
        return arrived == self.expected

    def complete(self) -> None:
        """Let everybody who waits run on, with the reduction of the predicates where there is one."""
        value = 0 if self.reduce is None else self.reduce(self._predicates)
        for thread, registers, slot in self.waiting:
            if self.reduce is not None:
                registers[slot] = value
            thread.state = RUNNABLE
        if self.waiting:
            synchronise([thread.clock for thread, _, _ in self.waiting], self._snapshots)


class Block:
    """A thread block: its warps, its shared memory and its barriers."""

    def __init__(self, launch: Launch, ctaid: tuple[int, int, int]) -> None:
        self.launch = launch
        self.ctaid = ctaid
        width, height, depth = launch.block
        count = width * height * depth
        self.no_knowledge = [0] * count
        self.shared = SharedMemory(launch.shared_size, launch.shared_fill)
        self.locations = Locations()
        self.warps: list[Warp] = [Warp(i) for i in range((count + WARP_SIZE - 1) // WARP_SIZE)]
        self.threads: list[Thread] = []
        self._barriers: dict[int, Barrier] = {}
        for linear in range(count):
            warp = self.warps[linear // WARP_SIZE]
            tid = (linear % width, linear // width % height, linear // (width * height))
            thread = Thread(self, warp, linear, tid)
            thread.push(launch.entry)
            warp.threads.append(thread)
            warp.alive |= 1 << thread.lane
            self.threads.append(thread)

    def barrier(self, number: int, expected: int, action: str, reduce: Reduction | None) -> Barrier:
        """The barrier ``number`` for an arrival; raises Fault when it is in use in another way."""
        if number > 15:
            raise Fault(f"barrier {number}: a block has barriers 0 to 15")
        if expected % WARP_SIZE:
            raise Fault(f"a barrier for {expected} threads: the count must be a multiple of {WARP_SIZE}")
        if expected == len(self.warps) * WARP_SIZE:
            expected = 0
        barrier = self._barriers.get(number)
        if barrier is None:
            barrier = self._barriers[number] = Barrier(self, expected, action, reduce)
        if barrier.expected != expected:
            counts = f"{expected or 'all'} threads while others use it for {barrier.expected or 'all'}"
            raise Fault(f"barrier {number} is used for {counts}")
        if barrier.action != action and "red" in (barrier.action, action):
            raise Fault(f"barrier {number} is used by 'red' and by other operations at once")
        return barrier

    def complete_barrier(self, number: int) -> None:
        """Complete barrier ``number`` if everybody it waits for has come."""
        barrier = self._barriers[number]
        if barrier.is_complete():
            del self._barriers[number]
            barrier.complete()

    def leave(self, thread: Thread) -> None:
        """``thread`` has exited: barriers and warp operations no longer wait for it."""
        thread.state = EXITED
        thread.frames.clear()
        thread.warp.leave(thread)
        for number in list(self._barriers):
            self.complete_barrier(number)
