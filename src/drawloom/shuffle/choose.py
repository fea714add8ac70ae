"""One candidate for each load that can have one: from the options to those that are written (seed 003, section 5.1)."""

from __future__ import annotations

from collections.abc import Callable

from drawloom.shuffle.facts import Candidate, Report


def choose(report: Report, accept: Callable[[Candidate], bool]) -> list[Candidate]:
    """The candidates that become code, in program order: for each load the accepted one with the smallest distance
    whose source stays a load itself."""
    chosen: list[Candidate] = []
    replaced: set[int] = set()
    sources: set[int] = set()
    for at in report.loads:
        if at in sources:
            continue
        for candidate in report.find(at, replaced):
            if candidate.source != at and accept(candidate):
                chosen.append(candidate)
                replaced.add(at)
                sources.add(candidate.source)
                break
    return chosen
