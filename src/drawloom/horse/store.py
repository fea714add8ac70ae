"""Parquet files and Arrow tables as columns that kernels read: converted once, when a query first uses them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from drawloom.errors import DataError
from drawloom.horse.blocks import while_wanted
from drawloom.horse.columns import PIECE_ROWS, convert, mostly_distinct
from drawloom.horse.memory import MemoryUse, ask, counted_by, give_back, in_turn
from drawloom.horse.nested import HIGH, INTO, ITEM, Part, elements, find, parts
from drawloom.horse.types import (
    BOOL,
    CLOCK,
    DATE,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    STR,
    TIMESTAMP,
    TIMESTAMP_MS,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMP_UTC,
    U8,
    U16,
    U32,
    U64,
    DecimalType,
    VectorType,
)
from drawloom.horse.values import Column, Source

#: Bytes a row that converting a column has in hand, at least: a value of 64 bits as a file and as Arrow has it, a code,
#: and of text a string or two.
_CONVERTED: Final = 64
_TYPES: Final[dict[Any, VectorType]] = {
    pa.bool_(): BOOL, pa.int8(): I8, pa.int16(): I16, pa.int32(): I32, pa.int64(): I64,
    pa.float32(): F32, pa.float64(): F64, pa.date32(): DATE, pa.date64(): DATE, pa.null(): I32,
    pa.string(): STR, pa.large_string(): STR, pa.string_view(): STR,
    pa.uint8(): U8, pa.uint16(): U16, pa.uint32(): U32, pa.uint64(): U64,
    pa.timestamp("us"): TIMESTAMP, pa.timestamp("s"): TIMESTAMP_S, pa.timestamp("ms"): TIMESTAMP_MS,
    pa.timestamp("ns"): TIMESTAMP_NS,
}  # fmt: skip


def horse_type(type: pa.DataType) -> VectorType | None:
    """The HorseIR type that a column of the Arrow type has; None for one that is not supported."""
    if pa.types.is_dictionary(type):
        return horse_type(type.value_type)
    if pa.types.is_decimal(type):
        in_range = 1 <= type.precision <= 38 and 0 <= type.scale <= type.precision
        return DecimalType(type.precision, type.scale) if in_range else None
    if pa.types.is_timestamp(type) and type.tz is not None:
        return TIMESTAMP_UTC
    return CLOCK if pa.types.is_time(type) else _TYPES.get(type)


class Stamp:
    """What tells a file from another in its place: its size, its inode and when it changed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.state = self.found()

    def found(self) -> tuple[int, int, int] | None:
        """None for what is no file, or none that stays."""
        try:
            now = os.stat(self.path)
        except OSError:
            return None
        return (now.st_size, now.st_ino, now.st_mtime_ns) if stat.S_ISREG(now.st_mode) else None

    def check(self, name: str) -> None:
        """Raises DataError where the file is not what it was."""
        if self.state is not None and self.found() != self.state:
            raise changed(self.path, name)


def changed(path: str, name: str) -> DataError:
    """The error about a file that is not what it was when it was registered as a table."""
    is_there = os.path.exists(path)
    return DataError(f"{path}: the file {'changed' if is_there else 'is gone'} after it was registered as '{name}'")


