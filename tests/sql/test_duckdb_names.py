"""Functions and joins by DuckDB's names: its answers."""

import datetime

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql.names import with_known_names
from tests.sql.compare import differences

TABLE = pa.table(
    {
        "a": [1, 2, 3, 4],
        "i": pa.array([0, 1, 2, 0], pa.int32()),
        "s": ["x1", "y-z", "2", None],
        "d": [datetime.date(2024, 3, 5), datetime.date(2021, 1, 1), None, datetime.date(1969, 12, 31)],
        "m": [datetime.datetime(2024, 3, 5, 10, 11, 12), None, datetime.datetime(1970, 1, 1), None],
    }
)
OTHER = pa.table({"k": [1, 2, 2], "z": [0, 1, 2]})

QUERIES = [
    "select year(d), month(d), day(d), quarter(d), week(d), dayofweek(d), dayofyear(d), isodow(d), weekday(d) from t",
    "select hour(m), minute(m), second(m), epoch(m), decade(d), century(d), dayofmonth(d), weekofyear(d) from t",
    "select ceiling(a + 0.5), sign(a - 2), regexp_matches(s, '[0-9]+') from t",
    "select i, listagg(s, ',' order by s), group_concat(s, '-' order by s) from t group by i",
    "select first(a order by a), last(a order by a), mean(a), list(a order by a) from t",
    "select list_value(a, 2), string_split(s, '-'), str_split('a-b', '-') from t",
    "select strlen(s), ucase(s), lcase(s), prefix(s, 'x'), suffix(s, 'z') from t",
    "select a, if(a > 2, 'big', if(i = 0, 'zero', 'small')) as size, if (i <> 0, 10 % i, -1) as rest from t",
    "select if(a>2,s,i::varchar) from t",
    "select a from t semi join u on a = k",
    "select a from t anti join u on a = k where i = 0",
    "select approx_count_distinct(i) from t",
    "select 1_000_000 + a, 1_0.5_0::decimal(5, 2), a as i_1_0 from t",
    "with year as (select 1 as y) select y from year",
    "with first(x) as (select 1) select x from first",
    "select v.year from (values (1), (2)) v(year)",
    "select v.first, list.k from (values (1), (2)) v(first), u list(k, z) where list.k = 1",
    "select a as first, i as last from t order by first nulls first, last limit 1",
    "select cast(a as utinyint) as x, i::ubigint y, try_cast(i - 2 as uinteger) as z from t",
    "select cast(a / 7 as decimal) as x, i::numeric y, try_cast(s as dec) as z, (a * 1.00005)::decimal(9, 4) from t",
    "select decimal from (select i as decimal from t)",
    "select ubigint from (select i as ubigint from t)",
    "select mod(a, 3), mod(a + 1, i + 1) * 2, mod(mod(a, 3), 2) from t group by a, i, mod(a, 3)",
    "select last_day(d), last_day(m), dayname(d), monthname(m), year(last_day(d)) from t",
    "select strftime(d, '%Y-%m'), strftime(m, '%d.%m.%Y %H:%M') from t",
    "select l[2:], l[:2], l[:], l[-2:], l[i + 1:] from (select i, [a, i, 7] as l from t)",
    "select d, count(*) over (order by d range between interval 30 days preceding and interval 1 day following) from t",
    "select a is distinct from year(d), i is not distinct from if(a > 2, 2, 1) from t",
    "select count(*) from t where year(d) = 2024 or a in (1, 3) and month(d) > 2",
]


@pytest.mark.parametrize("query", QUERIES)
def test_duckdbs_names(query: str) -> None:
    ours, theirs = drawloom.connect("cpu"), duckdb.connect()
    for name, table in (("t", TABLE), ("u", OTHER)):
        ours.register(name, table)
        theirs.register(name, table)
    assert not differences(ours.sql(query).arrow(), theirs.sql(query).arrow().read_all())


@pytest.mark.parametrize("text", [
    "select 'year(x)', \"first\"(a), t.year from t -- mean(x)",
    "select * from t left semi join u on a = k",
    "with list(x) as (select 1) select * from list, last(1) year(n)",
    "select if(a, b), mod(a) from t",
    "select a from mod(1, 2), {'a': [1]}",
])  # fmt: skip
def test_what_is_no_such_call_stays(text: str) -> None:
    assert with_known_names(text) == text


def test_positional_joins_are_refused() -> None:
    con = drawloom.connect("cpu").register("t", TABLE).register("u", OTHER)
    with pytest.raises(drawloom.UnsupportedError, match="POSITIONAL JOIN"):
        con.sql("select * from t positional join u").arrow()
