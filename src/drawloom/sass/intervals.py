"""Where each virtual register is live: from a machine function to lists of position ranges, with holes.

Instruction n of the function (blocks in their order) reads at position 2n and writes at 2n + 1. A range is half open.
The words of a wide register are followed one by one, since they are often written by one instruction each; the
register's interval is the union over its words.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from drawloom.ptx.liveness import members
from drawloom.sass.effects import effects
from drawloom.sass.machine import FRAME_POINTER, RZ, STACK_POINTER, VIRTUAL, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: Sets of words are kept in numbers of so many bits.
_ROW_SHIFT: Final = 5
_ROW: Final = 1 << _ROW_SHIFT
#: Bits are this one moved to the right: 1 moved to the left is negative at the last place, compiled.
_LAST_BIT: Final = 1 << _ROW - 1
#: Where an event of `Liveness.events` has its register.
EVENT_SHIFT: Final = 32


@mypyc_attr(acyclic=True)
class Interval:
    """The life of a register. `ranges` are ascending and disjoint: begin, end, begin, end ...; `weight` is
    how often it is read and written, more inside of loops; `hint` a register (as a slot's
    value) that its word `hint_part` is copied to or from, or -1."""

    def __init__(self, register: i64) -> None:
        self.register = register
        self.ranges = vec[i64]()
        self.weight = 0.0
        self.hint: i64 = -1
        self.hint_part: i64 = 0
        #: The first of `ranges` that a scan through all positions has not left behind.
        self.current: i64 = 0

    def cover(self, end: i64, begin: i64) -> None:
        """Add a range that begins no later than those before it, while `ranges` are still backwards: end, begin ..."""
        ranges = self.ranges
        count = len(ranges)
        if count == 0:
            self.ranges = vec[i64]([end, begin])
            return
        place = count
        while place > 0 and ranges[place - 1] <= end:  # it reaches into the one behind it
            end = max(end, ranges[place - 2])
            place -= 2
        if place < count:
            ranges[place] = end
            ranges[place + 1] = begin
            self.ranges = ranges[: place + 2] if place + 2 < count else ranges
        else:
            self.ranges = append(append(ranges, end), begin)

    def turn(self) -> None:
        """Put `ranges` in their order."""
        ranges = self.ranges
        first: i64 = 0
        last = len(ranges) - 1
        while first < last:
            ranges[first], ranges[last] = ranges[last], ranges[first]
            first += 1
            last -= 1

    def meets(self, other: Interval) -> bool:
        """Whether both live at some position that a scan has not left behind."""
        a, b = self.ranges, other.ranges
        i, j = self.current, other.current
        while i < len(a) and j < len(b):
            if a[i + 1] <= b[j]:
                i += 2
            elif b[j + 1] <= a[i]:
                j += 2
            else:
                return True
        return False


class Liveness:
    """`intervals[v]` is that of virtual register v, None for one that never lives. `fixed[r]` is where an instruction
    names or changes general register r, `calls` the positions behind which calls have changed what they may."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        blocks = function.blocks
        self.starts: list[int] = []
        position = 0
        for block in blocks:
            self.starts.append(position)
            position += 2 * len(block.instructions)
        self.starts.append(position)
        self.borders = _Borders(blocks, 4 * len(function.files))
        self.intervals: list[Interval | None] = [None] * len(function.files)
        #: The register files of the intervals, as bits.
        self.files = 0
        self.fixed: dict[int, Interval] = {}
        self.calls: list[int] = []
        self._build()

    def _build(self) -> None:
        end = vec[i64]([-1] * (4 * len(self.function.files)))  # of a word that is live: where its range ends
        blocks = self.function.blocks
        intervals = self.intervals
        named: dict[int, int] = {}  # general registers by number that are read further down: where that ends
        for b in range(len(blocks) - 1, -1, -1):
            start: i64 = self.starts[b]
            stop: i64 = self.starts[b + 1]
            # What lives on from the end of this block to the beginning of the next is in one range.
            for word in self.borders.ending(b):
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
                guard: i64 = instruction.guard
                if instruction.clobbers:
                    self.calls.append(int(position))
                    for clobbered in members(instruction.clobbers):
                        self._write_named(clobbered, named, position)
                for access in effect.write_places:
                    value: i64 = values[access.place]
                    if value < VIRTUAL:
                        if access.is_general and value != RZ:
                            for place in range(value, value + access.words):
                                self._write_named(int(place), named, position)
                        continue
                    register = (value - VIRTUAL) >> 2
                    known = intervals[register]
                    interval = known if known is not None else self._interval(register)
                    interval.weight += weight
                    begins = guard == NO_GUARD or instruction.begins >> access.place & 1
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if end[word] < 0:
                            interval.cover(position + 2, position + 1)  # written and never read
                        elif begins:
                            interval.cover(end[word], position + 1)
                            end[word] = -1
                for access in effect.read_places:
                    value = values[access.place]
                    if value < VIRTUAL:
                        # Registers by number that nobody else gets anyway do not matter.
                        if access.is_general and value != RZ and value != STACK_POINTER and value != FRAME_POINTER:
                            for place in range(value, value + access.words):
                                named.setdefault(int(place), int(position + 1))
                        continue
                    register = (value - VIRTUAL) >> 2
                    known = intervals[register]
                    interval = known if known is not None else self._interval(register)
                    interval.weight += weight
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if end[word] < 0:
                            end[word] = position + 1
                if guard >= VIRTUAL:
                    self._interval((guard - VIRTUAL) >> 2).weight += weight
                    word = (guard - VIRTUAL) & ~3
                    if end[word] < 0:
                        end[word] = position + 1
                if instruction.arguments:
                    for argument in members(instruction.arguments):
                        named.setdefault(argument, int(position + 1))
            if named:
                for argument, reader in named.items():
                    self._fixed(argument).cover(reader, start)
                named = {}
            for word in self.borders.beginning(b):
                self._interval(word >> 2).cover(end[word], start)
                end[word] = -1
        for made in self.intervals:
            if made is not None:
                made.turn()
                self.files |= 1 << self.function.files[made.register]
        for made in self.fixed.values():
            made.turn()

    def _interval(self, register: i64) -> Interval:
        interval = self.intervals[register]
        if interval is None:
            interval = self.intervals[register] = Interval(register)
        return interval

    def _fixed(self, register: int) -> Interval:
        interval = self.fixed.get(register)
        if interval is None:
            interval = self.fixed[register] = Interval(register)
        return interval

    def _hint(self, one: i64, other: i64) -> None:
        """One side of a copy would like the register of the other."""
        if one >= VIRTUAL:
            interval = self._interval((one - VIRTUAL) >> 2)
            if interval.hint < 0:
                interval.hint = other
                interval.hint_part = one & 3

    def _write_named(self, register: int, named: dict[int, int], position: i64) -> None:
        """A register by number gets a value here, which lives until it is read."""
        self._fixed(register).cover(named.pop(register, int(position + 2)), position + 1)

    def events(self) -> vec[i64]:
        """The edges of all ranges by their position, at each first those that do not begin an interval, then by
        register: the register << EVENT_SHIFT | the index of the edge in the interval's ranges."""
        # A counting sort: how many of each position and kind, from that where they belong.
        last: i64 = self.starts[-1] + 2
        place = vec[i64]([0] * (2 * last + 2))
        for interval in self.intervals:
            if interval is not None:
                kind: i64 = 1
                for position in interval.ranges:
                    place[position << 1 | kind] += 1
                    kind = 0
        count: i64 = 0
        for key in range(len(place)):
            here = place[key]
            place[key] = count
            count += here
        out = vec[i64]([0] * count)
        for interval in self.intervals:
            if interval is not None:
                event = interval.register << EVENT_SHIFT
                kind = 1
                for position in interval.ranges:
                    key = position << 1 | kind
                    out[place[key]] = event
                    place[key] += 1
                    event += 1
                    kind = 0
        return out


