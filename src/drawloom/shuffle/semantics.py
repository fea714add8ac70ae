"""A pure instruction and the expressions of its sources to those of its results (PTX ISA 9.0 chapter 9).

Integers are exact, bit for bit. Floating point is an uninterpreted function named by the opcode, equal results for
equal sources; and so is ``fns``, which goes from bit to bit: in one expression that would be a thousand operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.ptx.types import PRED, U32, Type
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.fields import clamped, halves, pack, permute, relation, video

Rule = Callable[[Expressions, Opcode, list[int]], int]


def computed(x: Expressions, opcode: Opcode, sources: list[int], width: int) -> int:
    """The (first) result of a pure instruction, in ``width`` bits; sources have the widths of their operand types."""
    rule = RULES.get(opcode.name)
    types = opcode.types
    if rule is None:
        return uninterpreted(x, opcode, sources, width)
    moves = opcode.name in _MOVES
    for type in types:
        if type.is_float and not moves:
            return uninterpreted(x, opcode, sources, width)
        if type.lanes > 1:
            rule = halves
    out = rule(x, opcode, sources)
    if out < 0:
        return uninterpreted(x, opcode, sources, width)
    return x.extend(out, width, bool(types) and types[0].is_signed and opcode.name == "cvt")


#: What copies bits whatever they mean.
_MOVES: Final = frozenset("mov selp slct".split())


def uninterpreted(x: Expressions, opcode: Opcode, sources: list[int], width: int) -> int:
    """A function of which only the name is known."""
    return x.atom("f", width, tuple(sources), opcode.spelling)


def _type(opcode: Opcode) -> Type:
    assert opcode.type is not None
    return opcode.type


def _sum(x: Expressions, op: Opcode, v: list[int]) -> int:
    type = _type(op)
    if op.sat:
        wide = [x.extend(s, 2 * type.bits, True) for s in v]
        return clamped(x, x.combine(wide[0], 1, wide[1], 1 if op.name == "add" else -1), type.bits, type.is_signed)
    return x.combine(v[0], 1, v[1], 1 if op.name == "add" else -1)


def _wide_product(x: Expressions, v: list[int], type: Type) -> int:
    first, second = x.extend(v[0], 2 * type.bits, type.is_signed), x.extend(v[1], 2 * type.bits, type.is_signed)
    return x.mul(first, second)


def _product(x: Expressions, op: Opcode, v: list[int]) -> int:
    type = _type(op)
    if op.half == "wide":
        out = _wide_product(x, v, type)
    elif op.half == "hi":
        out = x.extracted(_wide_product(x, v, type), type.bits, type.bits)
    else:
        out = x.mul(v[0], v[1])
    if op.name == "mul":
        return out
    if op.sat:
        return clamped(x, x.add(x.extend(out, 64, True), x.extend(v[2], 64, True)), type.bits, type.is_signed)
    return x.add(out, v[2])


def _product24(x: Expressions, op: Opcode, v: list[int]) -> int:
    type = _type(op)
    a, b = [x.extend(x.truncate(s, 24), 64, type.is_signed) for s in v[:2]]
    out = x.extracted(x.mul(a, b), 16 if op.half == "hi" else 0, 32)
    if op.name == "mul24":
        return out
    if op.sat:
        return clamped(x, x.add(x.extend(out, 64, True), x.extend(v[2], 64, True)), type.bits, type.is_signed)
    return x.add(out, v[2])


def _division(x: Expressions, op: Opcode, v: list[int]) -> int:
    return x.divide(("s" if _type(op).is_signed else "u") + op.name, v[0], v[1])


def _negated(x: Expressions, op: Opcode, v: list[int]) -> int:
    return x.scale(v[0], -1)


def _absolute(x: Expressions, op: Opcode, v: list[int]) -> int:
    negative = x.less(v[0], x.constant(0, x.widths[v[0]]), True)
    return x.select(negative, x.scale(v[0], -1), v[0])


def _least_most(x: Expressions, op: Opcode, v: list[int]) -> int:
    a, b = v
    less = x.less(a, b, _type(op).is_signed)
    out = x.select(less, a, b) if op.name == "min" else x.select(less, b, a)
    if op.relu:
        zero = x.constant(0, x.widths[out])
        out = x.select(x.less(out, zero, True), zero, out)
    return out


def _difference(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``sad``: the distance of two, and a third."""
    less = x.less(v[0], v[1], _type(op).is_signed)
    return x.add(x.select(less, x.sub(v[1], v[0]), x.sub(v[0], v[1])), v[2])


