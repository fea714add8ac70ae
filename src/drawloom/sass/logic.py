"""Chains of logic operations to fewer ones of three inputs, in place, before registers are assigned.

    LOP3 t, a, b, RZ, 0x3c; LOP3 d, t, c, RZ, 0xc0   ->   LOP3 d, a, b, c, (the table of (a ^ b) & c)

An operation goes into its one reader where that stands in the same block, what it reads is not written in between, and
both together have no more than three inputs, of which one may be an immediate or a word of a constant bank.
"""

from __future__ import annotations

from typing import Final

from drawloom.sass.effects import effects
from drawloom.sass.isa import Target
from drawloom.sass.machine import RZ, VIRTUAL, Machine, MachineBlock
from drawloom.sass.syntax import NO_GUARD

#: The forms by their second input, with the place of the third one in the values.
_THIRD: Final[dict[str, int]] = {"R,R,R,R,I,!P": 3, "R,R,I,R,I,!P": 3, "R,R,c[I][I],R,I,!P": 4}
_ALWAYS: Final = 7

#: An input: (value,) of a register or immediate, (bank, offset) of a constant; whether it is a register.
Input = tuple[tuple[int, ...], bool]


def join_logic(block: MachineBlock, target: Target, writes: list[int], reads: list[int]) -> None:
    """Rewrite a block. ``writes`` and ``reads`` are how often each word of a virtual register is written and read
    (a guarded write counts twice); ``reads`` is brought up to date, and what is left without a reader stays."""
    writer: dict[int, Machine] = {}  # by word, of those operations that may go into their reader
    since: dict[int, int] = {}  # where a word was written last
    places: dict[int, int] = {}  # where the writer of a word stands
    for number, instruction in enumerate(block.instructions):
        found = effects(instruction.opcode)
        if found.base == "LOP3" and is_plain(instruction):
            for value, is_register in inputs(instruction):
                word = value[0] - VIRTUAL
                if is_register and reads[word] == 1 and word in writer:
                    inner = writer[word]
                    if all(since.get(v[0] - VIRTUAL, -1) <= places[word] for v, r in inputs(inner) if r):
                        join(inner, instruction, word, target, reads)
            word = instruction.values[0] - VIRTUAL
            if writes[word] == 1 and reads[word] == 1:
                writer[word] = instruction
                places[word] = number
        for access in found.write_places:
            first = instruction.values[access.place] - VIRTUAL
            for word in range(first, first + access.words):
                since[word] = number


def is_plain(instruction: Machine) -> bool:
    """Whether it is an operation on virtual registers for all lanes, without a predicate."""
    values = instruction.values
    third = _THIRD.get(instruction.opcode.signature, 0)
    if not third or instruction.guard != NO_GUARD or values[-1] != _ALWAYS or instruction.is_relocated:
        return False
    registers = [values[0], *[value[0] for value, is_register in inputs(instruction) if is_register]]
    return all(value >= VIRTUAL for value in registers)


def inputs(instruction: Machine) -> list[Input]:
    """The inputs that are not RZ, each once."""
    return list(dict.fromkeys(given for given in operands(instruction) if given != ((RZ,), True)))


def operands(instruction: Machine) -> list[Input]:
    """The three inputs."""
    values = instruction.values
    signature = instruction.opcode.signature
    third = _THIRD[signature]
    second: Input = (tuple(values[2:third]), signature[4:6] == "R,")
    return [((values[1],), True), second, ((values[third],), True)]


def result(instruction: Machine, bits: dict[Input, int]) -> int:
    """The bit that an operation makes of these bits; RZ is 0."""
    a, b, c = [bits.get(given, 0) for given in operands(instruction)]
    return instruction.values[-2] >> (a << 2 | b << 1 | c) & 1


def join(inner: Machine, outer: Machine, word: int, target: Target, reads: list[int]) -> None:
    """Put `inner`, which writes `word`, into `outer`, if both together have few enough inputs."""
    made: Input = ((word + VIRTUAL,), True)
    old = inputs(outer)
    given = list(dict.fromkeys([*inputs(inner), *[x for x in old if x != made]]))
    registers = [x for x in given if x[1]]
    others = [x for x in given if not x[1]]
    if len(given) > 3 or len(others) > 1:
        return
    zero: Input = ((RZ,), True)
    slots = [*registers, zero, zero, zero][:3]
    if others:
        slots = [slots[0], others[0], slots[1]]
    table = 0
    for row in range(8):
        bits = {slot: row >> (2 - place) & 1 for place, slot in enumerate(slots) if slot != zero}
        bits[made] = result(inner, bits)
        table |= result(outer, bits) << row
    # A table with inputs that are not there has the same rows for both of their values.
    text = "R" if slots[1][1] else "I" if len(slots[1][0]) == 1 else "c[I][I]"
    for value, is_register in read_words(outer):
        if is_register:
            reads[value[0] - VIRTUAL] -= 1
    outer.opcode = target.opcode("LOP3.LUT", f"R,R,{text},R,I,!P")
    outer.values = [outer.values[0], slots[0][0][0], *slots[1][0], slots[2][0][0], table, _ALWAYS]
    for value, is_register in read_words(outer):
        if is_register:
            reads[value[0] - VIRTUAL] += 1


def read_words(instruction: Machine) -> list[Input]:
    """The inputs that are not RZ, as often as they are read."""
    return [given for given in operands(instruction) if given != ((RZ,), True)]
