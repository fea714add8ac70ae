"""How one column of a permutation gets to its items: which register each reads, and of which item.

If every item reads a register of its own, nothing moves. Otherwise the cheaper of two ways is taken. Either one shuffle
moves each register that is read, and every item keeps the number that it wants. Or, in round r, every item offers the
r-th register that others want of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Items = NDArray[Any]


class Shuffle(NamedTuple):
    """One shuffle: item i offers register offered[i] (-1: any), and the `readers` keep what item sources[i] offers."""

    offered: Items
    sources: Items
    readers: Items


def is_own(sources: Items, needed: Items) -> bool:
    """Return whether every item reads a register of its own."""
    return bool((sources == np.arange(len(sources)))[needed].all())


def plan_shuffles(sources: Items, columns: Items, needed: Items) -> list[Shuffle]:
    """Return the shuffles that give item i the register columns[i] of item sources[i], where it is needed.

    The sources of a shuffle are items of the group for every item, because reading any other thread is undefined.
    """
    by_column = [shuffle_of_column(sources, columns, needed, int(column)) for column in np.unique(columns[needed])]
    by_round = shuffle_rounds(sources, columns, needed)
    return by_column if len(by_column) <= len(by_round) else by_round


def shuffle_of_column(sources: Items, columns: Items, needed: Items, column: int) -> Shuffle:
    readers = needed & (columns == column)
    return Shuffle(np.full(len(sources), column), complete(sources, readers), readers)


def shuffle_rounds(sources: Items, columns: Items, needed: Items) -> list[Shuffle]:
    size = len(sources)
    offers: list[list[int]] = [[] for _ in range(size)]
    rounds = np.zeros(size, np.int64)
    for item in np.flatnonzero(needed):
        wanted = offers[int(sources[item])]
        column = int(columns[item])
        if column not in wanted:
            wanted.append(column)
        rounds[item] = wanted.index(column)
    shuffles = []
    for number in range(int(rounds[needed].max()) + 1):
        offered = np.array([row[number] if number < len(row) else -1 for row in offers])
        readers = needed & (rounds == number)
        shuffles.append(Shuffle(offered, complete(sources, readers), readers))
    return shuffles


def complete(sources: Items, readers: Items) -> Items:
    """Return sources for all items that are those of the readers, by a rotation or exclusive-or if one fits."""
    size = len(sources)
    items = np.arange(size)
    first = int(np.flatnonzero(readers)[0])
    uniform = np.full(size, sources[first])
    rotated = (items + sources[first] - first) % size
    crossed = items ^ (first ^ int(sources[first]))
    for candidate in (uniform, rotated, crossed):
        if (candidate == sources)[readers].all() and candidate.max() < size:
            return candidate
    return np.where(readers, sources, sources[first])
