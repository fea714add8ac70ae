"""What scheduling asks of an opcode, put together once: the registers that it reads and writes, with their times.

A register is ``_BASE[file] + number`` here, so that lists of `REGISTERS` entries hold something for each of them.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.sass.effects import effects, registers_read, registers_written
from drawloom.sass.form import Opcode
from drawloom.sass.instruction import Instruction
from drawloom.sass.latencies import Timing
from drawloom.sass.latency_table import COUNTED_IN_ORDER, READS_IN_ORDER
from drawloom.sass.machine import FILES, NEUTRAL

#: Where the registers of each file begin: general, predicates, uniform, uniform predicates, barriers, condition codes.
_BASE: Final = (0, 256, 264, 328, 336, 352)
#: One more than the largest register.
REGISTERS: Final = 353
#: Cycles until a result that comes by scoreboard is expected, by the space that it comes from.
_EXPECTED: Final[dict[str, int]] = {
    "global": 300, "generic": 300, "local": 80, "shared": 24, "constant": 30, "": 20,
}  # fmt: skip

#: How the units of memory instructions, which read their operands in order, begin.
_MEMORY: Final = ("load", "store", "atomic")

#: Units that compute, in a fixed time unless `VARIABLE` says otherwise.
_COMPUTES: Final = ("alu", "fma", "half", "double", "uniform")


class Access:
    """Neighbouring registers of one file: `words` of them from ``base + values[place]`` on, none of them where that
    value is `neutral`; with `place` -1 from `base` on. `consumer` is the class in which a read waits, `producers` the
    class of every word that is written."""

    def __init__(self, place: int, base: int, words: int, neutral: int, consumer: int, producers: list[int]) -> None:
        self.place: i64 = place
        self.base: i64 = base
        self.words: i64 = words
        self.neutral: i64 = neutral
        self.consumer: int = consumer
        self.producers = producers


class Kept:
    """An operand that a reuse flag can keep: `words` registers from ``values[place]`` on, of the source slot `slot`."""

    def __init__(self, place: int, slot: int, words: int) -> None:
        self.place: i64 = place
        self.slot: i64 = slot
        self.words: i64 = words


class Facts:
    """Of an opcode: `reads`, `writes`; `guard` is what to add to a guard's number (-1: it takes none) and
    `guard_consumer` its class; `variable`: a scoreboard tells when it is done, `expected` when that may be;
    `is_masked`: an operand says which of the predicates are meant that no slot names; `fetches`: what follows has to
    be fetched anew; `leaves`: it goes to or comes from another function; `kept`: what reuse flags can keep; `yields`:
    ptxas lets other warps issue behind it; `counted`: its result comes in the order of those that share its
    scoreboard; `queued`: it reads its operands in the order of memory instructions."""

    def __init__(self, opcode: Opcode, timing: Timing) -> None:
        found = effects(opcode)
        self.timing = timing
        self.effects = found
        self.variable = timing.variable(opcode)
        #: No scoreboard tells of a convergence barrier that is written.
        self.tells = not found.writes or any(opcode.slots[place].kind != "B" for place, _ in found.writes)
        self.expected = _EXPECTED.get(found.space, 20)
        self.is_masked = found.mask >= 0
        # Behind a BMOV ptxas always leaves as many cycles as behind a branch.
        self.fetches = found.flow not in ("", "prepare", "warp") or found.base == "BMOV"
        self.leaves = found.flow in ("call", "return")
        unit = f"{found.unit} {found.space}".strip()
        self.counted = unit in _names(COUNTED_IN_ORDER[timing.family])
        self.queued = unit.startswith(_MEMORY) and unit in _names(READS_IN_ORDER[timing.family])
        self.kept = kept_operands(opcode)
        self.yields = found.unit in _COMPUTES and not self.variable and not self.fetches
        self.reads: list[Access] = []
        self.writes: list[Access] = []
        for place, words in found.reads:
            file = FILES[opcode.slots[place].kind]
            consumer = timing.consumer(opcode, place, words)
            self.reads.append(Access(place, _BASE[file], words, NEUTRAL[file], consumer, []))
        for file, first, words in found.fixed_reads:
            consumer = timing.consumer_of_file(opcode, file, words)
            self.reads.append(Access(-1, _BASE[file] + first, words, 0, consumer, []))
        for place, words in found.writes:
            file = FILES[opcode.slots[place].kind]
            producers = [timing.producer(opcode, file, part) for part in range(words)]
            self.writes.append(Access(place, _BASE[file], words, NEUTRAL[file], 0, producers))
        for file, first, words in found.fixed_writes:
            producers = [timing.producer(opcode, file, part) for part in range(words)]
            self.writes.append(Access(-1, _BASE[file] + first, words, 0, 0, producers))
        self.guard: i64 = _BASE[found.guard_file] if found.guard_file >= 0 else -1
        self.guard_consumer: int = timing.consumer(opcode, -1, 1)


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


def first_register(access: Access, values: list[int]) -> i64:
    """The first register of an access of an instruction with these values; -1 where it is RZ, PT or the like."""
    if access.place < 0:
        return access.base
    value: i64 = values[access.place]
    return -1 if value == access.neutral else access.base + value


def written(instruction: Instruction, facts: Facts) -> list[int]:
    """Every register that an instruction writes."""
    if facts.is_masked:
        return [_BASE[file] + number for file, number in registers_written(instruction)]
    out: list[int] = []
    for access in facts.writes:
        first = first_register(access, instruction.values)
        if first >= 0:
            for register in range(first, first + access.words):
                out.append(register)
    return out


def read(instruction: Instruction, facts: Facts) -> list[int]:
    """Every register that an instruction reads, its guard included."""
    if facts.is_masked:
        return [_BASE[file] + number for file, number in registers_read(instruction)]
    out: list[int] = []
    for access in facts.reads:
        first = first_register(access, instruction.values)
        if first >= 0:
            for register in range(first, first + access.words):
                out.append(register)
    if instruction.guard & 7 != 7 and facts.guard >= 0:
        out.append(facts.guard + (instruction.guard & 7))
    return out
