"""eigh, eigvalsh, svd and svdvals, as `numpy.linalg` has them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.linalg._linalg import EighResult, SVDResult

from drawloom.batch.linalg.compiled import ready_kernel
from drawloom.batch.linalg.factoring import qr
from drawloom.batch.linalg.roads import (
    EPSILON,
    NUMPY,
    Array,
    accept_dlpack,
    flatten_stack,
    is_square_stack,
    is_stack,
    take_arrays,
    type_code,
    uncertain_items,
)

#: The largest matrices that kernels take; NumPy is as fast with larger ones.
LARGEST_SPECTRUM: Final = 16
#: Matrices whose norm squared leaves these bounds are NumPy's, and so are sums of squares below the first.
LEAST_SQUARES: Final = 1e-280
MOST_SQUARES: Final = 1e280


def qr_steps(size: int) -> int:
    """Return how many QR steps run; matrices that need more are NumPy's."""
    # Of 16,384 random symmetric matrices of 2 to 16 rows, none needed more; typical are 1.7 to 2 for each row.
    return 2 * size + 4 + size // 4 if size > 1 else 0


@accept_dlpack
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of symmetric matrices, as `numpy.linalg.eigh` does.

    Args:
        a: Matrices of shape (..., n, n), of which one triangle is used.
        UPLO: Which triangle: "L" or "U".

    Returns:
        NumPy's named tuple (eigenvalues, eigenvectors). Signs of eigenvectors may differ from NumPy's.

    Raises:
        numpy.linalg.LinAlgError: A matrix is not square, or the iteration does not converge.
        ValueError: UPLO is neither "L" nor "U".

    Example:
        >>> import numpy as np
        >>> eigh(np.tile([[2.0, 1.0], [1.0, 2.0]], (5000, 1, 1))).eigenvalues[0]
        array([1., 3.])
    """
    arrays = takes_eigh(a, UPLO)
    if arrays is None:
        return NUMPY.eigh(a, UPLO)
    matrix, code = arrays
    count, size, _ = matrix.shape
    values, vectors = np.empty((count, size), code), np.empty_like(matrix)
    rest = run_eigh(matrix, code, UPLO, (values, vectors), {})
    if len(rest):
        values[rest], vectors[rest] = NUMPY.eigh(matrix[rest], UPLO)
    shape = np.shape(a)
    return EighResult(values.reshape(shape[:-1]), vectors.reshape(shape))


@accept_dlpack
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues of symmetric matrices, as `numpy.linalg.eigvalsh` does.

    Args:
        a: Matrices of shape (..., n, n), of which one triangle is used.
        UPLO: Which triangle: "L" or "U".

    Returns:
        The eigenvalues in ascending order, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is not square, or the iteration does not converge.
        ValueError: UPLO is neither "L" nor "U".

    Example:
        >>> import numpy as np
        >>> eigvalsh(np.tile([[2.0, 1.0], [1.0, 2.0]], (5000, 1, 1)))[0]
        array([1., 3.])
    """
    arrays = takes_eigh(a, UPLO)
    if arrays is None:
        return NUMPY.eigvalsh(a, UPLO)
    matrix, code = arrays
    count, size, _ = matrix.shape
    values = np.empty((count, size), code)
    rest = run_eigh(matrix, code, UPLO, (values,), {"VALUES_ONLY": 1})
    if len(rest):
        values[rest] = NUMPY.eigvalsh(matrix[rest], UPLO)
    return values.reshape(np.shape(a)[:-1])


def takes_eigh(a: Any, triangle: Any) -> tuple[Array, str] | None:
    """Return matrices with one batch dimension and their type; None where NumPy is to take them."""
    arrays = take_arrays(a)
    if arrays is None or not is_square_stack(arrays[0], LARGEST_SPECTRUM) or not isinstance(triangle, str):
        return None
    if triangle.upper() not in ("L", "U"):
        return None
    code = type_code(arrays[0])
    return flatten_stack(arrays[0], code), code


def run_eigh(matrix: Array, code: str, triangle: str, results: tuple[Array, ...], macros: dict[str, int]) -> Array:
    """Fill the results, and return which matrices are NumPy's."""
    count, size, _ = matrix.shape
    certain = np.empty(count, np.uint8)
    upper = {"UPPER": 1} if triangle.upper() == "U" else {}
    kernel = ready_kernel("eigh", size, code, "interleaved", macros | upper)
    kernel(count, (matrix,), (*results, certain), EPSILON, LEAST_SQUARES, MOST_SQUARES, qr_steps(size))
    return uncertain_items(certain)


