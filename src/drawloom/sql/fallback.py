"""A query that needs what is not built here to its answer from DataFusion's own engine, over the same tables.

What DataFusion leaves out of its plans or plans wrongly is not asked of it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from drawloom.errors import DataError, UnsupportedError
from drawloom.horse.blocks import apart
from drawloom.horse.files import Dataset, Files
from drawloom.horse.store import ArrowSource
from drawloom.sql.framestext import has_groups
from drawloom.sql.literals import OVERFLOW
from drawloom.sql.names import LIST_CALLS
from drawloom.sql.planner import Planner, new_context, only_queries, planner_message, quoted
from drawloom.sql.profile import Profile
from drawloom.sql.repeated import shown_again
from drawloom.sql.text import names_table, runnable, shown_name
from drawloom.sql.unknowns import MIXED_UP, is_planned_wrongly
from drawloom.sql.zones import has_zones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drawloom.horse.values import Source
    from drawloom.sql.text import SqlText

#: What `fallback=` may be.
CHOICES: Final = ("datafusion",)
#: Parts of queries that DataFusion gives wrong answers to, as refusals name them.
WRONG_THERE: Final = frozenset([
    MIXED_UP, OVERFLOW, "anti joins that the plan's text does not show",
])  # fmt: skip


class Fallback:
    """DataFusion's engine, which is told of a table when a query first names it."""

    def __init__(self, planner: Planner, sources: Mapping[str, Source]) -> None:
        self.planner = planner
        self.sources = sources
        self.context: Any = None
        #: The tables that it was told of, by their names there.
        self.known: dict[str, list[str]] = {}

    def run(self, text: SqlText, bound: str, refusal: UnsupportedError, device: str) -> tuple[pa.Table, Profile]:
        """The answer, in DataFusion's types, and what it took; ``bound`` is the text of its plan before
        optimisation. Says on standard error that it is DataFusion's.

        Raises the refusal where DataFusion would answer wrongly, UnsupportedError where it refuses as well, DataError
        for what goes wrong while it runs.
        """
        wrong = [item for item in refusal.items if item in WRONG_THERE or item in text.unsupported]
        if text.bags:
            wrong.append("INTERSECT ALL, EXCEPT ALL")
        if text.selects > 1 and is_planned_wrongly(bound):
            wrong.append(MIXED_UP)
        if has_zones(text.sql):
            wrong.append("AT TIME ZONE")
        if LIST_CALLS in text.sql:
            wrong.append("functions of lists")
        if has_groups(text.sql):
            wrong.append("frames of GROUPS")
        if wrong:
            said = f"{refusal.message.rstrip(':')}, and DataFusion answers some of it wrongly ({', '.join(wrong)}):"
            raise UnsupportedError(said, refusal.items)
        lacking = refusal.items or [refusal.message]
        print(f"drawloom: run in DataFusion, for what is not built yet: {'; '.join(lacking)}", file=sys.stderr)
        start = time.perf_counter()
        self.register(text.sql)
        try:
            frame = self.context.sql_with_options(runnable(text.sql), only_queries())
        except Exception as problem:
            said = f"{refusal.message.rstrip(':')}, and DataFusion refuses it too ({planner_message(problem)}):"
            raise UnsupportedError(said, refusal.items) from None
        planned = time.perf_counter()
        try:
            table = apart(frame.to_arrow_table)  # which hears of Ctrl-C once a second, or later
        except Exception as problem:
            raise DataError(f"DataFusion cannot run the query: {planner_message(problem)}") from None
        table = table.rename_columns([shown_name(name) for name in shown_again(table.column_names)])
        seconds = {"plan": planned - start, "datafusion": time.perf_counter() - planned}
        profile = Profile(text.given, device, seconds, table.num_rows)
        profile.engine, profile.lacking = "datafusion", lacking
        return table, profile

    def register(self, sql: str) -> None:
        """Makes the tables known that the text names."""
        if self.context is None:
            self.context = new_context()
        for name, source in self.sources.items():
            if not names_table(sql, name):
                continue
            assert isinstance(source, ArrowSource)
            source.check_files()
            if name in self.known:
                continue
            self.known[name] = [quoted(spelling) for spelling in self.planner.spellings[name]]
            for spelling in self.known[name]:
                self.put(spelling, source)

    def forget(self, name: str) -> None:
        """The table is another one now, or none."""
        for spelling in self.known.pop(name, []):
            self.context.deregister_table(spelling)

    def put(self, name: str, source: ArrowSource) -> None:
        if source.data is not None:
            batches = source.data.to_batches() or [pa.RecordBatch.from_pylist([], schema=source.schema)]
            self.context.register_record_batches(name, [batches])
            return
        if isinstance(source, Dataset):
            dataset = source.dataset
        else:
            from pyarrow.dataset import dataset as files

            paths = [part.path for part in source.parts] if isinstance(source, Files) else [source.path]
            dataset = files(paths, format="parquet", schema=source.schema)
        self.context.register_dataset(name, dataset)
