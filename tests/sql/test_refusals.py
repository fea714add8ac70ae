"""What cannot run is refused with an error that names it: all of it, once."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.planner import SqlError

TABLE = pa.table(
    {
        "a": pa.array([1, 2, 3], pa.int32()),
        "s": ["x", "y", "z"],
        "ts": pa.array([0, 1, 2], pa.timestamp("us")),
        "u": pa.array([1, 2, 3], pa.uint32()),
        "l": pa.array([[1], [2], []], pa.list_(pa.int32())),
    }
)


def connection() -> drawloom.Connection:
    return connect("cpu").register("t", TABLE)


def test_everything_unsupported_is_listed_once() -> None:
    query = """select t.a, median(t.a), upper(t.s), max(t.ts), upper(v.s)
        from t join t as v on t.a = v.a where sqrt(t.a) > 1 group by t.a, t.s, v.s"""
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connection().sql(query).arrow()
    assert sorted(refusal.value.items) == [
        "aggregate function: median",
        "function: sqrt",
        "function: upper",
        "relation: JOIN",
        "type: precision_timestamp (column 'ts')",
    ]
    assert all(item in str(refusal.value) for item in refusal.value.items)


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("select a from t union all select a from t", "relation: UNION, INTERSECT or EXCEPT"),
        ("select sum(a) over () from t", "window"),
        ("select a from t where a = (select max(a) from t)", "subquery"),
        ("select u from t", "unsigned i32 (column 'u')"),
        ("select l from t", "list"),
        ("select s like s from t", "pattern that is no constant"),
        ("select a % a from t", "modulus"),
        ("select 3 / 2", "quotient of constants"),
        ("select a from t where a > (1 + 1) / 2", "quotient of constants"),
        ("select sum(distinct a), count(distinct s) from t", "sum(DISTINCT"),
        ("select * from (values (1), (2)) v", "VALUES"),
        ("select a, count(*) from t group by rollup (a)", "GROUPING SETS"),
    ],
)
def test_what_is_missing_is_named(query: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connection().sql(query).arrow()
    assert item in str(refusal.value)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select b from t", "No field named b"),
        ("select a from nowhere", "there is no table 'nowhere'"),
        ("select a from", "Expected"),
        ("selec a", "Expected"),
        ("create table x as select 1", "DDL not supported"),
        ("delete from t", "DML not supported"),
        ("select nofunction(a) from t", "nofunction"),
        ("", ""),
        ("select 1; select 2", ""),
    ],
)
def test_wrong_sql_is_refused_with_the_planners_message(query: str, message: str) -> None:
    with pytest.raises(SqlError) as refusal:
        connection().sql(query).arrow()
    assert message in str(refusal.value)


def test_a_refused_query_leaves_the_connection_usable() -> None:
    con = connection()
    with pytest.raises(drawloom.Error):
        con.sql("select upper(s) from t").arrow()
    assert con.sql("select sum(a) as x from t").arrow().to_pylist() == [{"x": Decimal(6)}]


# Files


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    con = connect("cpu")
    text, damaged, truncated = tmp_path / "a.csv", tmp_path / "b.parquet", tmp_path / "c.parquet"
    text.write_text("a,b\n1,2\n")
    pq.write_table(TABLE.select(["a", "s"]), truncated)
    whole = truncated.read_bytes()
    damaged.write_bytes(whole[:-200] + bytes(150) + whole[-50:])
    truncated.write_bytes(whole[: len(whole) // 2])
    for path in (tmp_path / "missing.parquet", text, damaged, truncated, tmp_path):
        with pytest.raises(drawloom.DataError) as refusal:
            con.register("t", path)
        assert str(path) in str(refusal.value)


def test_damaged_pages_are_found_when_the_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": pa.array(range(5000), pa.int64()), "b": pa.array(range(5000), pa.int64())})
    pq.write_table(table, path, use_dictionary=False, compression="zstd", write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[50:90] = bytes(40)
    path.write_bytes(bytes(data))
    con = connect("cpu").register("t", path)
    with pytest.raises(drawloom.DataError, match="column 'a' cannot be read"):
        con.sql("select sum(a) from t").arrow()
    assert con.sql("select sum(b) as x from t").arrow().to_pylist() == [{"x": Decimal(sum(range(5000)))}]


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE.select(["a"]), path)
    con = connect("cpu").register("t", path)
    pq.write_table(TABLE.select(["a"]).slice(0, 2), path)
    with pytest.raises(drawloom.DataError, match="changed after it was registered"):
        con.sql("select sum(a) from t").arrow()


def test_values_that_do_not_fit_are_named() -> None:
    wide = pa.table({"w": pa.array([Decimal(1), Decimal(10**30)], pa.decimal128(38, 0))})
    con = connect("cpu").register("t", wide)
    with pytest.raises(drawloom.DataError, match="column 'w' of table 't' has a value of more than 18 digits"):
        con.sql("select sum(w) from t").arrow()


@pytest.mark.parametrize("name", ["", "a b", "1a", 'x"; drop'])
def test_table_names_are_identifiers(name: str) -> None:
    with pytest.raises(drawloom.DataError, match="is no table name"):
        connect("cpu").register(name, TABLE)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(drawloom.DataError, match="table 't' is a int"):
        connect("cpu").register("t", 5)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(drawloom.DeviceError):
        connect("tpu")
