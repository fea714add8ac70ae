"""sm_61: integer sums, products and shifted sums with condition codes, XMAD, comparisons of words, extrema of pairs.

The condition codes are four flags of a lane: zero, sign, carry, overflow. A result `R0.CC` sets them; .X instructions
go on from them. Subtraction is `a + ~b + 1`, with .X `a + ~b + carry`: the carry says that nothing was borrowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import Row
from drawloom.sass.interpreter.comparisons import COMBINATIONS, INTEGER_RELATIONS, two_results
from drawloom.sass.interpreter.integers import LOW, WORD, absolute_difference, dot, low_word
from drawloom.sass.interpreter.loads_stores import spaces
from drawloom.sass.interpreter.operands import Operand
from drawloom.sass.interpreter.operation import Builder, Operation, Read, words
from drawloom.sass.interpreter.state import Step, Warp

ZERO, SIGN, CARRY, OVERFLOW = range(4)
NONE: Final[Row] = np.zeros(32, np.bool_)
HALF: Final = np.uint32(0xFFFF)
SIXTEEN: Final = np.uint32(16)
#: Warp, lanes, the word, the carry and the overflow.
Finish = Callable[[Warp, Row, Row, Row, Row], None]
#: What a condition makes of the flags (zero, sign, carry, overflow), by its name in CSETP and behind CC.
CONDITIONS: Final[dict[str, Callable[[Row, Row, Row, Row], Row]]] = {
    "F": lambda z, s, c, o: NONE,
    "LT": lambda z, s, c, o: (s & ~z) ^ o,
    "EQ": lambda z, s, c, o: z & ~s,
    "LE": lambda z, s, c, o: s ^ (z | o),
    "GT": lambda z, s, c, o: ~z & ~(s ^ o),
    "NE": lambda z, s, c, o: ~z,
    "GE": lambda z, s, c, o: ~(s ^ o),
    "NUM": lambda z, s, c, o: ~z | ~s,
    "NAN": lambda z, s, c, o: z & s,
    "LTU": lambda z, s, c, o: s ^ o,
    "EQU": lambda z, s, c, o: z,
    "LEU": lambda z, s, c, o: z | (s ^ o),
    "GTU": lambda z, s, c, o: ~s ^ (z | o),
    "NEU": lambda z, s, c, o: ~z | s,
    "GEU": lambda z, s, c, o: (~s | z) ^ o,
    "T": lambda z, s, c, o: ~NONE,
    "OFF": lambda z, s, c, o: ~o,
    "LO": lambda z, s, c, o: ~c,
    "SFF": lambda z, s, c, o: ~s,
    "LS": lambda z, s, c, o: z | ~c,
    "HI": lambda z, s, c, o: c & ~z,
    "SFT": lambda z, s, c, o: s,
    "HS": lambda z, s, c, o: c,
    "OFT": lambda z, s, c, o: o,
}


def condition(name: str) -> Read:
    """Whether the condition codes of a lane are so: `CC.NEU`, or `CC` alone for true."""
    test = CONDITIONS[name]
    return lambda w: test(*w.cc)


def finish(operation: Operation) -> Finish:
    """Writes the result and, if it is `R0.CC`, the flags."""
    write = operation.destination()
    if "CC" not in operation.operands[0].after:
        return lambda w, m, value, carry, overflow: write(w, m, value)
    continues = operation.has("X")

    def both(w: Warp, m: Row, value: Row, carry: Row, overflow: Row) -> None:
        write(w, m, value)
        zero = value == 0
        if continues:
            zero = zero & w.cc[ZERO]
        for flag, row in enumerate((zero, value.view(np.int32) < 0, carry, overflow)):
            np.copyto(w.cc[flag], row, where=m)

    return both


def plain(operation: Operation, step: Callable[..., Row], reads: list[Read]) -> Step:
    """A result without carry and overflow."""
    done = finish(operation)
    return lambda w, m: done(w, m, step(*[read(w) for read in reads]), NONE, NONE)


def part_of(operand: Operand) -> str:
    """`H1` of R5.H1, `B2` of c[0x0][0x140].B2; "" of a whole word."""
    for letter in operand.after.split(".") + operand.before.split("."):
        if len(letter) == 2 and letter[0] in "HB" and letter[1].isdigit():
            return letter
    return ""


def half(operation: Operation, at: int) -> Read:
    """An operand without its sign, or the half of it that .H0 or .H1 names."""
    read = operation.word(at, False)
    part = part_of(operation.operands[at])
    if part == "H0":
        return lambda w: read(w) & HALF
    if part == "H1":
        return lambda w: read(w) >> SIXTEEN
    return read


def _term(operation: Operation, at: int, read: Read | None = None) -> tuple[Read, bool]:
    """A term of a sum as it goes into the adder, and whether it is subtracted."""
    operand = operation.operands[at]
    bare = read or operation.word(at, False)
    if operand.negative:
        return (lambda w: ~bare(w)), True
    return bare, False


def _sum(operation: Operation, terms: list[tuple[Read, bool]], extra: int = 0) -> Step:
    """The sum of the terms with its flags. The overflow is of two terms."""
    done = finish(operation)
    continues = operation.has("X")
    ones = np.uint64((0 if continues else sum([negated for _, negated in terms])) + extra)
    saturates = operation.has("SAT")

    def run(w: Warp, m: Row) -> None:
        rows = [read(w) for read, _ in terms]
        total = ones + rows[0].astype(np.uint64)
        for row in rows[1:]:
            total = total + row
        if continues:
            total = total + w.cc[CARRY]
        value = low_word(total)
        a, b = rows[0], rows[1]
        overflow = ((a ^ value) & (b ^ value)).view(np.int32) < 0
        if saturates:
            value = np.where(overflow, np.where(a.view(np.int32) < 0, 0x80000000, 0x7FFFFFFF).astype(np.uint32), value)
        done(w, m, value, total >> WORD > 0, overflow)

    return run


def add(operation: Operation) -> Step:
    """IADD and IADD32I; .PO adds one more."""
    operation.only("X", "SAT", "PO")
    return _sum(operation, [_term(operation, 1), _term(operation, 2)], int(operation.has("PO")))


def add3(operation: Operation) -> Step:
    """IADD3 of words or halves; .RS and .LS shift the sum of the first two by 16 bits before the third is added. Its
    immediate is printed as 20 bits without a sign, but it has one."""
    operation.only("X", "RS", "LS")
    second = operation.operands[2]
    if second.kind == "I" and second.value >> 19 & 1:
        second.value |= 0xFFF00000
    terms = [_term(operation, at, half(operation, at)) for at in (1, 2, 3)]
    if not (operation.has("RS") or operation.has("LS")):
        return _sum(operation, terms)
    if operation.has("X") or any(negated for _, negated in terms) or "CC" in operation.operands[0].after:
        raise operation.unsupported("a sum that is shifted and carried")
    a, b, c = [read for read, _ in terms]
    right = operation.has("RS")

    def shifted(x: Row, y: Row, z: Row) -> Row:
        total = x.astype(np.uint64) + y
        return low_word(total >> np.uint64(16) if right else total << np.uint64(16)) + z

    return plain(operation, shifted, [a, b, c])


def shifted_add(operation: Operation) -> Step:
    """ISCADD: `(a << s) + b`."""
    operation.only("X")
    amount = np.uint32(operation.operands[3].value & 31)
    bare = operation.word(1, False)
    return _sum(operation, [_term(operation, 1, lambda w: bare(w) << amount), _term(operation, 2)])


def lea(operation: Operation) -> Step:
    """LEA: `b + (a << s)`, .HI: `b` and the upper word of `c:a << s`, and in a predicate whether a generic address that
    goes through it unchanged is no shared one."""
    operation.only("HI", "X")
    operands = operation.operands
    first = 1
    is_high = operation.has("HI")
    outside = None
    if operation.is_predicate(0):
        outside = operation.destination(0)
        operation.operands = operands = operands[1:]
        if not is_high or len(operands) != 4 or operands[2].value != 255:
            raise operation.unsupported("a predicate of a sum")
    shift_at = first + (3 if is_high else 2)
    amount = np.uint64(operands[shift_at].value & 31 if shift_at < len(operands) else 0)
    a, upper = operation.word(first, False), operation.word(first + 2, False) if is_high else None

    def shifted(w: Warp) -> Row:
        both = a(w).astype(np.uint64)
        if upper is not None:
            both |= upper(w).astype(np.uint64) << WORD
        both = both << amount
        return low_word(both >> WORD if is_high else both & LOW)

    step = _sum(operation, [_term(operation, first, shifted), _term(operation, first + 1)])
    if outside is None or upper is None:
        return step
    write, high = outside, upper

    def run(w: Warp, m: Row) -> None:
        addresses = a(w) | high(w).astype(np.uint64) << WORD
        write(w, m, ~spaces(addresses)["shared"])
        step(w, m)

    return run


def _types(operation: Operation, width: int) -> tuple[str, str]:
    """The types of the two factors; what a mnemonic leaves out is `S32`, of XMAD `U16`."""
    named = [m for m in operation.modifiers if m in (f"U{width}", f"S{width}")]
    usual = "S32" if width == 32 else "U16"
    return (named[0], named[1]) if len(named) == 2 else (usual, usual)


def _factor(read: Read, type: str) -> Read:
    """A factor as 64 bits that products of two fit."""
    if type[0] == "U":
        return lambda w: read(w).astype(np.uint64)
    narrow = np.int16 if type == "S16" else np.int32
    bits = np.uint16 if type == "S16" else np.uint32
    return lambda w: read(w).astype(bits).view(narrow).astype(np.int64).view(np.uint64)


def multiply(operation: Operation) -> Step:
    """IMUL and IMUL32I: the lower or upper (.HI) word of the product."""
    operation.only("U32", "S32", "HI")
    types = _types(operation, 32)
    a, b = _factor(operation.word(1), types[0]), _factor(operation.word(2), types[1])
    is_high = operation.has("HI")
    return plain(operation, lambda x, y: low_word(x * y >> WORD if is_high else x * y), [a, b])


def multiply_add(operation: Operation) -> Step:
    """IMAD: a word of the product, and the addend."""
    operation.only("U32", "S32", "HI", "X", "SAT")
    types = _types(operation, 32)
    subtracts = operation.operands[1].negative or operation.operands[2].negative
    a, b = _factor(operation.word(1, False), types[0]), _factor(operation.word(2, False), types[1])
    is_high = operation.has("HI")
    if subtracts and is_high:
        raise operation.unsupported("the upper word of a negated product")

    def product(w: Warp) -> Row:
        found = a(w) * b(w)
        return low_word(found >> WORD if is_high else -found if subtracts else found)

    return _sum(operation, [(product, False), _term(operation, 3)])


def _signs_fixed(a: Row, b: Row, c: Row) -> Row:
    """The addend of .CSFU. In the upper word of a signed product the two middle products are added as if they had no
    signs: takes 2**16 off for each that is negative. That follows from what ptxas makes of mul.hi.s32."""
    first = (a.view(np.int32) < 0) & (b & HALF != 0)
    second = (b.view(np.int32) < 0) & (a & HALF != 0)
    fixed: Row = c - (first.astype(np.uint32) + second << SIXTEEN)
    return fixed


#: What XMAD adds, of its three operands.
_ADDENDS: Final[dict[str, Callable[[Row, Row, Row], Row]]] = {
    "": lambda a, b, c: c,
    "CLO": lambda a, b, c: c & HALF,
    "CHI": lambda a, b, c: c >> SIXTEEN,
    "CBCC": lambda a, b, c: c + (b << SIXTEEN),
    "CSFU": _signs_fixed,
}


def multiply_halves(operation: Operation) -> Step:
    """XMAD: a product of halves, and the addend; .PSL shifts the product by 16 bits, .MRG puts the lower half of `b`
    into the upper one of the result. The carry is that of the last addition."""
    operation.only("U16", "S16", "PSL", "MRG", "X", *_ADDENDS)
    types = _types(operation, 16)
    chosen = next((m for m in operation.modifiers if m in _ADDENDS), "")
    factors = []
    for at in (1, 2):
        read = operation.word(at, False)
        upper = part_of(operation.operands[at]) == "H1"
        factors.append(_factor(_half_of(read, upper), types[at - 1]))
    a, b = factors
    whole_a, whole = operation.word(1, False), operation.word(2, False)
    c, addend = operation.word(3, False), _ADDENDS[chosen]
    shift = np.uint64(16 if operation.has("PSL") else 0)
    merges = operation.has("MRG")
    done = finish(operation)
    continues = operation.has("X")

    def run(w: Warp, m: Row) -> None:
        product = low_word(a(w) * b(w) << shift)
        added = addend(whole_a(w), whole(w), c(w))
        total = product.astype(np.uint64) + added
        if continues:
            total = total + w.cc[CARRY]
        value = low_word(total)
        overflow = ((product ^ value) & (added ^ value)).view(np.int32) < 0
        if merges:
            value = value & HALF | whole(w) << SIXTEEN
        done(w, m, value, total >> WORD > 0, overflow)

    return run


def _half_of(read: Read, upper: bool) -> Read:
    if upper:
        return lambda w: read(w) >> SIXTEEN
    return lambda w: read(w) & HALF


def _comparison(operation: Operation, at: int, relation: str) -> Callable[[Warp], Row]:
    """Two words compared; with .X as the upper words, the flags being those of the lower ones' difference."""
    type = np.uint32 if operation.has("U32") else np.int32
    a, b = operation.word(at), operation.word(at + 1)
    if not operation.has("X"):
        compare = INTEGER_RELATIONS[relation]
        return lambda w: compare(a(w).view(type), b(w).view(type))
    unsigned = operation.has("U32")

    def test(w: Warp) -> Row:
        x, y = a(w), ~b(w)
        total = x.astype(np.uint64) + y + w.cc[CARRY]
        value = low_word(total)
        negative = value.view(np.int32) < 0
        overflow = ((x ^ value) & (y ^ value)).view(np.int32) < 0
        less = ~(total >> WORD > 0) if unsigned else negative ^ overflow
        equal = (value == 0) & w.cc[ZERO]
        rows: dict[str, Row] = {
            "F": NONE, "LT": less, "EQ": equal, "LE": less | equal, "GT": ~(less | equal), "NE": ~equal, "GE": ~less,
            "T": ~NONE,
        }  # fmt: skip
        return rows[relation]

    return test


