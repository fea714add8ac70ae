"""What became of the loads of a module, as data and as text or JSON; ``page`` makes HTML of it.

Summary ::= Request FunctionSummary*            FunctionSummary ::= Rewrite* Kept* note*
"""

from __future__ import annotations

import json
from typing import Final

from drawloom.build_info import VERSION
from drawloom.ptx.demangle import readable
from drawloom.shuffle.facts import Place, in_words
from drawloom.shuffle.synthesis import SOUND

WRONG: Final = "these are not the results of the program: it was made to see where time goes"


class Request:
    """What was asked for. ``arch`` is what rewrites are to pay on; ``file`` the name of the PTX."""

    def __init__(
        self, file: str, apply: str, arch: str, assume_no_wrap: bool = False, distinct_parameters: bool = False,
        shared: bool = False, variant: str = SOUND,
    ) -> None:  # fmt: skip
        self.file = file
        self.apply = apply
        self.arch = arch
        self.assume_no_wrap = assume_no_wrap
        self.distinct_parameters = distinct_parameters
        self.shared = shared
        self.variant = variant

    def data(self) -> dict[str, object]:
        """The options, for JSON."""
        return {
            "apply": self.apply, "arch": self.arch, "assume_no_wrap": self.assume_no_wrap,
            "distinct_parameters": self.distinct_parameters, "shared": self.shared, "variant": self.variant,
        }  # fmt: skip

    def text(self) -> str:
        """The options in one line."""
        words = [f"apply {self.apply}"]
        words.extend(["assume-no-wrap"] if self.assume_no_wrap else [])
        words.extend(["distinct-parameters"] if self.distinct_parameters else [])
        words.extend(["shared"] if self.shared else [])
        words.extend([f"variant {self.variant}"] if self.variant != SOUND else [])
        return f"{self.file} for {self.arch}: {', '.join(words)}"


class Rewrite:
    """A load that is a shuffle now: places in the source, instructions as text, the distance in lanes to the source,
    and what it rests on."""

    def __init__(
        self, place: Place, load: str, source_place: Place, source: str, delta: int, assumptions: list[str]
    ) -> None:
        self.place = place
        self.load = load
        self.source_place = source_place
        self.source = source
        self.delta = delta
        self.assumptions = assumptions


class Kept:
    """A load that stayed, and why."""

    def __init__(self, place: Place, load: str, reason: str) -> None:
        self.place = place
        self.load = load
        self.reason = reason


class FunctionSummary:
    """One function: its loads in order; ``merged`` counts the flows that were joined because there were too many."""

    def __init__(self, name: str, flows: int, merged: int) -> None:
        self.name = name
        self.flows = flows
        self.merged = merged
        self.rewrites: list[Rewrite] = []
        self.kept: list[Kept] = []
        self.notes: list[str] = []

    @property
    def loads(self) -> int:
        return len(self.rewrites) + len(self.kept)

    @property
    def delta(self) -> float:
        """The mean distance of the shuffles, in lanes."""
        return sum([abs(r.delta) for r in self.rewrites]) / max(1, len(self.rewrites))

    def counted(self, is_applied: bool) -> str:
        """How many loads are shuffles, or can be, in words."""
        become = "are" if is_applied else "can be"
        return f"{len(self.rewrites)} of {self.loads} loads {become} shuffles, mean distance {self.delta:.2f}"


class Summary:
    """A module. ``seconds`` is what it took from the parsed module on."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.functions: list[FunctionSummary] = []
        self.notes: list[str] = []
        self.seconds = 0.0

    @property
    def loads(self) -> int:
        """The loads from global memory (and shared memory, where that was asked for)."""
        return sum([f.loads for f in self.functions])

    @property
    def shuffles(self) -> int:
        """The loads that are shuffles or, with a distance of 0, copies."""
        return sum([len(f.rewrites) for f in self.functions])

    @property
    def is_applied(self) -> bool:
        """Whether what can be a shuffle has become one."""
        return self.request.apply != "none"

    @property
    def warning(self) -> str:
        """That the code computes something else, where it does."""
        if self.request.variant == SOUND or not self.is_applied:
            return ""
        is_wrong = any(r.delta or r.assumptions for f in self.functions for r in f.rewrites)
        return f"{WRONG} ({self.request.variant})" if is_wrong else ""

    def json(self) -> str:
        """All of it, as JSON with sorted keys; without the time, which differs from run to run."""
        functions = [
            {
                "name": f.name, "loads": f.loads, "shuffles": len(f.rewrites), "delta": f.delta, "flows": f.flows,
                "merged": f.merged, "notes": f.notes,
                "rewrites": [
                    {
                        "line": r.place[0], "column": r.place[1], "load": r.load, "source_line": r.source_place[0],
                        "source_column": r.source_place[1], "source": r.source, "delta": r.delta,
                        "assumptions": r.assumptions,
                    }
                    for r in f.rewrites
                ],
                "kept": [
                    {"line": k.place[0], "column": k.place[1], "load": k.load, "reason": k.reason} for k in f.kept
                ],
            }
            for f in self.functions
        ]  # fmt: skip
        whole = {
            "drawloom": VERSION, "file": self.request.file, "options": self.request.data(), "loads": self.loads,
            "shuffles": self.shuffles, "applied": self.is_applied, "wrong_results": self.warning != "",
            "notes": self.notes, "functions": functions,
        }  # fmt: skip
        return json.dumps(whole, indent=1, sort_keys=True) + "\n"

    def text(self) -> str:
        """A paragraph for each function, a line or two for each load."""
        out: list[str] = [self.request.text()]
        out.extend([f"warning: {self.warning}"] if self.warning else [])
        out.extend([f"note: {note}" for note in self.notes])
        for f in self.functions:
            out.append(f"{readable(f.name)}: {f.counted(self.is_applied)}")
            out.extend([f"  note: {note}" for note in f.notes])
            if f.merged:
                out.append(f"  note: {f.merged} flows were joined")
            rows: list[tuple[Place, list[str]]] = []
            for r in f.rewrites:
                source = f"    is {in_words(r.source_place)} of lane{r.delta:+d}: {r.source}"
                if_so = [f"    if {assumption}" for assumption in r.assumptions]
                rows.append((r.place, [f"  {in_words(r.place)}: {r.load}", source, *if_so]))
            for k in f.kept:
                rows.append((k.place, [f"  {in_words(k.place)}: {k.load}", f"    stays: {k.reason}"]))
            for _, lines in sorted(rows, key=lambda row: row[0]):
                out.extend(lines)
        return "\n".join(out) + "\n"

    def html(self) -> str:
        """A page with a table for each function."""
        from drawloom.shuffle.page import page

        return page(self)
