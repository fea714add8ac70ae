"""SQL on a GPU: columns stay on the device, partial results come back, the answers are the interpreter's."""

import gc
import random

import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.kernels.workspace import SHARED, Block, Workspace
from drawloom.sql import connect
from tests.runtime import programs
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


def test_memory_goes_with_the_last_reference(table: pa.Table, device: str) -> None:
    """The kernels of library functions and their memory had each other, until garbage was collected."""

    def workspaces() -> int:
        return sum(type(found) is Workspace for found in gc.get_objects())

    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        before = workspaces()
        connection = connect(device).register("t", table.slice(0, 400))
        connection.sql("select s, sum(d) from t group by s order by s").arrow()
        assert workspaces() == before + 1
        del connection
        assert workspaces() == before
    finally:
        if collecting:
            gc.enable()


def test_an_overflow_is_an_error_and_the_device_answers_after_it(device: str) -> None:
    connection = connect(device).register("t", pa.table({"b": pa.array([2**62, 1], pa.int64())}))
    with pytest.raises(drawloom.DataError, match="overflow"):
        connection.sql("select sum(b * 4) from t").arrow()
    assert connection.sql("select count(*) as n from t").fetchall() == [(2,)]


def test_after_an_error_library_functions_work_too(
    table: pa.Table, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_LIBRARY", "kernels")
    connection = connect(device).register("t", table.slice(0, 400))
    sorts = connection.sql("select i, d from t order by i, d")
    before = sorts.arrow()
    with pytest.raises(drawloom.DataError, match="overflow"):
        connection.sql("select sum(b * 9000000000000000000) * max(b) from t where b > 2").arrow()
    assert sorts.arrow() == before


@pytest.mark.faults
def test_columns_come_again_after_a_reset(table: pa.Table, device: str) -> None:
    connection = connect(device).register("t", table.slice(0, 400))
    relation = connection.sql("select s, sum(d), max(f) from t where s like '%I%' group by s order by s")
    before = relation.arrow()
    with pytest.raises(drawloom.KernelFault):
        drawloom.load(programs.TRAP, device)["stop"][1, 1]()
    assert relation.arrow() == before


@pytest.mark.parametrize("seed", range(3))
def test_random_queries(seed: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Library functions of few rows are the host's work, unless somebody asks for kernels."""
    monkeypatch.setenv("DRAWLOOM_LIBRARY", ("kernels", "auto", "kernels")[seed])
    rng = random.Random(seed)
    connection = connect(device).register("t", random_table(rng, 500))
    for _ in range(4):
        relation = connection.sql(Queries(rng).query().text)
        assert differences(relation.arrow(), relation.query.program().interpret().to_arrow()) == []


@pytest.mark.large
def test_selected_rows_of_many_tiles_are_in_order(device: str) -> None:
    """Written by look-back, with every block waiting for those before it."""
    rng = np.random.default_rng(7)
    table = pa.table({"x": rng.integers(0, 1 << 40, 3_000_000), "k": rng.integers(0, 1000, 3_000_000)})
    x, k = table["x"].to_numpy(), table["k"].to_numpy()
    connection = connect(device).register("t", table)
    for bound in (0, 5, 500, 1000):
        found = connection.sql(f"select x, x + k as y from t where k < {bound}").arrow()
        assert np.array_equal(found["x"].to_numpy(), x[k < bound])
        assert np.array_equal(found["y"].to_numpy().astype(np.int64), (x + k)[k < bound])


@pytest.mark.large
@pytest.mark.parametrize("cells", [7, 300, 50_000, 400_000])
def test_groups_of_floats_are_reduced_by_cells(cells: int, device: str) -> None:
    """Of many rows by the library, of fewer by kernels over the cells of a list."""
    rng = np.random.default_rng(cells)
    keys, values = rng.integers(0, cells, 1_000_000), rng.integers(-(1 << 30), 1 << 30, 1_000_000)
    connection = connect(device).register("t", pa.table({"e": keys * 0.5, "v": values}))
    found = connection.sql("select e, sum(v) as s, max(v) - min(v) as w, count(*) as n from t group by e").arrow()
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    by_key = np.argsort(found["e"].to_numpy())
    ordered = values[order]
    width = np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)
    assert [int(v) for v in found["s"].take(by_key).to_pylist()] == np.add.reduceat(ordered, starts).tolist()
    assert [int(v) for v in found["w"].take(by_key).to_pylist()] == width.tolist()
    assert found["n"].take(by_key).to_pylist() == np.diff(starts, append=len(keys)).tolist()
