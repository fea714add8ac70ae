"""What takes long to plan is planned in another process, as it would be here."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import drawloom
from drawloom.errors import UnsupportedError
from drawloom.sql import Connection, connect, planner_process
from drawloom.sql.planner import SqlError
from drawloom.sql.planner_process import PlanApart, endless_chain, takes_long
from drawloom.sql.tpch import QUERIES, text

TABLE = pa.table({"a": [1, 2, 3], "s": ["x", "y", "z"]})


def test_long_chains_texts_and_many_joins_take_long() -> None:
    assert takes_long("select " + " + ".join(["a"] * 120) + " from t")
    assert takes_long("select " + "(" + " || ".join(["s"] * 120) + ") = 'x' from t")
    assert takes_long("select a from t where a in (" + ", ".join(["1000000"] * 600) + ")")
    assert takes_long("select 1 from t " + " ".join([f"join t as t{i} on true" for i in range(50)]))


def test_usual_queries_do_not() -> None:
    assert not any(takes_long(text(number)) for number in QUERIES)
    assert not takes_long("select " + ", ".join([f"sum(a + {i})" for i in range(90)]) + " from t")
    assert not takes_long("select '" + "+" * 200 + "', a -- " + "-" * 200 + "\nfrom t")


def test_a_chain_of_too_many_terms_is_refused_at_its_place_before_it_is_planned() -> None:
    with connect("cpu") as connection:
        connection.register("t", TABLE)
        relation = connection.sql("select a,\n " + "+".join(["a"] * 3000) + " from t")
        with pytest.raises(UnsupportedError, match="3,000 terms, of which 1,000 end at line 2, column 2001: put"):
            relation.fetchall()
        with pytest.raises(UnsupportedError, match="3,000 terms"):
            relation.explain("plan")
        assert connection.sql("select count(*) from t").fetchall() == [(3,)]


def test_a_chain_of_as_many_terms_in_brackets_runs() -> None:
    part = "(" + "+".join(["a"] * 40) + ")"
    with connect("cpu") as connection:
        connection.register("t", TABLE)
        assert connection.sql(f"select {'+'.join([part] * 40)} from t").fetchall() == [(1600,), (3200,), (4800,)]


def test_only_the_terms_of_one_chain_are_counted() -> None:
    assert endless_chain("select " + "+".join(["a"] * 1000) + " from t") is None
    assert endless_chain("select " + "+".join(["a * b"] * 1000) + " from t") is None
    assert endless_chain("select " + ", ".join(["a + 1"] * 1001) + " from t") is None
    assert endless_chain("select '" + "+" * 1001 + "'") is None
    assert endless_chain("select " + "||".join(["s"] * 1001) + " from t") == (1000, 7 + 999 * 3 + 1)


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setattr(planner_process, "_LONG_TEXT", 0)  # everything is planned there
    return connect("cpu").register("t", TABLE)


def test_answers_errors_and_refusals_are_the_same(con: Connection) -> None:
    assert isinstance(con.planner.plan("select a from t"), PlanApart)
    assert con.sql("select a, (select max(s) from t as u where u.a < t.a) as m from t order by a").fetchall() == [
        (1, None), (2, "x"), (3, "y"),
    ]  # fmt: skip
    con.register("u", pa.table({"b": [5]}))
    assert con.sql("select sum(a + b) from t, u").fetchall() == [(21,)]
    con.register("t", pa.table({"c": [7]}))
    assert con.sql("select c from t").columns == ["c"]
    with pytest.raises(SqlError, match=r"query:1:8: No field named a\.") as caught:
        con.sql("select a from t").arrow()
    assert caught.value.column == 8
    with pytest.raises(drawloom.UnsupportedError) as refused:
        con.sql("select arrow_typeof(c), struct(c) from t").arrow()
    assert [item.partition(",")[0] for item in refused.value.items] == ["function: arrow_typeof", "function: struct"]


def test_a_process_that_ended_is_an_error_and_the_next_query_runs(con: Connection) -> None:
    assert con.sql("select sum(a) from t").fetchall() == [(6,)]
    process = con.planner.process.process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(SqlError, match="its process ended"):
        con.sql("select max(a) from t").arrow()
    assert con.sql("select max(a) from t").fetchall() == [(3,)]


ASKED_AND_KILLED = """
import os, signal, threading, time
import pyarrow as pa
from drawloom.sql import connect

con = connect("cpu").register("t", pa.table({"a": [1]}))
long = "select " + " + ".join(["a"] * 800) + " as s from t"
threading.Thread(target=lambda: con.planner.process.ask("serialised", long, True)).start()
while con.planner.process.known != con.planner.process.told:  # until it is asked
    time.sleep(0.01)
time.sleep(0.2)
print(con.planner.process.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals for pipes that end are Linux's")
def test_the_process_ends_with_the_one_that_asks() -> None:
    asker = subprocess.run([sys.executable, "-c", ASKED_AND_KILLED], stdout=subprocess.PIPE, text=True, timeout=100)
    assert asker.returncode == -signal.SIGKILL
    state = Path("/proc") / asker.stdout.strip() / "stat"
    until = time.monotonic() + 60
    while (still := runs(state)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not still


def runs(state: Path) -> bool:
    """Whether there is such a process that has not ended, awaited or not."""
    try:
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
