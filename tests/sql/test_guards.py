"""What may be an error (a division by zero, an overflow, a text that is no number) is none for rows that do not count:
those that a condition, a branch of CASE, a FILTER or a NULL leaves out. Values are DuckDB's."""

from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.ir import Assign, Call
from tests.sql.compare import differences

TABLE = pa.table(
    {
        "a": [1, 2, 3, 4, 5],
        "i": pa.array([0, 1, 2, 0, 5], pa.int32()),
        "n": pa.array([0, None, 2, 0, None], pa.int32()),
        "j": [2**62, 1, 2, 3, 2**62],
        "m": [None, 3, 2**62, 1, None],
        "t": pa.array([100, 1, 2, 127, 5], pa.int8()),
        "d": pa.array([Decimal(v) for v in ("0", "1.50", "2.00", "0", "9999999999999999.99")], pa.decimal128(18, 2)),
        "f": [0.0, 1.0, 1e300, float("nan"), 2.5],
        "s": ["x", "1", "2", "yy", "5"],
        "day": ["2020-01-01", "2020-02-30", "2020-03-01", "x", "2020-05-05"],
        "l": [[1], [1, 2], [], None, [5]],
    }
)  # fmt: skip
OTHER = pa.table({"k": [1, 2, 3], "z": [0, 1, 2]})

QUERIES = [
    "select a from t where i <> 0 and 10 % i = 0",
    "select a from t where 10 % i = 0 and i <> 0",
    "select a from t where i = 0 or 10 % i = 0",
    "select a from t where n > 0 and 10 % i = 0",
    "select a from t where i <> 0 and a % i between 0 and 1",
    "select a from t where i <> 0 and not (a % i in (1, 2))",
    "select case when i <> 0 then 10 % i end, case when i = 0 then -1 else 10 % i end from t",
    "select case i when 0 then 0 when 1 then 10 % i else 11 % i end from t",
    "select case when i <> 0 then case when a > 2 then 10 % i else 20 % i end else a % (i + 1) end from t",
    "select coalesce(n, a % i) from t where a < 4",
    "select case when i > 0 and 10 % i = 0 then 1 else 0 end, case when i = 0 or 10 % i = 0 then 1 else 0 end from t",
    "select * from (select 10 % i as m, i from t where i <> 0) x where m = 0",
    "select a from t order by case when i <> 0 then a % i end, a",
    "select case when i <> 0 then a % i end, count(*) from t group by 1",
    "select i, count(*) from t group by i having i <> 0 and 10 % i = 0",
    "select max(case when i <> 0 then a % i end) over (order by a) from t",
    "select a from t left join u on t.a = u.k and z <> 0 and 10 % z = 0",
    "select a from t where i in (select k from u where z <> 0 and 10 % z = 0)",
    "select a from t where i <> 0 and exists (select 1 from u where u.k % t.i = 0)",
    "select case when i <> 0 then list_contains(l, 10 % i) end, case when i <> 0 then [10 % i, a] end from t",
    "select a from t where s <> 'x' and s <> 'yy' and cast(s as int) > 1",
    "select case when s in ('x', 'yy') then -1 when s::int > 1 then s::int * 2 else s::int end from t",
    "select try_cast(s as int) from t where try_cast(s as int) is not null and cast(s as int) > 0",
    "select case when day not in ('2020-02-30', 'x') then cast(day as date) end from t",
    "select case when j < 10 then j * j end, case when j < 10 then j + j + j + j end from t",
    "select case when j < 10 then j - (-j) - (-j) - (-j) end, case when j < 10 then j::smallint end from t",
    "select a from t where j < 10 and j * j > 1",
    "select case when d < 10 then d * d * d * d end, case when a < 5 then cast(a * 2 as decimal(3, 2)) end from t",
    "select case when f < 1e30 then cast(f as int) end from t",
    "select case when a < 2 then cast(a * 100 as tinyint) end, case when t < 100 then t + t end from t",
    "select case when t < 20 then chr(t + 60) end, case when a < 3 then make_date(2020, (a * 6)::int, 1) end from t",
    "select case when j < 10 then j << 60 end from t",
    "select case when j < 10 then date '2020-01-01' + j::int end from t",
    "select (m + j) * j, m + j + j - j from t where a <> 3",
    "select -(m - j - j) from t where a <> 3",
    "select cast(case when s in ('x', 'yy') then null else s end as int) from t",
    "select case when j < 10 then j else 1.5 end from t",
]

