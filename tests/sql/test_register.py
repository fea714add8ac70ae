"""What `register` takes: files of several kinds, many at once, and tables of other libraries."""

import datetime
import gzip
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.sql import connect
from tests.sql.compare import differences

TABLE = pa.table({"a": pa.array([3, 1, 2], pa.int32()), "s": ["x", None, "y"]})
CSV = """a,s,w,d,ts,b
1,x,0.5,2020-01-31,2020-01-01 10:00:00,true
-2,,,,,
3,"","7",1969-12-31,2020-01-01 10:00:00.5,false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """TABLE as three Parquet files of a row each, the last in a folder below, beside what is no table."""
    (tmp_path / "below").mkdir()
    for number, place in enumerate(("0.parquet", "1.pq", "below/2.parquet")):
        pq.write_table(TABLE.slice(number, 1), tmp_path / place)
    for name in ("_SUCCESS", ".hidden.parquet", "notes.txt"):
        (tmp_path / name).write_text("no table")
    return tmp_path


def rows(table: Any, query: str = "select a, s from t", **options: Any) -> list[tuple[Any, ...]]:
    return connect("cpu").register("t", table, **options).sql(query).fetchall()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", 3), ("*", 3), ("*.p*q*", 2), ("**/*.parquet", 2), ("[01].p*", 2), ("below", 1)],
)
def test_folders_and_globs(folder: Path, path: str, expected: int) -> None:
    if path == "*":
        (folder / "notes.txt").unlink()
        (folder / "_SUCCESS").unlink()
    assert len(rows(str(folder / path))) == expected


def test_a_list_of_files_in_its_order(folder: Path) -> None:
    assert rows([folder / "1.pq", str(folder / "0.parquet")]) == [(1, None), (3, "x")]
    assert rows([folder / "below", folder / "0.p*"]) == [(2, "y"), (3, "x")]


def test_files_may_have_their_columns_in_any_order(folder: Path) -> None:
    pq.write_table(TABLE.select(["s", "a"]), folder / "1.pq")
    assert rows(folder, "select sum(a), count(s) from t") == [(Decimal(11), 4)]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (TABLE.set_column(0, "a", [pa.array([1, 2, 3], pa.int64())]), "column 'a' is int32 in {0} and int64 in {1}"),
        (TABLE.select(["a"]), "column 's' is string in {0} and not in {1}"),
        (TABLE.append_column("z", [[1, 2, 3]]), "column 'z' is not in {0} and int64 in {1}"),
    ],
)
def test_files_that_differ_are_named_with_the_column(folder: Path, other: pa.Table, said: str) -> None:
    pq.write_table(other, folder / "1.pq")
    expected = "the files of table 't' differ: " + said.format(folder / "0.parquet", folder / "1.pq")
    with pytest.raises(drawloom.DataError, match=re.escape(expected)):
        connect("cpu").register("t", folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [("none", "no such file"), ("z*", "no file has such a name"), ("empty", "has no Parquet or CSV file")],
)
def test_what_is_not_there_is_named(folder: Path, path: str, said: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(drawloom.DataError, match=re.escape(str(folder / path)) + ".*" + said):
        connect("cpu").register("t", folder / path)


def test_one_damaged_file_among_many_is_named(folder: Path) -> None:
    (folder / "1.pq").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(drawloom.DataError, match=r"1\.pq: this is not a readable Parquet file"):
        connect("cpu").register("t", folder)


def test_columns_in_names_of_folders_are_not_left_out_silently(folder: Path) -> None:
    (folder / "year=2024").mkdir()
    (folder / "below" / "2.parquet").rename(folder / "year=2024" / "2.parquet")
    with pytest.raises(drawloom.UnsupportedError, match="columns in names of folders, such as year=2024"):
        connect("cpu").register("t", folder)
    assert rows([folder / "year=2024" / "2.parquet", folder / "1.pq"], "select count(*) from t") == [(2,)]


def test_two_formats_are_no_table(folder: Path) -> None:
    (folder / "x.csv").write_text("a,s\n1,x\n")
    with pytest.raises(drawloom.DataError, match=r"0\.parquet is Parquet and .*x\.csv is CSV"):
        connect("cpu").register("t", folder)


def test_csv_is_what_duckdb_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    query = "select a, s, w, d, ts, b from t order by a"
    theirs = duckdb.connect()
    theirs.execute(f"create table t as from read_csv('{path}', allow_quoted_nulls=false)")
    assert differences(connect("cpu").register("t", path).sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


def test_compressed_csv_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(CSV)
    with gzip.open(tmp_path / "2.csv.gz", "wt") as file:
        file.write(CSV.replace("0.5", "2").replace('"7"', "3"))
    query = "select count(*), sum(w), count(s), max(ts) is null from t"
    assert rows(tmp_path, query) == [(6, 12.5, 4, False)]


def test_csv_files_that_differ_are_named(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    with pytest.raises(drawloom.DataError, match=r"column 'b' is int64 in .*1\.csv and string in .*2\.csv"):
        connect("cpu").register("t", tmp_path)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a;s\n1;x\n", {"delimiter": ";"}, [(1, "x")]),
        ("1,x\n2,y\n", {"header": False, "names": ["a", "s"]}, [(1, "x"), (2, "y")]),
        ("p,q\n1,x\n", {"names": ["a", "s"]}, [(1, "x")]),
        ("a,s\n1,'x,y'\n", {"quote": "'"}, [(1, "x,y")]),
        ("a,s\n-,-\n1,x\n", {"nulls": ["-"]}, [(None, None), (1, "x")]),
        ("a,s\n1,007\n", {"types": {"s": pa.string()}}, [(1, "007")]),
        ("a,s\n", {}, []),
        ("", {"names": ["a", "s"], "header": False}, []),
    ],
)
def test_options_of_csv(tmp_path: Path, text: str, options: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "data.txt"
    path.write_text(text)
    assert rows(path, format="csv", **options) == expected


def test_tabs_and_columns_without_names(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n2\ty\n")
    assert rows(tmp_path / "t.tsv", "select f0, f1 from t", header=False) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("text", ["a,s\n1,x,2\n", "", 'a,s\n1,"x\n2,y\n', 'a,s\n1,x\n2,"y ""z""'])
def test_damaged_csv_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(drawloom.DataError, match=r"t\.csv: this is not a readable CSV file"):
        connect("cpu").register("t", tmp_path / "t.csv")


def test_the_last_value_may_end_with_a_line_or_have_quotes(tmp_path: Path) -> None:
    for end, value in (('"x\ny"', "x\ny"), ('"x"\n', "x"), ("x", "x"), ('"x""y"', 'x"y'), ('x"y', 'x"y'), ('""', "")):
        (tmp_path / "t.csv").write_text(f"a,s\n1,{end}")
        assert rows(tmp_path / "t.csv") == [(1, value)]


@pytest.mark.parametrize(("option", "value"), [("delimiter", "||"), ("delimiter", ""), ("quote", "''")])
def test_options_of_csv_are_one_character(tmp_path: Path, option: str, value: str) -> None:
    (tmp_path / "t.csv").write_text("a,s\n1,x\n")
    with pytest.raises(drawloom.DataError, match=f"{option}=.*: one character was expected"):
        connect("cpu").register("t", tmp_path / "t.csv", **{option: value})


def test_a_column_of_csv_that_we_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,x\n1,\xff\xfe\n")  # no UTF-8, which Arrow takes for bytes
    con = connect("cpu")
    with pytest.raises(drawloom.DataError, match=r"t\.csv: column 'x' has text that is not UTF-8"):
        con.register("t", tmp_path / "t.csv")
    con.register("t", tmp_path / "t.csv", types={"x": pa.binary()})
    assert con.sql("select a from t").fetchall() == [(1,)]
    with pytest.raises(drawloom.UnsupportedError, match=r"type: binary \(column 'x'\)"):
        con.sql("select x from t").arrow()


def test_options_that_do_not_go_together(folder: Path) -> None:
    con = connect("cpu")
    with pytest.raises(drawloom.DataError, match="options for CSV do not go with a Parquet file"):
        con.register("t", folder, header=False)
    with pytest.raises(drawloom.DataError, match="expected one of csv, parquet"):
        con.register("t", folder, format="xls")
    with pytest.raises(drawloom.DataError, match="options for files"):
        con.register("t", TABLE, delimiter=";")
    with pytest.raises(drawloom.DataError, match="a list without a path"):
        con.register("t", [])


def test_a_dataset_is_read_by_columns(folder: Path) -> None:
    assert rows(pyarrow.dataset.dataset([folder / "0.parquet", folder / "1.pq"], format="parquet")) == [
        (3, "x"), (1, None),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_frames(kind: str) -> None:
    if kind == "pandas":
        pytest.importorskip("pandas")
        frame = TABLE.to_pandas()
    else:
        frame = pytest.importorskip("polars").from_arrow(TABLE)
        frame = frame.lazy() if kind == "lazy" else frame
    assert rows(frame) == [(3, "x"), (1, None), (2, "y")]


def test_a_lazy_frame_that_fails_is_named() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(drawloom.DataError, match="table 't' cannot be read"):
        connect("cpu").register("t", polars.LazyFrame({"a": [1]}).select("nothing"))


def test_dictionaries_of_any_type_are_columns_of_what_they_hold() -> None:
    table = pa.table({
        "n": pa.array([3, None, 5, 3]).dictionary_encode(),
        "d": pa.array([1, 2, None, 1], pa.date32()).dictionary_encode(),
        "x": pa.array([1, 2, 2, None], pa.decimal128(5, 2)).dictionary_encode(),
        "l": pa.array([["a"], [], None, ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    })  # fmt: skip
    con = connect("cpu").register("t", table)
    assert con.sql("select sum(n), max(d), sum(x), count(distinct n) from t").fetchall() == [
        (Decimal(11), datetime.date(1970, 1, 3), Decimal(5), 2)
    ]
    assert con.sql("select n from t where n > 3 and l is null").fetchall() == [(5,)]
    pandas = pytest.importorskip("pandas")
    con.register("c", pandas.DataFrame({"a": pandas.Categorical([1, 2, 1])}))
    assert con.sql("select a, count(*) from c group by a order by a").fetchall() == [(1, 2), (2, 1)]
