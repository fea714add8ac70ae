"""What the results of `batch.linalg` are held against: factors in a wider type, and bounds with a derivation.

gamma(k) = k u / (1 - k u) as in `tests/batch/cases.py`; all kernels compute in float64. Results of float32 stacks are
rounded once more, which `rounding` bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.batch.cases import gamma

Array = NDArray[Any]


def bound(roundings: int) -> float:
    return gamma(roundings, np.float64)


def rounding(dtype: Any) -> float:
    """Return the unit roundoff of storing a result."""
    return float(np.finfo(dtype).eps) / 2 if np.dtype(dtype) == np.float32 else 0.0


def make_matrices(count: int, size: int, dtype: Any, seed: int = 0, columns: int = 0) -> Array:
    rng = np.random.default_rng([seed, count, size])
    return rng.standard_normal((count, size, columns or size)).astype(dtype)


def make_symmetric(count: int, size: int, dtype: Any, seed: int = 0) -> Array:
    matrix = make_matrices(count, size, dtype, seed)
    return matrix + matrix.swapaxes(1, 2)


def make_definite(count: int, size: int, dtype: Any, seed: int = 0) -> Array:
    matrix = make_matrices(count, size, dtype, seed)
    return (matrix @ matrix.swapaxes(1, 2) + np.eye(size)).astype(dtype)


def elimination_sizes(matrices: Array) -> Array:
    """Return |L| |U| of the elimination with partial pivoting, with rows in the order of the matrices."""
    rest = matrices.astype(np.longdouble)
    count, size, _ = rest.shape
    lower, upper = np.zeros_like(rest), np.zeros_like(rest)
    is_left = np.ones((count, size), bool)
    every = np.arange(count)
    for step in range(size):
        pivot = np.where(is_left, np.abs(rest[:, :, step]), -1).argmax(axis=1)
        row = rest[every, pivot]
        upper[:, step, step:] = row[:, step:]
        lower[:, :, step] = np.where(is_left, rest[:, :, step] / row[:, None, step], 0)
        is_left[every, pivot] = False
        rest = rest - np.where(is_left, lower[:, :, step], 0)[:, :, None] * row[:, None, :]
    return np.asarray(np.einsum("gij,gjk->gik", np.abs(lower), np.abs(upper)))


def check_solution(a: Array, b: Array, x: Array) -> None:
    """|b - A x| <= gamma(3 n) |L| |U| |x| (Higham, theorem 9.4), and two roundings more for each reciprocal pivot."""
    a, b, wide = (value.astype(np.longdouble) for value in (a, b, x))
    residual = np.abs(b - np.einsum("gij,gjk->gik", a, wide))
    sizes = np.einsum("gij,gjk->gik", bound(3 * a.shape[-1] + 4) * elimination_sizes(a), np.abs(wide))
    rounded = rounding(x.dtype) * np.einsum("gij,gjk->gik", np.abs(a), np.abs(wide))
    assert (residual <= sizes + rounded).all()


def check_determinant(a: Array, found: Array, expected: Array, stored: Any) -> None:
    """Both are determinants of A + E, |E| <= gamma(n + 2) |L| |U|; to first order |tr(A^-1 E)| is the relative change.

    NumPy's goes through exp(log), whose error is that of the logarithm's last bit. `stored` is the type of results.
    """
    size = a.shape[-1]
    inverse = np.abs(np.linalg.inv(a.astype(np.float64)))
    change = 2 * bound(size + 2) * np.einsum("gij,gji->g", inverse, elimination_sizes(a).astype(np.float64))
    logarithm = np.abs(np.log(np.abs(expected.astype(np.float64))))
    relative = 1.01 * change + (bound(4 * size) + 2 * rounding(stored)) * (1 + logarithm)
    assert (np.abs(found - expected) <= relative * np.abs(expected)).all()


def check_orthogonal(q: Array, roundings: int) -> None:
    """The Frobenius norm of Q^T Q - I is at most twice gamma of the roundings for each column.

    Q is an orthogonal Z and an error E of gamma for each column, and Q^T Q - I is Z^T E + E^T Z but for E^T E.
    """
    size = q.shape[-1]
    wide = q.astype(np.longdouble)
    error = np.einsum("gji,gjk->gik", wide, wide) - np.eye(size)
    norms = np.sqrt((error**2).sum(axis=(1, 2)))
    assert (norms <= 2 * size * bound(roundings) + 2 * size * rounding(q.dtype)).all()


def check_product(a: Array, factors: tuple[Array, ...], roundings: int) -> None:
    """The Frobenius norm of A - (product of factors) is at most gamma of the roundings, times that of A."""
    product = factors[0].astype(np.longdouble)
    for factor in factors[1:]:
        product = np.einsum("gij,gjk->gik", product, factor.astype(np.longdouble))
    error = np.sqrt(((a.astype(np.longdouble) - product) ** 2).sum(axis=(1, 2)))
    scale = np.sqrt((a.astype(np.longdouble) ** 2).sum(axis=(1, 2)))
    stored = 2 * len(factors) * a.shape[-1] * rounding(a.dtype)
    assert (error <= (a.shape[-1] * bound(roundings) + stored) * scale).all()


def diagonal(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])
