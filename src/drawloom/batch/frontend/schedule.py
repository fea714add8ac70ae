"""Index sets: which turns of which statement of a loop's body run at once, and in which order (paper, section 4.1).

    before: for ix in 0..3: { a[ix] = b[3 - ix]; b[ix / 2] += c[ix / 2]; }
    after:  a: {0, 1, 2}   b: {0, 2}   b: {1, 3}   a: {3}

Turns of one statement may run at once when none reads what another writes and no two write one element; a set reads
everything before it writes. A set is (level, statement): levels run in order, the statements of a level in the body's
order. Every turn gets the lowest level that its dependences allow, so that turns move across others only where the
accesses, which are known exactly, permit it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Touch(NamedTuple):
    """What one statement touches of one variable or pointer: the elements in every turn, None where unknown."""

    subject: object
    elements: tuple[frozenset[int], ...] | None


class Step(NamedTuple):
    """One statement's accesses; `turns` are those in which it runs."""

    turns: tuple[int, ...]
    write: Touch
    reads: tuple[Touch, ...]


class IndexSet(NamedTuple):
    statement: int
    turns: tuple[int, ...]


#: A (level, statement); before all others.
NEVER: Final = (-1, -1)
#: Stands for every element of a subject.
ALL: Final = -1


class History:
    """When each element of each subject was last written and read, as (level, statement)."""

    def __init__(self) -> None:
        self.times: dict[tuple[object, int], tuple[int, int]] = {}
        self.latest: dict[object, tuple[int, int]] = {}

    def last(self, subject: object, elements: frozenset[int] | None) -> tuple[int, int]:
        """Return the last time of any of the elements; None stands for all."""
        if elements is None:
            return self.latest.get(subject, NEVER)
        found = self.times.get((subject, ALL), NEVER)
        for element in elements:
            time = self.times.get((subject, element), NEVER)
            if time > found:
                found = time
        return found

    def add(self, subject: object, elements: frozenset[int] | None, time: tuple[int, int]) -> None:
        for element in (ALL,) if elements is None else elements:
            key = (subject, element)
            if time > self.times.get(key, NEVER):
                self.times[key] = time
        if time > self.latest.get(subject, NEVER):
            self.latest[subject] = time


def split_turns(steps: list[Step], turns: int) -> list[IndexSet]:
    """Distribute the turns of every statement over sets that run at once.

    Args:
        steps: The accesses of each statement, in the body's order.
        turns: How often the loop runs its body.

    Returns:
        The sets in the order in which they run.
    """
    writes, reads = History(), History()
    levels: dict[tuple[int, int], list[int]] = {}
    for turn in range(turns):
        for number, step in enumerate(steps):
            if turn not in step.turns:
                continue
            level = 0
            for touch in (*step.reads, step.write):
                level = max(level, level_after(writes.last(touch.subject, elements_in(touch, turn)), number))
            written = elements_in(step.write, turn)
            last_read = reads.last(step.write.subject, written)
            # A set reads before it writes: reads of the same statement may share the set.
            level = max(level, last_read[0] if last_read[1] == number else level_after(last_read, number))
            time = (level, number)
            writes.add(step.write.subject, written, time)
            for touch in step.reads:
                reads.add(touch.subject, elements_in(touch, turn), time)
            levels.setdefault(time, []).append(turn)
    return [IndexSet(number, tuple(levels[level, number])) for level, number in sorted(levels)]


def elements_in(touch: Touch, turn: int) -> frozenset[int] | None:
    return None if touch.elements is None else touch.elements[turn]


def level_after(time: tuple[int, int], statement: int) -> int:
    """Return the lowest level at which a statement runs after a time."""
    level, number = time
    return level if number < statement else level + 1
