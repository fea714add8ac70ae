"""Measures the device's mathematical functions: from random and hard arguments to the largest error of each function
in units in the last place, beside the bound that CUDA documents (CUDA C++ Programming Guide, "Mathematical
Functions"). The truth is the C library's, in the 64-bit mantissas of x86's long double.

    python -m tools.math_accuracy                  # the table of docs/cuda.md
    python -m tools.math_accuracy exp sin --count 1000000
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import drawloom
from drawloom.cuda import compile_cuda
from drawloom.cuda.clang import find_clang

Array = np.ndarray[Any, np.dtype[Any]]
Long = np.longdouble
PI = Long("3.14159265358979323846264338327950288")


@cache
def compiled(name: str) -> Callable[[Array], Array]:
    """The C library's long double function of that name over arrays, by a helper that clang compiles."""
    loop = f"long double {name}(long double); void over(long n, const long double *x, long double *y) "
    loop += f"{{ for (long i = 0; i < n; i++) y[i] = {name}(x[i]); }}"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "over.so")
        command = [*find_clang().c, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-lm", "-o", path]
        subprocess.run(command, input=loop.encode(), check=True)
        library = ctypes.CDLL(path)

    def over(x: Array) -> Array:
        given = np.ascontiguousarray(x, Long)
        out = np.empty_like(given)
        library.over(ctypes.c_long(given.size), ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return out

    return over


@dataclass(frozen=True)
class Function:
    """A function by its double name, the bounds of its double and its float version, the truth over long doubles, and
    the range of its arguments: ("log", a, b) draws exponents evenly between those of a and b, and both signs where
    `signed`."""

    name: str
    bound: float
    bound_float: float
    truth: Callable[..., Array]
    ranges: tuple[tuple[str, float, float], ...]
    arity: int = 1
    signed: bool = True
    ends: bool = True  # also zeros, infinities, the least and the largest, where the truth is known there


def sinpi(x: Array) -> Array:
    half = np.rint(2 * x)  # x is half / 2 + rest, and what is left is exact
    rest = PI * (x - half / 2)
    quadrant = np.fmod(half, 4).astype(int) % 4
    turned = np.choose(quadrant, [np.sin(rest), np.cos(rest), -np.sin(rest), -np.cos(rest)])
    return np.where(np.isfinite(x) & (np.trunc(x) == x), np.copysign(Long(0), x), turned)


def cospi(x: Array) -> Array:
    half = np.rint(2 * x)
    rest = PI * (x - half / 2)
    quadrant = np.fmod(half, 4).astype(int) % 4
    turned: Array = np.choose(quadrant, [np.cos(rest), -np.sin(rest), -np.cos(rest), np.sin(rest)]) + 0
    return turned


def reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def length(*parts: Array) -> Array:
    """Infinite where a part is, beside NaN, too."""
    root = np.sqrt(sum(x * x for x in parts))
    endless = np.any([np.isinf(x) for x in parts], axis=0)
    return np.where(endless, Long(np.inf), root)


def reciprocal_length(*parts: Array) -> Array:
    return 1 / length(*parts)


ANY = ("log", 1e-300, 1e300)
ANGLES = (("even", -8.0, 8.0), ("log", 1e-8, 1e300), ("multiples", 0.0, 0.0))
FUNCTIONS = [
    Function("exp", 1, 1, np.exp, (("even", -745.0, 709.0), ("log", 1e-20, 1.0), ("even", -104.0, 88.0))),
    Function("exp2", 1, 2, np.exp2, (("even", -1074.0, 1023.0), ("log", 1e-20, 1.0), ("even", -149.0, 127.0))),
    Function(
        "exp10",
        1,
        2,
        lambda x: np.power(Long(10), x),
        (("even", -323.0, 308.0), ("log", 1e-20, 1.0), ("even", -45.0, 38.0)),
    ),
    Function("expm1", 1, 1, np.expm1, (("even", -40.0, 709.0), ("log", 1e-20, 1.0), ("even", -20.0, 88.0))),
    Function("log", 1, 1, np.log, (ANY, ("even", 0.5, 2.0), ("log", 1e-320, 1e-300)), signed=False),
    Function("log2", 1, 1, np.log2, (ANY, ("even", 0.5, 2.0)), signed=False),
    Function("log10", 1, 2, np.log10, (ANY, ("even", 0.5, 2.0)), signed=False),
    Function("log1p", 1, 1, np.log1p, (("even", -0.999, 2.0), ("log", 1e-20, 0.9), ("even", 1.0, 1e6))),
    Function("sin", 2, 2, np.sin, ANGLES),
    Function("cos", 2, 2, np.cos, ANGLES),
    Function("tan", 2, 4, np.tan, ANGLES),
    Function("sinpi", 2, 1, sinpi, (("even", -8.0, 8.0), ("log", 1e-20, 1e15))),
    Function("cospi", 2, 1, cospi, (("even", -8.0, 8.0), ("log", 1e-20, 1e15))),
    Function("asin", 2, 2, np.arcsin, (("even", -1.0, 1.0), ("log", 1e-20, 1.0))),
    Function("acos", 2, 2, np.arccos, (("even", -1.0, 1.0), ("log", 1e-20, 1.0))),
    Function("atan", 2, 2, np.arctan, (("even", -4.0, 4.0), ANY)),
    Function(
        "sinh",
        2,
        3,
        np.sinh,
        (("even", -710.0, 710.0), ("even", -89.0, 89.0), ("even", -3.0, 3.0), ("log", 1e-20, 1.0)),
    ),
    Function("cosh", 1, 2, np.cosh, (("even", -710.0, 710.0), ("even", -89.0, 89.0), ("even", -3.0, 3.0))),
    Function("tanh", 1, 2, np.tanh, (("even", -20.0, 20.0), ("even", -1.0, 1.0), ("log", 1e-20, 1.0))),
    Function("asinh", 3, 3, np.arcsinh, (("even", -4.0, 4.0), ANY)),
    Function("acosh", 3, 4, np.arccosh, (("even", 1.0, 4.0), ("log", 1.0, 1e300)), signed=False),
    Function("atanh", 2, 3, np.arctanh, (("even", -1.0, 1.0), ("log", 1e-20, 1.0))),
    Function("cbrt", 1, 1, np.cbrt, (ANY, ("even", -10.0, 10.0), ("log", 1e-320, 1e-300))),
    Function("rcbrt", 1, 1, lambda x: 1 / np.cbrt(x), (ANY, ("even", -10.0, 10.0))),
    Function("rsqrt", 1, 2, reciprocal_root, (ANY, ("even", 0.1, 10.0)), signed=False),
    Function("pow", 2, 4, np.power, (("log", 1e-3, 1e3), ("even", -40.0, 40.0)), 2, signed=False),
    Function("atan2", 2, 3, np.arctan2, (("log", 1e-30, 1e30), ("log", 1e-30, 1e30)), 2),
    Function("hypot", 2, 3, np.hypot, (("log", 1e-30, 1e30), ("log", 1e-30, 1e30)), 2),
    Function("rhypot", 1, 2, reciprocal_length, (("log", 1e-30, 1e30), ("log", 1e-30, 1e30)), 2),
    Function("norm3d", 1, 3, length, (("log", 1e-5, 1e5),) * 3, 3),
    Function("rnorm3d", 1, 2, reciprocal_length, (("log", 1e-5, 1e5),) * 3, 3),
    Function("norm4d", 1, 3, length, (("log", 1e-5, 1e5),) * 4, 4),
    Function("rnorm4d", 1, 2, reciprocal_length, (("log", 1e-5, 1e5),) * 4, 4),
    Function("fmod", 0, 0, np.fmod, (("log", 1e-5, 1e30), ("log", 1e-5, 1e5)), 2),
]


def special_functions() -> list[Function]:
    """Those that NumPy has not; their truth is the C library's, through a compiled helper."""

    def inverse(forward: str, x: Array, guess: Array) -> Array:
        """One step of Newton in long doubles from a double's inverse."""
        slope = 2 / np.sqrt(PI) * np.exp(-guess * guess) * (-1 if forward == "erfcl" else 1)
        better: Array = guess - (compiled(forward)(guess) - x) / slope
        return better

    def erfinv(x: Array) -> Array:
        guess = np.where(np.abs(x) < 0.9, x, np.sign(x) * np.sqrt(-np.log1p(-np.abs(x))))
        for _ in range(60):
            guess = inverse("erfl", x, guess)
        return guess

    def erfcinv(x: Array) -> Array:
        guess = np.where(x < 0.1, np.sqrt(-np.log(np.minimum(x, Long("0.5")))), 1 - x)
        for _ in range(60):
            value = compiled("erfcl")(guess)
            step = np.log(value / x) * value * np.sqrt(PI) / 2 * np.exp(guess * guess)
            guess = guess + step
        return np.where(np.abs(x - 1) < 0.5, erfinv(1 - x), guess)  # by the smaller of erf and erfc

    def normcdf(x: Array) -> Array:
        return compiled("erfcl")(-x / np.sqrt(Long(2))) / 2

    def erfcx(x: Array) -> Array:
        upper = (x * 4096).astype(np.float32) / Long(4096)  # the square as two exact parts
        scaled: Array = compiled("erfcl")(x) * np.exp(upper * upper) * np.exp((x - upper) * (x + upper))
        return scaled

    def bessel_i(order: int, x: Array) -> Array:
        """The power series, all of whose terms have one sign."""
        term = (x / 2) ** order
        total = term.copy()
        for k in range(1, 1100):
            term = term * (x * x / 4) / (k * (k + order))
            total += term
        return total

    return [
        Function("erf", 2, 2, compiled("erfl"), (("even", -6.0, 6.0), ("log", 1e-20, 1.0))),
        Function("erfc", 5, 4, compiled("erfcl"), (("even", -6.0, 26.0), ("even", -3.0, 9.0))),
        Function("erfcx", 4, 4, erfcx, (("even", -9.0, 9.0), ("even", 0.0, 100.0)), ends=False),
        Function("erfinv", 5, 2, erfinv, (("even", -1.0, 1.0), ("log", 1e-20, 1.0)), ends=False),
        Function("erfcinv", 6, 4, erfcinv, (("even", 0.0, 1.9), ("log", 1e-300, 1.0)), signed=False, ends=False),
        Function("normcdf", 5, 5, normcdf, (("even", -37.0, 8.0), ("even", -13.0, 5.0))),
        Function(
            "normcdfinv",
            8,
            5,
            lambda x: -np.sqrt(Long(2)) * erfcinv(2 * x),
            (("even", 0.0, 0.95), ("log", 1e-300, 0.5)),
            signed=False,
            ends=False,
        ),
        Function(
            "tgamma", 10, 5, compiled("tgammal"), (("even", 0.0, 171.0), ("even", -30.0, 0.0), ("log", 1e-20, 1.0))
        ),
        Function("j0", 7, 9, compiled("j0l"), (("even", -8.0, 8.0),), ends=False),
        Function("j1", 7, 9, compiled("j1l"), (("even", -8.0, 8.0), ("log", 1e-20, 1.0)), ends=False),
        Function("y0", 7, 9, compiled("y0l"), (("even", 0.0, 8.0), ("log", 1e-20, 1.0)), signed=False, ends=False),
        Function("y1", 7, 9, compiled("y1l"), (("even", 0.0, 8.0), ("log", 1e-20, 1.0)), signed=False, ends=False),
        Function("cyl_bessel_i0", 6, 6, lambda x: bessel_i(0, x), (("even", -20.0, 20.0), ("log", 1e-5, 700.0))),
        Function("cyl_bessel_i1", 6, 6, lambda x: bessel_i(1, x), (("even", -20.0, 20.0), ("log", 1e-5, 700.0))),
        Function("lgamma", 4, 6, compiled("lgammal"), (("even", 0.0, 30.0), ("log", 1e-20, 1e300)), signed=False),
    ]


def draw(kind: tuple[str, float, float], count: int, signed: bool, seed: np.random.Generator, dtype: Any) -> Array:
    how, low, high = kind
    if how == "even":
        return seed.uniform(low, high, count).astype(dtype)
    if how == "multiples":  # the numbers next to multiples of pi / 2, where digits cancel
        k = np.rint(np.exp(seed.uniform(0, 40 if dtype == np.float64 else 20, count)))
        return (k.astype(Long) * (PI / 2)).astype(dtype)
    least, most = (1e-300, 1e300) if dtype == np.float64 else (1e-37, 1e37)
    low, high = (max(low, 5e-324) if dtype == np.float64 else max(low, least)), min(high, most)
    low = min(low, high)
    drawn = np.exp(seed.uniform(np.log(low), np.log(high), count))
    sign = np.where(seed.random(count) < 0.5, -1.0, 1.0) if signed else 1.0
    return (drawn * sign).astype(dtype)


def arguments(function: Function, count: int, dtype: Any) -> list[Array]:
    """Random arguments, and after them those at the ends: zeros, infinities, the least, the largest, and NaN."""
    seed, limits = np.random.default_rng(7), np.finfo(dtype)
    ends = np.array([0.0, 1.0, limits.smallest_subnormal, limits.smallest_normal, limits.max, np.inf, np.nan], dtype)
    ends = np.concatenate([ends, -ends])
    if function.arity > 1:
        together = np.meshgrid(*[ends] * function.arity, indexing="ij")
        return [
            np.concatenate([draw(kind, count, function.signed, seed, dtype), some.ravel()])
            for kind, some in zip(function.ranges, together)
        ]
    drawn = [draw(kind, count, function.signed, seed, dtype) for kind in function.ranges]
    return [np.concatenate([*drawn, *([ends] if function.ends else [])])]


def kernels(functions: list[Function]) -> str:
    """A kernel for each function and type."""
    text = "#define N(i) int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"
    for f in functions:
        for suffix, kind in (("", "double"), ("f", "float")):
            takes = ", ".join(f"const {kind} *{name}" for name in "xyzw"[: f.arity])
            gives = ", ".join(f"{name}[i]" for name in "xyzw"[: f.arity])
            text += f'extern "C" __global__ void k_{f.name}{suffix}(int n, {kind} *out, {takes}) '
            text += f"{{ N(i) out[i] = {f.name}{suffix}({gives}); }}\n"
    return text


def errors(found: Array, truth: Array) -> Array:
    """The distance in units in the last place of `found`'s type at the truth; infinite where only one is finite."""
    dtype = found.dtype
    with np.errstate(all="ignore"):
        rounded = truth.astype(dtype)
        unit = np.spacing(np.abs(rounded)).astype(Long)
        away = np.abs(found.astype(Long) - truth) / unit
    same = ((found == rounded) & (np.signbit(found) == np.signbit(rounded))) | (np.isnan(found) & np.isnan(rounded))
    away = np.where((found == 0) & (rounded == 0) & ~same, np.inf, away)  # a zero of the wrong sign
    return np.where(same & ~np.isfinite(rounded), 0, np.where(np.isfinite(away), away, np.inf)).astype(float)


def measure(
    functions: list[Function], count: int, device: str = "cpu", types: tuple[Any, ...] = (np.float64, np.float32)
) -> list[tuple[str, float, float, list[float]]]:
    """(name, bound, largest error, the arguments that gave it) for each function and type."""
    module = drawloom.load(compile_cuda(kernels(functions)), device=device)
    rows = []
    for f in functions:
        for dtype in types:
            name = f.name + ("f" if dtype is np.float32 else "")
            inputs = arguments(f, count, dtype)
            out = np.zeros_like(inputs[0])
            module["k_" + name][(out.size + 255) // 256, 256](out.size, out, *inputs)
            with np.errstate(all="ignore"):
                truth = f.truth(*[x.astype(Long) for x in inputs])
            away = errors(out, truth)
            worst = int(np.argmax(away))
            bound = f.bound if dtype is np.float64 else f.bound_float
            rows.append((name, bound, float(away[worst]), [float(x[worst]) for x in inputs]))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=100_000, help="arguments from each range")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    functions = [f for f in FUNCTIONS + special_functions() if not options.names or f.name in options.names]
    print("| function | CUDA's bound, ulp | measured | at |\n| --- | ---: | ---: | --- |")
    bad = 0
    for name, bound, worst, at in measure(functions, options.count, options.device):
        bad += worst > bound
        print(
            f"| {name} | {bound:g} | {worst:.3f} | {', '.join(repr(x) for x in at)} |{'' if worst <= bound else ' !'}"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
