"""Compares a result with DuckDB's, every value exactly.

DuckDB may rewrite avg(x) to sum(x) / count(x), which rounds twice, depending on what else a query asks for and on where
the table lives. The oracle does not: ``duckdb_exact`` is a connection without that rewrite, whose avg is the exact sum
divided in 80-bit floats; and an average whose oracle is a sum and a count is their quotient rounded once.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa

from drawloom.sql import connect
from drawloom.sql.compare import in_order, same_value


def duckdb_exact() -> duckdb.DuckDBPyConnection:
    """A connection whose avg does not depend on what stands beside it."""
    connection = duckdb.connect()
    connection.execute("set disabled_optimizers = 'aggregate_function_rewriter'")
    return connection


def average(parts: dict[str, Any]) -> float | None:
    """The average that a ``{'sum': sum(x), 'count': count(x)}`` of exact values stands for, correctly rounded."""
    if not parts["count"]:
        return None
    return float(Fraction(parts["sum"]) / parts["count"])


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_plain(v) for v in c.to_pylist()] for c in table.columns]
    return list(zip(*columns))


def _plain(value: Any) -> Any:
    """The value that one of DuckDB's stands for: of a sum and a count their quotient, of an interval its length; of a
    struct its fields."""
    if isinstance(value, pa.MonthDayNano):
        assert value.months == 0 and value.nanoseconds % 1000 == 0
        return datetime.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return average(value) if set(value) == {"sum", "count"} else [_plain(v) for v in value.values()]
    return value


def assert_agrees(query: str, table: pa.Table) -> None:
    """A query over table ``t`` gives DuckDB's values and types on the CPU and on the reference interpreter."""
    theirs = duckdb_exact()
    theirs.register("t", table)
    wanted = theirs.sql(query).to_arrow_table()
    for device in ("cpu", "reference"):
        ours = connect(device).register("t", table).sql(query).arrow()
        assert differences(ours, wanted) == []
        assert ours.schema.types == wanted.schema.types


def differences(ours: pa.Table, theirs: pa.Table, ordered: bool = False) -> list[str]:
    """What differs, a line each; empty when the results agree as bags of rows, or as lists where ``ordered``."""
    if ours.num_columns != theirs.num_columns or ours.num_rows != theirs.num_rows:
        return [f"shape {ours.num_rows}x{ours.num_columns}, expected {theirs.num_rows}x{theirs.num_columns}"]
    found: list[str] = []
    mine, other = rows_of(ours), rows_of(theirs)
    pairs = zip(mine, other) if ordered else zip(in_order(mine), in_order(other))
    for a, b in pairs:
        if not all(same_value(x, y) for x, y in zip(a, b)):
            found.append(f"{a}, expected {b}")
    return found
