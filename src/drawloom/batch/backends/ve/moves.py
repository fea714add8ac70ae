"""Permutations as moves of whole registers: segments, and rows that double.

    before: lanes (5, 6, 7, 0, 1, 2) of a          after: vmv 253 over 6 elements, then vmv 5 over the first 3
    before: row 2 of a in all of 8 rows            after: one move into the last row, then moves of 1, 2 and 4 rows

`vmv` takes element (i + displacement) mod 256 for element i, up to its vector length, and the elements beyond keep what
they were: so moves go from long ones to short ones, and need no masks. A permutation that takes many of them goes
through memory (`emit.py`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from drawloom.batch.backends.ve.instructions import LANES

#: A store, the addresses and a gather take four instructions; the gather is slower than all moves.
MOST_MOVES: Final = 8


class Pick(NamedTuple):
    """An element of a register. None in a list of picks stands for one that nothing reads."""

    register: str
    lane: int


class Move(NamedTuple):
    """One `vmv` over the first `length` elements, of a register or (None) of what the moves before it made."""

    register: str | None
    displacement: int
    length: int


def plan_moves(picks: list[Pick | None]) -> list[Move] | None:
    """Return the fewest moves that make a register of picked elements; None where that takes too many."""
    plans = [plan for plan in (plan_segments(picks), plan_doubling(picks)) if plan is not None]
    best = min(plans, key=len, default=None)
    return best if best is not None and len(best) <= MOST_MOVES else None


def plan_segments(picks: list[Pick | None]) -> list[Move]:
    """Return a move for every run of neighbours that stay neighbours, the last run first."""
    runs: list[Move] = []
    for place, pick in enumerate(picks):
        if pick is None:
            continue
        displacement = (pick.lane - place) % LANES
        if runs and (runs[-1].register, runs[-1].displacement) == (pick.register, displacement):
            runs.pop()
        runs.append(Move(pick.register, displacement, place + 1))
    return runs[::-1]


def plan_doubling(picks: list[Pick | None]) -> list[Move] | None:
    """Return moves that repeat one row in every row; None where rows differ."""
    used = max((place + 1 for place, pick in enumerate(picks) if pick is not None), default=0)
    picks = picks[:used]
    first = picks[0] if picks else None
    if first is None:
        return None
    size = next((place for place in range(1, len(picks)) if picks[place] != first._replace(lane=first.lane + place)), 0)
    rows = -(-len(picks) // size) if size else 1
    if rows < 2 or rows * size > LANES:
        return None
    for place, pick in enumerate(picks):
        if pick is not None and pick != first._replace(lane=first.lane + place % size):
            return None
    moves = [Move(first.register, (first.lane - (rows - 1) * size) % LANES, rows * size)]
    done = 1
    while done < rows:
        moves.append(Move(None, done * size, (rows - done) * size))
        done *= 2
    return moves