#: What is an error in DuckDB; its answer to the same without the rows that do not count.
STRICTER = [
    ("select i <> 0 and 10 % i = 0 from t", "select i <> 0 and 10 % nullif(i, 0) = 0 from t"),
    ("select sum(10 % i) filter (where i <> 0) from t", "select sum(10 % nullif(i, 0)) from t"),
    ("select a, sum(10 % i) filter (where i <> 0) from t group by a",
     "select a, sum(10 % nullif(i, 0)) from t group by a"),
    ("select count(distinct 10 % i) filter (where i <> 0) from t", "select count(distinct 10 % nullif(i, 0)) from t"),
    ("select median(10 % i) filter (where i <> 0), array_agg(10 % i) filter (where i <> 0) from t",
     "select median(10 % nullif(i, 0)), array_agg(10 % i) filter (where i <> 0) from (select * from t where i <> 0)"),
    ("select case when i <> 0 then m end from (select 10 % i as m, i from t) x", "select 10 % nullif(i, 0) from t"),
    ("select sum(j * j) filter (where j < 10) from t", "select sum(j * j) from t where j < 10"),
    ("select a from t join u on t.a = u.k and z <> 0 and 10 % z = 0", "select a from t where a in (2, 3)"),
]  # fmt: skip

ERRORS = [
    "select 10 % i from t",
    "select case when i <> 1 then 10 % i end from t",
    "select a from t where a > 0 and 10 % i = 0",
    "select sum(10 % i) filter (where a < 2) from t",
    "select case when s <> 'x' then cast(s as int) end from t",
    "select case when a > 1 then j * j end from t",
]


@pytest.fixture(scope="module")
def connection() -> drawloom.Connection:
    return drawloom.connect(device="cpu").register("t", TABLE).register("u", OTHER)


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    return duckdb.connect().register("t", TABLE).register("u", OTHER)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_that_do_not_count_are_no_error(
    connection: drawloom.Connection, oracle: duckdb.DuckDBPyConnection, query: str
) -> None:
    assert not differences(connection.sql(query).arrow(), oracle.sql(query).arrow().read_all())


@pytest.mark.parametrize(("query", "same"), STRICTER)
def test_rows_that_do_not_count_where_duckdb_looks_at_them(
    connection: drawloom.Connection, oracle: duckdb.DuckDBPyConnection, query: str, same: str
) -> None:
    assert not differences(connection.sql(query).arrow(), oracle.sql(same).arrow().read_all())


@pytest.mark.parametrize("query", ERRORS)
def test_rows_that_count_are_errors(connection: drawloom.Connection, query: str) -> None:
    with pytest.raises(drawloom.DataError):
        connection.sql(query).arrow()


@pytest.mark.parametrize("outline", ["none", "flow"])
def test_guards_in_smaller_kernels(
    connection: drawloom.Connection, oracle: duckdb.DuckDBPyConnection, outline: str
) -> None:
    query = "select sum(case when j < 10 then j * j * j end), sum(case when i <> 0 then a % i end) from t"
    assert not differences(connection.sql(query, outline=outline).arrow(), oracle.sql(query).arrow().read_all())


def test_what_ranges_prove_needs_no_guard(connection: drawloom.Connection) -> None:
    relation = connection.sql("select sum(case when i <> 0 then a * a + 1 else 0 end) from t")
    main = relation.query.module().function("main")
    assert main is not None
    calls = [s.value for s in main.body if isinstance(s, Assign) and isinstance(s.value, Call)]
    assert [c.function.name for c in calls].count("if_else") == 1
