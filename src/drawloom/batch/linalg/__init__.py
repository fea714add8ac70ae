"""`numpy.linalg` with stacks of small matrices run by compiled kernels: change one import.

    from drawloom.batch import linalg        # instead of numpy.linalg
    x = linalg.solve(a, b)                   # 100,000 systems of 8 unknowns

Every name of `numpy.linalg` is here. What has no kernel, and what a kernel does not take, is NumPy's own.
"""

from numpy.linalg import (
    LinAlgError,
    cross,
    diagonal,
    eig,
    eigvals,
    lstsq,
    matrix_rank,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    tensorinv,
    tensorsolve,
    trace,
    vecdot,
    vector_norm,
)

from drawloom.batch.linalg.determinants import det, slogdet
from drawloom.batch.linalg.factoring import cholesky, qr
from drawloom.batch.linalg.measures import cond, matrix_norm, norm, pinv
from drawloom.batch.linalg.products import matmul, matrix_power
from drawloom.batch.linalg.solving import inv, solve
from drawloom.batch.linalg.spectra import eigh, eigvalsh, svd, svdvals

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
