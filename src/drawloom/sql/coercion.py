"""Tells DataFusion's implicit casts from real ones, so that types follow DuckDB's rules.

DataFusion writes the 1 of ``1 - l_discount`` as decimal(20,0), compares after casting both sides to a common type, and
averages integers as doubles; DuckDB counts that 1 as an INTEGER, and the rest is exact without the cast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drawloom.horse.types import (
    BOOL,
    F32,
    F64,
    I16,
    I32,
    I64,
    I128,
    MAX_DIGITS,
    TICKS,
    TIMESTAMP_UTC,
    DecimalType,
    VectorType,
    exact_bounds,
    integer_digits,
)
from drawloom.sql.plan import Cast, Constant, Relation, relations, within

#: The digits of the decimals that DataFusion turns integers of 8, 16, 32 and 64 bits into beside a decimal.
_INTEGER_DIGITS: Final = frozenset([3, 5, 10, 20])
#: The least digits, before and behind the point, of the decimals that it turns f32 and f64 into beside a decimal.
_FLOAT_DIGITS: Final[dict[int, int]] = {32: 7, 64: 15}

_NUMBERS: Final = frozenset(["bool", "int", "float", "decimal"])
_MOMENTS: Final = frozenset(["time", "timestamp"])


def natural(constant: Constant) -> Constant:
    """The constant in the type that DuckDB gives its digits: 1 is i32, 0.05 is decimal<3,2>."""
    type, value = constant.type, constant.value
    if not isinstance(type, DecimalType) or not isinstance(value, int):
        return constant
    if type.scale == 0 and type.precision in _INTEGER_DIGITS and _holds(I64, value):
        return Constant(value, I32 if _holds(I32, value) else I64)
    return Constant(value, DecimalType(min(max(len(str(abs(value))), type.scale + 1), MAX_DIGITS), type.scale))


def _holds(type: VectorType, value: int) -> bool:
    low, high = exact_bounds(type)
    return low <= value <= high


def are_comparable(kinds: Sequence[str]) -> bool:
    """Whether values of all these kinds of types are compared as they are, or as moments of one unit."""
    found = set(kinds)
    return len(found) == 1 or found <= _NUMBERS or found <= _MOMENTS


def mark_asked(root: Relation, kind: str) -> None:
    """Takes all casts to a kind of types for the query's."""
    for relation in relations(root):
        for part in [part for expression in relation.expressions() for part in within(expression)]:
            if isinstance(part, Cast) and part.type.kind == kind:
                part.is_asked = True


def drop_in_comparison(given: VectorType, cast: Cast) -> bool:
    """Whether a side of a comparison means the same without its cast."""
    type = cast.type
    if isinstance(type, DecimalType):
        if given.is_float:
            return min(type.scale, type.precision - type.scale) >= _FLOAT_DIGITS[given.bits]
        if given.is_integer:
            return type.precision - type.scale >= min(integer_digits(given), 19)
        if isinstance(given, DecimalType):
            # The planner's own are to what holds the digits that it counts, of sums less than there are.
            holds = given.precision - given.scale <= type.precision - type.scale
            return given.scale <= type.scale and (holds or not cast.is_asked)
        return False
    return type.is_integer and given.is_integer and given.bits <= type.bits


def drop_in_choice(given: VectorType, cast: Cast) -> bool:
    """Whether one of several values, such as a branch of a CASE, is the same without its cast."""
    if cast.type.kind == "timestamp" and given.kind in _MOMENTS:
        return not cast.is_asked
    return not cast.is_asked and drop_in_comparison(given, cast)


def drop_in_arithmetic(given: VectorType, cast: Cast) -> bool:
    """Whether the cast only made an integer (or a quotient that DataFusion takes for one) a decimal."""
    type = cast.type
    is_integer_decimal = isinstance(type, DecimalType) and type.scale == 0 and type.precision in _INTEGER_DIGITS
    return is_integer_decimal and not cast.is_asked and (given.is_integer or given.is_float)


def drop_in_sum(given: VectorType, cast: Cast) -> bool:
    """Whether sum and avg, which are exact for integers, mean the same without the cast."""
    return given.is_integer and cast.type in (I64, F64)


def drop_to_double(given: VectorType, cast: Cast) -> bool:
    return cast.type == F64


def drop_nothing(given: VectorType, cast: Cast) -> bool:
    return False


def unified(types: list[VectorType]) -> VectorType:
    """The type that all branches of a CASE are brought to; bool where all are NULL."""
    if not types:
        return BOOL
    made = types[0]
    for type in types[1:]:
        made = _unified_pair(made, type)
    return made


def _unified_pair(left: VectorType, right: VectorType) -> VectorType:
    if left != right and "timestamp" in (left.kind, right.kind):
        return _finer(left, right)
    if left == right or not (left.is_numeric and right.is_numeric):
        return left
    if left.is_float or right.is_float:
        return F64 if F64 in (left, right) else F32
    if left.is_integer and right.is_integer:
        return _wider(left, right)
    a, b = _as_decimal(left), _as_decimal(right)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    scale = max(a.scale, b.scale)
    if not (left.is_integer or right.is_integer):  # of decimals' digits those before the point are kept
        scale = min(scale, MAX_DIGITS - whole)
    return DecimalType(min(whole + scale, MAX_DIGITS), scale)


def _wider(left: VectorType, right: VectorType) -> VectorType:
    """The narrowest type that holds two integers' types."""
    wide, other = (left, right) if left.bits >= right.bits else (right, left)
    if wide.is_unsigned == other.is_unsigned or (not wide.is_unsigned and wide.bits > other.bits):
        return wide
    return next(t for t in (I16, I32, I64, I128) if t.bits > max(left.bits, right.bits) or t == I128)


def _finer(left: VectorType, right: VectorType) -> VectorType:
    """The type that two moments, or a date and a moment, are compared in."""
    if TIMESTAMP_UTC in (left, right):
        return TIMESTAMP_UTC
    return left if TICKS.get(left.text, 0) >= TICKS.get(right.text, 0) else right


def _as_decimal(type: VectorType) -> DecimalType:
    return type if isinstance(type, DecimalType) else DecimalType(integer_digits(type), 0)
