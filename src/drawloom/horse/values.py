"""What HorseIR variables hold at run time: vectors, lists, dictionaries and tables, over NumPy arrays.

Exact types are integers (decimals unscaled, dates in days); text is codes into a sorted dictionary, so that the
order of codes is the order of the strings' UTF-8 bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drawloom.errors import DataError
from drawloom.horse.blocks import in_blocks
from drawloom.horse.memory import ask, growing, hold
from drawloom.horse.types import (
    BOOL,
    CHAR,
    DATE,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    I128,
    MONTH,
    TICKS,
    TIME,
    TIMESTAMP,
    DecimalType,
    VectorType,
)
from drawloom.horse.words import (
    NO_WORDS,
    Strings,
    Words,
    ask_at,
    bytes_at,
    picked,
    ranked,
    to_python,
    together,
    words_of,
)

Array = npt.NDArray[Any]

_WIDTHS: Final[tuple[Any, ...]] = (np.int8, np.int16, np.int32, np.int64)
#: Positions that a core takes at a time.
_TAKEN: Final = 1 << 18
#: Fewer than one row of so many is taken from strings as they are.
_FEW_TAKEN: Final = 8
#: Bytes of a row of numbers as they become Arrow's, and of the places of an element of a list.
_SHOWN: Final = 16
_PLACES: Final = 32
#: Bytes that an array of Arrow's strings has at most.
_MOST_TEXT: Final = (1 << 31) - 1
INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1


class Value:
    """Anything a HorseIR variable can hold."""


class Deferred:
    """The elements of a vector that the host has not in its memory yet: text without codes, rows on a device.

    They are of ``dtype``.
    """

    dtype: np.dtype[Any]

    def length(self) -> int:
        raise NotImplementedError

    def made(self) -> tuple[Array, Words | None]:
        """The elements, with more behind them up to a multiple of ``PAD`` where kernels may read these; and of text
        its words."""
        raise NotImplementedError

    def take(self, index: Array) -> Deferred | None:
        """Some of them, deferred too; None where they are better taken from what ``made`` gives."""
        return None


class Room:
    """Memory whose first ``used`` elements are those of vectors that begin at its front: one that has them all may grow
    into what lies behind, which no other sees."""

    def __init__(self, memory: Array) -> None:
        self.memory = memory
        self.used = len(memory)


class Vector(Value):
    """``data`` is a one-dimensional array of integers of any width (Python integers, dtype object, where
    64 bits may not do), booleans, or floats of the type's width; or what gives it when it is first asked for.

    Text has codes in ``data`` and ``dictionary``, sorted and without repeats. ``valid`` is None, or a boolean
    array that is False where the entry is NULL; only ``@with_null`` makes it, and only results carry it.
    ``padded`` is the memory that ``data`` is the front of, where a kernel may read a whole tile; else None.
    """

    def __init__(
        self,
        type: VectorType,
        data: Array | Deferred,
        dictionary: Words | None = None,
        valid: Array | None = None,
        padded: Array | None = None,
    ) -> None:
        self.type = type
        self.deferred: Deferred | None = None
        #: Where a device has the elements; the workspace keeps it.
        self.block: Deferred | None = None
        #: The memory that ``data`` is the front of, where that may be put behind it.
        self.room: Room | None = None
        self._data: Array | None = None
        if isinstance(data, Deferred):
            self.deferred = data
        else:
            self._data = data
        self._dictionary = dictionary
        self.valid = valid
        self._padded = padded

    @property
    def data(self) -> Array:
        if self._data is None:
            self._fetch()
        assert self._data is not None
        return self._data

    @property
    def dictionary(self) -> Words | None:
        if self._data is None and self._dictionary is None and self.type.kind == "text":
            self._fetch()
        return self._dictionary

    @property
    def padded(self) -> Array | None:
        if self._data is None:
            self._fetch()
        return self._padded

    def _fetch(self) -> None:
        """Puts the elements where ``data`` gives them."""
        deferred = self.deferred
        assert deferred is not None
        whole, words = deferred.made()
        self._padded = whole if len(whole) and len(whole) % PAD == 0 else None
        self._data = whole[: deferred.length()]
        self._dictionary = words or self._dictionary
        self.deferred = None

    def __len__(self) -> int:
        deferred = self.deferred
        return len(self.data) if deferred is None else deferred.length()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of ``data``, which is not made for it."""
        deferred = self.deferred
        return self.data.dtype if deferred is None else deferred.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of ``data``, made or not."""
        return len(self) * self.dtype.itemsize

    @property
    def words(self) -> Words:
        """The dictionary; no words for what is no text."""
        return self.dictionary or NO_WORDS

    def spelled(self) -> tuple[Strings, Array | None]:
        """The strings of a text, and each row's place among them: None where each row has its own."""
        deferred = self.deferred
        if isinstance(deferred, RawText):
            return deferred.strings, None
        if isinstance(deferred, SpelledText):
            return deferred.strings, deferred.places
        return self.words.arrow, self.data

    def take(self, index: Array) -> Vector:
        valid = None if self.valid is None else taken(self.valid, index)
        some = None if self.deferred is None else self.deferred.take(index)
        return Vector(self.type, taken(self.data, index) if some is None else some, self._dictionary, valid)


