"""Words against Python's own sorting by UTF-8 bytes: ranks, searches, and dictionaries put together; columns of text
and integers against what they are made of."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawloom.errors import DataError
from drawloom.horse.columns import convert
from drawloom.horse.evaluate import comparable
from drawloom.horse.library import call
from drawloom.horse.types import I64, STR
from drawloom.horse.values import (
    PAD,
    Column,
    RawText,
    Value,
    Vector,
    as_vector,
    bounds,
    from_values,
    narrowest,
    strings,
    vector_to_arrow,
)
from drawloom.horse.words import FEW, Words, picked, ranked, united, words_of

#: Strings that share beginnings, end at and around the bytes that one step of sorting compares, and hold zeros.
TEXTS = st.text("\0ab\x7fé€\U0001f600", max_size=4) | st.text("a\0", min_size=5, max_size=18)


def in_order(texts: list[str]) -> list[str]:
    return sorted(set(texts), key=str.encode)


@given(st.lists(TEXTS, max_size=60), st.integers(0, 2))
def test_ranks_are_places_among_the_distinct_strings(texts: list[str], skipped: int) -> None:
    given_ = pa.array(["é"] * skipped + texts, pa.large_string()).slice(skipped)
    places, words = ranked(given_)
    assert list(words) == in_order(texts)
    assert [words[p] for p in places.tolist()] == texts


@pytest.mark.parametrize("distinct", [1, 7, 3000, 4000])
def test_many_strings_that_repeat_are_ranked_alike(distinct: int) -> None:
    """Those that differ are found first, where the first strings repeat each other: of 4,000 they do not."""
    rng = np.random.default_rng(distinct)
    texts = [f"a string of {n} characters" for n in rng.integers(0, distinct, 10_000).tolist()]
    places, words = ranked(pa.array(["", *texts], pa.large_string()).slice(1))
    assert list(words) == in_order(texts)
    assert [words[p] for p in places[:500].tolist()] == texts[:500]
    assert words.arrow.take(pa.array(places)).to_pylist() == texts


@given(st.lists(TEXTS, max_size=20), TEXTS)
def test_searches_give_the_bounds_of_a_word(texts: list[str], word: str) -> None:
    words = words_of(texts)
    assert words.lower(word) == len([w for w in words if w.encode() < word.encode()])
    assert words.upper(word) == len([w for w in words if w.encode() <= word.encode()])


@given(st.lists(st.lists(TEXTS, max_size=8), min_size=1, max_size=3))
def test_united_dictionaries_have_all_words(parts: list[list[str]]) -> None:
    check_united(parts)


@pytest.mark.parametrize("others", [1, FEW, FEW + 1])
def test_few_words_and_many_are_united_alike(others: int) -> None:
    check_united([[f"b{n}" for n in range(500)], [f"a{n}" for n in range(others)], ["zz"], []])


def check_united(parts: list[list[str]]) -> None:
    dictionaries = [words_of(part) for part in parts]
    moved, words = united(dictionaries)
    assert list(words) == in_order([text for part in parts for text in part])
    for codes, old in zip(moved, dictionaries, strict=True):
        new = range(len(old)) if codes is None else codes.tolist()
        assert [words[code] for code in new] == list(old)


def test_united_words_that_are_all_known_stay_where_they_are() -> None:
    known = words_of(["a", "b", "c"])
    moved, words = united([known, words_of(["b"]), known])
    assert words is known and moved[0] is None and moved[2] is None


@pytest.mark.parametrize("many", [3, FEW + 5])
@given(st.lists(TEXTS, min_size=1, max_size=9), st.lists(TEXTS, min_size=1, max_size=9))
def test_texts_of_two_dictionaries_compare_as_strings_do(many: int, left: list[str], right: list[str]) -> None:
    more = [*right, *[f"word {n}" for n in range(many)]]
    for one, other in ((left, more), (more, left)):
        a, b = comparable(from_values(one, STR), from_values(other, STR))
        for x, code in zip(one, a.tolist(), strict=True):
            assert [code < c for c in b.tolist()] == [x.encode() < y.encode() for y in other]
            assert [code == c for c in b.tolist()] == [x == y for y in other]


def test_few_strings_are_picked_from_their_chunks() -> None:
    pieces = [pa.array(part, pa.large_string()) for part in (["a", "é"], [], ["c"], ["", "e"])]
    strings_ = pa.chunked_array(pieces)
    for rows in ([], [4, 0, 4], [2], [3, 1]):
        found = picked(strings_, np.array(rows, dtype=np.int64))
        assert found.to_pylist() == [["a", "é", "c", "", "e"][row] for row in rows]


def test_words_that_ascend_are_taken_as_they_are() -> None:
    given_ = pa.array(["a", "b", "c"], pa.large_string())
    assert ranked(given_)[1].arrow is given_
    assert strings(from_values(["b", "a", "b"], STR)) == ["b", "a", "b"]
    assert list(Words(given_)) == ["a", "b", "c"]


def raw_and_coded(texts: list[str | None]) -> tuple[Column, Column]:
    """A column whose text is strings as they are, and the same with codes."""
    raw = convert([pa.array(texts)], len(texts), STR, "raw")
    assert isinstance(raw.vector.deferred, RawText)
    ordered, codes = in_order([t or "" for t in texts]), [t or "" for t in texts]
    places = {word: code for code, word in enumerate(ordered)}
    return raw, Column(Vector(STR, np.array([places[c] for c in codes]), words_of(ordered)), 0, 0, None)


TEXT_CALLS: dict[str, list[Value]] = {
    "like": [from_values(["%7_1%"], STR)],
    "upper": [],
    "length": [],
    "substring": [from_values([3], I64), from_values([4], I64)],
    "eq": [from_values(["word 77"], STR)],
    "index": [Vector(I64, np.array([5, 3, 5, 19_999]))],
}


@pytest.mark.parametrize("name", TEXT_CALLS)
def test_a_text_without_codes_gives_what_one_with_codes_gives(name: str) -> None:
    texts: list[str | None] = [f"word {n}" if n % 100 else None for n in range(20_000)]
    raw, coded = raw_and_coded(texts)
    made, expected = [as_vector(call(name, [c.vector, *TEXT_CALLS[name]])) for c in (raw, coded)]
    assert vector_to_arrow(made).equals(vector_to_arrow(expected))
    assert isinstance(raw.vector.deferred, RawText) == (name != "eq"), "codes only where they are needed"
    assert strings(raw.vector) == strings(coded.vector)


@pytest.mark.parametrize("rows", [0, 1, 16_383, 16_384, 70_000])
@pytest.mark.parametrize("distinct", [1, 3, 1000, 10**9])
def test_a_column_of_text_has_the_strings_it_was_made_of(rows: int, distinct: int) -> None:
    texts = [None if n % 7 == 3 else f"é{n * 7919 % distinct}" for n in range(rows)]
    array = pa.array(texts, pa.string())
    for chunks in ([array], [array.slice(0, 9), array.slice(9)], [array.dictionary_encode()]):
        column = convert(chunks, rows, STR, "c")
        found = column.vector
        assert len(found) == rows and found.data.dtype == found.dtype
        if rows:
            assert column.low <= found.data.min() and found.data.max() <= column.high
        assert found.padded is not None and len(found.padded) % PAD == 0
        known = [t is not None for t in texts]
        assert (column.valid is None) == all(known)
        assert [s for s, k in zip(strings(found), known, strict=True) if k] == [t for t in texts if t is not None]


def test_a_column_of_more_rows_than_its_table_is_refused() -> None:
    for rows in (2, 4):
        for type, array in ((STR, pa.array(["a", "b", "c"])), (I64, pa.array([1, 2, 3]))):
            with pytest.raises(DataError, match="has other rows than the"):
                convert([array], rows, type, "column 'c'")


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 300) | st.none()), max_size=4))
def test_a_column_of_integers_grows_as_wide_as_they_are(pieces: list[list[int | None]]) -> None:
    values = [v for piece in pieces for v in piece]
    column = convert([pa.array(p, pa.int64()) for p in pieces], len(values), I64, "c")
    assert column.vector.data.tolist() == [v or 0 for v in values]
    bound = bounds(np.array([v or 0 for v in values], dtype=np.int64))
    assert (column.low, column.high) == bound and column.vector.dtype == narrowest(*bound)
    assert (column.valid is None) == (None not in values)
    assert column.valid is None or column.valid.tolist() == [v is not None for v in values]
