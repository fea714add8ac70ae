"""The ready kernels with arguments, and what NumPy says they give: residuals in a wider type against derived bounds.

gamma(k) = k u / (1 - k u) with the unit roundoff u bounds k roundings (Higham, Accuracy and Stability, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arguments = dict[str, Any]


class Tensor:
    """What another library's array shows of itself; NumPy makes nothing of it."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def gamma(roundings: int, dtype: Any) -> float:
    unit = float(np.finfo(dtype).eps) / 2
    return roundings * unit / (1 - roundings * unit)


def wide(value: Array) -> Array:
    """Return numbers in a type with at least 11 more bits."""
    return value.astype(np.float64 if value.dtype == np.float32 else np.longdouble)


def multiply(left: Array, right: Array) -> Array:
    """Matrix products in the wide type, which NumPy's matmul takes."""
    return np.asarray(np.einsum("gij,gjk->gik", left, right))


def make_arguments(name: str, size: int, groups: int, dtype: Any, seed: int = 0) -> Arguments:
    """Return arguments of a ready kernel: well-conditioned matrices, points away from where signs change."""
    rng = np.random.default_rng(seed)
    items = groups * size

    def numbers(*shape: int) -> Array:
        return rng.uniform(-1, 1, shape).astype(dtype)

    if name in ("gema", "gemm"):
        return {"mat_a": numbers(groups, size, size), "mat_b": numbers(groups, size, size),
                "mat_c": np.zeros((groups, size, size), dtype)}  # fmt: skip
    matrix = (numbers(groups, size, size) + 2 * size * np.eye(size)).astype(dtype)
    if name == "trsv":
        return {"mat_a": matrix, "vec_b": numbers(groups, size)}
    if name == "trsm":
        return {"mat_a": matrix, "mat_b": numbers(groups, size, size)}
    if name == "ldus":
        return {"mat_a": matrix}
    if name == "pade":
        return {"x": numbers(items) * 2, "gradient": numbers(items), "a": numbers(6), "b": numbers(4), "count": items,
                "d_x": np.zeros(items, dtype), "d_a": np.zeros(6 * items, dtype),
                "d_b": np.zeros(4 * items, dtype)}  # fmt: skip
    if name == "enum":
        # Small multiples of 1/8: every sum is exact, in any order.
        eighths = (rng.integers(-16, 17, 98) / 8).astype(dtype)
        return {"mat_d": eighths[:80], "vec_b": eighths[80:88] + dtype(3), "vec_c": eighths[88:],
                "best": np.zeros(groups, dtype)}  # fmt: skip
    return {"a": numbers(items), "b": numbers(items) * 5 + dtype(6), "x": numbers(items) * 2, "y": numbers(items) * 2,
            "value": np.zeros(items, dtype)}  # fmt: skip


