"""The approximate instructions against double precision, within the manual's bounds (PTX ISA 9.0 section 9.7.3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.cpu.exact import F32, F64, patterns
from tests.cpu.jit import CASES, compiled, supported

INF, NAN = math.inf, math.nan


def run(text: str, target: str, lanes: int, *inputs: np.ndarray) -> np.ndarray:
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    (out,) = compiled(text, lanes, target)(*[i.view(np.uint32) for i in inputs])
    return out.view(np.float32)


def uniform(low: float, high: float, count: int = 200_000) -> np.ndarray:
    return np.random.default_rng(count).uniform(low, high, count).astype(np.float32)


def any_positive(count: int = 200_000) -> np.ndarray:
    """Positive finite floats, subnormal ones too, every exponent as likely."""
    return np.random.default_rng(7).integers(1, F32.infinity, count).astype(np.uint32).view(np.float32)


def unit(x: np.ndarray) -> np.ndarray:
    """The unit in the last place of the float nearest to each double."""
    with np.errstate(over="ignore"):
        return np.spacing(np.minimum(np.abs(x), 3.0e38).astype(np.float32)).astype(np.float64)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_sine_and_cosine(target: str, lanes: int) -> None:
    """Sections 9.7.3.18 and 9.7.3.19: 2**-20.5 up to 2 pi, 2**-14.7 up to 100 pi; here 2**-20.5 everywhere."""
    near = (np.arange(-200, 201) * (math.pi / 2)).astype(np.float32)
    near = np.concatenate([near, np.nextafter(near, np.float32(1e9)), np.nextafter(near, np.float32(-1e9))])
    with np.errstate(over="ignore"):
        powers = np.float32(2.0) ** np.arange(-149, 128, dtype=np.float32)
    for x in (uniform(-2 * math.pi, 2 * math.pi), uniform(-100 * math.pi, 100 * math.pi), near, powers, -powers,
              uniform(-40000, 40000), any_positive(20_000), uniform(-1e30, 1e30, 20_000)):  # fmt: skip
        for name, function in (("sin", np.sin), ("cos", np.cos)):
            out = run(f"{name}.approx.f32", target, lanes, x).astype(np.float64)
            assert np.max(np.abs(out - function(x.astype(np.float64)))) <= 2.0**-20.5, name


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_base_two_exponential(target: str, lanes: int) -> None:
    """Section 9.7.3.21: 2 units in the last place from the correctly rounded result, over the full range."""
    for x in (uniform(-150, 128), uniform(-1, 1), uniform(-1e-6, 1e-6), any_positive(20_000), -any_positive(20_000)):
        out = run("ex2.approx.f32", target, lanes, x)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            exact = np.exp2(x.astype(np.float64))
            correct = exact.astype(np.float32)
            same = (out == correct) | (np.abs(out.astype(np.float64) - correct) <= 2 * unit(exact))
        assert np.all(same), x[~same][:5]
    whole = np.arange(-149, 128, dtype=np.float32)
    assert np.array_equal(
        run("ex2.approx.f32", target, lanes, whole), np.exp2(whole.astype(np.float64)).astype(np.float32)
    )
    x = uniform(-150, -120)
    out = run("ex2.approx.ftz.f32", target, lanes, x)
    assert np.all((out == 0) | (out >= np.float32(2.0**-126)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_base_two_logarithm(target: str, lanes: int) -> None:
    """Section 9.7.3.20: 2**-22 absolute between 0.5 and 2, 2**-22 relative elsewhere."""
    x = uniform(0.5, 2)
    out = run("lg2.approx.f32", target, lanes, x).astype(np.float64)
    assert np.max(np.abs(out - np.log2(x.astype(np.float64)))) <= 2.0**-22
    x = np.concatenate([any_positive(), uniform(2, 3), uniform(0.4, 0.5)])
    exact = np.log2(x.astype(np.float64))
    bound = np.where((x > 0.5) & (x < 2), 2.0**-22, 2.0**-22 * np.abs(exact))
    assert np.all(np.abs(run("lg2.approx.f32", target, lanes, x).astype(np.float64) - exact) <= bound)
    assert run("lg2.approx.ftz.f32", target, lanes, np.array([1e-40], np.float32))[0] == -INF


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_roots_and_reciprocals(target: str, lanes: int) -> None:
    """Sections 9.7.3.13, 9.7.3.15, 9.7.3.16: 1 unit in the last place, 2**-23 and 2**-22.9 relative."""
    x = any_positive()
    wide = x.astype(np.float64)
    exact = 1 / np.sqrt(wide)
    assert np.max(np.abs(run("rsqrt.approx.f32", target, lanes, x) - exact) / exact) <= 2.0**-22.9
    exact = np.sqrt(wide)
    assert np.max(np.abs(run("sqrt.approx.f32", target, lanes, x) - exact) / exact) <= 2.0**-23
    exact = 1 / wide
    out = run("rcp.approx.f32", target, lanes, x)
    with np.errstate(over="ignore"):
        overflowed = np.isinf(exact.astype(np.float32))
    assert np.all(np.abs(out.astype(np.float64) - exact)[~overflowed] <= unit(exact)[~overflowed])
    assert np.all(np.isposinf(out[overflowed]))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_hyperbolic_tangent(target: str, lanes: int) -> None:
    """Section 9.7.3.22: 2**-11 relative over the entire range."""
    for x in (uniform(-12, 12), uniform(-0.1, 0.1), any_positive(20_000), uniform(-5.001, -4.999, 1000)):
        exact = np.tanh(x.astype(np.float64))
        out = run("tanh.approx.f32", target, lanes, x).astype(np.float64)
        assert np.all(np.abs(out - exact) <= 2.0**-11 * np.abs(exact))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_division(target: str, lanes: int) -> None:
    """Section 9.7.3.8: 2 units in the last place; .approx gives 0 for divisors above 2**126, NaN for inf by them."""
    a = patterns(F32, 1, 20_000).astype(np.uint32).view(np.float32)
    b = patterns(F32, 2, 20_000).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        exact = a.astype(np.float64) / b.astype(np.float64)
        correct = exact.astype(np.float32)
    for text in ("div.full.f32", "div.approx.f32", "div.full.ftz.f32"):
        out = run(text, target, lanes, a, b)
        skip = np.zeros(len(a), bool)
        if ".approx" in text:
            skip = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
            huge_by = out[skip & np.isfinite(a)]
            assert np.all(huge_by == 0) and np.all(np.isnan(out[skip & ~np.isfinite(a)]))
            sign = np.signbit(a) ^ np.signbit(b)
            assert np.array_equal(np.signbit(huge_by), sign[skip & np.isfinite(a)])
        if ".ftz" in text:
            tiny = np.float32(2.0**-126)
            skip = (np.abs(a) < tiny) | (np.abs(b) < tiny) | (np.abs(correct) < 2 * tiny)
        with np.errstate(invalid="ignore"):
            close = np.abs(out.astype(np.float64) - correct) <= 2 * unit(exact)
        assert np.all(skip | close | (out == correct) | (np.isnan(out) & np.isnan(correct)))


SPECIAL: dict[str, list[tuple[float, float]]] = {
    "sin": [(-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN)],
    "cos": [(-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)],
    "lg2": [(-INF, NAN), (-1.0, NAN), (-1e-40, NAN), (-0.0, -INF), (0.0, -INF), (1.0, 0.0), (INF, INF), (NAN, NAN)],
    "ex2": [(-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN), (128.0, INF), (-151.0, 0.0), (-1e-40, 1.0)],
    "rcp": [(-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)],
    "sqrt": [(-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)],
    "rsqrt": [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (4.0, 0.5)],
    "tanh": [(-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (1e-45, 1e-45)],
}


def same(got: float, want: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_special_values(target: str, lanes: int) -> None:
    for name, rows in SPECIAL.items():
        out = run(f"{name}.approx.f32", target, lanes, np.array([r[0] for r in rows], np.float32))
        for (x, want), got in zip(rows, out, strict=True):
            assert same(float(got), float(np.float32(want))), (name, x, got)
    flushed = {"sin": -0.0, "cos": 1.0, "lg2": NAN, "ex2": 1.0, "rcp": -INF, "sqrt": -0.0, "rsqrt": -INF}
    for name, want in flushed.items():
        got = float(run(f"{name}.approx.ftz.f32", target, lanes, np.array([-1e-40], np.float32))[0])
        assert same(got, -INF if name == "lg2" else want), (name, got)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_upper_word_instructions(target: str, lanes: int) -> None:
    """Sections 9.7.3.14 and 9.7.3.17: 20 fraction bits of the operand, 20 of the result."""
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    a = patterns(F64, 3, 4096)
    functions: dict[str, Callable[[float], float]] = {
        "rcp": lambda v: math.copysign(INF, v) if v == 0 else 1 / v,
        "rsqrt": lambda v: math.copysign(INF, v) if v == 0 else NAN if v < 0 else 1 / math.sqrt(v),
    }
    for name, function in functions.items():
        (out,) = compiled(f"{name}.approx.ftz.f64", lanes, target)(a)
        for x, y in zip(a, out, strict=True):
            assert int(y) & 0xFFFFFFFF == 0
            want = function(F64.decode(F64.flush(int(x) & ~0xFFFFFFFF)))
            got = F64.decode(int(y))
            if math.isnan(want):
                assert int(y) == 0x7FFFFFFF00000000
            elif want == 0 or math.isinf(want) or abs(want) < 2.0**-1022:
                assert same(got, want if abs(want) > 2.0**-1022 else math.copysign(0.0, want))
            else:
                assert abs(got - want) <= 2.0**-20 * abs(want)
    x = np.array([4.0, 2.0, 0.0, -1.0, 1e-310])
    (out,) = compiled("rsqrt.approx.f64", lanes, target)(x.view(np.uint64))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_allclose(out.view(np.float64), 1 / np.sqrt(x), rtol=2.0**-51)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_half_precision(target: str, lanes: int) -> None:
    """Sections 9.7.4.9 and 9.7.4.10: every f16 and bf16 number; the packed forms do the same twice."""
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    codes = np.arange(65536, dtype=np.uint64)
    half = codes.astype(np.uint16).view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):
        brain = (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    def values(out: np.ndarray, name: str) -> np.ndarray:
        if name == "f16":
            return out.astype(np.uint16).view(np.float16).astype(np.float64)
        return (out.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    for name, x in (("f16", half), ("bf16", brain)):
        smallest, largest = (2.0**-24, 65504.0) if name == "f16" else (2.0**-126, 3.39e38)
        (out,) = compiled(f"ex2.approx{'.ftz' if name == 'bf16' else ''}.{name}", lanes, target)(codes)
        got = values(out, name)
        with np.errstate(over="ignore", invalid="ignore"):
            exact = np.exp2(x)
            bound = exact * 2.0 ** (-9.9 if name == "f16" else -7)
            fits = (exact >= smallest) & (exact <= largest)
            # A subnormal f16 has no relative error of 2**-9.9 to give: half of its unit is what rounding leaves.
            allowed = np.maximum(bound, 2.0**-25 if name == "f16" else 0.0)
            assert np.all(np.abs(got - exact)[fits] <= allowed[fits])
            assert np.all(np.isinf(got[exact > 2 * largest]))
        pairs = codes | codes[::-1] << np.uint64(16)
        (packed,) = compiled(f"ex2.approx{'.ftz' if name == 'bf16' else ''}.{name}x2", lanes, target)(pairs)
        assert np.array_equal(packed, out.astype(np.uint32) | out[::-1].astype(np.uint32) << 16)
        (out,) = compiled(f"tanh.approx.{name}", lanes, target)(codes)
        with np.errstate(invalid="ignore"):
            error = np.abs(values(out, name) - np.tanh(x))
        assert np.all(error[~np.isnan(x)] <= 2.0 ** (-10.987 if name == "f16" else -8))
        assert np.all(out[np.isnan(x)] == 0x7FFF)
        reverse = codes[::-1].copy()
        (packed,) = compiled(f"tanh.approx.{name}x2", lanes, target)(codes | reverse << np.uint64(16))
        assert np.array_equal(packed, out.astype(np.uint32) | out[::-1].astype(np.uint32) << 16)
