"""Expressions of constants alone have the values that they have of columns, and in DuckDB; so have compared casts."""

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.rounding import rounded

ROUNDED = [
    "cast(1.5 + 1 as int)", "cast(0.5 * 3 as int)", "cast((2.5) as int)", "cast(-(2.5) as int)", "(1.5 + 1)::int",
    "cast(2.6 - 0.1 as bigint)", "(3.5 * 1.0)::smallint", "cast(cast(2.5 as decimal(5, 2)) as int)", "3.5::int4 + 1",
    "2.55::decimal(5, 1)::int", "cast('2.5' as int)", "'3.7'::int", "cast(' -2.5 ' as bigint)", "'1e2'::int",
    "2.5::int + cast(2.5 as int)", "abs(-2.5)::int", "cast(2.5 as double)::int", "cast(7.5 % 2 as int)",
    "case when 1.5::int = 2 then 0.5::int else 7 end", "cast(5 / 2 as int)", "cast(2.5 + 1e0 as int)", "'7'::int",
    "1.5::decimal(3, 1) + 2.5::int",
]  # fmt: skip
OVERFLOWS = [
    "cast(127 as tinyint) + cast(1 as tinyint)", "30000::smallint * 2::smallint",
    "cast(2147483647 as int) + cast(1 as int)", "(-128)::tinyint - 1::tinyint",
]  # fmt: skip


@pytest.mark.parametrize("expression", ROUNDED)
def test_constants_are_rounded_as_columns_are(expression: str) -> None:
    query = f"select {expression} as x"
    assert drawloom.connect("cpu").sql(query).fetchall() == duckdb.execute(query).fetchall()


@pytest.mark.parametrize("expression", OVERFLOWS)
def test_constants_that_do_not_fit_their_type_are_no_others(expression: str) -> None:
    with pytest.raises(drawloom.Error, match=r"needs more than \d+ bits"):
        drawloom.connect("cpu").sql(f"select {expression}").arrow()


def test_small_constants_that_fit_are_computed() -> None:
    table = pa.table({"a": [1]})
    query = "select 100::tinyint + 27::tinyint as x, -cast(127 as tinyint) as y, a + 2::int as z from t"
    assert drawloom.connect("cpu").register("t", table).sql(query).fetchall() == [(127, -127, 3)]


def test_casts_of_columns_are_hidden_and_others_stay() -> None:
    def changed(text: str) -> str:
        made = rounded(text)
        return "".join([made.get(i, "") + character for i, character in enumerate(text + ";")])[:-1]

    assert changed("t.d::int") == "greatest(t.d::int)"
    assert changed("l[1]::int, f(x)::int") == "greatest(l[1]::int), greatest(f(x)::int)"
    assert changed("cast(a + 1.5 as int)") == "greatest(cast(a + 1.5 as int))"
    assert changed("d::decimal(5, 1)::int") == "greatest(greatest(d::decimal(5, 1))::int)"
    assert changed("case when a then case 1 when b then d end else 1.5 end::int") == (
        "greatest(case when a then case 1 when b then d end else 1.5 end::int)"
    )
    for text in (
        "l::int[]",
        "cast(l as decimal(3, 1)[])",
        "a::varchar",
        "x.int",
        "'2'::int",
        "5::int",
        "cast(a as double)",
        "date '2020-01-01'",
    ):
        assert changed(text) == text


COMPARED = [
    "cast(d as int) > 1", "2 = d::smallint", "cast(d as bigint) in (1, 2)", "t.d::int between 2 and 3", "d::int <> 1",
    "cast(d as decimal(10, 0)) = 2", "cast(cast(d as int) as varchar) = '2'", "d::int is not distinct from 1",
    "try_cast(d as int) < 2", "abs(d)::decimal(3, 1)::int = 2", "x = 2", "cast(i as bigint) = 3 and i::smallint > 1",
    "case when i > 1 then d else 1.6 end::int = 2", "1 < case i when 1 then case when d > 1 then d end else d end::int",
]  # fmt: skip


