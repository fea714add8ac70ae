"""The builtins of joins, each alone against plain Python: which rows match, in which order, and what the masks say."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import drawloom
from drawloom.horse import matching
from drawloom.horse.evaluate import average, averages, like_hits, like_pattern
from drawloom.horse.library import call
from drawloom.horse.types import BOOL, F64, I16, I32, I64, STR, DecimalType, VectorType
from drawloom.horse.values import Dictionary, ListValue, Value, Vector, as_vector, from_values, strings

SIZES = [0, 1, 2, 31, 32, 33, 97, 1000]
D2 = DecimalType(9, 2)
D3 = DecimalType(30, 3)

#: What keys are drawn from: dense and sparse integers, wide decimals, floats with NaN and both zeros, text.
KEYS: dict[str, tuple[VectorType, Callable[[random.Random], object]]] = {
    "dense": (I32, lambda rng: rng.randint(-5, 20)),
    "unique": (I64, lambda rng: rng.randint(0, 10**6)),
    "sparse": (I64, lambda rng: rng.choice([-(2**63), 2**63 - 1, 0, rng.randint(-(2**62), 2**62)])),
    "wide": (D3, lambda rng: rng.choice([10**25, -(10**25), 0, 1])),
    "float": (F64, lambda rng: rng.choice([0.0, -0.0, float("nan"), 1.5, float("inf")])),
    "text": (STR, lambda rng: rng.choice(["", "a", "ab", "Zoë", "zz"])),
    "bool": (BOOL, lambda rng: rng.randint(0, 1)),
}


def column(kind: str, rng: random.Random, rows: int) -> Vector:
    type, draw = KEYS[kind]
    return from_values([draw(rng) for _ in range(rows)], type)


def comparable(vector: Vector) -> list[object]:
    if vector.type.kind == "text":
        return list(strings(vector))
    return ["nan" if v != v else v for v in vector.data.tolist()]


def expected_pairs(left: list[Vector], right: list[Vector]) -> list[tuple[int, int]]:
    a, b = [list(zip(*[comparable(c) for c in side])) for side in (left, right)]
    found = [(i, j) for i, x in enumerate(a) for j, y in enumerate(b) if x == y]
    return found if len(a) >= len(b) else sorted(found, key=lambda pair: (pair[1], pair[0]))


def lists(left: list[Vector], right: list[Vector]) -> list[Value]:
    return [ListValue(list(left)), ListValue(list(right))]


def joined(left: list[Vector], right: list[Vector]) -> list[tuple[int, int]]:
    made = call("join", lists(left, right))
    assert isinstance(made, ListValue)
    a, b = [as_vector(c).data.tolist() for c in made.cells]
    return list(zip(a, b, strict=True))


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("kinds", [["dense"], ["unique"], ["sparse"], ["wide"], ["float"], ["text"], ["bool", "dense"],
                                   ["sparse", "text", "unique"], ["sparse", "sparse"]], ids="-".join)  # fmt: skip
def test_join_and_contains(kinds: list[str], rows: int) -> None:
    rng = random.Random(rows)
    for other in (0, 1, 7, 64):
        for sizes in ((rows, other), (other, rows)):
            left, right = [[column(k, rng, n) for k in kinds] for n in sizes]
            pairs = expected_pairs(left, right)
            assert joined(left, right) == pairs
            found = as_vector(call("contains", lists(left, right)))
            assert found.type == BOOL
            assert np.flatnonzero(found.data).tolist() == sorted({i for i, _ in pairs})


def test_keys_of_two_types_compare_as_the_values_do() -> None:
    whole, money, real = from_values([1, 2, 3], I16), from_values([250, 200, 100], D2), from_values([2.5, 1.0], F64)
    assert joined([whole], [money]) == [(0, 2), (1, 1)]
    assert joined([money], [real]) == [(0, 0), (2, 1)]


def test_too_many_columns_of_sparse_keys_for_64_bits() -> None:
    rng = random.Random(1)
    columns = [column("sparse", rng, 50) for _ in range(5)]
    assert joined(columns, columns) == expected_pairs(columns, columns)


def test_a_join_of_too_many_pairs_is_an_error() -> None:
    same = Vector(I32, np.zeros(1 << 15, dtype=np.int32))
    with pytest.raises(drawloom.DataError, match="1073741824 pairs of rows"):
        call("join", lists([same], [same]))
    with pytest.raises(drawloom.DataError, match="pairs of rows"):
        call("cross", [same, same])


@pytest.mark.parametrize("rows", SIZES)
def test_stable_order(rows: int) -> None:
    rng = random.Random(rows)
    for size in (1, 3, 1 << 20, 1 << 62):
        codes = np.array([rng.randrange(size) for _ in range(rows)], dtype=np.int64)
        order, in_order = matching.stable_order(codes, size)
        assert order.tolist() == sorted(range(rows), key=lambda i: int(codes[i]))
        assert in_order.tolist() == sorted(codes.tolist())


@pytest.mark.parametrize("rows", SIZES)
def test_rows_and_masks(rows: int) -> None:
    rng = random.Random(rows)
    mask = [rng.random() < 0.5 for _ in range(rows)]
    vector = Vector(BOOL, np.array(mask, dtype=bool))
    where = as_vector(call("where", [vector]))
    assert where.data.tolist() == [i for i, m in enumerate(mask) if m]
    assert as_vector(call("touched", [where, vector])).data.tolist() == mask
    twice = as_vector(call("concat", [where, where]))
    assert twice.data.tolist() == where.data.tolist() * 2
    cross = call("cross", [vector, from_values([1, 2, 3], I32)])
    assert isinstance(cross, ListValue)
    left, right = [as_vector(c).data.tolist() for c in cross.cells]
    assert list(zip(left, right)) == [(i, j) for i in range(rows) for j in range(3)]


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("kind", KEYS)
def test_outer_index_gives_zero_for_no_row(kind: str, rows: int) -> None:
    rng = random.Random(rows)
    vector = column(kind, rng, rows)
    places = [rng.randint(-1, rows - 1) for _ in range(50)]
    found = as_vector(call("outer_index", [vector, from_values(places, I64)]))
    zero = "" if kind == "text" else 0
    given = comparable(vector)
    assert comparable(found) == [given[p] if p >= 0 else zero for p in places]


def test_rows_of_a_join_whose_blocks_match_whole_in_part_or_not() -> None:
    """Every row of a block, none, or some; the last is short, and more than what is put together at a time."""
    rows, block = 9 * 65536 + 77, 65536
    keys = np.random.default_rng(3).integers(0, 100, rows).astype(np.int32)
    keys[block : 2 * block] = 1000
    keys[2 * block : 3 * block : 3] = 1000
    order = np.random.default_rng(4).permutation(100).astype(np.int32)
    made = call("join", lists([Vector(I32, keys)], [Vector(I32, order)]))
    assert isinstance(made, ListValue)
    left, right = [as_vector(c).data for c in made.cells]
    np.testing.assert_array_equal(left, np.flatnonzero(keys < 1000))
    np.testing.assert_array_equal(order[right], keys[keys < 1000])


@pytest.mark.parametrize(("parts", "made"), [([I16, I32], np.int32), ([I16, I16], np.int16), ([I64, I16], np.int64)])
def test_concat_makes_integers_no_wider_than_they_are(parts: list[VectorType], made: Any) -> None:
    data = [np.array([-1, 2], {I16: np.int16, I32: np.int32, I64: np.int64}[type]) for type in parts]
    found = as_vector(call("concat", [Vector(I64, values) for values in data]))
    assert found.data.dtype == made and found.data.tolist() == [-1, 2, -1, 2] and found.type == I64


def test_concat_of_texts_has_one_dictionary() -> None:
    made = as_vector(call("concat", [from_values(["b", "a"], STR), from_values(["c", "a"], STR)]))
    assert strings(made) == ["b", "a", "c", "a"] and list(made.words) == ["a", "b", "c"]


def test_single() -> None:
    assert as_vector(call("single", [from_values([7], I32)])).data.tolist() == [7]
    assert as_vector(call("single", [from_values([], I32)])).data.tolist() == [0]
    with pytest.raises(drawloom.DataError, match="gave 2 rows"):
        call("single", [from_values([7, 8], I32)])


def test_item_is_a_cell_of_a_list() -> None:
    cells = ListValue([from_values([1], I64), from_values([2], I64)])
    assert as_vector(call("item", [cells, from_values([1], I64)])).data.tolist() == [2]
    with pytest.raises(drawloom.DataError, match="@item 2 of a list of 2"):
        call("item", [cells, from_values([2], I64)])


@pytest.mark.parametrize(("start", "count"), [(1, 2), (2, 0), (2, 3), (5, 9), (9, 1), (1, 2**31 - 1)])
def test_substring_counts_characters(start: int, count: int) -> None:
    words = ["hello", "", "Zoë", "äöü€", "a"]
    made = call("substring", [from_values(words, STR), from_values([start], I64), from_values([count], I64)])
    assert strings(as_vector(made)) == [w[start - 1 : start - 1 + count] for w in words]


@pytest.mark.parametrize("rows", SIZES[1:])
@pytest.mark.parametrize("kinds", [["dense"], ["sparse"], ["wide", "float"], ["text", "bool", "unique"],
                                   ["sparse", "sparse", "unique"]], ids="-".join)  # fmt: skip
def test_groups_are_in_the_order_of_their_keys(kinds: list[str], rows: int) -> None:
    rng = random.Random(rows)
    columns = [column(k, rng, rows) for k in kinds]
    found = call("group", [ListValue(list(columns))])
    assert isinstance(found, Dictionary)
    rows_of: dict[Any, list[int]] = {}
    for row, key in enumerate(zip(*[as_sorted(c) for c in columns])):
        rows_of.setdefault(key, []).append(row)
    expected = [rows_of[key] for key in sorted(rows_of)]
    assert [c.data.tolist() for c in found.values.cells()] == expected
    assert found.keys.data.tolist() == [cell[0] for cell in expected]


def as_sorted(vector: Vector) -> list[Any]:
    """The values as they sort: NaN above infinity, text by its bytes."""
    if vector.type.kind == "text":
        return [w.encode() for w in strings(vector)]
    return [(v != v, 0 if v != v else v) for v in vector.data.tolist()]


@given(st.lists(st.text("ab%_.*[\n\\Zöé€", max_size=6)), st.text("ab%_.*[\nö€", max_size=5))
def test_like_by_arrow_is_like_by_expressions(words: list[str], pattern: str) -> None:
    matcher = like_pattern(pattern)
    assert like_hits(pa.array(words, pa.large_string()), pattern).tolist() == [
        matcher.fullmatch(w) is not None for w in words
    ]


@given(st.lists(st.tuples(st.integers(-(2**60), 2**60) | st.integers(-99, 99), st.integers(0, 50))), st.integers(0, 25))
def test_averages_of_many_are_the_averages(cells: list[tuple[int, int]], scale: int) -> None:
    cells = [(s if c else 0, c) for s, c in cells]
    sums, counts = np.array([s for s, _ in cells], np.int64), np.array([c for _, c in cells], np.int64)
    made = averages(sums, counts, scale).tolist()
    assert [repr(m) for m in made] == [repr(average(s, c, scale)) for s, c in cells]


@pytest.mark.parametrize("rows", [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 700_001])
def test_rows_are_taken_in_blocks(rows: int) -> None:
    index = np.random.default_rng(rows).integers(0, 1000, rows)
    vector = Vector(I32, np.arange(1000, dtype=np.int32), valid=np.arange(1000) % 3 > 0)
    found = vector.take(index)
    assert np.array_equal(found.data, index) and found.data.dtype == np.int32
    assert found.valid is not None and np.array_equal(found.valid, index % 3 > 0)
    with pytest.raises(IndexError):
        vector.take(np.append(index, 1000))


@pytest.mark.parametrize("rows", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_001])
def test_joins_look_up_in_blocks(rows: int) -> None:
    left, right = np.arange(rows) % 7, np.array([3, 5, 3, 9])
    for a, b in ((left, right), (right, left)):
        made = call("join", lists([Vector(I64, a)], [Vector(I64, b)]))
        assert isinstance(made, ListValue)
        x, y = [as_vector(c).data for c in made.cells]
        assert len(x) == 2 * int((left == 3).sum()) + int((left == 5).sum())
        assert np.array_equal(a[x], b[y])
