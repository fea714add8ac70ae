"""Expressions of hundreds of parts, each within the next."""

import re
import sys

import duckdb
import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import depth

TABLE = pa.table({"a": [1, 2, 299], "s": ["x", "y", "z"]})


@pytest.mark.parametrize("expression", [
    " + ".join(["a"] * 210),
    " || ".join(["s"] * 120),
    "case " + " ".join([f"when a = {i} then {i}" for i in range(320)]) + " end",
])  # fmt: skip
def test_hundreds_of_parts(expression: str) -> None:
    query = f"select {expression} as x from t"
    ours, theirs = drawloom.connect("cpu").register("t", TABLE), duckdb.connect().register("t", TABLE)
    assert ours.sql(query).fetchall() == theirs.execute(query).fetchall()


def test_more_parts_than_the_stack_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "_FRAMES", 0)
    before = sys.getrecursionlimit()
    branches = " ".join([f"when a = {i} then {i}" for i in range(before // 3)])
    con = drawloom.connect("cpu").register("t", TABLE)
    with pytest.raises(drawloom.UnsupportedError, match="more than a thousand parts"):
        con.sql(f"select case {branches} end from t").explain("outline")
    assert sys.getrecursionlimit() == before
    assert con.sql("select sum(a) from t").fetchall() == [(302,)]


def test_the_last_to_leave_gives_the_frames_back() -> None:
    before = sys.getrecursionlimit()
    first, second = depth.refuses_depth(), depth.refuses_depth()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getrecursionlimit() > before
    second.__exit__(None, None, None)
    assert sys.getrecursionlimit() == before


def test_brackets_that_the_parser_does_not_follow_are_said_to_be_nested_too_deeply() -> None:
    with pytest.raises(drawloom.Error, match="nested too deeply"):
        drawloom.connect("cpu").sql(f"select {'(' * 100}1{')' * 100}").arrow()


@pytest.mark.parametrize("text, item", [
    (f"select {'(select ' * 1001}1{')' * 1001}", "brackets 1,001 deep"),
    (f"select{'(' * 5000}1{')' * 5000}", "brackets 1,001 deep"),
    (f"select 1{'::int' * 5000}", r"101 casts of one value by ::, .* \(line 1, column 509\)"),
    (f"select a{'::decimal(4, 2)' * 2000} from t", "101 casts of one value"),
])  # fmt: skip
def test_texts_with_too_much_within_each_other_are_refused_at_once(text: str, item: str) -> None:
    with pytest.raises(drawloom.UnsupportedError) as refusal:
        drawloom.connect("cpu").sql(text).arrow()
    assert re.search(item, refusal.value.items[0])


def test_casts_side_by_side_are_not_within_each_other() -> None:
    assert drawloom.connect("cpu").sql(f"select {'1::int + ' * 150}1::bigint::int").fetchall() == [(151,)]
