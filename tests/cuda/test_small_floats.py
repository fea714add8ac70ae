"""Floats of 16 bits, numbers in parts of words: comparisons, NaN, infinities and directions, beside NumPy's types."""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import drawloom

SOURCE = Path(__file__).parent / "small_floats.cu"
TYPES = [("half", np.float16), ("bfloat16", ml_dtypes.bfloat16)]


@cache
def module(device: str) -> drawloom.Module:
    return drawloom.load(drawloom.compile_cuda(SOURCE, "sm_80"), device=device)


@pytest.mark.parametrize(("name", "dtype"), TYPES)
def test_comparisons_with_nan_are_ordered_or_not_as_they_say(name: str, dtype: type, device: str = "cpu") -> None:
    values = [0.0, -0.0, 1.0, -2.0, math.inf, math.nan]
    x, y = (np.array(side, dtype) for side in zip(*[(p, q) for p in values for q in values]))
    out = np.zeros((len(x), 4), np.uint32)
    module(device)[f"compare_{name}"][1, len(x)](out, x.view(np.uint16), y.view(np.uint16))
    for got, p, q in zip(out.tolist(), x.astype(float).tolist(), y.astype(float).tolist()):
        ordered = [p == q, p < q or p > q, p < q, p <= q, p > q, p >= q]
        unordered = [not (p < q or p > q), p != q, not p >= q, not p > q, not p <= q, not p < q]
        assert got[0] == sum(bit << k for k, bit in enumerate(ordered + unordered)), (p, q)
        both = q == q  # the pair's second number beside itself
        pair = [p == q and both, p != q and not both, False]
        assert got[1] == sum(bit << k for k, bit in enumerate([*pair, p == q, p != q, p < q])), (p, q)
        assert got[2] == 0xFFFF * ordered[1] and got[3] == 0xFFFF * unordered[5] + 0xFFFF0000, (p, q)


@pytest.mark.parametrize(("name", "dtype"), TYPES)
def test_sums_of_infinities_are_no_nan_and_negative_zeros_no_results_of_relu(
    name: str, dtype: type, device: str = "cpu"
) -> None:
    out = np.zeros(11, np.uint16)
    module(device)[f"extremes_{name}"][1, 1](out, np.array([0.0, 1.0, math.inf, math.nan], dtype).view(np.uint16))
    got = out.view(dtype).astype(float).tolist()
    assert got == pytest.approx([0, 0, -math.inf, math.nan, math.nan, 1, 0, 1, 0, 2, 7], rel=0, abs=0, nan_ok=True)
    assert out[:2].tolist() == [0, 0] and out[3:5].tolist() == [0x7FFF] * 2


def beside(value: int, direction: int) -> float:
    """An integer in 8 bits: to the nearest, of two the even one (2), towards zero (0), upwards (1), downwards (-1)."""
    size = abs(value)
    shift = max(size.bit_length() - 8, 0)
    kept, lost = size >> shift, Fraction(size, 1 << shift) % 1
    up = lost > Fraction(1, 2) or (lost == Fraction(1, 2) and kept % 2) if direction == 2 else (
        lost > 0 and direction == (1 if value > 0 else -1)
    )  # fmt: skip
    return math.copysign((kept + up) << shift, value) if value else 0.0


def test_integers_become_bfloat16_in_each_direction(device: str = "cpu") -> None:
    values = [
        0,
        1,
        -1,
        257,
        -257,
        300,
        2**62 + 2**54 + 1,
        2**62 + 2**54,
        -(2**62) - 2**54 - 1,
        2**63 - 1,
        -(2**63),
        -100,
    ]
    out, narrow = np.zeros((len(values), 4), np.uint16), np.zeros((len(values), 2), np.int8)
    module(device)["integers"][1, len(values)](out, narrow, np.array(values, np.int64))
    expected = [[beside(value, direction) for direction in (2, 0, 1, -1)] for value in values]
    assert out.view(ml_dtypes.bfloat16).astype(float).tolist() == expected
    assert narrow.tolist() == [[min(max(value, -128), 127)] * 2 for value in values]


def test_largest_and_smallest_of_words_and_halves(device: str = "cpu") -> None:
    out = np.zeros(9, np.int32)
    module(device)["words"][1, 1](out, np.array([0x7FFF0002, -0x0001FFFF, 5], np.int32))  # halves 0x7fff 2, -2 1, 0 5
    unsigned = out.astype(np.uint32).tolist()
    assert unsigned[:3] == [0x7FFD0003, 5, 0x7FFF0002]
    assert unsigned[3:] == [0x7FFD0005, 1, 1, 0x7FFF0002, 1, 1]


def test_reciprocal_roots_are_the_nearest_floats(device: str = "cpu") -> None:
    x = np.random.default_rng(3).uniform(0.5, 2, 512).astype(np.float32)
    out = np.zeros_like(x)
    module(device)["reciprocal_roots"][1, 512](out, x)
    for value, root in zip(x.tolist(), out):
        # The middles towards both neighbours lie on either side: 1 / x is between their squares.
        below = (Fraction(float(root)) + Fraction(float(np.nextafter(root, np.float32(0))))) / 2
        above = (Fraction(float(root)) + Fraction(float(np.nextafter(root, np.float32(9))))) / 2
        assert below**2 <= 1 / Fraction(value) <= above**2
