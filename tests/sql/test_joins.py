"""Joins and subqueries where SQL surprises: NULL keys, NOT IN, empty sides, rows that stand for one value."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect, rounds
from tests.sql.compare import differences, duckdb_exact

T = pa.table(
    {
        "a": pa.array([1, 2, 2, None, 5], pa.int32()),
        "b": pa.array([10, None, 30, 40, 50], pa.int64()),
        "s": ["x", None, "z", "a", "x"],
        "d": pa.array([Decimal("1.00"), Decimal("2.50"), None, Decimal("4.00"), Decimal("5.00")], pa.decimal128(9, 2)),
    }
)
U = pa.table(
    {
        "a": pa.array([2, 2, None, 7, 1], pa.int32()),
        "b": pa.array([30, 5, 5, None, 10], pa.int64()),
        "s": ["z", "q", None, "m", "x"],
        "f": [2.5, 1.0, None, float("nan"), 5.0],
        "day": pa.array([datetime.date(2024, 1, d) for d in range(1, 6)]),
    }
)
NONE = U.slice(0, 0)


def connections() -> tuple[drawloom.Connection, duckdb.DuckDBPyConnection]:
    ours, theirs = connect("cpu"), duckdb_exact()
    for name, table in (("t", T), ("u", U), ("nothing", NONE)):
        ours.register(name, table)
        theirs.register(name, table)
    return ours, theirs


QUERIES = {
    "null keys match nothing": "select t.a, u.b from t join u on t.a = u.a",
    "null keys match where they are not distinct": "select t.a, u.b from t join u on t.a is not distinct from u.a",
    "null texts of two columns are one key": "select t.a, u.a as c from t left join u on t.s is not distinct from u.s",
    "a left join keeps rows without a match": "select t.a, u.b, u.s, u.day from t left join u on t.a = u.a",
    "a right join keeps the other side's": "select t.a, u.b, t.s, u.s as c from t right join u on t.a = u.a",
    "a full join keeps both": "select t.a, t.d, u.b, u.f from t full join u on t.a = u.a",
    "an outer join's condition is no filter": "select t.a, u.b from t left join u on t.a = u.a and u.b > t.b",
    "a condition on the kept side": "select t.a, u.b from t left join u on t.a = u.a and t.b > 20",
    "outer joins over an empty side": "select t.a, nothing.s, nothing.f from t left join nothing on t.a = nothing.a",
    "an empty side on the left": "select t.a, nothing.s from nothing full join t on t.a = nothing.a",
    "an outer join over an outer join": (
        "select t.a, u.s, v.b from t left join u on t.a = u.a left join u as v on u.b = v.b and v.f is not null"
    ),
    "a constant beside an outer join": "select t.a, w from t left join (select a, 'v' as w from u) v on t.a = v.a",
    "decimals against doubles": "select t.d, u.f from t join u on t.d = u.f",
    "integers against decimals": "select t.d, u.a from t join u on t.d = u.a",
    "every pair": "select t.a, u.a as c from t, u",
    "every pair with none": "select t.a, nothing.a as c from t, nothing",
    "no equality at all": "select t.a, u.a as c from t join u on t.a < u.a",
    "two comparisons and more": "select t.a, u.b from t join u on u.b >= t.b and t.s <> u.s and t.a + u.a > 2",
    "comparisons of an outer join": "select t.a, u.b, u.s from t left join u on t.d > u.f and u.b < 20",
    "comparisons of a full join": "select t.a, u.b, t.s, u.s as z from t full join u on t.d <= u.f and t.s < u.s",
    "exists by comparisons": "select a from t where exists (select 1 from u where u.b < t.b and u.s > t.s)",
    "not exists by a comparison": "select a from t where not exists (select 1 from u where u.f > t.d)",
    "comparisons with none": "select t.a, nothing.a as c from t left join nothing on t.a < nothing.a",
    "in": "select a from t where a in (select a from u)",
    "not in with a null is never true": "select a from t where a not in (select a from u)",
    "not in without nulls": "select a from t where a not in (select a from u where a is not null)",
    "not in of nothing": "select a from t where a not in (select a from nothing)",
    "not in under or": "select a from t where a not in (select a from u) or b = 50",
    "in under or": "select a, b from t where a in (select a from u) or b = 50",
    "in, negated, under or": "select a from t where not (a in (select a from u where a > 1)) or b = 10",
    "not in of the same group": "select a from t where b not in (select b from u where u.a = t.a)",
    "not in with a condition": "select a from t where a not in (select a from u where u.b < t.b)",
    "in the select list": "select a, a in (select a from u) as x, b not in (select b from u) as y from t",
    "exists": "select a from t where exists (select 1 from u where u.a = t.a and u.b <> t.b)",
    "not exists": "select a, b from t where not exists (select 1 from u where u.a = t.a)",
    "exists under or": "select a, b from t where exists (select 1 from u where u.a = t.a) or b = 50",
    "exists without a correlation": "select a from t where exists (select 1 from nothing) or exists (select 1 from u)",
    "a value": "select a, (select max(b) from u) as m from t where b > (select min(b) from u)",
    "the value of no row": "select a, (select b from nothing) as m from t",
    "the value of one row": "select a from t where b > (select b from u order by b limit 1)",
    "a value for each row": "select a, (select max(b) from u where u.a = t.a) as m from t",
    "a count for each row": "select a, (select count(*) from u where u.a = t.a) as m from t",
    "more than any": "select a from t where b > any (select b from u)",
    "less than all": "select a from t where a < all (select a from u)",
    "union all": "select a, s from t union all select a, s from u",
    "union all of two types": "select a, d from t union all select b, f from u",
    "union all of none": "select s from nothing union all select s from nothing",
    "union": "select a from t union select a from u",
    "intersect has nulls": "select a, s from t intersect select a, s from u",
    "except has nulls": "select a from t except select a from u",
    "groups over a join":
        "select u.s, count(*) as n, sum(t.b) as m, avg(t.d) as x from t left join u on t.a = u.a group by u.s",
    "an aggregate of a join of nothing": "select count(*) as n, sum(t.b) as m from t join nothing on t.a = nothing.a",
    "a join of groups": "select t.b, v.n from t join (select a, count(*) as n from u group by a) v on t.a = v.a",
    "a table with itself": "select x.a, y.b from t as x join t as y on x.a = y.a and x.b <> y.b",
    "with": "with v as (select a, sum(b) as m from u group by a) select t.a, x.m from t, v as x, v as y "
            "where t.a = x.a and x.m = y.m",
    "full join using": "select a, t.a as l, u.a as r, t.b, f from t full join u using (a) order by a, t.b, f",
    "everything of a full join using": "select * from t full join u using (a, s)",
    "left and right join using": "select * from (select a, d from t) x left join (select a, f from u) y using (a) "
        "union all select a, d, f from t right join u using (a) where a > 1",
    "groups of what using makes one": "select a, count(*) as n, max(f) as m from t full join u using (a) group by a "
        "having count(*) < 5 order by a",
    "joins using over joins using": "select a, x.f, y.day as z from t left join u x using (a) full join u y using (a)",
    "everything of a natural join": "select * from u natural join (select a, s, d from t) x",
    "everything of a join using, by names in the other order": "select * from t join (select a, f from u) b using (a)",
    "natural left join": "select * from (select a, s, d from t) x natural left join (select s, a, f from u) y",
    "using a named query":
        "with w as (select a, f from u where f > 1) select * from t right join w using (a) where a = 2",
    "exists over a join using":
        "select a, exists (select 1 from u where u.b > v.b) as x from t left join u v using (a)",
    "is distinct from before the clause": "select a, b is distinct from a from t",
    "is distinct from before and and or":
        "select a, b, a is distinct from b or s = 'x' as x, b is not distinct from 10 + 0 and a > 0 as y from t "
        "where not (a > 1) is not distinct from (b > 20) and a is not null or d is null",
    "lateral with a limit": "select t.b, x.f from t, lateral (select f from u where u.b < t.b order by f limit 2) x",
    "left lateral": "select t.a, t.b, x.c, x.e from t left join lateral (select b, s from u where u.b < t.b order by b "
        "desc limit 1) x(c, e) on x.c > 5 where t.a < 5 or t.s = 'x'",
    "laterals over laterals":
        "select t.b, x.m, y.c from t, lateral (select max(f) as m from u where u.b < t.b) x, "
        "lateral (select count(*) as c from u where u.f < x.m) y where t.a is not null",
    "everything of a lateral":
        "select * from t cross join lateral (select f, s as us from u where u.b <= t.b order by f limit 1) x",
    "fetch": "select a, b from t order by b desc offset 1 rows fetch next 2 rows only",
    "fetch first": "select b from t order by b fetch first row only",
    "substring":
        "select substring(s from 1 for 1) as x, substring(s, 2) as y from u where substring(s, 1, 1) in ('z', 'q')",
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_equals_duckdb(name: str) -> None:
    ours, theirs = connections()
    wanted = theirs.sql(QUERIES[name]).to_arrow_table()
    relation = ours.sql(QUERIES[name])
    for result in (relation.arrow(), relation.query.program().interpret().to_arrow()):
        assert differences(result, wanted) == []
        assert result.schema.types == wanted.schema.types


def test_several_rows_for_one_value_are_an_error() -> None:
    ours, _ = connections()
    with pytest.raises(drawloom.DataError, match="a subquery that stands for one value gave 5 rows"):
        ours.sql("select a from t where b > (select b from u)").arrow()
    assert ours.sql("select count(*) as n from t").fetchall() == [(5,)]


def test_a_join_of_too_many_pairs_is_an_error() -> None:
    many = pa.table({"k": pa.array([1] * 20000, pa.int8())})
    con = connect("cpu").register("many", many)
    with pytest.raises(drawloom.DataError, match="a join of 400000000 pairs of rows"):
        con.sql("select count(*) from many as x join many as y on x.k = y.k").arrow()


def test_comparisons_between_many_rows_make_no_other_pairs() -> None:
    """400,000,000 pairs are compared, 19,999 made."""
    many = pa.table({"k": pa.array(range(20000), pa.int32())})
    con = connect("cpu").register("many", many)
    relation = con.sql("select count(*) from many as x join many as y on x.k < y.k and x.k + 1 >= y.k")
    assert "@loop_join((`lt, `geq):sym" in relation.explain("horse")
    assert relation.fetchall() == [(19999,)]


def test_the_relation_shows_joins() -> None:
    shown = connections()[0].sql("select t.a from t left join u on t.a = u.a and t.b < u.b").explain("relation")
    assert "Join left on [$0 = right $0, if lt($1, $3)]" in shown


KINDS = ["join", "left join", "right join", "full join", "in", "not in", "exists", "not exists"]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_that_no_comparison_of_the_sides_tells_are_looked_at_in_parts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is a row, or two; conditions are unknown, and sides empty."""
    for pairs in (1, 9):
        monkeypatch.setattr(rounds, "ROUND", pairs)
        ours, theirs = connections()
        for condition in ("t.a = u.a or t.b = u.b", "t.a + u.a > 3 and t.s <> u.s", "t.b - u.b < 0 or u.f > 2.0"):
            for table in ("u", "nothing"):
                where = condition.replace("u.", f"{table}.")
                query = f"select t.a, t.b, {table}.a as c, {table}.b as d from t {kind} {table} on {where}"
                if "exists" in kind:
                    query = f"select a, b from t where {kind} (select 1 from {table} where {where})"
                elif "join" not in kind:
                    query = f"select a, b from t where a {kind} (select a from {table} where {where})"
                assert differences(ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


def test_more_pairs_than_there_is_room_for_are_looked_at() -> None:
    """Once a join of 2.9 * 10**8 pairs of rows was refused, however few the condition leaves."""
    rng = np.random.default_rng(1)
    (ax, ay), (bx, by) = [rng.integers(0, 10**6, (2, 17_000)) for _ in range(2)]
    connection = connect("cpu")
    for name, x, y in (("a", ax, ay), ("b", bx, by)):
        connection.register(name, pa.table({"x": x, "y": y}))
    found = connection.sql("select count(*), sum(a.y - b.y) from a join b on a.x + b.x > 1999000").fetchall()
    kept = [y - by[bx > 1_999_000 - x] for x, y in zip(ax[ax > 999_000], ay[ax > 999_000])]
    assert found == [(sum(len(k) for k in kept), sum(int(k.sum()) for k in kept))]
