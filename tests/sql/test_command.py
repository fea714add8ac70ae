"""`drawloom sql`: formats, stages, errors and exit codes."""

import datetime
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.sql import command
from drawloom.errors import DataError, UnsupportedError


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "t.parquet"
    rows = {
        "k": ["a", "b", None],
        "d": pa.array([Decimal("1.50"), Decimal("-20.25"), Decimal("0.00")], pa.decimal128(15, 2)),
        "dt": pa.array([datetime.date(1994, 1, 31)] * 3),
        "f": pa.array([0.5, 1.0, 2.0]),
        "q": [True, False, True],
    }
    pq.write_table(pa.table(rows), path)
    return f"--table=t={path}"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_table(table: str) -> None:
    assert run("select k, d, q from t order by d", table) == (
        "k          d  q\n----  ------  -----\nb     -20.25  false\nNULL    0.00  true\na       1.50  true\n(3 rows)\n"
    )


def test_csv(table: str) -> None:
    assert run("select k, d, dt, f from t order by d", table, "--format=csv") == (
        "k,d,dt,f\nb,-20.25,1994-01-31,1.0\n,0.00,1994-01-31,2.0\na,1.50,1994-01-31,0.5\n"
    )


@pytest.mark.parametrize("comment", ["-- one two three", "--one", "--", "-- a=b"])
def test_a_query_on_the_command_line_may_begin_with_a_comment(comment: str) -> None:
    assert run(f"{comment}\nselect 1 as x", "--format=csv") == "x\n1\n"


def test_json_lines(table: str) -> None:
    lines = run("select k, d, dt, f, q from t order by d", table, "--format=json").splitlines()
    assert json.loads(lines[0]) == {"k": "b", "d": "-20.25", "dt": "1994-01-31", "f": 1.0, "q": False}
    assert json.loads(lines[1])["k"] is None


def test_json_has_words_that_json_has(tmp_path: Path) -> None:
    values = {"x": [float("nan"), float("-inf"), 0.5], "l": [[1.5, float("inf")], None, []]}
    pq.write_table(pa.table(values), tmp_path / "t.parquet")

    def refuse(word: str) -> None:
        raise ValueError(word)

    lines = run("select x, l from t", f"--table={tmp_path}/t.parquet", "--format=json").splitlines()
    assert [json.loads(line, parse_constant=refuse) for line in lines] == [
        {"x": "NaN", "l": [1.5, "Infinity"]}, {"x": "-Infinity", "l": None}, {"x": 0.5, "l": []},
    ]  # fmt: skip


def test_csv_tells_the_empty_text_from_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["", None, 'x"y', "a,b\n"], "b": [1, 2, 3, None]}), tmp_path / "t.parquet")
    text = run("select a, b from t", f"--table={tmp_path}/t.parquet", "--format=csv")
    assert text == 'a,b\n"",1\n,2\n"x""y",3\n"a,b\n",\n'
    (tmp_path / "u.csv").write_text(text)
    assert run("select a, b from u", f"--table={tmp_path}/u.csv", "--format=csv") == text


def test_a_line_break_in_a_value_breaks_no_line(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["new\nline", "t\tab"], "b": [1, 2]}), tmp_path / "t.parquet")
    shown = run("select a, b from t", f"--table={tmp_path}/t.parquet")
    assert shown.splitlines()[2:4] == [r"new\nline  1", r"t\tab      2"]


@pytest.mark.parametrize(
    ("stage", "part"),
    [("plan", "TableScan: t"), ("relation", "Read t: d"), ("horse", "@sum("), ("outline", "kernel main_0("),
     ("ptx", ".visible .entry main_0(")],
)  # fmt: skip
def test_emit(stage: str, part: str, table: str) -> None:
    assert part in run("select sum(d) from t where f < 2.0", table, f"--emit={stage}")


def test_explain_as_rows(table: str) -> None:
    lines = run("explain select sum(d) from t", table).splitlines()
    assert lines[0].split() == ["stage", "line"] and lines[2].startswith("plan ")
    assert any(line.startswith("ptx ") and ".visible .entry main_0(" in line for line in lines)


def test_dates_beyond_pythons(table: str) -> None:
    assert run("select date '9999-12-31' + 1 as x from t", table).splitlines()[2] == "10000-01-01"


def test_profile_goes_to_stderr(table: str) -> None:
    result = CliRunner().invoke(command, ["select sum(d) as s from t", table, "--profile"], catch_exceptions=False)
    assert result.stdout == "     s\n------\n-18.75\n(1 row)\n"
    assert "kernels" in result.stderr and "kernel main_0" in result.stderr


def test_the_query_from_standard_input(table: str) -> None:
    result = CliRunner().invoke(command, ["-", table], input="select count(*) as n from t", catch_exceptions=False)
    assert result.stdout == "n\n-\n3\n(1 row)\n"


