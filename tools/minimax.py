"""From the functions of <math.h> to the polynomials that our device headers evaluate: minimax fits by Remez's exchange
at 60 digits, written to src/drawloom/cuda/include/drawloom/polynomials.h.

    pip install mpmath
    python -m tools.minimax            # writes the header, prints each fit's degree and relative error
    python -m tools.minimax exp erf    # prints these only
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

HEADER = Path(__file__).resolve().parent.parent / "src/drawloom/cuda/include/drawloom/polynomials.h"
DIGITS = 60
SAMPLES = 24  # points looked at between two neighbouring points of the reference

Real = Any  # an mpmath number


@dataclass(frozen=True)
class Fit:
    """`name(u)` approximates `function` on [low, high]; `degrees` are those of the double and of the float version, 0
    for none. What is minimised is the relative error, or the absolute where the function has zeros."""

    name: str
    meaning: str
    function: Callable[[Real], Real]
    low: Real
    high: Real
    degrees: tuple[int, int]
    absolute: bool = False


def remez(fit: Fit, degree: int) -> tuple[list[Real], Real]:
    """The coefficients, lowest first, and the largest error of the best polynomial."""
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    count = degree + 2
    reference = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    reference.sort()
    coefficients: list[Real] = []
    for _ in range(12):
        # The best polynomial on the reference: its error has one size and alternating signs there.
        values = [fit.function(x) for x in reference]
        weights = [mp.mpf(1) if fit.absolute else abs(v) for v in values]
        rows = [[x**k for k in range(degree + 1)] + [(-1) ** i * w] for i, (x, w) in enumerate(zip(reference, weights))]
        solved = mp.lu_solve(mp.matrix(rows), mp.matrix(values))
        coefficients, level = [solved[k] for k in range(degree + 1)], abs(solved[degree + 1])
        reference, largest = extremes(fit, coefficients, reference)
        if largest < level * mp.mpf("1.02"):
            break
    return coefficients, largest


def error_at(fit: Fit, coefficients: list[Real], x: Real) -> Real:
    value = fit.function(x)
    error = mp.polyval(coefficients[::-1], x) - value
    return error if fit.absolute else error / abs(value)


def extremes(fit: Fit, coefficients: list[Real], reference: list[Real]) -> tuple[list[Real], Real]:
    """Where the error is largest between each two of its sign changes, and how large it is at most."""
    ends = [mp.mpf(fit.low), *reference, mp.mpf(fit.high)]
    points = [a + (b - a) * mp.mpf(k) / SAMPLES for a, b in pairwise(ends) if b > a for k in range(SAMPLES)]
    points.append(ends[-1])
    best: list[tuple[Real, Real]] = []  # (point, error), one for each run of one sign
    for x in points:
        error = error_at(fit, coefficients, x)
        if not best or (error > 0) != (best[-1][1] > 0):
            best.append((x, error))
        elif abs(error) > abs(best[-1][1]):
            best[-1] = (x, error)
    while len(best) > len(reference):  # more runs than the reference has points: the smaller end goes
        best.pop(0 if abs(best[0][1]) < abs(best[-1][1]) else -1)
    if len(best) < len(reference):  # rounding has hidden a run: the fit is as good as the digits allow
        return reference, max(abs(e) for _, e in best)
    return [x for x, _ in best], max(abs(e) for _, e in best)


def near_zero(series: Callable[[Real], Real], at_zero: Real) -> Callable[[Real], Real]:
    """`series` with its limit where it is 0 by 0."""
    return lambda x: series(x) if abs(x) > mp.mpf(10) ** -25 else mp.mpf(at_zero)


def of_square(odd: Callable[[Real], Real]) -> Callable[[Real], Real]:
    return lambda u: odd(mp.sqrt(u))


def third(f: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """(f(x) - x) / x^3, for f(x) = x + O(x^3)."""
    return lambda x: (f(x) - x) / x**3


def erfcx(x: Real) -> Real:
    return mp.exp(x * x) * mp.erfc(x)


def inverse_erfc(y: Real) -> Real:
    """x with erfc(x) = y, for y up to 0.9: Newton's steps on the logarithm."""
    x = mp.sqrt(-mp.log(y)) if y < mp.mpf("0.1") else mp.mpf("0.5")
    for _ in range(60):
        value = mp.erfc(x)
        step = (mp.log(value) - mp.log(y)) * value / (-2 / mp.sqrt(mp.pi) * mp.exp(-x * x))
        x -= step
        if abs(step) < mp.mpf(10) ** (8 - DIGITS):
            break
    return x


