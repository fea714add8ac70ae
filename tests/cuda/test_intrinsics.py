"""The functions of the device headers: each lane's results beside what Python computes from the same arguments."""

import struct
from fractions import Fraction
from functools import cache
from math import floor
from pathlib import Path

import numpy as np
import pytest

import drawloom

SOURCE = Path(__file__).parent / "intrinsics.cu"
DEVICES = ["cpu", "reference"]
MASK32, MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
RANDOM = np.random.default_rng(3)
A = RANDOM.integers(0, 2**32, 32, dtype=np.uint32)
B = RANDOM.integers(0, 2**32, 32, dtype=np.uint32)
A[:4] = [0, 1, 0x80000000, 0xFFFFFFFF]
B[:4] = [0, 0xFFFFFFFF, 0x80000000, 5]


@cache
def ptx() -> drawloom.ptx.Module:
    return drawloom.compile_cuda(SOURCE, "sm_80")


def rows(device: str, kernel: str, count: int, *arguments: object) -> np.ndarray:
    out = np.zeros((count, 32), np.uint64)
    drawloom.load(ptx(), device=device)[kernel][1, 32](out, *arguments)
    return out


def signed(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def bits_of(x: int, low: int, width: int) -> int:
    return (x >> low) & ((1 << width) - 1)


def byte_permutation(a: int, b: int, selector: int) -> int:
    both = b << 32 | a
    return sum(bits_of(both, 8 * (selector >> 4 * i & 7), 8) << 8 * i for i in range(4))


def dot(a: int, b: int, start: int, is_signed: bool) -> int:
    part = (lambda x: signed(x, 8)) if is_signed else (lambda x: x)
    return start + sum(part(bits_of(a, 8 * i, 8)) * part(bits_of(b, 8 * i, 8)) for i in range(4))


def integers(a: int, b: int, lane: int) -> list[int]:
    wide, both, s, t = a << 32 | b, b << 32 | a, signed(a), signed(b)
    ffs = lambda x: (x & -x).bit_length()  # noqa: E731
    shift = lane + 5
    return [
        a.bit_count(), wide.bit_count(), 32 - a.bit_length(), 64 - wide.bit_length(), ffs(a), ffs(wide),
        int(f"{a:032b}"[::-1], 2), int(f"{wide:064b}"[::-1], 2),
        (s * t >> 32) & MASK32, a * b >> 32,
        (signed(wide, 64) * signed(~wide, 64) >> 64) & MASK64, wide * (~wide & MASK64) >> 64,
        signed(a, 24) * signed(b, 24) & MASK32, bits_of(a, 0, 24) * bits_of(b, 0, 24) & MASK32,
        abs(s - t) + 7 & MASK32, abs(a - b) + 7 & MASK32,
        (s + t >> 1) & MASK32, (s + t + 1 >> 1) & MASK32, a + b >> 1, a + b + 1 >> 1,
        byte_permutation(a, b, lane * 0x1357 & 0xFFFF),
        (both << (shift & 31)) >> 32 & MASK32, both >> (shift & 31) & MASK32,
        (both << min(shift, 32)) >> 32 & MASK32, both >> min(shift, 32) & MASK32,
        dot(a, b, -3, True) & MASK32, dot(a, b, 3, False) & MASK32,
        min(s, t) & MASK32, max(a, b), abs(s) & MASK32,
    ]  # fmt: skip


def table(function: object, *arrays: np.ndarray) -> np.ndarray:
    """The rows that `function` gives for each lane."""
    columns = [function(*[x[lane].item() for x in arrays], lane) for lane in range(32)]  # type: ignore[operator]
    return np.array(columns, dtype=np.uint64).T


@pytest.mark.parametrize("device", DEVICES)
def test_integer_intrinsics(device: str) -> None:
    expected = table(integers, A, B)
    assert (rows(device, "integers", len(expected), A, B) == expected).all()


def test_parts_of_words(device: str = "cpu") -> None:
    a, b = A.copy(), B.copy()
    b[8:16] ^= b[8:16] ^ a[8:16] & np.uint32(0xFFFF00FF)  # some parts are equal
    assert not rows(device, "parts", 16, a, b).any()


def lanes(lane: int) -> list[int]:
    a = [int(x) for x in A]
    odd = sum((x & 1) << i for i, x in enumerate(a))
    neighbour = struct.unpack("<Q", struct.pack("<d", a[lane ^ 1] + 0.5))[0]

    def reduced(op: str, values: list[int]) -> int:
        total = values[0]
        for v in values[1:]:
            total = {"&": total & v, "|": total | v, "^": total ^ v}[op]
        return total

    return [
        a[5], a[(lane + 3) % 8 + lane // 8 * 8],
        a[lane - 2] if lane >= 2 else a[lane], a[lane - 1] if lane % 4 else a[lane],
        a[lane + 7] if lane + 7 < 32 else a[lane], a[lane + 3] if lane % 16 + 3 < 16 else a[lane],
        a[lane ^ 9], neighbour, odd, 0, 1,
        sum(1 << i for i in range(32) if i % 5 == lane % 5),
        MASK32, 1, 0, 0,
        sum(a) & MASK32, min(signed(x) for x in a) & MASK32, max(a),
        reduced("&", [x | 0xFF for x in a]), reduced("|", [x & 0xFF for x in a]), reduced("^", a),
        0x3FF if lane < 10 else 0,
        odd.bit_count(), 1, 1, (1 << lane) - 1, 32 * 100 + 10 + 32,
    ]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_exchanges_between_lanes(device: str) -> None:
    expected = np.array([lanes(lane) for lane in range(32)], dtype=np.uint64).T
    assert (rows(device, "lanes", len(expected), A, B) == expected).all()


CELLS = np.dtype({"names": ["i", "u", "l", "f", "d", "h"], "formats": ["i4", "u4", "u8", "f4", "f8", "u2"],
                  "offsets": [0, 4, 8, 16, 24, 32], "itemsize": 40})  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_atomics(device: str) -> None:
    cells = np.zeros(13, CELLS)
    cells[2] = (2**31 - 1, MASK32, MASK64, 0, 0, 0)
    cells["u"][4] = MASK32
    before = np.zeros(32, np.uint64)
    drawloom.load(ptx(), device=device)["atomics"][1, 32](cells.view(np.uint8), before, A)
    total = int(A.astype(np.uint64).sum())
    assert cells[0].tolist() == (-496, total & MASK32, total << 8, 16.0, 496.0, 0)
    assert cells[1].tolist()[:2] == (-496, -total & MASK32)
    assert cells[2].tolist()[:3] == (int(A.view(np.int32).min()), int(A.min()), int(A.min()))
    assert cells[3].tolist()[:3] == (max(0, int(A.view(np.int32).max())), int(A.max()), int(A.max()))
    bitwise = [np.bitwise_and.reduce(A | 0xFFFF0000), np.bitwise_or.reduce(A), np.bitwise_xor.reduce(A)]
    assert cells["u"][4:7].tolist() == [int(x) for x in bitwise]
    assert cells["u"][7:9].tolist() == [2, 8]  # 32 steps around 0..9, upwards and downwards from 0
    # Each exchange saw what another left; the last is still there.
    assert sorted([*before.tolist(), int(cells["u"][9])]) == list(range(33))
    assert (cells["f"][10], cells["h"][11], cells["d"][12]) == (64.0, 77, 8.0)


def as_bits(kind: str, value: float) -> int:
    return int.from_bytes(struct.pack("<" + kind, value), "little")


def rounded(value: Fraction, dtype: type, towards: str) -> float:
    """An exact value in a float type, rounded towards a direction."""
    near = dtype(float(value)) if dtype is np.float64 else dtype(np.longdouble(value.numerator) / value.denominator)
    exact = Fraction(float(near))
    wrong = {"down": exact > value, "up": exact < value, "zero": abs(exact) > abs(value)}[towards]
    if not wrong:
        return near
    away = {"down": -np.inf, "up": np.inf, "zero": 0.0}[towards]
    return np.nextafter(near, dtype(away))


def conversions(f: float, d: float, lane: int) -> list[int]:
    exact, wide = Fraction(f), Fraction(d)
    square = rounded(exact * exact, np.float32, "up")
    return [
        round(exact) & MASK64, int(exact) & MASK64, -floor(-exact) & MASK64, floor(exact) & MASK64,
        round(wide) & MASK64, floor(wide) & MASK64,
        as_bits("f", rounded(wide, np.float32, "zero")), as_bits("f", rounded(wide, np.float32, "up")),
        as_bits("d", rounded(Fraction(2**60 + lane), np.float64, "down")),
        as_bits("f", rounded(Fraction(0x1000001 + 2 * lane), np.float32, "zero")),
        as_bits("d", d) >> 32, as_bits("d", d) & MASK32, as_bits("d", d),
        as_bits("f", rounded(exact + Fraction(float(np.float32(1e-8))), np.float32, "zero")), as_bits("f", square),
        as_bits("d", rounded(wide + Fraction(1e-18), np.float64, "down")), as_bits("d", float(wide * wide + wide)),
        as_bits("f", min(max(f, 0.0), 1.0)),
    ]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_conversions_and_roundings(device: str) -> None:
    f = RANDOM.uniform(-3, 3, 32).astype(np.float32)
    d = RANDOM.uniform(-1e6, 1e6, 32)
    f[:4] = [0.5, 1.5, -2.5, 1.0]
    expected = table(conversions, f, d)
    assert (rows(device, "conversions", len(expected), f, d) == expected).all()


@pytest.mark.parametrize("device", DEVICES)
def test_loads_and_stores_with_hints(device: str) -> None:
    source, out = RANDOM.random((32, 4), np.float32), np.zeros((32, 4), np.float32)
    pairs, sums = np.arange(64, dtype=np.int32).reshape(32, 2), np.zeros(32, np.int32)
    octets = np.arange(200, 232, dtype=np.uint8)
    drawloom.load(ptx(), device=device)["cached"][1, 32](out, source, pairs, octets, sums)
    assert (out[:, 0] == 2 * source[:, 0]).all() and (out[:, 1:] == source[:, 1:]).all()
    assert (pairs == np.arange(64).reshape(32, 2)[:, ::-1]).all() and (sums == 2 * octets.astype(int)).all()


@pytest.mark.parametrize("device", DEVICES)
def test_spaces_of_addresses_and_clocks(device: str) -> None:
    assert (rows(device, "spaces", 5, np.zeros(4, np.int32)).T == [1, 1, 0, 1, 1]).all()
