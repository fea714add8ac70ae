"""Where each virtual register is live: from a machine function to lists of position ranges, with holes.

Instruction n of the function (blocks in their order) reads at position 2n and writes at 2n + 1. A range is half open.
The words of a wide register are followed one by one, since they are often written by one instruction each; the
register's life is the union over its words.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.ptx.liveness import members
from drawloom.sass.effects import IS_GENERAL, PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.machine import FRAME_POINTER, RZ, STACK_POINTER, VIRTUAL, MachineBlock, MachineFunction, virtual_id
from drawloom.sass.syntax import NO_GUARD

#: An event of `Liveness.events`: what it is, above that its register, above that the register's file.
KIND_MASK: Final = 3
REGISTER_SHIFT: Final = 2
FILE_SHIFT: Final = 34
REGISTER_MASK: Final = (1 << FILE_SHIFT - REGISTER_SHIFT) - 1
#: Kinds of events: a range ends, a later range begins, the first range begins.
ENDS: Final = 0
AGAIN: Final = 1
BEGINS: Final = 2
#: General registers that instructions name by number.
NAMED: Final = 256


class Liveness:
    """Virtual register v lives in the ranges `begins[r]` to `ends[r]` for r = `first[v]`, then `following[r]` and so on
    until -1; `count` more than its number gives those where an instruction names or changes a general register, and
    `count` + NAMED those behind calls. `hint[v]` is a register (as a slot's value) that word `hint_part[v]` is copied
    to or from, or -1. `files` and `several` are the register files of which some register lives, and of which one has
    several ranges, as bits."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        blocks = function.blocks
        count = len(function.files)
        self.count: i64 = count
        self.starts: list[int] = []
        position = 0
        for block in blocks:
            self.starts.append(position)
            position += 2 * len(block.instructions)
        self.starts.append(position)
        self.borders = _Borders(blocks, 4 * count)
        self.first = vec[i64]([-1] * (count + NAMED + 1))
        self.begins = vec[i64]()
        self.ends = vec[i64]()
        self.following = vec[i64]()
        self.hint = vec[i64]([-1] * count)
        self.hint_part = vec[i64]([0] * count)
        #: By word, then by number: where the range of what is live ends, -1 for what is not.
        self.end = vec[i64]([-1] * (4 * count + NAMED))
        #: What is read by number further down in the block.
        self.named = vec[i64]()
        self.files = 0
        self.several = 0
        self.has_calls = False
        self._build()

    def _build(self) -> None:
        end = self.end
        blocks = self.function.blocks
        for b in range(len(blocks) - 1, -1, -1):
            start: i64 = self.starts[b]
            stop: i64 = self.starts[b + 1]
            # What lives on from the end of this block to the beginning of the next is in one range.
            for word in self.borders.ending(b):
                end[word] = stop
            position = stop
            for instruction in reversed(blocks[b].instructions):
                position -= 2
                effect = instruction.opcode.effects or effects(instruction.opcode)
                values = cast("list[i64]", instruction.values)
                if effect.is_copy:
                    self._hint(values[0], values[1])
                    self._hint(values[1], values[0])
                guard: i64 = instruction.guard
                if instruction.clobbers:
                    self.has_calls = True
                    self._cover(self.count + NAMED, position + 2, position + 1)
                    for clobbered in members(instruction.clobbers):
                        self._write_named(clobbered, position)
                for access in effect.write_places:
                    value: i64 = values[access >> PLACE_SHIFT]
                    words = access >> WORDS_SHIFT & WORDS_MASK
                    if value < VIRTUAL:
                        if access & IS_GENERAL and value != RZ:
                            for place in range(value, value + words):
                                self._write_named(place, position)
                        continue
                    register = (value - VIRTUAL) >> 2
                    begins = guard == NO_GUARD or instruction.begins >> (access >> PLACE_SHIFT) & 1
                    for word in range(value - VIRTUAL, value - VIRTUAL + words):
                        if end[word] < 0:
                            self._cover(register, position + 2, position + 1)  # written and never read
                        elif begins:
                            self._cover(register, end[word], position + 1)
                            end[word] = -1
                for access in effect.read_places:
                    value = values[access >> PLACE_SHIFT]
                    words = access >> WORDS_SHIFT & WORDS_MASK
                    if value >= VIRTUAL:
                        for word in range(value - VIRTUAL, value - VIRTUAL + words):
                            if end[word] < 0:
                                end[word] = position + 1
                    # Registers by number that nobody else gets anyway do not matter.
                    elif access & IS_GENERAL and value != RZ and value != STACK_POINTER and value != FRAME_POINTER:
                        for place in range(value, value + words):
                            self._read_named(place, position)
                if guard >= VIRTUAL:
                    word = (guard - VIRTUAL) & ~3
                    if end[word] < 0:
                        end[word] = position + 1
                if instruction.arguments:
                    for argument in members(instruction.arguments):
                        self._read_named(argument, position)
            if len(self.named):
                for number in self.named:
                    word = 4 * self.count + number
                    if end[word] >= 0:
                        self._cover(self.count + number, end[word], start)
                        end[word] = -1
                self.named = vec[i64]()
            for word in self.borders.beginning(b):
                self._cover(word >> 2, end[word], start)
                end[word] = -1
        first, following = self.first, self.following
        for v, file in enumerate(self.function.files):
            if first[v] >= 0:
                self.files |= 1 << file
                if following[first[v]] >= 0:
                    self.several |= 1 << file

    def _cover(self, register: i64, end: i64, begin: i64) -> None:
        """Add a range that begins no later than those that a register has."""
        known = self.first[register]
        if known < 0 or self.begins[known] > end:
            self.first[register] = len(self.begins)
            self.begins = append(self.begins, begin)
            self.ends = append(self.ends, end)
            self.following = append(self.following, known)
            return
        begins, ends, following = self.begins, self.ends, self.following
        behind = known
        while behind >= 0 and begins[behind] <= end:  # it reaches into the one behind it
            end = max(end, ends[behind])
            behind = following[behind]
        begins[known] = begin
        ends[known] = end
        following[known] = behind

    def _hint(self, one: i64, other: i64) -> None:
        """One side of a copy would like the register of the other."""
        if one >= VIRTUAL:
            register = (one - VIRTUAL) >> 2
            if self.hint[register] < 0:
                self.hint[register] = other
                self.hint_part[register] = one & 3

    def _read_named(self, number: i64, position: i64) -> None:
        """A register is read by its number here."""
        word = 4 * self.count + number
        if self.end[word] < 0:
            self.end[word] = position + 1
            self.named = append(self.named, number)

    def _write_named(self, number: i64, position: i64) -> None:
        """A register by number gets a value here, which lives until it is read."""
        word = 4 * self.count + number
        end = self.end[word]
        self._cover(self.count + number, end if end >= 0 else position + 2, position + 1)
        self.end[word] = -1

    def meet(self, one: i64, other: i64) -> bool:
        """Whether a range and those that follow it have a position in common with another and those that follow."""
        begins, ends, following = self.begins, self.ends, self.following
        while one >= 0 and other >= 0:
            if ends[one] <= begins[other]:
                one = following[one]
            elif ends[other] <= begins[one]:
                other = following[other]
            else:
                return True
        return False

    def events(self) -> vec[i64]:
        """The edges of all ranges by their position, at each first those that do not begin a register's life, then by
        register."""
        # A counting sort: how many of each position and kind, from that where they belong.
        first, begins, ends, following = self.first, self.begins, self.ends, self.following
        last: i64 = self.starts[-1] + 2
        place = vec[i64]([0] * (2 * last + 2))
        count = self.count
        for register in range(count):
            at = first[register]
            if at >= 0:
                place[begins[at] << 1 | 1] += 1
                place[ends[at] << 1] += 1
                at = following[at]
                while at >= 0:
                    place[begins[at] << 1] += 1
                    place[ends[at] << 1] += 1
                    at = following[at]
        edges: i64 = 0
        for key in range(len(place)):
            here = place[key]
            place[key] = edges
            edges += here
        out = vec[i64]([0] * edges)
        files = self.function.files
        for register in range(count):
            at = first[register]
            if at >= 0:
                file: i64 = files[register]
                event = file << FILE_SHIFT | register << REGISTER_SHIFT
                key = begins[at] << 1 | 1
                out[place[key]] = event | BEGINS
                place[key] += 1
                while at >= 0:
                    if at != first[register]:
                        key = begins[at] << 1
                        out[place[key]] = event | AGAIN
                        place[key] += 1
                    key = ends[at] << 1
                    out[place[key]] = event
                    place[key] += 1
                    at = following[at]
        return out

    def weights(self) -> list[float]:
        """How often each virtual register is read and written, more inside of loops."""
        out = [0.0] * len(self.function.files)
        for block in self.function.blocks:
            weight = 10.0 ** min(block.depth, 6)
            for instruction in block.instructions:
                effect = effects(instruction.opcode)
                for places in (effect.write_places, effect.read_places):
                    for access in places:
                        value = instruction.values[access >> PLACE_SHIFT]
                        if value >= VIRTUAL:
                            out[virtual_id(value)] += weight
                if instruction.guard >= VIRTUAL:
                    out[virtual_id(instruction.guard)] += weight
        return out


class _Borders:
    """The words that live at the borders of blocks, ascending: at the beginning of block b those from
    `live_in[in_from[b]]` to `live_in[in_from[b + 1]]`, at its end alike in `live_out`. Each word that some block reads
    before it writes it is followed back from there to where it is written, so that time and memory grow with the
    borders that words cross, and not with the blocks times the words."""

    def __init__(self, blocks: list[MachineBlock], count: i64) -> None:
        self.count: i64 = len(blocks)
        found = _BlockWords(count)
        for number, block in enumerate(blocks):
            found.look(block, number)
        readers = _ByWord(found.exposed, found.exposed_ends, count)
        writers = _ByWord(found.written, found.written_ends, count)
        before, before_from = _ways_in(blocks)
        entered = vec[i64]([-1] * self.count)
        left = vec[i64]([-1] * self.count)
        killed = vec[i64]([-1] * self.count)
        ins = vec[i64]()
        outs = vec[i64]()
        in_words = vec[i64]()
        out_words = vec[i64]()
        work = vec[i64]([0] * self.count)
        for word in range(count):
            size: i64 = 0
            for at in range(readers.begin[word], readers.begin[word + 1]):
                b = readers.blocks[at]
                entered[b] = word
                work[size] = b
                size += 1
                ins = append(ins, b)
                in_words = append(in_words, word)
            if not size:
                continue
            for at in range(writers.begin[word], writers.begin[word + 1]):
                killed[writers.blocks[at]] = word
            while size:
                size -= 1
                b = work[size]
                for way in range(before_from[b], before_from[b + 1]):
                    p = before[way]
                    if left[p] == word:
                        continue
                    left[p] = word
                    outs = append(outs, p)
                    out_words = append(out_words, word)
                    if killed[p] != word and entered[p] != word:
                        entered[p] = word
                        work[size] = p
                        size += 1
                        ins = append(ins, p)
                        in_words = append(in_words, word)
        ends = _counted(ins, self.count)
        self.in_from = ends
        self.live_in = _sorted(ins, in_words, ends)
        ends = _counted(outs, self.count)
        self.out_from = ends
        self.live_out = _sorted(outs, out_words, ends)

    def words_in(self, b: i64, register: i64) -> i64:
        """The words of a virtual register, as bits, that live at the beginning of a block."""
        return _bits(self.live_in, self.in_from[b], self.in_from[b + 1], register)

    def words_out(self, b: i64, register: i64) -> i64:
        """The words of a virtual register, as bits, that live at the end of a block."""
        return _bits(self.live_out, self.out_from[b], self.out_from[b + 1], register)

    def ending(self, b: i64) -> vec[i64]:
        """The words that live at the end of a block and not at the beginning of the next."""
        first, stop = self.out_from[b], self.out_from[b + 1]
        if b + 1 == self.count:
            return self.live_out[first:stop]
        return _without(self.live_out, first, stop, self.live_in, self.in_from[b + 1], self.in_from[b + 2])

    def beginning(self, b: i64) -> vec[i64]:
        """The words that live at the beginning of a block and not at the end of the one before."""
        first, stop = self.in_from[b], self.in_from[b + 1]
        if not b:
            return self.live_in[first:stop]
        return _without(self.live_in, first, stop, self.live_out, self.out_from[b - 1], self.out_from[b])


class _ByWord:
    """The blocks that name each word, from `begin[word]` on, of lists by block that stand one behind the other."""

    def __init__(self, words: vec[i64], ends: vec[i64], count: i64) -> None:
        self.begin = begin = _counted(words, count)
        place = begin[:]
        self.blocks = blocks = vec[i64]([0] * len(words))
        at: i64 = 0
        for b in range(len(ends)):
            end = ends[b]
            while at < end:
                word = words[at]
                blocks[place[word]] = b
                place[word] += 1
                at += 1


def _counted(keys: vec[i64], count: i64) -> vec[i64]:
    """Where the items of each key begin once they are sorted."""
    begin = vec[i64]([0] * (count + 1))
    for key in keys:
        begin[key + 1] += 1
    for key in range(count):
        begin[key + 1] += begin[key]
    return begin


def _sorted(keys: vec[i64], items: vec[i64], begin: vec[i64]) -> vec[i64]:
    """The items by their keys, of one key in their order."""
    place = begin[:]
    out = vec[i64]([0] * len(items))
    for at in range(len(items)):
        key = keys[at]
        out[place[key]] = items[at]
        place[key] += 1
    return out


def _ways_in(blocks: list[MachineBlock]) -> tuple[vec[i64], vec[i64]]:
    """The blocks that lead to each block, and where those of each begin."""
    ends = vec[i64]()
    starts = vec[i64]()
    for b, block in enumerate(blocks):
        for successor in block.successors:
            ends = append(ends, successor)
            starts = append(starts, b)
    begin = _counted(ends, len(blocks))
    return _sorted(ends, starts, begin), begin


def _bits(words: vec[i64], low: i64, high: i64, register: i64) -> i64:
    """The words of a virtual register, as bits, among some that are in order."""
    stop = high
    first = 4 * register
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < first:
            low = middle + 1
        else:
            high = middle
    found: i64 = 0
    while low < stop and words[low] < first + 4:
        found |= 8 >> (first + 3 - words[low])
        low += 1
    return found


def _without(words: vec[i64], at: i64, stop: i64, others: vec[i64], other: i64, other_stop: i64) -> vec[i64]:
    """Those of some words that are not among others; both are in order."""
    out = vec[i64]()
    while at < stop:
        word = words[at]
        while other < other_stop and others[other] < word:
            other += 1
        if other == other_stop or others[other] != word:
            out = append(out, word)
        at += 1
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
            effect = instruction.opcode.effects or effects(instruction.opcode)
            values = cast("list[i64]", instruction.values)
            for access in effect.read_places:
                value: i64 = values[access >> PLACE_SHIFT]
                if value >= VIRTUAL:
                    for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
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
                value = values[access >> PLACE_SHIFT]
                if value < VIRTUAL:
                    continue
                if guard == NO_GUARD or instruction.begins >> (access >> PLACE_SHIFT) & 1:
                    for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                        if known[word] != number:
                            known[word] = number
                            written = append(written, word)
        self.exposed, self.written = exposed, written
        self.exposed_ends = append(self.exposed_ends, len(exposed))
        self.written_ends = append(self.written_ends, len(written))
