"""Arrow arrays, piece by piece, into one column as kernels read it.

Exact columns become integers of the narrowest width that holds their values (decimals unscaled), or Python's where 64
bits do not do, moments and times of day count what their type says, text becomes codes
into sorted words, or stays as it is until somebody needs codes, NULLs become zeros with a validity array beside them.
Beside the column there is never more than a few pieces of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse.memory import ask, hold, hold_array
from drawloom.horse.types import BOOL, DATE, TICKS, DecimalType, VectorType
from drawloom.horse.values import INT64_MAX, INT64_MIN, Array, Column, RawText, Vector, narrowest, padded_rows, taken
from drawloom.horse.words import Strings, kept, ranked, together

_FIXED: Final[dict[str, Any]] = {"bool": np.dtype(bool), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
#: Arrow's units of a second.
_PER_SECOND: Final[dict[str, int]] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: Rows that are converted at a time: enough to be fast, little beside the column that they become.
PIECE_ROWS: Final = 1 << 16
#: Text of fewer rows gets codes at once.
_FEW_ROWS: Final = 1 << 14
#: The days, in either direction, that DuckDB takes for infinity.
_INFINITE_DATE: Final = (1 << 31) - 1


class _Filled:
    """A column's rows that are there so far: the front of ``padded``, which grows wider where integers need it."""

    def __init__(self, rows: int, dtype: np.dtype[Any], what: str) -> None:
        self.rows = rows
        self.what = what
        self.padded: Array = self.empty(dtype)
        self.valid: Array | None = None
        self.at = 0

    def empty(self, dtype: np.dtype[Any]) -> Array:
        ask(padded_rows(self.rows) * dtype.itemsize, self.what)
        made = np.empty(padded_rows(self.rows), dtype=dtype)
        hold_array(made)
        return made

    def room(self, count: int) -> int:
        """Where ``count`` more rows begin. Raises DataError where the table has fewer."""
        start = self.at
        self.at += count
        if self.at > self.rows:
            raise self.other_rows()
        return start

    def add(self, data: Array, valid: Array | None, needed: np.dtype[Any]) -> None:
        """More rows, which with those before fit ``needed``; those that are not ``valid`` are zero."""
        start = self.room(len(data))
        if needed.itemsize > self.padded.dtype.itemsize or (needed.kind, self.padded.dtype.kind) == ("O", "i"):
            wider = self.empty(needed)
            wider[:start] = self.padded[:start]
            self.padded = wider
        self.padded[start : self.at] = data
        if valid is not None:
            if self.valid is None:
                self.valid = self.empty(np.dtype(bool))
                self.valid[:] = True
            self.valid[start : self.at] = valid

    def done(self) -> Array:
        if self.at != self.rows:
            raise self.other_rows()
        self.padded[self.rows :] = 0
        if self.valid is not None:
            self.valid[self.rows :] = False
        return self.padded

    def other_rows(self) -> DataError:
        return DataError(f"{self.what} has other rows than the {self.rows} that its table had when it was registered")


def convert(chunks: Iterable[pa.Array], rows: int, type: VectorType, what: str) -> Column:
    """One column of ``rows`` rows as kernels read it; ``what`` names it in errors. Raises DataError."""
    if type.kind == "text":
        return _convert_text(chunks, rows, type, what)
    fixed = _FIXED.get(type.text)
    filled = _Filled(rows, fixed or np.dtype(np.int8), what)
    low, high = 0, 1 if type == BOOL else 0
    for piece in _pieces(chunks):
        chunk = _decoded(piece, what)
        valid = None if chunk.null_count == 0 else pc.is_valid(chunk).to_numpy(zero_copy_only=False)
        data = _unscaled(chunk) if isinstance(type, DecimalType) else _plain(chunk, type, what)
        if valid is not None:
            data = np.where(valid, data, data.dtype.type(0))
        if fixed is None:
            least, most = int(data.min()), int(data.max())
            if type == DATE and (least <= -_INFINITE_DATE or most >= _INFINITE_DATE):
                raise DataError(f"{what} has an infinite date: not supported")
            if type.kind == "timestamp" and max(-least, most) >= INT64_MAX:
                raise DataError(f"{what} has an infinite timestamp: not supported")
            low, high = (min(low, least), max(high, most)) if filled.at else (least, most)
        filled.add(data, valid, fixed or _width(low, high))
    padded = filled.done()
    return Column(Vector(type, padded[:rows], padded=padded), low, high, filled.valid)


def _pieces(chunks: Iterable[pa.Array]) -> Iterator[pa.Array]:
    for chunk in chunks:
        for start in range(0, len(chunk), PIECE_ROWS):
            yield chunk.slice(start, PIECE_ROWS)


def _decoded(piece: pa.Array, what: str) -> pa.Array:
    """The piece with the values that a dictionary has for it."""
    if not pa.types.is_dictionary(piece.type):
        return piece
    try:
        piece.validate(full=True)
    except pa.ArrowInvalid as problem:
        raise DataError(f"{what} is damaged: {str(problem).splitlines()[0]}") from None
    return piece.dictionary_decode()


def _width(low: int, high: int) -> np.dtype[Any]:
    """The narrowest integers that hold ``low..high``: Python's where 64 bits do not."""
    return narrowest(low, high) if low >= INT64_MIN and high <= INT64_MAX else np.dtype(object)


