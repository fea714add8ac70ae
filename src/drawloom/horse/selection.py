"""The first rows by a key, and the entries of cells at given places of their order, without sorting more than that
takes: in large cells by selection, small ones sorted together, by words of 64 bits that have the cell above the value
where both fit.

NaN comes behind every number. Among entries -0.0 comes before 0.0; as keys they are equal.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.blocks import in_blocks, on_all_cores
from drawloom.horse.matching import dtype_below, places, row_numbers
from drawloom.horse.memory import ask
from drawloom.horse.values import Array, Vector, bounds

#: Cells with so many entries on average are taken one by one.
_LARGE: Final = 256
#: Rows of a key that are looked at at a time, and the most that are selected of such.
_BLOCK: Final = 1 << 16
MOST_SELECTED: Final = 1 << 13
#: Bytes that sorting takes for an entry.
_SORTED: Final = 40
#: Arrays as long as floats that making keys of these takes.
_KEYS: Final = 3


def first_by(key: Vector, is_ascending: bool, nulls_first: bool, wanted: int) -> Array:
    """The rows, in ascending order, that are among the ``wanted`` first by a key, with all that are equal to the last
    of these; or more, where selecting them is no gain."""
    if key.valid is None or len(key) <= _BLOCK or wanted > MOST_SELECTED:
        return _least(key.data, is_ascending, wanted)
    known = np.asarray(key.valid, dtype=bool)
    nulls, others = places(~known), places(known)
    if (len(nulls) if nulls_first else len(others)) >= wanted:
        chosen = nulls if nulls_first else others
        return nulls if nulls_first else chosen[_least(key.data[chosen], is_ascending, wanted)]
    if not nulls_first:
        return row_numbers(len(key))
    more = others[_least(key.data[others], is_ascending, wanted - len(nulls))]
    return np.sort(np.concatenate([nulls, more]))


def _least(data: Array, is_ascending: bool, wanted: int) -> Array:
    """Block by block, of which one looks at no more than what those before have left."""
    if len(data) <= _BLOCK or wanted > MOST_SELECTED:
        return row_numbers(len(data))
    bound: list[Any] = []

    def look(start: int) -> tuple[Array, Array]:
        part = data[start : start + _BLOCK]
        keys = _keys(part + part.dtype.type(0)) if part.dtype.kind == "f" else _keys(part)
        keys = keys if is_ascending else ~keys
        rows = np.flatnonzero(keys <= bound[-1]) if bound else np.arange(len(keys))
        kept = keys[rows]
        if len(rows) > wanted:
            last = np.partition(kept, wanted - 1)[wanted - 1]
            within = kept <= last
            rows, kept = rows[within], kept[within]
            # Of two cores' bounds the last one set counts: either is one.
            bound.append(last)
        return rows + start, kept

    found = in_blocks(len(data), _BLOCK, look)
    rows, kept = [np.concatenate([f[side] for f in found]) for side in (0, 1)]
    within = kept <= np.partition(kept, wanted - 1)[wanted - 1]
    return np.asarray(rows[within], dtype=dtype_below(len(data)))


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
