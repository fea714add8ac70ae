"""Floating-point immediates: IEEE bit patterns to the text that nvdisasm prints, and back."""

from __future__ import annotations

import struct
from typing import Final

# kind: (bits, exponent bits, struct code); bf16 is the upper half of a 32-bit float
FLOAT_KINDS: Final[dict[str, tuple[int, int]]] = {"F16": (16, 5), "BF16": (16, 8), "F32": (32, 8), "F64": (64, 11)}
_INTEGERS: Final[dict[str, str]] = {"F16": "<H", "F32": "<I", "F64": "<Q"}
_FLOATS: Final[dict[str, str]] = {"F16": "<e", "F32": "<f", "F64": "<d"}


def float_text(kind: str, bits: int) -> str:
    """What nvdisasm prints for this bit pattern; a space follows what is not a plain number."""
    width, exponent_bits = FLOAT_KINDS[kind]
    mantissa_bits = width - 1 - exponent_bits
    sign = "-" if bits >> (width - 1) & 1 else "+"
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        if mantissa == 0:
            return sign + "INF "
        return sign + ("QNAN " if mantissa >> (mantissa_bits - 1) else "SNAN ")
    value = _value(kind, bits)
    if value == 0:
        return "-0.0 " if sign == "-" else "0"
    return f"{value:.20e}" if abs(value) >= 1e9 else f"{value:.20g}"


def float_bits(kind: str, text: str) -> int:
    """The bit pattern that prints as `text`; raises ValueError where it is no number of this kind."""
    width, exponent_bits = FLOAT_KINDS[kind]
    mantissa_bits = width - 1 - exponent_bits
    text = text.strip()
    name = text.lstrip("+-")
    if name in ("INF", "QNAN", "SNAN"):
        bits = ((1 << exponent_bits) - 1) << mantissa_bits
        bits |= {"INF": 0, "QNAN": 1 << (mantissa_bits - 1), "SNAN": 1}[name]
        return bits | (1 << (width - 1) if text[0] == "-" else 0)
    value = float(text)
    try:
        if kind == "BF16":
            return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
        return int(struct.unpack(_INTEGERS[kind], struct.pack(_FLOATS[kind], value))[0])
    except OverflowError:
        raise ValueError(f"{text} is too large for {kind}") from None


def _value(kind: str, bits: int) -> float:
    if kind == "BF16":
        kind, bits = "F32", bits << 16
    return float(struct.unpack(_FLOATS[kind], struct.pack(_INTEGERS[kind], bits))[0])
