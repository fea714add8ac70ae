"""The ten kernels of benchmarks/kernels on a GPU: our machine code against the driver's own compiler's.

    python benchmarks/gpu_kernels.py --rounds 20 --json gpu_kernels.json

The same PTX, the same buffers on the device, both sides in turn; a time is the median of what the driver's events say
of a launch, without its copies. Every result is checked as on the CPU. The distance to the limit stands beside it:
bytes that must move over the device's measured bandwidth, for the kernels that memory bounds. Exit status 1 when a
result is wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import drawloom  # noqa: E402
from benchmarks.common.device_copy import bandwidth  # noqa: E402
from benchmarks.common.workloads import WORKLOADS, Workload  # noqa: E402

SIDES = ("drawloom", "driver")
#: Each array read or written once; what a kernel does besides is bounded by something else.
MEMORY_BOUND = ("vecadd", "saxpy", "jacobi9", "reduce", "black_scholes", "transpose", "scan")


class GpuPeer:
    """One side: the checked-in PTX through one of the assemblers. Arrays live on the device while it is timed."""

    def __init__(self, device: str, assembler: str) -> None:
        self.device = device
        self.assembler = assembler
        self.buffers: list[tuple[np.ndarray[Any, Any], drawloom.Buffer]] = []
        self.launch: Any = None
        self.kernel: Any = None

    def call(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: object) -> Callable[[], None]:
        module = drawloom.load(ROOT / "benchmarks" / "kernels" / f"{name}.ptx", self.device, assembler=self.assembler)
        self.kernel = module[name][grid, block]
        given = [self.resident(a) if isinstance(a, np.ndarray) else a for a in arguments]

        def run() -> None:
            self.launch = self.kernel(*given)

        return run

    def resident(self, array: np.ndarray[Any, Any]) -> drawloom.Buffer:
        self.buffers.append((array, drawloom.Buffer.from_array(array, self.device)))
        return self.buffers[-1][1]

    def upload(self) -> None:
        for array, buffer in self.buffers:
            buffer.copy_from(array)

    def download(self) -> None:
        for array, buffer in self.buffers:
            array[...] = buffer.to_array()

    def bytes(self) -> int:
        return sum(array.nbytes for array, _ in self.buffers)


def measure(kind: type[Workload], device: str, rounds: int) -> dict[str, Any]:
    workload = kind(np.random.default_rng(1))
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    peers = {side: GpuPeer(device, side) for side in SIDES}
    runs = {side: workload.drawloom(peers[side]) for side in SIDES}  # type: ignore[arg-type]
    for side in SIDES:  # right first
        workload.prepare()
        peers[side].upload()
        runs[side]()
        peers[side].download()
        workload.check()
    for _ in range(rounds):
        for side in SIDES:
            workload.prepare()
            peers[side].upload()
            runs[side]()
            times[side].append(peers[side].launch.run_seconds)
    found: dict[str, Any] = {side: statistics.median(times[side]) for side in SIDES}
    found["ratio"] = found["drawloom"] / found["driver"]
    found["bytes"] = peers["drawloom"].bytes()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("names", nargs="*", help="these kernels only")
    arguments = parser.parse_args()
    peak = bandwidth(arguments.device)
    print(f"{drawloom.runtime.device(arguments.device).description}: device to device {peak / 1e12:.2f} TB/s")
    print(f"{'kernel':14s} {'ours us':>9s} {'driver us':>9s} {'ratio':>6s} {'TB/s':>6s} {'of limit':>8s}")
    results: dict[str, Any] = {"bandwidth": peak}
    wrong = 0
    for kind in WORKLOADS:
        if arguments.names and kind.name not in arguments.names:
            continue
        try:
            found = results[kind.name] = measure(kind, arguments.device, arguments.rounds)
        except (AssertionError, drawloom.Error):
            wrong += 1
            print(f"{kind.name:14s} WRONG")
            traceback.print_exc(limit=2)
            continue
        rate = found["bytes"] / found["drawloom"]
        limit = f"{found['bytes'] / peak / found['drawloom']:8.2f}" if kind.name in MEMORY_BOUND else ""
        print(
            f"{kind.name:14s} {found['drawloom'] * 1e6:9.1f} {found['driver'] * 1e6:9.1f} {found['ratio']:6.2f} "
            f"{rate / 1e12:6.2f} {limit}",
            flush=True,
        )
    ratios = [found["ratio"] for found in results.values() if isinstance(found, dict)]
    if ratios:
        print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