@accept_dlpack
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return singular values and vectors, as `numpy.linalg.svd` does.

    Args:
        a: Matrices of shape (..., m, n).
        full_matrices: Return square U and V.
        compute_uv: Return vectors, too.
        hermitian: The matrices are symmetric.

    Returns:
        NumPy's named tuple (U, S, Vh), or S. Signs of vectors may differ from NumPy's.

    Raises:
        numpy.linalg.LinAlgError: The iteration does not converge.

    Example:
        >>> import numpy as np
        >>> svd(np.tile([[0.0, 2.0], [3.0, 0.0]], (5000, 1, 1))).S[0]
        array([3., 2.])
    """
    arrays = take_arrays(a)
    if arrays is None or hermitian or not takes_svd(arrays[0], full_matrices and compute_uv):
        return NUMPY.svd(a, full_matrices, compute_uv, hermitian)
    return svd_of_stack(arrays[0], compute_uv)


def takes_svd(array: Array, full_matrices: bool) -> bool:
    """Return whether kernels have these sizes; of matrices that are not square they make no full U or V."""
    if not is_stack(array) or min(array.shape[-2:]) > LARGEST_SPECTRUM:
        return False
    return not full_matrices or array.shape[-1] == array.shape[-2]


def svd_of_stack(array: Array, compute_uv: bool) -> Any:
    """Return the decomposition of a stack that kernels take: of more rows than columns by that of R."""
    rows, columns = array.shape[-2:]
    if rows < columns:
        found = svd_of_stack(array.swapaxes(-1, -2), compute_uv)
        return SVDResult(found.Vh.swapaxes(-1, -2), found.S, found.U.swapaxes(-1, -2)) if compute_uv else found
    if rows == columns:
        return svd_of_squares(array, compute_uv)
    if not compute_uv:
        return svd_of_squares(qr(array, "r"), False)
    q, r = qr(array)
    u, s, vh = svd_of_squares(r, True)
    return SVDResult(q @ u, s, vh)


def svd_of_squares(array: Array, compute_uv: bool) -> Any:
    code = type_code(array)
    matrix = flatten_stack(array, code)
    count, size, _ = matrix.shape
    values: Array = np.empty((count, size), code)
    certain = np.empty(count, np.uint8)
    vectors = [np.empty_like(matrix), np.empty_like(matrix)] if compute_uv else []
    results = (vectors[0], values, vectors[1]) if compute_uv else (values,)
    kernel = ready_kernel("svd", size, code, "interleaved", None if compute_uv else {"VALUES_ONLY": 1})
    bounds = (EPSILON, QUIET_SQUARES, LEAST_SQUARES, MOST_SQUARES)
    kernel(count, (matrix,), (*results, certain), *bounds, jacobi_steps(size))
    rest = uncertain_items(certain)
    if len(rest):
        correct: Any = NUMPY.svd(matrix[rest], True, compute_uv)
        for result, numbers in zip(results, correct if compute_uv else (correct,)):
            result[rest] = numbers
    values = values.reshape(array.shape[:-1])
    if not compute_uv:
        return values
    return SVDResult(vectors[0].reshape(array.shape), values, vectors[1].reshape(array.shape))


def svdvals(x: Any, /) -> Any:
    """Return singular values in descending order, as `numpy.linalg.svdvals` does.

    Args:
        x: Matrices of shape (..., m, n).

    Example:
        >>> import numpy as np
        >>> svdvals(np.tile([[0.0, 2.0], [3.0, 0.0]], (5000, 1, 1)))[0]
        array([3., 2.])
    """
    return svd(x, compute_uv=False)


#: Squares of cosines between columns: Jacobi rotations converge quadratically, so that a round which found none above
#: 1e-9 leaves them at rounding errors.
QUIET_SQUARES: Final = 1e-18
#: Rounds of rotations by the largest size that they suffice for: of 16,384 random matrices, at most 1 in 1000 needed
#: more.
JACOBI_ROUNDS: Final = ((2, 3), (6, 6), (8, 7), (LARGEST_SPECTRUM, 8))


def jacobi_steps(size: int) -> int:
    """Return how many steps run, in whole rounds; matrices that need more rounds are NumPy's."""
    rounds = next(rounds for largest, rounds in JACOBI_ROUNDS if size <= largest)
    return (size + size % 2 - 1) * rounds if size > 1 else 0
