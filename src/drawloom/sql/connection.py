"""Tables by name on one device, and queries over them.

con = drawloom.connect(device="cpu")
con.register("lineitem", "lineitem.parquet")
con.sql("select sum(l_quantity) from lineitem").arrow()
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import Any, Final

import pyarrow as pa

from drawloom.errors import DataError
from drawloom.horse.launch import Resident
from drawloom.horse.outline import MODES
from drawloom.horse.store import ArrowSource, first_line, from_arrow, horse_type, open_parquet
from drawloom.horse.types import VectorType
from drawloom.horse.values import Source
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.sql.planner import Planner
from drawloom.sql.query import Query
from drawloom.sql.relation import Relation
from drawloom.sql.translate import Schema

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Prepared queries that a connection keeps, the least recently used going first.
_MAX_PREPARED: Final = 128


def connect(device: str | Device | None = None) -> Connection:
    """A connection whose queries run on ``device`` ("cpu", "cuda:N"; None takes DRAWLOOM_DEVICE, else "cpu").

    DRAWLOOM_LIBRARY says who does sorts, groups and joins: "auto" (whoever measured faster), "kernels" or "host".
    Raises DeviceError for a device that is not there.
    """
    return Connection(find_device(device or os.environ.get("DRAWLOOM_DEVICE") or "cpu"))


class Connection:
    """Registered tables and the device that queries run on. Columns are read when a query first needs them,
    converted once and kept; a table that is registered again replaces the old one."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.planner = Planner()
        self.sources: dict[str, Source] = {}
        self.resident = Resident(device, os.environ.get("DRAWLOOM_LIBRARY") or "auto")
        self.prepared: dict[tuple[str, str], Query] = {}

    def register(self, name: str, table: object) -> Connection:
        """Makes a table known as ``name``: the path of a Parquet file, or a table (Arrow, pandas, Polars, or
        anything with ``__arrow_c_stream__``).

        ``name`` is an identifier, whose case does not matter. Raises DataError for a file that is missing, damaged or
        no Parquet file, for what is no table, and for two columns of one name.
        """
        if not _NAME.match(str(name)):
            raise DataError(f"'{name}' is no table name: letters, digits and underscores were expected")
        source = _source(name, table)
        twice = [n for n, count in Counter(source.schema.names).items() if count > 1]
        if twice:
            raise DataError(f"table '{name}' has more than one column '{twice[0]}'")
        self.planner.register(name, source.schema)
        self.sources[name.lower()] = source
        self.resident = Resident(self.device, self.resident.library.choice)
        self.prepared.clear()
        return self

    def tables(self) -> list[str]:
        """The names of the registered tables, sorted."""
        return sorted(self.sources)

    def sql(self, text: str, outline: str = "full") -> Relation:
        """The query as a lazy relation: nothing runs before its result is asked for.

        ``outline`` says how much goes into one kernel: "none" (a builtin call), "flow" (what data flows through without
        synchronisation) or "full". Raises DataError for what is no text, and for another word.
        """
        if not isinstance(text, str):
            raise DataError(f"a query is text, not {text!r}")
        if outline not in MODES:
            raise DataError(f"outline={outline!r}: expected one of {', '.join(MODES)}")
        return Relation(self, text, outline)

    def query(self, text: str, outline: str = "full") -> Query:
        """The prepared query for a text, made now or kept from before. Raises what planning and compiling raise."""
        key = (text, outline)
        found = self.prepared.pop(key, None)
        if found is None:
            found = Query(text, self.planner, self.sources, StoredSchema(self.sources), self.device, outline)
            while len(self.prepared) >= _MAX_PREPARED:
                del self.prepared[next(iter(self.prepared))]
        self.prepared[key] = found
        return found

    def close(self) -> None:
        """Forgets tables, prepared queries and the columns kept for them."""
        self.sources.clear()
        self.prepared.clear()
        self.resident = Resident(self.device, self.resident.library.choice)

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
        return self.source(table).column(column).padded_valid is not None

    def any_column(self, table: str) -> str:
        source = self.source(table)
        assert isinstance(source, ArrowSource)
        widths = {f.name: _width(f.type) for f in source.schema if horse_type(f.type) is not None}
        if not widths:
            raise DataError(f"table '{table}' has no column of a supported type")
        cheapest: str = min(widths, key=lambda name: (widths[name], name))
        return cheapest


def _width(type: pa.DataType) -> int:
    """What reading a column costs, roughly: its bits, text last."""
    try:
        return int(type.bit_width)
    except ValueError:
        return 1 << 16


def _source(name: str, table: Any) -> ArrowSource:
    if isinstance(table, str | os.PathLike):
        path: str = os.fsdecode(table)
        return open_parquet(name, path)
    try:
        made = _arrow_table(table)
    except Exception as problem:  # of whatever library the table comes from
        raise DataError(f"table '{name}' cannot be read: {first_line(problem)}") from None
    if made is None:
        kind = type(table).__name__
        raise DataError(f"table '{name}' is a {kind}: a path or an Arrow, pandas or Polars table was expected")
    return from_arrow(name, made)


def _arrow_table(table: Any) -> pa.Table | None:
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns"):
        return pa.Table.from_pandas(table, preserve_index=False)
    return pa.table(table) if hasattr(table, "__arrow_c_stream__") else None
