"""Keep virtual registers elsewhere than in their file, in place: constants are made anew before every reader, general
registers go to local memory under the stack pointer, predicates and convergence barriers to a general register.

All registers that an assignment lacked are taken in one walk over the function. Each instruction that names one of them
gets a new register, a carrier, which lives at that instruction alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.errors import Error
from drawloom.sass.anew import constants
from drawloom.sass.effects import PLACE_SHIFT, effects
from drawloom.sass.isa import load_target
from drawloom.sass.machine import (
    BARRIER,
    GENERAL,
    PREDICATE,
    PT,
    RZ,
    VIRTUAL,
    Machine,
    MachineFunction,
    virtual_id,
)
from drawloom.sass.syntax import NO_GUARD

if TYPE_CHECKING:
    from drawloom.sass.registers import Allocation

_SUFFIX: Final[dict[int, str]] = {1: "", 2: ".64", 4: ".128"}


class OutOfRegisters(Error):
    """Not enough registers: `registers` are the virtual ones to keep elsewhere, `register` is the first of them."""

    def __init__(self, registers: list[int], file: int) -> None:
        super().__init__("no register is free")
        self.registers = registers
        self.register = registers[0]
        self.file = file


class Slots:
    """Where registers stand in the frame: `offsets` by virtual register. `inserted` are the loads and stores of them,
    by identity, which `report` counts in bytes."""

    def __init__(self, function: MachineFunction, report: Allocation) -> None:
        self.function = function
        self.report = report
        self.offsets: dict[int, int] = {}
        self.inserted: dict[int, Machine] = {}

    def offset(self, register: int) -> int:
        """The place of a register, found when it is asked for first."""
        known = self.offsets.get(register)
        if known is None:
            width = self.function.widths[register]
            size = 4 * (4 if width == 3 else width)
            known = (self.function.frame + size - 1) & -size
            self.function.frame = known + size
            self.offsets[register] = known
        return known

    def loads(self, register: int, value: int, words: int, pos: int) -> list[Machine]:
        """Load ``words`` (as bits) of a register into the virtual register whose first word is ``value``."""
        target, frame = load_target(self.function.target), self.function.frame_pointer
        at = self.offset(register)
        out = [
            Machine(target.opcode("LDL" + _SUFFIX[count], "R,[R+I]"), [value + part, frame, at + 4 * part], pos=pos)
            for part, count in groups(words)
        ]
        self.report.spill_loads += 4 * words.bit_count()
        self.inserted.update({id(instruction): instruction for instruction in out})
        return out

    def stores(self, register: int, value: int, words: int, guard: int, pos: int) -> list[Machine]:
        """Store ``words`` (as bits) of a register from the virtual register whose first word is ``value``."""
        target, frame = load_target(self.function.target), self.function.frame_pointer
        at = self.offset(register)
        out = [
            Machine(
                target.opcode("STL" + _SUFFIX[count], "[R+I],R"), [frame, at + 4 * part, value + part], guard, pos=pos
            )
            for part, count in groups(words)
        ]
        self.report.spill_stores += 4 * words.bit_count()
        self.inserted.update({id(instruction): instruction for instruction in out})
        return out

    def is_dropped(self, instruction: Machine, register: int) -> bool:
        """Whether an instruction loads or stores a register of which each use will do so itself from now on."""
        if register not in self.offsets or id(instruction) not in self.inserted:
            return False
        words = 4 * effects(instruction.opcode).data_words
        if effects(instruction.opcode).writes:
            self.report.spill_loads -= words
        else:
            self.report.spill_stores -= words
        return True


def groups(words: int) -> list[tuple[int, int]]:
    """The accesses to memory for some words of a register: the first word of each and how many it has."""
    if words == 15:
        return [(0, 4)]
    out: list[tuple[int, int]] = []
    for pair in (0, 2):
        bits = words >> pair & 3
        if bits == 3:
            out.append((pair, 2))
        elif bits:
            out.append((pair + (bits >> 1), 1))
    return out


def keep_elsewhere(function: MachineFunction, lack: OutOfRegisters, slots: Slots) -> None:
    """Make room where ``lack`` says there is none. Raises it again if the lives of its registers cannot be made
    shorter."""
    kept = {register for register in lack.registers if register not in function.carriers}
    if not kept or lack.file not in (GENERAL, PREDICATE, BARRIER):
        raise lack
    made = Replacement(function, kept, lack.file, slots)
    for block in function.blocks:
        out: list[Machine] = []
        for instruction in block.instructions:
            named = made.named(instruction)
            if named:
                made.replace(instruction, named, out)
            else:
                out.append(instruction)
        block.instructions = out


class Replacement:
    """What becomes of the instructions that name one of the `kept` registers of a file. `homes` are the general
    registers that hold predicates and barriers, `writers` the instructions that make constants."""

    def __init__(self, function: MachineFunction, kept: set[int], file: int, slots: Slots) -> None:
        self.function = function
        self.kept = kept
        self.file = file
        self.slots = slots
        self.target = load_target(function.target)
        self.homes: dict[int, int] = {}
        self.writers: dict[int, list[Machine]] = {}
        self.dropped: set[int] = set()
        if file == GENERAL:
            known = constants(function)
            self.writers = {register: known[register] for register in sorted(kept) if register in known}
            self.dropped = {id(writer) for writers in self.writers.values() for writer in writers}
        else:
            self.homes = {register: function.register(GENERAL) for register in sorted(kept)}

    def named(self, instruction: Machine) -> list[int]:
        """The kept registers that an instruction names, its guard first."""
        found: list[int] = []
        if instruction.guard >= VIRTUAL and virtual_id(instruction.guard) in self.kept:
            found.append(virtual_id(instruction.guard))
        for place in effects(instruction.opcode).register_places:
            value = instruction.values[place]
            if value >= VIRTUAL and virtual_id(value) in self.kept and virtual_id(value) not in found:
                found.append(virtual_id(value))
        return found

    def replace(self, instruction: Machine, named: list[int], out: list[Machine]) -> None:
        """Add an instruction to ``out`` with carriers in place of the kept registers that it names."""
        if id(instruction) in self.dropped:
            return
        if named[0] not in self.writers and self.slots.is_dropped(instruction, named[0]):
            return  # what stores a constant to the place of other values stays
        behind: list[Machine] = []
        for register in named:
            if register in self.writers:
                self.make_anew(instruction, register, out)
            elif self.file == GENERAL:
                self.use_memory(instruction, register, out, behind)
            elif self.file == PREDICATE:
                self.use_general(instruction, register, out, behind)
            else:
                self.move_barrier(instruction, register, out, behind)
        out.append(instruction)
        out += behind

    def carrier(self, file: int, width: int) -> int:
        """A new register that cannot be kept elsewhere again."""
        value = self.function.register(file, width)
        self.function.carriers.add(virtual_id(value))
        return value

    def make_anew(self, instruction: Machine, register: int, out: list[Machine]) -> None:
        """Make the words of a constant that an instruction reads before it."""
        words = words_of(instruction, effects(instruction.opcode).reads, register)
        fresh = self.carrier(GENERAL, self.function.widths[register])
        out += copies_of(self.writers[register], words, fresh, instruction.pos)
        rename(instruction, register, fresh)

    def use_memory(self, instruction: Machine, register: int, out: list[Machine], behind: list[Machine]) -> None:
        """Load what an instruction reads of a register before it, store what it writes behind it."""
        effect = effects(instruction.opcode)
        reads = words_of(instruction, effect.reads, register)
        writes = words_of(instruction, effect.writes, register)
        guard = instruction.guard
        if writes and writes_own_guard(instruction):
            guard, reads = NO_GUARD, reads | writes
        else:
            begin(instruction, register)
        fresh = self.carrier(GENERAL, self.function.widths[register])
        if reads:
            out += self.slots.loads(register, fresh, reads, instruction.pos)
        if writes:
            behind += self.slots.stores(register, fresh, writes, guard, instruction.pos)
        rename(instruction, register, fresh)

    def use_general(self, instruction: Machine, register: int, out: list[Machine], behind: list[Machine]) -> None:
        """Keep a predicate as 0 or 1 in a general register."""
        effect = effects(instruction.opcode)
        home = self.homes[register]
        test = self.target.opcode("ISETP.NE.U32.AND", "P,P,R,R,P")
        guards = instruction.guard >= VIRTUAL and virtual_id(instruction.guard) == register
        if guards or words_of(instruction, effect.reads, register):
            known = self.carrier(PREDICATE, 1)
            out.append(Machine(test, [known, PT, home, RZ, PT], pos=instruction.pos))
            if guards:
                instruction.guard = known | (instruction.guard & 1)
            replace(instruction, effect.reads, register, known)
        if words_of(instruction, effect.writes, register):
            made = self.carrier(PREDICATE, 1)
            guard = instruction.guard
            if writes_own_guard(instruction):
                guard = NO_GUARD
                out.append(Machine(test, [made, PT, home, RZ, PT], pos=instruction.pos))
            else:
                begin(instruction, register)
            replace(instruction, effect.writes, register, made)
            keep = self.target.opcode("SEL", "R,R,I,!P")
            behind.append(Machine(keep, [home, RZ, 1, made], guard, pos=instruction.pos))

    def move_barrier(self, instruction: Machine, register: int, out: list[Machine], behind: list[Machine]) -> None:
        """Keep the lanes that a convergence barrier waits for in a general register from its BSSY to its BSYNC."""
        known = self.carrier(BARRIER, 1)
        home = self.homes[register]
        instruction.values[0] = known
        if effects(instruction.opcode).base == "BSSY":
            behind.append(Machine(self.target.opcode("BMOV.32.CLEAR", "R,B"), [home, known], pos=instruction.pos))
        else:
            out.append(Machine(self.target.opcode("BMOV.32", "B,R"), [known, home], pos=instruction.pos))


def copies_of(writers: list[Machine], words: int, value: int, pos: int) -> list[Machine]:
    """The writers of ``words`` (as bits) of a constant, for the virtual register whose first word is ``value``."""
    out: list[Machine] = []
    for writer in writers:
        place = effects(writer.opcode).write_places[0] >> PLACE_SHIFT
        part = (writer.values[place] - VIRTUAL) & 3
        if words >> part & 1:
            values = list(writer.values)
            values[place] = value + part
            out.append(Machine(writer.opcode, values, pos=pos))
    return out


def rename(instruction: Machine, register: int, value: int) -> None:
    """Name another virtual register wherever an instruction names this general one."""
    for place in effects(instruction.opcode).register_places:
        known = instruction.values[place]
        if known >= VIRTUAL and virtual_id(known) == register:
            instruction.values[place] = value + (known & 3)


def writes_own_guard(instruction: Machine) -> bool:
    """Whether the guard is another one behind the instruction, so that what follows cannot have it too."""
    if instruction.guard < VIRTUAL:
        return False
    own = virtual_id(instruction.guard)
    for place, _ in effects(instruction.opcode).writes:
        value = instruction.values[place]
        if value >= VIRTUAL and virtual_id(value) == own:
            return True
    return False


def begin(instruction: Machine, register: int) -> None:
    """Where an instruction writes a register, under a guard or not, a life begins."""
    for place, _ in effects(instruction.opcode).writes:
        value = instruction.values[place]
        if value >= VIRTUAL and virtual_id(value) == register:
            instruction.begins |= 1 << place


def words_of(instruction: Machine, places: list[tuple[int, int]], register: int) -> int:
    """The words of a register, as bits, that an instruction reads (or writes)."""
    found = 0
    for place, words in places:
        value = instruction.values[place]
        if value >= VIRTUAL and virtual_id(value) == register:
            found |= ((1 << words) - 1) << (value & 3)
    return found


def replace(instruction: Machine, places: list[tuple[int, int]], register: int, by: int) -> None:
    """Put another register of one word where an instruction reads (or writes) this one."""
    for place, _ in places:
        value = instruction.values[place]
        if value >= VIRTUAL and virtual_id(value) == register:
            instruction.values[place] = by
