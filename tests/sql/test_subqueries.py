"""Subqueries that depend on the row, wherever an expression may stand, and the values of IN; beside DuckDB."""

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import differences, duckdb_exact

T = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "a": pa.array([1, 2, None, 4, 5, 2, 1, None], pa.int32()),
        "g": ["x", "y", "x", None, "y", "x", "z", "z"],
        "q": [True, False, None, True, False, None, True, True],
    }
)
U = pa.table(
    {
        "id": pa.array([0, 1, 1, 3, 9, None], pa.int64()),
        "a": pa.array([1, 2, 2, None, 7, 4], pa.int32()),
        "g": ["x", "y", "z", None, "w", "x"],
        "n": pa.array([10, 20, 30, 40, None, 60], pa.int64()),
    }
)
QUERIES = {
    "in is unknown": "select id, (a in (select a from u)) is null as x from t",
    "rows of which in is unknown": "select id from t where (a in (select a from u)) is unknown",
    "in is never unknown": "select id from t where (a in (select a from u where a is not null)) is not null",
    "in is not true": "select id from t where (a in (select a from u)) is not true",
    "in is not false": "select id from t where (a in (select a from u)) is not false",
    "an unknown in for true": "select id from t where coalesce(a in (select a from u), true)",
    "in in a case": """select id, case when a in (select a from u) then 'in' when a not in (select a from u)
        then 'out' else 'unknown' end as x from t""",
    "in beside exists under or": """select id from t where a in (select a from u) or
        exists (select 1 from u where u.id = t.id)""",
    "not in beside exists under or": """select id from t where a not in (select a from u where a is not null) or
        exists (select 1 from u where u.id = t.id)""",
    "in beside exists": "select id from t where a in (select a from u) and exists (select 1 from u where u.id = t.id)",
    "in of the row": "select id, a in (select u.a from u where u.g = t.g) as x from t",
    "not in of a comparison": "select id, a not in (select u.a from u where u.id < t.id) as x from t",
    "in of another condition": "select id from t where id between 1 and 2 or id in (select a from u)",
    "an in whose left side is a case": "select id from t where (case when q then id else a end) in (select a from u)",
    "all of the same column": "select id from t where id <> all (select id from t where id > 4)",
    "any of the same column of one name": "select x.id from t x where x.id = any (select x.id from t x where x.id = 3)",
    "all of the same column in a subquery": """select id from t where id in
        (select id from t where id >= all (select id from t))""",
    "functions of one value are it in each row": """select id, cast((select '7' from u limit 1) as int) as a,
        try_cast((select '7' from u limit 1) as double) as b, lpad((select '7' from u limit 1), 3, 'x') as c,
        chr((select 70 from u limit 1) + 1) as d, gcd((select 70 from u limit 1), 14) as e, cast('2.5' as int) as f
        from t order by cast((select '7' from u limit 1) as int), id""",
    "a list that is one value": """select id, (select array_agg(a order by id) from u)[1] as a, (select l from
        (select array_agg(n order by id) as l from u) v)[2] as b, (select l from (select array_agg(n order by id) as l
        from u) v where l[1] = t.id)[1] as c, (select array_agg(n) from u where n > 99) as d from t""",
    "a count without a row is NULL": """select id,
        (select count(*) from u where u.id = t.id group by u.g limit 1) is null as x from t""",
    "a count without a row is another value": """select id,
        coalesce((select count(*) from u where u.id = t.id group by u.a limit 1), -1) as x,
        coalesce((select 7::bigint from u where n > 99), 5) as y from t""",
    "a rank without a row is NULL": """select id, (select r from (select id, rank() over (order by id) as r from u
        where u.a = t.a) v where v.id > 2 limit 1) is null as x from t""",
    "a count without a row keeps rows": """select id from t where exists (select 1 from u where a = 9) or
        (select count(u.n) from u where u.id = t.id having count(*) > 1) is null""",
    "a sum in": "select id from t where id + 1 in (select id from u) or a is null",
    "groups in": "select g, sum(a) as s from t group by g having sum(a) in (select a + 1 from u) or g = 'z'",
    "exists of a comparison": "select id, exists (select 1 from u where u.id > t.id and u.g = t.g) as x from t",
    "exists of groups": """select id, exists (select u.g from u where u.id < t.id group by u.g having count(*) > 1) as x
        from t""",
    "exists of a limit": "select id, exists (select 1 from u where u.id = t.id limit 1) as x from t",
    "exists of a union": """select id, exists (select u.id from u where u.id > t.id union all
        select v.id from t v where v.a = t.a and v.id <> t.id) as x from t""",
    "exists of everything": "select id, exists (select * from u where u.id > t.id) as x from t",
    "exists in the order": """select id, not exists (select 1 from u where u.g = t.g and u.a > t.a) as x from t
        order by 2, 1""",
    "exists in an aggregate": "select count(*) filter (where exists (select 1 from u where u.a > t.a)) as x from t",
    "exists in the condition of a join": """select t.id, u.n from t join u on t.id = u.id and
        exists (select 1 from u v where v.id > t.id and v.n > u.n)""",
    "exists in exists": """select id from t x where exists (select 1 from t y where y.g = x.g and
        exists (select 1 from u where u.id = y.id and u.a = x.a))""",
    "a value of an exists": """select id, (select max(n) from u where u.id > t.id and
        exists (select 1 from t v where v.id < u.id and v.g = t.g)) as x from t""",
    "distinct exists": "select distinct exists (select 1 from u where u.a > t.a) as x from t",
    "a value by a comparison": "select id, (select max(n) from u where u.id > t.id) as x from t",
    "a count of no rows is 0": "select id, (select count(*) from u where u.id < t.id) as x from t",
    "a count of distinct values": "select id, (select count(distinct g) from u where u.id < t.id) as x from t",
    "a value that is compared": "select id from t where a > (select min(a) from u where u.id < t.id) or q",
    "a value of one row": "select id, (select n from u where u.id = t.id and u.n < 25) as x from t",
    "a value of the last row": "select id, (select g from u where u.id = t.id order by n desc limit 1) as x from t",
    "a value of the row before that": """select id, (select g from u where u.id < t.id order by n desc limit 1 offset 1)
        as x from t""",
    "a value of a window": """select id, (select max(rn) from (select row_number() over (order by n) as rn from u where
        u.id <> t.id) v) as x from t""",
    "a value of an outer join": """select id, (select count(*) from u left join t v on u.id = v.id and v.a < t.a where
        u.n > 10) as x from t""",
    "a value without a table": "select id, (select t.a + t.id) as x from t",
    "a value within another": """select id from t where exists (select 1 from u where u.id = t.id and
        u.n > (select avg(n) from u v where v.g <> u.g and v.id < t.id + 5))""",
    "a value of NULL and of equal NULLs": """select x.id, (select count(*) from t y where y.id < x.id and
        y.a is not distinct from x.a) as c from t x""",
    "values in a window": "select id, sum((select max(n) from u where u.id < t.id)) over (order by id) as x from t",
    "values in the order": "select id from t order by (select max(n) from u where u.id = t.id) nulls last, id",
    "a named query": """with w as (select * from u where n > 10) select id, (select count(*) from w where w.id <= t.id)
        as x from t""",
    "in a named query": """with x as (select id, exists (select 1 from u where u.a > t.a) as e from t)
        select e, count(*) as c from x group by e""",
    "in within a value": """select id, (select count(*) from u where coalesce(u.a in (select a from t), true)) as x
        from t where exists (select 1 from u where (u.a in (select a from t)) is null)""",
    "in within a negated AND": """select id, not ((a in (select a from u)) and q) as x from t
        where (not ((a in (select a from u)) and q)) or ((id + 1 in (select a from u)) and q) is null""",
    "in kept under NOT": "select id from t where not ((a in (select a from u)) and q)",
    "a constant not in": """select id from t where 9 not in (select a from u where a is not null) and
        1 not in (select u.id from u where u.g = t.g)""",
    "a constant not in values of which some are NULL": "select id from t where not (9 in (select a from u))",
    "NULL not in": "select id from t where null not in (select a from u)",
    "a constant of a subquery not in": "select id from (select id, 9 as c from t) v where c not in (select a from u)",
    "whether a row of the same table exists": """select id from (select id, exists (select 1 from t x where x.a = t.id)
        as e from t) v where e or id = 7""",
    "whether no row of the same table exists": """select id from (select id,
        not exists (select 1 from t x where x.a = t.id) as e from t) v where e""",
    "a union whose second part has another's brackets before it": """select id, (select count(*) from
        (select u.a from u where coalesce(u.a, t.a) = 2 union select u.n from u where u.id = t.id) v) as x from t""",
    "whether there are aggregates of no rows": """select id from t where
        exists (select max(u.a) from u where u.id = t.a) and
        (not exists (select count(*) from u where u.a = t.a) or id < 9)""",
    "in aggregates of no rows": """select id, (id - id) in (select count(*) from u where u.id = t.a) as x from t where
        id - id not in (select count(*) from u where u.a = t.id)""",
    "in what a window sees": "select id from t where a in (select max(u.id) over () from u where u.a <> t.a)",
    "a table in a subquery of a subquery of the row": """select id, (select max(u.id) from u where u.n >
        (select min(w) from (select v.n as w from u v where v.a <> t.a order by 1 limit 2) x)) as x,
        exists (select 1 from u where u.a = (select count(*) from (select distinct v.g from u v where v.id <= t.id) x))
        as y from t""",
    "rows in": "select id from t where (id, a) in (select id, a from u)",
    "rows not in": "select id from t where (id, a) not in (select id, a from u where a is not null and id is not null)",
    "rows not in some unknown": "select id from t where (id, g) not in (select id, g from u)",
    "whether rows are in": """select id, (a, g) in (select a, g from u) as x,
        ((id, g) not in (select id, g from u)) is null as y from t""",
    "whether rows of one column twice are in": """select id, a from t where ((a, a) in (select a, a from u)) is not null
        or id > 5""",
    "rows not in, beside columns of one name": "select id, id, (id, g) not in (select id, g from u) as x from t",
    "a value of the row beside whether rows are in": """select id, (select max(n) from u where u.id > t.id) as x,
        ((a, a) in (select a, a from u)) as y from t""",
    "a value of the row of rows in": """select id, (select max(n) from u where u.id = x.id) as y from
        (select id, (id, g) in (select id, g from u) as z from t) x where z is not null""",
    "rows in, within a value": "select id, (select count(*) from u where (id, a) in (select id, a from t)) as x from t",
    "rows in, within a value of the row": """select id, (select count(*) from u where u.id > t.id and
        (u.id, a) in (select v.id, v.a from t v)) as x from t""",
    "rows not in, within lateral": """select id, x from t, lateral (select count(*) as x from u where u.id > t.id and
        (t.id, t.g) not in (select id, g from u)) y""",
    "any and all": """select id, a > any (select u.a from u where u.id < t.id) as x, a <= all (select u.a from u where
        u.id < t.id) as y, a < any (select a from u) as z, a <> all (select a from u) as w from t""",
}  # fmt: skip


