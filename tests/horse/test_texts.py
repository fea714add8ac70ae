"""Functions of text: of rows with a string each, of words that repeat, and of what is not sorted into words yet, all in
several blocks, against Python's."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.distinct import numbered
from drawloom.horse.library import call
from drawloom.horse.types import BOOL, I64, STR
from drawloom.horse.values import RawText, SpelledText, Value, Vector, as_vector, from_values, strings
from drawloom.horse.words import ranked
from drawloom.sql import connect
from tests.sql.compare import assert_agrees, differences, duckdb_exact

WORDS = ["", " b ", "ÀB", "abc", "K", "straße", "İ", "Ab", "\U0001f600x", "abc", "", "zz"]


#: More than a block of words, and rows that repeat some.
MANY = [f"{WORDS[n % len(WORDS)]}{n}" for n in range(66_000)]
MANY += MANY[:999]


def spelled(rows: list[str], kind: str) -> Vector:
    if kind == "raw":
        pieces = [pa.array(rows[:4], pa.large_string()), pa.array(rows[4:], pa.large_string())]
        return Vector(STR, RawText(pa.chunked_array(pieces)))
    if kind == "words":
        return Vector(STR, *ranked(pa.array(rows, pa.large_string())))
    return Vector(STR, SpelledText(pa.array(["-", *rows[::-1]], pa.large_string()), np.arange(len(rows), 0, -1)))


CALLS: list[tuple[str, list[Value], Callable[[str], object]]] = [
    ("lower", [], lambda s: s.replace("İ", "i").lower()),
    ("upper", [], lambda s: s.replace("ß", "ẞ").upper()),
    ("length", [], len),
    ("octet_length", [], lambda s: len(s.encode())),
    ("trim", [], lambda s: s.strip(" ")),
    ("replace", [from_values(["b"], STR), from_values(["bb"], STR)], lambda s: s.replace("b", "bb")),
    ("position", [from_values(["b"], STR)], lambda s: s.find("b") + 1),
    ("substring", [from_values([2], I64), from_values([2], I64)], lambda s: s[1:3]),
    ("like", [from_values(["%b%"], STR)], lambda s: "b" in s),
]  # fmt: skip


def plain(vector: Vector) -> list[object]:
    return list(strings(vector)) if vector.type == STR else vector.data.tolist()


@pytest.mark.parametrize("kind", ["raw", "words", "spelled"])
@pytest.mark.parametrize("name, options, wanted", CALLS, ids=[c[0] for c in CALLS])
@pytest.mark.parametrize("rows", [MANY, WORDS, WORDS[3:4], []], ids=["many", "some", "one", "none"])
def test_text_functions_give_what_they_do_of_each_row(
    rows: list[str], name: str, options: list[Value], wanted: Callable[[str], object], kind: str
) -> None:
    found = as_vector(call(name, [spelled(rows, kind), *options]))
    assert len(found) == len(rows)
    assert plain(found) == [wanted(row) for row in rows]


def test_text_that_has_no_words_yet_is_picked_from_and_compared() -> None:
    lowered = as_vector(call("lower", [spelled(MANY, "words")]))
    assert isinstance(lowered.deferred, SpelledText)
    few = lowered.take(np.array([3, 7, 66_003]))
    assert isinstance(few.deferred, SpelledText)
    assert plain(as_vector(call("length", [few]))) == [4, 3, 4]
    assert isinstance(few.deferred, SpelledText), "no words were made"
    assert plain(few) == ["abc3", "ab7", "abc3"]
    assert list(few.words) == sorted(set(plain(lowered)), key=str.encode)
    assert plain(as_vector(call("eq", [few, from_values(["abc3"], STR)]))) == [True, False, True]


def test_only_strings_of_rows_are_changed_where_these_are_few() -> None:
    few = spelled(MANY, "words").take(np.array([3, 3]))
    changed = as_vector(call("upper", [few]))
    assert plain(changed) == ["ABC3", "ABC3"]
    assert list(changed.words) == ["ABC3"]


QUERIES = [
    "select k, s ilike '%K%', s ilike 'strasse', s ilike 'ab_', s ilike '%', lower(s), upper(s) from t",
    "select lower(s), count(*), min(upper(s)) from t group by lower(s)",
    "select length(lower(s)), count(*), count(s) from t where s ilike '%b%' group by 1",
    "select count(*) from t where lower(s) like '%b%' and length(upper(s)) > 2",
    "select upper(s) from t where k in (3, 9, 12)",
]


def test_text_functions_agree_with_duckdb() -> None:
    table = pa.table({"s": [*WORDS, None, "x%y", "X_Y"], "k": list(range(15))})
    for query in QUERIES:
        assert_agrees(query, table)


def test_functions_of_many_texts_agree_with_duckdb() -> None:
    table = pa.table({"s": [None, *MANY], "k": list(range(len(MANY) + 1))})
    ours, theirs = connect("cpu").register("t", table), duckdb_exact()
    theirs.register("t", table)
    for query in QUERIES[2:]:
        assert differences(ours.sql(query).arrow(), theirs.sql(query).to_arrow_table()) == []


@pytest.mark.parametrize(
    "values", [[], [5], [-(2**63), 2**63 - 1, 0], [3, -2, 3, 0] * 9, list(range(9000, 0, -3))], ids=len
)
def test_values_are_numbered_in_their_order(values: list[int]) -> None:
    for column in (np.array(values, dtype=np.int64), np.array(values, dtype=object), np.array(values) > 1):
        places, count = numbered(column)
        distinct = sorted(set(column.tolist()))
        assert count == len(distinct)
        assert [distinct[p] for p in places.tolist()] == column.tolist()


def test_texts_chosen_by_a_condition_have_narrow_codes() -> None:
    chosen, sides = from_values([1, 0], BOOL), [from_values([word], STR) for word in ("b", "a")]
    made = as_vector(call("if_else", [chosen, *sides]))
    assert plain(made) == ["b", "a"] and made.data.dtype == np.int8


def test_rows_are_counted_without_their_text() -> None:
    table = pa.table({"s": ["a", None, "b"], "k": [1, 2, 1]})
    for query, wanted in (
        ("select count(*) from t where s like '%a%'", [(1,)]),
        ("select length(s), count(*) from t group by 1 order by 1", [(1, 2), (None, 1)]),
    ):
        relation = connect("cpu").register("t", table).sql(query)
        assert relation.fetchall() == wanted
        explained = relation.explain()
        assert "str = @compress" not in explained and "list<str>" not in explained
