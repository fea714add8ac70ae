"""Cooperative groups, random numbers and small floats: their kernels on devices, beside the published algorithms."""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import drawloom

SOURCE = Path(__file__).parent / "libraries.cu"
MASK = 0xFFFFFFFF


@cache
def module(device: str) -> drawloom.Module:
    return drawloom.load(drawloom.compile_cuda(SOURCE, "sm_80"), device=device)


def test_groups_of_threads(device: str = "cpu") -> None:
    n = 64
    values = np.random.default_rng(1).integers(0, 1000, n).astype(np.int32)
    out = np.zeros((19, n), np.int32)
    module(device)["groups"][1, n](out, values)
    v = values.tolist()
    for i in range(n):
        first, rank = i & ~7, i & 7
        tile = v[first : first + 8]
        warp = [k for k in range(i & ~31, (i & ~31) + 32) if v[k] & 1]
        side = [x for x in tile if (x % 3 == 0) == (v[i] % 3 == 0)]
        coalesced = [warp.index(i), len(warp), v[warp[0]], sum(v[k] for k in warp)] if v[i] & 1 else [0] * 4
        expected = [
            rank, i // 8, tile[3], tile[max(rank - 1, 0)], tile[rank + 2] if rank < 6 else v[i], tile[rank ^ 5],
            sum((x & 1) << k for k, x in enumerate(tile)), int(v[0] in tile), sum(tile), max(tile),
            sum(tile[: rank + 1]), sum(tile[:rank]), *coalesced, len(side), sum(side), i % 16 + 1600,
        ]  # fmt: skip
        assert out[:, i].tolist() == expected


def test_the_grid_meets(device: str = "cpu") -> None:
    blocks, rounds = 4, 3
    total, out = np.zeros(1, np.int32), np.zeros((rounds, blocks), np.int32)
    module(device)["grid"][blocks, 32](total, out, rounds)
    assert out.tolist() == [[10 * (k + 1)] * blocks for k in range(rounds)]


class Xorwow:
    """Marsaglia's generator, with the seeds and the sequences 2^67 numbers apart of the curand documentation."""

    def __init__(self, seed: int, sequence: int, offset: int) -> None:
        low = 1099087573 * (seed & MASK ^ 0xAAD26B49)
        high = 2591861531 * (seed >> 32 ^ 0xF7DCEFDD)
        self.d = 6615241 + low + high
        self.v = [123456789 + low & MASK, 362436069 ^ low & MASK, 521288629 + high & MASK, 88675123 ^ high & MASK,
                  5783321 + low & MASK]  # fmt: skip
        matrix = far_columns()
        for _ in range(sequence):
            self.v = times(matrix, self.v)
        for _ in range(offset):
            self.next()

    def next(self) -> int:
        self.v = step(self.v)
        self.d += 362437
        return self.v[4] + self.d & MASK


def step(v: list[int]) -> list[int]:
    t = v[0] ^ v[0] >> 2
    return [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & MASK]


def times(columns: list[int], v: list[int]) -> list[int]:
    """A matrix over bits, by columns, times a state."""
    bits = sum(word << 32 * k for k, word in enumerate(v))
    total = 0
    for k in range(160):
        if bits >> k & 1:
            total ^= columns[k]
    return [total >> 32 * k & MASK for k in range(5)]


@cache
def far_columns() -> list[int]:
    """The matrix of 2^67 steps: that of one, squared 67 times."""
    join = lambda v: sum(word << 32 * k for k, word in enumerate(v))  # noqa: E731
    split = lambda x: [x >> 32 * k & MASK for k in range(5)]  # noqa: E731
    columns = [join(step(split(1 << k))) for k in range(160)]
    for _ in range(67):
        columns = [join(times(columns, split(column))) for column in columns]
    return columns


def philox_round_trip(counter: list[int], key: list[int]) -> list[int]:
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & MASK, p >> 32 ^ c[3] ^ k[1], p & MASK]
        k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
    return c


class Philox:
    def __init__(self, seed: int, sequence: int, offset: int) -> None:
        self.key, self.sequence, self.at = [seed & MASK, seed >> 32], sequence, offset

    def next(self) -> int:
        block, word = divmod(self.at, 4)
        self.at += 1
        counter = [block & MASK, block >> 32, self.sequence & MASK, self.sequence >> 32]
        return philox_round_trip(counter, self.key)[word]


