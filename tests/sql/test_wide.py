"""Tables of many columns, and conditions of many parts: what one kernel has no room for, several compute."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from drawloom.horse import widths
from drawloom.sql import connect

COLUMNS = 14


def wide(columns: int) -> pa.Table:
    """A third of the columns has NULLs; ``k`` is there to group by and to join."""
    values = {f"c{i}": [1, 2, 3, None if i % 3 == 0 else 4, 2, i] for i in range(columns)}
    return pa.table(
        {"k": pa.array([0, 1, 0, 1, 2, 2], pa.int32()), **{n: pa.array(v, pa.int32()) for n, v in values.items()}}
    )


def each(text: str, between: str) -> str:
    return between.join([text.format(i) for i in range(COLUMNS)])


QUERIES = {
    "rows": "select * from t where c1 > 1",
    "expressions": f"select {each('c{0} + 1', ', ')} from t",
    "sums": f"select {each('sum(c{0})', ', ')}, {each('min(c{0})', ', ')} from t where c1 < 4",
    "one sum": f"select sum({each('c{0}', ' + ')}) from t",
    "groups": f"select k, {each('sum(c{0})', ', ')} from t group by k order by k",
    "one condition": f"select count(*), sum(c3) from t where {each('c{0} > 1', ' and ')}",
    "wide conditions": f"select * from t where {each('c{0} > 1', ' and ')} or {each('c{0} = 1', ' and ')}",
    "first rows": "select * from t order by c1 desc, c2, c4, c13 desc limit 3",
    "joined": "select a.*, b.* from t a join t b on a.k = b.k and a.c1 < b.c1 order by a.c1, b.c1, a.c2, b.c2",
}


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_wider_than_a_kernel_is_computed_by_several(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widths, "WIDTH", 12)
    monkeypatch.setattr(widths, "_INPUTS", 6)
    t = wide(COLUMNS)
    with connect("cpu") as connection:
        connection.register("t", t)
        relation = connection.sql(QUERIES[name])
        assert relation.fetchall() == duckdb.sql(QUERIES[name]).fetchall()
        kernels = relation.query.program().outlined.module.functions
        assert all(len(f.params) + len(f.returns) <= 12 for f in kernels if f.is_kernel)


def test_270_columns_fit_the_parameters_of_kernels() -> None:
    t = wide(270)
    with connect("cpu") as connection:
        connection.register("t", t)
        program = connection.query("select * from t where c1 > 1").program()
        kernels = [f for f in program.outlined.module.functions if f.is_kernel]
    assert len(kernels) >= 5
    assert all(len(f.params) + len(f.returns) <= widths.WIDTH for f in kernels)


@pytest.mark.parametrize("name", ["one sum", "one condition"])
def test_a_value_of_many_columns_is_computed_by_several_kernels_along_data_flow(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widths, "WIDTH", 12)
    monkeypatch.setattr(widths, "_INPUTS", 6)
    t = wide(COLUMNS)
    with connect("cpu") as connection:
        connection.register("t", t)
        relation = connection.sql(QUERIES[name], outline="flow")
        assert relation.fetchall() == duckdb.execute(QUERIES[name]).fetchall()
        kernels = relation.query.program().outlined.module.functions
        assert all(len(f.params) + len(f.returns) <= 12 for f in kernels if f.is_kernel)


TESTS_OF_TEXT = {
    "like": ("s like '%{0}%'", " or "),
    "equal": ("(s = 'w{0}' and k = {0})", " or "),
    "above or among": ("(s > 'w{0}' and s in ('w{0}', 'w3') or k < {0})", " and "),
}


@pytest.mark.parametrize("outline", ["flow", "full"])
@pytest.mark.parametrize("name", TESTS_OF_TEXT)
def test_more_tests_of_text_than_a_kernel_may_have_are_done_by_several(
    name: str, outline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widths, "TESTS", 4)
    monkeypatch.setattr(widths, "_INPUT_TESTS", 2)
    t = pa.table({"k": pa.array(range(40), pa.int32()), "s": [None if i % 9 == 4 else f"w{i}" for i in range(40)]})
    text, between = TESTS_OF_TEXT[name]
    query = f"select count(*), sum(k) from t where {between.join([text.format(i) for i in range(9)])}"
    with connect("cpu") as connection:
        connection.register("t", t)
        relation = connection.sql(query, outline=outline)
        assert relation.fetchall() == duckdb.execute(query).fetchall()
        functions = relation.query.program().outlined.module.functions
        assert len([f for f in functions if f.is_kernel]) >= 3


def test_540_conditions_on_text_fit_the_parameters_of_kernels() -> None:
    t = pa.table({"s": [f"NATION {i}" for i in range(25)]})
    query = "select count(*) from t where " + " or ".join([f"s like '%{i}%'" for i in range(540)])
    with connect("cpu") as connection:
        connection.register("t", t)
        assert connection.sql(query).fetchall() == duckdb.execute(query).fetchall()
