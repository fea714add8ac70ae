"""Bounds of integer registers, lane by lane, from the constants that they are chosen from.

    before: %p = select %m, <0, 1, 2, 3>, <1, 2, 3, 0>       after: %p is within 0 and 3, its first lane within 0 and 1
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.ir.ir import Value

Bounds = tuple[int, int]
#: The least and the largest number of every lane.
LaneBounds = tuple[NDArray[np.int64], NDArray[np.int64]]

#: Conversions that keep a number which fits.
KEEPING: Final = ("sext", "zext", "trunc")
#: The bounds of a lane of which nothing is known.
LEAST: Final = int(np.iinfo(np.int64).min)
MOST: Final = int(np.iinfo(np.int64).max)


class Ranges:
    """The bounds of values, each found once."""

    def __init__(self) -> None:
        self.known: dict[int, LaneBounds] = {}

    def bounds(self, value: Value) -> Bounds | None:
        """Return the least and the largest number that any defined lane may hold; None where that is not known."""
        pending = [value]
        while pending:
            current = pending[-1]
            missing = [operand for operand in chosen_from(current) if operand.number not in self.known]
            if missing:
                pending += missing
                continue
            self.known[current.number] = self.combine(current)
            pending.pop()
        low, high = self.known[value.number]
        return None if low.min() == LEAST else (int(low.min()), int(high.max()))

    def combine(self, value: Value) -> LaneBounds:
        if value.is_constant:
            numbers = value.detail.astype(np.int64)
            return numbers, numbers
        found = [self.known[operand.number] for operand in chosen_from(value)]
        if not found:
            return np.full(value.format, LEAST), np.full(value.format, MOST)
        low, high = found[0]
        if value.op == "select":
            return choose_bounds(value.operands[0], *found)
        if value.op == "permute":
            # What an undefined lane holds does not matter.
            lanes = value.detail.clip(0)
            return low.reshape(-1)[lanes], high.reshape(-1)[lanes]
        if value.op == "lookup":
            return np.full(value.format, low.min()), np.full(value.format, high.max())
        # A conversion changes negative numbers, or those that the narrowest type does not hold.
        kept = (low >= 0) & (high <= 127)
        return np.where(kept, low, LEAST), np.where(kept, high, MOST)


def choose_bounds(mask: Value, taken: LaneBounds, other: LaneBounds) -> LaneBounds:
    """Return the bounds of a select: those of one operand where the mask is known, else of both."""
    if mask.is_constant:
        chosen = mask.detail.astype(bool)
        return np.where(chosen, taken[0], other[0]), np.where(chosen, taken[1], other[1])
    return np.minimum(taken[0], other[0]), np.maximum(taken[1], other[1])


def chosen_from(value: Value) -> tuple[Value, ...]:
    """Return the values that every lane of a value is a lane of; none where it is computed."""
    if value.op == "select":
        return value.operands[1:]
    if value.op in ("permute", "lookup") or value.op in KEEPING:
        return value.operands[:1]
    return ()