def choose(condition: Row, a: Row, b: Row) -> Row:
    return np.where(condition, a, b)


def _relation(operation: Operation) -> str:
    return next(m for m in operation.modifiers if m in INTEGER_RELATIONS)


def set_predicates(operation: Operation) -> Step:
    """ISETP."""
    operation.only("U32", "X", *COMBINATIONS, *INTEGER_RELATIONS)
    return two_results(operation, _comparison(operation, 2, _relation(operation)), operation.predicate(4))


def set_word(operation: Operation) -> Step:
    """ISET: all ones, or with .BF 1.0, where the comparison holds."""
    operation.only("U32", "X", "BF", *COMBINATIONS, *INTEGER_RELATIONS)
    test, other = _comparison(operation, 1, _relation(operation)), operation.predicate(3)
    combine = next(COMBINATIONS[m] for m in operation.modifiers if m in COMBINATIONS)
    true = np.uint32(0x3F800000 if operation.has("BF") else 0xFFFFFFFF)
    done = finish(operation)
    return lambda w, m: done(w, m, combine(test(w), other(w)) * true, NONE, NONE)


def compare_and_choose(operation: Operation) -> Step:
    """ICMP: `a` where `c` is so in comparison with 0, else `b`."""
    operation.only("U32", *INTEGER_RELATIONS)
    compare = INTEGER_RELATIONS[_relation(operation)]
    type = np.uint32 if operation.has("U32") else np.int32
    zero = np.zeros(32, type)
    return words(operation, lambda a, b, c: choose(compare(c.view(type), zero), a, b))


