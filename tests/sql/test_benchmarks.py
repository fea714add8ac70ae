"""The Star Schema Benchmark's 13 queries and ClickBench's 43 over small tables give DuckDB's answers, row for row."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql import clickbench, star_schema
from tests.sql.compare import differences, duckdb_exact

Connections = tuple[drawloom.Connection, duckdb.DuckDBPyConnection]


def connections(tables: dict[str, pa.Table]) -> Connections:
    ours, theirs = connect("cpu"), duckdb_exact()
    for name, table in tables.items():
        ours.register(name, table)
        theirs.register(name, table)
    return ours, theirs


@pytest.fixture(scope="module")
def star() -> Iterator[Connections]:
    yield connections(star_schema.tables(1, 30_000))


@pytest.fixture(scope="module")
def views() -> Iterator[Connections]:
    yield connections({"hits": clickbench.hits(2, 5000)})


def agree(both: Connections, query: str) -> None:
    result, wanted = both[0].sql(query).arrow(), both[1].sql(query).to_arrow_table()
    assert differences(result, wanted, ordered=True) == []
    assert wanted.num_rows > 0


@pytest.mark.parametrize("query", star_schema.QUERIES.values(), ids=star_schema.QUERIES.keys())
def test_the_star_schema_agrees_with_duckdb(star: Connections, query: str) -> None:
    agree(star, query)


@pytest.mark.parametrize("query", clickbench.QUERIES, ids=[f"q{i}" for i in range(len(clickbench.QUERIES))])
def test_clickbench_agrees_with_duckdb(views: Connections, query: str) -> None:
    if "order by" not in query and "userid =" in query:
        query += " order by 1"
    agree(views, query)


def test_all_of_the_queries_are_here() -> None:
    assert (len(star_schema.QUERIES), len(clickbench.QUERIES)) == (13, 43)
