"""Let lives begin at a write under a guard whose other lanes are written under the opposite guard, in place.

    @P  LDG v, ...          -- the life of v begins here: what v had before is read by no lane
    @!P FADD v, a, b

Without that the life of v would reach back to the beginning of the function, or all around a loop. Nothing may read v
in between but under the guard of the first write, and nothing may write the guard.
"""

from __future__ import annotations

from drawloom.sass.effects import PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.machine import VIRTUAL, Machine, MachineFunction, virtual_id
from drawloom.sass.syntax import NO_GUARD


class _Write:
    """A write under a guard, in a slot of an instruction: the `words` of it that are not written under the opposite
    guard yet."""

    def __init__(self, instruction: Machine, place: int, words: list[int]) -> None:
        self.instruction = instruction
        self.place = place
        self.words = words
        self.left = len(words)


def begin_lives(function: MachineFunction) -> None:
    """Set `Machine.begins` at the first of two writes under opposite guards."""
    for block in function.blocks:
        guarded = [i for i in block.instructions if i.guard != NO_GUARD and effects(i.opcode).write_places]
        if len(guarded) > 1:
            found = _OpenWrites()
            for instruction in block.instructions:
                found.go_on(instruction)


class _OpenWrites:
    """Writes under a guard whose other lanes were not written yet: by word, and by the register of their guard."""

    def __init__(self) -> None:
        self.by_word: dict[int, _Write] = {}
        self.by_guard: dict[int, list[_Write]] = {}

    def go_on(self, instruction: Machine) -> None:
        effect = instruction.opcode.effects or effects(instruction.opcode)
        guard = instruction.guard
        values = instruction.values
        if self.by_word:
            if guard >= VIRTUAL:
                self.read((guard - VIRTUAL) & ~3, guard)
            for access in effect.read_places:
                value = values[access >> PLACE_SHIFT]
                if value >= VIRTUAL:
                    for word in range(value - VIRTUAL, value - VIRTUAL + int(access >> WORDS_SHIFT & WORDS_MASK)):
                        self.read(word, guard)
        for access in effect.write_places:
            place = int(access >> PLACE_SHIFT)
            value = values[place]
            if value >= VIRTUAL:
                self.write(instruction, place, value - VIRTUAL, int(access >> WORDS_SHIFT & WORDS_MASK))
        for access in effect.write_places:
            value = values[access >> PLACE_SHIFT]
            if value >= VIRTUAL:
                for open_write in self.by_guard.pop(virtual_id(value), []):
                    self.close(open_write)

    def read(self, word: int, guard: int) -> None:
        found = self.by_word.get(word)
        if found is not None and found.instruction.guard != guard:
            self.close(found)

    def write(self, instruction: Machine, place: int, first: int, count: int) -> None:
        guard = instruction.guard
        is_known = False
        for word in range(first, first + count):
            found = self.by_word.get(word)
            if found is None:
                continue
            if found.instruction.guard == guard:
                is_known = True
            elif found.instruction.guard ^ guard == 1:
                is_known = True
                del self.by_word[word]
                found.left -= 1
                if not found.left:
                    found.instruction.begins |= 1 << found.place
            else:
                self.close(found)
        if guard >= VIRTUAL and not is_known and not instruction.begins >> place & 1:
            made = _Write(instruction, place, list(range(first, first + count)))
            for word in made.words:
                self.by_word[word] = made
            self.by_guard.setdefault(virtual_id(guard), []).append(made)

    def close(self, write: _Write) -> None:
        """Take no account of a write any more."""
        for word in write.words:
            if self.by_word.get(word) is write:
                del self.by_word[word]


__all__ = ["begin_lives"]
