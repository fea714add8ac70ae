"""Register assignment: linear scan over live intervals with holes (thesis section 5.2), in place.

Lives are taken in the order of their beginning. Each gets the lowest group of neighbouring registers, aligned to
its width, that is free over all of its ranges: what is live here is in a bit mask, what will be live again is looked
up register by register. Copies ask for the register of their other side. When no group of general registers is free,
lives are split (`splitting.py`) and the scan starts over. Where alignment or holes still leave no group, and in the
other files, the lives that cost least per position they block are evicted from one: they are kept elsewhere at every
use (`spill.py`). The scan goes on without them, and starts over with the short lives that are left.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.ir import Module
from drawloom.sass.abi import RETURN_ADDRESS, SAVED_BARRIER
from drawloom.sass.anew import constants
from drawloom.sass.effects import effects
from drawloom.sass.intervals import (
    AGAIN,
    BEGINS,
    FILE_SHIFT,
    KIND_MASK,
    NAMED,
    REGISTER_MASK,
    REGISTER_SHIFT,
    Liveness,
)
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
from drawloom.sass.spill import OutOfRegisters, Slots, keep_elsewhere
from drawloom.sass.splitting import Splitter

#: Registers of each file that may be assigned. What others lack is kept in general registers, so those come last.
SIZES: Final[dict[int, int]] = {PREDICATE: 7, UNIFORM: 63, UNIFORM_PREDICATE: 7, BARRIER: 16, GENERAL: 255}


#: Registers, as bits, are kept in numbers of 32, in which groups begin at multiples of 2 or of 4.
_ROW_SHIFT: Final = 5
_ROW: Final = 1 << _ROW_SHIFT
_ROW_MASK: Final = 31
_ROW_BITS: Final = (1 << 32) - 1
_EVEN: Final = _ROW_BITS // 3
_FOURTH: Final = _ROW_BITS // 15
#: The uniform registers that hold the descriptor of global memory, as bits.
_DESCRIPTOR: Final = 3 << 4


#: What it costs to make a constant anew, as a part of what memory costs: no waiting, no store.
_ANEW: Final = 0.1


#: Registers of a thread at which a multiprocessor can hold all its warps, less those that the ABI keeps.
_FULL: Final = 30
_SEVERAL_LOADS: Final = 3


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
        if instruction.pos >= 0 and names(instruction, lack.register)
    ]
    return UnsupportedError(str(module.error(SourceError, min(found, default=-1), message)))


def names(instruction: Machine, register: int) -> bool:
    """Whether an instruction names a virtual register."""
    values = [instruction.values[place] for place in effects(instruction.opcode).register_places]
    values.append(instruction.guard)
    return any(value >= VIRTUAL and (value - VIRTUAL) >> 2 == register for value in values)


class Scan:
    """One pass over the lives in one register file, by their `events`. `limit` registers may be used, those in
    `reserved` not; what is found goes into `assigned`, by virtual register. With `in_turn` the search begins behind the
    group that was found last, not at 0. With `evicts` the scan goes on where no group is free."""

    def __init__(
        self,
        liveness: Liveness,
        file: int,
        events: vec[i64],
        assigned: vec[i64],
        limit: int,
        reserved: int,
        in_turn: bool = False,
        evicts: bool = False,
    ) -> None:
        self.liveness = liveness
        self.file: i64 = file
        self.limit: i64 = limit
        self.reserved = reserved
        function = liveness.function
        self.function = function
        self.widths = function.widths
        self.first = liveness.first
        self.following = liveness.following
        self.assigned = assigned
        self.events = events
        #: Where the ranges stand in which registers of this number or a smaller one are named or changed.
        self.named = liveness.count if file == GENERAL else liveness.count + NAMED
        #: No call leaves predicates, uniform registers and the first barriers as they were.
        self.changed: i64 = 0 if not liveness.has_calls else SAVED_BARRIER if file == BARRIER else limit
        #: Registers, as bits, that nobody lives in at the position.
        self.free = rows((1 << limit) - 1 & ~reserved)
        #: Registers that a function must save before it uses them: taken where no other one is free.
        costly = function.saved if file == GENERAL else 0
        if liveness.has_calls:
            costly &= ~(3 << RETURN_ADDRESS)
        self.is_costly = costly != 0
        self.costly = rows(costly)
        self.in_turn = in_turn
        self.evicts = evicts
        #: Behind the group that was found last, while they are given in turn.
        self.next: i64 = 0
        #: Whether groups of four that are free are left to those who need four, while they are given in turn.
        self.has_fours = in_turn and 4 in [self.widths[n] for n, of in enumerate(function.files) if of == file]
        self.keeps_fours = False
        #: The highest register that was given away, -1 if none was.
        self.highest: i64 = -1
        #: Of every virtual register the first range that the scan has not left behind.
        self.current = liveness.first[:]
        #: Of every register the last virtual one of several ranges that has it, as 4 times its number plus which of
        #: its words that is; of each of those the one before.
        has_holes = liveness.several >> file & 1
        self.holder = vec[i64]([-1] * (limit + 1 if has_holes else 0))
        self.before = vec[i64]([-1] * (4 * int(liveness.count) if has_holes else 0))
        #: Where the life begins that gets registers.
        self.position: i64 = 0
        #: Of every register the first range that names or changes it by its number and does not end before `position`.
        self.fixed_range = vec[i64]([self.fixed_first(place) for place in range(limit)])
        #: The virtual registers that found no room, or made it for others.
        self.evicted: list[int] = []
        self.constants: set[int] = set()
        self.weights: list[float] = []
        #: The virtual registers that have begun and perhaps not ended before the event at `looked`, once some were
        #: evicted.
        self.living: list[int] = []
        self.looked = 0

    def run(self) -> None:
        """Find the first register of every life. Raises OutOfRegisters with all that must be kept elsewhere."""
        file, first, following = self.file, self.first, self.following
        assigned, free, current = self.assigned, self.free, self.current
        for event in self.events:
            if event >> FILE_SHIFT != file:
                continue
            register = event >> REGISTER_SHIFT & REGISTER_MASK
            kind = event & KIND_MASK
            if kind == BEGINS:
                self.give(register)
                continue
            given = assigned[register]
            if given < 0:
                continue  # evicted
            bits = self.bits_of(register)
            if kind == AGAIN:
                free[given >> _ROW_SHIFT] &= ~bits
                continue
            free[given >> _ROW_SHIFT] |= bits
            current[register] = following[current[register]]
            if current[register] < 0 and following[first[register]] >= 0:
                self.release(register)
        if self.evicted:
            raise OutOfRegisters(self.evicted, int(self.file))

    def give(self, register: i64) -> None:
        """Find the registers of a life that begins here, and evict others where none are free."""
        width: i64 = self.widths[register]
        self.position = self.liveness.begins[self.first[register]]
        chosen = self.choose(register, width)
        if chosen < 0:
            if not self.evicts:
                raise OutOfRegisters([int(register)], int(self.file))
            victims = self.victims(register, width)
            self.evicted += victims
            if victims[0] == register:
                return
            for victim in victims:
                self.evict(victim)
            chosen = self.choose(register, width)
            if chosen < 0:
                raise OutOfRegisters(self.evicted, int(self.file))
        self.assigned[register] = chosen
        self.highest = max(self.highest, chosen + width - 1)
        self.free[chosen >> _ROW_SHIFT] &= ~self.bits_of(register)
        if self.following[self.first[register]] >= 0:
            for part in range(width):
                self.before[4 * register + part] = self.holder[chosen + part]
                self.holder[chosen + part] = 4 * register + part

    def evict(self, register: i64) -> None:
        """Take its registers from a life that began before and has not ended."""
        given = self.assigned[register]
        if self.liveness.begins[self.current[register]] <= self.position:
            self.free[given >> _ROW_SHIFT] |= self.bits_of(register)
        if self.following[self.first[register]] >= 0:
            self.release(register)
        self.assigned[register] = -1
        self.current[register] = -1

    def release(self, register: i64) -> None:
        """A life of several ranges ends."""
        holder, before = self.holder, self.before
        given = self.assigned[register]
        width: i64 = self.widths[register]
        for part in range(width):
            own = 4 * register + part
            if holder[given + part] == own:
                holder[given + part] = before[own]
                continue
            other = holder[given + part]
            while before[other] != own:
                other = before[other]
            before[other] = before[own]

    def bits_of(self, register: i64) -> i64:
        """The bits of a virtual register's group in its row."""
        width: i64 = self.widths[register]
        return ((1 << width) - 1) << (self.assigned[register] & _ROW_MASK)

    def choose(self, register: i64, width: i64) -> i64:
        """The first register of a group that is free as long as a virtual register lives; -1 if there is none."""
        step: i64 = 1 if width == 1 else 2 if width == 2 else 4
        hint = self.liveness.hint[register]
        if hint >= 0:
            wanted = self.place_of(hint) - self.liveness.hint_part[register]
            if wanted >= 0 and wanted <= self.limit - width and wanted % step == 0:
                whole: i64 = ((1 << width) - 1) << (wanted & _ROW_MASK)
                row = wanted >> _ROW_SHIFT
                if self.free[row] & ~self.costly[row] & whole == whole and self.is_free(register, wanted, width):
                    return wanted
        if self.in_turn:
            self.keeps_fours = self.has_fours and width < 4
            found = self.lowest(register, width, True, self.next)
            if found < 0:
                found = self.lowest(register, width, True)
            self.keeps_fours = False
            if found < 0:
                found = self.lowest(register, width, True)
            if found >= 0:
                self.next = found + width
                return found
        if self.is_costly:
            found = self.lowest(register, width, True)
            if found >= 0:
                return found
        found = self.lowest(register, width, False)
        if found >= 0 and self.is_costly:
            self.costly[found >> _ROW_SHIFT] &= ~(((1 << width) - 1) << (found & _ROW_MASK))
        return found

    def lowest(self, register: i64, width: i64, only_cheap: bool, begin: i64 = 0) -> i64:
        """The first group, from ``begin`` on, of registers that are free as long as a virtual register lives."""
        for row in range(begin >> _ROW_SHIFT, len(self.free)):
            groups = self.free[row]
            if self.keeps_fours:
                whole = groups & groups >> 1 & groups >> 2 & groups >> 3 & _FOURTH
                groups &= ~(whole * 15)
            if row == begin >> _ROW_SHIFT:
                groups &= _ROW_BITS << (begin & _ROW_MASK)
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
                if self.is_free(register, first, width):
                    return first
                groups ^= lowest
        return -1

    def place_of(self, value: i64) -> i64:
        """The register that a slot's value means by now; far below 0 if none yet."""
        if value < VIRTUAL:
            return value
        first = self.assigned[(value - VIRTUAL) >> 2]
        return first + (value & 3) if first >= 0 else -VIRTUAL

    def is_free(self, register: i64, given: i64, width: i64) -> bool:
        """Whether nobody who has a register of a group, which is free now, lives in it before a virtual register's life
        is over."""
        begin = self.first[register]
        for place in range(given, given + width):
            if len(self.holder):
                other = self.holder[place]
                while other >= 0:
                    if self.liveness.meet(begin, self.current[other >> 2]):
                        return False
                    other = self.before[other]
            if self.liveness.meet(self.fixed(place), begin):
                return False
        return True

    def fixed(self, place: i64) -> i64:
        """The first range, of those that do not end before the position, in which instructions name or change a
        register by its number; -1 if there is none."""
        at = self.fixed_range[place]
        ends, following = self.liveness.ends, self.following
        while at >= 0 and ends[at] <= self.position:
            at = following[at]
        self.fixed_range[place] = at
        return at

    def fixed_first(self, place: i64) -> i64:
        """The first range in which instructions name or change a register by its number; -1 if there is none."""
        if self.file == GENERAL:
            return self.first[self.named + place]
        return self.first[self.named] if place < self.changed else -1

    def cost(self, register: i64) -> float:
        """What keeping a virtual register elsewhere costs, for each position that it frees."""
        if register in self.function.carriers:
            return float("inf")
        begins, ends = self.liveness.begins, self.liveness.ends
        length: i64 = 0
        at = self.first[register]
        while at >= 0:
            length += ends[at] - begins[at]
            at = self.following[at]
        price = self.weights[register] / (int(length) * self.widths[register])
        return price * _ANEW if register in self.constants else price

    def victims(self, current: i64, width: i64) -> list[int]:
        """The virtual registers to keep elsewhere so that a group is free for ``current``: of each group those that
        live there again before its life is over, and of the groups the one whose registers are least read and written
        for the room that they take."""
        if not self.weights:
            self.constants = set(constants(self.function)) if self.file == GENERAL else set()
            self.weights = self.liveness.weights()
        begin = self.first[current]
        best, least = [int(current)], self.cost(current)
        held = self.held(current)
        prices = [self.price(place, held, begin) for place in range(self.limit)]
        step: i64 = 1 if width == 1 else 2 if width == 2 else 4
        for first in range(0, self.limit - width + 1, step):
            price = sum(prices[first : first + width])
            if price < least:
                found: list[int] = []
                for place in range(first, first + width):
                    if place < len(held):
                        found += [o for o in held[place] if o not in found and self.is_met(o, begin)]
                if found:
                    best, least = found, price
        if best[0] == current and current in self.function.carriers:
            raise OutOfRegisters([*self.evicted, int(current)], int(self.file))
        return best

    def price(self, place: i64, held: list[list[int]], begin: i64) -> float:
        """What the registers together cost that live in this one before the life that begins with a range is over."""
        if self.reserved >> int(place) & 1 or self.liveness.meet(self.fixed(place), begin):
            return float("inf")
        if place >= len(held):
            return 0.0
        return sum([self.cost(other) for other in held[place] if self.is_met(other, begin)])

    def is_met(self, register: i64, begin: i64) -> bool:
        return self.liveness.meet(self.current[register], begin)

    def held(self, current: i64) -> list[list[int]]:
        """Of each register up to the highest that was given away, who has it and lives on when ``current`` begins."""
        while True:
            event = self.events[self.looked]
            register = event >> REGISTER_SHIFT & REGISTER_MASK
            if event >> FILE_SHIFT == self.file and event & KIND_MASK == BEGINS:
                if register == current:
                    break
                self.living.append(int(register))
            self.looked += 1
        self.living = [living for living in self.living if self.current[living] >= 0 and self.assigned[living] >= 0]
        out: list[list[int]] = [[] for _ in range(self.highest + 1)]
        for living in self.living:
            for part in range(self.widths[living]):
                out[self.assigned[living] + part].append(living)
        return out


