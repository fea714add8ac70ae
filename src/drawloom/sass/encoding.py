"""Instructions to words: 128 bits with the control bits inside, or on sm_61 64 bits under a control word for three."""

from __future__ import annotations

from typing import Final, cast

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64

from drawloom.sass.form import LOW_MASK, LOW_SHIFT, PLACE_MASK, START_MASK, START_SHIFT, UPPER, WIDTH_SHIFT
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target

LOWER_HALF: Final = (1 << 64) - 1
#: More ones than a piece has bits: 1 moved to the left by 32 and more is 0, compiled.
_COUNT: Final = 61
_ONES: Final = (1 << _COUNT) - 1
GROUP: Final = 3  # instructions under one control word of sm_61
CONTROL_WIDTH: Final = 21


def encode(instruction: Instruction) -> int:
    """The word of an instruction; on sm_61 without its control bits. Values that do not fit are cut off."""
    lower, upper = halves(instruction)
    if not instruction.opcode.form.wide:
        return int(lower) & LOWER_HALF
    return (int(upper) & LOWER_HALF) << 64 | int(lower) & LOWER_HALF


def halves(instruction: Instruction) -> tuple[i64, i64]:
    """The lower and the upper 64 bits of a word, of which those above 64 say nothing."""
    opcode = instruction.opcode
    values = instruction.values
    numbers = cast("list[i64]", values)
    lower: i64 = opcode.lower
    upper: i64 = opcode.upper
    # Exclusive or: where a field holds the complement, the opcode has ones.
    for piece in opcode.pieces:
        place = piece & PLACE_MASK
        start = piece >> START_SHIFT & START_MASK
        bits: i64 = 0
        if start:
            bits = values[place] >> int(start)  # this may be one of 64 bits without a sign
        else:
            bits = numbers[place]
        bits &= _ONES >> (_COUNT - (piece >> WIDTH_SHIFT))
        if piece & UPPER:
            upper ^= bits << (piece >> LOW_SHIFT & LOW_MASK)
        else:
            lower ^= bits << (piece >> LOW_SHIFT & LOW_MASK)
    guard: i64 = instruction.guard
    if opcode.form.wide:
        control: i64 = instruction.control
        lower ^= guard << 12
        upper ^= control << 41
    elif opcode.form.guard:  # SSY and its like have 0 there
        lower ^= guard << 16
    return lower, upper


def signed(word: i64) -> i64:
    """The lower 64 bits of a number, as a signed one."""
    if -2 <= word >> 62 <= 1:
        return word  # compiled, every one does
    largest: i64 = 0x7FFFFFFFFFFFFFFF
    rest = word & largest
    return rest - largest - 1 if word >> 63 & 1 else rest


def address_of(target: Target, index: int) -> int:
    """The byte offset in its section of the instruction with this index."""
    if target.wide:
        return index * 16
    return (index // GROUP * (GROUP + 1) + index % GROUP + 1) * 8


def pack_section(target: Target, instructions: list[Instruction]) -> bytes:
    """The bytes of a `.text` section. On sm_61 the count must be a multiple of three, as padding with NOP makes it."""
    out = BytesWriter()
    if target.wide:
        for instruction in instructions:
            lower, upper = halves(instruction)
            write_i64_le(out, signed(lower))
            write_i64_le(out, signed(upper))
        return out.getvalue()
    assert len(instructions) % GROUP == 0
    for start in range(0, len(instructions), GROUP):
        group = instructions[start : start + GROUP]
        control: i64 = 0
        for place, instruction in enumerate(group):
            control |= instruction.control << (CONTROL_WIDTH * place)
        write_i64_le(out, control)
        for instruction in group:
            lower, _ = halves(instruction)
            write_i64_le(out, signed(lower))
    return out.getvalue()
