"""Runs, searches and reductions of cells by kernels: what the host's functions give."""

import math
from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels import cells as cells_module
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import FunctionValue
from drawloom.horse.types import F64, I64
from drawloom.horse.values import ListValue, Ragged, Vector
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

_EPSILON = 2.0**-53


def runs(kernels: DeviceKernels, size: int) -> None:
    columns = vectors(size)
    lists = [[columns[n]] for n in ("i16", "ascending", "f64", "equal")]
    for some in (*lists, [columns["f32"], columns["str"]]):
        for name in ("run_start", "run_end"):
            same_as_host(kernels, name, ListValue(list(some)))


def searches(kernels: DeviceKernels, size: int) -> None:
    rng = np.random.default_rng(size)
    values = vectors(size)["ascending"]
    low = rng.integers(0, size + 1, 70)
    high = rng.integers(low, size + 1)
    for dtype in (np.int8, np.int64):
        targets = Vector(I64, rng.integers(-10, 11, 70).astype(dtype))
        for name in ("search", "search_after"):
            same_as_host(kernels, name, values, Vector(I64, low.astype(np.int32)), Vector(I64, high), targets)


def ragged(vector: Vector, cells: int) -> Ragged:
    """The vector cut into cells, of which some are empty."""
    if not cells:
        return Ragged(vector, np.array([0]))
    cuts = np.sort(np.random.default_rng(cells).integers(0, len(vector) + 1, cells - 1))
    return Ragged(vector, np.concatenate([[0], cuts, [len(vector)]]))


def reductions(kernels: DeviceKernels, column: Vector, cells: int) -> None:
    given = ragged(column, cells)
    is_summed = column.type.is_numeric and not column.type.is_float
    for function in ("min", "max", "len", *(["sum", "avg"] if is_summed else [])):
        same_as_host(kernels, "each", FunctionValue(function), given)
    if column.type.is_float:
        float_sums(kernels, given)


def float_sums(kernels: DeviceKernels, given: Ragged) -> None:
    """Sums are off by half a unit of the last place, as fsum's are, and n**2 * 2**-106 of the sum of magnitudes;
    averages by half a unit more."""
    for name in ("sum", "avg"):
        made = CALLS["each"](kernels, [FunctionValue(name), given])
        assert isinstance(made, Ragged) and made.flat.type == F64
        for cell, value in zip(given.cells(), made.flat.data.tolist(), strict=True):
            data = cell.data.astype(np.float64)
            count, roundings = (len(data), 2) if name == "avg" else (1, 1)
            if not len(data):
                assert math.isnan(value) if name == "avg" else value == 0
            elif np.isfinite(data).all():
                expected, magnitudes = math.fsum(data) / count, math.fsum(np.abs(data)) / count
                bound = 2 * roundings * _EPSILON * abs(expected) + len(data) ** 2 * _EPSILON**2 * magnitudes
                assert abs(value - expected) <= bound + 5e-324
            else:
                with np.errstate(invalid="ignore"):
                    expected = float(data.sum()) / count
                assert value == expected or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize("size", SIZES)
def test_runs_and_searches(size: int) -> None:
    runs(kernels_on("cpu"), size)
    if size:
        searches(kernels_on("cpu"), size)


@pytest.mark.parametrize("size", SIZES)
def test_reductions_of_cells(size: int) -> None:
    """A thread a cell, a quarter of a warp, and a warp; cells without rows, and no cells."""
    for cells in {1, 4, size // 8, size // 40, 2 * size}:
        for name in ("i64", "f64") if cells or not size else ():
            reductions(kernels_on("cpu"), vectors(size)[name], cells)


def test_reductions_of_every_kind() -> None:
    for name, column in vectors(997).items():
        if name not in ("date", "decimal", "equal", "ascending"):
            reductions(kernels_on("cpu"), column, 500)


def test_runs_and_cells_on_the_reference() -> None:
    for size, cells in ((0, 0), (33, 40), (97, 9), (97, 2)):
        runs(kernels_on("reference"), size)
        given = ragged(vectors(size)["i64"], cells)
        for function in ("sum", "avg", "min", "max"):
            same_as_host(kernels_on("reference"), "each", FunctionValue(function), given)
        float_sums(kernels_on("reference"), ragged(vectors(size)["f64"], cells))


def test_cells_larger_than_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among small and empty ones."""
    monkeypatch.setattr(cells_module, "PIECE", 100)
    offsets = np.array([0, 0, 1, 901, 901, 1001, 4096])
    for name in ("i64", "f64"):
        given = Ragged(vectors(4096)[name], offsets)
        for function in ("min", "max", *(["sum", "avg"] if name == "i64" else [])):
            same_as_host(kernels_on("cpu"), "each", FunctionValue(function), given)
    float_sums(kernels_on("cpu"), given)


def test_extremes_keep_the_sign_of_zero() -> None:
    """Found by generated programs: -0.0 came back as 0.0."""
    cells = Ragged(Vector(F64, np.array([-0.0, -0.0, 0.0])), np.array([0, 2, 3]))
    for name in ("min", "max"):
        made = CALLS["each"](kernels_on("reference"), [FunctionValue(name), cells])
        assert isinstance(made, Ragged)
        assert [math.copysign(1, v) for v in made.flat.data.tolist()] == [-1, 1]


def test_float_sums_keep_what_is_small() -> None:
    data = np.array([1e16, 1.0, -1e16, 1e-3] * 300)
    made = CALLS["each"](kernels_on("cpu"), [FunctionValue("sum"), Ragged(Vector(F64, data), np.array([0, 1200]))])
    assert made is not None and plain(made) == plain(Ragged(Vector(F64, np.array([math.fsum(data)])), np.array([0, 1])))


def test_with_several_warps_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, columns = as_on_a_gpu(monkeypatch, "cpu"), vectors(4099)
    same_as_host(kernels, "run_end", ListValue([columns["str"], columns["f64"]]))
    for cells in (3, 400, 5000):
        same_as_host(kernels, "each", FunctionValue("sum"), ragged(columns["i64"], cells))


def test_a_million_rows_in_runs_and_cells() -> None:
    columns = vectors(1_000_000)
    same_as_host(kernels_on("cpu"), "run_end", ListValue([columns["ascending"]]))
    for cells in (5, 300_000):
        same_as_host(kernels_on("cpu"), "each", FunctionValue("sum"), ragged(columns["i64"], cells))


@pytest.mark.vendor
def test_assemblers_take_runs_and_cells(ptxas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = as_on_a_gpu(monkeypatch, "cpu")
    columns = vectors(97)
    same_as_host(kernels, "run_start", ListValue([columns["str"], columns["f64"]]))
    same_as_host(kernels, "search", *[Vector(I64, v) for v in (np.arange(97), *np.zeros((3, 5), dtype=np.int32))])
    for cells in (2, 10, 100):
        float_sums(kernels, ragged(columns["f64"], cells))
    for function in ("sum", "min"):
        same_as_host(kernels, "each", FunctionValue(function), ragged(columns["i16"], 10))
    assert assembled(kernels) >= 7
    taken_by_the_vendor(kernels, ptxas, tmp_path)
