"""Reuse flags: which source operands of a block's instructions stay in the operand caches.

Each source slot of an instruction has a cache that holds one register for each bank of the register file. A flag keeps
what the slot has read, and the next instruction with the same register in the same slot takes it from there, which
spares a read of the bank. This is where ptxas 12.9 sets one (docs/sass.md has the counts):

    IMAD R2, R7.reuse, R4, R3        slot 0, bank 7 % 2
    IMAD R5, R6, R4, R3              slot 0, but another bank
    IMAD R8, R7, R9, R5              the next of that slot and bank reads the same register in the same width,

where nothing from the flag on writes the register, and nobody comes in between: no other warp (yield), no branch, no
label. There are 2 banks from sm_75 on, 4 on sm_61 (Jia et al., Dissecting the
NVIDIA Volta GPU, 2018; the notes of maxas on Maxwell).

From sm_75 on another warp may issue (the yield bit is 0) behind what computes and stalls 3 cycles or more, where
nothing is kept: ptxas does it there, too, and hardly anywhere else.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.sass.access import CLASS_BITS, Facts, Kept, Operands
from drawloom.sass.control import REUSE_SHIFT, YIELD_SHIFT
from drawloom.sass.machine import RZ, Machine

_SLOTS: Final = 4
_STALL: Final = 15
#: From this stall on another warp may issue.
_YIELDS: Final = 3
#: A register that is kept stands for itself times 4, plus the words that are read.
_WORDS: Final = 3


class Reuse:
    """Sets the flags of one block at a time. `next[slot * banks + bank]` is what the next instruction that reads a
    register of that bank in that slot reads there, -1 for nothing, and `reader` where in the block it stands; `ends`
    is up to where each instruction keeps something."""

    def __init__(self, is_wide: bool, operands: Operands) -> None:
        self.banks: i64 = 2 if is_wide else 4
        self.next = vec[i64]([-1] * (_SLOTS * self.banks))
        self.reader = vec[i64]([-1] * (_SLOTS * self.banks))
        self.ends = vec[i64]()
        self.table = operands.table
        self.yields = is_wide
        self.is_empty = True

    def mark(self, instructions: list[Machine], facts: list[Facts]) -> None:
        """Set the flags of a block whose stalls are settled; ``facts`` are those of its instructions."""
        self.forget()
        count: i64 = len(instructions)
        self.ends = vec[i64]([0] * count)
        table = self.table
        for number in range(count - 1, -1, -1):
            instruction, found = instructions[number], facts[number]
            if not self.is_empty:
                if found.fetches or not instruction.control >> YIELD_SHIFT & 1:
                    self.forget()
                else:
                    at = instruction.at
                    for place in range(table[at], table[at + 1]):
                        self.drop(table[place] >> CLASS_BITS)
            if found.kept:
                self.keep(instruction, found.kept, number)
        if self.yields:
            self.let_others_issue(instructions, facts)

    def let_others_issue(self, instructions: list[Machine], facts: list[Facts]) -> None:
        end: i64 = 0  # where what is kept is read
        ends = self.ends
        for number, instruction in enumerate(instructions):
            end = max(end, ends[number])
            if end <= number and facts[number].yields and instruction.control & _STALL >= _YIELDS:
                instruction.control &= ~(1 << YIELD_SHIFT)

    def forget(self) -> None:
        if not self.is_empty:
            self.is_empty = True
            for place in range(_SLOTS * self.banks):
                self.next[place] = -1

    def drop(self, register: i64) -> None:
        """A register is written: what is read behind is not what was read before."""
        following = self.next
        for place in range(_SLOTS * self.banks):
            held = following[place]
            if held >= 0 and held >> 2 <= register and register < (held >> 2) + (held & _WORDS):
                following[place] = -1

    def keep(self, instruction: Machine, operands: list[Kept], number: i64) -> None:
        """Flag the operands that are read again; from here on they are the next to be read."""
        flags: i64 = 0
        following, reader = self.next, self.reader
        values = cast("list[i64]", instruction.values)
        for kept in operands:
            register = values[kept.place]
            if register == RZ:
                continue
            held = register << 2 | kept.words
            row = kept.slot * self.banks
            place = row + (register & self.banks - 1)
            if following[place] == held:
                flags |= 1 << kept.slot
                if reader[place] > self.ends[number]:
                    self.ends[number] = reader[place]
            for word in range(register, register + kept.words):
                place = row + (word & self.banks - 1)
                following[place] = held
                reader[place] = number
            self.is_empty = False
        if flags:
            instruction.control |= int(flags << REUSE_SHIFT)
