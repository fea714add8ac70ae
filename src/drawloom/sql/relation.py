"""A lazy query: text until a result, a plan or a profile is asked for."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from drawloom.errors import DataError, OutOfMemoryError, StatementError, UnsupportedError
from drawloom.horse.blocks import aside, while_wanted
from drawloom.horse.casts import shown, shown_date
from drawloom.horse.matching import PairsLimit
from drawloom.horse.memory import counted_by
from drawloom.horse.store import horse_type
from drawloom.horse.types import EPOCH
from drawloom.horse.watch import Watch
from drawloom.runtime.assembler import machine_code
from drawloom.runtime.module import launches
from drawloom.sql.profile import Profile, calls_of, run_seconds, statement_texts, statements_of
from drawloom.sql.progress import Progress
from drawloom.sql.repeated import unlike
from drawloom.sql.shown import as_text, terminal_width
from drawloom.sql.wording import worded

if TYPE_CHECKING:
    from drawloom.horse.program import Program
    from drawloom.sql.connection import Connection
    from drawloom.sql.query import Query

T = TypeVar("T")
#: Rows that become Python values at a time.
_PIECE: Final = 1 << 14
#: Bytes of a Python value, its place in a row included.
_PYTHON_VALUE: Final = 48
#: What ``explain`` can show, in the order of the pipeline.
STAGES: Final = ("plan", "relation", "horse", "outline", "ptx", "sass")
#: The last day that Python has a date for, as its ordinal.
_LAST_DAY: Final = datetime.date.max.toordinal()


class Relation:
    """The result of a query, made when asked for. Asking twice runs it twice, and compiles it once."""

    def __init__(
        self,
        connection: Connection,
        text: str,
        outline: str = "full",
        library: str | None = None,
        fallback: str | None = None,
        progress: bool | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        self.connection = connection
        self.text = text
        self.outline = outline
        self.library = library
        self.fallback = fallback
        self.progress = progress
        #: How many rows are skipped, and how many kept; None for all.
        self.rows = rows
        self._fetched: Iterator[tuple[Any, ...]] | None = None
        self._turn = threading.Lock()

    @property
    def query(self) -> Query:
        return self.connection.query(self.text, self.outline, self.rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns; nothing runs for them. Raises what ``arrow`` raises for the text."""
        if self.query.text.explain:
            return list(self.schema.names)
        try:
            return list(self.query.relation().names)
        except UnsupportedError:
            if self.fallback is None:
                raise
            return list(self.schema.names)

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow types of the columns."""
        return list(self.schema.types)

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns, for which a query that gives no rows runs."""
        return self.limit(0).arrow().schema

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, for which the query runs."""
        table = self.arrow()
        return table.num_rows, table.num_columns

    def __len__(self) -> int:
        """The number of rows, for which the query runs."""
        return self.shape[0]

    def __bool__(self) -> bool:
        """True: a relation is there whatever its rows are, and none is asked for."""
        return True

    def limit(self, count: int, offset: int = 0) -> Relation:
        """The relation of at most ``count`` of these rows, after ``offset`` of them. Raises DataError for numbers below
        zero."""
        if not all(hasattr(n, "__index__") and n >= 0 for n in (count, offset)):
            raise DataError(f"limit({count}, {offset}): numbers of rows were expected")
        skipped, kept = self.rows or (0, count + offset)
        skip = min(offset, kept)
        return Relation(
            self.connection, self.text, self.outline, self.library, self.fallback, self.progress,
            (skipped + skip, min(count, kept - skip)),
        )  # fmt: skip

    def show(self, max_rows: int = 20, max_width: int | None = None) -> None:
        """Prints the first rows, at most as wide as the terminal, or ``max_width`` characters; no more rows are made
        than are shown."""
        table = self.limit(max_rows + 1).arrow()
        more = table.num_rows > max_rows
        rows = rows_of(table.slice(0, max_rows))
        said = f"({'first ' if more else ''}{len(rows)} row{'' if len(rows) == 1 else 's'})"
        width = terminal_width() if max_width is None else max_width
        print(as_text(table.column_names, table.schema.types, rows, said, width), end="")

    def arrow(self) -> pa.Table:
        """The result as an Arrow table, with DuckDB's types: sums of decimals are decimal128(38, s), sums of integers
        decimal128(38, 0), averages float64. What falls back on DataFusion has its types.

        EXPLAIN gives what ``explain`` shows as a column ``stage`` and a column ``line``; EXPLAIN ANALYZE runs the query
        and adds the profile. Raises SqlError (the text), UnsupportedError (all that is missing), DataError (data,
        overflow); KeyboardInterrupt ends the query, and the connection answers the next one.
        """
        if self.query.text.explain:
            lines = self.explained()
            return lines if self.rows is None else lines.slice(*self.rows)
        return self.run()[0]

    def run(self, profiled: bool = False) -> tuple[pa.Table, Profile | None]:
        """The result, and what it took where that is asked for or where it was not we who made it."""
        query, connection = self.query, self.connection
        with self.counted(), Progress(self.progress) as progress:
            query.progress = progress
            try:
                self.prepared(query)
            except UnsupportedError as refusal:
                if self.fallback is None:
                    raise
                table, profile = connection.fallback.run(query.text, query.bound(), refusal, connection.device.name)
                return table if self.rows is None else table.slice(*self.rows), profile
            finally:
                query.progress = None
            try:
                return self.answered(query, progress, profiled)
            except StatementError as problem:
                raise worded(problem, query.module(), query.text.given) from None

    def answered(self, query: Query, progress: Progress, profiled: bool) -> tuple[pa.Table, Profile | None]:
        """What ``answer`` gives, of joins that look at a part of their pairs at a time where all are too many."""
        try:
            return self.beside(lambda: self.answer(query, progress, profiled))
        except (PairsLimit, OutOfMemoryError):
            if not query.goes_in_rounds():
                raise
        self.prepared(query)
        return self.beside(lambda: self.answer(query, progress, profiled))

    def prepared(self, query: Query) -> Program:
        """The query's program. The planner works in the main thread: it stops for itself."""
        query.check_files()
        return self.beside(query.program)

    def beside(self, work: Callable[[], T]) -> T:
        """``work()``, beside the main thread where the device is the host: another is one thread's."""
        return aside(work) if self.connection.device.is_host else work()

    def answer(self, query: Query, progress: Progress, profiled: bool) -> tuple[pa.Table, Profile | None]:
        """The result of a query that is prepared, and what it took where that is asked for. Raises PairsLimit and
        OutOfMemoryError for more pairs of rows than a join may make, or has memory for."""
        connection = self.connection
        loaded = query.loaded(connection.resident)
        outlined = loaded.program.outlined
        progress.run(len(statements_of(outlined.module)))
        loaded.library = connection.library(self.library)
        if not profiled:
            return loaded.arrow(Watch(progress.step)), None
        with launches() as seen:
            watch = Watch(progress.step, seen)
            start = time.perf_counter()
            table = loaded.arrow(watch)
            whole = time.perf_counter() - start
        calls = calls_of(watch.records, outlined.module)
        seconds = {**query.seconds, **run_seconds(whole, calls, watch.records)}
        profile = Profile(self.text, connection.device.name, seconds, table.num_rows)
        profile.calls, profile.outline = calls, outlined
        profile.peak_bytes, profile.limit_bytes = connection.memory.peak, connection.memory.limit
        profile.statements = statement_texts(outlined.module)
        return table, profile

    @contextmanager
    def counted(self) -> Iterator[None]:
        """The query begins, and the connection's account counts it."""
        use = self.connection.memory
        use.begin()
        with counted_by(use):
            yield

    def df(self) -> Any:
        """The result as a pandas DataFrame. Columns of one name get numbers: a, a_1. Raises UnsupportedError where
        pandas is not installed."""
        _need("pandas")
        table = self.arrow()
        return table.rename_columns(unlike(table.column_names)).to_pandas()

    def pl(self) -> Any:
        """The result as a Polars DataFrame, whose columns are called as in ``df``. Raises UnsupportedError where Polars
        is not installed."""
        polars, table = _need("polars"), self.arrow()
        return polars.from_arrow(table.rename_columns(unlike(table.column_names)))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values: Decimal, date, str, int, float, bool, None. A date or moment
        that Python does not hold is text, such as "10000-01-01" or "0045-03-15 (BC)"."""
        table, use = self.arrow(), self.connection.memory
        with counted_by(use):
            use.ask(python_bytes(table), "Python's values of the result", begins=True)
            return rows_of(table)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, None behind the last; the query runs once for all of them."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows, at most ``size``; the query runs once for all of them."""
        with self._turn:
            if self._fetched is None:
                self._fetched = iter(self.fetchall())
            return list(islice(self._fetched, size))

    def explain(self, stage: str = "", arch: str = "") -> str:
        """The query after a stage: "plan" (DataFusion), "relation", "horse", "outline" (HorseIR with kernels), "ptx" or
        "sass", the machine code of a GPU: of ``arch``, such as "sm_86", else of the connection's where it is one, else
        of sm_90. Without a stage all of them under headings.

        Raises DataError for another word, UnsupportedError for an architecture that we make no code for.
        """
        if not stage:
            return "\n".join([f"-- {name}\n{text}" for name, text in self.stages(arch).items()])
        with self.counted():
            return self.stage(stage, arch)

    def stage(self, stage: str, arch: str) -> str:
        query = self.query
        if stage == "plan":
            return str(query.logical().display_indent()) + "\n"
        if stage == "relation":
            from drawloom.sql.plan import show

            return show(query.relation().root)
        if stage == "horse":
            query.relation()
            return str(self.beside(query.module))
        if stage == "outline":
            return str(self.prepared(query).outlined.module)
        if stage == "ptx":
            return self.prepared(query).ptx()
        if stage == "sass":
            device = self.connection.device
            plans = self.prepared(query).plans.values()
            return "\n".join([machine_code(p.module, device, arch) for p in plans])
        raise DataError(f"explain('{stage}'): expected one of {', '.join(STAGES)}")

    def stages(self, arch: str = "") -> dict[str, str]:
        """What ``explain`` shows of every stage; of a query that falls back its plan and what it falls back for."""
        try:
            self.prepared(self.query)
        except UnsupportedError as refusal:
            if self.fallback is None:
                raise
            return {"plan": self.explain("plan"), "fallback": "\n".join([self.fallback, *refusal.items, ""])}
        return {name: self.explain(name, arch) for name in STAGES}

    def explained(self) -> pa.Table:
        """The answer to EXPLAIN: a row a line of every stage, and of the profile for EXPLAIN ANALYZE."""
        shown = self.stages()
        if self.query.text.explain == "analyze":
            shown["profile"] = str(self.profile())
        rows = [(stage, line) for stage, text in shown.items() for line in text.splitlines()]
        return pa.table({"stage": [r[0] for r in rows], "line": [r[1] for r in rows]})

    def profile(self) -> Profile:
        """Runs the query and says what each stage and call took; stages that were done before show what they took
        then."""
        profile = self.run(profiled=True)[1]
        assert profile is not None
        return profile

    def profiled(self) -> tuple[pa.Table, Profile]:
        """The result, as ``arrow`` gives it, and the profile of the run that made it."""
        if self.query.text.explain:
            return self.explained(), self.profile()
        table, profile = self.run(profiled=True)
        assert profile is not None
        return table, profile

    def __repr__(self) -> str:
        return f"<Relation {self.text!r} on {self.connection.device.name}>"


