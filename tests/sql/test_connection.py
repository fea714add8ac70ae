"""Connections, relations and what they show."""

import datetime
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.horse.infer import infer
from drawloom.horse.parser import parse
from drawloom.sql import connect
from drawloom.sql.planner import SqlError
from drawloom.sql.text import same_query

TABLE = pa.table({"a": pa.array([3, 1, 2], pa.int32()), "s": ["x", "y", "x"]})


def test_the_package_face_is_here() -> None:
    con = drawloom.connect()
    con.register("t", TABLE)
    assert con.sql("select sum(a) from t").fetchall() == [(Decimal(6),)]
    assert con.tables() == ["t"]


@pytest.mark.parametrize("kind", ["path", "text", "table", "batch", "reader", "dictionary", "chunks"])
def test_tables_of_every_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    dictionary = TABLE.set_column(1, "s", TABLE.column("s").dictionary_encode())
    given = {
        "path": path,
        "text": str(path),
        "table": TABLE,
        "batch": TABLE.to_batches()[0],
        "reader": pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        "dictionary": dictionary,
        "chunks": pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 0), TABLE.slice(1, 2)]),
    }[kind]
    con = connect("cpu").register("t", given)
    rows = con.sql("select s, sum(a) as x from t where s < 'z' group by s order by s").arrow().to_pylist()
    assert rows == [{"s": "x", "x": Decimal(5)}, {"s": "y", "x": Decimal(1)}]


def test_repeated_words_in_a_given_dictionary_are_one() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["a", "b", "a"]))
    con = connect("cpu").register("t", pa.table({"s": twice}))
    assert con.sql("select s, count(*) from t group by s order by s").fetchall() == [("a", 2), ("b", 1), (None, 1)]


def test_registering_again_replaces() -> None:
    con = connect("cpu").register("t", TABLE)
    query = "select count(*) as n from t"
    assert con.sql(query).fetchall() == [(3,)]
    con.register("t", TABLE.slice(0, 1))
    assert con.sql(query).fetchall() == [(1,)]
    con.register("t", pa.table({"z": [1.5]}))
    with pytest.raises(drawloom.Error, match="No field named a"):
        con.sql("select a from t").arrow()


def test_a_relation_is_lazy() -> None:
    con = connect("cpu")
    relation = con.sql("select a from t")
    con.register("t", TABLE)
    assert relation.fetchall() == [(3,), (1,), (2,)]


def test_a_query_is_prepared_once() -> None:
    con = connect("cpu").register("t", TABLE)
    assert con.sql("select a from t").query is con.sql("select a from t").query


def test_prepared_queries_are_limited() -> None:
    con = connect("cpu").register("t", TABLE)
    for number in range(140):
        con.query(f"select {number} as x from t")
    assert len(con.prepared) == 128
    assert ("select 139 as x from t", "full", None) in con.prepared


def test_several_tables_at_once() -> None:
    con = connect("cpu").register("t", TABLE).register("v", TABLE.slice(0, 2))
    assert con.sql("select sum(a) from v").fetchall() == [(Decimal(4),)]
    assert con.sql("select sum(a) from t").fetchall() == [(Decimal(6),)]


def test_explain_shows_every_stage() -> None:
    relation = connect("cpu").register("t", TABLE).sql("select sum(a) from t where s = 'x'")
    assert "TableScan: t" in relation.explain("plan")
    assert "Read t" in relation.explain("relation")
    horse, outlined, text = relation.explain("horse"), relation.explain("outline"), relation.explain("ptx")
    assert str(infer(parse(horse))) == horse
    assert "kernel main_0(" not in horse
    assert str(infer(parse(outlined))) == outlined
    assert "kernel main_0(" in outlined
    assert ".visible .entry main_0(" in text
    everything = relation.explain()
    assert all(part in everything for part in (horse, outlined, text))
    with pytest.raises(drawloom.DataError, match="expected one of plan, relation, horse, outline, ptx, sass"):
        relation.explain("cubin")


