"""The main loop that the fuzzers share: seeds to processes, what was found to a record, a report and an exit status.

    run ::= for each seed: check(seed) in a process -> a verdict for each part; failures -> report, all of it -> record

A part is one way of checking that is counted by itself, as a target of the assembler. Every job is a process of its
own, so that a crash or a hang costs one program. A check that yields its verdicts one by one loses only the part at
which the process died; the parts after it count as not reached. The record, `<out>/record.json`, holds for each part
the seeds from `first` to before `next`, whose verdicts are in it: `--resume` goes on there, also after an interruption.
Ctrl-C prints what was found so far.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NamedTuple

#: Seconds after which a part of a seed that has no verdict counts as hanging.
PATIENCE: Final = 180.0
#: Seeds between two lines of progress, and seconds after which the next line comes earlier.
PROGRESS: Final = 200
PROGRESS_SECONDS: Final = 60.0
#: Seeds between two collections of a process's garbage.
COLLECT: Final = 100
#: What failures begin with that no process could be asked about again.
CRASHED: Final = ("the process died", "no answer")
#: Kinds of failures, in the order in which they are listed.
DIFFERENT, ERROR, DIED, HUNG = KINDS = ("different", "errors", "crashed", "hung")
NOT_REACHED: Final = "not reached: the process ended at an earlier part"


class Verdict(NamedTuple):
    """Of one seed: how the program failed, "" where it did not; or why it could not run, which is neither success nor
    failure; whatever else is to be added up, by name; and the kind of the failure."""

    message: str = ""
    refused: str = ""
    counts: dict[str, int] | None = None
    kind: str = DIFFERENT


#: What is done with a seed: a verdict for each part, in a list or one by one. It is sent to the processes, so a
#: function of a module or a ``functools.partial`` of one.
Check = Callable[[int], Iterable[Verdict]]
#: What is done with a failure in the main process: the seed, the part's place in the list, the message.
Report = Callable[[int, int, str], None]


class Record:
    """What has been counted for one part, kept between runs."""

    def __init__(self, name: str, first: int, kept: dict[str, Any] | None = None) -> None:
        kept = kept or {}
        self.name = name
        self.first: int = kept.get("first", first)
        self.following: int = kept.get("next", first)
        self.ran: int = kept.get("ran", 0)
        self.failed: list[int] = kept.get("failed", [])
        self.kinds: Counter[str] = Counter(kept.get("kinds", {}))
        self.refused: Counter[str] = Counter(kept.get("refused", {}))
        self.counts: Counter[str] = Counter(kept.get("counts", {}))

    def add(self, seed: int, verdict: Verdict) -> bool:
        """Count a verdict; False for one that is in the record already, of a part that was ahead of another."""
        if seed < self.following:
            return False
        self.following = seed + 1
        self.counts.update(verdict.counts or {})
        if verdict.message:
            self.failed.append(seed)
            self.kinds[verdict.kind] += 1
        if verdict.refused:
            self.refused[verdict.refused] += 1
        else:
            self.ran += 1
        return True

    def kept(self) -> dict[str, Any]:
        return {
            "first": self.first, "next": self.following, "ran": self.ran, "failed": self.failed,
            "kinds": dict(self.kinds), "refused": dict(self.refused.most_common()), "counts": dict(self.counts),
            "date": time.strftime("%Y-%m-%d"),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.ran} programs from seed {self.first} to {self.following - 1} ran: "]
        lines[0] += f"{self.ran - len(self.failed)} passed, {len(self.failed)} failed"
        if self.failed:
            lines[0] += f" ({', '.join(map(str, self.failed[:20]))}{', ...' if len(self.failed) > 20 else ''}; "
            lines[0] += ", ".join(f"{self.kinds[kind]} {kind}" for kind in KINDS) + ")"
        if self.refused:
            lines[0] += f"; {self.refused.total()} refused"
        lines += [f"  {count:6d} {name}" for name, count in sorted(self.counts.items())]
        return "\n".join(lines + [f"  {count:6d} {reason}" for reason, count in self.refused.most_common(20)])


class Records:
    """The records of all parts, in one file with those of other runs."""

    def __init__(self, path: Path, names: Sequence[str], first: int, resume: bool) -> None:
        self.path = path
        kept = self._read() if resume else {}
        self.parts = [Record(name, first, kept.get(name)) for name in names]

    def following(self) -> int:
        """The first seed that some part has not seen."""
        return min([part.following for part in self.parts])

    def keep(self) -> None:
        kept = self._read()
        kept.update({part.name: part.kept() for part in self.parts})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        unfinished.replace(self.path)

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return found


def arguments(doc: str | None, name: str) -> argparse.ArgumentParser:
    """The options that all fuzzers have; the folder of a fuzzer is named after it."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="seeds to check")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--resume", action="store_true", help="go on behind the last recorded seed")
    parser.add_argument("--seconds", type=float, default=0, help="begin no seed after so long (default: no limit)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("build") / name, help="folder of the record and of failures")
    return parser


def run(given: argparse.Namespace, names: Sequence[str], check: Check, report: Report) -> int:
    """Check the seeds that the options ask for, in parts of these names, and print what was found, also after Ctrl-C.

    Returns:
        The exit status: 1 when any failed, else 130 after Ctrl-C.
    """
    records = Records(given.out / "record.json", names, given.seed, given.resume)
    first = records.following()
    seeds = range(first, first + given.count)
    failures = 0
    progress = Progress(len(seeds))
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the record is kept then, too
    try:
        for seed, verdicts in in_order(seeds, verdicts_of(seeds, given.jobs, check, len(names), given.seconds)):
            for place, (record, verdict) in enumerate(zip(records.parts, verdicts, strict=True)):
                if record.add(seed, verdict) and verdict.message:
                    failures += 1
                    report(seed, place, verdict.message)
            if progress.count(failures):
                records.keep()
    except KeyboardInterrupt:
        return 1 if failures else 128 + signal.SIGINT
    finally:
        records.keep()
        signal.signal(signal.SIGTERM, before)
        for record in records.parts:
            print(record, flush=True)
    return 1 if failures else 0


class Progress:
    """Prints how far a run is, every so many seeds or seconds."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.start = self.printed = time.monotonic()

    def count(self, failures: int) -> bool:
        """Count a seed. Return whether a line was printed."""
        self.done += 1
        now = time.monotonic()
        is_due = self.done % PROGRESS == 0 or self.done == self.total or now - self.printed > PROGRESS_SECONDS
        if is_due:
            self.printed = now
            rate = self.done / max(now - self.start, 1e-9)
            print(f"{self.done}/{self.total}, {failures} failed, {rate:.1f}/s", file=sys.stderr, flush=True)
        return is_due


def say(seed: int, part: int, message: str) -> None:
    """The report where a seed makes the failing program again."""
    print(f"\nseed {seed}: {message}", flush=True)


Answer = tuple[int, Sequence[Verdict]]


def in_order(seeds: range, answers: Iterator[Answer]) -> Iterator[Answer]:
    """Answers by seed: those that come before an earlier one wait for it."""
    early: dict[int, Sequence[Verdict]] = {}
    following = seeds.start
    for seed, verdicts in answers:
        early[seed] = verdicts
        while following in early:
            yield following, early.pop(following)
            following += 1


def verdicts_of(seeds: range, jobs: int, check: Check, parts: int, seconds: float = 0) -> Iterator[Answer]:
    """The verdicts of all seeds as they come; of a process that dies or hangs, a failure of the parts that it lost."""
    deadline = time.monotonic() + (seconds or float("inf"))
    todo = iter(seeds)
    workers: list[_Worker] = []
    try:
        for _ in seeds[: max(1, jobs)]:
            workers.append(_Worker(check, parts, next(todo)))
        while workers:
            ready = wait([worker.connection for worker in workers], timeout=min(5.0, PATIENCE))
            for worker in list(workers):
                seed = worker.seed
                lost = worker.receive(worker.connection in ready)
                if not lost and len(worker.verdicts) < parts:
                    continue
                answer = [*worker.verdicts, *lost]
                following = next(todo, None) if time.monotonic() < deadline else None
                if lost or following is None:
                    worker.end()
                    workers.remove(worker)
                if lost and following is not None:
                    workers.append(_Worker(check, parts, following))
                elif following is not None:
                    worker.give(following)
                yield seed, answer
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process and the seed that it works on. It is spawned: what runs here may have started threads. It may have
    processes of its own, as kernels on a GPU need, and compilers."""

    def __init__(self, check: Check, parts: int, seed: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.connection, child = spawn.Pipe()
        self.parts = parts
        self.process = spawn.Process(target=_work, args=(child, check, parts))
        self.process.start()
        child.close()
        self.give(seed)

    def give(self, seed: int) -> None:
        self.seed = seed
        self.verdicts: list[Verdict] = []
        self.is_one_by_one = False
        self.since = time.monotonic()
        self.connection.send(seed)

    def receive(self, is_ready: bool) -> list[Verdict]:
        """Take verdicts that have come. Return those of the parts that are lost, when the process died or hangs."""
        if is_ready:
            try:
                verdicts: list[Verdict] = self.connection.recv()
            except EOFError:
                self.process.join()
                return self.lose(Verdict(f"{CRASHED[0]} with status {self.process.exitcode}", kind=DIED))
            self.is_one_by_one = self.is_one_by_one or not verdicts
            self.verdicts += verdicts
            self.since = time.monotonic()
        elif time.monotonic() - self.since > PATIENCE:
            return self.lose(Verdict(f"{CRASHED[1]} for {PATIENCE:.0f} seconds", kind=HUNG))
        return []

    def lose(self, verdict: Verdict) -> list[Verdict]:
        """Return the verdicts of the parts that have none: this one for the part that the process was at."""
        return _without_answer(verdict, self.parts - len(self.verdicts), self.is_one_by_one)

    def end(self) -> None:
        """Kill the process, and the compilers that it has started."""
        leader = self.process.pid
        assert leader is not None, "a process that was started has a number"
        try:
            os.killpg(leader, signal.SIGKILL)
        except ProcessLookupError:
            self.process.kill()  # it has not got as far as to lead a group
        self.process.join()
        self.connection.close()


def _work(connection: Connection, check: Check, parts: int) -> None:
    """Answers each seed. There is little garbage in circles and much that lives on, which looking for it need not walk
    through: it is collected now and then."""
    os.setpgrp()
    os.environ.setdefault("DRAWLOOM_CACHE", "off")
    os.environ.setdefault("DRAWLOOM_THREADS", "2")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends this one
    gc.disable()
    for done in itertools.count(1):
        try:
            seed: int = connection.recv()
        except EOFError:
            return
        _answer(connection, check, parts, seed)
        if done % COLLECT == 0:
            gc.collect()
            gc.freeze()


def _answer(connection: Connection, check: Check, parts: int, seed: int) -> None:
    """Send the verdicts of a seed: a list at once, others as they come, after an empty list that announces them. An
    exception is as much a failure as a wrong answer."""
    sent, is_one_by_one = 0, False
    try:
        verdicts = check(seed)
        if isinstance(verdicts, list):
            connection.send(verdicts)
            return
        is_one_by_one = True
        connection.send([])
        for verdict in verdicts:
            connection.send([verdict])
            sent += 1
    except Exception as error:
        raised = Verdict(f"{type(error).__name__}: {error}\n{traceback.format_exc()}", kind=ERROR)
        connection.send(_without_answer(raised, parts - sent, is_one_by_one))


def _without_answer(verdict: Verdict, parts: int, is_one_by_one: bool) -> list[Verdict]:
    if not is_one_by_one:
        return [verdict] * parts
    return [verdict, *[Verdict(refused=NOT_REACHED)] * (parts - 1)]
