"""Outlining none, flow and full: kernels, execution and compilation of TPC-H's queries, as the thesis's table 7.3 and
figures 7.13 and 7.14 have them.

    python benchmarks/outline.py                                 # scale 1, tables made below build/data when missing
    python benchmarks/outline.py --kernels                       # only the kernels, at scale 0.01

Execution: data in memory, kernels cached, medians of interleaved runs. Compilation: outlining, PTX and machine code of
a first run without the kernel cache. Both as times that ``flow`` and ``full`` are faster than ``none``. Every answer
is first compared with that of ``full``; one that differs ends the run.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: Table 7.3 by query: kernels with none, flow and full. Our copy of the thesis has no column "none" from Q12 on; it
#: compiles Q16 in full only.
THESIS = {
    1: ("57", "38", "5"), 2: ("49", "44", "18"), 3: ("34", "27", "9"), 4: ("15", "11", "9"), 5: ("35", "27", "13"),
    6: ("13", "4", "1"), 7: ("63", "51", "19"), 8: ("56", "39", "17"), 9: ("39", "29", "11"), 10: ("54", "47", "9"),
    11: ("26", "15", "9"), 12: ("", "13", "4"), 13: ("", "12", "10"), 14: ("", "10", "4"), 15: ("", "20", "8"),
    16: ("", "", "8"), 17: ("", "13", "10"), 18: ("", "29", "10"), 19: ("", "12", "3"), 20: ("", "20", "10"),
    21: ("", "28", "15"), 22: ("", "19", "6"),
}  # fmt: skip
COMPILATION = ("outline", "ptx", "prepare", "compile")


class Measured:
    """By mode the kernels of a query, and the seconds of a warm run and of compiling it."""

    def __init__(self, kernels: dict[str, int]) -> None:
        self.kernels = kernels
        self.run: dict[str, float] = {}
        self.compilation: dict[str, float] = {}


def measured(query: int, device: Any, tables: dict[str, Path], rounds: int) -> Measured:
    """``rounds`` 0 only counts kernels."""
    from benchmarks.common.timing import interleaved
    from drawloom.horse.outline import MODES
    from drawloom.sql import tpch

    connection = tpch.connected(device, tables)
    relations = {mode: connection.sql(tpch.text(query), outline=mode) for mode in MODES}
    found = Measured({mode: len(r.query.program().plans) for mode, r in relations.items()})
    answers = {mode: r.arrow() for mode, r in relations.items()}
    for mode, answer in answers.items():
        different = tpch.difference(query, answer, answers["full"])
        if different:
            raise SystemExit(f"Q{query} with {mode} differs from full: {different}")
    if rounds:
        stages = {mode: r.profile().seconds for mode, r in relations.items()}
        found.compilation = {mode: sum(s.get(c, 0.0) for c in COMPILATION) for mode, s in stages.items()}
        found.run = interleaved({mode: r.arrow for mode, r in relations.items()}, rounds)
    return found


def kernel_rows(found: dict[int, Measured]) -> list[list[str]]:
    rows = [[f"Q{q}", *[str(n) for n in m.kernels.values()], *THESIS[q]] for q, m in found.items()]
    sums = [str(sum(m.kernels[mode] for m in found.values())) for mode in ("none", "flow", "full")]
    return [*rows, ["sum", *sums, "", "", ""]]


def time_rows(found: dict[int, Measured]) -> list[list[str]]:
    from benchmarks.common.timing import geometric_mean

    rows: list[list[str]] = []
    ratios: list[list[float]] = [[], [], [], []]
    for query, one in found.items():
        cells = [f"Q{query}"]
        for times, at in ((one.run, 0), (one.compilation, 2)):
            faster = [times["none"] / times["flow"], times["none"] / times["full"]]
            ratios[at].append(faster[0])
            ratios[at + 1].append(faster[1])
            cells += [f"{s * 1e3:.1f}" for s in times.values()] + [f"{r:.2f}" for r in faster]
        rows.append(cells)
    means = [f"{geometric_mean(r):.2f}" for r in ratios]
    return [*rows, ["geometric mean", "", "", "", means[0], means[1], "", "", "", means[2], means[3]]]


def main() -> int:
    from benchmarks.common.timing import markdown_table
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "data", help="folder of the TPC-H tables")
    parser.add_argument("--scale", type=float)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--query", type=int, nargs="+", choices=tpch.QUERIES, default=list(tpch.QUERIES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", action="store_true", help="count kernels only")
    options = parser.parse_args()
    scale = options.scale or (0.01 if options.kernels else 1.0)
    os.environ["DRAWLOOM_CACHE"] = "on" if options.kernels else "off"
    tables = tpch.generate(options.data, scale)
    device, rounds = find_device(options.device), 0 if options.kernels else options.rounds
    found = {query: measured(query, device, tables, rounds) for query in options.query}
    print(f"Kernels at scale {scale:g}, beside the thesis's:\n")
    modes = ["none", "flow", "full"]
    print(markdown_table(["query", *modes, *[f"{m} (7.3)" for m in modes]], kernel_rows(found)))
    if rounds:
        print(f"\nMilliseconds at scale {scale:g} on {options.device}, and how many times faster than none:\n")
        header = ["run, " + m for m in modes] + ["flow", "full"] + ["compile, " + m for m in modes] + ["flow", "full"]
        print(markdown_table(["query", *header], time_rows(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
