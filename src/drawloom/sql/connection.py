"""Tables by name on one device, and queries over them.

con = drawloom.connect(device="cpu")
con.register("lineitem", "lineitem.parquet")
con.sql("select sum(l_quantity) from lineitem").arrow()
"""

from __future__ import annotations

import os
import re
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from drawloom.errors import DataError
from drawloom.horse.blocks import aside
from drawloom.horse.files import FORMATS, Csv, Dataset, open_files
from drawloom.horse.kernels.library import CHOICES, Library
from drawloom.horse.launch import Resident
from drawloom.horse.memory import MemoryUse, counted_by, give_back, limit_of
from drawloom.horse.nested import INTO, ROW, find, is_list
from drawloom.horse.outline import MODES
from drawloom.horse.store import ArrowSource, first_line, from_arrow, horse_type
from drawloom.horse.types import VectorType
from drawloom.horse.values import Source
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.sql.fallback import CHOICES as FALLBACKS
from drawloom.sql.fallback import Fallback
from drawloom.sql.parameters import Parameters, with_values
from drawloom.sql.planner import Planner
from drawloom.sql.query import Query
from drawloom.sql.relation import Relation
from drawloom.sql.text import names_table, same_query
from drawloom.sql.translate import Schema

#: What no table's name has: quotes, control characters, and what the names of its parts are made with.
_NO_NAME: Final = re.compile(rf"[\"`\x00-\x1f\x7f]|{INTO}|\(\)\Z")
#: Prepared queries that a connection keeps, the least recently used going first.
_MAX_PREPARED: Final = 128


class Statistics:
    """Of the prepared queries of a connection: ``kept`` now, of ``most``; how often one was found (``hits``) or had to
    be made (``misses``), and how many were ``dropped``, for want of place or because a table was registered again."""

    def __init__(self) -> None:
        self.kept = 0
        self.most = _MAX_PREPARED
        self.hits = 0
        self.misses = 0
        self.dropped = 0

    def __repr__(self) -> str:
        return (
            f"<{self.kept} of {self.most} prepared queries: {self.hits} hits, {self.misses} misses, "
            f"{self.dropped} dropped>"
        )


def connect(device: str | Device | None = None, memory_limit: int | str | None = None) -> Connection:
    """A connection whose queries run on ``device`` ("cpu", "cuda:N"; None takes DRAWLOOM_DEVICE, else "cpu").

    Columns that it keeps and what a query holds may take ``memory_limit`` of the host's memory: bytes, or text such as
    "4G"; None takes DRAWLOOM_MEMORY_LIMIT, else four fifths of what is available now. More is an OutOfMemoryError.
    DRAWLOOM_LIBRARY says who does sorts, groups and joins: "auto" (whoever measured faster), "kernels" or "host".
    Raises DeviceError for a device that is not there.
    """
    return Connection(find_device(device or os.environ.get("DRAWLOOM_DEVICE") or "cpu"), memory_limit)


class Tables(dict[str, Source]):
    """Tables by name."""

    def drop_unused(self, use: MemoryUse, size: int) -> None:
        """Drops columns that the running query has not used, the least recently used first, until ``size`` bytes less
        are held."""
        most = use.current - size
        stored = [source for source in self.values() if isinstance(source, ArrowSource)]
        kept = [(source.last_use.get(name, 0), source, name) for source in stored for name in list(source.columns)]
        for last, source, name in sorted(kept, key=lambda entry: entry[0]):
            if last >= use.began or use.current <= most:
                return
            source.drop(name)


