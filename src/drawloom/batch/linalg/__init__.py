"""`numpy.linalg` with stacks of small matrices run by compiled kernels: change one import.

    from drawloom.batch import linalg        # instead of numpy.linalg
    x = linalg.solve(a, b)                   # 100,000 systems of 8 unknowns

Every name of `numpy.linalg` is here. What has no kernel, and what a kernel does not take, is NumPy's own.
"""

from numpy.linalg import *  # noqa: F403
from numpy.linalg import __all__ as _names

from drawloom.batch.linalg.determinants import det, slogdet
from drawloom.batch.linalg.factoring import cholesky, qr
from drawloom.batch.linalg.measures import cond, matrix_norm, norm, pinv
from drawloom.batch.linalg.products import matmul, matrix_power
from drawloom.batch.linalg.solving import inv, solve
from drawloom.batch.linalg.spectra import eigh, eigvalsh, svd, svdvals

__all__ = [*_names]
