"""An instruction of a launch, ready to be turned into a step: its operands as functions that read and write rows.

Every reader is a function of the warp to a row of 32 values; what the launch fixes, such as parameters in constant
bank 0, is read when the step is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from drawloom.errors import UnsupportedError
from drawloom.sass.encoding import address_of
from drawloom.sass.instruction import Instruction
from drawloom.sass.interpreter.basics import LANES, Fault, Row, anybody, numbers_of
from drawloom.sass.interpreter.operands import Operand, operands_of
from drawloom.sass.interpreter.state import Step, Warp
from drawloom.sass.syntax import NEGATED, NO_GUARD

if TYPE_CHECKING:
    from drawloom.sass.interpreter.launch import Launch

Read = Callable[[Warp], Row]
Write = Callable[[Warp, Row, Row], None]  # warp, lanes, values
Builder = Callable[["Operation"], Step]

ONES: Final = np.uint32(0xFFFFFFFF)
PREDICATES: Final = ("P", "UP")


@lru_cache(1 << 14)
def constant_row(value: int, type: type[np.generic] = np.uint32) -> Row:
    """The same number in every lane, which nobody writes."""
    bits = np.dtype(type).itemsize * 8
    row = np.full(LANES, value & (1 << bits) - 1, type)
    row.setflags(write=False)
    return row


class Operation:
    """`place` is its index among the function's instructions, `following` the byte address behind it. `is_bound` is
    whether its step depends on these or on its launch; one that does not serves equal words everywhere."""

    def __init__(self, launch: Launch, instruction: Instruction, place: int) -> None:
        self._launch = launch
        self._place = place
        self.is_bound = False
        self.instruction = instruction
        self.bytes = launch.target.word_bytes
        parts = instruction.opcode.mnemonic.split(".")
        self.base = parts[0]
        self.modifiers = parts[1:]
        self.operands = operands_of(instruction)

    @property
    def launch(self) -> Launch:
        self.is_bound = True
        return self._launch

    def leave_launch(self) -> None:
        """Steps that are kept keep no launch."""
        del self._launch

    @property
    def place(self) -> int:
        self.is_bound = True
        return self._place

    @property
    def following(self) -> int:
        return address_of(self.launch.target, self.place) + self.bytes

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def only(self, *allowed: str) -> None:
        """Refuses every modifier that is not named."""
        unknown = [m for m in self.modifiers if m not in allowed]
        if unknown:
            raise self.unsupported("modifier ." + unknown[0])

    def unsupported(self, what: str = "it") -> UnsupportedError:
        return UnsupportedError(f"the interpreter of machine code does not have {self.instruction}: {what}")

    # Operands.

    def word(self, at: int, signs: bool = True) -> Read:
        """A 32-bit word; with `signs`, `-` is two's complement and `~` the complement. Else the bare word."""
        operand = self.operands[at]
        read = self._bare(operand)
        if not signs or not (operand.negative or operand.inverted):
            return read
        if operand.negative:
            return lambda w: -read(w)
        return lambda w: ~read(w)

    def _bare(self, operand: Operand) -> Read:
        number = operand.value
        if operand.kind == "R":
            return lambda w: w.r[number]
        if operand.kind == "UR":
            return lambda w: w.u[number]
        if operand.kind in ("I", "I2", "F32"):
            row = constant_row(number)
            return lambda w: row
        if operand.kind in ("F64", "BF16"):  # only the upper bits have a field
            row = constant_row(number >> 32 if operand.kind == "F64" else number << 16)
            return lambda w: row
        if operand.kind == "bank":
            return self._bank(operand, 4)
        raise self.unsupported(f"an operand of kind {operand.kind}")

    def _bank(self, operand: Operand, size: int) -> Read:
        if operand.bank < 0 or operand.base != 255 or operand.uniform != 63:
            raise self.unsupported("a computed place in a constant bank")
        row = constant_row(
            self.launch.constant(operand.bank, operand.offset, size), np.uint64 if size == 8 else np.uint32
        )
        return lambda w: row

    def long(self, at: int) -> Read:
        """A 64-bit value without its signs: a pair of registers, 8 bytes of a constant bank, or an immediate: of a
        double its bits, of an integer its 32 bits with zeros above."""
        operand = self.operands[at]
        if operand.kind in ("R", "UR"):
            return self.pair(operand.kind, operand.value)
        if operand.kind == "bank":
            return self._bank(operand, 8)
        if operand.kind in ("I", "F64"):
            row = constant_row(operand.value if operand.kind == "F64" else operand.value & 0xFFFFFFFF, np.uint64)
            return lambda w: row
        raise self.unsupported(f"a 64-bit operand of kind {operand.kind}")

    def pair(self, kind: str, number: int) -> Read:
        """Two registers that begin at an even number; RZ is 0."""
        if number == (255 if kind == "R" else 63):
            row = constant_row(0, np.uint64)
            return lambda w: row
        self.check_aligned(number, 2)
        half = number >> 1
        return (lambda w: w.rr[half]) if kind == "R" else (lambda w: w.uu[half])

    def check_aligned(self, number: int, words: int) -> None:
        """A group of registers begins at a multiple of its size."""
        if number % (4 if words > 2 else words) or number + words > 255:
            raise Fault(f"{self.instruction}: {words} registers from R{number} on are not aligned")

    def predicate(self, at: int) -> Read:
        operand = self.operands[at]
        number = operand.value
        if operand.kind not in PREDICATES:
            raise self.unsupported(f"a predicate of kind {operand.kind}")
        read: Read = (lambda w: w.p[number]) if operand.kind == "P" else (lambda w: w.up[number])
        return (lambda w: ~read(w)) if operand.inverted else read

    def is_predicate(self, at: int) -> bool:
        return at < len(self.operands) and self.operands[at].kind in PREDICATES

    def destination(self, at: int = 0) -> Write:
        """How a word or predicate is written. Uniform registers are written whatever lanes execute."""
        operand = self.operands[at]
        number = operand.value
        if operand.kind == "R":
            return _nothing if number == 255 else lambda w, m, v: np.copyto(w.r[number], v, where=m)
        if operand.kind == "UR":
            return _nothing if number == 63 else lambda w, m, v: np.copyto(w.u[number], v)
        if operand.kind == "P":
            return _nothing if number == 7 else lambda w, m, v: np.copyto(w.p[number], v, where=m)
        if operand.kind == "UP":
            return _nothing if number == 7 else lambda w, m, v: np.copyto(w.up[number], v)
        raise self.unsupported(f"a destination of kind {operand.kind}")

    def long_destination(self, at: int = 0) -> Write:
        """How a pair of registers is written."""
        operand = self.operands[at]
        number = operand.value
        if number == (255 if operand.kind == "R" else 63):
            return _nothing
        self.check_aligned(number, 2)
        half = number >> 1
        if operand.kind == "UR":
            return lambda w, m, v: np.copyto(w.uu[half], v)
        return lambda w, m, v: np.copyto(w.rr[half], v, where=m)

    # Control.

    def guard_lanes(self) -> Callable[[Warp, Row], Row] | None:
        """Of the lanes that are there, those that the guard lets execute; None without a guard."""
        guard = self.instruction.guard
        number, negated = guard & 7, bool(guard & NEGATED)
        if guard == NO_GUARD or not self.instruction.opcode.form.guard:
            return None
        uniform = self.instruction.opcode.form.guard == "UP"

        def lanes(w: Warp, m: Row) -> Row:
            row = (w.up if uniform else w.p)[number]
            return m & ~row if negated else m & row

        return lanes

    def index_of(self, address: int) -> int:
        """The index of the instruction at a byte address. Raises Fault where there is none."""
        index = self.launch.places.get(address, -1)
        if index < 0:
            raise Fault(f"a branch to 0x{address:x}, where there is no instruction")
        return index


