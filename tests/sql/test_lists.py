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
    "in an order": f"select g, l from {LISTS} order by g desc nulls last limit 3",
    "elements": f"select g, l[1] as a, l[-1] as b, l[2] as c, l[0] as d, l is null as e from {LISTS}",
    "elements by the row": "select id, l[id] as x from (select id, array_agg(a) over (order by id desc) as l from t) v",
    "rows of lists": """select id, make_array(a, id, null) as l, make_array(g, 'q')[1] as m from t where id > 2
        ||| select id, [a, id, null] as l, [g, 'q'][1] as m from t where id > 2""",
    "lengths": f"select g, array_length(l) as n from {LISTS} ||| select g, len(l) as n from {LISTS}",
    "texts": f"""select g, array_to_string(l, '-') as s from {LISTS}
        ||| select g, array_to_string(l::varchar[], '-') as s from {LISTS}""",
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
        (f"select l from {LISTS} order by l", "lists to match, group or order by"),
        (f"select distinct l from {LISTS}", "lists to match, group or order by"),
        (f"select count(distinct l) from {LISTS}", "lists to match, group or order by"),
        (f"select max(l) from {LISTS}", "aggregate function: max of lists"),
        (f"select array_agg(l) from {LISTS}", "aggregate function: array_agg of lists"),
        (f"select lag(l) over (order by g) from {LISTS}", "window function: lag of lists"),
        (f"select coalesce(l, l) from {LISTS}", "CASE of lists"),
        (f"select l from {LISTS} union all select l from {LISTS}",
         "lists in UNION, INTERSECT, EXCEPT or GROUPING SETS"),
        (f"select make_array(l) from {LISTS}", "function: make_array of lists"),
        (f"select array_sort(l) from {LISTS}", "function: array_sort"),
    ],
)  # fmt: skip
def test_what_lists_are_not_taken_for(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(query).arrow()
    assert item in refusal.value.items
