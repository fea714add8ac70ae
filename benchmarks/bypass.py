"""Kernels that divide 64-bit integers, with and without the ways around the long division, on the CPU and on a GPU.

    python benchmarks/bypass.py                     # the CPU device, and the first GPU where there is one
    python benchmarks/bypass.py --device cuda:0 --only slots divisors

Operands are short (dividends fit 32 bits), long (none does), or short in half of the threads, at random. On a GPU the
pass `bypass` is added to -O2. The CPU device has its own way for whole warps (docs/opt.md): "by lane" is the device
without it, so that each lane takes the CPU's own instruction; "bypass" is the pass on top. Every side gives the same
answers. Times are medians of rounds in turn, of the CPU those of all its cores together, of a GPU the driver's. The
goals: at least 1.5 times as fast where operands are short, at most 3% slower where they are long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
# The plain sources, also where a compiled build is on the path: only there can the device's way be taken out. What is
# timed is machine code, the same with either.
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
os.environ["DRAWLOOM_CACHE"] = "off"

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import drawloom  # noqa: E402
from benchmarks.common.timing import geometric_mean, markdown_table  # noqa: E402
from drawloom.cpu.ops import division  # noqa: E402
from drawloom.opt import LEVELS  # noqa: E402

Operands = tuple[NDArray[np.uint64], NDArray[np.uint64]]
BLOCK: Final = 256
#: What a kernel does with each pair of numbers, and how often; the bits of short divisors and of long ones.
KERNELS: Final[dict[str, tuple[str, int, int, int]]] = {
    "quotients": ("u64, div", 64, 31, 34),
    "slots": ("u64, rem", 64, 14, 34),
    "digits": ("u64, div and rem", 24, 14, 34),
    "divisors": ("u64, rem, until 0", 4, 14, 34),
    "powers": ("u64, rem of products", (1 << 20) - 7, 16, 32),
    "places": ("s64, div and rem", 24, 14, 34),
}
GOAL_SHORT: Final = 1.5
GOAL_LONG: Final = 1 / 1.03
BY_DOUBLES: Final = division._by_doubles
BY_LANE: Final = division._lane_by_lane


def operands(kernel: str, kind: str, threads: int) -> Operands:
    """Dividends and divisors."""
    rng = np.random.default_rng(1)
    bits = KERNELS[kernel][2:]

    def random(low: int, high: int) -> NDArray[np.uint64]:
        return rng.integers(1 << low, 1 << high, threads, dtype=np.uint64)

    short = random(20, 32), random(4, bits[0])
    long = random(50, 63), random(bits[1] - 4 if kernel == "powers" else 4, bits[1])
    if kind == "half":
        half = rng.random(threads) < 0.5
        return np.where(half, short[0], long[0]), np.where(half, short[1], long[1])
    return short if kind == "short" else long


def without_the_way_around(name: str, lanes: int, signed: bool) -> str:
    """The device's function for divisions with the way for long operands alone."""
    text = BY_LANE(name, lanes, signed)
    assert "br i1 %fits, label %fast, label %loop" in text
    return text.replace("br i1 %fits, label %fast, label %loop", "br label %loop")


def sides(source: str, device: str) -> dict[str, tuple[str, bool]]:
    """The PTX of each side, and whether the device's own way is taken out."""
    ptx = str(drawloom.compile_cuda(source, "sm_80"))
    names = list(LEVELS[2])
    names.insert(names.index("narrow") + 1, "bypass")
    usual, bypassed = str(drawloom.optimize(ptx, 2)), str(drawloom.optimize(ptx, 2, passes=names))
    own = {"by lane": (usual, True)} if device == "cpu" else {}
    return {**own, "-O2": (usual, False), "-O2, bypass": (bypassed, False)}


