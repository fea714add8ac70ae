"""Columns of every type that runs, beside DuckDB: unsigned integers, decimals of more than 18 digits, moments of other
units and with a zone, times of day; in expressions, aggregates, groups, joins, windows, orders and unions."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import differences
from tests.sql.test_breadth import both, lines_of, selects

#: What Arrow makes types of 32 bits from.
_WIDE = {pa.date32(): pa.int32(), pa.time32("s"): pa.int32()}


def table(seed: int, rows: int) -> pa.Table:
    rng = random.Random(seed)

    def some(value: Callable[[], Any], nulls: float = 0.15) -> list[Any]:
        return [None if rng.random() < nulls else value() for _ in range(rows)]

    def of(*values: Any) -> list[Any]:
        return some(lambda: rng.choice(values))

    def ticks(values: list[Any], type: pa.DataType) -> pa.Array:
        return pa.array(values, pa.int64()).cast(_WIDE.get(type, pa.int64())).cast(type)

    moment = lambda: rng.randint(-(10**15), 10**15)  # noqa: E731
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "u8": pa.array(of(0, 1, 200, 255), pa.uint8()),
            "u16": pa.array(of(0, 1, 7, 65000), pa.uint16()),
            "u32": pa.array(of(0, 3, 2**32 - 1), pa.uint32()),
            "u64": pa.array(of(0, 3, 2**64 - 1, 2**63), pa.uint64()),
            "v64": pa.array(of(0, 5, 100), pa.uint64()),
            "i": pa.array(of(-5, -1, 0, 2, 5), pa.int32()),
            "k": pa.array(of(-3, 0, 1, 3), pa.int16()),
            "b": pa.array(of(-(10**6), 0, 17), pa.int64()),
            "w": pa.array(some(lambda: Decimal(rng.randint(-(10**24), 10**24)).scaleb(-4)), pa.decimal128(30, 4)),
            "w2": pa.array([None if v is None else Decimal(v) for v in of(-1, 0, 10**20, 10**20 + 1, 5)],
                           pa.decimal128(38, 0)),
            "d": pa.array(some(lambda: Decimal(rng.randint(-(10**4), 10**4)).scaleb(-2)), pa.decimal128(15, 2)),
            "f": pa.array(of(0.5, -1.25, 1e10), pa.float64()),
            "ts": ticks(some(moment), pa.timestamp("us")),
            "tss": ticks(of(0, -1, 10**9, 86400), pa.timestamp("s")),
            "tsm": ticks(of(0, -1, 10**12, 86400000), pa.timestamp("ms")),
            "tsn": ticks(of(0, -1, 10**18 + 1, 86400 * 10**9), pa.timestamp("ns")),
            "tz": ticks(some(moment), pa.timestamp("us", "Europe/Berlin")),
            "tm": ticks(of(0, 1, 43200 * 10**6 + 5, 86399999999), pa.time64("us")),
            "tms": ticks(of(0, 1, 43200), pa.time32("s")),
            "s": of("a", "b", "12"),
            "dt": ticks(of(0, -1, 18000), pa.date32()),
        }
    )  # fmt: skip


EXPRESSIONS = {
    "unsigned": """
        u8
        u16
        u32
        u64
        u8 + i
        u32 + i
        u32 + k
        v64 + i
        u64 + k
        v64 * v64
        u8 + d
        u64 + d
        u8 / u16
        u32 % (u16 + 7) ||| u32 % (u16 + 7)::bigint
        u8 + f
        u64 + f
        u8 > i
        u64 > b
        u64 > w
        u64 = 18446744073709551615
        u8 = 200
        case when u8 > 3 then u8 else i end
        case when u8 > 3 then u16 else u8 end
        case when u64 > 3 then u64 else b end
        coalesce(u8, u16)
        cast(u8 as integer)
        cast(u64 as double)
        cast(u64 as varchar)
        cast(abs(i) as int unsigned) ||| cast(abs(i) as uinteger)
        try_cast(s as tinyint unsigned) ||| try_cast(s as utinyint)
        u8 & u16
        u8 | i
        abs(u8)""",
    "wide decimals": """
        w
        w2
        w + 1.5
        w * 2
        w * d
        w + w2
        w / 3
        w > d
        w2 > 100
        w2 = 100000000000000000000
        cast(w as double)
        cast(w as varchar)
        cast(w2 as decimal(38,2))
        round(w, 2)
        floor(w)
        w % 7
        -w
        abs(w)
        w in (1.5, 2)
        w between -1000 and 1000000""",
    "moments": """
        tss
        tsm
        tsn
        tz
        tss = ts
        tsm > tsn
        tsm = tss
        tz > ts
        tz > timestamp '2000-01-01'
        tss > timestamp '2000-01-01 00:00:00'
        tsn > dt
        extract(hour from tz)
        extract(hour from tss)
        extract(year from tsm)
        extract(microsecond from tsm)
        extract(epoch from tsm)
        date_trunc('day', tz)
        date_trunc('day', tss)
        date_trunc('month', tsn)
        tz + interval '1 day'
        tss + interval '1 month'
        cast(tz as date)
        cast(tsn as date)
        cast(tz as varchar)
        cast(tss as varchar)
        cast(tsm as varchar)
        cast(tsn as varchar)
        cast(ts as timestamp(3))
        cast(ts as timestamp(0))
        cast(tsn as timestamp)
        greatest(tss, tsm)
        coalesce(tz, ts)
        case when i > 0 then tss else tsn end""",
    "times of day": """
        tm
        tms
        tm > time '12:00:00'
        tm = time '12:00:00.000005'
        tm > tms
        extract(hour from tm)
        extract(minute from tms)
        extract(microsecond from tm)
        extract(epoch from tm)
        cast(tm as varchar)
        cast(ts as time)""",
}
QUERIES = {
    "aggregates": """
        select sum(u8) as a, sum(u64) as b, avg(u8) as c, avg(u64) as d, min(u64) as e, max(u64) as f, max(u8) as g,
        count(u64) as h, median(u8) as j, bit_or(u64) as k, min(tss) as l, max(tsm) as m, min(tsn) as n, max(tz) as o,
        min(tm) as p, max(tms) as q, count(distinct tz) as r from t""",
    "aggregates of wide decimals": """
        select sum(w) as a, avg(w) as b, min(w) as c, max(w) as d, count(w) as e, sum(w2) as f, count(distinct w2) as g,
        median(w) as h, quantile_cont(w, 0.3) as j, any_value(w order by id) as k, sum(distinct w) as l from t""",
    "what is given by constants": """
        select u8 in (1, 255) as a, u64 in (3, 18446744073709551615) as b, u8 between 1 and 200 as c, tz between
        timestamp '1990-01-01' and timestamp '2000-01-01' as d, tm between time '00:00:00' and time '13:00:00' as e,
        tz > cast('2000-01-01 00:00:00+02' as timestamp with time zone) as f, cast(ts as timestamp with time zone) as g,
        cast('12:30' as time) as h, try_cast('2020-02-30' as date) as j, tm + interval '13 hour' as k from t""",
    "what time it is": "select ts < now() as a, tz < now() as b, dt < current_date as c from t",
    "an order with a limit": "select i, u8, w from t order by u8 nulls first, w desc, id limit 5",
    "an outer join of both sides": """
        select sum(a.u8) as s, count(*) as c from t a full join t b on a.u64 = b.u64 and a.id = b.id + 1""",
    "the first by bytes": "select distinct on (u8) u8, w from t order by u8, w, id",
    "by few keys": """
        select i, sum(u8) as a, sum(u64) as b, max(u64) as f, sum(w) as g, min(tsn) as h, max(tm) as j, count(w2) as k,
        avg(w) as l from t group by i""",
    "keys of bytes": "select u8, u16, count(*) as c from t where u8 > 5 and w > 0 group by u8, u16",
    "keys that are wide": "select u64, w2, count(*) as c, sum(i) as s from t group by u64, w2",
    "keys that are moments": "select tz, tm, tsn, count(*) as c from t group by tz, tm, tsn",
    "a mask of what is wide": "select sum(i) as c, sum(w) as d, count(*) as e from t where w > 5 and u64 > 3",
    "joins by unsigned": "select a.id, b.id as z from t a join t b on a.u64 = b.u64 and a.u8 = b.u8",
    "joins by wide decimals": "select a.id, b.id as z from t a join t b on a.w2 = b.w2",
    "joins of two types": "select a.id, b.id as z from t a join t b on a.u8 = b.i",
    "joins by moments": "select a.id, b.id as z from t a join t b on a.tss = b.tsm and a.tm = b.tms",
    "no partner": "select a.id, b.u64, b.w, b.tm from t a left join t b on a.i = b.k and a.id > b.id",
    "among others": "select id from t where u64 in (select u64 from t where i > 0)",
    "windows": """
        select id, row_number() over (order by u64, w, id) as r, sum(u8) over (partition by k order by w, id) as s,
        sum(w) over (order by id) as q, max(u64) over (order by id) as m from t""",
    "an order of moments": "select id from t order by w, tz, id",
    "one type of two": "select u8 from t union all select i from t",
    "one type of three": "select u64 from t union select b from t union select d from t",
    "moments from numbers": "select to_timestamp(f) as a, to_timestamp(d) as b, to_timestamp(i * 1.5) as c from t",
    "dates beside moments": """select id, greatest(tz, dt) as a, case when i > 0 then tz else dt end as b,
        coalesce(dt, tss) as c, nullif(dt, ts) as d, nullif(tsm, tz) as e, coalesce(tsm, dt) as f from t""",
    "dates cast to moments": "select id, coalesce(cast(dt as timestamp), dt) as a from t",
    "dates and moments with a zone": "select tz from t union all select dt from t",
    "moments of two units": "select tss from t union all select tsn from t",
}


@pytest.mark.parametrize("rows", [0, 60])
@pytest.mark.parametrize("lines", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_expressions_are_duckdbs(lines: str, rows: int) -> None:
    ours, theirs = selects(lines_of(lines))
    assert differences(*both(ours + " from t", theirs + " from t", table(rows, rows))) == []


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_queries_are_duckdbs(query: str) -> None:
    for rows in (0, 60):
        assert differences(*both(query, query, table(rows, rows))) == []


@pytest.mark.parametrize(
    "expression",
    ["u8 + u8", "u8 * u16", "u8 - u16", "cast(d as bigint unsigned) ||| cast(d as ubigint)", "cast(w as bigint)",
     "cast(s as tinyint unsigned) ||| cast(s as utinyint)", "w2 * w2 * 1000000000"],
)  # fmt: skip
def test_what_overflows_in_duckdb_overflows_here(expression: str) -> None:
    ours, theirs = selects([expression])
    given = table(3, 60)
    oracle = duckdb.connect()
    oracle.register("t", given)
    with pytest.raises(duckdb.Error):
        oracle.sql(theirs + " from t").fetchall()
    with pytest.raises(drawloom.DataError, match=r"overflow|cannot convert"):
        connect("cpu").register("t", given).sql(ours + " from t").arrow()


@pytest.mark.parametrize(
    ("values", "type", "message"),
    [
        ([1], pa.time64("ns"), "has a moment between two microseconds"),
        ([10**14], pa.timestamp("s", "UTC"), "has a moment that timestamp_utc does not hold"),
        ([1500], pa.timestamp("ns", "UTC"), "has a moment between two microseconds"),
        ([2**63 - 1], pa.timestamp("ns"), "has an infinite timestamp"),
    ],
)
def test_moments_that_no_type_holds_are_named(values: list[int], type: pa.DataType, message: str) -> None:
    given = pa.table({"x": pa.array(values, pa.int64()).cast(type)})
    with pytest.raises(drawloom.DataError, match=f"column 'x' of table 't' {message}"):
        connect("cpu").register("t", given).sql("select max(x) from t").arrow()


@pytest.mark.parametrize(
    "values", [pa.array([2**63, 1, 2**63, None], pa.uint64()), pa.array([Decimal(10**30), 1], pa.decimal128(38, 0))]
)
def test_groups_of_numbers_beyond_64_bits_are_counted_by_kernels(
    values: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel that counts the cells of a list was given its elements in 64 bits."""
    table = pa.table({"v": values})
    query = "select v, count(*) as n, count(v) as m from t group by v order by v"
    expected = connect("cpu").register("t", table).sql(query).arrow()
    assert sum(expected["n"].to_pylist()) == len(values)
    monkeypatch.setenv("DRAWLOOM_LIBRARY", "kernels")
    assert connect("cpu").register("t", table).sql(query).arrow() == expected