NO_ROWS = ["in is unknown", "exists of a comparison", "a count of no rows is 0", "a value of one row", "any and all"]


def check(query: str, rows: int) -> None:
    ours, theirs = connect("cpu"), duckdb_exact()
    for name, table in (("t", T.slice(0, rows)), ("u", U)):
        ours.register(name, table)
        theirs.register(name, table)
    wanted = theirs.sql(query).to_arrow_table()
    result = ours.sql(query).query.program().interpret().to_arrow()
    assert differences(result, wanted) == []
    assert result.schema.types == wanted.schema.types


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_subqueries_agree_with_duckdb(query: str) -> None:
    check(query, 8)


@pytest.mark.parametrize("name", NO_ROWS)
def test_subqueries_of_no_rows(name: str) -> None:
    check(QUERIES[name], 0)


def test_names_are_those_of_the_text() -> None:
    con = connect("cpu").register("t", T).register("u", U)
    made = con.sql("""select id, exists (select 1 from u where u.id > t.id), a in (select a from u),
        (id, a) not in (select id, a from u) from t""").arrow()
    assert made.column_names == ["id", "EXISTS", "IN", "NOT IN"]
    assert made.column(1).to_pylist() == [True] * 8


def test_several_values_for_one_row_are_an_error() -> None:
    con = connect("cpu").register("t", T).register("u", U)
    with pytest.raises(drawloom.DataError, match="a subquery that stands for one value gives several rows"):
        con.sql("select id, (select n from u where u.id < t.id) as x from t").arrow()
    assert con.sql("select id, (select n from u where u.id < t.id) as x from t where id < 1").fetchall() == [(0, None)]