def rows(bits: int) -> vec[i64]:
    """A set of registers, as bits, in numbers of 32 bits."""
    out = vec[i64]([0] * 8)
    row = 0
    while bits:
        out[row] = bits & _ROW_BITS
        bits >>= _ROW
        row += 1
    return out


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
    slots = Slots(function, out)
    is_split = False
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
                most = limit if file == GENERAL else size
                scan = Scan(liveness, file, events, assigned, most, kept, False, file != GENERAL or is_split)
                scan.run()
                if file in (GENERAL, PREDICATE):
                    scan = spread(scan, most)
                if file == GENERAL:
                    out.registers = max(int(scan.highest) + 1, function.named)
                elif file == PREDICATE:
                    out.predicates = int(scan.highest) + 1
            break
        except OutOfRegisters as lack:
            if lack.file == GENERAL and not is_split:
                is_split = True
                Splitter(function, liveness, limit, reserved, slots).run()
            else:
                keep_elsewhere(function, lack, slots)
    rewrite(function, assigned)
    return out


def spread(tight: Scan, limit: int) -> Scan:
    """The same lives in more registers, taken in turn, where a block waits for several results at once: loads that wait
    for the registers of earlier ones come one by one. As many more as cost no occupancy; ``tight`` if none do."""
    own = int(tight.file)
    most = min(limit, roomy(int(tight.highest) + 1)) if own == GENERAL else limit
    if not waits_for_several(tight.function):
        return tight
    before = tight.assigned[:]
    wide = Scan(tight.liveness, own, tight.events, tight.assigned, most, tight.reserved, True)
    for register, file in enumerate(tight.function.files):
        if file == own:
            wide.assigned[register] = -1
    try:
        wide.run()
    except OutOfRegisters:
        for register in range(len(before)):
            tight.assigned[register] = before[register]
        return tight
    return wide