class RawText(Deferred):
    """A string (Arrow's, large_string) for each row, most of them unlike: sorting them into words takes longer than
    reading them, and few queries need it."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings
        #: What devices keep of them, by their names.
        self.copies: dict[str, object] = {}
        self.dtype = narrowest(0, max(len(strings) - 1, 0))

    def length(self) -> int:
        return len(self.strings)

    def made(self) -> tuple[Array, Words | None]:
        places, words = ranked(self.together())
        padded = np.zeros(padded_rows(len(places)), dtype=self.dtype)
        padded[: len(places)] = places
        return padded, words

    def together(self) -> Strings:
        """The strings in one piece, in which they stay."""
        if isinstance(self.strings, pa.ChunkedArray):
            self.strings = together(self.strings.chunks)
        return self.strings

    def take(self, index: Array) -> Deferred | None:
        return RawText(picked(self.strings, index)) if len(index) < self.length() // _FEW_TAKEN else None


class SpelledText(Deferred):
    """Text that has ``strings[places[i]]`` in row i, of which some may be alike: they are sorted into words when these
    are asked for, which a comparison with a pattern does not."""

    def __init__(self, strings: Strings, places: Array) -> None:
        self.strings = strings
        self.places = places
        self.dtype = narrowest(0, max(len(strings) - 1, 0))

    def length(self) -> int:
        return len(self.places)

    def made(self) -> tuple[Array, Words | None]:
        ranks, words = ranked(self.strings)
        return taken(ranks.astype(narrowest(0, max(len(words) - 1, 0))), self.places), words

    def take(self, index: Array) -> Deferred | None:
        return SpelledText(self.strings, taken(self.places, index))


def taken(data: Array, index: Array) -> Array:
    """``data`` at the positions of ``index``, on all cores where there are many."""
    if len(index) <= _TAKEN:
        return data.take(index)
    made = np.empty(len(index), dtype=data.dtype)

    def take(start: int) -> None:
        made[start : start + _TAKEN] = data.take(index[start : start + _TAKEN])

    in_blocks(len(index), _TAKEN, take)
    return made


class ListValue(Value):
    """Cells of any kind, such as the columns of a table."""

    def __init__(self, cells: list[Value]) -> None:
        self.cells = cells


class Lists(Vector):
    """Numbers of lists, that a result shows as these: list ``i`` is ``flat[low[i]:high[i]]``. ``to_arrow`` raises
    DataError for more elements than Arrow's lists have."""

    def __init__(self, numbers: Vector, flat: Vector, low: Array, high: Array) -> None:
        super().__init__(numbers.type, numbers.data, None, numbers.valid)
        self.flat = flat
        self.low = low
        self.high = high

    def to_arrow(self) -> pa.Array:
        known = np.ones(len(self), dtype=bool) if self.valid is None else np.asarray(self.valid, dtype=bool)
        numbers = self.data[known]
        check_positions("lists", numbers, len(self.low))
        low, high = self.low[numbers], self.high[numbers]
        if bool(((low < 0) | (low > high) | (high > len(self.flat))).any()):
            raise DataError("@lists of cells that are not within their elements")
        counts = np.zeros(len(self), dtype=np.int64)
        counts[known] = high - low
        offsets = np.concatenate([[0], np.cumsum(counts)])
        if offsets[-1] > (1 << 31) - 1:
            raise DataError("a column of lists with more than 2**31 - 1 elements")
        starts = np.zeros(len(self), dtype=np.int64)
        starts[known] = low
        ask(_PLACES * int(offsets[-1]), "elements of lists")
        places = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], counts)
        elements = vector_to_arrow(self.flat.take(places))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements, mask=pa.array(~known))

    def take(self, index: Array) -> Vector:
        return Lists(super().take(index), self.flat, self.low, self.high)