def test_profile_has_every_stage_and_kernel() -> None:
    relation = connect("cpu").register("t", TABLE).sql("select sum(a) from t where s = 'x'")
    profile = relation.profile()
    assert list(profile.seconds) == [
        "plan", "substrait", "decode", "load", "horse", "outline", "ptx", "prepare", "compile", "kernels", "library",
        "control",
    ]  # fmt: skip
    assert [k["kernel"] for k in profile.kernels] == ["main_0"]
    assert profile.kernels[0]["rows"] == 3
    assert profile.rows == 1
    assert profile.seconds["compile"] > 0
    assert relation.profile().seconds["compile"] == profile.seconds["compile"]
    assert "kernel main_0" in str(profile)


def test_the_same_query_gives_the_same_text_in_every_process() -> None:
    first, second = [connect("cpu").register("t", TABLE).sql("select s, avg(a) from t group by s") for _ in range(2)]
    assert first.explain() == second.explain()


@pytest.mark.parametrize("name", ["T", "select", "Lineitem"])
def test_the_case_of_a_table_name_does_not_matter(name: str) -> None:
    con = connect("cpu").register(name.lower(), TABLE.slice(0, 1)).register(name, TABLE)
    assert con.tables() == [name.lower()]
    for spelling in {f'"{name}"', f'"{name.lower()}"'}:
        assert con.sql(f"select count(*) from {spelling}").fetchall() == [(3,)]


def test_explain_in_sql_shows_what_explain_does() -> None:
    con = connect("cpu").register("t", TABLE)
    relation = con.sql("-- what happens?\nExplain select sum(a) from t where s = 'x'")
    lines = relation.fetchall()
    shown = con.sql("select sum(a) from t where s = 'x'")
    assert list(dict(lines)) == ["plan", "relation", "horse", "outline", "ptx", "sass"]
    for stage in dict(lines):
        assert [line for s, line in lines if s == stage] == shown.explain(stage).splitlines()
    assert relation.explain("relation") == shown.explain("relation")


def test_explain_analyze_runs_the_query() -> None:
    lines = connect("cpu").register("t", TABLE).sql("explain analyze select sum(a) from t").fetchall()
    assert any(stage == "profile" and "kernel main_0" in line for stage, line in lines)


def test_explain_keeps_the_place_of_an_error() -> None:
    with pytest.raises(drawloom.Error, match="Line: 2, Column: 19"):
        connect("cpu").register("t", TABLE).sql("explain\nselect a from t t t").arrow()


def test_dates_beyond_pythons_are_text() -> None:
    days = pa.array([0, 2932897, -719163, None], pa.int32()).cast(pa.date32())
    con = connect("cpu").register("t", pa.table({"x": days}))
    rows = [r[0] for r in con.sql("select x from t").fetchall()]
    assert rows == [datetime.date(1970, 1, 1), "10000-01-01", "0001-12-31 (BC)", None]


@pytest.mark.parametrize("zone, end", [(None, ""), ("UTC", "+00")])
def test_moments_beyond_pythons_are_text(zone: str | None, end: str) -> None:
    ticks = pa.array([0, 253402300800000000, -62167219200000000, None], pa.int64()).cast(pa.timestamp("us", zone))
    con = connect("cpu").register("t", pa.table({"x": ticks}))
    rows = [r[0] for r in con.sql("select x from t").fetchall()]
    assert rows == [ticks[0].as_py(), f"10000-01-01 00:00:00{end}", f"0001-01-01 (BC) 00:00:00{end}", None]


def test_the_century_of_the_first_year_begins_before_it() -> None:
    query = "select date_trunc('century', timestamp '0001-05-05 00:00:00')"
    assert connect("cpu").sql(query).fetchall() == [("0001-01-01 (BC) 00:00:00",)]


def test_a_table_name_is_text() -> None:
    with pytest.raises(drawloom.DataError, match="'3' is no table name"):
        connect("cpu").register(3, TABLE)  # type: ignore[arg-type]


