"""Register assignment: linear scan over live intervals with holes (thesis section 5.2), in place.

Intervals are taken in the order of their beginning. Each gets the lowest group of neighbouring registers, aligned to
its width, that is free over all of its ranges: what is live here is in a bit mask, what will be live again is looked
up register by register. Copies ask for the register of their other side. When no group is free, the interval that
costs least per position it blocks is kept in memory instead (or computed anew, if it is a constant), and the scan
starts over with the short lives that are left of it.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.errors import Error, SourceError, UnsupportedError
from drawloom.ptx.ir import Module
from drawloom.ptx.liveness import WORD
from drawloom.sass.abi import RETURN_ADDRESS, SAVED_BARRIER
from drawloom.sass.anew import constants
from drawloom.sass.effects import effects
from drawloom.sass.intervals import Interval, Liveness, ranges_meet
from drawloom.sass.isa import load_target
from drawloom.sass.machine import (
    BARRIER,
    GENERAL,
    PREDICATE,
    UNIFORM,
    UNIFORM_PREDICATE,
    VIRTUAL,
    Machine,
    MachineFunction,
)
from drawloom.sass.spill import keep_elsewhere

#: Registers of each file that may be assigned.
SIZES: Final[dict[int, int]] = {GENERAL: 255, PREDICATE: 7, UNIFORM: 63, UNIFORM_PREDICATE: 7, BARRIER: 16}


#: Registers, as bits, are looked at in words of WORD, in which groups begin at multiples of 2 or of 4.
_WORD_MASK: Final = (1 << WORD) - 1
_EVEN: Final = _WORD_MASK // 3
_FOURTH: Final = _WORD_MASK // 15
#: The uniform registers that hold the descriptor of global memory, as bits.
_DESCRIPTOR: Final = 3 << 4


#: What it costs to make a constant anew, as a part of what memory costs: no waiting, no store.
_ANEW: Final = 0.1


class OutOfRegisters(Error):
    """Not enough registers: `interval` is what to keep elsewhere."""

    def __init__(self, interval: Interval, file: int) -> None:
        super().__init__("no register is free")
        self.interval = interval
        self.file = file


#: What the registers of each file are called.
_CALLED: Final[dict[int, str]] = {
    GENERAL: "registers", PREDICATE: "predicates", UNIFORM: "uniform registers",
    UNIFORM_PREDICATE: "uniform predicates", BARRIER: "convergence barriers",
}  # fmt: skip


def too_few(lack: OutOfRegisters, function: MachineFunction, module: Module, most: int) -> UnsupportedError:
    """The error for a function that cannot do with ``most`` general registers, or with those of another file, at the
    PTX instruction that first names the register that there is no room for."""
    count = most if lack.file == GENERAL else SIZES[lack.file]
    message = f"'{function.name}' cannot do with {count} {_CALLED[lack.file]}"
    found = [
        instruction.pos
        for block in function.blocks
        for instruction in block.instructions
        if instruction.pos >= 0 and names(instruction, lack.interval.register)
    ]
    return UnsupportedError(str(module.error(SourceError, min(found, default=-1), message)))


def names(instruction: Machine, register: int) -> bool:
    """Whether an instruction names a virtual register."""
    values = [instruction.values[place] for place in effects(instruction.opcode).register_places]
    values.append(instruction.guard)
    return any(value >= VIRTUAL and (value - VIRTUAL) >> 2 == register for value in values)


class Scan:
    """One pass over the intervals of one register file. `limit` registers may be used, those in `reserved` not; what
    is found goes into `assigned`, by virtual register."""

    def __init__(
        self, liveness: Liveness, file: int, intervals: list[Interval], assigned: list[int], limit: int, reserved: int
    ) -> None:
        self.file = file
        self.limit = limit
        function = liveness.function
        self.function = function
        self.widths = function.widths
        self.carriers = function.carriers
        self.assigned = assigned
        if file == GENERAL:
            self.fixed = {r: ascending(ranges) for r, ranges in liveness.fixed.items()}
        else:
            # No call leaves predicates, uniform registers and the first barriers as they were.
            changed = [edge for position in reversed(liveness.calls) for edge in (position + 1, position + 2)]
            count = SAVED_BARRIER if file == BARRIER else limit
            self.fixed = dict.fromkeys(range(count), changed) if changed else {}
        self.allowed = (1 << limit) - 1 & ~reserved
        #: Registers, as bits, that no interval covers at the position.
        self.free = self.allowed
        #: Registers that a function must save before it uses them: taken where no other one is free.
        self.costly = function.saved if file == GENERAL else 0
        if liveness.calls:
            self.costly &= ~(3 << RETURN_ADDRESS)
        #: Of each register up to the highest that was given away, the intervals that have it and have not ended.
        self.held: list[list[Interval]] = []
        self.intervals = intervals

    @property
    def highest(self) -> int:
        """The highest register that was given away, -1 if none was."""
        return len(self.held) - 1

    def run(self) -> None:
        """Finds the first register of every interval. Raises OutOfRegisters."""
        # An event is a position, whether an interval begins there, its number, and the index of the range's edge.
        edges = max([len(interval.ranges) for interval in self.intervals], default=0).bit_length()
        edge_mask = (1 << edges) - 1
        number_mask = (1 << len(self.intervals).bit_length()) - 1
        shift = edges + len(self.intervals).bit_length()
        events: list[int] = []
        for number, interval in enumerate(self.intervals):
            interval.current = 0
            kind = 1
            key = number << edges
            for position in interval.ranges:
                events.append((position << 1 | kind) << shift | key)
                key += 1
                kind = 0
        events.sort()
        for event in events:
            interval = self.intervals[event >> edges & number_mask]
            edge = event & edge_mask
            if not edge:
                self.give(interval)
            elif not edge & 1:
                self.free &= ~self.bits_of(interval.register)
            else:
                self.free |= self.bits_of(interval.register)
                interval.current = edge + 1
                if edge + 1 == len(interval.ranges):
                    first = self.assigned[interval.register]
                    for register in range(first, first + self.widths[interval.register]):
                        self.held[register].remove(interval)

    def give(self, interval: Interval) -> None:
        """Finds the registers of an interval that begins here."""
        chosen = self.choose(interval)
        if chosen < 0:
            raise OutOfRegisters(self.victim(interval), self.file)
        self.assigned[interval.register] = chosen
        end = chosen + self.widths[interval.register]
        while len(self.held) < end:
            self.held.append([])
        for register in range(chosen, end):
            self.held[register].append(interval)
        self.free &= ~self.bits_of(interval.register)

    def bits_of(self, register: int) -> int:
        return ((1 << self.widths[register]) - 1) << self.assigned[register] & self.allowed

    def choose(self, interval: Interval) -> int:
        """The first register of a group that is free over the interval; -1 if there is none."""
        width = self.widths[interval.register]
        step = 1 if width == 1 else 2 if width == 2 else 4
        cheap = self.free & ~self.costly if self.costly else self.free
        if interval.hint >= 0:
            wanted = self.place_of(interval.hint) - interval.hint_part
            if 0 <= wanted <= self.limit - width and wanted % step == 0:
                whole = (1 << width) - 1
                if cheap >> wanted & whole == whole and self.is_free(interval, wanted, width):
                    return wanted
        if self.costly:
            found = self.lowest(interval, width, cheap)
            if found >= 0:
                return found
        found = self.lowest(interval, width, self.free)
        if found >= 0:
            self.costly &= ~(((1 << width) - 1) << found)
        return found

    def lowest(self, interval: Interval, width: int, free: int) -> int:
        """The first group, from 0 on, of registers that are free now and not live in the interval later."""
        begin = 0
        while free:
            groups: i64 = free & _WORD_MASK
            if width == 2:
                groups = groups & groups >> 1 & _EVEN
            elif width > 2:
                third = groups >> 2
                groups = groups & groups >> 1 & third & (third >> 1 if width == 4 else third) & _FOURTH
            while groups:
                lowest: i64 = groups & -groups
                first = begin + int(lowest).bit_length() - 1
                if self.is_free(interval, first, width):
                    return first
                groups ^= lowest
            free >>= WORD
            begin += WORD
        return -1

    def place_of(self, value: int) -> int:
        """The register that a slot's value means by now; far below 0 if none yet."""
        if value < VIRTUAL:
            return value
        first = self.assigned[(value - VIRTUAL) >> 2]
        return first + (value & 3) if first >= 0 else -VIRTUAL

    def is_free(self, interval: Interval, first: int, width: int) -> bool:
        """Whether nobody who holds a register of the group now lives in the interval later."""
        for register in range(first, first + width):
            if register < len(self.held):
                for other in self.held[register]:
                    if interval.meets(other):
                        return False
            if self.fixed:
                fixed = self.fixed.get(register)
                if fixed is not None and ranges_meet(fixed, 0, interval.ranges, 0):
                    return False
        return True

    def cost(self, interval: Interval) -> float:
        """What keeping an interval elsewhere costs, for each position that it frees."""
        if interval.register in self.carriers:
            return float("inf")
        length = sum([interval.ranges[i + 1] - interval.ranges[i] for i in range(0, len(interval.ranges), 2)])
        price = interval.weight / (length * self.widths[interval.register])
        return price * _ANEW if interval.register in self.constants else price

    def victim(self, current: Interval) -> Interval:
        """The interval to keep elsewhere: the least read and written for the room that it takes."""
        self.constants = set(constants(self.function)) if self.file == GENERAL else set()
        best, least = current, self.cost(current)
        for register in range(len(self.held)):
            fixed = self.fixed.get(register)
            if fixed is not None and ranges_meet(fixed, 0, current.ranges, 0):
                continue  # it would not be free without the other one either
            for other in self.held[register]:
                if other.meets(current):
                    price = self.cost(other)
                    if price < least:
                        best, least = other, price
        return best


