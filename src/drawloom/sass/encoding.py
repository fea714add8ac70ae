"""Instructions to words: 128 bits with the control bits inside, or on sm_61 64 bits under a control word for three."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target

LOWER_HALF: Final = (1 << 64) - 1
GROUP: Final = 3  # instructions under one control word of sm_61
CONTROL_WIDTH: Final = 21


def encode(instruction: Instruction) -> int:
    """The word of an instruction; on sm_61 without its control bits. Values that do not fit are cut off."""
    opcode = instruction.opcode
    values = instruction.values
    lower: i64 = 0
    upper: i64 = 0
    for piece in opcode.pieces:
        value = values[piece.place]
        bits: i64 = (value >> piece.start if piece.start else value) & piece.mask
        if piece.upper:
            upper |= bits << piece.low
        else:
            lower |= bits << piece.low
    # Exclusive or: where a field holds the complement, opcode.word has ones.
    if opcode.form.wide:
        lower |= instruction.guard << 12
        upper |= instruction.control << 41
        return opcode.word ^ (int(upper) << 64 | int(lower) & LOWER_HALF)
    if opcode.form.guard:  # SSY and its like have 0 there
        lower |= instruction.guard << 16
    return opcode.word ^ int(lower) & LOWER_HALF


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