class Structs(Vector):
    """Numbers of structs, that a result shows as these: ``fields`` are as long as the numbers."""

    def __init__(self, numbers: Vector, names: list[str], fields: list[Vector]) -> None:
        super().__init__(numbers.type, numbers.data, None, numbers.valid)
        self.names = names
        self.fields = fields

    def to_arrow(self) -> pa.Array:
        mask = None if self.valid is None else pa.array(~np.asarray(self.valid, dtype=bool))
        return pa.StructArray.from_arrays([vector_to_arrow(f) for f in self.fields], self.names, mask=mask)

    def take(self, index: Array) -> Vector:
        return Structs(super().take(index), self.names, [f.take(index) for f in self.fields])


class Ragged(Value):
    """A list of vectors of one type, kept as one vector: cell ``i`` is ``flat[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, flat: Vector, offsets: Array) -> None:
        self.flat = flat
        self.offsets = offsets

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def cells(self) -> list[Vector]:
        whole = np.arange(len(self.flat))
        return [self.flat.take(whole[a:b]) for a, b in zip(self.offsets[:-1], self.offsets[1:])]


class Dictionary(Value):
    """A value for each key, in a vector or a list. ``@group`` makes one: for each group its first row, and all of its
    rows."""

    def __init__(self, keys: Vector, values: Value) -> None:
        self.keys = keys
        self.values = values


class Enumeration(Value):
    """Foreign keys: the i64 ``rows`` of the column ``foreign`` that they point to."""

    def __init__(self, rows: Vector, foreign: Vector) -> None:
        self.rows = rows
        self.foreign = foreign


class Column:
    """One stored column: the vector, the bounds of its values, and where it is NULL.

    ``vector.data`` is in the narrowest integer type that holds ``low..high`` and is the front of ``vector.padded``,
    whose length is a multiple of ``PAD`` rows, so that a kernel may read a whole tile. ``low`` and ``high`` are
    0 for floats. ``valid`` is None where nothing is NULL, else it is the front of ``padded_valid``.
    """

    def __init__(self, vector: Vector, low: int, high: int, padded_valid: Array | None) -> None:
        self.vector = vector
        self.low = low
        self.high = high
        self.padded_valid = padded_valid

    @property
    def nbytes(self) -> int:
        """Bytes that the column takes, those of its words included."""
        vector = self.vector
        deferred = vector.deferred
        if isinstance(deferred, RawText):
            size: int = deferred.strings.nbytes
        else:
            size = padded_rows(len(vector)) * vector.dtype.itemsize + vector.words.nbytes
        return size + (0 if self.padded_valid is None else self.padded_valid.nbytes)

    @property
    def valid(self) -> Array | None:
        return None if self.padded_valid is None else self.padded_valid[: len(self.vector)]


class Source:
    """A table that a program can load: its name, rows and columns. The store implements it."""

    name: str
    rows: int

    def column_names(self) -> list[str]:
        raise NotImplementedError

    def column_type(self, name: str) -> VectorType:
        """Raises DataError for a column that is not there."""
        raise NotImplementedError

    def column(self, name: str) -> Column:
        """Raises DataError for a column that is not there or cannot be read."""
        raise NotImplementedError

    def has(self, name: str) -> bool:
        """Whether a column, which is about to be used, need not be read."""
        raise NotImplementedError


class TableValue(Value):
    """A result: names and columns of one length. Or a stored table, in ``source``."""

    def __init__(self, names: list[str], columns: list[Vector], source: Source | None = None) -> None:
        self.names = names
        self.columns = columns
        self.source = source

    @property
    def rows(self) -> int:
        return self.source.rows if self.source is not None else max([len(c) for c in self.columns], default=0)

    def to_arrow(self) -> pa.Table:
        """An Arrow table with the types that DuckDB gives: i128 is decimal128(38, 0)."""
        arrays = []
        for column in self.columns:
            arrays.append(column_to_arrow(column))
            hold(arrays[-1], arrays[-1].nbytes)
        return pa.Table.from_arrays(arrays, schema=pa.schema(
            [pa.field(n, a.type) for n, a in zip(self.names, arrays)]
        ))  # fmt: skip


#: Rows that columns are padded to a multiple of: no block of threads is larger.
PAD: Final = 1024

_ARROW: Final[dict[str, Any]] = {
    "bool": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "i128": pa.decimal128(38, 0), "f32": pa.float32(), "f64": pa.float64(), "str": pa.string(),
    "sym": pa.string(), "date": pa.date32(), "month": pa.date32(), "time": pa.time32("ms"), "char": pa.string(),
    TIMESTAMP.text: pa.timestamp("us"), "timestamp_s": pa.timestamp("s"), "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"), "timestamp_utc": pa.timestamp("us", "UTC"), "clock": pa.time64("us"),
    "interval": pa.duration("us"),
    "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
}  # fmt: skip

_DTYPES: Final[dict[str, Any]] = {
    BOOL.text: np.bool_, I8.text: np.int8, I16.text: np.int16, I32.text: np.int32, I64.text: np.int64,
    F32.text: np.float32, F64.text: np.float64, DATE.text: np.int32, MONTH.text: np.int32, TIME.text: np.int32,
    **dict.fromkeys([*TICKS], np.int64), "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip


def arrow_type(type: VectorType) -> pa.DataType:
    """The Arrow type that a result column of ``type`` has."""
    if isinstance(type, DecimalType):
        return pa.decimal128(type.precision, type.scale)
    return _ARROW[type.text]


def column_to_arrow(vector: Vector) -> pa.ChunkedArray:
    """One column as Arrow, NULL where ``valid`` says so; text in chunks: an array holds 2**31 bytes, and all cores make
    some of them."""
    if vector.type.kind != "text" or isinstance(vector, Lists | Structs):
        return pa.chunked_array([vector_to_arrow(vector)])
    strings, codes = vector.spelled()
    mask = _mask(vector)
    if codes is None and mask is None:
        chunks = strings.chunks if isinstance(strings, pa.ChunkedArray) else [strings]
        if all(chunk.nbytes <= _MOST_TEXT for chunk in chunks):
            return pa.chunked_array([chunk.cast(pa.string()) for chunk in chunks], pa.string())
    rows = np.arange(len(vector)) if codes is None else codes
    ask_at(strings, rows, mask)

    def chunk(start: int) -> list[pa.Array]:
        end = start + _TAKEN
        return _pieces(strings, rows[start:end], None if mask is None else mask[start:end])

    return pa.chunked_array([p for pieces in in_blocks(len(rows), _TAKEN, chunk) for p in pieces], pa.string())


def _mask(vector: Vector) -> Array | None:
    """Where entries are NULL, as Arrow's masks have it."""
    return None if vector.valid is None else ~np.asarray(vector.valid, dtype=bool)


