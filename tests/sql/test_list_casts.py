"""Casts of texts to lists, and of lists to texts and to other lists: beside DuckDB, by rows."""

import random

import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.listtexts import split_list
from drawloom.sql import Connection, connect
from tests.sql.compare import differences, duckdb_exact

WORDS = pa.list_(pa.string())
T = pa.table(
    {
        "i": pa.array([1, 2, 3, 4, 5, 6, None], pa.int32()),
        "s": ["[1, 2]", "[]", " [ NULL ,'3'] ", "[4.5]", "[[1]]", "x", None],
        "p": ["[[1, NULL], NULL, []]", "[]", "['[1]', [2] ]", "[[1],]", "[1]", "[[a]", None],
        "w": ["a, b", "it's", "", "null", '"q"', " z", None],
        "l": pa.array([["1", None], [], ["x"], None, ["2"], ["3", "3"], ["a, b", "", "NULL", "it's"]], WORDS),
        "m": pa.array([[["1"], None], [[]], [], None, [["a, b", None]], [["2", "3"], ["4"]], [[None]]],
                      pa.list_(WORDS)),
        "x": [1.5, 2.5, -0.5, 1e20, None, 3.0, float("nan")],
    }
)  # fmt: skip
QUERIES = """
select i, try_cast(s as int[]) from t
select i, try_cast(s as varchar[]), try_cast(s as double[]), try_cast(s as decimal(5, 1)[]) from t
select i, try_cast(p as int[][]), try_cast(p as varchar[][]), try_cast(p as varchar[]) from t
select i, s::int[] from t where i < 4
select i, cast(s as varchar[]) from t where i <> 6
select i, cast('[' || i || ', ' || coalesce(w, 'NULL') || ']' as varchar[]) from t where i <> 2
select i, (('[' || i || ',' || (i + 1) || ']')::int[])[1], len(('[' || i || ']')::int[]) from t
select unnest(cast('[' || i || ',NULL]' as bigint[])) from t
select cast('[' || i || ']' as int[]) as y, count(*) from t group by y
select i from t where cast('[' || i || ']' as int[]) = [3]
select i, case when i < 4 then s::int[] when i = 5 then [7] end from t
select i, case when i < 4 then cast(s as int[]) else cast('[0]' as int[]) end from t where i is not null
select i, case when i > 10 then cast('x' as int[]) end, case when i > 10 then cast(w as int[]) end from t
select i, coalesce(try_cast(s as int[]), [0]), try_cast(s as int[]) || [9] from t
select i, cast(w as int[]) from t where false
select i, cast(l as int[]) from t where i in (1, 2, 4, 5, 6)
select i, case when i in (1, 5) then cast(l as int[]) end from t
select i, try_cast(l as int[]), try_cast(m as int[][]), cast(m as varchar[]) from t
select i, l::varchar, m::varchar, [w]::varchar, [[w]]::varchar, [x]::varchar, [i, NULL]::varchar, [i = 1]::text from t
select i, l::varchar::varchar[], m::varchar::varchar[][], [w]::varchar::varchar[] from t
select i, array_to_string(l, '-'), array_to_string(m, '-'), array_to_string([l], NULL) from t
select i, [date '2024-01-02', NULL]::varchar, [timestamp '2024-01-02 03:04:05', NULL]::varchar, [1.50]::varchar from t
select ('[1' || ',2]')::int[], ('[a' || ',b]')::varchar[], [2]::varchar::varchar[], cast([1.5, 2.4] as int[])
select '[ ]'::int[], '["a"b, c''d''e, \\"]'::varchar[], '[{a, b}, (c, d), [e, f]]'::varchar[], NULL::varchar::int[]
select try_cast('x' as int[]), try_cast('[1, x]' as int[]), try_cast('[[1], x]' as int[][]), '[]'::int[] from t
with w as (select s::varchar[] as a from t where i < 3) select a, a[1], len(a) from w
select v.a, t.i from t left join (select '[' || i || ']' as a from t) v on v.a::int[] = [t.i] where t.i < 3
"""
ERRORS = [
    ("select cast(s as int[]) from t where i = 6", "Type VARCHAR with value 'x' can't be cast to the destination type "
     "INTEGER[] in cast(s as integer[])"),
    ("select s::decimal(5, 1)[] from t where i = 6", "can't be cast to the destination type DECIMAL(5,1)[]"),
    ("select p::int[][] from t where i = 6", "Type VARCHAR with value '[[a]' can't be cast to the destination type "
     "INTEGER[][]"),
    ("select p::int[][] from t where i = 5", "Type VARCHAR with value '1' can't be cast to the destination type "
     "INTEGER[] in cast(p as integer[])"),
    ("select s::int[] from t where i = 5", "cannot convert the text '[1]' to integer"),
    ("select 'x'::varchar[]", "query:1:8: Type VARCHAR with value 'x' can't be cast to the destination type VARCHAR[]"
     " in cast('x' as varchar[])"),
    ("select i, cast( s as int []) from t where i = 6", "query:1:11: Type VARCHAR with value 'x'"),
    ("select i::int[] from t", "cast: integer to list of integer"),
    ("select case when i < 4 then s::int[] else w::int[] end from t",
     "can't be cast to the destination type INTEGER[]"),
]  # fmt: skip


@pytest.fixture(scope="module")
def ours() -> Connection:
    return connect("cpu").register("t", T)


@pytest.mark.parametrize("query", [line for line in QUERIES.splitlines() if line])
def test_casts_of_lists_agree_with_duckdb(query: str, ours: Connection) -> None:
    theirs = duckdb_exact()
    theirs.register("t", T)
    assert differences(ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


@pytest.mark.parametrize(("query", "said"), ERRORS)
def test_texts_that_are_not_lists_are_errors_in_duckdbs_words(query: str, said: str, ours: Connection) -> None:
    with pytest.raises(drawloom.Error) as refusal:
        ours.sql(query).arrow()
    assert said in str(refusal.value)


def test_texts_of_lists_are_split_as_duckdb_splits_them() -> None:
    rng = random.Random(17)
    pieces = [*"[]()[]{}'\"'\\,,ab \t\v:", "NULL", "'a'", '"b"', "[a]", "\\'"]
    texts = ["".join(rng.choices(pieces, k=rng.randint(0, 8))) for _ in range(20_000)]
    texts = [f"[{text}]" if rng.random() < 0.9 else text for text in texts]
    theirs = duckdb_exact()
    theirs.register("texts", pa.table({"s": texts}))
    wanted = theirs.sql("select try_cast(s as varchar[]) from texts").fetchall()
    assert [(text, split_list(text)) for text in texts] == [(text, found) for text, (found,) in zip(texts, wanted)]


def test_a_long_text_of_a_list_is_split_in_linear_memory() -> None:
    """The text was there once for each of its elements: 50,000 copies of 290,000 characters."""
    many = 50_000
    table = pa.table({"s": ["[" + ",".join(map(str, range(many))) + "]", "[1]"]})
    connection = connect("cpu", memory_limit="1GB").register("t", table)
    assert connection.sql("select sum(x) from (select unnest(s::int[]) as x from t)").fetchall() == [
        (many * (many - 1) // 2 + 1,)
    ]
