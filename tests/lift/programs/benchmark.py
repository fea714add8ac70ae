"""What the benchmark programs have in common: a high-level and low-level forms, arguments, and the right result.

A reference computes in double precision and says how far a result in single precision may be from it. The bounds are
derived: a sum of ``n`` terms has an error of at most ``gamma(n)`` times the sum of their magnitudes (Higham, Accuracy
and Stability of Numerical Algorithms, section 3.1), whatever the order of the additions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drawloom.lift import Lambda

Array = npt.NDArray[Any]

#: Unit roundoff of float32.
UNIT = 2.0**-24


def gamma(roundings: int) -> float:
    """Return the bound of the relative error of a product of so many factors ``1 + u``."""
    return roundings * UNIT / (1 - roundings * UNIT)


class Reference:
    """Arrays in double precision and the largest error that each element may have."""

    def __init__(self, values: Any, bounds: Any) -> None:
        self.values = values
        self.bounds = bounds

    def check(self, found: Any) -> None:
        """Fail unless every element is within its bound."""
        values = self.values if isinstance(self.values, tuple) else (self.values,)
        bounds = self.bounds if isinstance(self.bounds, tuple) else (self.bounds,)
        results = found if isinstance(found, tuple) else (found,)
        assert len(values) == len(results)
        for value, bound, result in zip(values, bounds, results, strict=True):
            assert result.shape == value.shape
            error = np.abs(result.astype(np.float64) - value)
            assert (error <= bound).all(), (float(error.max()), float(np.max(bound)))


class Benchmark:
    """One program of a table of benchmarks.

    Args:
        name: As in the table.
        high_level: Makes the high-level program.
        low_level: Makes low-level programs, by name; each takes any size unless `multiples` says otherwise.
        arguments: Makes arguments of a size: a tuple of numbers that `sizes` lists.
        reference: Computes the result in double precision and its bounds.
        sizes: Small, odd and prime sizes for tests.
        multiples: What the numbers of a size must be multiples of for a low-level form that splits exactly.
    """

    def __init__(
        self,
        name: str,
        high_level: Callable[[], Lambda],
        low_level: Mapping[str, Callable[[], Lambda]],
        arguments: Callable[[np.random.Generator, tuple[int, ...]], list[Any]],
        reference: Callable[..., Reference],
        sizes: Sequence[tuple[int, ...]],
        multiples: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.name = name
        self.high_level = high_level
        self.low_level = low_level
        self.arguments = arguments
        self.reference = reference
        self.sizes = sizes
        self.multiples = multiples or {}

    def fits(self, form: str, size: tuple[int, ...]) -> bool:
        """Return True when a low-level form takes a size."""
        multiples = self.multiples.get(form, (1,) * len(size))
        return all(one % multiple == 0 for one, multiple in zip(size, multiples, strict=True))


def uniform(random: np.random.Generator, *shape: int) -> Array:
    """Return float32 numbers between -1 and 1."""
    return random.uniform(-1, 1, shape).astype(np.float32)
