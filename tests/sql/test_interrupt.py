"""Ctrl-C, as a real signal to a process: the query ends at once, nobody works on it any more, the next one runs."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drawloom.errors import DataError
from drawloom.horse.ir import Assign, Name, Target, Use
from drawloom.sql import Relation, connect, plan, progress

#: Seconds from the signal to the exception, as promised, and as much for what else the machine does.
PROMPT = 1.0

# A phase is repeated until the signal comes, so that it comes within it.
CHILD = r"""
import sys, threading
import drawloom

path = sys.argv[1]
con = drawloom.connect("cpu").register("t", path)
KERNEL = "select sum(a * a), min(a + k), max(f * f) from t where a % 7 < 5"
JOIN = "select k, sum(a), count(*) from (select distinct t.a, t.k from t join t as v on t.a = v.a) group by k"
SORT = "select max(a) from (select a from t order by k, a limit 50000)"
PLAN = "select " + " + ".join([f"a * {n}" for n in range(600)]) + " from t"
TEXT = "select u || u || s as x from t, range(4) order by 1"
FRAMES = ("select count(distinct k) over (order by a range between 200 preceding and current row), "
          "median(f) over (order by a rows between 100 preceding and current row) from t")

def load():
    con.register("t", path)
    con.sql("select max(s), max(u), sum(a), sum(k), sum(f) from t").explain("horse")

WORK = {
    "plan": lambda: con.planner.serialise(con.planner.plan(PLAN)),
    "text": lambda: con.sql(TEXT).arrow(),
    "frames": lambda: con.sql(FRAMES).arrow(),
    "rows": lambda: con.sql("select * from t").fetchall(),
    "load": load,
    "kernel": lambda: con.sql(KERNEL).arrow(),
    "host": lambda: con.sql(JOIN, library="host").arrow(),
    "library": lambda: con.sql(SORT, library="kernels").arrow(),
    "fallback": lambda: con.sql("select arrow_typeof(max(sin(x.a) * y.a)) from t x, t y",
                                fallback="datafusion").arrow(),
}
right = con.sql(KERNEL).fetchall()
for phase, work in WORK.items():
    if phase not in ("plan", "fallback"):  # which take seconds and more
        work()
    before = set(threading.enumerate())
    try:
        print("ready", phase, flush=True)
        while True:
            work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    left = [t.name for t in threading.enumerate() if t not in before and "drawloom" not in t.name]
    print("left", left, con.sql(KERNEL).fetchall() == right, flush=True)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(1)
    rows = 60_000
    numbers = {"a": rng.integers(0, rows, rows), "k": rng.integers(0, 50, rows), "f": rng.random(rows)}
    words = {"s": [f"word {n % 5000}" for n in range(rows)], "u": [f"text {n}" for n in rng.permutation(rows)]}
    found = tmp_path_factory.mktemp("interrupt") / "t.parquet"
    pq.write_table(pa.table({**numbers, **words}), found, row_group_size=10_000)
    return str(found)


def test_an_interrupted_query_ends_at_once_in_every_phase(path: str) -> None:
    command = [sys.executable, "-c", CHILD, path]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    took: dict[str, float] = {}
    watchdog = threading.Timer(120, child.kill)
    watchdog.start()
    try:
        for phase in ("plan", "text", "frames", "rows", "load", "kernel", "host", "library", "fallback"):
            assert child.stdout.readline() == f"ready {phase}\n"
            time.sleep(0.1)
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            took[phase] = time.monotonic() - start
            assert child.stdout.readline() == "left [] True\n", phase
        assert child.wait(60) == 0
    finally:
        watchdog.cancel()
        child.kill()
        child.stdout.close()
    assert max(took.values()) < PROMPT, took


# Progress


class Terminal:
    """Standard error as a terminal, and what was written there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool = True) -> None:
        self.leader, follower = pty.openpty() if is_terminal else os.pipe()
        self.stream = os.fdopen(follower, "w", encoding="utf-8")
        monkeypatch.setattr(sys, "stderr", self.stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(progress, "PATIENCE", 0.05)

    def seen(self) -> str:
        sys.stderr.write("end")
        sys.stderr.flush()
        found = b""
        while not found.endswith(b"end"):
            found += os.read(self.leader, 4096)
        self.stream.close()
        os.close(self.leader)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n", "", found.decode()).removesuffix("end")


def slow_query(shown: bool | None, seconds: float = 0.4, problem: Exception | None = None) -> Relation:
    """A query that is a while at reading its columns: ``seconds`` from when there is a bar, if there is to be one."""
    relation = connect("cpu").register("t", pa.table({"a": [1, 2, 3]})).sql("select a from t", progress=shown)
    query = relation.query
    load = query.load_columns

    def slowly(tree: plan.Relation) -> None:
        shower, until = query.progress, time.monotonic() + 30
        assert shower is not None
        while shower.shown and progress.PATIENCE < 1 and shower.bar is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(seconds)
        if problem is not None:
            raise problem
        load(tree)

    query.load_columns = slowly  # type: ignore[method-assign]
    return relation


def test_a_bar_is_shown_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    assert slow_query(None).fetchall() == [(1,), (2,), (3,)]
    assert "reading columns" in terminal.seen()


@pytest.mark.parametrize(("shown", "is_terminal"), [(False, True), (None, False)])
def test_no_bar_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch, shown: bool | None, is_terminal: bool) -> None:
    terminal = Terminal(monkeypatch, is_terminal)
    assert len(slow_query(shown).fetchall()) == 3
    assert terminal.seen() == ""


def test_there_may_be_no_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.Progress().shown
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert not progress.Progress().shown


def test_a_quick_query_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    assert len(slow_query(True, 0.0).fetchall()) == 3
    assert terminal.seen() == ""


def test_an_error_takes_the_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    with pytest.raises(DataError):
        slow_query(None, problem=DataError("no")).fetchall()
    threads = [t for t in threading.enumerate() if isinstance(t, threading.Timer)]
    assert "reading columns" in terminal.seen() and threads == []


def test_steps_are_counted_of_all() -> None:
    shown = progress.Progress(False)
    statements = [Assign([Target(f"t{n}", None)], Use(Name("x"))) for n in range(3)]
    with shown:
        shown.run(3)
        for statement in [*statements, statements[2]]:
            shown.step(statement)
    assert (shown.done, shown.all) == (3, 3)