@pytest.mark.parametrize(("name", "generator"), [("xorwow", Xorwow), ("philox", Philox)])
def test_random_numbers(name: str, generator: type, device: str = "cpu") -> None:
    threads, seed = 8, 0x123456789ABCDEF
    out, u, d = np.zeros((threads, 6), np.uint32), np.zeros(threads, np.float32), np.zeros(threads)
    normal = np.zeros((threads, 8), np.float32)
    module(device)[name][1, threads](out, u, d, normal, seed)
    for i in range(threads):
        state = generator(seed, i, 5)
        assert out[i].tolist() == [state.next() for _ in range(6)]
        assert u[i] == np.float32(np.float32(state.next()) * np.float32(2**-32) + np.float32(2**-33))
        if name == "philox":
            assert d[i] == (state.next() + 1) * 2.0**-32
        else:
            low, high = state.next(), state.next()
            assert d[i] == (low ^ high << 21) * 2.0**-53 + 2.0**-54
        for k in range(4):
            x, y = state.next(), state.next()
            length = math.sqrt(-2 * math.log((x + 0.5) / 2**32))
            angle = 2 * math.pi * (y + 0.5) / 2**32
            assert normal[i, 2 * k : 2 * k + 2] == pytest.approx(
                [length * math.sin(angle), length * math.cos(angle)], rel=1e-5, abs=1e-5
            )


def test_known_answers_of_philox(device: str = "cpu") -> None:
    """Those that the authors of Random123 publish (kat_vectors)."""
    counters = [[0] * 4, [MASK] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]]
    keys = [[0] * 2, [MASK] * 2, [0xA4093822, 0x299F31D0]]
    answers = [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ]
    out = np.zeros((3, 4), np.uint32)
    module(device)["philox_block"][1, 3](out, np.array(counters, np.uint32), np.array(keys, np.uint32))
    assert out.tolist() == answers


def nearest(value: Fraction, dtype: type) -> float:
    """An exact value in a 16-bit type; of two that are as near, the even one; infinity beyond the largest."""
    with np.errstate(over="ignore"):
        guess = np.array(float(value)).astype(dtype)
    bits = int(guess.view(np.uint16))
    around = np.array([bits - 1 & 0xFFFF, bits, bits + 1 & 0xFFFF], np.uint16)
    options = [(abs(Fraction(float(x)) - value), int(b) & 1, float(x)) for x, b in zip(around.view(dtype), around)
               if np.isfinite(float(x))]  # fmt: skip
    return min(options)[2] if np.isfinite(float(guess)) else float(guess)


@pytest.mark.parametrize(("name", "dtype"), [("halves", np.float16), ("bfloats", ml_dtypes.bfloat16)])
def test_small_floats(name: str, dtype: type, device: str = "cpu") -> None:
    n, seed = 1000, np.random.default_rng(5)
    x, y, z = [seed.integers(0, 65536, n, dtype=np.uint16) for _ in range(3)]
    out = np.zeros((8, n), np.uint16)
    module(device)[name][(n + 127) // 128, 128](out, x, y, z, n)
    a, b, c = [v.view(dtype) for v in (x, y, z)]
    tenth = float(np.float32(0.1))
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a / b]
    for row, values in zip(out.view(dtype), expected):
        assert np.array_equal(row.astype(np.float64), values.astype(np.float64), equal_nan=True)
    for i in range(n):
        p, q, r = float(a[i]), float(b[i]), float(c[i])
        if all(map(math.isfinite, (p, q, r))):
            assert float(out[4].view(dtype)[i]) == nearest(Fraction(p) * Fraction(q) + Fraction(r), dtype)
            assert float(out[5].view(dtype)[i]) == nearest(Fraction(float(np.float32(p * tenth))), dtype)
            assert float(out[6].view(dtype)[i]) == nearest(Fraction(p * 0.1), dtype)
        assert float(out[7].view(dtype)[i]) == (1 if p < q else 2 if math.isnan(p) else 0)


def test_pairs_of_small_floats(device: str = "cpu") -> None:
    h, b = np.zeros(2, np.float16), np.zeros(2, np.uint16)
    one, other = np.zeros(2, np.float16), np.zeros(2, np.uint16)
    module(device)["pairs"][1, 32](h, b, one, other)
    assert h.tolist() == [32 * 3.25, 32 * 7.0] and one.tolist() == [0, 32 * 3.25]
    assert b.view(ml_dtypes.bfloat16).astype(float).tolist() == [32, 64]
    assert other.view(ml_dtypes.bfloat16).astype(float).tolist() == [0, 16]
