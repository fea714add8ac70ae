"""Columns of one name: the values are DuckDB's, and so are the names where it does not make them up."""

import json

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.sql import command
from tests.sql.compare import differences

TABLE = pa.table({"a": [1, 2, 3], "b": [3, 4, 4], "l": [[1, 2], [], [3]]})
OTHER = pa.table({"k": [1, 2], "a": [7, 8]})

NAMED = [
    "select a, a from t",
    "select a, a as a, b + 1 as a from t",
    "select a as x, b as x from t order by 1",
    "select a x, a y, b x from t",
    "select *, a from t",
    "select *, b + 1 as a from t order by 2",
    "select t.a, u.a, t.a from t join u on t.a = u.k",
    "select t.*, u.k as a, t.a from t, u where k = t.a",
    "select * from (select a, a from t) q where q.a < 3",
    "select q.a_1 + 1 as n, q.a from (select a, a from t) q",
    "with q as (select a, a, b as a from t) select * from q",
    "select * from (select t.a, u.a from t join u on t.a = u.k) q",
    "select q.a_1 from (select t.a, u.a from t join u on t.a = u.k) q",
    "select a, a from t union all select k, a from u",
    "select distinct b, b from t",
    "select (select max(k) from u) as a, a from t",
    "select a, row_number() over (order by a desc) as a from t",
    "select unnest(l) as a, a from t",
    "select max(a) m, min(a) m from t group by b",
    "select a, a from t where a in (select k from u) order by a limit 1",
]
UNNAMED = ["select count(*), count(*) from t", "select a + 1, a + 1 from t", "select 1, 1",
           "select 1.15::decimal(5, 1), 1.15, cast(2.5 as int), cast(2.5 as bigint)",
           "select case when a = 1 then 2 end, case when a = 1 then 2 end from t"]  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> drawloom.Connection:
    return drawloom.connect(device="cpu").register("t", TABLE).register("u", OTHER)


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    return duckdb.connect().register("t", TABLE).register("u", OTHER)


@pytest.mark.parametrize("query", [*NAMED, *UNNAMED])
def test_columns_of_one_name(connection: drawloom.Connection, oracle: duckdb.DuckDBPyConnection, query: str) -> None:
    ours = connection.sql(query).arrow()
    assert not differences(ours, oracle.sql(query).arrow().read_all())
    names = [d[0] for d in oracle.execute(query).description]
    oracle.fetchall()
    assert query in UNNAMED or ours.column_names == names


def test_columns_that_the_planner_names_are_called_alike(connection: drawloom.Connection) -> None:
    names = connection.sql("select a + 1, b, a + 1 from t").arrow().column_names
    assert names[0] == names[2]
    assert "again" not in names[0]


def test_frames_have_names_with_numbers(connection: drawloom.Connection) -> None:
    relation = connection.sql("select a, b, a, a from t")
    assert relation.arrow().column_names == ["a", "b", "a", "a"]
    assert list(relation.df().columns) == ["a", "b", "a_1", "a_2"]
    assert relation.pl().columns == ["a", "b", "a_1", "a_2"]


def test_a_name_that_is_not_there_is_told_among_repeated_ones(connection: drawloom.Connection) -> None:
    with pytest.raises(drawloom.Error, match=r"1:11.*No field named nope"):
        connection.sql("select a, nope, nope from t").arrow()


def test_json_has_every_column() -> None:
    made = CliRunner().invoke(command, ["select 1 as a, 2 as a", "--format", "json"])
    assert json.loads(made.output) == {"a": 1, "a_1": 2}


def test_fallback_shows_the_names_that_were_asked_for(connection: drawloom.Connection) -> None:
    table = connection.sql("select a, a, arrow_typeof(b) as b from t", fallback="datafusion").arrow()
    assert table.column_names == ["a", "a", "b"]
