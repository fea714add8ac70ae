"""Joins by kernels: the pairs, in the order, and the masks that the host makes."""

from pathlib import Path

import numpy as np
import pytest

from drawloom.errors import DataError
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.types import F64, I64, STR, DecimalType
from drawloom.horse.values import ListValue, Vector
from drawloom.horse.words import words_of
from drawloom.runtime import device as find_device
from tests.horse.kernels.checks import (
    SIZES,
    as_on_a_gpu,
    assembled,
    kernels_on,
    same_as_host,
    taken_by_the_vendor,
    vectors,
)

#: The columns that keys are made of, beside each one by itself.
SEVERAL = [["i16", "str"], ["bool", "f32", "i8"], ["f64", "decimal"], ["date", "i16", "equal"]]


def keys(*columns: Vector) -> ListValue:
    return ListValue(list(columns))


def joined(kernels: DeviceKernels, left: ListValue, right: ListValue) -> None:
    same_as_host(kernels, "join", left, right)
    same_as_host(kernels, "contains", left, right)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 97])
def test_keys_of_every_kind(device: str, size: int) -> None:
    kernels = kernels_on(device)
    left, right = vectors(size), vectors(size + size // 3, 1)
    kinds = [*[[n] for n in left], *SEVERAL] if size == 97 else [["i8"], ["i64"], SEVERAL[0]]
    for names in kinds if device == "cpu" else SEVERAL[:1]:
        sides = [keys(*[side[n] for n in names]) for side in (left, right)]
        joined(kernels, sides[0], sides[1])
        joined(kernels, sides[1], sides[0])


@pytest.mark.parametrize("size", SIZES)
def test_uneven_counts(size: int) -> None:
    """Partners in none to thousands, and the sides' lengths in both orders."""
    rng = np.random.default_rng(size)
    skewed = Vector(I64, np.minimum(rng.zipf(1.5, size), 40))
    few = Vector(I64, rng.integers(0, 40, 97))
    joined(kernels_on("cpu"), keys(skewed), keys(few))
    joined(kernels_on("cpu"), keys(few), keys(skewed))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_all_keys_equal(device: str) -> None:
    one = keys(Vector(I64, np.full(40, 2**40)))
    joined(kernels_on(device), one, keys(Vector(I64, np.full(97, 2**40))))
    joined(kernels_on(device), one, keys(Vector(I64, np.full(97, 5))))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_blocks_of_several_warps(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    kernels = as_on_a_gpu(monkeypatch, device)
    rng = np.random.default_rng(3)
    for low in (0, -(2**40)):
        sides = [keys(Vector(I64, rng.integers(low, low + 40, size))) for size in (70, 130)]
        joined(kernels, sides[0], sides[1])


def test_text_and_decimals_that_compare_across_types() -> None:
    rng = np.random.default_rng(1)
    texts = [
        Vector(STR, rng.integers(0, 3, size).astype(np.int8), words_of(words))
        for size, words in ((50, ["a", "b", "d"]), (70, ["b", "c", "d"]))
    ]
    joined(kernels_on("cpu"), keys(texts[0]), keys(texts[1]))
    numbers = [Vector(DecimalType(15, s), rng.integers(0, 9, 60) * 10**s) for s in (0, 2)]
    joined(kernels_on("cpu"), keys(numbers[0]), keys(numbers[1]))


def test_a_million_rows() -> None:
    rng = np.random.default_rng(7)
    unique = Vector(I64, rng.permutation(300_000))
    fact = Vector(I64, rng.integers(0, 400_000, 1_000_000))
    sparse = [Vector(I64, rng.integers(0, 200_000, n) * 12_345_678_901) for n in (200_000, 1_000_000)]
    joined(kernels_on("cpu"), keys(unique), keys(fact))
    joined(kernels_on("cpu"), keys(sparse[0]), keys(sparse[1]))


def test_more_pairs_than_a_join_may_make() -> None:
    """Counted beyond 32 bits, before any is written."""
    many = keys(Vector(I64, np.zeros(70_000, dtype=np.int64)))
    with pytest.raises(DataError, match="a join of 4900000000 pairs of rows"):
        CALLS["join"](kernels_on("cpu"), [many, many])
    with pytest.raises(DataError, match="a join of 4900000000 pairs of rows"):
        CALLS["cross"](kernels_on("cpu"), [many.cells[0], many.cells[0]])


def test_what_no_kernel_takes() -> None:
    wide = Vector(I64, np.array([1, 2**70], dtype=object))
    for name in ("join", "contains"):
        assert CALLS[name](kernels_on("cpu"), [keys(wide), keys(wide)]) is None
    assert CALLS["member"](kernels_on("cpu"), [wide, wide]) is None
    assert CALLS["join"](kernels_on("cpu"), [keys(), keys()]) is None


def test_nan_is_among_options_with_nan() -> None:
    left, right = Vector(F64, np.array([np.nan, 0.0, 1.0])), Vector(F64, np.array([-0.0, -np.nan]))
    made = same_as_host(kernels_on("cpu"), "member", left, right)
    assert isinstance(made, Vector) and made.data.tolist() == [True, True, False]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_cross_and_member(device: str) -> None:
    kernels = kernels_on(device)
    for size in (0, 1, 33, 97):
        some, others = vectors(size), vectors(7, 2)
        same_as_host(kernels, "cross", some["i8"], others["i8"])
        same_as_host(kernels, "cross", others["i8"], some["i8"])
        for name in ("i16", "f64", "str", "bool", "decimal"):
            same_as_host(kernels, "member", some[name], others[name])


@pytest.mark.vendor
def test_assemblers_take_joins(ptxas: str, tmp_path: Path) -> None:
    kernels = DeviceKernels(find_device("cpu"))
    few = Vector(I64, np.array([1, 2, 2]))
    joined(kernels, keys(few), keys(few))
    joined(kernels, keys(Vector(I64, np.arange(3))), keys(few))
    same_as_host(kernels, "cross", few, few)
    assembled(kernels)
    taken_by_the_vendor(kernels, ptxas, tmp_path)


@pytest.mark.parametrize(("size", "device"), [*[(n, "cpu") for n in SIZES], (97, "reference")])
def test_tables_of_the_integers_that_there_are(size: int, device: str) -> None:
    """Bounds that hold all values, some, none, and the greatest that there are."""
    rng = np.random.default_rng(size)
    for type, low in ((np.int8, -100), (np.int16, -300), (np.int32, 7), (np.int64, -(1 << 63))):
        values = Vector(I64, (rng.integers(0, 200, size) + low).astype(type))
        for least, most in ((low, low + 199), (low + 50, low + 60), (low + 300, low + 301), (0, -1)):
            bounds = [Vector(I64, np.array([bound])) for bound in (least, most)]
            same_as_host(kernels_on(device), "present", values, *bounds)
