"""Comparisons to predicates: of integers, with the extension to 64 bits, and of floats of every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.operation import Builder, Operation, Read
from drawloom.sass.interpreter.state import Step, Warp

Relation = Callable[[Row, Row], Row]

INTEGER_RELATIONS: Final[dict[str, Relation]] = {
    "F": lambda a, b: np.zeros(32, np.bool_),
    "LT": lambda a, b: a < b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "NE": lambda a, b: a != b,
    "GE": lambda a, b: a >= b,
    "T": lambda a, b: np.ones(32, np.bool_),
}
#: NaNs make the plain relations false and those with U true.
FLOAT_RELATIONS: Final[dict[str, Relation]] = {
    "F": INTEGER_RELATIONS["F"],
    "LT": lambda a, b: a < b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "NE": lambda a, b: (a < b) | (a > b),
    "GE": lambda a, b: a >= b,
    "NUM": lambda a, b: (a == a) & (b == b),
    "NAN": lambda a, b: (a != a) | (b != b),
    "LTU": lambda a, b: ~(a >= b),
    "EQU": lambda a, b: ~((a < b) | (a > b)),
    "LEU": lambda a, b: ~(a > b),
    "GTU": lambda a, b: ~(a <= b),
    "NEU": lambda a, b: a != b,
    "GEU": lambda a, b: ~(a < b),
    "T": INTEGER_RELATIONS["T"],
}
COMBINATIONS: Final[dict[str, Relation]] = {
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
}


def two_results(operation: Operation, test: Callable[[Warp], Row], other: Read) -> Step:
    """Writes the test and its negation, each combined with another predicate."""
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    write, write_negation = operation.destination(0), operation.destination(1)

    def run(w: Warp, m: Row) -> None:
        found, beside = test(w), other(w)
        results = combine(found, beside), combine(~found, beside)
        write(w, m, results[0])
        write_negation(w, m, results[1])

    return run


def set_integer(operation: Operation) -> Step:
    """ISETP; with .EX of the upper words, its last predicate being the result for the lower ones."""
    operation.only("U32", "EX", *COMBINATIONS, *INTEGER_RELATIONS)
    relation = operation.modifiers[0]
    compare = INTEGER_RELATIONS[relation]
    type = np.uint32 if operation.has("U32") else np.int32
    a, b = operation.word(2), operation.word(3)
    if not operation.has("EX"):
        return two_results(operation, lambda w: compare(a(w).view(type), b(w).view(type)), operation.predicate(4))
    lower = operation.predicate(5)
    strict = INTEGER_RELATIONS[{"LE": "LT", "GE": "GT", "EQ": "F", "NE": "NE"}.get(relation, relation)]

    def test(w: Warp) -> Row:
        x, y = a(w).view(type), b(w).view(type)
        found: Row = strict(x, y) | ((x == y) & lower(w))
        return found

    return two_results(operation, test, operation.predicate(4))


def single_numbers(operation: Operation, at: int, ftz: bool) -> Read:
    """A 32-bit operand with its signs, as numbers."""
    operand = operation.operands[at]
    read = operation.word(at, False)
    negative, absolute = operand.negative, operand.absolute

    def numbers(w: Warp) -> Row:
        row = read(w)
        if ftz:
            row = flushed(row)
        value = row.view(np.float32)
        if absolute:
            value = np.abs(value)
        out: Row = -value if negative else value
        return out

    return numbers


def flushed(row: Row) -> Row:
    """Subnormal singles become zeros of their sign."""
    return np.where(row & np.uint32(0x7F800000) == 0, row & np.uint32(0x80000000), row)


def double_numbers(operation: Operation, at: int) -> Read:
    operand = operation.operands[at]
    read = operation.long(at)
    negative, absolute = operand.negative, operand.absolute

    def numbers(w: Warp) -> Row:
        value = read(w).view(np.float64)
        if absolute:
            value = np.abs(value)
        return -value if negative else value

    return numbers


def set_single(operation: Operation) -> Step:
    """FSETP."""
    operation.only("FTZ", *COMBINATIONS, *FLOAT_RELATIONS)
    compare = FLOAT_RELATIONS[operation.modifiers[0]]
    a, b = single_numbers(operation, 2, operation.has("FTZ")), single_numbers(operation, 3, operation.has("FTZ"))
    return two_results(operation, lambda w: compare(a(w), b(w)), operation.predicate(4))


def set_single_word(operation: Operation) -> Step:
    """FSET: all ones, or with .BF 1.0, where the comparison holds."""
    operation.only("FTZ", "BF", *COMBINATIONS, *FLOAT_RELATIONS)
    compare = next(FLOAT_RELATIONS[m] for m in operation.modifiers if m in FLOAT_RELATIONS)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    a, b = single_numbers(operation, 1, operation.has("FTZ")), single_numbers(operation, 2, operation.has("FTZ"))
    write, other = operation.destination(), operation.predicate(3)
    true = np.uint32(0x3F800000 if operation.has("BF") else 0xFFFFFFFF)
    return lambda w, m: write(w, m, combine(compare(a(w), b(w)), other(w)) * true)


def set_double(operation: Operation) -> Step:
    """DSETP; its .MIN and .MAX say whether the first is the result, and (the second predicate) whether both are
    NaNs."""
    operation.only("MIN", "MAX", *COMBINATIONS, *FLOAT_RELATIONS)
    a, b = double_numbers(operation, 2), double_numbers(operation, 3)
    relation = operation.modifiers[0]
    if relation not in ("MIN", "MAX"):
        compare = FLOAT_RELATIONS[relation]
        return two_results(operation, lambda w: compare(a(w), b(w)), operation.predicate(4))
    write, write_nan = operation.destination(0), operation.destination(1)
    smaller = relation == "MIN"

    def run(w: Warp, m: Row) -> None:
        x, y = a(w), b(w)
        before = (x < y) | ((x == y) & np.signbit(x)) if smaller else (x > y) | ((x == y) & ~np.signbit(x))
        x_nan, y_nan = np.isnan(x), np.isnan(y)
        write(w, m, before | (y_nan & ~x_nan))
        write_nan(w, m, x_nan & y_nan)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "ISETP": set_integer, "UISETP": set_integer, "FSETP": set_single, "FSET": set_single_word, "DSETP": set_double,
}  # fmt: skip
