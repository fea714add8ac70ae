"""Scoreboards of sm_61: rows of loads that share one, and waits for the first of a row (thesis section 5.4.5).

    LDG R2 (W5); LDG R3 (W5); LDG R4 (W5)      DEPBAR.LE SB5, 0x2; FADD R6, R2, R7

Loads of global and local memory come in the order of issue: when a scoreboard counts no more than the last k of them,
those before are there. Loads take scoreboards of their own while there are some, and share one then. Memory
instructions read their operands in order as well: the last reader of a register tells for those before it.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.sass.access import CLASS_BITS, NOTHING, ZEROS, Facts, Operands
from drawloom.sass.control import NO_BARRIER, pack_control
from drawloom.sass.isa import Target
from drawloom.sass.latencies import Timing
from drawloom.sass.latency_table import BARRIER_DELAY, COUNT_DELAY
from drawloom.sass.machine import Machine, MachineFunction
from drawloom.sass.syntax import NO_GUARD
from drawloom.sass.timetable import ALL_BOARDS, SCOREBOARDS, Timetable

#: The most loads behind the awaited one that a wait leaves out.
_MOST: Final = 31
#: A load that issued within so many cycles of the awaited one is waited for with it, as ptxas does: two come at once.
_TOGETHER: Final = 8
#: A wait stands no more cycles than these in front of what needs it, so that no other warp issues behind it.
_AHEAD: Final = 8


class RowTimetable(Timetable):
    """`loads[barrier]` are the cycles in which loads of this block issued that set a scoreboard and are counted;
    `place[register]` is how many there were with the one that the register waits for, on the scoreboard
    `board[register]` (-1: none that is counted). `queued[register]` are the scoreboards, as bits, of those who read it
    that memory instructions set."""

    def __init__(self, function: MachineFunction, target: Target, timing: Timing, operands: Operands) -> None:
        super().__init__(function, target, timing, operands)
        self.partial = target.opcode("DEPBAR.LE", "SB,I")
        self.loads: list[list[int]] = [[] for _ in range(SCOREBOARDS)]
        self.place = ZEROS[:]
        self.board = NOTHING[:]
        self.queued = ZEROS[:]
        self.placed: list[int] = []
        #: Per register, the last block (by its id) of which a memory instruction further down uses it before others do.
        self.next_queued = NOTHING[:]
        self.has_rows = True

    def schedule(self, instructions: list[Machine], block: int, drain: bool) -> tuple[list[Machine], i64]:
        for register in self.placed:
            self.board[register] = -1
            self.queued[register] = 0
        self.placed = []
        self.loads = [[] for _ in range(SCOREBOARDS)]
        return super().schedule(instructions, block, drain)

    def wait_for_some(self, out: list[Machine], instruction: Machine, last: i64, first: i64) -> i64:
        """Puts waits for the beginnings of rows in front of an instruction, from cycle `first` on; the cycle in which
        the last instruction of `out` issues then, which was `last`."""
        state = self.under_way
        one: i64 = 1
        for barrier in range(SCOREBOARDS):
            if not state.waits & one << barrier or len(self.loads[barrier]) < 2:
                continue
            later = self.later_loads(instruction, barrier)
            if later < 1:
                continue
            at = max(first, state.since[barrier] + BARRIER_DELAY, state.clock - _AHEAD)
            self.stall(out, at - last)
            control = pack_control(1, False, NO_BARRIER, NO_BARRIER, 0)
            out.append(Machine(self.partial, [barrier, int(later)], control=control, pos=instruction.pos))
            self.come(barrier, later)
            state.waits &= ~(one << barrier)
            last, first = at, at + COUNT_DELAY
        state.clock = max(state.clock, first)
        return last

    def later_loads(self, instruction: Machine, barrier: i64) -> i64:
        """How many loads behind those that an instruction waits for on a scoreboard need not have come."""
        state, table, place = self.under_way, self.table, instruction.at
        needed: i64 = 0
        for at in range(place + 2, table[place + 1]):
            register = table[at] >> CLASS_BITS
            boards = state.boards[register]
            if (boards | boards >> SCOREBOARDS) >> barrier & 1:
                if self.board[register] != barrier:
                    return 0
                needed = max(needed, self.place[register])
        loads = self.loads[barrier]
        if needed < len(loads) and loads[needed] - loads[needed - 1] <= _TOGETHER:
            needed += 1
        return min(len(loads) - needed, _MOST)

    def come(self, barrier: i64, later: i64) -> None:
        """All loads but the last so many of a scoreboard are over."""
        state = self.under_way
        bit: i64 = 1
        bit = bit << barrier
        there = len(self.loads[barrier]) - later
        for register in state.waiting(barrier):
            if self.board[register] == barrier and self.place[register] <= there:
                state.boards[register] &= ~(bit | bit << SCOREBOARDS)

    def earliest(self, instruction: Machine, found: Facts) -> None:
        """Memory instructions may write at once what others before them read."""
        super().earliest(instruction, found)
        state, table, place = self.under_way, self.table, instruction.at
        if not (found.queued and found.variable) or not state.waits:
            return
        kept: i64 = 0
        for at in range(place + 2, table[place]):
            kept |= state.boards[table[at] >> CLASS_BITS]
        for at in range(table[place], table[place + 1]):
            register = table[at] >> CLASS_BITS
            kept |= state.boards[register] | state.boards[register] >> SCOREBOARDS & ~self.queued[register]
        state.waits = kept & ALL_BOARDS

    def choose(self, is_counted: bool, busy: i64) -> i64:
        """Loads that are counted share a scoreboard when no more than one is free, others take no such if they can."""
        state = self.under_way
        one: i64 = 1
        free: i64 = -1
        row: i64 = -1
        other: i64 = -1
        count: i64 = 0
        for barrier in range(SCOREBOARDS):
            if not busy & one << barrier:
                count += 1
                if free < 0:
                    free = barrier
            elif self.loads[barrier]:
                if row < 0 or self.loads[barrier][-1] > self.loads[row][-1]:
                    row = barrier
            elif other < 0 or state.since[barrier] > state.since[other]:
                other = barrier
        if is_counted and row >= 0 and count < 2:
            return row
        return free if free >= 0 else other if other >= 0 else row

    def barriers(self, instruction: Machine, found: Facts, rewritten: bool, at: i64) -> tuple[i64, i64]:
        state, table, place = self.under_way, self.table, instruction.at
        before = [state.boards[table[n] >> CLASS_BITS] >> SCOREBOARDS for n in range(place + 2, table[place])]
        write, barrier = super().barriers(instruction, found, rewritten, at)
        is_counted = found.counted and instruction.guard == NO_GUARD and write != NO_BARRIER
        if is_counted:
            self.loads[write].append(int(at))
        told = barrier if barrier != NO_BARRIER else write
        if told == NO_BARRIER:
            return write, barrier
        bit: i64 = 1
        bit = bit << told
        for n in range(len(before)):
            register = table[place + 2 + n] >> CLASS_BITS
            others = before[n] & ~self.queued[register]
            self.note(register, told, is_counted and told == write)
            if found.queued and instruction.guard == NO_GUARD:
                state.boards[register] = state.boards[register] & ALL_BOARDS | (others | bit) << SCOREBOARDS
                self.queued[register] = bit & ~others
            else:
                self.queued[register] &= ~bit
        return write, barrier

    def note_writes(self, instruction: Machine, found: Facts, at: i64, write: i64) -> None:
        super().note_writes(instruction, found, at, write)
        if write != NO_BARRIER:
            # Under a guard a load may set nothing: ptxas counts such, we do not.
            is_counted = found.counted and instruction.guard == NO_GUARD
            table, place = self.table, instruction.at
            for n in range(table[place], table[place + 1]):
                self.note(table[n] >> CLASS_BITS, write, is_counted)

    def note(self, register: i64, barrier: i64, is_counted: bool) -> None:
        self.placed.append(int(register))
        self.board[register] = barrier if is_counted else -1
        self.place[register] = len(self.loads[barrier])

    def rewritten_sources(self, instructions: list[Machine], facts: list[Facts], block: i64) -> list[bool]:
        """Of the memory instructions that read a register before others write it, only the last has to tell."""
        out = [False] * len(instructions)
        next_queued, later, table = self.next_queued, self.later, self.table
        for number in range(len(instructions) - 1, -1, -1):
            instruction, found = instructions[number], facts[number]
            at = instruction.at
            is_queued = found.queued and instruction.guard == NO_GUARD
            if found.variable:
                for place in range(at + 2, table[at]):
                    register = table[place] >> CLASS_BITS
                    is_told = found.queued and next_queued[register] == block
                    if later[register] == block and not is_told and not self.writes(at, register):
                        out[number] = True
                        break
            for place in range(table[at], table[at + 1]):
                register = table[place] >> CLASS_BITS
                later[register] = block
                next_queued[register] = block if is_queued else -1
            if is_queued and found.variable:
                for place in range(at + 2, table[at]):
                    next_queued[table[place] >> CLASS_BITS] = block
        return out
