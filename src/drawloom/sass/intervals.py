"""Where each virtual register is live: from a machine function to lists of position ranges, with holes.

Instruction n of the function (blocks in their order) reads at position 2n and writes at 2n + 1. A range is half open.
The words of a wide register are followed one by one, since they are often written by one instruction each; the
register's interval is the union over its words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from drawloom.sass.effects import effects
from drawloom.sass.machine import RZ, STACK_POINTER, VIRTUAL, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: Registers by number that nobody else gets anyway.
_EVERYWHERE: Final = (RZ, STACK_POINTER)


class Interval:
    """The life of a virtual register. `ranges` are ascending and disjoint: begin, end, begin, end ...; `weight` is
    how often it is read and written, more inside of loops; `hint` a register (as a slot's
    value) that its word `hint_part` is copied to or from, or -1."""

    def __init__(self, register: int) -> None:
        self.register = register
        self.ranges: list[int] = []
        self.weight = 0.0
        self.hint = -1
        self.hint_part = 0

    def begin(self) -> int:
        return self.ranges[0]

    def end(self) -> int:
        return self.ranges[-1]

    def meets(self, other: Interval) -> bool:
        """Whether both live at some position."""
        return ranges_meet(self.ranges, other.ranges)


def ranges_meet(a: list[int], b: list[int]) -> bool:
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i + 1] <= b[j]:
            i += 2
        elif b[j + 1] <= a[i]:
            j += 2
        else:
            return True
    return False


class Liveness:
    """`intervals[v]` is that of virtual register v, None for one that never lives. `fixed[r]` are the ranges of
    general register r where an instruction names or changes it, `calls` the positions behind which calls have changed
    what they may."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        blocks = function.blocks
        self.starts: list[int] = []
        position = 0
        for block in blocks:
            self.starts.append(position)
            position += 2 * len(block.instructions)
        self.starts.append(position)
        self.borders = _Borders(blocks, function.carriers)
        self.intervals: list[Interval | None] = [None] * len(function.files)
        self.fixed: dict[int, list[int]] = {}
        self.calls: list[int] = []
        self._build()

    def _build(self) -> None:
        count = 4 * len(self.function.files)
        end = [-1] * count  # of a word that is live: where its range ends
        found: list[list[int]] = [[] for _ in range(count)]  # ranges backwards: end, begin, end, begin ...
        blocks = self.function.blocks
        carriers = self.function.carriers
        named: dict[int, int] = {}  # general registers by number that are read further down: where that ends
        for b in range(len(blocks) - 1, -1, -1):
            start, stop = self.starts[b], self.starts[b + 1]
            for word in self.borders.live_out(b):
                end[word] = stop
            weight = 10.0 ** min(blocks[b].depth, 6)
            position = stop
            for instruction in reversed(blocks[b].instructions):
                position -= 2
                effect = effects(instruction.opcode)
                values = instruction.values
                if effect.base == "MOV" and len(values) == 2 and instruction.opcode.slots[1].kind == "R":
                    self._hint(values[0], values[1])
                guarded = instruction.guard != NO_GUARD
                if instruction.clobbers:
                    self.calls.append(position)
                    self._write_named(_bits(instruction.clobbers), named, position)
                for place, words in effect.writes:
                    value = values[place]
                    if value < VIRTUAL:
                        if instruction.opcode.slots[place].kind == "R" and value != RZ:
                            self._write_named(range(value, value + words), named, position)
                        continue
                    self._touch(value, weight)
                    for word in range(value - VIRTUAL, value - VIRTUAL + words):
                        if end[word] < 0:
                            found[word] += [position + 2, position + 1]  # written and never read
                        elif not guarded or instruction.begins >> place & 1 or word >> 2 in carriers:
                            found[word] += [end[word], position + 1]
                            end[word] = -1
                for place, words in effect.reads:
                    value = values[place]
                    if value < VIRTUAL:
                        if instruction.opcode.slots[place].kind == "R" and value not in _EVERYWHERE:
                            for register in range(value, value + words):
                                named.setdefault(register, position + 1)
                        continue
                    self._touch(value, weight)
                    for word in range(value - VIRTUAL, value - VIRTUAL + words):
                        if end[word] < 0:
                            end[word] = position + 1
                if instruction.guard >= VIRTUAL:
                    word = (instruction.guard - VIRTUAL) & ~3
                    self._touch(instruction.guard, weight)
                    if end[word] < 0:
                        end[word] = position + 1
                for register in _bits(instruction.arguments):
                    named.setdefault(register, position + 1)
            for register, reader in named.items():
                self._fix(register, start, reader)
            named.clear()
            for word in self.borders.live_in(b):
                found[word] += [end[word], start]
                end[word] = -1
        for interval in self.intervals:
            if interval is not None:
                parts = found[4 * interval.register : 4 * interval.register + 4]
                interval.ranges = _union([ranges for ranges in parts if ranges])

    def _touch(self, value: int, weight: float) -> None:
        register = (value - VIRTUAL) >> 2
        interval = self.intervals[register]
        if interval is None:
            interval = self.intervals[register] = Interval(register)
        interval.weight += weight

    def _hint(self, target: int, source: int) -> None:
        """Both sides of a copy would like the same register."""
        for one, other in ((target, source), (source, target)):
            if one >= VIRTUAL:
                self._touch(one, 0.0)
                interval = self.intervals[(one - VIRTUAL) >> 2]
                assert interval is not None
                if interval.hint < 0:
                    interval.hint = other
                    interval.hint_part = one & 3

    def _fix(self, register: int, begin: int, end: int) -> None:
        self.fixed.setdefault(register, []).extend([begin, end])

    def _write_named(self, registers: Iterable[int], named: dict[int, int], position: int) -> None:
        """Registers by number get values here, which live until they are read."""
        for register in registers:
            self._fix(register, position + 1, named.pop(register, position + 2))


