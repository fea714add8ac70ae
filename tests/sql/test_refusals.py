"""What cannot run is refused with an error that names it: all of it, once."""

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import drawloom
from drawloom.sql import connect
from drawloom.sql.plan import Expression, relations
from drawloom.sql.planner import SqlError

TABLE = pa.table(
    {
        "a": pa.array([1, 2, 3], pa.int32()),
        "g": pa.array([1, 2, 3], pa.float32()),
        "s": ["x", "y", "z"],
        "bin": pa.array([b"x", b"y", b"z"]),
        "l": pa.array([[1], [2], []], pa.list_(pa.int32())),
    }
)


def connection() -> drawloom.Connection:
    return connect("cpu").register("t", TABLE)


def test_a_hundred_conditions_and_a_sum_of_a_hundred_run() -> None:
    """Protobuf refused the plan's depth, with a traceback."""
    query = f"select {'+'.join(['a'] * 100)} from t where {' or '.join(f'a * {n} > {3 * n - 1}' for n in range(1, 60))}"
    assert connection().sql(query).fetchall() == [(300,)]


@pytest.mark.parametrize("word", ["or", "and"])
def test_a_thousand_conditions_are_no_deeper_than_they_need_to_be(word: str) -> None:
    """They were nested a thousand deep: minutes in the planner, and then refused."""
    parts = [f"(a = {n} {'or' if word == 'and' else 'and'} s between 'a' and 'w{n}')" for n in range(1_000)]
    read = connection().query(f"select a from t where {f' {word} '.join(parts)}")
    conditions = [e for r in relations(read.relation().root) for e in r.expressions()]
    assert max(map(depth, conditions)) < 40
    assert read.seconds["substrait"] < 10


def depth(expression: Expression) -> int:
    return 1 + max([depth(part) for part in expression.parts()], default=0)


def test_the_and_of_a_between_is_no_part_of_a_chain() -> None:
    """Brackets that balance a chain stand around whole conditions."""
    chain = " and ".join([f"a between {-n} and 3 - a" for n in range(40)])
    assert connection().sql(f"select a from t where {chain} and a < 3 order by a").fetchall() == [(1,)]
    cases = " and ".join([f"a between case when a > 9 and a < 3 then 7 else 1 end and {n + 2}" for n in range(40)])
    assert connection().sql(f"select a from t where {cases} and not a = 1").fetchall() == [(2,)]


def test_everything_unsupported_is_listed_once() -> None:
    query = """select t.a, approx_percentile_cont_with_weight(t.a, 1, 0.5), arrow_typeof(t.s), max(t.bin),
        arrow_typeof(v.s) from t join t as v on t.a = v.a where random() > t.a group by t.a, t.s, v.s"""
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        connection().sql(query).arrow()
    assert sorted(refusal.value.items) == [
        "aggregate function: approx_percentile_cont_with_weight",
        "function: arrow_typeof",
        "function: random",
        "type: binary (column 'bin')",
    ]
    assert all(item in str(refusal.value) for item in refusal.value.items)


def refused(query: str, con: drawloom.Connection | None = None) -> list[str]:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        (con or connection()).sql(query).arrow()
    assert all(item in str(refusal.value) for item in refusal.value.items)
    return list(refusal.value.items)


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("select approx_distinct(a) over () from t", ["aggregate function: approx_distinct OVER (...)"]),
        (
            "select approx_distinct(a) over (partition by arrow_typeof(s) order by random()) from t",
            ["aggregate function: approx_distinct OVER (...)", "function: arrow_typeof", "function: random"],
        ),
        ("select unnest(l), arrow_typeof(s) from t where random() > a",
         ["function: random", "function: arrow_typeof"]),
        ("select s similar to arrow_typeof(s), approx_percentile_cont_with_weight(a, 1, 0.5) from t group by 1",
         ["expression: SIMILAR TO", "function: arrow_typeof",
          "aggregate function: approx_percentile_cont_with_weight"]),
        ("with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select random() + n from r",
         ["function: random"]),
        ("select cast(a as timestamp) as x, cast(a as time) as y, arrow_typeof(s) from t",
         ["function: arrow_typeof", "cast: integer to timestamp", "cast: integer to a time of day"]),
        ("describe t", ["relation: DESCRIBE"]),
        ("explain verbose select arrow_typeof(s) from t", ["EXPLAIN VERBOSE", "function: arrow_typeof"]),
        ("select arrow_typeof(s) from t tablesample (10)", ["TABLESAMPLE", "function: arrow_typeof"]),
        ("select * from generate_series(null, 3)",
         ["table function: generate_series of what are no constants, of days beside months, or of more than "
          "4,294,967,296 rows",
          "table function: generate_series"]),
        ("from t", ["a query without columns: FROM without SELECT"]),
        ("select 9223372036854775807 + a, 9223372036854775807 + 1 from t",
         ["integer constants whose result needs more than 64 bits"]),
        ("select 10000000000000000000000000000000000000000", ["an integer of more than 38 digits"]),
    ],
)  # fmt: skip
def test_the_whole_list_where_something_hides_the_rest(query: str, items: list[str]) -> None:
    assert sorted(refused(query)) == sorted(items)


