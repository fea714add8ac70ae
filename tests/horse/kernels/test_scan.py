"""Prefix sums by look-back: what NumPy's running sums are."""

from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.scan import offsets
from tests.horse.kernels.checks import SIZES, as_on_a_gpu, assembled, kernels_on, taken_by_the_vendor


def check(kernels: DeviceKernels, size: int, wide: bool, most: int = 5) -> None:
    counts = np.random.default_rng(size).integers(0, most, size).astype(np.uint32)
    made, total = offsets(kernels, counts, size, wide)
    assert total == int(counts.sum(dtype=np.uint64))
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.uint64)])[:size]
    assert made[:size].tolist() == (sums if wide else sums % 2**32).tolist()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("size", SIZES)
def test_offsets(device: str, size: int, wide: bool) -> None:
    check(kernels_on(device), size, wide)


@pytest.mark.parametrize(
    ("device", "size"), [("cpu", n) for n in (1, 1023, 1024, 1025, 50_000)] + [("reference", n) for n in (1, 2500)]
)
def test_offsets_with_several_warps_a_block(monkeypatch: pytest.MonkeyPatch, device: str, size: int) -> None:
    check(as_on_a_gpu(monkeypatch, device), size, True)


def test_a_million_large_counts() -> None:
    """The sum needs 52 bits; offsets of 32 bits are those modulo 2**32."""
    check(kernels_on("cpu"), 1_000_000, True, 2**32)
    check(kernels_on("cpu"), 1_000_000, False, 2**32)


@pytest.mark.vendor
def test_assemblers_take_scans(ptxas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = as_on_a_gpu(monkeypatch, "cpu")
    for wide in (False, True):
        offsets(kernels, np.ones(40, dtype=np.uint32), 40, wide)
    assert assembled(kernels) >= 2
    taken_by_the_vendor(kernels, ptxas, tmp_path)
