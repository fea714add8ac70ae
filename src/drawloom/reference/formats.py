"""Floating-point bit patterns to exact integers and back: unpack without loss, round once on the way back.

A finite value is ``(-1)**sign * significand * 2**exponent`` with Python integers, so sums, products and quotients
can be exact before the one rounding that IEEE 754 (and PTX ISA 9.0 section 9.7.3) asks for.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.types import Type

#: Rounding modes by their PTX names; ``rna`` is to nearest, ties away from zero.
RN: Final = "rn"
RZ: Final = "rz"
RM: Final = "rm"
RP: Final = "rp"
RNA: Final = "rna"


class Format:
    """A binary floating-point format. ``minimum_exponent`` is that of the last place of subnormals.

    ``infinity`` is the smallest pattern that is no finite number; formats without infinities have only NaNs there, or
    nothing at all. ``nan`` is what the hardware makes of a NaN.
    """

    def __init__(self, name: str, exponent_bits: int, fraction_bits: int, nan: int, infinity: int = 0) -> None:
        self.name = name
        self.bits = 1 + exponent_bits + fraction_bits
        self.fraction_bits = fraction_bits
        self.exponent_mask = (1 << exponent_bits) - 1
        self.fraction_mask = (1 << fraction_bits) - 1
        self.hidden = 1 << fraction_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.minimum_exponent = 1 - self.bias - fraction_bits
        self.sign_bit = 1 << (self.bits - 1)
        self.magnitude_mask = self.sign_bit - 1
        self.infinity = infinity if infinity else self.exponent_mask << fraction_bits
        self.has_infinity = infinity == 0
        self.largest = self.infinity - 1
        #: What numbers become that are too large.
        self.beyond = self.infinity if self.infinity <= self.magnitude_mask else self.largest
        self.nan = nan
        self.one = self.bias << fraction_bits

    def is_nan(self, pattern: int) -> bool:
        magnitude = pattern & self.magnitude_mask
        return magnitude > self.infinity if self.has_infinity else magnitude >= self.infinity

    def is_finite(self, pattern: int) -> bool:
        return pattern & self.magnitude_mask < self.infinity

    def is_subnormal(self, pattern: int) -> bool:
        """Whether it is a nonzero number too small to be normal."""
        return 0 < pattern & self.magnitude_mask < self.hidden

    def flush(self, pattern: int) -> int:
        """``.ftz``: a subnormal becomes the zero of its sign."""
        return pattern & self.sign_bit if 0 < pattern & self.magnitude_mask < self.hidden else pattern

    def pattern_of_two(self, exponent: int) -> int:
        """The pattern of ``2**exponent``, which must be a normal number."""
        return exponent + self.bias << self.fraction_bits

    def unpack(self, pattern: int) -> tuple[int, int, int]:
        """``(sign, significand, exponent)`` of a finite pattern, exactly."""
        field = pattern >> self.fraction_bits & self.exponent_mask
        sign = pattern >> (self.bits - 1) & 1
        if field == 0:
            return sign, pattern & self.fraction_mask, self.minimum_exponent
        return sign, pattern & self.fraction_mask | self.hidden, field - 1 + self.minimum_exponent

    def round(self, sign: int, significand: int, exponent: int, mode: str) -> int:
        """The pattern of ``(-1)**sign * significand * 2**exponent`` rounded once by ``mode``.

        Overflow gives an infinity or the largest finite number as IEEE 754 section 7.4 says.
        """
        signed = self.sign_bit if sign else 0
        if significand == 0:
            return signed
        last_place = exponent + significand.bit_length() - 1 - self.fraction_bits
        if last_place < self.minimum_exponent:
            last_place = self.minimum_exponent
        shift = last_place - exponent
        if shift <= 0:
            kept = significand << -shift
        else:
            kept = significand >> shift
            rest = significand & ((1 << shift) - 1)
            if rest:
                kept += _increment(mode, sign, kept & 1, rest, 1 << (shift - 1))
        # The hidden bit of `kept` adds one to the exponent field; a carry out of the fraction does too.
        magnitude = kept + (last_place - self.minimum_exponent << self.fraction_bits)
        if magnitude >= self.infinity:
            magnitude = self._overflow(sign, mode)
        return signed | magnitude

    def _overflow(self, sign: int, mode: str) -> int:
        towards_zero = mode == RZ or (mode == RM and not sign) or (mode == RP and sign)
        return self.largest if towards_zero else self.beyond


def _increment(mode: str, sign: int, odd: int, rest: int, half: int) -> int:
    """1 when the discarded ``rest`` (not 0; ``half`` is half a unit of the last kept place) rounds away from zero."""
    if mode == RN:
        return 1 if rest > half or (rest == half and odd) else 0
    if mode == RZ:
        return 0
    if mode == RNA:
        return 1 if rest >= half else 0
    return sign if mode == RM else 1 - sign


F16: Final = Format("f16", 5, 10, 0x7FFF)
BF16: Final = Format("bf16", 8, 7, 0x7FFF)
F32: Final = Format("f32", 8, 23, 0x7FFFFFFF)
F64: Final = Format("f64", 11, 52, 0x7FF8000000000000)
#: The upper 19 bits of an f32.
TF32: Final = Format("tf32", 8, 10, 0x3FFFF)
#: The upper 32 bits of an f64: what ``rcp`` and ``rsqrt.approx.ftz.f64`` compute with.
F64_HIGH: Final = Format("f64 high", 11, 20, 0x7FFFFFFF)
E4M3: Final = Format("e4m3", 4, 3, 0x7F, 0x7F)
E5M2: Final = Format("e5m2", 5, 2, 0x7F)
# Every pattern is a number: a NaN becomes the largest.
E2M1: Final = Format("e2m1", 2, 1, 0x7, 0x8)
E2M3: Final = Format("e2m3", 2, 3, 0x1F, 0x20)
E3M2: Final = Format("e3m2", 3, 2, 0x1F, 0x20)

FORMATS: Final[dict[str, Format]] = {
    "f16": F16, "f16x2": F16, "bf16": BF16, "bf16x2": BF16, "f32": F32, "f32x2": F32, "f64": F64, "tf32": TF32,
    "e4m3x2": E4M3, "e5m2x2": E5M2, "e2m1x2": E2M1, "e2m3x2": E2M3, "e3m2x2": E3M2,
}  # fmt: skip


def format_of(type: Type) -> Format:
    """The format of (each lane of) a floating-point type."""
    return FORMATS[type.name]