def inverse_erf_of(w: Real) -> Real:
    """erfinv(x) / x where w = -log(1 - x^2)."""
    w = max(w, mp.mpf(10) ** -20)
    x = mp.sqrt(-mp.expm1(-w))
    if w < mp.mpf("0.3"):
        return mp.erfinv(x) / x
    # 1 - x is known to more digits from w than from x.
    return inverse_erfc(-mp.expm1(mp.log1p(-mp.exp(-w)) / 2)) / x


def stirling_rest(u: Real) -> Real:
    """x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2), u = 1 / x^2."""
    if u < mp.mpf(10) ** -14:
        return mp.mpf(1) / 12 - u / 360
    x = 1 / mp.sqrt(u)
    return x * (mp.loggamma(x) - (x - mp.mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def log_gamma_quotient(x: Real) -> Real:
    """log gamma(x) / ((x - 1) (x - 2)): smooth, as both zeros are divided out."""
    for zero, limit in ((1, mp.euler), (2, 1 - mp.euler)):
        if abs(x - zero) < mp.mpf(10) ** -20:
            return limit
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def without_zeros(f: Callable[[Real], Real], zeros: list[Real]) -> Callable[[Real], Real]:
    """f(x) divided by x - z for each zero z; beside one, the mean of two points that lie around it."""

    def smooth(x: Real) -> Real:
        away = mp.mpf(10) ** -18
        if any(abs(x - z) < away / 2 for z in zeros):
            return (smooth(x - away) + smooth(x + away)) / 2
        return f(x) / mp.fprod([x - z for z in zeros])

    return smooth


#: The zeros of J0, J1, Y0 and Y1 below 8.
BESSEL_ZEROS: dict[str, tuple[int, ...]] = {"j0": (1, 2), "j1": (1, 2), "y0": (1, 2, 3), "y1": (1, 2)}
#: From where Y0 and Y1 are fitted: below, a series with the logarithm is.
BESSEL_PARTS = (("near", "0.5", "1.5"), ("middle", "1.5", "4"), ("far", "4", "8"))


def bessel_zero(name: str, which: int) -> Real:
    order = int(name[1])
    return mp.besseljzero(order, which) if name[0] == "j" else mp.besselyzero(order, which)


def shifted(f: Callable[[Real], Real], middle: Real, half: Real) -> Callable[[Real], Real]:
    """f over [-1, 1]."""
    return lambda u: f(middle + half * u)


def bessel_fits(order: int) -> list[Fit]:
    """The functions of order 0 or 1: J below 8 by two parts, Y by a series and three, I by two, both from 8 on."""

    def j(v: Real) -> Real:
        x = mp.sqrt(v)
        if v > mp.mpf(10) ** -22:
            return mp.besselj(order, x) / x**order
        return (1 - v / 4 / (1 + order)) / 2**order

    def y(x: Real) -> Real:
        return x**order * mp.bessely(order, x)

    def y_series(v: Real) -> Real:
        """What Y is beside 2/pi log(x/2) J: even in x for order 0, odd with a pole for order 1."""
        x = mp.sqrt(max(v, mp.mpf(10) ** -20))
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x / 2) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / mp.pi / x) / x

    def hankel(v: Real) -> Real:
        x = 8 / mp.sqrt(max(v, mp.mpf(10) ** -16))
        return mp.hankel1(order, x) * mp.sqrt(mp.pi * x / 2) * mp.expj(-(x - mp.pi / 4 - order * mp.pi / 2))

    def hankel_q(v: Real) -> Real:
        return mp.im(hankel(v)) * 8 / mp.sqrt(max(v, mp.mpf(10) ** -16))

    def i(v: Real) -> Real:
        x = mp.sqrt(max(v, mp.mpf(10) ** -24))
        return mp.besseli(order, x) / x**order

    def i_large(u: Real) -> Real:
        return mp.besseli(order, 8 / u) * mp.exp(-8 / u) * mp.sqrt(8 / u)

    zeros_j, zeros_y = (
        [bessel_zero(f"{kind}{order}", which) for which in BESSEL_ZEROS[f"{kind}{order}"]] for kind in "jy"
    )
    smooth_j, smooth_y = without_zeros(j, [z**2 for z in zeros_j]), without_zeros(y, zeros_y)
    fits: list[Fit] = []
    for part, middle in (("near", 16), ("far", 48)):
        meaning = f"J{order}(x) / (x^{order} (x^2 - z1^2) (x^2 - z2^2)), u = (x^2 - {middle}) / 16"
        fits.append(Fit(f"j{order}_{part}", meaning, shifted(smooth_j, middle, 16), -1, 1, (13, 0)))
    for part, low, high in BESSEL_PARTS:
        center, half = (mp.mpf(low) + mp.mpf(high)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2
        meaning = f"x^{order} Y{order}(x) over x - z of its zeros, u = (x - {center}) / {half}"
        fits.append(Fit(f"y{order}_{part}", meaning, shifted(smooth_y, center, half), -1, 1, (26, 0)))
    meaning = f"Y{order}(x) less 2/pi log(x/2) J{order}(x) and its pole, over x^{order}, u = x^2"
    fits.append(Fit(f"y{order}_series", meaning, y_series, 0, mp.mpf("0.2501"), (6, 0)))
    meaning = f"Hankel's P{order}(x), u = 64 / x^2, x from 8"
    fits.append(Fit(f"hankel_p{order}", meaning, lambda v: mp.re(hankel(v)), 0, 1, (9, 0)))
    meaning = f"Hankel's Q{order}(x) x, u = 64 / x^2, x from 8"
    fits.append(Fit(f"hankel_q{order}", meaning, hankel_q, 0, 1, (9, 0)))
    fits.append(Fit(f"i{order}", f"I{order}(x) / x^{order}, u = x^2, x below 8", i, 0, 64, (17, 0)))
    meaning = f"I{order}(x) exp(-x) sqrt(x), u = 8 / x, x from 8"
    fits.append(Fit(f"i{order}_large", meaning, i_large, mp.mpf("0.011"), 1, (23, 0)))
    return fits


mp.mp.dps = DIGITS
HALF_LN2 = mp.log(2) / 2 + mp.mpf("1e-4")
QUARTER_PI = mp.pi / 4 + mp.mpf("1e-4")
S_OF_LOG = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 + mp.mpf("1e-5")
EIGHTH = mp.tan(mp.pi / 8)

FITS: list[Fit] = [
    Fit(
        "exp",
        "(exp(u) - 1 - u - u^2/2) / u^3",
        near_zero(lambda x: (mp.expm1(x) - x - x * x / 2) / x**3, mp.mpf(1) / 6),
        -HALF_LN2,
        HALF_LN2,
        (9, 4),
    ),
    Fit(
        "log",
        "(log((1+s)/(1-s)) - 2s) / s^3, u = s^2",
        near_zero(of_square(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), mp.mpf(2) / 3),
        0,
        S_OF_LOG,
        (7, 3),
    ),
    Fit(
        "log_tail",
        "(log((1+s)/(1-s)) - 2s - 2/3 s^3) / s^5, u = s^2",
        near_zero(of_square(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), mp.mpf(2) / 5),
        0,
        S_OF_LOG,
        (8, 0),
    ),
    Fit(
        "sin",
        "(sin(x) - x) / x^3, u = x^2",
        near_zero(of_square(third(mp.sin)), -mp.mpf(1) / 6),
        0,
        QUARTER_PI**2,
        (6, 3),
    ),
    Fit(
        "cos",
        "(cos(x) - 1 + x^2/2) / x^4, u = x^2",
        near_zero(of_square(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4), mp.mpf(1) / 24),
        0,
        QUARTER_PI**2,
        (6, 2),
    ),
    Fit(
        "atan",
        "(atan(x) - x) / x^3, u = x^2",
        near_zero(of_square(third(mp.atan)), -mp.mpf(1) / 3),
        0,
        EIGHTH**2,
        (11, 5),
    ),
    Fit(
        "asin",
        "(asin(x) - x) / x^3, u = x^2",
        near_zero(of_square(third(mp.asin)), mp.mpf(1) / 6),
        0,
        mp.mpf("0.2501"),
        (12, 5),
    ),
    Fit(
        "erf",
        "erf(x) / x - 1, u = x^2",
        near_zero(of_square(lambda x: mp.erf(x) / x - 1), 2 / mp.sqrt(mp.pi) - 1),
        0,
        1,
        (12, 6),
    ),
    Fit(
        "erfcx",
        "(1 + 2x) exp(x^2) erfc(x), u = (x - 4) / (x + 4)",
        lambda t: (1 + 8 * (1 + t) / (1 - t)) * erfcx(4 * (1 + t) / (1 - t)),
        mp.mpf("-0.78"),
        mp.mpf("0.99999"),
        (22, 10),
    ),
    Fit(
        "erfinv_low",
        "erfinv(x) / x, u = w - 3.125, w = -log(1 - x^2) below 6.25",
        lambda u: inverse_erf_of(u + mp.mpf("3.125")),
        mp.mpf("-3.125"),
        mp.mpf("3.125"),
        (24, 0),
    ),
    Fit(
        "erfinv_middle",
        "erfinv(x) / x, u = sqrt(w) - 3.25, w from 6.25 to 16",
        lambda u: inverse_erf_of((u + mp.mpf("3.25")) ** 2),
        mp.mpf("-0.75"),
        mp.mpf("0.75"),
        (20, 0),
    ),
    Fit(
        "erfinv_high",
        "erfinv(x) / x, u = sqrt(w) - 5.1, w from 16 to 38",
        lambda u: inverse_erf_of((u + mp.mpf("5.1")) ** 2),
        mp.mpf("-1.1"),
        mp.mpf("1.1"),
        (19, 0),
    ),
    Fit(
        "erfcinv_tail",
        "erfcinv(y) / r, u = 1 / r - 1/8, r = sqrt(-log(y)), y from 3e-77 to 2e-15",
        lambda u: inverse_erfc(mp.exp(-1 / (u + mp.mpf("0.125")) ** 2)) * (u + mp.mpf("0.125")),
        mp.mpf("-0.0496"),
        mp.mpf("0.047"),
        (16, 0),
    ),
    Fit(
        "erfcinv_end",
        "erfcinv(y) / r, u = 1 / r - 1/16, r = sqrt(-log(y)), y from 5e-324 to 3e-77",
        lambda u: inverse_erfc(mp.exp(-1 / (u + mp.mpf("0.0625")) ** 2)) * (u + mp.mpf("0.0625")),
        mp.mpf("-0.026"),
        mp.mpf("0.014"),
        (14, 0),
    ),
    Fit("gamma", "gamma(u + 1.5)", lambda u: mp.gamma(u + mp.mpf("1.5")), mp.mpf("-0.5"), mp.mpf("0.5"), (21, 0)),
    Fit(
        "lgamma_one",
        "log gamma(x) / ((x - 1) (x - 2)), u = x - 1.5",
        lambda u: log_gamma_quotient(u + mp.mpf("1.5")),
        mp.mpf("-0.5"),
        mp.mpf("0.5"),
        (21, 0),
    ),
    Fit(
        "lgamma_two",
        "log gamma(x) / ((x - 1) (x - 2)), u = x - 2.5",
        lambda u: log_gamma_quotient(u + mp.mpf("2.5")),
        mp.mpf("-0.5"),
        mp.mpf("0.5"),
        (17, 0),
    ),
    Fit(
        "stirling",
        "x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2), u = 1 / x^2, x from 10",
        stirling_rest,
        0,
        mp.mpf("0.0101"),
        (6, 0),
    ),
    *bessel_fits(0),
    *bessel_fits(1),
]


def written(fit: Fit) -> str:
    """The C functions of a fit."""
    text = f"// {fit.meaning}; u from {mp.nstr(fit.low, 6)} to {mp.nstr(fit.high, 6)}.\n"
    for degree, kind, suffix in zip(fit.degrees, ("double", "float"), ("", "f")):
        if not degree:
            continue
        coefficients, error = remez(fit, degree)
        how = "absolute" if fit.absolute else "relative"
        print(
            f"{fit.name}{suffix}: degree {degree}, {how} error {mp.nstr(error, 3)} = 2^{mp.nstr(mp.log(error, 2), 4)}"
        )
        numbers = [
            float(c).hex() if kind == "double" else float(np.float32(float(c))).hex() + "f" for c in coefficients
        ]
        text += f"__DL_CORE {kind} __dl_poly_{fit.name}{suffix}({kind} u) {{  // {how} error {mp.nstr(error, 2)}\n"
        text += f"  {kind} p = {numbers[-1]};\n"
        text += "".join(f"  p = __builtin_fma{suffix}(p, u, {c});\n" for c in numbers[-2::-1])
        text += "  return p;\n}\n"
    return text


def written_zeros() -> str:
    """The zeros of the Bessel functions, each as the sum of two doubles."""
    text = "// Zeros of the Bessel functions.\n"
    for name, those in BESSEL_ZEROS.items():
        for which in those:
            zero = bessel_zero(name, which)
            low = float(zero - mp.mpf(float(zero)))
            text += f"#define __DL_ZERO_{name.upper()}_{which} {float(zero).hex()}, {low.hex()}\n"
    return text


def main() -> int:
    wanted = sys.argv[1:]
    bodies = [written(fit) for fit in FITS if not wanted or fit.name in wanted]
    if not wanted:
        head = "// Minimax polynomials, made by tools/minimax.py; do not edit.\n#pragma once\n\n"
        HEADER.write_text(head + "\n".join([*bodies, written_zeros()]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
