"""Find the constants that may be made anew at every reader where no register is free to keep them.

    MOV v, 0x3f800000 ... FADD x, a, v   ->   ... MOV t, 0x3f800000; FADD x, a, t

That costs an instruction for each reader, where memory costs a load, and a store besides. A constant is a register of
which each word is written once, for all lanes, by an instruction of the ALU or FMA that reads nothing but immediates,
constant banks and the frame's address.
"""

from __future__ import annotations

from typing import Final

from drawloom.sass.effects import IS_GENERAL, PLACE_SHIFT, effects
from drawloom.sass.machine import GENERAL, NEUTRAL, PREDICATE, VIRTUAL, Machine, MachineFunction, virtual_id
from drawloom.sass.syntax import NO_GUARD

_UNITS: Final = ("alu", "fma")


def constants(function: MachineFunction) -> dict[int, list[Machine]]:
    """The writers of every virtual register that is a constant."""
    found: dict[int, list[Machine]] = {}
    others: set[int] = set()
    written: set[int] = set()
    of_calls = parts_of_calls(function)
    for block in function.blocks:
        for instruction in block.instructions:
            for access in effects(instruction.opcode).write_places:
                value = instruction.values[access >> PLACE_SHIFT]
                if value < VIRTUAL:
                    continue
                register = virtual_id(value)
                if value in written or not is_constant(function, instruction, of_calls):
                    others.add(register)
                written.add(value)
                found.setdefault(register, []).append(instruction)
    return {register: writers for register, writers in found.items() if register not in others}


def is_constant(function: MachineFunction, instruction: Machine, of_calls: set[int]) -> bool:
    """Whether an instruction makes one word, always the same, of nothing that is kept in registers. ``of_calls`` are
    `parts_of_calls`."""
    found = effects(instruction.opcode)
    if found.unit not in _UNITS or found.memory or found.pinned or found.fixed_reads or found.fixed_writes:
        return False
    if instruction.guard != NO_GUARD or instruction.is_relocated or id(instruction) in of_calls:
        return False
    if len(found.writes) != 1 or found.writes[0][1] != 1 or not found.write_places[0] & IS_GENERAL:
        return False
    return all(
        instruction.values[access >> PLACE_SHIFT] in (NEUTRAL[GENERAL], function.frame_pointer)
        for access in found.read_places
        if access & IS_GENERAL or instruction.values[access >> PLACE_SHIFT] != NEUTRAL[PREDICATE]
    )


def parts_of_calls(function: MachineFunction) -> set[int]:
    """The identities of the instructions that make return addresses, which are only known once instructions have their
    places."""
    return {id(part) for site in function.calls for part in (site.address, site.base, site.upper)}
