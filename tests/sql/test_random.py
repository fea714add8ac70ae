"""Random queries of the supported family over random tables agree with DuckDB."""

import random

import duckdb
import pyarrow as pa
import pytest

from drawloom.sql import connect
from tests.sql.compare import differences
from tests.sql.random_queries import Queries, random_table

ROWS = [0, 1, 2, 31, 32, 33, 97, 1000]


def check(seed: int, runs_on: str, queries: int) -> None:
    rng = random.Random(seed)
    table: pa.Table = random_table(rng, rng.choice(ROWS))
    ours = connect("cpu" if runs_on == "interpreter" else runs_on)
    ours.register("t", table)
    theirs = duckdb.connect()
    theirs.register("t", table)
    made = Queries(rng)
    for _ in range(queries):
        query = made.query()
        wanted = theirs.sql(query).to_arrow_table()
        if runs_on == "interpreter":
            result = ours.sql(query).query.program().interpret().to_arrow()
        else:
            result = ours.sql(query).arrow()
        assert differences(result, wanted) == [], query


@pytest.mark.parametrize("seed", range(5000, 5080))
def test_the_interpreter_agrees_with_duckdb(seed: int) -> None:
    check(seed, "interpreter", 4)


@pytest.mark.parametrize("seed", range(20))
def test_the_reference_device_agrees_with_duckdb(seed: int) -> None:
    check(seed, "reference", 3)


@pytest.mark.parametrize("seed", range(1000, 1020))
def test_the_cpu_agrees_with_duckdb(seed: int) -> None:
    check(seed, "cpu", 2)
