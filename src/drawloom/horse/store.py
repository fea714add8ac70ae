"""Parquet files and Arrow tables as columns that kernels read: converted once, when a query first uses them.

Exact columns become integers of the narrowest width that holds their values (decimals unscaled), text becomes codes
into a sorted dictionary, NULLs become zeros with a validity array beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drawloom.errors import DataError
from drawloom.horse.types import BOOL, DATE, F32, F64, I8, I16, I32, I64, STR, TIMESTAMP, DecimalType, VectorType
from drawloom.horse.values import INT64_MAX, PAD, Array, Column, Source, Vector, narrowest
from drawloom.horse.words import ranked

_TYPES: Final[dict[Any, VectorType]] = {
    pa.bool_(): BOOL, pa.int8(): I8, pa.int16(): I16, pa.int32(): I32, pa.int64(): I64,
    pa.float32(): F32, pa.float64(): F64, pa.date32(): DATE, pa.date64(): DATE, pa.null(): I32,
    pa.string(): STR, pa.large_string(): STR, pa.string_view(): STR,
    pa.timestamp("us"): TIMESTAMP,
}  # fmt: skip
_FIXED: Final[dict[str, Any]] = {"bool": np.dtype(bool), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
#: Rows that are read from a file at a time: enough to be fast, little beside the column that they become.
_BATCH_ROWS: Final = 1 << 18
#: The days, in either direction, that DuckDB takes for infinity.
_INFINITE_DATE: Final = (1 << 31) - 1


def horse_type(type: pa.DataType) -> VectorType | None:
    """The HorseIR type that a column of the Arrow type has; None for one that is not supported."""
    if pa.types.is_dictionary(type):
        return horse_type(type.value_type) if _is_text(type.value_type) else None
    if pa.types.is_decimal(type):
        in_range = 1 <= type.precision <= 38 and 0 <= type.scale <= type.precision
        return DecimalType(type.precision, type.scale) if in_range else None
    return _TYPES.get(type)


class ArrowSource(Source):
    """A table in memory (``data``) or in a Parquet file (``path``); columns are kept once converted."""

    def __init__(self, name: str, schema: pa.Schema, rows: int, data: pa.Table | None, path: str = "") -> None:
        self.name = name
        self.schema = schema
        self.rows = rows
        self.data = data
        self.path = path
        self.columns: dict[str, Column] = {}

    def column_names(self) -> list[str]:
        return list(self.schema.names)

    def column_type(self, name: str) -> VectorType:
        field = self._field(name)
        type = horse_type(field.type)
        if type is None:
            raise DataError(f"column '{name}' of table '{self.name}' has type {field.type}, which is not supported")
        return type

    def column(self, name: str) -> Column:
        found = self.columns.get(name)
        if found is None:
            found = convert(self._chunks(name), self.column_type(name), f"column '{name}' of table '{self.name}'")
            self.columns[name] = found
        return found

    def _field(self, name: str) -> pa.Field:
        index = self.schema.get_field_index(name)
        if index < 0:
            raise DataError(f"table '{self.name}' has no column '{name}'")
        return self.schema.field(index)

    def _chunks(self, name: str) -> Iterator[pa.Array]:
        """The column piece by piece; a file's pieces are gone once they are converted. Raises DataError."""
        if self.data is not None:
            yield from self.data.column(self.schema.get_field_index(name)).chunks
            return
        text = [name] if _is_text(self._field(name).type) else []
        rows = 0
        try:
            with pq.ParquetFile(self.path, read_dictionary=text) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=[name]):
                    rows += len(batch)
                    yield batch.column(0)
        except (OSError, pa.ArrowException) as problem:
            raise DataError(f"{self.path}: column '{name}' cannot be read: {first_line(problem)}") from None
        if rows != self.rows:
            raise DataError(f"{self.path}: the file changed after it was registered as '{self.name}'")


def open_parquet(name: str, path: str) -> ArrowSource:
    """The table in a Parquet file. Raises DataError for one that is missing, damaged or no Parquet file."""
    if not os.path.exists(path):
        raise DataError(f"{path}: there is no such file")
    if os.path.isdir(path):
        raise DataError(f"{path}: this is a folder, a Parquet file was expected")
    try:
        with pq.ParquetFile(path) as file:
            return ArrowSource(name, file.schema_arrow.remove_metadata(), file.metadata.num_rows, None, path)
    except (OSError, pa.ArrowException) as problem:
        raise DataError(f"{path}: this is not a readable Parquet file: {first_line(problem)}") from None


def from_arrow(name: str, table: pa.Table) -> ArrowSource:
    """The table itself, without a copy until a column is used."""
    return ArrowSource(name, table.schema, table.num_rows, table)


def first_line(problem: Exception) -> str:
    lines = str(problem).splitlines()
    return lines[0] if lines else type(problem).__name__


