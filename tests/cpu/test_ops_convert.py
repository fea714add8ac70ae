"""Conversions against exact arithmetic, and against NumPy and ml_dtypes where those have the format."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from drawloom.ptx.types import TYPES
from tests.cpu.exact import BF16, F16, F32, F64, FORMATS, TF32, Format, patterns
from tests.cpu.jit import CASES, compiled, supported
from tests.cpu.test_ops_integer import number
from tests.cpu.test_ops_integer import patterns as integers

INTEGERS = "u8 s8 u16 s16 u32 s32 u64 s64".split()
INTEGRAL = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@cache
def encoded(f: Format, value: Fraction | float, mode: str, zero_sign: int = 0) -> int | None:
    """``f.encode``, remembered: every target asks for the same values."""
    return f.encode(value, mode, zero_sign)


def run(text: str, target: str, lanes: int, *inputs: np.ndarray) -> np.ndarray:
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    (out,) = compiled(text, lanes, target)(*inputs)
    return out.astype(np.uint64)


def floats(f: Format, seed: int) -> np.ndarray:
    """Patterns with many values near the ends of the integer ranges, and ties between integers."""
    rng = np.random.default_rng(seed)
    values: list[float] = []
    for bits in (0, 1, 7, 8, 15, 16, 31, 32, 63, 64):
        for delta in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5):
            values += [2.0**bits + delta, -(2.0**bits) + delta]
    near = [f.encode(v) for v in values]
    moderate = [f.encode(v) for v in (rng.uniform(-300, 300, 200) * 4).round() / 4]
    extra = np.array([v for v in near + moderate if v is not None], np.uint64)
    return np.concatenate([patterns(f, seed), extra])


def ends(type_name: str) -> tuple[int, int]:
    """The patterns of the smallest and the largest number of an integer type."""
    bits = TYPES[type_name].bits
    return (1 << bits - 1, (1 << bits - 1) - 1) if type_name[0] == "s" else (0, (1 << bits) - 1)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_integer_to_integer(target: str, lanes: int) -> None:
    for source in INTEGERS:
        a = integers(TYPES[source].bits, 1)
        for t in INTEGERS:
            bits = TYPES[t].bits
            out = run(f"cvt.{t}.{source}", target, lanes, a)
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)
            for x, y in zip(a, out, strict=True):
                assert int(y) == number(int(x), source) & (1 << bits) - 1, (t, source, hex(int(x)))
            if all(low <= number(end, source) <= high for end in ends(source)):
                continue  # nothing to cut off: there is no such instruction
            out = run(f"cvt.sat.{t}.{source}", target, lanes, a)
            for x, y in zip(a, out, strict=True):
                want = max(low, min(high, number(int(x), source))) & (1 << bits) - 1
                assert int(y) == want, ("sat", t, source, hex(int(x)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_float_to_integer(source: str, target: str, lanes: int) -> None:
    f = FORMATS[source]
    a = floats(f, 2)
    for mode, integral in INTEGRAL.items():
        for t in INTEGERS:
            bits = TYPES[t].bits
            if source == "bf16" and bits == 8:
                continue  # bf16 converts to and from integers of 16 bits and more
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)
            for ftz in ("", ".ftz") if source == "f32" else ("",):
                out = run(f"cvt.{mode}{ftz}.{t}.{source}", target, lanes, a)
                for x, y in zip(a, out, strict=True):
                    value = f.decode(f.flush(int(x)) if ftz else int(x))
                    if math.isnan(value):
                        # Section 9.7.9.21: 0, but the top bit alone where either side has 64 bits.
                        want = 1 << bits - 1 if source == "f64" or bits == 64 else 0
                    elif math.isinf(value):
                        want = high if value > 0 else low
                    else:
                        want = max(low, min(high, integral(Fraction(value))))
                    assert int(y) == want & (1 << bits) - 1, (mode, t, source, hex(int(x)), hex(int(y)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("t", ["f16", "bf16", "f32", "f64"])
def test_integer_to_float(t: str, target: str, lanes: int) -> None:
    f = FORMATS[t]
    for source in INTEGERS:
        if t == "bf16" and TYPES[source].bits == 8:
            continue
        a = integers(TYPES[source].bits, 3)
        for mode in ("rn", "rz", "rm", "rp"):
            for sat in ("", ".sat") if t != "bf16" and mode == "rp" else ("",):
                out = run(f"cvt.{mode}{sat}.{t}.{source}", target, lanes, a)
                for x, y in zip(a, out, strict=True):
                    want = encoded(f, Fraction(number(int(x), source)), mode)
                    assert want is not None
                    if sat:
                        want = 0 if want & f.sign else min(want, f.one)
                    assert int(y) == want, (mode, t, source, hex(int(x)), hex(int(y)), hex(want))


@cache
def converted(source: Format, t: Format, pattern: int, mode: str, ftz: bool) -> int | None:
    value = source.decode(source.flush(pattern) if ftz and source is F32 else pattern)
    out = t.encode(value, mode)
    return t.flush(out) if ftz and t is F32 and out is not None else out


def saturated(f: Format, value: int | None) -> int:
    return 0 if value is None or value & f.sign else min(value, f.one)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_float_to_smaller_float(target: str, lanes: int) -> None:
    narrowing = [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("bf16", "f32"), ("bf16", "f16"),
                 ("f16", "bf16")]  # fmt: skip
    for t, source in narrowing:
        f, g = FORMATS[t], FORMATS[source]
        # Every target number, and its neighbours in the source format, so that ties are met.
        exact = [g.encode(f.decode(int(p))) for p in patterns(f, 4)]
        half_way = np.uint64(1 << max(g.fraction - f.fraction - 1, 0))
        known = np.array([p for p in exact if p is not None], np.uint64)
        a = np.concatenate([patterns(g, 5), known, known + half_way, known + half_way + np.uint64(1)])
        a = a & np.uint64((1 << g.bits) - 1)
        for mode in ("rn", "rz", "rm", "rp"):
            for ftz in ("", ".ftz") if "f32" in (t, source) and t != "bf16" else ("",):
                for sat in ("", ".sat") if "bf16" not in (t, source) and mode == "rz" else ("",):
                    text = f"cvt.{mode}{ftz}{sat}.{t}.{source}"
                    out = run(text, target, lanes, a)
                    for x, y in zip(a, out, strict=True):
                        want = converted(g, f, int(x), mode, bool(ftz))
                        if sat:
                            want = saturated(f, want)
                        ok = f.is_nan(int(y)) if want is None else int(y) == want
                        assert ok, (text, hex(int(x)), hex(int(y)), want)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_float_to_wider_or_same_float(target: str, lanes: int) -> None:
    for t, source in (("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("f64", "f16"), ("f64", "bf16")):
        f, g = FORMATS[t], FORMATS[source]
        a = patterns(g, 6)
        for ftz in ("", ".ftz") if "f32" in (t, source) else ("",):
            for sat in ("", ".sat") if source != "bf16" else ("",):
                out = run(f"cvt{ftz}{sat}.{t}.{source}", target, lanes, a)
                for x, y in zip(a, out, strict=True):
                    want = converted(g, f, int(x), "rn", bool(ftz))
                    if sat:
                        want = saturated(f, want)
                    assert f.is_nan(int(y)) if want is None else int(y) == want, (t, source, hex(int(x)))
    for t in ("f32", "f64", "f16", "bf16"):
        f = FORMATS[t]
        a = floats(f, 7)
        for mode, integral in INTEGRAL.items():
            for ftz in ("", ".ftz") if t == "f32" else ("",):
                out = run(f"cvt.{mode}{ftz}.{t}.{t}", target, lanes, a)
                for x, y in zip(a, out, strict=True):
                    value = f.decode(f.flush(int(x)) if ftz else int(x))
                    if math.isfinite(value):
                        whole = integral(Fraction(value))
                        want = encoded(f, Fraction(whole), "rn", int(math.copysign(1, value) < 0))
                    else:
                        want = f.encode(value)
                    assert f.is_nan(int(y)) if want is None else int(y) == want, (mode, t, hex(int(x)), hex(int(y)))
    a = patterns(F32, 8)
    out = run("cvt.sat.f32.f32", target, lanes, a)
    assert [int(y) for y in out] == [saturated(F32, F32.encode(F32.decode(int(x)))) for x in a]


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_packed_halves_and_relu(target: str, lanes: int) -> None:
    for f in (F16, BF16):
        exact = np.array([F32.encode(f.decode(int(p))) or 0 for p in patterns(f, 9)], np.uint64)
        a = np.concatenate([patterns(F32, 10), exact + np.uint64(1 << 22 - f.fraction)]) & np.uint64(0xFFFFFFFF)
        b = a[::-1].copy()
        for mode in ("rn", "rz"):
            for relu in ("", ".relu"):
                for satfinite in ("", ".satfinite"):

                    def one(x: int, f: Format = f, mode: str = mode, relu: str = relu, sat: str = satfinite) -> int:
                        out = f.encode(F32.decode(x), mode)
                        if out is None:
                            return 0x7FFF
                        if sat and out & f.sign - 1 == f.infinity:
                            out -= 1
                        return 0 if relu and out & f.sign else out

                    text = f"cvt.{mode}{relu}{satfinite}.{f.name}"
                    out = run(f"{text}x2.f32", target, lanes, a, b)
                    assert [int(y) for y in out] == [one(int(x)) << 16 | one(int(z)) for x, z in zip(a, b, strict=True)]
                    if relu or satfinite or mode == "rz":
                        out = run(f"{text}.f32", target, lanes, a)
                        assert [int(y) for y in out] == [one(int(x)) for x in a]


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_nearest_half_agrees_with_numpy(target: str, lanes: int) -> None:
    a = patterns(F32, 11, 4096)
    values = a.astype(np.uint32).view(np.float32)
    numbers = ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        half = values.astype(np.float16).view(np.uint16)
        brain = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    assert np.array_equal(run("cvt.rn.f16.f32", target, lanes, a)[numbers], half[numbers])
    assert np.array_equal(run("cvt.rn.bf16.f32", target, lanes, a)[numbers], brain[numbers])


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_tf32(target: str, lanes: int) -> None:
    a = np.concatenate([patterns(F32, 12), patterns(F32, 13) & np.uint64(0xFFFFE000) | np.uint64(0x1000)])
    for text, mode in (("cvt.rna", "rna"), ("cvt.rn", "rn"), ("cvt.rz", "rz"), ("cvt.rn.relu", "rn"),
                       ("cvt.rna.satfinite", "rna"), ("cvt.rz.relu.satfinite", "rz")):  # fmt: skip
        out = run(f"{text}.tf32.f32", target, lanes, a)
        for x, y in zip(a, out, strict=True):
            short = TF32.encode(F32.decode(int(x)), mode)
            if short is not None and "satfinite" in text and short & TF32.sign - 1 == TF32.infinity:
                short -= 1
            if short is not None and "relu" in text and short & TF32.sign:
                short = 0
            want = 0x7FFFFFFF if short is None else (short << 13) & 0xFFFFFFFF
            assert int(y) == want, (text, hex(int(x)), hex(int(y)))


EIGHT = {"e4m3": (ml_dtypes.float8_e4m3fn, 448.0), "e5m2": (ml_dtypes.float8_e5m2, 57344.0)}


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", list(EIGHT))
def test_eight_bit_floats(name: str, target: str, lanes: int) -> None:
    dtype, largest = EIGHT[name]
    every = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    finite = every[np.isfinite(every)]
    middles = np.concatenate([(np.sort(finite)[1:] + np.sort(finite)[:-1]) / 2, finite])
    values = np.concatenate(
        [patterns(F32, 14).astype(np.uint32).view(np.float32), middles, np.nextafter(middles, np.float32(9e9))]
    )

    def eight(x: np.ndarray, relu: bool) -> np.ndarray:
        out = np.clip(x, -largest, largest).astype(dtype).view(np.uint8)
        if relu:
            out = np.where(out & 0x80, 0, out)
        return np.where(np.isnan(x), 0x7F, out).astype(np.uint64)

    other = values[::-1].copy()
    raw, raw_other = values.view(np.uint32).astype(np.uint64), other.view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore", invalid="ignore"):
        halves, other_halves = values.astype(np.float16), other.astype(np.float16)
        for relu in (False, True):
            text = f"cvt.rn.satfinite{'.relu' if relu else ''}.{name}x2"
            out = run(f"{text}.f32", target, lanes, raw, raw_other)
            assert np.array_equal(out, eight(values, relu) << np.uint64(8) | eight(other, relu))
            packed = halves.view(np.uint16).astype(np.uint64) << np.uint64(16) | other_halves.view(np.uint16)
            out = run(f"{text}.f16x2", target, lanes, packed)
            want = eight(halves.astype(np.float32), relu) << np.uint64(8) | eight(other_halves.astype(np.float32), relu)
            assert np.array_equal(out, want)


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", list(EIGHT))
def test_from_eight_bit_floats(name: str, target: str, lanes: int) -> None:
    dtype, _ = EIGHT[name]
    codes = np.arange(65536, dtype=np.uint64)
    table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float16)
    for relu in (False, True):
        bits = np.where(np.isnan(table), 0x7FFF, table.view(np.uint16)).astype(np.uint64)
        if relu:
            bits = np.where(bits & np.uint64(0x8000), 0, bits)
        out = run(f"cvt.rn{'.relu' if relu else ''}.f16x2.{name}x2", target, lanes, codes)
        assert np.array_equal(out, bits[codes >> np.uint64(8)] << np.uint64(16) | bits[codes & np.uint64(255)])


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_pack(target: str, lanes: int) -> None:
    a, b, c = integers(32, 15), integers(32, 16), integers(32, 17)
    for t in "u16 s16 u8 s8 u4 s4 u2 s2".split():
        bits = int(t[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)
        text = f"cvt.pack.sat.{t}.s32" + ("" if bits == 16 else ".b32")
        out = run(text, target, lanes, *([a, b] if bits == 16 else [a, b, c]))
        for x, y, z, got in zip(a, b, c, out, strict=True):
            fields = [max(low, min(high, number(int(v), "s32"))) & (1 << bits) - 1 for v in (x, y)]
            want = fields[0] << bits | fields[1]
            if bits < 16:
                want |= int(z) << 2 * bits
            assert int(got) == want & 0xFFFFFFFF, (t, hex(int(x)), hex(int(y)))


def test_f64_is_a_format_of_the_oracle() -> None:
    """The oracle itself against the processor: to nearest, from double to single."""
    a = patterns(F64, 18, 4096)
    with np.errstate(over="ignore", invalid="ignore"):
        singles = a.view(np.float64).astype(np.float32).view(np.uint32)
    for x, y in zip(a, singles, strict=True):
        want = F32.encode(F64.decode(int(x)))
        assert F32.is_nan(int(y)) if want is None else int(y) == want


#: Formats below eight bits: the type of ml_dtypes, the largest number, the bits of one value, those that it is kept in.
SHORT = {
    "e2m1": (ml_dtypes.float4_e2m1fn, 6.0, 4, 4),
    "e2m3": (ml_dtypes.float6_e2m3fn, 7.5, 6, 8),
    "e3m2": (ml_dtypes.float6_e3m2fn, 28.0, 6, 8),
}


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", list(SHORT))
def test_floats_of_four_and_six_bits(name: str, target: str, lanes: int) -> None:
    dtype, largest, bits, kept = SHORT[name]
    every = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float32)
    middles = np.concatenate([(np.sort(every)[1:] + np.sort(every)[:-1]) / 2, every])
    values = np.concatenate(
        [patterns(F32, 14).astype(np.uint32).view(np.float32), middles, np.nextafter(middles, np.float32(9e9))]
    )

    def short(x: np.ndarray, relu: bool) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            out = np.clip(np.where(np.isnan(x), largest, x), -largest, largest).astype(np.float32).astype(dtype)
        patterns_of = out.view(np.uint8).astype(np.uint64)
        return np.where(relu & (patterns_of >> np.uint64(bits - 1) == 1), 0, patterns_of)

    other = values[::-1].copy()
    raw, raw_other = values.view(np.uint32).astype(np.uint64), other.view(np.uint32).astype(np.uint64)
    codes = np.arange(1 << 2 * kept, dtype=np.uint64)
    halves = every.astype(np.float16).view(np.uint16).astype(np.uint64)
    mask = np.uint64((1 << bits) - 1)
    for relu in (False, True):
        words = ".relu" if relu else ""
        out = run(f"cvt.rn.satfinite{words}.{name}x2.f32", target, lanes, raw, raw_other)
        np.testing.assert_array_equal(out, short(values, relu) << np.uint64(kept) | short(other, relu))
        table = np.where(relu & (halves >> np.uint64(15) == 1), 0, halves).astype(np.uint64)
        out = run(f"cvt.rn{words}.f16x2.{name}x2", target, lanes, codes)
        high, low = codes >> np.uint64(kept) & mask, codes & mask
        np.testing.assert_array_equal(out, table[high] << np.uint64(16) | table[low])
    if name == "e2m1":
        half_values = values.clip(-65504, 65504).astype(np.float16)
        packed = half_values.view(np.uint16).astype(np.uint64) << np.uint64(16) | half_values[::-1].view(np.uint16)
        out = run("cvt.rn.satfinite.e2m1x2.f16x2", target, lanes, packed)
        want = short(half_values.astype(np.float32), False)
        np.testing.assert_array_equal(out, want << np.uint64(4) | want[::-1])


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_scale_factors_are_powers_of_two(target: str, lanes: int) -> None:
    edges = [0, 1, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF, 0x800000, 0x800001, 0x7F000000, 0x7F000001, 0x7F7FFFFF]
    edges += [0x7F800000, 0x7FC00000, 0x80000001, 0xC0400000, 0xFF800000, 0x3F800000, 0x3FC00000]
    raw = np.concatenate([np.array(edges, np.uint64), patterns(F32, 15)])
    values = raw.astype(np.uint32).view(np.float32).astype(np.float64)

    def scale(x: float, mode: str, finite: bool) -> int:
        if math.isnan(x):
            return 0xFF
        size = abs(x)
        if math.isinf(size) or (mode == "rp" and size > 2.0**127):
            return 0xFE if finite else 0xFF
        if size <= 2.0**-127:
            return 0
        exponent = math.frexp(size)[1] - 1
        exact = size == 2.0**exponent
        return max(exponent + (1 if mode == "rp" and not exact else 0), -127) + 127

    shorts = raw >> np.uint64(16)
    short_values = (shorts << np.uint64(16)).astype(np.uint32).view(np.float32).astype(np.float64)
    for mode in ("rz", "rp"):
        for words in ("", ".satfinite"):
            one = np.array([scale(float(x), mode, bool(words)) for x in values], np.uint64)
            out = run(f"cvt.{mode}{words}.ue8m0x2.f32", target, lanes, raw, raw[::-1].copy())
            np.testing.assert_array_equal(out, one << np.uint64(8) | one[::-1])
            one = np.array([scale(float(x), mode, bool(words)) for x in short_values], np.uint64)
            out = run(f"cvt.{mode}{words}.ue8m0x2.bf16x2", target, lanes, shorts << np.uint64(16) | shorts[::-1])
            np.testing.assert_array_equal(out, one << np.uint64(8) | one[::-1])
    codes = np.arange(65536, dtype=np.uint64)
    powers = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(ml_dtypes.bfloat16)
    table = np.where(np.isnan(powers), 0x7FFF, powers.view(np.uint16)).astype(np.uint64)
    out = run("cvt.rn.bf16x2.ue8m0x2", target, lanes, codes)
    np.testing.assert_array_equal(out, table[codes >> np.uint64(8)] << np.uint64(16) | table[codes & np.uint64(255)])


@pytest.mark.parametrize(
    "text", [f"cvt.{mode}.{t}.{t}" for t in ("f32", "f64") for mode in ("rni", "rzi", "rmi", "rpi")]
)
def test_rounding_to_integers_without_an_instruction(text: str) -> None:
    f = F32 if "f32" in text else F64
    values = patterns(f, 31)
    values = values[(values & np.uint64(f.sign - 1)) <= np.uint64(f.infinity)]  # NaNs keep their pattern
    assert np.array_equal(compiled(text, 0, "sse2")(values)[0], compiled(text, 32, "host")(values)[0])
