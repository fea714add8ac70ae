"""Expanded division and square roots against correctly rounded results, with estimates as wrong as the manual allows.

Volume: the `cpu` device runs the instruction itself and its expansion. Where quotients and roots are nearly ties, and
on edge cases, the reference interpreter's exact integer arithmetic decides.
"""

from __future__ import annotations

import os
from itertools import product

import numpy as np
import pytest

from drawloom.ptx import parse
from tests.reference.harness import launch
from tests.reference.semantics import F32_EDGES, F64_EDGES, function
from tests.sass.expansion import HEADER, MODES, compute, expanded, kernel, worst

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
COUNT = 2_000_000 if FULL else 50_000
ROUNDINGS = ("rn", "rz", "rm", "rp")
#: Where quick roads end, and the divisors and radicands that are hard.
_LIMITS32 = [
    0x3FFFFFFF, 0x7E800000, 0x7E800001, 0x7E7FFFFF, 0x7F000000, 0x0D800000, 0x0D7FFFFF, 0x0D000000, 0x0CFFFFFF,
    0x3FFFFFFD, 0x3F6E9372, 0x3FFC114A, 0x407FFFFF, 0x3F800001, 0x00FFFFFF, 0x01000000, 0x00000002, 0x7F7FFFFE,
]  # fmt: skip
_LIMITS64 = [
    0x03F << 52, (0x03F << 52) - 1, 0x7F0 << 52, (0x7F0 << 52) - 1, 0x7EE << 52, 0x7FD << 52, 0x7FE << 52, 2, 3,
    0x3FFFFFFFFFFFFFFF, 0x3FFFFFFFFFFFFFFD, 0x400FFFFFFFFFFFFF, 0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF,
    0x001FFFFFFFFFFFFF, 0x0020000000000000, 0x000FFFFFFFFFFFFE, 0x7FEFFFFFFFFFFFFE, 0x0008000000000000,
]  # fmt: skip
EDGES32 = np.array([*F32_EDGES, *_LIMITS32], "u4")
EDGES64 = np.array([*F64_EDGES, *_LIMITS64], "u8")
EDGES = {"f32": np.concatenate([EDGES32, EDGES32 ^ np.uint32(1 << 31)]),
         "f64": np.concatenate([EDGES64, EDGES64 ^ np.uint64(1 << 63)])}  # fmt: skip
SPECS = {"f32": (32, 23, "f4"), "f64": (64, 52, "f8")}


def patterns(type: str, count: int, seed: int) -> np.ndarray:
    """Edges, all patterns alike, numbers near 1, and small and subnormal ones."""
    bits, fraction, _ = SPECS[type]
    rng = np.random.default_rng(seed)
    one = 0x3F800000 if bits == 32 else 0x3FF << 52
    draw = [
        rng.choice(EDGES[type], count).astype("u8"),
        rng.integers(0, 1 << 64, count, dtype=np.uint64) >> np.uint64(64 - bits),
        rng.integers(one - (1 << fraction), one + (2 << fraction), count, dtype=np.uint64),
        rng.integers(0, 30 << fraction, count, dtype=np.uint64),
        rng.integers(0, 1 << 64, count, dtype=np.uint64) >> rng.integers(65 - fraction, 64, count).astype("u8"),
    ]
    return np.choose(rng.integers(0, len(draw), count), draw).astype(f"u{bits // 8}")


