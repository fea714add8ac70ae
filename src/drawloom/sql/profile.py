"""What a run of a query took, by stage and by call: as a table of text, as JSON, and by ``page.py`` as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from drawloom.errors import count
from drawloom.horse.ir import Statement, walk
from drawloom.horse.memory import shown
from drawloom.horse.printer import print_statement
from drawloom.horse.watch import HOST, KERNEL, LIBRARY, Record
from drawloom.runtime.assembler import Resources, resources_of

if TYPE_CHECKING:
    from drawloom.horse.ir import Module
    from drawloom.horse.outline import Outline
    from drawloom.runtime.module import Launch

#: Calls that move no rows: they are part of the control code's time and have no line of their own.
BOOKKEEPING: Final = frozenset(
    "load_table column_value column_valid table list with_null keys values item fill single".split()
)
#: What a statement is cut to in the table of text.
_LABEL: Final = 48


class Launched:
    """A kernel that a call launched. ``run_seconds`` is this launch. ``compile_seconds`` is what making its machine
    code took when that was done, at the first of the launches that a profile has (0 at the others), and ``cached``
    whether it came out of the cache then."""

    def __init__(self, launch: Launch, is_first: bool) -> None:
        configured = launch.configured
        first = configured.kernel.first or launch.timing()
        self.name = launch.kernel
        self.blocks = configured.grid[0] * configured.grid[1] * configured.grid[2]
        self.threads = configured.block[0] * configured.block[1] * configured.block[2]
        self.run_seconds = launch.run_seconds
        self.compile_seconds = first.compile_seconds if is_first else 0.0
        self.cached = first.cached
        self.resources: Resources = resources_of(configured.kernel)

    def as_dict(self) -> dict[str, Any]:
        taken = self.resources
        return {
            "kernel": self.name, "blocks": self.blocks, "threads": self.threads, "run_seconds": self.run_seconds,
            "compile_seconds": self.compile_seconds, "cached": self.cached, "registers": taken.registers,
            "shared_bytes": taken.shared, "local_bytes": taken.local, "spilled_bytes": taken.spilled,
        }  # fmt: skip


class Call:
    """A call of the program. ``kind`` is "kernel" (of the program), "library" (a library function) or "host" (other
    work over rows in control code). ``statement`` is the number in the outlined ``main``, from 1, of what it is part
    of, ``depth`` how many calls are around it: a kernel that is left to the host has calls within. See
    ``drawloom.horse.watch.Record`` for rows, bytes and seconds."""

    def __init__(self, record: Record, statement: int, launches: list[Launched]) -> None:
        self.kind = record.kind
        self.name = record.name
        self.statement = statement
        self.target = record.target
        self.depth = record.depth
        self.rows_in = record.rows_in
        self.rows_out = record.rows_out
        self.bytes_in = record.bytes_in
        self.bytes_out = record.bytes_out
        self.run_seconds = record.seconds
        self.launches = launches

    @property
    def compile_seconds(self) -> float:
        return sum([n.compile_seconds for n in self.launches])

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "name": self.name, "statement": self.statement, "target": self.target,
            "depth": self.depth,
            "rows_in": self.rows_in, "rows_out": self.rows_out, "bytes_in": self.bytes_in, "bytes_out": self.bytes_out,
            "run_seconds": self.run_seconds, "compile_seconds": self.compile_seconds,
            "by": "kernels" if self.launches else "host", "launches": [n.as_dict() for n in self.launches],
        }  # fmt: skip


class Profile:
    """What a run took.

    ``seconds`` has the stages in order; those of the run are compile (machine code, at its first launch), kernels (of
    the program, running), library (library functions, their kernels included) and control (the rest). ``calls`` has
    the calls of kernels and over rows in the order in which they began, ``statements`` the outlined ``main``.
    ``engine`` is "drawloom", or "datafusion" where the query fell back on it for what is in ``lacking``.
    ``peak_bytes`` is the most that columns and values took of the host's memory during the run, of ``limit_bytes``.
    """

    def __init__(self, text: str, device: str, seconds: dict[str, float], rows: int) -> None:
        self.text = text
        self.device = device
        self.seconds = seconds
        self.rows = rows
        self.engine = "drawloom"
        self.lacking: list[str] = []
        self.calls: list[Call] = []
        self.statements: list[str] = []
        self.outline: Outline | None = None
        self.peak_bytes: int | None = None
        self.limit_bytes: int | None = None

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """A line a launch of the program's kernels."""
        return [
            {"rows": max(call.rows_in, default=0), **launch.as_dict()}
            for call in self.calls
            if call.kind == KERNEL
            for launch in call.launches
        ]

    def as_dict(self) -> dict[str, Any]:
        """The profile as numbers, texts, lists and dictionaries of them."""
        return {
            "query": self.text, "device": self.device, "engine": self.engine, "lacking": self.lacking,
            "rows": self.rows, "seconds": self.seconds, "total_seconds": self.total,
            "calls": [call.as_dict() for call in self.calls], "statements": self.statements,
            "peak_bytes": self.peak_bytes, "limit_bytes": self.limit_bytes,
        }  # fmt: skip

    def json(self) -> str:
        """The profile as a JSON object: what ``as_dict`` gives, seconds and bytes without units of their own."""
        return json.dumps(self.as_dict(), indent=1) + "\n"

    def html(self) -> str:
        """The profile as one page of HTML that needs nothing else: bars of time, calls, the outline as a picture."""
        from drawloom.sql.page import page

        return page(self)

    def __str__(self) -> str:
        lines = [f"{stage:10} {milliseconds(seconds):>10} ms" for stage, seconds in self.seconds.items()]
        lines.append(f"{'total':10} {milliseconds(self.total):>10} ms, {count(self.rows, 'row')}, on {self.device}")
        if self.lacking:
            lines.append(f"in DataFusion, for what is not built yet: {'; '.join(self.lacking)}")
        if self.peak_bytes is not None and self.limit_bytes is not None:
            lines.append(f"memory     {shown(self.peak_bytes)} at most, of {shown(self.limit_bytes)}")
        if self.calls:
            lines += ["", *aligned(HEADINGS, [row(call) for call in self.calls], NUMBERS)]
        return "\n".join(lines)


