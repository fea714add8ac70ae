"""Lists as values: array_agg of groups and of frames, make_array, and what is asked of lists; beside DuckDB.

A line is a query for both, or ours and DuckDB's where the two spell it in other words.
"""

import datetime
from decimal import Decimal

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
        "d": pa.array([None if v is None else Decimal(v) for v in ["1.50", None, "-1.00", "0.00", "2.25", "1.50", None,
                                                                   "7.75"]], pa.decimal128(9, 2)),
        "f": [1.5, float("nan"), None, -0.5, float("inf"), 0.25, None, 2.0],
        "day": [datetime.date(2024, 1, 1 + i) if i != 3 else None for i in range(8)],
        "q": [True, None, False, True, True, None, False, True],
    }
)  # fmt: skip
LISTS = "(select g, array_agg(a order by id) as l from t group by g) v"
QUERIES = {
    "of groups": "select g, array_agg(a order by id) as l, count(*) as c from t group by g",
    "of all rows": "select array_agg(a order by id) as l, array_agg(g order by id desc) as m from t",
    "of all types": """select q, array_agg(g order by id) as a, array_agg(d order by id) as b, array_agg(f order by id)
        as c, array_agg(day order by id desc) as d, array_agg(q order by id) as e from t group by q""",
    "of some rows": """select g, array_agg(a order by id) filter (where a > 1) as l, array_agg(id order by id) filter
        (where g = 'x') as m from t group by g""",
    "of distinct values": "select q, array_agg(distinct a order by a) as l from t group by q",
    "of frames": """select id, array_agg(a) over (partition by g order by id) as l, array_agg(id) over (order by id rows
        between 2 preceding and 1 preceding) as m from t""",
    "of joins": f"select t.id, l from t left join {LISTS} on t.g = v.g and t.id > 2",
    "with a list of one constant": """select g, l || [9::bigint] as a, [9::bigint] || l as b from (select g,
        array_agg(id order by id) as l from t group by g) v""",
    "in an order": f"select g, l from {LISTS} order by g desc nulls last limit 3",
    "elements": f"select g, l[1] as a, l[-1] as b, l[2] as c, l[0] as d, l is null as e from {LISTS}",
    "elements by the row": "select id, l[id] as x from (select id, array_agg(a) over (order by id desc) as l from t) v",
    "rows of lists": """select id, make_array(a, id, null) as l, make_array(g, 'q')[1] as m from t where id > 2
        ||| select id, [a, id, null] as l, [g, 'q'][1] as m from t where id > 2""",
    "lengths": f"select g, array_length(l) as n from {LISTS} ||| select g, len(l) as n from {LISTS}",
    "of no rows": """select array_agg(a order by id) as l, g from t where false group by g ||| select l, g from
        (select array_agg(a order by id) as l, g from t group by g) where g = 'none'""",
    "lengths by DuckDB's name": f"select len(g) as m, len(l) as n, len(l[1:1]) as o from {LISTS}",
    "texts": f"""select g, array_to_string(l, '-') as s from {LISTS}
        ||| select g, array_to_string(l::varchar[], '-') as s from {LISTS}""",
    "looked for": f"""select array_has(l, 1) as a, array_has(l, 7) as b, array_position(l, 2) as c from {LISTS}
        ||| select list_contains(l, 1) as a, list_contains(l, 7) as b, list_position(l, 2)::bigint as c from {LISTS}""",
    "looked for by the row": """select id, array_has(l, a) as x, array_position(m, g) as y from (select *,
        make_array(a, id, null) as l, make_array('x', g) as m from t) v ||| select id, list_contains(l, a) as x,
        list_position(m, g)::bigint as y from (select *, [a, id, null] as l, ['x', g] as m from t) v""",
    "least and greatest": f"select array_min(l) as a, array_max(l) as b from {LISTS} ||| "
    f"select list_min(l) as a, list_max(l) as b from {LISTS}",
    "slices": f"""select l[1:2] as a, l[-2:-1] as b, l[0:1] as c, l[2:1] as d, array_slice(l, 2, 9) as e from {LISTS}
        ||| select l[1:2] as a, l[-2:-1] as b, l[0:1] as c, l[2:1] as d, l[2:9] as e from {LISTS}""",
    "sorted": f"""select array_sort(l) as a, array_sort(l, 'DESC', 'NULLS FIRST') as b from {LISTS}
        ||| select list_sort(l) as a, list_sort(l, 'DESC', 'NULLS FIRST') as b from {LISTS}""",
    "reversed": f"select array_reverse(l) as a from {LISTS} ||| select list_reverse(l) as a from {LISTS}",
    "each once": f"""select array_sort(array_distinct(l)) as a from {LISTS}
        ||| select list_sort(list_distinct(l)) as a from {LISTS}""",
    "longer": """select id, array_append(l, a) as x, array_prepend(a, l) as y, l || l as z from (select *,
        make_array(a, null) as l from t) v
        ||| select id, list_append(l, a) as x, list_prepend(a, l) as y, l || l as z from (select *, [a, null] as l
        from t) v""",
    "without some": f"""select array_remove_all(l, cast(1 as int)) as a from {LISTS}
        ||| select list_filter(l, lambda x: x is distinct from 1) as a from {LISTS}""",
    "of numbers in a row": """select range(a) as a, range(a, id) as b, generate_series(a, id) as c, range(0, a, 2) as d,
        generate_series(a, -3, -2) as e from t""",
    "parts of texts": """select string_to_array(u, ',') as a, array_length(string_to_array(u, ', ')) as b
        from (select g || ', ,' || coalesce(g, '') as u from t) v ||| select string_split(u, ',') as a,
        len(string_split(u, ', ')) as b from (select g || ', ,' || coalesce(g, '') as u from t) v""",
    "one value often": """select array_repeat(g, id) as a from t where id < 4
        ||| select list_transform(range(id), lambda x: g) as a from t where id < 4""",
    "in groups": f"select l, count(*) as c from (select * from {LISTS} union all select * from {LISTS}) u group by l",
    "each of them once": f"select distinct l from {LISTS}",
    "counted once": f"select count(distinct l) as c from {LISTS}",
    "in their order": f"select l from {LISTS} order by l desc nulls first",
    "ranks": f"select g, rank() over (order by l) as r, lag(l) over (order by g) as m from {LISTS}",
    "in CASE": f"select g, case when g > 'x' then l else make_array(null::int, l[1]) end as m from {LISTS} "
    f"||| select g, case when g > 'x' then l else [null::int, l[1]] end as m from {LISTS}",
    "in UNION": f"select l from {LISTS} union select array_agg(id::int order by id) as l from t",
    "in EXCEPT": f"select l from {LISTS} except select l from {LISTS} where g > 'x'",
    "compared": f"""select g, l = make_array(1, null)::int[] as a, l > make_array(1)::int[] as b, l is distinct from
        array_append(l, null) as c from {LISTS} ||| select g, l = [1, null] as a, l > [1] as b, l is distinct from
        list_append(l, null) as c from {LISTS}""",
    "joined by": f"""select v.g, w.g as h from {LISTS}
        join (select g, array_agg(a order by id) as l from t group by g) w on v.l = w.l""",
    "lists of lists": f"select array_agg(l order by g) as a, count(*) as c from {LISTS}",
    "paths": """with recursive r as (select id, make_array(id) as p from t where id = 0 union all
        select t.id, array_append(r.p, t.id) from t join r on t.id = r.id + t.a where not array_has(r.p, t.id))
        select * from r ||| with recursive r as (select id, [id] as p from t where id = 0 union all
        select t.id, list_append(r.p, t.id) from t join r on t.id = r.id + t.a where not list_contains(r.p, t.id))
        select * from r""",
    "of another type": f"select cast(l as bigint[]) as a, cast(l as varchar[]) as b from {LISTS}",
    "empty": f"select g, coalesce(l[7:8], []) as a, case when g > 'x' then l else [] end as b from {LISTS}",
    "texts of nothing": """select array_to_string(l, '-') as a, array_to_string([g], ',') as b,
        array_to_string(l[9:10], '-') as c from (select g, array_agg(g order by id) as l from t group by g) v""",
    "counted": f"select count(l) as c from {LISTS}",
}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("rows", [8, 0], ids=["rows", "none"])
def test_lists_agree_with_duckdb(query: str, rows: int) -> None:
    ours, _, theirs = query.partition("|||")
    oracle = duckdb_exact()
    oracle.register("t", T.slice(0, rows))
    wanted = oracle.sql(theirs or ours).to_arrow_table()
    result = connect("cpu").register("t", T.slice(0, rows)).sql(ours).query.program().interpret().to_arrow()
    assert differences(result, wanted) == []
    assert result.schema.types == wanted.schema.types