def _pieces(strings: Strings, rows: Array, mask: Array | None) -> list[pa.Array]:
    """The strings at some rows, in halves until Arrow has as much text."""
    half, known = len(rows) // 2, rows if mask is None else rows[~mask]
    if half and bytes_at(strings, known, _MOST_TEXT) > _MOST_TEXT:
        first, second = (None, None) if mask is None else (mask[:half], mask[half:])
        return [*_pieces(strings, rows[:half], first), *_pieces(strings, rows[half:], second)]
    found = strings.take(pa.array(rows, mask=mask))
    return [(together(found.chunks) if isinstance(found, pa.ChunkedArray) else found).cast(pa.string())]


def vector_to_arrow(vector: Vector) -> pa.Array:
    """As ``column_to_arrow``, in one piece. Raises DataError for more text than that holds."""
    if isinstance(vector, Lists | Structs):
        return vector.to_arrow()
    type = vector.type
    mask = _mask(vector)
    if type.kind == "text":
        strings, codes = vector.spelled()
        rows = np.arange(len(vector)) if codes is None else codes
        ask_at(strings, rows, mask)
        pieces = _pieces(strings, rows, mask)
        if len(pieces) > 1:
            raise DataError(f"text of more than {_MOST_TEXT} bytes where one array holds all of it, as in lists")
        return pieces[0]
    ask(_SHOWN * len(vector), "a column")
    if isinstance(type, DecimalType) or type == I128:
        return _decimals_to_arrow(vector, arrow_type(type), mask)
    if type == CHAR:
        return pa.array([chr(c) for c in vector.data.tolist()], pa.string(), mask=mask)
    data = vector.data.astype(_DTYPES[type.text])
    if type == MONTH:  # Arrow has no months: their first days
        return pa.array(data.astype("datetime64[M]").astype("datetime64[D]"), mask=mask)
    return pa.array(data, mask=mask).cast(arrow_type(type))


