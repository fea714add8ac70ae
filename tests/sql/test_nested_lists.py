"""Functions of lists over lists of lists: beside DuckDB. What has several orders there is sorted or counted."""

import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import Connection, connect
from tests.sql.compare import differences, duckdb_exact
from tools.fuzz_sql import check

INTEGERS = pa.list_(pa.int32())
WORDS = pa.list_(pa.string())
T = pa.table(
    {
        "i": pa.array([1, 2, 3, None], pa.int32()),
        "j": pa.array([2, 2, 5, 1], pa.int32()),
        "s": ["a,b", "", None, "c,,d"],
        "l": pa.array([[1, 2, None], [], None, [3, 3]], INTEGERS),
        "n": pa.array([["a", None, "b"], [], None, ["c"]], WORDS),
        "m": pa.array([[[1], [2, None], None, [1]], [], None, [[3], []]], pa.list_(INTEGERS)),
        "w": pa.array([[["a"], ["a"], [None]], None, [None, []], []], pa.list_(WORDS)),
        "d": pa.array([[[[1], []], [[2]]], [], None, [None, [None]]], pa.list_(pa.list_(INTEGERS))),
        "st": pa.array([[{"a": 1}], [], None, [None]]),
    }
)
QUERIES = """
select i, list_sort(list_distinct(m)), list_sort(list_distinct(w)), len(list_distinct(d)) from t
select i, list_sort(list_distinct([l, l, [i]])), len(list_distinct([[1], [1], NULL])) from t
select list_sort(list_distinct([[2], [1], [2]])), list_distinct([[NULL]]), list_distinct([NULL::int[]])
select i, concat(m, m), concat(m, NULL), concat(NULL, w), concat(m, [[7]]), concat([[i]], [l], m) from t
select i, concat(m, [NULL]), concat([[1]], []), concat(m, [[]]), list_concat(w, [n, NULL]), concat(d, [m]) from t
select i, m || m, m || [l], [l] || [[i]], w || [['z']], m || [[1]], d || d from t
select [[1], [2]] || [[3]]
select concat([[1]], NULL), concat([[1]], [NULL]), concat([['a']], [['b'], NULL])
select i, len(m), length(w), len(m[1]), length([n]), len(d[1][1]), len([[1], [2]]) from t
select i, flatten(m), flatten(w), flatten(d), flatten(flatten(d)), flatten([m, m]), flatten([d]) from t
select flatten(NULL::int[][]), flatten([[['a']]]), len(NULL::int[][]), array_to_string(NULL::int[][], ',')
select i, array_to_string(m, '-'), array_to_string(w, NULL), array_to_string(d, ';'), array_to_string([l], '-') from t
select array_to_string([[1, 2], NULL, [NULL]], '-'), array_to_string([['a, b', NULL], []], ',')
select i, string_split(s, ','), [string_split(s, ','), n], [string_split(s, '')] || w from t
select string_split('', ''), string_split('', ','), string_split('a', ''), string_split(NULL, '')
select i, list_append(m, l), list_append(m, NULL), list_prepend(l, m), list_prepend(NULL, m), list_append(w, n) from t
select i, list_sort(m), list_sort(m, 'DESC'), list_sort(w), list_reverse(m), list_sort(d) from t
select i, m[1], m[-1], m[2:], m[1:1], d[1][1][1], list_slice(w, 1, 2) from t
select i, list_contains(m, [1]), list_contains(m, l), list_position(m, [2, NULL]), list_position(m, NULL) from t
select i, list_contains(l, NULL), list_contains(n, NULL), list_contains(m, NULL) from t
select i, m = m, m < [[i]], m is distinct from [[1]], m in ([[3], []]) from t
select i, case when i < 2 then m else [[j]] end, coalesce(m, [l]), coalesce(w, [n]) from t
select m, count(*) from t group by m
select count(distinct m), count(distinct w) from t
select i, unnest(m), unnest(m || [[i]]) from t
select array_agg(m order by j), array_agg(m order by j)[1][1] from t
select a.i, b.j from t a join t b on a.m = b.m
select m from t union select [l] from t
select i, m::bigint[][], m::varchar[][]::int[][], [n]::varchar[] from t
"""


@pytest.fixture(scope="module")
def ours() -> Connection:
    return connect("cpu").register("t", T)


@pytest.mark.parametrize("query", [line for line in QUERIES.splitlines() if line])
def test_lists_of_lists_agree_with_duckdb(query: str, ours: Connection) -> None:
    theirs = duckdb_exact()
    theirs.register("t", T)
    assert differences(ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


def test_the_greatest_of_lists_of_lists() -> None:
    """DataFusion's function, which DuckDB calls list_max."""
    connection = connect("cpu").register("t", T)
    assert connection.sql("select array_max(m), array_min(m) from t order by j desc, i").fetchall() == [
        (None, None), ([2, None], [1]), (None, None), ([3], []),
    ]  # fmt: skip


@pytest.mark.parametrize("function", ["list_distinct(st)", "list_sort(st)", "concat(st, st)", "list_reverse(st)"])
def test_lists_of_structs_are_refused(function: str, ours: Connection) -> None:
    with pytest.raises(drawloom.UnsupportedError, match="structs"):
        ours.sql(f"select {function} from t").arrow()


@pytest.mark.parametrize("seed", range(30_000, 30_040))
def test_random_expressions_of_lists_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", lists=True) == []


@pytest.mark.parametrize("seed", range(31_000, 31_010))
def test_random_expressions_of_lists_on_the_cpu_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2, lists=True) == []
