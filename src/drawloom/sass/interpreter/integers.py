"""Integer arithmetic: sums with carries, products, shifted sums, absolute values, dot products, minimum and maximum.

Instructions of the uniform data path have the semantics of those of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.operation import Builder, Operation, Read, words
from drawloom.sass.interpreter.state import Step, Warp

LOW: Final = np.uint64(0xFFFFFFFF)
WORD: Final = np.uint64(32)
ONE: Final = np.uint64(1)


def signed(row: Row) -> Row:
    """Words as signed numbers, in 64 bits."""
    return row.view(np.int32).astype(np.int64)


def low_word(row: Row) -> Row:
    return row.astype(np.uint32)


def extended(operation: Operation, at: int, bits: int = 32) -> Read:
    """A word as 64-bit number that sums make carries with: `-x` is `~x + 1`."""
    operand = operation.operands[at]
    read = operation.word(at, False) if bits == 32 else operation.long(at)
    mask = LOW if bits == 32 else np.uint64(0xFFFFFFFFFFFFFFFF)
    if operand.negative:
        return lambda w: (read(w) ^ mask) + ONE
    if operand.inverted:
        return lambda w: read(w) ^ mask
    return lambda w: read(w).astype(np.uint64)


def outputs(operation: Operation) -> int:
    """How many predicates stand behind the first operand."""
    count = 0
    while operation.is_predicate(1 + count):
        count += 1
    return count


def carries_in(operation: Operation, first: int) -> list[Read]:
    """The predicates from an operand on. `!PT` and its absence are 0."""
    return [operation.predicate(at) for at in range(first, len(operation.operands))]


def add3(operation: Operation) -> Step:
    """IADD3: a sum of three with up to two carries out and in. The first carry out is whether the sum reaches
    2**32, the second whether it reaches 2**33: their sum is what is carried."""
    operation.only("X", "64")
    if operation.has("64"):
        raise operation.unsupported("modifier .64")
    write = operation.destination()
    count = outputs(operation)
    carried = [operation.destination(1 + n) for n in range(count)]
    terms = [extended(operation, 1 + count + n) for n in range(3)]
    a, b, c = terms
    carries = carries_in(operation, 4 + count)
    if not carried and not carries:
        x, y, z = [operation.word(1 + n) for n in range(3)]
        return lambda w, m: write(w, m, x(w) + y(w) + z(w))

    def run(w: Warp, m: Row) -> None:
        total = a(w) + b(w) + c(w)
        for carry in carries:
            total += carry(w)
        over = total >> WORD
        write(w, m, low_word(total))
        for n, out in enumerate(carried):
            out(w, m, over > n)

    return run


def add(operation: Operation) -> Step:
    """VIADD, also of pairs of halves."""
    operation.only("16x2")
    if operation.has("16x2"):
        return words(operation, _add_halves)
    return words(operation, lambda a, b: a + b)


def _add_halves(a: Row, b: Row) -> Row:
    high = np.uint32(0xFFFF0000)
    return ((a & high) + (b & high) & high) | (a + b & ~high)


def multiply_add(operation: Operation) -> Step:
    """IMAD and its .WIDE and .HI, whose addend has 64 bits; the sum of .WIDE and .HI can carry out of them."""
    operation.only("WIDE", "HI", "U32", "S32", "X", "MOV", "IADD", "SHL")
    count = outputs(operation)
    if operation.has("WIDE") or operation.has("HI"):
        return _multiply_wide(operation, count)
    write = operation.destination()
    carried = [operation.destination(1 + n) for n in range(count)]
    a, b = operation.word(1 + count), operation.word(2 + count)
    carries = carries_in(operation, 4 + count)
    if not carried and not carries:
        c = operation.word(3 + count)
        return lambda w, m: write(w, m, a(w) * b(w) + c(w))
    addend = extended(operation, 3 + count)

    def run(w: Warp, m: Row) -> None:
        total = (a(w) * b(w)).astype(np.uint64) + addend(w)
        for carry in carries:
            total += carry(w)
        write(w, m, low_word(total))
        for out in carried:
            out(w, m, total >> WORD > 0)

    return run


def _multiply_wide(operation: Operation, count: int) -> Step:
    is_high = operation.has("HI")
    write = operation.destination() if is_high else operation.long_destination()
    carried = [operation.destination(1 + n) for n in range(count)]
    a, b, c = operation.word(1 + count), operation.word(2 + count), extended(operation, 3 + count, 64)
    minus = operation.operands[3 + count].negative
    carries = carries_in(operation, 4 + count)
    unsigned = operation.has("U32")

    def run(w: Warp, m: Row) -> None:
        x, y = a(w), b(w)
        product = x.astype(np.uint64) * y if unsigned else (signed(x) * signed(y)).view(np.uint64)
        addend = c(w)
        total = product + addend
        over = total < product
        if minus:
            over = over | (addend == 0)  # -0 is a carry
        for carry in carries:
            before = total
            total = total + carry(w)
            over = over | (total < before)
        write(w, m, total >> WORD if is_high else total)
        for out in carried:
            out(w, m, over)

    return run


def shifted_add(operation: Operation) -> Step:
    """LEA: `b + (a << s)`; .HI adds the upper word of `c:a << s`, of `a` with its sign above with .SX32."""
    operation.only("HI", "X", "SX32")
    write = operation.destination()
    count = outputs(operation)
    carried = [operation.destination(1 + n) for n in range(count)]
    at = 1 + count
    a, b = operation.word(at, False), extended(operation, at + 1)
    is_high, sign = operation.has("HI"), operation.has("SX32")
    upper = operation.word(at + 2, False) if is_high and not sign else None
    at += 3 if upper is not None else 2
    if operation.operands[1 + count].before:
        raise operation.unsupported("a sign of what is shifted")
    amount = np.uint64(operation.operands[at].value & 31)
    carries = carries_in(operation, at + 1)

    def run(w: Warp, m: Row) -> None:
        low = a(w)
        both = signed(low).view(np.uint64) if sign else low.astype(np.uint64)
        if upper is not None:
            both |= upper(w).astype(np.uint64) << WORD
        both = both << amount
        total = (both >> WORD if is_high else both & LOW) + b(w)
        for carry in carries:
            total += carry(w)
        write(w, m, low_word(total))
        for out in carried:
            out(w, m, total >> WORD > 0)

    return run


def absolute(operation: Operation) -> Step:
    operation.only()
    return words(operation, lambda a: np.abs(signed(a)).astype(np.uint32))


def absolute_difference(operation: Operation) -> Step:
    """VABSDIFF: `|a - b| + c`."""
    operation.only("U32")
    if operation.has("U32"):
        return words(operation, lambda a, b, c: np.where(a > b, a - b, b - a) + c)
    return words(operation, lambda a, b, c: np.abs(signed(a) - signed(b)).astype(np.uint32) + c)


def _parts(row: Row, width: int, is_signed: bool) -> list[Row]:
    """The fields of words, as 64-bit numbers."""
    type = {(8, True): np.int8, (8, False): np.uint8, (16, True): np.int16, (16, False): np.uint16}[width, is_signed]
    fields = np.ascontiguousarray(row).view(type).reshape(32, 32 // width)
    return [fields[:, n].astype(np.int64) for n in range(32 // width)]


def dot(operation: Operation) -> Step:
    """IDP.4A and .2A: a sum of products of bytes, or of halves with the lower or upper bytes."""
    operation.only("4A", "2A", "LO", "HI", "U8", "S8", "U16", "S16")
    types = operation.modifiers[-2:]
    wide = operation.has("2A")
    first = 2 if operation.has("HI") else 0

    def compute(a: Row, b: Row, c: Row) -> Row:
        left = _parts(a, 16 if wide else 8, types[0][0] == "S")
        right = _parts(b, 8, types[1][0] == "S")[first:]
        total = signed(c)
        for x, y in zip(left, right):
            total = total + x * y
        return total.astype(np.uint32)

    return words(operation, compute)


#: How VIMNMX and its kin read their operands: fields of words as 64-bit numbers.
_HALVES: Final = ("S16x2", "U16x2")


def _fields(operation: Operation) -> tuple[Callable[[Row], list[Row]], int]:
    if operation.has("S16x2") or operation.has("U16x2"):
        is_signed = operation.has("S16x2")
        return (lambda row: _parts(row, 16, is_signed)), 16
    if operation.has("U32"):
        return (lambda row: [row.astype(np.int64)]), 32
    return (lambda row: [signed(row)]), 32


def minimum(operation: Operation) -> Step:
    """IMNMX and VIMNMX: the smaller where the predicate is true, else the larger; .RELU not below 0. VIADDMNMX
    compares the sum of the first two with the third."""
    operation.only("U32", "S32", "RELU", *_HALVES)
    fields, width = _fields(operation)
    write = operation.destination()
    last = len(operation.operands) - 1
    sources = [operation.word(at) for at in range(1, last)]
    smaller = operation.predicate(last)
    relu = operation.has("RELU")

    def run(w: Warp, m: Row) -> None:
        values = [source(w) for source in sources]
        if len(values) == 3:
            values = [_add_halves(values[0], values[1]) if width == 16 else values[0] + values[1], values[2]]
        choice = smaller(w)
        out = np.zeros(32, np.uint32)
        for n, (a, b) in enumerate(zip(fields(values[0]), fields(values[1]))):
            found = np.where(choice, np.minimum(a, b), np.maximum(a, b))
            if relu:
                found = np.maximum(found, 0)
            out |= (found & (1 << width) - 1).astype(np.uint32) << np.uint32(16 * n)
        write(w, m, out)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "IADD3": add3, "UIADD3": add3, "VIADD": add, "UVIADD": add, "IMAD": multiply_add, "UIMAD": multiply_add,
    "LEA": shifted_add, "ULEA": shifted_add, "IABS": absolute, "VABSDIFF": absolute_difference, "IDP": dot,
    "IMNMX": minimum, "VIMNMX": minimum, "VIADDMNMX": minimum, "UIMNMX": minimum,
}  # fmt: skip
