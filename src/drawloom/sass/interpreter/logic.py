"""Logic, shifts, permutations, bit fields and counts of bits, moves and selections, predicate logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import FULL, Row
from drawloom.sass.interpreter.integers import WORD, low_word
from drawloom.sass.interpreter.operation import Builder, Operation, Read, Write, constant_row, words
from drawloom.sass.interpreter.state import Step, Warp

BITS: Final[Row] = np.arange(32, dtype=np.uint32)
NIBBLES: Final[Row] = np.arange(0, 16, 4, dtype=np.uint32)


#: Bitwise functions of two, by their table: the value at (b, c) is bit 2b + c.
_OF_TWO: Final[list[Callable[[Row, Row], Row]]] = [
    lambda b, c: b ^ b, lambda b, c: ~(b | c), lambda b, c: ~b & c, lambda b, c: ~b,
    lambda b, c: b & ~c, lambda b, c: ~c, lambda b, c: b ^ c, lambda b, c: ~(b & c),
    lambda b, c: b & c, lambda b, c: ~(b ^ c), lambda b, c: c, lambda b, c: ~b | c,
    lambda b, c: b, lambda b, c: b | ~c, lambda b, c: b | c, lambda b, c: b | ~b,
]  # fmt: skip


def table_function(table: int) -> Callable[[Row, Row, Row], Row]:
    """The bitwise function whose value at (a, b, c) is bit 4a + 2b + c of the table; also of predicates."""
    without, given = table & 15, table >> 4 & 15
    f, g = _OF_TWO[without], _OF_TWO[given]
    if without == given:
        return lambda a, b, c: f(b, c)
    if without == given ^ 15:
        return lambda a, b, c: a ^ f(b, c)
    if without == 0:
        return lambda a, b, c: a & g(b, c)
    if given == 0:
        return lambda a, b, c: ~a & f(b, c)
    return lambda a, b, c: a & g(b, c) | ~a & f(b, c)


def logic3(operation: Operation) -> Step:
    """LOP3.LUT; its predicate is whether the result is not 0, or'ed (.PAND: and'ed) with another."""
    operation.only("LUT", "PAND")
    with_predicate = operation.is_predicate(0)
    first = 1 if with_predicate else 0
    write = operation.destination(first)
    sources = [operation.word(first + 1 + n) for n in range(3)]
    a, b, c = sources
    function = table_function(operation.operands[first + 4].value)
    if not with_predicate:
        return lambda w, m: write(w, m, function(a(w), b(w), c(w)))
    test, other = operation.destination(0), operation.predicate(first + 5)
    both = operation.has("PAND")

    def run(w: Warp, m: Row) -> None:
        result = function(a(w), b(w), c(w))
        found = (result != 0) & other(w) if both else (result != 0) | other(w)
        write(w, m, result)
        test(w, m, found)

    return run


def predicate_logic(operation: Operation) -> Step:
    """PLOP3.LUT: two functions of three predicates; `R.SIGN` is a register's sign bit."""
    operation.only("LUT")
    writes = [operation.destination(0), operation.destination(1)]
    reads = [_truth(operation, at) for at in range(2, 5)]
    a, b, c = reads
    functions = [table_function(operation.operands[at].value) for at in (5, 6)]

    def run(w: Warp, m: Row) -> None:
        values = a(w), b(w), c(w)
        results = [function(*values) for function in functions]
        for write, result in zip(writes, results):
            write(w, m, result)

    return run


def _truth(operation: Operation, at: int) -> Read:
    if operation.is_predicate(at):
        return operation.predicate(at)
    read = operation.word(at, False)
    inverted = operation.operands[at].inverted
    return lambda w: (read(w).view(np.int32) < 0) ^ inverted


