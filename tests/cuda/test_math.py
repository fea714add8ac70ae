"""A part of tools/math_accuracy.py: the device's functions stay within the bounds that CUDA documents."""

import math
from fractions import Fraction

import numpy as np
import pytest

import drawloom
from tools.math_accuracy import FUNCTIONS, measure, special_functions

DOUBLES = ("sin", "pow", "tgamma")
FLOATS = ("log", "tan", "erfc", "asin")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double here")
@pytest.mark.parametrize(("names", "dtype"), [(DOUBLES, np.float64), (FLOATS, np.float32)], ids=["double", "float"])
def test_errors_are_within_cudas_bounds(names: tuple[str, ...], dtype: type) -> None:
    functions = [f for f in FUNCTIONS + special_functions() if f.name in names]
    assert len(functions) == len(names)
    for name, bound, worst, at in measure(functions, 500, types=(dtype,)):
        assert worst <= bound, (name, worst, at)


EXACT = """
extern "C" __global__ void exact(double *out, const double *x, const double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = 0, power, quotient;
  if (i >= n) return;
  double whole;
#define PUT(value) out[n * row++ + i] = (value)
  PUT(frexp(x[i], &power));
  PUT(power);
  PUT(modf(x[i], &whole));
  PUT(whole);
  PUT(nextafter(x[i], y[i]));
  PUT(remquo(x[i], y[i], &quotient));
  PUT(quotient & 7);
  PUT(ldexp(x[i], (int)(y[i] * 100)));
  PUT(logb(x[i]));
  PUT(fdim(x[i], y[i]));
  PUT(rint(x[i]) + round(x[i]) + floor(x[i]) - ceil(x[i]));
  PUT(llround(fmod(x[i], 1e6)) + lrint(fmod(y[i], 1e6)));
  PUT(nextafterf((float)x[i], (float)y[i]));
  PUT(fmodf((float)x[i], (float)y[i]));
  PUT(ldexpf((float)x[i], (int)(y[i] * 10)));
  PUT(norm3d(3 * x[i], 4 * x[i], 12 * x[i]) / 13);
}
"""


def exact(x: float, y: float) -> list[float]:
    fraction, power = math.frexp(x)
    rest, whole = math.modf(x)
    left = math.remainder(x, y)
    quotient = abs((Fraction(x) - Fraction(left)) / Fraction(y)) * (-1 if (x < 0) != (y < 0) else 1)
    short, other = np.float32(x), np.float32(y)
    with np.errstate(all="ignore"):
        return [
            fraction, power, rest, whole, math.nextafter(x, y), left,
            int(math.copysign(abs(quotient) % 2**31, quotient)) & 7,
            float(np.ldexp(x, int(y * 100))), power - 1, max(x - y, 0.0),
            float(np.rint(x)) + math.copysign(math.floor(abs(x) + 0.5) if abs(x) < 2**52 else abs(x), x)
            + math.floor(x) - math.ceil(x),
            int(math.copysign(math.floor(abs(math.fmod(x, 1e6)) + 0.5), x)) + int(np.rint(math.fmod(y, 1e6))),
            float(np.nextafter(short, other)), float(np.fmod(short, other)),
            float(np.ldexp(short, int(y * 10))), abs(x),
        ]  # fmt: skip


def test_exact_functions_are_exact() -> None:
    seed = np.random.default_rng(11)
    x, y = (np.exp(seed.uniform(-30, 30, 200)) * seed.choice([-1, 1], 200) for _ in range(2))
    y = np.clip(y, -20, 20)
    x[:6], y[:6] = [5e-324, 2.5, -3.5, 1e30, 7.0, -0.75], [1.0, 1.0, 1.0, 3.0, 7.0, 0.5]
    out = np.zeros((16, x.size))
    drawloom.load(drawloom.compile_cuda(EXACT))["exact"][2, 128](out, x, y, x.size)
    for i in range(x.size):
        assert out[:15, i].tolist() == exact(x[i].item(), y[i].item())[:15], (x[i], y[i])
    assert out[15] == pytest.approx(np.abs(x), rel=2.0**-51, abs=5e-324)
