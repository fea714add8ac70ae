"""Orders by kernels: what the host's stable order is, whatever the keys."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels import bitonic
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.kernels.sort import fields, sort_keys
from drawloom.horse.library import call
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import ListValue, Vector
from tests.horse.kernels.checks import (
    SIZES,
    as_on_a_gpu,
    assembled,
    kernels_on,
    plain,
    same_as_host,
    taken_by_the_vendor,
    vectors,
)


def flags(*values: bool) -> Vector:
    return Vector(BOOL, np.array(values, dtype=bool))


def at_most(patch: pytest.MonkeyPatch, rows: int) -> None:
    """From here on so many rows, and fewer, are sorted by the bitonic sort."""
    patch.setattr("drawloom.horse.kernels.sort.few_rows", lambda device: rows)


def with_nulls(vector: Vector, share: float = 0.3) -> Vector:
    valid = np.random.default_rng(len(vector)).random(len(vector)) >= share
    return Vector(vector.type, vector.data, vector.dictionary, valid)


def ordered(kernels: DeviceKernels, *columns: Vector, up: bool = True, first: bool = False) -> None:
    """One order of the columns, every other one in the other direction."""
    turns = [bool(n % 2) for n in range(len(columns))]
    same_as_host(
        kernels,
        "order",
        ListValue(list(columns)),
        flags(*[up != t for t in turns]),
        flags(*[first != t for t in turns]),
    )


def every_kind(kernels: DeviceKernels, size: int) -> None:
    for name, column in vectors(size).items():
        for up, first in product((True, False), repeat=2):
            if name in ("i64", "f64", "str"):
                ordered(kernels, with_nulls(column), up=up, first=first)
        ordered(kernels, column, up=size % 2 == 0)


@pytest.mark.parametrize("size", SIZES)
def test_orders_of_every_kind(size: int) -> None:
    every_kind(kernels_on("cpu"), size)


@pytest.mark.parametrize("size", [1, 33])
def test_orders_on_the_reference(size: int) -> None:
    columns = vectors(size)
    for names in (["f64"], ["i16", "str"]):
        ordered(kernels_on("reference"), *[with_nulls(columns[n]) for n in names])


@pytest.mark.parametrize("size", [97, 4099])
def test_orders_by_several_columns(size: int) -> None:
    """Into one word, or (i64 and f64: 128 bits and more) into several."""
    columns = vectors(size)
    keys = [
        ["bool", "str", "i16"],
        ["i64", "f64"],
        ["equal", "f32", "i64"],
        ["bool", "f64", "i8", "decimal"],
        ["equal"],
    ]
    for names in keys:
        ordered(kernels_on("cpu"), *[columns[n] for n in names])
        ordered(kernels_on("cpu"), *[with_nulls(columns[n]) for n in names], up=False, first=True)


@pytest.mark.parametrize("size", SIZES)
def test_radix_sorts_of_few_rows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    at_most(monkeypatch, 0)
    for name in ("i16", "f64", "str", "equal", "ascending", "descending"):
        ordered(kernels_on("cpu"), vectors(size)[name])
    if size == 97:
        ordered(kernels_on("reference"), vectors(size)["i16"])


def test_bitonic_sorts_beyond_a_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    at_most(monkeypatch, 1 << 14)
    for size in (bitonic.SEGMENT - 1, bitonic.SEGMENT, bitonic.SEGMENT + 1, 1 << 14):
        ordered(kernels_on("cpu"), vectors(size)["i16"])


def test_sorts_with_several_warps_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = as_on_a_gpu(monkeypatch, "cpu")
    for name in ("i16", "f64", "equal"):
        ordered(kernels, vectors(4099)[name])
        ordered(kernels, vectors(50_001)[name])


def test_a_million_rows_in_order() -> None:
    columns = vectors(1_000_000)
    ordered(kernels_on("cpu"), columns["i32"])
    ordered(kernels_on("cpu"), with_nulls(columns["str"]), columns["f64"])


@pytest.mark.parametrize("wanted", [0, 1, 10, 100, 20_000])
@pytest.mark.parametrize("size", [0, 997, 20_000])
def test_first_rows_of_an_order(size: int, wanted: int) -> None:
    """Of one word a row, of several, where all rows are equal, and where the last one wanted is one of many equal."""
    columns = vectors(size)
    for names in (["f64"], ["bool", "str"], ["i64", "f64"], ["equal"], ["equal", "bool", "i64"]):
        keys = [with_nulls(columns[names[0]]), *[columns[n] for n in names[1:]]]
        flag = flags(*[True] * len(keys))
        given = [ListValue(list(keys)), flag, flag]
        made = same_as_host(kernels_on("cpu"), "order_first", *given, Vector(I64, np.array([wanted])))
        whole = call("order", list(given))
        assert isinstance(whole, Vector) and plain(made) == plain(whole.take(np.arange(min(wanted, size))))


def test_first_rows_on_the_reference_and_with_several_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    at_most(monkeypatch, 0)
    column, flag, wanted = vectors(97)["i64"], flags(True), Vector(I64, np.array([5]))
    same_as_host(kernels_on("reference"), "order_first", ListValue([column]), flag, flag, wanted)
    same_as_host(as_on_a_gpu(monkeypatch, "cpu"), "order_first", ListValue([column]), flag, flag, wanted)


def test_words_are_filled() -> None:
    """A key that does not fit a word goes on in the next; what all rows share needs no bits."""
    columns = [Vector(I64, np.array([0, 2**40 - 1])), Vector(I64, np.array([7, 7])), Vector(I64, np.array([0, 1023]))]
    keys = sort_keys(kernels_on("cpu"), columns, [True] * 3, [False] * 3)
    assert keys is not None and [key.bits for key in keys] == [40, 0, 10]
    words = [[(f.key.bits, f.shift, f.bits) for f in word] for word in fields(keys, 32)]
    assert words == [[(40, 0, 22), (10, 0, 10)], [(40, 22, 18)]]


def test_columns_that_the_host_orders() -> None:
    wide = Vector(I64, np.array([2**70, 1], dtype=object))
    assert CALLS["order"](kernels_on("cpu"), [ListValue([wide]), flags(True), flags(False)]) is None


@pytest.mark.vendor
def test_assemblers_take_sorts(ptxas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, columns, flag = as_on_a_gpu(monkeypatch, "cpu"), vectors(5000), flags(True)
    at_most(monkeypatch, 0)
    ordered(kernels, with_nulls(columns["i64"]), columns["f32"])
    same_as_host(kernels, "order_first", ListValue([columns["i64"]]), flag, flag, Vector(I64, np.array([5])))
    at_most(monkeypatch, 5000)
    ordered(kernels, columns["i8"])
    assert assembled(kernels) >= 14
    taken_by_the_vendor(kernels, ptxas, tmp_path)