def compiled(text: str, by_lane: bool, kernel: str, device: str, threads: int) -> Any:
    """The kernel, compiled."""
    division._by_doubles = without_the_way_around if by_lane else BY_DOUBLES
    division._lane_by_lane = without_the_way_around if by_lane else BY_LANE
    loaded = drawloom.load(text, device, level=0)[kernel][threads // BLOCK, BLOCK]
    nothing = np.zeros(threads, np.uint64)
    loaded(nothing, nothing, nothing, 0)
    return loaded


def on_cpu(kernels: dict[str, Any], given: Operands, count: int, rounds: int) -> dict[str, float]:
    """Seconds of processor time of each side; raises AssertionError where they do not give the same."""
    out = {side: np.zeros(given[0].size, np.uint64) for side in kernels}
    seconds: dict[str, list[float]] = {side: [] for side in kernels}
    for _ in range(rounds):
        for side, kernel in kernels.items():
            start = time.process_time()
            kernel(*given, out[side], count)
            seconds[side].append(time.process_time() - start)
    assert all(np.array_equal(made, out["-O2"]) for made in out.values()), "the answers differ"
    return {side: statistics.median(found) for side, found in seconds.items()}


def on_gpu(kernels: dict[str, Any], given: Operands, count: int, rounds: int, device: str) -> dict[str, float]:
    """The same by the driver's clock, with everything on the device."""
    out = {side: drawloom.Buffer.from_array(np.zeros(given[0].size, np.uint64), device) for side in kernels}
    inputs = [drawloom.Buffer.from_array(one, device) for one in given]
    seconds: dict[str, list[float]] = {side: [] for side in kernels}
    for _ in range(rounds):
        for side, kernel in kernels.items():
            seconds[side].append(kernel(*inputs, out[side], count).run_seconds)
    answers = [made.to_array() for made in out.values()]
    assert all(np.array_equal(made, answers[0]) for made in answers), "the answers differ"
    return {side: statistics.median(found) for side, found in seconds.items()}


def measured(device: str, only: list[str], threads: int, rounds: int) -> tuple[list[str], list[list[str]], list[str]]:
    """Head and rows of a device's table, and the goals that were missed."""
    texts = sides((ROOT / "benchmarks" / "cuda" / "division.cu").read_text(encoding="utf-8"), device)
    base, *others = texts
    rows: list[list[str]] = []
    missed: list[str] = []
    ratios: dict[tuple[str, str], list[float]] = {}
    for kernel in only:
        what, count, *_ = KERNELS[kernel]
        kernels = {side: compiled(*text, kernel, device, threads) for side, text in texts.items()}
        for kind in ("short", "long", "half"):
            given = operands(kernel, kind, threads)
            on = on_cpu if device == "cpu" else lambda *four: on_gpu(*four, device)
            times = on(kernels, given, count, rounds)
            faster = {side: times[base] / times[side] for side in others}
            cells = [f"{times[side] * 1e3:.3f}" for side in texts]
            rows.append([kernel, what, kind, *cells, *[f"{ratio:.2f}" for ratio in faster.values()]])
            for side, ratio in faster.items():
                ratios.setdefault((kind, side), []).append(ratio)
            goal = {"short": GOAL_SHORT, "long": GOAL_LONG}.get(kind, 0.0)
            if faster[others[0]] < goal:
                missed.append(f"{device}, {kernel}, {kind}: {faster[others[0]]:.2f} times as fast (goal {goal:.2f})")
    for kind in ("short", "long", "half"):
        means = [f"{geometric_mean(ratios[kind, side]):.2f}" for side in others]
        rows.append(["geometric mean", "", kind, *[""] * len(texts), *means])
    head = ["kernel", "divides", "operands", *[f"{side} (ms)" for side in texts], *[f"{base} / {s}" for s in others]]
    return head, rows, missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", nargs="+", help="cpu, cuda:0, ... (default: the CPU and the first GPU)")
    parser.add_argument("--only", nargs="+", choices=list(KERNELS), default=list(KERNELS), help="these kernels only")
    parser.add_argument("--threads", type=int, help="of a launch (default: 2**15 on the CPU, 2**20 on a GPU)")
    parser.add_argument("--rounds", type=int, default=25, help="of which the median counts")
    given = parser.parse_args()
    found = [device.name for device in drawloom.devices() if device.name in ("cpu", "cuda:0")]
    missed: list[str] = []
    for device in given.device or found:
        threads = given.threads or (1 << 15 if device == "cpu" else 1 << 20)
        head, rows, behind = measured(device, given.only, threads, given.rounds)
        print(f"{device}, {threads} threads:\n\n{markdown_table(head, rows)}\n")
        missed += behind
    print("\n".join(missed), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
