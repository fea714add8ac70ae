"""The main loop of the fuzzers: every seed gets its verdict in the right record, whatever becomes of its process."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tools import driver
from tools.driver import Record, Records, Verdict, in_order


def two_parts(seed: int) -> list[Verdict]:
    """Seeds that fail, that are refused, that raise, that end the process; the second part is always right."""
    if seed == 3:
        os._exit(7)
    if seed == 5:
        raise ValueError("five")
    if seed == 6:
        return [Verdict(refused="even"), Verdict()]
    return [Verdict("is two" if seed == 2 else "", counts={"sum": seed}), Verdict()]


def one_by_one(seed: int) -> Iterator[Verdict]:
    """Seeds at whose second part of three the process ends, an exception is raised, or nothing comes."""
    yield Verdict()
    if seed == 1:
        os._exit(7)
    if seed == 2:
        raise ValueError("two")
    if seed == 3:
        time.sleep(100)
    yield from [Verdict(), Verdict()]


def hanging(seed: int) -> list[Verdict]:
    time.sleep(100 if seed == 1 else 0)
    return [Verdict()]


def given(out: Path, *words: str) -> argparse.Namespace:
    return driver.arguments("what it does", "fuzz_it").parse_args(["--jobs", "2", "--out", str(out), *words])


def test_failures_of_every_kind_are_reported_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int, str]] = []

    def report(seed: int, part: int, message: str) -> None:
        seen.append((seed, part, message.splitlines()[0]))

    assert driver.run(given(tmp_path, "--count", "8"), ["a", "b"], two_parts, report) == 1
    died = "the process died with status 7"
    raised = "ValueError: five"
    assert seen == [(2, 0, "is two"), (3, 0, died), (3, 1, died), (5, 0, raised), (5, 1, raised)]
    kept = json.loads((tmp_path / "record.json").read_text())
    assert kept["a"] | {"date": ""} == {
        "first": 0, "next": 8, "ran": 7, "failed": [2, 3, 5], "kinds": {"different": 1, "crashed": 1, "errors": 1},
        "refused": {"even": 1}, "counts": {"sum": 14}, "date": "",
    }  # fmt: skip
    assert kept["b"]["failed"] == [3, 5] and kept["b"]["ran"] == 8
    assert (
        "a: 7 programs from seed 0 to 7 ran: 4 passed, "
        "3 failed (2, 3, 5; 1 different, 1 errors, 1 crashed, 0 hung); 1 refused\n"
    ) in capsys.readouterr().out


def test_parts_that_have_an_answer_keep_it_when_the_process_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PATIENCE", 2.0)
    answers = dict(driver.verdicts_of(range(5), 2, one_by_one, 3))
    assert answers[0] == answers[4] == [Verdict()] * 3
    for seed, kind, message in (
        (1, "crashed", "the process died with status 7"),
        (2, "errors", "ValueError: two"),
        (3, "hung", "no answer for 2 seconds"),
    ):
        first, lost, last = answers[seed]
        assert first == Verdict() and last == Verdict(refused=driver.NOT_REACHED)
        assert (lost.kind, lost.message.splitlines()[0]) == (kind, message)


def test_a_run_goes_on_behind_the_recorded_seeds(tmp_path: Path) -> None:
    records = Records(tmp_path / "record.json", ["a", "b"], 10, False)
    for seed in (10, 11):
        assert records.parts[0].add(seed, Verdict(counts={"sum": seed}))
    assert records.parts[1].add(10, Verdict("wrong"))
    records.keep()
    assert driver.run(given(tmp_path, "--count", "2", "--resume"), ["a", "b"], two_parts, driver.say) == 0
    kept = json.loads((tmp_path / "record.json").read_text())
    assert (kept["a"]["next"], kept["a"]["ran"], kept["a"]["counts"]) == (13, 3, {"sum": 33})
    assert (kept["b"]["next"], kept["b"]["ran"], kept["b"]["failed"]) == (13, 3, [10])


def test_a_new_run_keeps_the_records_of_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        records = Records(tmp_path / "record.json", [name], 5, False)
        records.parts[0].add(5, Verdict())
        records.keep()
    assert json.loads((tmp_path / "record.json").read_text()).keys() == {"a", "b"}
    assert Records(tmp_path / "record.json", ["a"], 0, False).following() == 0


def test_a_seed_that_hangs_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PATIENCE", 1.0)
    answers = dict(driver.verdicts_of(range(1, 2), 1, hanging, 1))
    assert answers == {1: [Verdict("no answer for 1 seconds", kind="hung")]}


def test_a_run_that_is_ended_keeps_its_record(tmp_path: Path) -> None:
    def ended(seed: int, part: int, message: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)

    with pytest.raises(SystemExit):
        driver.run(given(tmp_path, "--count", "8"), ["a", "b"], two_parts, ended)
    kept = json.loads((tmp_path / "record.json").read_text())["a"]
    assert kept["next"] == 3 and kept["failed"] == [2]


def test_an_interrupted_run_prints_and_records_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(seed: int, part: int, message: str) -> None:
        raise KeyboardInterrupt

    assert driver.run(given(tmp_path, "--count", "8"), ["a", "b"], two_parts, interrupted) == 1
    assert "a: 3 programs from seed 0 to 2 ran: 2 passed, 1 failed (2;" in capsys.readouterr().out
    assert json.loads((tmp_path / "record.json").read_text())["a"]["failed"] == [2]


def start_a_process_and_hang(seed: int, place: Path) -> list[Verdict]:
    place.write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
    time.sleep(100)
    return [Verdict()]


def test_what_a_lost_process_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PATIENCE", 2.0)
    place = tmp_path / "number"
    answers = dict(driver.verdicts_of(range(1), 1, partial(start_a_process_and_hang, place=place), 1))
    assert answers[0][0].kind == "hung"
    status = Path("/proc", place.read_text(), "stat")
    deadline = time.monotonic() + 10
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":  # nobody may wait for it
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_seed_begins_behind_the_limit_of_time(tmp_path: Path) -> None:
    assert driver.run(given(tmp_path, "--count", "50", "--seconds", "0.000001"), ["a", "b"], two_parts, driver.say) == 0
    assert json.loads((tmp_path / "record.json").read_text())["a"]["next"] == 2


def test_verdicts_are_recorded_in_the_order_of_seeds() -> None:
    answers = [(2, [Verdict("c")]), (0, [Verdict("a")]), (1, [Verdict("b")])]
    assert [seed for seed, _ in in_order(range(3), iter(answers))] == [0, 1, 2]
    assert not Record("a", 4).add(3, Verdict("before the record"))


def with_a_process_of_its_own(seed: int) -> list[Verdict]:
    child = multiprocessing.get_context("fork").Process(target=len, args=([seed],))
    child.start()
    child.join()
    return [Verdict("" if child.exitcode == 0 else "no process")]


def test_a_worker_may_have_processes(tmp_path: Path) -> None:
    assert driver.run(given(tmp_path, "--count", "2"), ["a"], with_a_process_of_its_own, driver.say) == 0
