"""Tables that queries make: WITH RECURSIVE, generate_series and range, UNNEST; beside DuckDB.

A line is a query for both, or ours and DuckDB's where the two spell it in other words.
"""

import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.ir import Loop
from drawloom.sql import connect
from drawloom.sql.planner import SqlError
from tests.sql.compare import differences, duckdb_exact

T = pa.table(
    {
        "i": pa.array([1, -2, None, 0, 5, 7, 5, 3], pa.int32()),
        "k": pa.array([1, 2, 3, None, -3, 2, 1, 1], pa.int32()),
    }
)
E = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int32()),
        "boss": pa.array([None, 1, 1, 2, 2, 3, 6], pa.int32()),
        "name": list("abcdefg"),
    }
)
ONE_TO_FIVE = "with recursive r as (select 1::bigint as n union all select n + 1 from r where n < 5)"
QUERIES = {
    "counting": f"{ONE_TO_FIVE} select n from r",
    "counting, with names": """with recursive r(n) as (select 1 union all select n + 1 from r where n < 100)
        select sum(n) as s from r""",
    "constants that are the same": """with recursive f(n, a, b) as (select 1::bigint, 0::bigint, 1::bigint
        union all select n + 1, b, a + b from f where n < 9) select n, a, b from f""",
    "until nothing is new": """with recursive r as (select 1::bigint as n union select (n + 1) % 4 from r)
        select n from r""",
    "levels of a tree": """with recursive c as (select id, boss, 0::bigint as depth from e where boss is null
        union all select e.id, e.boss, depth + 1 from e join c on e.boss = c.id) select * from c""",
    "paths": """with recursive c as (select id, name as path from e where boss is null
        union all select e.id, c.path || '/' || e.name from e join c on e.boss = c.id) select * from c""",
    "pairs, each once": """with recursive p as (select boss as a, id as b from e where boss is not null
        union select p.a, e.id from p join e on e.boss = p.b) select * from p""",
    "NULLs that only steps have": """with recursive c as (select id, boss from e where id = 1
        union all select e.id, null from e join c on e.boss = c.id) select count(boss) as a, count(*) as b from c""",
    "no rows to begin with": """with recursive c as (select 1::int as id where false union all select id + 1 from c)
        select count(*) as n from c""",
    "beside other queries": """with recursive a as (select id from e where boss is null),
        c as (select id from a union all select e.id from e join c on e.boss = c.id),
        d as (select count(*) as n from c) select * from d""",
    "read twice": f"{ONE_TO_FIVE} select a.n, b.n as m from r a join r b on a.n = b.n + 1",
    "within": f"select id, (select s from ({ONE_TO_FIVE} select sum(n) as s from r) x) as s from e",
    "one in the step of another": """with recursive r as (select 3::bigint as n union all
        (with recursive q as (select 1::bigint as m union all select m + 1 from q where m < 3)
         select n - 1 from r where n > (select min(m) from q))) select n from r""",
    "elements in a step": """with recursive r as (select 1::int as n union all select unnest([n + 1, n + 2])::int from r
        where n < 4) select n from r""",
    "days": """with recursive r as (select date '2024-01-30' as d
        union all select cast(d + interval '1 day' as date) from r where d < date '2024-02-03') select d from r""",
    "with a subquery over it": f"{ONE_TO_FIVE} select n, (select count(*) from e where e.id > r.n) as c from r",
    "a series": "select * from generate_series(1, 5)",
    "a range": "select * from range(1, 5)",
    "a series by threes": "select * from generate_series(1, 10, 3)",
    "a range downwards": "select * from range(10, 1, -3)",
    "a series that is empty": "select count(*) as n from generate_series(3, 1)",
    "a series from nought": "select * from generate_series(3)",
    "a series that is joined": """select n, count(id) as c from generate_series(1, 5) as g(n)
        left join e on e.boss = g.n group by n""",
    "a series of moments": """select * from generate_series(timestamp '2024-01-01', timestamp '2024-01-02',
        interval '6 hours')""",
    "a series of days": "select * from generate_series(date '2024-01-01', date '2024-01-05', interval '1 day')",
    "a series of months": """select * from
        generate_series(date '2023-11-15', date '2024-03-01', interval '1 month')""",
    "a range of years downwards": """select * from
        range(timestamp '2024-02-28 01:00:00', timestamp '2020-02-28 01:00:00',
        interval '-1 year')""",
    "two series": "select a.n, b.m from generate_series(1, 3) as a(n), range(2) as b(m)",
    "elements of a constant": """select unnest([1, 2, 3]) as x ||| select unnest([1::bigint, 2, 3]) as x""",
    "elements": "select i, unnest([i, k, null]) as x from t where i > 0",
    "elements of groups": "select x, count(*) as c from (select unnest([i, k]) as x from t) group by x",
    "elements in FROM": "select t.i, x.v from t, unnest([t.i, t.k]) as x(v) where v > 1",
    "elements, joined": "select t.i, x.v from t cross join unnest([t.i, t.k]) as x(v)",
    "elements, or NULL": "select t.i, x.v from t left join unnest([t.i, t.k]) as x(v) on v > 1",
    "elements in a value": "select i, (select sum(v) from unnest([t.i, t.k]) x(v)) as s from t",
    "elements in EXISTS": "select i from t where exists (select 1 from unnest([t.i, t.k]) x(v) where v = 2)",
    "elements in IN": "select i from t where 2 in (select v from unnest([t.i, t.k]) x(v))",
    "distinct elements": "select distinct unnest([i, k]) as x from t",
    "elements of what was gathered": """with a as (select k, array_agg(i) as l from t group by k)
        select k, unnest(l) as x from a""",
    "elements side by side": "select i, unnest([i, k, null]) as a, unnest(range(i % 5)) as b, unnest([k]) as c from t",
    "elements of constants side by side": "select unnest(['a', 'b']) as a, unnest(['c', 'd', 'e']) as b",
    "elements beside a star": "select *, unnest([k, i]) as x from (select i, k from t) v",
    "elements of a query that is read twice": """with a as (select i, unnest([i, k]) as x from t) select a.i, b.i as j
        from a join a b on a.x = b.x and b.i > 0 where a.i < 6 union all select i, x from a where x > 1""",
    "elements twice": "select i, x.v, y.w from t, unnest([i, k]) as x(v), unnest([x.v, i]) as y(w)",
}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_tables_that_are_made_agree_with_duckdb(query: str) -> None:
    ours, _, theirs = query.partition("|||")
    oracle = duckdb_exact()
    con = connect("cpu")
    for name, table in (("t", T), ("e", E)):
        oracle.register(name, table)
        con.register(name, table)
    wanted = oracle.sql(theirs or ours).to_arrow_table()
    relation = con.sql(ours)
    result = relation.arrow()
    assert differences(result, wanted) == []
    assert result.schema.types == wanted.schema.types
    assert result.equals(relation.query.program().interpret().to_arrow())


