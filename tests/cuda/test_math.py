"""A part of tools/math_accuracy.py: the device's functions stay within the bounds that CUDA documents."""

import numpy as np
import pytest

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
