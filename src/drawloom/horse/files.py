"""Paths as a person writes them (a file, a list, a glob, a folder; Parquet or CSV) to one table that reads a column of
all its files when a query first needs it."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from drawloom.errors import DataError, UnsupportedError
from drawloom.horse.memory import ask, hold
from drawloom.horse.store import ArrowSource, Stamp, first_line, from_arrow, horse_type, open_parquet

#: The formats of files, by how a name ends; CSV files may be compressed.
FORMATS: Final[dict[str, str]] = {
    ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
_COMPRESSIONS: Final = (".gz", ".bz2", ".zst", ".lz4")
_GLOB: Final = frozenset("*?[")
_WORDS: Final = {"parquet": "Parquet", "csv": "CSV"}


class Csv:
    """How CSV files are read. ``delimiter`` "" is a comma, or a tab where a name ends in .tsv; without a ``header`` the
    columns are ``names``, or f0, f1, ...; with one, ``names`` take its place. What is in ``nulls`` and not quoted is
    NULL. ``types`` are Arrow's, of columns whose type is not to be inferred."""

    def __init__(
        self,
        delimiter: str = "",
        header: bool = True,
        names: Sequence[str] = (),
        quote: str = '"',
        nulls: Sequence[str] = ("",),
        types: dict[str, Any] | None = None,
    ) -> None:
        self.delimiter = delimiter
        self.header = header
        self.names = list(names)
        self.quote = quote
        self.nulls = list(nulls)
        self.types: dict[str, Any] = types or {}


class Files(ArrowSource):
    """Several files as one table, one behind the other."""

    def __init__(self, name: str, schema: pa.Schema, parts: list[ArrowSource]) -> None:
        super().__init__(name, schema, sum([p.rows for p in parts]), None, parts[0].path)
        self.parts = parts

    def _chunks(self, name: str) -> Iterator[pa.Array]:
        for part in self.parts:
            yield from part._chunks(name)


class Dataset(ArrowSource):
    """A dataset of Arrow, read a column at a time."""

    def __init__(self, name: str, dataset: Any) -> None:
        super().__init__(name, dataset.schema.remove_metadata(), dataset.count_rows(), None)
        self.dataset = dataset

    def _chunks(self, name: str) -> Iterator[pa.Array]:
        try:
            for batch in self.dataset.scanner(columns=[name]).to_batches():
                yield batch.column(0)
        except (OSError, pa.ArrowException) as problem:
            raise DataError(f"table '{self.name}': column '{name}' cannot be read: {first_line(problem)}") from None


def open_files(name: str, given: Sequence[str], format: str = "", csv: Csv | None = None) -> ArrowSource:
    """The table in the files that ``given`` names: paths, globs and folders. ``format`` is "parquet" or "csv", "" for
    what the files' names say (Parquet where they say nothing).

    Raises DataError for a file that is missing or damaged, of another format, or whose columns are not those of the
    others: it names the files and the column.
    """
    paths = [path for one in given for path in found(one)]
    if not paths:
        raise DataError(f"table '{name}' is a list without a path")
    formats = {path: format or format_of(path) or "parquet" for path in paths}
    first = formats[paths[0]]
    other = next((path for path in paths if formats[path] != first), None)
    if other is not None:
        raise DataError(f"{paths[0]} is {_WORDS[first]} and {other} is {_WORDS[formats[other]]}: one was expected")
    if first != "csv" and csv is not None:
        raise DataError(f"{paths[0]}: options for CSV do not go with a Parquet file")
    stamps = [Stamp(path) for path in paths]  # before they are read
    if first == "csv":
        source = joined_csv(name, paths, [read_csv(path, csv or Csv()) for path in paths])
    else:
        source = joined_parquet(name, [open_parquet(name, path) for path in paths])
    source.stamps = stamps
    return source


def joined_parquet(name: str, parts: list[ArrowSource]) -> ArrowSource:
    """One table of Parquet files with the same columns. Raises DataError for others."""
    for part in parts[1:]:
        check_same(parts[0], part)
    return parts[0] if len(parts) == 1 else Files(name, parts[0].schema, parts)


def format_of(path: str) -> str:
    """The format by the name of a file, "" where it says nothing."""
    stem, ending = os.path.splitext(path.lower())
    if ending in _COMPRESSIONS:
        inner = FORMATS.get(os.path.splitext(stem)[1], "")
        return inner if inner == "csv" else ""
    return FORMATS.get(ending, "")


def found(path: str) -> list[str]:
    """The files that a path, glob or folder stands for, sorted. Raises DataError where there are none."""
    if os.path.isdir(path):
        inside = in_folder(path)
        if not inside:
            raise DataError(f"{path}: this folder has no Parquet or CSV file")
        return inside
    if os.path.exists(path) or not _GLOB & set(path):
        return [path]
    matches = sorted(glob.glob(path, recursive=True))
    inside = [file for match in matches for file in (in_folder(match) if os.path.isdir(match) else [match])]
    if not inside:
        raise DataError(f"{path}: no file has such a name")
    return inside