def python_bytes(table: pa.Table) -> int:
    """About what the values of a result take as Python's."""
    texts = [c.nbytes for c in table.columns if not pa.types.is_primitive(c.type)]
    return int(_PYTHON_VALUE * table.num_rows * table.num_columns + sum(texts))


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a result as tuples of Python values; see ``Relation.fetchall``."""
    columns = [_python_values(c) for c in table.columns]
    rows: list[tuple[Any, ...]] = []
    for start in _pieces(table.num_rows if columns else 0):
        rows.extend(zip(*[column[start : start + _PIECE] for column in columns]))
    return rows


def _pieces(count: int) -> Iterator[int]:
    """Where pieces of ``count`` rows begin: Ctrl-C is heard between two of them."""
    return while_wanted(range(0, count, _PIECE))


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return _list_of(column)
    except (OverflowError, ValueError):
        if pa.types.is_timestamp(column.type):
            return _moments(column)
        return [_date(days) for days in _list_of(column.cast(pa.int32()))]


def _list_of(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = []
    for start in _pieces(len(column)):
        values.extend(column.slice(start, _PIECE).to_pylist())
    return values


def _moments(column: pa.ChunkedArray) -> list[Any]:
    """Moments; as text where Python has none."""
    type = horse_type(column.type)
    assert type is not None
    show = shown(type)

    def value(moment: pa.Scalar) -> Any:
        try:
            return moment.as_py()
        except (OverflowError, ValueError):
            return show(moment.value)

    return [value(m) for start in _pieces(len(column)) for m in column.slice(start, _PIECE)]


def _date(days: int | None) -> datetime.date | str | None:
    """A date; as text where Python has none."""
    if days is None:
        return None
    ordinal = days + EPOCH
    return datetime.date.fromordinal(ordinal) if 1 <= ordinal <= _LAST_DAY else shown_date(days)


def _need(library: str) -> Any:
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise UnsupportedError(f"{library} is not installed", [f"pip install {library}"]) from None
