"""C ``printf`` formatting of what a kernel hands to ``vprintf``: format bytes and an argument block, to text.

The block is laid out as CUDA lays it out (CUDA C++ Programming Guide, "Formatted Output"): arguments in order,
each at its natural alignment, ``int`` in 4 bytes, ``long``, ``long long``, pointers and ``double`` in 8.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

_FLAGS: Final = "-+ #0"
_LENGTHS: Final = ("hh", "h", "ll", "l", "j", "z", "t", "L", "q")
_WIDE_LENGTHS: Final = frozenset(("ll", "l", "j", "z", "t", "q"))
_INTEGERS: Final = frozenset("diouxXc")
_FLOATS: Final = frozenset("eEfFgGaA")
_POINTERS: Final = frozenset("sp")


class Conversion:
    """One ``%`` conversion. ``width`` and ``precision`` are -1 when absent and -2 for ``*``."""

    def __init__(self, flags: str, width: int, precision: int, length: str, letter: str) -> None:
        self.flags = flags
        self.width = width
        self.precision = precision
        self.length = length
        self.letter = letter

    @property
    def size(self) -> int:
        """The bytes that the argument takes in the block."""
        if self.letter in _INTEGERS:
            return 8 if self.length in _WIDE_LENGTHS and self.letter != "c" else 4
        return 8


def parse_format(text: str) -> list[str | Conversion]:
    """A format split into literal text and conversions, in order; what is no valid conversion stays text."""
    out: list[str | Conversion] = []
    literal = ""
    at = 0
    while at < len(text):
        if text[at] != "%":
            literal += text[at]
            at += 1
            continue
        if text.startswith("%%", at):
            literal += "%"
            at += 2
            continue
        conversion, end = _parse_conversion(text, at + 1)
        if conversion is None:
            literal += text[at]
            at += 1
            continue
        if literal:
            out.append(literal)
            literal = ""
        out.append(conversion)
        at = end
    if literal:
        out.append(literal)
    return out


def _parse_conversion(text: str, at: int) -> tuple[Conversion | None, int]:
    flags = ""
    while at < len(text) and text[at] in _FLAGS:
        flags += text[at]
        at += 1
    width, at = _parse_count(text, at)
    precision = -1
    if at < len(text) and text[at] == ".":
        precision, at = _parse_count(text, at + 1)
        if precision == -1:
            precision = 0
    length = ""
    for candidate in _LENGTHS:
        if text.startswith(candidate, at):
            length = candidate
            at += len(candidate)
            break
    if at >= len(text):
        return None, at
    letter = text[at]
    if letter not in _INTEGERS and letter not in _FLOATS and letter not in _POINTERS:
        return None, at
    return Conversion(flags, width, precision, length, letter), at + 1


def _parse_count(text: str, at: int) -> tuple[int, int]:
    if at < len(text) and text[at] == "*":
        return -2, at + 1
    start = at
    while at < len(text) and "0" <= text[at] <= "9":
        at += 1
    return (int(text[start:at]) if at > start else -1), at


def argument_bytes(format: bytes) -> int:
    """The size in bytes of the argument block that ``format`` reads (0 for none)."""
    end = 0
    for part in parse_format(format.decode("utf-8", "surrogateescape")):
        if isinstance(part, str):
            continue
        for size in _argument_sizes(part):
            end = (end + size - 1) // size * size + size
    return end


def argument_count(format: bytes) -> int:
    """The number of arguments that ``format`` reads: what ``vprintf`` returns on the device."""
    parts = parse_format(format.decode("utf-8", "surrogateescape"))
    return sum([len(_argument_sizes(part)) for part in parts if not isinstance(part, str)])


def _argument_sizes(conversion: Conversion) -> list[int]:
    stars = (conversion.width == -2) + (conversion.precision == -2)
    return [4] * stars + [conversion.size]


def format_vprintf(format: bytes, arguments: bytes, read_string: Callable[[int], bytes]) -> str:
    """The text that ``vprintf(format, arguments)`` prints.

    ``format`` has no final NUL; ``arguments`` holds at least ``argument_bytes(format)`` bytes (ValueError
    otherwise); ``read_string(address)`` returns the bytes before the NUL at a non-null device address.
    """
    needed = argument_bytes(format)
    if len(arguments) < needed:
        raise ValueError(f"the format reads {needed} bytes of arguments; the block has {len(arguments)}")
    out = ""
    at = 0
    for part in parse_format(format.decode("utf-8", "surrogateescape")):
        if isinstance(part, str):
            out += part
            continue
        values: list[int] = []
        for size in _argument_sizes(part):
            at = (at + size - 1) // size * size
            values.append(int.from_bytes(arguments[at : at + size], "little"))
            at += size
        out += _format(part, values, read_string)
    return out.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _format(conversion: Conversion, values: list[int], read_string: Callable[[int], bytes]) -> str:
    flags, width, precision = conversion.flags, conversion.width, conversion.precision
    taken = 0
    if width == -2:
        width = _signed(values[0], 32)
        taken = 1
        if width < 0:
            flags += "-"
            width = -width
    if precision == -2:
        precision = max(-1, _signed(values[taken], 32))
    value = values[-1]
    letter = conversion.letter
    sign = ""
    zero_pads = "0" in flags and "-" not in flags
    if letter == "c":
        body = bytes([value & 0xFF]).decode("utf-8", "surrogateescape")
        zero_pads = False
    elif letter == "s":
        body = read_string(value).decode("utf-8", "surrogateescape") if value else "(null)"
        body = body if precision < 0 else body[:precision]
        zero_pads = False
    elif letter == "p":
        body = f"0x{value:x}" if value else "(nil)"
        zero_pads = False
    elif letter in _FLOATS:
        sign, body, is_number = _format_float(letter, flags, precision, value)
        zero_pads = zero_pads and is_number
    else:
        sign, body = _format_integer(conversion, flags, precision, value)
        zero_pads = zero_pads and precision < 0
    missing = max(0, width - len(sign) - len(body))
    if "-" in flags:
        return sign + body + " " * missing
    return sign + "0" * missing + body if zero_pads else " " * missing + sign + body


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _plus(negative: bool, flags: str) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _format_integer(conversion: Conversion, flags: str, precision: int, value: int) -> tuple[str, str]:
    """The sign or prefix, and the digits."""
    bits = {"hh": 8, "h": 16}.get(conversion.length, conversion.size * 8)
    letter = conversion.letter
    if letter in "di":
        number = _signed(value, bits)
        digits = str(abs(number))
        sign = _plus(number < 0, flags)
    else:
        number = value & ((1 << bits) - 1)
        digits = f"{number:o}" if letter == "o" else f"{number:x}" if letter in "xX" else str(number)
        sign = "0x" if "#" in flags and number and letter in "xX" else ""
    if precision == 0 and number == 0:
        digits = ""
    digits = digits.rjust(precision, "0") if precision > 0 else digits
    if letter == "o" and "#" in flags and not digits.startswith("0"):
        digits = "0" + digits
    return (sign.upper(), digits.upper()) if letter == "X" else (sign, digits)


def _format_float(letter: str, flags: str, precision: int, pattern: int) -> tuple[str, str, bool]:
    """The sign (and hexadecimal prefix), the digits, and whether the value is a number that zeros may pad."""
    value: float = struct.unpack("<d", pattern.to_bytes(8, "little"))[0]
    sign = _plus(bool(pattern >> 63), flags)
    magnitude = pattern & (1 << 63) - 1
    upper = letter in "EFGA"
    if magnitude >= 0x7FF << 52:
        name = "inf" if magnitude == 0x7FF << 52 else "nan"
        return sign, name.upper() if upper else name, False
    if letter in "aA":
        digits = _hexadecimal(magnitude, precision, "#" in flags)
        prefix = "0X" if upper else "0x"
        return sign + prefix, digits.upper() if upper else digits, True
    alternate = "#" if "#" in flags else ""
    return sign, f"%{alternate}.{6 if precision < 0 else precision}{letter}" % abs(value), True


def _hexadecimal(magnitude: int, precision: int, alternate: bool) -> str:
    """``h.hhhp+d`` of a finite double's pattern without its sign, without the ``0x``."""
    exponent = (magnitude >> 52) - 1023
    fraction = magnitude & (1 << 52) - 1
    lead = 1
    if exponent == -1023:
        lead = 0
        exponent = -1022 if fraction else 0
    digits = f"{fraction:013x}"
    if precision < 0:
        digits = digits.rstrip("0")
    elif precision < 13:
        scale = 4 * (13 - precision)
        whole = lead << 52 | fraction
        kept, rest, half = whole >> scale, whole & (1 << scale) - 1, 1 << (scale - 1)
        kept += rest > half or (rest == half and kept & 1)
        lead = kept >> 4 * precision
        digits = f"{kept & (1 << 4 * precision) - 1:0{precision}x}" if precision else ""
    else:
        digits = digits.ljust(precision, "0")
    point = "." if digits or alternate else ""
    return f"{lead:x}{point}{digits}p{exponent:+d}"
