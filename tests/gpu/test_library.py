"""Library functions by kernels on a GPU beside the host's: dictionaries of text, and slices of sorted rows."""

import time

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.dictionary import Codes, encoded
from drawloom.horse.library import FunctionValue
from drawloom.horse.types import I64, STR
from drawloom.horse.values import RawText, Vector
from drawloom.horse.words import ranked
from drawloom.runtime import device as find_device
from tests.horse.kernels.checks import same_as_host

pytestmark = pytest.mark.large


@pytest.fixture
def kernels(device: str) -> DeviceKernels:
    return DeviceKernels(find_device(device))


@pytest.mark.parametrize("kinds", [1000, 300_000])
def test_a_text_gets_codes_on_the_device(kernels: DeviceKernels, kinds: int) -> None:
    numbers = np.random.default_rng(kinds).integers(0, kinds, 300_000).tolist()
    strings = pa.array([f"Customer#{n:09d}{'x' * (n % 13)}" for n in numbers], pa.large_string())
    vector = Vector(STR, RawText(strings))
    kernels.workspace.column(vector, vector.dtype)
    assert isinstance(vector.deferred, Codes)
    places, words = ranked(strings)
    assert vector.words.arrow.equals(words.arrow)
    np.testing.assert_array_equal(vector.data, places)
    for side, call in (
        ("kernels", lambda: encoded(kernels, strings, np.dtype(np.int32))),
        ("host", lambda: ranked(strings)),
    ):
        start = time.perf_counter()
        call()
        print(f"{kinds} words of {len(strings)} strings, {side}: {(time.perf_counter() - start) * 1e3:.1f} ms")


def test_slices_are_reduced_as_by_the_host(kernels: DeviceKernels) -> None:
    rows, rng = 200_000, np.random.default_rng(1)
    values, places = Vector(I64, rng.integers(-(2**62), 2**62, rows)), np.arange(rows)
    for low in (np.maximum(places - 3, 0), np.zeros(rows, np.int64), places // 50 * 50):
        for function in ("sum", "avg"):
            bounds = [Vector(I64, low), Vector(I64, places + 1)]
            same_as_host(kernels, "each_slice", FunctionValue(function), values, *bounds)
