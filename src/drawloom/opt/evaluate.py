"""An instruction and the patterns of its operands to the pattern of its result, where the manual says exactly what
that is (PTX ISA 9.0 chapter 9): integers, logic, shifts, comparisons, selection and conversions among integers.

A pattern is the unsigned number that the bits of a value spell; a predicate is 0 or 1. Floating point is compared, and
computed only where nothing has to be rounded (``floats``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.opt.floats import computed
from drawloom.opt.work import signed
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

Evaluator = Callable[[Opcode, list[int]], int | None]


def evaluate(opcode: Opcode, sources: list[int], bits: int) -> int | None:
    """The pattern that ``opcode`` writes into a register of ``bits`` bits, for source registers that hold these
    patterns; None where it is not known or not exact. Of ``setp`` this is the first destination."""
    rule = RULES.get(opcode.name)
    if rule is None or opcode.writes_carry or opcode.reads_carry or opcode.selectors:
        return None
    types = opcode.types
    for type in types:
        if type.lanes > 1:
            return None
    result = rule(opcode, sources)
    if result is None:
        return None
    if opcode.name == "cvt" and types[0].is_signed:
        result = signed(result, types[0].bits)
    return result & (1 << bits) - 1


def _type(opcode: Opcode) -> Type:
    assert opcode.type is not None
    return opcode.type


def _number(pattern: int, type: Type) -> int:
    """The number that a pattern spells in an integer type; higher bits are cut off."""
    return signed(pattern, type.bits) if type.is_signed else pattern & (1 << type.bits) - 1


def clamped(value: int, type: Type) -> int:
    """The nearest number that an integer type holds."""
    low, high = (-1 << type.bits - 1, (1 << type.bits - 1) - 1) if type.is_signed else (0, (1 << type.bits) - 1)
    return min(max(value, low), high)


def _sum(opcode: Opcode, v: list[int]) -> int | None:
    type = _type(opcode)
    if type.is_float:
        return computed(opcode, v)
    a, b = _number(v[0], type), _number(v[1], type)
    value = a + b if opcode.name == "add" else a - b
    return clamped(value, type) if opcode.sat else value & (1 << type.bits) - 1


def _product(opcode: Opcode, v: list[int]) -> int | None:
    type = _type(opcode)
    if type.is_float:
        return computed(opcode, v)
    if opcode.sat:
        return None
    value = _number(v[0], type) * _number(v[1], type)
    if opcode.half == "hi":
        value >>= type.bits
    if opcode.name == "mad":
        value += v[2]
    return value & (1 << type.bits * (2 if opcode.half == "wide" else 1)) - 1


def _division(opcode: Opcode, v: list[int]) -> int | None:
    """By zero nothing is defined."""
    type = _type(opcode)
    if type.is_float:
        return None
    a, b = _number(v[0], type), _number(v[1], type)
    if b == 0 or (type.is_signed and b == -1):
        return None
    quotient = abs(a) // abs(b)
    if (a < 0) != (b < 0):
        quotient = -quotient
    return (quotient if opcode.name == "div" else a - quotient * b) & (1 << type.bits) - 1


def _one_number(opcode: Opcode, v: list[int]) -> int | None:
    type = _type(opcode)
    if type.is_float:
        return None
    value = _number(v[0], type)
    return (-value if opcode.name == "neg" else abs(value)) & (1 << type.bits) - 1


def _least_most(opcode: Opcode, v: list[int]) -> int | None:
    type = _type(opcode)
    if type.is_float or opcode.relu:
        return None
    a, b = _number(v[0], type), _number(v[1], type)
    return (min(a, b) if opcode.name == "min" else max(a, b)) & (1 << type.bits) - 1


def _logic(opcode: Opcode, v: list[int]) -> int | None:
    a, b = v
    return a & b if opcode.name == "and" else a | b if opcode.name == "or" else a ^ b


def _not(opcode: Opcode, v: list[int]) -> int | None:
    return v[0] ^ (1 << _type(opcode).bits) - 1


def _shift(opcode: Opcode, v: list[int]) -> int | None:
    """Amounts beyond the width count as the width."""
    type = _type(opcode)
    mask = (1 << type.bits) - 1
    amount = min(v[1] & 0xFFFFFFFF, type.bits)
    return v[0] << amount & mask if opcode.name == "shl" else _number(v[0], type) >> amount & mask


def _funnel(opcode: Opcode, v: list[int]) -> int | None:
    amount = min(v[2], 32) if opcode.has("clamp") else v[2] & 31
    both = v[1] << 32 | v[0]
    return (both << amount >> 32 if opcode.has("l") else both >> amount) & 0xFFFFFFFF


def _lop3(opcode: Opcode, v: list[int]) -> int | None:
    if opcode.operation:
        return None
    a, b, c, table = v
    out = 0
    for row in range(8):
        if table >> row & 1:
            out |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return out & 0xFFFFFFFF


def _permute(opcode: Opcode, v: list[int]) -> int | None:
    if opcode.operation:
        return None
    both = v[1] << 32 | v[0]
    out = 0
    for place in range(4):
        control = v[2] >> 4 * place
        byte = both >> 8 * (control & 7) & 0xFF
        if control & 8:
            byte = 0xFF if byte & 0x80 else 0
        out |= byte << 8 * place
    return out


def _field(opcode: Opcode, v: list[int]) -> int | None:
    """``bfe``: the bits beyond the field are zeros, or copies of its top bit, which is at most the top bit of a."""
    type = _type(opcode)
    position, length = v[1] & 0xFF, v[2] & 0xFF
    field = v[0] >> position & (1 << length) - 1
    if type.is_signed and length and v[0] >> min(position + length - 1, type.bits - 1) & 1:
        field |= -1 << min(length, max(type.bits - position, 0))
    return field & (1 << type.bits) - 1


def _inserted(opcode: Opcode, v: list[int]) -> int | None:
    position, length = v[2] & 0xFF, v[3] & 0xFF
    mask = ((1 << length) - 1) << position & (1 << _type(opcode).bits) - 1
    return v[0] << position & mask | v[1] & ~mask


def _counted(opcode: Opcode, v: list[int]) -> int | None:
    return v[0].bit_count() if opcode.name == "popc" else _type(opcode).bits - v[0].bit_length()


def _reversed(opcode: Opcode, v: list[int]) -> int | None:
    out = 0
    for place in range(_type(opcode).bits):
        out = out << 1 | v[0] >> place & 1
    return out


def _selected(opcode: Opcode, v: list[int]) -> int | None:
    return v[0] if v[2] else v[1]


def _moved(opcode: Opcode, v: list[int]) -> int | None:
    return v[0]


def _converted(opcode: Opcode, v: list[int]) -> int | None:
    to, source = opcode.types
    if to.is_float or source.is_float:
        return computed(opcode, v)
    value = _number(v[0], source)
    return clamped(value, to) if opcode.sat else value & (1 << to.bits) - 1


#: What of (less, equal, greater, unordered) makes a comparison true.
_TRUE_FOR: Final[dict[str, str]] = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
    "equ": "=?", "neu": "<>?", "ltu": "<?", "leu": "<=?", "gtu": ">?", "geu": ">=?", "num": "<=>", "nan": "?",
}  # fmt: skip


def _compared(opcode: Opcode, v: list[int]) -> int | None:
    type = opcode.types[-1]
    if type.is_float:
        relation = _float_relation(v[0], v[1], type, opcode.ftz)
    else:
        a, b = _number(v[0], type), _number(v[1], type)
        relation = "<" if a < b else ">" if a > b else "="
    true = 1 if relation in _TRUE_FOR[opcode.compare] else 0
    if not opcode.operation:
        return true
    other = v[2]
    return true & other if opcode.operation == "and" else true | other if opcode.operation == "or" else true ^ other


#: Bits of the fraction of a float type.
_FRACTION: Final[dict[str, int]] = {"f32": 23, "f64": 52}


def _float_relation(a: int, b: int, type: Type, ftz: bool) -> str:
    """``<``, ``=``, ``>`` or, with a NaN, ``?``. Raises KeyError for types that are not in ``_FRACTION``."""
    fraction = _FRACTION[type.name]
    x, y = _ordered(a, type.bits, fraction, ftz), _ordered(b, type.bits, fraction, ftz)
    if x is None or y is None:
        return "?"
    return "<" if x < y else ">" if x > y else "="


def _ordered(pattern: int, bits: int, fraction: int, ftz: bool) -> int | None:
    """A number that is ordered as the float is, None for NaN; subnormals are zeros under ``ftz``."""
    infinity = (1 << bits - 1) - (1 << fraction)
    magnitude = pattern & (1 << bits - 1) - 1
    if magnitude > infinity:
        return None
    if ftz and magnitude < 1 << fraction:
        magnitude = 0
    return -magnitude if pattern >> bits - 1 else magnitude


def _predicate(opcode: Opcode, v: list[int]) -> int | None:
    type = opcode.types[-1]
    if type.is_float and type.name not in _FRACTION:
        return None
    return _compared(opcode, v)


RULES: Final[dict[str, Evaluator]] = {
    "add": _sum, "sub": _sum, "mul": _product, "mad": _product, "fma": _product, "div": _division, "rem": _division,
    "neg": _one_number, "abs": _one_number, "min": _least_most, "max": _least_most, "and": _logic, "or": _logic,
    "xor": _logic, "not": _not, "shl": _shift, "shr": _shift, "shf": _funnel, "lop3": _lop3, "prmt": _permute,
    "bfe": _field, "bfi": _inserted, "popc": _counted, "clz": _counted, "brev": _reversed, "selp": _selected,
    "mov": _moved, "cvt": _converted, "setp": _predicate,
}  # fmt: skip
