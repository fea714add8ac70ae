"""Values and types of single features, against DuckDB; the types of the results are DuckDB's too."""

import datetime
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import assert_agrees, differences

TABLE = pa.table(
    {
        "i": pa.array([1, 2, 3, -4, 5], pa.int32()),
        "h": pa.array([1, 2, 3, 4, 100], pa.int16()),
        "y": pa.array([1, 2, 3, 4, 100], pa.int8()),
        "b": pa.array([10**12, -5, 7, 0, 1], pa.int64()),
        "d": pa.array([Decimal(v) for v in ("1.50", "-2.25", "0.00", "99.99", "3.10")], pa.decimal128(15, 2)),
        "e": pa.array([Decimal(v) for v in ("1.5", "2.5", "0.5", "9.9", "3.1")], pa.decimal128(4, 1)),
        "w": pa.array([Decimal(v) for v in ("1.50", "-2.25", "0.00", "99.99", "3.10")], pa.decimal128(20, 2)),
        "big": pa.array([Decimal(v) for v in (10**18 - 1, 5, 1 - 10**18, 1, 2)], pa.decimal128(18, 0)),
        "h2": pa.array([Decimal(v) for v in ("12345678901234.5678", "-98765432109876.5432", "0.0001", "1.1",
                                             "99999999999999.9999")], pa.decimal128(18, 4)),
        "f": pa.array([1.5, -0.0, 0.0, math.nan, math.inf]),
        "g": pa.array([1.5, 2.5, -1.0, math.nan, 0.1], pa.float32()),
        "s": ["x", "y", "x", None, ""],
        "dt": pa.array([datetime.date(1994, 1, 1), datetime.date(1995, 2, 28), datetime.date(1969, 12, 31), None,
                        datetime.date(2000, 2, 29)]),
        "q": pa.array([True, False, None, True, False]),
    }
)  # fmt: skip

MOMENTS = pa.table(
    {
        "m": pa.array([0, None, 10**15], pa.timestamp("us")),
        "d": pa.array([0, None, 19_000], pa.date32()),
        "s": ["2024-01-01 10:00:00+02", None, "2024-01-01 10:00:00-05:30"],
    }
)

QUERIES = [
    "select sum(i), sum(h), sum(y), sum(b), sum(d), sum(f), sum(g) from t",
    "select avg(i), avg(h), avg(b), avg(d), avg(e), avg(f), avg(w) from t",
    "select min(i), max(h), min(y), max(b), min(d), max(e), min(s), max(s), min(dt), max(dt), min(q), max(q) from t",
    "select min(f), max(f), min(g), max(g) from t",
    "select count(*), count(s), count(dt), count(q) from t",
    "select d + e, d - e, d * e, e * e, d / e, -d, abs(d) from t",
    "select d + 1, 1 - d, d * 2, d * i, d + i, d * h, d + b, w + 1, w * d from t",
    "select i + b, i - h, f + 1, f * d, g * 2, g + f, f - i from t",
    "select i / 2, d / 2, f / 2, b / 3, i / h from t",
    "select w, sum(w) from t group by w",
    "select sum(big), avg(big), min(big), max(big) from t",
    "select case when i > 2 then d else 0 end, case when i > 2 then s end from t",
    "select coalesce(s, 'none') from t",
    "select nullif(s, 'b'), nullif(i, 2), nullif(d, 1.5), nullif(d, i) from t",
    "select count(*) from t where f = 'nan'::double",
    "select f, count(*) from t group by f",
    "select distinct s from t",
    "select count(distinct s), count(distinct i) from t",
    "select s, count(distinct i), sum(d), count(distinct q) from t group by s",
    "select sum(d), avg(d), min(d), max(s), count(d), count(*) from t where false",
    "select sum(d), avg(d), min(d), max(s), count(d), count(*) from t where i > 100",
    "select s, sum(d) from t where i > 100 group by s",
    "select extract(year from dt), extract(month from dt), extract(day from dt), count(*) from t group by 1, 2, 3",
    "select cast(d as integer) as a, cast(i as double) as b, cast(f as float) as c from t where f < 10",
    "select cast(d as decimal(10,1)) as a, cast(i as decimal(10,2)) as b, cast(e as decimal(15,2)) as c from t",
    "select dt - date '1994-01-01' from t",
    "select * from t where s in ('x', null)",
    "select * from t where s not in ('x', 'y')",
    "select i from t where not (d > 1 and s = 'x')",
    "select i from t where (s = 'x') is null",
    "select i from t where dt > '1994-01-01'",
    "select sum(d) / count(*), sum(d) / sum(i), avg(d) * 2, sum(d) * 0.5, -sum(d), sum(i * b) from t",
    "select h, sum(d) as x from t group by h having sum(d) > 1",
    "select sum(case when s = 'x' then d else 0 end) / sum(d) from t",
    "select q, count(*) from t group by q",
    "select d from t where d = 1.5 or d > 99.9899",
    "select i from t where i > 1.5 and b < 0.5",
    "select i from t where f > 1",
    "select i from t where g > 0.1",
    "select count(*) from t where s like '%x%' or s is null",
    "select 100.00 * sum(case when s like 'x%' then d * (1 - e) else 0 end) / sum(d * (1 - e)) as promo from t",
    "select max(d) - min(d), max(i) + min(h) from t",
    "select sum(d) filter (where i > 1), count(*) filter (where s = 'x') from t",
    "select 1e0 / 3 as x, 1e2 as y, 1.5e-3 as z, .5e1 as v, 0.0000000000000000000000000000000000000001 as u",
    "select d * 1e0, i * 1e1, 1e10 * i, i + 1e-2 from t",
    "select f in (0.0, 1.5), g in (1.5, 0.1), d in (1.5, 99.99), i in (1, 2.0) from t",
    "select count(*) from t where f between 0 and 1.5",
    "select count(*) from t where f + i <= w",
    "select cast(big as double), big / 3.0 from t",
    "select cast(h2 as double) as a, h2 / 7 as b, h2 + f as c, h2 < f, cast(h2 as float) from t",
    "select 3 / 2 as x, 1 / 0 as y, 7 / 2 * 2.0 as z, 0.06 / 2 as v, (1 + 1) / 2 as w",
    "select (i / h) + b, (i / h) > b, sum(i / h), avg(i / h), (b / i) >= (h * 1.25), (i / h) * 2, i / h / y from t "
    "group by i, h, y, b",
    "select case when i > 1 then i / h else b end, case when i > 1 then i / h else d end, coalesce(i / h, b) from t",
    "select x + b from (select i / h as x, b from t) u where x * 2 > 0.5",
    "select /* a/b */ '/', i / h as \"/\" from t -- 1/2",
    "select cast(g as double) / 3, cast(i / h as integer) from t",
    "select sum(1), sum(1.5), avg(2), count(1), count(null) from t",
    "select sum(x), count(*) from (select s, sum(d) as x from t group by s) u where x > 0",
]
ORDERED = [
    "select s, count(*) from t group by s order by s nulls first",
    "select s, count(*) from t group by s order by s desc",
    "select s, i from t order by s nulls last, i desc",
    "select i from t order by d desc limit 2 offset 1",
    "select f, i from t order by f desc, i",
    "select q, sum(d) as x from t group by q order by x, q limit 2",
    "select i from t order by i limit 0",
]


@pytest.fixture(scope="module")
def connections() -> tuple[drawloom.Connection, duckdb.DuckDBPyConnection]:
    ours, theirs = connect("cpu"), duckdb.connect()
    ours.register("t", TABLE)
    theirs.register("t", TABLE)
    return ours, theirs


@pytest.mark.parametrize("query", [*QUERIES, *ORDERED])
def test_values_and_types_are_duckdbs(
    query: str, connections: tuple[drawloom.Connection, duckdb.DuckDBPyConnection]
) -> None:
    ours, theirs = connections
    result, wanted = ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()
    assert result.schema.types == wanted.schema.types
    if query in ORDERED:
        assert repr(result.to_pylist()).replace("-0.0", "0.0") == repr(
            [dict(zip(result.column_names, row.values())) for row in wanted.to_pylist()]
        ).replace("-0.0", "0.0")
    else:
        assert differences(result, wanted) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select sum(big * 2) from t", r"overflow in big \* 2: the result does not fit decimal\(18,0\)"),
        ("select b * b from t", r"overflow in b \* b: the result does not fit bigint"),
        ("select cast(f * 1e300 as float) from t where i = 1", "1e.300 as float.: the result does not fit float"),
        ("select cast(sum(i) * 1e300 as float) from t", "1e.300 as float.: the result does not fit float"),
        ("select cast(sum(b) as integer) from t", "1000000000003 does not fit integer"),
    ],
)
def test_what_overflows_in_duckdb_overflows_here(
    query: str, message: str, connections: tuple[drawloom.Connection, duckdb.DuckDBPyConnection]
) -> None:
    ours, theirs = connections
    with pytest.raises(duckdb.Error):
        theirs.sql(query).fetchall()
    with pytest.raises(drawloom.DataError, match=message):
        ours.sql(query).arrow()


def test_decimal_types_follow_duckdb() -> None:
    """The rules for + - * over pairs of decimal types, checked one by one."""
    from drawloom.horse.signatures import plus_type, product_type
    from drawloom.horse.types import DecimalType

    theirs = duckdb.connect()
    sides = [(4, 1), (9, 2), (15, 2), (16, 2), (18, 2), (18, 4), (18, 17), (19, 0), (20, 3), (37, 2), (38, 4)]
    for a, b in [(a, b) for a in sides for b in sides]:
        for sign, rule in (("+", plus_type), ("-", plus_type), ("*", product_type)):
            query = f"select typeof(1::decimal({a[0]},{a[1]}) {sign} 1::decimal({b[0]},{b[1]}))"
            row = theirs.execute(query).fetchone()
            assert row is not None
            assert str(rule(DecimalType(*a), DecimalType(*b))).replace("<", "(").replace(">", ")").upper() == row[0], (
                query
            )


@pytest.mark.parametrize("condition", ["s like '%'", "not s like '%'", "1 < 2", "i is null", "1 > 2 or i is not null"])
@pytest.mark.parametrize(
    "query",
    [
        "select count(*), sum(i), max(i) filter (where {}) from v where {}",
        "select s, count(*), sum(i) filter (where {}) from v where {} group by s",
        "select case when {} then i else 0 end, s from v where {}",
    ],
)
def test_conditions_that_are_constant_for_columns_without_nulls(query: str, condition: str) -> None:
    table = pa.table({"i": pa.array([1, 2, 3], pa.int32()), "s": ["x", "y", "x"]})
    theirs = duckdb.connect()
    theirs.register("v", table)
    text = query.format(condition, condition)
    result = connect("cpu").register("v", table).sql(text).arrow()
    assert differences(result, theirs.sql(text).to_arrow_table()) == []


@pytest.mark.parametrize("query", [
    "select d < 1e-20, d = 1e-20, d > -1e300, e in (1e20, 1e-20, 9.9) from t",
    "select d from t where d < 1e300 and d > '-inf'::double and d < cast('nan' as double)",
    "select greatest(d, 1e20), case when i = 1 then d else 1e20 end, coalesce(d, 1e20), nullif(d, 1e-20) from t",
    "select d between -1e300 and 1e300, d < 1e-20::double from t",
    "select d < (select max(f) from t), d < (select 1e35), d = any (select f from t) from t",
    "select d from t union all select 1e300",
    "select 1.5 < 1e-20, 2.5e0::int, 3.5e0::int, 1e-3::decimal(5,2)",
    "select quantile_cont(i, 5e-1), quantile_cont(b, 5e-1) from t",
])  # fmt: skip
def test_decimals_beside_doubles_are_doubles(query: str) -> None:
    """The planner compares both as decimals of 15 digits behind the point."""
    assert_agrees(query, TABLE)


def test_text_of_a_column_of_characters_is_trimmed() -> None:
    table = pa.table({"s": ["xyaxy", "aaa", "", None, "x x"], "p": ["xy", "a", "x", "x", "x "]})
    assert_agrees("select trim(s, p), ltrim(s, p), rtrim(s, p), trim('xyx', p) from t", table)


def test_sums_that_are_too_large_are_infinite() -> None:
    """math.fsum raises OverflowError."""
    table = pa.table({"x": [1e308, 1e308, -1e308], "g": [1, 1, 2]})
    con = connect("cpu").register("t", table)
    assert con.sql("select sum(x), avg(x) from t").fetchall() == [(math.inf, math.inf)]
    assert_agrees("select g, sum(x) from t group by g", table)


def test_text_tells_zeros_apart() -> None:
    table = pa.table({"x": [-0.0, 0.0, 1.5, -0.0], "y": pa.array([0.0, -0.0, None, 2.0], pa.float32())})
    assert_agrees("select x::varchar, y::varchar, concat(x, 'a'), y || 'b' from t", table)


@pytest.mark.parametrize("query", [
    "select 2.5::int, 1.49::int, cast(-2.5 as int), -3.5::bigint, cast(.5 as smallint), 12345678.5 :: int8",
    "select substring('hello', -2), substr ('it''s', -3, 2), substring('hello', 2, 2), 'a' || substring('abc', -1)",
    "select round('nan'::double, -400), round('inf'::double, -400), round(1.5::double, -400), 5::double",
])  # fmt: skip
def test_constants_are_computed_as_columns_are(query: str) -> None:
    assert_agrees(query, TABLE)


def test_decimals_of_all_digits_round_to_one_digit_more() -> None:
    digits = ["9" * 36 + ".99", "-" + "9" * 36 + ".99", "5.55", "-5.55", "-0.01"]
    table = pa.table({"x": pa.array(digits).cast(pa.decimal128(38, 2))})
    assert_agrees("select round(x, 1), round(x), round(x, -2), ceil(x), floor(x) from t", table)


def test_sums_of_constant_lists_are_refused_as_those_of_columns() -> None:
    with pytest.raises(drawloom.UnsupportedError, match="array_sum"):
        connect("cpu").sql("select list_sum([1, 2])").arrow()
    with pytest.raises(drawloom.UnsupportedError, match="//"):
        connect("cpu").sql("select 5 // 2").arrow()


def test_null_of_nullif_has_the_type_of_its_arguments() -> None:
    assert_agrees("""
        select case when a > 1 then nullif(null, d) else d end as x, coalesce(nullif(null, d), d) as y,
        case when a > 1 then nullif(d, null) else nullif(null, d) end as z from t""", NULLIF)  # fmt: skip


def test_decimals_beside_floats_of_32_bits_are_such_floats() -> None:
    assert_agrees("""
        select coalesce(x, g) as a, case when a > 1 then x else g end as b, greatest(x, g) as c, coalesce(g, 2.1) as d,
        coalesce(a, g) as e from t""", NULLIF)  # fmt: skip
    assert_agrees("select x from t union all select g from t", NULLIF)


def test_floats_that_no_decimal_holds_are_chosen_beside_decimals() -> None:
    """COALESCE asked of the decimals that the planner makes of both whether they are NULL."""
    table = pa.table(
        {"x": [1.0, math.nan, math.inf, 1e30, None], "d": pa.array([1, 2, None, 4, 5], pa.decimal128(5, 1))}
    )
    assert_agrees(
        "select coalesce(x, 0.0) as a, coalesce(x, d) as b, coalesce(d, x) as c, nullif(d, x) as e from t", table
    )


def test_casts_to_decimals_that_a_query_has_are_not_dropped_as_the_planners() -> None:
    assert_agrees("""
        select cast(i as decimal(20, 0)) * 2 as a, i::decimal(5, 0) + 2 as b, i::decimal(10, 0) * i as c,
        case when q then i::decimal(20, 2) else 1.5 end as e, coalesce(i::decimal(20, 0), 1.5) as g,
        greatest(h::decimal(12, 3), 1.5) as k, i::decimal(10, 0) + h as l from t""", TABLE)  # fmt: skip


def test_decimals_of_most_digits_keep_those_before_the_point() -> None:
    """Beside 1.555 they were an overflow, and of a scale of 3."""
    digits = pa.array(["9" * 36 + ".99", "-1.25", None]).cast(pa.decimal128(38, 2))
    table = pa.table({"x": digits, "f": [1e40, 2.5, 3.5], "q": [True, False, True]})
    assert_agrees("""
        select coalesce(x, 1.555) as a, case when q then x else 1.555 end as b, greatest(x, 1.555) as c,
        nullif(x, 1.555::double) as d, x < f as e, x > 1e20 as g from t""", table)  # fmt: skip
    assert_agrees("select x from t union all select 1.555", table)
    assert_agrees("select x from t union all select 7::bigint", table)
    assert_agrees("select coalesce((select sum(d) from t), 0) as a, coalesce(sum(e), 0.5) as b from t", TABLE)


@pytest.mark.parametrize(
    "query",
    [
        "select m > '9990-01-01' as a, m between '1000-01-01' and '9990-01-01 10:00:00' as b from t",
        "select m in ('9990-01-01', '1970-01-01') as a, '2.5'::int as b from t",
        "select '9990-01-01'::timestamp as a, cast('0900-01-01' as timestamp) < m as b from t",
        "select timestamp '9990-01-01' > m as a, timestamp '0900-01-01' as b from t",
        "select greatest(m, '9990-01-01') as a, case when m is null then '9990-01-01' else m end as b from t",
        "select s::timestamp as a, s::date as b from t",
        "select timestamp '2024-01-01 10:00:00+02' as a, '2024-01-01 10:00:00-05:30'::timestamp as b from t",
        "select m < '1970-01-01 00:30:00+02' as a from t",
        "select 'epoch'::timestamp as a, cast('epoch' as date) as b, try_cast(s || 'epoch' as date) as c from t",
        "select try_cast(replace(s, s, ' Epoch') as timestamp) as a, 'epoch' || s as b from t",
        "select d < '9990-01-01' as a, d > '0900-01-01' as b, m || '9990-01-01' as c from t",
    ],
)
def test_texts_are_moments_of_all_years_and_of_the_clock(query: str) -> None:
    """The planner reads them in nanoseconds, and moves those with an offset, for which DuckDB does not look."""
    assert_agrees(query, MOMENTS)


def test_floats_of_32_bits_have_an_exponent_where_doubles_have() -> None:
    values = [1e-4, 1e7, 16777216, 1e15, 1e16, 123456.7, 0.1, -0.0, 1e-5, 3.4e38, 1e-45, math.inf, math.nan]
    assert_agrees("select f::varchar as a from t", pa.table({"f": pa.array(values, pa.float32())}))


@pytest.mark.parametrize("shown", [
    "try_cast(s as integer) + 1", "coalesce(try_cast(i as tinyint), -1)", "try_cast(x as bigint) % 3",
    "sum(try_cast(s as integer)) over ()", "greatest(try_cast(i as tinyint), 5)", "try_cast(s as double) < 9",
    "case when i > 0 then try_cast(s as bigint) else 2 end", "try_cast(i as tinyint)::integer + 1",
])  # fmt: skip
def test_what_is_tried_within_an_expression_is_null_where_there_is_none(shown: str) -> None:
    table = pa.table({"i": pa.array([1, 300, None], pa.int32()), "s": ["7", "x", None], "x": [1.5, 1e30, 2.0]})
    query = f"select {shown} as v from t"
    wanted = duckdb.connect().register("t", table).sql(query).to_arrow_table()
    assert differences(connect("cpu").register("t", table).sql(query).arrow(), wanted) == []


def test_dates_are_tried_as_moments() -> None:
    assert_agrees("""
        select try_cast(d as timestamp) as x, try_cast(far as timestamp) is null as y,
        try_cast(d::timestamp + interval '90 minutes' as date) as z, try_cast(d::timestamp as time) as w from t
        """, NULLIF)  # fmt: skip


NULLIF = pa.table({
    "a": pa.array([1, 2, None], pa.int32()), "d": [datetime.date(2020, 1, 1), None, datetime.date(2021, 2, 3)],
    "far": pa.array([10**9, -(10**9), 5], pa.int32()).cast(pa.date32()),
    "x": pa.array([Decimal("8.34"), None, Decimal("-1.10")], pa.decimal128(10, 2)),
    "g": pa.array([1.5, 2.1, None], pa.float32()),
})  # fmt: skip


@pytest.mark.parametrize("test", [
    "a in (1) and a in (2)", "a in (1, 2) and a not in (1, 2)", "a not in (1, 2) or t.a not in (3)",
    "(a in (1, 2) and (a) in (2, 3)) and a in (3, 4)", "a in (1) and not a in (1, 3)", "a in (1, null) or a in (2)",
    "s in ('x') and s in ('y')", "a + 1 in (2) and a + 1 in (3, 4)", "s ~ '.*'", "s ~* '.*'", "not s !~ '.*'",
])  # fmt: skip
def test_what_the_planner_simplifies_stays_unknown_of_null(test: str) -> None:
    """It made one list of two, and of an empty one false."""
    table = pa.table({"a": pa.array([1, 2, 3, None], pa.int32()), "s": ["x", "", "y", None]})
    oracle = test.replace("not s !~ '.*'", "s ~ '.*'").replace("s ~* '.*'", "s ~ '.*'").replace("s ~ '.*'", "s >= ''")
    text = "select a, {0} as v, ({0}) is null as n, not ({0}) as w from t where not ({0}) or ({0}) is null or a = 1"
    theirs = duckdb.connect().register("t", table).sql(text.format(oracle)).to_arrow_table()
    ours = connect("cpu").register("t", table).sql(text.format(test)).arrow()
    assert differences(ours, theirs) == []


def test_lists_that_are_told_apart_are_those_of_the_text() -> None:
    table = pa.table({"a": pa.array([1, 2, 3, None], pa.int32())})
    con = connect("cpu").register("t", table)
    made = con.sql(
        "select a in (1, 2), a in (1), count(*) from t group by t.a in (1, 2), (a) in (1) order by 1, 2"
    ).arrow()
    assert made.column_names == ["t.a IN Int64(1), Int64(2)", "t.a IN Int64(1)", "count(*)"]
    assert made.to_pydict()["count(*)"] == [1, 1, 1, 1]


def test_comments_stand_wherever_blanks_do() -> None:
    con = connect("cpu").register("t", pa.table({"a": pa.array([1, 2, 3], pa.int32())}))
    assert con.sql("SELECT * FROM /* it's */ GENERATE_SERIES(1, 2) -- x").fetchall() == [(1,), (2,)]
    made = con.sql("""select 'a'||/* b */'-- c' as x, if -- (
        (t.a > 1, first /* /* in */ it */ (t.a), 0) from t semi /* , */ join t u on t.a = u.a group by t.a
        order by t.a fetch /**/ first 2 rows -- one
        only""")
    assert made.fetchall() == [("a-- c", 0), ("a-- c", 2)]
    with pytest.raises(
        drawloom.Error, match=r"^query:2:11: No field named nosuch\.\n  , /\* c \*/ nosuch /\* d \*/ from t"
    ):
        con.sql("select a -- it's\n, /* c */ nosuch /* d */ from t").arrow()
    with pytest.raises(drawloom.Error, match="comment"):
        con.sql("select 1 /* a /* b */ from t").arrow()


def test_long_lists_with_null_are_one_list_and_null() -> None:
    """They were a comparison each, and of a thousand constants refused."""
    con = connect("cpu").register("t", pa.table({"a": pa.array([3, 4, None], pa.int32()), "b": [5, 4, 4]}))
    many = ", ".join([str(3 * i) for i in range(2000)])
    made = con.sql(f"select a in ({many}, null) as x, a not in ({many}, null, b) as y, a in (0.5, {many}) as z from t")
    assert made.fetchall() == [(True, False, True), (None, False, False), (None, None, None)]
