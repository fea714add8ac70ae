"""Which vector loads and stores an access of an InfReg becomes: contiguous, broadcast, moved into place, or by lane.

    rows of a row-major matrix, order "rows":      one load for each chunk
    the same in the order "columns":               one load for each chunk of memory, and shuffles into place
    a coefficient that all items share:            a scalar load and a broadcast
    an index known at run time:                    gather
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.chunk_ir import Place
from drawloom.batch.backends.layout import Layout
from drawloom.batch.ir.ir import Access, Format

#: Elements that vectors load for each that is wanted.
MOST_LOADED: Final = 2
Terms = tuple[tuple[tuple[str, ...], int], ...]


class Spread(NamedTuple):
    """The places of an access in vectors: each lane's offset, whether it is touched, and the run-time part, which is
    ``terms`` in every live lane, or None where lanes differ in it (``bases`` has each lane's then)."""

    pointer: str
    type: str
    offsets: NDArray[np.int64]
    live: NDArray[np.bool_]
    terms: Terms | None
    bases: list[Terms]

    def place(self, offset: int, lane: int) -> Place:
        terms = self.bases[lane] if self.terms is None else self.terms
        return Place(self.pointer, self.type, terms, offset)


def spread_access(access: Access, type: str, format: Format, layout: Layout, wanted: NDArray[np.bool_]) -> Spread:
    """Lay an access out in vectors; the group of a lane becomes the first group of the pack plus a number.

    A packed array has element i of the pack's group g in place i * pack + g.
    """
    placement = layout.place(format)
    is_lane = placement.lane_at >= 0
    lane_at = placement.lane_at.clip(0)
    live = is_lane & (access.active & wanted).reshape(-1)[lane_at]
    offsets = access.offsets.reshape(-1)[lane_at].copy()
    is_packed = access.pointer in layout.packed
    if is_packed:
        offsets = offsets * layout.pack + placement.group_at
    coefficients: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for term in access.terms:
        lanes = term.coefficients.reshape(-1)[lane_at]
        for factors, multiple in shift_groups(term.factors, 0 if is_packed else placement.group_at):
            if factors:
                coefficients[factors] = coefficients.get(factors, 0) + lanes * multiple
            else:
                offsets += lanes * multiple
    rows = [(factors, lanes) for factors, lanes in sorted(coefficients.items()) if lanes[live].any()]
    if all((lanes[live] == lanes[live][0]).all() for _, lanes in rows):
        terms = tuple((factors, int(lanes[live][0])) for factors, lanes in rows)
        return Spread(access.pointer, type, offsets, live, terms, [])
    bases = [
        tuple((factors, int(lanes[lane])) for factors, lanes in rows if lanes[lane]) for lane in range(len(lane_at))
    ]
    return Spread(access.pointer, type, offsets, live, None, bases)


def shift_groups(factors: tuple[str, ...], group_at: Any) -> list[tuple[tuple[str, ...], Any]]:
    """Multiply out the groups of a product: `group` is the pack's first one plus the lane's number in the pack."""
    products: list[tuple[tuple[str, ...], Any]] = [((), np.int64(1))]
    for factor in factors:
        grown = [((*known, factor), multiple) for known, multiple in products]
        if factor == "group":
            grown += [(known, multiple * group_at) for known, multiple in products]
        products = grown
    merged: dict[tuple[str, ...], Any] = {}
    for known, multiple in products:
        merged[known] = merged.get(known, 0) + multiple
    return list(merged.items())


def is_consecutive(offsets: NDArray[np.int64], live: NDArray[np.bool_]) -> bool:
    """Return whether live lanes are elements in the lanes' order."""
    starts = (offsets - np.arange(len(offsets)))[live]
    return bool((starts == starts[0]).all())


def find_hull(spread: Spread) -> tuple[int, int] | None:
    """Return the first element that a load touches, and how many there are up to the last one; None where it touches
    less than half of them, or other addresses.

    What lies between two elements of an array belongs to the array. So whole vectors may be loaded, as of the rows of a
    triangle.
    """
    if spread.terms is None:
        return None
    elements = np.unique(spread.offsets[spread.live])
    first, count = int(elements[0]), int(elements[-1] - elements[0]) + 1
    return (first, count) if count <= MOST_LOADED * len(elements) else None


class Run(NamedTuple):
    """Consecutive elements that an access touches without a gap: `sources[i]` is the lane of element `first + i`."""

    first: int
    sources: NDArray[np.int64]


def find_run(spread: Spread) -> Run | None:
    """Return the run that an access touches; None if there are gaps, other addresses, or too few elements to matter."""
    if spread.terms is None:
        return None
    lanes = np.flatnonzero(spread.live)
    offsets = spread.offsets[lanes]
    elements, first_lanes = np.unique(offsets, return_index=True)
    if elements[-1] - elements[0] + 1 != len(elements):
        return None
    return Run(int(elements[0]), lanes[first_lanes])
