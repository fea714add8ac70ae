"""Batched small kernels against plain C with a compile-time size (`gcc -O3 -march=native -fopenmp`).

    python benchmarks/batch.py                          # the ready kernels, 100,000 items, sizes 4 to 32
    python benchmarks/batch.py --sizes 8 16 --kernels ldus --items 1000000
    python benchmarks/batch.py --features avx2 --threads 1

An item is a matrix, a system, or a point; item-wise kernels have as many groups as hold the items. Both sides run in
one process over the same arrays, on all cores; results are compared with NumPy before anything is timed
(tests/batch/cases.py). Times are the least of 10 runs in two turns, each after 2 warm-ups. A ratio is C's time by
ours, `C` with `omp parallel for`, `simd` with `omp parallel for simd` over the items. GB/s count each array once for
reading and once for writing where it is written. On a machine that others use, threads of OpenMP wait for each other
longer than they work: `--threads 1` compares one core, by processor time.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.common.timing import (  # noqa: E402
    add_features,
    add_threads,
    choose_features,
    choose_threads,
    geometric_mean,
    machine,
    markdown_table,
)

SOURCE = ROOT / "benchmarks" / "batch_kernels" / "plain.c"
TYPES = {"float": np.float32, "double": np.float64}
SIZES = (4, 8, 12, 16, 20, 24, 28, 32)
#: What -march=native is in place of where fewer features are asked for.
ARCHITECTURES = {"host": "native", "avx512": "x86-64-v4", "avx2": "x86-64-v3", "sse4.2": "x86-64-v2"}
REPEAT, WARM_UP, TURNS = 10, 2, 2
#: Seconds after which threads that wait for work are asleep.
SETTLE = 0.05
CHECKED = 512
#: Kernels that change what they read: their arrays are restored before each run, outside of the time.
IN_PLACE = ("trsv", "trsm", "ldus", "frcg")


def compile_plain(folder: Path, size: int, real: str, features: str, over_items: bool) -> ctypes.CDLL:
    library = folder / f"plain_{size}_{real}{'_simd' if over_items else ''}.so"
    command = ["gcc", "-O3", f"-march={ARCHITECTURES[features]}", "-fopenmp", "-shared", "-fPIC"]
    if over_items:
        command.append("-DOVER_ITEMS")
    subprocess.run([*command, f"-DN={size}", f"-DREAL={real}", "-o", library, str(SOURCE), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def alternate(
    sides: dict[str, Callable[[], None]], restore: Callable[[], None], clock: Callable[[], float]
) -> dict[str, float]:
    """Return the least seconds of each side. Turns of the sides alternate; in a turn, runs follow each other.

    Threads of OpenMP wait for the next call without sleep for some milliseconds, as ours do. So a turn begins when
    those of the other sides are asleep; the warm-ups wake its own.
    """
    best = dict.fromkeys(sides, math.inf)
    for _ in range(TURNS):
        for name, run in sides.items():
            time.sleep(SETTLE)
            for number in range(WARM_UP + REPEAT // TURNS):
                restore()
                start = clock()
                run()
                seconds = clock() - start
                if number >= WARM_UP:
                    best[name] = min(best[name], seconds)
    return best


def layout_name(kernel: Any) -> str:
    return f"{kernel.order} {kernel.pack}{' depth-first' if kernel.depth_first else ''}"


def aligned(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return copies of arrays that begin at multiples of 64 bytes."""
    result = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            raw = np.empty(value.nbytes + 64, np.uint8)
            start = -raw.ctypes.data % 64
            result[name] = raw[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
            result[name][...] = value
    return result


def head(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the first problems of group-wise kernels, whose products in a wider type take long."""
    from drawloom.batch.kernels import GROUP_WISE

    return {key: value[:CHECKED] for key, value in arguments.items()} if name in GROUP_WISE else arguments


def copy_bandwidth() -> float:
    """Return GB/s of a copy, each byte read once and written once."""
    source, target = np.ones(32_000_000), np.empty(32_000_000)
    best = math.inf
    for _ in range(REPEAT):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best / 1e9


def moved_bytes(kernel: Any, arguments: dict[str, Any]) -> int:
    return sum(
        arguments[parameter.name].nbytes * (parameter.is_read + parameter.is_written)
        for parameter in kernel.signature.parameters
        if parameter.is_pointer
    )


def measure(
    name: str, size: int, real: str, items: int, libraries: dict[str, ctypes.CDLL], clock: Callable[[], float]
) -> tuple[list[str], list[float]]:
    """Return a row of the table, and the ratios to plain C and to C over items."""
    from drawloom import batch
    from drawloom.batch.kernels import GROUP_WISE, READY, read_text
    from tests.batch.cases import check_result, copied, make_arguments

    start = time.perf_counter()
    kernel = batch.kernel(read_text(name), wg_size=size, defines={"real": real})
    kernel.native(kernel.layout(kernel.pack))
    compile_seconds = time.perf_counter() - start
    groups = items if name in GROUP_WISE else -(-items // size)
    arguments = aligned(make_arguments(name, size, groups, TYPES[real]))
    saved = copied(arguments)
    order = [parameter.name for parameter in kernel.source.parameters]
    passed = [
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int(value)
        for value in (arguments[name] for name in order)
    ]
    sides: dict[str, Callable[[], None]] = {
        side: partial(getattr(library, READY[name]), ctypes.c_long(groups), *passed)
        for side, library in libraries.items()
    }
    sides["ours"] = lambda: kernel(*[arguments[name] for name in order], groups=groups)

    def restore() -> None:
        if name in IN_PLACE:
            for key, value in saved.items():
                if isinstance(value, np.ndarray):
                    np.copyto(arguments[key], value)

    for run in sides.values():
        restore()
        run()
        check_result(name, size, head(name, saved), head(name, arguments))
    best = alternate(sides, restore, clock)
    bandwidth = moved_bytes(kernel, arguments) / best["ours"] / 1e9
    ratios = [best[side] / best["ours"] for side in libraries]
    layout = layout_name(kernel)
    row = [name, str(size), real, layout, *[f"{seconds * 1e3:.2f}" for seconds in best.values()],
           *[f"{ratio:.2f}" for ratio in ratios], f"{bandwidth:.0f}", f"{compile_seconds:.1f}"]  # fmt: skip
    return row, ratios


def place_of(name: str) -> int:
    from drawloom.batch.kernels import READY

    return list(READY).index(name)


def summarise(name: str, real: str, found: list[list[float]]) -> list[str]:
    """Return the geometric mean, least and most of the ratios to each peer."""
    row = [name, real]
    for ratios in zip(*found):
        row += [f"{geometric_mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"]
    return row


def main() -> int:
    from drawloom.batch.kernels import READY

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="+", choices=tuple(READY), default=tuple(READY))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=tuple(TYPES))
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--summary", action="store_true", help="only the means of each kernel")
    add_threads(parser)
    add_features(parser)
    options = parser.parse_args()
    clock = choose_threads(options.threads)  # both sides ask for the cores; OpenMP does when its library is loaded
    choose_features(options.features)
    rows: list[list[str]] = []
    ratios: dict[tuple[str, str], list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            for real in options.types:
                libraries = {
                    side: compile_plain(Path(folder), size, real, options.features, side == "simd")
                    for side in ("C", "simd")
                }
                for name in options.kernels:
                    row, found = measure(name, size, real, options.items, libraries, clock)
                    rows.append(row)
                    ratios.setdefault((name, real), []).append(found)
                    print(*row, file=sys.stderr, flush=True)
    print(f"{machine()}; a copy moves {copy_bandwidth():.0f} GB/s; {options.items:,} items\n")
    header = ("kernel", "size", "type", "layout", "C ms", "simd ms", "ours ms", "C", "simd", "GB/s", "compile s")
    if not options.summary:
        print(markdown_table(header, sorted(rows, key=lambda row: (place_of(row[0]), row[2], int(row[1])))))
        print()
    everything = [row for found in ratios.values() for row in found]
    means = [summarise(*key, found) for key, found in sorted(ratios.items(), key=lambda item: place_of(item[0][0]))]
    means.append(summarise("all", "", everything))
    header = ("kernel", "type", "C: mean", "least", "most", "simd: mean", "least", "most")
    print(markdown_table(header, means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