def test_rows_in_a_subquery_of_the_row() -> None:
    """DuckDB refuses these."""
    con = connect("cpu").register("t", T).register("u", U)
    made = con.sql("select id, (a, g) in (select a, g from u where u.id >= t.id) as x from t order by id").fetchall()
    # For row 2, (NULL, x), it is (NULL, NULL), and for row 3, (4, NULL), that too, which may be it.
    assert [x for _, x in made] == [True, True, None, None, False, False, False, False]


def test_constants_that_overflow_are_found_beside_subqueries() -> None:
    con = connect("cpu").register("t", T).register("u", U)
    query = "select 9223372036854775807 + 1 as x, exists (select 1 from u where u.id > t.id) as y from t"
    inside = "select (select max(9223372036854775807 + 1) from u where u.id > t.id) as x from t"
    for text in (query, inside):
        with pytest.raises(drawloom.UnsupportedError, match="integer constants whose result needs more than 64 bits"):
            con.sql(text).arrow()


def test_a_subquery_in_the_condition_of_an_outer_join_is_refused() -> None:
    con = connect("cpu").register("t", T).register("u", U)
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        con.sql(
            "select t.id from t left join u on t.id = u.id and exists (select 1 from u v where v.id > t.id)"
        ).arrow()
    assert refusal.value.items == ["a correlated subquery in the condition of an outer join"]