def roomy(registers: int) -> int:
    """How many registers a kernel may take that needs so many: warps get them by eights, and all warps that a
    multiprocessor can hold have room for 32 each."""
    spare = 6 if registers < _FULL else 0
    return min((registers + spare + 7) & -8, _FULL) if registers <= _FULL else (registers + 7) & -8


def waits_for_several(function: MachineFunction) -> bool:
    """Whether a block has several loads."""
    for block in function.blocks:
        loads = 0
        for instruction in block.instructions:
            if effects(instruction.opcode).memory == "load":
                loads += 1
                if loads == _SEVERAL_LOADS:
                    return True
    return False


def saves_barriers(function: MachineFunction, liveness: Liveness, events: vec[i64]) -> bool:
    """Whether a function has just been made to leave the convergence barriers that it uses over calls as they were:
    they are kept in general registers meanwhile."""
    if function.is_entry or function.saved_barriers or not liveness.has_calls:
        return False
    scan = Scan(liveness, BARRIER, events, vec[i64]([-1] * len(function.files)), SIZES[BARRIER], 0)
    scan.run()
    for barrier in range(SAVED_BARRIER, int(scan.highest) + 1):
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
            values = cast("list[i64]", instruction.values)
            effect = instruction.opcode.effects or effects(instruction.opcode)
            for place in effect.register_places:
                value = values[place]
                if value >= VIRTUAL:
                    values[place] = assigned[(value - VIRTUAL) >> 2] + (value & 3)
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
