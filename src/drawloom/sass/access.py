"""What scheduling asks: of an opcode, put together once, and of the instructions of a function, the registers that they
read and write, with their times.

A register is ``_BASE[file] + number`` here, so that a `vec` of `REGISTERS` entries holds something for each of them.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.sass.effects import Effects, effects
from drawloom.sass.form import Opcode
from drawloom.sass.latencies import Timing
from drawloom.sass.latency_table import CONTROL_STALL, COUNTED_IN_ORDER, READS_IN_ORDER
from drawloom.sass.machine import FILES, NEUTRAL, Machine
from drawloom.sass.syntax import NO_GUARD

#: Where the registers of each file begin: general, predicates, uniform, uniform predicates, barriers, condition codes.
_BASE: Final = (0, 256, 264, 328, 336, 352)
#: One more than the largest register.
REGISTERS: Final = 353
#: To begin with, by register: copies are made at once.
NOTHING: Final = vec[i64]([-1] * REGISTERS)
ZEROS: Final = vec[i64]([0] * REGISTERS)
#: How many predicates there are, all of which `PR` means.
_ALL: Final = 7
#: Cycles until a result that comes by scoreboard is expected, by the space that it comes from.
_EXPECTED: Final[dict[str, int]] = {
    "global": 300, "generic": 300, "local": 80, "shared": 24, "constant": 30, "": 20,
}  # fmt: skip


#: How the units of memory instructions, which read their operands in order, begin.
_MEMORY: Final = ("load", "store", "atomic")
#: Of `Facts.spaces`: the bits of an access to each space; a generic one may be to any. What is constant has none.
_SPACES: Final[dict[str, int]] = {"global": 1, "shared": 2, "local": 4, "generic": 7, "": 7}
SPACES: Final = 3
#: A register and the class of time in which it is read or written, as one number of `Operands.table`.
CLASS_BITS: Final = 6
CLASS_MASK: Final = (1 << CLASS_BITS) - 1
#: A word of a slot: the same of its file's register 0, above that the value that means no register (-1: none does),
#: above that the place of the slot. A word that no slot names: the same of its register, above that which bit of the
#: opcode's mask says that it is meant, `_ALL` where it always is.
_ENTRY_BITS: Final = 15
_ENTRY_MASK: Final = (1 << _ENTRY_BITS) - 1
_NEUTRAL_MASK: Final = 511
_PLACE_SHIFT: Final = 24
_PART_SHIFT: Final = _ENTRY_BITS

#: Units that compute, in a fixed time unless `VARIABLE` says otherwise.
_COMPUTES: Final = ("alu", "fma", "half", "double", "uniform")


class Kept:
    """An operand that a reuse flag can keep: `words` registers from ``values[place]`` on, of the source slot `slot`."""

    def __init__(self, place: int, slot: int, words: int) -> None:
        self.place: i64 = place
        self.slot: i64 = slot
        self.words: i64 = words


class Facts:
    """Of an opcode: `reads` and `writes` are the words of its slots, as numbers (`_PLACE_SHIFT`), `fixed_reads` and
    `fixed_writes` those that no slot names (`_PART_SHIFT`); `guard` is what to add to a guard's number (-1: it takes
    none) and `guard_consumer` its class; `variable`: a scoreboard tells when it is done, `expected` when that may be;
    `mask`: the place of the operand that says which of the predicates are meant that no slot names, or -1; `spaces`:
    the memory that it may touch, and `loads`, whether it only reads it; `fetches`: what follows has to be fetched anew;
    `settles`: cycles until whatever follows may issue, `holds` until something may that does not compute (`computes`);
    `leaves`: it goes to or comes from another function; `kept`: what reuse flags can keep; `yields`: ptxas lets other
    warps issue behind it; `counted`: its result comes in the order of those that share its scoreboard; `queued`: it
    reads its operands in the order of memory instructions."""

    def __init__(self, opcode: Opcode, timing: Timing) -> None:
        found = effects(opcode)
        self.timing = timing
        self.variable = timing.variable(opcode)
        #: No scoreboard tells of a convergence barrier that is written.
        self.tells = not found.writes or any(opcode.slots[place].kind != "B" for place, _ in found.writes)
        self.expected: i64 = _EXPECTED.get(found.space, 20)
        self.mask: i64 = found.mask
        self.spaces: i64 = _SPACES.get(found.space, 0) if found.memory else 0
        self.loads = found.memory == "load"
        # Behind a BMOV ptxas always leaves as many cycles as behind a branch.
        self.fetches = found.flow not in ("", "prepare", "warp") or found.base == "BMOV"
        self.settles: i64 = CONTROL_STALL if found.base == "BMOV" else timing.settles(opcode)
        self.holds: i64 = timing.holds(opcode)
        self.computes = timing.computes(opcode)
        #: A BSYNC behind it does not join the lanes of an H100: like ptxas, a NOP stands between them.
        self.sleeps = found.base == "NANOSLEEP"
        self.leaves = found.flow in ("call", "return") or found.base == "JMX"
        unit = f"{found.unit} {found.space}".strip()
        self.counted = unit in _names(COUNTED_IN_ORDER[timing.family])
        self.queued = unit.startswith(_MEMORY) and unit in _names(READS_IN_ORDER[timing.family])
        self.kept = kept_operands(opcode)
        self.yields = found.unit in _COMPUTES and not self.variable and not self.fetches
        reads: list[int] = []
        writes: list[int] = []
        for place, words in found.reads:
            file = FILES[opcode.slots[place].kind]
            consumers = [timing.consumer(opcode, place, words, part) for part in range(words)]
            reads += [_slot_word(place, file, part, consumer) for part, consumer in enumerate(consumers)]
        for place, words in found.writes:
            file = FILES[opcode.slots[place].kind]
            writes += [_slot_word(place, file, part, timing.producer(opcode, file, part)) for part in range(words)]
        self.reads = vec[i64](reads)
        self.writes = vec[i64](writes)
        reads, writes = [], []
        for file, first, words in found.fixed_reads:
            consumer = timing.consumer_of_file(opcode, file, words)
            reads += [_fixed_word(found, file, first, words, part, consumer) for part in range(words)]
        for file, first, words in found.fixed_writes:
            producers = [timing.producer(opcode, file, part) for part in range(words)]
            writes += [_fixed_word(found, file, first, words, part, kind) for part, kind in enumerate(producers)]
        self.fixed_reads = vec[i64](reads)
        self.fixed_writes = vec[i64](writes)
        self.guard: i64 = _BASE[found.guard_file] if found.guard_file >= 0 else -1
        self.guard_consumer: i64 = timing.consumer(opcode, -1, 1)


def _slot_word(place: int, file: int, part: int, kind: int) -> int:
    """The entry of word `part` of a slot, which is read or written as a class of time."""
    neutral = NEUTRAL[file] & _NEUTRAL_MASK
    return place << _PLACE_SHIFT | neutral << _ENTRY_BITS | _BASE[file] + part << CLASS_BITS | kind


def _fixed_word(found: Effects, file: int, first: int, words: int, part: int, kind: int) -> int:
    """The entry of word `part` of registers that no slot names."""
    bit = part if found.mask >= 0 and words == _ALL else _ALL
    return bit << _PART_SHIFT | _BASE[file] + first + part << CLASS_BITS | kind


def _names(groups: str) -> list[str]:
    """The units of all groups, from `a, b; c`."""
    return groups.replace(";", ",").replace(", ", ",").split(",")


def facts_of(opcode: Opcode, timing: Timing) -> Facts:
    """The facts of an opcode, the same object every time."""
    found = opcode.facts
    if found is None or found.timing is not timing:
        found = opcode.facts = Facts(opcode, timing)
    return found


def kept_operands(opcode: Opcode) -> list[Kept]:
    """The operands of an opcode that have a reuse flag."""
    form = opcode.form
    words = dict(effects(opcode).reads)
    made = []
    for slot, number in sorted(form.reuse.items()):
        place = form.constants[:number].count(-1)
        if form.constants[number] < 0 and form.kinds[number] == "R" and words.get(place, 0) in (1, 2):
            made.append(Kept(place, slot, words[place]))
    return made


class Operands:
    """The registers of instructions, looked up once for all who schedule them.

    From ``table[instruction.at]`` on stand: where its reads end, where its writes end, its reads (the guard is one) and
    its writes, each as register << CLASS_BITS | class.
    """

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.table = vec[i64]()

    def add(self, instructions: list[Machine]) -> None:
        """Look up the registers of instructions, which are assigned."""
        table = self.table
        for instruction in instructions:
            facts = facts_of(instruction.opcode, self.timing)
            at: i64 = len(table)
            instruction.at = at
            table = append(table, 0)
            table = append(table, 0)
            values = cast("list[i64]", instruction.values)
            known: i64 = -1
            value: i64 = 0
            for word in facts.reads:
                if word >> _PLACE_SHIFT != known:
                    known = word >> _PLACE_SHIFT
                    value = values[known]
                if value != word >> _ENTRY_BITS & _NEUTRAL_MASK:
                    table = append(table, (value << CLASS_BITS) + (word & _ENTRY_MASK))
            if len(facts.fixed_reads):
                table = with_fixed(table, facts.fixed_reads, values, facts.mask)
            guard: i64 = instruction.guard & NO_GUARD
            if guard != NO_GUARD and facts.guard >= 0:
                table = append(table, facts.guard + guard << CLASS_BITS | facts.guard_consumer)
            table[at] = len(table)
            known = -1
            for word in facts.writes:
                if word >> _PLACE_SHIFT != known:
                    known = word >> _PLACE_SHIFT
                    value = values[known]
                if value != word >> _ENTRY_BITS & _NEUTRAL_MASK:
                    table = append(table, (value << CLASS_BITS) + (word & _ENTRY_MASK))
            if len(facts.fixed_writes):
                table = with_fixed(table, facts.fixed_writes, values, facts.mask)
            table[at + 1] = len(table)
        self.table = table


def with_fixed(table: vec[i64], words: vec[i64], values: list[int], mask: i64) -> vec[i64]:
    """The table with those of the registers that no slot names which an instruction with these values means."""
    chosen: i64 = values[mask] if mask >= 0 else 0
    for word in words:
        bit = word >> _PART_SHIFT
        if bit == _ALL or chosen >> bit & 1:
            table = append(table, word & _ENTRY_MASK)
    return table