class _Borders:
    """Words live at the borders of every block: `rows` numbers for each block in `live_in` and `live_out`, as bits over
    `words`. Only words that some block reads before it writes them can be."""

    def __init__(self, blocks: list[MachineBlock], count: i64) -> None:
        self.count: i64 = len(blocks)
        found = _BlockWords(count)
        for number, block in enumerate(blocks):
            found.look(block, number)
        index = vec[i64]([-1] * count)
        self.words = vec[i64]()
        for word in found.exposed:
            if index[word] < 0:
                index[word] = len(self.words)
                self.words = append(self.words, word)
        rows = (len(self.words) + _ROW - 1) >> _ROW_SHIFT
        self.rows = rows
        used = self._bits(found.exposed, found.exposed_ends, index)
        killed = self._bits(found.written, found.written_ends, index)
        live_in = used[:]
        live_out = vec[i64]([0] * (self.count * rows))
        changed = bool(rows)
        while changed:
            changed = False
            for b in range(len(blocks) - 1, -1, -1):
                at = b * rows
                grows = False
                for successor in blocks[b].successors:
                    for row in range(rows):
                        more = live_in[successor * rows + row] & ~live_out[at + row]
                        if more:
                            live_out[at + row] |= more
                            grows = True
                if grows:
                    for row in range(at, at + rows):
                        live_in[row] = used[row] | (live_out[row] & ~killed[row])
                    changed = True
        self.live_in = live_in
        self.live_out = live_out

    def _bits(self, words: vec[i64], ends: vec[i64], index: vec[i64]) -> vec[i64]:
        """The rows of the words of each block, which are those up to its end; only of those that have an index."""
        out = vec[i64]([0] * (self.count * self.rows))
        place: i64 = 0
        at: i64 = 0
        for end in ends:
            while place < end:
                bit = index[words[place]]
                if bit >= 0:
                    out[at + (bit >> _ROW_SHIFT)] |= _LAST_BIT >> (_ROW - 1 - (bit & _ROW - 1))
                place += 1
            at += self.rows
        return out

    def ending(self, b: i64) -> vec[i64]:
        """The words that live at the end of a block and not at the beginning of the next."""
        return self._words(self.live_out, b, self.live_in, b + 1)

    def beginning(self, b: i64) -> vec[i64]:
        """The words that live at the beginning of a block and not at the end of the one before."""
        return self._words(self.live_in, b, self.live_out, b - 1)

    def _words(self, live: vec[i64], b: i64, other: vec[i64], but: i64) -> vec[i64]:
        out = vec[i64]()
        for row in range(self.rows):
            bits = live[b * self.rows + row]
            if but >= 0 and but < self.count:
                bits &= ~other[but * self.rows + row]
            place = row << _ROW_SHIFT
            while bits:
                if bits & 1:
                    out = append(out, self.words[place])
                bits >>= 1
                place += 1
        return out


