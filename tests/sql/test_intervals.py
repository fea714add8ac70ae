"""Amounts of time: differences of moments, and intervals without months, beside DuckDB's INTERVAL."""

import datetime
from typing import Any

import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import differences, duckdb_exact

MOMENTS = [
    datetime.datetime(2024, 1, 1, 3, 4, 5), datetime.datetime(2024, 2, 29, 23, 59, 59, 250000), None,
    datetime.datetime(2023, 12, 31), datetime.datetime(2020, 1, 1, 12), datetime.datetime(1999, 5, 5, 1, 1, 1),
]  # fmt: skip
T = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "ts": pa.array(MOMENTS, pa.timestamp("us")),
        "z": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
        "s": pa.array([None if m is None else m.replace(microsecond=0) for m in reversed(MOMENTS)], pa.timestamp("s")),
        "dt": pa.array([None if m is None else m.date() for m in MOMENTS], pa.date32()),
        "g": ["x", "y", "x", None, "y", "x"],
    }
)
D = "(ts - timestamp '2024-01-01 10:00:00.25')"
PARTS = ("day", "hour", "minute", "second", "millisecond", "microsecond", "epoch")
QUERIES = {
    "differences": "select id, ts - s as a, ts - dt as b, dt - ts as c, s - ts as d from t",
    "texts": f"select id, cast({D} as varchar) as a, cast(ts - ts as varchar) as b from t",
    "parts": f"select id, {', '.join([f'extract({p} from {D}) as {p}s' for p in PARTS])} from t",
    "comparisons": f"select id from t where {D} > interval '12 hours' or {D} < interval '-2' day",
    "sums": f"select id, {D} + interval '1 day' as a, interval '5 minutes' + {D} as b, {D} - (ts - s) as c, "
            f"ts + {D} as d, dt + cast(ts - s as interval) as e, extract(epoch from z - (z - z)) as f from t",
    "of groups": f"select g, max(ts) - min(ts) as a, min({D}) as b, max({D}) as c, count({D}) as d, "
                 f"count(distinct {D}) as e from t group by g",
    "groups": f"select {D} as d, count(*) as c from t group by 1 order by d desc nulls last",
    "in windows": f"select id, ts - lag(ts) over (order by id) as a, max({D}) over (order by id) as b, "
                  f"rank() over (order by {D} rows unbounded preceding) as c from t",
    "choices": f"select id, coalesce({D}, interval '0 seconds') as a, case when g = 'x' then {D} end as b, "
               f"greatest({D}, interval '1 day') as c, {D} is null as d from t",
    "constants": "select interval '2 days' as a, interval '36 hours' as b, -interval '90' minute as c",
    "joins": "select t.id, v.id as i from t join t v on t.ts - v.ts = v.ts - t.ts",
}  # fmt: skip


def answers(query: str, table: pa.Table) -> tuple[pa.Table, pa.Table]:
    oracle = duckdb_exact()
    oracle.register("t", table)
    wanted: Any = oracle.sql(query).to_arrow_table()
    return connect("cpu").register("t", table).sql(query).query.program().interpret().to_arrow(), wanted


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_intervals_agree_with_duckdb(query: str) -> None:
    for table in (T, T.slice(0, 0)):
        result, wanted = answers(query, table)
        assert differences(result, wanted, "order by d" in query) == []
        theirs = [pa.duration("us") if t == pa.month_day_nano_interval() else t for t in wanted.schema.types]
        assert result.schema.types == theirs


def test_a_device_agrees_with_the_interpreter() -> None:
    made = connect("cpu").register("t", T).sql(QUERIES["sums"]).arrow()
    assert made.equals(answers(QUERIES["sums"], T)[0])


def test_what_sums_of_intervals_are() -> None:
    made = connect("cpu").register("t", T).sql("select sum(ts - s) as a, sum(ts - s) filter (where id > 9) as b from t")
    wanted = sum([a - b for a, b in zip(MOMENTS, T.column("s").to_pylist()) if a and b], datetime.timedelta())
    assert made.fetchall() == [(wanted, None)]


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("select interval '1 month' as x", "an interval of months that is not added to a date or a moment"),
        (f"select avg({D}) from t", "aggregate function: avg of interval"),
        (f"select sum({D}) over (order by id) from t", "window function: sum of interval"),
        (f"select extract(month from {D}) from t", "function: date_month of interval"),
    ],
)
def test_what_intervals_are_refused(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(query).arrow()
    assert refusal.value.items == [item]
