"""`batch.linalg` by compiled kernels: residuals and orthogonality within derived bounds, next to NumPy's numbers."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from drawloom.batch import linalg
from drawloom.batch.linalg import roads
from drawloom.batch.linalg.spectra import jacobi_steps, qr_steps
from tests.batch.linalg.references import (
    bound,
    check_determinant,
    check_orthogonal,
    check_product,
    check_solution,
    diagonal,
    make_definite,
    make_matrices,
    make_symmetric,
    rounding,
)

pytest.importorskip("pycparser")

#: No multiple of the lanes of a vector, so that the last matrices run in copies.
COUNT = 37
TYPES = (np.float32, np.float64)
#: Beyond 16 rows, `cholesky` has the work-items of one matrix share vectors, beyond 24 `solve` and `det`, where 25 rows
#: do not fill them. `python -m tools.check_linalg` takes every size to 33.
SIZED_TYPES = [*itertools.product((1, 2, 3, 4), TYPES), (7, np.float64)]
LARGER = (17, np.float64)
PADDED = (25, np.float64)


@pytest.fixture(autouse=True)
def every_stack_is_worth_a_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(roads, "LEAST_ITEMS", 1)
    yield


def swap(matrices: Any) -> Any:
    return matrices.swapaxes(-1, -2)


@pytest.mark.parametrize(("size", "dtype"), [*SIZED_TYPES, PADDED])
def test_solve(size: int, dtype: Any) -> None:
    a = make_matrices(COUNT, size, dtype)
    for columns in (1, 2) if 1 < size < 4 else (1,):
        b = make_matrices(COUNT, size, dtype, 1, columns)
        x = linalg.solve(a, b)
        assert (x.dtype, x.shape) == (dtype, b.shape)
        check_solution(a, b, x)


@pytest.mark.parametrize(("size", "dtype"), [*SIZED_TYPES, (21, np.float64)])
def test_inv(size: int, dtype: Any) -> None:
    a = make_matrices(COUNT, size, dtype)
    check_solution(a, np.broadcast_to(np.eye(size), a.shape), linalg.inv(a))


@pytest.mark.parametrize(("size", "dtype"), [*SIZED_TYPES, PADDED])
def test_det_and_slogdet(size: int, dtype: Any) -> None:
    a = make_matrices(COUNT, size, dtype)
    check_determinant(a, linalg.det(a), np.linalg.det(a), dtype)
    sign, logarithm = linalg.slogdet(a)
    assert sign.dtype == logarithm.dtype == dtype
    check_determinant(a, sign * np.exp(logarithm.astype(np.float64)), np.linalg.det(a.astype(np.float64)), dtype)


@pytest.mark.parametrize(("size", "dtype"), [*SIZED_TYPES, LARGER])
def test_cholesky(size: int, dtype: Any) -> None:
    """|A - L L^T| <= gamma(n + 1) |L| |L^T| (Higham, theorem 10.3), and two roundings more for reciprocal pivots."""
    a = make_definite(COUNT, size, dtype)
    for upper in (False, True):
        # The other triangle is not used.
        factor = linalg.cholesky(np.triu(a) if upper else np.tril(a), upper=upper)
        lower = (swap(factor) if upper else factor).astype(np.longdouble)
        assert np.array_equal(lower, np.tril(lower))
        product, sizes = lower @ swap(lower), np.abs(lower) @ swap(np.abs(lower))
        assert (np.abs(a - product) <= (bound(size + 3) + 2 * rounding(dtype)) * sizes).all()


@pytest.mark.parametrize(("rows", "columns", "dtype"), [
    (1, 1, np.float32), (2, 2, np.float64), (3, 2, np.float32), (5, 5, np.float64), (9, 4, np.float64),
    (17, 3, np.float64),
])  # fmt: skip
def test_qr(rows: int, columns: int, dtype: Any) -> None:
    """Householder's errors are gamma of m for each of n reflections (Higham, theorem 19.4)."""
    a = make_matrices(COUNT, rows, dtype, 0, columns)
    q, r = linalg.qr(a)
    check_orthogonal(q, rows * columns + 4)
    check_product(a, (q, r), rows * columns + 4)
    assert np.array_equal(r, np.triu(r))
    scale = np.abs(a).max() * rows
    close = (bound(rows * columns + 4) * np.linalg.cond(a).max() + 4 * rounding(dtype)) * scale
    expected = np.linalg.qr(a)
    assert np.abs(q - expected.Q).max() <= close
    assert np.abs(r - expected.R).max() <= close
    assert np.abs(linalg.qr(a, "r") - expected.R).max() <= close
    for ours, theirs in zip(linalg.qr(a, "raw"), np.linalg.qr(a, "raw")):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.abs(ours - theirs).max() <= close
    if rows == columns:
        assert all(np.array_equal(*pair) for pair in zip(linalg.qr(a, "complete"), (q, r)))


@pytest.mark.parametrize(("size", "dtype"), SIZED_TYPES)
def test_eigh(size: int, dtype: Any) -> None:
    """Every QR step, and every reflection on both sides, is orthogonal up to some 8 roundings."""
    a = make_symmetric(COUNT, size, dtype)
    roundings = 8 * (qr_steps(size) + 2 * size)
    for triangle in ("L", "U"):
        values, vectors = linalg.eigh(np.tril(a) if triangle == "L" else np.triu(a), triangle)
        check_orthogonal(vectors, roundings)
        check_product(a, (vectors, diagonal(values), swap(vectors)), roundings)
        expected = np.linalg.eigvalsh(a)
        close = (2 * size * bound(roundings) + 2 * rounding(dtype)) * np.abs(expected).max(axis=-1, keepdims=True)
        assert (np.abs(values - expected) <= close).all()
        assert (np.abs(linalg.eigvalsh(a, triangle) - expected) <= close).all()