def in_folder(folder: str) -> list[str]:
    """The Parquet and CSV files in a folder and those below it, sorted; not what is hidden by a dot or underscore.

    Raises UnsupportedError for folders whose names are the values of a column.
    """
    made: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted([f for f in folders if not f.startswith((".", "_"))])
        partition = next((f for f in folders if "=" in f), None)
        if partition is not None:
            what = f"columns in names of folders, such as {partition}; a list of files is a table without them"
            raise UnsupportedError(f"{folder}: this folder needs what is not built yet:", [what])
        made.extend([os.path.join(place, f) for f in sorted(files) if not f.startswith((".", "_")) and format_of(f)])
    return made


def check_same(first: ArrowSource, other: ArrowSource) -> None:
    """Raises DataError where two files have not the same columns, in whatever order, of the same types."""
    mine, theirs = {f.name: f.type for f in first.schema}, {f.name: f.type for f in other.schema}
    for column in [*mine, *[c for c in theirs if c not in mine]]:
        if column in mine and column in theirs and _same(mine[column], theirs[column]):
            continue
        kinds = [f"{types[column]} in {p}" if column in types else f"not in {p}"
                 for types, p in ((mine, first.path), (theirs, other.path))]  # fmt: skip
        raise DataError(f"the files of table '{first.name}' differ: column '{column}' is {kinds[0]} and {kinds[1]}")


def _same(one: pa.DataType, other: pa.DataType) -> bool:
    kind = horse_type(one)
    return one == other or (kind is not None and kind == horse_type(other) and not pa.types.is_null(one))


# CSV


def read_csv(path: str, options: Csv) -> pa.Table:
    """The table in a CSV file, its types inferred from all of it. Raises DataError for one that is missing or that is
    no such file."""
    from pyarrow import csv

    if not os.path.exists(path):
        raise DataError(f"{path}: there is no such file")
    delimiter = options.delimiter or ("\t" if ".tsv" in os.path.basename(path).lower() else ",")
    header = options.header
    ask(os.path.getsize(path), path)
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(
                column_names=options.names or None,
                autogenerate_column_names=not header and not options.names,
                skip_rows=int(header and bool(options.names)),
            ),
            csv.ParseOptions(delimiter=delimiter, quote_char=options.quote or False, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=options.types,
                null_values=options.nulls,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as problem:
        if "Empty CSV file" in str(problem) and options.names:
            return pa.table({n: pa.array([], options.types.get(n, pa.null())) for n in options.names})
        raise DataError(f"{path}: this is not a readable CSV file: {first_line(problem)}") from None
    except (OSError, pa.ArrowException, ValueError, TypeError) as problem:
        raise DataError(f"{path}: this is not a readable CSV file: {first_line(problem)}") from None
    if options.quote and _has_open_end(table, path, options.quote):
        raise DataError(f"{path}: this is not a readable CSV file: the quote before its last value has no end")
    for number, field in enumerate(table.schema):
        if pa.types.is_binary(field.type) and field.name not in options.types:  # as what is no UTF-8 is inferred
            raise DataError(f"{path}: column '{field.name}' has text that is not UTF-8")
        if pa.types.is_timestamp(field.type) and field.type.tz is None and field.name not in options.types:
            table = table.set_column(number, field.name, _in_microseconds(table.column(number)))
    ask(table.nbytes, path)
    hold(table, table.nbytes)
    return table


def _has_open_end(table: pa.Table, path: str, quote: str) -> bool:
    """Whether the last value goes on to the end of the file from a quote, which Arrow passes over."""
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows and table.num_columns else None
    if not isinstance(last, str) or not last:
        return False
    tail = (quote + last.replace(quote, quote + quote)).encode()
    found = b""
    with pa.input_stream(path) as file:
        while piece := file.read(max(len(tail), 1 << 20)):
            found = (found + piece)[-len(tail) :]
    return found == tail


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Timestamps as we have them; as they are where those would lose digits."""
    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return column


def joined_csv(name: str, paths: list[str], tables: list[pa.Table]) -> ArrowSource:
    """One table of several CSV files with the same columns, each of a type that holds what was inferred in all."""
    for path, table in zip(paths[1:], tables[1:]):
        sources = [ArrowSource(name, t.schema, t.num_rows, t, p) for t, p in ((tables[0], paths[0]), (table, path))]
        for column in {*sources[0].schema.names, *sources[1].schema.names}:
            types = [s.schema.field(column).type for s in sources if column in s.schema.names]
            if len(types) < 2 or not _joins(types[0], types[1]):
                check_same(*sources)
    whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    hold(whole, whole.nbytes)
    source = from_arrow(name, whole)
    source.path = paths[0]
    return source


def _joins(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether one inferred type holds both: that of NULLs goes with any, and integers with doubles."""
    numbers = (pa.int64(), pa.float64())
    return one == other or pa.types.is_null(one) or pa.types.is_null(other) or (one in numbers and other in numbers)
