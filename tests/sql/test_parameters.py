"""Parameters of queries: values in the places of ``?``, ``$1`` and ``$name``, with DuckDB's answers."""

import datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql.parameters import constant, with_values
from tests.sql.compare import differences

TABLE = pa.table(
    {
        "a": [1, 2, 3, None],
        "b": ["x", "it's", "?", None],
        "d": [Decimal("1.50"), None, Decimal("-2.25"), None],
        "f": [0.5, -1.0, 1e300, None],
        "day": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 3), None],
    }
)

QUERIES: list[tuple[str, Any]] = [
    ("select a from t where a > ?", [1]),
    ("select a from t where b = ? or a = ?", ["it's", 3]),
    ("select a from t where b = $2 or a = $1 or a = $1", [3, "it's"]),
    ("select a from t where a > $low and b <> $word", {"low": 0, "word": "x"}),
    ("select a from t where b = '?' and a = ? -- ? and $1\n", [3]),
    ("select a - ?, -?, a from t", [-5, -1]),
    ("select a from t where d = ? or d < ?", [Decimal("1.5"), Decimal("-2")]),
    ("select a from t where f > ? and f < ?", [-2.0, 1e299]),
    ("select a from t where day between ? and $2", [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]),
    ("select a from t where day > ?", [datetime.datetime(2020, 1, 1, 12, 30, 0, 5)]),
    ("select coalesce(b, ?), a is null and ? from t", ["none", True]),
    ("select a from t where a = ?", [None]),
    ("select a from t limit ?", [0]),
    ("select a, (select count(*) from t where a < $n) from t where a < $n", {"n": 3}),
]


@pytest.fixture(scope="module")
def connection() -> drawloom.Connection:
    return drawloom.connect(device="cpu").register("t", TABLE)


@pytest.mark.parametrize(("query", "parameters"), QUERIES)
def test_values_of_parameters(connection: drawloom.Connection, query: str, parameters: Any) -> None:
    oracle = duckdb.connect().register("t", TABLE)
    theirs = oracle.sql(query, params=parameters).arrow().read_all()
    assert not differences(connection.sql(query, parameters).arrow(), theirs)


@pytest.mark.parametrize(("value", "text"), [
    (np.int64(-3), "(-3)"), (np.float32(1.5), "cast('1.5' as double)"), (np.bool_(True), "true"), (None, "null"),
    (float("-inf"), "cast('-inf' as double)"), (Decimal("1E+3"), "cast(1000 as decimal(4, 0))"),
    (Decimal("-0.010"), "(-0.010)"), ("a'b", "'a''b'"), (datetime.time(1, 2), "time '01:02:00'"),
    (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), "timestamp with time zone '2020-01-01 00:00:00+00:00'"),
    (datetime.timedelta(days=1), "interval '86400000000 microseconds'"), ([1, [None, "x"]], "[1, [null, 'x']]"),
])  # fmt: skip
def test_the_constant_of_a_value(value: Any, text: str) -> None:
    assert constant(value) == text


def test_types_are_those_of_the_constants(connection: drawloom.Connection) -> None:
    values = [1, 1.5, "x", True, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 2), Decimal("1.50"), [1, 2]]
    table = connection.sql("select " + ", ".join([f"? as v{i}" for i in range(len(values))]), values).arrow()
    assert [str(t) for t in table.schema.types] == [
        "int64", "double", "string", "bool", "date32[day]", "timestamp[us]", "decimal128(3, 2)", "list<item: int64>",
    ]  # fmt: skip
    assert list(table.to_pylist()[0].values()) == values


def test_a_list_behind_in(connection: drawloom.Connection) -> None:
    assert connection.sql("select a from t where a in ? order by a", [[3, 1, 7]]).fetchall() == [(1,), (3,)]
    assert connection.sql("select a from t where a not in $keys", {"keys": (1, 2)}).fetchall() == [(3,)]


@pytest.mark.parametrize("query", [
    "select a, a in ? as x, a not in ? as y from t", "select a from t where not a + 1 in ? or s not in ?",
    "select a from t where case when a = 1 then 2 end in ? or (lower(s) || 'x') not in ?",
])  # fmt: skip
def test_a_list_without_values_behind_in(query: str) -> None:
    table = pa.table({"a": [1, None, 3], "s": ["x", "y", None]})
    theirs = duckdb.connect().register("t", table).sql(query, params=[[], []]).to_arrow_table()
    assert not differences(drawloom.connect("cpu").register("t", table).sql(query, [[], []]).arrow(), theirs)


def test_parameters_within_quotes_and_comments_are_none() -> None:
    text = "select '?', \"?\", $x$ ? $x$ -- ?\n /* $1 */ from t where a = ?"
    assert with_values(text, [5]) == text[:-1] + "5"


@pytest.mark.parametrize(("query", "parameters", "said"), [
    ("select ?", None, r"parameter \? has no value: 0 were given"),
    ("select ?, $3", [1], r"parameter \$3 has no value: 1 were given"),
    ("select ?", [1, 2], "no parameter for value 2"),
    ("select $a", {"b": 1, "a": 2}, "no parameter for 'b'"),
    ("select $a", {"b": 1}, r"parameter \$a has no value: 'b' were given"),
    ("select $a", [1], r"parameter \$a takes a value of a dict"),
    ("select ?", {"a": 1}, r"parameter \? takes a value of a list"),
    ("select ?", [object()], "a parameter is of type object"),
    ("select ?", "x", "parameters are a list or a dict, not str"),
    ("select in ?", [[]], "an empty list"),
    ("select ?", [Decimal("nan")], "decimals are finite"),
    ("select ?", [Decimal(10**40)], "more than 38 digits"),
])  # fmt: skip
def test_parameters_that_do_not_go_with_the_text(
    connection: drawloom.Connection, query: str, parameters: Any, said: str
) -> None:
    with pytest.raises(drawloom.DataError, match=said):
        connection.sql(query, parameters)
