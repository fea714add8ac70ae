"""cond, norm, matrix_norm and pinv of stacks by their singular values, as `numpy.linalg` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.batch.linalg.products import matmul
from drawloom.batch.linalg.roads import Array, accept_dlpack, take_arrays
from drawloom.batch.linalg.spectra import svd, svdvals, takes_svd

NO_VALUE: Final[Any] = np._NoValue
#: Norms of matrices that singular values give.
SPECTRAL_NORMS: Final[dict[Any, Callable[[Array], Array]]] = {
    2: lambda values: values.max(axis=-1),
    -2: lambda values: values.min(axis=-1),
    "nuc": lambda values: values.sum(axis=-1),
}


def take_stack(x: Any) -> Array | None:
    """Return a stack whose singular values kernels give; None for anything else."""
    arrays = take_arrays(x)
    return arrays[0] if arrays is not None and takes_svd(arrays[0], False) else None


@accept_dlpack
def cond(x: Any, p: Any = None) -> Any:
    """Return condition numbers, as `numpy.linalg.cond` does.

    Args:
        x: Matrices of shape (..., m, n).
        p: The norm; singular values give None, 2 and -2.

    Returns:
        The condition numbers, infinite for singular matrices.

    Raises:
        numpy.linalg.LinAlgError: The matrices are empty, or not square where the norm needs inverses.

    Example:
        >>> import numpy as np
        >>> cond(np.tile([[4.0, 0.0], [0.0, 2.0]], (5000, 1, 1)))[0]
        np.float64(2.0)
    """
    stack = take_stack(x)
    if stack is None or not (p is None or (isinstance(p, int) and p in (2, -2))):
        return np.linalg.cond(x, p)
    values = svdvals(stack)
    largest, smallest = values[..., 0], values[..., -1]
    with np.errstate(all="ignore"):
        result = smallest / largest if p == -2 else largest / smallest
    unknown = np.isnan(result)
    if unknown.any():
        result[unknown & ~np.isnan(stack).any(axis=(-2, -1))] = np.inf
    return result


@accept_dlpack
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return norms of vectors or matrices, as `numpy.linalg.norm` does.

    Args:
        x: An array.
        ord: The norm; singular values give 2, -2 and "nuc" of matrices.
        axis: The axis of vectors, or the two axes of matrices.
        keepdims: Keep the axes, with length 1.

    Example:
        >>> import numpy as np
        >>> norm(np.tile([[4.0, 0.0], [0.0, 2.0]], (5000, 1, 1)), 2, axis=(-2, -1))[0]
        np.float64(4.0)
    """
    is_spectral = isinstance(ord, int | str) and ord in SPECTRAL_NORMS
    if not is_spectral or not isinstance(axis, tuple) or axis not in ((-2, -1), (-1, -2)):
        return np.linalg.norm(x, ord, axis, keepdims)
    stack = take_stack(x)
    if stack is None:
        return np.linalg.norm(x, ord, axis, keepdims)
    result = SPECTRAL_NORMS[ord](svdvals(stack))
    return result[..., None, None] if keepdims else result


@accept_dlpack
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return norms of matrices, as `numpy.linalg.matrix_norm` does.

    Args:
        x: Matrices of shape (..., m, n).
        keepdims: Keep the last two axes, with length 1.
        ord: The norm, as `norm` takes it.
    """
    if take_stack(x) is None:
        return np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    return norm(x, ord, (-2, -1), keepdims)


@accept_dlpack
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Any:
    """Return pseudo-inverses, as `numpy.linalg.pinv` does.

    Args:
        a: Matrices of shape (..., m, n).
        rcond: Singular values below this part of the largest one count as zero.
        hermitian: The matrices are symmetric.
        rtol: The same as `rcond`; None takes the larger size times the precision of the type.

    Returns:
        Matrices of shape (..., n, m).

    Raises:
        numpy.linalg.LinAlgError: The iteration for singular values does not converge.
        ValueError: Both `rcond` and `rtol` are given.

    Example:
        >>> import numpy as np
        >>> pinv(np.tile([[4.0, 0.0], [0.0, 2.0]], (5000, 1, 1)))[0]
        array([[0.25, 0.  ],
               [0.  , 0.5 ]])
    """
    stack = take_stack(a)
    has_both = rcond is not None and rtol is not NO_VALUE
    # The precision of integers is an error in NumPy.
    if stack is None or hermitian or has_both or (rtol is None and stack.dtype.kind != "f"):
        return np.linalg.pinv(a, rcond, hermitian, rtol=rtol)
    if rcond is None:
        rcond = 1e-15 if rtol is NO_VALUE else rtol
    if rcond is None:
        rcond = max(stack.shape[-2:]) * np.finfo(stack.dtype).eps
    u, s, vh = svd(stack, full_matrices=False)
    is_large = s > np.asarray(rcond)[..., None] * s.max(axis=-1, keepdims=True)
    s = np.divide(1, s, where=is_large, out=s)
    s[~is_large] = 0
    return matmul(vh.swapaxes(-1, -2), s[..., None] * u.swapaxes(-1, -2))
