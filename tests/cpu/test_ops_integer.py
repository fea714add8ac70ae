"""Integer and bit instructions against Python integers, written from the manual's pseudo-code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from drawloom.ptx.isa import decode
from drawloom.ptx.types import TYPES
from tests.cpu.jit import CASES, compiled, supported

#: Values for each operand.
COUNT = 192
EDGES = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 300, 0x7FFF, 0x8000, 0xFFFF, 0x10000]


def patterns(bits: int, seed: int, count: int = COUNT) -> np.ndarray:
    """Edge values, small ones, single bits and uniform ones, of ``bits`` bits."""
    rng = np.random.default_rng(seed)
    mask = (1 << bits) - 1
    values = [v & mask for v in EDGES] + [-v & mask for v in EDGES]
    values += (
        [1 << i for i in range(bits)] + [(1 << i) - 1 for i in range(bits)] + [-(1 << i) & mask for i in range(bits)]
    )
    values += [mask >> 1, (mask >> 1) + 1, mask]
    edges = np.array(values, np.uint64)
    picked = rng.choice(edges, count)
    raw = rng.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False) & np.uint64(mask)
    small = raw >> rng.integers(0, bits, count).astype(np.uint64)
    which = rng.integers(0, 3, count)
    return np.where(which == 0, picked, np.where(which == 1, raw, small))


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def number(value: int, type_name: str) -> int:
    t = TYPES[type_name]
    return signed(value, t.bits) if t.is_signed else value & ((1 << t.bits) - 1)


#: What the oracle said, so that it is asked once for all targets.
_wanted: dict[tuple[object, ...], list[int | tuple[int, ...]]] = {}


def check(
    text: str,
    target: str,
    lanes: int,
    oracle: Callable[..., int | tuple[int, ...]],
    constants: tuple[tuple[int, int], ...] = (),
    seed: int = 0,
) -> None:
    """``oracle`` takes raw patterns (integers) and gives the raw result, or a tuple of them."""
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    op = compiled(text, lanes, target, constants)
    fixed = dict(constants)
    inputs = []
    for i, elem in enumerate(op.arguments):
        bits = int(elem[1:])
        values = patterns(bits, seed * 16 + i) if bits > 1 else np.random.default_rng(seed + i).integers(0, 2, COUNT)
        inputs.append(np.full(COUNT, fixed[i] & 0xFFFFFFFFFFFFFFFF, np.uint64) if i in fixed else values)
    results = op(*inputs)
    key = (text, constants, seed)
    if key not in _wanted:
        _wanted[key] = [oracle(*[int(a[row]) for a in inputs]) for row in range(COUNT)]
    for row, expected in enumerate(_wanted[key]):
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for got, want, elem in zip(results, wanted, op.results, strict=True):
            width = int(elem[1:])
            arguments = [hex(int(a[row])) for a in inputs]
            assert int(got[row]) == want & ((1 << width) - 1), (text, arguments, hex(int(got[row])))


def ints(name: str) -> list[str]:
    """Every integer type that opcode ``name`` takes, from the instruction table."""
    return [t for t in "u16 u32 u64 s16 s32 s64".split() if _legal(f"{name}.{t}")]


def _legal(text: str) -> bool:
    try:
        decode(text)
    except Exception:
        return False
    return True


def truncated_division(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def div(a: int, b: int) -> int:
    return -1 if b == 0 else truncated_division(a, b)


def rem(a: int, b: int) -> int:
    return a if b == 0 else a - b * truncated_division(a, b)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "div": div,
    "rem": rem,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", list(BINARY))
def test_binary(name: str, target: str, lanes: int) -> None:
    for t in ints(name):
        check(f"{name}.{t}", target, lanes, lambda a, b, t=t: BINARY[name](number(a, t), number(b, t)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_division_by_constants(target: str, lanes: int) -> None:
    for t in "u16 s16 u32 s32 u64 s64".split():
        for divisor in (0, 1, -1, 7, 10, 64):
            raw = divisor & ((1 << TYPES[t].bits) - 1)
            for name in ("div", "rem"):
                oracle = lambda a, b, t=t, name=name: BINARY[name](number(a, t), number(b, t))  # noqa: E731
                check(f"{name}.{t}", target, lanes, oracle, ((1, raw),))


def test_64_bit_division_takes_both_roads() -> None:
    """Blocks of 32 short operands are one division of doubles, mixed blocks take the long way: check blocks apart."""
    rng = np.random.default_rng(3)
    for t, bits in (("u64", 32), ("s64", 31), ("u64", 53), ("s64", 52)):
        op = compiled(f"div.{t}", 32, "host")
        a = rng.integers(0, 1 << bits, 64, dtype=np.uint64)
        b = rng.integers(0, 1 << bits, 64, dtype=np.uint64) >> rng.integers(0, bits, 64).astype(np.uint64)
        if t == "s64":
            a[:16] = (-a[:16].astype(np.int64)).astype(np.uint64)
            a[20], b[20] = np.uint64((1 << 64) - (1 << bits)), np.uint64((1 << 64) - 1)
        a[21], b[21] = np.uint64((1 << bits) - 1), np.uint64((1 << bits // 2) + 1)
        b[40] = np.uint64(1 << 63)
        (got,) = op(a, b)
        for x, y, q in zip(a, b, got, strict=True):
            assert int(q) == div(number(int(x), t), number(int(y), t)) & (1 << 64) - 1


@pytest.mark.parametrize("target", [target for target, lanes in CASES if lanes == 32])
def test_64_bit_quotients_of_neighbours_of_multiples(target: str) -> None:
    """Dividends just below, at and above multiples of divisors of every length, where a quotient that was rounded to
    another number would show; NumPy divides these exactly."""
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    rng = np.random.default_rng(5)
    count = 1 << 15
    for t in ("u64", "s64"):
        signs = 0 if t == "u64" else 1
        largest = np.uint64((1 << 64 - signs) - 1)
        b = rng.integers(1, 1 << 64, count, dtype=np.uint64) >> rng.integers(signs, 64, count).astype(np.uint64)
        b = np.maximum(b, np.uint64(1))
        quotient = rng.integers(0, largest // b, endpoint=True, dtype=np.uint64)
        quotient >>= rng.integers(0, 64, count).astype(np.uint64) * (rng.random(count) < 0.5)
        near = quotient * b + rng.integers(-1, 2, count).astype(np.uint64)
        a = np.where(rng.random(count) < 0.1, largest, near) & largest
        wanted = a // b
        if t == "s64":
            for one in (a, b):
                minus = rng.random(count) < 0.5
                one[minus] = np.uint64(0) - one[minus]
                wanted = np.where(minus, np.uint64(0) - wanted, wanted)
        (got,) = compiled(f"div.{t}", 32, target)(a, b)
        (left,) = compiled(f"rem.{t}", 32, target)(a, b)
        assert np.array_equal(got, wanted)
        assert np.array_equal(left, a - wanted * b)


@pytest.mark.parametrize(
    "divisor", [3, 10, (1 << 15) - 1, (1 << 15) + 1, 1_000_003, (1 << 32) + 1, (1 << 63) - 1, (1 << 63) + 3]
)
def test_64_bit_quotients_by_constants(divisor: int) -> None:
    """Dividends at multiples of the constant, small ones and the largest, and what stands beside them."""
    rng = np.random.default_rng(7)
    for t in ("u64", "s64"):
        by = number(divisor, t)
        size, largest = np.uint64(abs(by)), np.uint64((1 << 64) - 1 if t == "u64" else (1 << 63) - 1)
        multiples = rng.integers(0, largest // size, 4096, endpoint=True, dtype=np.uint64)
        multiples[:2048] >>= rng.integers(0, 64, 2048).astype(np.uint64)
        multiples[2048:2080] = largest // size
        a = (multiples * size + rng.integers(-1, 2, 4096).astype(np.uint64)) & largest
        a[-1] = largest
        quotient = a // size
        left = a - quotient * size
        if t == "s64":
            minus = rng.random(4096) < 0.5
            a, left = np.where(minus, np.uint64(0) - a, a), np.where(minus, np.uint64(0) - left, left)
            quotient = np.where(minus != (by < 0), np.uint64(0) - quotient, quotient)
        constant = ((1, divisor),)
        for name, wanted in (("div", quotient), ("rem", left)):
            (got,) = compiled(f"{name}.{t}", 32, "host", constant)(a, np.full(4096, divisor, np.uint64))
            assert np.array_equal(got, wanted), (name, t)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_products(target: str, lanes: int) -> None:
    for t in "u16 s16 u32 s32 u64 s64".split():
        w = TYPES[t].bits
        n = lambda v, t=t: number(v, t)  # noqa: E731
        check(f"mul.hi.{t}", target, lanes, lambda a, b, n=n, w=w: n(a) * n(b) >> w)
        check(f"mad.lo.{t}", target, lanes, lambda a, b, c, n=n: n(a) * n(b) + c)
        check(f"mad.hi.{t}", target, lanes, lambda a, b, c, n=n, w=w: (n(a) * n(b) >> w) + c)
        if w < 64:
            check(f"mul.wide.{t}", target, lanes, lambda a, b, n=n: n(a) * n(b))
            check(f"mad.wide.{t}", target, lanes, lambda a, b, c, n=n: n(a) * n(b) + c)
    clamp = lambda v: max(-(1 << 31), min((1 << 31) - 1, v))  # noqa: E731
    s = lambda v: signed(v, 32)  # noqa: E731
    check("mad.hi.sat.s32", target, lanes, lambda a, b, c: clamp((s(a) * s(b) >> 32) + s(c)))
    check("add.sat.s32", target, lanes, lambda a, b: clamp(s(a) + s(b)))
    check("sub.sat.s32", target, lanes, lambda a, b: clamp(s(a) - s(b)))
    for t in ("u32", "s32"):
        low = lambda v, t=t: signed(v, 24) if t == "s32" else v & 0xFFFFFF  # noqa: E731
        check(f"mul24.lo.{t}", target, lanes, lambda a, b, low=low: low(a) * low(b))
        check(f"mul24.hi.{t}", target, lanes, lambda a, b, low=low: low(a) * low(b) >> 16)
        check(f"mad24.lo.{t}", target, lanes, lambda a, b, c, low=low: low(a) * low(b) + c)
        check(f"mad24.hi.{t}", target, lanes, lambda a, b, c, low=low: (low(a) * low(b) >> 16) + c)
    check(
        "mad24.hi.sat.s32", target, lanes,
        lambda a, b, c: clamp(signed(signed(a, 24) * signed(b, 24) >> 16, 32) + s(c)),
    )  # fmt: skip


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_unary_and_sad(target: str, lanes: int) -> None:
    for t in "s16 s32 s64".split():
        check(f"abs.{t}", target, lanes, lambda a, t=t: abs(number(a, t)))
        check(f"neg.{t}", target, lanes, lambda a, t=t: -number(a, t))
    for t in "u16 u32 u64 s16 s32 s64".split():
        check(f"sad.{t}", target, lanes, lambda a, b, c, t=t: c + abs(number(a, t) - number(b, t)))
    check("min.relu.s32", target, lanes, lambda a, b: max(0, min(signed(a, 32), signed(b, 32))))
    check("max.relu.s32", target, lanes, lambda a, b: max(0, signed(a, 32), signed(b, 32)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_packed_halves(target: str, lanes: int) -> None:
    def halves(function: Callable[[int, int], int], kind: str) -> Callable[[int, int], int]:
        def whole(a: int, b: int) -> int:
            out = 0
            for shift in (0, 16):
                out |= (function(number(a >> shift, kind), number(b >> shift, kind)) & 0xFFFF) << shift
            return out

        return whole

    for kind in ("u16", "s16"):
        check(f"add.{kind}x2", target, lanes, halves(lambda a, b: a + b, kind))
        check(f"min.{kind}x2", target, lanes, halves(min, kind))
        check(f"max.{kind}x2", target, lanes, halves(max, kind))
    check("min.relu.s16x2", target, lanes, halves(lambda a, b: max(0, min(a, b)), "s16"))
    check("max.relu.s16x2", target, lanes, halves(lambda a, b: max(0, a, b), "s16"))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_dot_products(target: str, lanes: int) -> None:
    def field(v: int, bits: int, index: int, t: str) -> int:
        raw = v >> (bits * index) & ((1 << bits) - 1)
        return signed(raw, bits) if t == "s32" else raw

    for ta in ("u32", "s32"):
        for tb in ("u32", "s32"):
            check(
                f"dp4a.{ta}.{tb}", target, lanes,
                lambda a, b, c, ta=ta, tb=tb: c + sum(field(a, 8, i, ta) * field(b, 8, i, tb) for i in range(4)),
            )  # fmt: skip
            for half, first in (("lo", 0), ("hi", 2)):
                check(
                    f"dp2a.{half}.{ta}.{tb}", target, lanes,
                    lambda a, b, c, ta=ta, tb=tb, first=first: (
                        c + sum(field(a, 16, i, ta) * field(b, 8, first + i, tb) for i in range(2))
                    ),
                )  # fmt: skip


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_carry_chains(target: str, lanes: int) -> None:
    for w in (32, 64):
        top = 1 << w
        check(f"add.cc.u{w}", target, lanes, lambda a, b, top=top: (a + b, a + b >= top))
        check(f"addc.u{w}", target, lanes, lambda a, b, c: a + b + c)
        check(f"addc.cc.s{w}", target, lanes, lambda a, b, c, top=top: (a + b + c, a + b + c >= top))
        check(f"sub.cc.u{w}", target, lanes, lambda a, b: (a - b, a >= b))
        check(f"subc.u{w}", target, lanes, lambda a, b, c: a - b - (1 - c))
        check(f"subc.cc.s{w}", target, lanes, lambda a, b, c: (a - b - (1 - c), a >= b + (1 - c)))
        for t in (f"u{w}", f"s{w}"):
            n = lambda v, t=t: number(v, t)  # noqa: E731
            low = lambda a, b, top=top: a * b % top  # noqa: E731
            high = lambda a, b, n=n, w=w, top=top: (n(a) * n(b) >> w) % top  # noqa: E731
            for half, part in (("lo", low), ("hi", high)):
                check(
                    f"mad.{half}.cc.{t}", target, lanes,
                    lambda a, b, c, part=part, top=top: (part(a, b) + c, part(a, b) + c >= top),
                )  # fmt: skip
                check(
                    f"madc.{half}.cc.{t}", target, lanes,
                    lambda a, b, c, k, part=part, top=top: (part(a, b) + c + k, part(a, b) + c + k >= top),
                )  # fmt: skip
                check(f"madc.{half}.{t}", target, lanes, lambda a, b, c, k, part=part: part(a, b) + c + k)
