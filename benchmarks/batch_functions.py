"""Functions within kernels (`exp`, `pow`, `sin` ...) against those of NumPy, on arrays in the second cache, on a core.

    python benchmarks/batch_functions.py
    python benchmarks/batch_functions.py --features avx2 --functions exp log

Both sides read one array (`pow`: its numbers as base and exponent) and write another one. Times are the least of 10
runs after 2 warm-ups, by processor time, for an element. NumPy's functions of some types are vector code of Intel's,
others are those of the C library.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.batch import TYPES, alternate  # noqa: E402
from benchmarks.common.timing import add_features, choose_features, choose_threads, machine, markdown_table  # noqa: E402

FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "pow": lambda x, out: np.power(x, x, out=out), "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "floor": np.floor, "rint": np.rint,
}  # fmt: skip
ITEMS, SIZE = 8_000, 8


def measure(name: str, real: str, clock: Any) -> list[str]:
    """Return a row of the table: nanoseconds of both sides, and NumPy's time by ours."""
    from drawloom import batch

    call = "pow(x[i], x[i])" if name == "pow" else f"{name}(x[i])"
    text = f"__kernel void map(const {real} *x, {real} *y) {{ int i = get_global_id(); y[i] = {call}; }}"
    kernel = batch.kernel(text, wg_size=SIZE)
    x = np.random.default_rng(0).uniform(0.1, 20, (ITEMS, SIZE)).astype(TYPES[real])
    ours, other = np.empty_like(x), np.empty_like(x)
    sides = {"ours": lambda: kernel(x, ours), "NumPy": lambda: FUNCTIONS[name](x, out=other)}
    best = alternate(sides, lambda: None, clock)
    if not np.allclose(ours, other, rtol=8 * np.finfo(x.dtype).eps):
        raise SystemExit(f"{name} of {real} differs from NumPy's")
    seconds = [best[side] / x.size * 1e9 for side in sides]
    return [name, real, *[f"{value:.2f}" for value in seconds], f"{seconds[1] / seconds[0]:.2f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", choices=tuple(FUNCTIONS), default=tuple(FUNCTIONS))
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=("double", "float"))
    add_features(parser)
    options = parser.parse_args()
    clock = choose_threads(1)
    choose_features(options.features)
    rows = [measure(name, real, clock) for real in options.types for name in options.functions]
    print(f"{machine()}; one core, {ITEMS * SIZE:,} elements\n")
    print(markdown_table(("function", "type", "ours ns", "NumPy ns", "NumPy / ours"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
