"""Lists by their values, not their shapes, and NULL lists and texts in every function: beside DuckDB.

A line is a query for both sides. Types are compared where ``assert_agrees`` does; here constants are int64 for us and
int32 for DuckDB, so values are what count.
"""

import datetime

import pyarrow as pa
import pytest

from drawloom.sql import connect
from tests.sql.compare import differences, duckdb_exact

LISTS = pa.list_(pa.int32())
T = pa.table(
    {
        "i": pa.array([1, 2, 3, None], pa.int32()),
        "j": pa.array([2, 2, 5, 1], pa.int32()),
        "s": ["a,b", "x", None, "c,,d"],
        "l": pa.array([[1, 2, None], [], None, [3, 3]], LISTS),
        "n": pa.array([["a", None, "b"], [], None, ["c"]]),
        "nested": pa.array([[[1], [2, None], None], [], None, [[3]]], pa.list_(LISTS)),
        "x": [1.5, 2.5, None, 1.5],
        "st": [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, None, {"a": 2, "b": None}],
        "at": [datetime.datetime(2024, 1, 1, h) for h in (1, 11, 12, 23)],
    }
)
OF_EQUAL_SHAPE = """
select i from t where [i, j] = [1, 2]
select [i, j] = [1, 2] from t
select [j, i] = [2, 1] from t
select case when i < 2 then [1] else [2] end from t
select case when i < 2 then [i] else [j] end from t
select case i when 1 then ['a'] when 2 then ['b'] else ['c', 'd'] end from t
select if(i < 2, [1], [2]) from t
select array_agg(i) = array_agg(-i) from t
select array_agg(i) is distinct from array_agg(-i) from t
select j, array_agg(i) = array_agg(-i) from t group by j
select list(i) <> list(j), list(i order by i) < list(j order by j) from t
select array_agg(i) over (order by j) = array_agg(-i) over (order by j) from t
select [1] = [2], [1] = [1], [1] < [2], [[1], [2]] = [[1], [3]]
select [i] < [2], [i, j] = [j, i], [i, 1] = [j, 1] from t
select [i, j] in ([1, 2], [2, 2]), [i] in ([1], [3]) from t
select [i] = [2] and [j] = [2] from t
select coalesce(l, [1]), coalesce([i], [1]), nullif([i], [1]) from t
select [1, 2] union all select [3, 4]
"""


def queries(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def assert_values_agree(query: str, device: str = "cpu") -> None:
    theirs = duckdb_exact()
    theirs.register("t", T)
    ours = connect(device).register("t", T).sql(query).arrow()
    assert differences(ours, theirs.sql(query).to_arrow_table()) == []


@pytest.mark.parametrize("query", queries(OF_EQUAL_SHAPE))
def test_lists_of_equal_shape_are_told_apart(query: str) -> None:
    assert_values_agree(query)
