"""sm_61: logic, shifts, bit fields, predicates and condition codes, conversions between integers, comparisons of floats
that choose or fill a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter import floats, logic
from drawloom.sass.interpreter.basics import FULL, Row
from drawloom.sass.interpreter.comparisons import (
    COMBINATIONS,
    FLOAT_RELATIONS,
    double_numbers,
    single_numbers,
    two_results,
)
from drawloom.sass.interpreter.conversions import INTEGERS, clamped, number_of, round_in_place
from drawloom.sass.interpreter.conversions import float_to_float as convert_float
from drawloom.sass.interpreter.exact import F64, FORMATS, extremum
from drawloom.sass.interpreter.integers import low_word, signed
from drawloom.sass.interpreter.operation import Builder, Operation, Read, per_lane, words
from drawloom.sass.interpreter.pascal_integers import CONDITIONS, NONE, condition, finish, part_of, plain
from drawloom.sass.interpreter.state import Step, Warp

BITWISE: Final[dict[str, Callable[[Row, Row], Row]]] = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b, "PASS_B": lambda a, b: b,
}  # fmt: skip
#: What LOP and LOP3 can test their result for.
TESTS: Final[dict[str, Callable[[Row], Row]]] = {
    "NZ": lambda a: a != 0, "Z": lambda a: a == 0, "T": lambda a: ~NONE, "F": lambda a: NONE,
}  # fmt: skip


def _tested(operation: Operation, compute: Callable[..., Row], reads: list[Read]) -> Step:
    """A word, and in the predicate before it whether it passes the test."""
    if not operation.is_predicate(0):
        return plain(operation, compute, reads)
    passes = TESTS[next(m for m in operation.modifiers if m in TESTS)]
    test, write = operation.destination(0), operation.destination(1)

    def run(w: Warp, m: Row) -> None:
        value = compute(*[read(w) for read in reads])
        write(w, m, value)
        test(w, m, passes(value))

    return run


def logic2(operation: Operation) -> Step:
    """LOP and LOP32I."""
    operation.only(*BITWISE, *TESTS)
    first = 2 if operation.is_predicate(0) else 1
    a, b = operation.word(first), operation.word(first + 1)
    inverted = ".INV" in operation.operands[first + 1].after
    compute = next(BITWISE[m] for m in operation.modifiers if m in BITWISE)
    return _tested(operation, (lambda x, y: compute(x, ~y)) if inverted else compute, [a, b])


def logic3(operation: Operation) -> Step:
    """LOP3.LUT."""
    operation.only("LUT", *TESTS)
    first = 2 if operation.is_predicate(0) else 1
    function = logic.table_function(operation.operands[first + 3].value)
    return _tested(operation, function, [operation.word(first + n) for n in range(3)])


def shift_left(operation: Operation) -> Step:
    """SHL; the amount stops at 32, or wraps (.W)."""
    operation.only("W")
    wraps = operation.has("W")

    def compute(a: Row, s: Row) -> Row:
        return np.where(wraps | (s < 32), a << (s & np.uint32(31)), np.uint32(0))

    return plain(operation, compute, [operation.word(1), operation.word(2)])


def shift_right(operation: Operation) -> Step:
    """SHR, of signed numbers unless .U32."""
    operation.only("U32", "S32", "W")
    wraps, unsigned = operation.has("W"), operation.has("U32")

    def compute(a: Row, s: Row) -> Row:
        amount = s & np.uint32(31) if wraps else np.minimum(s, 32)
        wide = a.astype(np.int64) if unsigned else signed(a)
        return low_word(wide >> amount.astype(np.int64))

    return plain(operation, compute, [operation.word(1), operation.word(2)])


def shift_pair(operation: Operation) -> Step:
    """SHF: the upper word of `c:a` shifted left, or the lower one of it shifted right; .HI the other one."""
    operation.only("L", "R", "W", "U64", "S64", "HI")
    left = operation.has("L")
    if not (operation.has("U64") or operation.has("S64")):
        operation.modifiers.append("U32")
    if left and not operation.has("HI"):
        operation.modifiers.append("HI")
    return logic.shift(operation)


def extract(operation: Operation) -> Step:
    """BFE: `b` is position and length, a byte each; .BREV reverses the bits first."""
    operation.only("U32", "S32", "BREV")
    unsigned, reverses = operation.has("U32"), operation.has("BREV")

    def lane(a: int, b: int) -> int:
        if reverses:
            a = int(f"{a:032b}"[::-1], 2)
        position, length = b & 0xFF, b >> 8 & 0xFF
        if not length:
            return 0
        sign = 0 if unsigned else a >> min(position + length - 1, 31) & 1
        field = (a | (-sign & FULL) << 32 | (-sign & FULL) << 64) >> min(position, 64)
        mask = (1 << min(length, 32)) - 1
        return field & mask | (-sign & ~mask & FULL)

    return plain(
        operation, lambda a, b: per_lane(~NONE, lane, a, b).astype(np.uint32), [operation.word(1), operation.word(2)]
    )


def insert(operation: Operation) -> Step:
    """BFI: the low bits of `a` into `c`, where `b` says as of BFE."""
    operation.only()

    def lane(a: int, b: int, c: int) -> int:
        position, length = min(b & 0xFF, 32), min(b >> 8 & 0xFF, 32)
        mask = (1 << length) - 1 << position & FULL
        return c & ~mask | a << position & mask

    reads = [operation.word(at) for at in (1, 2, 3)]
    return plain(operation, lambda *rows: per_lane(~NONE, lane, *rows).astype(np.uint32), reads)


def _two_combinations(operation: Operation) -> tuple[Callable[[Row, Row], Row], Callable[[Row, Row], Row]]:
    first, second = [COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS]
    return first, second


def predicates_to_predicates(operation: Operation) -> Step:
    """PSETP: `(a op b) op c`, and `!(a op b) op c`."""
    operation.only(*COMBINATIONS)
    inner, outer = _two_combinations(operation)
    writes = [operation.destination(0), operation.destination(1)]
    a, b, c = [operation.predicate(at) for at in (2, 3, 4)]

    def run(w: Warp, m: Row) -> None:
        found, other = inner(a(w), b(w)), c(w)
        results = outer(found, other), outer(~found, other)
        for write, row in zip(writes, results):
            write(w, m, row)

    return run


def predicates_to_word(operation: Operation) -> Step:
    """PSET: all ones, or with .BF 1.0, where `(a op b) op c`."""
    operation.only("BF", *COMBINATIONS)
    inner, outer = _two_combinations(operation)
    a, b, c = [operation.predicate(at) for at in (1, 2, 3)]
    true = np.uint32(0x3F800000 if operation.has("BF") else 0xFFFFFFFF)
    return plain(operation, lambda x, y, z: outer(inner(x, y), z) * true, [a, b, c])


def flags_to_predicates(operation: Operation) -> Step:
    """CSETP."""
    operation.only(*COMBINATIONS, *CONDITIONS)
    return two_results(operation, condition(operation.modifiers[0]), operation.predicate(3))


def flags_to_word(operation: Operation) -> Step:
    """CSET."""
    operation.only("BF", *COMBINATIONS, *CONDITIONS)
    test, other = condition(next(m for m in operation.modifiers if m in CONDITIONS)), operation.predicate(2)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    true = np.uint32(0x3F800000 if operation.has("BF") else 0xFFFFFFFF)
    return plain(operation, lambda a, b: combine(a, b) * true, [test, other])


def to_word(operation: Operation) -> Step:
    """P2R of the predicates or, with CC, of the condition codes."""
    if operation.operands[1].words != "CC":
        return logic.from_predicates(operation)
    operation.only()
    write, others, mask = operation.destination(), operation.word(2), operation.operands[3].value & 15

    def run(w: Warp, m: Row) -> None:
        value = others(w) & np.uint32(FULL ^ mask)
        for flag in range(4):
            if mask >> flag & 1:
                value = value | w.cc[flag].astype(np.uint32) << np.uint32(flag)
        write(w, m, value)

    return run


def from_word(operation: Operation) -> Step:
    """R2P into the predicates or, with CC, into the condition codes."""
    if operation.operands[0].words != "CC":
        return logic.to_predicates(operation)
    operation.only()
    read, mask = operation.word(1), operation.operands[2].value & 15

    def run(w: Warp, m: Row) -> None:
        value = read(w).copy()
        for flag in range(4):
            if mask >> flag & 1:
                np.copyto(w.cc[flag], value >> np.uint32(flag) & 1 == 1, where=m)

    return run


def convert_integer(operation: Operation) -> Step:
    """I2I: an integer of one type, or a part of a word, to another; .SAT clamps it."""
    operation.only("SAT", *INTEGERS)
    (to_bits, to_signed), (bits, is_signed) = [INTEGERS[m] for m in operation.modifiers if m in INTEGERS]
    operand = operation.operands[1]
    read, part = operation.word(1, False), part_of(operand)
    shift = int(part[1]) * (8 if part[0] == "B" else 16) if part else 0
    negative, absolute, saturates = operand.negative, operand.absolute, operation.has("SAT")

    def lane(a: int) -> int:
        value = number_of(a >> shift, bits, is_signed)
        if absolute:
            value = abs(value)
        if negative:
            value = -value
        if saturates:
            value = clamped(value, to_bits, to_signed)
        return number_of(value, to_bits, to_signed) & FULL

    return plain(operation, lambda a: per_lane(~NONE, lane, a).astype(np.uint32), [read])


def convert_in_place(operation: Operation) -> Step:
    """F2F; to a whole number of the same format with .ROUND, .FLOOR, .CEIL, .TRUNC."""
    whole = ("ROUND", "FLOOR", "CEIL", "TRUNC")
    if not any(operation.has(m) for m in whole):
        return convert_float(operation)
    if operation.has("SAT"):
        raise operation.unsupported("modifier .SAT")
    named = [m for m in operation.modifiers if m in FORMATS]
    if named[0] != named[1]:
        raise operation.unsupported("a whole number of another format")
    operation.modifiers = [m for m in operation.modifiers if m != "ROUND"]
    return round_in_place(operation)


def compare_and_choose(operation: Operation) -> Step:
    """FCMP: `a` where `c` is so in comparison with 0, else `b`."""
    operation.only("FTZ", *FLOAT_RELATIONS)
    compare = FLOAT_RELATIONS[operation.modifiers[0]]
    a, b = operation.word(1), operation.word(2)
    zero = np.zeros(32, np.float32)
    write, number = operation.destination(), single_numbers(operation, 3, operation.has("FTZ"))
    return lambda w, m: write(w, m, np.where(compare(number(w), zero), a(w), b(w)))


def set_word(operation: Operation) -> Step:
    """FSET and DSET: all ones, or with .BF 1.0, where the comparison holds."""
    operation.only("FTZ", "BF", *COMBINATIONS, *FLOAT_RELATIONS)
    compare = next(FLOAT_RELATIONS[m] for m in operation.modifiers if m in FLOAT_RELATIONS)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    if operation.base == "DSET":
        a, b = double_numbers(operation, 1), double_numbers(operation, 2)
    else:
        a, b = [single_numbers(operation, at, operation.has("FTZ")) for at in (1, 2)]
    done, other = finish(operation), operation.predicate(3)
    true = np.uint32(0x3F800000 if operation.has("BF") else 0xFFFFFFFF)
    return lambda w, m: done(w, m, combine(compare(a(w), b(w)), other(w)) * true, NONE, NONE)


def double_extremum(operation: Operation) -> Step:
    """DMNMX: the smaller where the predicate is true, else the larger; of a NaN and a number the number."""
    operation.only()
    write, smaller = operation.long_destination(), operation.predicate(3)
    a, b = floats.double_bits(operation, 1), floats.double_bits(operation, 2)

    def lane(x: int, y: int, least: int) -> int:
        return extremum(F64, x, y, bool(least), False)

    return lambda w, m: write(w, m, per_lane(m, lane, a(w), b(w), smaller(w)))


def reduce_range(operation: Operation) -> Step:
    """RRO: brings the operand of the MUFU that follows into its range, which MUFU itself does here."""
    operation.only("FTZ", "SINCOS", "EX2")
    read = floats.single_bits(operation, 1)
    write = operation.destination()
    return lambda w, m: write(w, m, read(w))


def immediate_sum(operation: Operation) -> Step:
    """FADD32I, FMUL32I, FFMA32I: as those without 32I."""
    operation.base = operation.base.removesuffix("32I")
    return floats.single(operation)


def move(operation: Operation) -> Step:
    """MOV and MOV32I, with a mask of bytes that is whole."""
    operation.only()
    if len(operation.operands) > 2 and operation.operands[2].value != 15:
        raise operation.unsupported("a mask of bytes")
    operation.operands = operation.operands[:2]
    return words(operation, lambda a: a)


BUILDERS: Final[dict[str, Builder]] = {
    "LOP": logic2, "LOP32I": logic2, "LOP3": logic3, "SHL": shift_left, "SHR": shift_right, "SHF": shift_pair,
    "BFE": extract, "BFI": insert, "PSETP": predicates_to_predicates, "PSET": predicates_to_word,
    "CSETP": flags_to_predicates, "CSET": flags_to_word, "P2R": to_word, "R2P": from_word, "I2I": convert_integer,
    "F2F": convert_in_place, "FCMP": compare_and_choose, "FSET": set_word, "DSET": set_word, "DMNMX": double_extremum,
    "RRO": reduce_range, "FADD32I": immediate_sum, "FMUL32I": immediate_sum, "FFMA32I": immediate_sum, "MOV": move,
    "MOV32I": move,
}  # fmt: skip
