"""Memory: every transition of figure 6.7 with its transfers, pages, the account of a connection and its limit, and what
is left to a process."""

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawloom
from drawloom.horse import memory, store
from drawloom.horse.columns import convert
from drawloom.horse.kernels.workspace import DEVICE, EMPTY, HOST, SHARED, Block, Workspace
from drawloom.horse.memory import MemoryUse, limit_of
from drawloom.horse.types import I64
from drawloom.horse.values import Column, Vector
from drawloom.runtime import machine
from drawloom.runtime.host import HostQueue
from drawloom.runtime.memory import ALLOCATION_ALIGNMENT
from drawloom.runtime.pages import Pages, Part
from tests.horse.apart import Apart

DATA = np.arange(5, dtype=np.int64)

REQUESTS: dict[str, Callable[[Block], Any]] = {
    "read host": Block.read_host,
    "read device": Block.read_device,
    "write host": Block.write_host,
    "write device": Block.write_device,
}
#: For each state and request the state afterwards, and the transfers to the device and from it.
TRANSITIONS = {
    (EMPTY, "write host"): (HOST, 0, 0),
    (EMPTY, "write device"): (DEVICE, 0, 0),
    (HOST, "read host"): (HOST, 0, 0),
    (HOST, "read device"): (SHARED, 1, 0),
    (HOST, "write host"): (HOST, 0, 0),
    (HOST, "write device"): (DEVICE, 1, 0),
    (DEVICE, "read host"): (SHARED, 0, 1),
    (DEVICE, "read device"): (DEVICE, 0, 0),
    (DEVICE, "write host"): (HOST, 0, 1),
    (DEVICE, "write device"): (DEVICE, 0, 0),
    (SHARED, "read host"): (SHARED, 0, 0),
    (SHARED, "read device"): (SHARED, 0, 0),
    (SHARED, "write host"): (HOST, 0, 0),
    (SHARED, "write device"): (DEVICE, 0, 0),
}


def block_in(state: str, workspace: Workspace) -> Block:
    if state == EMPTY:
        return Block(workspace, np.int64, len(DATA))
    block = Block(workspace, DATA.copy() if state == HOST else workspace.put(DATA))
    if state == SHARED:
        block.read_host()
    assert block.state == state
    return block


@pytest.mark.parametrize(("state", "request_"), TRANSITIONS)
def test_a_request_takes_a_block_to_its_next_state(state: str, request_: str) -> None:
    device = Apart()
    block = block_in(state, Workspace(device))
    before = device.transfers
    got = REQUESTS[request_](block)
    after, sent, fetched = TRANSITIONS[state, request_]
    assert block.state == after
    assert device.transfers == (before[0] + sent, before[1] + fetched)
    block.workspace.wait()
    if state != EMPTY:
        assert (got if isinstance(got, np.ndarray) else got.to_array()).tolist() == DATA.tolist()


@pytest.mark.parametrize("request_", ["read host", "read device"])
def test_reading_what_nobody_wrote_is_a_mistake(request_: str) -> None:
    with pytest.raises(AssertionError, match="nobody wrote"):
        REQUESTS[request_](block_in(EMPTY, Workspace(Apart())))


def test_what_one_kernel_wrote_the_next_reads_without_a_transfer() -> None:
    device = Apart()
    workspace = Workspace(device)
    made = workspace.put(DATA)
    count = workspace.size(workspace.put(np.array([0, 3], np.uint64)), 1)
    vector = workspace.vector(I64, made, count)
    before = device.transfers
    assert workspace.column(vector, np.int64) is made and device.transfers[0] == before[0]
    assert len(vector) == 3 and device.fetched[-1] == 8, "the size alone"
    assert vector.data.tolist() == [0, 1, 2] and device.fetched[-1] == 3 * 8, "the rows that there are"
    assert workspace.column(vector, np.int64) is made and device.transfers[0] == before[0]


@pytest.mark.parametrize(
    ("rows", "value"), [(0, 7), (1, 7), ((1 << 19) + 3, -1), ((1 << 19) + 3, 0), ((1 << 22) + 3, 0)]
)
def test_memory_is_filled_to_its_end(rows: int, value: int) -> None:
    made = Workspace(machine.device("cpu")).full(rows, np.int64, value)
    assert len(made) == max(rows, 1) and bool((made == value).all())


