"""Chains of logic operations to fewer ones of three inputs, in place, before registers are assigned.

    LOP3 t, a, b, RZ, 0x3c; LOP3 d, t, c, RZ, 0xc0   ->   LOP3 d, a, b, c, (the table of (a ^ b) & c)

An operation goes into its one reader where that stands in the same block, what it reads is not written in between, and
both together have no more than three inputs, of which one may be an immediate or a word of a constant bank.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.sass.effects import PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.isa import Target
from drawloom.sass.machine import RZ, VIRTUAL, Machine, MachineBlock
from drawloom.sass.syntax import NO_GUARD

#: What an input is, in its lowest bits.
_REGISTER: Final = 0
_IMMEDIATE: Final = 1
_CONSTANT: Final = 2
_KIND_BITS: Final = 2
_KIND_MASK: Final = 3
#: Bits of the offset in a constant bank, above which the bank stands.
_OFFSET_BITS: Final = 32
_OFFSET_MASK: Final = (1 << _OFFSET_BITS) - 1
#: RZ.
_ZERO: Final = RZ << _KIND_BITS
#: The forms by their second input, which is of this kind.
_SECOND: Final[dict[str, int]] = {
    "R,R,R,R,I,!P": _REGISTER, "R,R,I,R,I,!P": _IMMEDIATE, "R,R,c[I][I],R,I,!P": _CONSTANT,
}  # fmt: skip
_TEXTS: Final = ("R", "I", "c[I][I]")
_ALWAYS: Final = 7


class Logic:
    """Rewrites blocks. ``writes`` and ``reads`` are how often each word of a virtual register is written and read
    (a guarded write counts twice); ``reads`` is brought up to date, and what is left without a reader stays. `since`
    is where a word was written last; places count on from block to block."""

    def __init__(self, target: Target, writes: vec[i64], reads: vec[i64]) -> None:
        self.target = target
        self.writes = writes
        self.reads = reads
        self.since = vec[i64]([-1] * len(reads))
        self.begun: i64 = 0

    def join(self, block: MachineBlock) -> None:
        writes, reads, since = self.writes, self.reads, self.since
        writer: dict[int, Machine] = {}  # by word, of those operations that may go into their reader
        places: dict[int, int] = {}  # where the writer of a word stands
        number = self.begun
        for instruction in block.instructions:
            number += 1
            found = instruction.opcode.effects or effects(instruction.opcode)
            if found.is_logic and is_plain(instruction):
                for given in inputs(instruction):
                    word = word_of(given)
                    if word >= 0 and reads[word] == 1 and word in writer:
                        inner = writer[word]
                        if all(self.written(read) <= places[word] for read in inputs(inner)):
                            join(inner, instruction, word, self.target, reads)
                word = instruction.values[0] - VIRTUAL
                if writes[word] == 1 and reads[word] == 1:
                    writer[word] = instruction
                    places[word] = int(number)
            for access in found.write_places:
                first: i64 = instruction.values[access >> PLACE_SHIFT] - VIRTUAL
                if first >= 0:
                    for part in range(first, first + (access >> WORDS_SHIFT & WORDS_MASK)):
                        since[part] = number
        self.begun = number

    def written(self, given: int) -> i64:
        """Where an input was written last."""
        word: i64 = word_of(given)
        return self.since[word] if word >= 0 else -1


def is_plain(instruction: Machine) -> bool:
    """Whether it is an operation on virtual registers for all lanes, without a predicate."""
    values = instruction.values
    if instruction.opcode.signature not in _SECOND or instruction.guard != NO_GUARD or values[-1] != _ALWAYS:
        return False
    if instruction.is_relocated or values[0] < VIRTUAL:
        return False
    for given in operands(instruction):
        if given != _ZERO and given & _KIND_MASK == _REGISTER and word_of(given) < 0:
            return False
    return True


def word_of(given: int) -> int:
    """The word of a virtual register that an input is; below 0 if it is another one."""
    return (given >> _KIND_BITS) - VIRTUAL if given & _KIND_MASK == _REGISTER else -1


def inputs(instruction: Machine) -> list[int]:
    """The inputs that are not RZ, each once."""
    found: list[int] = []
    for given in operands(instruction):
        if given != _ZERO and given not in found:
            found.append(given)
    return found


def operands(instruction: Machine) -> list[int]:
    """The three inputs, each its kind and above that its value."""
    values = instruction.values
    kind = _SECOND[instruction.opcode.signature]
    second, third = values[2], values[3]
    if kind == _CONSTANT:
        second, third = second << _OFFSET_BITS | third, values[4]
    return [values[1] << _KIND_BITS, second << _KIND_BITS | kind, third << _KIND_BITS]


def result(instruction: Machine, bits: dict[int, int]) -> int:
    """The bit that an operation makes of these bits; RZ is 0."""
    a, b, c = [bits.get(given, 0) for given in operands(instruction)]
    return instruction.values[-2] >> (a << 2 | b << 1 | c) & 1


def join(inner: Machine, outer: Machine, word: int, target: Target, reads: vec[i64]) -> None:
    """Put `inner`, which writes `word`, into `outer`, if both together have few enough inputs."""
    made = (word + VIRTUAL) << _KIND_BITS
    given = inputs(inner)
    given += [x for x in inputs(outer) if x != made and x not in given]
    registers = [x for x in given if x & _KIND_MASK == _REGISTER]
    others = [x for x in given if x & _KIND_MASK != _REGISTER]
    if len(given) > 3 or len(others) > 1:
        return
    slots = [*registers, _ZERO, _ZERO, _ZERO][:3]
    if others:
        slots = [slots[0], others[0], slots[1]]
    table = 0
    for row in range(8):
        bits = {slot: row >> (2 - place) & 1 for place, slot in enumerate(slots) if slot != _ZERO}
        bits[made] = result(inner, bits)
        table |= result(outer, bits) << row
    # A table with inputs that are not there has the same rows for both of their values.
    count_reads(outer, reads, -1)
    kind = slots[1] & _KIND_MASK
    first, second, third = [slot >> _KIND_BITS for slot in slots]
    middle = [second >> _OFFSET_BITS, second & _OFFSET_MASK] if kind == _CONSTANT else [second]
    outer.opcode = target.opcode("LOP3.LUT", f"R,R,{_TEXTS[kind]},R,I,!P")
    outer.values = [outer.values[0], first, *middle, third, table, _ALWAYS]
    count_reads(outer, reads, 1)


def count_reads(instruction: Machine, reads: vec[i64], change: i64) -> None:
    """Note that the words of an operation are read more or less often."""
    for given in operands(instruction):
        if word_of(given) >= 0:
            reads[word_of(given)] += change
