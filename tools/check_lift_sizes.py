"""Runs the benchmark programs of the thesis's table 4.2 at its input sizes: `python -m tools.check_lift_sizes`.

Every low-level program of the twelve benchmarks runs on a device at the table's small and large sizes and at prime
sizes, and is compared with NumPy in double precision within derived bounds. Where the whole answer would not fit the
memory, samples of it are compared: some bodies, pixels or points, bands of an image. A size is left out where the
smaller one lets expect more than `--seconds` for a run. The result is a table in Markdown, and the exit status is 1
when an answer is wrong.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.lift.codegen.runners import compile_for
from tests.lift.programs.benchmark import Benchmark, Reference
from tests.lift.programs.imaging import RADIUS, convolution_reference, mriq_reference
from tests.lift.programs.learning import k_means_reference
from tests.lift.programs.particles import nbody_reference
from tests.lift.programs.table import BENCHMARKS

K, M = 1 << 10, 1 << 20

#: Small, large and prime sizes of each benchmark of table 4.2; what the table leaves open is as in the named sources:
#: SHOC's 128 neighbours, 34 features and 5 clusters of Rodinia's data set, Parboil's numbers of samples.
SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "N-Body NVIDIA": ((16 * K,), (128 * K,), (4099,)),
    "N-Body AMD": ((16 * K,), (128 * K,), (4099,)),
    "MD": ((12 * K, 128), (72 * K, 128), (12289, 127)),
    "K-Means": ((200 * K, 5, 34), (800 * K, 5, 34), (204803, 7, 31)),
    "NN": ((8 * M,), (32 * M,), (8388617,)),
    "MRI-Q": ((3 * K, 32 * K), (2 * K, 256 * K), (3079, 32771)),
    "Convolution": ((4 * K, 4 * K), (8 * K, 8 * K), (4099, 4093)),
    "ATAX": ((4 * K, 4 * K), (8 * K, 8 * K), (4099, 4093)),
    "GEMV": ((4 * K, 4 * K), (8 * K, 8 * K), (4099, 4093)),
    "GESUMMV": ((4 * K, 4 * K), (8 * K, 8 * K), (4099, 4093)),
    "MM NVIDIA": ((K, K, K), (4 * K, 4 * K, 4 * K), (1021, 1031, 1033)),
    "MM AMD": ((K, K, K), (4 * K, 4 * K, 4 * K), (1021, 1031, 1033)),
}
SAMPLES = 256
BAND = 16  # rows of an image


def work(name: str, size: tuple[int, ...]) -> float:
    """Return a number that a run's time is proportional to."""
    return float(size[0]) ** 2 if name.startswith("N-Body") else float(math.prod(size))


# Samples


def check_bodies(arguments: list[Any], found: Any, random: np.random.Generator) -> None:
    chosen = random.integers(0, len(arguments[0]), SAMPLES)
    nbody_reference(*arguments, chosen=chosen).check(tuple([part[chosen] for part in found]))


def check_pixels(arguments: list[Any], found: Any, random: np.random.Generator) -> None:
    chosen = random.integers(0, len(arguments[5]), SAMPLES)
    mriq_reference(*arguments[:5], *[one[chosen] for one in arguments[5:]]).check(tuple([one[chosen] for one in found]))


def check_points(arguments: list[Any], found: Any, random: np.random.Generator) -> None:
    chosen = random.integers(0, len(found), 16 * SAMPLES)
    k_means_reference(arguments[0][:, chosen], arguments[1]).check(found[chosen])


def check_bands(arguments: list[Any], found: Any, random: np.random.Generator) -> None:
    """Compare rows at the top, at the bottom and inside. What is around a band decides the rows next to it."""
    image, weights = arguments
    rows = len(image)
    for start in (0, int(random.integers(RADIUS, rows - BAND - RADIUS)), rows - BAND):
        first, last = max(start - RADIUS, 0), min(start + BAND + RADIUS, rows)
        whole = convolution_reference(image[first:last], weights)
        kept = slice(start - first, start - first + BAND)
        Reference(whole.values[kept], whole.bounds[kept]).check(found[start : start + BAND])


Check = Callable[[list[Any], Any, np.random.Generator], None]
CHECKS: dict[str, Check] = {
    "N-Body NVIDIA": check_bodies,
    "N-Body AMD": check_bodies,
    "K-Means": check_points,
    "MRI-Q": check_pixels,
    "Convolution": check_bands,
}


def seconds_of(benchmark: Benchmark, form: str, size: tuple[int, ...], device: str | None) -> float:
    """Check a program at a size; return how long a run took, after one that compiled it."""
    random = np.random.default_rng(sum(size))
    arguments = benchmark.arguments(random, size)
    compiled = compile_for(benchmark.low_level[form](), *arguments)
    compiled(*arguments, device=device)
    start = time.perf_counter()
    found = compiled(*arguments, device=device)
    seconds = time.perf_counter() - start
    check = CHECKS.get(benchmark.name)
    if check is None:
        benchmark.reference(*arguments).check(found)
    else:
        check(arguments, found, random)
    return seconds


def rows_of(benchmark: Benchmark, device: str | None, most: float) -> list[tuple[str, bool]]:
    """Return a line of the table for every low-level form, with whether its answers are right."""
    rows: list[tuple[str, bool]] = []
    small, large, prime = SIZES[benchmark.name]
    for form in benchmark.low_level:
        cells, is_right, pace = [benchmark.name, form], True, 0.0
        for size in (prime, small, large):
            name = " × ".join(map(str, size))
            expected = pace * work(benchmark.name, size)
            if not benchmark.fits(form, size):
                cells.append("-")
            elif expected > most:
                cells.append(f"{name}: about {expected:.0f} s, not run")
            else:
                try:
                    seconds = seconds_of(benchmark, form, size, device)
                except AssertionError as fault:
                    cells.append(f"{name}: wrong by {fault}")
                    is_right = False
                    continue
                pace = seconds / work(benchmark.name, size)
                cells.append(f"{name}: {seconds:.3g} s")
        rows.append((f"| {' | '.join(cells)} |", is_right))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of benchmarks (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="what a run may take (default: 10)")
    parser.add_argument("--device", help="a device of drawloom.devices() (default: cpu)")
    options = parser.parse_args()
    print("| benchmark | program | prime | small | large |\n| --- | --- | --- | --- | --- |")
    all_right = True
    for benchmark in BENCHMARKS:
        if benchmark.name in SIZES and (not options.only or benchmark.name in options.only):
            for row, is_right in rows_of(benchmark, options.device, options.seconds):
                print(row, flush=True)
                all_right = all_right and is_right
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
