"""Times of instructions: from an opcode and the register that it writes, and one that reads it, to the cycles between.

`timing(target)` knows, for one architecture, which results come after a fixed time and how long that is for each pair
of producer and consumer class, and which come by scoreboard. The numbers, with their sources, are in
latency_table.py.

Fixed latency: an instruction that issues in cycle t and writes a register of producer class p may be followed by one
that reads it as consumer class c from cycle t + `cycles[p][c]` on. Variable latency: the writer must set a write
barrier, and every reader or rewriter waits for it; a rewriter of its sources waits for its read barrier.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.sass.effects import (
    BARRIER,
    CONDITION,
    PREDICATE,
    UNIFORM_PREDICATE,
    Effects,
    effects,
)
from drawloom.sass.form import Opcode
from drawloom.sass.instruction import Instruction
from drawloom.sass.latency_table import CONTROL_STALL, HOLD, ISSUE, ROWS, SETTLE, VARIABLE
from drawloom.sass.machine import FILES, NEUTRAL

#: Families of architectures that share their times.
FAMILIES: Final[dict[int, int]] = {61: 61, 75: 75, 80: 80, 86: 80, 89: 80, 90: 90}

#: What the result of an instruction is taken from. `wide.hi` is the upper word of IMAD.WIDE's product; `.p` the
#: predicates and carries, `half.c` that of comparisons of halves, `.cc` the condition codes that the unit writes.
PRODUCERS: Final = tuple(
    """alu fma wide wide.hi half half.c mma double uniform umov r2ur cs2r lepc
    alu.p fma.p half.p double.p uniform.p r2ur.p r2p.p alu.cc barrier""".split()
)
#: How a register is read. `wide.c` is what IMAD.WIDE and .HI add, `wide.ch` its upper word; `half.c`
#: comparisons of halves; `xu` the special function unit and conversions;
#: `ldc`, `branch`, `bar` instructions of these units; `.p` predicates that are operands, of the unit; `vote.p` those
#: of branches, votes and barriers; `guard` and `uguard` guards; `cc` condition codes.
CONSUMERS: Final = tuple(
    """alu fma wide wide.c wide.ch half half.c mma double xu mem ldc branch bar uniform
    guard alu.p fma.p half.p double.p mem.p vote.p uguard uniform.p cc barrier""".split()
)
PRODUCER_COUNT: Final = len(PRODUCERS)
CONSUMER_COUNT: Final = len(CONSUMERS)
_PRODUCER: Final = {name: index for index, name in enumerate(PRODUCERS)}
_CONSUMER: Final = {name: index for index, name in enumerate(CONSUMERS)}

#: Consumers that only few rows tell from others.
_FINER: Final[dict[str, str]] = {"wide.ch": "wide.c", "half.c": "half"}

#: Classes of `effects_table.CLASSES` by the name of their timing class, where it is another.
_UNITS: Final[dict[str, str]] = {
    "special": "xu",
    "read special": "xu",
    "load": "mem",
    "store": "mem",
    "atomic": "mem",
    "shuffle": "mem",
    "barrier": "bar",
    "fence": "bar",
    "control": "branch",
    "uniform variable": "uniform",
    "unknown": "mem",
}
_BASES: Final[dict[str, str]] = {
    "LDC": "ldc",
    "LDCU": "ldc",
    "UMOV": "umov",
    "ULDC": "umov",
    "VOTEU": "umov",
    "ELECT": "umov",
    "R2UR": "r2ur",
    "CS2R": "cs2r",
    "LEPC": "lepc",
}

#: Whose predicates come later than those that the unit compares with.
_PREDICATES: Final[dict[str, str]] = {"R2P": "r2p.p", "ELECT": "r2ur.p"}

#: They come later than sums and products of halves, and read later.
_COMPARES_HALVES: Final = frozenset(("HSETP2", "HSET2", "HMNMX2", "VHMNMX"))

#: Cycles between a pair of which the table says nothing.
UNKNOWN: Final = 15


class Timing:
    """The times of one architecture. `family` is 61, 75, 80 or 90.

    `cycles[producer][consumer]` is in cycles; classes are indices into PRODUCERS and CONSUMERS. `longest` is the
    largest fixed latency.
    """

    def __init__(self, family: int) -> None:
        self.family = family
        self.cycles = [[UNKNOWN] * len(CONSUMERS) for _ in PRODUCERS]
        self.guessed = [[True] * len(CONSUMERS) for _ in PRODUCERS]
        row = 0
        for word in ROWS[family].split():
            if word.endswith(":"):
                row = _PRODUCER[word[:-1]]
                continue
            consumer, _, cycles = word.partition("=")
            self.cycles[row][_CONSUMER[consumer]] = int(cycles.rstrip("?"))
            self.guessed[row][_CONSUMER[consumer]] = cycles.endswith("?")
        for finer, coarser in _FINER.items():  # where no row says so
            self._like(_CONSUMER[finer], _CONSUMER[coarser])
        if "half.c:" not in ROWS[family]:
            self.cycles[_PRODUCER["half.c"]] = self.cycles[_PRODUCER["half"]]
            self.guessed[_PRODUCER["half.c"]] = self.guessed[_PRODUCER["half"]]
        self.longest = max(max(row) for row in self.cycles)
        every = range(len(PRODUCERS))
        #: `latest[producer]`: when its result is there for everyone of whom the table says something.
        self.latest = vec[i64]([max([c for c in row if c < UNKNOWN], default=UNKNOWN) for row in self.cycles])
        #: For the inner loops: `cycles`, by producer * CONSUMER_COUNT + consumer, and `rewrite`, by
        #: first * PRODUCER_COUNT + second.
        self.delays = vec[i64]([cycles for row in self.cycles for cycles in row])
        self.rewrites = vec[i64]([self.rewrite(first, second) for first in every for second in every])
        self._variable = frozenset(VARIABLE[family].split())
        self._issue = _by_name(ISSUE[family])
        self._settle = _by_name(SETTLE[family])
        self._hold = _by_name(HOLD[family])
        self._units: dict[Opcode, str] = {}

    def _like(self, finer: int, coarser: int) -> None:
        for known, guessed in zip(self.cycles, self.guessed, strict=True):
            if known[finer] == UNKNOWN:
                known[finer] = known[coarser]
                guessed[finer] = guessed[coarser]

    def settles(self, opcode: Opcode) -> int:
        """Cycles between an instruction and whatever comes next, at least 1."""
        found = effects(opcode)
        least = CONTROL_STALL if found.flow not in ("", "prepare", "warp") else 1
        return max(least, self._settle.get(found.base, 1))

    def holds(self, opcode: Opcode) -> int:
        """Cycles between an instruction and the first that does not compute (`computes`) behind it; 0: any number."""
        return self._hold.get(effects(opcode).base, 0)

    def computes(self, opcode: Opcode) -> bool:
        """Whether an instruction computes in a fixed time."""
        return effects(opcode).unit in ("alu", "fma", "half") and not self.variable(opcode)

    def variable(self, opcode: Opcode) -> bool:
        """Whether the result comes, and the sources are read, after a time that only a scoreboard tells."""
        found = effects(opcode)
        if found.base == "CCTL" and not found.reads:  # CCTL.IVALL has no address, and can set no scoreboard
            return False
        return (found.unit in self._variable or found.base in self._variable) and "-" + found.base not in self._variable

    def unit(self, opcode: Opcode) -> str:
        """The timing class: `alu`, `fma`, `wide`, `xu` ..."""
        found = self._units.get(opcode)
        if found is None:
            found = self._units[opcode] = self._unit(effects(opcode))
        return found

    def _unit(self, found: Effects) -> str:
        base = found.base
        if self.family == 61:
            return "alu" if found.unit in ("alu", "fma") and base not in self._variable else self._plain(found)
        if base in ("IMAD", "UIMAD") and ("WIDE" in found.modifiers or "HI" in found.modifiers):
            return "wide" if base == "IMAD" else "uniform"
        if base == "VIADD" and self.family >= 90:
            return "fma"
        if base == "HFMA2" and "MMA" in found.modifiers:
            return "mma"
        return self._plain(found)

    def _plain(self, found: Effects) -> str:
        if found.base in self._variable and found.unit in ("alu", "fma"):
            return "xu"
        return _BASES.get(found.base) or _UNITS.get(found.unit) or found.unit

    def producer(self, opcode: Opcode, file: int, part: int) -> int:
        """The producer class of word `part` of a register that an instruction of fixed latency writes."""
        unit = self.unit(opcode)
        if file == BARRIER:
            return _PRODUCER["barrier"]
        if file == CONDITION:
            return _PRODUCER["alu.cc"]
        if file in (PREDICATE, UNIFORM_PREDICATE):
            if effects(opcode).base in _PREDICATES:
                return _PRODUCER[_PREDICATES[effects(opcode).base]]
            if unit in ("wide", "fma"):
                return _PRODUCER["fma.p"]
            return _PRODUCER.get(unit + ".p", _PRODUCER["uniform.p" if file == UNIFORM_PREDICATE else "alu.p"])
        if unit == "wide" and (part or "HI" in effects(opcode).modifiers):
            return _PRODUCER["wide.hi"]
        if effects(opcode).base in _COMPARES_HALVES:
            return _PRODUCER["half.c"]
        return _PRODUCER.get(unit, _PRODUCER["alu"])

    def consumer(self, opcode: Opcode, place: int, words: int, part: int = 0) -> int:
        """The consumer class of word `part` of what stands at `place` of the slots (`words` registers), or of the
        guard: -1."""
        found = effects(opcode)
        if place < 0:
            return _CONSUMER["uguard" if found.guard_file == UNIFORM_PREDICATE else "guard"]
        kind = opcode.slots[place].kind
        return self.consumer_of_file(opcode, FILES[kind], words, part)

    def consumer_of_file(self, opcode: Opcode, file: int, words: int, part: int = 0) -> int:
        """The consumer class of a register of this file that an instruction reads as an operand."""
        unit = self.unit(opcode)
        if file == BARRIER:
            return _CONSUMER["barrier"]
        if file == CONDITION:
            return _CONSUMER["cc"]
        if file == UNIFORM_PREDICATE:
            if unit in ("uniform", "umov"):
                return _CONSUMER["uniform.p"]
            return _CONSUMER["vote.p" if unit in ("branch", "bar") else "alu.p"]
        if file == PREDICATE:
            if unit in ("branch", "bar") or effects(opcode).base in ("VOTE", "VOTEU"):
                return _CONSUMER["vote.p"]
            return _CONSUMER.get({"wide": "fma.p", "umov": "vote.p"}.get(unit, unit + ".p"), _CONSUMER["alu.p"])
        if unit == "wide" and words == 2:
            return _CONSUMER["wide.ch" if part else "wide.c"]
        base = effects(opcode).base
        if base in ("REDUX", "MATCH") or (base == "R2UR" and self.family >= 80):
            return _CONSUMER["xu"]
        if unit == "half" and (base in _COMPARES_HALVES or opcode.mnemonic.startswith("HADD2.F32")):
            return _CONSUMER["half.c"]
        unit = {"umov": "uniform", "r2ur": "alu", "cs2r": "alu", "lepc": "alu"}.get(unit, unit)
        return _CONSUMER[unit]

    def issue(self, opcode: Opcode) -> int:
        """A hint: cycles for which an instruction keeps its unit busy, so that another one of it cannot issue."""
        return self._issue.get(self.unit(opcode), 1)

    def rewrite(self, first: int, second: int) -> int:
        """Cycles from one write of fixed latency to the next one of the same register, by producer classes: the second
        result must not arrive before the first."""
        if first == second:
            return 1
        return max(1, self._arrival(first, True) - self._arrival(second, False))

    def _arrival(self, producer: int, latest: bool) -> int:
        cells = [self.cycles[producer][_CONSUMER[name]] for name in _ARRIVALS]
        known = [cycles for cycles in cells if cycles < UNKNOWN]
        return (max(known) if latest else min(known)) if known else UNKNOWN if latest else 1


_ARRIVALS: Final = ("alu", "fma", "mem", "guard", "vote.p", "uguard", "cc")


def register_reads(times: Timing, instruction: Instruction) -> list[tuple[int, int, int]]:
    """(file, number, consumer class) of every register that an instruction reads, its guard included."""
    opcode = instruction.opcode
    found = effects(opcode)
    named: list[tuple[int, int, int]] = []
    for place, words in found.reads:
        file, first = FILES[opcode.slots[place].kind], instruction.values[place]
        if first != NEUTRAL[file]:
            named.extend((file, first + word, times.consumer(opcode, place, words, word)) for word in range(words))
    for file, first, count in found.fixed_reads:
        consumer = times.consumer_of_file(opcode, file, count)
        named.extend((file, first + word, consumer) for word in _chosen(instruction, found, count))
    if instruction.guard & 7 != 7 and found.guard_file >= 0:
        named.append((found.guard_file, instruction.guard & 7, times.consumer(opcode, -1, 1)))
    return named


def register_writes(times: Timing, instruction: Instruction) -> list[tuple[int, int, int]]:
    """(file, number, producer class) of every register that an instruction writes."""
    opcode = instruction.opcode
    found = effects(opcode)
    named: list[tuple[int, int, int]] = []
    for place, words in found.writes:
        file, first = FILES[opcode.slots[place].kind], instruction.values[place]
        if first != NEUTRAL[file]:
            named.extend((file, first + word, times.producer(opcode, file, word)) for word in range(words))
    for file, first, count in found.fixed_writes:
        producer = times.producer(opcode, file, 0)
        named.extend((file, first + word, producer) for word in _chosen(instruction, found, count))
    return named


def _chosen(instruction: Instruction, found: Effects, count: int) -> list[int]:
    """Which of the registers that no slot names: all, or those of the mask that P2R and R2P carry."""
    if count != 7 or found.mask < 0:
        return list(range(count))
    return [word for word in range(count) if instruction.values[found.mask] >> word & 1]


def _by_name(cycles: str) -> dict[str, int]:
    """`"BAR=6 LEPC=7"` as numbers by name."""
    return {name: int(number) for name, _, number in (word.partition("=") for word in cycles.split())}


_timings: dict[int, Timing] = {}


def timing(target: int) -> Timing:
    """The times of sm_`target`."""
    family = FAMILIES[target]
    found = _timings.get(family)
    if found is None:
        found = _timings[family] = Timing(family)
    return found


__all__ = [
    "CONSUMERS", "FAMILIES", "PRODUCERS", "Timing", "register_reads", "register_writes", "timing",
]  # fmt: skip
