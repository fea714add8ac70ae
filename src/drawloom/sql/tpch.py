"""TPC-H: a scale into tables on disk (tpchgen-cli), a query's number into its text, and an answer into what of it
differs from DuckDB's.

The texts are those of the TPC-H specification with its validation parameters, Q15 as the variant with WITH. They are
the same at every scale, so that Q11's 0.0001 is not divided by it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from drawloom.errors import DataError, UnsupportedError, count
from drawloom.sql.compare import Row, first_difference, in_order
from drawloom.sql.connection import Connection, connect
from drawloom.sql.relation import rows_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from drawloom.runtime.machine import Device

P = ParamSpec("P")
T = TypeVar("T")

TABLES: Final = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES: Final = range(1, 23)

#: TPC-H's doubles are one quotient of two exact decimals each (Q8, Q14, Q17, the averages of Q1). A decimal becomes a
#: double by two roundings at most, of its digits and of their division by the power of ten; with the quotient's own
#: that is five on either side, each of 2**-53 of the value.
DOUBLE_BOUND: Final = 10 * 2.0**-53

_INSTALL: Final = "pip install 'drawloom[tpch]'"
_ORDER: Final = re.compile(r"order by\s+([^()]*?)(?:\s+limit \d+)?\s*\Z")


def text(query: int) -> str:
    """The SQL text of one of ``QUERIES``."""
    return (files("drawloom.sql") / "tpch_queries" / f"q{query:02d}.sql").read_text(encoding="utf-8")


def data_folder() -> Path:
    """Where tables are kept unless a folder is named: `drawloom/tpch` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: relative paths are to be ignored
        base = os.path.expanduser("~/.cache")
    return Path(base, "drawloom", "tpch")


def paths(folder: Path, scale: float) -> dict[str, Path]:
    """The Parquet file of each table at a scale below ``folder``, there or not."""
    return {table: folder / f"tpch-sf{scale:g}" / f"{table}.parquet" for table in TABLES}


def generate(folder: Path, scale: float) -> dict[str, Path]:
    """The Parquet file of each table, all made where one is missing; a file is there whole or not at all. Shows
    tpchgen-cli's progress where standard error is a terminal.

    Raises UnsupportedError without tpchgen-cli, DataError when it fails.
    """
    found = paths(folder, scale)
    if all(path.exists() for path in found.values()):
        return found
    place = found["lineitem"].parent
    generator = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if generator is None:
        offer = [_INSTALL, f"or put {', '.join(f'{t}.parquet' for t in TABLES)} into {place}"]
        raise UnsupportedError(f"there are no TPC-H tables in {place}, and tpchgen-cli is not installed:", offer)
    shown = sys.stderr.isatty()
    if shown:
        print(f"making TPC-H tables of scale {scale:g} in {place}", file=sys.stderr, flush=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as unfinished:
            command = [generator, "parquet", f"--scale-factor={scale:g}", f"--output-dir={unfinished}"]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=None if shown else subprocess.PIPE)
            if done.returncode:
                lines = (done.stderr or b"").decode(errors="replace").split("\n")
                reason = next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")
                raise DataError(f"tpchgen-cli failed with status {done.returncode}{reason}")
            place.mkdir(exist_ok=True)
            for path in found.values():
                put_in_place(Path(unfinished, path.name), path)
    except OSError as problem:
        raise DataError(f"{place}: the tables cannot be written: {problem.strerror}") from None
    return found


def put_in_place(made: Path, path: Path) -> None:
    """Move a file to ``path`` unless another process has put one there: a query may be reading that one."""
    try:
        os.link(made, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        os.replace(made, path)


def connected(device: Device, tables: dict[str, Path]) -> Connection:
    """A new connection that has read nothing of the tables yet."""
    connection = connect(device)
    for name, path in tables.items():
        connection.register(name, str(path))
    return connection


class Oracle:
    """DuckDB with the tables in its memory. It works in a thread of its own, which the caller waits for: so Ctrl-C
    reaches the caller at once, who stops it."""

    def __init__(self, tables: dict[str, Path], threads: int) -> None:
        """Raises UnsupportedError where DuckDB is not installed."""
        try:
            import duckdb
        except ImportError:
            raise UnsupportedError("duckdb is not installed:", [_INSTALL]) from None
        self.connection: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": threads})
        self.thread = ThreadPoolExecutor(1)
        for name, path in tables.items():
            self.apart(self.execute, f"create table {name} as from read_parquet(?)", [str(path)])

    def apart(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """What ``work`` returns, done in the thread."""
        future = self.thread.submit(work, *given, **named)
        try:
            return future.result()
        except KeyboardInterrupt:
            self.connection.interrupt()
            raise

    def execute(self, sql: str, parameters: list[str] | None = None) -> None:
        self.connection.execute(sql, parameters)

    def run(self, sql: str) -> pa.Table:
        return self.connection.sql(sql).to_arrow_table()

    def answer(self, sql: str) -> pa.Table:
        """The result without the rewrite of avg to a quotient that is rounded twice."""
        self.execute("set disabled_optimizers = 'aggregate_function_rewriter'")
        try:
            return self.run(sql)
        finally:
            self.execute("reset disabled_optimizers")


def difference(query: int, ours: pa.Table, theirs: pa.Table) -> str:
    """Where the answers differ, in words; "" where they agree in types, in every value (exactly but for doubles, which
    may differ by ``DOUBLE_BOUND``) and in the order that the query asks for. Rows that it leaves in any order may
    stand in any."""
    if ours.num_columns != theirs.num_columns or ours.num_rows != theirs.num_rows:
        shapes = [f"{count(t.num_rows, 'row')} of {count(t.num_columns, 'column')}" for t in (ours, theirs)]
        return f"{shapes[0]}, DuckDB {shapes[1]}"
    for name, mine, other in zip(ours.column_names, ours.schema.types, theirs.schema.types):
        if mine != other:
            return f"{name} is {mine}, DuckDB {other}"
    mine, other = rows_of(ours), rows_of(theirs)
    place = first_difference(mine, other, DOUBLE_BOUND)
    if place is None:
        return ""
    keys = [theirs.column_names.index(name) for name in order_of(text(query))]
    in_order_of_keys = first_difference(picked(mine, keys), picked(other, keys), DOUBLE_BOUND) is None
    if in_order_of_keys and first_difference(in_order(mine), in_order(other), DOUBLE_BOUND) is None:
        return ""
    row, column = place
    return f"row {row + 1}, {ours.column_names[column]}: {mine[row][column]}, DuckDB {other[row][column]}"


def order_of(sql: str) -> list[str]:
    """The columns of the result that a TPC-H text orders by."""
    found = _ORDER.search(sql)
    return [key.split()[0] for key in found[1].split(",")] if found else []


def picked(rows: list[Row], columns: list[int]) -> list[Row]:
    return [tuple([row[c] for c in columns]) for row in rows]
