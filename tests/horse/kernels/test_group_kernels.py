"""Groups and distinct values by kernels: what the host makes, by sorting and by hash."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels import groups
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.keys import key_columns
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import call
from drawloom.horse.types import F64, I64
from drawloom.horse.values import Array, Dictionary, ListValue, Ragged, Value, Vector, as_vector
from drawloom.runtime import device as find_device
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

SEVERAL = [["i16", "str"], ["bool", "f32", "i8"], ["i64", "f64", "str"], ["date", "i16", "equal"]]
WAYS = ["sort", "hash"]
ON_HOST = partial(call, "group")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Groups are made this way only."""
    monkeypatch.setattr(groups, "_prefers_hash", lambda kernels, keys, sorts: request.param == "hash")
    return str(request.param)


def parts(value: Value | None) -> list[object]:
    assert isinstance(value, Dictionary) and isinstance(value.values, Ragged)
    return [plain(value.keys), plain(value.values)]


def grouped(kernels: DeviceKernels, *columns: Vector) -> None:
    keys = ListValue(list(columns))
    assert parts(CALLS["group"](kernels, [keys])) == parts(call("group", [keys]))


ON = [("cpu", size) for size in SIZES] + [("reference", 33)]


@pytest.mark.parametrize(("device", "size"), ON)
def test_keys_of_every_kind(device: str, size: int, way: str) -> None:
    kernels, columns = kernels_on(device), vectors(size)
    kinds = [*[[n] for n in columns], *SEVERAL] if size == 97 else [["i8"], ["i64"], SEVERAL[1]]
    for names in kinds if device == "cpu" else [["i64"]]:
        grouped(kernels, *[columns[n] for n in names])


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("size", [0, 1, 97])
def test_the_first_row_of_each_value(device: str, size: int) -> None:
    columns = vectors(size)
    for name in columns if size == 97 and device == "cpu" else ["f64"]:
        same_as_host(kernels_on(device), "unique", columns[name])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_blocks_of_several_warps(monkeypatch: pytest.MonkeyPatch, device: str, way: str) -> None:
    columns = vectors(1100 if device == "cpu" else 70)
    grouped(as_on_a_gpu(monkeypatch, device), columns["i16"], columns["bool"])


def test_null_keys_come_last(way: str) -> None:
    rng = np.random.default_rng(2)
    columns = [
        Vector(I64, rng.integers(-2, 2, 97), valid=rng.random(97) < 0.6),
        Vector(F64, rng.choice([1.0, np.nan], 97), valid=rng.random(97) < 0.6),
    ]
    grouped(kernels_on("cpu"), *columns)


def test_the_way_is_chosen_by_size() -> None:
    """Hashed where many bits have few values; sorted where the bits are few, or the groups many."""
    kernels, rng = kernels_on("cpu"), np.random.default_rng(4)
    wide = rng.integers(-(2**63), 2**63 - 1, 20_000)
    for data, hashed in ((wide[rng.integers(0, 100, 20_000)], True), (wide, False), (wide % 1000, False)):
        keys = key_columns([Vector(I64, data)])
        assert keys is not None
        assert groups._prefers_hash(kernels, keys, groups._ascending(kernels, keys.vectors)) == hashed
        grouped(kernels, Vector(I64, data))


def test_a_million_rows(way: str) -> None:
    rng = np.random.default_rng(7)
    for data in (rng.integers(0, 300, 1_000_000) * 2**50, rng.integers(0, 2**62, 1_000_000)):
        ours, host = [
            run([ListValue([Vector(I64, data)])]) for run in (partial(CALLS["group"], kernels_on("cpu")), ON_HOST)
        ]
        for made, wanted in zip(arrays(ours), arrays(host)):
            assert np.array_equal(made, wanted)


def arrays(value: Value | None) -> list[Array]:
    assert isinstance(value, Dictionary) and isinstance(value.values, Ragged)
    return [as_vector(value.keys).data, value.values.flat.data, value.values.offsets]


def test_what_no_kernel_takes() -> None:
    wide = Vector(I64, np.array([1, 2**70], dtype=object))
    assert CALLS["group"](kernels_on("cpu"), [ListValue([wide])]) is None
    assert CALLS["unique"](kernels_on("cpu"), [wide]) is None


@pytest.mark.vendor
def test_assemblers_take_groups(ptxas: str, tmp_path: Path, way: str) -> None:
    kernels, columns = DeviceKernels(find_device("cpu")), vectors(70)
    for names in (["i64"], ["f64", "i64"]):
        grouped(kernels, *[columns[n] for n in names])
    same_as_host(kernels, "unique", columns["i64"])
    assembled(kernels)
    taken_by_the_vendor(kernels, ptxas, tmp_path)
