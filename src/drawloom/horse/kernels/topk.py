"""The least of many 64-bit words without sorting them: a digit of the bound a pass, from the top (radix select).

A pass counts the digits of the words whose upper bits are the bound's so far; the bound goes on with the digit in which
the wanted number is reached. It is found when few more words than wanted are below its end; one scan compacts them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.bitonic import SEGMENT, padded
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import Rounds, RowKernel, tile_for
from drawloom.horse.kernels.scan import Walk, scan
from drawloom.horse.kernels.workspace import Memory
from drawloom.ptx.ir import Register
from drawloom.ptx.types import U32, U64

_BITS: Final = 11
_DIGITS: Final = 1 << _BITS


def least(kernels: DeviceKernels, words: Memory, rows: int, wanted: int, low: int, high: int) -> tuple[Memory, int]:
    """The u64 ``words`` whose bits from ``low`` to below ``high`` are among the ``wanted`` least, in the order that
    they had, and how many these are, ``wanted`` or more; their memory is as ``bitonic_sort`` needs it. Bits from
    ``high`` on are zero; ``wanted`` is 1 to ``rows``."""
    prefix, below, shift = 0, 0, high
    while True:
        width = min(_BITS, shift - low)
        shift -= width
        counts = kernels.workspace.full(_DIGITS, np.uint32, 0)
        Digits(tile_for(kernels.device).threads).run(
            kernels, "top_digits", [words, counts, prefix, shift, shift + width, (1 << width) - 1], rows
        )
        reached = below + np.cumsum(kernels.workspace.get(counts, _DIGITS), dtype=np.int64)
        digit = int(np.searchsorted(reached, wanted))
        prefix = (prefix << width) | digit
        count = int(reached[digit])
        if count <= max(2 * wanted, SEGMENT) or shift == low:
            break
        below = int(reached[digit - 1]) if digit else below
    made = kernels.workspace.empty(padded(count), np.uint64)
    assert scan(kernels, "top_below", Below(), [words, made, prefix, shift], rows) == count
    return made, count


class Digits(RowKernel):
    """Adds to ``counts`` how often each digit above ``shift`` stands in words whose bits from ``above`` on are
    ``prefix``: a block counts in shared memory first."""

    def __init__(self, threads: int) -> None:
        super().__init__(["words", "counts"], {"prefix": U64, "shift": U32, "above": U32, "mask": U32})
        self.threads = threads

    def open(self, emitter: Emitter) -> None:
        self.counters = emitter.shared_array("counters", U32, _DIGITS)
        for digit in self.own_digits(emitter):
            emitter.put("st.shared.u32", emitter.shared_element(self.counters, digit, 4), 0)
        emitter.put("bar.sync", 0)

    def own_digits(self, emitter: Emitter) -> list[Register]:
        thread = emitter.special("%tid.x")
        return [emitter.calc("add.u32", thread, first) for first in range(0, _DIGITS, self.threads)]

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        words, _, prefix, shift, above, mask = bases
        word = emitter.load("u64", words, at.row, at.inside)
        alike = emitter.calc("setp.eq.u64", emitter.calc("shr.u64", word, above), prefix)
        digit = emitter.calc("and.b32", emitter.calc("cvt.u32.u64", emitter.calc("shr.u64", word, shift)), mask)
        place = emitter.shared_element(self.counters, digit, 4)
        emitter.put("red.shared.add.u32", place, 1, guard=emitter.both(at.inside, alike))

    def close(self, emitter: Emitter, bases: list[Register]) -> None:
        emitter.put("bar.sync", 0)
        for digit in self.own_digits(emitter):
            count = emitter.calc("ld.shared.u32", emitter.shared_element(self.counters, digit, 4))
            some = emitter.calc("setp.ne.u32", count, 0)
            emitter.put("red.global.add.u32", emitter.element(bases[1], digit, 4), count, guard=some)


class Below(Walk):
    """Words whose bits from ``shift`` on are at most ``prefix``, compacted."""

    is_mask = True

    def declare(self, emitter: Emitter) -> None:
        for pointer in ("words", "to"):
            emitter.pointer_param(pointer)
        emitter.scalar_param("prefix", U64)
        emitter.scalar_param("shift", U32)
        self.words, self.target = emitter.pointer("words"), emitter.pointer("to")
        self.prefix, self.shift = emitter.param("prefix", U64), emitter.param("shift", U32)

    def value(self, emitter: Emitter, row: Register, inside: Register) -> Register:
        self.word = emitter.load("u64", self.words, row, inside)
        upper = emitter.calc("shr.u64", self.word, self.shift)
        return emitter.both(inside, emitter.calc("setp.le.u64", upper, self.prefix))

    def write(self, emitter: Emitter, row: Register, inside: Register, value: Register, before: Register) -> None:
        emitter.store("u64", self.target, before, self.word, value)
