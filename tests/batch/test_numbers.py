"""What operations do to numbers, against exact fractions and the C library."""

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from drawloom.batch import numbers
from drawloom.batch.types import INT, LONG, SHORT, TYPES, UCHAR, UINT, ULONG, common_type, promote

Array = NDArray[Any]

libm = ctypes.CDLL(None)
libm.fma.restype = ctypes.c_double
libm.fma.argtypes = [ctypes.c_double] * 3
libm.fmaf.restype = ctypes.c_float
libm.fmaf.argtypes = [ctypes.c_float] * 3


def tricky(rng: np.random.Generator, count: int, dtype: Any) -> Array:
    """Numbers of every size, zeros, infinities, NaN, and neighbours of powers of two."""
    low, high = (-1070, 1020) if dtype == np.float64 else (-148, 126)
    with np.errstate(all="ignore"):
        result: Array = np.ldexp(rng.uniform(-2, 2, count), rng.integers(low, high, count)).astype(dtype)
        near = rng.random(count) < 0.3
        result[near] = (rng.integers(-3, 4, count) * (1 + np.finfo(dtype).eps * rng.integers(-2, 3, count)))[near]
    special = rng.random(count) < 0.05
    result[special] = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], special.sum())
    return np.asarray(result)


@pytest.mark.parametrize(("dtype", "function"), [(np.float64, libm.fma), (np.float32, libm.fmaf)])
def test_fused_multiply_add_rounds_once(dtype: Any, function: Callable[..., float]) -> None:
    rng = np.random.default_rng(1)
    left, right, addend = (tricky(rng, 100_000, dtype) for _ in range(3))
    with np.errstate(all="ignore"):
        cancel = rng.random(len(left)) < 0.3
        addend[cancel] = (-left * right * dtype(1 + np.finfo(dtype).eps * 2))[cancel]
    found = numbers.call("fma", [left, right, addend])
    expected: Array = np.array([function(*row) for row in zip(left, right, addend)], dtype)
    assert np.array_equal(found, expected, equal_nan=True)
    zero = found == 0
    assert np.array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_fused_multiply_add_is_the_nearest_double() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((3, 2000))
    found = numbers.call("fma", list(rows))
    for left, right, addend, result in zip(*rows, found):
        exact = Fraction(left) * Fraction(right) + Fraction(addend)
        assert abs(Fraction(float(result)) - exact) <= Fraction(math.ulp(result)) / 2


@pytest.mark.parametrize("name", ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conversions_to_integers_saturate(name: str, dtype: Any) -> None:
    scalar = TYPES[name]
    limits = np.iinfo(scalar.dtype)
    rng = np.random.default_rng(3)
    ordinary: Array = np.ldexp(rng.uniform(-2, 2, 5000), rng.integers(0, 66, 5000)).astype(dtype)
    edges: Array = np.array([limits.min, limits.max, 0.5, -0.5, -1], dtype)
    values = np.concatenate([tricky(rng, 2000, dtype), ordinary, edges])
    found = numbers.convert(values, scalar)
    for value, result in zip(values.tolist(), found.tolist()):
        if math.isnan(value):
            assert result == 0
        elif value > limits.max or value < limits.min:
            assert result == (limits.max if value > 0 else limits.min)
        else:
            assert result == int(value)


def test_integer_division_truncates_and_has_no_undefined_cases() -> None:
    rng = np.random.default_rng(4)
    for scalar in (INT, LONG, UINT, ULONG):
        limits = np.iinfo(scalar.dtype)
        left, right = (rng.integers(limits.min, limits.max, 3000, dtype=scalar.dtype, endpoint=True) for _ in range(2))
        right[:1000] = rng.integers(-1 if scalar.kind == "i" else 0, 3, 1000).astype(scalar.dtype)
        left[:100] = limits.min
        quotients, rests = numbers.binary("/", left, right), numbers.binary("%", left, right)
        for a, b, quotient, rest in zip(left.tolist(), right.tolist(), quotients.tolist(), rests.tolist()):
            if b == 0 or (b == -1 and a == limits.min):
                assert (quotient, rest) == (a, 0)
            else:
                assert quotient == int(Fraction(a, b))
                assert rest == a - b * quotient


def test_shift_counts_are_modulo_the_width() -> None:
    value = np.array([1, -8, 5], np.int32)
    assert numbers.binary("<<", value, np.array([33, 0, 31], np.int64)).tolist() == [2, -8, -(2**31)]
    assert numbers.binary(">>", value, np.array([0, 34, -31], np.int32)).tolist() == [1, -2, 2]


def test_arithmetic_conversions_are_those_of_c() -> None:
    assert promote(UCHAR) is INT
    assert common_type(SHORT, UCHAR) is INT
    assert common_type(INT, UINT) is UINT
    assert common_type(LONG, UINT) is LONG
    assert common_type(LONG, ULONG) is ULONG
    assert common_type(TYPES["float"], LONG) is TYPES["float"]
    assert common_type(TYPES["float"], TYPES["double"]) is TYPES["double"]


def test_maximum_and_minimum() -> None:
    left, right = np.array([1.0, np.nan, 2.0]), np.array([3.0, 4.0, np.nan])
    assert np.array_equal(numbers.call("fmax", [left, right]), [3.0, 4.0, 2.0])
    assert np.array_equal(numbers.call("fmin", [left, right]), [1.0, 4.0, 2.0])
    assert np.array_equal(numbers.call("max", [left, right]), [3.0, np.nan, 2.0], equal_nan=True)
