"""The formatting of `vprintf` against the C library's `snprintf`."""

from __future__ import annotations

import ctypes
import math
import random
import struct

import pytest

from drawloom.ptx.printf import argument_bytes, argument_count, format_vprintf

LIBC = ctypes.CDLL(None)
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e22, 1e-7, 123456789.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf]


def c_library(format: str, value: object) -> str:
    buffer = ctypes.create_string_buffer(4096)
    LIBC.snprintf(buffer, 4096, format.encode(), value)
    return buffer.value.decode()


def ours(format: str, arguments: bytes = b"", strings: dict[int, bytes] | None = None) -> str:
    return format_vprintf(format.encode(), arguments, lambda address: (strings or {})[address])


def specifications(letters: str, count: int) -> list[str]:
    generator = random.Random(letters)
    out = []
    for _ in range(count):
        flags = "".join(f for f in "-+ #0" if generator.random() < 0.25)
        width = generator.choice(["", "", str(generator.randint(1, 20))])
        precision = generator.choice(["", "", ".", f".{generator.randint(0, 15)}"])
        out.append(f"%{flags}{width}{precision}{{}}{generator.choice(letters)}")
    return out


def test_floats_are_the_c_librarys() -> None:
    generator = random.Random(5)
    for specification in specifications("eEfFgGaA", 2000):
        value = generator.choice([*FLOATS, struct.unpack("<d", generator.randbytes(8))[0]])
        if value != value:
            continue
        format = specification.format("")
        assert ours(format, struct.pack("<d", value)) == c_library(format, ctypes.c_double(value)), (format, value)


@pytest.mark.parametrize("length", ["", "h", "hh", "l", "ll"])
def test_integers_are_the_c_librarys(length: str) -> None:
    generator = random.Random(length)
    for specification in specifications("diuoxX", 600):
        value = generator.choice([0, 1, 127, 128, 255, (1 << 64) - 1, 1 << 31, 1 << 63, generator.getrandbits(64)])
        format = specification.format(length)
        size = 8 if length in ("l", "ll") else 4
        data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        assert ours(format, data) == c_library(format, ctypes.c_uint64(value)), (format, value)


def test_layout_of_mixed_arguments() -> None:
    format = "%d %f %c|%s|%*d %llx %p %.*f%%\n"
    text = {4096: b"weft"}
    data = struct.pack("<i4xdi4xQiiQQi4xd", -5, 2.5, ord("x"), 4096, 6, 42, 1 << 40, 0x1234, 1, 0.25)
    assert argument_bytes(format.encode()) == len(data)
    assert argument_count(format.encode()) == 10
    assert ours(format, data, text) == "-5 2.500000 x|weft|    42 10000000000 0x1234 0.2%\n"


def test_strings_pointers_and_odd_formats() -> None:
    assert ours("%-6.2s|%8s|", struct.pack("<QQ", 1, 2), {1: b"warp", 2: b"lane"}) == "wa    |    lane|"
    assert ours("%s %p", bytes(16)) == "(null) (nil)"
    assert ours("100%% %y %", b"") == "100% %y %"
    assert ours("%*d", struct.pack("<ii", -4, 7)) == "7   "
    assert ours("%c%c", struct.pack("<ii", 0xC3, 0xA9)) == "é"
    assert ours("nan %f %F", struct.pack("<QQ", 0x7FF8000000000000, 0xFFF8000000000000)) == "nan nan -NAN"


def test_a_block_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="reads 16 bytes"):
        ours("%d %f", bytes(8))
