"""What a call of a batch kernel costs from Python: of one group, and of a short batch on one core and on all.

    python benchmarks/batch_calls.py
    python benchmarks/batch_calls.py --threads 1        # one core, by processor time

The first table is the time of a call with a single group, almost all of which is the way from Python to machine code;
beside it a call of a C function with the same pointers by ctypes, and what other calls of NumPy with three arrays take.
The second table shares short batches: C with OpenMP, ours, and C's time by ours. Medians of runs that alternate; a run
is as many calls as take some milliseconds, and begins after a pause, in which idle threads of the other side stop
spinning.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.batch import TYPES, aligned, compile_plain  # noqa: E402
from benchmarks.common.timing import PAUSE_SECONDS, add_threads, choose_threads, machine, markdown_table  # noqa: E402

REPEAT = 25
RUN_SECONDS = 0.004
#: Kernels that may run again on what they wrote.
REPEATABLE = ("gema", "gemm", "pade")


def call_times(sides: Mapping[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, float]:
    """Return the median microseconds of a call of each side."""
    calls: dict[str, int] = {}
    found: dict[str, list[float]] = {name: [] for name in sides}
    for name, call in sides.items():
        call()
        start = clock()
        for _ in range(20):
            call()
        calls[name] = max(1, int(RUN_SECONDS / max((clock() - start) / 20, 1e-7)))
    for _ in range(REPEAT):
        for name, call in sides.items():
            time.sleep(PAUSE_SECONDS)
            call()
            start = clock()
            for _ in range(calls[name]):
                call()
            found[name].append((clock() - start) / calls[name] * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def make_sides(name: str, size: int, real: str, groups: int, library: ctypes.CDLL) -> dict[str, Callable[[], Any]]:
    """Return the calls of C and of ours on the same arrays, after a comparison with NumPy."""
    from drawloom import batch
    from drawloom.batch.kernels import READY, read_text
    from tests.batch.cases import check_result, copied, make_arguments

    kernel = batch.kernel(read_text(name), wg_size=size, defines={"real": real})
    arguments = aligned(make_arguments(name, size, groups, TYPES[real]))
    saved = copied(arguments)
    values = [arguments[parameter.name] for parameter in kernel.source.parameters]
    passed = [
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int(value) for value in values
    ]
    ours = partial(kernel, *values, groups=groups)
    ours()
    check_result(name, size, saved, arguments)
    return {"C": partial(getattr(library, READY[name]), ctypes.c_long(groups), *passed), "ours": ours}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="+", choices=REPEATABLE, default=REPEATABLE)
    parser.add_argument("--sizes", nargs="+", type=int, default=(4, 8, 12))
    parser.add_argument("--items", nargs="+", type=int, default=(1_000, 5_000, 20_000))
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=tuple(TYPES))
    add_threads(parser)
    options = parser.parse_args()
    clock = choose_threads(options.threads)
    single: list[list[str]] = []
    shared: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        a, b, c = np.ones((3, 1, 4, 4))
        numpy_sides = {"add": partial(np.add, a, b, out=c), "matmul": partial(np.matmul, a, b, out=c)}
        for name, microseconds in call_times(numpy_sides, clock).items():
            single.append([f"numpy.{name}", "3", "", f"{microseconds:.2f}"])
        for size in options.sizes:
            for real in options.types:
                library = compile_plain(Path(folder), size, real, "host", over_items=True)
                for name in options.kernels:
                    if size == options.sizes[0] and real == options.types[0]:
                        sides = make_sides(name, size, real, 1, library)
                        best = call_times(sides, clock)
                        count = str(len(sides["ours"].args))  # type: ignore[attr-defined]
                        single.append([name, count, f"{best['C']:.2f}", f"{best['ours']:.2f}"])
                    for items in options.items:
                        groups = items if name != "pade" else -(-items // size)
                        best = call_times(make_sides(name, size, real, groups, library), clock)
                        row = [f"{best[side]:.1f}" for side in ("C", "ours")]
                        shared.append([name, str(size), real, str(items), *row, f"{best['C'] / best['ours']:.2f}"])
                        print(*shared[-1], file=sys.stderr, flush=True)
    print(machine(), "\n")
    print(markdown_table(("call of one group", "arguments", "C by ctypes, µs", "µs"), single), "\n")
    shared.sort(key=lambda row: (row[0], row[2], int(row[1]), int(row[3])))
    print(markdown_table(("kernel", "size", "type", "items", "C simd µs", "ours µs", "C / ours"), shared))
    return 0


if __name__ == "__main__":
    sys.exit(main())