@pytest.mark.parametrize("condition", COMPARED)
def test_a_cast_that_is_compared_rounds(condition: str) -> None:
    """DataFusion compares what is cast, 1.60 with 2.00 where it is to be rounded first."""
    values = [Decimal(v) for v in ("1.40", "1.50", "1.60", "2.00", "0.99")]
    table = pa.table({"d": pa.array(values, pa.decimal128(18, 2)), "i": [1, 2, 3, 4, 5]})
    query = f"select d from (select d, i, cast(d as int) as x from t) t where {condition} order by d"
    ours, theirs = drawloom.connect("cpu").register("t", table), duckdb.connect().register("t", table)
    assert ours.sql(query).fetchall() == theirs.execute(query).fetchall()


def test_columns_that_are_cast_keep_their_names() -> None:
    con = drawloom.connect("cpu").register("t", pa.table({"d": [1.5]}))
    assert con.sql("select cast(d as int), abs(d::int) + 1, d::bigint as x from t").columns == [
        "t.d", "abs(t.d) + Int64(1)", "x",
    ]  # fmt: skip
    assert con.sql("select arrow_typeof(d), d::int as i from t", fallback="datafusion").fetchall() == [("Float64", 1)]


@pytest.mark.parametrize(
    "expression",
    ["ts = timestamp '9990-01-01'", "ts between timestamp '2019-01-01' and timestamp '9999-01-01 12:00:00.000001'",
     "coalesce(ts, timestamp '1066-10-14')", "ts > timestamp '1066-10-14 09:00:00'",
     "case when ts > timestamp '2021-01-01' then timestamp '9999-12-31' else ts end"],
)  # fmt: skip
def test_moments_that_nanoseconds_do_not_reach_are_constants(expression: str) -> None:
    moments = [datetime.datetime(9990, 1, 1), datetime.datetime(2020, 1, 1), None]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us"))})
    query = f"select {expression} as x from t"
    oracle = duckdb.connect()
    oracle.register("t", table)
    assert drawloom.connect("cpu").register("t", table).sql(query).fetchall() == oracle.execute(query).fetchall()


@pytest.mark.filterwarnings("error")
def test_floats_that_no_decimal_holds_are_null_without_a_warning() -> None:
    table = pa.table({"f": [1e308, -1e308, 2.5, None]})
    ours = drawloom.connect("cpu").register("t", table).sql("select try_cast(f as decimal(5, 2)) as x from t")
    assert ours.fetchall() == [(None,), (None,), (Decimal("2.50"),), (None,)]


@pytest.mark.parametrize("shown", [
    "generate_series(1, 1000000000000)", "range(1000 * 1000 * 1000 * 1000)", "range(0, -1000000000000, -1)",
    "range(1, '999999999999'::bigint)", "range(1 << 40)", "array_repeat(7, 100000000000)",
    "length(rpad('x', 90000000))",
])  # fmt: skip
def test_long_constants_are_made_within_the_limit_of_memory(shown: str) -> None:
    """The planner made them, of any length, and the process was killed."""
    with pytest.raises(drawloom.OutOfMemoryError):
        connect("cpu", memory_limit="200M").sql(f"select {shown}").arrow()


def test_long_constants_are_what_short_ones_are() -> None:
    lists = "select range(1, 200)[190:199] as a, generate_series(0, 990, 33)[-2:-1] as b, array_repeat(3, 70)[1:2] as c"
    row = connect("cpu").sql(lists).arrow().to_pylist()[0]
    assert row == {"a": list(range(190, 200)), "b": [957, 990], "c": [3, 3]}
    con = connect("cpu")
    assert con.sql("select range(1, 200)").columns == ["range(Int64(1),Int64(200))"]
    assert con.sql("select length(lpad('x', 70000, 'ab')), length(repeat('xy', 70000))").fetchall() == [(70000, 140000)]
    assert con.sql("select count(*) from unnest(range(1, 200))").fetchall() == [(199,)]


def test_numbers_of_all_64_bits_are_places_and_moments() -> None:
    con = connect("cpu").register("t", pa.table({"s": ["abc"], "l": [[1, 2]]}))
    most = 2**63 - 1
    row = con.sql(f"select substr(s, {most}, {most}), substr(s, 2, {most}), l[{most}], l[2:{most}] from t").fetchall()
    assert row == [("", "bc", None, [2])]
    for function in ("from_unixtime", "to_timestamp_seconds"):
        with pytest.raises(drawloom.UnsupportedError, match="a moment that 64 bits of microseconds do not hold"):
            con.sql(f"select {function}({most})").arrow()
