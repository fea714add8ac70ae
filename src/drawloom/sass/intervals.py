"""Where each virtual register is live: from a machine function to lists of position ranges, with holes.

Instruction n of the function (blocks in their order) reads at position 2n and writes at 2n + 1. A range is half open.
The words of a wide register are followed one by one, since they are often written by one instruction each; the
register's interval is the union over its words.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from drawloom.ptx.liveness import WORD, joined, members, set_bit
from drawloom.sass.effects import effects
from drawloom.sass.machine import FRAME_POINTER, RZ, STACK_POINTER, VIRTUAL, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: Registers by number that nobody else gets anyway.
_EVERYWHERE: Final = (RZ, STACK_POINTER, FRAME_POINTER)


@mypyc_attr(acyclic=True)
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
        #: The first of `ranges` that a scan through all positions has not left behind.
        self.current: i64 = 0

    def begin(self) -> int:
        return self.ranges[0]

    def end(self) -> int:
        return self.ranges[-1]

    def meets(self, other: Interval) -> bool:
        """Whether both live at some position that a scan has not left behind."""
        return ranges_meet(self.ranges, self.current, other.ranges, other.current)


def ranges_meet(a: list[int], i: i64, b: list[int], j: i64) -> bool:
    """Whether some range of ``a``, from index i on, and of ``b``, from j on, have a position in common."""
    a_end: i64 = len(a)
    b_end: i64 = len(b)
    while i < a_end and j < b_end:
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
        self.borders = _Borders(blocks, function.carriers, 4 * len(function.files))
        self.intervals: list[Interval | None] = [None] * len(function.files)
        self.fixed: dict[int, list[int]] = {}
        self.calls: list[int] = []
        self._build()

    def _build(self) -> None:
        count = 4 * len(self.function.files)
        end = [-1] * count  # of a word that is live: where its range ends
        found: list[list[int] | None] = [None] * count  # ranges backwards: end, begin, end, begin ...
        blocks = self.function.blocks
        carriers = self.function.carriers
        borders = self.borders
        named: dict[int, int] = {}  # general registers by number that are read further down: where that ends
        for b in range(len(blocks) - 1, -1, -1):
            start, stop = self.starts[b], self.starts[b + 1]
            # What lives on from the end of this block to the beginning of the next is in one range.
            for word in borders.names(borders.live_out[b] & ~(borders.live_in[b + 1] if b + 1 < len(blocks) else 0)):
                end[word] = stop
            weight = 10.0 ** min(blocks[b].depth, 6)
            position = stop
            for instruction in reversed(blocks[b].instructions):
                position -= 2
                effect = effects(instruction.opcode)
                values = instruction.values
                if effect.is_copy:
                    self._hint(values[0], values[1])
                    self._hint(values[1], values[0])
                guarded = instruction.guard != NO_GUARD
                if instruction.clobbers:
                    self.calls.append(position)
                    self._write_named(members(instruction.clobbers), named, position)
                for access in effect.write_places:
                    value = values[access.place]
                    if value < VIRTUAL:
                        if access.is_general and value != RZ:
                            self._write_named(list(range(value, value + access.words)), named, position)
                        continue
                    self._touch(value, weight)
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if end[word] < 0:
                            _add(found, word, position + 2, position + 1)  # written and never read
                        elif not guarded or instruction.begins >> access.place & 1 or word >> 2 in carriers:
                            _add(found, word, end[word], position + 1)
                            end[word] = -1
                for access in effect.read_places:
                    value = values[access.place]
                    if value < VIRTUAL:
                        if access.is_general and value not in _EVERYWHERE:
                            for register in range(value, value + access.words):
                                named.setdefault(register, position + 1)
                        continue
                    self._touch(value, weight)
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if end[word] < 0:
                            end[word] = position + 1
                if instruction.guard >= VIRTUAL:
                    word = (instruction.guard - VIRTUAL) & ~3
                    self._touch(instruction.guard, weight)
                    if end[word] < 0:
                        end[word] = position + 1
                if instruction.arguments:
                    for register in members(instruction.arguments):
                        named.setdefault(register, position + 1)
            if named:
                for register, reader in named.items():
                    self._fix(register, start, reader)
                named = {}
            for word in borders.names(borders.live_in[b] & ~(borders.live_out[b - 1] if b else 0)):
                _add(found, word, end[word], start)
                end[word] = -1
        for interval in self.intervals:
            if interval is not None:
                interval.ranges = _union(found, 4 * interval.register)

    def _touch(self, value: int, weight: float) -> Interval:
        register = (value - VIRTUAL) >> 2
        interval = self.intervals[register]
        if interval is None:
            interval = self.intervals[register] = Interval(register)
        interval.weight += weight
        return interval

    def _hint(self, one: int, other: int) -> None:
        """One side of a copy would like the register of the other."""
        if one >= VIRTUAL:
            interval = self._touch(one, 0.0)
            if interval.hint < 0:
                interval.hint = other
                interval.hint_part = one & 3

    def _fix(self, register: int, begin: int, end: int) -> None:
        self.fixed.setdefault(register, []).extend([begin, end])

    def _write_named(self, registers: list[int], named: dict[int, int], position: int) -> None:
        """Registers by number get values here, which live until they are read."""
        for register in registers:
            self._fix(register, position + 1, named.pop(register, position + 2))


def _add(found: list[list[int] | None], word: int, end: int, begin: int) -> None:
    ranges = found[word]
    if ranges is None:
        found[word] = [end, begin]
    else:
        ranges.append(end)
        ranges.append(begin)


def _union(found: list[list[int] | None], word: int) -> list[int]:
    """Ranges that were found backwards, of the four words of a register, as one ascending list."""
    out: list[int] = []
    ranges = found[word]
    if ranges is not None and found[word + 1] is None and found[word + 2] is None and found[word + 3] is None:
        if len(ranges) == 2:
            return [ranges[1], ranges[0]]
        for i in range(len(ranges) - 1, 0, -2):
            if out and ranges[i] <= out[-1]:
                out[-1] = max(out[-1], ranges[i - 1])
            else:
                out.append(ranges[i])
                out.append(ranges[i - 1])
        return out
    pairs: list[tuple[int, int]] = []
    for part in range(word, word + 4):
        ranges = found[part]
        if ranges is not None:
            for i in range(0, len(ranges), 2):
                pairs.append((ranges[i + 1], ranges[i]))
    pairs.sort()
    for begin, end in pairs:
        if out and begin <= out[-1]:
            out[-1] = max(out[-1], end)
        else:
            out += [begin, end]
    return out


class _Borders:
    """Words live at the borders of every block: `live_in[b]`, `live_out[b]`, as bits over `words`. Only words that
    some block reads before it writes them can be."""

    def __init__(self, blocks: list[MachineBlock], carriers: set[int], count: int) -> None:
        exposed: list[list[int]] = []
        written: list[list[int]] = []
        known = [-1] * count  # the last block that a word was found written in; that it was found exposed in
        asked = [-1] * count
        for number, block in enumerate(blocks):
            exposed.append([])
            written.append([])
            _block_words(block, number, known, asked, exposed[number], written[number], carriers)
        index = [-1] * count
        self.words: list[int] = []
        for words in exposed:
            for word in words:
                if index[word] < 0:
                    index[word] = len(self.words)
                    self.words.append(word)
        used = [self._mask(words, index) for words in exposed]
        killed = [self._mask(words, index) for words in written]
        self.live_in = list(used)
        self.live_out = [0] * len(blocks)
        changed = bool(self.words)
        while changed:
            changed = False
            for b in range(len(blocks) - 1, -1, -1):
                out = 0
                for successor in blocks[b].successors:
                    out |= self.live_in[successor]
                if out != self.live_out[b]:
                    self.live_out[b] = out
                    self.live_in[b] = used[b] | (out ^ (out & killed[b]))
                    changed = True

    def _mask(self, words: list[int], index: list[int]) -> int:
        """The bits of those words that have an index."""
        if not words or not self.words:
            return 0
        out = [0] * (len(self.words) // WORD + 1)
        for word in words:
            if index[word] >= 0:
                set_bit(out, index[word])
        return joined(out)

    def names(self, mask: int) -> list[int]:
        """The words whose bits are set."""
        return [self.words[n] for n in members(mask)] if mask else []


def _block_words(
    block: MachineBlock, number: int, known: list[int], asked: list[int],
    exposed: list[int], written: list[int], carriers: set[int],
) -> None:  # fmt: skip
    """The words that a block reads before it writes them, and those that it writes for all threads or for the first
    time. `known` and `asked` say of each word in which block that was noted last."""
    for instruction in block.instructions:
        effect = effects(instruction.opcode)
        values = instruction.values
        for access in effect.read_places:
            value = values[access.place]
            if value >= VIRTUAL:
                for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                    if known[word] != number and asked[word] != number:
                        asked[word] = number
                        exposed.append(word)
        guarded = instruction.guard != NO_GUARD
        if instruction.guard >= VIRTUAL:
            word = (instruction.guard - VIRTUAL) & ~3
            if known[word] != number and asked[word] != number:
                asked[word] = number
                exposed.append(word)
        for access in effect.write_places:
            value = values[access.place]
            if value < VIRTUAL:
                continue
            if not guarded or instruction.begins >> access.place & 1 or (value - VIRTUAL) >> 2 in carriers:
                for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                    if known[word] != number:
                        known[word] = number
                        written.append(word)