def copied(arguments: Arguments) -> Arguments:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def flat(arguments: Arguments) -> Arguments:
    """Return views with one dimension, as interpreters take them."""
    return {name: value.reshape(-1) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def check_gema(before: Arguments, after: Arguments) -> None:
    exact = wide(before["mat_a"]) + wide(before["mat_b"])
    assert (np.abs(after["mat_c"] - exact) <= gamma(1, after["mat_c"].dtype) * np.abs(exact)).all()


def check_gemm(before: Arguments, after: Arguments) -> None:
    """n products and n sums of an inner product: gamma(n), in any order, contracted or not."""
    a, b, c = wide(before["mat_a"]), wide(before["mat_b"]), after["mat_c"]
    bound = gamma(c.shape[-1], c.dtype) * multiply(np.abs(a), np.abs(b))
    assert (np.abs(c - multiply(a, b)) <= bound).all()


def check_trsv(before: Arguments, after: Arguments) -> None:
    """Each solve is exact for factors that are off by gamma(n) (Higham, theorem 8.5).

    Together |b - L U x| <= (2 gamma(n) + gamma(n)^2) |L| |U| |x|.
    """
    matrix, x = wide(before["mat_a"]), wide(after["vec_b"])[..., None]
    size = matrix.shape[-1]
    lower, upper = np.tril(matrix, -1) + np.eye(size), np.triu(matrix)
    residual = np.abs(wide(before["vec_b"])[..., None] - multiply(lower, multiply(upper, x)))
    each = gamma(size, after["vec_b"].dtype)
    bound = (2 * each + each**2) * multiply(np.abs(lower), multiply(np.abs(upper), np.abs(x)))
    assert (residual <= bound).all()


def check_trsm(before: Arguments, after: Arguments) -> None:
    """|B - L X| <= gamma(n) |L| |X| (Higham, theorem 8.5)."""
    lower, x = np.tril(wide(before["mat_a"])), wide(after["mat_b"])
    residual = np.abs(wide(before["mat_b"]) - multiply(lower, x))
    bound = gamma(lower.shape[-1], after["mat_b"].dtype) * multiply(np.abs(lower), np.abs(x))
    assert (residual <= bound).all()


def check_ldus(before: Arguments, after: Arguments) -> None:
    """|A - L (D U)| <= gamma(n) |L| |D U| (Higham, theorem 9.3), and the division by D adds a rounding."""
    result = wide(after["mat_a"])
    size = result.shape[-1]
    lower, upper = np.tril(result, -1) + np.eye(size), np.triu(result, 1) + np.eye(size)
    diagonal = np.zeros_like(result)
    diagonal[:, range(size), range(size)] = result[:, range(size), range(size)]
    residual = np.abs(wide(before["mat_a"]) - multiply(lower, multiply(diagonal, upper)))
    bound = gamma(size + 1, after["mat_a"].dtype) * multiply(np.abs(lower), multiply(np.abs(diagonal), np.abs(upper)))
    assert (residual <= bound).all()


def check_pade(before: Arguments, after: Arguments) -> None:
    """Sums of |terms| bound each polynomial's error: 10 roundings for P, P', A and A', and some more for what follows.
    Q >= 1, and its relative error is that of A times (1 + sum |b_k x^k|) / Q."""
    dtype = after["d_x"].dtype
    x, gradient, a, b = (wide(before[name]) for name in ("x", "gradient", "a", "b"))
    powers = [x**k for k in range(6)]
    terms_p = [a[j] * powers[j] for j in range(6)]
    terms_dp = [a[j] * j * powers[j - 1] for j in range(1, 6)]
    terms_q = [b[k - 1] * powers[k] for k in range(1, 5)]
    terms_dq = [b[k - 1] * k * powers[k - 1] for k in range(1, 5)]
    p, dp, q, dq = (sum(terms) for terms in (terms_p, terms_dp, terms_q, terms_dq))
    size_p, size_dp, size_q, size_dq = (
        sum(np.abs(term) for term in terms) for terms in (terms_p, terms_dp, terms_q, terms_dq)
    )
    assert (np.abs(q) > gamma(10, dtype) * size_q).all(), "a point where the sign of A is not certain"
    sign, quotient = np.sign(q), 1 + np.abs(q)
    growth = (1 + size_q) / quotient
    value = p / quotient
    d_x = gradient * (dp - sign * dq * value) / quotient
    bound = gamma(40, dtype) * np.abs(gradient) / quotient * (size_dp + size_dq * size_p / quotient) * growth**2
    assert (np.abs(after["d_x"] - d_x) <= bound).all()
    for j, row in enumerate(after["d_a"].reshape(6, -1)):
        exact = gradient * powers[j] / quotient
        assert (np.abs(row - exact) <= gamma(24, dtype) * np.abs(exact) * growth).all()
    for k, row in enumerate(after["d_b"].reshape(4, -1), 1):
        exact = -sign * gradient * powers[k] * value / quotient
        size = np.abs(gradient * powers[k]) * size_p / quotient**2
        assert (np.abs(row - exact) <= gamma(40, dtype) * size * growth**2).all()


def check_enum(before: Arguments, after: Arguments) -> None:
    groups = len(after["best"])
    size = before["items"] // groups
    candidates = np.arange(groups * size) % 1024
    x = (candidates[:, None] >> np.arange(10) & 1).astype(np.float64)
    values = x @ before["vec_c"].astype(np.float64)
    is_feasible = (x @ before["mat_d"].reshape(8, 10).T.astype(np.float64) <= before["vec_b"]).all(axis=1)
    best = np.where(is_feasible, values, -np.inf).reshape(groups, size).max(axis=1)
    assert np.array_equal(after["best"], best.astype(after["best"].dtype))


def check_frcg(before: Arguments, after: Arguments) -> None:
    """No step goes up, `value` is f within the roundings of its terms, and most starts come near the valley y = x^2."""
    dtype = after["value"].dtype
    a, b, x, y = (wide(after[name]) for name in ("a", "b", "x", "y"))
    first = rosenbrock(a, b, wide(before["x"]), wide(before["y"]))
    last = rosenbrock(a, b, x, y)
    size = (np.abs(a) + np.abs(x)) ** 2 + np.abs(b) * (np.abs(y) + x**2) ** 2
    size_first = (np.abs(a) + np.abs(before["x"])) ** 2 + b * (np.abs(before["y"]) + wide(before["x"]) ** 2) ** 2
    assert (np.abs(after["value"] - last) <= gamma(16, dtype) * size).all()
    assert (last <= first + gamma(16, dtype) * (size + size_first)).all()
    assert np.median(last / first) < 0.1


def rosenbrock(a: Array, b: Array, x: Array, y: Array) -> Array:
    return np.asarray((a - x) ** 2 + b * (y - x**2) ** 2)


CHECKS: dict[str, Callable[[Arguments, Arguments], None]] = {
    "gema": check_gema, "gemm": check_gemm, "trsv": check_trsv, "trsm": check_trsm, "ldus": check_ldus,
    "pade": check_pade, "enum": check_enum, "frcg": check_frcg,
}  # fmt: skip


def check_result(name: str, size: int, before: Arguments, after: Arguments) -> None:
    """Compare what a kernel gave with NumPy."""
    if name == "enum":
        before = {**before, "items": len(after["best"]) * size}
    CHECKS[name](before, after)


def same(left: Arguments, right: Arguments) -> bool:
    """Return whether all arrays are equal, bit for bit but for the payloads of NaN."""
    return all(
        np.array_equal(value, right[name], equal_nan=value.dtype.kind == "f")
        for name, value in left.items()
        if isinstance(value, np.ndarray)
    )
