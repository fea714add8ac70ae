"""`drawloom.batch.linalg` against NumPy on stacks of small matrices.

    python benchmarks/batch_linalg.py                               # 100,000 matrices of 4, 8, 16 and 32 rows
    python benchmarks/batch_linalg.py --names solve eigh --sizes 8 --items 20000 --threads 1

Both sides take the same arrays in one process, and their runs alternate. Times are medians of 5 runs after one warm-up,
conversion included; ours run on all cores, NumPy's LAPACK on one. Compiling is not in the times: "first" is the first
call's, which compiles or reads the disk cache. With `--threads 1` times are of the processor, for machines that others
use. Before anything is timed, results are compared with NumPy's where they are unique.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.common.timing import add_features, add_threads, choose_features, choose_threads, machine, markdown_table  # noqa: E402

NAMES = ("solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "svd", "svdvals", "pinv", "cond",
         "matmul")  # fmt: skip
SIZES = (4, 8, 16, 32)
TYPES = {"float": np.float32, "double": np.float64}
#: NumPy takes milliseconds for each of these matrices of 32 rows: fewer of them.
SLOW = ("eigh", "eigvalsh", "svd", "svdvals", "pinv", "cond")
REPEAT = 5


def make_arguments(name: str, size: int, items: int, dtype: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(size)
    a = rng.standard_normal((items, size, size)).astype(dtype)
    if name == "solve":
        return a, rng.standard_normal((items, size, 1)).astype(dtype)
    if name == "matmul":
        return a, a[::-1].copy()
    if name in ("eigh", "eigvalsh"):
        return (a + a.swapaxes(1, 2),)
    if name == "cholesky":
        return ((a @ a.swapaxes(1, 2) + size * np.eye(size)).astype(dtype),)
    return (a,)


def check(name: str, ours: Any, theirs: Any, dtype: Any) -> None:
    """Compare results that are unique: vectors of eigh and svd may have other signs."""
    if name in ("eigh", "svd"):
        ours, theirs = (pair[0 if name == "eigh" else 1] for pair in (ours, theirs))
    pairs = zip(ours, theirs) if isinstance(ours, tuple) else [(ours, theirs)]
    for one, other in pairs:
        scale = np.abs(other).max(axis=tuple(range(1, other.ndim)), keepdims=True) if other.ndim > 1 else np.abs(other)
        # The median matrix is well conditioned; tests/batch/linalg has the bounds for each.
        assert np.median(np.abs(one - other) / scale) < 1e4 * np.finfo(dtype).eps, name


def alternate(sides: dict[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, float]:
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(REPEAT):
        for side, run in sides.items():
            start = clock()
            run()
            times[side].append(clock() - start)
    return {side: statistics.median(found) for side, found in times.items()}


def measure(name: str, size: int, real: str, items: int, clock: Callable[[], float]) -> list[str]:
    from drawloom.batch import linalg

    arguments = make_arguments(name, size, items, TYPES[real])
    sides = {"numpy": lambda: getattr(np.linalg, name)(*arguments), "ours": lambda: getattr(linalg, name)(*arguments)}
    start = time.perf_counter()
    found = sides["ours"]()
    first = time.perf_counter() - start
    check(name, found, sides["numpy"](), TYPES[real])
    best = alternate(sides, clock)
    ratio = best["numpy"] / best["ours"]
    each = [f"{best[side] / items * 1e6:.3f}" for side in ("numpy", "ours")]
    return [name, str(size), real, f"{items:,}", *each, f"{ratio:.1f}", f"{first:.2f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=("double",))
    parser.add_argument("--items", type=int, default=100_000)
    add_threads(parser)
    add_features(parser)
    options = parser.parse_args()
    clock = choose_threads(options.threads)
    choose_features(options.features)
    rows: list[list[str]] = []
    for size in options.sizes:
        for name in options.names:
            for real in options.types:
                items = options.items // 10 if size > 16 and name in SLOW else options.items
                rows.append(measure(name, size, real, items, clock))
                print(*rows[-1], file=sys.stderr, flush=True)
    rows.sort(key=lambda row: (NAMES.index(row[0]), row[2], int(row[1])))
    print(f"{machine()}\n")
    header = ("function", "n", "type", "matrices", "NumPy us each", "ours us each", "NumPy / ours", "first s")
    print(markdown_table(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
