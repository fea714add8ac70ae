"""The entries of cells at given places of their order, without sorting more than that takes: in large cells by
selection, small ones sorted together, by words of 64 bits that have the cell above the value where both fit.

NaN comes behind every number, and -0.0 before 0.0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.blocks import on_all_cores
from drawloom.horse.memory import ask
from drawloom.horse.values import Array, bounds

#: Cells with so many entries on average are taken one by one.
_LARGE: Final = 256
#: Bytes that sorting takes for an entry.
_SORTED: Final = 40
#: Arrays as long as floats that making keys of these takes.
_KEYS: Final = 3


def at_places(values: Array, starts: Array, counts: Array, places: list[Array]) -> list[Array]:
    """Of each cell, ``counts`` entries of ``values`` from ``starts`` on and at least one, those that have ``places``
    in its order: an array for each of these arrays."""
    keys = _keys(values)
    if len(values) >= _LARGE * len(counts):
        found = _selected(keys, starts, counts, places)
    else:
        found = _sorted(keys, starts, counts, places)
    return [_values(f, values.dtype) for f in found]


def _keys(values: Array) -> Array:
    """Integers that are ordered as the values are: of a float its bits, all but the sign turned over below zero."""
    if values.dtype.kind == "f":
        ask(_KEYS * values.nbytes, "the order of floats")
        bits = np.where(np.isnan(values), values.dtype.type(np.nan), values).view(f"i{values.itemsize}")
        return _turned(bits)
    return values.view(np.int8) if values.dtype == bool else values


def _values(keys: Array, dtype: np.dtype[np.generic]) -> Array:
    return _turned(keys).view(dtype) if dtype.kind == "f" else keys.astype(dtype, copy=False)


def _turned(bits: Array) -> Array:
    sign = 8 * bits.itemsize - 1
    return np.asarray(bits ^ ((bits >> sign) & bits.dtype.type((1 << sign) - 1)))


def _selected(keys: Array, starts: Array, counts: Array, places: list[Array]) -> list[Array]:
    found = [np.empty(len(counts), dtype=keys.dtype) for _ in places]
    ask(int(counts.max(initial=0)) * keys.itemsize, "the order of a cell")

    def select(cell: int) -> None:
        wanted = [int(p[cell]) for p in places]
        start = int(starts[cell])
        ordered = np.partition(keys[start : start + int(counts[cell])], sorted(set(wanted)))
        for into, place in zip(found, wanted):
            into[cell] = ordered[place]

    on_all_cores(range(len(counts)), select)
    return found


def _sorted(keys: Array, starts: Array, counts: Array, places: list[Array]) -> list[Array]:
    rows = len(keys)
    ask(_SORTED * rows, "the order of cells")
    cell = np.repeat(np.arange(len(counts)), counts)
    if keys.dtype != object:
        low, high = bounds(keys)
        bits = (high - low).bit_length()
        if bits + len(counts).bit_length() < 64:
            origin = np.array(low, dtype=keys.dtype).astype(np.int64)
            cell <<= bits
            cell |= keys.astype(np.int64) - origin
            cell.sort()
            return [((cell[starts + p] & ((1 << bits) - 1)) + origin).astype(keys.dtype) for p in places]
    # By value first, and then the places that this has by cell: NumPy sorts integers many times faster than it sorts
    # row numbers by them.
    order = np.argsort(keys)
    bits = rows.bit_length()
    by_cell = np.sort((cell[order] << bits) | np.arange(rows))
    return [keys[order[by_cell[starts + p] & ((1 << bits) - 1)]] for p in places]