class Connection:
    """Registered tables and the device that queries run on. Columns are read when a query first needs them,
    converted once and kept; a table that is registered again replaces the old one."""

    def __init__(self, device: Device, memory_limit: int | str | None = None) -> None:
        self.device = device
        #: What columns and queries hold of the host's memory.
        self.memory = MemoryUse(limit_of(memory_limit))
        self.planner = Planner()
        self.sources = Tables()
        self.memory.keeper = weakref.WeakMethod(self.sources.drop_unused)  # which the account counts for
        self.resident = Resident(device, os.environ.get("DRAWLOOM_LIBRARY") or "auto", self.memory)
        self.fallback = Fallback(self.planner, self.sources)
        self.prepared: dict[tuple[str, str, tuple[int, int] | None], Query] = {}
        self.statistics = Statistics()

    def register(
        self,
        name: str,
        table: object,
        format: str | None = None,
        *,
        delimiter: str | None = None,
        header: bool = True,
        names: Sequence[str] | None = None,
        quote: str = '"',
        nulls: Sequence[str] = ("",),
        types: Mapping[str, pa.DataType] | None = None,
    ) -> Connection:
        """Makes a table known as ``name``: a path, or a list of them, or a table.

        A path is a Parquet or CSV file (also .csv.gz, .bz2, .zst), a glob, or a folder of such files; ``format`` is
        "parquet" or "csv" where the files' names do not say it. Several files are one table and have the same columns.
        A table is Arrow's (Table, RecordBatch, RecordBatchReader, Dataset), a DataFrame of pandas or Polars, a
        LazyFrame, which is collected now, or anything with ``__arrow_c_stream__``.

        The rest is for CSV: the ``delimiter`` (a comma; a tab in .tsv files), whether the first line is a ``header``,
        ``names`` of columns in its place (f0, f1, ... without either), the ``quote`` character, the unquoted texts
        that are ``nulls``, and the Arrow ``types`` of columns whose type is not to be inferred. A CSV file is read now,
        a Parquet file's columns when a query needs them.

        The case of ``name`` does not matter; one that is no identifier stands in quotes in SQL. Raises DataError for a
        file that is missing, damaged or of another format, files whose columns differ, what is no table, two columns of
        one name, and a name that SQL cannot say.
        """
        if str(name) != name or not name.strip() or _NO_NAME.search(name):
            raise DataError(f"'{name}' is no table name: text without quotes and control characters was expected")
        if format is not None and format not in FORMATS.values():
            raise DataError(f"format={format!r}: expected one of {', '.join(sorted(set(FORMATS.values())))}")
        for option, given in (("delimiter", delimiter), ("quote", quote or None)):
            if given is not None and len(given) != 1:
                raise DataError(f"{option}={given!r}: one character was expected")
        plain = delimiter is None and header and not names and quote == '"' and tuple(nulls) == ("",) and not types
        csv = None if plain else Csv(delimiter or "", header, names or (), quote, nulls, dict(types or {}))
        self.memory.begin()
        with counted_by(self.memory):
            source = aside(lambda: _source(name, table, format or "", csv))
        twice = [n for n, count in Counter(source.schema.names).items() if count > 1]
        if twice:
            raise DataError(f"table '{name}' has more than one column '{twice[0]}'")
        self.planner.register(name, source.schema)
        source.use = self.memory
        for part in [key for key in self.sources if key.startswith(name.lower() + INTO)]:
            del self.sources[part]
        self.sources[name.lower()] = source
        self.fallback.forget(name.lower())
        for key in [k for k, query in self.prepared.items() if names_table(query.text.given, name)]:
            del self.prepared[key]
            self.statistics.dropped += 1
        self.statistics.kept = len(self.prepared)
        return self

    def tables(self) -> list[str]:
        """The names of the registered tables, sorted."""
        return sorted([name for name in self.sources if INTO not in name])

    def sql(
        self,
        text: str,
        parameters: Parameters | None = None,
        *,
        outline: str = "full",
        library: str | None = None,
        fallback: str | None = None,
        progress: bool | None = None,
    ) -> Relation:
        """The query as a lazy relation: nothing runs before its result is asked for.

        ``parameters`` are the values of ``?``, in their order, and of ``$1``, ``$2`` ..., in a list; or those of
        ``$name`` in a dict: None, bool, int, float, Decimal, str, date, datetime, time, timedelta, and lists of these,
        which may stand behind IN. Each is the constant that SQL writes for it; a query with other values is prepared
        anew.

        ``outline`` says how much goes into one kernel: "none" (a builtin call), "flow" (what data flows through without
        synchronisation) or "full". ``library`` says who does sorts, groups and joins: "auto" (whoever measured faster),
        "kernels" or "host"; None is the connection's choice. ``fallback`` "datafusion" runs what is not built here in
        DataFusion, and says so in the profile and on standard error; None refuses it. ``progress`` shows a bar on
        standard error after two seconds; None where that is a terminal.

        Raises DataError for what is no text, for another word, and for parameters that do not go with the text.
        """
        if not isinstance(text, str):
            raise DataError(f"a query is text, not {text!r}")
        text = with_values(text, parameters)
        for option, given, known in (
            ("outline", outline, MODES), ("library", library, CHOICES), ("fallback", fallback, FALLBACKS),
        ):  # fmt: skip
            if given is not None and given not in known:
                raise DataError(f"{option}={given!r}: expected one of {', '.join(known)}")
        return Relation(self, text, outline, library, fallback, progress)

    def query(self, text: str, outline: str = "full", rows: tuple[int, int] | None = None) -> Query:
        """The prepared query for a text, made now or kept from before: blanks and comments make no other query. Of its
        ``rows`` so many are skipped and so many kept. Raises what planning and compiling raise."""
        key = (same_query(text), outline, rows)
        found = self.prepared.pop(key, None)
        if found is not None and found.text.is_lasting and (found.is_planned or found.text.given == text):
            self.statistics.hits += 1
        else:  # an error in a text that was not planned yet is to have this text's line and column
            self.statistics.misses += 1
            found = Query(text, self.planner, self.sources, StoredSchema(self.sources), self.device, outline)
            found.rows = rows
            while len(self.prepared) >= self.statistics.most:
                del self.prepared[next(iter(self.prepared))]
                self.statistics.dropped += 1
        self.prepared[key] = found
        self.statistics.kept = len(self.prepared)
        return found

    def library(self, choice: str | None) -> Library:
        """The library functions on the device, done by whom ``choice`` says; None is the connection's choice."""
        own = self.resident.library
        return own if choice is None or choice == own.choice else Library(self.device, choice, own.kernels)

    def close(self) -> None:
        """Forgets tables, prepared queries and the columns kept for them."""
        self.sources.clear()
        self.prepared.clear()
        self.statistics.kept = 0
        self.fallback = Fallback(self.planner, self.sources)
        self.resident = Resident(self.device, self.resident.library.choice, self.memory)
        give_back(self.memory.peak)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection on {self.device.name}: {', '.join(self.tables()) or 'no tables'}>"