def extremum(operation: Operation) -> Step:
    """IMNMX: the smaller where the predicate is true, else the larger. Of pairs .XHI decides on the upper words and
    leaves in the flags whether they were equal (zero) and the first was chosen (carry); .XLO goes by that."""
    operation.only("U32", "XHI", "XMED", "XLO")
    if operation.has("XMED"):
        raise operation.unsupported("modifier .XMED")
    type = np.uint32 if operation.has("U32") else np.int32
    a, b, smaller = operation.word(1), operation.word(2), operation.predicate(3)
    write = operation.destination()
    upper, lower = operation.has("XHI"), operation.has("XLO")

    def run(w: Warp, m: Row) -> None:
        x, y = a(w), b(w)
        first = np.where(smaller(w), x.view(type) < y.view(type), x.view(type) > y.view(type))
        if lower:
            first = np.where(w.cc[ZERO], first, w.cc[CARRY])
        if upper:
            for flag, row in ((ZERO, x == y), (CARRY, first), (SIGN, NONE), (OVERFLOW, NONE)):
                np.copyto(w.cc[flag], row, where=m)
        write(w, m, np.where(first, x, y))

    return run


def difference(operation: Operation) -> Step:
    """VABSDIFF: `|a - b| + c`, of signed numbers unless it says otherwise."""
    operation.only("U32", "S32", "SD", "UD", "ACC")
    operation.modifiers = ["U32"] if operation.modifiers.count("U32") == 2 else []
    return absolute_difference(operation)


BUILDERS: Final[dict[str, Builder]] = {
    "IADD": add, "IADD32I": add, "IADD3": add3, "ISCADD": shifted_add, "ISCADD32I": shifted_add, "LEA": lea,
    "IMUL": multiply, "IMUL32I": multiply, "IMAD": multiply_add, "XMAD": multiply_halves, "ISETP": set_predicates,
    "ISET": set_word, "ICMP": compare_and_choose, "IMNMX": extremum, "VABSDIFF": difference, "IDP": dot,
}  # fmt: skip
