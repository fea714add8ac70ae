"""TPC-H from SQL text over Parquet: the same types and values as DuckDB, bit for bit."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from drawloom.horse.outline import MODES
from drawloom.runtime.machine import device
from drawloom.sql import Connection, connect, tpch
from tests.sql.compare import duckdb_exact
from tests.sql.queries import Q1, Q6


def expected(query: str, lineitem: str, connection: duckdb.DuckDBPyConnection | None = None) -> pa.Table:
    connection = connection or duckdb_exact()
    connection.execute(f"create view lineitem as select * from '{lineitem}'")
    return connection.sql(query).to_arrow_table()


@pytest.fixture(scope="module")
def answers(tables: dict[str, Path]) -> dict[int, pa.Table]:
    """DuckDB's answers to all queries."""
    connection = duckdb_exact()
    for name, path in tables.items():
        connection.execute(f"create view {name} as select * from '{path}'")
    return {query: connection.sql(tpch.text(query)).to_arrow_table() for query in tpch.QUERIES}


@pytest.fixture(scope="module", params=["cpu", "reference"])
def connection(request: pytest.FixtureRequest, tables: dict[str, Path]) -> Connection:
    made = connect(str(request.param))
    for name, path in tables.items():
        made.register(name, path)
    return made


@pytest.mark.parametrize("query", tpch.QUERIES)
def test_equals_duckdb(query: int, connection: Connection, answers: dict[int, pa.Table]) -> None:
    assert_equal(connection.sql(tpch.text(query)).arrow(), answers[query])


@pytest.mark.parametrize("connection", ["cpu"], indirect=True)
@pytest.mark.parametrize("query", tpch.QUERIES)
def test_equals_duckdb_with_less_outlined(query: int, connection: Connection, answers: dict[int, pa.Table]) -> None:
    counts = []
    for mode in MODES:
        relation = connection.sql(tpch.text(query), outline=mode)
        assert_equal(relation.arrow(), answers[query])
        counts.append(len(relation.query.program().plans))
    assert counts[0] >= counts[1]


@pytest.mark.parametrize("connection", ["cpu"], indirect=True)
@pytest.mark.parametrize("query", tpch.QUERIES)
def test_the_interpreter_equals_duckdb(query: int, connection: Connection, answers: dict[int, pa.Table]) -> None:
    program = connection.sql(tpch.text(query)).query.program()
    assert_equal(program.interpret().to_arrow(), answers[query])
    assert_equal(program.interpret_outlined().to_arrow(), answers[query])


@pytest.mark.parametrize("connection", ["cpu"], indirect=True)
@pytest.mark.parametrize("query", [3, 9, 13, 18, 21])
def test_kernels_for_every_call_equal_duckdb(query: int, connection: Connection, answers: dict[int, pa.Table]) -> None:
    assert_equal(connection.sql(tpch.text(query), library="kernels").arrow(), answers[query])


def assert_equal(result: pa.Table, wanted: pa.Table) -> None:
    assert result.schema.types == wanted.schema.types
    assert result.rename_columns(wanted.column_names).to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("query", [Q1, Q6], ids=["q1", "q6"])
def test_equals_duckdb_at_scale_1(query: str, lineitem_of_scale_1: str) -> None:
    """DuckDB as it comes, and without the rewrite of avg: over Parquet they agree on these queries at this scale."""
    result = connect("cpu").register("lineitem", lineitem_of_scale_1).sql(query).arrow()
    for connection in (duckdb.connect(), duckdb_exact()):
        wanted = expected(query, lineitem_of_scale_1, connection)
        assert result.schema == wanted.schema
        assert result.rename_columns(wanted.column_names).to_pylist() == wanted.to_pylist()


@pytest.fixture(scope="module")
def larger(larger_tables: dict[str, Path]) -> tuple[Connection, tpch.Oracle]:
    """The larger tables, here and in DuckDB."""
    return tpch.connected(device("cpu"), larger_tables), tpch.Oracle(larger_tables, threads=1)


@pytest.mark.parametrize("query", tpch.QUERIES)
def test_equals_duckdb_at_larger_scales(query: int, larger: tuple[Connection, tpch.Oracle]) -> None:
    connection, oracle = larger
    wanted = oracle.answer(tpch.text(query))
    assert wanted.num_rows > 0
    for mode in MODES:
        assert tpch.difference(query, connection.sql(tpch.text(query), outline=mode).arrow(), wanted) == ""


def test_averages_are_the_exact_quotients_rounded_once(lineitem: str) -> None:
    connection = connect("cpu").register("lineitem", lineitem)
    query = "select l_suppkey, avg({0}) as a, sum({0}) as s, count(*) as n from lineitem group by l_suppkey"
    for column in ("l_quantity", "l_extendedprice", "l_discount", "l_orderkey"):
        for _, a, s, n in connection.sql(query.format(column)).fetchall():
            assert a == float(Fraction(s) / n)


def test_each_query_is_one_kernel(lineitem: str) -> None:
    """One over the rows of the table: Q1 has another that puts the groups into their order."""
    connection = connect("cpu")
    connection.register("lineitem", lineitem)
    for query in (Q1, Q6):
        plans = connection.sql(query).query.program().plans
        assert [name for name, plan in plans.items() if plan.is_stored] == ["main_0"]
        assert [name for name, plan in plans.items() if plan.only_picks] == (["main_1"] if query == Q1 else [])


def test_nothing_is_checked_that_the_columns_bounds_prove(lineitem: str) -> None:
    """At TPC-H's own value ranges every product and sum fits 64 bits."""
    connection = connect("cpu")
    connection.register("lineitem", lineitem)
    for query in (Q1, Q6):
        plan = connection.sql(query).query.program().plans["main_0"]
        assert plan.errors == []
        assert {a.kind for a in plan.accumulators} == {"i64", "count"}
