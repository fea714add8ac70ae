"""LIKE by a kernel: what DuckDB and the host's own matcher say, over text with characters of every length."""

import random
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.evaluate import like_pattern
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.kernels.like import pad_of
from drawloom.horse.types import STR
from drawloom.horse.values import RawText, SpelledText, Vector, from_values
from drawloom.horse.words import words_of
from drawloom.runtime import device as find_device
from tests.horse.apart import Apart
from tests.horse.kernels.checks import assembled, kernels_on, same_as_host, taken_by_the_vendor

ALPHABET = ["a", "b", "ab", "%", "_", "\\", "é", "€", "🙂", "\u0301", "\n", "\x00", "\x7f", "ß"]
WORDS = [
    "", "%", "_", "\\", "abc", "ab", "aab", "abab", "a%b", "a_b", "\\%", "é", "aé", "éa", "🙂", "🙂🙂", "\0", "a\nb",
]  # fmt: skip
PATTERNS = [
    "", "%", "%%", "_", "__", "%_", "_%", "%_%", "_%_", "abc", "a%", "%b", "%ab", "ab%ab", "%a%b%", "a%b", "%aab%",
    "é", "_é", "%é%", "%🙂", "🙂_", "_🙂%", "\\%", "a\\%b", "a\\_b", "%\\\\%", "\\\\", "\\", "a\\", "%\\", "\\a%",
    "_\n%", "%\0%", "€%",
]  # fmt: skip


def text_of(rows: list[str]) -> Vector:
    words = words_of(rows)
    place = {word: code for code, word in enumerate(words)}
    return Vector(STR, np.array([place[row] for row in rows], dtype=np.int16), words)


@pytest.mark.parametrize("name", ["cpu", "apart"])
def test_rows_without_codes_are_matched_piece_by_piece(name: str) -> None:
    rows = WORDS * 3
    pieces = [pa.array(rows[a:b], pa.large_string()) for a, b in ((0, 1), (1, 1), (1, 20), (20, len(rows)))]
    device = find_device("cpu") if name == "cpu" else Apart()
    for pattern in PATTERNS:
        text = Vector(
            STR, RawText(pa.chunked_array([*pieces[:2], pieces[2], pieces[3].slice(0, 9), pieces[3].slice(9)]))
        )
        made = CALLS["like"](DeviceKernels(device), [text, from_values([pattern], STR)])
        assert isinstance(made, Vector) and isinstance(text.deferred, RawText), "no codes were made"
        matcher = like_pattern(pattern)
        assert made.data.tolist() == [matcher.fullmatch(row) is not None for row in rows], pattern


@pytest.mark.parametrize("name", ["cpu", "apart"])
def test_strings_that_rows_share_are_matched_once(name: str) -> None:
    strings, places = pa.array(["?", *WORDS], pa.large_string()).slice(1), np.arange(3 * len(WORDS)) % len(WORDS)
    device = find_device("cpu") if name == "cpu" else Apart()
    for pattern in ("%b", "é", "_%"):
        text = Vector(STR, SpelledText(strings, places))
        made = CALLS["like"](DeviceKernels(device), [text, from_values([pattern], STR)])
        assert isinstance(made, Vector) and isinstance(text.deferred, SpelledText), "no codes were made"
        matcher = like_pattern(pattern)
        assert made.data.tolist() == [matcher.fullmatch(word) is not None for word in WORDS * 3], pattern


def test_text_is_read_where_it_lies() -> None:
    """Also where its last word of 64 bits is not whole; who may not read what lies behind gets a copy."""
    text = pa.array(["ab", "", "abcdefghi"], pa.large_string())
    data = np.frombuffer(text.buffers()[2], dtype=np.uint8)
    pad = pad_of(DeviceKernels(find_device("cpu")), text, read_only=True)
    assert len(data) == 11 and len(pad.bytes) == 16 and np.shares_memory(pad.bytes, data)
    assert not pad.bytes.flags.writeable
    for device, read_only in (("reference", True), ("cpu", False)):
        copied = pad_of(DeviceKernels(find_device(device)), text, read_only)
        assert copied.bytes.tobytes() == b"ababcdefghi" + bytes(5)


def test_text_that_nobody_may_write_is_copied_for_kernels_that_might() -> None:
    buffers = [None, pa.py_buffer(np.array([0, 8], dtype=np.int64)), pa.py_buffer(b"eight by")]
    text = pa.Array.from_buffers(pa.large_string(), 1, buffers)
    pad = pad_of(DeviceKernels(find_device("cpu")), text)
    assert pad.bytes.flags.writeable and pad.bytes.tobytes() == b"eight by"


def random_text(rng: random.Random) -> str:
    return "".join([rng.choice(ALPHABET) for _ in range(rng.randint(0, 6))])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_patterns_over_odd_words(device: str) -> None:
    text = text_of(WORDS)
    for pattern in PATTERNS:
        made = same_as_host(kernels_on(device), "like", text, from_values([pattern], STR))
        assert isinstance(made, Vector)
        matcher = like_pattern(pattern)
        assert made.data.tolist() == [matcher.fullmatch(word) is not None for word in WORDS], pattern


def test_random_patterns_beside_duckdb() -> None:
    """DuckDB reads backslashes otherwise, so patterns have none; NUL it has in no pattern."""
    rng = random.Random(3)
    rows = sorted({random_text(rng) for _ in range(300)})
    text, rows_of_text = text_of(rows), pa.table({"s": rows})
    for _ in range(200):
        pattern = "".join([rng.choice([*ALPHABET, "%", "_", "%"]) for _ in range(rng.randint(0, 6))])
        pattern = pattern.replace("\\", "").replace("\0", "")
        made = CALLS["like"](kernels_on("cpu"), [text, from_values([pattern], STR)])
        assert isinstance(made, Vector)
        wanted = duckdb.execute("select s like ? from rows_of_text", [pattern]).fetchall()
        assert made.data.tolist() == [hit for (hit,) in wanted], pattern
    assert rows_of_text.num_rows == len(rows)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 97, 997, 1024, 4096])
def test_fewer_and_more_rows_than_words(size: int) -> None:
    rng = np.random.default_rng(size)
    words = words_of([f"{n:03} {'ab' * (n % 7)}" for n in range(500)])
    for dtype in (np.int16, np.int32, np.int64):
        text = Vector(STR, rng.integers(0, 500, size).astype(dtype), words)
        same_as_host(kernels_on("cpu"), "like", text, from_values(["%3%abab%"], STR))
    same_as_host(kernels_on("cpu"), "like", Vector(STR, text.data[:0], words_of([])), from_values(["%"], STR))


def test_words_that_are_a_slice_of_others() -> None:
    words = words_of(["a", "ab", "abc", "b", "bc"])
    words.arrow = words.arrow.slice(1, 3)
    text = Vector(STR, np.arange(3), words)
    same_as_host(kernels_on("cpu"), "like", text, from_values(["a%"], STR))


@pytest.mark.vendor
def test_assemblers_take_like(ptxas: str, tmp_path: Path) -> None:
    kernels = DeviceKernels(find_device("cpu"))
    text = text_of(WORDS)
    for rows in (text, Vector(STR, text.data[:3], text.words)):
        same_as_host(kernels, "like", rows, from_values(["%a_"], STR))
    assert assembled(kernels) == 3
    taken_by_the_vendor(kernels, ptxas, tmp_path)
