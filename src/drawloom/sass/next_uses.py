"""Find which words of each general register live, and how far away its next use is, at every instruction that names it.

Distances count instructions in the order of the blocks. Where a loop ends before the next use in that order, and the
register lives on into its next round, the first use in the loop counts. Each loop that is left adds `LOOP_EXIT`. A
distance is a heuristic; the words that live are exact. Nothing is kept for pairs of blocks and registers, so that time
and memory grow with the instructions alone.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.sass.effects import IS_GENERAL, PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.intervals import Liveness
from drawloom.sass.machine import GENERAL, VIRTUAL, Machine
from drawloom.sass.syntax import NO_GUARD

#: What leaving one loop adds to a distance.
LOOP_EXIT: Final = 1 << 20
#: The distance of what lives and is not seen to be used.
UNSEEN: Final = 1 << 40


class Loops:
    """Loops as ranges of blocks in their order, from one that a later one leads back to, up to the last of those:
    `first[l]` to `last[l]`, inside of loop `outer[l]`. `innermost[b]` is the smallest around block b; -1 is none."""

    def __init__(self, successors: list[list[int]]) -> None:
        count = len(successors)
        last_of = vec[i64]([-1] * count)
        for b, ways in enumerate(successors):
            for way in ways:
                if way <= b:
                    last_of[way] = b
        self.first = vec[i64]()
        self.last = vec[i64]()
        self.outer = vec[i64]()
        self.innermost = vec[i64]([-1] * count)
        open_loop: i64 = -1
        for b in range(count):
            while open_loop >= 0 and self.last[open_loop] < b:
                open_loop = self.outer[open_loop]
            if last_of[b] >= 0:
                self.first = append(self.first, b)
                self.last = append(self.last, last_of[b])
                self.outer = append(self.outer, open_loop)
                around = open_loop
                while around >= 0 and self.last[around] < last_of[b]:  # they overlap: the outer one takes all of it
                    self.last[around] = last_of[b]
                    around = self.outer[around]
                open_loop = len(self.first) - 1
            self.innermost[b] = open_loop


class NextUses:
    """`entries[n + 1]` to `entries[n]` are the entries of instruction n, one for each general register that it names:
    in `register`; `words_before` and `words_after` it, as bits, which live; `following`, the instruction of the next
    use; `written`, the words that it writes. `starts[b]` is the first instruction of block b, `pressure[p]` the words
    that live at position p (`intervals`)."""

    def __init__(self, liveness: Liveness) -> None:
        function = liveness.function
        self.function = function
        self.borders = liveness.borders
        self.widths = vec[i64]([size_of(width) for width in function.widths])
        count = len(function.files)
        self.starts = vec[i64]([start >> 1 for start in liveness.starts])
        self.loops = Loops([block.successors for block in function.blocks])
        self.pressure = pressure_of(liveness, self.widths)
        self.entries = vec[i64]([0] * (self.starts[-1] + 2))
        self.register = vec[i64]()
        self.words_before = vec[i64]()
        self.words_after = vec[i64]()
        self.written = vec[i64]()
        #: Of each register, in the block at hand: the words that live.
        self.words = vec[i64]([0] * count)
        self.block_of_words = vec[i64]([-1] * count)
        #: Of each register that the instruction at hand names: the words that it reads and writes.
        self.read = vec[i64]([0] * count)
        self.wrote = vec[i64]([0] * count)
        self.kills = vec[i64]([0] * count)
        for b in range(len(function.blocks) - 1, -1, -1):
            self._look(b)
        self._collect()

    def words_in(self, b: i64, register: i64) -> i64:
        """The words of a register that live at the beginning of a block."""
        return self.borders.words_in(b, register)

    def words_out(self, b: i64, register: i64) -> i64:
        """The words of a register that live at the end of a block."""
        return self.borders.words_out(b, register)

    def _look(self, b: i64) -> None:
        """Add the entries of the instructions of a block."""
        files = self.function.files
        words, read, wrote, kills = self.words, self.read, self.wrote, self.kills
        instructions = self.function.blocks[b].instructions
        start: i64 = self.starts[b]
        for number in range(self.starts[b + 1] - 1, start - 1, -1):
            for register in self._named(instructions[number - start]):
                if self.block_of_words[register] != b:
                    self.block_of_words[register] = b
                    words[register] = self.words_out(b, register)
                if files[register] == GENERAL:
                    after = words[register]
                    before = after & ~kills[register] | read[register]
                    self.register = append(self.register, register)
                    self.words_after = append(self.words_after, after)
                    self.words_before = append(self.words_before, before)
                    self.written = append(self.written, wrote[register])
                    words[register] = before
                read[register] = wrote[register] = kills[register] = 0
            self.entries[number] = len(self.register)

    def _named(self, instruction: Machine) -> list[int]:
        """The registers that an instruction names, each once; `read`, `wrote` and `kills` have their words."""
        read, wrote, kills = self.read, self.wrote, self.kills
        effect = instruction.opcode.effects or effects(instruction.opcode)
        values = cast("list[i64]", instruction.values)
        here: list[int] = []
        for access in effect.write_places:
            value: i64 = values[access >> PLACE_SHIFT]
            if value >= VIRTUAL and access & IS_GENERAL:
                register = (value - VIRTUAL) >> 2
                bits = bits_of(value & 3, access >> WORDS_SHIFT & WORDS_MASK)
                if not read[register] | wrote[register]:
                    here.append(int(register))
                wrote[register] |= bits
                if instruction.guard == NO_GUARD or instruction.begins >> (access >> PLACE_SHIFT) & 1:
                    kills[register] |= bits
        for access in effect.read_places:
            value = values[access >> PLACE_SHIFT]
            if value >= VIRTUAL and access & IS_GENERAL:
                register = (value - VIRTUAL) >> 2
                if not read[register] | wrote[register]:
                    here.append(int(register))
                read[register] |= bits_of(value & 3, access >> WORDS_SHIFT & WORDS_MASK)
        return here

    def _collect(self) -> None:
        """Gather the instructions that name each register, ascending: `uses`, from `first_use` of it on."""
        count = len(self.widths)
        first = vec[i64]([0] * (count + 1))
        for register in self.register:
            first[register + 1] += 1
        for register in range(count):
            first[register + 1] += first[register]
        place = first[:]
        self.uses = vec[i64]([0] * len(self.register))
        #: Of each entry where it is among the uses of its register.
        self.place_in_uses = vec[i64]([0] * len(self.register))
        for number in range(self.starts[-1]):
            for entry in range(self.entries[number + 1], self.entries[number]):
                register = self.register[entry]
                self.place_in_uses[entry] = place[register]
                self.uses[place[register]] = number
                place[register] += 1
        self.first_use = first

    def first_from(self, register: i64, number: i64) -> i64:
        """The place among `uses` of the first use of a register at instruction ``number`` or behind it."""
        low = self.first_use[register]
        high = self.first_use[register + 1]
        while low < high:
            middle = (low + high) >> 1
            if self.uses[middle] < number:
                low = middle + 1
            else:
                high = middle
        return low

    def next_of_entry(self, entry: i64, b: i64) -> i64:
        """The instruction of the next use behind that of an entry, which stands in block b; further away than any
        instruction where loops end before."""
        register = self.register[entry]
        return self._next(register, self.place_in_uses[entry] + 1, b)

    def next_from(self, register: i64, b: i64) -> i64:
        """The instruction of the first use of a register from the beginning of block b on, likewise."""
        return self._next(register, self.first_from(register, self.starts[b]), b)

    def _next(self, register: i64, place: i64, b: i64) -> i64:
        number: i64 = self.uses[place] if place < self.first_use[register + 1] else UNSEEN
        if number < self.starts[b + 1]:
            return number
        loops = self.loops
        extra: i64 = 0
        loop = loops.innermost[b]
        while loop >= 0:
            first = loops.first[loop]
            stop = self.starts[loops.last[loop] + 1]
            if number < stop:
                break
            begin = self.starts[first]
            again = self.first_from(register, begin)
            if again < self.first_use[register + 1] and self.uses[again] < stop and self.words_in(first, register):
                return stop + self.uses[again] - begin + extra
            extra += LOOP_EXIT
            loop = loops.outer[loop]
        return number + extra


def pressure_of(liveness: Liveness, widths: vec[i64]) -> vec[i64]:
    """How many words of general registers live at each position."""
    change = vec[i64]([0] * (2 * (liveness.starts[-1] + 2)))
    files = liveness.function.files
    for register in range(len(widths)):
        if files[register] != GENERAL:
            continue
        at = liveness.first[register]
        while at >= 0:
            change[liveness.begins[at]] += widths[register]
            change[liveness.ends[at]] -= widths[register]
            at = liveness.following[at]
    pressure: i64 = 0
    for position in range(len(change)):
        pressure += change[position]
        change[position] = pressure
    return change


def size_of(width: int) -> int:
    """The registers that a virtual one of so many words takes up, with what its alignment leaves free."""
    return 4 if width == 3 else width


def bits_of(first: i64, count: i64) -> i64:
    """The words from ``first`` on, as bits."""
    one: i64 = 1
    return ((one << count) - 1) << first