def test_a_column_of_no_or_an_odd_type_hides_no_aggregate() -> None:
    odd = pa.table({"n": pa.nulls(3), "h": pa.array([1, 2, 3], pa.float16()), "a": pa.array([1, 2, 3], pa.int32())})
    con = connect("cpu").register("t", odd)
    assert con.sql("select sum(a), count(n), min(n) from t").fetchall() == [(Decimal(6), 0, None)]
    assert refused("select h from t", con) == ["type: halffloat (column 'h')"]


@pytest.mark.parametrize("column", [
    pa.array([1.5], pa.float16()), pa.array([[1]], pa.list_view(pa.int64())), pa.array([1], pa.duration("us")),
    pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), pa.array([b"ab"], pa.binary(2)),
    pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
    pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), pa.array([b"x"]),
    pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["x"])),
    pa.array([[1.5]], pa.list_(pa.float16())), pa.array([b"x"]).dictionary_encode(),
    pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
], ids=lambda column: str(column.type))  # fmt: skip
def test_types_that_are_not_supported_are_called_what_arrow_calls_them(column: pa.Array) -> None:
    con = connect("cpu").register("t", pa.table({"a": [1], "x": column}))
    assert refused("select x from t", con) == [f"type: {column.type} (column 'x')"]
    assert con.sql("select a from t").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("select a from t intersect all select a from t except select 1", "INTERSECT ALL or EXCEPT ALL beside"),
        ("select a from t except /* */ all select a from t intersect select 1", "INTERSECT ALL or EXCEPT ALL beside"),
        ("select max(l) from t", "aggregate function: max of lists"),
        ("select s ilike s from t", "ilike with a pattern that is no constant"),
        ("select regexp_replace(s, 'a', 'b', 'x') from t", "regexp_replace with options other than 'g' and 'i'"),
        ("select regexp_replace(s, s, 'b') from t", "regexp_replace with arguments that are no constants"),
        ("select round(1.25 * a, a) from t", "round to digits that are no constant"),
        ("select string_agg(s, s) from t", "string_agg with an option that is no constant"),
        ("select interval '1 month' from t", "an interval of months that is not added"),
        ("select g / 3 from t", "a quotient of a 32-bit float: cast it to double"),
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
        con.sql("select arrow_typeof(s) from t").arrow()
    assert con.sql("select sum(a) as x from t").arrow().to_pylist() == [{"x": Decimal(6)}]


def test_a_panic_in_the_planner_is_an_error() -> None:
    con = connection()

    class Panic(BaseException):
        pass

    class Context:
        def sql_with_options(self, *arguments: object) -> None:
            raise Panic("attempt to divide by zero")

    con.planner.context = Context()  # type: ignore[assignment]
    with pytest.raises(SqlError, match="cannot plan this query: attempt to divide by zero"):
        con.sql("select 1").arrow()


def test_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(SqlError, match="not UTF-8"):
        connection().sql("select '\udcff'").arrow()


