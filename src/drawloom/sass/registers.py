"""Register assignment: linear scan over live intervals with holes (thesis section 5.2), in place.

Intervals are taken in the order of their beginning. Each gets the lowest group of neighbouring registers, aligned to
its width, that is free over all of its ranges: what is live here is in a bit mask, what will be live again is looked
up register by register. Copies ask for the register of their other side. When no group is free, the interval that
costs least per position it blocks is kept in memory instead (or computed anew, if it is a constant), and the scan
starts over with the short lives that are left of it.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.errors import Error, SourceError, UnsupportedError
from drawloom.ptx.ir import Module
from drawloom.sass.abi import RETURN_ADDRESS, SAVED_BARRIER
from drawloom.sass.anew import constants
from drawloom.sass.effects import effects
from drawloom.sass.intervals import EVENT_SHIFT, Interval, Liveness
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


#: Registers, as bits, are kept in numbers of 32, in which groups begin at multiples of 2 or of 4.
_ROW_SHIFT: Final = 5
_ROW_MASK: Final = 31
_ROW_BITS: Final = (1 << 32) - 1
_EVEN: Final = _ROW_BITS // 3
_FOURTH: Final = _ROW_BITS // 15
#: The index of an edge in an event.
_EDGE_MASK: Final = (1 << EVENT_SHIFT) - 1
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
    """One pass over the intervals of one register file, by their `events`. `limit` registers may be used, those in
    `reserved` not; what is found goes into `assigned`, by virtual register."""

    def __init__(
        self, liveness: Liveness, file: int, events: vec[i64], assigned: vec[i64], limit: int, reserved: int
    ) -> None:
        self.file = file
        self.limit = limit
        function = liveness.function
        self.function = function
        self.files = function.files
        self.widths = function.widths
        self.carriers = function.carriers
        self.assigned = assigned
        self.intervals = liveness.intervals
        self.events = events
        #: Where an instruction names or changes a register by its number.
        self.fixed: list[Interval | None] = [None] * (limit + 1)
        if file == GENERAL:
            for register, interval in liveness.fixed.items():
                if register < limit:
                    self.fixed[register] = interval
        elif liveness.calls:
            # No call leaves predicates, uniform registers and the first barriers as they were.
            changed = Interval(-1)
            changed.ranges = vec[i64]([edge for at in reversed(liveness.calls) for edge in (at + 1, at + 2)])
            for register in range(SAVED_BARRIER if file == BARRIER else limit):
                self.fixed[register] = changed
        #: Registers, as bits, that no interval covers at the position.
        self.free = rows((1 << limit) - 1 & ~reserved)
        #: Registers that a function must save before it uses them: taken where no other one is free.
        costly = function.saved if file == GENERAL else 0
        if liveness.calls:
            costly &= ~(3 << RETURN_ADDRESS)
        self.is_costly = costly != 0
        self.costly = rows(costly)
        #: Of each register up to the highest that was given away, the intervals that have it and have not ended.
        self.held: list[list[Interval]] = []

    @property
    def highest(self) -> int:
        """The highest register that was given away, -1 if none was."""
        return len(self.held) - 1

    def run(self) -> None:
        """Finds the first register of every interval. Raises OutOfRegisters."""
        file, files, intervals = self.file, self.files, self.intervals
        for event in self.events:
            register = event >> EVENT_SHIFT
            if files[register] != file:
                continue
            interval = intervals[register]
            assert interval is not None
            edge = event & _EDGE_MASK
            if not edge:
                self.give(interval)
            elif not edge & 1:
                first = self.assigned[register]
                self.free[first >> _ROW_SHIFT] &= ~self.bits_of(register)
            else:
                first = self.assigned[register]
                self.free[first >> _ROW_SHIFT] |= self.bits_of(register)
                interval.current = edge + 1
                if edge + 1 == len(interval.ranges):
                    for place in range(first, first + self.widths[register]):
                        held = self.held[place]
                        if held[-1] is interval:
                            held.pop()
                        else:
                            held.remove(interval)

    def give(self, interval: Interval) -> None:
        """Finds the registers of an interval that begins here."""
        register = interval.register
        chosen = self.choose(interval)
        if chosen < 0:
            raise OutOfRegisters(self.victim(interval), self.file)
        self.assigned[register] = chosen
        end = chosen + self.widths[register]
        while len(self.held) < end:
            self.held.append([])
        for held in range(chosen, end):
            self.held[held].append(interval)
        self.free[chosen >> _ROW_SHIFT] &= ~self.bits_of(register)

    def bits_of(self, register: i64) -> i64:
        """The bits of a virtual register's group in its row."""
        width: i64 = self.widths[register]
        return ((1 << width) - 1) << (self.assigned[register] & _ROW_MASK)

    def choose(self, interval: Interval) -> i64:
        """The first register of a group that is free over the interval; -1 if there is none."""
        width: i64 = self.widths[interval.register]
        step: i64 = 1 if width == 1 else 2 if width == 2 else 4
        if interval.hint >= 0:
            wanted = self.place_of(interval.hint) - interval.hint_part
            if wanted >= 0 and wanted <= self.limit - width and wanted % step == 0:
                whole: i64 = ((1 << width) - 1) << (wanted & _ROW_MASK)
                row = wanted >> _ROW_SHIFT
                if self.free[row] & ~self.costly[row] & whole == whole and self.is_free(interval, wanted, width):
                    return wanted
        if self.is_costly:
            found = self.lowest(interval, width, True)
            if found >= 0:
                return found
        found = self.lowest(interval, width, False)
        if found >= 0:
            self.costly[found >> _ROW_SHIFT] &= ~(((1 << width) - 1) << (found & _ROW_MASK))
        return found

    def lowest(self, interval: Interval, width: i64, only_cheap: bool) -> i64:
        """The first group, from 0 on, of registers that are free now and not live in the interval later."""
        for row in range(len(self.free)):
            groups = self.free[row]
            if only_cheap:
                groups &= ~self.costly[row]
            if width == 2:
                groups = groups & groups >> 1 & _EVEN
            elif width > 2:
                third = groups >> 2
                groups = groups & groups >> 1 & third & (third >> 1 if width == 4 else third) & _FOURTH
            while groups:
                lowest = groups & -groups
                first = row << _ROW_SHIFT | place_of_bit(lowest)
                if self.is_free(interval, first, width):
                    return first
                groups ^= lowest
        return -1

    def place_of(self, value: i64) -> i64:
        """The register that a slot's value means by now; far below 0 if none yet."""
        if value < VIRTUAL:
            return value
        first = self.assigned[(value - VIRTUAL) >> 2]
        return first + (value & 3) if first >= 0 else -VIRTUAL

    def is_free(self, interval: Interval, first: i64, width: i64) -> bool:
        """Whether nobody who holds a register of the group now lives in the interval later."""
        for register in range(first, first + width):
            if register < len(self.held):
                for other in self.held[register]:
                    if interval.meets(other):
                        return False
            fixed = self.fixed[register]
            if fixed is not None and fixed.meets(interval):
                return False
        return True

    def cost(self, interval: Interval) -> float:
        """What keeping an interval elsewhere costs, for each position that it frees."""
        if interval.register in self.carriers:
            return float("inf")
        ranges = interval.ranges
        length: i64 = 0
        for i in range(0, len(ranges), 2):
            length += ranges[i + 1] - ranges[i]
        price = interval.weight / (int(length) * self.widths[interval.register])
        return price * _ANEW if interval.register in self.constants else price

    def victim(self, current: Interval) -> Interval:
        """The interval to keep elsewhere: the least read and written for the room that it takes."""
        self.constants = set(constants(self.function)) if self.file == GENERAL else set()
        best, least = current, self.cost(current)
        for register in range(len(self.held)):
            fixed = self.fixed[register]
            if fixed is not None and fixed.meets(current):
                continue  # it would not be free without the other one either
            for other in self.held[register]:
                if other.meets(current):
                    price = self.cost(other)
                    if price < least:
                        best, least = other, price
        return best


