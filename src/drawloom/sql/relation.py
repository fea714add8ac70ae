"""A lazy query: text until a result, a plan or a profile is asked for."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from drawloom.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from drawloom.sql.connection import Connection
    from drawloom.sql.query import Query

#: What ``explain`` can show, in the order of the pipeline.
STAGES: Final = ("plan", "relation", "horse", "outline", "ptx")


class Profile:
    """What a run took. ``seconds`` by stage, in order; the run's own are compile, kernels and control (what of the
    run was neither). ``kernels`` has a line a launch: name, rows, compile and run seconds, and whether the machine
    code came out of the cache."""

    def __init__(self, seconds: dict[str, float], kernels: list[dict[str, object]], rows: int, device: str) -> None:
        self.seconds = seconds
        self.kernels = kernels
        self.rows = rows
        self.device = device

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def as_dict(self) -> dict[str, object]:
        return {"device": self.device, "rows": self.rows, "seconds": self.seconds, "kernels": self.kernels}

    def __str__(self) -> str:
        lines = [f"{stage:10} {seconds * 1e3:10.3f} ms" for stage, seconds in self.seconds.items()]
        lines.append(f"{'total':10} {self.total * 1e3:10.3f} ms, {self.rows} rows, on {self.device}")
        for kernel in self.kernels:
            cached = "from the cache" if kernel["cached"] else "compiled"
            run = float(str(kernel["run_seconds"])) * 1e3
            compile = float(str(kernel["compile_seconds"])) * 1e3
            lines.append(f"  {kernel['kernel']}: {kernel['rows']} rows in {run:.3f} ms, {cached} in {compile:.3f} ms")
        return "\n".join(lines)


class Relation:
    """The result of a query, made when asked for. Asking twice runs it twice, and compiles it once."""

    def __init__(self, connection: Connection, text: str, outline: str = "full") -> None:
        self.connection = connection
        self.text = text
        self.outline = outline

    @property
    def query(self) -> Query:
        return self.connection.query(self.text, self.outline)

    def arrow(self) -> pa.Table:
        """The result as an Arrow table, with DuckDB's types: sums of decimals are decimal128(38, s), sums of integers
        decimal128(38, 0), averages float64.

        EXPLAIN gives what ``explain`` shows as a column ``stage`` and a column ``line``; EXPLAIN ANALYZE runs the query
        and adds the profile. Raises SqlError (the text), UnsupportedError (all that is missing), DataError (data,
        overflow).
        """
        if self.query.text.explain:
            return self.explained()
        return self.query.run(self.connection.resident).to_arrow()

    def df(self) -> Any:
        """The result as a pandas DataFrame. Raises DataError where pandas is not installed."""
        _need("pandas")
        return self.arrow().to_pandas()

    def pl(self) -> Any:
        """The result as a Polars DataFrame. Raises DataError where Polars is not installed."""
        return _need("polars").from_arrow(self.arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values: Decimal, date, str, int, float, bool, None. A date that Python's
        ``date`` does not hold is text, such as "10000-01-01" or "0045-03-15 (BC)"."""
        return rows_of(self.arrow())

    def explain(self, stage: str = "") -> str:
        """The query after a stage: "plan" (DataFusion), "relation", "horse", "outline" (HorseIR with kernels) or "ptx";
        without one, all of them under headings.

        Raises DataError for another word.
        """
        if not stage:
            return "\n".join([f"-- {name}\n{self.explain(name)}" for name in STAGES])
        query = self.query
        if stage == "plan":
            return str(query.logical().display_indent()) + "\n"
        if stage == "relation":
            from drawloom.sql.plan import show

            return show(query.relation().root)
        if stage == "horse":
            return str(query.module())
        if stage == "outline":
            return str(query.program().outlined.module)
        if stage == "ptx":
            return query.program().ptx()
        raise DataError(f"explain('{stage}'): expected one of {', '.join(STAGES)}")

    def explained(self) -> pa.Table:
        """The answer to EXPLAIN: a row a line of every stage, and of the profile for EXPLAIN ANALYZE."""
        shown = {stage: self.explain(stage) for stage in STAGES}
        if self.query.text.explain == "analyze":
            shown["profile"] = str(self.profile())
        rows = [(stage, line) for stage, text in shown.items() for line in text.splitlines()]
        return pa.table({"stage": [r[0] for r in rows], "line": [r[1] for r in rows]})

    def profile(self) -> Profile:
        """Runs the query and says what each stage took; stages that were done before show what they took then."""
        query, connection = self.query, self.connection
        loaded = query.loaded(connection.resident)
        start = time.perf_counter()
        rows = loaded.run().to_arrow().num_rows
        whole = time.perf_counter() - start
        compiled = sum([k.compile_seconds for k in loaded.launches])
        ran = sum([k.run_seconds for k in loaded.launches])
        seconds = dict(query.seconds)
        first = sum([k.first_compile_seconds for k in loaded.launches])
        seconds.update({"compile": first, "kernels": ran, "control": max(whole - compiled - ran, 0.0)})
        kernels: list[dict[str, object]] = [
            {
                "kernel": k.name,
                "rows": k.rows,
                "compile_seconds": k.first_compile_seconds,
                "run_seconds": k.run_seconds,
                "cached": k.cached,
            }
            for k in loaded.launches
        ]
        return Profile(seconds, kernels, rows, connection.device.name)

    def __repr__(self) -> str:
        return f"<Relation {self.text!r} on {self.connection.device.name}>"


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a result as tuples of Python values; see ``Relation.fetchall``."""
    return list(zip(*[_python_values(c) for c in table.columns])) if table.num_columns else []


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        texts = column.cast(pa.string()).to_pylist()
        values = texts if pa.types.is_timestamp(column.type) else [_date(text) for text in texts]
    return values


def _date(text: str | None) -> datetime.date | str | None:
    if text is None:
        return None
    year, month, day = text.rsplit("-", 2)
    if int(year) < 1:
        return f"{1 - int(year):04d}-{month}-{day} (BC)"
    return datetime.date.fromisoformat(text) if int(year) <= datetime.MAXYEAR else text


def _need(library: str) -> Any:
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise UnsupportedError(f"{library} is not installed", [f"pip install {library}"]) from None