# Files


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    con = connect("cpu")
    damaged, truncated = tmp_path / "b.parquet", tmp_path / "c.parquet"
    pq.write_table(TABLE.select(["a", "s"]), truncated)
    whole = truncated.read_bytes()
    damaged.write_bytes(whole[:-200] + bytes(150) + whole[-50:])
    truncated.write_bytes(whole[: len(whole) // 2])
    for path in (tmp_path / "missing.parquet", damaged, truncated, tmp_path / "missing", tmp_path):
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


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_of_a_glob_that_changed_or_went_is_noticed_by_the_next_query(tmp_path: Path, ending: str) -> None:
    def write(path: Path, values: list[int]) -> None:
        table = pa.table({"a": values})
        pq.write_table(table, path) if ending == "parquet" else csv.write_csv(table, path)

    first, second = tmp_path / f"1.{ending}", tmp_path / f"2.{ending}"
    write(first, [1, 2])
    write(second, [3, 4])
    con = connect("cpu").register("t", tmp_path / f"*.{ending}").register("u", pa.table({"t": [1]}))
    query = con.sql("select sum(a) as s from t")
    assert query.fetchall() == [(10,)]
    write(second, [3, 5])
    with pytest.raises(drawloom.DataError, match=f"2.{ending}: the file changed after it was registered as 't'"):
        query.arrow()
    second.unlink()
    with pytest.raises(drawloom.DataError, match=f"2.{ending}: the file is gone after it was registered as 't'"):
        con.sql("select count(*) from t", fallback="datafusion").arrow()
    assert con.sql("select t from u").fetchall() == [(1,)]


def test_text_columns_that_are_damaged_are_named(tmp_path: Path) -> None:
    offsets, letters = pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xff\xfe")
    con = connect("cpu").register("t", pa.table({"s": pa.StringArray.from_buffers(2, offsets, letters)}))
    with pytest.raises(drawloom.DataError, match="column 's' of table 't' has text that is not UTF-8"):
        con.sql("select s from t").arrow()
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a"]), safe=False)
    con.register("t", pa.table({"s": outside}))
    with pytest.raises(drawloom.DataError, match="column 's' of table 't' is damaged"):
        con.sql("select min(s) from t").arrow()


def test_any_damage_to_a_file_gives_an_error_or_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE.select(["a", "s"]), path)
    whole, rng = path.read_bytes(), random.Random(7)
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        try:
            connect("cpu").register("t", path).sql("select sum(a), count(*), min(s) from t").arrow()
        except drawloom.Error as refusal:
            assert isinstance(refusal, drawloom.DataError | SqlError | drawloom.UnsupportedError)


def test_infinite_dates_are_named() -> None:
    dates = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    with pytest.raises(drawloom.DataError, match="column 'x' of table 't' has an infinite date"):
        connect("cpu").register("t", pa.table({"x": dates})).sql("select max(x) from t").arrow()


def test_columns_of_one_name_are_refused_when_registered() -> None:
    with pytest.raises(drawloom.DataError, match="table 't' has more than one column 'a'"):
        connect("cpu").register("t", pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_tables_that_cannot_be_read_are_named() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise RuntimeError("the source is gone")

    with pytest.raises(drawloom.DataError, match=r"table 't' cannot be read: .*the source is gone"):
        connect("cpu").register("t", pa.RecordBatchReader.from_batches(TABLE.schema, batches()))
    with pytest.raises(drawloom.DataError, match="table 't' cannot be read"):
        connect("cpu").register("t", pa.chunked_array([[1, 2]]))


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a->b", "f()", 'x"; drop'])
def test_table_names_that_sql_cannot_say(name: str) -> None:
    with pytest.raises(drawloom.DataError, match="is no table name"):
        connect("cpu").register(name, TABLE)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(drawloom.DataError, match="table 't' is a int"):
        connect("cpu").register("t", 5)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(drawloom.DeviceError):
        connect("tpu")


@pytest.mark.parametrize(("query", "item"), [
    ("select ntile(0) over (order by a) from t", "window function: ntile into less than one bucket"),
    ("select ntile(-1) over (order by a) from t", "window function: ntile into less than one bucket"),
    ("select quantile_cont(a, null) from t", "aggregate function: percentile_cont with NULL for an option"),
    ("select string_agg(s, null) from t", "aggregate function: string_agg with NULL for an option"),
    (f"select cast({'9' * 38} as decimal(38,0)) + 1", "decimal constants whose result needs more than 38 digits"),
])  # fmt: skip
def test_options_and_constants_without_a_meaning(query: str, item: str) -> None:
    assert refused(query) == [item]
