"""Rows moved by kernels: what the host's functions give."""

from pathlib import Path

import numpy as np
import pytest

from drawloom.errors import DataError
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import FunctionValue
from drawloom.horse.types import BOOL, I64, STR
from drawloom.horse.values import ListValue, Ragged, Value, Vector
from drawloom.horse.words import words_of
from tests.horse.kernels.checks import (
    SIZES,
    as_on_a_gpu,
    assembled,
    kernels_on,
    same_as_host,
    taken_by_the_vendor,
    vectors,
)


def rows_of(size: int, count: int, dtype: type = np.int64) -> Vector:
    return Vector(I64, np.random.default_rng(count).integers(0, max(size, 1), count if size else 0).astype(dtype))


def masks(size: int) -> list[Vector]:
    rng = np.random.default_rng(size)
    return [Vector(BOOL, rng.random(size) < share) for share in (0.0, 0.01, 0.5, 1.0)]


def ragged(vector: Vector, cells: int) -> Ragged:
    """The vector cut into cells, of which some are empty."""
    cuts = np.sort(np.random.default_rng(cells).integers(0, len(vector) + 1, cells))
    return Ragged(vector, np.concatenate([[0], cuts, [len(vector)]]).astype(np.int64))


def everything(kernels: DeviceKernels, size: int, kinds: tuple[str, ...] = ()) -> None:
    """Each function with columns of some kinds, or of every kind."""
    columns = vectors(size)
    places = rows_of(size, size + 3, np.int32)
    none = Vector(I64, np.where(np.arange(size + 1) % 3 == 1, -1, 0 if size else -1))
    for column in [columns[kind] for kind in kinds or columns]:
        same_as_host(kernels, "index", column, places)
        same_as_host(kernels, "outer_index", column, none)
        for mask in masks(size):
            if size != 1:
                same_as_host(kernels, "compress", mask, column)
        same_as_host(kernels, "concat", column, column.take(places.data), column)
        same_as_host(kernels, "raze", ListValue([column, column]))
        same_as_host(kernels, "index_a", column, places, column.take(places.data[::-1]))
        if size:
            same_as_host(kernels, "index_a", column, places, column.take(np.array([size - 1])))
        cells = ragged(column, 5)
        same_as_host(kernels, "each_item", FunctionValue("compress"), Ragged(masks(size)[2], cells.offsets), cells)
        same_as_host(kernels, "each_right", FunctionValue("index"), column, Ragged(places, np.array([0, size])))
    for mask in masks(size):
        same_as_host(kernels, "where", mask)
        same_as_host(kernels, "before", mask, rows_of(size + 1, 50))
    same_as_host(kernels, "touched", rows_of(size, size // 2), columns["bool"])


@pytest.mark.parametrize("size", SIZES)
def test_every_move(size: int) -> None:
    everything(kernels_on("cpu"), size)


@pytest.mark.parametrize("size", [0, 1, 97])
def test_every_move_on_the_reference(size: int) -> None:
    everything(kernels_on("reference"), size, ("i64", "bool", "f32"))


def test_moves_with_several_warps_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    everything(as_on_a_gpu(monkeypatch, "cpu"), 4099, ("i64", "bool"))


def test_places_of_every_width() -> None:
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        same_as_host(kernels_on("cpu"), "index", vectors(97)["f64"], rows_of(97, 997, dtype))


def test_a_million_rows() -> None:
    columns, kernels = vectors(1_000_000), kernels_on("cpu")
    same_as_host(kernels, "compress", masks(1_000_000)[2], columns["i64"])
    same_as_host(kernels, "index", columns["f64"], rows_of(1_000_000, 1_000_000))


@pytest.mark.parametrize(("skip", "keep"), [(0, 3), (2, -1), (90, 30), (200, 5), (0, 0)])
def test_some_rows_in_a_row_are_taken(skip: int, keep: int) -> None:
    columns = vectors(97)
    for kind in ("i16", "f64", "str", "bool"):
        bounds = [Vector(I64, np.array([bound])) for bound in (skip, keep)]
        same_as_host(kernels_on("cpu"), "top", columns[kind], *bounds)


def test_concat_of_texts_with_words_of_their_own() -> None:
    texts = [Vector(STR, np.array([0, 1, 1]), words_of(w)) for w in (["b", "d"], ["a", "d"], ["d", "e"])]
    same_as_host(kernels_on("cpu"), "concat", *texts)


def test_concat_of_integers_of_unlike_widths() -> None:
    parts = [Vector(I64, np.array([-1, 2**62 if d is np.int64 else 3], dtype=d)) for d in (np.int8, np.int32, np.int64)]
    for order in (parts, parts[::-1], parts[:2], [Vector(BOOL, np.array([True])), parts[0]]):
        same_as_host(kernels_on("cpu"), "concat", *order)


def test_a_place_written_twice_keeps_the_last_value() -> None:
    """Whatever the order of threads: most rows write one of three places, a warp and a block apart."""
    rng = np.random.default_rng(1)
    places = Vector(I64, rng.choice(np.array([0, 5, 9_000, 9_001]), 200_000))
    vector, written = Vector(I64, np.arange(10_000)), Vector(I64, rng.integers(0, 2**40, 200_000))
    made = same_as_host(kernels_on("cpu"), "index_a", vector, places, written)
    assert isinstance(made, Vector)
    assert [int(made.data[p]) for p in (0, 1)] == [int(written.data[np.flatnonzero(places.data == 0)[-1]]), 1]


def test_values_written_are_of_another_width_or_dictionary() -> None:
    places = Vector(I64, np.array([2, 0, 2]))
    for dtype in (np.int8, np.int32, np.int64):
        for value in (-1, 100, 2**40 if dtype is np.int64 else 2):
            written = Vector(I64, np.array([7, 8, value], dtype=dtype))
            for other in (np.int8, np.int16, np.int64):
                same_as_host(kernels_on("cpu"), "index_a", Vector(I64, np.arange(4, dtype=other)), places, written)
    texts = [Vector(STR, np.array([0, 1, 1, 0]), words_of(["b", "d"])), Vector(STR, np.array([0]), words_of(["a"]))]
    same_as_host(kernels_on("cpu"), "index_a", texts[0], places, texts[1])


@pytest.mark.parametrize("place", [3, -1, 2**40])
def test_rows_that_there_are_not(place: int) -> None:
    places, vector = Vector(I64, np.array([0, place])), Vector(I64, np.arange(3))
    calls: list[tuple[str, list[Value]]] = [
        ("index", [vector, places]), ("touched", [places, vector]), ("index_a", [vector, places, places]),
    ]  # fmt: skip
    for name, arguments in calls:
        with pytest.raises(DataError, match=r"none of 3|outside of the 3 rows"):
            CALLS[name](kernels_on("cpu"), arguments)


def test_operands_that_the_host_takes() -> None:
    """Integers of more than 64 bits, one mask for all rows, text without an empty word where rows are missing."""
    kernels, wide = kernels_on("cpu"), Vector(I64, np.array([2**70, 1], dtype=object))
    assert CALLS["index"](kernels, [wide, Vector(I64, np.array([0]))]) is None
    assert CALLS["compress"](kernels, [Vector(BOOL, np.array([True])), Vector(I64, np.arange(5))]) is None
    assert CALLS["concat"](kernels, [wide, wide]) is None
    first = Vector(I64, np.array([0]))
    assert CALLS["index_a"](kernels, [Vector(I64, np.arange(2)), first, wide.take(first.data)]) is None
    text = Vector(STR, np.array([0, 1]), words_of(["b", "d"]))
    assert CALLS["outer_index"](kernels, [text, Vector(I64, np.array([0, -1]))]) is None
    same_as_host(kernels, "outer_index", text, Vector(I64, np.array([1, 0])))


@pytest.mark.vendor
def test_assemblers_take_moves(ptxas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = as_on_a_gpu(monkeypatch, "cpu")
    everything(kernels, 97, ("i64", "bool"))
    assert assembled(kernels) > 10
    taken_by_the_vendor(kernels, ptxas, tmp_path)
