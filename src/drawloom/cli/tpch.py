"""`drawloom tpch --scale 1 --check`: TPC-H's queries on a device, what each stage took, and DuckDB's answers and times
beside ours.

A query is first run with nothing at hand, no column read and no kernel compiled, which the stages are the times of;
then again, with everything at hand, which the warm time is the median of.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drawloom.cli import tables as tables_option

if TYPE_CHECKING:
    from drawloom.runtime.machine import Device
    from drawloom.sql.tpch import Oracle

WARM_RUNS: Final = 3

#: The columns of times, and the stages of a profile that they sum up; `control` has all stages that are not named here.
STAGES: Final[dict[str, tuple[str, ...]]] = {
    "data": ("load",),
    "frontend": ("plan", "substrait", "decode", "horse"),
    "outliner": ("outline",),
    "PTX": ("ptx",),
    "code": ("prepare", "compile"),
    "control": ("control",),
    "kernels": ("kernels",),
    "library": ("library",),
}
#: What `code` is on a kind of device.
CODE: Final = {"cpu": "LLVM", "cuda": "assembler", "reference": "decoder"}


class Outcome:
    """What became of a query: ``status`` is "ran", "equal", "differs", "refused" or "failed", ``note`` says why.

    ``stages`` are the seconds of each of ``STAGES`` in the first run; ``warm`` and ``duckdb`` are medians in seconds,
    None where there was no such run; ``launches`` counts the kernels launched.
    """

    def __init__(self, query: int) -> None:
        self.query = query
        self.status = "ran"
        self.note = ""
        self.rows: int | None = None
        self.launches = 0
        self.stages: dict[str, float] = {}
        self.warm: float | None = None
        self.duckdb: float | None = None

    @property
    def total(self) -> float | None:
        return sum(self.stages.values()) if self.stages else None

    @property
    def ratio(self) -> float | None:
        return self.warm / self.duckdb if self.warm is not None and self.duckdb else None


@click.command("tpch")
@click.option("-s", "--scale", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True,
              help="Scale factor: 1 is 6 million rows of lineitem.")  # fmt: skip
@click.option("-q", "--query", "queries", type=click.IntRange(1, 22), multiple=True,
              help="This query; repeat for more. All 22 without it.")  # fmt: skip
@click.option("--check", is_flag=True, help="Compare every answer with DuckDB's, and the times with its times.")
@click.option("-d", "--device", default=None, help="cpu (the default), reference or cuda:N.")
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), default=None,
              help="Where the folder tpch-sfN with the tables is, or is made "
                   "(default: drawloom/tpch in the user's cache folder).")  # fmt: skip
@click.option("--cached", is_flag=True, help="Take kernels from the kernel cache instead of compiling them anew.")
@click.option("--outline", type=tables_option.MODE, default="full", show_default=True,
              help="How much goes into one kernel.")  # fmt: skip
@click.option("--library", type=tables_option.LIBRARY, help="Who does sorts, groups and joins.")
@click.option("--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def command(
    scale: float,
    queries: tuple[int, ...],
    check: bool,
    device: str | None,
    data: Path | None,
    cached: bool,
    outline: str,
    library: str | None,
    style: str,
) -> int:
    """Run TPC-H's queries and show what each stage took, in milliseconds.

    Makes the tables with tpchgen-cli where they are missing. Exits 1 when an answer differs from DuckDB's or a query
    fails; a query that needs what is not built is refused and shown with the first reason.
    """
    from drawloom.runtime.machine import device as find_device
    from drawloom.sql import tpch

    place = find_device(device or os.environ.get("DRAWLOOM_DEVICE") or "cpu")
    tables = tpch.generate(data or tpch.data_folder(), scale)
    oracle = tpch.Oracle(tables, len(os.sched_getaffinity(0))) if check else None
    show = FORMATS[style](place, scale, check)
    done: list[Outcome] = []
    with kernel_cache(cached):
        warm_up(place, tables)
        click.echo(show.header(), nl=False)
        for query in sorted(set(queries)) or tpch.QUERIES:
            with announced(f"Q{query}"):
                outcome = measured(query, place, tables, oracle, outline, library)
            done.append(outcome)
            click.echo(show.row(outcome), nl=False)
    click.echo(summary(done), err=style != "table")
    return int(any(o.status in ("differs", "failed") for o in done))


@contextmanager
def kernel_cache(on: bool) -> Iterator[None]:
    """Turns the cache of compiled kernels off, unless it is to be used."""
    before = os.environ.get("DRAWLOOM_CACHE")
    if not on:
        os.environ["DRAWLOOM_CACHE"] = "off"
    try:
        yield
    finally:
        if before is not None:
            os.environ["DRAWLOOM_CACHE"] = before
        elif not on:
            del os.environ["DRAWLOOM_CACHE"]


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Shows on a terminal what is under way."""
    terminal = sys.stderr.isatty()
    if terminal:
        print(f"{what} ...", end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if terminal:
            print(" " * (len(what) + 4), end="\r", file=sys.stderr, flush=True)


def warm_up(device: Device, tables: dict[str, Path]) -> None:
    """Runs a small query, so that imports and threads are there before the first that is timed."""
    from drawloom.sql import tpch

    tpch.connected(device, tables).sql("select count(*) from region where r_regionkey < 0").arrow()


def measured(
    query: int,
    device: Device,
    tables: dict[str, Path],
    oracle: Oracle | None,
    outline: str = "full",
    library: str | None = None,
) -> Outcome:
    """The query run cold and warm on a connection of its own, and on DuckDB where it is at hand."""
    from drawloom.errors import Error, UnsupportedError
    from drawloom.sql import tpch

    outcome = Outcome(query)
    sql = tpch.text(query)
    with tpch.connected(device, tables) as connection:
        relation = connection.sql(sql, outline=outline, library=library, progress=False)
        try:
            profile = relation.profile()
            outcome.rows, outcome.launches = profile.rows, len(profile.kernels)
            outcome.stages = by_column(profile.seconds)
            answer = relation.arrow()
            outcome.warm = median_seconds(relation.arrow)
        except UnsupportedError as refusal:
            outcome.status, outcome.note = "refused", (refusal.items or [refusal.message])[0]
            return outcome
        except Error as failure:
            outcome.status, outcome.note = "failed", str(failure).split("\n")[0]
            return outcome
    if oracle is not None:
        outcome.note = tpch.difference(query, answer, oracle.apart(oracle.answer, sql))
        outcome.status = "differs" if outcome.note else "equal"
        outcome.duckdb = oracle.apart(median_seconds, lambda: oracle.run(sql))
    return outcome


def by_column(seconds: dict[str, float]) -> dict[str, float]:
    """The seconds of a profile by the columns of ``STAGES``."""
    column_of = {stage: column for column, stages in STAGES.items() for stage in stages}
    found = dict.fromkeys(STAGES, 0.0)
    for stage, took in seconds.items():
        found[column_of.get(stage, "control")] += took
    return found


def median_seconds(run: Callable[[], object]) -> float:
    took: list[float] = []
    for _ in range(WARM_RUNS):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def summary(done: list[Outcome]) -> str:
    """How many queries came out how; beside DuckDB, the times of those that ran on both."""
    counts = {s: sum([o.status == s for o in done]) for s in ("equal", "ran", "differs", "refused", "failed")}
    parts = ", ".join([f"{n} {status}" for status, n in counts.items() if n])
    line = f"{len(done)} {'query' if len(done) == 1 else 'queries'}: {parts}"
    both = [o for o in done if o.ratio]
    if not both:
        return line
    ours, theirs = sum([o.warm or 0.0 for o in both]), sum([o.duckdb or 0.0 for o in both])
    mean = math.exp(statistics.mean([math.log(o.ratio or 1.0) for o in both]))
    worst = max(both, key=lambda o: o.ratio or 0.0)
    return (
        f"{line}; warm {ours * 1e3:.1f} ms, DuckDB {theirs * 1e3:.1f} ms: {ours / theirs:.2f} times, "
        f"geometric mean {mean:.2f}, worst {worst.ratio:.2f} (Q{worst.query})"
    )


class Format:
    """Outcomes as text, for one run of the command."""

    def __init__(self, device: Device, scale: float, check: bool) -> None:
        self.device = device
        self.scale = scale
        self.check = check

    def header(self) -> str:
        return ""

    def row(self, outcome: Outcome) -> str:
        raise NotImplementedError


class Table(Format):
    """Aligned columns, times in milliseconds; what explains the status stands behind them."""

    def header(self) -> str:
        return self.line("query", "status", "rows", [*self.columns(), *(["ratio"] if self.check else [])])

    def row(self, outcome: Outcome) -> str:
        o = outcome
        times: list[str] = []
        if o.rows is not None:
            seconds = [*o.stages.values(), o.total, o.warm, *([o.duckdb] if self.check else [])]
            times = [milliseconds(s) for s in seconds] + ([] if o.ratio is None else [f"{o.ratio:.2f}"])
        rows = "" if o.rows is None else str(o.rows)
        return self.line(f"Q{o.query}", o.status, rows, times, o.note)

    def columns(self) -> list[str]:
        names = [CODE[self.device.kind] if column == "code" else column for column in STAGES]
        return [*names, "total", "warm", *(["DuckDB"] if self.check else [])]

    def line(self, query: str, status: str, rows: str, times: list[str], note: str = "") -> str:
        widths = [max(len(name), 7) for name in self.columns()] + [5]
        cells = [f"{query:5}  {status:7}  {rows:>5}", *[f"{t:>{w}}" for t, w in zip(times, widths)]]
        return "  ".join([*cells, note]).rstrip() + "\n"


class Csv(Format):
    """A line a query, times in milliseconds, nothing where there is none."""

    def header(self) -> str:
        times = [f"{column.lower()}_ms" for column in (*STAGES, "total", "warm", "duckdb")]
        return ",".join(["query", "status", "rows", "launches", *times, "ratio", "note"]) + "\n"

    def row(self, outcome: Outcome) -> str:
        o = outcome
        times = [milliseconds(t, 3) for t in [*[o.stages.get(c) for c in STAGES], o.total, o.warm, o.duckdb]]
        rows, ratio = "" if o.rows is None else o.rows, "" if o.ratio is None else f"{o.ratio:.4f}"
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow([o.query, o.status, rows, o.launches, *times, ratio, o.note])
        return out.getvalue()


class Json(Format):
    """An object a query, times in seconds, null where there is none."""

    def row(self, outcome: Outcome) -> str:
        o = outcome
        shown = {
            "query": o.query, "status": o.status, "note": o.note, "scale": self.scale, "device": self.device.name,
            "rows": o.rows, "launches": o.launches, "seconds": o.stages, "total": o.total, "warm": o.warm,
            "duckdb": o.duckdb, "ratio": o.ratio,
        }  # fmt: skip
        return json.dumps(shown) + "\n"


def milliseconds(seconds: float | None, digits: int = 1) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.{digits}f}"


FORMATS: Final[dict[str, type[Format]]] = {"table": Table, "csv": Csv, "json": Json}
