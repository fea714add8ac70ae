"""What the operations of kernels do to numbers: C's operators and the builtin functions on NumPy arrays.

This is the definition that the interpreters and the constant folder share. Integers wrap; shift counts are taken modulo
the width; x / 0 is x and x % 0 is 0; conversions to integers saturate and take NaN to 0.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.types import BITS_AS, BOOL, ScalarType

Array = NDArray[Any]


def binary(op: str, left: Array, right: Array) -> Array:
    """Apply an operator of C to operands of one type (a shift count may have another)."""
    with np.errstate(all="ignore"):
        return OPERATORS[op](np.asarray(left), np.asarray(right))


def divide(left: Array, right: Array) -> Array:
    if left.dtype.kind == "f":
        return np.asarray(np.divide(left, right))
    safe = safe_divisor(left, right)
    # NumPy's quotient is rounded down, C's towards zero.
    quotient = left // safe
    inexact_negative = (quotient < 0) & (quotient * safe != left)
    return np.asarray((quotient + inexact_negative.astype(left.dtype)).astype(left.dtype))


def remainder(left: Array, right: Array) -> Array:
    safe = safe_divisor(left, right)
    return np.asarray((left - divide(left, safe) * safe).astype(left.dtype))


def safe_divisor(left: Array, right: Array) -> Array:
    """Return the divisor with 1 where it is zero or the quotient overflows."""
    bad = right == 0
    if left.dtype.kind == "i":
        bad = bad | ((right == -1) & (left == np.iinfo(left.dtype).min))
    return np.asarray(np.where(bad, np.ones((), right.dtype), right))


def shift_left(left: Array, right: Array) -> Array:
    return np.asarray(np.left_shift(left, shift_count(left, right)))


def shift_right(left: Array, right: Array) -> Array:
    return np.asarray(np.right_shift(left, shift_count(left, right)))


def shift_count(left: Array, right: Array) -> Array:
    return np.asarray((right & (left.dtype.itemsize * 8 - 1)).astype(left.dtype))


OPERATORS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": divide,
    "%": remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": shift_left,
    ">>": shift_right,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def negate(value: Array) -> Array:
    with np.errstate(all="ignore"):
        # 0 - x would lose the sign of a floating-point zero.
        return np.asarray(np.negative(value) if value.dtype.kind != "u" else (np.zeros((), value.dtype) - value))


def convert(value: Array, scalar: ScalarType) -> Array:
    """Convert numbers to a type as a C cast does; floating point to integers saturates."""
    with np.errstate(all="ignore"):
        if scalar is BOOL:
            return np.asarray(value != 0)
        if value.dtype.kind != "f" or scalar.is_float:
            return np.asarray(value).astype(scalar.dtype)
        limits = np.iinfo(scalar.dtype)
        whole = np.trunc(np.where(np.isnan(value), np.zeros((), value.dtype), value))
        # The upper limit + 1 is a power of two, which every floating-point type holds.
        too_large = whole >= 2.0 ** (limits.bits - (scalar.kind == "i"))
        too_small = whole < float(limits.min)
        inside = np.where(too_large | too_small, np.zeros((), value.dtype), whole).astype(scalar.dtype)
        result = np.where(too_large, scalar.dtype.type(limits.max), inside)
        return np.asarray(np.where(too_small, scalar.dtype.type(limits.min), result))


def call(name: str, arguments: list[Array]) -> Array:
    """Apply a builtin function (`frontend/builtins.py`)."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[name](*arguments))


def bits_as(scalar: ScalarType) -> Callable[[Array], Array]:
    """Return the function that takes the bits of numbers as a type of the same size. Every NaN has the bits of the
    positive quiet one without a payload, as machines differ in what they keep of a NaN."""

    def apply(value: Array) -> Array:
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.asarray(np.nan, value.dtype), value)
        return np.ascontiguousarray(value).view(scalar.dtype)

    return apply


def reciprocal(value: Array) -> Array:
    return np.asarray(np.ones((), value.dtype) / value)


