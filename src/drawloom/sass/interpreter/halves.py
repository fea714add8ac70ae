"""Half precision: two numbers in a word, in f16 or bf16, for HADD2 and its kin.

An operand `R` brings both halves, `.H0_H0` the lower one twice, `.H1_H1` the upper one; immediates are two numbers,
the upper first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter import exact
from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.comparisons import COMBINATIONS, FLOAT_RELATIONS
from drawloom.sass.interpreter.exact import BF16, F16, F32, RN, Format
from drawloom.sass.interpreter.floats import lane_function, odd_sum
from drawloom.sass.interpreter.operation import Builder, Operation, per_lane
from drawloom.sass.interpreter.state import Step, Warp

Halves = Callable[[Warp], tuple[Row, Row]]  # lower and upper, as words
SIXTEEN: Final = np.uint32(16)
HALF: Final = np.uint32(0xFFFF)


def format_of(operation: Operation) -> Format:
    return BF16 if operation.has("BF16_V2") else F16


def sources(operation: Operation, first: int, f: Format) -> list[Halves]:
    """The packed operands from one on, up to the first that is a predicate."""
    found: list[Halves] = []
    at = first
    while at < len(operation.operands) and not operation.is_predicate(at):
        operand = operation.operands[at]
        if operand.kind in ("F16", "BF16"):
            found.append(_immediates(operand.value, operation.operands[at + 1].value))
            at += 2
            continue
        found.append(_halves(operation, at, f))
        at += 1
    return found


def _immediates(upper: int, lower: int) -> Halves:
    rows = np.full(32, lower, np.uint32), np.full(32, upper, np.uint32)
    return lambda w: rows


def _halves(operation: Operation, at: int, f: Format) -> Halves:
    operand = operation.operands[at]
    read = operation.word(at, False)
    choice = operand.half
    if choice not in ("", "H0_H0", "H1_H1", "H1_H0"):
        raise operation.unsupported(f"an operand with .{choice}")
    negative, absolute, ftz = operand.negative, operand.absolute, operation.has("FTZ")

    def halves(w: Warp) -> tuple[Row, Row]:
        row = read(w)
        low, high = row & HALF, row >> SIXTEEN
        if choice == "H0_H0":
            high = low
        elif choice == "H1_H1":
            low = high
        return prepared(low), prepared(high)

    def prepared(row: Row) -> Row:
        if ftz:
            row = np.where(row & np.uint32(f.magnitude) < f.hidden, row & np.uint32(f.sign), row)
        if absolute:
            row = row & np.uint32(f.magnitude)
        return row ^ np.uint32(f.sign) if negative else row

    return halves


def numbers(row: Row, f: Format) -> Row:
    """Halves in words as doubles."""
    if f is F16:
        return row.astype(np.uint16).view(np.float16).astype(np.float64)
    return (row << SIXTEEN).view(np.float32).astype(np.float64)


def arithmetic(operation: Operation) -> Step:
    """HADD2, HMUL2, HFMA2. HADD2.F32 gives the lower sum as a single."""
    operation.only("FTZ", "SAT", "RELU", "BF16_V2", "MMA", "F32")
    f = format_of(operation)
    write = operation.destination()
    reads = sources(operation, 1, f)
    name = {"HADD2": "ADD", "HMUL2": "MUL", "HFMA2": "FMA"}[operation.base]
    function = lane_function(name, f, RN)
    flags = [m for m in operation.modifiers if m in ("FTZ", "SAT", "RELU")]
    single = operation.has("F32")

    def finish(out: int) -> int:
        if "FTZ" in flags:
            out = f.flush(out)
        if "SAT" in flags:
            out = exact.saturate(f, out)
        if "RELU" in flags:
            out = f.nan if f.is_nan(out) else 0 if out & f.sign else out
        return out

    def lane(*values: int) -> int:
        return finish(function(*values))

    def nearest(values: list[Row]) -> Row:
        x, y = numbers(values[0], F16), numbers(values[1], F16)
        total = x * y if name == "MUL" else x + y if name == "ADD" else odd_sum(x * y, numbers(values[2], F16))
        out = total.astype(np.float16)
        return np.where(np.isnan(out), np.uint32(F16.nan), out.view(np.uint16).astype(np.uint32))

    def run(w: Warp, m: Row) -> None:
        pairs = [read(w) for read in reads]
        if single:
            widened = [exact_single(f, m, pair[0]) for pair in pairs]
            write(w, m, per_lane(m, lane_function(name, F32, RN), *widened))
            return
        halves = []
        for n in (0, 1):
            values = [pair[n] for pair in pairs]
            halves.append(nearest(values) if f is F16 and not flags else per_lane(m, lane, *values).astype(np.uint32))
        write(w, m, halves[0] | halves[1] << SIXTEEN)

    return run


def exact_single(f: Format, m: Row, row: Row) -> Row:
    return per_lane(m, lambda a: exact.convert(F32, f, a, RN), row)


def extremum(operation: Operation) -> Step:
    """HMNMX2 and, of three, VHMNMX: the smallest halves where the predicate is true, else the largest."""
    operation.only("FTZ", "NAN", "XORSIGN", "BF16_V2", "RELU")
    f = format_of(operation)
    write, reads = operation.destination(), sources(operation, 1, f)
    smaller = operation.predicate(len(operation.operands) - 1)
    bare = [operation.word(1, False), operation.word(2, False)]
    chosen = [operation.operands[1].half, operation.operands[2].half]
    propagate, xorsign, relu = operation.has("NAN"), operation.has("XORSIGN"), operation.has("RELU")

    def lane(least: int, sign: int, first: int, *others: int) -> int:
        out = first
        for other in others:
            out = exact.extremum(f, out, other, bool(least), propagate)
        if xorsign and not f.is_nan(out):
            out = out & f.magnitude | sign
        if relu and not f.is_nan(out) and out & f.sign:
            out = 0
        return out

    def signs(w: Warp, n: int) -> Row:
        total = np.zeros(32, np.uint32)
        for read, choice in zip(bare, chosen):
            upper = choice == "H1_H1" or (n == 1 and choice != "H0_H0")
            total = total ^ (read(w) >> np.uint32(16 if upper else 0))
        return total & np.uint32(0x8000)

    def run(w: Warp, m: Row) -> None:
        values = [read(w) for read in reads]
        low, high = (
            per_lane(m, lane, smaller(w), signs(w, n), *[pair[n] for pair in values]).astype(np.uint32) for n in (0, 1)
        )
        write(w, m, low | high << SIXTEEN)

    return run


def set_predicates(operation: Operation) -> Step:
    """HSETP2: the comparison of the lower halves and that of the upper ones; with .H_AND both and not both."""
    operation.only("FTZ", "BF16_V2", "H_AND", *COMBINATIONS, *FLOAT_RELATIONS)
    f = format_of(operation)
    compare = next(FLOAT_RELATIONS[m] for m in operation.modifiers if m in FLOAT_RELATIONS)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    reads = sources(operation, 2, f)
    other = operation.predicate(len(operation.operands) - 1)
    writes = [operation.destination(0), operation.destination(1)]
    together = operation.has("H_AND")

    def run(w: Warp, m: Row) -> None:
        a, b = reads[0](w), reads[1](w)
        found = [compare(numbers(a[n], f), numbers(b[n], f)) for n in (0, 1)]
        if together:
            both = found[0] & found[1]
            found = [both, ~both]
        beside = other(w)
        results = [combine(row, beside) for row in found]
        for write, result in zip(writes, results):
            write(w, m, result)

    return run


def set_words(operation: Operation) -> Step:
    """HSET2: ones, or with .BF 1.0, in each half where the comparison holds."""
    operation.only("FTZ", "BF16_V2", "BF", *COMBINATIONS, *FLOAT_RELATIONS)
    f = format_of(operation)
    compare = next(FLOAT_RELATIONS[m] for m in operation.modifiers if m in FLOAT_RELATIONS)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    reads = sources(operation, 1, f)
    other = operation.predicate(len(operation.operands) - 1)
    write = operation.destination()
    true = np.uint32(f.one if operation.has("BF") else 0xFFFF)

    def run(w: Warp, m: Row) -> None:
        a, b = reads[0](w), reads[1](w)
        low, high = (combine(compare(numbers(a[n], f), numbers(b[n], f)), other(w)) for n in (0, 1))
        write(w, m, low * true | high * true << SIXTEEN)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "HADD2": arithmetic, "HMUL2": arithmetic, "HFMA2": arithmetic, "HMNMX2": extremum, "VHMNMX": extremum,
    "HSETP2": set_predicates, "HSET2": set_words,
}  # fmt: skip