class Allocation:
    """What was used: `registers` general ones (their number), and what was kept in memory, in bytes."""

    def __init__(self) -> None:
        self.registers = 0
        self.predicates = 0
        self.spill_stores = 0
        self.spill_loads = 0

    def add(self, other: Allocation) -> None:
        """What another function of the same kernel uses."""
        self.registers = max(self.registers, other.registers)
        self.predicates = max(self.predicates, other.predicates)
        self.spill_stores += other.spill_stores
        self.spill_loads += other.spill_loads


def assign_registers(function: MachineFunction, limit: int, reserved: int) -> Allocation:
    """Give every virtual register of ``function`` a register, in place.

    At most ``limit`` general registers are used, those whose bits are set in ``reserved`` not. Raises OutOfRegisters
    when not even the operands of one instruction fit.
    """
    out = Allocation()
    while True:
        liveness = Liveness(function)
        assigned = [-1] * len(function.files)
        try:
            if saves_barriers(function, liveness):
                continue
            for file, intervals in by_file(liveness).items():
                kept = reserved if file == GENERAL else _DESCRIPTOR if file == UNIFORM else 0
                scan = Scan(liveness, file, intervals, assigned, limit if file == GENERAL else SIZES[file], kept)
                scan.run()
                if file == GENERAL:
                    out.registers = max(scan.highest + 1, function.named)
                elif file == PREDICATE:
                    out.predicates = scan.highest + 1
            break
        except OutOfRegisters as lack:
            keep_elsewhere(function, lack, out)
    rewrite(function, assigned)
    return out


