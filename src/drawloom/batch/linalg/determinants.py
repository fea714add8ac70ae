"""det and slogdet: the pivots of an elimination with partial pivoting, as `numpy.linalg` has them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.linalg._linalg import SlogdetResult

from drawloom.batch.linalg.roads import (
    EPSILON,
    Array,
    accept_dlpack,
    flatten_stack,
    is_square_stack,
    take_arrays,
    type_code,
    uncertain_items,
)
from drawloom.batch.linalg.solving import elimination_kernel

#: A product of pivots beyond these bounds is NumPy's: some part of it may have overflowed, or lost bits.
LEAST_PRODUCT: Final = 1e-300
LARGEST_PRODUCT: Final = 1e300


@accept_dlpack
def det(a: Any) -> Any:
    """Return determinants, as `numpy.linalg.det` does.

    Args:
        a: Matrices of shape (..., n, n).

    Returns:
        The determinants, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is not square.

    Example:
        >>> import numpy as np
        >>> det(np.tile([[3.0, 1.0], [1.0, 2.0]], (5000, 1, 1))).sum()
        np.float64(25000.0)
    """
    found = eliminate(a)
    if found is None:
        return np.linalg.det(a)
    matrix, pivots, product, certain = found
    with np.errstate(all="ignore"):
        for column in range(pivots.shape[1]):
            product *= pivots[:, column]
            size = np.abs(product)
            certain &= (size > LEAST_PRODUCT) & (size < LARGEST_PRODUCT)
        result = product.astype(matrix.dtype, copy=False)
        certain &= np.isfinite(result)
    rest = uncertain_items(certain)
    if len(rest):
        result[rest] = np.linalg.det(matrix[rest])
    return result.reshape(np.shape(a)[:-2])


@accept_dlpack
def slogdet(a: Any) -> Any:
    """Return the signs of determinants and the logarithms of their sizes, as `numpy.linalg.slogdet` does.

    Args:
        a: Matrices of shape (..., n, n).

    Returns:
        NumPy's named tuple (sign, logabsdet).

    Raises:
        numpy.linalg.LinAlgError: A matrix is not square.

    Example:
        >>> import numpy as np
        >>> slogdet(np.tile([[0.0, 1.0], [1.0, 0.0]], (5000, 1, 1))).sign[0]
        np.float64(-1.0)
    """
    found = eliminate(a)
    if found is None:
        return np.linalg.slogdet(a)
    matrix, pivots, sign, certain = found
    with np.errstate(all="ignore"):
        sign *= np.sign(pivots).prod(axis=1)
        logarithm = np.log(np.abs(pivots)).sum(axis=1).astype(matrix.dtype, copy=False)
    sign = sign.astype(matrix.dtype, copy=False)
    rest = uncertain_items(certain)
    if len(rest):
        sign[rest], logarithm[rest] = np.linalg.slogdet(matrix[rest])
    batch = np.shape(a)[:-2]
    return SlogdetResult(sign.reshape(batch), logarithm.reshape(batch))


def eliminate(a: Any) -> tuple[Array, Array, Array, Array] | None:
    """Return matrices with one batch dimension, their pivots, the signs of permutations, and which are certain."""
    arrays = take_arrays(a)
    if arrays is None or not is_square_stack(arrays[0]):
        return None
    code = type_code(arrays[0])
    matrix = flatten_stack(arrays[0], code)
    count, size, _ = matrix.shape
    pivots, sign, certain = np.empty((count, size)), np.empty(count), np.empty(count, np.uint8)
    kernel = elimination_kernel("det", size, 0, code)
    kernel(count, (matrix,), (pivots, sign, certain), size * size * EPSILON)
    return matrix, pivots, sign, certain
