"""Two results of one query into the first value that differs: rows of Python values, exact but for a stated bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Row = tuple[Any, ...]


def same_value(ours: Any, theirs: Any, bound: float = 0.0) -> bool:
    """Whether the values are equal, bit for bit but for the bits of NaN and the sign of zero: which of 0.0 and -0.0
    stands for a group or an extreme is open. Two floats may differ by ``bound`` times the larger one."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same_value, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(theirs):
            return math.isnan(ours)
        return ours == theirs or abs(ours - theirs) <= bound * max(abs(ours), abs(theirs)) < math.inf
    return bool(ours == theirs) and (ours is None) == (theirs is None)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """The rows, sorted, NULLs after every value but NaN."""
    return sorted(rows, key=lambda row: [_sort_key(v) for v in row])


def _sort_key(value: Any) -> tuple[int, Any]:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return (1 if value is None else 2, "")
    return (0, [_sort_key(v) for v in value] if isinstance(value, list) else value)


def first_difference(ours: Sequence[Row], theirs: Sequence[Row], bound: float = 0.0) -> tuple[int, int] | None:
    """Row and column, from 0, of the first value that differs between as many rows of as many values; else None."""
    for number, (a, b) in enumerate(zip(ours, theirs)):
        for column, (x, y) in enumerate(zip(a, b)):
            if not same_value(x, y, bound):
                return number, column
    return None
