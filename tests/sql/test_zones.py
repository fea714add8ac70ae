"""AT TIME ZONE, which was planned as a cast and changed nothing, against DuckDB."""

import datetime

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.planner import SqlError
from tests.sql.compare import differences

#: The hours that New York's clocks leave out and show twice, before time zones, far from now, a day that Apia left out.
MOMENTS = [
    datetime.datetime(2024, 3, 10, 2, 30), datetime.datetime(2024, 11, 3, 1, 30), datetime.datetime(1800, 1, 1),
    datetime.datetime(3000, 7, 3, 1, 2, 3, 4), None, datetime.datetime(2011, 12, 30, 12), datetime.datetime(1970, 1, 1),
]  # fmt: skip
TABLE = pa.table({
    "i": range(len(MOMENTS)), "ts": pa.array(MOMENTS, pa.timestamp("us")),
    "tz": pa.array(MOMENTS, pa.timestamp("us", "UTC")), "d": pa.array([m and m.date() for m in MOMENTS]),
})  # fmt: skip
QUERIES = """
    select i, ts at time zone 'America/New_York', tz at time zone 'America/New_York' from t
    select i, d at time zone 'Asia/Tokyo' from t where i <> 3
    select ts at time zone 'Pacific/Apia', tz at time zone 'pacific/apia', tz at time zone 'Etc/GMT+5' from t where i>2
    select i, ts at time zone 'UTC' at time zone 'Europe/Paris', t."ts"::timestamptz at time zone 'Asia/Tokyo' from t
    select i, (case when i > 2 then ts end) at time zone 'UTC', (tz) at time zone 'Asia/Tokyo' + interval 1 day from t
    select hour(tz at time zone 'Asia/Tokyo') h, count(*) from t group by hour(tz at time zone 'Asia/Tokyo') order by h
    select i from t where tz at time zone 'Asia/Tokyo' > ts and i + 1 > 1 order by tz at time zone 'Asia/Tokyo', i
    select i, max(tz) over (order by i) at time zone 'Asia/Tokyo' from t
    select i, (select max(x.tz) at time zone 'Asia/Tokyo' from t x where x.i < t.i) from t
    select i, (select tz at time zone 'Asia/Tokyo') from t
    with q as (select i, tz at time zone 'Asia/Tokyo' w from t) select i, w at time zone 'Asia/Tokyo' from q
    select timestamp '2024-07-01 12:00:00' at time zone 'Asia/Tokyo'
    select timestamp with time zone '2024-07-01 12:00:00+00' at time zone 'Asia/Tokyo'
"""


@pytest.mark.parametrize("query", QUERIES.strip().split("\n"))
def test_zones_are_those_of_duckdb(query: str) -> None:
    theirs = duckdb.connect()
    theirs.execute("set timezone = 'UTC'")
    theirs.register("t", TABLE)
    ours = connect("cpu").register("t", TABLE).sql(query).arrow()
    assert differences(ours, theirs.sql(query).to_arrow_table()) == []


def test_a_zone_that_there_is_not_has_its_place() -> None:
    with pytest.raises(SqlError, match="there is no time zone 'Asia/Nowhere'") as raised:
        connect("cpu").register("t", TABLE).sql("select i,\n ts at time zone 'Asia/Nowhere' from t").arrow()
    assert (raised.value.line, raised.value.column) == (2, 18)


def test_errors_behind_a_zone_have_their_place() -> None:
    query = "select ts at time zone 'UTC' at time zone 'Asia/Tokyo', nothing from t"
    with pytest.raises(SqlError, match="nothing") as raised:
        connect("cpu").register("t", TABLE).sql(query).arrow()
    assert raised.value.column == query.index("nothing") + 1


@pytest.mark.parametrize("query", ["select '2024-01-01' at time zone 'UTC'", "select i at time zone 'UTC' from t"])
def test_a_zone_of_what_is_no_moment_is_refused(query: str) -> None:
    con = connect("cpu").register("t", TABLE)
    with pytest.raises((drawloom.UnsupportedError, SqlError)):
        con.sql(query).arrow()
    with pytest.raises(drawloom.Error):
        con.sql(query, fallback="datafusion").arrow()