def _nothing(w: Warp, m: Row, v: Row) -> None:
    pass


def guarded(operation: Operation, step: Step) -> Step:
    """The step for the lanes that the guard lets execute."""
    lanes = operation.guard_lanes()
    if lanes is None:
        return step

    def run(w: Warp, m: Row) -> int | None:
        chosen = lanes(w, m)
        return step(w, chosen) if anybody(chosen) else None

    return run


def words(operation: Operation, compute: Callable[..., Row], signs: bool = True) -> Step:
    """`d = compute(sources...)` on words; the first operand is the destination."""
    write = operation.destination(0)
    reads = [operation.word(at, signs) for at in range(1, len(operation.operands))]
    if len(reads) == 1:
        (a,) = reads
        return lambda w, m: write(w, m, compute(a(w)))
    if len(reads) == 2:
        a, b = reads
        return lambda w, m: write(w, m, compute(a(w), b(w)))
    return lambda w, m: write(w, m, compute(*[read(w) for read in reads]))


def per_lane(m: Row, function: Callable[..., int], *rows: Row) -> Row:
    """`function` of the numbers of every lane in `m`; 0 elsewhere."""
    out = [0] * LANES
    columns = [row.tolist() for row in rows]
    for lane in numbers_of(m):
        out[lane] = function(*[column[lane] for column in columns])
    return np.array(out, np.uint64)