class ArrowSource(Source):
    """A table in memory (``data``) or in a Parquet file (``path``); columns are kept once converted."""

    def __init__(self, name: str, schema: pa.Schema, rows: int, data: pa.Table | None, path: str = "") -> None:
        self.name = name
        self.schema = schema
        self.rows = rows
        self.data = data
        self.path = path
        #: The files that it was registered from.
        self.stamps: list[Stamp] = []
        self.columns: dict[str, Column] = {}
        #: What columns are counted by, if anybody counts; which of its uses was each one's last; and what kernels were
        #: made for, also of columns that were dropped since.
        self.use: MemoryUse | None = None
        self.last_use: dict[str, int] = {}
        self.kinds: dict[str, tuple[object, ...]] = {}

    def check_files(self) -> None:
        """Raises DataError where a file is not what was registered."""
        for stamp in self.stamps:
            stamp.check(self.name)

    def column_names(self) -> list[str]:
        return list(self.schema.names)

    def column_type(self, name: str) -> VectorType:
        field = self._find(name).type
        type = horse_type(field)
        if type is None:
            raise DataError(f"column '{name}' of table '{self.name}' has type {field}, which is not supported")
        return type

    def column(self, name: str) -> Column:
        self.has(name)
        found = self.columns.get(name)
        if found is None:
            what = f"column '{name}' of table '{self.name}'"
            with counted_by(self.use), in_turn(self.use):
                found = convert(while_wanted(self._part(name)), self.rows, self.column_type(name), what)
            kind = (found.low, found.high, found.vector.dtype, found.valid is None)
            if self.kinds.setdefault(name, kind) != kind:
                raise changed(self.path, self.name)
            self.columns[name] = found
            give_back(max(found.nbytes, _CONVERTED * self.rows))
        return found

    def has(self, name: str) -> bool:
        if self.use is not None:
            self.last_use[name] = self.use.next_use()
        return name in self.columns

    def drop(self, name: str) -> None:
        """Gives up a column until somebody asks for it again."""
        self.columns.pop(name, None)

    def elements(self, name: str) -> ArrowSource:
        """The elements of a column of lists as a table of one column (``nested.py``). Raises DataError."""
        return Elements(self, name)

    def _find(self, name: str) -> Part:
        found = find(self.schema, name)
        if found is None:
            raise DataError(f"table '{self.name}' has no column '{name}'")
        return found

    def _part(self, name: str) -> Iterator[pa.Array]:
        part = self._find(name)
        return parts(self._chunks(part.column), part.steps)

    def _chunks(self, name: str) -> Iterator[pa.Array]:
        """The column piece by piece; a file's pieces are gone once they are converted. Raises DataError."""
        if self.data is not None:
            yield from self.data.column(self.schema.get_field_index(name)).chunks
            return
        rows = 0
        try:
            for chunk in self._read(name):
                rows += len(chunk)
                yield chunk
        except (OSError, pa.ArrowException) as problem:
            raise DataError(f"{self.path}: column '{name}' cannot be read: {first_line(problem)}") from None
        if rows != self.rows:
            raise changed(self.path, self.name)

    def _read(self, name: str) -> Iterator[pa.Array]:
        """A file's row groups one by one, text as the dictionary that the file has unless it is mostly distinct: that
        takes less memory and time than reading several at once."""
        is_text, first = _is_text(self._find(name).type), 0
        with pq.ParquetFile(self.path, read_dictionary=[name] if is_text else []) as file:
            if is_text and file.num_row_groups:
                group = file.metadata.row_group(0)
                stored = [group.column(i) for i in range(group.num_columns)]
                read = [part.total_uncompressed_size for part in stored if part.path_in_schema == name]
                with counted_by(self.use):
                    ask(sum(read), f"column '{name}' of table '{self.name}'")
                chunks = file.read_row_group(0, [name], use_threads=False).column(0).chunks
                yield from chunks
                first = 1
            if not (first and chunks and mostly_distinct(chunks[0])):
                yield from _row_groups(file, first, name)
                return
        with pq.ParquetFile(self.path) as file:
            yield from _row_groups(file, first, name)


class Elements(ArrowSource):
    """The elements of a column of lists, read when they are asked for; a list ends where they all end."""

    def __init__(self, table: ArrowSource, name: str) -> None:
        self.table = table
        self.part = table._find(name)
        schema = pa.schema([pa.field(ITEM, self.part.type.value_type)])
        super().__init__(f"{table.name}{INTO}{name}", schema, table.column(name + INTO + HIGH).high, None, table.path)
        self.use, self.stamps = table.use, table.stamps

    def _chunks(self, name: str) -> Iterator[pa.Array]:
        what = f"column '{self.part.column}' of table '{self.table.name}'"
        return elements(self.table._chunks(self.part.column), self.part.steps, what)


def _row_groups(file: Any, first: int, name: str) -> Iterator[pa.Array]:
    for group in range(first, file.num_row_groups):
        for batch in file.iter_batches(PIECE_ROWS, row_groups=[group], columns=[name], use_threads=False):
            yield batch.column(0)


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


def _is_text(type: pa.DataType) -> bool:
    return type in (pa.string(), pa.large_string(), pa.string_view())
