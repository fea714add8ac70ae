"""The value of element-wise builtins and reductions over NumPy: what a call means, written to be obviously right.

``ELEMENT_WISE[name](name, arguments)`` takes and gives the values of ``values.py``; an overflow is a DataError. These
are the oracle for the PTX templates, and what runs the small control code around kernels; ``library.py`` has the
other builtins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse.blocks import in_blocks
from drawloom.horse.signatures import float_type, plus_type, product_type
from drawloom.horse.types import (
    BOOL,
    DATE,
    F64,
    I64,
    I128,
    MAX_DIGITS,
    MONTH,
    TIME,
    TIMESTAMP,
    DecimalType,
    VectorType,
    exact_bounds,
    named_type,
    scale_of,
)
from drawloom.horse.values import (
    INT64_MAX,
    INT64_MIN,
    Array,
    Dictionary,
    Enumeration,
    ListValue,
    Ragged,
    TableValue,
    Value,
    Vector,
    as_vector,
    bounds,
    integers,
    narrow,
    narrowest,
    only_text,
    some_words,
    taken,
)
from drawloom.horse.words import FEW, Strings, united

#: Integers up to here, and powers of ten up to this exponent, are doubles exactly, so that their quotient rounds once.
MAX_EXACT: Final = 1 << 53
EXACT_POWERS: Final = 22
#: The greatest double that is an integer of 64 bits.
_MOST_FLOAT: Final = float(INT64_MAX - 1023)
#: Words of a dictionary that a thread compares with a LIKE pattern at a time.
_WORDS_A_BLOCK: Final = 1 << 16


# Exact numbers


def rescaled(vector: Vector, scale: int) -> Array:
    """The exact values in units of ``10**-scale``, which must not be coarser than their own."""
    data = integers(vector)
    return _times(data, 10 ** (scale - scale_of(vector.type)))


def _times(data: Array, factor: int) -> Array:
    if factor == 1:
        return data
    low, high = bounds(data)
    return _widen(data, low * factor, high * factor) * factor


def _widen(data: Array, low: int, high: int) -> Array:
    """``data`` in a representation that also holds ``low..high``."""
    return data if data.dtype == object else narrow(data, min(low, high), max(low, high))


def exact(type: VectorType, data: Array, name: str) -> Vector:
    """A vector of an exact type; a value outside the type is an overflow. Raises DataError."""
    low, high = bounds(data)
    least, most = exact_bounds(type)
    if low < least or high > most:
        raise DataError(f"overflow in @{name}: {low if low < least else high} does not fit {type}")
    return Vector(type, data)


def add_exact(a: Array, b: Array, sign: int) -> Array:
    (a0, a1), (b0, b1) = bounds(a), bounds(b)
    low, high = (a0 + b0, a1 + b1) if sign > 0 else (a0 - b1, a1 - b0)
    left, right = _widen(a, low, high), _widen(b, low, high)
    return left + right if sign > 0 else left - right


def mul_exact(a: Array, b: Array) -> Array:
    (a0, a1), (b0, b1) = bounds(a), bounds(b)
    corners = [a0 * b0, a0 * b1, a1 * b0, a1 * b1]
    return _widen(a, min(corners), max(corners)) * _widen(b, min(corners), max(corners))


def floats(vector: Vector) -> Array:
    """The values as float64, each rounded once."""
    type = vector.type
    if type.is_float:
        return vector.data.astype(np.float64)
    data, scale = integers(vector), scale_of(type)
    low, high = bounds(data)
    if scale == 0 or (low >= -MAX_EXACT and high <= MAX_EXACT and scale <= EXACT_POWERS):
        return data.astype(np.float64) / float(10**scale)
    return np.array([v / 10**scale for v in data.tolist()], dtype=np.float64)


def _as_float(type: VectorType, data: Array) -> Vector:
    return Vector(type, data.astype(np.float64 if type == F64 else np.float32))


def _float_operands(type: VectorType, a: Vector, b: Vector) -> tuple[Array, Array]:
    left, right = floats(a), floats(b)
    return (left, right) if type == F64 else (left.astype(np.float32), right.astype(np.float32))


# Element-wise


def _pair(arguments: list[Value]) -> tuple[Vector, Vector]:
    return as_vector(arguments[0]), as_vector(arguments[1])


def _plus(name: str, arguments: list[Value]) -> Value:
    a, b = _pair(arguments)
    sign = 1 if name == "plus" else -1
    counted = [t for t in (a.type, b.type) if t in (DATE, MONTH, TIME)]
    if counted:
        type = I64 if a.type == b.type else counted[0]
        return exact(type, add_exact(integers(a), integers(b), sign), name)
    if a.type == TIMESTAMP:
        return exact(TIMESTAMP, add_exact(integers(a), integers(b), sign), name)
    type = plus_type(a.type, b.type)
    if type.is_float:
        left, right = _float_operands(type, a, b)
        with np.errstate(all="ignore"):
            return _as_float(type, left + right if sign > 0 else left - right)
    scale = scale_of(type)
    return exact(type, add_exact(rescaled(a, scale), rescaled(b, scale), sign), name)


def _mul(name: str, arguments: list[Value]) -> Value:
    a, b = _pair(arguments)
    type = product_type(a.type, b.type)
    if type.is_float:
        left, right = _float_operands(type, a, b)
        with np.errstate(all="ignore"):
            return _as_float(type, left * right)
    return exact(type, mul_exact(integers(a), integers(b)), name)


def _div(name: str, arguments: list[Value]) -> Value:
    a, b = _pair(arguments)
    type = float_type(a.type, b.type)
    left, right = _float_operands(type, a, b)
    with np.errstate(all="ignore"):
        return _as_float(type, left / right)


def _mod(name: str, arguments: list[Value]) -> Value:
    """The remainder with the sign of the dividend, as SQL has it. Raises DataError for a divisor of 0."""
    a, b = _pair(arguments)
    left, right = integers(a), integers(b)
    if (right == 0).any():
        raise DataError("@mod by zero")
    type = a.type if isinstance(a.type, DecimalType) else plus_type(a.type, b.type)
    if object in (left.dtype, right.dtype):
        rest = abs(left.astype(object)) % abs(right.astype(object))
        return exact(type, np.where(left < 0, -rest, rest), name)
    return exact(type, np.fmod(left, right), name)


def _neg(name: str, arguments: list[Value]) -> Value:
    a = as_vector(arguments[0])
    if a.type.is_float:
        return Vector(a.type, -a.data if name == "neg" else np.abs(a.data))
    data = integers(a)
    low, high = bounds(data)
    data = _widen(data, -high, -low)
    return exact(a.type, -data if name == "neg" else abs(data), name)


COMPARISONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "leq": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "geq": lambda a, b: a >= b,
}


def _compare(name: str, arguments: list[Value]) -> Value:
    a, b = _pair(arguments)
    return Vector(BOOL, compared(name, *comparable(a, b)))


def compared(name: str, left: Array, right: Array) -> Array:
    """Where ``@name`` holds between arrays that ``comparable`` gave, in SQL's order: NaN equals NaN and is above every
    number."""
    made = np.asarray(COMPARISONS[name](left, right), dtype=bool)
    if left.dtype.kind != "f":
        return made
    a_nan, b_nan = np.isnan(left), np.isnan(right)
    return np.where(a_nan | b_nan, COMPARISONS[name](a_nan, b_nan), made)


def check_comparable(a: VectorType, b: VectorType) -> None:
    """Raises DataError for two types whose values do not compare."""
    if a != b and not (a.is_numeric and b.is_numeric) and not (a.kind == b.kind == "text"):
        raise DataError(f"values of types {a} and {b} do not compare")


def comparable(a: Vector, b: Vector) -> tuple[Array, Array]:
    """Two arrays that compare as the values do. Raises DataError for types that do not."""
    check_comparable(a.type, b.type)
    if a.type.kind == "text":
        if a.dictionary is b.dictionary:
            return a.data, b.data
        if len(a.words) < len(b.words):
            right, left = comparable(b, a)
            return left, right
        if len(b.words) <= FEW:
            return 2 * integers(a) + 1, a.words.places(b.words).take(b.data)
        left, right = [t.data for t in one_dictionary([a, b])]
        return left, right
    if a.type.is_float or b.type.is_float:
        return _float_operands(float_type(a.type, b.type), a, b)
    scale = max(scale_of(a.type), scale_of(b.type))
    return _compared(a, scale), _compared(b, scale)


def _compared(vector: Vector, scale: int) -> Array:
    return vector.data if scale == scale_of(vector.type) else rescaled(vector, scale)


def one_dictionary(texts: list[Vector]) -> list[Vector]:
    """The same texts, all with the words of all for their dictionary."""
    moved, words = united([t.words for t in texts])
    dtype = narrowest(0, max(len(words) - 1, 0))
    codes = [t.data if m is None else taken(m.astype(dtype), t.data) for t, m in zip(texts, moved)]
    return [Vector(t.type, c, words) for t, c in zip(texts, codes)]


def _logic(name: str, arguments: list[Value]) -> Value:
    if name == "not":
        return Vector(BOOL, ~as_vector(arguments[0]).data.astype(bool, copy=False))
    a, b = _pair(arguments)
    left, right = a.data.astype(bool, copy=False), b.data.astype(bool, copy=False)
    return Vector(BOOL, left & right if name == "and" else left | right)


def _if_else(name: str, arguments: list[Value]) -> Value:
    chosen = as_vector(arguments[0]).data.astype(bool)
    a, b = as_vector(arguments[1]), as_vector(arguments[2])
    if a.type.kind == "text":
        a, b = one_dictionary([a, b])
        return Vector(a.type, np.where(chosen, a.data, b.data), a.dictionary)
    if a.type.is_exact and a.type != BOOL:
        return Vector(a.type, np.where(chosen, integers(a), integers(b)))
    return Vector(a.type, np.where(chosen, a.data, b.data))


def _convert(name: str, arguments: list[Value]) -> Value:
    vector = as_vector(arguments[0])
    type = named_type(only_text(name, arguments[1]))
    assert type is not None
    if type.is_float:
        return _converted_float(type, floats(vector), name)
    if vector.type.is_float:
        data = _round_floats(vector, scale_of(type), type)
        return exact(type, narrow(data, *bounds(data)), name)
    shift = scale_of(type) - scale_of(vector.type)
    if shift >= 0:
        return exact(type, _times(integers(vector), 10**shift), name)
    return exact(type, divide_rounding(integers(vector), 10**-shift), name)


def _converted_float(type: VectorType, data: Array, name: str) -> Vector:
    """The values as ``type``; a finite one that is none there is an overflow, as in DuckDB."""
    with np.errstate(over="ignore"):
        made = _as_float(type, data)
    lost = np.isinf(made.data) & np.isfinite(data)
    if lost.any():
        raise DataError(f"overflow in @{name}: {data[lost.argmax()]} does not fit {type}")
    return made


def divide_rounding(data: Array, divisor: int) -> Array:
    """The quotient rounded to nearest, halves away from zero, as DuckDB rounds decimals."""
    wide = data.astype(object)
    half = divisor // 2
    return np.array([(v + half) // divisor if v >= 0 else -((-v + half) // divisor) for v in wide], dtype=object)


def _round_floats(vector: Vector, scale: int, type: VectorType) -> Array:
    """DuckDB rounds a float to the nearest integer, halves to even, and to a decimal halves away from zero."""
    values, factor = vector.data.astype(np.float64), float(10**scale)
    if not (np.abs(values) <= np.finfo(np.float64).max / factor).all():
        raise DataError(f"overflow in @convert: a float that is not finite does not fit {type}")
    scaled = values * factor
    if isinstance(type, DecimalType):
        rounded = np.trunc(scaled + np.copysign(0.5, scaled))
    else:
        rounded = np.rint(scaled)
    if bool((np.abs(rounded) <= _MOST_FLOAT).all()):
        return rounded.astype(np.int64)
    return np.array([int(v) for v in rounded], dtype=object)


def _date_part(name: str, arguments: list[Value]) -> Value:
    days = as_vector(arguments[0]).data.astype("datetime64[D]")
    if name == "date_year":
        return Vector(I64, days.astype("datetime64[Y]").astype(np.int64) + 1970)
    months = days.astype("datetime64[M]")
    if name == "date_month":
        return Vector(I64, months.astype(np.int64) % 12 + 1)
    return Vector(I64, (days - months.astype("datetime64[D]")).astype(np.int64) + 1)


def like_pattern(pattern: str) -> re.Pattern[str]:
    """A SQL LIKE pattern (``%``, ``_``, escape ``\\``) as a regular expression for the whole string."""
    out: list[str] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            i += 1
            out.append(re.escape(pattern[i]))
        else:
            out.append({"%": ".*", "_": "."}.get(c, re.escape(c)))
        i += 1
    return re.compile("".join(out), re.DOTALL)


def _like(name: str, arguments: list[Value]) -> Value:
    words, codes = as_vector(arguments[0]).spelled()
    hits = like_hits(words, only_text(name, arguments[1]))
    return Vector(BOOL, hits if codes is None else taken(hits, codes))


def like_hits(words: Strings, pattern: str) -> Array:
    """Which of some strings match a LIKE pattern: by Arrow, but for patterns with escapes, which it reads
    in another way."""
    if "\\" in pattern:
        matcher = like_pattern(pattern)
        return np.array([matcher.fullmatch(w) is not None for w in words.to_pylist()], dtype=bool)

    def match(start: int) -> Array:
        hits = pc.match_like(words.slice(start, _WORDS_A_BLOCK), pattern)
        return np.asarray(hits.to_numpy(zero_copy_only=False))

    return np.concatenate(in_blocks(len(words), _WORDS_A_BLOCK, match))


def _member(name: str, arguments: list[Value]) -> Value:
    left, right = comparable(as_vector(arguments[0]), as_vector(arguments[1]))
    if left.dtype == object:
        options = set(right.tolist())
        return Vector(BOOL, np.array([v in options for v in left.tolist()], dtype=bool))
    made = np.isin(left, right)
    if left.dtype.kind == "f" and bool(np.isnan(right).any()):
        made |= np.isnan(left)
    return Vector(BOOL, made)


# Reductions: over a whole vector, or over each cell of a list (segments given by offsets)


def _reduce(name: str, arguments: list[Value]) -> Value:
    value = arguments[0]
    if name == "len" and not isinstance(value, Vector):
        return Vector(I64, np.array([_length(value)], dtype=np.int64))
    vector = as_vector(value)
    return reduce_cells(name, Ragged(vector, np.array([0, len(vector)], dtype=np.int64)))


def _length(value: Value) -> int:
    """The cells of a list, the keys of a dictionary or enumeration, the rows of a table."""
    if isinstance(value, ListValue):
        return len(value.cells)
    if isinstance(value, TableValue):
        return value.rows
    if isinstance(value, Dictionary | Enumeration):
        return len(value.keys if isinstance(value, Dictionary) else value.rows)
    assert isinstance(value, Ragged)
    return value.count


def reduce_cells(name: str, ragged: Ragged) -> Vector:
    """One value per cell; the minimum and maximum of an empty cell are 0, its average is NaN."""
    flat, offsets = ragged.flat, ragged.offsets
    counts = np.diff(offsets)
    if name == "len":
        return Vector(I64, counts)
    if name == "sum":
        return _sum_cells(flat, offsets)
    if name == "avg":
        return _average_cells(flat, offsets, counts)
    assert name in ("min", "max")
    pick = np.minimum if name == "min" else np.maximum
    values = flat.data if flat.type.is_float or flat.type.kind in ("text", "bool") else integers(flat)
    out = np.zeros(len(counts), dtype=values.dtype)
    some = counts > 0
    if some.any():
        out[some] = _extreme_cells(pick, values, offsets[:-1][some], flat.type, name)
    return Vector(flat.type, out, some_words(flat.dictionary) if flat.type.kind == "text" else None)


def _extreme_cells(pick: np.ufunc, values: Array, starts: Array, type: VectorType, name: str) -> Array:
    if type.is_float and name == "max":
        # SQL orders NaN above every number, so that it wins a maximum and never a minimum.
        return np.asarray(pick.reduceat(values, starts))
    if type.is_float:
        return np.asarray(np.fmin.reduceat(values, starts))
    return np.asarray(pick.reduceat(values, starts))


def _sum_cells(flat: Vector, offsets: Array) -> Vector:
    type = flat.type
    if type.is_float:
        return Vector(F64, _float_sums(flat.data.astype(np.float64), offsets))
    made: VectorType = DecimalType(MAX_DIGITS, type.scale) if isinstance(type, DecimalType) else I128
    return exact(made, exact_sums(integers(flat), offsets), "sum")


def _float_sums(data: Array, offsets: Array) -> Array:
    """The sum of each segment: correctly rounded where it is finite."""
    sums = np.zeros(len(offsets) - 1, dtype=np.float64)
    for i, (a, b) in enumerate(pairwise(offsets.tolist())):
        part = data[a:b]
        if b - a == 1:
            sums[i] = part[0]
        elif b > a:
            sums[i] = float_sum(part)
    return sums


def float_sum(values: Array) -> float:
    """The sum, rounded once; where it, or a part of it, is not finite that of one value after the other."""
    if np.isfinite(values).all():
        with suppress(OverflowError):
            return math.fsum(values.tolist())
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.cumsum(values)[-1])


def exact_sums(data: Array, offsets: Array) -> Array:
    """The exact sum of each segment, as Python integers where 64 bits do not do."""
    if data.dtype == object:
        return np.array([sum(data[a:b].tolist()) for a, b in pairwise(offsets)], dtype=object)
    low, high = bounds(data)
    count = max(len(data), 1)
    if low * count >= INT64_MIN and high * count <= INT64_MAX:
        return _segment_sums(data, offsets)
    # Halves of 32 bits: neither half's sum overflows 64 bits within 2**31 rows.
    upper, lower = _segment_sums(data >> 32, offsets), _segment_sums(data & 0xFFFFFFFF, offsets)
    return np.array([(u << 32) + v for u, v in zip(upper.tolist(), lower.tolist())], dtype=object)


def _segment_sums(data: Array, offsets: Array) -> Array:
    totals = np.concatenate([[0], np.cumsum(data)])
    return np.asarray(totals[offsets[1:]] - totals[offsets[:-1]])


def _average_cells(flat: Vector, offsets: Array, counts: Array) -> Vector:
    if flat.type.is_float:
        with np.errstate(all="ignore"):
            return Vector(F64, _sum_cells(flat, offsets).data / counts)
    return Vector(F64, averages(exact_sums(integers(flat), offsets), counts, scale_of(flat.type)))


def averages(sums: Array, counts: Array, scale: int) -> Array:
    """The average of each of many ``sums`` and ``counts``. What doubles hold exactly they divide with one rounding."""
    low, high = bounds(sums)
    most = int(counts.max(initial=0)) * 10**scale
    if low >= -MAX_EXACT and high <= MAX_EXACT and most <= MAX_EXACT and scale <= EXACT_POWERS:
        with np.errstate(invalid="ignore"):
            return np.asarray(sums.astype(np.float64) / (counts.astype(np.float64) * float(10**scale)))
    return np.array([average(s, c, scale) for s, c in zip(sums.tolist(), counts.tolist())], dtype=np.float64)


def average(total: int, count: int, scale: int) -> float:
    """The average of ``count`` values with ``scale`` and an exact ``total``: the quotient, rounded once; NaN for none.

    (Python divides integers with one correct rounding.)
    """
    return math.nan if count == 0 else total / (count * 10**scale)


ELEMENT_WISE: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    "eq": _compare, "neq": _compare, "lt": _compare, "leq": _compare, "gt": _compare, "geq": _compare,
    "and": _logic, "or": _logic, "not": _logic,
    "plus": _plus, "minus": _plus, "mul": _mul, "div": _div, "mod": _mod, "neg": _neg, "abs": _neg,
    "convert": _convert, "if_else": _if_else, "like": _like, "member": _member,
    "date_year": _date_part, "date_month": _date_part, "date_day": _date_part,
    "sum": _reduce, "avg": _reduce, "min": _reduce, "max": _reduce, "len": _reduce,
}  # fmt: skip
