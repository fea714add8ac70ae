"""Floating-point instructions against NumPy, the C library's fma, exact rationals and LLVM."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import struct
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from drawloom.reference.approx import BOUNDS, to_float
from drawloom.reference.formats import BF16, E4M3, E5M2, F16, F32, F64, TF32, Format
from tests.reference.semantics import F32_EDGES, F64_EDGES, close_pairs, function, samples

NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
UINT = {16: np.uint16, 32: np.uint32, 64: np.uint64}
FORMAT = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
EDGES = {
    "f32": F32_EDGES,
    "f64": F64_EDGES,
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01],
    "bf16": [0, 0x8000, 1, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F81, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x7F81],
}


def bits_of(values: np.ndarray) -> list[int]:
    return [int(v) for v in values.view(UINT[values.dtype.itemsize * 8])]


def array(patterns: list[int], name: str) -> np.ndarray:
    return np.array(patterns, UINT[FORMAT[name].bits]).view(NUMPY[name])


def same(f: Format, ours: int, theirs: int) -> bool:
    """Equal patterns; every NaN of theirs is our canonical one."""
    return ours == f.nan if f.is_nan(theirs) else ours == theirs


def exact(f: Format, pattern: int) -> Fraction:
    sign, significand, exponent = f.unpack(pattern)
    value = Fraction(significand) * Fraction(2) ** exponent
    return -value if sign else value


def neighbours_bracket(f: Format, pattern: int, value: Fraction, mode: str) -> bool:
    """Whether ``pattern`` is ``value`` rounded by a directed mode: a definition that shares no code with ours."""
    if not f.is_finite(pattern):
        limit = exact(f, f.largest)
        return value > limit if not pattern & f.sign_bit else value < -limit
    got = exact(f, pattern)
    if got == value:
        return True
    upward = mode == "rp" or (mode == "rz" and value < 0)
    if upward:
        below = exact(f, predecessor(f, pattern)) if f.is_finite(predecessor(f, pattern)) else None
        return got > value and (below is None or below < value)
    above = exact(f, successor(f, pattern)) if f.is_finite(successor(f, pattern)) else None
    return got < value and (above is None or above > value)


def successor(f: Format, pattern: int) -> int:
    if pattern & f.magnitude_mask == 0:
        return 1
    return pattern - 1 if pattern & f.sign_bit else pattern + 1


def predecessor(f: Format, pattern: int) -> int:
    return successor(f, pattern ^ f.sign_bit) ^ f.sign_bit


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_nearest_arithmetic_is_numpys(name: str, type: str) -> None:
    ours = function(f"{name}.rn.{type}")
    f = FORMAT[type]
    inputs = samples(EDGES[type], f.bits, 2) + close_pairs(f.bits)
    a, b = array([p for p, _ in inputs], type), array([q for _, q in inputs], type)
    with np.errstate(all="ignore"):
        theirs = bits_of({"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](a, b))
    for (p, q), expected in zip(inputs, theirs, strict=True):
        assert same(f, ours(p, q), expected), f"{name}.{type} 0x{p:x} 0x{q:x}"


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_nearest_division_and_root_are_numpys(type: str) -> None:
    f = FORMAT[type]
    inputs = samples(EDGES[type], f.bits, 2)
    a, b = array([p for p, _ in inputs], type), array([q for _, q in inputs], type)
    with np.errstate(all="ignore"):
        quotients, roots = bits_of(a / b), bits_of(np.sqrt(a))
        reciprocals = bits_of(NUMPY[type](1) / a)
    div, sqrt, rcp = function(f"div.rn.{type}"), function(f"sqrt.rn.{type}"), function(f"rcp.rn.{type}")
    for (p, q), quotient, root, reciprocal in zip(inputs, quotients, roots, reciprocals, strict=True):
        assert same(f, div(p, q), quotient), f"div 0x{p:x} 0x{q:x}"
        assert same(f, sqrt(p), root), f"sqrt 0x{p:x}"
        assert same(f, rcp(p), reciprocal), f"rcp 0x{p:x}"


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_nearest_fma_is_the_c_librarys(type: str) -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    kind = ctypes.c_float if type == "f32" else ctypes.c_double
    fma = library.fmaf if type == "f32" else library.fma
    fma.restype = kind
    fma.argtypes = [kind] * 3
    f = FORMAT[type]
    ours = function(f"fma.rn.{type}")
    code = ("<f", "<I") if type == "f32" else ("<d", "<Q")
    for values in samples(EDGES[type], f.bits, 3, 4000):
        theirs = fma(*[struct.unpack(code[0], struct.pack(code[1], v))[0] for v in values])
        expected = struct.unpack(code[1], struct.pack(code[0], theirs))[0]
        assert same(f, ours(*values), expected), [hex(v) for v in values]


_RATIONAL: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c, "div": lambda a, b: a / b, "rcp": lambda a: 1 / a,
}  # fmt: skip


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma", "div", "rcp"])
def test_directed_rounding_brackets_the_exact_value(name: str, mode: str, type: str) -> None:
    f = FORMAT[type]
    ours = function(f"{name}.{mode}.{type}")
    arity = {"fma": 3, "rcp": 1}.get(name, 2)
    for values in samples(EDGES[type], f.bits, arity, 400):
        if not all(f.is_finite(v) for v in values):
            continue
        x = [exact(f, v) for v in values]
        if name in ("div", "rcp") and x[-1] == 0:
            continue
        value = _RATIONAL[name](*x)
        assert neighbours_bracket(f, ours(*values), value, mode), [hex(v) for v in values]


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_roots_bracket_the_exact_root(mode: str, type: str) -> None:
    f = FORMAT[type]
    ours = function(f"sqrt.{mode}.{type}")
    for (value,) in samples([v for v in EDGES[type] if not v & f.sign_bit], f.bits, 1, 400):
        if value & f.sign_bit or not f.is_finite(value) or value == 0:
            continue
        x, got = exact(f, value), ours(value)
        root = exact(f, got)
        if root * root == x:
            continue
        if mode == "rp":
            assert root * root > x > exact(f, got - 1) ** 2
        else:
            assert root * root < x < exact(f, got + 1) ** 2


def test_exact_zero_sums_follow_the_rounding_mode() -> None:
    one, minus, zero, negative_zero = 0x3F800000, 0xBF800000, 0, 0x80000000
    for mode in ("rn", "rz", "rp"):
        assert function(f"add.{mode}.f32")(one, minus) == zero
        assert function(f"add.{mode}.f32")(zero, negative_zero) == zero
    assert function("add.rm.f32")(one, minus) == negative_zero
    assert function("add.rm.f32")(zero, negative_zero) == negative_zero
    assert function("add.rm.f32")(zero, zero) == zero
    assert function("fma.rm.f32")(one, one, minus) == negative_zero


def test_overflow_follows_the_rounding_mode() -> None:
    largest, infinity = 0x7F7FFFFF, 0x7F800000
    expected = {
        "rn": (infinity, infinity), "rz": (largest, largest), "rm": (largest, infinity), "rp": (infinity, largest)
    }  # fmt: skip
    for mode, (positive, negative) in expected.items():
        add = function(f"add.{mode}.f32")
        assert add(largest, largest) == positive
        assert add(largest | 1 << 31, largest | 1 << 31) == negative | 1 << 31


def test_flush_to_zero_on_inputs_and_results() -> None:
    subnormal, smallest, half = 0x00400000, 0x00800000, 0x3F000000
    assert function("add.f32")(subnormal, subnormal) == smallest
    assert function("add.ftz.f32")(subnormal, subnormal) == 0
    assert function("add.ftz.f32")(subnormal | 1 << 31, 1 << 31) == 1 << 31
    assert function("mul.f32")(smallest, half) == subnormal
    assert function("mul.ftz.f32")(smallest | 1 << 31, half) == 1 << 31
    assert function("abs.ftz.f32")(subnormal | 1 << 31) == 0
    assert function("fma.rn.ftz.f32")(subnormal, 0x7F000000, smallest) == smallest


def test_saturation_and_relu() -> None:
    for pattern, expected in [
        (0x40000000, 0x3F800000), (0xC0000000, 0), (0x7FC00000, 0), (0x3F000000, 0x3F000000), (0x7F800000, 0x3F800000),
        (0x80000000, 0),
    ]:  # fmt: skip
        assert function("add.sat.f32")(pattern, 0x80000000) == expected
    assert function("fma.rn.relu.f16")(0xBC00, 0x3C00, 0) == 0
    assert function("fma.rn.relu.f16")(0x7E00, 0x3C00, 0) == 0x7FFF
    assert function("fma.rn.sat.f16x2")(0x4000BC00, 0x3C003C00, 0) == 0x3C000000


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_half_fma_rounds_once(type: str) -> None:
    f = FORMAT[type]
    ours = function(f"fma.rn.{type}")
    for values in samples(EDGES[type], 16, 3, 2000):
        if not all(f.is_finite(v) for v in values):
            continue
        a, b, c = [exact(f, v) for v in values]
        got, value = ours(*values), a * b + c
        if value == 0:
            assert got & f.magnitude_mask == 0
        elif f.is_finite(got):
            distance = abs(exact(f, got) - value)
            for other in (successor(f, got), predecessor(f, got)):
                if f.is_finite(other):
                    gap = abs(exact(f, other) - value)
                    assert distance < gap or (distance == gap and not got & 1)
        else:
            assert abs(value) >= exact(f, f.largest) + (exact(f, f.largest) - exact(f, f.largest - 1)) / 2


def test_packed_lanes_are_independent() -> None:
    one, two = 0x3C00, 0x4000
    assert function("add.rn.f16x2")(one << 16 | two, two << 16 | two) == 0x4200 << 16 | 0x4400
    assert function("fma.rn.f32x2")(0x40000000_3F800000, 0x40000000_40000000, 0) == 0x40800000_40000000
    assert function("neg.bf16x2")(0x3F80_BF80) == 0xBF80_3F80


@pytest.mark.parametrize(("name", "numpy"), [("min", np.fmin), ("max", np.fmax)])
@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_minimum_and_maximum(name: str, numpy: Callable[..., np.ndarray], type: str) -> None:
    f = FORMAT[type]
    ours = function(f"{name}.{type}")
    for p, q in samples(EDGES[type], f.bits, 2):
        got = ours(p, q)
        if f.is_nan(p) and f.is_nan(q):
            assert got == f.nan
        elif f.is_nan(p) or f.is_nan(q):
            # NumPy lets a signalling NaN win; PTX does not know them.
            assert got == (q if f.is_nan(p) else p)
        elif p & f.magnitude_mask == 0 == q & f.magnitude_mask:
            assert got == (p | q if name == "min" else p & q)
        else:
            with np.errstate(all="ignore"):
                assert got == bits_of(numpy(array([p], type), array([q], type)))[0], (hex(p), hex(q))


def test_minimum_modifiers() -> None:
    nan, one, minus_two = 0x7FC00000, 0x3F800000, 0xC0000000
    assert function("min.NaN.f32")(nan, one) == 0x7FFFFFFF
    assert function("max.NaN.f32")(one, nan) == 0x7FFFFFFF
    assert function("max.xorsign.abs.f32")(one, minus_two) == minus_two
    assert function("min.xorsign.abs.f32")(one, minus_two) == one | 1 << 31
    assert function("min.ftz.f32")(0x00000001, one) == 0
    assert function("max.f32")(one, minus_two, 0x40400000) == 0x40400000
    assert function("min.NaN.bf16")(0x7FC0, 0) == 0x7FFF


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_testp_and_copysign(type: str) -> None:
    f = FORMAT[type]
    properties: dict[str, Callable[[float, int], bool]] = {
        "finite": lambda v, p: math.isfinite(v),
        "infinite": lambda v, p: math.isinf(v),
        "number": lambda v, p: not math.isnan(v),
        "notanumber": lambda v, p: math.isnan(v),
        "normal": lambda v, p: math.isfinite(v) and (v == 0 or abs(v) >= (2.0**-126 if f is F32 else 2.0**-1022)),
        "subnormal": lambda v, p: v != 0 and abs(v) < (2.0**-126 if f is F32 else 2.0**-1022),
    }
    for p, q in samples(EDGES[type], f.bits, 2, 300):
        value = float(array([p], type)[0])
        for name, holds in properties.items():
            assert function(f"testp.{name}.{type}")(p) == holds(value, p), (name, hex(p))
        assert function(f"copysign.{type}")(p, q) == p & f.sign_bit | q & f.magnitude_mask


def _approx_inputs(name: str) -> list[int]:
    if name in ("sin", "cos"):
        return [v for (v,) in samples(F32_EDGES, 32, 1) if abs(to_float(F32, v)) < 2 * math.pi]
    return [v for (v,) in samples(F32_EDGES, 32, 1)]


_EXACT: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "lg2": math.log2, "ex2": math.exp2, "tanh": math.tanh,
    "rcp": lambda v: 1 / v, "sqrt": math.sqrt, "rsqrt": lambda v: 1 / math.sqrt(v),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_EXACT))
def test_approximations_stay_inside_their_bounds(name: str) -> None:
    ours = function(f"{name}.approx.f32")
    bound = BOUNDS[name, "f32"]
    for pattern in _approx_inputs(name):
        x = to_float(F32, pattern)
        try:
            expected = _EXACT[name](x)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        got = to_float(F32, ours(pattern))
        if math.isnan(x):
            assert math.isnan(got)
        elif abs(expected) > 3.4028235677973366e38:
            assert math.isinf(got) and (got > 0) == (expected > 0)
        elif math.isfinite(expected):
            ulp = max(2.0**-149, math.ldexp(1.0, math.frexp(expected)[1] - 24)) if expected else 2.0**-149
            allowed = max(bound.absolute, bound.relative * abs(expected), bound.ulp * ulp, 2.0**-149)
            assert abs(got - expected) <= allowed, hex(pattern)


def test_approximations_at_the_edges() -> None:
    infinity, minus_infinity, zero, negative_zero, nan = 0x7F800000, 0xFF800000, 0, 0x80000000, 0x7FFFFFFF
    assert function("rcp.approx.f32")(negative_zero) == minus_infinity
    assert function("rsqrt.approx.f32")(negative_zero) == minus_infinity
    assert function("rsqrt.approx.f32")(0xBF800000) == nan
    assert function("sqrt.approx.f32")(negative_zero) == negative_zero
    assert function("lg2.approx.f32")(zero) == minus_infinity
    assert function("lg2.approx.f32")(0xBF800000) == nan
    assert function("ex2.approx.f32")(minus_infinity) == zero
    assert function("ex2.approx.f32")(0x7F000000) == infinity
    assert function("sin.approx.f32")(infinity) == nan
    assert function("sin.approx.f32")(negative_zero) == negative_zero
    assert function("cos.approx.ftz.f32")(1) == 0x3F800000
    assert function("tanh.approx.f32")(minus_infinity) == 0xBF800000
    assert function("ex2.approx.ftz.f32")(1) == 0x3F800000
    # A divisor above 2**126 flushes the result to zero.
    assert function("div.approx.f32")(0x7E800001, 0x7F000000) == zero
    assert function("div.approx.f32")(infinity, 0x7F000000) == nan
    assert function("div.full.f32")(0x7F000000, 0x7F000000) == 0x3F800000
    assert function("rcp.approx.ftz.f64")(0x4000000012345678) == 0x3FE0000000000000
    assert function("rsqrt.approx.f64")(0x4010000000000000) == 0x3FE0000000000000


# Conversions.


@pytest.mark.parametrize(("to", "source"), list(itertools.permutations(["f16", "bf16", "f32", "f64"], 2)))
def test_nearest_conversions_are_numpys(to: str, source: str) -> None:
    target, origin = FORMAT[to], FORMAT[source]
    widening = to == "f64" or (to == "f32" and source != "f64")
    ours = function(f"cvt{'' if widening else '.rn'}.{to}.{source}")
    for (p,) in samples(EDGES[source], origin.bits, 1, 3000):
        with np.errstate(all="ignore"):
            value = array([p], source)
            if to == "bf16" and source == "f64":
                # ml_dtypes rounds through f32; take the exact value and let the bracketing test judge it.
                continue
            theirs = bits_of(value.astype(NUMPY[to]))[0]
        assert same(target, ours(p), theirs), hex(p)


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize(("to", "source"), [("f16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")])
def test_directed_conversions_bracket_the_exact_value(to: str, source: str, mode: str) -> None:
    target, origin = FORMAT[to], FORMAT[source]
    ours = function(f"cvt.{mode}.{to}.{source}")
    for (p,) in samples(EDGES[source], origin.bits, 1, 1000):
        if origin.is_finite(p):
            assert neighbours_bracket(target, ours(p), exact(origin, p), mode), hex(p)


@pytest.mark.parametrize(
    ("name", "type", "dtype", "f"),
    [("e4m3", "e4m3x2", ml_dtypes.float8_e4m3fn, E4M3), ("e5m2", "e5m2x2", ml_dtypes.float8_e5m2, E5M2)],
)
def test_eight_bit_floats_are_ml_dtypes(name: str, type: str, dtype: np.dtype, f: Format) -> None:
    narrow, wide = function(f"cvt.rn.satfinite.{type}.f32"), function(f"cvt.rn.f16x2.{type}")
    for p, q in samples(F32_EDGES, 32, 2):
        got = narrow(p, q)
        for pattern, byte in ((p, got >> 8), (q, got & 0xFF)):
            value = array([pattern], "f32")[0]
            if np.isnan(value):
                assert byte == 0x7F
                continue
            limit = np.float32(448 if f is E4M3 else 57344)
            with np.errstate(all="ignore"):
                expected = np.clip(value, -limit, limit).astype(dtype)
            assert byte == int(np.array([expected]).view(np.uint8)[0]), hex(pattern)
    for byte in range(256):
        value = np.array([byte], np.uint8).view(dtype)[0].astype(np.float16)
        got = wide(byte << 8)
        assert got & 0xFFFF == 0
        assert got >> 16 == (0x7FFF if np.isnan(value) else bits_of(np.array([value]))[0])


@pytest.mark.parametrize(
    ("type", "dtype", "largest", "kept"),
    [
        ("e2m1x2", ml_dtypes.float4_e2m1fn, 6.0, 4),
        ("e2m3x2", ml_dtypes.float6_e2m3fn, 7.5, 8),
        ("e3m2x2", ml_dtypes.float6_e3m2fn, 28.0, 8),
    ],
)
def test_floats_of_four_and_six_bits_are_ml_dtypes(type: str, dtype: np.dtype, largest: float, kept: int) -> None:
    narrow, wide = function(f"cvt.rn.satfinite.{type}.f32"), function(f"cvt.rn.f16x2.{type}")
    bits = 4 if kept == 4 else 6
    numbers = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float32)
    ties = [(a + b) / 2 for a, b in itertools.pairwise(np.sort(numbers))]
    tested = [int(np.float32(x).view(np.uint32)) for x in [*numbers, *ties]]
    for p, q in [*samples(F32_EDGES, 32, 2), *zip(tested, reversed(tested))]:
        got = narrow(p, q)
        for pattern, part in ((p, got >> kept), (q, got & (1 << kept) - 1)):
            value = array([pattern], "f32")[0]
            value = np.float32(largest) if np.isnan(value) else np.clip(value, -largest, largest)
            assert part == int(np.array([value], np.float32).astype(dtype).view(np.uint8)[0]), hex(pattern)
    for code in range(1 << bits):
        assert wide(code << kept) == bits_of(np.array([numbers[code]], np.float16))[0] << 16


def test_scale_factors_round_up_or_towards_zero_and_have_no_sign() -> None:
    up, down = function("cvt.rp.ue8m0x2.f32"), function("cvt.rz.satfinite.ue8m0x2.f32")
    one, more, largest, infinite, nan = 0x3F800000, 0xBF800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000
    assert (up(one, more), down(one, more)) == (0x7F80, 0x7F7F)
    assert (up(largest, infinite), down(largest, infinite)) == (0xFFFF, 0xFEFE)
    assert (up(nan, 0), down(nan, 0)) == (0xFF00, 0xFF00)
    assert (up(0x400000, 0x400001), down(0x400000, 0x7FFFFF)) == (0x0001, 0x0000)
    assert function("cvt.rp.satfinite.ue8m0x2.bf16x2")(0x3F813F80) == 0x807F
    wide = function("cvt.rn.bf16x2.ue8m0x2")
    assert (wide(0xFF00), wide(0x7F01)) == (0x7FFF0040, 0x3F800080)


def test_tf32_keeps_ten_fraction_bits() -> None:
    nearest, away, zero = function("cvt.rn.tf32.f32"), function("cvt.rna.tf32.f32"), function("cvt.rz.tf32.f32")
    assert nearest(0x3F801000) == 0x3F800000 and away(0x3F801000) == 0x3F802000 and zero(0x3F801FFF) == 0x3F800000
    assert nearest(0x3F803000) == 0x3F804000
    for (p,) in samples(F32_EDGES, 32, 1, 400):
        if F32.is_finite(p):
            assert neighbours_bracket(TF32, zero(p) >> 13, exact(F32, p), "rz")


def test_packing_conversions_put_the_first_operand_on_top() -> None:
    assert function("cvt.rn.f16x2.f32")(0x3F800000, 0x40000000) == 0x3C004000
    assert function("cvt.rn.relu.bf16x2.f32")(0xBF800000, 0x40000000) == 0x00004000
    assert function("cvt.rn.satfinite.f16.f32")(0x7F800000) == 0x7BFF
    assert function("cvt.rn.relu.f16.f32")(0x7FC00000) == 0x7FFF


_INTEGERS = [f"{k}{b}" for k in "us" for b in (8, 16, 32, 64)]
_ROUND: dict[str, Callable[[Fraction], int]] = {
    "rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil,
}  # fmt: skip


#: bf16 converts to and from integers of 16 bits and more.
_WITH_INTEGERS = [(i, f) for i in _INTEGERS for f in ("f16", "bf16", "f32", "f64") if f != "bf16" or "8" not in i]


@pytest.mark.parametrize(("to", "source"), _WITH_INTEGERS)
def test_float_to_integer(to: str, source: str) -> None:
    f, bits, signed = FORMAT[source], int(to[1:]), to[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for mode, rounding in _ROUND.items():
        ours = function(f"cvt.{mode}.{to}.{source}")
        for (p,) in samples(EDGES[source], f.bits, 1, 150):
            if f.is_nan(p):
                expected = 1 << bits - 1 if source == "f64" or bits == 64 else 0
            elif not f.is_finite(p):
                expected = low if p & f.sign_bit else high
            else:
                expected = min(max(rounding(exact(f, p)), low), high)
            assert ours(p) == expected & (1 << bits) - 1, (mode, hex(p))


@pytest.mark.parametrize(("source", "to"), _WITH_INTEGERS)
def test_integer_to_float(to: str, source: str) -> None:
    f, bits, signed = FORMAT[to], int(source[1:]), source[0] == "s"
    edges = [0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1, (1 << bits) - 129 & (1 << bits) - 1]
    for mode in ("rn", "rz", "rm", "rp"):
        ours = function(f"cvt.{mode}.{to}.{source}")
        for (p,) in samples(edges, bits, 1, 200):
            value = p - (1 << bits) if signed and p >> bits - 1 else p
            got = ours(p)
            if mode != "rn":
                assert neighbours_bracket(f, got, Fraction(value), mode), (mode, hex(p))
            elif f.is_finite(got):
                distance = abs(exact(f, got) - value)
                assert all(
                    distance < abs(exact(f, n) - value) or (distance == abs(exact(f, n) - value) and not got & 1)
                    for n in (successor(f, got), predecessor(f, got))
                    if f.is_finite(n)
                )
            else:
                assert abs(value) >= 65520


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_rounding_to_an_integral_float(type: str) -> None:
    f = FORMAT[type]
    for mode, rounding in _ROUND.items():
        ours = function(f"cvt.{mode}.{type}.{type}")
        for (p,) in samples(EDGES[type], f.bits, 1, 400):
            got = ours(p)
            if f.is_finite(p):
                assert exact(f, got) == rounding(exact(f, p)), (mode, hex(p))
                assert got & f.sign_bit == p & f.sign_bit
            else:
                assert got == (f.nan if f.is_nan(p) else p)


def test_saturating_conversions() -> None:
    assert function("cvt.sat.u8.s32")(-5 & 0xFFFFFFFF) == 0
    assert function("cvt.sat.s8.s32")(300) == 127
    assert function("cvt.sat.s16.u64")(1 << 40) == 0x7FFF
    assert function("cvt.u8.s32")(0x1FF) == 0xFF
    assert function("cvt.rn.sat.f32.s32")(7) == 0x3F800000
    assert function("cvt.sat.f32.f32")(0x7FC00000) == 0
    assert function("cvt.ftz.f32.f32")(0x80000001) == 0x80000000
    assert function("cvt.rzi.ftz.s32.f32")(0x807FFFFF) == 0
    assert function("cvt.rpi.ftz.s32.f32")(1) == 0
    assert function("cvt.rpi.s32.f32")(1) == 1


def test_cvt_pack() -> None:
    assert function("cvt.pack.sat.u16.s32")(70000, -5 & 0xFFFFFFFF) == 0xFFFF0000
    assert function("cvt.pack.sat.s8.s32.b32")(200, -200 & 0xFFFFFFFF, 0x1234) == 0x12347F80
    assert function("cvt.pack.sat.u4.s32.b32")(9, 99, 0xABCDEF) == 0xABCDEF9F
    assert function("cvt.pack.sat.s2.s32.b32")(-9 & 0xFFFFFFFF, 1, 3) == 0x39
