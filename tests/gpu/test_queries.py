"""SQL on a GPU: columns stay on the device, partial results come back, the answers are the interpreter's."""

import random

import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.kernels.workspace import SHARED, Block
from drawloom.sql import connect
from tests.sql.compare import differences
from tests.sql.random_queries import Queries, random_table

QUERIES = [
    "select sum(d * e), avg(d), count(*), min(f), max(dt) from t where i > -50 and s <> 'AIR'",
    "select s, k, sum(d), sum(b * k), max(f), count(n) from t group by s, k order by s, k",
    "select i, sum(d), min(e) from t group by i",
    "select i, n, count(*), sum(b) from t group by i, n",
    "select b, d * e as x, s2 from t where n is not null",
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return random_table(random.Random(11), 9000)


@pytest.mark.parametrize("query", QUERIES)
def test_queries(query: str, table: pa.Table, device: str) -> None:
    connection = connect(device).register("t", table)
    relation = connection.sql(query)
    assert differences(relation.arrow(), relation.query.program().interpret().to_arrow()) == []
    assert relation.profile().kernels


def test_columns_are_copied_to_the_device_once(table: pa.Table, device: str) -> None:
    connection = connect(device).register("t", table)
    addresses = []
    for limit in (1, 2, 3):
        connection.sql(f"select sum(d), sum(b) from t where i > {limit}").arrow()
        blocks = [connection.sources["t"].column(name).vector.block for name in ("d", "b", "i")]
        assert all(isinstance(block, Block) and block.state == SHARED for block in blocks)
        addresses.append([block.read_device().address for block in blocks if isinstance(block, Block)])
    assert addresses[0] == addresses[1] == addresses[2]


def test_an_overflow_is_an_error_and_the_device_answers_after_it(device: str) -> None:
    connection = connect(device).register("t", pa.table({"b": pa.array([2**62, 1], pa.int64())}))
    with pytest.raises(drawloom.DataError, match="overflow"):
        connection.sql("select sum(b * 4) from t").arrow()
    assert connection.sql("select count(*) as n from t").fetchall() == [(2,)]


@pytest.mark.parametrize("seed", range(3))
def test_random_queries(seed: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Library functions of few rows are the host's work, unless somebody asks for kernels."""
    monkeypatch.setenv("DRAWLOOM_LIBRARY", ("kernels", "auto", "kernels")[seed])
    rng = random.Random(seed)
    connection = connect(device).register("t", random_table(rng, 500))
    for _ in range(4):
        relation = connection.sql(Queries(rng).query().text)
        assert differences(relation.arrow(), relation.query.program().interpret().to_arrow()) == []
