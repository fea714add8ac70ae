"""Stall counts, scoreboards and waits for instructions whose order is settled (thesis sections 5.4.3 and 5.4.5).

Every instruction issues as early as its registers allow. Results of fixed latency are waited for by stalls; what
comes by scoreboard sets one of six write barriers, and a read barrier where its sources are rewritten before; readers
and rewriters wait for them. What is under way at the end of a block goes into its successors, except along back
edges, where everything is waited for.
"""

from __future__ import annotations

from typing import Final

from drawloom.sass.control import NO_BARRIER, pack_control
from drawloom.sass.effects import Effects, effects, registers_read, registers_written
from drawloom.sass.isa import Target
from drawloom.sass.latencies import Timing
from drawloom.sass.machine import FILES, NEUTRAL, Machine, MachineFunction
from drawloom.sass.syntax import NO_GUARD

SCOREBOARDS: Final = 6
#: Cycles between the instruction that sets a scoreboard and the first that waits for it.
_SET: Final = 2
_MOST: Final = 15
#: Cycles until the next instruction is there after one that changes the flow of control (thesis table 5.3).
_FETCH: Final = 5
#: From this stall on another warp must be allowed to issue (sm_75 and later).
_YIELDS: Final = 12


class State:
    """What is under way: `fixed[register]` the producer class and the cycle of issue of results of fixed latency;
    `written[register]` and `reading[register]` the scoreboards, as bits, of those that are written or read by
    instructions of variable latency; `since[barrier]` when a scoreboard was last set. A register is
    ``file << 9 | number``; cycles count from the beginning of the block."""

    def __init__(self) -> None:
        self.fixed: dict[int, list[tuple[int, int]]] = {}
        self.written: dict[int, int] = {}
        self.reading: dict[int, int] = {}
        self.since = [-16] * SCOREBOARDS

    def busy(self) -> int:
        """The scoreboards that somebody may still have to wait for."""
        bits = 0
        for mask in self.written.values():
            bits |= mask
        for mask in self.reading.values():
            bits |= mask
        return bits

    def done(self, barriers: int) -> None:
        """These scoreboards were waited for."""
        for pending in (self.written, self.reading):
            for register in [r for r, mask in pending.items() if mask & barriers]:
                left = pending[register] & ~barriers
                if left:
                    pending[register] = left
                else:
                    del pending[register]

    def join(self, other: State) -> None:
        """Add what is under way on another way into the same block."""
        for register, producers in other.fixed.items():
            known = self.fixed.setdefault(register, [])
            known += [p for p in producers if p not in known]
        for mine, theirs in ((self.written, other.written), (self.reading, other.reading)):
            for register, mask in theirs.items():
                mine[register] = mine.get(register, 0) | mask
        self.since = [max(a, b) for a, b in zip(self.since, other.since)]

    def later(self, cycles: int, longest: int) -> State:
        """The same, seen so many cycles later."""
        out = State()
        for register, producers in self.fixed.items():
            kept = [(p, at - cycles) for p, at in producers if at - cycles + longest > 0]
            if kept:
                out.fixed[register] = kept
        out.written = dict(self.written)
        out.reading = dict(self.reading)
        out.since = [max(at - cycles, -16) for at in self.since]
        return out


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

    def run(self) -> None:
        for block in self.function.blocks:
            state = self.entry[block.id] or State()
            block.instructions, out = self.schedule(block.instructions, state, self.closes(block.successors, block.id))
            self.scheduled[block.id] = True
            for successor in block.successors:
                if not self.scheduled[successor]:
                    known = self.entry[successor]
                    if known is None:
                        self.entry[successor] = out.later(0, self.timing.longest)
                    else:
                        known.join(out)

    def closes(self, successors: list[int], block: int) -> bool:
        """Whether an edge goes back to a block whose times are settled."""
        return any(s == block or self.scheduled[s] for s in successors)

    def schedule(self, instructions: list[Machine], state: State, drain: bool) -> tuple[list[Machine], State]:
        """Control bits for one block; the state is that at its beginning, the result that at its end."""
        out: list[Machine] = []
        rewritten = rewritten_sources(instructions, self.timing)
        clock = 0  # when the instruction at hand may issue at the earliest
        last = -1  # when the one before issued
        for number, instruction in enumerate(instructions):
            found = effects(instruction.opcode)
            at, waits = self.earliest(instruction, found, state, clock)
            leaves = found.flow in ("call", "return") or (drain and number == len(instructions) - 1)
            if leaves or self.serial:
                waits |= state.busy()
            for barrier in range(SCOREBOARDS):
                if waits >> barrier & 1:
                    at = max(at, state.since[barrier] + _SET)
            if out:
                self.stall(out, at - last)
            elif at > 0:
                idle = Machine(self.nop, [], pos=instruction.pos)
                out.append(idle)
                last = 0
                self.stall(out, at)
            if waits:
                state.done(waits)
            write, read = self.barriers(instruction, found, state, rewritten[number])
            self.note(instruction, found, state, at, write, read)
            instruction.control = pack_control(1, False, write, read, waits)
            out.append(instruction)
            last = at
            clock = at + 1
            if found.flow not in ("", "prepare", "warp"):
                clock = at + _FETCH
            if self.serial or leaves:
                clock = max(clock, at + self.timing.longest)
        end = clock
        if drain:
            for producers in state.fixed.values():
                for _, at in producers:
                    end = max(end, at + self.timing.longest)
        if out:
            self.stall(out, end - last)
        return out, state.later(end, self.timing.longest)

    def stall(self, out: list[Machine], cycles: int) -> None:
        """The last instruction issues so many cycles before the next; more than fit are filled with NOPs."""
        while cycles > _MOST:
            self.set_stall(out[-1], _MOST)
            out.append(Machine(self.nop, [], pos=out[-1].pos))
            cycles -= _MOST
        self.set_stall(out[-1], max(cycles, 1))

    def set_stall(self, instruction: Machine, cycles: int) -> None:
        control = instruction.control & ~31
        if cycles < _YIELDS:
            control |= 1 << 4
        instruction.control = control | cycles

    def earliest(self, instruction: Machine, found: Effects, state: State, clock: int) -> tuple[int, int]:
        """The first cycle in which an instruction may issue, and the scoreboards that it waits for."""
        timing = self.timing
        opcode = instruction.opcode
        waits = 0
        for place, words in found.reads:
            file = FILES[opcode.slots[place].kind]
            first = instruction.values[place]
            if first != NEUTRAL[file]:
                consumer = timing.consumer(opcode, place, words)
                clock, waits = self.reading(file, first, words, consumer, state, clock, waits)
        for file, first, words in found.fixed_reads:
            consumer = timing.consumer_of_file(opcode, file, words)
            clock, waits = self.reading(file, first, words, consumer, state, clock, waits)
        if instruction.guard & 7 != NO_GUARD and found.guard_file >= 0:
            consumer = timing.consumer(opcode, -1, 1)
            clock, waits = self.reading(found.guard_file, instruction.guard & 7, 1, consumer, state, clock, waits)
        for file, number in registers_written(instruction):
            register = file << 9 | number
            waits |= state.written.get(register, 0) | state.reading.get(register, 0)
            for producer, at in state.fixed.get(register, ()):
                row = timing.cycles[producer]
                clock = max(clock, at + max(row) - (0 if timing.variable(opcode) else 1))
        return clock, waits

    def reading(
        self, file: int, first: int, words: int, consumer: int, state: State, clock: int, waits: int
    ) -> tuple[int, int]:
        for register in range(file << 9 | first, (file << 9 | first) + words):
            waits |= state.written.get(register, 0)
            for producer, at in state.fixed.get(register, ()):
                clock = max(clock, at + self.timing.cycles[producer][consumer])
        return clock, waits

    def barriers(self, instruction: Machine, found: Effects, state: State, rewritten: bool) -> tuple[int, int]:
        """The write and the read barrier that an instruction of variable latency sets."""
        if not self.timing.variable(instruction.opcode):
            return NO_BARRIER, NO_BARRIER
        busy = state.busy()
        write = read = NO_BARRIER
        has_result = bool(registers_written(instruction))
        if has_result:
            write = self.choose(busy, state)
            busy |= 1 << write
        if rewritten or (not has_result and registers_read(instruction)):
            read = self.choose(busy, state)
        return write, read

    def choose(self, busy: int, state: State) -> int:
        """A scoreboard that is free, else the one that was set last: its waiters wait longest anyway."""
        for barrier in range(SCOREBOARDS):
            if not busy >> barrier & 1:
                return barrier
        return max(range(SCOREBOARDS), key=lambda b: state.since[b])

    def note(self, instruction: Machine, found: Effects, state: State, at: int, write: int, read: int) -> None:
        """What is under way from here on."""
        opcode = instruction.opcode
        if read != NO_BARRIER or write != NO_BARRIER:
            bits = 1 << (read if read != NO_BARRIER else write)
            for file, number in registers_read(instruction):
                register = file << 9 | number
                state.reading[register] = state.reading.get(register, 0) | bits
            for barrier in (write, read):
                if barrier != NO_BARRIER:
                    state.since[barrier] = at
        for place, words in found.writes:
            file = FILES[opcode.slots[place].kind]
            first = instruction.values[place]
            if first != NEUTRAL[file]:
                self.under_way(instruction, file, first, words, state, at, write)
        for file, first, words in found.fixed_writes:
            self.under_way(instruction, file, first, words, state, at, write)

    def under_way(
        self, instruction: Machine, file: int, first: int, words: int, state: State, at: int, write: int
    ) -> None:
        """These registers get a new value: after a fixed time, or when the scoreboard says so."""
        for part in range(words):
            register = file << 9 | first + part
            if write != NO_BARRIER:
                state.written[register] = state.written.get(register, 0) | 1 << write
                state.fixed.pop(register, None)
            else:
                state.fixed[register] = [(self.timing.producer(instruction.opcode, file, part), at)]


def rewritten_sources(instructions: list[Machine], timing: Timing) -> list[bool]:
    """For each instruction of variable latency whether a later one of the block writes a register that it reads."""
    out = [False] * len(instructions)
    later: set[tuple[int, int]] = set()
    for number in range(len(instructions) - 1, -1, -1):
        instruction = instructions[number]
        if timing.variable(instruction.opcode):
            written = set(registers_written(instruction))
            out[number] = any(r in later and r not in written for r in registers_read(instruction))
        later.update(registers_written(instruction))
    return out
