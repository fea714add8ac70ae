"""TPC-H's queries against DuckDB with data in memory, what a cold start costs by stage, and the memory of a query.

    python benchmarks/tpch.py                                    # scale 1, tables made below build/data when missing
    python benchmarks/tpch.py --scale 0.1 --rounds 5 --query 1 6

Warm: both sides hold the tables in memory, use the same threads and give Arrow tables; runs are interleaved and the
medians compared. An answer that differs from DuckDB's is not timed, and ends the run with status 1. Cold: a process
and a kernel cache of its own for every query; its memory is what is resident above what is before the query, in one
more process, which finds the kernels in that cache: what the compiler takes stands apart. What data takes is what is
resident above what is after the same query over scale 0.01, in a third process: the code of libraries and the
planner's memory do not grow with the data.

Goals: Q1, Q6, Q12, Q14 and Q19 in at most DuckDB's time, no query over 4 times, the sum at most 1.5 times; the front
end and the outliner under 15 ms, PTX under 10 ms; memory at most 3 times the columns that a query touches.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: At most this many times DuckDB's time.
GOALS = {1: 1.0, 6: 1.0, 12: 1.0, 14: 1.0, 19: 1.0}
GOAL_EACH, GOAL_SUM, GOAL_MEMORY = 4.0, 1.5, 3.0
#: The scale of data whose memory is not worth counting.
LITTLE = 0.01
#: A query that takes this long is timed in few rounds.
SLOW_SECONDS, SLOW_ROUNDS = 1.0, 3


class Warm:
    """Medians of both sides in seconds, and of one run of ours what kernels and control code took."""

    def __init__(self, ours: float, theirs: float, kernels: float, control: float) -> None:
        self.ours = ours
        self.theirs = theirs
        self.kernels = kernels
        self.control = control
        self.ratio = ours / theirs


def warm(
    tables: dict[str, Path], queries: Sequence[int], device: str, rounds: int
) -> tuple[dict[int, Warm], dict[int, str], bool]:
    """The times of each query that runs, why the others do not, and whether all that ran gave DuckDB's answers."""
    from drawloom.errors import Error, UnsupportedError
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    oracle = tpch.Oracle(tables, len(os.sched_getaffinity(0)))
    connection = tpch.connected(find_device(device), tables)
    times: dict[int, Warm] = {}
    reasons: dict[int, str] = {}
    right = True
    for query in queries:
        sql = tpch.text(query)
        relation = connection.sql(sql)
        try:
            answer = relation.arrow()
        except UnsupportedError as refusal:
            reasons[query] = f"refused: {(refusal.items or [refusal.message])[0]}"
            continue
        except Error as failure:
            reasons[query], right = f"failed: {failure}", False
            continue
        differs = tpch.difference(query, answer, oracle.answer(sql))
        if differs:
            reasons[query], right = f"differs: {differs}", False
            continue
        times[query] = timed(relation, oracle, sql, rounds)
    return times, reasons, right


def timed(relation: Any, oracle: Any, sql: str, rounds: int) -> Warm:
    from benchmarks.common.timing import interleaved

    start = time.perf_counter()
    relation.arrow()
    slow = time.perf_counter() - start > SLOW_SECONDS
    sides = {"drawloom": lambda: _drop(relation.arrow()), "duckdb": lambda: _drop(oracle.run(sql))}
    seconds = interleaved(sides, min(rounds, SLOW_ROUNDS) if slow else rounds)
    stages = relation.profile().seconds
    return Warm(seconds["drawloom"], seconds["duckdb"], stages["kernels"], stages["control"] + stages["library"])


def _drop(result: object) -> None:
    """Lets the result of a timed call go."""


