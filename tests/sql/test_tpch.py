"""TPC-H Q1 and Q6 from SQL text over Parquet: the same types and values as DuckDB, bit for bit."""

import duckdb
import pyarrow as pa
import pytest

from drawloom.sql import connect
from tests.sql.queries import Q1, Q6


def expected(query: str, lineitem: str) -> pa.Table:
    connection = duckdb.connect()
    connection.execute(f"create view lineitem as select * from '{lineitem}'")
    return connection.sql(query).to_arrow_table()


@pytest.mark.parametrize("query", [Q1, Q6], ids=["q1", "q6"])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_equals_duckdb(query: str, device: str, lineitem: str) -> None:
    connection = connect(device)
    connection.register("lineitem", lineitem)
    result = connection.sql(query).arrow()
    wanted = expected(query, lineitem)
    assert result.schema == wanted.schema
    assert result.to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("query", [Q1, Q6], ids=["q1", "q6"])
def test_the_interpreter_equals_duckdb(query: str, lineitem: str) -> None:
    connection = connect("cpu")
    connection.register("lineitem", lineitem)
    program = connection.sql(query).query.program()
    wanted = expected(query, lineitem)
    for module_result in (program.interpret(), program.interpret_outlined()):
        assert module_result.to_arrow().to_pylist() == wanted.to_pylist()


def test_each_query_is_one_kernel(lineitem: str) -> None:
    connection = connect("cpu")
    connection.register("lineitem", lineitem)
    for query in (Q1, Q6):
        assert list(connection.sql(query).query.program().plans) == ["main_0"]


def test_nothing_is_checked_that_the_columns_bounds_prove(lineitem: str) -> None:
    """At TPC-H's own value ranges every product and sum fits 64 bits."""
    connection = connect("cpu")
    connection.register("lineitem", lineitem)
    for query in (Q1, Q6):
        (plan,) = connection.sql(query).query.program().plans.values()
        assert plan.errors == []
        assert {a.kind for a in plan.accumulators} == {"i64", "count"}
