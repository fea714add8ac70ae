"""The fastest of several layouts, by running them in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from drawloom.batch.tuning.choose import Choice

#: Turns in which every candidate runs once; the first ones warm up.
TURNS: Final = 10
WARM_UPS: Final = 2


class Candidate(NamedTuple):
    """A layout that may be the fastest. `prepare` brings the arguments to their first state and is not timed."""

    choice: Choice
    prepare: Callable[[], None]
    run: Callable[[], None]


def find_fastest(candidates: list[Candidate]) -> Choice:
    """Return the layout with the least time of all turns.

    Candidates alternate, so that what else the machine does hits all of them.
    """
    least = [float("inf")] * len(candidates)
    for turn in range(WARM_UPS + TURNS):
        for number, candidate in enumerate(candidates):
            candidate.prepare()
            begin = time.perf_counter()
            candidate.run()
            elapsed = time.perf_counter() - begin
            if turn >= WARM_UPS:
                least[number] = min(least[number], elapsed)
    return candidates[least.index(min(least))].choice