def test_a_column_is_sent_once_and_in_another_type_again() -> None:
    device = Apart()
    workspace = Workspace(device)
    vector = Vector(I64, DATA)
    assert workspace.column(vector, np.int64) is workspace.column(vector, np.int64)
    assert device.sent == [5 * 8]
    workspace.column(vector, np.int32)
    assert device.sent == [5 * 8, 5 * 4]
    padded = workspace.column(vector, np.int64, padded=True)
    workspace.wait()
    assert padded.to_array().tolist() == [*range(5), *[0] * 1019]


def test_a_column_that_was_sent_ahead_is_there_when_kernels_read_it() -> None:
    device = Apart()
    workspace = Workspace(device)
    columns = [Vector(I64, np.arange(n << 12)) for n in range(1, 9)]
    for vector in columns:
        workspace.send(vector, np.int64)
        workspace.send(vector, np.int64)
    for number, vector in enumerate(columns, 1):
        found = workspace.get(workspace.column(vector, np.int64), number << 12)
        np.testing.assert_array_equal(found, vector.data)
    assert sorted(device.sent) == [n << 15 for n in range(1, 9)]


def test_a_column_in_memory_that_was_anothers_waits_for_who_reads_that() -> None:
    device = Apart()
    workspace = Workspace(device)
    first, second = Vector(I64, np.zeros(1 << 12, np.int64)), Vector(I64, np.ones(1 << 12, np.int64))
    workspace.send(first, np.int64)
    memory = workspace.column(first, np.int64)
    address, held = memory.address, threading.Event()
    queue = workspace.queue()
    assert isinstance(queue, HostQueue)
    queue.put(held.wait)  # what kernels do with the first column takes long
    seen = np.zeros(1 << 12, np.int64)
    memory.allocation().read(seen.view(np.uint8), 0, queue)
    first.block = memory = None  # and nobody else wants it
    workspace.send(second, np.int64)
    held.set()
    assert workspace.column(second, np.int64).address == address
    workspace.wait()
    assert not seen.any(), "what was there when the kernels were queued"


# Pages


def test_parts_of_a_page_are_aligned_and_one_allocation() -> None:
    device = Apart()
    pages = Pages(device, 1 << 16)
    parts = [pages.allocate(size) for size in (1, 0, 257, 16)]
    assert [p.offset for p in parts] == [0, 256, 512, 1024]
    assert all(p.address % ALLOCATION_ALIGNMENT == 0 for p in parts)
    assert device.allocated == [1 << 16]
    large = pages.allocate(1 << 17)
    assert device.allocated == [1 << 16, 1 << 17] and pages.peak == (1 << 16) + (1 << 17)
    large.release()
    assert pages.allocate(9).page is parts[0].page, "what is large stays whole for what is large"


def test_a_tail_and_what_is_freed_last_are_the_pages_again() -> None:
    pages = Pages(Apart(), 1 << 16)
    first, second = pages.allocate(1000), pages.allocate(5000)
    second.shrink(100)
    assert pages.allocate(1).offset == 1024 + 256
    first.shrink(1)
    assert pages.allocate(1).offset == 1024 + 512, "something lies behind it"
    last = pages.allocate(600)
    last.release()
    assert pages.allocate(1).offset == last.offset


def test_pages_that_nobody_uses_are_given_back() -> None:
    device = Apart()
    pages = Pages(device, 1 << 16)
    kept, gone = pages.allocate(9), pages.allocate(1 << 16)
    gone.release()
    assert pages.allocate(1 << 16).page is gone.page, "it serves again before it is given back"
    pages.pages[1].live = 0
    pages.give_back()
    assert device.allocated == [1 << 16]
    kept.release()
    pages.give_back()
    assert device.allocated == []


def test_a_full_device_gives_pages_back_before_it_refuses() -> None:
    device = Apart(memory=1 << 17)
    pages = Pages(device, 1 << 16)
    pages.allocate(1).release()
    part = pages.allocate(1 << 17)
    assert device.allocated == [1 << 17]
    with pytest.raises(drawloom.DeviceError, match="no 256 bytes"):
        pages.allocate(1)
    assert part.view().nbytes == 1 << 17