def shift(operation: Operation) -> Step:
    """SHF: the lower or upper (.HI) word of `c:a` shifted; the amount stops at the type's width, or wraps (.W)."""
    operation.only("L", "R", "U32", "S32", "U64", "S64", "HI", "W")
    type = next((t for t in ("U64", "S64", "U32", "S32") if operation.has(t)), "U32")
    width = 64 if type.endswith("64") else 32
    left, is_high, wraps, is_signed = (
        operation.has("L"), operation.has("HI"), operation.has("W"), type[0] == "S",
    )  # fmt: skip

    def compute(a: Row, s: Row, c: Row) -> Row:
        both = a.astype(np.uint64) | c.astype(np.uint64) << WORD
        amount = (s & np.uint32(width - 1) if wraps else np.minimum(s, width)).astype(np.uint64)
        if left:
            both = np.where(amount < 64, both << (amount & np.uint64(63)), np.uint64(0))
        elif is_signed:
            both = (both.view(np.int64) >> np.minimum(amount, 63).astype(np.int64)).view(np.uint64)
        else:
            both = np.where(amount < 64, both >> (amount & np.uint64(63)), np.uint64(0))
        return low_word(both >> WORD if is_high else both)

    return words(operation, compute)


#: The source of result byte n for the selector's two or three bits s, by mode.
_PERMUTATIONS: Final[dict[str, Callable[[Row, int], Row]]] = {
    "F4E": lambda s, n: s + n & 7,
    "B4E": lambda s, n: s - n & 7,
    "RC8": lambda s, n: s,
    "ECL": np.maximum,
    "ECR": np.minimum,
    "RC16": lambda s, n: (s & 1) * 2 + n % 2,
}


def permute(operation: Operation) -> Step:
    """PRMT: bytes of `c:a`, chosen by nibbles of `s`, or by its two low bits in the other modes."""
    operation.only(*_PERMUTATIONS)
    mode = operation.modifiers[0] if operation.modifiers else ""
    choose = _PERMUTATIONS.get(mode, np.maximum)

    def compute(a: Row, s: Row, c: Row) -> Row:
        both = np.stack((a, c), axis=1).view(np.uint8)
        if mode:
            two = (s & 3).astype(np.int64)
            return np.take_along_axis(both, np.stack([choose(two, n) for n in range(4)], 1), 1).view(np.uint32)[:, 0]
        nibbles = s[:, None] >> NIBBLES
        bytes = np.take_along_axis(both, (nibbles & 7).astype(np.int64), 1)
        replicates = nibbles & 8 != 0
        if replicates.any():
            bytes = np.where(replicates, (bytes.view(np.int8) >> 7).view(np.uint8), bytes)
        return bytes.view(np.uint32)[:, 0]

    return words(operation, compute)


def sign_extend(operation: Operation) -> Step:
    """SGXT: the low `b` bits, extended; `b` stops at 32, or wraps (.W)."""
    operation.only("U32", "W")
    wraps, unsigned = operation.has("W"), operation.has("U32")

    def compute(a: Row, b: Row) -> Row:
        width = (b & np.uint32(31) if wraps else np.minimum(b, 32)).astype(np.uint64)
        low = a.astype(np.uint64) & (np.uint64(1) << width) - np.uint64(1)
        if not unsigned:
            sign = np.where(width > 0, low >> np.maximum(width, 1).astype(np.uint64) - np.uint64(1) & np.uint64(1), 0)
            low = np.where(sign == 1, low | ~((np.uint64(1) << width) - np.uint64(1)), low)
        return low_word(low)

    return words(operation, compute)


def bit_mask(operation: Operation) -> Step:
    """BMSK: `b` ones from bit `a` on; both stop at 32, or wrap (.W)."""
    operation.only("W")
    wraps = operation.has("W")

    def compute(a: Row, b: Row) -> Row:
        start = (a & np.uint32(31) if wraps else np.minimum(a, 32)).astype(np.uint64)
        width = (b & np.uint32(31) if wraps else np.minimum(b, 32)).astype(np.uint64)
        return low_word(((np.uint64(1) << width) - np.uint64(1)) << start)

    return words(operation, compute)


def count_ones(operation: Operation) -> Step:
    operation.only()
    return words(operation, lambda a: np.bitwise_count(a).astype(np.uint32))


def _highest(a: Row) -> Row:
    """The place of the highest one; -1 of 0. Exact: doubles hold all words."""
    return np.frexp(a.astype(np.float64))[1].astype(np.int64) - 1