def warm_rows(times: dict[int, Warm], reasons: dict[int, str], queries: Sequence[int]) -> list[list[str]]:
    """A row a query, then the sum, the geometric mean and the worst."""
    from benchmarks.common.timing import geometric_mean

    rows: list[list[str]] = []
    for query in queries:
        found = times.get(query)
        if found is None:
            rows.append([f"Q{query}", "", "", "", "", "", reasons[query].split("\n")[0]])
            continue
        cells = [f"{s * 1e3:.2f}" for s in (found.ours, found.theirs)]
        inside = [f"{s * 1e3:.2f}" for s in (found.kernels, found.control)]
        goal = f"at most {GOALS.get(query, GOAL_EACH):.1f}"
        rows.append([f"Q{query}", *cells, f"{found.ratio:.2f}", *inside, goal])
    if times:
        all_times = list(times.values())
        sums = [sum(t.ours for t in all_times), sum(t.theirs for t in all_times)]
        inside = [f"{sum(t.kernels for t in all_times) * 1e3:.2f}", f"{sum(t.control for t in all_times) * 1e3:.2f}"]
        ratios = {q: t.ratio for q, t in times.items()}
        worst = max(ratios, key=ratios.__getitem__)
        cells = [f"{s * 1e3:.2f}" for s in sums]
        count = f"of {len(times)}"
        rows.append([f"sum {count}", *cells, f"{sums[0] / sums[1]:.2f}", *inside, f"at most {GOAL_SUM:.1f}"])
        rows.append([f"geometric mean {count}", "", "", f"{geometric_mean(list(ratios.values())):.2f}", "", "", ""])
        rows.append([f"worst, Q{worst}", "", "", f"{ratios[worst]:.2f}", "", "", f"at most {GOAL_EACH:.1f}"])
    return rows


def cold(folder: Path, scale: float, query: int, device: str) -> dict[str, Any]:
    """What ``cold_child`` prints, from a process and a kernel cache of their own; ``first`` and ``next`` are those of
    another process that finds the kernels in the cache, ``compiler`` what the one without took more, and ``data`` the
    larger of both in a third, which has run the query over little data."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "DRAWLOOM_CACHE_DIR": cache}
        options = ["--data", str(folder), "--scale", str(scale), "--device", device]
        command = [sys.executable, __file__, *options, "--cold-child", str(query)]
        runs: list[dict[str, Any]] = []
        for more in ([], [], ["--after-little"]):
            done = subprocess.run([*command, *more], env=environment, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"Q{query}, cold, failed:\n{done.stderr}")
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    compiler = max(runs[0]["first"] - runs[1]["first"], 0)
    data = max(runs[2]["first"], runs[2]["next"])
    return {**runs[0], "first": runs[1]["first"], "next": runs[1]["next"], "compiler": compiler, "data": data}


def cold_child(tables: dict[str, Path], query: int, device: str, little: dict[str, Path] | None) -> None:
    """Prints the stages of a query's first run in seconds, its kernels, and bytes: those of the columns that it
    touches, as we keep them and as Arrow does, and the most resident above the start in the first run and a next.
    Before, the query runs over ``little`` data, if there is some."""
    from drawloom.cli.tpch import warm_up
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    place = find_device(device)
    warm_up(place, tables)
    if little is not None:
        with tpch.connected(place, little) as before:
            before.sql(tpch.text(query)).arrow()
    connection = tpch.connected(place, tables)
    relation = connection.sql(tpch.text(query))
    start = resident("VmRSS")
    forget_peak()
    profile = relation.profile()
    first = resident("VmHWM")
    forget_peak()
    relation.arrow()
    peaks = [max(peak - start, 0) for peak in (first, resident("VmHWM"))]
    ours, arrows = touched(connection, tables)
    print(
        json.dumps(
            {
                "seconds": profile.seconds, "kernels": len(relation.query.program().plans),
                "launches": len(profile.kernels), "kept": ours, "arrow": arrows, "first": peaks[0], "next": peaks[1],
                "counted": connection.memory.peak,
            }
        )
    )  # fmt: skip


def resident(line: str) -> int:
    """Bytes that /proc says are resident now (VmRSS) or were at most since ``forget_peak`` (VmHWM)."""
    for text in Path("/proc/self/status").read_text().splitlines():
        if text.startswith(line + ":"):
            return int(text.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status has no {line}")


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def touched(connection: Any, tables: dict[str, Path]) -> tuple[int, int]:
    """Bytes of the columns that a connection has read: as it keeps them, their text as UTF-8, and as Arrow has them."""
    import pyarrow.parquet as pq

    ours = arrows = 0
    for name, source in connection.sources.items():
        for column in source.columns.values():
            ours += column.nbytes
        if source.columns:
            arrows += pq.read_table(tables[name], columns=list(source.columns)).nbytes
    return ours, arrows


def cold_table(found: dict[int, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The stages of all queries in the order of their first run, and a row a query; then the most of each stage."""
    stages = list(dict.fromkeys([stage for one in found.values() for stage in one["seconds"]]))
    rows = {f"Q{query}": [one["seconds"].get(stage, 0.0) for stage in stages] for query, one in found.items()}
    rows = {query: [*times, sum(times)] for query, times in rows.items()}
    rows["most"] = [max(column) for column in zip(*rows.values())]
    kernels = [one["kernels"] for one in found.values()]
    counts = [str(n) for n in [*kernels, max(kernels)]]
    shown = [[query, *[f"{s * 1e3:.1f}" for s in times], n] for (query, times), n in zip(rows.items(), counts)]
    return ["query", *stages, "sum", "kernels made"], shown


