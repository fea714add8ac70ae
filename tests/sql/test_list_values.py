"""Lists by their values, not their shapes, and NULL lists and texts in every function: beside DuckDB.

A line is a query for both sides. Types are compared where ``assert_agrees`` does; here constants are int64 for us and
int32 for DuckDB, so values are what count.
"""

import datetime
import time

import duckdb
import pyarrow as pa
import pytest

from drawloom.errors import Error
from drawloom.sql import Connection, connect
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
        "deep": [{"l": [1, None], "s": {"a": 1}}, {"l": [1], "s": {"a": 1}}, {"l": [1, None], "s": {"a": None}}, None],
        "ts": [datetime.datetime(2024, 1, 1, h) for h in (1, 11, 12, 23)],
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


@pytest.fixture(scope="module")
def ours() -> Connection:
    return connect("cpu").register("t", T)


@pytest.fixture(scope="module")
def theirs() -> duckdb.DuckDBPyConnection:
    connection = duckdb_exact()
    connection.register("t", T)
    return connection


def assert_values_agree(text: str, ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    """Every query of a text gives DuckDB's values."""
    found: list[str] = []
    for query in queries(text):
        wanted = theirs.sql(query).to_arrow_table()
        try:
            made = ours.sql(query).arrow()
        except Error as problem:
            found.append(f"{query}: {problem}")
            continue
        found.extend([f"{query}: {line}" for line in differences(made, wanted)])
    assert found == []


def test_lists_of_equal_shape_are_told_apart(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(OF_EQUAL_SHAPE, ours, theirs)


NULLS = """
select list_sort(list(distinct x) filter (where i > 1)), list_sort(list(distinct s) filter (where j = 2)) from t
select list(distinct i) filter (where i > 100), count(distinct x) filter (where i > 1) from t
select j, list_sort(array_agg(distinct i) filter (where i > 1)), sum(distinct i) filter (where i > 1) from t group by j
select regexp_matches(NULL, '.*'), strftime(NULL, '%p')
select s, regexp_matches(s, '.*'), regexp_matches(s, NULL) from t
select i, strftime(ts, '%p'), strftime(case when i > 1 then ts end, '%p'), strftime(ts, NULL) from t
select regexp_replace(s, NULL, 'b'), regexp_replace(s, 'a', NULL) from t
select array_to_string(n, ','), array_to_string(n, NULL), array_to_string(NULL, ','), array_to_string(NULL, NULL) from t
select list_position(NULL, NULL), list_position(NULL, 1), list_position([1], NULL), list_position(l, NULL) from t
select list_slice(NULL, 1, 2), array_length(NULL), list_contains(NULL, 1), list_extract(NULL, 1) from t
select unnest(NULL::int[])
select i, unnest(NULL::int[]) from t
select * from unnest(NULL::int[])
select unnest(generate_series(NULL, 3))
select list_sort(list_distinct(l)), list_sort(list_distinct(n)) from t
select string_split(s, ',') from t
"""
ONE_SET = """
select i, sum(j) from t group by grouping sets ((i))
select sum(j), count(*) from t group by grouping sets (())
select count(*) from t where i > 100 group by grouping sets (())
select i, j, count(*) from t group by grouping sets ((i, j))
select i, grouping(i), count(*) from t group by grouping sets ((i))
select i from t group by grouping sets ((i))
select 1 from t group by grouping sets (())
select i, sum(j) from t group by grouping sets ((i)) having sum(j) > 2 order by i
select i, j, s, count(*) from t group by grouping sets ((i, j)), grouping sets ((s))
select i, j, count(*) from t group by grouping sets ((i), (j)), grouping sets ((i), ())
select j, sum(i), s from t group by grouping sets ((s), (j, s)), grouping sets (())
select i, j, s, count(*) from t group by i, grouping sets ((j)), rollup(s)
select i, count(*) from (select i, j from t group by grouping sets ((i, j))) v group by i
"""
STRUCTS = """
select i, count(distinct st) over (), count(distinct deep) over (), count(distinct deep) over (partition by j) from t
select i, count(distinct st) over (order by i), count(distinct deep) over (order by i desc) from t
select i, count(distinct st) over (order by i rows between 1 preceding and current row) from t
select i, count(distinct deep) over (order by i rows between current row and unbounded following) from t where i > 1
"""
LATERAL = """
select * from t, lateral (values (t.i), (t.j)) v(z)
select i, z, y from t cross join lateral (values (t.i, 1), (t.j, 2)) v(z, y)
select i, z from t left join lateral (values (t.i)) v(z) on z > 1
select i, col0 from t, lateral (values (t.i + 1)) v
select i, max(z), count(*) from t, lateral (values (t.i), (t.j), (7)) v(z) group by i
"""
FROM_FIRST = """
select * from (from t) a, (select i as k from t) u
select * from (from t) a cross join (from t) b
select * from (from t) a join (select i as k from t) u on a.i = u.k
select * from (select i as k from t) u, (from t)
select i from (from t where i > 1) a, (values (1), (2)) v(z)
"""
CONSTANTS = """
select i, [1, NULL, 2], ['a', 'b'] from t
select i, unnest([1, 2]) from t
select list_contains([1, 2], i), list_position([3, 2, NULL], i), [5, 6, 7][i] from t
select [1.5, NULL], [true, false], [NULL, 'x'], [1, 2.5]
select unnest([1, 2]), unnest([3, 4, 5])
select list([1, 2]) from t
select j, [1, 2] || l, [i] || [7, 8], l = [3, 3] from t
select [1, 2], count(*) from t where i > 100
select [1, 2] from t where i > 100
"""
FUNCTIONS = """
select list_sort([3, NULL, 1]), list_sort([1, 2], 'DESC'), array_to_string([NULL], ','), array_to_string(['a'], NULL)
select length([]), len([]), length([1, 2]), len(['a', NULL]), length(NULL::int[])
select length(l), len(l), length(n), length(nested), len(s), length(s) from t
select flatten([NULL]), flatten([[]]), flatten([[1], NULL, [2, NULL]]), flatten([]), flatten(NULL)
select flatten(nested), flatten([l, [i]]), flatten([n]) from t
select list_sort(list_distinct([1, 1, NULL])), list_distinct([]), list_sort(list_distinct([i, j, j])) from t
select concat([1], [2]), concat([1], NULL), concat(NULL, [1]), list_concat([], [1]), array_cat([1], [NULL])
select concat(l, [i]), list_concat(l, l), concat(n, ['z'], NULL), list_cat([], l), array_concat([NULL], n) from t
select concat(s, 'x'), concat('a', i), concat(NULL, 'x'), l || [i], list_concat(l, [i]), l || NULL, [] || l from t
select array_to_string([1, NULL, 3], ','), array_to_string([], ','), array_to_string(l, '-') from t
select string_split('a,b', ','), string_split('', ','), string_split('', ''), string_split('äb', '')
select string_split(NULL, ','), string_split('a,b', NULL), str_split('a,,b', ',,'), split('a', ',')
select string_split(s, ','), string_split(s, s), str_split(s, ''), string_split(s, case when i > 1 then ',' end) from t
select len(flatten([l, [i]])), len(string_split(s, ',')), length(concat(l, l)) from t where length(l) > 0
select j, sum(len(l)) from t group by j having sum(len(l)) > 0
select len(array_agg(i)), length(concat(array_agg(i), [1])) from t
with w as (select [i, j] as a from t) select len(a), concat(a, a) from w
select i, unnest(concat(l, [i])), unnest(string_split(s, ',')) from t
select [[1, 2], [3]], [[]], [[1], NULL], [['a'], [NULL]]
"""
TEXTS = """
select '[1, 2]'::int[], '[]'::int[], '[1,NULL]'::int[], ' [1] '::int[], '[ ]'::int[], '[1.5,2]'::int[]
select '[a, b]'::varchar[], '[NULL, null, "NULL"]'::varchar[], '[,]'::varchar[], '[a,,b]'::varchar[]
select '[ a , "b c", ''d'']'::varchar[], '["a\\"b"]'::varchar[], '[(a,b)]'::varchar[], '[{a,b}]'::varchar[]
select '[[1,2],NULL,[]]'::int[][], '[2024-01-02]'::date[], cast('[1.25]' as decimal(4, 2)[]), try_cast('[x]' as int[])
select i, '[1, 2]'::int[] from t where [i, j] = cast('[1, 2]' as int[])
"""
REFUSED = """
select array_agg(distinct st) over () from t
select concat([1], 2)
select concat([1], ['a'])
select flatten([1, 2])
select flatten(l) from t
select [1] || NULL
select cast(s as int[]) from t
"""


def test_null_lists_and_texts_are_null(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(NULLS, ours, theirs)


def test_one_grouping_set_is_as_good_as_several(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(ONE_SET, ours, theirs)


def test_a_subquery_that_is_a_from_has_all_columns(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(FROM_FIRST, ours, theirs)


@pytest.mark.parametrize("query", queries(REFUSED))
def test_what_has_other_values_in_the_planner_is_refused(query: str, ours: Connection) -> None:
    with pytest.raises(Error):
        ours.sql(query).fetchall()


def test_series_of_moments_are_made_in_linear_time() -> None:
    """Of 20,161 elements each was a statement of the program, which took minutes."""
    query = """select count(*), max(v) from (select unnest(generate_series(timestamp '2020-01-01',
        timestamp '2020-01-15',
        interval 1 minute)) as v)"""
    begin = time.process_time()
    assert connect("cpu").sql(query).fetchall() == [(20_161, datetime.datetime(2020, 1, 15))]
    assert time.process_time() - begin < 15


def test_constant_lists_are_one_list_for_all_rows(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(CONSTANTS, ours, theirs)


def test_distinct_structs_are_counted_over_windows(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(STRUCTS, ours, theirs)


def test_lateral_values_are_rows_beside_each_row(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(LATERAL, ours, theirs)


def test_functions_of_lists_have_duckdbs_values(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(FUNCTIONS, ours, theirs)


def test_texts_are_cast_to_lists(ours: Connection, theirs: duckdb.DuckDBPyConnection) -> None:
    assert_values_agree(TEXTS, ours, theirs)


@pytest.mark.parametrize("text", ["1", "[1", "[]x", "[a]b]", "", "1]", "[1,]"])
def test_texts_that_are_no_lists_are_errors_with_their_place(text: str, ours: Connection) -> None:
    with pytest.raises(Error, match=r"cannot convert|query:1:8: Type VARCHAR with value"):
        ours.sql(f"select '{text}'::int[]").fetchall()
    assert ours.sql(f"select try_cast('{text}' as int[])").fetchall() == [([1, None] if text == "[1,]" else None,)]
