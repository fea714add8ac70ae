"""Outcomes of a public suite's items, each run in a process with a time limit, and the table of what came out.

A runner has a function of a module that checks one item and yields its outcomes, and a ``main`` that lists the items::

    def check(item: str) -> Iterator[Outcome | str]:      # in tools/suites/ptx.py; ``item`` is any text, as a path
        yield "parse"                                     # optional: names what runs now, for a hang or a crash
        yield Outcome(item, "same")                       # as many as the item has parts, as they come

    def main() -> int:
        parser = argument_parser(__doc__)                 # PATH --filter --timeout --jobs --report
        given = parser.parse_args()
        outcomes = run_in_processes(items, "tools.suites.ptx:check", given.timeout, given.jobs)
        return report(outcomes, given.report)             # prints the table; writes every outcome to --report

``run_in_processes`` yields outcomes as they come, all outcomes of one item in their order. An item whose process dies
yields an outcome "crashed", one that gives no sign for ``timeout`` seconds an outcome "hung"; both lose the rest of the
item and cost no other item anything. An exception that ``check`` raises is an outcome "crashed" too.

The kinds: "same" as the oracle; "refused" by an error of ours that names a cause; "different" from the oracle;
"crashed": a bare exception, an abort or a signal; "hung". The first line of ``detail`` is the cause, by which the table
counts outcomes; write it without what changes from item to item.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, Literal, get_args

Kind = Literal["same", "refused", "different", "crashed", "hung"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
#: Characters of a dead process's output that its outcome keeps.
_TAIL: Final = 2000
#: Seconds between two lines of progress.
_PROGRESS: Final = 30.0
#: Seconds that a process may take to begin, which is no part of any item's time.
_START: Final = 120.0


@dataclass(frozen=True)
class Outcome:
    """What came of one part of a suite. ``name`` is the item's, with a line where it has several parts, as
    "select/test_star.test:12"; ``detail`` begins with a line that names the cause."""

    name: str
    kind: Kind
    detail: str = ""

    @property
    def cause(self) -> str:
        return self.detail.partition("\n")[0]


#: Checks one item; a text names what runs next.
Check = Callable[[str], Iterable[Outcome | str]]


def argument_parser(doc: str | None, timeout: float = 60.0) -> argparse.ArgumentParser:
    """Return a parser of the options that every runner has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, metavar="PATH", help="the checkout, a folder in it, or one file")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only items whose path has this text")
    parser.add_argument(
        "--timeout", type=float, default=timeout, help="seconds without an outcome that make an item 'hung'"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write every outcome to FILE, a JSON object a line")
    return parser


def run_in_processes(
    items: Sequence[str], check: str, timeout: float = 60.0, jobs: int = 1, memory_bytes: int = 0
) -> Iterator[Outcome]:
    """Yield the outcomes of all items.

    Args:
        items: What ``check`` is called with, one at a time.
        check: "module:function", imported in each process.
        timeout: Seconds without an outcome after which an item is hung.
        jobs: Processes at a time. Each checks many items.
        memory_bytes: The most data memory of a process; 0 is no limit.
    """
    todo = iter(items)
    workers: list[_Worker] = []
    done, began, said = 0, time.monotonic(), time.monotonic()
    try:
        for item in [item for _, item in zip(range(max(1, jobs)), todo)]:
            workers.append(_Worker(check, item, memory_bytes))
        while workers:
            ready = wait([worker.connection for worker in workers], timeout=1.0)
            for worker in list(workers):
                ended: list[Outcome] | None = None
                if worker.connection in ready:
                    outcomes, ended = worker.receive()
                    yield from outcomes
                elif time.monotonic() - worker.since > timeout:
                    ended = [worker.lost("hung", f"no answer for {timeout:.0f} seconds")]
                if ended is None:
                    continue
                yield from ended
                done += 1
                following = next(todo, None)
                if ended or following is None:
                    worker.end()
                    workers.remove(worker)
                if ended and following is not None:
                    workers.append(_Worker(check, following, memory_bytes))
                elif following is not None:
                    worker.give(following)
            if time.monotonic() - said > _PROGRESS:
                said = time.monotonic()
                print(f"{done}/{len(items)} items, {said - began:.0f} s", file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process, spawned into a session of its own, and the item that it checks."""

    def __init__(self, check: str, item: str, memory_bytes: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        descriptor, path = tempfile.mkstemp(prefix="drawloom-suite-")
        os.close(descriptor)
        self.output = Path(path)
        self.connection, child = spawn.Pipe()
        self.process = spawn.Process(target=_work, args=(child, check, path, memory_bytes))
        self.process.start()
        child.close()
        self.give(item)
        self.since += _START

    def give(self, item: str) -> None:
        self.item = self.part = item
        self.since = time.monotonic()
        self.connection.send(item)

    def receive(self) -> tuple[list[Outcome], list[Outcome] | None]:
        """Return the outcomes that came, and how the item ended: None while it goes on, nothing at its end, or the
        outcome that the death of its process is."""
        self.since = time.monotonic()
        try:
            message: Outcome | str | None = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            return [], [self.lost("crashed", f"the process died: {how}")]
        if message is None:
            return [], []
        if isinstance(message, str):
            self.part = message
            return [], None
        return [message], None

    def lost(self, kind: Kind, cause: str) -> Outcome:
        tail = self.output.read_bytes()[-_TAIL:].decode(errors="replace")
        where = self.part if self.part.startswith(self.item) else f"{self.item}: {self.part}"
        return Outcome(where, kind, f"{cause}\n{tail}".strip())

    def end(self) -> None:
        if self.process.is_alive() and self.process.pid is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)  # with the processes that it started
            except ProcessLookupError:  # it has not come to begin its session
                self.process.kill()
        self.process.join()
        self.connection.close()
        self.output.unlink(missing_ok=True)


def _work(connection: Connection, check: str, output: str, memory_bytes: int) -> None:
    """Check each item that comes, and send its outcomes."""
    os.setsid()
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    module, _, name = check.partition(":")
    function: Check = getattr(importlib.import_module(module), name)
    while True:
        try:
            item: str = connection.recv()
        except EOFError:  # the main process is gone
            return
        os.ftruncate(descriptor, 0)
        part = item
        connection.send(part)  # its time begins
        try:
            for outcome in function(item):
                part = outcome if isinstance(outcome, str) else part
                connection.send(outcome)
        except Exception as problem:
            cause = f"{type(problem).__name__}: {str(problem).partition(chr(10))[0]}"
            connection.send(Outcome(part, "crashed", f"{cause}\n{traceback.format_exc()}"))
        connection.send(None)


def table(outcomes: Sequence[Outcome], most: int = 20) -> str:
    """Return how many outcomes there are of each kind, and the most frequent causes of each but "same"."""
    counts = Counter([outcome.kind for outcome in outcomes])
    total = max(len(outcomes), 1)
    lines = [f"{counts[kind]:8d}  {kind:10s}{100 * counts[kind] / total:5.1f}%" for kind in KINDS]
    for kind in KINDS[1:]:
        causes = Counter([outcome.cause for outcome in outcomes if outcome.kind == kind])
        if causes:
            first = {outcome.cause: outcome.name for outcome in reversed(outcomes) if outcome.kind == kind}
            lines.append(f"\n{kind}, by cause ({len(causes)}):")
            ordered = sorted(causes.items(), key=lambda entry: (-entry[1], entry[0]))[:most]
            lines += [f"{count:8d}  {cause[:150]}  [{first[cause]}]" for cause, count in ordered]
    return "\n".join(lines)


def report(outcomes: Iterable[Outcome], path: Path | None = None, most: int = 20) -> int:
    """Print the table and write every outcome to ``path``. Return the exit status: 1 where any outcome is "different",
    "crashed" or "hung"."""
    kept: list[Outcome] = []
    file = None if path is None else path.open("w")
    try:
        for outcome in outcomes:
            kept.append(outcome)
            if file is not None:
                file.write(json.dumps({"name": outcome.name, "kind": outcome.kind, "detail": outcome.detail}) + "\n")
                file.flush()
    finally:
        if file is not None:
            file.close()
        print(table(kept, most))
    return 1 if any(outcome.kind in KINDS[2:] for outcome in kept) else 0