def test_a_device_agrees_with_the_interpreter() -> None:
    for name in ("of groups", "of some rows", "rows of lists"):
        relation = connect("cpu").register("t", T).sql(QUERIES[name].partition("|||")[0])
        assert relation.arrow().equals(relation.query.program().interpret().to_arrow())


@pytest.mark.parametrize(
    ("query", "item"),
    [
        (f"select max(l) from {LISTS}", "aggregate function: max of lists"),
        (f"select lag(l, 1, l) over (order by g) from {LISTS}",
         "window function: lag of lists or structs with another value"),
        ("with recursive r as (select 1 as n, null::int[] as l union all select n + 1, [n] from r) select * from r",
         "a recursive query that begins with NULL for a list"),
        (f"select try_cast(l as int) from {LISTS}", "cast: list of integer to integer"),
        (f"select array_replace(l, 1, 2) from {LISTS}", "function: array_replace"),
        ("select range(id, id, id) from t", "function: range by steps that are no constant"),
    ],
)  # fmt: skip
def test_what_lists_are_not_taken_for(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(query).arrow()
    assert item in refusal.value.items


HOLES = pa.table({
    "id": [1, 2, 3, 4], "l": pa.array([None, [], [1, None], [None, 2]], pa.list_(pa.int64())),
    "m": pa.array([[7], None, [8], None], pa.list_(pa.int64())),
})  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["select l || [9] as a, [9] || l as b, l || m as c from t order by id",
     "select l || null as a, null || l as b, l || m || null as c, l || null::bigint[] as d from t order by id",
     "select array_concat(l, m) as a, list_append(l, null) as b from t order by id",
     "select array_concat(l, m) as a, 'x' || id::varchar as b from t order by id"],
)  # fmt: skip
def test_lists_joined_with_null_by_the_operator_are_null_and_by_functions_are_not(query: str) -> None:
    oracle = duckdb_exact()
    oracle.register("t", HOLES)
    assert connect("cpu").register("t", HOLES).sql(query).fetchall() == oracle.sql(query).fetchall()


@pytest.mark.parametrize("shown", ["l || 9", "id || l", "[1] || 2", "1 || [2]", "l || m || id"])
def test_lists_and_elements_are_not_joined(shown: str) -> None:
    """DuckDB takes no element for a list of one either."""
    with pytest.raises(drawloom.UnsupportedError, match=r"\|\| of a list and what is none"):
        connect("cpu").register("t", HOLES).sql(f"select {shown} from t").arrow()


def test_constant_lists_joined_with_null_beside_others_are_refused() -> None:
    with pytest.raises(drawloom.UnsupportedError, match="and NULL, all of them constants"):
        connect("cpu").register("t", HOLES).sql("select [1] || null::int[] as a, l || [2] as b from t").arrow()


@pytest.mark.parametrize("query", [
    "select null || [3]", "select null || [3], array_append([1], 2)", "select l || null, array_append(l, null) from t",
])  # fmt: skip
def test_joined_lists_that_a_plan_does_not_tell_from_calls_are_refused(query: str) -> None:
    with pytest.raises(drawloom.UnsupportedError, match=r"operator: \|\| of lists"):
        connect("cpu").register("t", HOLES).sql(query).arrow()
