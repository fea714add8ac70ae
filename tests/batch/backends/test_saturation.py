"""Conversions to integers: they saturate, NaN becomes 0, and LLVM takes none of them apart lane by lane."""

import math
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.native import NativeCode, NativeKernel

pytest.importorskip("pycparser")

INTEGERS = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64,
}  # fmt: skip
REALS = {"float": np.float32, "double": np.float64}


def numbers(real: Any) -> Any:
    """Return the limits of every type with their neighbours, fractions, infinities and NaN."""
    limits = [0.0, *(sign * 2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64, 100) for sign in (1, -1))]
    found = np.array(limits, real)
    around = [np.nextafter(found, real(np.inf)), np.nextafter(found, real(-np.inf)), found + real(0.5), found - real(1)]
    rest = np.array([-0.0, 1.5, -1.5, 126.9, 254.5, np.inf, -np.inf, np.nan, -np.nan], real)
    every = np.concatenate([found, *around, rest])
    return np.resize(every, -(-len(every) // 16) * 16)


def saturate(number: float, integer: Any) -> int:
    """Convert as C does where it is defined, in Python's integers."""
    limits = np.iinfo(integer)
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return int(limits.max if number > 0 else limits.min)
    return min(max(math.trunc(number), int(limits.min)), int(limits.max))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("integer", INTEGERS)
def test_conversions_saturate(integer: str, real: str) -> None:
    text = f"__kernel void k(const {real} *x, {integer} *z) {{ z[get_global_id()] = x[get_global_id()]; }}"
    kernel = batch.lower(batch.parse_file(text, wg_size=4)["k"])
    x = numbers(REALS[real])
    expected = np.array([saturate(float(number), INTEGERS[integer]) for number in x], INTEGERS[integer])
    for width in (4, 8, 16):
        found = np.zeros(len(x), INTEGERS[integer])
        NativeKernel(kernel, "rows", 4, width).run([x.ctypes.data, found.ctypes.data], 0, len(x) // 4)
        np.testing.assert_array_equal(found, expected)


def test_conversions_of_vectors_are_not_left_to_llvm() -> None:
    text = "__kernel void k(const double *x, ulong *z) { z[get_global_id()] = x[get_global_id()]; }"
    code = NativeCode(batch.lower(batch.parse_file(text, wg_size=8)["k"]), "rows", 1, 8).text
    assert "llvm.fpto" not in code
    assert code.count("fptoui <") == 1