def memory_rows(found: dict[int, dict[str, Any]]) -> list[list[str]]:
    rows = []
    for query, one in found.items():
        cells = [f"{one[k] / 1e6:.0f}" for k in ("kept", "arrow", "counted", "first", "next", "data", "compiler")]
        of_kept = [f"{one[k] / one['kept']:.1f}" for k in ("first", "next", "data")]
        rows.append([f"Q{query}", *cells, *of_kept, f"{one['first'] / one['arrow']:.1f}"])
    return rows


def main() -> int:
    from benchmarks.common.timing import add_features, choose_features, markdown_table
    from drawloom.sql import tpch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "data", help="folder of the TPC-H tables")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=11, help=f"of a slow query (over a second) {SLOW_ROUNDS}")
    parser.add_argument("--query", type=int, nargs="+", choices=tpch.QUERIES, default=list(tpch.QUERIES))
    parser.add_argument("--device", default="cpu")
    add_features(parser)
    parser.add_argument("--cold-child", type=int, metavar="QUERY", help=argparse.SUPPRESS)
    parser.add_argument("--after-little", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    choose_features(options.features)
    tables = tpch.generate(options.data, options.scale)
    if options.cold_child:
        little = tpch.generate(options.data, LITTLE) if options.after_little else None
        cold_child(tables, options.cold_child, options.device, little)
        return 0

    times, reasons, right = warm(tables, options.query, options.device, options.rounds)
    print(f"Scale {options.scale:g}, data in memory, kernels cached, milliseconds (median of {options.rounds}):\n")
    header = ["query", "drawloom", "DuckDB", "ratio", "of ours in kernels", "in control code", "goal for the ratio"]
    print(markdown_table(header, warm_rows(times, reasons, options.query)))
    if not times:
        return 0 if right else 1
    found = {query: cold(options.data, options.scale, query, options.device) for query in times}
    print("\nCold: no column read, nothing compiled, milliseconds by stage:\n")
    print(markdown_table(*cold_table(found)))
    print(
        "\nMemory in MB: the columns that a query touches as we keep them and as Arrow does; the most that the "
        "connection counted;\nthe most resident above the start in a first run and in a next one, of a process that "
        "finds its kernels in the cache;\nthe most above what is after the query over little data, and what compiling "
        f"takes more; the first three by the columns\n(goal for what data takes: at most {GOAL_MEMORY:.0f}):\n"
    )
    header = ["query", "columns", "Arrow's", "counted", "first", "next", "data", "compiler", "first / columns"]
    header += ["next / columns", "data / columns", "first / Arrow's"]
    print(markdown_table(header, memory_rows(found)))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
