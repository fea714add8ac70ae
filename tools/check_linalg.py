"""Holds `batch.linalg` to its bounds at every size, in both types, on as many matrices as asked for.

    python -m tools.check_linalg --sizes 1 2 3 --count 1000
    python -m tools.check_linalg                # sizes 1 to 33, 500 matrices each: some minutes

The checks are those of tests/batch/linalg/test_results.py, of eigenvalues and singular values at the sizes that kernels
take. The first result beyond its bound ends the program.
"""

import argparse
import sys

import numpy as np

from drawloom.batch.linalg import roads, spectra
from tests.batch.linalg import test_results as checks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=range(1, 34))
    parser.add_argument("--count", type=int, default=500)
    options = parser.parse_args()
    roads.LEAST_ITEMS = 1
    checks.COUNT = options.count
    every = (checks.test_solve, checks.test_inv, checks.test_det_and_slogdet, checks.test_cholesky)
    spectral = (checks.test_eigh, checks.test_svd)
    for size in options.sizes:
        for dtype in checks.TYPES:
            for check in (*every, *spectral) if size <= spectra.LARGEST_SPECTRUM else every:
                check(size, dtype)
            checks.test_qr(size, size, dtype)
            checks.test_qr(size, (size + 1) // 2, dtype)
            checks.test_matmul(size, dtype)
        print(f"{size}: {options.count:,} matrices of float32 and of float64 within bounds", flush=True)
    return 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