def _logic(x: Expressions, op: Opcode, v: list[int]) -> int:
    return x.logic(op.name, v[0], v[1])


def _not(x: Expressions, op: Opcode, v: list[int]) -> int:
    return x.complement(v[0])


def _is_zero(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``cnot``."""
    return x.extend(x.equal(v[0], x.constant(0, x.widths[v[0]])), x.widths[v[0]], False)


def _shift(x: Expressions, op: Opcode, v: list[int]) -> int:
    if op.name == "shl":
        return x.shift_left(v[0], v[1])
    return x.shift_right(v[0], v[1], _type(op).is_signed)


def _funnel(x: Expressions, op: Opcode, v: list[int]) -> int:
    both = x.concatenated(v[:2])
    most = x.constant(32, 32)
    amount = x.select(x.less(most, v[2], False), most, v[2]) if op.has("clamp") else x.masked(v[2], 31)
    if op.has("l"):
        return x.extracted(x.shift_left(both, amount), 32, 32)
    return x.truncate(x.shift_right(both, amount, False), 32)


def _lop3(x: Expressions, op: Opcode, v: list[int]) -> int:
    """The rows of the truth table, which is a literal, that are true, joined."""
    table = x.value(v[3])
    if table < 0:
        return -1
    if table.bit_count() > 4:
        return x.complement(_rows(x, v, table ^ 0xFF))
    return _rows(x, v, table)


def _rows(x: Expressions, v: list[int], table: int) -> int:
    out = x.constant(0, 32)
    for row in range(8):
        if table >> row & 1:
            parts = [v[k] if row & (4 >> k) else x.complement(v[k]) for k in range(3)]
            out = x.logic("or", out, x.logic("and", x.logic("and", parts[0], parts[1]), parts[2]))
    return out


def _field(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``bfe``: shifted left until it is on top, then right until nothing is below it."""
    type = _type(op)
    position, length = x.masked(v[1], 0xFF), x.masked(v[2], 0xFF)
    bits = x.constant(type.bits, 32)
    above = x.sub(bits, _least(x, x.add(position, length), bits))
    out = x.shift_right(x.shift_left(v[0], above), x.add(above, position), type.is_signed)
    return x.select(x.equal(length, x.constant(0, 32)), x.constant(0, type.bits), out)


def _inserted(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``bfi``."""
    position = x.masked(v[2], 0xFF)
    mask = x.shift_left(_low_ones(x, x.masked(v[3], 0xFF), _type(op).bits), position)
    field = x.logic("and", x.shift_left(v[0], position), mask)
    return x.logic("or", field, x.logic("and", v[1], x.complement(mask)))


def _low_ones(x: Expressions, count: int, bits: int) -> int:
    """So many ones below zeros; all ones from the width on."""
    return x.complement(x.shift_left(x.constant(-1, bits), count))


def _least(x: Expressions, a: int, b: int) -> int:
    return x.select(x.less(a, b, False), a, b)


def _mask(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``bmsk``: the ones from a position on without those behind them."""
    most = x.constant(32, 32)
    if op.has("clamp"):
        position, length = _least(x, v[0], most), _least(x, v[1], most)
    else:
        position, length = x.masked(v[0], 31), x.masked(v[1], 31)
    behind = _low_ones(x, position, 32)
    return x.logic("and", _low_ones(x, x.add(position, length), 32), x.complement(behind))


def _groups(x: Expressions, a: int, size: int) -> tuple[int, int]:
    """Every second group of ``size`` bits: those at even places, and those at odd ones moved to these."""
    bits = x.widths[a]
    even = sum([((1 << size) - 1) << at for at in range(0, bits, 2 * size)])
    return x.masked(a, even), x.masked(x.shift_right(a, x.constant(size, 32), False), even)


def _count(x: Expressions, a: int) -> int:
    """How many bits are ones: of two, of four, and so on together."""
    bits = x.widths[a]
    size = 1
    while size < bits:
        low, high = _groups(x, a, size)
        a = x.add(low, high)
        size *= 2
    return x.masked(a, 2 * bits - 1)


def _leading(x: Expressions, a: int) -> int:
    """How many zeros are on top: those that are left when every one is copied to all below it."""
    bits = x.widths[a]
    size = 1
    while size < bits:
        a = x.logic("or", a, x.shift_right(a, x.constant(size, 32), False))
        size *= 2
    return _count(x, x.complement(a))


def _ones(x: Expressions, op: Opcode, v: list[int]) -> int:
    return _count(x, v[0])


def _zeros_on_top(x: Expressions, op: Opcode, v: list[int]) -> int:
    return _leading(x, v[0])


def _found(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``bfind``: the place of the highest bit that is no sign, or how far it is from the top; all ones without one."""
    type = _type(op)
    zero = x.constant(0, type.bits)
    a = v[0]
    if type.is_signed:
        a = x.select(x.less(a, zero, True), x.complement(a), a)
    above = x.truncate(_leading(x, a), 32)
    place = above if op.has("shiftamt") else x.scale(above, -1, type.bits - 1)
    return x.select(x.equal(a, zero), x.constant(-1, 32), place)


def _reversed(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``brev``: neighbouring bits change places, then pairs of them, and so on."""
    a = v[0]
    size = 1
    while size < x.widths[a]:
        low, high = _groups(x, a, size)
        a = x.add(x.scale(low, 1 << size), high)
        size *= 2
    return a


def _dot_product(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``dp4a``, and ``dp2a`` with the lower or upper two bytes of the second."""
    count, first = (4, 0) if op.name == "dp4a" else (2, 2 if op.half == "hi" else 0)
    bits = 32 // count
    out = v[2]
    for k in range(count):
        a = x.extend(x.extracted(v[0], bits * k, bits), 32, op.types[0].is_signed)
        b = x.extend(x.extracted(v[1], 8 * (first + k), 8), 32, op.types[1].is_signed)
        out = x.add(out, x.mul(a, b))
    return out


def _selected(x: Expressions, op: Opcode, v: list[int]) -> int:
    return x.select(v[2], v[0], v[1])


def _by_sign(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``slct``: the first where the third is not negative."""
    if op.types[1].is_float:
        return -1
    return x.select(x.less(v[2], x.constant(0, 32), True), v[1], v[0])


def _moved(x: Expressions, op: Opcode, v: list[int]) -> int:
    return v[0]


def _converted(x: Expressions, op: Opcode, v: list[int]) -> int:
    to, source = op.types
    if op.sat:
        return clamped(x, x.extend(v[0], 128, source.is_signed), to.bits, to.is_signed)
    return x.extend(v[0], to.bits, source.is_signed)


def _sign_extended(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``szext``: shifted left until only the low bits are left, and back."""
    most = x.constant(32, 32)
    bits = _least(x, v[1], most) if op.has("clamp") else x.masked(v[1], 31)
    known = x.value(bits)
    if known > 0:
        return x.extend(x.truncate(v[0], known), 32, _type(op).is_signed)
    above = x.sub(most, bits)
    return x.shift_right(x.shift_left(v[0], above), above, _type(op).is_signed)


def _compared(x: Expressions, op: Opcode, v: list[int]) -> int:
    """The predicate that ``set`` and ``setp`` compute."""
    type = op.types[-1]
    out = relation(x, op.compare, v[0], v[1], type.is_signed)
    if not op.operation:
        return out
    return x.logic(op.operation, out, v[2])


def _set(x: Expressions, op: Opcode, v: list[int]) -> int:
    """``set``: all ones where it holds."""
    return x.extend(_compared(x, op, v), _type(op).bits, True)


RULES: Final[dict[str, Rule]] = {
    "add": _sum, "sub": _sum, "mul": _product, "mad": _product, "mul24": _product24, "mad24": _product24,
    "div": _division, "rem": _division, "neg": _negated, "abs": _absolute, "min": _least_most, "max": _least_most,
    "sad": _difference, "and": _logic, "or": _logic, "xor": _logic, "not": _not, "cnot": _is_zero, "shl": _shift,
    "shr": _shift, "shf": _funnel, "lop3": _lop3, "prmt": permute, "bfe": _field, "bfi": _inserted,
    "selp": _selected, "slct": _by_sign, "mov": _moved, "cvt": _converted, "szext": _sign_extended,
    "setp": _compared, "set": _set, "popc": _ones, "clz": _zeros_on_top, "bfind": _found, "brev": _reversed,
    "bmsk": _mask, "dp4a": _dot_product, "dp2a": _dot_product, "cvt.pack": pack, **dict.fromkeys(FIELDS, video),
}  # fmt: skip


def with_predicate(x: Expressions, opcode: Opcode, sources: list[int]) -> tuple[int, int]:
    """Both results of ``lop3.and`` and ``lop3.or``: the word, and whether it is not zero, joined with a predicate."""
    word = computed(x, opcode, sources, 32)
    is_some = x.negate(x.equal(word, x.constant(0, 32)))
    return word, x.logic(opcode.operation, is_some, sources[4])


def predicates(x: Expressions, opcode: Opcode, sources: list[int]) -> tuple[int, int]:
    """Both results of ``setp``: ``(a ~ b) op c`` and ``!(a ~ b) op c``."""
    first = computed(x, opcode, sources, 1)
    if not opcode.operation:
        return first, x.negate(first)
    if opcode.types[-1].is_float or opcode.types[-1].lanes > 1:
        return first, x.atom("f", 1, tuple(sources), opcode.spelling + "|")
    holds = relation(x, opcode.compare, sources[0], sources[1], opcode.types[-1].is_signed)
    return first, x.logic(opcode.operation, x.negate(holds), sources[2])


def with_carry(x: Expressions, opcode: Opcode, sources: list[int], carry: int) -> tuple[int, int]:
    """The result of extended-precision arithmetic and its carry, ``carry`` being that of before; of a subtraction
    it is the complement of the borrow."""
    bits = _type(opcode).bits
    name = opcode.name
    v = list(sources)
    if name in ("mad", "madc"):
        v = [_product_part(x, opcode, v), v[2]]
    wide = [x.extend(s, 2 * bits, False) for s in v]
    subtracts = name in ("sub", "subc")
    flag = carry if opcode.reads_carry else x.constant(int(subtracts), 1)
    if subtracts:
        borrow = x.extend(x.complement(flag), 2 * bits, False)
        total = x.sub(x.sub(wide[0], wide[1]), borrow)
        return x.truncate(total, bits), x.complement(x.extracted(total, bits, 1))
    total = x.add(x.add(wide[0], wide[1]), x.extend(flag, 2 * bits, False))
    return x.truncate(total, bits), x.extracted(total, bits, 1)


def _product_part(x: Expressions, opcode: Opcode, v: list[int]) -> int:
    type = _type(opcode)
    if opcode.half == "lo":
        return x.mul(v[0], v[1])
    return x.extracted(_wide_product(x, v, type), type.bits, type.bits)


def result_type(opcode: Opcode) -> Type:
    """The type of what a pure instruction writes first."""
    if opcode.name in ("setp", "testp", "isspacep"):
        return PRED
    return U32 if opcode.type is None else opcode.type