MIXED = pa.table({"i": pa.array([1, 0, -3, 7], pa.int32()), "n": ["1", "0", "-3", "7"], "f": [1.0, 0.0, -3.0, 7.0],
                  "q": [True, False, None, True], "e": [datetime.date(2020, 1, 1)] * 4,
                  "d": pa.array([Decimal(1)] * 4, pa.decimal128(3, 1))})  # fmt: skip


@pytest.mark.parametrize("column", ["i", "f", "q", "e", "d"])
@pytest.mark.parametrize("test", [
    "{} in (select n from m)", "{} not in (select n from m)", "{} = any (select n from m)",
    "{} <> all (select n from m)", "n in (select {} from m)", "{} < any (select n from m)",
    "{} in (select n from m v where v.i = m.i)", "case when {} in (select n from m) then 1 else 2 end",
])  # fmt: skip
def test_values_and_text_are_not_compared_by_the_numbers_of_words(test: str, column: str) -> None:
    con = connect("cpu").register("m", MIXED)
    with pytest.raises(drawloom.UnsupportedError, match=r"a comparison of .* without a cast"):
        con.sql(f"select i, {test.format(column)} as x from m").arrow()
    with pytest.raises(duckdb.Error):
        duckdb.connect().register("m", MIXED).sql(f"select i, {test.format(column)} as x from m").fetchall()


def test_in_of_kinds_that_are_brought_together() -> None:
    con = connect("cpu").register("m", MIXED)
    made = con.sql("""select i in (select f from m), n in (select null), e in (select e::timestamp from m),
        i::text in (select n from m), d in (select i from m) from m""").fetchall()
    assert made == [(True, None, True, True, True)] * 4
    assert con.sql("select i from m where i in (select n from m) order by i").fetchall() == [(-3,), (0,), (1,), (7,)]


def test_columns_that_are_never_null_are_where_a_subquery_has_no_row() -> None:
    """The planner took the value for one that is never NULL."""
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("d", pa.int64(), nullable=False)])
    ours = connect("cpu").register("u", pa.table({"a": [2], "d": [10]}, schema=schema))
    assert ours.sql("select coalesce((select d from u where a = 9), 5)").fetchall() == [(5,)]
    assert ours.sql("select a from u where (select d from u where a = 9) is null").fetchall() == [(2,)]


def test_subqueries_within_each_other_are_joined_in_time() -> None:
    """Each level of operators doubled the work."""
    con = connect("cpu").register("t", T).register("u", U)
    inner = "select v.id from u v where v.n > t.id"
    for i in range(11):
        inner = f"select x{i}.id from ({inner}) x{i} where x{i}.id <> {i + 20} limit 99"
    made = con.sql(f"select id, (select count(*) from ({inner}) w) as x from t").fetchall()
    assert sorted(made) == [(i, 4) for i in range(8)]
