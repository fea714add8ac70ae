"""Expressions of constants alone have the values that they have of columns, and in DuckDB."""

import duckdb
import pyarrow as pa
import pytest

import drawloom
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


def test_columns_are_cast_as_they_were() -> None:
    assert not rounded("select cast(a + 1.5 as int), (b * 0.5)::int, f(1.5)::int, '2.5', x.int from t")
