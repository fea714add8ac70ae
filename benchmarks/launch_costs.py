"""What a run costs beyond its data: memory, and the start of a kernel that was compiled before.

    python benchmarks/launch_costs.py
    python benchmarks/launch_costs.py --markdown

Goals: at most 256 MB above the data; under 5 ms to start a kernel that was compiled before, from the path of
its PTX to the end of the first, tiny launch. Every number comes from fresh processes with a cache folder of
their own: the first process compiles, the later ones find the entry on disk. "Process" is what Python, NumPy
and Drawloom need once: imports, tables, and the launch of an empty kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

KERNELS = ("saxpy", "matmul", "reduce", "histogram", "scan")
MEMORY_ELEMENTS = 1 << 26  # 512 MiB in two arrays
EMPTY = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n"
GOAL_MEGABYTES, GOAL_MILLISECONDS = 256, 5.0


def first_launch(name: str) -> dict[str, float]:
    """Seconds of each step up to the first finished launch of a one-block kernel, in this process."""
    import numpy as np

    small = np.ones(4096, np.float32)
    other, words = small.copy(), np.zeros(4096, np.uint32)
    status, ticket = np.zeros(4, np.uint64), np.zeros(1, np.uint32)
    arguments: dict[str, tuple[tuple[int, ...], tuple[object, ...]]] = {
        "saxpy": ((256,), (2.0, small, other, 256)),
        "matmul": ((16, 16), (small, small, other, 16, 16, 16)),
        "reduce": ((256,), (small, other, 4096)),
        "histogram": ((256,), (words, words[:256].copy(), 4096)),
        "scan": ((256,), (words, words.copy(), status, ticket, 256)),
    }
    block, values = arguments[name]
    times = {}
    start = time.perf_counter()
    import drawloom

    load = drawloom.load
    load(EMPTY, device="cpu")["empty"][1, 32]()
    times["process"] = time.perf_counter() - start
    start = time.perf_counter()
    module = load(ROOT / "benchmarks" / "kernels" / f"{name}.ptx", device="cpu")
    times["load"] = time.perf_counter() - start
    start = time.perf_counter()
    launch = module[name][1, block](*values)
    times["launch"] = time.perf_counter() - start
    times["cached"] = float(launch.cached)
    start = time.perf_counter()
    module[name][1, block](*values)
    times["again"] = time.perf_counter() - start
    return times


def peak_memory() -> dict[str, float]:
    """Peak resident bytes of this process after running saxpy on large arrays, and the arrays' bytes."""
    import numpy as np

    import drawloom

    x = np.ones(MEMORY_ELEMENTS, np.float32)
    y = np.ones(MEMORY_ELEMENTS, np.float32)
    module = drawloom.load(ROOT / "benchmarks" / "kernels" / "saxpy.ptx", device="cpu")
    launch = module["saxpy"][MEMORY_ELEMENTS // 256, 256](2.0, x, y, MEMORY_ELEMENTS)
    assert float(y[-1]) == 3.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"peak": float(peak), "data": float(x.nbytes + y.nbytes), "cached": float(launch.cached)}


def in_new_process(cache: str, *arguments: str) -> dict[str, float]:
    environment = {**os.environ, "DRAWLOOM_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, __file__, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def start_table(runs: int) -> list[list[str]]:
    """Per kernel: cold compile, then medians over `runs` processes that find the kernel in the cache."""
    rows = []
    for name in KERNELS:
        with tempfile.TemporaryDirectory() as cache:
            cold = in_new_process(cache, "--first-launch", name)
            warm = [in_new_process(cache, "--first-launch", name) for _ in range(runs)]
        if cold["cached"] or not all(w["cached"] for w in warm):
            raise SystemExit(f"{name}: expected one compilation and then only cache hits")
        steps = [statistics.median(w[step] for w in warm) for step in ("process", "load", "launch", "again")]
        start = statistics.median(w["load"] + w["launch"] for w in warm)
        rows.append([name, f"{cold['launch'] * 1e3:.1f}", *(f"{s * 1e3:.2f}" for s in steps), f"{start * 1e3:.2f}"])
    return rows


def memory_table() -> list[list[str]]:
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for state in ("compiling", "cached"):
            found = in_new_process(cache, "--peak-memory")
            if bool(found["cached"]) != (state == "cached"):
                raise SystemExit(f"memory, {state}: the kernel cache did not do what this run is about")
            over = (found["peak"] - found["data"]) / 1e6
            cells = [f"{found['data'] / 1e6:.0f}", f"{found['peak'] / 1e6:.0f}", f"{over:.0f}", f"{GOAL_MEGABYTES}"]
            rows.append([f"saxpy, {state}", *cells])
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="processes per kernel (default: 10)")
    parser.add_argument("--markdown", action="store_true", help="print the tables and nothing else")
    parser.add_argument("--first-launch", metavar="KERNEL", help=argparse.SUPPRESS)
    parser.add_argument("--peak-memory", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--data", help="unused: this benchmark makes its own data")
    options = parser.parse_args()
    if options.first_launch or options.peak_memory:
        print(json.dumps(first_launch(options.first_launch) if options.first_launch else peak_memory()))
        return 0

    from benchmarks.common.timing import machine, markdown_table

    header = ["kernel", "cold launch (ms)", "process (ms)", "load (ms)", "first launch (ms)", "next launch (ms)"]
    print(markdown_table([*header, f"load + first (ms, goal {GOAL_MILLISECONDS:.0f})"], start_table(options.runs)))
    print()
    print(markdown_table(["run", "data (MB)", "peak (MB)", "above data (MB)", "goal (MB)"], memory_table()))
    if not options.markdown:
        print(f"\n{machine()}; medians of {options.runs} processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
