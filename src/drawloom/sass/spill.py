"""Keeps a virtual register elsewhere than in its file, in place: constants are made anew at every reader, general
registers go to local memory under the stack pointer, predicates and convergence barriers to a general register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    MachineFunction,
    virtual_id,
)
from drawloom.sass.syntax import NO_GUARD

if TYPE_CHECKING:
    from drawloom.sass.registers import Allocation, OutOfRegisters


def keep_elsewhere(function: MachineFunction, lack: OutOfRegisters, report: Allocation) -> None:
    """Make room where ``lack`` says there is none. Raises it again if its life cannot be made shorter."""
    register = lack.register
    if register in function.carriers:
        raise lack
    if lack.file == GENERAL:
        writers = constants(function).get(register)
        if writers is not None:
            make_anew(function, register, writers)
        else:
            to_memory(function, register, report)
    elif lack.file == PREDICATE:
        to_general(function, register)
    elif lack.file == BARRIER:
        barrier_to_general(function, register)
    else:
        raise lack


def carrier(function: MachineFunction, file: int, width: int) -> int:
    """A new register that cannot be kept elsewhere again."""
    value = function.register(file, width)
    function.carriers.add(virtual_id(value))
    return value


def to_memory(function: MachineFunction, register: int, report: Allocation) -> None:
    """Store a register behind every instruction that writes it, load it before every one that reads it."""
    width = function.widths[register]
    size = 4 * (4 if width == 3 else width)
    function.frame = (function.frame + size - 1) & -size
    offset = function.frame
    function.frame += size
    for block in function.blocks:
        out: list[Machine] = []
        for instruction in block.instructions:
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


def to_general(function: MachineFunction, register: int) -> None:
    """Keep a predicate as 0 or 1 in a general register."""
    target = load_target(function.target)
    home = function.register(GENERAL)
    test = target.opcode("ISETP.NE.U32.AND", "P,P,R,R,P")
    keep = target.opcode("SEL", "R,R,I,!P")
    for block in function.blocks:
        out: list[Machine] = []
        for instruction in block.instructions:
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


def barrier_to_general(function: MachineFunction, register: int) -> None:
    """Keep the lanes that a convergence barrier waits for in a general register from its BSSY to its BSYNC."""
    target = load_target(function.target)
    home = function.register(GENERAL)
    take, put = target.opcode("BMOV.32.CLEAR", "R,B"), target.opcode("BMOV.32", "B,R")
    value = VIRTUAL + 4 * register
    for block in function.blocks:
        out: list[Machine] = []
        for instruction in block.instructions:
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
