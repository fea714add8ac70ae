"""A selected function without copies and results that nobody needs, in place, before registers are assigned.

    MOV v, u; IADD3 x, v, 1, RZ     ->  IADD3 x, u, 1, RZ        forwards: readers of v read u
    IADD3 t, a, b, RZ; MOV v, t     ->  IADD3 v, a, b, RZ        backwards: what is only copied is made in its place

Forwards a copy goes only if it goes for good: every reader of v can read u, and u holds at all of them what it held at
the copy. That is so for registers that are written once, before all their readers; else where all readers stand in
the block of the copy, before u is written again. A reader of a pair reads another pair. Copies that a guard selects,
registers by number, and the operands of atomic operations, which must be neighbours, stay as they are.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.sass.anew import parts_of_calls
from drawloom.sass.effects import IS_GENERAL, PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, Effects, effects
from drawloom.sass.isa import load_target
from drawloom.sass.logic import Logic
from drawloom.sass.machine import PT, RZ, VIRTUAL, Machine, MachineBlock, MachineFunction
from drawloom.sass.syntax import NO_GUARD

#: Words that are written under a guard count as written several times.
_SEVERAL: Final = 2
#: What takes a result that is not wanted, by kind of slot.
_NOWHERE: Final[dict[str, int]] = {"R": RZ, "P": PT}
#: A word of a pair is made in its place from no further up: the pair holds both its registers from there on.
_NEAR: Final = 8


def drop_copies(function: MachineFunction, settled: list[bool]) -> None:
    """Rewrite ``function``. `settled[v]` says that no way leads to a reader of virtual register v but through a writer
    of it."""
    uses = Uses(function)
    if uses.copying:
        forward(function, uses, settled)
    target = load_target(function.target)
    if target.wide:
        logic = Logic(target, uses.writes, uses.reads) if uses.logical else None
        for block in uses.logical:
            assert logic is not None
            logic.join(block)
    of_calls = parts_of_calls(function)
    for number in range(len(function.blocks) - 1, -1, -1):
        drop_unread(function.blocks[number], uses, of_calls)


def forward(function: MachineFunction, uses: Uses, settled: list[bool]) -> None:
    places = InPlace(uses, settled)
    for block in uses.copying:
        places.make(block)
    sources = Forwarding(function, uses, settled)
    if sources.found:
        sources.apply()


class Uses:
    """Per word of a virtual register (``value - VIRTUAL``): how often it is written and read. `copying` are the blocks
    with copies, `logical` those with several logic operations."""

    def __init__(self, function: MachineFunction) -> None:
        count = 4 * len(function.files)
        self.writes = writes = vec[i64]([0] * count)
        self.reads = reads = vec[i64]([0] * count)
        self.copying: list[MachineBlock] = []
        self.logical: list[MachineBlock] = []
        self.widths = function.widths
        for block in function.blocks:
            has_copies = False
            operations: i64 = 0
            for instruction in block.instructions:
                found = instruction.opcode.effects or effects(instruction.opcode)
                values = cast("list[i64]", instruction.values)
                guard: i64 = instruction.guard
                each: i64 = 1 if guard == NO_GUARD else _SEVERAL
                for access in found.write_places:
                    value: i64 = values[access >> PLACE_SHIFT]
                    if value >= VIRTUAL:
                        for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                            writes[word] += each
                for access in found.read_places:
                    value = values[access >> PLACE_SHIFT]
                    if value >= VIRTUAL:
                        for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                            reads[word] += 1
                if guard >= VIRTUAL:
                    reads[(guard - VIRTUAL) & ~3] += 1
                if found.is_copy:
                    has_copies = has_copies or is_copy(instruction)
                elif found.is_logic:
                    operations += 1
            if has_copies:
                self.copying.append(block)
            if operations > 1:
                self.logical.append(block)


def is_copy(instruction: Machine) -> bool:
    """Whether a move from one register to another is one between virtual registers, for all lanes."""
    values = instruction.values
    return instruction.guard == NO_GUARD and values[0] >= VIRTUAL and values[1] >= VIRTUAL


class InPlace:
    """Backwards: the writer of a register that only a copy behind it reads writes the copy's target, where nobody in
    between touches that. Of every word: where it was read or written last, and where it was written if that is a
    register of one word written once; places count on from block to block, those of the one at hand from `begun` on."""

    def __init__(self, uses: Uses, settled: list[bool]) -> None:
        self.uses = uses
        self.settled = settled
        count = len(uses.reads)
        self.touched = vec[i64]([-1] * count)
        self.writer = vec[i64]([-1] * count)
        self.begun: i64 = 0

    def make(self, block: MachineBlock) -> None:
        uses, settled, touched, writer, begun = self.uses, self.settled, self.touched, self.writer, self.begun
        writes = uses.writes
        dropped = False
        number = begun - 1
        for instruction in block.instructions:
            number += 1
            found = instruction.opcode.effects or effects(instruction.opcode)
            values = cast("list[i64]", instruction.values)
            if found.is_copy and is_copy(instruction):
                target: i64 = values[0] - VIRTUAL
                source: i64 = values[1] - VIRTUAL
                made = writer[source]
                if made >= begun and touched[target] <= made and uses.reads[source] == 1 and target != source:
                    first = block.instructions[made - begun]
                    near = uses.widths[target >> 2] == 1 or number - made <= _NEAR
                    if near and written_once(first, target) < 0:
                        first.values[written_once(first, source)] = values[0]
                        values[1] = values[0]
                        writes[source] = uses.reads[source] = 0
                        dropped = True
                        touched[target] = number
                        if writes[target] == 1 and settled[target >> 2]:
                            writer[target] = made
                        continue
            for access in found.read_places:
                value: i64 = values[access >> PLACE_SHIFT]
                if value >= VIRTUAL:
                    for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                        touched[word] = number
            for access in found.write_places:
                value = values[access >> PLACE_SHIFT]
                if value >= VIRTUAL:
                    first_word = value - VIRTUAL
                    words = access >> WORDS_SHIFT & WORDS_MASK
                    for word in range(first_word, first_word + words):
                        touched[word] = number
                    if words == 1 and access & IS_GENERAL and writes[first_word] == 1 and settled[first_word >> 2]:
                        writer[first_word] = number
        self.begun = number + 1
        if dropped:
            block.instructions = [i for i in block.instructions if not is_idle(i)]


def written_once(instruction: Machine, word: i64) -> i64:
    """The place of the slot in which an instruction writes a word; -1 if it does not."""
    for access in effects(instruction.opcode).write_places:
        first: i64 = instruction.values[access >> PLACE_SHIFT] - VIRTUAL
        if first <= word and word < first + (access >> WORDS_SHIFT & WORDS_MASK):
            return access >> PLACE_SHIFT
    return -1


def drop_unread(block: MachineBlock, uses: Uses, of_calls: set[int]) -> None:
    """Take away what computes only what nobody reads. ``of_calls`` are `parts_of_calls`."""
    instructions = block.instructions
    for place in range(len(instructions) - 1, -1, -1):
        instruction = instructions[place]
        found = instruction.opcode.effects or effects(instruction.opcode)
        if not found.only_computes or is_read(instruction, found, uses.reads) or id(instruction) in of_calls:
            continue
        del instructions[place]
        for access in found.read_places:
            value: i64 = instruction.values[access >> PLACE_SHIFT]
            if value >= VIRTUAL:
                for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                    uses.reads[word] -= 1
        if instruction.guard >= VIRTUAL:
            uses.reads[(instruction.guard - VIRTUAL) & ~3] -= 1


def is_read(instruction: Machine, found: Effects, reads: vec[i64]) -> bool:
    """Whether an instruction that only computes writes anything but virtual registers that nobody reads."""
    if instruction.is_relocated:
        return True
    values = cast("list[i64]", instruction.values)
    for access in found.write_places:
        value = values[access >> PLACE_SHIFT]
        if value < VIRTUAL:
            if value != _NOWHERE.get(instruction.opcode.slots[access >> PLACE_SHIFT].kind, -1):
                return True
            continue
        for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
            if reads[word]:
                return True
    return False


def is_idle(instruction: Machine) -> bool:
    return effects(instruction.opcode).is_copy and instruction.values[0] == instruction.values[1]


class Forwarding:
    """`source[word]` is what to read instead of a word, -1 for itself; `found`: whether there is any."""

    def __init__(self, function: MachineFunction, uses: Uses, settled: list[bool]) -> None:
        self.function = function
        self.uses = uses
        self.settled = settled
        self.source = vec[i64]([-1] * len(uses.reads))
        self.passing: set[int] = set()  # copies of what may be written again, which copies of them cannot read instead
        self.found = False
        for block in uses.copying:
            self.collect(block)
        if self.passing:
            for word in range(len(self.source)):
                if self.source[word] >= 0 and self.source[word] in self.passing:
                    self.source[word] = -1
        while self.found and self.keep_those_of_wide_readers():
            pass

    def is_single(self, word: i64) -> bool:
        return self.uses.writes[word] == 1 and self.settled[word >> 2]

    def collect(self, block: MachineBlock) -> None:
        """The copies of a block whose readers all find the same in what was copied."""
        left: dict[int, int] = {}  # words that are copies of what may be written again: how many readers are to come
        by_source: dict[int, list[int]] = {}
        for instruction in block.instructions:
            found = effects(instruction.opcode)
            values = instruction.values
            if left:
                for access in found.read_places:
                    value = values[access >> PLACE_SHIFT]
                    if value >= VIRTUAL:
                        for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                            if word in left:
                                left[word] -= 1
                for access in found.write_places:
                    value = values[access >> PLACE_SHIFT]
                    if value >= VIRTUAL:
                        for word in range(value - VIRTUAL, value - VIRTUAL + (access >> WORDS_SHIFT & WORDS_MASK)):
                            for copied in by_source.pop(word, ()):
                                if left.pop(copied) == 0:
                                    self.add(copied, word)
                                    self.passing.add(copied)
            if not found.is_copy or not is_copy(instruction):
                continue
            target, source = values[0] - VIRTUAL, values[1] - VIRTUAL
            if target == source or not self.is_single(target):
                continue
            if self.is_single(source):
                self.add(target, source)
            else:
                left[target] = int(self.uses.reads[target])
                by_source.setdefault(source, []).append(target)
        for source, targets in by_source.items():
            for target in targets:
                if left[target] == 0:
                    self.add(target, source)
                    self.passing.add(target)

    def add(self, target: int, source: int) -> None:
        self.source[target] = source
        self.found = True

    def origin(self, word: i64) -> i64:
        while self.source[word] >= 0:
            word = self.source[word]
        return word

    def keep_those_of_wide_readers(self) -> bool:
        """Take back copies that some reader needs as part of a group which stands nowhere else; whether there were."""
        kept = False
        for block in self.function.blocks:
            for instruction in block.instructions:
                found = instruction.opcode.effects or effects(instruction.opcode)
                if not found.reads_groups:
                    continue
                is_atomic = found.memory == "atomic"
                for access in found.read_places:
                    value: i64 = instruction.values[access >> PLACE_SHIFT]
                    words = access >> WORDS_SHIFT & WORDS_MASK
                    if value < VIRTUAL or (words == 1 and not is_atomic):
                        continue
                    first = value - VIRTUAL
                    if not is_atomic and self.group(first, words) >= 0:
                        continue
                    for word in range(first, first + words):
                        if self.source[word] >= 0:
                            self.source[word] = -1
                            kept = True
        return kept

    def group(self, first: i64, words: i64) -> i64:
        """The word where a group stands that holds the same as one; -1 if there is none."""
        origin = self.origin(first)
        step: i64 = 1 if words == 1 else 2 if words == 2 else 4
        if (origin & 3) % step:
            return -1
        for more in range(1, words):
            if self.origin(first + more) != origin + more:
                return -1
        return origin

    def apply(self) -> None:
        """Readers read what was copied, and the copies go."""
        source, reads = self.source, self.uses.reads
        for block in self.function.blocks:
            dropped = False
            for instruction in block.instructions:
                found = instruction.opcode.effects or effects(instruction.opcode)
                values = cast("list[i64]", instruction.values)
                for access in found.read_places:
                    value: i64 = values[access >> PLACE_SHIFT]
                    if value >= VIRTUAL and source[value - VIRTUAL] >= 0 and access & IS_GENERAL:
                        first = value - VIRTUAL
                        words = access >> WORDS_SHIFT & WORDS_MASK
                        origin = self.group(first, words)
                        values[access >> PLACE_SHIFT] = VIRTUAL + origin
                        for word in range(words):
                            reads[first + word] -= 1
                            reads[origin + word] += 1
                if found.is_copy and is_copy(instruction) and source[values[0] - VIRTUAL] >= 0:
                    reads[values[1] - VIRTUAL] -= 1
                    values[1] = values[0]
                    dropped = True
            if dropped:
                block.instructions = [i for i in block.instructions if not is_idle(i)]