def find_leading(operation: Operation) -> Step:
    """FLO: the place of the highest bit that differs from the sign (.U32: that is one), from the top with .SH."""
    operation.only("U32", "SH")
    unsigned, from_top = operation.has("U32"), operation.has("SH")

    def compute(a: Row) -> Row:
        if not unsigned:
            a = np.where(a.view(np.int32) < 0, ~a, a)
        place = _highest(a)
        if from_top:
            place = np.where(place < 0, place, 31 - place)
        return (place & FULL).astype(np.uint32)

    return words(operation, compute)


def reverse(operation: Operation) -> Step:
    operation.only()
    one = np.uint32(1)

    def compute(a: Row) -> Row:
        reversed_bits: Row = np.bitwise_or.reduce((a[:, None] >> BITS & one) << BITS[::-1], axis=1)
        return reversed_bits

    return words(operation, compute)


def move(operation: Operation) -> Step:
    """MOV, of a general register with a mask of bytes as third operand when it is not 0xf."""
    operation.only("U32")
    write, read = operation.destination(), operation.word(1)
    if len(operation.operands) > 2 and operation.operands[2].value != 15:
        raise operation.unsupported("a mask of bytes")
    return lambda w, m: write(w, m, read(w))


def select(operation: Operation) -> Step:
    """SEL: `a` where the predicate is true, else `b`."""
    operation.only()
    write, a, b, choice = operation.destination(), operation.word(1), operation.word(2), operation.predicate(3)
    return lambda w, m: write(w, m, np.where(choice(w), a(w), b(w)))


def from_predicates(operation: Operation) -> Step:
    """P2R and UP2UR: predicates into the bits that the mask names, other bits from a register; .B1 and the like
    put them into that byte."""
    operation.only("B0", "B1", "B2", "B3")
    write, others = operation.destination(), operation.word(2)
    mask = operation.operands[3].value & 0x7F
    shift = 8 * int(operation.modifiers[0][1]) if operation.modifiers else 0
    uniform = operation.operands[1].words.startswith("UPR")

    def run(w: Warp, m: Row) -> None:
        rows = w.up if uniform else w.p
        value = others(w) & np.uint32(FULL ^ mask << shift)
        for n in range(7):
            if mask >> n & 1:
                value = value | rows[n].astype(np.uint32) << np.uint32(n + shift)
        write(w, m, value)

    return run


def to_predicates(operation: Operation) -> Step:
    """R2P and UR2UP: the bits that the mask names, into predicates."""
    operation.only("B0", "B1", "B2", "B3")
    bits, mask = operation.word(1), operation.operands[2].value & 0x7F
    shift = 8 * int(operation.modifiers[0][1]) if operation.modifiers else 0
    uniform = operation.operands[0].words.startswith("UPR")

    def run(w: Warp, m: Row) -> None:
        value = bits(w).copy()
        rows = w.up if uniform else w.p
        for n in range(7):
            if mask >> n & 1:
                np.copyto(rows[n], value >> np.uint32(n + shift) & 1 == 1, where=True if uniform else m)

    return run


def to_uniform(operation: Operation) -> Step:
    """R2UR: the value of the lowest lane that executes."""
    operation.only("OR")
    at = len(operation.operands) - 1
    write: Write = operation.destination(at - 1)
    read = operation.word(at)
    if operation.has("OR") or at > 1:
        raise operation.unsupported()
    return lambda w, m: write(w, m, constant_row(int(read(w)[int(np.argmax(m))])))


BUILDERS: Final[dict[str, Builder]] = {
    "LOP3": logic3, "ULOP3": logic3, "PLOP3": predicate_logic, "UPLOP3": predicate_logic, "SHF": shift, "USHF": shift,
    "PRMT": permute, "UPRMT": permute, "SGXT": sign_extend, "USGXT": sign_extend, "BMSK": bit_mask, "UBMSK": bit_mask,
    "POPC": count_ones, "UPOPC": count_ones, "FLO": find_leading, "UFLO": find_leading, "BREV": reverse,
    "UBREV": reverse, "MOV": move, "UMOV": move, "SEL": select, "USEL": select, "P2R": from_predicates,
    "UP2UR": from_predicates, "R2P": to_predicates, "UR2UP": to_predicates, "R2UR": to_uniform,
}  # fmt: skip
