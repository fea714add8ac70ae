"""Split lives where more general registers are live than there are, in place, before registers are assigned.

    LDG v, ... FADD x, v, a ... (too many live) ... FADD y, v, b
      ->  LDG v, ...; STL [slot], v ... FADD x, v, a ... LDL u, [slot]; FADD y, u, b

Blocks are gone through in reverse postorder with the set of registers that are kept. Where an instruction needs more
than there is room for, the register whose next use is furthest away leaves the set (M. Braun and S. Hack, 'Register
spilling and live-range splitting for SSA-form programs', CC 2009, on registers that are written several times). Before
its next use it is loaded again, or made anew if it is a constant. What was loaded is stored behind each instruction
that writes it and from which a load can be reached, so that nothing is ever stored between blocks.

What a block may expect in registers is what all blocks before it kept. The first block of a loop says what it wants,
and every block that leads there loads what is missing before its jump. Each stretch in which a register is kept is a
piece; pieces that meet at a border are one, and each gets a virtual register of its own.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.sass.anew import constants
from drawloom.sass.effects import PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.intervals import NAMED, Liveness
from drawloom.sass.machine import GENERAL, VIRTUAL, Machine, MachineBlock, MachineFunction, virtual_id
from drawloom.sass.next_uses import NextUses, bits_of
from drawloom.sass.spill import Slots, copies_of, writes_own_guard
from drawloom.sass.syntax import NO_GUARD

#: What makes the next use of a register seem further away, as a shift: making a constant anew costs no memory, loading
#: what is stored already no store.
_CONSTANT: Final = 3
_STORED: Final = 1
#: Registers of the first block of a loop that are left to the jumps that lead there.
_OPERANDS: Final = 4
#: The clock never gets there: what is locked until then stays to the end of the block.
_HELD: Final = 1 << 60


class Splitter:
    """`kept` are the registers that are kept at the instruction at hand, `used` the words that they take up;
    `place_in_kept[v]` is where v is among them, -1 if it is not."""

    def __init__(self, function: MachineFunction, liveness: Liveness, limit: int, reserved: int, slots: Slots) -> None:
        self.function = function
        self.slots = slots
        self.count = len(function.files)
        self.facts = NextUses(liveness)
        self.widths = self.facts.widths
        self.room = room_at(liveness, limit, reserved)
        self.constants = constants(function)
        self.kept = vec[i64]([0] * self.count)
        self.size: i64 = 0
        self.used: i64 = 0
        self.place_in_kept = vec[i64]([-1] * self.count)
        self.next = vec[i64]([0] * self.count)
        #: Counts the instructions gone through.
        self.clock: i64 = 0
        #: Until when a register must not leave.
        self.locked = vec[i64]([-1] * self.count)
        #: The weight of a register's distance, as a shift.
        self.shift = vec[i64]([0] * self.count)
        for register in self.constants:
            self.shift[register] = _CONSTANT
        #: The piece in which each register is kept; of each piece its register, and a piece that it is one with.
        self.piece = vec[i64]([-1] * self.count)
        self.owner = vec[i64]()
        self.parent = vec[i64]()
        self.order = reverse_postorder(function)
        self.rank = vec[i64]([0] * len(function.blocks))
        for place, b in enumerate(self.order):
            self.rank[b] = place
        self.before: list[list[int]] = [[] for _ in function.blocks]
        for block in function.blocks:
            for successor in block.successors:
                self.before[successor].append(block.id)
        #: Of a block its piece of each register: that is kept at its end; that it wants to be kept at its beginning, if
        #: it begins a loop.
        self.at_end: list[dict[int, int]] = [{} for _ in function.blocks]
        self.begins_loop = [any(self.rank[p] >= self.rank[b] for p in before) for b, before in enumerate(self.before)]
        self.wanted: dict[int, dict[int, int]] = {}
        #: The register that each inserted load brings back, by the load's identity.
        self.loads: dict[int, int] = {}
        self.out: list[Machine] = []

    def run(self) -> None:
        for b in self.order:
            self.split(b)
        self.finish()

    def split(self, b: int) -> None:
        """Go through a block: load before each instruction what it needs and was not kept."""
        facts = self.facts
        block = self.function.blocks[b]
        self.enter(b)
        start: i64 = facts.starts[b]
        instructions = block.instructions
        length: i64 = len(instructions)
        leaving: i64 = first_of_leaving(block)
        self.out = []
        for at in range(length):
            if at == leaving:
                self.hold_for_loops(block, start + at)
            self.step(instructions[at], start + at, b)
        if leaving == length:
            self.hold_for_loops(block, start + length)
        block.instructions = self.out
        self.leave(block)

    def enter(self, b: int) -> None:
        """Keep at the beginning of a block what it wants, or what all blocks before it kept; of the first block, what
        some way leads to without a value."""
        if self.begins_loop[b]:
            pieces = self.wants(b)
        elif not self.before[b]:
            registers = {int(word >> 2) for word in self.facts.borders.beginning(b)}
            pieces = {r: self.new_piece(r) for r in sorted(registers) if self.function.files[r] == GENERAL}
        else:
            pieces = {}
            before = self.before[b]
            fewest = min([self.at_end[p] for p in before], key=len)
            for register, piece in fewest.items():
                found = [self.at_end[p].get(register, -1) for p in before]
                if min(found) >= 0 and self.facts.words_in(b, register):
                    pieces[register] = piece
                    for other in found:
                        self.join(piece, other)
        for register, piece in pieces.items():
            self.next[register] = self.facts.next_from(register, b)
            self.keep(register, piece)

    def leave(self, block: MachineBlock) -> None:
        """Note what is kept at the end of a block, and keep nothing."""
        pieces: dict[int, int] = {}
        for place in range(self.size):
            register = self.kept[place]
            if self.facts.words_out(block.id, register):
                pieces[int(register)] = int(self.piece[register])
        self.at_end[block.id] = pieces
        for successor in block.successors:
            for wanted, piece in self.wanted.get(successor, {}).items():
                self.join(piece, pieces[wanted])
        while self.size:
            self.locked[self.kept[0]] = -1
            self.drop(self.kept[0])

    def step(self, instruction: Machine, number: i64, b: i64) -> None:
        facts = self.facts
        self.clock += 1
        first = facts.entries[number + 1]
        behind = facts.entries[number]
        if first < behind:
            lacking = vec[i64]()
            for entry in range(first, behind):
                register = facts.register[entry]
                self.lock(register)
                if facts.words_before[entry] and self.place_in_kept[register] < 0:
                    lacking = append(lacking, entry)
                    self.keep(register, self.new_piece(register))
            self.make_room(self.room[2 * number], number)
            for entry in lacking:
                self.load(int(facts.register[entry]), int(facts.words_before[entry]), instruction.pos)
            for entry in range(first, behind):
                register = facts.register[entry]
                if facts.written[entry]:
                    if self.place_in_kept[register] < 0:
                        self.keep(register, self.new_piece(register))
                elif not facts.words_after[entry]:
                    self.drop(register)
                if facts.words_after[entry]:
                    self.next[register] = facts.next_of_entry(entry, b)
        self.make_room(self.room[2 * number + 1], number)
        if first < behind:
            self.rename(instruction)
            for entry in range(first, behind):
                register = facts.register[entry]
                if not facts.words_after[entry] and self.place_in_kept[register] >= 0:
                    self.drop(register)
        self.out.append(instruction)

    def lock(self, register: i64) -> None:
        """Let a register not leave at this instruction."""
        if self.locked[register] < self.clock:
            self.locked[register] = self.clock

    def rename(self, instruction: Machine) -> None:
        """Name pieces in place of registers: piece p as the p-th register behind the last."""
        values = cast("list[i64]", instruction.values)
        effect = instruction.opcode.effects or effects(instruction.opcode)
        files = self.function.files
        for place in effect.register_places:
            value = values[place]
            if value >= VIRTUAL and files[(value - VIRTUAL) >> 2] == GENERAL:
                values[place] = self.named(self.piece[(value - VIRTUAL) >> 2]) + (value & 3)

    def named(self, piece: i64) -> i64:
        return VIRTUAL + 4 * (self.count + piece)

    def keep(self, register: i64, piece: i64) -> None:
        self.piece[register] = piece
        self.place_in_kept[register] = self.size
        self.kept[self.size] = register
        self.size += 1
        self.used += self.widths[register]

    def drop(self, register: i64) -> None:
        place = self.place_in_kept[register]
        self.size -= 1
        last = self.kept[self.size]
        self.kept[place] = last
        self.place_in_kept[last] = place
        self.place_in_kept[register] = -1
        self.used -= self.widths[register]

    def make_room(self, room: i64, number: i64) -> None:
        """Let the registers leave whose next use is furthest away, until no more than so many words are kept."""
        while self.used > room:
            best: i64 = -1
            furthest: i64 = -1
            for place in range(self.size):
                register = self.kept[place]
                distance = (self.next[register] - number) << self.shift[register]
                if distance > furthest and self.locked[register] < self.clock:
                    best, furthest = register, distance
            if best < 0:
                return
            if not self.shift[best]:
                self.shift[best] = _STORED
            self.drop(best)

    def load(self, register: int, words: int, pos: int) -> None:
        """Bring words of a register back that was not kept."""
        piece = int(self.named(self.piece[register]))
        writers = self.constants.get(register)
        if writers is not None:
            self.out += copies_of(writers, words, piece, pos)
            return
        made = self.slots.loads(register, piece, words, pos)
        for instruction in made:
            self.loads[id(instruction)] = register
        self.out += made

    def wants(self, b: int) -> dict[int, int]:
        """What the first block of a loop wants to be kept, with the piece of each: what the loop uses, soonest first,
        and as much of the rest as the loop leaves room for and the first block that leads there keeps."""
        known = self.wanted.get(b)
        if known is not None:
            return known
        facts = self.facts
        start = facts.starts[b]
        stop = facts.starts[self.last_of_loop(b) + 1]
        room = self.room[2 * start] - _OPERANDS
        found: dict[int, int] = {}
        seen: set[int] = set()
        used: i64 = 0
        for number in range(start, stop):
            if used >= room:
                break
            for entry in range(facts.entries[number + 1], facts.entries[number]):
                register = facts.register[entry]
                if int(register) not in seen and facts.words_in(b, register):
                    seen.add(int(register))
                    if used + facts.widths[register] <= room:
                        used += facts.widths[register]
                        found[int(register)] = self.new_piece(register)
        most: i64 = 0
        for position in range(2 * start, 2 * stop):
            most = max(most, facts.pressure[position])
        # What the loop needs besides that which only lives through it.
        room -= max(used, most - (facts.pressure[2 * start] - used))
        for register in self.kept_soonest(b, seen):
            if facts.widths[register] <= room:
                room -= facts.widths[register]
                found[register] = self.new_piece(register)
        self.wanted[b] = found
        return found

    def last_of_loop(self, b: int) -> int:
        """The last block, in the order of blocks, of those from ``b`` on that lead back to it."""
        return max([before for before in self.before[b] if self.rank[before] >= self.rank[b]] + [b])

    def kept_soonest(self, b: int, but: set[int]) -> list[int]:
        """What is kept now and lives on into a block, by its next use there, without some registers."""
        found: list[tuple[int, int]] = []
        for place in range(self.size):
            register = self.kept[place]
            if int(register) not in but and self.facts.words_in(b, register):
                found.append((int(self.facts.next_from(register, b)), int(register)))
        return [register for _, register in sorted(found)]

    def hold_for_loops(self, block: MachineBlock, number: i64) -> None:
        """Load before a block's jumps what the loops that they lead to want."""
        for successor in block.successors:
            if self.begins_loop[successor]:
                held = self.wants(successor)
                lacking = [register for register in held if self.place_in_kept[register] < 0]
                for register in held:
                    self.locked[register] = _HELD
                for register in lacking:
                    self.keep(register, self.new_piece(register))
                self.make_room(self.room[2 * number] - _OPERANDS // 2, number)
                for register in lacking:
                    words = int(self.facts.words_out(block.id, register))
                    self.load(register, words, self.out[-1].pos if self.out else -1)

    def new_piece(self, register: i64) -> int:
        self.owner = append(self.owner, register)
        self.parent = append(self.parent, len(self.parent))
        return len(self.parent) - 1

    def root(self, piece: i64) -> i64:
        parent = self.parent
        while parent[piece] != piece:
            parent[piece] = parent[parent[piece]]
            piece = parent[piece]
        return piece

    def join(self, one: i64, other: i64) -> None:
        self.parent[self.root(other)] = self.root(one)

    def finish(self) -> None:
        """Store what was loaded, leave out constants that nobody reads, and name registers in place of pieces."""
        final = self.final_names()
        unread = self.unread_constants()
        live = self.live_slots()
        for block in self.function.blocks:
            self.add_stores(block, live[block.id], unread)
        for block in self.function.blocks:
            for instruction in block.instructions:
                values = cast("list[i64]", instruction.values)
                effect = instruction.opcode.effects or effects(instruction.opcode)
                for place in effect.register_places:
                    piece = self.piece_at(values[place])
                    if piece >= 0:
                        values[place] = final[self.root(piece)] + (values[place] & 3)

    def final_names(self) -> vec[i64]:
        """The register, as a slot's value, that each root of pieces gets: the first of a register's keeps its name."""
        function, slots = self.function, self.slots
        final = vec[i64]([-1] * len(self.parent))
        is_taken = vec[i64]([0] * self.count)
        for piece in range(len(self.parent)):
            root = self.root(piece)
            if final[root] >= 0:
                continue
            register = int(self.owner[root])
            if not is_taken[register]:
                is_taken[register] = 1
                final[root] = VIRTUAL + 4 * register
                continue
            value = function.register(GENERAL, function.widths[register])
            final[root] = value
            if register in slots.offsets:
                slots.offsets[virtual_id(value)] = slots.offsets[register]
        return final

    def piece_at(self, value: i64) -> i64:
        """The piece that a slot's value names; -1 if it names none."""
        return ((value - VIRTUAL) >> 2) - self.count if value >= VIRTUAL + 4 * self.count else -1

    def unread_constants(self) -> set[int]:
        """The identities of those writers of constants whose piece nobody reads."""
        writers = {id(writer) for made in self.constants.values() for writer in made}
        is_read = vec[i64]([0] * len(self.parent))
        for block in self.function.blocks:
            for instruction in block.instructions:
                for access in effects(instruction.opcode).read_places:
                    piece = self.piece_at(instruction.values[access >> PLACE_SHIFT])
                    if piece >= 0:
                        is_read[self.root(piece)] = 1
        out: set[int] = set()
        for block in self.function.blocks:
            for instruction in block.instructions:
                if id(instruction) in writers:
                    access = effects(instruction.opcode).write_places[0]
                    piece = self.piece_at(instruction.values[access >> PLACE_SHIFT])
                    if piece >= 0 and not is_read[self.root(piece)]:
                        out.add(id(instruction))
        return out

    def live_slots(self) -> list[set[int]]:
        """The registers whose slots are read behind the end of each block before they are written."""
        blocks = self.function.blocks
        live_in: list[set[int]] = [set() for _ in blocks]
        live_out: list[set[int]] = [set() for _ in blocks]
        if not self.loads:
            return live_out
        gathered = [self.loaded_and_stored(block) for block in blocks]
        work = list(self.order)
        is_waiting = [True] * len(blocks)
        while work:
            b = work.pop()
            is_waiting[b] = False
            out = live_out[b]
            for successor in blocks[b].successors:
                out |= live_in[successor]
            loaded, stored = gathered[b]
            found = loaded | (out - stored)
            if len(found) > len(live_in[b]):
                live_in[b] = found
                for before in self.before[b]:
                    if not is_waiting[before]:
                        is_waiting[before] = True
                        work.append(before)
        return live_out

    def loaded_and_stored(self, block: MachineBlock) -> tuple[set[int], set[int]]:
        """The registers that a block loads before it writes all of them, and those that it writes as a whole."""
        loaded: set[int] = set()
        stored: set[int] = set()
        for instruction in block.instructions:
            register = self.loads.get(id(instruction), -1)
            if register >= 0:
                if register not in stored:
                    loaded.add(register)
                continue
            for write in self.spilled_writes(instruction):
                if write.is_whole:
                    stored.add(write.register)
        return loaded, stored

    def spilled_writes(self, instruction: Machine) -> list[Write]:
        """What an instruction writes of registers with slots."""
        effect = instruction.opcode.effects or effects(instruction.opcode)
        values = cast("list[i64]", instruction.values)
        out: list[Write] = []
        for access in effect.write_places:
            value: i64 = values[access >> PLACE_SHIFT]
            piece = self.piece_at(value)
            if piece >= 0 and int(self.owner[piece]) in self.slots.offsets:
                register = int(self.owner[piece])
                words = bits_of(value & 3, access >> WORDS_SHIFT & WORDS_MASK)
                begins = instruction.guard == NO_GUARD or instruction.begins >> (access >> PLACE_SHIFT) & 1
                is_whole = bool(begins) and words == bits_of(0, self.function.widths[register])
                out.append(Write(register, int(value - (value & 3)), int(words), is_whole))
        return out

    def add_stores(self, block: MachineBlock, live: set[int], unread: set[int]) -> None:
        """Store what is loaded further on, ``live`` at the end of a block, behind what writes it."""
        live = set(live)
        out: list[Machine] = []
        for instruction in reversed(block.instructions):
            if id(instruction) in unread:
                continue
            loaded = self.loads.get(id(instruction), -1)
            if loaded >= 0:
                live.add(loaded)
            else:
                guard = NO_GUARD if writes_own_guard(instruction) else instruction.guard
                writes = self.spilled_writes(instruction)
                for write in writes:
                    if write.register in live:
                        out += self.slots.stores(write.register, write.value, write.words, guard, instruction.pos)
                for write in writes:
                    if write.is_whole:
                        live.discard(write.register)
            out.append(instruction)
        out.reverse()
        block.instructions = out


class Write:
    """What an instruction writes of a register with a slot: `words`, as bits, of the piece whose first word is
    `value`; `is_whole` if nothing of what the register had stays."""

    def __init__(self, register: int, value: int, words: int, is_whole: bool) -> None:
        self.register = register
        self.value = value
        self.words = words
        self.is_whole = is_whole


def room_at(liveness: Liveness, limit: int, reserved: int) -> vec[i64]:
    """How many registers instructions can have at each position, less those that are named by number there."""
    change = vec[i64]([0] * (2 * (liveness.starts[-1] + 2)))
    named = liveness.count
    for place in range(min(limit, NAMED)):
        if reserved >> place & 1:
            continue
        at = liveness.first[named + place]
        while at >= 0:
            change[liveness.begins[at]] -= 1
            change[liveness.ends[at]] += 1
            at = liveness.following[at]
    taken = (reserved & ((1 << limit) - 1)).bit_count()
    room: i64 = limit - taken
    for position in range(len(change)):
        room += change[position]
        change[position] = room
    return change


def first_of_leaving(block: MachineBlock) -> int:
    """The place of the first of the last instructions of a block that only lead elsewhere."""
    place = len(block.instructions)
    while place:
        last = block.instructions[place - 1]
        if not effects(last.opcode).flow or last.clobbers:
            break
        place -= 1
    return place


def reverse_postorder(function: MachineFunction) -> list[int]:
    """All blocks, each behind those that lead to it, loops left out; those that nothing leads to come last."""
    blocks = function.blocks
    is_seen = [False] * len(blocks)
    out: list[int] = []
    for root in range(len(blocks)):
        if is_seen[root]:
            continue
        is_seen[root] = True
        path = [root]
        next_way = [0]
        found: list[int] = []
        while path:
            b = path[-1]
            ways = blocks[b].successors
            way = next_way[-1]
            if way < len(ways):
                next_way[-1] = way + 1
                if not is_seen[ways[way]]:
                    is_seen[ways[way]] = True
                    path.append(ways[way])
                    next_way.append(0)
            else:
                found.append(b)
                path.pop()
                next_way.pop()
        found.reverse()
        out += found
    return out
