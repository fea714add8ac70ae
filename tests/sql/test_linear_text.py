"""Long texts are read in linear time: comments, blanks, and every kind of token, thousands of them."""

import random

import pytest

from drawloom.errors import Error
from drawloom.sql import Connection, connect
from drawloom.sql.text import read, same_query
from tests.sql.long_texts import FAMILIES, Family, random_family, superlinear


@pytest.fixture(scope="module")
def connection() -> Connection:
    return connect("cpu")


@pytest.mark.parametrize("family", FAMILIES, ids=[repr(f.unit) for f in FAMILIES])
def test_texts_are_read_in_linear_time(family: Family) -> None:
    assert superlinear(family) == ""


@pytest.mark.parametrize("seed", range(10))
def test_random_texts_are_read_in_linear_time(seed: int) -> None:
    assert superlinear(random_family(random.Random(seed))) == ""


@pytest.mark.parametrize("before", [
    "-- one two three four five six seven\n", " " * 5000, "\n\t " * 2000, "/* a /* b */ c */ " * 300, "--\n" * 2000,
    "-- " + "a b " * 2000 + "\n",
], ids=["comment", "blanks", "lines", "nested comments", "empty comments", "long comment"])  # fmt: skip
def test_a_text_may_begin_with_comments_and_blanks(before: str, connection: Connection) -> None:
    assert connection.sql(before + "select 1").fetchall() == [(1,)]


@pytest.mark.parametrize("words, explain", [
    ("explain ", "explain"), ("EXPLAIN\nanalyze\t", "analyze"), ("", ""), ("explain_ ", ""), ("explain", "explain"),
])  # fmt: skip
def test_explain_is_read_behind_comments(words: str, explain: str) -> None:
    assert read(f" -- explain\n /* analyze */ {words} select 1").explain == explain


def test_explain_with_an_option_names_it() -> None:
    assert read("explain analyze verbose select 1").unsupported == ["EXPLAIN VERBOSE"]
    assert read("-- a\nexplain format json select 1").unsupported == ["EXPLAIN FORMAT JSON"]
    assert read("explain select verbose from t").sql.strip() == "select verbose from t"


def test_comments_and_blanks_make_no_other_query(connection: Connection) -> None:
    assert same_query("select  1 -- a\n , '--  b'  /* c */ from t") == same_query("select 1 , '--  b' from t")
    assert same_query("select 1/**/from t") == same_query("select 1 from t")
    with pytest.raises(Error):
        connection.sql("/* " * 2000 + "select 1").fetchall()