def rows(bits: int) -> vec[i64]:
    """A set of registers, as bits, in numbers of 32 bits."""
    return vec[i64]([bits >> (row << _ROW_SHIFT) & _ROW_BITS for row in range(8)])


def place_of_bit(bit: i64) -> i64:
    """Which bit of 32 this power of two is."""
    place: i64 = 0
    if not bit & 0xFFFF:
        place = 16
        bit >>= 16
    if not bit & 0xFF:
        place += 8
        bit >>= 8
    while not bit & 1:
        place += 1
        bit >>= 1
    return place


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
        assigned = vec[i64]([-1] * len(function.files))
        events = liveness.events()
        try:
            if saves_barriers(function, liveness, events):
                continue
            for file, size in SIZES.items():
                if not liveness.files >> file & 1:
                    continue
                kept = reserved if file == GENERAL else _DESCRIPTOR if file == UNIFORM else 0
                scan = Scan(liveness, file, events, assigned, limit if file == GENERAL else size, kept)
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


def saves_barriers(function: MachineFunction, liveness: Liveness, events: vec[i64]) -> bool:
    """Whether a function has just been made to leave the convergence barriers that it uses over calls as they were:
    they are kept in general registers meanwhile."""
    if function.is_entry or function.saved_barriers or not liveness.calls:
        return False
    scan = Scan(liveness, BARRIER, events, vec[i64]([-1] * len(function.files)), SIZES[BARRIER], 0)
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


def rewrite(function: MachineFunction, assigned: vec[i64]) -> None:
    """Put the assigned registers into all instructions; copies of a register to itself are left out."""
    for block in function.blocks:
        copies = False
        for instruction in block.instructions:
            values = instruction.values
            effect = effects(instruction.opcode)
            for place in effect.register_places:
                value: i64 = values[place]
                if value >= VIRTUAL:
                    values[place] = int(assigned[(value - VIRTUAL) >> 2] + (value & 3))
            guard: i64 = instruction.guard
            if guard >= VIRTUAL:
                instruction.guard = int(assigned[(guard - VIRTUAL) >> 2] | (guard & 1) << 3)
            if effect.is_copy and values[0] == values[1]:
                copies = True
        if copies:
            block.instructions = [i for i in block.instructions if not is_idle(i)]


def is_idle(instruction: Machine) -> bool:
    """Whether an instruction moves a register to itself."""
    return effects(instruction.opcode).is_copy and instruction.values[0] == instruction.values[1]