def same(type: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Equal patterns; NaNs are alike."""
    view = SPECS[type][2]
    return (got == want) | (np.isnan(got.view(view)) & np.isnan(want.view(view)))


def agree(opcode: str, type: str, want: np.ndarray, *sources: np.ndarray, estimates: bool = True) -> None:
    """The expansion gives ``want`` with true estimates and with all wrong ones."""
    module = expanded(kernel(opcode, [type] * (len(sources) + 1)))
    texts = [str(module)] + ([worst(module, mode) for mode in MODES] if estimates else [])
    for number, text in enumerate(texts):
        good = same(type, compute(text, type, *sources), want)
        if not good.all():
            at = int(np.flatnonzero(~good)[0])
            raise AssertionError(f"{opcode} {[hex(s[at]) for s in sources]} wants {want[at]:#x}, estimates {number}")


OPCODES = [
    *[(f"{n}.{r}{z}.f32", "f32", k) for n, k in (("div", 2), ("rcp", 1), ("sqrt", 1)) for r in ROUNDINGS
      for z in ("", ".ftz")],
    *[(f"{n}.{r}.f64", "f64", k) for n, k in (("div", 2), ("rcp", 1), ("sqrt", 1)) for r in ROUNDINGS],
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "type", "arity"), OPCODES)
def test_fuzz_rounded_as_the_cpu_device_rounds(opcode: str, type: str, arity: int) -> None:
    sources = [patterns(type, COUNT, 7 * n + 1) for n in range(arity)]
    want = compute(kernel(opcode, [type] * (arity + 1)), type, *sources)
    agree(opcode, type, want, *sources)


@pytest.mark.parametrize(("opcode", "type", "arity"), OPCODES)
def test_edges_are_rounded_as_the_reference_rounds(opcode: str, type: str, arity: int) -> None:
    """Every pair of edge values."""
    cases = list(product(EDGES[type].tolist(), repeat=arity))
    one = function(opcode)
    want = np.array([one(*case) for case in cases], EDGES[type].dtype)
    sources = [np.array(column, EDGES[type].dtype) for column in zip(*cases)]
    agree(opcode, type, want, *sources)


def test_fuzz_every_f32_reciprocal() -> None:
    """All significands, for every estimate within one unit (where scaling by powers of two changes nothing)."""
    b = np.arange(0x3F800000, 0x40000000, 1 if FULL else 7, dtype="u4")
    b = np.concatenate([b, EDGES32[EDGES32 >> 23 == 0x7F], np.array([0x3FFFFFFF], "u4")])
    want = (1.0 / b.view("f4").astype("f8")).astype("f4").view("u4")
    agree("rcp.rn.f32", "f32", want, b)


def test_fuzz_every_f32_square_root() -> None:
    """All significands and both parities of the exponent, for estimates at the ends of and inside the interval."""
    x = np.arange(0x3F000000, 0x40000000, 1 if FULL else 13, dtype="u4")
    x = np.concatenate([x, np.array([0x3F6E9372, 0x3FFC114A, 0x3F7FFFFF, 0x3F800001], "u4")])
    want = np.sqrt(x.view("f4").astype("f8")).astype("f4").view("u4")
    agree("sqrt.rn.f32", "f32", want, x)


def inverse(odd: np.ndarray) -> np.ndarray:
    """Inverses modulo 2**64."""
    x = odd.copy()
    for _ in range(6):
        x = x * (np.uint64(2) - odd * x)
    return x


def test_fuzz_f32_quotients_next_to_ties() -> None:
    """Every pair with a 2**s = b m + c, m odd of 25 bits and c small: those whose quotient is nearest to a tie.

    An error of 5 units of c is the most that the quick road can make; c goes to 8. In full: every divisor.
    """
    first, last = 1 << 23, 1 << 24
    rng = np.random.default_rng(5)
    chosen = np.concatenate(
        [rng.integers(first, last, 40_000), np.arange(last - 2048, last), np.arange(first, first + 64)]
    )
    every = range(first, last, 1 << 20) if FULL else [0]
    for begin in every:
        b = np.arange(begin, begin + (1 << 20), dtype="u8") if FULL else chosen.astype("u8")
        zeros = np.uint64(1)
        while zeros < 16:  # c has the factors of two that b has
            part = b[b & (zeros * np.uint64(2) - np.uint64(1)) == zeros]
            _check_ties(part, zeros)
            zeros *= np.uint64(2)


def _check_ties(b: np.ndarray, factor: np.uint64) -> None:
    tests = []
    for shift, c in product((24, 25), range(-8, 9)):
        if c == 0 or c % int(factor):
            continue
        width = np.uint64(shift) - np.uint64(int(factor).bit_length() - 1)
        modulus = np.uint64(1) << width
        m = np.uint64(-(c // int(factor)) & (1 << 64) - 1) * inverse(b // factor) & modulus - np.uint64(1)
        while m.size and int(m.min()) < 1 << 25:
            fits = (m >= 1 << 24) & (m < 1 << 25) & (m & np.uint64(1) == 1)
            total = b * m + np.uint64(c & (1 << 64) - 1)
            a = total >> np.uint64(shift)
            fits &= (a >= 1 << 23) & (a < 1 << 24) & ((a >= b) == (shift == 24))
            tests.append(np.stack([a[fits], b[fits]]))
            m = m + modulus
    if not tests:
        return
    a, b = np.concatenate(tests, axis=1)
    quotient = (a.astype("f8") / b.astype("f8")).astype("f4").view("u4")
    bias = np.uint64(127 - 127 << 23)
    floats = [(v & np.uint64((1 << 23) - 1) | np.uint64(127 << 23)) + bias for v in (a, b)]
    agree("div.rn.f32", "f32", quotient, *[f.astype("u4") for f in floats])


def hard_quotients64(count: int) -> tuple[list[int], list[int]]:
    """Significands a, b of 53 bits with a 2**s = b m + c, m odd of 54 bits, c small; and the reciprocals that are
    nearest to ties: b m = 2**106 - 1, by the factors of that number."""
    rng = np.random.default_rng(6)
    tops, bottoms = [], []
    for n in range(count):
        b = int(rng.integers(1 << 52, 1 << 53)) | 1
        if n % 4 == 0:
            b = (1 << 53) - 1 - 2 * int(rng.integers(0, 4096))
        c = int(rng.integers(1, 6)) * (1 if n & 1 else -1)
        for shift in (53, 54):
            m = -c * pow(b, -1, 1 << shift) % (1 << shift)
            for candidate in (m, m + (1 << shift)):
                a, rest = divmod(b * candidate + c, 1 << shift)
                if rest == 0 and 1 << 52 <= a < 1 << 53 and candidate >> 53 == 1 and (a >= b) == (shift == 53):
                    tops.append(a)
                    bottoms.append(b)
    for b in _divisors():
        tops += [1 << 52, (1 << 53) - 1, (1 << 52) + 1]
        bottoms += [b] * 3
    return tops, bottoms


def _divisors() -> list[int]:
    """The divisors of 2**106 - 1 with 53 bits."""
    primes = (3, 107, 6361, 69431, 20394401, 28059810762433)
    assert np.prod([1], dtype=object) * 3 * 107 * 6361 * 69431 * 20394401 * 28059810762433 == (1 << 106) - 1
    found = {1}
    for prime in primes:
        found |= {d * prime for d in found}
    return sorted(d for d in found if d >> 52 == 1)


def from_significand(values: list[int], exponent: int = 0) -> np.ndarray:
    return np.array([v & (1 << 52) - 1 | 1023 + exponent << 52 for v in values], "u8")


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_f64_quotients_next_to_ties(rounding: str) -> None:
    tops, bottoms = hard_quotients64(20_000 if FULL else 1500)
    assert len(tops) > 700
    one = function(f"div.{rounding}.f64")
    a, b = from_significand(tops), from_significand(bottoms)
    want = np.array([one(int(x), int(y)) for x, y in zip(a, b)], "u8")
    agree(f"div.{rounding}.f64", "f64", want, a, b)
    inverse_of = function(f"rcp.{rounding}.f64")
    agree(f"rcp.{rounding}.f64", "f64", np.array([inverse_of(int(y)) for y in b], "u8"), b)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_f64_quotients_that_are_subnormal(rounding: str) -> None:
    """Exact ones, exact ties and next to ties at every place, down to half of the smallest number."""
    rng = np.random.default_rng(8)
    tops, bottoms, places = [], [], []
    for place in range(-3, 56):
        for _ in range(12):
            b = int(rng.integers(1 << 52, 1 << 53)) >> int(rng.integers(0, 52)) or 1
            q = int(rng.integers(1, 1 << max(1, min(52, 54 - place))))
            for delta in (0, 1, -1):
                # a / b is q and a half or a whole unit, or next to it
                a = b * q + delta
                if 0 < a < 1 << 53:
                    tops.append(a)
                    bottoms.append(b)
                    places.append(place)
    a = np.array(tops, "f8").view("u8") - (np.array([400 for _ in places], "u8") << np.uint64(52))
    exponents = 1074 - 400 + 1 - np.array(rng.integers(-2, 3, len(tops)))
    b = np.array(bottoms, "f8").view("u8") + (exponents.astype("u8") << np.uint64(52))
    one = function(f"div.{rounding}.f64")
    want = np.array([one(int(x), int(y)) for x, y in zip(a, b)], "u8")
    assert ((want > 0) & (want < 1 << 52)).sum() > 300
    agree(f"div.{rounding}.f64", "f64", want, a, b)
    minus = np.uint64(1 << 63)
    want = np.array([one(int(x), int(y)) for x, y in zip(a | minus, b)], "u8")
    agree(f"div.{rounding}.f64", "f64", want, a | minus, b)


def hard_roots64() -> np.ndarray:
    """53-bit numbers x with x 2**k = m**2 + c, m odd of 54 bits, c small: those whose root is nearest to a tie."""
    found = {0x3FF0000000000001, 0x400FFFFFFFFFFFFF}
    for c in range(-161, 168, 8):  # odd squares are 1 modulo 8
        for k in (54, 55):
            roots = {1}
            for bit in range(3, k + 1):
                roots = {
                    r
                    for s in roots
                    for r in (s, s + (1 << bit - 1), s + (1 << bit - 2))
                    if (r * r + c) % (1 << bit) == 0
                }
                roots = {r % (1 << bit) for r in roots}
            for root in roots | {(1 << k) - r for r in roots}:
                for m in (root, root + (1 << k)):
                    x, rest = divmod(m * m + c, 1 << k)
                    if m >> 53 == 1 and rest == 0 and x >> 52 == 1:
                        found.add(x & (1 << 52) - 1 | (1023 if k == 54 else 1024) << 52)
    return np.array(sorted(found), "u8")


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_f64_roots_next_to_ties(rounding: str) -> None:
    x = hard_roots64()
    assert len(x) > 40
    scaled = np.concatenate([x + np.uint64(2 * e << 52) for e in (0, 7, 200)] + [x - np.uint64(1022 << 52)])
    one = function(f"sqrt.{rounding}.f64")
    agree(f"sqrt.{rounding}.f64", "f64", np.array([one(int(v)) for v in scaled], "u8"), scaled)


@pytest.mark.parametrize("opcode", ["div.rn.f32", "div.rz.ftz.f32", "sqrt.rn.f64", "div.rm.f64", "rcp.rp.f32"])
def test_the_reference_interpreter_runs_the_expansion_to_the_same_bits(opcode: str) -> None:
    type = opcode[-3:]
    arity = 2 if opcode.startswith("div") else 1
    sources = [patterns(type, 192, 31 + n) for n in range(arity)]
    text = kernel(opcode, [type] * (arity + 1))
    want, got = np.zeros(192, sources[0].dtype), np.zeros(192, sources[0].dtype)
    launch(text, "k", 6, 32, 192, want, *sources)
    launch(expanded(text), "k", 6, 32, 192, got, *sources)
    assert same(type, got, want).all()


# -- approximations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_wrong_estimates_are_wrong_and_allowed(mode: str) -> None:
    """Otherwise the tests here would show nothing."""
    x = patterns("f32", 20_000, 3)
    x = x[(x >> 23 > 2) & (x >> 23 < 252)]
    for name, bound in (("rcp", 2**-23), ("rsqrt", 2**-22.9)):
        plain = parse(kernel(f"{name}.approx.ftz.f32", ["f32", "f32"]))
        got = compute(worst(plain, mode), "f32", x).view("f4").astype("f8")
        v = x.view("f4").astype("f8")
        true = 1 / v if name == "rcp" else 1 / np.sqrt(v)
        error = np.abs(got / true - 1)
        assert error.max() <= bound * (1 + 1e-9)
        assert (got.astype("f4") != true.astype("f4")).mean() > 0.2
    y = patterns("f64", 20_000, 4)
    y = y[(y >> np.uint64(52) > 2) & (y >> np.uint64(52) < 2044)]
    for name, bound in (("rcp", 2**-20), ("rsqrt", 2**-19)):
        plain = parse(kernel(f"{name}.approx.ftz.f64", ["f64", "f64"]))
        got = compute(worst(plain, mode), "f64", y)
        v = y.view("f8")
        true = 1 / v if name == "rcp" else 1 / np.sqrt(v)
        assert (got & np.uint64(0xFFFFFFFF) == 0).all()
        assert np.abs(got.view("f8") / true - 1).max() <= bound


APPROXIMATE = {
    # opcode: relative bound, absolute bound (sections 9.7.3.8 to 9.7.3.21; 2 units for div, 1 for rcp)
    "rcp.approx.f32": (2**-23, 0.0),
    "div.full.f32": (2**-22, 0.0),
    "div.full.ftz.f32": (2**-22, 0.0),
    "div.approx.f32": (2**-22, 0.0),
    "div.approx.ftz.f32": (2**-22, 0.0),
    "sqrt.approx.f32": (2**-23, 0.0),
    "rsqrt.approx.f32": (2**-22.9, 0.0),
    "lg2.approx.f32": (2**-22, 2**-22),
    "ex2.approx.f32": (2**-22, 0.0),
}


def true_value(name: str, v: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = [x.astype("f8") for x in v]
        return {
            "rcp": lambda x: 1 / x, "div": lambda x, y: x / y, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
            "lg2": np.log2, "ex2": np.exp2,
        }[name](*wide)  # fmt: skip


@pytest.mark.parametrize("opcode", APPROXIMATE)
def test_approximations_are_inside_the_manuals_bounds(opcode: str) -> None:
    """For subnormal operands and results, too, which are one unit of the smallest number more exact than that."""
    relative, absolute = APPROXIMATE[opcode]
    name = opcode.split(".", maxsplit=1)[0]
    arity = 2 if name == "div" else 1
    sources = [patterns("f32", COUNT, 17 + n) for n in range(arity)]
    if name == "ex2":
        rng = np.random.default_rng(2)
        sources = [rng.uniform(-155, 130, COUNT).astype("f4").view("u4")]
    module = expanded(kernel(opcode, ["f32"] * (arity + 1)))
    texts = [str(module)] + ([worst(module, m) for m in MODES] if name in ("rcp", "div", "rsqrt") else [])
    floats = [s.view("f4") for s in sources]
    if ".ftz" in opcode:
        floats = [np.where(np.abs(f) < np.float32(2**-126), np.copysign(np.float32(0), f), f) for f in floats]
    if opcode.startswith("div.approx"):
        # beyond 2**126 the quotient is 0
        keep = ~(np.abs(floats[1]) > np.float32(2**126))
        floats, sources = [f[keep] for f in floats], [s[keep] for s in sources]
    true = true_value(name, floats)
    smallest = 2.0**-126 if ".ftz" in opcode else 2.0**-149
    for text in texts:
        got = compute(text, "f32", *sources).view("f4").astype("f8")
        with np.errstate(all="ignore"):
            error = np.abs(got - true)
            allowed = np.maximum(np.abs(true) * relative, absolute) + smallest
            huge = np.abs(true) >= 2.0**127.99
            good = (error <= allowed) | (got == true) | (np.isnan(got) & np.isnan(true)) | huge
        assert good.all(), [hex(s[~good][0]) for s in sources]


def test_reciprocal_root_of_doubles() -> None:
    """Within 2 units, of subnormal numbers, too."""
    x = patterns("f64", COUNT, 23)
    module = expanded(kernel("rsqrt.approx.f64", ["f64", "f64"]))
    with np.errstate(all="ignore"):
        v = x.view("f8")
        true = 1 / np.sqrt(v)
        for text in (str(module), *[worst(module, mode) for mode in MODES]):
            got = compute(text, "f64", x).view("f8")
            good = (np.abs(got / true - 1) < 2**-51) | (got == true) | (np.isnan(got) & np.isnan(true))
            assert good.all(), hex(x[~good][0])


@pytest.mark.parametrize("opcode", ["ex2.approx.f16x2", "tanh.approx.f16x2", "tanh.approx.bf16x2"])
def test_pairs_of_halves_are_two_halves(opcode: str) -> None:
    x = np.random.default_rng(1).integers(0, 1 << 32, 20_000, dtype=np.uint64).astype("u4")
    text = kernel(opcode, ["b32", "b32"])
    want = compute(text, "b32", x)
    assert (compute(str(expanded(text)), "b32", x) == want).all()
    assert HEADER in text