def _bits(mask: int) -> list[int]:
    out: list[int] = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def _union(lists: list[list[int]]) -> list[int]:
    """Ranges that were found backwards, of all words, as one ascending list."""
    pairs: list[tuple[int, int]] = []
    for ranges in lists:
        for i in range(0, len(ranges), 2):
            pairs.append((ranges[i + 1], ranges[i]))
    pairs.sort()
    out: list[int] = []
    for begin, end in pairs:
        if out and begin <= out[-1]:
            out[-1] = max(out[-1], end)
        else:
            out += [begin, end]
    return out


class _Borders:
    """Words live at the borders of every block: `live_in[b]`, `live_out[b]`. Only words that some block reads before
    it writes them can be, and those alone have bits in the sets of the iteration."""

    def __init__(self, blocks: list[MachineBlock], carriers: set[int]) -> None:
        exposed = [set[int]() for _ in blocks]
        written = [set[int]() for _ in blocks]
        for block in blocks:
            _block_words(block, exposed[block.id], written[block.id], carriers)
        self.words = sorted(set().union(*exposed))
        index = {word: n for n, word in enumerate(self.words)}
        self.used = [_mask([index[w] for w in words]) for words in exposed]
        self.killed = [_mask([index[w] for w in words if w in index]) for words in written]
        self._in = list(self.used)
        self._out = [0] * len(blocks)
        changed = True
        while changed:
            changed = False
            for b in range(len(blocks) - 1, -1, -1):
                out = 0
                for successor in blocks[b].successors:
                    out |= self._in[successor]
                if out != self._out[b]:
                    self._out[b] = out
                    self._in[b] = self.used[b] | (out & ~self.killed[b])
                    changed = True

    def live_in(self, block: int) -> list[int]:
        return [self.words[n] for n in _bits(self._in[block])]

    def live_out(self, block: int) -> list[int]:
        return [self.words[n] for n in _bits(self._out[block])]


def _mask(numbers: list[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _block_words(block: MachineBlock, exposed: set[int], written: set[int], carriers: set[int]) -> None:
    """The words that a block reads before it writes them, and those that it writes for all threads or for the first
    time."""
    for instruction in block.instructions:
        effect = effects(instruction.opcode)
        values = instruction.values
        for place, words in effect.reads:
            if values[place] >= VIRTUAL:
                for word in range(values[place] - VIRTUAL, values[place] - VIRTUAL + words):
                    if word not in written:
                        exposed.add(word)
        guarded = instruction.guard != NO_GUARD
        if instruction.guard >= VIRTUAL:
            word = (instruction.guard - VIRTUAL) & ~3
            if word not in written:
                exposed.add(word)
        for place, words in effect.writes:
            value = values[place]
            whole = not guarded or instruction.begins >> place & 1 or (value - VIRTUAL) >> 2 in carriers
            if value >= VIRTUAL and whole:
                written.update(range(values[place] - VIRTUAL, values[place] - VIRTUAL + words))
