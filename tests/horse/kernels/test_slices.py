"""Reductions of slices by kernels: what the host's function gives, over frames as window functions have them."""

from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import FunctionValue
from drawloom.horse.types import F64, I64
from drawloom.horse.values import Array, Vector
from drawloom.runtime import device as find_device
from tests.horse.kernels.checks import (
    as_on_a_gpu,
    assembled,
    kernels_on,
    same_as_host,
    taken_by_the_vendor,
    vectors,
)


def frames(rows: int) -> dict[str, tuple[Array, Array]]:
    """Where slices begin and end: one a row, short, long, the same for many rows, empty, and anywhere."""
    places, rng = np.arange(rows), np.random.default_rng(rows)
    low = rng.integers(0, rows + 1, rows)
    parts = places // 40 * 40
    return {
        "some rows before": (np.maximum(places - 3, 0), places + 1),
        "all rows before": (np.zeros(rows, np.int64), places + 1),
        "all rows after": (places, np.full(rows, rows)),
        "parts": (parts, np.minimum(parts + 40, rows)),
        "none": (places, places),
        "anywhere": (low, rng.integers(low, rows + 1)),
    }


def slices(kernels: DeviceKernels, rows: int) -> None:
    columns = vectors(rows)
    columns["i64"] = Vector(I64, np.where(np.arange(rows) % 2, 2**63 - 1, -(2**63)))
    for name, (low, high) in frames(rows).items():
        bounds = [Vector(I64, low), Vector(I64, high.astype(np.int32))]
        for kind in ("i8", "i32", "i64", "decimal"):
            for function in ("sum", "avg"):
                same_as_host(kernels, "each_slice", FunctionValue(function), columns[kind], *bounds)
        if name in ("some rows before", "parts", "none"):
            for kind in ("i64", "f64", "str", "date"):
                for function in ("min", "max"):
                    same_as_host(kernels, "each_slice", FunctionValue(function), columns[kind], *bounds)


@pytest.mark.parametrize("rows", [0, 1, 33, 1000])
def test_slices_are_reduced_as_by_the_host(rows: int) -> None:
    slices(kernels_on("cpu"), rows)


def test_slices_on_the_reference() -> None:
    slices(kernels_on("reference"), 40)


def test_blocks_of_several_warps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    slices(as_on_a_gpu(monkeypatch, "cpu"), 3000)


def test_sums_of_doubles_are_added_up_without_loss() -> None:
    """Of whole numbers, which no addition rounds."""
    values = Vector(F64, np.random.default_rng(1).integers(-(2**40), 2**40, 1000).astype(np.float64))
    bounds = [Vector(I64, bound) for bound in frames(1000)["some rows before"]]
    for function in ("sum", "avg"):
        same_as_host(kernels_on("cpu"), "each_slice", FunctionValue(function), values, *bounds)


def test_long_slices_of_doubles_are_the_hosts() -> None:
    values, (low, high) = vectors(1000)["f64"], frames(1000)["all rows before"]
    for function in ("sum", "min"):
        assert (
            CALLS["each_slice"](
                kernels_on("cpu"), [FunctionValue(function), values, Vector(I64, low), Vector(I64, high)]
            )
            is None
        )


def test_assemblers_take_slices(ptxas: str, tmp_path: Path) -> None:
    kernels = DeviceKernels(find_device("cpu"))
    slices(kernels, 100)
    assert assembled(kernels) >= 10
    taken_by_the_vendor(kernels, ptxas, tmp_path)
