"""matmul and matrix_power, as `numpy.linalg` has them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from drawloom.batch.linalg.compiled import ready_kernel
from drawloom.batch.linalg.roads import Array, accept_dlpack, flatten_stack, is_square_stack, take_arrays
from drawloom.batch.linalg.solving import inv


@accept_dlpack
def matmul(x1: Any, x2: Any, /) -> Any:
    """Multiply matrices, as `numpy.linalg.matmul` does.

    Args:
        x1: Matrices of shape (..., m, k).
        x2: Matrices of shape (..., k, n).

    Returns:
        The products, with NumPy's shape and type.

    Raises:
        ValueError: The shapes do not fit.

    Example:
        >>> import numpy as np
        >>> a = np.tile([[1.0, 2.0], [3.0, 4.0]], (5000, 1, 1))
        >>> matmul(a, a)[0]
        array([[ 7., 10.],
               [15., 22.]])
    """
    arrays = take_arrays(x1, x2)
    if arrays is None or not takes_matmul(*arrays):
        return np.linalg.matmul(x1, x2)
    left, right = (flatten_stack(array, array.dtype.char) for array in arrays)
    product = np.empty_like(left)
    # Products of float32 are float32 in NumPy, too, unlike everything that LAPACK does.
    code = "F" if product.dtype.char == "f" else "d"
    ready_kernel("gemm", left.shape[-1], code, "rows")(len(left), (left, right), (product,))
    return product.reshape(arrays[0].shape)


def takes_matmul(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and left.dtype.kind == "f" and left.shape == right.shape and is_square_stack(left)


@accept_dlpack
def matrix_power(a: Any, n: int) -> Any:
    """Return integer powers of matrices, as `numpy.linalg.matrix_power` does.

    Args:
        a: Matrices of shape (..., m, m).
        n: The exponent. Negative ones take the inverse.

    Returns:
        The powers, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is not square, or singular where the exponent is negative.
        TypeError: The exponent is not an integer.

    Example:
        >>> import numpy as np
        >>> matrix_power(np.tile([[1.0, 1.0], [0.0, 1.0]], (5000, 1, 1)), 5)[0]
        array([[1., 5.],
               [0., 1.]])
    """
    arrays = take_arrays(a)
    if arrays is None or not is_square_stack(arrays[0]) or not hasattr(n, "__index__") or operator.index(n) == 0:
        return np.linalg.matrix_power(a, n)
    exponent = operator.index(n)
    if exponent < 0:
        return power(inv(arrays[0]), -exponent)
    return power(arrays[0], exponent)


def power(a: Array, exponent: int) -> Array:
    """Return a positive power by squaring, in NumPy's order."""
    if exponent == 3:
        return np.asarray(matmul(matmul(a, a), a))
    result: Any = None
    square: Any = None
    while exponent:
        square = a if square is None else matmul(square, square)
        exponent, bit = divmod(exponent, 2)
        if bit:
            result = square if result is None else matmul(result, square)
    return np.asarray(result)
