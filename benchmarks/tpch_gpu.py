"""TPC-H's queries on a GPU beside DuckDB with all of the machine's cores: cold, cached, with and without transfer.

    python benchmarks/tpch_gpu.py --device cuda:0                # scale 1, tables made below build/data when missing
    python benchmarks/tpch_gpu.py --scale 0.1 --rounds 5 --query 1 6

Cold: nothing compiled, columns in the file. Cached: the same with kernels in the kernel cache. Up: what a run with the
columns in the host's memory takes more than one with them on the device, which is the warm one; DuckDB's has its tables
in memory too. Both sides give Arrow tables; medians of interleaved runs. Least: what the bytes of the columns need at
the bandwidth of the device's own copy, and how many times that kernels and the whole query take. An answer that
differs from DuckDB's is not timed, and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.common.device_copy import bandwidth  # noqa: E402
from benchmarks.common.timing import geometric_mean, machine, markdown_table  # noqa: E402
from benchmarks.tpch import timed, touched  # noqa: E402

HEADER = (
    "query", "cold", "cached", "up", "warm", "DuckDB", "warm / DuckDB", "in kernels", "MB", "least",
    "kernels / least", "warm / least",
)  # fmt: skip


def first_run(folder: Path, scale: float, query: int, device: str, cache: str) -> float:
    """Seconds of a query's first run in a process of its own whose kernel cache is ``cache``."""
    options = ["--data", str(folder), "--scale", str(scale), "--device", device, "--first", str(query)]
    environment = {**os.environ, "DRAWLOOM_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, __file__, *options], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"Q{query} failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def first_child(tables: dict[str, Path], query: int, device: str) -> None:
    """Prints the seconds of a query's first run, after what every process does once."""
    from drawloom.cli.tpch import warm_up
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    place = find_device(device)
    warm_up(place, tables)
    relation = tpch.connected(place, tables).sql(tpch.text(query))
    start = time.perf_counter()
    relation.arrow()
    print(time.perf_counter() - start)


def from_host(connection: Any, relation: Any, rounds: int) -> float:
    """Median seconds of runs that find the columns in the host's memory alone."""
    seconds = []
    for _ in range(rounds):
        for source in connection.sources.values():
            for column in source.columns.values():
                column.vector.block = None
        start = time.perf_counter()
        relation.arrow()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measured(options: argparse.Namespace, tables: dict[str, Path], oracle: Any, rate: float, query: int) -> list[float]:
    """The figures of a query, seconds and bytes, as ``HEADER`` has them. Raises SystemExit for a wrong answer."""
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    with tempfile.TemporaryDirectory() as cache:
        cold, cached = [first_run(options.data, options.scale, query, options.device, cache) for _ in range(2)]
    sql = tpch.text(query)
    with tpch.connected(find_device(options.device), tables) as connection:
        relation = connection.sql(sql)
        differs = tpch.difference(query, relation.arrow(), oracle.answer(sql))
        if differs:
            raise SystemExit(f"Q{query} differs: {differs}")
        warm = timed(relation, oracle, sql, options.rounds)
        up = max(from_host(connection, relation, options.rounds) - warm.ours, 0.0)
        kept, _ = touched(connection, tables)
    # A copy reads and writes: columns are only read.
    return [cold, cached, up, warm.ours, warm.theirs, warm.kernels, kept, kept / rate]


def row(name: str, found: list[float]) -> list[str]:
    cold, cached, up, ours, theirs, kernels, kept, least = found
    times = [f"{seconds * 1e3:.2f}" for seconds in (cold, cached, up, ours, theirs)]
    return [
        name, *times, f"{ours / theirs:.2f}", f"{kernels * 1e3:.2f}", f"{kept / 1e6:.0f}", f"{least * 1e3:.3f}",
        f"{kernels / least:.1f}", f"{ours / least:.1f}",
    ]  # fmt: skip


def main() -> int:
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "data", help="folder of the TPC-H tables")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--query", type=int, nargs="+", choices=tpch.QUERIES, default=list(tpch.QUERIES))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--copy-megabytes", type=int, default=1024, help="what the device copies for its bandwidth")
    parser.add_argument("--first", type=int, metavar="QUERY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tables = tpch.generate(options.data, options.scale)
    if options.first:
        first_child(tables, options.first, options.device)
        return 0
    place = find_device(options.device)
    if place.is_host:
        parser.error(f"{options.device} is no GPU: benchmarks/tpch.py measures there")
    rate = bandwidth(options.device, options.copy_megabytes << 20)
    cores = len(os.sched_getaffinity(0))
    oracle = tpch.Oracle(tables, cores)
    found = {query: measured(options, tables, oracle, rate, query) for query in options.query}
    rows = [row(f"Q{query}", one) for query, one in found.items()]
    rows.append(row("sum", [sum(column) for column in zip(*found.values())]))
    print(f"Scale {options.scale:g}, milliseconds, medians of {options.rounds}; DuckDB with {cores} cores:\n")
    print(markdown_table(HEADER, rows))
    ratio = geometric_mean([one[3] / one[4] for one in found.values()])
    print(f"\nGeometric mean of warm / DuckDB {ratio:.2f}; {rate / 1e9:.0f} GB/s by the device's copy.")
    print(f"{place.description}; {machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
