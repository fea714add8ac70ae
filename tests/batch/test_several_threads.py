"""Calls that several threads share: every group runs once, with the arguments of the call."""

import os
import struct
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.types import TYPES
from drawloom.runtime import team as teams
from drawloom.runtime.team import CLOSED, team

pytest.importorskip("pycparser")

COUNT = "__kernel void count(int *runs, int by) { runs[get_global_id()] += by; }"


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Share every call with three helpers, and give the number of workers of each call that is shared."""
    shared: list[int] = []
    run_parts = teams.Team.run_parts

    def run(self: teams.Team, entry: int, first: int, last: int, step: int, workers: int, *rest: Any) -> None:
        shared.append(workers)
        run_parts(self, entry, first, last, step, workers, *rest)

    monkeypatch.setattr("drawloom.batch.compile.available_cores", lambda: 4)
    monkeypatch.setattr("drawloom.batch.compile.THREAD_CYCLES", 1)
    monkeypatch.setattr("drawloom.batch.compile.LEAST_PACKS", 1)
    monkeypatch.setattr("drawloom.batch.compile.LONG_CALL", 1_000_000)
    monkeypatch.setattr(teams.Team, "run_parts", run)
    yield shared


@pytest.mark.parametrize("groups", [2, 3, 7, 31, 32, 33, 1000, 100_000])
@pytest.mark.parametrize("pack", [None, 1, 3])
def test_every_group_runs_once(four_cores: list[int], groups: int, pack: int | None) -> None:
    count = batch.kernel(COUNT, wg_size=4, pack=pack)
    runs = np.zeros((groups, 4), np.int32)
    for turn in range(1, 4):
        count(runs, 1)
        assert (runs == turn).all()
    if groups >= 31:
        assert four_cores.count(4) == 3  # groups that fill no pack have fewer


@pytest.mark.parametrize("type", TYPES)
def test_numbers_of_every_type_reach_the_threads(four_cores: list[int], type: str) -> None:
    dtype = TYPES[type].dtype
    stored = "int" if type == "bool" else type
    text = f"""__kernel void fill({stored} *to, {type} value, double scale) {{
        to[get_global_id()] = scale == 0.5 ? value : 0;
    }}"""
    fill = batch.kernel(text, wg_size=8)
    if dtype.kind == "f":
        values: list[Any] = [-1.5, 1e30]
    elif dtype.kind == "b":
        values = [True]
    else:
        values = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    for value in values:
        to = np.zeros((1000, 8), TYPES[stored].dtype)
        for _ in range(2):  # the second call has a plan
            fill(to, value, 0.5)
            assert (to == to.dtype.type(value)).all()
            to[...] = 0
    assert four_cores


def test_several_callers_at_once() -> None:
    count = batch.kernel(COUNT, wg_size=4)
    arrays = [np.zeros((5000 + 100 * number, 4), np.int32) for number in range(12)]

    def call(runs: Any, by: int) -> None:
        for _ in range(200):
            count(runs, by)

    threads = [threading.Thread(target=call, args=(runs, number)) for number, runs in enumerate(arrays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, runs in enumerate(arrays):
        assert (runs == 200 * number).all()


def test_helpers_go_back_to_sleep() -> None:
    count = batch.kernel(COUNT, wg_size=4)
    count(np.zeros((5000, 4), np.int32), 1)
    deadline = threading.Event()
    for _ in range(200):
        if team().awake == 0:
            break
        deadline.wait(0.01)
    assert team().awake == 0
    assert all(struct.unpack_from("=q", job.bytes, job.offset)[0] >= CLOSED for job in team().free)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is POSIX's")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    count = batch.kernel(COUNT, wg_size=4)
    runs = np.zeros((5000, 4), np.int32)
    count(runs, 1)
    child = os.fork()
    if child == 0:
        count(runs, 1)
        os._exit(int(not (runs == 2).all()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (runs == 1).all()