def test_a_part_that_goes_while_another_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making one may run finalizers: the top of the page falls in between."""
    pages = Pages(Apart(), 1 << 16)
    going = [pages.allocate(1000), pages.allocate(1000)]

    def made(*values: Any) -> Part:
        while going:
            going.pop().release()
        return Part(*values)

    monkeypatch.setattr("drawloom.runtime.pages.Part", made)
    first, second = pages.allocate(1000), pages.allocate(1000)
    assert abs(first.address - second.address) >= 1024


def test_pages_go_with_the_last_who_uses_them() -> None:
    device = Apart()
    workspace = Workspace(device)
    memory = workspace.put(DATA)
    workspace.wait()
    del workspace
    gc.collect()
    assert len(device.allocated) == 1 and memory.to_array().tolist() == DATA.tolist()
    del memory
    gc.collect()
    assert device.allocated == []


# The account and the limit

ROWS = 100_000
QUERY = (
    "select a.g, count(*) as n, sum(b.v) as s from t a join t b on a.g = b.g where a.v < 9 group by a.g order by a.g"
)


def table(groups: int) -> pa.Table:
    return pa.table({"g": np.arange(ROWS) % groups, "v": np.arange(ROWS) % 1000, "w": [f"{n}" for n in range(ROWS)]})


def test_an_account_counts_arrays_once_and_for_as_long_as_they_live() -> None:
    use = MemoryUse(1 << 20)
    array = np.zeros(1000, dtype=np.int8)
    use.hold_array(array[5:])
    use.hold_array(array)
    assert use.current == 1000
    view = array[::2].reshape(-1, 2)
    del array
    assert use.current == 1000, "a view has it still"
    del view
    assert use.current == 0 and use.peak == 1000
    use.begin()
    assert use.peak == 0
    with pytest.raises(
        drawloom.OutOfMemoryError, match=r"a join needs 1.0 MiB beside the 0 bytes held: the limit is 1.0"
    ):
        use.ask((1 << 20) + 1, "a join")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what is resident is read from /proc")
@pytest.mark.parametrize(("limit", "asked"), [(10 << 20, 12), (1 << 40, 20)])
def test_what_allocators_keep_goes_back_before_more_is_taken(limit: int, asked: int) -> None:
    """Pieces below what goes back at once, between others that stay: near the limit, or after many of them."""

    def resident() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))

    use, start = MemoryUse(limit), resident()
    kept = [(np.ones(1 << 20, dtype=np.int8), bytearray(1 << 14)) for _ in range(64)]
    stay = [between for _, between in kept]
    kept.clear()
    if resident() - start < 32 << 20:
        pytest.skip("this C library keeps nothing")
    for _ in range(asked):
        use.ask(1 << 20, "a sort")
    assert resident() - start < 8 << 20
    assert len(stay) == 64


def test_what_a_query_held_serves_the_next_and_goes_back_when_none_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[float] = []
    monkeypatch.setattr(memory, "trim", lambda: trims.append(time.monotonic()))
    monkeypatch.setattr(memory, "idle", memory.Idle(0.2))
    use = MemoryUse(1 << 40)
    for size in (memory.LARGE, 0, memory.LARGE):
        use.begin()
        use.hold_array(np.zeros(size, dtype=np.int8))
        use.give_back()
    last = time.monotonic()
    assert not trims
    while not trims and time.monotonic() < last + 20:
        time.sleep(0.01)
    assert len(trims) == 1 and trims[0] - last > 0.1
    use.begin()
    use.give_back()
    time.sleep(0.3)
    assert len(trims) == 1, "what held little leaves nothing to give back"


def test_what_is_kept_may_be_more_beside_more_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[int] = []
    there = [100 << 20]
    monkeypatch.setattr(memory, "resident", lambda: there[0])
    monkeypatch.setattr(memory, "trim", lambda: trims.append(there[0] >> 20))
    use = MemoryUse(1 << 40)
    columns = np.zeros(40 << 20, dtype=np.int8)
    use.hold_array(columns)
    there[0] += columns.nbytes
    use.begin_program()
    for size in (50, 59, 61):  # beside 40 MiB of columns, 2.5 times which are 100
        there[0] = (139 + size) << 20
        use.ask(1 << 20, "a sort")
    assert trims == [200]
    use.ask(1 << 20, "a sort")
    assert trims == [200], "what does not go back is in use"
    for _ in range(3):
        use.ask(1 << 20, "a sort", begins=True)
    assert trims == [200, 200], "it may have been temporaries, but not for long"
    there[0] += memory.LARGE
    use.ask(1 << 20, "a sort")
    assert trims == [200, 200, 204]


@pytest.mark.parametrize("library", ["host", "kernels"])
def test_a_query_over_the_limit_is_an_error_and_the_next_is_answered(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_LIBRARY", library)
    con = drawloom.connect("cpu", memory_limit="8M").register("t", table(50))
    expected = drawloom.connect("cpu", memory_limit="4G").register("t", table(50)).sql(QUERY).arrow()
    assert con.sql("select sum(v) from t").fetchall() == [(49_950_000,)]
    before = con.memory.current
    with pytest.raises(drawloom.OutOfMemoryError, match=r"needs .* the limit is 8.0 MiB"):
        con.sql(QUERY).arrow()
    gc.collect()
    assert con.sql("select sum(v) from t").fetchall() == [(49_950_000,)]
    assert before <= con.memory.current < before + (1 << 20), "what the refused query held is free"
    con.memory.limit = 1 << 32
    assert con.sql(QUERY).arrow().equals(expected)
    assert con.memory.peak > 8 << 20


def test_columns_over_the_limit_are_an_error_and_are_not_kept() -> None:
    con = drawloom.connect("cpu", memory_limit=300_000).register("t", table(7))
    with pytest.raises(drawloom.OutOfMemoryError, match=r"column 'w' of table 't' needs"):
        con.sql("select max(w) from t").arrow()
    assert con.sql("select max(g) from t").fetchall() == [(6,)]
    held = con.memory.current
    assert held == 98 * 1024, "one byte a row, up to a tile"
    con.close()
    gc.collect()
    assert con.memory.current == 0


def test_columns_that_only_other_queries_used_go_before_a_query_is_refused() -> None:
    data = pa.table({"a": np.arange(ROWS) % 9, "b": np.arange(ROWS) % 8, "w": [f"{n}" for n in range(ROWS)]})
    con = drawloom.connect("cpu", memory_limit=150_000).register("t", data)
    answers = {"select max(a) from t": 8, "select max(b) from t": 7}
    for query in [*answers, *answers]:  # of the second round they are prepared already
        assert con.sql(query).fetchall() == [(answers[query],)]
        assert 100_000 < con.memory.current < 150_000
    held = con.memory.current
    with pytest.raises(drawloom.OutOfMemoryError, match=r"column 'w' of table 't' needs"):
        con.sql("select max(w) from t").arrow()
    assert con.memory.current < held, "what was dropped for it"
    assert con.sql("select max(a) from t").fetchall() == [(8,)], "after one that has failed, too"


@pytest.mark.parametrize(
    "query", ["select max(w) from t", QUERY, "select repeat(w, 300) from t", "select cast('x' || w as int) from t"]
)
def test_what_a_query_that_fails_held_is_free_before_garbage_is_collected(query: str) -> None:
    con = drawloom.connect("cpu", memory_limit="8M").register("t", table(50))
    con.sql("select sum(v), max(g) from t").arrow()
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(drawloom.Error):
            con.sql(query).arrow()
        assert con.memory.current <= sum([column.nbytes for column in columns_of(con, "t").values()]) + 1024
    finally:
        gc.enable()


def columns_of(con: drawloom.Connection, name: str) -> dict[str, Column]:
    source = con.sources[name]
    assert isinstance(source, store.ArrowSource)
    return source.columns


def test_the_least_recently_used_columns_go_first() -> None:
    data = pa.table({name: np.arange(100_000) % 100 for name in "abcd"})
    con = drawloom.connect("cpu", memory_limit=340_000).register("t", data)
    for name in "abcad":
        con.sql(f"select sum({name}) from t").arrow()
    assert sorted(columns_of(con, "t")) == ["a", "c", "d"]


def test_a_file_that_changed_while_its_column_was_dropped_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(100_000) % 100, "b": np.arange(100_000) / 2}), path)
    con = drawloom.connect("cpu", memory_limit=850_000).register("t", path)
    for name in "ab":
        con.sql(f"select sum({name}) from t").arrow()
    pq.write_table(pa.table({"a": np.arange(100_000) % 1000, "b": np.arange(100_000) / 2}), path)
    with pytest.raises(drawloom.DataError, match="the file changed after it was registered as 't'"):
        con.sql("select sum(a) from t").arrow()


def test_the_peak_is_that_of_a_query_that_fails_while_it_loads_and_of_small_tables_too() -> None:
    con = drawloom.connect("cpu", memory_limit=300_000).register("t", table(7))
    con.register("u", pa.table({"k": [1, 2, 3]}))
    assert con.sql("select sum(k) from u").profile().peak_bytes == con.memory.peak > 3
    with pytest.raises(drawloom.OutOfMemoryError, match=r"the limit is 293.0 KiB"):
        con.sql("select max(w) from t").arrow()
    assert 100_000 < con.memory.peak <= 300_000
    con.sql("select sum(k) from u").arrow()
    assert con.memory.peak < 150_000


#: Text and lists that are much more than what they are made of, and what makes them.
GROWN = {
    "select string_agg(w || w, ',') over (partition by g) from s": "the result: text",
    "select string_agg(w || w, ',') over (order by v) from s": "@fold_slices",
    "select string_agg(w, repeat('-', 50000)) from s": "@fold",
    "select array_agg(w) over () from s": "the result: elements of lists",
    "select array_agg(v) over () from s": "the result: elements of lists",
    "select first_value(repeat(w, 60000)) over (order by v) from s": "@repeat",
    "select repeat(w, 1500) as r from s where repeat(w, 1500) <> ''": "@repeat",
    "select lpad(w, 10000, 'x') from s": "@pad_start",
    "select replace(w, '1', repeat('x', 10000)) from s": "@replace",
    "select replace(w, '1', repeat(w, 3000)) from s": "@re",
    "select regexp_replace(w, '[0-9]', repeat('x', 3000), 'g') from s": "@regexp_replace",
    "select a.l || b.w from (select repeat('x', 30000) as l from s where v < 9) a, s b": "@join_text",
    "select l from (select repeat('x' || v, 100000) as l from s where v < 2) a, s": "the result: text",
    "select generate_series(1, v * 1000) from s": "@range",
}


@pytest.mark.parametrize("query", GROWN)
def test_text_and_lists_over_the_limit_are_refused_before_they_are_made(query: str) -> None:
    rows = np.arange(2000)
    data = pa.table({"g": rows % 3, "v": rows, "w": [f"{n:05}" for n in rows]})
    con = drawloom.connect("cpu", memory_limit="10M").register("s", data)
    before, count = pa.total_allocated_bytes(), con.sql("select count(*) from s").fetchall()
    with pytest.raises(drawloom.OutOfMemoryError, match=r"needs .* beside .* held: the limit is 10.0 MiB") as refusal:
        con.sql(query).arrow()
    assert GROWN[query] in str(refusal.value)
    assert con.memory.peak <= 10 << 20
    del refusal
    gc.collect()
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert con.sql("select count(*) from s").fetchall() == count


def test_text_that_is_made_is_counted_for_as_long_as_the_query_has_it() -> None:
    con = drawloom.connect("cpu", memory_limit="1G")
    con.register("s", pa.table({"v": np.arange(1000), "w": [f"{n:05}" for n in range(1000)]}))
    assert con.sql("select max(length(repeat(w, 2000))) from s").fetchall() == [(10_000,)]
    assert con.memory.peak > 10_000_000
    gc.collect()
    assert con.memory.current < 100_000


def test_a_csv_file_over_the_limit_is_an_error_and_one_below_it_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join([f"{n},{n}\n" for n in range(20_000)]))
    con = drawloom.connect("cpu", memory_limit="100K")
    with pytest.raises(drawloom.OutOfMemoryError, match=r"t\.csv needs .*: the limit is 100.0 KiB"):
        con.register("t", path)
    con.memory.limit = 1 << 20
    con.register("t", path)
    assert con.memory.current >= 320_000
    assert con.sql("select sum(a + b) from t").fetchall() == [(399_980_000,)]


def test_long_text_comes_in_pieces_that_arrow_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawloom.horse.values._MOST_TEXT", 100)
    con = drawloom.connect("cpu").register("t", pa.table({"w": [f"{n:07}" if n % 5 else None for n in range(100)]}))
    found = con.sql("select w from t order by w nulls last").arrow()
    assert found.column("w").to_pylist() == [*[f"{n:07}" for n in range(100) if n % 5], *[None] * 20]
    assert found.column("w").num_chunks > 5 and found.schema.types == [pa.string()]
    with pytest.raises(drawloom.DataError, match="text of more than 100 bytes where one array"):
        con.sql("select array_agg(w) from t").arrow()


@pytest.mark.parametrize(("limit", "most"), [("8M", 1), ("4G", 4)])
def test_columns_are_converted_in_turn_where_their_pieces_would_not_fit(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    working: list[int] = []
    seen: list[int] = []

    def slow(*given: Any) -> Any:
        working.append(1)
        time.sleep(0.1)
        seen.append(len(working))
        working.pop()
        return convert(*given)

    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(store, "convert", slow)
    data = pa.table({name: pa.array([1, 2, 3]) for name in "abcd"})
    con = drawloom.connect("cpu", memory_limit=limit).register("t", data)
    assert con.sql("select sum(a + b + c + d) from t").fetchall() == [(24,)]
    assert len(seen) == 4 and max(seen) <= most and (most == 1 or max(seen) > 1)


def test_no_memory_from_the_system_is_the_same_error(monkeypatch: pytest.MonkeyPatch) -> None:
    con = drawloom.connect("cpu", memory_limit="4G").register("t", table(7))

    def refuse(*given: object, **named: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    with monkeypatch.context() as patch:
        patch.setattr("drawloom.horse.program.interpret", refuse)
        with pytest.raises(drawloom.OutOfMemoryError, match=r"for the query, beside .* 4.0 GiB \(Unable to al"):
            con.sql("select sum(v) from t").arrow()
    assert con.sql("select max(g) from t").fetchall() == [(6,)]


def test_without_a_limit_more_than_the_machine_has_left_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    use = MemoryUse()
    assert 0 < use.limit <= machine.host_memory()
    monkeypatch.setattr("drawloom.horse.memory.available_memory", lambda: 100 << 20)
    use.ask(99 << 20, "something")
    with pytest.raises(drawloom.OutOfMemoryError, match=r"something needs 101.0 MiB: the machine has 100.0 MiB left"):
        use.ask(101 << 20, "something")


@pytest.mark.parametrize(
    ("given", "size"), [(77, 77), ("77", 77), ("1.5K", 1536), ("4 GiB", 4 << 30), ("2mb", 2 << 20)]
)
def test_a_limit_is_bytes_or_text(given: int | str, size: int) -> None:
    assert limit_of(given) == size


@pytest.mark.parametrize("given", ["x", "-3", 0, "4Q", "1e", "G"])
def test_a_limit_that_is_none_is_refused(given: int | str) -> None:
    with pytest.raises(drawloom.DataError, match=r"memory_limit=.*bytes, or text such as '4G' expected"):
        drawloom.connect("cpu", memory_limit=given)


def test_the_limit_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_MEMORY_LIMIT", "5M")
    assert drawloom.connect("cpu").memory.limit == 5 << 20
    assert drawloom.connect("cpu", memory_limit="6M").memory.limit == 6 << 20


# Control groups


def test_a_control_group_leaves_what_is_below_its_limit(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/a/b/memory.max": "1000", "sys/fs/cgroup/a/b/memory.current": "300",
        "sys/fs/cgroup/a/b/memory.stat": "anon 1\ninactive_file 50\n",
        "sys/fs/cgroup/a/memory.max": "max", "sys/fs/cgroup/a/memory.current": "900",
        "sys/fs/cgroup/memory/c/memory.limit_in_bytes": "500", "sys/fs/cgroup/memory/c/memory.usage_in_bytes": "100",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str((1 << 63) - 4096),
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "7",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    groups = tmp_path / "groups"
    groups.write_text("4:memory:/c\n2:cpu:/x\n0::/a/b\n")
    assert sorted(machine._group_available(str(groups), str(tmp_path))) == [400, 750]
    assert machine._group_available(str(tmp_path / "none"), str(tmp_path)) == []
    assert 0 < machine.available_memory() <= machine.host_memory()


def test_queries_on_a_device_apart_give_the_hosts_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LIBRARY", "kernels")
    query = (
        "select b.w, sum(a.v) as s from t a join u b on a.g = b.g where a.v < 90 group by b.w order by s, b.w limit 5"
    )
    device = Apart()
    answers = []
    for where in ("cpu", device):
        con = drawloom.connect(where).register("t", table(50).slice(0, 5000)).register("u", table(50).slice(0, 50))
        answers.append(con.sql(query).arrow())
    assert answers[0].num_rows == 5 and answers[1].equals(answers[0])
    sent = len(device.sent)
    assert con.sql(query).arrow().equals(answers[0])
    assert len(device.sent) - sent < sent, "columns are there already"
    assert max(device.allocated, default=0) <= 64 << 20
    con.close()
