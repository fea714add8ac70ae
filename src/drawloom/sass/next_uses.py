"""How far away each general register's next use is, and which of its words live, at every instruction that names it.

Distances count instructions along the shortest way; leaving a loop adds `LOOP_EXIT`. Only registers that live at the
border of a block are followed from block to block, in two sweeps: a distance is a heuristic, the words that live are
exact.
"""

from __future__ import annotations

from typing import Final, cast

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.sass.effects import IS_GENERAL, PLACE_SHIFT, WORDS_MASK, WORDS_SHIFT, effects
from drawloom.sass.intervals import Liveness
from drawloom.sass.machine import GENERAL, VIRTUAL, Machine
from drawloom.sass.syntax import NO_GUARD

#: What leaving one loop adds to a distance.
LOOP_EXIT: Final = 1 << 20
#: The distance of what lives and is not seen to be used.
_UNSEEN: Final = 1 << 40
#: Sweeps over the blocks: the second brings distances around the loops.
_SWEEPS: Final = 2


class NextUses:
    """`uses[n]` to `uses[n + 1]`, in reverse, are the entries of instruction n, one for each general register that it
    names: in `register`; `words_before` and `words_after` it, as bits, which live; `following`, the instruction of the
    next use; `written`, the words that it writes. `live_in[b]` has the words of the registers that live at the
    beginning of block b, `distance_in[b]` the distance of their next use; `pressure[b]` is the most words that live at
    once in b. `starts[b]` is the first instruction of b."""

    def __init__(self, liveness: Liveness) -> None:
        function = liveness.function
        self.function = function
        self.widths = vec[i64]([size_of(width) for width in function.widths])
        count = len(function.files)
        self.starts = vec[i64]([start >> 1 for start in liveness.starts])
        self.live_in: list[dict[int, int]] = []
        self._gather_borders(liveness)
        self.distance_in: list[dict[int, int]] = [{} for _ in function.blocks]
        self.pressure = vec[i64]([0] * len(function.blocks))
        self.uses = vec[i64]([0] * (self.starts[-1] + 2))
        self.register = vec[i64]()
        self.words_before = vec[i64]()
        self.words_after = vec[i64]()
        self.written = vec[i64]()
        self.following = vec[i64]()
        #: Of each register, in the block at hand: the words that live, the next use.
        self.words = vec[i64]([0] * count)
        self.next = vec[i64]([0] * count)
        #: Of each register that the instruction at hand names: the words that it reads and writes.
        self.read = vec[i64]([0] * count)
        self.wrote = vec[i64]([0] * count)
        self.kills = vec[i64]([0] * count)
        self._sweep()
        for b in range(len(function.blocks) - 1, -1, -1):
            self._look(b)

    def _gather_borders(self, liveness: Liveness) -> None:
        files = self.function.files
        borders = liveness.borders
        for b in range(len(self.function.blocks)):
            found: dict[int, int] = {}
            for word in borders.all_beginning(b):
                register = int(word >> 2)
                if files[register] == GENERAL:
                    found[register] = found.get(register, 0) | 1 << int(word & 3)
            self.live_in.append(found)

    def live_out(self, b: int) -> dict[int, int]:
        """The words of the registers that live at the end of a block."""
        successors = self.function.blocks[b].successors
        if len(successors) == 1:
            return self.live_in[successors[0]]
        out: dict[int, int] = {}
        for successor in successors:
            for register, words in self.live_in[successor].items():
                out[register] = out.get(register, 0) | words
        return out

    def distance_out(self, b: int) -> dict[int, int]:
        """How far behind the end of a block the next use is of what lives there."""
        blocks = self.function.blocks
        out: dict[int, int] = {}
        for successor in blocks[b].successors:
            known = self.distance_in[successor]
            extra = LOOP_EXIT * max(blocks[b].depth - blocks[successor].depth, 0)
            for register in self.live_in[successor]:
                distance = known.get(register, _UNSEEN) + extra
                if distance < out.get(register, _UNSEEN << 1):
                    out[register] = distance
        return out

    def _sweep(self) -> None:
        """Find the distances at the borders of blocks."""
        blocks = self.function.blocks
        firsts = [self._first_uses(b) for b in range(len(blocks))]
        for _ in range(_SWEEPS):
            for b in range(len(blocks) - 1, -1, -1):
                length = len(blocks[b].instructions)
                first = firsts[b]
                out = self.distance_out(b)
                found: dict[int, int] = {}
                for register in self.live_in[b]:
                    near = first.get(register, -1)
                    found[register] = near if near >= 0 else min(length + out.get(register, _UNSEEN), _UNSEEN)
                self.distance_in[b] = found

    def _first_uses(self, b: int) -> dict[int, int]:
        """Where a block first names each register that lives at its beginning."""
        live = self.live_in[b]
        found: dict[int, int] = {}
        for number, instruction in enumerate(self.function.blocks[b].instructions):
            effect = effects(instruction.opcode)
            for place in effect.register_places:
                value = instruction.values[place]
                if value >= VIRTUAL:
                    register = (value - VIRTUAL) >> 2
                    if register in live and register not in found:
                        found[register] = number
        return found

    def _look(self, b: int) -> None:
        """Add the entries of the instructions of a block."""
        files, widths = self.function.files, self.widths
        words, following, read, wrote, kills = self.words, self.next, self.read, self.wrote, self.kills
        instructions = self.function.blocks[b].instructions
        start: i64 = self.starts[b]
        stop: i64 = self.starts[b + 1]
        out = self.distance_out(b)
        named: list[int] = []
        pressure: i64 = 0
        for register, live in self.live_out(b).items():
            words[register] = live
            following[register] = stop + out.get(register, _UNSEEN)
            pressure += widths[register]
            named.append(register)
        most = pressure
        for number in range(stop - 1, start - 1, -1):
            instruction = instructions[number - start]
            here = self._named(instruction)
            for register in here:
                if files[register] != GENERAL:
                    continue
                after = words[register]
                before = after & ~kills[register] | read[register]
                self.register = append(self.register, register)
                self.words_after = append(self.words_after, after)
                self.words_before = append(self.words_before, before)
                self.written = append(self.written, wrote[register])
                self.following = append(self.following, following[register])
                if not after and before:
                    pressure += widths[register]
                elif after and not before:
                    pressure -= widths[register]
                words[register] = before
                following[register] = number
                read[register] = wrote[register] = kills[register] = 0
                if not after:
                    named.append(register)
            if pressure > most:
                most = pressure
            self.uses[number] = len(self.register)
        self.pressure[b] = most
        for register in named:
            words[register] = 0

    def _named(self, instruction: Machine) -> list[int]:
        """The registers that an instruction names, each once; `read`, `wrote` and `kills` have their words."""
        read, wrote, kills = self.read, self.wrote, self.kills
        effect = instruction.opcode.effects or effects(instruction.opcode)
        values = cast("list[i64]", instruction.values)
        here: list[int] = []
        for access in effect.write_places:
            value: i64 = values[access >> PLACE_SHIFT]
            if value >= VIRTUAL and access & IS_GENERAL:
                register = (value - VIRTUAL) >> 2
                bits = bits_of(value & 3, access >> WORDS_SHIFT & WORDS_MASK)
                if not read[register] | wrote[register]:
                    here.append(int(register))
                wrote[register] |= bits
                if instruction.guard == NO_GUARD or instruction.begins >> (access >> PLACE_SHIFT) & 1:
                    kills[register] |= bits
        for access in effect.read_places:
            value = values[access >> PLACE_SHIFT]
            if value >= VIRTUAL and access & IS_GENERAL:
                register = (value - VIRTUAL) >> 2
                if not read[register] | wrote[register]:
                    here.append(int(register))
                read[register] |= bits_of(value & 3, access >> WORDS_SHIFT & WORDS_MASK)
        return here


def size_of(width: int) -> int:
    """The registers that a virtual one of so many words takes up, with what its alignment leaves free."""
    return 4 if width == 3 else width


def bits_of(first: i64, count: i64) -> i64:
    """The words from ``first`` on, as bits."""
    one: i64 = 1
    return ((one << count) - 1) << first
