"""The memory trace of a kernel as a table: from a report of the emulator to one row per access, with how a warp's lanes
lie beside each other, what the access moves, and which earlier loads it overlaps (listing 5 of the paper).

    Row ::= instruction address class stride sectors|ways overlaps assumptions
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.demangle import readable
from drawloom.ptx.ir import Module
from drawloom.ptx.launch_bounds import LaunchBounds
from drawloom.shuffle.decide import Decider
from drawloom.shuffle.expressions import HAS_LANE, OPAQUE, WARP, Expressions, signed
from drawloom.shuffle.facts import ALONG_X, LANES_ALONG_X, NO_WRAP, Access, Report
from drawloom.shuffle.lanes import replaced, shifted
from drawloom.shuffle.loops import steady
from drawloom.shuffle.show import show
from drawloom.shuffle.threads import Threads

#: Bytes that global memory moves at once, and the width and number of the banks of shared memory (CUDA programming
#: guide, compute capability 5.x and later).
SECTOR: Final = 32
BANK: Final = 4
BANKS: Final = 32

#: What is taken for granted of a warp's lanes where an address is classified.
_CONDITIONS: Final[dict[str, str]] = {
    NO_WRAP: "no index that is widened wraps around within a warp",
    LANES_ALONG_X: ALONG_X,
}
#: Overlaps of a load that the text shows, the nearest lanes first; JSON has all.
_MOST_OVERLAPS: Final = 2

UNIFORM: Final = "uniform"
CONTIGUOUS: Final = "contiguous"
STRIDED: Final = "strided"
IRREGULAR: Final = "irregular"


class Row:
    """One access. ``stride`` is the distance in bytes from a lane to the next: a number, an expression of what lanes
    share, or empty where the access is irregular. ``moved`` are the bytes of all sectors that a warp touches where its
    first address is one of a sector (global memory), 0 in other spaces; ``used`` the different ones that its lanes ask
    for; where ``is_bound``, because the stride is no number, both are the most it may be; ``ways`` how many lanes want
    one bank of shared memory for different words, 0 in other spaces and for a stride that is no number. ``divergent``
    says that lanes may have parted before. The class and the bytes rest on the conditions ``rests_on``, by name.
    ``overlaps`` has line and column, lane distance and assumptions of the loads
    whose value it could take."""

    def __init__(self, access: Access, place: tuple[int, int], text: str, address: str, guard: str) -> None:
        self.access = access
        self.line, self.column = place
        self.text = text
        self.address = address
        self.guard = guard
        self.kind = IRREGULAR
        self.stride = ""
        self.moved = 0
        self.used = 0
        self.ways = 0
        self.is_bound = False
        self.divergent = False
        self.rests_on: list[str] = []
        self.overlaps: list[tuple[int, int, int, list[str]]] = []

    def data(self) -> dict[str, object]:
        """For JSON."""
        out: dict[str, object] = {
            "line": self.line,
            "column": self.column,
            "instruction": self.text,
            "kind": self.access.kind,
            "space": self.access.space or "generic",
            "bytes": self.access.bytes,
            "address": self.address,
            "class": self.kind,
            "stride": self.stride,
            "bytes_used": self.used,
            "bytes_are_bounds": self.is_bound,
            "class_rests_on": self.rests_on,
            "loop_depth": self.access.depth,
            "divergent": self.divergent,
        }
        if self.guard:
            out["guard"] = self.guard
        if self.moved:
            out["bytes_moved"] = self.moved
        if self.ways:
            out["bank_ways"] = self.ways
        out["overlaps"] = [
            {"line": line, "column": column, "lane": lane, "assumptions": why}
            for line, column, lane, why in self.overlaps
        ]
        return out


class Trace:
    """The rows of one function, in program order; ``notes`` say what was not analysed."""

    def __init__(self, name: str, flows: int, merged: int) -> None:
        self.name = name
        self.flows = flows
        self.merged = merged
        self.rows: list[Row] = []
        self.notes: list[str] = []

    def data(self) -> dict[str, object]:
        """For JSON, the same on every run."""
        return {
            "kernel": self.name,
            "flows": self.flows,
            "merged_flows": self.merged,
            "accesses": [row.data() for row in self.rows],
            "notes": self.notes,
        }

    def text(self) -> str:
        """For people."""
        merged = f", {self.merged} of them merged with others" if self.merged else ""
        out = [f"{readable(self.name)}: {len(self.rows)} accesses on {self.flows} flows{merged}"]
        for row in self.rows:
            used = f"at most {row.used}" if row.is_bound else str(row.used)
            moved = f", {used} of {row.moved} bytes a warp" if row.moved else f", {used} bytes a warp"
            banks = f", {row.ways} lanes to a bank" if row.ways > 1 else ""
            stride = f" by {row.stride}" if row.kind == STRIDED else ""
            guard = f" if {row.guard}" if row.guard else ""
            out.append(f"  line {row.line}:{row.column}: {row.text}{guard}")
            out.append(f"    at {row.address}")
            apart = ", lanes may come apart" if row.divergent else ""
            out.append(f"    {row.kind}{stride}{moved}{banks}{apart}")
            for line, column, lane, why in row.overlaps[:_MOST_OVERLAPS]:
                place = "this lane" if lane == 0 else f"lane {lane:+d}"
                out.append(f"    loaded before by {place} in line {line}:{column}" + (", if" if why else ""))
                out.extend([f"      {reason}" for reason in why])
        for condition, text in _CONDITIONS.items():
            if any(condition in row.rests_on for row in self.rows):
                out.append(f"  classes and bytes rest on {condition}: {text}")
        out.extend([f"  {note}" for note in self.notes])
        return "\n".join(out) + "\n"


def trace(module: Module, report: Report) -> Trace:
    """The table of what the emulator found in one function."""
    x = report.expressions
    classifier = _Classifier(report)
    out = Trace(report.function.name, report.flows, report.merged)
    body = report.function.body
    seen: set[tuple[int, int, int]] = set()
    for access in sorted(report.trace, key=lambda a: (a.at, a.order)):
        key = (access.at, access.address, access.guard)
        if key in seen:
            continue  # on another flow, after other writes
        seen.add(key)
        guard = "" if access.guard < 0 else show(x, access.guard)
        place = module.position(access.instruction.pos)
        row = Row(access, place, repr(access.instruction), show(x, access.address), guard)
        row.divergent = access.at in report.divergent
        classifier.classify(row)
        for candidate in report.find(access.at, set()):
            why = [repr(assumption) for assumption in candidate.assumptions]
            line, column = module.position(body[candidate.source].pos)
            row.overlaps.append((line, column, candidate.delta, why))
        out.rows.append(row)
    for refusal in report.refusals:
        line, column = module.position(body[refusal.at].pos) if refusal.at >= 0 else (0, 0)
        where = f"line {line}:{column}: " if line else ""
        out.notes.append(f"{where}not analysed: {refusal.reason}" if where else refusal.reason)
    if report.shortfall():
        out.notes.append(report.shortfall())
    return out


class _Classifier:
    """Finds the stride, the class, and what a warp moves."""

    def __init__(self, report: Report) -> None:
        self.x: Expressions = report.expressions
        self.decider = Decider(self.x, None)
        self.threads: Threads | None = report.threads
        self.is_shape_known = LaunchBounds(report.function).required is not None

    def classify(self, row: Row) -> None:
        access = row.access
        spread = self.spread(row)
        if access.space in ("local", "param"):
            row.used = WARP * access.bytes  # each lane has its own
        else:
            row.is_bound = not spread
            row.used = distinct(spread, access.bytes) if spread else WARP * access.bytes
        if access.space == "global":
            row.moved = sectors(spread, access.bytes) * SECTOR if spread else WARP * max(SECTOR, access.bytes)
        if access.space == "shared" and spread:
            row.ways = ways(spread, access.bytes)

    def place(self, access: Access) -> int:
        """The address, or in a space of each lane's own the place behind the variable's begin, which may be another in
        each lane."""
        x = self.x
        out = access.address
        if access.space in ("local", "param"):
            for monomial, factor in x.terms(out)[1].items():
                atoms = x.monomials[monomial]
                if len(atoms) == 1 and factor == 1 and x.names[atoms[0]] == "symbol":
                    return x.sub(out, atoms[0])
        return out

    def spread(self, row: Row) -> list[int]:
        """Where each lane's address is, in bytes from the first one's; empty where that is no number."""
        x = self.x
        exact = self.place(row.access)
        address = self.decider.ideal(exact)
        if x.varies[address] & OPAQUE:
            return []
        if not self.is_shape_known and self.rests_on_shape(row.access):
            row.rests_on.append(LANES_ALONG_X)
        if not x.varies[address] & HAS_LANE:
            row.kind, row.stride = UNIFORM, "0"
            return [0]
        step = x.sub(shifted(x, address, 1, {}), address)
        known = x.value(step)
        if known < 0 and x.varies[step]:
            return self.by_lane(row)
        if x.sub(shifted(x, exact, 1, {}), exact) != step:
            row.rests_on.append(NO_WRAP)
        if known < 0:
            row.kind, row.stride = STRIDED, show(x, step)
            return []
        stride = signed(known, x.widths[step])
        self.name(row, stride)
        return [lane * stride for lane in range(WARP)]

    def name(self, row: Row, stride: int) -> None:
        """The class of a stride that is a number."""
        row.kind = UNIFORM if stride == 0 else CONTIGUOUS if abs(stride) == row.access.bytes else STRIDED
        row.stride = str(stride)

    def by_lane(self, row: Row) -> list[int]:
        """The same of an address that is no linear function of the lane, with each lane's number put in."""
        x = self.x
        address = row.access.address
        first = replaced(x, address, {x.lane: x.constant(0, 32)})
        offsets: list[int] = []
        for lane in range(WARP):
            apart = x.distance(replaced(x, address, {x.lane: x.constant(lane, 32)}), first)
            if apart < 0:
                row.rests_on.clear()
                return []
            offsets.append(signed(apart, x.widths[address]))
        stride = offsets[1]
        if offsets == [lane * stride for lane in range(WARP)]:
            self.name(row, stride)
        return offsets

    def rests_on_shape(self, access: Access) -> bool:
        """Whether the class rests on how lanes count along x: by its address or its guard; by what was decided on the
        way there, if the address has more in it than what the thread began with, or ``%laneid`` has a part in it."""
        threads = self.threads
        assert threads is not None  # what has accesses was emulated
        if threads.by_thread.reaches(access.at):
            return True
        if steady(self.x, access.address) and not threads.may_decide(threads.by_lane, access.at):
            return False
        return threads.may_decide(threads.by_thread, access.at)


def sectors(offsets: list[int], size: int) -> int:
    """How many sectors the accesses of ``size`` bytes at these offsets touch, the least of them at the start of one."""
    touched: set[int] = set()
    least = min(offsets)
    for offset in offsets:
        first = offset - least
        touched.update(range(first // SECTOR, (first + size - 1) // SECTOR + 1))
    return len(touched)


def distinct(offsets: list[int], size: int) -> int:
    """How many different bytes accesses of ``size`` bytes at these offsets ask for."""
    asked: set[int] = set()
    for offset in offsets:
        asked.update(range(offset, offset + size))
    return len(asked)


def ways(offsets: list[int], size: int) -> int:
    """How many different words of one bank the accesses want, for each part of the warp that is served at once (all
    lanes for 4 bytes, a half of them for 8, a quarter for 16)."""
    together = WARP // max(1, size // BANK)
    most = 1
    for first in range(0, len(offsets), together):
        words: dict[int, set[int]] = {}
        for offset in offsets[first : first + together]:
            for word in range(offset // BANK, (offset + size - 1) // BANK + 1):
                words.setdefault(word % BANKS, set()).add(word)
        most = max(most, *[len(found) for found in words.values()])
    return most
