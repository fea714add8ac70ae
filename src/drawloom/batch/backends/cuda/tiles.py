"""Which accesses of a warp go through shared memory, so that neighbouring threads access neighbouring elements.

    t[ix] = a[group * 64 + wi * 8 + ix], ix = 0 to 7     reads every 8th element with each instruction, therefore
    tile[k + k / 8] = a[first * 64 + k], k = thread, ...  all threads of the warp, neighbouring elements
    t[ix] = tile[group's own + wi * 9 + ix]               without bank conflicts: the item's stride is odd

An access is staged if the elements of a group are dense in memory and no run-time index or mask decides them. Loads may
have holes of as many elements again; stores may have none.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.ir.ir import DTYPES, Access

Lanes = NDArray[Any]

#: Warps of a block. A multiprocessor holds fewer blocks than warps, so that one warp in each would leave room unused.
WARPS: Final = 4
#: A block has 48 KiB of shared memory unless a launch asks for more.
MOST_BYTES: Final = 48 * 1024 // WARPS


class Tile(NamedTuple):
    """The elements of a group: `span` of them from `least` on, relative to the run-time part of the access.

    Element k lies at k + k / pitch of the group's `size` places; `pitch` is 0 where nothing is skipped.
    """

    least: int
    span: int
    pitch: int
    size: int

    def place(self, element: Lanes) -> Lanes:
        """Return the places of elements, counted from `least`."""
        return element + element // self.pitch if self.pitch else element


def plan_tile(access: Access, used: Lanes, type: str, groups: int, *, is_store: bool) -> Tile | None:
    """Return how an access is staged; None where it is made as it stands.

    Args:
        access: The access; `used` are the lanes of it that touch memory, of the same shape.
        type: The type of the elements.
        groups: How many groups share the tile.
        is_store: Whether the lanes are stored.
    """
    offsets = access.offsets
    if used.sum() < 2 or offsets.shape[0] == 1 or is_coalesced(offsets, used):
        return None
    if not all(is_uniform(term.coefficients, used) and term.factors.count("group") < 2 for term in access.terms):
        return None
    touched = offsets[used]
    least, span = int(touched.min()), int(touched.max() - touched.min()) + 1
    distinct = len(np.unique(touched))
    if span > 2 * distinct or (is_store and not len(touched) == distinct == span):
        return None
    if is_store and abs(group_stride(access)) < span:
        return None
    pitch = item_stride(offsets - least, used)
    padded = pitch and pitch % 2 == 0
    size = -(-span // pitch) * (pitch + 1) if padded else span
    if groups * size * DTYPES[type].itemsize > MOST_BYTES:
        return None
    return Tile(least, span, pitch if padded else 0, size)


def is_coalesced(offsets: Lanes, used: Lanes) -> bool:
    """Return whether in every column the items access one element or neighbouring ones."""
    items = np.arange(offsets.shape[0])
    for column in range(offsets.shape[1]):
        chosen = used[:, column]
        row = offsets[chosen, column]
        if row.size and not ((row == row[0]).all() or len(np.unique(row - items[chosen])) == 1):
            return False
    return True


def is_uniform(lanes: Lanes, used: Lanes) -> bool:
    numbers = lanes[used]
    return bool((numbers == numbers[0]).all())


def group_stride(access: Access) -> int:
    """Return by how many elements groups lie apart; 0 where that is known at run time only."""
    stride = 0
    for term in access.terms:
        if "group" in term.factors:
            if len(term.factors) > 1:
                return 0
            stride = int(term.coefficients.flat[0])
    return stride


def item_stride(elements: Lanes, used: Lanes) -> int:
    """Return S where element (wi, ix) is S * wi + c with 0 <= c < S; 0 where there is no such number."""
    for column in range(elements.shape[1]):
        items = np.flatnonzero(used[:, column])
        if items.size < 2:
            continue
        stride = int(elements[items[1], column] - elements[items[0], column]) // int(items[1] - items[0])
        rest = elements - stride * np.arange(elements.shape[0])[:, None]
        fits = stride > 0 and ((rest[used] >= 0) & (rest[used] < stride)).all()
        return stride if fits else 0
    return 0