def convert(chunks: Iterable[pa.Array], type: VectorType, what: str) -> Column:
    """One column as kernels read it; ``what`` names it in errors. Raises DataError."""
    if type.kind == "text":
        return _convert_text(chunks, type, what)
    parts: list[Array] = []
    valids: list[Array | None] = []
    low, high = 0, 0
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        valid = None if chunk.null_count == 0 else pc.is_valid(chunk).to_numpy(zero_copy_only=False)
        data = _unscaled(chunk, what) if isinstance(type, DecimalType) else _plain(chunk, type)
        if valid is not None:
            data = np.where(valid, data, data.dtype.type(0))
        if type.is_exact and type != BOOL:
            least, most = int(data.min()), int(data.max())
            if type == DATE and (least <= -_INFINITE_DATE or most >= _INFINITE_DATE):
                raise DataError(f"{what} has an infinite date: not supported")
            if type == TIMESTAMP and max(-least, most) >= INT64_MAX:
                raise DataError(f"{what} has an infinite timestamp: not supported")
            low, high = (min(low, least), max(high, most)) if parts else (least, most)
            data = data.astype(narrowest(least, most))
        parts.append(data)
        valids.append(valid)
    if type == BOOL:
        low, high = 0, 1
    width = _FIXED.get(type.text) or narrowest(low, high)
    padded = _padded(parts, width)
    rows = sum([len(p) for p in parts])
    return Column(Vector(type, padded[:rows]), padded, low, high, _padded_valid(parts, valids))


def _convert_text(chunks: Iterable[pa.Array], type: VectorType, what: str) -> Column:
    """Codes into the sorted distinct strings; every piece has codes of its own until all strings are known.

    NULLs all get the code of the first string that was met.
    """
    dictionaries: list[pa.Array] = []
    parts: list[Array] = []
    valids: list[Array | None] = []
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        encoded = chunk if pa.types.is_dictionary(chunk.type) else _encoded(chunk)
        if encoded.dictionary.null_count:
            encoded = _encoded(chunk)
        words = encoded.dictionary.cast(pa.large_string())
        try:
            words.validate(full=True)
        except pa.ArrowInvalid as problem:
            raise DataError(f"{what} has text that is not UTF-8: {first_line(problem)}") from None
        valid = None if encoded.null_count == 0 else pc.is_valid(encoded).to_numpy(zero_copy_only=False)
        indices = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        if len(words) and (int(indices.min()) < 0 or int(indices.max()) >= len(words)):
            raise DataError(f"{what} is damaged: it points outside its dictionary")
        parts.append(indices.astype(narrowest(0, max(len(words) - 1, 0))))
        valids.append(valid)
        dictionaries.append(words)
    given = pa.concat_arrays(dictionaries) if dictionaries else pa.array([], pa.large_string())
    # Without a word, the zeros of NULLs stand for the empty one.
    rank, words = ranked(given if len(given) else pa.array([""], pa.large_string()))
    start = 0
    for number, part in enumerate(parts):
        count = len(dictionaries[number])
        parts[number] = rank[start : start + count][part] if count else np.zeros(len(part), dtype=rank.dtype)
        valid = valids[number]
        if valid is not None:
            parts[number] = np.where(valid, parts[number], rank[0])
        start += count
    padded = _padded(parts, rank.dtype)
    rows = sum([len(p) for p in parts])
    vector = Vector(type, padded[:rows], words)
    return Column(vector, padded, 0, len(words) - 1, _padded_valid(parts, valids))


def _encoded(chunk: pa.Array) -> pa.DictionaryArray:
    return chunk.cast(pa.large_string()).dictionary_encode()


def _padded_valid(parts: list[Array], valids: list[Array | None]) -> Array | None:
    """The validity of all parts, padded; None where nothing is NULL."""
    if all(v is None for v in valids):
        return None
    whole = [np.ones(len(p), dtype=bool) if v is None else v for p, v in zip(parts, valids)]
    return _padded(whole, np.dtype(bool))


def _is_text(type: pa.DataType) -> bool:
    return type in (pa.string(), pa.large_string(), pa.string_view())


def _padded(parts: list[Array], dtype: np.dtype[Any]) -> Array:
    """The parts as ``dtype`` one behind the other, then zeros up to a multiple of ``PAD`` (and at least one tile)."""
    rows = sum([len(p) for p in parts])
    padded = np.empty(max((rows + PAD - 1) // PAD, 1) * PAD, dtype=dtype)
    at = 0
    for part in parts:
        padded[at : at + len(part)] = part
        at += len(part)
    padded[rows:] = 0
    return padded


def _plain(chunk: pa.Array, type: VectorType) -> Array:
    if type == DATE:
        chunk = chunk.cast(pa.date32(), safe=False).cast(pa.int32())
    elif type == TIMESTAMP:
        chunk = chunk.cast(pa.int64())
    elif pa.types.is_null(chunk.type):
        chunk = chunk.cast(pa.int32())
    filled = pc.fill_null(chunk, False if type == BOOL else 0) if chunk.null_count else chunk
    data: Array = filled.to_numpy(zero_copy_only=False)
    return data


def _unscaled(chunk: pa.Array, what: str) -> Array:
    """The 64-bit unscaled values of a decimal array. Raises DataError where one needs more."""
    if len(chunk) == 0:
        return np.zeros(0, dtype=np.int64)
    if not pa.types.is_decimal128(chunk.type):
        chunk = chunk.cast(pa.decimal128(chunk.type.precision, chunk.type.scale))
    words = np.frombuffer(chunk.buffers()[1], dtype=np.int64)
    words = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk))].reshape(-1, 2)
    low = np.ascontiguousarray(words[:, 0])
    wide = (low >> 63) != words[:, 1]
    if chunk.null_count:
        wide &= chunk.is_valid().to_numpy(zero_copy_only=False)
    if wide.any():
        raise DataError(f"{what} has a value of more than 18 digits ({chunk[int(wide.argmax())]}): not supported")
    return low