def _decimals_to_arrow(vector: Vector, type: pa.DataType, mask: Array | None) -> pa.Array:
    count = len(vector)
    words = np.empty((count, 2), dtype=np.int64)
    if vector.data.dtype == object:
        for i, value in enumerate(vector.data.tolist()):
            low = value & ((1 << 64) - 1)
            words[i, 0] = low - (1 << 64) if low > INT64_MAX else low
            words[i, 1] = value >> 64
    else:
        words[:, 0] = vector.data
        words[:, 1] = words[:, 0] >> 63
    valid = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(type, count, [valid, pa.py_buffer(words)])


def padded_rows(rows: int) -> int:
    """The rows up to a multiple of ``PAD``, one tile at least."""
    return max(-(-rows // PAD), 1) * PAD


def narrowest(low: int, high: int) -> np.dtype[Any]:
    """The narrowest signed integers that hold ``low..high``, which 64 bits do."""
    for width in _WIDTHS:
        info = np.iinfo(width)
        if info.min <= low and high <= info.max:
            fits: np.dtype[Any] = np.dtype(width)
            return fits
    raise AssertionError("wider than 64 bits")


def integers(vector: Vector) -> Array:
    """The values as int64, or as Python integers (dtype object) where they are held so."""
    return vector.data if vector.data.dtype == object else vector.data.astype(np.int64, copy=False)


def bounds(data: Array) -> tuple[int, int]:
    """The least and greatest of an integer array; (0, 0) when it is empty."""
    if len(data) == 0:
        return (0, 0)

    def of(start: int) -> tuple[int, int]:
        part = data[start : start + _TAKEN]
        return (int(part.min()), int(part.max()))

    found = in_blocks(len(data), _TAKEN, of)
    return (min([low for low, _ in found]), max([high for _, high in found]))


def narrow(data: Array, low: int, high: int) -> Array:
    """``data`` as int64 where that holds ``low..high``, else as Python integers."""
    if low >= INT64_MIN and high <= INT64_MAX:
        return data.astype(np.int64, copy=False)
    return data.astype(object)


def from_values(values: list[Any], type: VectorType) -> Vector:
    """A vector of Python values: integers (unscaled), floats or strings. Used for literals."""
    if type.kind == "text":
        words = words_of(values)
        return Vector(type, np.array([words.lower(v) for v in values], dtype=np.int32), words)
    if type.is_float:
        return Vector(type, np.array(values, dtype=_DTYPES[type.text]))
    if type == BOOL:
        return Vector(type, np.array(values, dtype=bool))
    return Vector(type, narrow(np.array(values, dtype=object), min(values, default=0), max(values, default=0)))


def strings(vector: Vector) -> list[str]:
    """The strings of a text vector."""
    if len(vector) == 1:
        return [vector.words[int(vector.data[0])]]
    with growing("text") as grown:
        return to_python(vector.words.arrow, vector.data, grown)


def as_vector(value: Value) -> Vector:
    """The value, which must be a vector. Raises DataError."""
    if not isinstance(value, Vector):
        raise DataError(f"a {type_name(value)} stands where a vector is expected")
    return value


def some_words(words: Words | None) -> Words:
    """A dictionary in which code 0, which is the least of no text, has a word: "" where there is none."""
    return words if words is not None and len(words) else words_of([""])


def only(name: str, value: Value) -> Vector:
    """The argument of ``@name``, which must be a vector of one entry. Raises DataError."""
    vector = as_vector(value)
    if len(vector) != 1:
        raise DataError(f"@{name} takes one value where it was given {len(vector)}")
    return vector


def only_number(name: str, value: Value) -> int:
    """The integer that an argument of ``@name`` is. Raises DataError for several, and for none."""
    return int(only(name, value).data[0])


def only_text(name: str, value: Value) -> str:
    """The text that an argument of ``@name`` is. Raises DataError for several, and for none."""
    return strings(only(name, value))[0]


def check_positions(name: str, positions: Array, rows: int, least: int = 0) -> None:
    """Raises DataError for a position from ``least`` on that is none of a vector of so many rows."""
    low, high = bounds(positions)
    if len(positions) and (low < least or high >= rows):
        raise DataError(f"@{name}: position {low if low < least else high} of a vector of {rows}")


def type_name(value: Value) -> str:
    return {"ListValue": "list", "Ragged": "list", "Dictionary": "dict", "TableValue": "table"}.get(
        type(value).__name__, type(value).__name__.lower()
    )
