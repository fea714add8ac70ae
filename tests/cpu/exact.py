"""IEEE formats in exact rational arithmetic: what the float instructions are checked against.

A value is a Python float where that is exact (every format here fits in a double) and a ``Fraction`` where an
operation's result is not; ``Format.encode`` rounds once, in any of the four directions.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from math import isqrt

import numpy as np


class Format:
    """``fraction`` and ``exponent`` bits of an IEEE 754 binary format."""

    def __init__(self, name: str, fraction: int, exponent: int) -> None:
        self.name = name
        self.fraction = fraction
        self.exponent = exponent
        self.bits = 1 + fraction + exponent
        self.bias = (1 << exponent - 1) - 1
        self.infinity = ((1 << exponent) - 1) << fraction
        self.sign = 1 << self.bits - 1
        self.smallest_normal = 1 << fraction
        self.one = self.bias << fraction

    def decode(self, pattern: int) -> float:
        magnitude = pattern & self.sign - 1
        sign = -1.0 if pattern & self.sign else 1.0
        if magnitude > self.infinity:
            return math.nan
        if magnitude == self.infinity:
            return sign * math.inf
        power = magnitude >> self.fraction
        digits = magnitude & self.smallest_normal - 1
        if power:
            digits |= self.smallest_normal
        value = math.ldexp(digits, max(power, 1) - self.bias - self.fraction)
        return math.copysign(value, sign)

    def is_nan(self, pattern: int) -> bool:
        return pattern & self.sign - 1 > self.infinity

    def flush(self, pattern: int) -> int:
        """A subnormal as zero with its sign."""
        return pattern & self.sign if pattern & self.infinity == 0 else pattern

    def encode(self, value: Fraction | float, mode: str = "rn", zero_sign: int = 0) -> int | None:
        """The pattern of ``value`` rounded in ``mode`` (rn rna rz rm rp), None for NaN; ``zero_sign`` is of 0."""
        if isinstance(value, float):
            if math.isnan(value):
                return None
            if math.isinf(value):
                return self.infinity | (self.sign if value < 0 else 0)
            if value == 0.0:
                return self.sign if math.copysign(1.0, value) < 0 else 0
            value = Fraction(value)
        if value == 0:
            return self.sign if zero_sign else 0
        negative = value < 0
        value = abs(value)
        top = value.numerator.bit_length() - value.denominator.bit_length()
        if Fraction(2) ** top > value:
            top -= 1
        unit = max(top, 1 - self.bias) - self.fraction
        scaled = value / Fraction(2) ** unit
        whole = scaled.numerator // scaled.denominator
        rest = scaled - whole
        up = {
            "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1 == 1),
            "rna": rest >= Fraction(1, 2), "rz": False, "rm": negative and rest > 0, "rp": not negative and rest > 0,
        }[mode]  # fmt: skip
        whole += up
        if whole >= 2 << self.fraction:
            whole >>= 1
            unit += 1
        power = unit + self.fraction + self.bias if whole >= self.smallest_normal else 0
        pattern = power << self.fraction | whole & self.smallest_normal - 1
        if pattern >= self.infinity:
            to_infinity = mode in ("rn", "rna") or (mode == "rm" and negative) or (mode == "rp" and not negative)
            pattern = self.infinity if to_infinity else self.infinity - 1
        return pattern | (self.sign if negative else 0)


F16 = Format("f16", 10, 5)
BF16 = Format("bf16", 7, 8)
F32 = Format("f32", 23, 8)
F64 = Format("f64", 52, 11)
TF32 = Format("tf32", 10, 8)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def finite(*values: float) -> bool:
    return all(math.isfinite(v) for v in values)


def fma(f: Format, a: int, b: int, c: int, mode: str) -> int | None:
    """a * b + c with one rounding, on patterns."""
    x, y, z = f.decode(a), f.decode(b), f.decode(c)
    if not finite(x, y, z):
        if math.isnan(x) or math.isnan(y) or math.isnan(z):
            return None
        if (math.isinf(x) and y == 0) or (math.isinf(y) and x == 0):
            return None
        if not finite(x, y):
            product = math.copysign(math.inf, math.copysign(1.0, x) * math.copysign(1.0, y))
            return f.encode(product + z)
        return f.encode(z)
    total = Fraction(x) * Fraction(y) + Fraction(z)
    product_negative = (a ^ b) & f.sign != 0
    addend_negative = c & f.sign != 0
    both = Fraction(x) * Fraction(y) == 0 and z == 0 and product_negative == addend_negative
    zero_sign = int(product_negative) if both else int(mode == "rm")
    return f.encode(total, mode, zero_sign)


def mul(f: Format, a: int, b: int, mode: str) -> int | None:
    x, y = f.decode(a), f.decode(b)
    if not finite(x, y):
        return f.encode(math.nan if math.isnan(x) or math.isnan(y) or x == 0 or y == 0 else
                        math.copysign(math.inf, math.copysign(1.0, x) * math.copysign(1.0, y)))  # fmt: skip
    return f.encode(Fraction(x) * Fraction(y), mode, int((a ^ b) & f.sign != 0))


def div(f: Format, a: int, b: int, mode: str) -> int | None:
    x, y = f.decode(a), f.decode(b)
    sign = -1.0 if (a ^ b) & f.sign else 1.0
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return None
    if math.isinf(x) or y == 0:
        return f.encode(sign * math.inf)
    if math.isinf(y):
        return f.encode(sign * 0.0)
    return f.encode(Fraction(x) / Fraction(y), mode, int(sign < 0))


def sqrt(f: Format, a: int, mode: str) -> int | None:
    x = f.decode(a)
    if math.isnan(x) or x < 0:
        return None
    if math.isinf(x) or x == 0:
        return a
    value = Fraction(x)
    scaled = value * Fraction(4) ** 1200
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    exact = scaled.denominator == 1 and root * root == whole
    # What lies between two integers rounds as their middle would, at this many digits more than any format has.
    return f.encode((Fraction(root) + (0 if exact else Fraction(1, 2))) / Fraction(2) ** 1200, mode)


def patterns(f: Format, seed: int, count: int = 160) -> np.ndarray:
    """Edge values, any patterns, and numbers of nearby exponents, so that sums cancel and products reach the ends."""
    rng = np.random.default_rng(seed)
    s = f.smallest_normal
    edges = [0, 1, 2, 3, s - 1, s, s + 1, 2 * s]
    edges += [f.one + d for d in (-s, -1, 0, 1, s // 2, s, 4 * s + 5)]
    edges += [f.infinity + d for d in (-s, -1, 0, 1, s // 2)]
    both = np.array(edges + [e | f.sign for e in edges], np.uint64)
    anything = rng.integers(0, 1 << 64, count, dtype=np.uint64) >> np.uint64(64 - f.bits)
    power = rng.integers(f.bias - 6, f.bias + 7, count).astype(np.uint64)
    near = power << np.uint64(f.fraction) | anything & np.uint64(s - 1) | anything & np.uint64(f.sign)
    short = near & ~np.uint64(s - 1) | near & np.uint64(7)
    low = rng.integers(0, 4 << f.fraction, count).astype(np.uint64) | anything & np.uint64(f.sign)
    choice = rng.integers(0, 5, count)
    return np.choose(choice, [rng.choice(both, count), anything, near, short, low])


def float_bits(value: float) -> int:
    """The f32 pattern of a float."""
    out: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return out
