"""The pure function of an opcode by its spelling, and values that find mistakes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from drawloom.ptx.isa import decode
from drawloom.reference.instructions import semantics

INTEGER_EDGES = {
    bits: sorted(
        {v & (1 << bits) - 1 for v in (0, 1, 2, 3, 7, 31, 32, 33, -1, -2, -31)}
        | {(1 << bits - 1) + d & (1 << bits) - 1 for d in (-2, -1, 0, 1)}
        | {0x5555555555555555 & (1 << bits) - 1, 0x80FF7F0180FF7F01 & (1 << bits) - 1}
    )
    for bits in (16, 32, 64)
}

F32_EDGES = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x00000001, 0x80000001, 0x007FFFFF,
    0x00800000, 0x80800000, 0x00800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
    0xFFC00001, 0x3F000000, 0x40490FDB, 0x4B000000, 0x4B7FFFFF, 0x4F000000, 0xCF000000, 0x4EFFFFFF, 0x5F000000,
    0x34000000, 0x33800000, 0x3FC00000, 0x40200000, 0x2F800000, 0x1FFFFFFF, 0x20000000,
]  # fmt: skip
F64_EDGES = [
    struct.unpack("<Q", struct.pack("<d", v))[0]
    for v in (
        0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e308, -1e308, 5e-324, -5e-324, 2.2250738585072014e-308,
        2.225073858507201e-308, float("inf"), float("-inf"), float("nan"), 3.141592653589793, 4294967295.5,
        2147483647.5, -2147483648.5, 9.223372036854775807e18, 1.8446744073709552e19, 65504.0, 65520.0, 1e-40, 3e38,
        3.5e38, 1 + 2**-52, 1 - 2**-53, 2**-24, 2**-25, 2**-149, 2**-150,
    )
]  # fmt: skip


def function(text: str) -> Callable[..., int]:
    """The pure function of an opcode."""
    return semantics(decode(text))


def samples(edges: list[int], bits: int, arity: int, count: int = 1500, seed: int = 1) -> list[tuple[int, ...]]:
    """Tuples of edge values, neighbours of them, and random patterns."""
    generator = random.Random(f"{seed} {bits} {arity}")

    def draw() -> int:
        kind = generator.random()
        if kind < 0.4:
            return generator.choice(edges)
        if kind < 0.6:
            return generator.choice(edges) + generator.randint(-3, 3) & (1 << bits) - 1
        return generator.getrandbits(bits)

    out = [(a,) * arity for a in edges]
    out += [tuple(draw() for _ in range(arity)) for _ in range(count)]
    return out


def close_pairs(bits: int, count: int = 500) -> list[tuple[int, int]]:
    """Pairs of patterns that differ little, for cancellation."""
    generator = random.Random(f"close {bits}")
    out = []
    for _ in range(count):
        a = generator.getrandbits(bits)
        out.append((a, a + generator.randint(-40, 40) & (1 << bits) - 1))
    return out