def larger(left: Array, right: Array) -> Array:
    return np.where(left < right, right, left)


def smaller(left: Array, right: Array) -> Array:
    return np.where(right < left, right, left)


def larger_number(left: Array, right: Array) -> Array:
    """IEEE 754-2008 maxNum: the other operand where one is NaN."""
    return np.where(np.isnan(left), right, np.where(np.isnan(right), left, larger(left, right)))


def smaller_number(left: Array, right: Array) -> Array:
    """IEEE 754-2008 minNum: the other operand where one is NaN."""
    return np.where(np.isnan(left), right, np.where(np.isnan(right), left, smaller(left, right)))


def fused_multiply_add(left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend rounded once."""
    left, right, addend = np.broadcast_arrays(left, right, addend)
    if left.dtype == np.float32:
        return fma_float(left, right, addend)
    return fma_double(left, right, addend)


def fma_float(left: Array, right: Array, addend: Array) -> Array:
    """The product is exact in double; the sum is rounded to odd, so that rounding it again is innocuous."""
    product = left.astype(np.float64) * right.astype(np.float64)
    return np.asarray(sum_to_odd(product, addend.astype(np.float64)).astype(np.float32))


def fma_double(left: Array, right: Array, addend: Array) -> Array:
    """Boldo and Melquiond, 'Emulation of a FMA and correctly rounded sums', algorithm 3; outside of the range in which
    no step over- or underflows, the C library's fma."""
    high = left * right
    low = product_error(left, right, high)
    sum_high, sum_low = two_sum(addend, low)
    top, rest = two_sum(high, sum_high)
    result = np.asarray(top + sum_to_odd(sum_low, rest))
    magnitudes = [np.abs(value) for value in (left, right, addend, high)]
    small, large = 2.0**-450, 2.0**900
    is_ordinary = np.ones(result.shape, bool)
    for magnitude in magnitudes:
        is_ordinary &= (magnitude < large) & ((magnitude > small) | (magnitude == 0))
    # A product that vanished or is zero has the sign rules of the addition left to the library.
    is_ordinary &= (high != 0) & (result != 0)
    if not is_ordinary.all():
        result = result.copy()
        rare = ~is_ordinary
        result[rare] = [LIBRARY_FMA(*row) for row in zip(left[rare], right[rare], addend[rare])]
    return result


def product_error(left: Array, right: Array, product: Array) -> Array:
    """Dekker's product: what rounding left * right to double lost."""
    left_high, left_low = split(left)
    right_high, right_low = split(right)
    error = ((left_high * right_high - product) + left_high * right_low + left_low * right_high) + left_low * right_low
    return np.asarray(error)


def split(value: Array) -> tuple[Array, Array]:
    """Veltkamp's splitting of a double into two halves of 26 bits."""
    scaled = 134217729.0 * value  # 2**27 + 1
    high = scaled - (scaled - value)
    return high, value - high


def two_sum(left: Array, right: Array) -> tuple[Array, Array]:
    """Knuth's sum: the rounded sum of two doubles, and what rounding lost."""
    total = left + right
    other = total - left
    return total, (left - (total - other)) + (right - other)


def sum_to_odd(left: Array, right: Array) -> Array:
    """Return the sum of two doubles; an inexact one is the neighbour whose last bit is 1."""
    total, error = two_sum(left, right)
    is_even = (np.ascontiguousarray(total).view(np.int64) & 1) == 0
    moves = is_even & (error != 0) & np.isfinite(total) & np.isfinite(error)
    return np.where(moves, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def _library_fma() -> Callable[[float, float, float], float]:
    function = ctypes.CDLL(None).fma
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * 3
    return function


LIBRARY_FMA: Final = _library_fma()

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "max": larger,
    "min": smaller,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rcp": reciprocal,
    "fabs": np.abs,
    "fmax": larger_number,
    "fmin": smaller_number,
    "fma": fused_multiply_add,
    "isnan": np.isnan,
    **{name: bits_as(scalar) for name, scalar in BITS_AS.items()},
}
