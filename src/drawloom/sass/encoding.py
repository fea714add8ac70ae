"""Instructions to words: 128 bits with the control bits inside, or on sm_61 64 bits under a control word for three."""

from __future__ import annotations

from typing import Final

from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target

GROUP: Final = 3  # instructions under one control word of sm_61
CONTROL_WIDTH: Final = 21


def encode(instruction: Instruction) -> int:
    """The word of an instruction; on sm_61 without its control bits. Values that do not fit are cut off."""
    opcode = instruction.opcode
    values = instruction.values
    word = opcode.word
    starts, masks, lows = opcode.starts, opcode.masks, opcode.lows
    for i, place in enumerate(opcode.places):
        # Exclusive or: where a field holds the complement, opcode.word has ones.
        word ^= (values[place] >> starts[i] & masks[i]) << lows[i]
    if opcode.form.wide:
        return word | instruction.guard << 12 | instruction.control << 105
    return word | instruction.guard << 16 if opcode.form.guard else word  # SSY and its like have 0 there


def address_of(target: Target, index: int) -> int:
    """The byte offset in its section of the instruction with this index."""
    if target.wide:
        return index * 16
    return (index // GROUP * (GROUP + 1) + index % GROUP + 1) * 8


def pack_section(target: Target, instructions: list[Instruction]) -> bytes:
    """The bytes of a `.text` section. On sm_61 the count must be a multiple of three, as padding with NOP makes it."""
    if target.wide:
        return b"".join([encode(instruction).to_bytes(16, "little") for instruction in instructions])
    assert len(instructions) % GROUP == 0
    words: list[int] = []
    for start in range(0, len(instructions), GROUP):
        group = instructions[start : start + GROUP]
        control = 0
        for place, instruction in enumerate(group):
            control |= instruction.control << (CONTROL_WIDTH * place)
        words.append(control)
        for instruction in group:
            words.append(encode(instruction))
    return b"".join([word.to_bytes(8, "little") for word in words])
