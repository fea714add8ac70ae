"""TPC-H Q6 and Q1 from SQL text on the `cpu` device against DuckDB, data in memory, and what a cold start costs.

    python benchmarks/tpch_first.py                          # scale 1, generated below build/data when missing
    python benchmarks/tpch_first.py --scale 0.1 --rounds 5

Both sides hold lineitem in memory, use all cores, and give a fetched result; runs are interleaved and the medians
compared. The goal: Q6 in at most DuckDB's time. The results are compared value for value before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

GOALS = {"Q6": 1.0}
COLD_STAGES = ("plan", "substrait", "decode", "horse", "outline", "ptx", "prepare", "compile")


def queries() -> dict[str, str]:
    from tests.sql.queries import Q1, Q6

    return {"Q6": Q6, "Q1": Q1}


def lineitem(folder: Path, scale: float) -> Path:
    """The path of lineitem at `scale` below `folder`, generated where it is missing."""
    tables = folder / f"tpch-sf{scale:g}"
    path = tables / "lineitem.parquet"
    if path.exists():
        return path
    generator = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if generator is None:
        sys.exit("tpchgen-cli is not installed: pip install 'drawloom[data]'")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        made = f"{unfinished}/tables"
        subprocess.run([generator, "parquet", "-s", f"{scale:g}", f"--output-dir={made}"], check=True)
        shutil.rmtree(tables, ignore_errors=True)
        Path(made).rename(tables)
    return path


def warm(path: Path, rounds: int) -> list[list[str]]:
    """A row a query: median milliseconds of both sides, their ratio, and ours inside the kernel."""
    import duckdb

    from benchmarks.common.timing import interleaved
    from drawloom.sql import connect

    ours = connect("cpu")
    ours.register("lineitem", str(path))
    theirs = duckdb.connect(config={"threads": len(os.sched_getaffinity(0))})
    theirs.execute(f"create table lineitem as select * from '{path}'")
    rows: list[list[str]] = []
    for name, query in queries().items():
        relation = ours.sql(query)
        # DuckDB's rewrite of avg rounds twice (docs/sql.md); it is off for the answer and on for the time.
        theirs.execute("set disabled_optimizers = 'aggregate_function_rewriter'")
        wanted = theirs.sql(query).to_arrow_table()
        theirs.execute("reset disabled_optimizers")
        found = relation.arrow()
        if found.schema != wanted.schema or found.to_pylist() != wanted.to_pylist():
            sys.exit(f"{name}: drawloom and DuckDB disagree")

        def run_ours(relation: Any = relation) -> None:
            relation.fetchall()

        def run_theirs(query: str = query) -> None:
            theirs.execute(query).fetchall()

        seconds = interleaved({"drawloom": run_ours, "duckdb": run_theirs}, rounds)
        kernel = relation.profile().seconds["kernels"]
        ratio = seconds["drawloom"] / seconds["duckdb"]
        goal = f"at most {GOALS[name]:.1f}" if name in GOALS else ""
        cells = [seconds["drawloom"] * 1e3, seconds["duckdb"] * 1e3, ratio, kernel * 1e3]
        rows.append([name, *[f"{c:.2f}" for c in cells], goal])
    return rows


def cold(path: Path) -> dict[str, dict[str, float]]:
    """Milliseconds of each stage of each query, in a process and a kernel cache of their own, columns loaded."""
    found: dict[str, dict[str, float]] = {}
    for name in queries():
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "XDG_CACHE_HOME": cache}
            command = [sys.executable, __file__, "--cold-child", name, "--file", str(path)]
            done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
    return found


def cold_child(name: str, path: str) -> None:
    """Prints one query's stages, the first time that this process and its kernel cache see it."""
    from drawloom.sql import connect

    connection = connect("cpu")
    connection.register("lineitem", path)
    # Another query first, so that imports and threads are there, as in a session that has run something.
    connection.sql("select count(*) from lineitem where l_orderkey < 0").arrow()
    profile = connection.sql(queries()[name]).profile()
    print(json.dumps({stage: seconds * 1e3 for stage, seconds in profile.seconds.items()}))


def main() -> int:
    from benchmarks.common.timing import markdown_table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "data", help="folder of the TPC-H tables")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--cold-child", metavar="QUERY", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold_child:
        cold_child(options.cold_child, options.file)
        return 0
    path = lineitem(options.data, options.scale)
    print(f"Scale {options.scale:g}, data in memory, kernels cached, milliseconds (median of {options.rounds}):\n")
    header = ["query", "drawloom", "DuckDB", "ratio", "of ours in the kernel", "goal for the ratio"]
    print(markdown_table(header, warm(path, options.rounds)))
    stages = cold(path)
    print("\nCold compile: nothing cached, columns loaded, milliseconds by stage:\n")
    rows = [
        [q, *[f"{s[k]:.1f}" for k in COLD_STAGES], f"{sum(s[k] for k in COLD_STAGES):.1f}"] for q, s in stages.items()
    ]
    print(markdown_table(["query", *COLD_STAGES, "sum"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