#: The columns of the table of calls, and which of them are numbers.
HEADINGS: Final = (
    "call", "by", "statement", "rows in", "rows out", "bytes in", "bytes out", "run ms", "compile ms", "registers",
    "shared", "local",
)  # fmt: skip
NUMBERS: Final = (False, False, False, True, True, True, True, True, True, True, True, True)


def row(call: Call) -> list[str]:
    """The cells of a call, as ``HEADINGS`` has them; registers and memory are the largest of its launches."""
    name = "  " * call.depth + (f"kernel {call.name}" if call.kind == KERNEL else "@" + call.name)
    by = "host"
    if call.launches:
        by = f"{len(call.launches)} launches" if len(call.launches) > 1 else "1 launch"
    place = f"{call.statement} {call.target}"
    compiled = milliseconds(call.compile_seconds) if call.compile_seconds else ""
    if compiled and all(n.cached for n in call.launches if n.compile_seconds):
        compiled += " cached"
    taken = [n.resources for n in call.launches]
    return [
        name, by, place[:_LABEL], " + ".join([f"{n:,}" for n in call.rows_in]), f"{call.rows_out:,}",
        f"{call.bytes_in:,}", f"{call.bytes_out:,}", milliseconds(call.run_seconds), compiled,
        largest([t.registers for t in taken]), largest([t.shared for t in taken]), largest([t.local for t in taken]),
    ]  # fmt: skip


def largest(numbers: Sequence[int | None]) -> str:
    """The largest of the numbers that are known, "" for none."""
    known = [n for n in numbers if n is not None]
    return f"{max(known):,}" if known else ""


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def aligned(headings: Sequence[str], rows: list[list[str]], numbers: Sequence[bool]) -> list[str]:
    """Lines of columns as wide as their widest cell, without columns that are empty in all rows."""
    kept = [n for n in range(len(headings)) if any(r[n] for r in rows)]
    widths = {n: max([len(headings[n]), *[len(r[n]) for r in rows]]) for n in kept}

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            [cells[n].rjust(widths[n]) if numbers[n] else cells[n].ljust(widths[n]) for n in kept]
        ).rstrip()

    return [line(headings), line(["-" * widths.get(n, 0) for n in range(len(headings))]), *[line(r) for r in rows]]


def calls_of(records: list[Record], outlined: Module) -> list[Call]:
    """The calls that have a line of their own, with where they stand in the outlined ``main``."""
    numbers = {statement: n for n, statement in enumerate(statements_of(outlined), 1)}
    known: set[str] = set()
    calls: list[Call] = []
    for record in records:
        if record.kind == HOST and (record.name in BOOKKEEPING or not _moves_rows(record)):
            continue
        launches: list[Launched] = []
        for launch in record.launches:
            launches.append(Launched(launch, launch.kernel not in known))
            known.add(launch.kernel)
        calls.append(Call(record, numbers.get(record.statement, 0), launches))
    return calls


def _moves_rows(record: Record) -> bool:
    return max([*record.rows_in, record.rows_out]) > 1


def statements_of(module: Module) -> list[Statement]:
    """The statements of ``main`` and of the bodies within, in the order of the text."""
    main = module.function("main")
    return [] if main is None else walk(main.body)


def statement_texts(module: Module) -> list[str]:
    """A line a statement; of ``if`` and loops their heads."""
    return [print_statement(statement)[0] for statement in statements_of(module)]


def run_seconds(whole: float, calls: list[Call], records: list[Record]) -> dict[str, float]:
    """The stages of a run that took ``whole`` seconds."""
    launches = [n for record in records for n in record.launches]
    compiling = sum([n.compile_seconds for n in launches])
    kernels = sum([n.run_seconds for r in records if r.kind == KERNEL for n in r.launches])
    library = sum([r.seconds for r in records if r.kind == LIBRARY])
    control = max(whole - compiling - kernels - library, 0.0)
    return {
        "compile": sum([call.compile_seconds for call in calls]),
        "kernels": kernels,
        "library": library,
        "control": control,
    }
