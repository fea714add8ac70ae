"""Times several sides of one benchmark interleaved in a single run, and prints Markdown tables of ratios."""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAUSE_SECONDS = 0.005


def interleaved(
    sides: dict[str, Callable[[], None]], repeat: int, prepare: Callable[[], None] | None = None
) -> dict[str, float]:
    """Runs every side once per round, so that noise meets all alike; returns median seconds per side.

    `prepare` runs before each timed call and is not timed. One untimed round warms caches and compilers.
    A pause before each call lets the last side's idle threads, which spin before they sleep, leave the cores.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    for round_ in range(repeat + 1):
        for name, run in sides.items():
            time.sleep(PAUSE_SECONDS)
            if prepare is not None:
                prepare()
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
            if round_:
                times[name].append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table padded to read as text: columns of numbers to the right, columns of words to the left."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    words = [any(row[k][:1].isalpha() for row in rows) for k in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if left else c.rjust(w) for c, w, left in zip(cells, widths, words)]
        return "| " + " | ".join(padded) + " |"

    rule = "| " + " | ".join("-" * w if left else "-" * (w - 1) + ":" for w, left in zip(widths, words)) + " |"
    return "\n".join([line(header), rule, *map(line, rows)])


def add_features(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark compile our kernels for fewer features than this processor has."""
    parser.add_argument(
        "--features", choices=("sse4.2", "avx2", "avx512", "host"), default="host",
        help="the CPU features that our kernels, and peers in C, are compiled for (default: all of this CPU)",
    )  # fmt: skip


def choose_features(features: str) -> None:
    """Have this process and those that it starts compile kernels for these features."""
    if features != "host":
        os.environ["DRAWLOOM_CPU_FEATURES"] = features


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark run on fewer cores than there are."""
    parser.add_argument("--threads", type=int, default=0, help="run on so many cores (default: all)")


def choose_threads(threads: int) -> Callable[[], float]:
    """Keeps this process to so many cores, 0 for all, before any library asks for their number. Returns the clock to
    time with: for one core that of the processor, as other programs may use the core, too."""
    if threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    return time.process_time if threads == 1 else time.perf_counter


def machine() -> str:
    """One line that names the processor, its vector extensions, the cores used, memory and Python."""
    model, flags = platform.machine(), ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text()
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
            elif name.strip() == "flags":
                flags = next((f" with {v}" for v in ("avx512f", "avx2", "avx") if f" {v} " in value + " "), "")
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    chosen = os.environ.get("DRAWLOOM_CPU_FEATURES", "host")
    if chosen != "host":
        flags += f", kernels compiled for {chosen} only"
    return (
        f"{model}{flags}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )
