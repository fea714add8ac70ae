"""Window functions where SQL surprises: ties, NULLs in the order and in the values, empty frames, empty tables."""

from decimal import Decimal

import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import assert_agrees, differences, duckdb_exact

NAN, INF = float("nan"), float("inf")
T = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "g": ["a", "b", "a", None, "a", "b", None, "a"],
        "x": pa.array([3, 1, 3, None, 2, None, 5, 1], pa.int32()),
        "d": pa.array([None if v is None else Decimal(v) for v in ["1.50", "2.25", None, "-1.00", "7.75", None, "0.25",
                                                                   "1.50"]], pa.decimal128(9, 2)),
        "f": [1.5, NAN, -0.0, 0.0, None, INF, -INF, NAN],
        "big": pa.array([2**62, 2**62, 2**62, -(2**62), 2**62, 2**62, 2**62, 2**62], pa.int64()),
        "tiny": [1e300, 1.0, 2.0, -1e300, 4.0, 8.0, 16.0, 32.0],
    }
)  # fmt: skip
NONE = T.slice(0, 0)

QUERIES = {
    "ties share a rank": "select id, rank() over (order by x), dense_rank() over (order by x desc) from t",
    "a partition of nulls": "select id, row_number() over (partition by g order by id desc) as r from t",
    "nulls first in the order": "select id, rank() over (partition by g order by x nulls first) as r from t",
    "the default frame ends with the last peer": """
        select id, sum(x) over (order by x), count(*) over (order by x) from t""",
    "nulls are no part of an aggregate": """
        select id, sum(d) over (partition by g), avg(x) over (), count(d) over () from t""",
    "a frame that is empty": """
        select id, sum(x) over (order by id rows between 2 following and 3 following) as s, count(x) over
        (order by id rows between 3 preceding and 2 preceding) as c, first_value(x) over (order by id rows
        between 1 following and 2 following) as v from t""",
    "a range over an order with nulls": """
        select id, count(*) over (order by x range between 1 preceding and 1 following) as a, count(*) over
        (order by x desc nulls first range between unbounded preceding and 1 following) as b from t""",
    "lag does not leave the partition": "select id, lag(x, 1, 99) over (partition by g order by id) as l from t",
    "lead over nulls": "select id, lead(d) over (order by id), lead(g, 3, 'none') over (order by id) from t",
    "nan is the greatest": "select id, max(f) over (order by id), min(f) over (order by id) from t",
    "infinities of other frames": """
        select id, sum(f) over (order by id rows between 1 preceding and current row) as s from t""",
    "sums of more than 64 bits": "select id, sum(big) over (order by id), avg(big) over (order by id) from t",
    "no difference of large sums": """
        select id, sum(tiny) over (order by id rows between 1 preceding and current row) as s from t where
        id > 3""",
    "values of a frame": """
        select id, first_value(d) over (order by id), last_value(g) over (order by id rows between 1
        preceding and 1 following) as l, nth_value(x, 3) over (order by id) as n from t""",
    "shares of a partition": """
        select id, percent_rank() over (partition by g order by x), cume_dist() over (order by x) from t""",
    "buckets": "select id, ntile(3) over (partition by g order by id), ntile(20) over (order by id) from t",
    "a number of no rows": "select id, r from (select id, row_number() over (order by id) as r from t where false) v",
    "over groups": "select g, sum(x) as s, rank() over (order by sum(x) desc) as r from t group by g",
    "over a window": """
        select r, sum(r) over (order by r) as s from (select row_number() over (order by id) as r from t) v""",
    "the first rows of each group": """
        select id from (select id, row_number() over (partition by g order by id) as r from t) v where r <=
        2""",
    "over a join": """
        select t.id, count(*) over (partition by u.g) as c, max(u.x) over (order by t.id) as m from t left
        join t as u on t.x = u.id""",
    "arithmetic": """
        select id, x - avg(x) over (), row_number() over (order by id) * 2 + 1 as r, x * count(*) over ()
        from t""",
    "a window without rows": "select id, sum(x) over (order by id), lag(g) over (order by id) from t where id > 100",
    "other aggregates": """
        select id, median(d) over (partition by g order by id) as a, bool_and(x > 1) over (order by id rows 3 preceding)
        as b, string_agg(g, ',') over (order by id rows 2 preceding) as c, bit_or(x) over (partition by g) as d,
        quantile_cont(x, 0.25) over (partition by g) as e, any_value(x) over (partition by g order by id) as f,
        regr_count(x, d) over (order by id) as h from t""",
    "filters": """
        select id, sum(x) filter (where g = 'a') over (order by id) as a, count(*) filter (where d > 0 and g <> ')')
        over (partition by g) as b, median(d) filter (where (x in (1, 3))) over () as c, max(g) filter (where x > 1)
        over (order by id rows 2 preceding) as d, avg(x) over (order by id) as e from t""",
    "filters of what is summed": """
        select g, sum(sum(x) filter (where id > 1)) over (order by g) as a, sum(sum(x)) filter (where g = 'a') over ()
        as b from t group by g""",
    "a range of decimals": """
        select id, sum(x) over (order by d range between 1.5 preceding and 2 following) as a, count(*) over
        (order by d desc nulls first range between 0.25 preceding and unbounded following) as b from t""",
    "a range of doubles": """
        select id, sum(x) over (order by f range between 1.5 preceding and current row) as a, count(*) over
        (order by f desc range between 0.25 preceding and 1 following) as b from t""",
    "a range of days": """
        select id, count(*) over (order by dt range between interval '2 day' preceding and interval '1 month' following)
        as a, sum(x) over (partition by g order by dt desc nulls first range between interval '36 hour' preceding and
        current row) as b from (select id, x, g, cast('2024-02-27' as date) + x as dt from t) v""",
    "frames of groups": """
        select id, sum(x) over (order by x groups between 1 preceding and current row) as a, count(*) over (partition by
        g order by f desc nulls first groups between 1 following and 2 following) as b, first_value(id) over (order by
        x, id groups between 2 preceding and 1 preceding) as c, max(d) over (order by g groups unbounded preceding) as
        d, min(d) over (order by g groups between 0 preceding and unbounded following) as e from t""",
    "distinct values of a partition": """
        select id, count(distinct x) over (partition by g) as a, sum(distinct x) over () as b, avg(distinct big) over
        (partition by g) as c, count(distinct f) over (partition by x > 2) as d, min(distinct x) over () as e from t""",
    "distinct values of a frame": """
        select id, count(distinct x) over (order by id) as a, sum(distinct d) over (order by id rows between 1 preceding
        and unbounded following) as b, count(distinct g) over (order by id rows between 2 preceding and 1 following) as
        c, sum(distinct x) over (partition by g order by id rows between 1 following and 2 following) as d, median(
        distinct x) over (order by id rows 3 preceding) as e from t""",
    "windows that build on others": """
        select id, sum(x) over (w order by id) as a, count(*) over w as b, max(x) over (v rows 1 preceding) as c from t
        window w as (partition by g), v as (w order by id desc)""",
    "constants": "select id, sum(1) over (order by id), count(null) over () from t",
}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("table", [T, NONE, T.slice(3, 1)], ids=["rows", "empty", "one"])
def test_windows_agree_with_duckdb(query: str, table: pa.Table) -> None:
    assert_agrees(query, table)


def test_frames_over_times_of_day_and_quantiles_of_all_types() -> None:
    second = 1_000_000
    table = pa.table({
        "id": list(range(12)), "g": [n % 3 for n in range(12)],
        "c": pa.array([None if n % 5 == 4 else n * n * 700 * second for n in range(12)], pa.time64("us")),
        "d": pa.array([None if n % 4 == 3 else n * 37 % 40 for n in range(12)], pa.int32()).cast(pa.date32()),
        "m": pa.array([n * 7919 % 100_000 * second for n in range(12)], pa.timestamp("us")),
        "s": [None if n == 5 else chr(97 + n * 5 % 8) for n in range(12)], "i": [n * 11 % 17 for n in range(12)],
    })  # fmt: skip
    assert_agrees("""
        select id, sum(i) over (order by c) as a, rank() over (partition by g order by c desc nulls first) as b,
        count(*) over (order by c range between interval '2 hours' preceding and current row) as e,
        sum(i) over (order by c desc range between interval '30 minutes' preceding and interval '1 day' following) as f,
        count(*) over (w range between current row and unbounded following) as h from t window w as (order by c)
        """, table)  # fmt: skip
    calls = ["median({})", "quantile_cont({}, 0.3)", "quantile_disc({}, 0.3)", "quantile({}, 0)"]
    quantiles = [f"{call.format(column)} as {column}{n}" for column in "cdm" for n, call in enumerate(calls)]
    others = [f"quantile_disc({column}, {n / 4}) as {column}{n}" for column in "si" for n in range(5)]
    within = [
        "percentile_disc(0.4) within group (order by s) as p",
        "percentile_disc(0.3) within group (order by i desc) as q",
        "percentile_cont(0.3) within group (order by m desc) as r", "median(s) as u",
        "median(m) filter (where i > 5) as v",
    ]  # fmt: skip
    assert_agrees(f"select g, {', '.join([*quantiles, *others, *within])} from t group by g", table)
    assert_agrees("""
        with w as (select d as e, * from t) select id, median(e) over (order by id rows 4 preceding) as a,
        quantile_disc(s, 0.5) over (partition by g order by id) as b from w where e > (select median(d) from t as u
        where u.g <= w.g) - interval '20 days'""", table)  # fmt: skip


@pytest.mark.parametrize("table", [T, NONE], ids=["rows", "empty"])
def test_nulls_that_are_ignored(table: pa.Table) -> None:
    """DuckDB has the words within the call."""
    calls = [
        ("lag(x{})", "order by id"), ("lead(x, 2{})", "partition by g order by id"), ("lag(x, 1, 99{})", "order by id"),
        ("first_value(x{})", "order by id rows 3 preceding"), ("last_value(d{})", "order by id"),
        ("nth_value(x, 2{})", "order by id rows between 2 preceding and 2 following"), ("lag(id{})", "order by id"),
    ]  # fmt: skip
    ours = [f"{call.format('')} ignore nulls over ({over}) as x{i}" for i, (call, over) in enumerate(calls)]
    theirs = [f"{call.format(' ignore nulls')} over ({over}) as x{i}" for i, (call, over) in enumerate(calls)]
    oracle = duckdb_exact()
    oracle.register("t", table)
    rest = "first_value(x) over (order by id) as y from t"
    wanted = oracle.sql(f"select id, {', '.join(theirs)}, {rest}").to_arrow_table()
    result = connect("cpu").register("t", table).sql(f"select id, {', '.join(ours)}, {rest}").arrow()
    assert differences(result, wanted) == []


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("sum(all x) filter (where id > 2) over ()", "window functions: FILTER"),
        ("first_value(distinct x) over (order by id)", "window function: first_value with DISTINCT"),
        ("regr_count(distinct x, d) over (order by id)", "window function: regr_count with DISTINCT"),
        ("sum(x) over (order by id rows 1099511627776 preceding)", "a frame of 2**40 rows or more"),
        ("sum(x) over (order by id rows 2 preceding exclude current row)", "window functions: frames with EXCLUDE"),
        ("sum(x) over (order by id groups 2 preceding exclude ties)", "window functions: frames with EXCLUDE"),
        ("sum(x) over (w order by id)", "a window that builds on 'w', which is none"),
        ("sum(x) over (order by g range between 2 preceding and current row)",
         "window functions: RANGE with an offset over an order by another kind of values, or by several"),
    ],
)  # fmt: skip
def test_what_the_plan_does_not_carry_is_refused(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(f"select {query}, sum(x) over (order by id) as other from t").arrow()
    assert item in refusal.value.items