def _plain(chunk: pa.Array, type: VectorType, what: str) -> Array:
    if type == DATE:
        chunk = chunk.cast(pa.date32(), safe=False).cast(pa.int32())
    elif type.kind in ("timestamp", "clock"):
        return _ticks(chunk, type, what)
    elif pa.types.is_null(chunk.type):
        chunk = chunk.cast(pa.int32())
    filled = pc.fill_null(chunk, False if type == BOOL else 0) if chunk.null_count else chunk
    data: Array = filled.to_numpy(zero_copy_only=False)
    return data.astype(object) if data.dtype == np.uint64 and int(data.max()) > INT64_MAX else data


def _ticks(chunk: pa.Array, type: VectorType, what: str) -> Array:
    """Moments or times of day in the units of their type. Raises DataError for one between two of them."""
    wide = pa.int32() if pa.types.is_time32(chunk.type) else pa.int64()
    data: Array = pc.fill_null(chunk.cast(wide), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    given, made = _PER_SECOND[chunk.type.unit], TICKS[type.text]
    if made >= given:
        factor = made // given
        if int(np.abs(data).max()) > INT64_MAX // factor:
            raise DataError(f"{what} has a moment that {type} does not hold: not supported")
        return data * factor
    if bool((data % (given // made)).any()):
        raise DataError(f"{what} has a moment between two microseconds: not supported")
    return data // (given // made)


def _unscaled(chunk: pa.Array) -> Array:
    """The unscaled values of a decimal array, as Python's integers where one needs more than 64 bits."""
    if not pa.types.is_decimal128(chunk.type):
        chunk = chunk.cast(pa.decimal128(chunk.type.precision, chunk.type.scale))
    words: Array = np.frombuffer(chunk.buffers()[1], dtype=np.int64)
    words = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk))].reshape(-1, 2)
    low: Array = words[:, 0]
    high: Array = words[:, 1]
    wide = (low >> 63) != high
    if chunk.null_count:
        wide &= chunk.is_valid().to_numpy(zero_copy_only=False)
    if not wide.any():
        return low
    return np.asarray((high.astype(object) << 64) + low.astype(np.uint64).astype(object))


# Text


def _convert_text(chunks: Iterable[pa.Array], rows: int, type: VectorType, what: str) -> Column:
    """Every piece has words of its own until all are known; text that is mostly distinct stays a string a row.

    NULLs all get the code of the first string that was met.
    """
    filled = _Filled(rows, np.dtype(np.int8), what)
    pieces: list[Strings] = []
    count, size, is_raw = 0, 0, False
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        if not pieces:
            is_raw = rows >= _FEW_ROWS and mostly_distinct(chunk)
        valid = None if chunk.null_count == 0 else pc.is_valid(chunk).to_numpy(zero_copy_only=False)
        if is_raw:
            words = _checked(pc.fill_null(chunk.cast(pa.large_string()), ""), what)
            codes = np.zeros(len(chunk), dtype=np.int8)
        else:
            encoded = _encoded(chunk)
            words = _checked(encoded.dictionary.cast(pa.large_string()), what)
            codes = _codes(encoded, what)
            codes = codes.astype(narrowest(count, count + max(len(words) - 1, 0)))
            codes += codes.dtype.type(count)
            if valid is not None:
                codes[~valid] = 0
        filled.add(codes, valid, codes.dtype)
        pieces.append(words)
        count += len(words)
        size += words.nbytes
        ask(size, what)
    padded = filled.done()
    if is_raw:
        strings = pa.chunked_array(pieces)
        hold(strings, size)
        return Column(Vector(type, RawText(strings)), 0, rows - 1, filled.valid)
    # Without a word, the zeros of NULLs stand for the empty one.
    ranks, ordered = ranked(together(pieces) if count else pa.array([""], pa.large_string()))
    padded = taken(ranks.astype(narrowest(0, len(ordered) - 1)), padded)
    kept(ordered.arrow)
    hold_array(padded)
    padded[rows:] = 0
    return Column(Vector(type, padded[:rows], ordered, padded=padded), 0, len(ordered) - 1, filled.valid)


def mostly_distinct(chunk: pa.Array) -> bool:
    """Whether more than half of a piece's strings are distinct, as far as its first rows tell."""
    if pa.types.is_dictionary(chunk.type):
        return 2 * len(chunk.dictionary) > len(chunk)
    first = chunk.slice(0, PIECE_ROWS)
    distinct: int = pc.count_distinct(first.cast(pa.large_string())).as_py()
    return 2 * distinct > len(first)


def _encoded(chunk: pa.Array) -> pa.DictionaryArray:
    if pa.types.is_dictionary(chunk.type) and not chunk.dictionary.null_count:
        return chunk
    return chunk.cast(pa.large_string()).dictionary_encode()


def _checked(words: Strings, what: str) -> Strings:
    try:
        words.validate(full=True)
    except pa.ArrowInvalid as problem:
        raise DataError(f"{what} has text that is not UTF-8: {str(problem).splitlines()[0]}") from None
    return words


def _codes(encoded: pa.DictionaryArray, what: str) -> Array:
    codes: Array = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    words = len(encoded.dictionary)
    if words and (int(codes.min()) < 0 or int(codes.max()) >= words):
        raise DataError(f"{what} is damaged: it points outside its dictionary")
    return codes
