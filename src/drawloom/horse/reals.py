"""The value of functions of doubles and integers that have no template, over NumPy.

Where a function of a real number has no value DuckDB gives NaN or an infinity, and so does this. Its own mathematical
library differs from this machine's in the last bits: what both give is within two units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.distinct import by_rows
from drawloom.horse.evaluate import floats
from drawloom.horse.plain import PLAIN
from drawloom.horse.types import I64, exact_bounds
from drawloom.horse.values import Array, Value, Vector, as_vector


def _real(name: str, arguments: list[Value]) -> Value:
    values = [floats(v) if v.type.is_float else v.data for v in map(as_vector, arguments)]
    with np.errstate(all="ignore"):
        made = np.asarray(_REALS[name](*values))
    gives = PLAIN[name].gives
    return Vector(gives, made.astype(_DTYPES.get(gives.text, np.float64)))


_DTYPES: Final[dict[str, Any]] = {"i8": np.int8, "i64": np.int64, "bool": np.bool_}


def _cot(x: Array) -> Array:
    return np.asarray(1.0 / np.tan(x))


def _log_of(base: Array, x: Array) -> Array:
    return np.asarray(np.log10(x) / np.log10(base))


def _round_to(x: Array, digits: Array, pick: Callable[[Array], Array]) -> Array:
    """``x`` to so many digits behind the point; itself where that is no finite number."""
    power = np.power(10.0, np.abs(digits))
    made = np.where(digits >= 0, pick(x * power) / power, pick(x / power) * power)
    return np.where(np.isfinite(made), made, np.where((digits >= 0) | ~np.isfinite(x), x, 0.0))


def away(x: Array) -> Array:
    """The nearest whole number, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole))


def _sortable(x: Array) -> Array:
    """Whole numbers that compare as the doubles do, of which NaN is the greatest and 0 is -0."""
    bits = np.where(x == 0, 0.0, x).view(np.int64)
    made = bits ^ ((bits >> 63) & np.int64((1 << 62) - 1 + (1 << 62)))
    return np.asarray(np.where(np.isnan(x), np.int64((1 << 62) - 1 + (1 << 62)), made))


_REALS: Final[dict[str, Callable[..., Any]]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "cot": _cot, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "cbrt": np.cbrt, "log2": np.log2, "log10": np.log10, "log_of": _log_of,
    "degrees": lambda x: x * (180.0 / math.pi), "radians": lambda x: x * (math.pi / 180.0), "trunc": np.trunc,
    "round_to": lambda x, digits: _round_to(x, digits, away),
    "trunc_to": lambda x, digits: _round_to(x, digits, np.trunc),
    "sign": lambda x: np.where(np.isnan(x), 0.0, np.sign(x)), "is_nan": np.isnan, "sortable": _sortable,
    "remainder": np.fmod,
}  # fmt: skip


def _within(value: int, name: str) -> int:
    if not exact_bounds(I64)[0] <= value <= exact_bounds(I64)[1]:
        raise DataError(f"overflow in @{name}: {value} does not fit i64")
    return value


def _factorial(number: int) -> int:
    if not 0 <= number <= 33:
        raise DataError(f"overflow in @factorial of {number}: it has a value from 0 to 33")
    return math.factorial(number)


_WHOLE: Final[dict[str, Callable[..., int]]] = {
    "gcd": lambda a, b: _within(math.gcd(a, b), "gcd"), "lcm": lambda a, b: _within(math.lcm(a, b), "lcm"),
    "factorial": _factorial,
}  # fmt: skip


def _whole(name: str, arguments: list[Value]) -> Value:
    vectors = [as_vector(a) for a in arguments]
    row = PLAIN[name]
    mask = vectors.pop() if row.is_partial and len(vectors) == len(row.takes) else None
    return by_rows(_WHOLE[name], vectors, row.gives, mask)


REALS: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    **dict.fromkeys(_REALS, _real), **dict.fromkeys(_WHOLE, _whole),
}  # fmt: skip