def test_eigh_of_graded_matrices_whose_small_blocks_follow_diagonal_ones() -> None:
    scale = np.logspace(0, -8, 5)
    for order in (slice(None), slice(None, None, -1)):
        factors = scale[order]
        a = factors[:, None] * make_symmetric(4096, 5, np.float64) * factors
        values, vectors = linalg.eigh(a)
        check_orthogonal(vectors, 8 * (qr_steps(5) + 10))
        check_product(a, (vectors, diagonal(values), swap(vectors)), 8 * (qr_steps(5) + 10))


@pytest.mark.parametrize("size", [3, 7])
def test_eigh_of_matrices_with_equal_eigenvalues(size: int) -> None:
    q = np.linalg.qr(make_matrices(COUNT, size, np.float64)).Q
    for spectrum in (np.ones(size), np.arange(size) // 2 * 1.0, np.arange(size) % 2 * 1e-9 + 1):
        a = (q * spectrum) @ swap(q)
        values, vectors = linalg.eigh(a)
        check_orthogonal(vectors, 8 * (qr_steps(size) + 2 * size))
        # Only the lower triangle is the matrix.
        a = np.tril(a) + swap(np.tril(a, -1))
        check_product(a, (vectors, diagonal(values), swap(vectors)), 8 * (qr_steps(size) + 2 * size))


@pytest.mark.parametrize(("size", "dtype"), SIZED_TYPES)
def test_svd(size: int, dtype: Any) -> None:
    """Every step of Jacobi's method rotates pairs that do not overlap, up to some 8 roundings."""
    a = make_matrices(COUNT, size, dtype)
    roundings = 8 * (jacobi_steps(size) + 2 * size)
    u, s, vh = linalg.svd(a)
    check_orthogonal(u, roundings)
    check_orthogonal(swap(vh), roundings)
    check_product(a, (u, diagonal(s), vh), roundings)
    expected = np.linalg.svd(a, compute_uv=False)
    close = (2 * size * bound(roundings) + 2 * rounding(dtype)) * expected[:, :1]
    assert (np.abs(s - expected) <= close).all()
    assert (np.abs(linalg.svdvals(a) - expected) <= close).all()
    assert (np.diff(s) <= 0).all()


@pytest.mark.parametrize(("rows", "columns"), [(9, 4), (3, 5)])
def test_svd_of_rectangular_matrices(rows: int, columns: int) -> None:
    a = make_matrices(COUNT, rows, np.float64, 0, columns)
    roundings = 8 * (jacobi_steps(min(rows, columns)) + rows * columns)
    u, s, vh = linalg.svd(a, full_matrices=False)
    check_orthogonal(u, roundings)
    check_orthogonal(swap(vh), roundings)
    check_product(a, (u, diagonal(s), vh), roundings)
    assert np.allclose(linalg.svdvals(a), s, rtol=bound(roundings) * 100, atol=0)
    full = linalg.svd(a)
    assert all(np.array_equal(*pair) for pair in zip(full, np.linalg.svd(a)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1, 3, 8, 17])
def test_matmul(size: int, dtype: Any) -> None:
    a, b = make_matrices(COUNT, size, dtype), make_matrices(COUNT, size, dtype, 1)
    unit = float(np.finfo(dtype).eps) / 2
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    assert (np.abs(linalg.matmul(a, b) - exact) <= 1.01 * size * unit * (np.abs(a) @ np.abs(b))).all()


@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 2, 3, 5, 8])
def test_matrix_power(exponent: int) -> None:
    """Each of at most 5 products has gamma(n), as NumPy's; powers of matrices near I keep errors near their size."""
    a = np.eye(3) + make_matrices(COUNT, 3, np.float64) / 16
    found, expected = linalg.matrix_power(a, exponent), np.linalg.matrix_power(a, exponent)
    sizes = np.linalg.matrix_power(np.abs(a), abs(exponent)) if exponent >= 0 else 8 + 0 * a
    assert (np.abs(found - expected) <= 2 * bound(8 * 5 * 3) * sizes).all()


def test_cond_norm_and_pinv() -> None:
    a = make_matrices(COUNT, 5, np.float64)
    conditions = np.linalg.cond(a)
    # Singular values have errors of the largest one's last bits: the least one as many times more as cond says.
    close = 4 * 5 * bound(8 * (jacobi_steps(5) + 10)) * conditions
    for p in (None, 2, -2, "fro", 1):
        expected = np.linalg.cond(a, p)
        assert (np.abs(linalg.cond(a, p) - expected) <= close * expected).all()
    for order in (2, -2, "nuc", "fro", None, 1):
        expected = np.linalg.norm(a, order, (-2, -1), True)
        assert (np.abs(linalg.norm(a, order, (-2, -1), True) - expected) <= close[:, None, None] * expected).all()
        if order is not None:
            found = linalg.matrix_norm(a, keepdims=True, ord=order)
            assert (np.abs(found - expected) <= close[:, None, None] * expected).all()
    expected = np.linalg.pinv(a)
    scale = np.abs(expected).max(axis=(1, 2)) * close
    assert (np.abs(linalg.pinv(a) - expected).max(axis=(1, 2)) <= scale).all()
    assert (np.abs(linalg.pinv(a, rtol=None) - expected).max(axis=(1, 2)) <= scale).all()
    assert np.array_equal(linalg.cond(a * 0), np.full(COUNT, np.inf))