class StoredSchema(Schema):
    """What the translation asks, answered by the registered tables."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources

    def source(self, table: str) -> Source:
        found = self.sources.get(table)
        if found is None:
            raise DataError(f"there is no table '{table}'")
        return found

    def column_type(self, table: str, column: str) -> VectorType:
        return self.source(table).column_type(column)

    def has_nulls(self, table: str, column: str) -> bool:
        if self.nested(table, column):
            column += INTO + ROW
        return self.source(table).column(column).padded_valid is not None

    def range(self, table: str, column: str) -> tuple[int, int] | None:
        found = self.source(table).column(column)
        return (found.low, found.high) if found.vector.type.is_exact else None

    def nested(self, table: str, column: str) -> str:
        found = find(self.arrow(table).schema, column)
        if found is None:
            return ""
        return "list" if is_list(found.type) else "struct" if pa.types.is_struct(found.type) else ""

    def fields(self, table: str, column: str) -> list[str]:
        found = find(self.arrow(table).schema, column)
        assert found is not None
        return [found.type.field(i).name for i in range(found.type.num_fields)]

    def elements(self, table: str, column: str) -> str:
        name = f"{table}{INTO}{column}"
        if name not in self.sources:
            self.sources[name] = self.arrow(table).elements(column)
        return name

    def arrow(self, table: str) -> ArrowSource:
        source = self.source(table)
        assert isinstance(source, ArrowSource)
        return source

    def any_column(self, table: str) -> str:
        source = self.arrow(table)
        widths = {f.name: _width(f.type) for f in source.schema if horse_type(f.type) is not None}
        if widths:
            cheapest: str = min(widths, key=lambda name: (widths[name], name))
            return cheapest
        nested = [f.name for f in source.schema if self.nested(table, f.name)]
        if not nested:
            raise DataError(f"table '{table}' has no column of a supported type")
        return f"{nested[0]}{INTO}{ROW}"


def _width(type: pa.DataType) -> int:
    """What reading a column costs, roughly: its bits, text last."""
    try:
        return int(type.bit_width)
    except ValueError:
        return 1 << 16


def _source(name: str, table: Any, format: str, csv: Csv | None) -> ArrowSource:
    if isinstance(table, str | os.PathLike):
        return open_files(name, [os.fsdecode(table)], format, csv)
    if isinstance(table, list | tuple) and all(isinstance(path, str | os.PathLike) for path in table):
        return open_files(name, [os.fsdecode(path) for path in table], format, csv)
    if format or csv is not None:
        raise DataError(f"table '{name}' is no file: options for files do not go with it")
    try:
        made = _arrow_table(name, table)
    except Exception as problem:  # of whatever library the table comes from
        raise DataError(f"table '{name}' cannot be read: {first_line(problem)}") from None
    if made is None:
        kind = type(table).__name__
        raise DataError(f"table '{name}' is a {kind}: a path or an Arrow, pandas or Polars table was expected")
    return made


def _arrow_table(name: str, table: Any) -> ArrowSource | None:
    library = type(table).__module__.partition(".")[0]
    if type(table).__module__ == "pyarrow._dataset":
        return Dataset(name, table)
    if library == "polars" and hasattr(table, "collect"):
        table = table.collect()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    elif library == "pandas" and hasattr(table, "columns"):
        table = pa.Table.from_pandas(table, preserve_index=False)
    elif not isinstance(table, pa.Table):
        table = pa.table(table) if hasattr(table, "__arrow_c_stream__") else None
    return None if table is None else from_arrow(name, table)
