"""`drawloom tpch`: tables made whole or not at all, queries run and compared with DuckDB, what is wrong is shown."""

import csv
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import Result

from drawloom.cli.tpch import STAGES, by_column
from drawloom.errors import DataError, UnsupportedError
from drawloom.sql import connect, tpch

Command = Callable[..., Result]
SCALE = "--scale=0.01"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of TPC-H's tables at scale 0.01."""
    if shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("tpchgen-cli is not installed (pip install drawloom[test])")
    made = tmp_path_factory.mktemp("tpch")
    tpch.generate(made, 0.01)
    return made


@pytest.fixture(scope="session")
def oracle(folder: Path) -> tpch.Oracle:
    pytest.importorskip("duckdb", reason="DuckDB is not installed (pip install drawloom[test])")
    return tpch.Oracle(tpch.paths(folder, 0.01), 2)


def as_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_answers_equal_duckdbs(drawloom: Command, folder: Path, oracle: tpch.Oracle) -> None:
    result = drawloom("tpch", SCALE, "--data", folder, "--check", "-q6", "-q1", "-q1", "--format=csv")
    assert result.exit_code == 0, result.output
    rows = as_rows(result.stdout)
    assert [(r["query"], r["status"], r["rows"], r["launches"]) for r in rows] == [
        ("1", "equal", "4", "1"),
        ("6", "equal", "1", "1"),
    ]
    for row in rows:
        times = [float(row[f"{c.lower()}_ms"]) for c in STAGES]
        assert min(times) >= 0 and float(row["total_ms"]) == pytest.approx(sum(times), abs=0.01)
        assert float(row["code_ms"]) > float(row["ptx_ms"]) > 0
        assert float(row["ratio"]) == pytest.approx(float(row["warm_ms"]) / float(row["duckdb_ms"]), abs=0.01)
    assert result.stderr.startswith("2 queries: 2 equal; warm ")


def test_without_check_there_is_no_duckdb(drawloom: Command, folder: Path) -> None:
    result = drawloom("tpch", SCALE, "--data", folder, "--query=6", "--format=json", "--cached")
    assert result.exit_code == 0, result.output
    (shown,) = map(json.loads, result.stdout.splitlines())
    assert (shown["query"], shown["status"], shown["rows"], shown["device"]) == (6, "ran", 1, "cpu")
    assert shown["duckdb"] is None and shown["ratio"] is None and shown["warm"] > 0
    assert shown["total"] == pytest.approx(sum(shown["seconds"].values()))
    assert result.stderr == "1 query: 1 ran\n"


def test_a_refused_query_shows_the_first_reason(
    drawloom: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tpch, "text", lambda query: "select arrow_typeof(l_tax) from lineitem")
    result = drawloom("tpch", SCALE, "--data", folder, "-q", 3)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1:] == [
        "Q3     refused         function: arrow_typeof",
        "1 query: 1 refused",
    ]


