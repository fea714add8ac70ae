"""Words against Python's own sorting by UTF-8 bytes: ranks, searches, and dictionaries put together."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawloom.horse.evaluate import comparable
from drawloom.horse.types import STR
from drawloom.horse.values import from_values, strings
from drawloom.horse.words import FEW, Words, ranked, united, words_of

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


def test_words_that_ascend_are_taken_as_they_are() -> None:
    given_ = pa.array(["a", "b", "c"], pa.large_string())
    assert ranked(given_)[1].arrow is given_
    assert strings(from_values(["b", "a", "b"], STR)) == ["b", "a", "b"]
    assert list(Words(given_)) == ["a", "b", "c"]