def test_a_query_is_text() -> None:
    with pytest.raises(drawloom.DataError, match="a query is text, not 5"):
        drawloom.connect("cpu").sql(5)


def test_a_closed_connection_knows_no_tables() -> None:
    with connect("cpu").register("t", TABLE) as con:
        pass
    assert con.tables() == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_other_libraries(library: str) -> None:
    relation = connect("cpu").register("t", TABLE).sql("select sum(a) as x from t")
    try:
        __import__(library)
    except ImportError:
        with pytest.raises(drawloom.UnsupportedError, match=f"pip install {library}"):
            relation.df() if library == "pandas" else relation.pl()
        return
    frame = relation.df() if library == "pandas" else relation.pl()
    assert [int(v) for v in frame["x"]] == [6]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("select a from t", "\n select   a -- all\nfrom\t/* the */ t ", True),
        ("select 'a  b'", "select 'a b'", False),
        ("select 'a--b' from t", "select 'a' from t", False),
        ('select "a  b"', 'select "a b"', False),
        ("select n'x'", "select n 'x'", False),
        ("select 1 --2", "select 1 -- 2\n", True),
        ("select a--b\nfrom t", "select a from t", True),
        ("select $$a  b$$", "select $$a b$$", False),
        ("select e'a\\'  b'", "select e'a\\' b'", False),
        ("select A from t", "select a from t", False),
    ],
)
def test_texts_of_one_query(one: str, other: str, alike: bool) -> None:
    assert (same_query(one) == same_query(other)) == alike


def test_a_query_is_found_again_whatever_its_blanks_and_comments() -> None:
    con = connect("cpu").register("t", TABLE)
    for text in ("select sum(a) from t", "select\nsum(a) -- all\nfrom  t", "select sum(a) from t"):
        assert con.sql(text).fetchall() == [(Decimal(6),)]
    assert (con.statistics.misses, con.statistics.kept, con.statistics.dropped) == (1, 1, 0)
    assert con.statistics.hits >= 2
    assert "1 of 128 prepared queries" in repr(con.statistics)


def test_an_error_has_the_place_in_its_own_text() -> None:
    con = connect("cpu").register("t", TABLE)
    for text, line in (("select b from t", 1), ("select\nb from t", 2)):
        with pytest.raises(SqlError) as caught:
            con.sql(text).arrow()
        assert caught.value.line == line


def test_registering_a_table_keeps_the_queries_of_others() -> None:
    con = connect("cpu").register("t", TABLE).register("v", TABLE)
    queries = {name: con.query(f"select sum(a) from {name} where true") for name in ("t", "V")}
    hidden = con.query("select 1 as x where exists (select 1 from t where false)")
    con.register("T", TABLE.slice(0, 1))
    assert con.query("select sum(a) from V where true") is queries["V"]
    assert con.query("select sum(a) from t where true") is not queries["t"]
    assert con.query("select 1 as x where exists (select 1 from t where false)") is not hidden
    assert con.statistics.dropped == 2


def test_a_table_that_is_registered_again_is_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread's query found no table, now and then, between the old and the new one."""
    con = connect("cpu").register("t", TABLE)
    gone, answers = threading.Event(), list[int]()

    class Slow:
        def __init__(self, context: Any) -> None:
            self.context = context

        def __getattr__(self, name: str) -> Any:
            return getattr(self.context, name)

        def deregister_table(self, name: str) -> None:
            self.context.deregister_table(name)
            gone.set()
            time.sleep(0.2)

    monkeypatch.setattr(con.planner, "context", Slow(con.planner.context))

    def ask() -> None:
        gone.wait()
        answers.append(con.sql("select count(*) from t").fetchall()[0][0])

    asking = threading.Thread(target=ask)
    asking.start()
    con.register("t", TABLE.slice(1))
    asking.join()
    assert answers == [2]
