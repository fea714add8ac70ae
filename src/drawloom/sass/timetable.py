"""Stall counts, scoreboards and waits for instructions whose order is settled (thesis sections 5.4.3 and 5.4.5).

Every instruction issues as early as its registers allow. Results of fixed latency are waited for by stalls; what
comes by scoreboard sets one of six write barriers, and a read barrier where its sources are rewritten before; readers
and rewriters wait for them. What is under way at the end of a block goes into its successors, except along back
edges, where everything is waited for.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, extend, vec
from mypy_extensions import i64, mypyc_attr

from drawloom.sass.access import CLASS_BITS, CLASS_MASK, NOTHING, ZEROS, Facts, Operands, facts_of
from drawloom.sass.control import NO_BARRIER, YIELD_SHIFT
from drawloom.sass.isa import Target
from drawloom.sass.latencies import CONSUMER_COUNT, PRODUCER_COUNT, Timing
from drawloom.sass.machine import Machine, MachineFunction
from drawloom.sass.reuse import Reuse
from drawloom.sass.syntax import NO_GUARD

SCOREBOARDS: Final = 6
#: Cycles between the instruction that sets a scoreboard and the first that waits for it.
_SET: Final = 2
_MOST: Final = 15
#: From this stall on another warp must be allowed to issue (sm_75 and later).
_YIELDS: Final = 12
#: Of a register whose result of fixed latency comes from several producers, on different ways into the block.
_SEVERAL: Final = -2
_LONG_AGO: Final = -16
#: Numbers that stand for registers with something else above them.
_REGISTER_BITS: Final = 9
_REGISTER_MASK: Final = (1 << _REGISTER_BITS) - 1
_ABOVE: Final = _REGISTER_BITS + CLASS_BITS
#: All scoreboards, as bits; those of registers that are read stand above those of registers that are written.
ALL_BOARDS: Final = (1 << SCOREBOARDS) - 1


@mypyc_attr(acyclic=True)
class State:
    """What is under way at the beginning of a block, in any order, the same perhaps twice. `fixed` are results of fixed
    latency: how many cycles ago the producer issued, below that its class, below that the register. `told` are the
    scoreboards of a register, as in `UnderWay.boards`, above the register. `since[barrier]` is the cycle in which a
    scoreboard was last set, from the beginning of the block."""

    def __init__(self, fixed: vec[i64], told: vec[i64], since: vec[i64]) -> None:
        self.fixed = fixed
        self.told = told
        self.since = since

    def join(self, other: State) -> None:
        """Add what is under way on another way into the same block."""
        self.fixed = extend(self.fixed, other.fixed)
        self.told = extend(self.told, other.told)
        for barrier in range(SCOREBOARDS):
            self.since[barrier] = max(self.since[barrier], other.since[barrier])

    def copy(self) -> State:
        return State(self.fixed[:], self.told[:], self.since[:])


class UnderWay:
    """The same while a block is gone through, in lists by register. Cycles count from the beginning of the function, as
    if its blocks ran one after the other and each waited for the results of the one before: what an
    earlier block left behind is then long over.

    `producer` is the class of the last result of fixed latency (-1: none, _SEVERAL: they are in `several`, as cycle of
    issue << CLASS_BITS | class), `issued` its cycle; `log` the registers that got one since `log_begin`, the first
    `carried` of them before the block. `boards` are the scoreboards, as bits, of instructions of variable latency that
    write a register and, above, of those that read it; `set_for[barrier]` is the place in `chain` of the last register
    that has a scoreboard's bit, and `busy` all bits that are in use.
    """

    def __init__(self, timing: Timing) -> None:
        self.delays = timing.delays
        self.latest = timing.latest
        self.rewrites = timing.rewrites
        self.longest: i64 = timing.longest
        self.producer = NOTHING[:]
        self.issued = ZEROS[:]
        self.boards = ZEROS[:]
        self.several: dict[int, list[int]] = {}
        self.log = vec[i64]()
        self.log_begin: i64 = 0
        self.carried: i64 = 0
        self.set_for = vec[i64]([-1] * SCOREBOARDS)
        self.chain = vec[i64]()
        self.busy: i64 = 0
        self.since = vec[i64]([_LONG_AGO] * SCOREBOARDS)
        #: Where the instruction at hand stands: the first cycle it may issue in, the scoreboards it waits for.
        self.clock: i64 = self.longest + 1
        self.waits: i64 = 0
        #: Until here only what computes may issue.
        self.held: i64 = 0

    def begin(self, state: State | None, base: i64) -> None:
        """A block begins in cycle ``base``."""
        self.clock = base
        self.log_begin = len(self.log)
        since = self.since
        for barrier in range(SCOREBOARDS):
            since[barrier] = base + (state.since[barrier] if state is not None else _LONG_AGO)
        if state is not None:
            for entry in state.fixed:
                self.carry(entry & _REGISTER_MASK, entry >> _REGISTER_BITS & CLASS_MASK, base - (entry >> _ABOVE), base)
            for entry in state.told:
                register = entry & _REGISTER_MASK
                boards = entry >> _REGISTER_BITS & ~self.boards[register]
                barriers = (boards | boards >> SCOREBOARDS) & ALL_BOARDS
                for barrier in range(SCOREBOARDS):
                    if barriers >> barrier & 1:
                        self.tell(register, barrier, boards)
        self.carried = len(self.log) - self.log_begin

    def carry(self, register: i64, producer: i64, at: i64, base: i64) -> None:
        """A result of fixed latency is under way when the block begins, perhaps one of several."""
        issued = self.issued[register]
        known = self.producer[register]
        if issued + self.longest <= base:
            self.log = append(self.log, register)
        elif known != producer or issued != at:
            entry = int(at << CLASS_BITS | producer)
            if known != _SEVERAL:
                self.several[register] = [int(issued << CLASS_BITS | known), entry]
            elif entry not in self.several[register]:
                self.several[register].append(entry)
            producer = _SEVERAL
            at = max(at, issued)
        self.producer[register] = producer
        self.issued[register] = at

    def tell(self, register: i64, barrier: i64, boards: i64) -> None:
        """Note that a register waits for a scoreboard, with these bits of `boards`."""
        one: i64 = 1
        self.boards[register] |= boards
        self.busy |= one << barrier
        self.chain = append(self.chain, self.set_for[barrier] << _REGISTER_BITS | register)
        self.set_for[barrier] = len(self.chain) - 1

    def left(self, end: i64) -> State:
        """What is left in cycle ``end``."""
        fixed = vec[i64]()
        for place in range(len(self.log) - 1, self.log_begin - 1, -1):
            register = self.log[place]
            age = end - self.issued[register]
            if age >= self.longest:
                if place >= self.log_begin + self.carried:
                    break  # those before it issued before it
                continue
            producer = self.producer[register]
            if producer >= 0:
                fixed = append(fixed, (age << CLASS_BITS | producer) << _REGISTER_BITS | register)
            elif producer == _SEVERAL:
                for entry in self.several[register]:
                    age = end - (entry >> CLASS_BITS)
                    if age < self.longest:
                        kind: i64 = entry & CLASS_MASK
                        fixed = append(fixed, (age << CLASS_BITS | kind) << _REGISTER_BITS | register)
        told = vec[i64]()
        for barrier in range(SCOREBOARDS):
            if not self.busy >> barrier & 1:
                continue
            for register in self.waiting(barrier):
                if self.boards[register]:
                    told = append(told, self.boards[register] << _REGISTER_BITS | register)
        since = vec[i64]([_LONG_AGO] * SCOREBOARDS)
        for barrier in range(SCOREBOARDS):
            since[barrier] = max(self.since[barrier] - end, _LONG_AGO)
        return State(fixed, told, since)

    def drained(self) -> i64:
        """When everything of fixed latency is there."""
        end = self.clock
        for place in range(self.log_begin, len(self.log)):
            register = self.log[place]
            producer = self.producer[register]
            if producer >= 0:
                end = max(end, self.issued[register] + self.latest[producer])
            elif producer == _SEVERAL:
                for entry in self.several[register]:
                    end = max(end, (entry >> CLASS_BITS) + self.latest[entry & CLASS_MASK])
        return end

    def waiting(self, barrier: i64) -> vec[i64]:
        """The registers that may have a scoreboard's bit."""
        out = vec[i64]()
        place = self.set_for[barrier]
        while place >= 0:
            out = append(out, self.chain[place] & _REGISTER_MASK)
            place = self.chain[place] >> _REGISTER_BITS
        return out

    def done(self, barriers: i64) -> None:
        """These scoreboards were waited for."""
        left = ~(barriers | barriers << SCOREBOARDS)
        boards, chain = self.boards, self.chain
        for barrier in range(SCOREBOARDS):
            if barriers >> barrier & 1:
                place = self.set_for[barrier]
                while place >= 0:
                    boards[chain[place] & _REGISTER_MASK] &= left
                    place = chain[place] >> _REGISTER_BITS
                self.set_for[barrier] = -1
        self.busy &= left

    def wait_for_several(self, register: i64, consumer: i64, second: i64) -> None:
        """Until the last of several results can be read, by a consumer of a class, or (-1) written by a second one."""
        for entry in self.several[register]:
            first: i64 = entry & CLASS_MASK
            delay = self.delays[first * CONSUMER_COUNT + consumer] if consumer >= 0 else self.between(first, second)
            self.clock = max(self.clock, (entry >> CLASS_BITS) + delay)

    def between(self, first: i64, second: i64) -> i64:
        """Cycles until a result of class `second` may follow one; below 0: one that comes by scoreboard."""
        return self.latest[first] if second < 0 else self.rewrites[first * PRODUCER_COUNT + second]

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
    """Sets the control bits of all instructions of a function, whose registers ``operands`` has. `serial` waits for
    everything at once."""

    def __init__(
        self, function: MachineFunction, target: Target, timing: Timing, operands: Operands, serial: bool = False
    ) -> None:
        self.function = function
        self.timing = timing
        self.table = operands.table
        self.serial = serial
        self.nop = target.opcode("NOP", "")
        self.entry: list[State | None] = [None] * len(function.blocks)
        self.scheduled = [False] * len(function.blocks)
        self.under_way = UnderWay(timing)
        self.reuse = Reuse(target.wide, operands)
        self.has_rows = False
        #: Per register, the last block (by its id) of which an instruction further down writes it.
        self.later = NOTHING[:]

    def run(self) -> None:
        state = self.under_way
        base = state.clock
        for block in self.function.blocks:
            state.begin(self.entry[block.id], base)
            self.entry[block.id] = None
            drain = self.closes(block.successors, block.id)
            block.instructions, end = self.schedule(block.instructions, block.id, drain)
            self.scheduled[block.id] = True
            following = [successor for successor in block.successors if not self.scheduled[successor]]
            if following:
                out = state.left(end)
                for successor in following:
                    known = self.entry[successor]
                    if known is not None:
                        known.join(out)
                    else:
                        self.entry[successor] = out if successor == following[-1] else out.copy()
            state.done(state.busy)
            base = end + state.longest + 1

    def closes(self, successors: list[int], block: int) -> bool:
        """Whether an edge goes back to a block whose times are settled."""
        return any(successor == block or self.scheduled[successor] for successor in successors)

    def schedule(self, instructions: list[Machine], block: int, drain: bool) -> tuple[list[Machine], i64]:
        """Control bits for one block, and the cycle of its end."""
        out: list[Machine] = []
        state = self.under_way
        base = state.clock
        facts = [facts_of(instruction.opcode, self.timing) for instruction in instructions]
        rewritten = self.rewritten_sources(instructions, facts, block)
        last = base - 1  # when the one before issued
        count = len(instructions)
        for number, instruction in enumerate(instructions):
            found = facts[number]
            ready = state.clock
            self.earliest(instruction, found)
            if not found.computes:
                state.clock = max(state.clock, state.held)
            if self.has_rows and state.waits and not found.leaves:
                last = self.wait_for_some(out, instruction, last, ready)
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
            elif at > base:
                out.append(Machine(self.nop, [], pos=instruction.pos))
                self.stall(out, at - base)
            if waits:
                state.done(waits)
            write: i64 = NO_BARRIER
            read: i64 = NO_BARRIER
            if found.variable:
                write, read = self.barriers(instruction, found, rewritten[number], at)
            self.note_writes(instruction, found, at, write)
            instruction.control = int(1 | 1 << YIELD_SHIFT | write << 5 | read << 8 | waits << 11)
            out.append(instruction)
            last = at
            state.clock = at + found.settles
            if found.holds:
                state.held = at + found.holds
            if found.sleeps:
                self.stall(out, found.settles)
                out.append(Machine(self.nop, [], pos=instruction.pos))
                last = state.clock
                state.clock += 1
            if self.serial or leaves:
                state.clock = max(state.clock, last + state.longest)
        end = max(state.drained() if drain else state.clock, state.held)
        if out:
            self.stall(out, end - last)
        if not self.serial:
            self.reuse.mark(instructions, facts)
        return out, end

    def wait_for_some(self, out: list[Machine], instruction: Machine, last: i64, first: i64) -> i64:
        """Waits in front of an instruction for a part of what shares a scoreboard: on sm_61."""
        return last

    def choose(self, is_counted: bool, busy: i64) -> i64:
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
        control: i64 = instruction.control & ~31
        if cycles < _YIELDS:
            control |= 1 << YIELD_SHIFT
        instruction.control = int(control | cycles)

    def earliest(self, instruction: Machine, found: Facts) -> None:
        """Moves the clock to the first cycle in which an instruction may issue, and says what it waits for."""
        state, table, place = self.under_way, self.table, instruction.at
        boards, producers, issued, delays = state.boards, state.producer, state.issued, state.delays
        waits: i64 = 0
        clock = state.clock
        several: i64 = -1
        for at in range(place + 2, table[place]):
            register = table[at] >> CLASS_BITS
            waits |= boards[register] & ALL_BOARDS
            producer = producers[register]
            if producer >= 0:
                clock = max(clock, issued[register] + delays[producer * CONSUMER_COUNT + (table[at] & CLASS_MASK)])
            elif producer == _SEVERAL:
                several = at
        for at in range(table[place], table[place + 1]):
            register = table[at] >> CLASS_BITS
            waits |= (boards[register] | boards[register] >> SCOREBOARDS) & ALL_BOARDS
            producer = producers[register]
            if producer >= 0:
                second = -1 if found.variable else table[at] & CLASS_MASK
                clock = max(clock, issued[register] + state.between(producer, second))
            elif producer == _SEVERAL:
                several = at
        state.waits = waits
        state.clock = clock
        if several >= 0:
            self.earliest_of_several(place, found.variable)

    def earliest_of_several(self, place: i64, is_variable: bool) -> None:
        """The same for registers whose results come from several producers."""
        state, table = self.under_way, self.table
        for at in range(place + 2, table[place + 1]):
            register = table[at] >> CLASS_BITS
            if state.producer[register] == _SEVERAL:
                kind = table[at] & CLASS_MASK
                if at < table[place]:
                    state.wait_for_several(register, kind, -1)
                else:
                    state.wait_for_several(register, -1, -1 if is_variable else kind)

    def barriers(self, instruction: Machine, found: Facts, rewritten: bool, at: i64) -> tuple[i64, i64]:
        """The write and the read barrier that an instruction of variable latency sets."""
        state, table, place = self.under_way, self.table, instruction.at
        busy = state.busy
        one: i64 = 1
        write: i64 = NO_BARRIER
        barrier: i64 = NO_BARRIER
        has_result = found.tells and table[place] < table[place + 1]
        if has_result:
            write = self.choose(found.counted and instruction.guard == NO_GUARD, busy)
            busy |= one << write
        if rewritten or (not has_result and place + 2 < table[place]):
            barrier = self.choose(False, busy)
        told = barrier if barrier != NO_BARRIER else write
        if told != NO_BARRIER:
            for source in range(place + 2, table[place]):
                state.tell(table[source] >> CLASS_BITS, told, one << told + SCOREBOARDS)
        if write != NO_BARRIER:
            state.since[write] = at
        if barrier != NO_BARRIER:
            state.since[barrier] = at
        return write, barrier

    def note_writes(self, instruction: Machine, found: Facts, at: i64, write: i64) -> None:
        """The registers that get a new value: after a fixed time, or when the scoreboard says so."""
        state, table, place = self.under_way, self.table, instruction.at
        one: i64 = 1
        for written in range(table[place], table[place + 1]):
            register = table[written] >> CLASS_BITS
            if write != NO_BARRIER:
                state.tell(register, write, one << write)
                state.producer[register] = -1
            else:
                state.log = append(state.log, register)
                state.producer[register] = table[written] & CLASS_MASK
                state.issued[register] = at

    def rewritten_sources(self, instructions: list[Machine], facts: list[Facts], block: i64) -> list[bool]:
        """For each instruction of variable latency whether a later one of the block writes a register that it
        reads."""
        count: i64 = len(instructions)
        out = [False] * len(instructions)
        if not any(found.variable for found in facts):
            return out
        later, table = self.later, self.table
        for number in range(count - 1, -1, -1):
            at = instructions[number].at
            if facts[number].variable:
                out[number] = self.is_rewritten(at, block)
            for place in range(table[at], table[at + 1]):
                later[table[place] >> CLASS_BITS] = block
        return out

    def is_rewritten(self, at: i64, block: i64) -> bool:
        """Whether an instruction further down, and not this one, writes a register that this one reads."""
        table = self.table
        for place in range(at + 2, table[at]):
            register = table[place] >> CLASS_BITS
            if self.later[register] == block and not self.writes(at, register):
                return True
        return False

    def writes(self, at: i64, register: i64) -> bool:
        table = self.table
        return any(table[place] >> CLASS_BITS == register for place in range(table[at], table[at + 1]))
