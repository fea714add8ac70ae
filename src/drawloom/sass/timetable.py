"""Stall counts, scoreboards and waits for instructions whose order is settled (thesis sections 5.4.3 and 5.4.5).

Every instruction issues as early as its registers allow. Results of fixed latency are waited for by stalls; what
comes by scoreboard sets one of six write barriers, and a read barrier where its sources are rewritten before; readers
and rewriters wait for them. What is under way at the end of a block goes into its successors, except along back
edges, where everything is waited for.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from drawloom.sass.access import REGISTERS, Facts, facts_of, first_register, read, written
from drawloom.sass.control import NO_BARRIER, pack_control
from drawloom.sass.isa import Target
from drawloom.sass.latencies import Timing
from drawloom.sass.machine import Machine, MachineFunction
from drawloom.sass.reuse import Reuse
from drawloom.sass.syntax import NO_GUARD

SCOREBOARDS: Final = 6
#: Cycles between the instruction that sets a scoreboard and the first that waits for it.
_SET: Final = 2
_MOST: Final = 15
#: Cycles until the next instruction is there after one that changes the flow of control (thesis table 5.3).
_FETCH: Final = 5
#: From this stall on another warp must be allowed to issue (sm_75 and later).
_YIELDS: Final = 12
#: Of a register whose result of fixed latency comes from several producers, on different ways into the block.
_SEVERAL: Final = -2
_LONG_AGO: Final = -16


@mypyc_attr(acyclic=True)
class State:
    """What is under way at the beginning of a block: `fixed[register]` the producer class and the cycle of issue of
    results of fixed latency; `written[register]` and `reading[register]` the scoreboards, as bits, of those that are
    written or read by instructions of variable latency; `since[barrier]` when a scoreboard was last set. Cycles count
    from the beginning of the block."""

    def __init__(self) -> None:
        self.fixed: dict[int, list[tuple[int, int]]] = {}
        self.written: dict[int, int] = {}
        self.reading: dict[int, int] = {}
        self.since = [_LONG_AGO] * SCOREBOARDS

    def join(self, other: State) -> None:
        """Add what is under way on another way into the same block."""
        for register, producers in other.fixed.items():
            known = self.fixed.setdefault(register, [])
            known += [p for p in producers if p not in known]
        for mine, theirs in ((self.written, other.written), (self.reading, other.reading)):
            for register, mask in theirs.items():
                mine[register] = mine.get(register, 0) | mask
        self.since = [max(a, b) for a, b in zip(self.since, other.since)]

    def copy(self) -> State:
        out = State()
        out.fixed = {register: list(producers) for register, producers in self.fixed.items()}
        out.written = dict(self.written)
        out.reading = dict(self.reading)
        out.since = list(self.since)
        return out


class UnderWay:
    """The same while a block is gone through, in lists by register.

    `producer` is the class of the last result of fixed latency (-1: none, _SEVERAL: they are in `several`), `issued`
    its cycle; `set_for[barrier]` are the registers that have a scoreboard's bit, and `busy` all bits that are in use.
    """

    def __init__(self, timing: Timing) -> None:
        self.cycles = timing.cycles
        self.latest = timing.latest
        self.rewrites = timing.rewrites
        self.longest: i64 = timing.longest
        self.producer = [-1] * REGISTERS
        self.issued = [0] * REGISTERS
        self.written = [0] * REGISTERS
        self.reading = [0] * REGISTERS
        self.several: dict[int, list[tuple[int, int]]] = {}
        self.touched: list[int] = []
        self.set_for: list[list[int]] = [[] for _ in range(SCOREBOARDS)]
        self.busy: i64 = 0
        self.since = [_LONG_AGO] * SCOREBOARDS
        #: Where the instruction at hand stands: the first cycle it may issue in, the scoreboards it waits for.
        self.clock: i64 = 0
        self.waits: i64 = 0

    def begin(self, state: State) -> None:
        for register, producers in state.fixed.items():
            self.touched.append(register)
            if len(producers) == 1:
                self.producer[register], self.issued[register] = producers[0]
            else:
                self.producer[register] = _SEVERAL
                self.several[register] = producers
        for masks, found in ((self.written, state.written), (self.reading, state.reading)):
            for register, mask in found.items():
                self.add(masks, register, mask)
        self.since = list(state.since)

    def add(self, masks: list[int], register: int, mask: int) -> None:
        """Note scoreboards that a register waits for."""
        masks[register] |= mask
        self.busy |= mask
        for barrier in range(SCOREBOARDS):
            if mask >> barrier & 1:
                self.set_for[barrier].append(register)

    def left(self, cycles: i64) -> State:
        """What is left so many cycles after the beginning of the block."""
        out = State()
        for register in self.touched:
            producer = self.producer[register]
            if producer >= 0:
                at = self.issued[register] - cycles
                if at + self.longest > 0:
                    out.fixed[register] = [(producer, int(at))]
            elif producer == _SEVERAL:
                kept = [(p, at - int(cycles)) for p, at in self.several[register] if at - cycles + self.longest > 0]
                if kept:
                    out.fixed[register] = kept
        for registers in self.set_for:
            for register in registers:
                if self.written[register]:
                    out.written[register] = self.written[register]
                if self.reading[register]:
                    out.reading[register] = self.reading[register]
        out.since = [max(at - int(cycles), _LONG_AGO) for at in self.since]
        return out

    def end(self) -> None:
        """Nothing is under way any more."""
        self.done(self.busy)
        for register in self.touched:
            self.producer[register] = -1
        self.touched = []
        self.several = {}

    def drained(self, clock: i64) -> i64:
        """When everything of fixed latency is there."""
        end = clock
        for register in self.touched:
            producer = self.producer[register]
            if producer == _SEVERAL:
                for several, at in self.several[register]:
                    end = max(end, at + self.latest[several])
            elif producer >= 0:
                end = max(end, self.issued[register] + self.latest[producer])
        return end

    def done(self, barriers: i64) -> None:
        """These scoreboards were waited for."""
        left: int = ~barriers
        for barrier in range(SCOREBOARDS):
            if barriers >> barrier & 1 and self.set_for[barrier]:
                for register in self.set_for[barrier]:
                    self.written[register] &= left
                    self.reading[register] &= left
                self.set_for[barrier] = []
        self.busy &= left

    def wait_to_read(self, register: i64, consumer: i64) -> None:
        self.waits |= self.written[register]
        producer: i64 = self.producer[register]
        if producer >= 0:
            self.clock = max(self.clock, self.issued[register] + self.cycles[producer][consumer])
        elif producer == _SEVERAL:
            for several, at in self.several[register]:
                self.clock = max(self.clock, at + self.cycles[several][consumer])

    def wait_to_write(self, register: i64, second: i64) -> None:
        """Until a result of class `second` may follow what is under way; below 0: one that comes by scoreboard."""
        self.waits |= self.written[register] | self.reading[register]
        producer: i64 = self.producer[register]
        if producer >= 0:
            self.clock = max(self.clock, self.issued[register] + self.between(producer, second))
        elif producer == _SEVERAL:
            for several, at in self.several[register]:
                self.clock = max(self.clock, at + self.between(several, second))

    def between(self, first: i64, second: i64) -> i64:
        return self.latest[first] if second < 0 else self.rewrites[first][second]

    def choose(self, busy: i64) -> i64:
        """A scoreboard that is free, else the one that was set last: its waiters wait longest anyway."""
        best: i64 = 0
        for barrier in range(SCOREBOARDS):
            if not busy >> barrier & 1:
                return barrier
            if self.since[barrier] > self.since[best]:
                best = barrier
        return best


class Timetable:
    """Sets the control bits of all instructions of a function. `serial` waits for everything at once."""

    def __init__(self, function: MachineFunction, target: Target, timing: Timing, serial: bool = False) -> None:
        self.function = function
        self.target = target
        self.timing = timing
        self.serial = serial
        self.nop = target.opcode("NOP", "")
        self.entry: list[State | None] = [None] * len(function.blocks)
        self.scheduled = [False] * len(function.blocks)
        self.under_way = UnderWay(timing)
        self.reuse = Reuse(target.wide)
        self.has_rows = False
        #: Per register, the last block (by its id) of which an instruction further down writes it.
        self.later = [-1] * REGISTERS

    def run(self) -> None:
        for block in self.function.blocks:
            state = self.entry[block.id]
            if state is not None:
                self.under_way.begin(state)
                self.entry[block.id] = None
            else:
                self.under_way.since = [_LONG_AGO] * SCOREBOARDS
            drain = self.closes(block.successors, block.id)
            block.instructions, end = self.schedule(block.instructions, block.id, drain)
            self.scheduled[block.id] = True
            following = [successor for successor in block.successors if not self.scheduled[successor]]
            if following:
                out = self.under_way.left(end)
                for successor in following:
                    known = self.entry[successor]
                    if known is not None:
                        known.join(out)
                    else:
                        self.entry[successor] = out if successor == following[-1] else out.copy()
            self.under_way.end()

    def closes(self, successors: list[int], block: int) -> bool:
        """Whether an edge goes back to a block whose times are settled."""
        return any(successor == block or self.scheduled[successor] for successor in successors)

    def schedule(self, instructions: list[Machine], block: int, drain: bool) -> tuple[list[Machine], i64]:
        """Control bits for one block, and the cycle of its end."""
        out: list[Machine] = []
        state = self.under_way
        facts = [facts_of(instruction.opcode, self.timing) for instruction in instructions]
        rewritten = self.rewritten_sources(instructions, facts, block)
        last: i64 = -1  # when the one before issued
        state.clock = 0  # when the instruction at hand may issue at the earliest
        count = len(instructions)
        for number in range(count):
            instruction, found = instructions[number], facts[number]
            ready = state.clock
            self.earliest(instruction, found)
            if self.has_rows and state.waits and not found.leaves:
                last = self.wait_for_some(out, instruction, found, last, ready)
            at = state.clock
            waits = state.waits
            leaves = found.leaves or (drain and number == count - 1)
            if leaves or self.serial:
                waits |= state.busy
            if waits:
                for barrier in range(SCOREBOARDS):
                    if waits >> barrier & 1:
                        at = max(at, state.since[barrier] + _SET)
            if out:
                self.stall(out, at - last)
            elif at > 0:
                out.append(Machine(self.nop, [], pos=instruction.pos))
                self.stall(out, at)
            if waits:
                state.done(waits)
            write: i64 = NO_BARRIER
            read: i64 = NO_BARRIER
            if found.variable:
                write, read = self.barriers(instruction, found, rewritten[number], at)
            self.note_writes(instruction, found, at, write)
            instruction.control = pack_control(1, False, write, read, waits)
            out.append(instruction)
            last = at
            state.clock = at + (_FETCH if found.fetches else 1)
            if self.serial or leaves:
                state.clock = max(state.clock, at + state.longest)
        end = state.drained(state.clock) if drain else state.clock
        if out:
            self.stall(out, end - last)
        if not self.serial:
            self.reuse.mark(instructions, facts)
        return out, end

    def wait_for_some(self, out: list[Machine], instruction: Machine, found: Facts, last: i64, first: i64) -> i64:
        """Waits in front of an instruction for a part of what shares a scoreboard: on sm_61."""
        return last

    def choose(self, counted: bool, busy: i64) -> i64:
        """A scoreboard, `busy` being in use; a load is `counted` where it comes in order."""
        return self.under_way.choose(busy)

    def stall(self, out: list[Machine], cycles: i64) -> None:
        """The last instruction issues so many cycles before the next; more than fit are filled with NOPs."""
        while cycles > _MOST:
            self.set_stall(out[-1], _MOST)
            out.append(Machine(self.nop, [], pos=out[-1].pos))
            cycles -= _MOST
        self.set_stall(out[-1], max(cycles, 1))

    def set_stall(self, instruction: Machine, cycles: i64) -> None:
        control = instruction.control & ~31
        if cycles < _YIELDS:
            control |= 1 << 4
        instruction.control = control | cycles

    def earliest(self, instruction: Machine, found: Facts) -> None:
        """Moves the clock to the first cycle in which an instruction may issue, and says what it waits for."""
        state = self.under_way
        state.waits = 0
        values = instruction.values
        for access in found.reads:
            first = first_register(access, values)
            if first >= 0:
                for register in range(first, first + access.words):
                    state.wait_to_read(register, access.consumer)
        if instruction.guard & 7 != NO_GUARD and found.guard >= 0:
            state.wait_to_read(found.guard + (instruction.guard & 7), found.guard_consumer)
        if found.is_masked:
            for register in written(instruction, found):
                state.wait_to_write(register, -1)
            return
        for access in found.writes:
            first = first_register(access, values)
            if first >= 0:
                for part in range(access.words):
                    state.wait_to_write(first + part, -1 if found.variable else access.producers[part])

    def barriers(self, instruction: Machine, found: Facts, rewritten: bool, at: i64) -> tuple[i64, i64]:
        """The write and the read barrier that an instruction of variable latency sets."""
        state = self.under_way
        busy = state.busy
        write: i64 = NO_BARRIER
        barrier: i64 = NO_BARRIER
        sources = read(instruction, found)
        has_result = found.tells and bool(written(instruction, found))
        if has_result:
            write = self.choose(found.counted and instruction.guard == NO_GUARD, busy)
            busy |= 1 << write
        if rewritten or (not has_result and sources):
            barrier = self.choose(False, busy)
        told = barrier if barrier != NO_BARRIER else write
        if told != NO_BARRIER:
            for register in sources:
                state.reading[register] |= 1 << told
                state.set_for[told].append(register)
                state.busy |= 1 << told
        for chosen in (write, barrier):
            if chosen != NO_BARRIER:
                state.since[chosen] = at
        return write, barrier

    def note_writes(self, instruction: Machine, found: Facts, at: i64, write: i64) -> None:
        """The registers that get a new value: after a fixed time, or when the scoreboard says so."""
        state = self.under_way
        for access in found.writes:
            first = first_register(access, instruction.values)
            if first < 0:
                continue
            for part in range(access.words):
                register = first + part
                if write != NO_BARRIER:
                    state.written[register] |= 1 << write
                    state.set_for[write].append(int(register))
                    state.busy |= 1 << write
                    state.producer[register] = -1
                else:
                    if state.producer[register] == -1:
                        state.touched.append(int(register))
                    state.producer[register] = access.producers[part]
                    state.issued[register] = int(at)

    def rewritten_sources(self, instructions: list[Machine], facts: list[Facts], block: int) -> list[bool]:
        """For each instruction of variable latency whether a later one of the block writes a register that it
        reads."""
        out = [False] * len(instructions)
        later = self.later
        for number in range(len(instructions) - 1, -1, -1):
            instruction, found = instructions[number], facts[number]
            if found.variable or found.is_masked:
                registers = written(instruction, found)
                if found.variable:
                    for register in read(instruction, found):
                        if later[register] == block and register not in registers:
                            out[number] = True
                            break
                for register in registers:
                    later[register] = block
                continue
            for access in found.writes:
                first = first_register(access, instruction.values)
                if first >= 0:
                    for place in range(first, first + access.words):
                        later[place] = block
        return out
