"""cholesky and qr, as `numpy.linalg` has them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.linalg._linalg import QRResult

from drawloom.batch.linalg.compiled import ready_kernel
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

#: The largest matrices whose factorisation runs with one in each lane.
LARGEST_INTERLEAVED: Final = 16


@accept_dlpack
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Factorise symmetric positive definite matrices, as `numpy.linalg.cholesky` does.

    Args:
        a: Matrices of shape (..., n, n), of which one triangle is used.
        upper: Use the upper triangle, and return the upper factor.

    Returns:
        The factors, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is not positive definite or not square.

    Example:
        >>> import numpy as np
        >>> cholesky(np.tile([[4.0, 2.0], [2.0, 10.0]], (5000, 1, 1)))[0]
        array([[2., 0.],
               [1., 3.]])
    """
    arrays = take_arrays(a)
    if arrays is None or not is_square_stack(arrays[0]):
        return np.linalg.cholesky(a, upper=upper)
    code = type_code(arrays[0])
    matrix = flatten_stack(arrays[0], code)
    count, size, _ = matrix.shape
    factor, certain = np.empty_like(matrix), np.empty(count, np.uint8)
    order = "interleaved" if size <= LARGEST_INTERLEAVED else "columns"
    kernel = ready_kernel("cholesky", size, code, order, {"UPPER": 1} if upper else None)
    kernel(count, (matrix,), (factor, certain), (size + 1) * EPSILON)
    rest = uncertain_items(certain)
    if len(rest):
        factor[rest] = np.linalg.cholesky(matrix[rest], upper=upper)
    return factor.reshape(arrays[0].shape)


#: Columns whose sums of squares leave these bounds are NumPy's: squares of small parts were lost, or overflowed.
LEAST_SQUARES: Final = 1e-280
MOST_SQUARES: Final = 1e280
#: Modes that have a kernel, and its macro.
QR_MODES: Final = {"reduced": "WITH_Q", "complete": "WITH_Q", "r": "ONLY_R", "raw": "RAW"}


@accept_dlpack
def qr(a: Any, mode: str = "reduced") -> Any:
    """Factorise matrices into orthogonal and upper triangular ones, as `numpy.linalg.qr` does.

    Args:
        a: Matrices of shape (..., m, n).
        mode: "reduced", "complete", "r" or "raw".

    Returns:
        NumPy's named tuple (Q, R), or R, or the reflections and their scales.

    Raises:
        numpy.linalg.LinAlgError: Arrays have too few dimensions.
        ValueError: The mode is unknown.

    Example:
        >>> import numpy as np
        >>> qr(np.tile([[3.0, 1.0], [4.0, 2.0]], (5000, 1, 1)), "r")[0]
        array([[-5. , -2.2],
               [ 0. ,  0.4]])
    """
    arrays = take_arrays(a)
    if arrays is None or mode not in QR_MODES or not is_stack(arrays[0]) or not takes_qr(arrays[0], mode):
        return NUMPY.qr(a, mode)
    code = type_code(arrays[0])
    matrix = flatten_stack(arrays[0], code)
    count, rows, columns = matrix.shape
    shapes = {"r": [(columns, columns)], "raw": [(columns, rows), (columns,)]}
    results = [np.empty((count, *shape), code)
               for shape in shapes.get(mode, [(rows, columns), (columns, columns)])]  # fmt: skip
    certain = np.empty(count, np.uint8)
    order = "interleaved" if rows <= LARGEST_INTERLEAVED else "rows"
    kernel = ready_kernel("qr", rows, code, order, {"COLUMNS": columns, QR_MODES[mode]: 1})
    kernel(count, (matrix,), (*results, certain), LEAST_SQUARES, MOST_SQUARES)
    rest = uncertain_items(certain)
    if len(rest):
        correct: Any = NUMPY.qr(matrix[rest], mode)
        for result, numbers in zip(results, (correct,) if mode == "r" else correct):
            result[rest] = numbers
    batch = arrays[0].shape[:-2]
    shaped = [result.reshape(*batch, *result.shape[1:]) for result in results]
    return shaped[0] if mode == "r" else QRResult(*shaped) if mode != "raw" else tuple(shaped)


def takes_qr(array: Array, mode: str) -> bool:
    """Return whether the kernel has these sizes: as many rows as columns or more, and no columns of Q beyond A's."""
    rows, columns = array.shape[-2:]
    return bool(rows >= columns if mode != "complete" else rows == columns)
