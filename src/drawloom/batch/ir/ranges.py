"""Bounds of integer registers, from the constants that they are chosen from.

    before: %p = select %m, <0, 1, 2, 3>, <1, 2, 3, 0>       after: %p is within 0 and 3
"""

from __future__ import annotations

from typing import Final

from drawloom.batch.ir.ir import Value

Bounds = tuple[int, int]

#: Conversions that keep a number which fits.
KEEPING: Final = ("sext", "zext", "trunc")


class Ranges:
    """The bounds of values, each found once."""

    def __init__(self) -> None:
        self.known: dict[int, Bounds | None] = {}

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
        return self.known[value.number]

    def combine(self, value: Value) -> Bounds | None:
        if value.is_constant:
            return int(value.detail.min()), int(value.detail.max())
        found = [self.known[operand.number] for operand in chosen_from(value)]
        if value.op == "select" and value.operands[0].is_constant:
            # Of a constant only the lanes count that the mask takes.
            mask = value.operands[0].detail
            for place, (operand, taken) in enumerate(zip(value.operands[1:], (mask, ~mask))):
                if operand.is_constant and taken.any():
                    found[place] = int(operand.detail[taken].min()), int(operand.detail[taken].max())
        bounds = [pair for pair in found if pair is not None]
        if not found or len(bounds) < len(found):
            return None
        least, largest = min(low for low, _ in bounds), max(high for _, high in bounds)
        # A conversion changes negative numbers, or those that the narrowest type does not hold.
        if value.op in KEEPING and not 0 <= least <= largest <= 127:
            return None
        return least, largest


def chosen_from(value: Value) -> tuple[Value, ...]:
    """Return the values that every lane of a value is a lane of; none where it is computed."""
    if value.op == "select":
        return value.operands[1:]
    if value.op in ("permute", "lookup") or value.op in KEEPING:
        return value.operands[:1]
    return ()
