"""What can be asked of a relation besides its rows."""

import pyarrow as pa
import pytest

import drawloom

TABLE = pa.table({"n": list(range(100)), "s": [f"word {i}" for i in range(100)], "l": [[i] for i in range(100)]})


@pytest.fixture(scope="module")
def connection() -> drawloom.Connection:
    return drawloom.connect(device="cpu").register("t", TABLE).register("Sales 2024", TABLE)


def test_columns_types_and_shape(connection: drawloom.Connection) -> None:
    relation = connection.sql("select n, s as Word, l, n / 2 as half from t where n < 10")
    assert relation.columns == ["n", "word", "l", "half"]
    assert [str(t) for t in relation.types] == ["int64", "string", "list<item: int64>", "double"]
    assert relation.schema.equals(relation.arrow().schema)
    assert (relation.shape, len(relation)) == ((10, 4), 10)
    assert connection.sql("select 1 where false")


def test_limits_of_limits(connection: drawloom.Connection) -> None:
    relation = connection.sql("select n from t order by n desc")
    assert relation.limit(2).fetchall() == [(99,), (98,)]
    assert relation.limit(5, offset=98).fetchall() == [(1,), (0,)]
    assert relation.limit(4).limit(9, 2).fetchall() == [(97,), (96,)]
    assert relation.limit(2).limit(3, 5).fetchall() == []
    assert relation.limit(3).df().n.tolist() == [99, 98, 97]
    with pytest.raises(drawloom.DataError, match="numbers of rows"):
        relation.limit(-1)
    with pytest.raises(drawloom.DataError, match="limit\\(x, 0\\): numbers of rows were expected"):
        relation.limit("x")


def test_a_limit_of_what_falls_back(connection: drawloom.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    relation = connection.sql("select arrow_typeof(n) as kind, n from t order by n", fallback="datafusion")
    assert relation.limit(1, 3).fetchall() == [("Int64", 3)]
    assert relation.columns == ["kind", "n"]
    assert "run in DataFusion" in capsys.readouterr().err


def test_rows_are_fetched_one_after_the_other(connection: drawloom.Connection) -> None:
    relation = connection.sql("select n from t where n < 4 order by n")
    assert relation.fetchone() == (0,)
    assert relation.fetchmany(2) == [(1,), (2,)]
    assert relation.fetchmany(5) == [(3,)]
    assert (relation.fetchone(), relation.fetchmany(2)) == (None, [])


def test_show_prints_the_first_rows(connection: drawloom.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    connection.sql("select n, s from t order by n").show(max_rows=2)
    assert capsys.readouterr().out == "n  s\n-  ------\n0  word 0\n1  word 1\n(first 2 rows)\n"
    connection.sql("select null as x, 'a' || chr(10) || 'b' as y where 1 = 1").show()
    assert capsys.readouterr().out == "   x  y\n----  ----\nNULL  a\\nb\n(1 row)\n"


@pytest.mark.parametrize("width", [30, 60, 80])
def test_show_is_no_wider_than_asked_for(
    connection: drawloom.Connection, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    columns = ", ".join([f"n + {i} as sum_number_{i}" for i in range(40)])
    connection.sql(f"select repeat(s, 20) as long, {columns} from t").show(max_rows=3, max_width=width)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) == 6
    assert "…" in lines[0]


@pytest.mark.parametrize("name", ["Sales 2024", "sales 2024", "SALES 2024"])
def test_a_table_whose_name_is_no_identifier(connection: drawloom.Connection, name: str) -> None:
    connection.register(name, TABLE)
    assert connection.sql(f'select count(*) from "{name}" q where q.n > 90').fetchall() == [(9,)]


@pytest.mark.parametrize("name", ["Orders", "a.b-c", "über", "select", "1st", "it's", "per cent %"])
def test_names_of_tables_in_subqueries_and_fallbacks(name: str) -> None:
    con = drawloom.connect(device="cpu").register(name, TABLE)
    last = f'(select max(n) from "{name}" x where x.n < t.n)'
    query = f'select {last} from "{name}" t where n in (select n from "{name}") limit 3'
    assert con.sql(query).fetchall() == [(None,), (0,), (1,)]
    assert con.sql(f'select arrow_typeof(n) from "{name}" limit 1', fallback="datafusion").fetchall() == [("Int64",)]
    assert con.tables() == [name.lower()]


def test_columns_with_capitals_and_blanks(connection: drawloom.Connection) -> None:
    con = drawloom.connect(device="cpu").register("T", pa.table({"Key Col": [1, 2], "Value": [3, 4]}))
    assert con.sql('select "Value", "Key Col" + 1 as "Next One" from T where "Key Col" > 1').arrow().to_pydict() == {
        "Value": [4], "Next One": [3],
    }  # fmt: skip


def test_a_file_in_from_is_told_to_be_registered(connection: drawloom.Connection) -> None:
    with pytest.raises(drawloom.Error, match=r"no table 'a/b\.parquet': a file gets a name first, by register"):
        connection.sql("select * from 'a/b.parquet'").arrow()
    with pytest.raises(drawloom.Error, match=r"no table 'nope'\n"):
        connection.sql("select * from nope").arrow()
