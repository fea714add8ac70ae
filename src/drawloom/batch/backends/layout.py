"""How the lanes of InfRegs lie in vectors: which of group, item and element runs fastest, and how many groups share.

    order "rows"         (group, item, element)   row-major matrices, one row per item, load contiguously
    order "columns"      (element, group, item)   element k of all items lies in one vector: reading it moves nothing
    order "interleaved"  (item, element, group)   equal lanes of all groups lie in one vector: shuffles move nothing

The lanes of `pack` groups (WG_PACK of the paper) are cut into chunks of `width` lanes, the vectors of the machine. The
last chunk of a register is filled up with lanes that nothing reads.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.ir.ir import Format

#: Axes from the slowest to the fastest: 0 is the group, 1 the item, 2 the element.
ORDERS: Final[dict[str, tuple[int, int, int]]] = {
    "rows": (0, 1, 2),
    "columns": (2, 0, 1),
    "interleaved": (1, 2, 0),
}


class Placement(NamedTuple):
    """Where the lanes of one format lie. ``position[group, lane]`` is a place in the vectors; ``group_at`` and
    ``lane_at`` invert it, with lane -1 in the places that nothing reads."""

    position: NDArray[np.int64]
    group_at: NDArray[np.int64]
    lane_at: NDArray[np.int64]
    chunks: int


class Layout:
    """An order, a number of groups that run together, the lanes of a vector, and which pointers' arrays are packed."""

    def __init__(self, order: str, pack: int, width: int, packed: frozenset[str] = frozenset()) -> None:
        self.order = order
        self.pack = pack
        self.width = width
        self.packed = packed
        self.placements: dict[Format, Placement] = {}

    def place(self, format: Format) -> Placement:
        known = self.placements.get(format)
        if known is None:
            known = self.placements[format] = self.make(format)
        return known

    def make(self, format: Format) -> Placement:
        sizes = (self.pack, *format)
        axes = ORDERS[self.order]
        places = np.arange(self.pack * format.lanes).reshape([sizes[axis] for axis in axes])
        # places[...] is indexed in the order's axes; put them back to (group, item, element).
        position = places.transpose(np.argsort(axes)).reshape(self.pack, format.lanes)
        chunks = -(-position.size // self.width)
        group_at = np.zeros(chunks * self.width, np.int64)
        lane_at = np.full(chunks * self.width, -1, np.int64)
        groups, lanes = np.indices(position.shape)
        group_at[position] = groups
        lane_at[position] = lanes
        return Placement(position, group_at, lane_at, chunks)

    def strides(self, format: Format) -> tuple[int, int, int]:
        """Return by how many places the next group, item and element lie."""
        sizes = (self.pack, *format)
        strides = [0, 0, 0]
        step = 1
        for axis in reversed(ORDERS[self.order]):
            strides[axis] = step
            step *= sizes[axis]
        return strides[0], strides[1], strides[2]
