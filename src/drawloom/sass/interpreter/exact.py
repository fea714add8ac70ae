"""Floating-point bit patterns to exact numbers and back: every operation is exact, then rounded once (IEEE 754).

A finite number is `n * 2**e` with integers; the sign of a zero is kept apart. NaNs that come out are canonical.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Final

#: Rounding modes by their names in mnemonics: to nearest even, towards zero, down, up, to nearest away from zero.
RN: Final = "RN"
RZ: Final = "RZ"
RM: Final = "RM"
RP: Final = "RP"
RNA: Final = "RNA"


class Format:
    """A binary format. `least` is the exponent of the last place of subnormals; `one` the pattern of 1."""

    def __init__(self, exponent_bits: int, fraction_bits: int, nan: int, largest: int = 0) -> None:
        self.bits = 1 + exponent_bits + fraction_bits
        self.fraction_bits = fraction_bits
        self.hidden = 1 << fraction_bits
        bias = (1 << exponent_bits - 1) - 1
        self.least = 1 - bias - fraction_bits
        self.sign = 1 << self.bits - 1
        self.magnitude = self.sign - 1
        self.mask = (1 << self.bits) - 1
        self.infinity = largest + 1 if largest else (1 << exponent_bits) - 1 << fraction_bits
        self.largest = self.infinity - 1
        self.has_infinity = largest == 0
        self.nan = nan
        self.one = bias << fraction_bits

    def is_nan(self, a: int) -> bool:
        return a & self.magnitude > (self.infinity if self.has_infinity else self.largest)

    def is_finite(self, a: int) -> bool:
        return a & self.magnitude <= self.largest

    def flush(self, a: int) -> int:
        """Subnormals become zeros of their sign."""
        return a if a & self.magnitude >= self.hidden else a & self.sign

    def number(self, a: int) -> tuple[int, int]:
        """`(n, e)` of a finite pattern, which is `n * 2**e`."""
        magnitude = a & self.magnitude
        n, field = magnitude & self.hidden - 1, magnitude >> self.fraction_bits
        if field:
            n |= self.hidden
            field -= 1
        return (-n if a & self.sign else n), field + self.least

    def pattern(self, n: int, e: int, mode: str, zero_sign: int = 0) -> int:
        """The pattern of `n * 2**e` rounded once; of 0 with the sign bit `zero_sign`."""
        if n == 0:
            return zero_sign
        sign = self.sign if n < 0 else 0
        n = abs(n)
        last = max(e + n.bit_length() - 1 - self.fraction_bits, self.least)
        shift = last - e
        if shift <= 0:
            kept = n << -shift
        else:
            kept, rest, half = n >> shift, n & (1 << shift) - 1, 1 << shift - 1
            if rest:
                kept += _UP[mode](bool(sign), kept & 1, rest, half)
        # The hidden bit of `kept` adds one to the exponent field, and so does a carry out of the fraction.
        out = kept + (last - self.least << self.fraction_bits)
        if out > self.largest:
            inward = mode == RZ or mode == (RP if sign else RM)
            out = self.largest if inward else self.infinity
        return sign | out


#: Whether the rest of a number rounds its magnitude up, by (is negative, last bit kept, rest, half of a last place).
_UP: Final[dict[str, Callable[[bool, int, int, int], bool]]] = {
    RN: lambda negative, odd, rest, half: rest > half or (rest == half and odd == 1),
    RZ: lambda negative, odd, rest, half: False,
    RM: lambda negative, odd, rest, half: negative,
    RP: lambda negative, odd, rest, half: not negative,
    RNA: lambda negative, odd, rest, half: rest >= half,
}

F16: Final = Format(5, 10, 0x7FFF)
BF16: Final = Format(8, 7, 0x7FFF)
F32: Final = Format(8, 23, 0x7FFFFFFF)
F64: Final = Format(11, 52, 0x7FF8000000000000)
TF32: Final = Format(8, 10, 0x3FFFF)
#: The upper words of doubles, which MUFU.RCP64H and .RSQ64H compute with.
F64_HIGH: Final = Format(11, 20, 0x7FFFFFFF)
E4M3: Final = Format(4, 3, 0x7F, 0x7E)
E5M2: Final = Format(5, 2, 0x7F)
FORMATS: Final[dict[str, Format]] = {
    "F16": F16, "BF16": BF16, "F32": F32, "F64": F64, "TF32": TF32, "E4M3": E4M3, "E5M2": E5M2,
}  # fmt: skip


def fma(f: Format, a: int, b: int, c: int, mode: str) -> int:
    """`a * b + c`, rounded once."""
    sign = (a ^ b) & f.sign
    if not (f.is_finite(a) and f.is_finite(b) and f.is_finite(c)):
        if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
            return f.nan
        if f.is_finite(a) and f.is_finite(b):
            return c
        if not (a & f.magnitude and b & f.magnitude) or (not f.is_finite(c) and sign != c & f.sign):
            return f.nan
        return sign | f.infinity
    (na, ea), (nb, eb), (nc, ec) = f.number(a), f.number(b), f.number(c)
    e = min(ea + eb, ec)
    total = (na * nb << ea + eb - e) + (nc << ec - e)
    # IEEE 754 section 6.3: zeros of one sign keep it, everything else that sums to nothing is +0, rounding down -0.
    alike = not na * nb and not nc and sign == c & f.sign
    return f.pattern(total, e, mode, sign if alike else f.sign if mode == RM else 0)


def add(f: Format, a: int, b: int, mode: str) -> int:
    """`a + b`."""
    return fma(f, a, f.one, b, mode)


def mul(f: Format, a: int, b: int, mode: str) -> int:
    """`a * b`; a product that is 0 has the sign of its factors in every mode."""
    sign = (a ^ b) & f.sign
    if f.is_finite(a) and f.is_finite(b):
        (na, ea), (nb, eb) = f.number(a), f.number(b)
        return f.pattern(na * nb, ea + eb, mode, sign)
    return fma(f, a, b, sign, mode)


def reciprocal(f: Format, a: int) -> int:
    """`1 / a`, to nearest."""
    sign = a & f.sign
    if f.is_nan(a):
        return f.nan
    if not f.is_finite(a):
        return sign
    n, e = f.number(a)
    if n == 0:
        return sign | f.infinity
    scale = 2 * f.fraction_bits + 4
    quotient, rest = divmod(1 << scale, abs(n))
    exact = quotient << 1 | (rest != 0)
    return f.pattern(-exact if sign else exact, -e - scale - 1, RN)


def reciprocal_root(f: Format, a: int) -> int:
    """`1 / sqrt(a)`, to nearest."""
    if f.is_nan(a):
        return f.nan
    if a & f.magnitude == 0:
        return a | f.infinity
    if a & f.sign:
        return f.nan
    if not f.is_finite(a):
        return 0
    n, e = f.number(a)
    if e & 1:
        n, e = n << 1, e - 1
    scale = 2 * f.fraction_bits + 8
    quotient, rest = divmod(1 << 2 * scale, n)
    root = isqrt(quotient)
    return f.pattern(root << 1 | (rest != 0 or root * root != quotient), -scale - e // 2 - 1, RN)


def root(f: Format, a: int) -> int:
    """`sqrt(a)`, to nearest."""
    if f.is_nan(a) or (a & f.sign and a & f.magnitude):
        return f.nan
    if a & f.magnitude == 0 or not f.is_finite(a):
        return a
    n, e = f.number(a)
    scale = 2 * f.fraction_bits + 8
    scale += (e - scale) & 1
    found = isqrt(n << scale)
    return f.pattern(found << 1 | (found * found != n << scale), (e - scale) // 2 - 1, RN)


def to_integral(f: Format, a: int, mode: str) -> int:
    """The integer that a finite pattern rounds to."""
    n, e = f.number(a)
    if e >= 0:
        return n << e
    floor, rest, half = n >> -e, n & (1 << -e) - 1, 1 << -e - 1
    up = {
        RN: rest > half or (rest == half and floor & 1 == 1),
        RZ: n < 0 and rest > 0,
        RM: False,
        RP: rest > 0,
    }
    return floor + up[mode]


def convert(to: Format, f: Format, a: int, mode: str, finite: bool = False) -> int:
    """The pattern in another format; with `finite`, what is too large becomes the largest number."""
    if f.is_nan(a):
        return to.nan
    sign = to.sign if a & f.sign else 0
    out = sign | to.infinity
    if f.is_finite(a):
        out = to.pattern(*f.number(a), mode, sign)
    if not to.is_finite(out) and (finite or not to.has_infinity):
        return sign | to.largest if finite else to.nan
    return out


def saturate(f: Format, a: int) -> int:
    """Into [+0, 1]; NaN becomes +0."""
    if f.is_nan(a) or a & f.sign:
        return 0
    return min(a, f.one)


def extremum(f: Format, a: int, b: int, smaller: bool, propagate: bool) -> int:
    """The smaller or larger, -0 below +0. A number wins over a NaN, unless NaNs are to `propagate`."""
    if f.is_nan(a) or f.is_nan(b):
        if propagate or (f.is_nan(a) and f.is_nan(b)):
            return f.nan
        return b if f.is_nan(a) else a
    return a if (_rank(f, a) < _rank(f, b)) == smaller else b


def _rank(f: Format, a: int) -> int:
    return -1 - (a & f.magnitude) if a & f.sign else a
