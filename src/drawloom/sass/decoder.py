"""Words to instructions."""

from __future__ import annotations

from collections.abc import Iterator

from drawloom.sass.control import CONTROL_BITS, CONTROL_MASK, DEFAULT_CONTROL
from drawloom.sass.encoding import GROUP
from drawloom.sass.form import IsaError, slot_value
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target
from drawloom.sass.syntax import NO_GUARD


class DecodeError(IsaError):
    """A word that no form of the target matches."""


def decode(target: Target, word: int, control: int = DEFAULT_CONTROL) -> Instruction:
    """The instruction of a word. `control` is used on sm_61 only; elsewhere it is in the word. Raises DecodeError."""
    if target.wide:
        guard = word >> 12 & 15
        control = word >> 105 & CONTROL_MASK
        bare = word & target.word_mask
    else:
        guard = word >> 16 & 15
        bare = word & target.word_mask
    for form in target.candidates(bare):
        if form.matches(bare):
            values = [slot_value(slot, bare) for slot in form.slots]
            return Instruction(form.opcode(bare), values, guard if form.guard else NO_GUARD, control)
    raise DecodeError(f"sm_{target.number} has no instruction 0x{word:0{32 if target.wide else 16}x}")


def section_words(target: Target, data: bytes) -> Iterator[tuple[int, int, int]]:
    """(address, word, control) of every instruction of a `.text` section. A last word that is cut off is left out."""
    if target.wide:
        for address in range(0, len(data) - 15, 16):
            word = int.from_bytes(data[address : address + 16], "little")
            yield address, word, word >> 105 & CONTROL_MASK
        return
    control = 0
    for address in range(0, len(data) - 7, 8):
        word = int.from_bytes(data[address : address + 8], "little")
        place = address // 8 % (GROUP + 1)
        if place == 0:
            control = word
        else:
            yield address, word, control >> (CONTROL_BITS * (place - 1)) & CONTROL_MASK


def unpack_section(target: Target, data: bytes) -> list[Instruction]:
    """The instructions of a whole `.text` section. Raises DecodeError."""
    return [decode(target, word, control) for _, word, control in section_words(target, data)]
