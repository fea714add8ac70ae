"""Expanded integer division against exact quotients, with reciprocals as wrong as the manual allows."""

from __future__ import annotations

import os

import numpy as np
import pytest

from drawloom.ptx import parse
from drawloom.sass.expand import expand
from tests.reference.semantics import function
from tests.sass.expansion import MODES, NUMPY, compute, expanded, kernel, worst

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
COUNT = 2_000_000 if FULL else 60_000
TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")


def operands(bits: int, count: int, seed: int) -> np.ndarray:
    """Numbers of every length, near powers of two from both sides, and negative ones."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    length = rng.integers(64 - bits, 64, count).astype("u8")
    power = np.uint64(1) << rng.integers(0, bits, count).astype("u8")
    near = power + rng.integers(-3, 4, count).astype("i8").view("u8")
    kind = rng.integers(0, 4, count)
    values = np.where(kind == 0, raw, np.where(kind == 1, raw >> length, np.where(kind == 2, near, -(raw >> length))))
    return values.astype(f"u{bits // 8}")


def multiples(a: np.ndarray, b: np.ndarray, seed: int) -> np.ndarray:
    """Every other dividend next to a multiple of its divisor, where quotients change."""
    rng = np.random.default_rng(seed)
    kept = rng.integers(0, 2, len(a)).astype(bool)
    nonzero = np.where(b == 0, b.dtype.type(1), b)
    near = a // nonzero * nonzero + rng.integers(-1, 2, len(a)).astype("i8").astype(a.dtype)
    return np.where(kept, a, near)


def exact(name: str, type: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Truncated quotients and their remainders; by zero all ones and the dividend."""
    bits = a.dtype.itemsize * 8
    zero = b == 0
    if type[0] == "u":
        safe = np.where(zero, a.dtype.type(1), b)
        quotient, remainder = a // safe, a % safe
    else:
        minus_a, minus_b = a >> (bits - 1) != 0, b >> (bits - 1) != 0
        x, y = np.where(minus_a, -a, a), np.where(minus_b, -b, b)
        safe = np.where(zero, a.dtype.type(1), y)
        quotient, remainder = x // safe, x % safe
        quotient = np.where(minus_a != minus_b, -quotient, quotient)
        remainder = np.where(minus_a, -remainder, remainder)
    return np.where(zero, ~np.zeros_like(a), quotient) if name == "div" else np.where(zero, a, remainder)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["div", "rem"])
def test_fuzz_quotients_and_remainders_are_exact(name: str, type: str) -> None:
    opcode = f"{name}.{type}"
    bits = int(type[1:])
    b = operands(bits, COUNT, 1)
    a = multiples(operands(bits, COUNT, 2), b, 3)
    want = exact(name, type, a, b)
    module = expanded(kernel(opcode, [type] * 3))
    for text in (str(module), *[worst(module, mode) for mode in MODES]):
        assert (compute(text, type, a, b) == want).all()


@pytest.mark.parametrize("type", ["u16", "s16"])
def test_every_divisor_of_16_bits(type: str) -> None:
    """With the dividends at which a quotient is most likely to be wrong: the largest, and multiples of the divisor."""
    b = np.arange(1 << 16, dtype="u4").astype("u2")
    safe = np.maximum(b, 1)
    module = expanded(kernel(f"div.{type}", [type] * 3))
    texts = [worst(module, mode) for mode in MODES]
    for top in (0xFFFF, 0x8000, 0x7FFF, 0x5555):
        for a in (np.full_like(b, top), top // safe * safe, top // safe * safe - 1):
            want = exact("div", type, a, b)
            for text in texts:
                assert (compute(text, type, a, b) == want).all()


@pytest.mark.parametrize("type", TYPES)
def test_by_constants(type: str) -> None:
    """Small divisors, those near powers of two, and some of every length."""
    bits = int(type[1:])
    mask = (1 << bits) - 1
    rng = np.random.default_rng(bits)
    divisors = {*range(13), *[(1 << p) + d & mask for p in (3, bits - 2, bits - 1) for d in (-1, 0, 1)], mask, mask - 6}
    divisors |= {int(v) for v in operands(bits, 40 if FULL else 6, 9)} | {25, 125, 641, 10_000, 6_700_417 & mask}
    for divisor in sorted(divisors):
        literal = divisor - (1 << bits) if type[0] == "s" and divisor >> bits - 1 else divisor
        b = np.full(4096, divisor, NUMPY[type])
        a = multiples(operands(bits, 4096, int(rng.integers(1 << 30))), b, 5)
        a[:8] = np.array(
            [0, 1, mask, mask >> 1, (mask >> 1) + 1, divisor, divisor - 1 & mask, -divisor & mask], a.dtype
        )
        for name in ("div", "rem"):
            text = str(expanded(kernel(f"{name}.{type}", [type] * 3, str(literal))))
            assert (compute(text, type, a) == exact(name, type, a, b)).all(), (name, literal)


@pytest.mark.parametrize("divisor", [3, 7, 10, 641, 0x80000001, 0xFFFFFFFF, 14])
def test_division_by_a_constant_has_neither_a_division_nor_a_reciprocal(divisor: int) -> None:
    made = expand(parse(kernel("div.u32", ["u32"] * 3, str(divisor))), 90).functions["k"].instructions()
    names = [i.name for i in made]
    assert names.count("mul") == 1
    assert "rcp" not in names


def test_the_reference_agrees_with_the_exact_quotients() -> None:
    """What ``exact`` computes is what the reference interpreter does."""
    for type in TYPES:
        bits = int(type[1:])
        b = operands(bits, 300, 11)
        a = multiples(operands(bits, 300, 12), b, 13)
        for name in ("div", "rem"):
            compute_one = function(f"{name}.{type}")
            assert [compute_one(int(x), int(y)) for x, y in zip(a, b)] == exact(name, type, a, b).tolist()
