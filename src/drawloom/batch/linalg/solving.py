"""solve and inv: Gaussian elimination with partial pivoting, as `numpy.linalg` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from drawloom.batch.linalg.compiled import REAL, ReadyKernel, lanes_of, ready_kernel
from drawloom.batch.linalg.roads import (
    EPSILON,
    MOST_COPIED_BYTES,
    Array,
    accept_dlpack,
    copied_bytes,
    flatten_stack,
    is_square_stack,
    take_arrays,
    type_code,
    uncertain_items,
)

#: Multiplications of an elimination whose code is small enough with one matrix in each lane: it compiles in 5 s.
LARGEST_INTERLEAVED: Final = 16_000


@accept_dlpack
def solve(a: Any, b: Any) -> Any:
    """Solve a x = b, as `numpy.linalg.solve` does.

    Args:
        a: Matrices of shape (..., n, n).
        b: Right-hand sides of shape (..., n, k), or one vector of shape (n,).

    Returns:
        x, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is singular or not square.

    Example:
        >>> import numpy as np
        >>> a = np.tile([[3.0, 1.0], [1.0, 2.0]], (5000, 1, 1))
        >>> solve(a, np.array([9.0, 8.0]))[4999]
        array([2., 3.])
    """
    found = stack_of_systems(a, b)
    if found is None:
        return np.linalg.solve(a, b)
    left, right, batch, code = found
    count, size, columns = right.shape
    x, certain = np.empty_like(right), np.empty(count, np.uint8)
    kernel = elimination_kernel("solve", size, columns, code, {"RHS": columns})
    kernel(count, (left, right), (x, certain), size * size * EPSILON)
    rest = uncertain_items(certain)
    if len(rest):
        x[rest] = np.linalg.solve(left[rest], right[rest])
    return x.reshape(*batch, size) if np.ndim(b) == 1 else x.reshape(*batch, size, columns)


def stack_of_systems(a: Any, b: Any) -> tuple[Array, Array, tuple[int, ...], str] | None:
    """Return both operands with one batch dimension, the batch's shape and the type; None for NumPy's."""
    arrays = take_arrays(a, b)
    if arrays is None or not is_square_stack(arrays[0]) or arrays[1].ndim == 0:
        return None
    left, right = arrays
    right = right[:, None] if right.ndim == 1 else right
    size = left.shape[-1]
    if right.shape[-2] != size or not 1 <= right.shape[-1] <= size:
        return None
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        return None
    if copied_bytes(left, batch) + copied_bytes(right, batch) > MOST_COPIED_BYTES:
        return None
    code = type_code(left, right)
    return flatten_stack(left, code, batch), flatten_stack(right, code, batch), batch, code


def elimination_kernel(
    name: str, size: int, columns: int, code: str, macros: Mapping[str, int] | None = None
) -> ReadyKernel:
    """Return a kernel that includes `elimination.cl`.

    While the code is small, every lane of a vector has its own matrix, and exchanging rows costs little. Otherwise
    lanes are rows of one matrix; lanes without a row fill a column's last vector.

    Args:
        name: The kernel.
        size: The rows of a matrix.
        columns: Columns beside the matrix that are eliminated, too.
        code: The type code of the arrays.
        macros: Further macros of the kernel's text.
    """
    macros = macros or {}
    if size * size * (size + columns) <= LARGEST_INTERLEAVED:
        return ready_kernel(name, size, code, "interleaved", {"EXCHANGE": 1, **macros})
    return ready_kernel(name, size + -size % lanes_of(REAL), code, "columns", {"N": size, **macros})


@accept_dlpack
def inv(a: Any) -> Any:
    """Invert matrices, as `numpy.linalg.inv` does.

    Args:
        a: Matrices of shape (..., n, n).

    Returns:
        The inverses, with NumPy's shape and type.

    Raises:
        numpy.linalg.LinAlgError: A matrix is singular or not square.

    Example:
        >>> import numpy as np
        >>> inv(np.tile([[2.0, 0.0], [0.0, 4.0]], (5000, 1, 1)))[0]
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    arrays = take_arrays(a)
    if arrays is None or not is_square_stack(arrays[0]):
        return np.linalg.inv(a)
    code = type_code(arrays[0])
    matrix = flatten_stack(arrays[0], code)
    count, size, _ = matrix.shape
    x, certain = np.empty_like(matrix), np.empty(count, np.uint8)
    kernel = elimination_kernel("solve", size, size, code, {"INVERSE": 1})
    kernel(count, (matrix,), (x, certain), size * size * EPSILON)
    rest = uncertain_items(certain)
    if len(rest):
        x[rest] = np.linalg.inv(matrix[rest])
    return x.reshape(arrays[0].shape)
