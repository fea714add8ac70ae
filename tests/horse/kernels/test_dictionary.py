"""Dictionaries by kernels: codes and words as the host's, over strings that share beginnings and end anywhere."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawloom.horse.kernels import dictionary
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.dictionary import encoded
from drawloom.horse.types import STR
from drawloom.horse.values import RawText, Vector, padded_rows
from drawloom.horse.words import ranked
from drawloom.runtime import device as find_device
from tests.horse.apart import Apart
from tests.horse.kernels.checks import as_on_a_gpu, assembled, kernels_on, taken_by_the_vendor

INT32 = np.dtype(np.int32)
#: Strings that share beginnings, end at and around the bytes that a key and a word have, and hold zeros.
TEXTS = st.text("\0ab\x7fé€\U0001f600", max_size=4) | st.text("a\0", min_size=5, max_size=26)


def text_of(size: int, kinds: int) -> pa.Array:
    rng = np.random.default_rng(size * 7 + kinds)
    numbers = rng.integers(0, kinds, size).tolist()
    return pa.array(["a" * (n % 23) + f"{n // 5:06d}" * (n % 3) + "z" * (n % 11) for n in numbers], pa.large_string())


def same_as_the_host(kernels: DeviceKernels, strings: pa.Array) -> None:
    codes, words = encoded(kernels, strings, INT32)
    places, wanted = ranked(strings)
    assert words.arrow.equals(wanted.arrow)
    found = kernels.workspace.get(codes, padded_rows(len(strings)))
    np.testing.assert_array_equal(found[: len(strings)], places)
    assert not found[len(strings) :].any()


@pytest.mark.parametrize("name", ["cpu", "reference"])
@pytest.mark.parametrize("size", [1, 33])
def test_codes_and_words_are_the_hosts(name: str, size: int) -> None:
    for kinds in (7, 4 * size):
        same_as_the_host(kernels_on(name), text_of(size, kinds))


@given(st.lists(TEXTS, min_size=1, max_size=60), st.integers(0, 2))
@settings(deadline=None, max_examples=25)
def test_odd_strings_have_the_hosts_codes(texts: list[str], skipped: int) -> None:
    strings = pa.array(["é" * 5] * skipped + texts, pa.large_string()).slice(skipped)
    same_as_the_host(kernels_on("cpu"), strings)


def test_blocks_of_several_warps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = as_on_a_gpu(monkeypatch, "cpu")
    for size in (33, 4096):
        same_as_the_host(kernels, text_of(size, 300))


def test_fifty_thousand_strings() -> None:
    for kinds in (1000, 10**6):
        same_as_the_host(kernels_on("cpu"), text_of(50_000, kinds))


@pytest.mark.parametrize("name", ["cpu", "apart"])
def test_a_text_gets_codes_where_kernels_read_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "LEAST_ENCODED", 100)
    strings = pa.chunked_array([text_of(100, 50), text_of(7, 3)])
    kernels = DeviceKernels(find_device("cpu") if name == "cpu" else Apart())
    vector = Vector(STR, RawText(strings))
    if name == "cpu":
        dictionary.encode(kernels, vector)
    else:
        kernels.workspace.column(vector, np.int8, padded=True)
    assert isinstance(vector.deferred, dictionary.Codes) and len(vector) == 107 and vector.dtype == np.int8
    read = kernels.workspace.column(vector, np.int8, padded=True)
    assert kernels.workspace.get(read, 107).tolist() == vector.data.tolist()
    assert vector.words.arrow.take(pa.array(vector.data)).to_pylist() == strings.to_pylist()
    assert vector.padded is not None and len(vector.padded) == 1024


def test_kernels_are_assembled(ptxas: str, tmp_path: Path) -> None:
    kernels = DeviceKernels(find_device("cpu"))
    same_as_the_host(kernels, text_of(4096, 3000))
    assert assembled(kernels) >= 8
    taken_by_the_vendor(kernels, ptxas, tmp_path)