def test_a_query_that_fails_does_not_end_the_run(
    drawloom: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {1: "select nothing from nation", 2: "select count(*) from nation"}
    monkeypatch.setattr(tpch, "text", texts.__getitem__)
    result = drawloom("tpch", SCALE, "--data", folder, "-q1", "-q2", "--format=csv")
    assert result.exit_code == 1
    failed, ran = as_rows(result.stdout)
    assert failed["status"] == "failed" and "nothing" in failed["note"]
    assert ran["status"] == "ran" and ran["rows"] == "1"


def test_a_wrong_answer_shows_the_first_value_that_differs(
    drawloom: Command, folder: Path, oracle: tpch.Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = oracle.answer(tpch.text(1))
    place = right.column_names.index("count_order")
    counts = right.column(place).to_pylist()
    wrong = right.set_column(place, "count_order", pa.array([*counts[:2], counts[2] + 1, counts[3]]))
    monkeypatch.setattr(tpch.Oracle, "answer", lambda self, sql: wrong)
    result = drawloom("tpch", SCALE, "--data", folder, "--check", "-q1")
    assert result.exit_code == 1
    line = result.stdout.splitlines()[1]
    assert line.startswith("Q1     differs      4 ")
    assert line.endswith(f"  row 3, count_order: {counts[2]}, DuckDB {counts[2] + 1}")


def test_wrong_words(drawloom: Command, folder: Path, tmp_path: Path) -> None:
    for words in (["-q0"], ["-q23"], ["--scale=0"], ["--scale=-1"], ["--format=xml"], ["--device=tpu"]):
        refused = drawloom("tpch", *words, "--data", tmp_path)
        assert refused.exit_code in (1, 2) and refused.stdout == "", words
    assert list(tmp_path.iterdir()) == []


def test_every_text_plans_and_orders_by_columns_of_its_answer(folder: Path, oracle: tpch.Oracle) -> None:
    connection = connect("cpu")
    for name, path in tpch.paths(folder, 0.01).items():
        connection.register(name, str(path))
    for query in tpch.QUERIES:
        assert connection.sql(tpch.text(query)).query.logical() is not None
        columns = oracle.run(tpch.text(query)).column_names
        ordered = query not in (6, 14, 17, 19)  # the queries of one row
        assert set(tpch.order_of(tpch.text(query))) <= set(columns) and bool(tpch.order_of(tpch.text(query))) == ordered


# What is compared


def answer(**columns: list[object]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def test_rows_in_another_order_agree_where_the_query_leaves_it_open() -> None:
    theirs = answer(ps_partkey=[7, 5, 6], value=[9, 8, 8])
    assert tpch.order_of(tpch.text(11)) == ["value"]
    assert tpch.difference(11, answer(ps_partkey=[7, 6, 5], value=[9, 8, 8]), theirs) == ""
    assert tpch.difference(11, answer(ps_partkey=[5, 7, 6], value=[8, 9, 8]), theirs) == (
        "row 1, ps_partkey: 5, DuckDB 7"
    )
    assert tpch.difference(11, answer(ps_partkey=[7, 6, 6], value=[9, 8, 8]), theirs) == (
        "row 2, ps_partkey: 6, DuckDB 5"
    )


def test_doubles_may_differ_by_their_roundings_and_no_more() -> None:
    value = 16.380778626395543
    near, far = value, value
    for _ in range(4):
        near = math.nextafter(near, math.inf)
    for _ in range(12):
        far = math.nextafter(far, math.inf)
    theirs = answer(promo_revenue=[value])
    assert tpch.difference(14, answer(promo_revenue=[near]), theirs) == ""
    assert tpch.difference(14, answer(promo_revenue=[far]), theirs).startswith("row 1, promo_revenue: ")
    for wrong in (None, math.nan, math.inf, -value):
        ours = pa.table({"promo_revenue": pa.array([wrong], pa.float64())})
        assert tpch.difference(14, ours, theirs) != ""


def test_decimals_types_and_shapes_are_exact() -> None:
    theirs = answer(revenue=[Decimal("123141078.2283")])
    assert tpch.difference(6, answer(revenue=[Decimal("123141078.2284")]), theirs) == (
        "row 1, revenue: 123141078.2284, DuckDB 123141078.2283"
    )
    assert tpch.difference(6, answer(revenue=[123141078.2283]), theirs) == "revenue is double, DuckDB decimal128(13, 4)"
    assert tpch.difference(6, answer(revenue=[]), theirs) == "0 rows of 1 column, DuckDB 1 row of 1 column"


def test_stages_without_a_column_are_control_code() -> None:
    assert by_column({"plan": 1.0, "decode": 2.0, "control": 4.0, "library": 8.0, "other": 16.0}) == {
        **dict.fromkeys(STAGES, 0.0),
        "frontend": 3.0,
        "control": 20.0,
        "library": 8.0,
    }


def test_the_thesis_breakdown_is_whole_whoever_does_the_library(drawloom: Command, folder: Path) -> None:
    for library in ("host", "kernels"):
        result = drawloom("tpch", SCALE, "--data", folder, "-q3", "--format=json", "--cached", f"--library={library}")
        assert result.exit_code == 0, result.output
        seconds = json.loads(result.stdout)["seconds"]
        assert list(seconds) == ["data", "frontend", "outliner", "PTX", "code", "control", "kernels", "library"]
        assert min(seconds.values()) > 0


# The tables


def test_tables_are_made_once(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tpch.generate(folder, 0.01).values()}
    assert sorted(path.stem for path in before) == list(tpch.TABLES)
    assert {path: path.stat().st_mtime_ns for path in tpch.generate(folder, 0.01).values()} == before
    assert [path.name for path in folder.iterdir()] == ["tpch-sf0.01"]


def generator(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Puts a shell script in the place of tpchgen-cli."""
    path = folder / "generator"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda *name, **places: str(path))


def test_a_generator_that_fails_leaves_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator(monkeypatch, tmp_path, 'echo half > "${3#--output-dir=}/lineitem.parquet"; echo disk full >&2; exit 3')
    with pytest.raises(DataError, match=r"^tpchgen-cli failed with status 3: disk full$"):
        tpch.generate(tmp_path / "data", 0.01)
    assert list((tmp_path / "data").iterdir()) == []


def test_without_the_generator_the_error_says_how_to_get_tables(
    drawloom: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *name, **places: None)
    result = drawloom("tpch", SCALE, "--data", tmp_path)
    assert result.exit_code == 1 and result.stdout == ""
    assert "pip install 'drawloom[tpch]'" in result.stderr and "lineitem.parquet" in result.stderr


def test_without_duckdb_the_error_says_how_to_get_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UnsupportedError, match=r"(?s)duckdb is not installed.*drawloom\[tpch\]"):
        tpch.Oracle(tpch.paths(folder, 0.01), 1)


def test_the_folder_of_the_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tpch.data_folder() == tmp_path / "drawloom" / "tpch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert tpch.data_folder() == Path.home() / ".cache" / "drawloom" / "tpch"


INTERRUPTED = """
import sys
from pathlib import Path
from drawloom.sql import tpch

oracle = tpch.Oracle(tpch.paths(Path(sys.argv[1]), 0.01), 2)
print("ready", flush=True)
try:
    oracle.apart(oracle.run, "select sum(a.l_tax * b.l_tax) from lineitem a, lineitem b, lineitem c")
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_an_interrupt_stops_duckdb_at_once(folder: Path, oracle: tpch.Oracle) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=30)
    assert (said, child.returncode) == ("stopped\n", 0)


def test_tables_that_another_process_has_put_there_stay(tmp_path: Path) -> None:
    """A query of the other process may be reading them; one that is replaced meanwhile is an error."""
    made, place = tmp_path / "made", tmp_path / "orders.parquet"
    for text in ("first", "second"):
        made.unlink(missing_ok=True)
        made.write_text(text)
        tpch.put_in_place(made, place)
    assert place.read_text() == "first"
