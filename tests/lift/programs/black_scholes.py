"""Black-Scholes: the prices of European call and put options, elementwise with two results."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    array,
    float32,
    fun,
    join,
    map,
    map_glb,
    map_lcl,
    map_wrg,
    size,
    split_guarded,
    unzip,
    user_function,
    zip,
)
from tests.lift.programs.benchmark import UNIT, Array, Benchmark, Reference

PRICES = user_function(
    """
    (float, float) prices(float stock, float strike, float years, float rate, float volatility) {
      float root = volatility * sqrt(years);
      float d1 = (log(stock / strike) + (rate + 0.5f * volatility * volatility) * years) / root;
      float d2 = d1 - root;
      float n1 = 0.5f * erfc(-d1 * 0.70710678f), n2 = 0.5f * erfc(-d2 * 0.70710678f);
      float discounted = strike * exp(-rate * years);
      float call = stock * n1 - discounted * n2;
      return tuple(call, call - stock + discounted);
    }
    """
)


def black_scholes_with(outer: Any, name: str) -> Lambda:
    n = size("N")
    return fun(
        array(float32, n),
        array(float32, n),
        array(float32, n),
        float32,
        float32,
        lambda stock, strike, years, rate, volatility: (
            zip(stock, strike, years) >> outer(lambda s, x, t: PRICES(s, x, t, rate, volatility)) >> unzip
        ),
        name=name,
    )


def black_scholes() -> Lambda:
    return black_scholes_with(map, "blackScholes")


def black_scholes_global() -> Lambda:
    return black_scholes_with(map_glb, "blackScholesGlobal")


def black_scholes_groups() -> Lambda:
    return black_scholes_with(lambda f: split_guarded(8) >> map_wrg(map_lcl(f)) >> join, "blackScholesGroups")


def arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    (n,) = sizes
    low, high = np.array([[5.0], [1.0], [0.25]]), np.array([[30.0], [100.0], [10.0]])
    stock, strike, years = random.uniform(low, high, (3, n)).astype(np.float32)
    return [stock, strike, years, 0.02, 0.3]


def reference(stock: Array, strike: Array, years: Array, rate: float, volatility: float) -> Reference:
    from math import erfc

    s, x, t = [one.astype(np.float64) for one in (stock, strike, years)]
    rate, volatility = float(np.float32(rate)), float(np.float32(volatility))
    root = volatility * np.sqrt(t)
    top = np.log(s / x) + (rate + 0.5 * volatility**2) * t
    d1 = top / root
    d2 = d1 - root
    n1, n2 = [np.array([0.5 * erfc(-one / np.sqrt(2)) for one in d]) for d in (d1, d2)]
    discounted = x * np.exp(-rate * t)
    call = s * n1 - discounted * n2
    # The logarithm and the quotient in it err by 3 u, the sum by 6 u of its parts; the normal distribution has a slope
    # of at most 0.4, and erfc errs by 4 u of its value beside 2 u of its argument.
    error1 = UNIT * ((3 + 6 * (np.abs(np.log(s / x)) + (rate + 0.5 * volatility**2) * t)) / root + 4 * np.abs(d1))
    error2 = error1 + UNIT * (4 * root + 4 * np.abs(d2))
    error = s * (0.4 * (error1 + 4 * UNIT * np.abs(d1)) + 6 * UNIT * n1)
    error += discounted * (0.4 * (error2 + 4 * UNIT * np.abs(d2)) + (10 + 4 * rate * t) * UNIT * n2)
    error += 4 * UNIT * (s * n1 + discounted * n2)
    put_error = error + UNIT * (4 * (s + discounted) + (6 + 4 * rate * t) * discounted)
    return Reference((call, call - s + discounted), (error, put_error))


BENCHMARKS = [
    Benchmark(
        "Black-Scholes",
        black_scholes,
        {"global": black_scholes_global, "groups": black_scholes_groups},
        arguments,
        reference,
        [(1,), (7,), (16,), (61,)],
    )
]