def by_file(liveness: Liveness) -> dict[int, list[Interval]]:
    """The intervals of each register file that there are any of, the files in the order of SIZES."""
    files = liveness.function.files
    found: dict[int, list[Interval]] = {file: [] for file in SIZES}
    for interval in liveness.intervals:
        if interval is not None and interval.ranges:
            found[files[interval.register]].append(interval)
    return {file: intervals for file, intervals in found.items() if intervals}


def saves_barriers(function: MachineFunction, liveness: Liveness) -> bool:
    """Whether a function has just been made to leave the convergence barriers that it uses over calls as they were:
    they are kept in general registers meanwhile."""
    if function.is_entry or function.saved_barriers or not liveness.calls:
        return False
    intervals = by_file(liveness).get(BARRIER, [])
    scan = Scan(liveness, BARRIER, intervals, [-1] * len(function.files), SIZES[BARRIER], 0)
    scan.run()
    for barrier in range(SAVED_BARRIER, scan.highest + 1):
        save_barrier(function, barrier)
    function.saved_barriers = True
    return scan.highest >= SAVED_BARRIER


def save_barrier(function: MachineFunction, barrier: int) -> None:
    tables = load_target(function.target)
    kept = function.register(GENERAL)
    function.blocks[0].instructions.insert(0, Machine(tables.opcode("BMOV.32.CLEAR", "R,B"), [kept, barrier]))
    restore = tables.opcode("BMOV.32", "B,R")
    for block in function.blocks:
        if block.instructions and effects(block.instructions[-1].opcode).flow == "return":
            block.instructions.insert(-1, Machine(restore, [barrier, kept]))


def ascending(ranges: list[int]) -> list[int]:
    """Ranges that were noted in any order, ascending."""
    pairs = sorted([(ranges[i], ranges[i + 1]) for i in range(0, len(ranges), 2)])
    return [edge for pair in pairs for edge in pair]


def rewrite(function: MachineFunction, assigned: list[int]) -> None:
    """Put the assigned registers into all instructions; copies of a register to itself are left out."""
    for block in function.blocks:
        copies = False
        for instruction in block.instructions:
            values = instruction.values
            effect = effects(instruction.opcode)
            for place in effect.register_places:
                value = values[place]
                if value >= VIRTUAL:
                    values[place] = assigned[(value - VIRTUAL) >> 2] + (value & 3)
            if instruction.guard >= VIRTUAL:
                negated = instruction.guard & 1
                instruction.guard = assigned[(instruction.guard - VIRTUAL) >> 2] | negated << 3
            if effect.is_copy and values[0] == values[1]:
                copies = True
        if copies:
            block.instructions = [i for i in block.instructions if not is_idle(i)]


def is_idle(instruction: Machine) -> bool:
    """Whether an instruction moves a register to itself."""
    return effects(instruction.opcode).is_copy and instruction.values[0] == instruction.values[1]
