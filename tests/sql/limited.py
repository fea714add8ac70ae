"""Queries under limits, in a process of its own: prints for each what it gave and by how much the process grew.

python tests/sql/limited.py build/data/tpch-sf0.1
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# Before pyarrow, which then takes the C library's allocator: its own keeps some 16 MB, now this much and now that.
import drawloom.sql  # noqa: F401

# isort: split
import numpy as np
import pyarrow as pa

from benchmarks.tpch import forget_peak, resident
from drawloom import connect
from drawloom.errors import OutOfMemoryError
from drawloom.horse.memory import give_back
from drawloom.sql import tpch

ROWS = 500_000
MIB = 1 << 20
#: Threads at least, as a larger machine has them: each works on pieces that nobody counts.
CORES = 8
#: Bytes that a query may hold: columns are some 10 MiB.
LIMITS = (12 * MIB, 25 * MIB)
#: Each by what takes its memory.
QUERIES = {
    "a sort": "select * from (select a, f, row_number() over (order by a, f desc) as n from t) x where n < 3",
    "groups by sorted keys": "select count(*) from (select a, f, count(*) from t group by a, f) x",
    "a table of groups": "select max(s) from (select d, sum(e) as s from t group by d) x",
    "a join that makes more rows": "select sum(x.e + y.d) from t x join t y on x.b = y.b and x.d < 20000",
    "a join by a table of keys": "select sum(x.e) from t x join (select a, f from t where e > 0) y on x.a = y.a",
    "words": "select count(distinct s) from t",
    "rows that masks select": "select sum(n) from (select a, e, lead(e) over (order by d) as n from t where e > 10) x",
}
TPCH = (9, 18, 21)


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(rows)
    text = pa.array(rng.integers(0, max(rows // 8, 1), rows)).cast(pa.string())
    return pa.table(
        {
            "a": rng.integers(-(2**62), 2**62, rows), "b": rng.integers(0, max(rows // 10, 1), rows),
            "d": rng.permutation(rows), "e": rng.integers(0, 100, rows), "f": rng.random(rows), "s": text,
        }
    )  # fmt: skip


def grown(sql: str, tables: dict[str, pa.Table | Path], limit: int) -> dict[str, object]:
    """Bytes by which the process grew at most, an error if there was one, and whether the next query is answered."""
    gc.collect()
    give_back(1 << 30)
    connection = connect(memory_limit=limit)
    for name, data in tables.items():
        connection.register(name, data)
    start = resident("VmRSS")
    forget_peak()
    error = ""
    for _ in range(2):  # the second time library functions are by kernels
        try:
            connection.sql(sql).arrow()
        except OutOfMemoryError as refusal:
            error = str(refusal)
    grew = resident("VmHWM") - start
    return {"limit": limit, "grew": grew, "error": error, "next": connection.sql("select 1 + 1").fetchall()}


def main(folder: str) -> None:
    """``folder`` has TPC-H's tables. What is not data, such as what the compiler takes, is taken by a run before."""
    cores = max(os.cpu_count() or 1, CORES)
    os.cpu_count = lambda: cores
    data = {"t": table(ROWS)}
    queries = {name: (sql, data) for name, sql in QUERIES.items()}
    tables = {name: Path(folder) / f"{name}.parquet" for name in tpch.TABLES}
    queries.update({f"Q{number}": (tpch.text(number), tables) for number in TPCH})
    for name, (sql, given) in queries.items():
        grown(sql, given, 1 << 40)
        for limit in LIMITS:
            print(json.dumps({"query": name, **grown(sql, given, limit)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
