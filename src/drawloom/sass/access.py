"""What scheduling asks: of an opcode, put together once, and of the instructions of a function, the registers that they
read and write, with their times.

A register is ``_BASE[file] + number`` here, so that a `vec` of `REGISTERS` entries holds something for each of them.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.sass.effects import effects
from drawloom.sass.form import Opcode
from drawloom.sass.latencies import Timing
from drawloom.sass.latency_table import COUNTED_IN_ORDER, READS_IN_ORDER
from drawloom.sass.machine import FILES, NEUTRAL, Machine
from drawloom.sass.syntax import NO_GUARD

#: Where the registers of each file begin: general, predicates, uniform, uniform predicates, barriers, condition codes.
_BASE: Final = (0, 256, 264, 328, 336, 352)
#: One more than the largest register.
REGISTERS: Final = 353
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

#: Units that compute, in a fixed time unless `VARIABLE` says otherwise.
_COMPUTES: Final = ("alu", "fma", "half", "double", "uniform")


class Access:
    """Neighbouring registers of one file: `words` of them from ``base + values[place]`` on, none of them where that
    value is `neutral`; with `place` -1 from `base` on. `classes` are the classes of time of its words, of consumers
    where they are read, of producers where they are written. `is_masked`: an operand says which of them are meant."""

    def __init__(self, place: int, base: int, neutral: int, classes: list[int], is_masked: bool = False) -> None:
        self.place: i64 = place
        self.base: i64 = base
        self.neutral: i64 = neutral
        self.classes = vec[i64](classes)
        self.is_masked = is_masked


class Kept:
    """An operand that a reuse flag can keep: `words` registers from ``values[place]`` on, of the source slot `slot`."""

    def __init__(self, place: int, slot: int, words: int) -> None:
        self.place: i64 = place
        self.slot: i64 = slot
        self.words: i64 = words


class Facts:
    """Of an opcode: `reads`, `writes`; `guard` is what to add to a guard's number (-1: it takes none) and
    `guard_consumer` its class; `variable`: a scoreboard tells when it is done, `expected` when that may be; `mask`: the
    place of the operand that says which of the predicates are meant that no slot names, or -1; `spaces`: the memory
    that it may touch, and `loads`, whether it only reads it; `fetches`: what follows has to be fetched anew; `leaves`:
    it goes to or comes from another function; `kept`: what reuse flags can keep; `yields`: ptxas lets other warps issue
    behind it; `counted`: its result comes in the order of those that share its scoreboard; `queued`: it reads its
    operands in the order of memory instructions."""

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
        self.leaves = found.flow in ("call", "return") or found.base == "JMX"
        unit = f"{found.unit} {found.space}".strip()
        self.counted = unit in _names(COUNTED_IN_ORDER[timing.family])
        self.queued = unit.startswith(_MEMORY) and unit in _names(READS_IN_ORDER[timing.family])
        self.kept = kept_operands(opcode)
        self.yields = found.unit in _COMPUTES and not self.variable and not self.fetches
        self.reads: list[Access] = []
        self.writes: list[Access] = []
        for place, words in found.reads:
            file = FILES[opcode.slots[place].kind]
            consumers = [timing.consumer(opcode, place, words)] * words
            self.reads.append(Access(place, _BASE[file], NEUTRAL[file], consumers))
        for file, first, words in found.fixed_reads:
            consumers = [timing.consumer_of_file(opcode, file, words)] * words
            self.reads.append(Access(-1, _BASE[file] + first, 0, consumers, found.mask >= 0 and words == _ALL))
        for place, words in found.writes:
            file = FILES[opcode.slots[place].kind]
            producers = [timing.producer(opcode, file, part) for part in range(words)]
            self.writes.append(Access(place, _BASE[file], NEUTRAL[file], producers))
        for file, first, words in found.fixed_writes:
            producers = [timing.producer(opcode, file, part) for part in range(words)]
            self.writes.append(Access(-1, _BASE[file] + first, 0, producers, found.mask >= 0 and words == _ALL))
        self.guard: i64 = _BASE[found.guard_file] if found.guard_file >= 0 else -1
        self.guard_consumer: i64 = timing.consumer(opcode, -1, 1)


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
            values = instruction.values
            mask: i64 = values[facts.mask] if facts.mask >= 0 else 0
            for access in facts.reads:
                table = named(table, access, values, mask)
            guard: i64 = instruction.guard & NO_GUARD
            if guard != NO_GUARD and facts.guard >= 0:
                table = append(table, facts.guard + guard << CLASS_BITS | facts.guard_consumer)
            table[at] = len(table)
            for access in facts.writes:
                table = named(table, access, values, mask)
            table[at + 1] = len(table)
        self.table = table


def named(table: vec[i64], access: Access, values: list[int], mask: i64) -> vec[i64]:
    """The table with the registers of an access of an instruction with these values."""
    register = access.base
    if access.place >= 0:
        value: i64 = values[access.place]
        if value == access.neutral:
            return table
        register += value
    elif access.is_masked:
        for part in range(_ALL):
            if mask >> part & 1:
                table = append(table, register + part << CLASS_BITS | access.classes[part])
        return table
    for kind in access.classes:
        table = append(table, register << CLASS_BITS | kind)
        register += 1
    return table
