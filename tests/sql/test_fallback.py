"""What is not built runs in DataFusion where that is asked for, and is said to."""

import gc
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.planner import SqlError

T = pa.table(
    {
        "a": pa.array([1, 2, 9], pa.int32()),
        "s": ["x", "y", None],
        "l": pa.array([[1], [2, 3], None], pa.list_(pa.int32())),
    }
)
LIST = "select array_replace(array_agg(a order by a), 99, 98) as m, max(s) as s from t"


def test_the_answer_is_datafusions_and_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    con = connect("cpu").register("t", T)
    relation = con.sql(LIST, fallback="datafusion")
    assert relation.fetchall() == [([1, 2, 9], "y")]
    said = "drawloom: run in DataFusion, for what is not built yet: function: array_replace\n"
    assert capsys.readouterr() == ("", said)
    profile = relation.profile()
    assert (profile.engine, profile.lacking, profile.rows) == ("datafusion", ["function: array_replace"], 1)
    assert list(profile.seconds) == ["plan", "datafusion"]
    assert "in DataFusion, for what is not built yet: function: array_replace" in str(profile)
    assert "DataFusion" in profile.html() and '"engine": "datafusion"' in profile.json()
    assert capsys.readouterr().err == said


def test_without_it_the_query_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    con = connect("cpu").register("t", T)
    with pytest.raises(drawloom.UnsupportedError, match="function: array_replace"):
        con.sql(LIST).arrow()
    assert capsys.readouterr().err == ""


def test_what_is_built_does_not_fall_back(capsys: pytest.CaptureFixture[str]) -> None:
    relation = connect("cpu").register("t", T).sql("select sum(a) as x from t", fallback="datafusion")
    assert relation.fetchall() == [(Decimal(12),)]
    assert relation.profile().engine == "drawloom"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["table", "file", "files", "dataset", "csv"])
def test_over_tables_of_every_kind(kind: str, tmp_path: Path) -> None:
    plain = T.select(["a", "s"])
    pq.write_table(plain.slice(0, 2), tmp_path / "1.parquet")
    pq.write_table(plain.slice(2).select(["s", "a"]), tmp_path / "2 [x]*.parquet")
    pq.write_table(plain, tmp_path / "whole.pq")
    (tmp_path / "t.csv").write_text("a,s\n1,x\n2,y\n9,\n")
    both = [tmp_path / "1.parquet", tmp_path / "2 [x]*.parquet"]
    table = {
        "table": plain, "file": tmp_path / "whole.pq", "files": both, "csv": tmp_path / "t.csv",
        "dataset": pyarrow.dataset.dataset(tmp_path / "whole.pq"),
    }[kind]  # fmt: skip
    con = connect("cpu").register("T", table)
    query = "select array_replace(array_agg(a order by a), 99, 98) as m, count(s) as n from t where a > 1"
    ((values, count),) = con.sql(query, fallback="datafusion").fetchall()
    assert (sorted(values), count) == ([2, 9], 1)


def test_an_empty_table(tmp_path: Path) -> None:
    con = connect("cpu").register("t", T.slice(0, 0))
    assert con.sql(LIST, fallback="datafusion").fetchall() == [(None, None)]


def test_a_table_that_is_registered_again_is_the_new_one() -> None:
    con = connect("cpu").register("t", T)
    assert con.sql(LIST, fallback="datafusion").fetchall() == [([1, 2, 9], "y")]
    con.register("t", T.slice(2))
    assert con.sql(LIST, fallback="datafusion").fetchall() == [([9], None)]


def test_tables_that_are_gone_are_not_kept() -> None:
    con = connect("cpu")
    for end in (lambda: con.register("t", T.slice(1)), con.close):
        table = pa.table({"a": pa.array(range(100_000), pa.int64()), "s": ["x"] * 100_000})
        con.register("t", table).sql(LIST, fallback="datafusion").arrow()
        held = pa.total_allocated_bytes()
        del table
        end()
        gc.collect()
        assert pa.total_allocated_bytes() < held - 800_000


def test_text_means_the_same_there() -> None:
    query = "select array_replace(array_agg(a order by a), 99, 98), 1 / 2 as half, 1.5e0 as x from t"
    con = connect("cpu").register("t", T)
    assert con.sql(query, fallback="datafusion").fetchall() == [([1, 2, 9], 0.5, 1.5)]


def test_columns_of_types_that_we_lack() -> None:
    con = connect("cpu").register("t", T)
    assert con.sql("select unnest(l) as x from t", fallback="datafusion").fetchall() == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    "query",
    [
        "select array_replace(array_agg(a order by a), 99, 98) from t where (a in (select a from t)) is null",
        "select array_replace(array_agg(a order by a), 99, 98) from t tablesample (10)",
        "select arrow_typeof(a), sum(a) over (order by s groups 1 preceding) from t",
        "select array_replace(array_agg(a order by a), 99, 98) from (select a from t intersect all select a from t) v",
        "select array_replace(array_agg(a order by a), 99, 98) from (select a from t intersect all select a from t)",
        "select array_replace(array_agg(a order by a), 99, 98) from (select a from t except all select a from t)",
        "select array_replace(array_agg(a order by a), 99, 98) from t where a not in (select a from t) or a > 5",
        "select 10000000000000000000000000000000000000000, array_replace(array_agg(a order by a), 99, 98) from t",
    ],
)
def test_what_datafusion_answers_wrongly_is_not_asked_of_it(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(drawloom.UnsupportedError, match="DataFusion answers some of it wrongly"):
        connect("cpu").register("t", T).sql(query, fallback="datafusion").arrow()
    assert capsys.readouterr().err == ""


def test_an_error_there_is_an_error_here() -> None:
    con = connect("cpu").register("t", T)
    with pytest.raises(drawloom.DataError, match=r"DataFusion cannot run the query: .*[Cc]ast"):
        con.sql("select array_replace(array_agg(cast(s as integer)), 99, 98) from t", fallback="datafusion").arrow()
    with pytest.raises(SqlError, match="No field named zz"):
        con.sql("select array_replace(array_agg(zz), 99, 98) from t", fallback="datafusion").arrow()
    assert con.sql("select sum(a) as x from t").fetchall() == [(Decimal(12),)]


def test_explain_says_what_falls_back() -> None:
    relation = connect("cpu").register("t", T).sql("explain " + LIST, fallback="datafusion")
    lines = [line for stage, line in relation.fetchall() if stage == "fallback"]
    assert lines == ["datafusion", "function: array_replace"]
    with pytest.raises(drawloom.UnsupportedError, match="array_replace"):
        connect("cpu").register("t", T).sql("explain " + LIST).arrow()


def test_another_word_is_refused() -> None:
    with pytest.raises(drawloom.DataError, match="fallback='duckdb': expected one of datafusion"):
        connect("cpu").sql("select 1", fallback="duckdb")
    with pytest.raises(drawloom.DataError, match="library='gpu': expected one of auto, kernels, host"):
        connect("cpu").sql("select 1", library="gpu")


def test_constants_that_are_not_folded_mean_the_same_there() -> None:
    query = """select array_replace(array_agg(a), 3, 9), 5e-1, '1e0'::double, substring('it''s', 2, 1),
        substring('it''s', -9) from t"""
    made = connect("cpu").register("t", T).sql(query, fallback="datafusion").fetchall()
    assert made == [([1, 2, 9], 0.5, 1.0, "t", "it's")]
