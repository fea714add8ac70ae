"""Columns that are lists and structs, of each other too, from memory and from files; beside DuckDB."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import duckdb_exact

T = pa.table(
    {
        "i": pa.array([1, -2, None, 0, 5, 7, 4, 3], pa.int32()),
        "k": pa.array([1, 2, 3, None, -3, 2, 1, 1], pa.int16()),
        "l": pa.array([[1, 2], [3], None, [], [4, None, 5], [6], [7, 8, 9], [1]], pa.list_(pa.int32())),
        "s": pa.array([["a", "b"], ["c"], None, [], ["d", None], ["e"], ["a", "a"], ["z"]], pa.list_(pa.string())),
        "st": pa.array(
            [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None, {"x": 3, "y": None}, {"x": 1, "y": "c"},
             {"x": 2, "y": "a"}, {"x": 4, "y": "e"}, {"x": 5, "y": "f"}],
            pa.struct([("x", pa.int32()), ("y", pa.string())]),
        ),
        "ll": pa.array([[[1, 2], [3]], [], None, [[None], None, [4]], [[]], [[5]], None, [[6, 7]]],
                       pa.list_(pa.list_(pa.int64()))),
        "ls": pa.array([[{"a": Decimal("1.5"), "b": True}, {"a": Decimal("2.5"), "b": None}], None, [],
                        [None, {"a": None, "b": False}], [], None, [{"a": Decimal("0.0"), "b": True}], []],
                       pa.list_(pa.struct([("a", pa.decimal128(5, 1)), ("b", pa.bool_())]))),
        "sl": pa.array([{"v": [1, 2], "w": {"z": 1.5}}, {"v": None, "w": None}, None, {"v": [], "w": {"z": None}}] * 2,
                       pa.struct([("v", pa.list_(pa.int32())), ("w", pa.struct([("z", pa.float64())]))])),
    }
)  # fmt: skip
QUERIES = {
    "all columns": "select * from t",
    "some rows": "select l, st, ls, i from t where i > 0 order by k desc, i",
    "elements": "select l[1] as a, l[-1] as b, s[2] as c, l is null as d from t",
    "texts": "select array_to_string(s, '-') as a from t",
    "elements as rows": "select i, unnest(l) as x from t",
    "elements in groups": "select x, sum(y) as z from (select unnest(l) as x, i as y from t) v group by x",
    "elements, joined": "select t.i, x.v from t cross join unnest(t.l) as x(v)",
    "elements, or NULL": "select t.i, x.v from t left join unnest(t.s) as x(v) on true",
    "elements in a value": "select i, (select sum(v) from unnest(l) x(v)) as y from t",
    "elements in EXISTS": "select i from t where exists (select 1 from unnest(t.l) x(v) where v > 4)",
    "elements of elements": "select x, unnest(x) as y from (select unnest(ll) as x from t) v",
    "structs that are elements": "select u.v, u.v.a as a from (select unnest(ls) as v from t) u",
    "lists in structs": "select t.sl.v[1] as a, t.sl.w.z as b, t.sl.w as c from t",
    "joins": "select a.l, b.st from t a left join t b on a.k = b.i",
    "fields": "select t.st.x as x, t.st['y'] as y, upper(t.st.y) as z from t where t.st.x > 1 or t.st.y = 'b'",
    "fields in groups": "select t.st.y as y, count(*) as c, sum(t.st.x) as s from t group by t.st.y",
    "fields in an order": "select t.st.x as x from t order by t.st.y desc, t.st.x limit 4",
    "fields of what has no partner": "select a.i, b.st.y as y from t a left join t b on a.k = b.i order by b.st.x, a.i",
    "fields in windows": "select i, sum(t.st.x) over (partition by t.st.y order by i) as s from t",
    "structs in windows and lists": """select i, lag(st) over (order by i) as a,
        first_value(l) over (order by i desc) as b from t where i is not null""",
    "values of subqueries": """select i, (select st from t where i = 1) as a, (select st from t where i = 2)['x'] as b,
        (select ls from t where i = 2) as c, (select st from t where i < 0) as d, (select st from t where i < 0)['y']
        as e from t""",
    "structs, gathered": "select k, array_agg(st order by i) as a from t group by k",
    "lists in groups": "select ll, count(*) as c from t group by ll",
    "counts": "select count(l) as a, count(st) as b, count(*) as c from t where st is not null or l is null",
}


def in_order(table: pa.Table) -> list[str]:
    return sorted([repr(row) for row in table.to_pylist()])


def check(query: str, table: object, plain: pa.Table) -> None:
    oracle = duckdb_exact()
    oracle.register("t", plain)
    wanted = oracle.sql(query).to_arrow_table()
    relation = connect("cpu").register("t", table).sql(query)
    result = relation.arrow()
    assert result.schema.names == wanted.schema.names
    assert in_order(result) == in_order(wanted)
    assert in_order(relation.query.program().interpret().to_arrow()) == in_order(wanted)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_lists_and_structs_agree_with_duckdb(query: str) -> None:
    check(query, T, T)


def test_a_table_of_several_pieces_and_one_of_no_rows() -> None:
    pieces = pa.concat_tables([T.slice(3, 3), T.slice(0, 2), T.slice(0, 0), T.slice(1, 7)])
    whole = pa.Table.from_pylist(pieces.to_pylist(), T.schema)  # DuckDB does not read pieces of structs
    for name in ("all columns", "elements as rows", "fields"):
        check(QUERIES[name], pieces, whole)
        check(QUERIES[name], T.slice(0, 0), T.slice(0, 0))


def test_a_file_and_files(tmp_path: Path) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part in zip(paths, (T.slice(0, 5), T.slice(5))):
        pq.write_table(part, path, row_group_size=2)
    for name in ("all columns", "elements as rows", "structs that are elements", "fields in groups"):
        check(QUERIES[name], [str(path) for path in paths], T)


def test_other_lists_are_lists() -> None:
    values = [[1, 2], None, [3, 4]]
    types = [pa.large_list(pa.int64()), pa.list_(pa.int64(), 2), pa.list_(pa.dictionary(pa.int32(), pa.string()))]
    for type in types:
        given = [["a", "b"], None, ["c", "d"]] if type is types[2] else values
        con = connect("cpu").register("t", pa.table({"l": pa.array(given, type)}))
        assert con.sql("select unnest(l) as x from t").fetchall() == [(x,) for row in given if row for x in row]
        assert con.sql("select l from t").fetchall() == [(row,) for row in given]


def test_a_table_that_is_registered_again_has_its_own_elements() -> None:
    con = connect("cpu").register("t", pa.table({"l": [[1], [2, 3]]}))
    assert con.sql("select unnest(l) as x from t").fetchall() == [(1,), (2,), (3,)]
    con.register("t", pa.table({"l": [["a"]]}))
    assert con.sql("select unnest(l) as x from t").fetchall() == [("a",)]
    assert con.tables() == ["t"]


def test_rows_in_brackets_compare_by_their_parts() -> None:
    for condition in ("(i, k) in ((1, 1), (5, -3))", "(i, k) not in ((1, 1), (5, -3))", "(i, k) = (1, 1)",
                      "(i, k) <> (1, 1)", "((i, k) = (1, 1)) is null"):  # fmt: skip
        check(f"select i, k from t where {condition}", T, T)


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("select st from t group by st", "structs to match, group or order by"),
        ("select st::varchar from t", "cast: a struct to text"),
        ("select max(st) from t", "aggregate function: max of structs"),
        ("select ls from t order by ls", "structs to match, group or order by"),
        ("select coalesce(st, st) from t", "CASE of structs"),
        ("select struct(i, k) from t", "function: struct, as rows in brackets are that nothing is compared with"),
        (
            "select count(distinct (i, k)) from t",
            "function: struct, as rows in brackets are that nothing is compared with",
        ),
    ],
)
def test_what_structs_are_not_taken_for(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connect("cpu").register("t", T).sql(query).arrow()
    assert item in refusal.value.items