def test_on_the_reference_device(table: str) -> None:
    assert run("select sum(d) as s from t", table, "--device=reference").splitlines()[2] == "-18.75"


def test_refusals_are_our_errors(table: str) -> None:
    with pytest.raises(UnsupportedError, match="function: arrow_typeof"):
        run("select arrow_typeof(k) from t", table)
    assert CliRunner().invoke(command, ["select 1", "--format=xml"]).exit_code == 2


def test_a_wrong_table_option_is_a_wrong_command_line(table: str) -> None:
    nothing = CliRunner().invoke(command, ["select 1", "--table=nothing"])
    assert nothing.exit_code == 2 and "NAME=PATH, a file or a folder was expected" in nothing.stderr
    twice = CliRunner().invoke(command, ["select 1", table, table])
    assert twice.exit_code == 2 and "--table t is given twice" in twice.stderr


def test_a_folder_is_as_many_tables_as_it_has_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    for name in ("t.parquet", "v/1.parquet", "v/2.parquet"):
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / name)
    (tmp_path / "w.csv").write_text("a\n5\n")
    (tmp_path / "notes.txt").write_text("no table")
    query = "select (select count(*) from t) as t, (select count(*) from v) as v, (select sum(a) from w) as w"
    assert run(query, f"--table={tmp_path}", "--format=csv") == "t,v,w\n2,4,5\n"
    assert run("select count(*) as n from t", f"--table={tmp_path}/t.parquet", "--format=csv") == "n\n2\n"
    assert run("select count(*) as n from v", f"--table=v={tmp_path}/v/*.parquet", "--format=csv") == "n\n4\n"
    (tmp_path / "empty").mkdir()
    nothing = CliRunner().invoke(command, ["select 1", f"--table={tmp_path}/empty"])
    assert nothing.exit_code == 2 and "has no Parquet or CSV file" in nothing.stderr


def test_profiles_of_every_kind(table: str, tmp_path: Path) -> None:
    query = "select k, sum(d) as s from t group by k"
    for style, part in (("json", '"calls": ['), ("html", "<!doctype html>"), ("text", "kernel main_0")):
        result = CliRunner().invoke(command, [query, table, f"--profile={style}"], catch_exceptions=False)
        assert part in result.stderr and "kernel" not in result.stdout
    for name, part in (("p.json", '"calls": ['), ("p.html", "<svg role"), ("p.txt", "kernel main_0")):
        result = CliRunner().invoke(command, ["--profile-to", str(tmp_path / name), query, table])
        assert part in (tmp_path / name).read_text() and result.stderr == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.html", "p.json", "p.txt", "t.parquet"]
    with pytest.raises(DataError, match="the profile cannot be written"):
        run(query, table, f"--profile-to={tmp_path}/none/p.json")


def test_a_profile_may_stand_before_the_query(table: str) -> None:
    result = CliRunner().invoke(command, ["--profile", "select sum(d) as s from t", table], catch_exceptions=False)
    assert result.exit_code == 0 and "kernel main_0" in result.stderr


def test_machine_code_of_an_architecture(table: str) -> None:
    text = run("select sum(d) from t", table, "--emit=sass", "--arch=sm_75")
    assert ".target\tsm_75" in text and "EXIT" in text
    assert CliRunner().invoke(command, ["select 1", "--arch=sm_75"]).exit_code == 2


def test_fallback_says_so(table: str) -> None:
    result = CliRunner().invoke(
        command, ["select array_replace(array_agg(k order by k), 'x', 'y') as m from t", table, "--fallback=datafusion"]
    )
    assert (result.exit_code, result.stdout.splitlines()[2:]) == (0, ["['a', 'b', None]", "(1 row)"])
    assert "run in DataFusion" in result.stderr


def test_csv_options(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1|x\n2|y\n")
    rows = run("select f1, f0 from t", f"--table={tmp_path}/t.csv", "--delimiter=|", "--no-header", "--format=csv")
    assert rows == "f1,f0\nx,1\ny,2\n"
    wrong = CliRunner().invoke(command, ["select 1", f"--table={tmp_path}/t.csv", "--delimiter=||"])
    assert isinstance(wrong.exception, DataError)
    nothing = CliRunner().invoke(command, ["select 1", "--no-header"])
    assert nothing.exit_code == 2 and "are for CSV files" in nothing.stderr


def test_a_limit_of_memory(table: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(300_000)}), tmp_path / "big.parquet")
    query, big = "select sum(a) as s from big", f"--table={tmp_path}/big.parquet"
    assert run(query, big, "--memory-limit=1G", "--format=csv") == "s\n44999850000\n"
    with pytest.raises(drawloom.Error, match="the limit is"):
        run(query, big, "--memory-limit=100K")


def test_who_does_the_library_functions(table: str) -> None:
    query = "select k from t order by d"
    assert run(query, table, "--library=kernels") == run(query, table, "--library=host", "--quiet")
