"""Stars with EXCLUDE, REPLACE and LIKE choose the columns that they do in DuckDB, in any case and by any pattern."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from drawloom.errors import Error
from drawloom.sql import Connection, connect
from tests.sql.compare import differences, duckdb_exact

T = pa.table({"i": [1, 2, None], "j": [4, 5, 6], "s": ["a", None, "c"], "st": [1.5, 2.5, 3.5]})
QUERIES = """
select * replace (i + 1 as "J") from t
select * replace (i + 1 as j) from t
select t.* replace (i + 1 as "J", upper(s) as s) from t
select * exclude ("J") from t
select * exclude "J" from t
select * exclude (i, "ST") replace (i + 1 as "J") from t
select * ilike 'S%' from t
select * like 's%', 1 as one from t
select t.* not like 's%' from t where i > 1
select * not ilike 'S_' from t
select distinct * like 'j' from t
select * from (select * ilike 'I' from t) v
with w as (select i as "Abc", j as abd from t) select * like 'A%' from w
select * exclude (i) like '_' from t
select a.* like 'i', b.* replace (a.j as "J") from t a join t b on a.i = b.i
select s, i * length(replace(s, 'a', '1')) as x from t
"""
FOLDED = """
select * replace (i + 1 as J) from t
select * exclude (J) from t
select * replace (replace(s, 'a', 'b') as S) from t
"""
REFUSED = [
    ("select * replace (i + 1 as zzz) from t", 'query:1:28: Column "zzz" in REPLACE list not found in FROM clause'),
    ('select * replace (i as j, 2 as "J") from t', "query:1:8: a column stands twice"),
    ("select * like 'zz%' from t", "query:1:8: the star has no column left"),
    ("select * ilike 'i' as q from t", "query:1:20"),
    ("select * ilike 'i' from t a, t b", "* with LIKE, EXCLUDE or REPLACE where"),
    ("select * ilike s from t", "query:1:16: Expected: ilike pattern"),
]


@pytest.fixture(scope="module")
def ours() -> Connection:
    return connect("cpu").register("t", T)


@pytest.fixture(scope="module")
def theirs() -> duckdb.DuckDBPyConnection:
    connection = duckdb_exact()
    connection.register("t", T)
    return connection


@pytest.mark.parametrize("query", [line for line in QUERIES.splitlines() if line])
def test_stars_choose_the_columns_that_they_name(
    query: str, ours: Connection, theirs: duckdb.DuckDBPyConnection
) -> None:
    made, wanted = ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()
    assert made.column_names == wanted.column_names
    assert differences(made, wanted) == []


@pytest.mark.parametrize("query", [line for line in FOLDED.splitlines() if line])
def test_names_without_quotes_are_found_in_any_case(
    query: str, ours: Connection, theirs: duckdb.DuckDBPyConnection
) -> None:
    assert differences(ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


@pytest.mark.parametrize("query, message", REFUSED)
def test_stars_without_such_columns_are_errors_with_their_place(query: str, message: str, ours: Connection) -> None:
    with pytest.raises(Error) as found:
        ours.sql(query).fetchall()
    assert message in "\n".join([str(found.value), *getattr(found.value, "items", [])])
