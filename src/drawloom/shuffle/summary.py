"""What became of the loads of a module, as data and as text, JSON or HTML.

Summary ::= FunctionSummary*            FunctionSummary ::= Rewrite* Kept* note*
"""

from __future__ import annotations

import json
from html import escape
from typing import Final

from drawloom.shuffle.synthesis import SOUND

WRONG: Final = "these are not the results of the program: it was made to see where time goes"


class Rewrite:
    """A load that is a shuffle now: lines of the source (0 where it has none), instructions as text, the distance in
    lanes to the source, and what it rests on."""

    def __init__(self, line: int, load: str, source_line: int, source: str, delta: int, assumptions: list[str]) -> None:
        self.line = line
        self.load = load
        self.source_line = source_line
        self.source = source
        self.delta = delta
        self.assumptions = assumptions


class Kept:
    """A load that stayed, and why."""

    def __init__(self, line: int, load: str, reason: str) -> None:
        self.line = line
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


class Summary:
    """A module. ``is_applied`` says whether it was changed, ``variant`` how if not soundly; ``seconds`` is what it took
    from the parsed module on."""

    def __init__(self, is_applied: bool, variant: str) -> None:
        self.is_applied = is_applied
        self.variant = variant
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

    def json(self) -> str:
        """All of it, as JSON with sorted keys; without the time, which differs from run to run."""
        functions = [
            {
                "name": f.name, "loads": f.loads, "shuffles": len(f.rewrites), "delta": f.delta, "flows": f.flows,
                "merged": f.merged, "notes": f.notes,
                "rewrites": [
                    {
                        "line": r.line, "load": r.load, "source_line": r.source_line, "source": r.source,
                        "delta": r.delta, "assumptions": r.assumptions,
                    }
                    for r in f.rewrites
                ],
                "kept": [{"line": k.line, "load": k.load, "reason": k.reason} for k in f.kept],
            }
            for f in self.functions
        ]  # fmt: skip
        whole = {
            "loads": self.loads, "shuffles": self.shuffles, "applied": self.is_applied,
            "variant": self.variant, "notes": self.notes, "functions": functions,
        }  # fmt: skip
        return json.dumps(whole, indent=1, sort_keys=True) + "\n"

    def text(self) -> str:
        """A paragraph for each function, a line or two for each load."""
        out: list[str] = [f"warning: {WRONG} ({self.variant})"] if self.variant != SOUND else []
        out.extend([f"note: {note}" for note in self.notes])
        for f in self.functions:
            become = "are shuffles" if self.is_applied else "can be shuffles"
            out.append(f"{f.name}: {len(f.rewrites)} of {f.loads} loads {become}, mean distance {f.delta:.2f}")
            out.extend([f"  note: {note}" for note in f.notes])
            if f.merged:
                out.append(f"  note: {f.merged} flows were joined")
            rows: list[tuple[int, list[str]]] = []
            for r in f.rewrites:
                source = f"    is line {r.source_line} of lane{r.delta:+d}: {r.source}"
                if_so = [f"    if {assumption}" for assumption in r.assumptions]
                rows.append((r.line, [f"  line {r.line}: {r.load}", source, *if_so]))
            for k in f.kept:
                rows.append((k.line, [f"  line {k.line}: {k.load}", f"    stays: {k.reason}"]))
            for _, lines in sorted(rows, key=lambda row: row[0]):
                out.extend(lines)
        return "\n".join(out) + "\n"

    def html(self) -> str:
        """A page with a table for each function."""
        out = ["<!doctype html><meta charset=utf-8><title>Shuffles</title>", "<style>td{padding:0 1em}</style>"]
        if self.variant != SOUND:
            out.append(f"<p><b>{escape(WRONG)} ({escape(self.variant)})</b></p>")
        out.extend([f"<p>{escape(note)}" for note in self.notes])
        for f in self.functions:
            out.append(f"<h2>{escape(f.name)}</h2><p>{len(f.rewrites)} of {f.loads} loads, mean distance {f.delta:.2f}")
            out.extend([f"<p>{escape(note)}" for note in f.notes])
            out.append("<table><tr><th>line<th>load<th>distance<th>source<th>rests on, or why it stays")
            rows = [
                (r.line, r.load, f"{r.delta:+d}", f"{r.source_line}: {r.source}", "; ".join(r.assumptions))
                for r in f.rewrites
            ] + [(k.line, k.load, "", "", k.reason) for k in f.kept]
            for line, load, delta, source, why in sorted(rows):
                cells = [
                    str(line),
                    f"<code>{escape(load)}</code>",
                    delta,
                    f"<code>{escape(source)}</code>",
                    escape(why),
                ]
                out.append("<tr><td>" + "<td>".join(cells))
            out.append("</table>")
        return "\n".join(out) + "\n"