class _BlockWords:
    """The words that each block reads before it writes them, and those that it writes for all threads or for the first
    time, one block behind the other; the `ends` say where. `known` and `asked` are in which block a word was last noted
    as written and as read."""

    def __init__(self, count: i64) -> None:
        self.known = vec[i64]([-1] * count)
        self.asked = vec[i64]([-1] * count)
        self.exposed = vec[i64]()
        self.written = vec[i64]()
        self.exposed_ends = vec[i64]()
        self.written_ends = vec[i64]()

    def look(self, block: MachineBlock, number: i64) -> None:
        known, asked = self.known, self.asked
        exposed, written = self.exposed, self.written
        for instruction in block.instructions:
            effect = effects(instruction.opcode)
            values = instruction.values
            for access in effect.read_places:
                value: i64 = values[access.place]
                if value >= VIRTUAL:
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if known[word] != number and asked[word] != number:
                            asked[word] = number
                            exposed = append(exposed, word)
            guard: i64 = instruction.guard
            if guard >= VIRTUAL:
                word = (guard - VIRTUAL) & ~3
                if known[word] != number and asked[word] != number:
                    asked[word] = number
                    exposed = append(exposed, word)
            for access in effect.write_places:
                value = values[access.place]
                if value < VIRTUAL:
                    continue
                if guard == NO_GUARD or instruction.begins >> access.place & 1:
                    for word in range(value - VIRTUAL, value - VIRTUAL + access.words):
                        if known[word] != number:
                            known[word] = number
                            written = append(written, word)
        self.exposed, self.written = exposed, written
        self.exposed_ends = append(self.exposed_ends, len(exposed))
        self.written_ends = append(self.written_ends, len(written))
