"""PTX kernels on the `cpu` device against the same algorithms in C with OpenMP, Numba and OpenCL on PoCL.

    python benchmarks/cpu_kernels.py                     # all kernels, all sides that can run here
    python benchmarks/cpu_kernels.py --only saxpy scan --sides drawloom c
    python benchmarks/cpu_kernels.py --markdown          # the table alone

Every side uses the same number of threads and the same arrays; every result is checked against NumPy
before anything is timed. Times are medians of interleaved runs, kernels compiled and data in memory.
The goal: at most 1.5 times the C time in the geometric mean, no kernel over 4 times.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SIDES = ("drawloom", "c", "numba", "opencl")
TITLES = {"drawloom": "drawloom", "c": "C, OpenMP", "numba": "Numba", "opencl": "OpenCL, PoCL"}
GOAL_MEAN, GOAL_WORST = 1.5, 4.0


def start_peers(wanted: list[str], threads: int) -> dict[str, Any]:
    """Builds the sides that can run here; says on stderr which cannot, and why."""
    from benchmarks.common import peers

    peers.pocl_cache(peers.BUILD / "pocl")
    makers: dict[str, Callable[[int], Any]] = {
        "drawloom": peers.DrawloomPeer, "c": peers.CPeer, "numba": peers.NumbaPeer, "opencl": peers.OpenCLPeer,
    }  # fmt: skip
    found: dict[str, Any] = {}
    for side in wanted:
        try:
            found[side] = makers[side](threads)
        except peers.Missing as error:
            print(f"without {TITLES[side]}: {error}", file=sys.stderr)
    return found


def measure(workload: Any, peers: dict[str, Any], repeat: int) -> dict[str, float]:
    """Checks each side's result, then times all sides interleaved; returns median seconds per side."""
    from benchmarks.common.timing import interleaved

    runs: dict[str, Callable[[], None]] = {}
    for side, peer in peers.items():
        run = getattr(workload, side)(peer)
        workload.prepare()
        run()
        try:
            workload.check()
        except AssertionError as error:
            raise SystemExit(f"{workload.name}: {TITLES[side]} gives a wrong result: {error}") from None
        runs[side] = run
    return interleaved(runs, repeat, workload.prepare)


def report(rows: list[tuple[Any, dict[str, float]]], sides: list[str]) -> str:
    """A row per kernel with times, ours over each peer's, and the geometric means of these ratios."""
    from benchmarks.common.timing import geometric_mean, markdown_table

    base = sides[0]
    others = [side for side in sides if side != base]
    header = ["kernel", "size", *(f"{TITLES[s]} (ms)" for s in sides), *(f"/ {TITLES[s]}" for s in others)]
    body = []
    for workload, times in rows:
        ratios = [f"{times[base] / times[side]:.2f}" for side in others]
        body.append([workload.name, workload.what, *(f"{times[s] * 1e3:.2f}" for s in sides), *ratios])
    means = [geometric_mean([times[base] / times[side] for _, times in rows]) for side in others]
    body.append(["geometric mean", "", *("" for _ in sides), *(f"{mean:.2f}" for mean in means)])
    return markdown_table(header, body)


def main() -> int:
    from benchmarks.common.timing import add_features, choose_features

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="KERNEL", help="these kernels only")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES), help="ratios are to the first")
    parser.add_argument("--repeat", type=int, default=9, help="timed rounds (default: 9)")
    add_features(parser)
    parser.add_argument("--threads", type=int, default=2, help="threads of every side (default: 2)")
    parser.add_argument("--markdown", action="store_true", help="print the table and nothing else")
    parser.add_argument("--data", help="unused: this benchmark makes its own data")
    options = parser.parse_args()
    choose_features(options.features)
    if options.features != "host":
        options.sides = [side for side in options.sides if side in ("drawloom", "c")]  # others take all there is
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import numpy as np

    from benchmarks.common.timing import geometric_mean, machine
    from benchmarks.common.workloads import WORKLOADS

    unknown = set(options.only or ()) - {workload.name for workload in WORKLOADS}
    if unknown:
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(w.name for w in WORKLOADS)}")
    peers = start_peers(options.sides, options.threads)
    rows: list[tuple[Any, dict[str, float]]] = []
    for kind in WORKLOADS:
        if options.only and kind.name not in options.only:
            continue
        workload: Any = kind(np.random.default_rng(2))
        rows.append((workload, measure(workload, peers, options.repeat)))
        if not options.markdown:
            times = ", ".join(f"{TITLES[s]} {t * 1e3:.2f} ms" for s, t in rows[-1][1].items())
            print(f"{workload.name}: {times}", file=sys.stderr)
        rows[-1] = (kind, rows[-1][1])  # lets the arrays go
    print(report(rows, list(peers)))
    if not options.markdown:
        print(f"\n{machine()}; {options.threads} threads per side, medians of {options.repeat} interleaved runs")
    if options.sides[0] == "drawloom" and "c" in peers:
        ratios = [times["drawloom"] / times["c"] for _, times in rows]
        if geometric_mean(ratios) > GOAL_MEAN or max(ratios) > GOAL_WORST:
            print(
                f"over the goal: {geometric_mean(ratios):.2f} in the mean (goal {GOAL_MEAN}), "
                f"{max(ratios):.2f} at worst (goal {GOAL_WORST})", file=sys.stderr,
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
