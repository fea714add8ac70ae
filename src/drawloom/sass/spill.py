"""Keeps a virtual register elsewhere than in its file, in place: constants are made anew at every reader, general
registers go to local memory under the stack pointer, predicates and convergence barriers to a general register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.errors import Error
from drawloom.sass.anew import constants, make_anew
from drawloom.sass.effects import effects
from drawloom.sass.isa import load_target
from drawloom.sass.machine import (
    BARRIER,
    GENERAL,
    PREDICATE,
    PT,
    RZ,
    VIRTUAL,
    Machine,
    MachineBlock,
    MachineFunction,
    virtual_id,
)
from drawloom.sass.syntax import NO_GUARD

if TYPE_CHECKING:
    from drawloom.sass.registers import Allocation


class OutOfRegisters(Error):
    """Not enough registers: `registers` are the virtual ones to keep elsewhere, `register` is the first of them."""

    def __init__(self, registers: list[int], file: int) -> None:
        super().__init__("no register is free")
        self.registers = registers
        self.register = registers[0]
        self.file = file


class Uses:
    """The blocks and the instructions (by identity) that name each virtual register."""

    def __init__(self, function: MachineFunction) -> None:
        self.blocks: dict[int, list[MachineBlock]] = {}
        self.instructions: dict[int, set[int]] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                for place in effects(instruction.opcode).register_places:
                    if instruction.values[place] >= VIRTUAL:
                        self.add(virtual_id(instruction.values[place]), block, instruction)
                if instruction.guard >= VIRTUAL:
                    self.add(virtual_id(instruction.guard), block, instruction)

    def add(self, register: int, block: MachineBlock, instruction: Machine) -> None:
        blocks = self.blocks.setdefault(register, [])
        if not blocks or blocks[-1] is not block:
            blocks.append(block)
        self.instructions.setdefault(register, set()).add(id(instruction))


def keep_elsewhere(function: MachineFunction, registers: list[int], file: int, report: Allocation) -> None:
    """Make room by keeping ``registers`` of a file elsewhere. Raises OutOfRegisters for one whose life cannot be made
    shorter."""
    uses = Uses(function)
    known = constants(function) if file == GENERAL else {}
    for register in registers:
        if register in function.carriers:
            raise OutOfRegisters([register], file)
        if file == GENERAL:
            writers = known.get(register)
            if writers is not None:
                make_anew(function, register, writers, uses.blocks[register])
            else:
                to_memory(function, register, uses, report)
        elif file == PREDICATE:
            to_general(function, register, uses)
        elif file == BARRIER:
            barrier_to_general(function, register, uses)
        else:
            raise OutOfRegisters([register], file)


def carrier(function: MachineFunction, file: int, width: int) -> int:
    """A new register that cannot be kept elsewhere again."""
    value = function.register(file, width)
    function.carriers.add(virtual_id(value))
    return value


def to_memory(function: MachineFunction, register: int, uses: Uses, report: Allocation) -> None:
    """Store a register behind every instruction that writes it, load it before every one that reads it."""
    width = function.widths[register]
    size = 4 * (4 if width == 3 else width)
    function.frame = (function.frame + size - 1) & -size
    offset = function.frame
    function.frame += size
    named = uses.instructions.get(register, set())
    for block in uses.blocks.get(register, []):
        out: list[Machine] = []
        for instruction in block.instructions:
            if id(instruction) not in named:
                out.append(instruction)
                continue
            effect = effects(instruction.opcode)
            reads = words_of(instruction, effect.reads, register)
            writes = words_of(instruction, effect.writes, register)
            if not reads and not writes:
                out.append(instruction)
                continue
            fresh = carrier(function, GENERAL, width)
            guard = instruction.guard
            if writes and writes_own_guard(instruction):
                guard, reads = NO_GUARD, sorted({*reads, *writes})
            else:
                begin(instruction, register)
            for part in reads:
                out.append(local(function, "LDL", fresh + part, offset + 4 * part, NO_GUARD, instruction.pos))
                report.spill_loads += 4
            for place, value in enumerate(instruction.values):
                if is_register(instruction, place) and value >= VIRTUAL and (value - VIRTUAL) >> 2 == register:
                    instruction.values[place] = fresh + (value & 3)
            out.append(instruction)
            for part in writes:
                out.append(local(function, "STL", fresh + part, offset + 4 * part, guard, instruction.pos))
                report.spill_stores += 4
        block.instructions = out


def is_register(instruction: Machine, place: int) -> bool:
    return instruction.opcode.slots[place].kind in ("R", "P")


def writes_own_guard(instruction: Machine) -> bool:
    """Whether the guard is another one behind the instruction, so that what follows cannot have it too."""
    if instruction.guard < VIRTUAL:
        return False
    own = (instruction.guard - VIRTUAL) >> 2
    for place, _ in effects(instruction.opcode).writes:
        value = instruction.values[place]
        if value >= VIRTUAL and (value - VIRTUAL) >> 2 == own:
            return True
    return False


def begin(instruction: Machine, register: int) -> None:
    """Where an instruction writes a register, under a guard or not, a life begins."""
    for place, _ in effects(instruction.opcode).writes:
        value = instruction.values[place]
        if value >= VIRTUAL and (value - VIRTUAL) >> 2 == register:
            instruction.begins |= 1 << place


def words_of(instruction: Machine, places: list[tuple[int, int]], register: int) -> list[int]:
    """The words of a register that an instruction reads (or writes), ascending."""
    parts: set[int] = set()
    for place, words in places:
        value = instruction.values[place]
        if value >= VIRTUAL and (value - VIRTUAL) >> 2 == register:
            parts.update(range(value & 3, (value & 3) + words))
    return sorted(parts)


def local(function: MachineFunction, mnemonic: str, value: int, offset: int, guard: int, pos: int) -> Machine:
    """A load or store of one word of the frame."""
    target, frame = load_target(function.target), function.frame_pointer
    if mnemonic == "LDL":
        return Machine(target.opcode("LDL", "R,[R+I]"), [value, frame, offset], guard, pos=pos)
    return Machine(target.opcode("STL", "[R+I],R"), [frame, offset, value], guard, pos=pos)


def to_general(function: MachineFunction, register: int, uses: Uses) -> None:
    """Keep a predicate as 0 or 1 in a general register."""
    target = load_target(function.target)
    home = function.register(GENERAL)
    test = target.opcode("ISETP.NE.U32.AND", "P,P,R,R,P")
    keep = target.opcode("SEL", "R,R,I,!P")
    named = uses.instructions.get(register, set())
    for block in uses.blocks.get(register, []):
        out: list[Machine] = []
        for instruction in block.instructions:
            if id(instruction) not in named:
                out.append(instruction)
                continue
            effect = effects(instruction.opcode)
            guards = instruction.guard >= VIRTUAL and (instruction.guard - VIRTUAL) >> 2 == register
            reads = bool(words_of(instruction, effect.reads, register))
            writes = bool(words_of(instruction, effect.writes, register))
            if not guards and not reads and not writes:
                out.append(instruction)
                continue
            if guards or reads:
                known = carrier(function, PREDICATE, 1)
                out.append(Machine(test, [known, PT, home, RZ, PT], pos=instruction.pos))
                if guards:
                    instruction.guard = known | (instruction.guard & 1)
                replace(instruction, effect.reads, register, known)
            if not writes:
                out.append(instruction)
                continue
            made = carrier(function, PREDICATE, 1)
            if writes_own_guard(instruction):
                guard = NO_GUARD
                out.append(Machine(test, [made, PT, home, RZ, PT], pos=instruction.pos))
            else:
                guard = instruction.guard
                begin(instruction, register)
            replace(instruction, effect.writes, register, made)
            out.append(instruction)
            out.append(Machine(keep, [home, RZ, 1, made], guard, pos=instruction.pos))
        block.instructions = out


def barrier_to_general(function: MachineFunction, register: int, uses: Uses) -> None:
    """Keep the lanes that a convergence barrier waits for in a general register from its BSSY to its BSYNC."""
    target = load_target(function.target)
    home = function.register(GENERAL)
    take, put = target.opcode("BMOV.32.CLEAR", "R,B"), target.opcode("BMOV.32", "B,R")
    value = VIRTUAL + 4 * register
    named = uses.instructions.get(register, set())
    for block in uses.blocks.get(register, []):
        out: list[Machine] = []
        for instruction in block.instructions:
            if id(instruction) not in named:
                out.append(instruction)
                continue
            if instruction.values[:1] == [value] and instruction.opcode.slots[0].kind == "B":
                known = carrier(function, BARRIER, 1)
                instruction.values[0] = known
                if effects(instruction.opcode).base == "BSSY":
                    out += [instruction, Machine(take, [home, known], pos=instruction.pos)]
                else:
                    out += [Machine(put, [known, home], pos=instruction.pos), instruction]
            else:
                out.append(instruction)
        block.instructions = out


def replace(instruction: Machine, places: list[tuple[int, int]], register: int, by: int) -> None:
    """Put another register of one word where an instruction reads (or writes) this one."""
    for place, _ in places:
        value = instruction.values[place]
        if value >= VIRTUAL and (value - VIRTUAL) >> 2 == register:
            instruction.values[place] = by