@pytest.mark.parametrize("outline", ["none", "flow"])
def test_a_loop_is_outlined_as_the_rest_is(outline: str) -> None:
    con = connect("cpu").register("e", E)
    for name in ("levels of a tree", "pairs, each once"):
        relation = con.sql(QUERIES[name], outline=outline)
        assert differences(relation.arrow(), con.sql(QUERIES[name]).arrow()) == []
        main = relation.query.module().functions[0]
        assert sum(isinstance(s, Loop) for s in main.body) == 1


def test_a_recursive_query_is_one_loop_however_often_it_is_read() -> None:
    relation = connect("cpu").register("t", T).sql(QUERIES["read twice"])
    assert sum(isinstance(s, Loop) for s in relation.query.module().functions[0].body) == 1


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("select nothing from unnest([1, 2])", "query:1:8: No field named nothing"),
        ("select i, unnest(l) from t", "query:1:18: No field named l"),
        ("with recursive r as (select 1 as n union all select nn + 1 from r where n < 5) select n from r",
         "query:1:53: No field named nn"),
        ("select * from generate_series(1, 'x')", "query:1:34: Argument #2 must be an INTEGER"),
    ],
)  # fmt: skip
def test_errors_are_about_the_text_as_it_was(query: str, place: str) -> None:
    with pytest.raises(SqlError) as problem:
        connect("cpu").register("t", T).sql(query).arrow()
    assert str(problem.value).startswith(place)


def test_an_endless_recursion_ends_at_the_type_or_the_memory() -> None:
    query = "with recursive r as (select 100::tinyint as n union all select (n + 1)::tinyint from r) select n from r"
    with pytest.raises(drawloom.DataError, match="overflow"):
        connect("cpu").sql(query).arrow()


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("with recursive r as (select 1 as n union all select n + 1 from r where n < 5 limit 3) select n from r",
         "relation: WITH RECURSIVE"),
        ("select k, unnest(array_agg(i)) as x from t group by k", "relation: UNNEST"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(query).arrow()
    assert item in refusal.value.items
