"""Functions of text, dates, timestamps and doubles where SQL surprises, and where they have no value."""

import datetime

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import assert_agrees

MOMENTS = [
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999999), datetime.datetime(1969, 12, 31, 23, 59, 59, 500000), None,
    datetime.datetime(1600, 3, 1), datetime.datetime(2021, 1, 3, 0, 0, 1), datetime.datetime(1970, 1, 1),
]  # fmt: skip
T = pa.table(
    {
        "i": pa.array([1, -2, None, 0, 5, 7], pa.int32()),
        "s": ["straße", "İi", None, "", " a\tb ", "https://www.example.com/x\ny?z"],
        "p": ["%a%", "_i", "x", "", None, "https%\\_%"],
        "ts": pa.array(MOMENTS, pa.timestamp("us")),
        "dt": pa.array([None if m is None else m.date() for m in MOMENTS], pa.date32()),
        "f": [0.49999999999999994, -2.5, None, -0.0, float("nan"), 4503599627370497.5],
    }
)

QUERIES = {
    "letters that have one case": "select upper(s), lower(s), length(s) from t",
    "only spaces are trimmed": "select trim(s), ltrim(s), rtrim(s, 'b ') from t",
    "nothing is replaced by nothing": """
        select replace(s, '', 'x'), replace(s, 'a', ''), strpos(s, 'ß'), strpos(s, '') from t""",
    "a point is no end of a line": """
        select regexp_replace(s, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') as host from t""",
    "the first or all": """
        select regexp_replace(s, '[aeiou]', '<\\0>') as x, regexp_replace(s, 's', '', 'g') as y from t""",
    "a pattern for each row": "select s like p, s not like p from t",
    "case is left out": "select s ilike '%STRA%', s ilike 'ii' from t",
    "concat leaves nulls out": "select concat(s, '-', p), s || p from t",
    "the last day of a month": """
        select ts + interval '1' month, ts - interval '12' month, ts + interval '30' hour from t""",
    "before 1970": """
        select extract(hour from ts), extract(second from ts), cast(ts as date), date_trunc('hour', ts) from t""",
    "weeks": """
        select extract(week from ts), date_trunc('week', dt), extract(dow from dt), extract(doy from ts) from t""",
    "quarters": "select extract(quarter from dt), date_trunc('quarter', ts), date_trunc('year', ts) from t",
    "days beside timestamps": "select ts > dt, ts = cast(dt as timestamp), ts < timestamp '2000-01-01' from t",
    "halves away from zero": "select round(f), floor(f), ceil(f) from t",
    "roots of what is null": "select sqrt(i * i), ln(i * i + 1), exp(f / 1e15), power(i, 3) from t",
    "roots of what is not above zero": "select sqrt(i), ln(i), ln(f) from t",
    "nulls are no extreme": "select greatest(i, null), least(f, i), greatest(s, p) from t",
    "by hours": "select extract(hour from ts) as h, count(*), min(ts), max(ts), count(distinct ts) from t group by h",
    "by moments": "select ts, count(*) from t group by ts order by ts desc nulls first",
    "a join by moments": "select a.i, b.i as j from t as a join t as b on a.ts = b.ts",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("table", [T, T.slice(0, 0)], ids=["rows", "empty"])
def test_functions_agree_with_duckdb(query: str, table: pa.Table) -> None:
    assert_agrees(query, table)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select regexp_replace(s, '(', '') from t", "regexp_replace with '\\('"),
        ("select ts + interval '300000' year from t", "overflow"),
    ],
)
def test_what_has_no_value_is_an_error(query: str, message: str) -> None:
    with pytest.raises(drawloom.DataError, match=message):
        connect("cpu").register("t", T).sql(query).arrow()


def test_infinite_timestamps_are_named() -> None:
    table = pa.table({"x": pa.array([0, 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))})
    with pytest.raises(drawloom.DataError, match="column 'x' of table 't' has an infinite timestamp"):
        connect("cpu").register("t", table).sql("select max(x) from t").arrow()


def test_timestamps_that_python_lacks_are_the_text_that_duckdb_gives() -> None:
    shown = pa.table({"x": pa.array([253402300800000000, -62167219200500000], pa.int64()).cast(pa.timestamp("us"))})
    rows = connect("cpu").register("t", shown).sql("select x from t").fetchall()
    assert rows == duckdb.execute("select cast(x as varchar) from shown").fetchall()
