"""Which rows have equal keys: columns of keys into groups, into pairs of row numbers of two sides, or into a mask.

Keys become one dense integer a row, the same on both sides. Integers whose range is not much larger than the sides are
their own numbers; anything else is numbered by a hash table over the smaller side. Then a table over the numbers finds
each row's partners without comparing anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse.blocks import in_blocks
from drawloom.horse.memory import ask
from drawloom.horse.values import Array, bounds, taken

#: The largest number of codes that two or more columns of keys are packed into.
_PACKED: Final = 1 << 62
#: A table over the codes may have this many entries a row of both sides, and this many anyway.
_SPARSE: Final = 8
_SMALL: Final = 1 << 16
#: Rows that are looked up at a time, and those of which results are put together.
_BLOCK: Final = 1 << 16
_TOGETHER: Final = 1 << 19
#: Bytes of two row numbers; of what NumPy takes to rank a key, and Arrow's hash tables an entry, of which at most half
#: are taken: measured.
_PAIR: Final = 8
_RANKED: Final = 56
_HASHED: Final = 64
#: Most pairs that a join may make: 4 GiB of row numbers.
MAX_PAIRS: Final = 1 << 28


class PairsLimit(DataError):
    """A join makes more pairs of rows than it may."""


def pairs(keys: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The rows of the left and of the right side of every pair with equal keys, ordered by the row of the longer side
    (the left one of two as long), then by the other's.

    ``keys`` has the left and the right column of each key. Raises DataError for more than ``MAX_PAIRS`` pairs.
    """
    left, right, size = dense_codes(keys)
    if len(left) < len(right):
        return _matches(left, right, size)
    build, probe = _matches(right, left, size)
    return probe, build


def dtype_below(count: int) -> np.dtype[Any]:
    """Integers that hold those below ``count``, and -1."""
    return np.dtype(np.int32 if count <= 1 << 31 else np.int64)


def row_numbers(rows: int) -> Array:
    return np.arange(rows, dtype=dtype_below(rows))


def places(mask: Array) -> Array:
    """The rows where a mask is true."""

    dtype = dtype_below(len(mask))

    def find(start: int) -> tuple[Array, ...]:
        return ((np.flatnonzero(mask[start : start + _BLOCK]) + start).astype(dtype),)

    return _together(len(mask), [dtype], find)[0]


def _together(rows: int, dtypes: list[np.dtype[Any]], find: Callable[[int], tuple[Array, ...]]) -> list[Array]:
    """The arrays that ``find(start)`` gives for each block of rows, no longer than it, one behind the other: some
    blocks at a time, each written where its rows would begin and then moved up, so that there is little beside the
    whole."""
    made = [np.empty(rows, dtype) for dtype in dtypes]
    end = 0
    for first in range(0, rows, _TOGETHER):
        counts = in_blocks(min(rows - first, _TOGETHER), _BLOCK, partial(_put, made, end, first, find))
        at = end
        for count in counts:
            if end < at:
                for whole in made:
                    whole[end : end + count] = whole[at : at + count]
            end += count
            at += _BLOCK
    for whole in made:
        whole.resize(end, refcheck=False)  # what lies behind goes back
    return made


def _put(made: list[Array], at: int, first: int, find: Callable[[int], tuple[Array, ...]], start: int) -> int:
    """Writes what is found from row ``first + start`` on, at ``at + start``; how much that was."""
    found = find(first + start)
    count = len(found[0])
    for whole, part in zip(made, found):
        whole[at + start : at + start + count] = part
    return count


def has_match(keys: list[tuple[Array, Array]]) -> Array:
    """Where the left side's rows have a row with equal keys on the right side."""
    left, right, size = dense_codes(keys)
    ask(size + len(left), "a join")
    present = np.zeros(size + 1, dtype=bool)
    present[right] = True
    present[-1] = False
    return taken(present, left)


def all_pairs(left: int, right: int) -> tuple[Array, Array]:
    """The rows of both sides of every pair. Raises DataError for more than ``MAX_PAIRS`` pairs."""
    check_pairs(left * right)
    return np.repeat(row_numbers(left), right), np.tile(row_numbers(right), left)


def groups(columns: list[Array]) -> tuple[Array, Array]:
    """The rows in ascending order of their keys, those of one group in their own order, and where each group starts,
    with the number of rows behind."""
    order, in_order = stable_order(*composed([ascending(c) for c in columns]))
    starts = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    first = [0] if len(order) else []
    return order, np.concatenate([first, starts, [len(order)]]).astype(np.int64)


def composed(keys: list[tuple[Array, int]]) -> tuple[Array, int]:
    """One code for several, ordered as they are one after the other, and the number that it is below."""
    codes, size = keys[0]
    for more, count in keys[1:]:
        if size * count > _PACKED:
            codes, size = _ranked(codes)
        if size * count > _PACKED:
            more, count = _ranked(more)
        codes = codes.astype(np.int64) * count + more
        size *= count
    return codes, size


def ascending(column: Array) -> tuple[Array, int]:
    """Integers from 0 below the returned size that are ordered as the column is; NaN above every number."""
    if column.dtype.kind in "biu":
        low, high = bounds(column)
        if high - low < _PACKED:
            low = _zero_or(low, high)
            return _above(column, low, high), high - low + 1
    return _ranked(column)


def _ranked(column: Array) -> tuple[Array, int]:
    ask(_RANKED * len(column), "the order of keys")
    values, ranks = np.unique(column, return_inverse=True)
    return ranks.reshape(-1), max(len(values), 1)


def stable_order(codes: Array, size: int) -> tuple[Array, Array]:
    """The rows in the order of their codes from 0 to ``size - 1``, those of one code in their own order, and the codes
    in that order."""
    rows = len(codes)
    ask((8 + 4) * rows, "a sort")
    if rows == 0 or bool((codes[1:] >= codes[:-1]).all()):
        return row_numbers(rows), codes
    bits = rows.bit_length()
    if size.bit_length() + bits > 63:
        order = np.argsort(codes, kind="stable")
        return order, codes[order]
    # NumPy sorts integers many times faster than it sorts row numbers by them.
    packed = np.empty(rows, dtype=np.int64)
    order = np.empty(rows, dtype=dtype_below(rows))

    def pack(start: int) -> None:
        part = packed[start : start + _BLOCK]
        np.left_shift(codes[start : start + _BLOCK], bits, out=part, dtype=np.int64, casting="unsafe")
        part |= np.arange(start, start + len(part))

    def unpack(start: int) -> None:
        part = packed[start : start + _BLOCK]
        np.bitwise_and(part, (1 << bits) - 1, out=order[start : start + _BLOCK], casting="unsafe")
        part >>= bits

    in_blocks(rows, _BLOCK, pack)
    packed.sort()
    in_blocks(rows, _BLOCK, unpack)
    return order, packed


def dense_codes(keys: list[tuple[Array, Array]]) -> tuple[Array, Array, int]:
    """Both sides' keys as integers below the returned size, which are equal where the keys are; -1 for a key that the
    other side does not have."""
    left, right, size = _column_codes(*keys[0])
    for a, b in keys[1:]:
        x, y, count = _column_codes(a, b)
        if size * count > _PACKED:
            left, right, size = _numbered(left, right)
            x, y, count = _numbered(x, y)
        # A row without a partner in one key has none at all.
        size *= count
        left, right = _packed(left, x, count, size), _packed(right, y, count, size)
    if size > _SPARSE * (len(left) + len(right)) + _SMALL:
        return _numbered(left, right)
    return left, right, size


def _packed(codes: Array, more: Array, count: int, size: int) -> Array:
    ask(2 * len(codes) * dtype_below(size).itemsize, "keys of several columns")
    made = codes.astype(dtype_below(size))
    made *= made.dtype.type(count)
    made += more.astype(made.dtype, copy=False)
    made[(codes < 0) | (more < 0)] = -1
    return made


def _column_codes(left: Array, right: Array) -> tuple[Array, Array, int]:
    if left.dtype.kind in "biu" and right.dtype.kind in "biu":
        (a, b), (c, d) = bounds(left), bounds(right)
        low, high = min(a, c), max(b, d)
        low = _zero_or(low, high)
        if high - low < _PACKED:
            return _above(left, low, high), _above(right, low, high), high - low + 1
        return _numbered(left.astype(np.int64), right.astype(np.int64))
    # Floats, where NaN is NaN and -0.0 is 0.0, and integers of more than 64 bits.
    both, size = _ranked(np.concatenate([left, right]))
    return both[: len(left)], both[len(left) :], size


def _zero_or(low: int, high: int) -> int:
    """Zero where that makes codes from ``low`` to ``high`` at most twice as many, and nothing is subtracted."""
    return 0 if 0 < low <= high - low else low


def _above(data: Array, low: int, high: int) -> Array:
    """How far above ``low`` each value is, none of them above ``high``."""
    if data.dtype == bool:
        data = data.view(np.int8)
    if not low:
        return data
    if data.dtype.kind == "u":
        return np.asarray((data - data.dtype.type(low)).astype(dtype_below(high - low + 1)))
    made: Array = data.astype(np.int32 if max(high, -low, high - low) < 1 << 31 else np.int64)
    made -= made.dtype.type(low)
    return made


def _numbered(left: Array, right: Array) -> tuple[Array, Array, int]:
    """The distinct values of the smaller side numbered, and -1 for the other side's other values."""
    if len(left) > len(right):
        b, a, size = _numbered(right, left)
        return a, b, size
    ask((_HASHED << (2 * len(left)).bit_length()) + 12 * len(right), "a table of keys")
    encoded = pa.array(left).dictionary_encode()
    found = pc.fill_null(pc.index_in(pa.array(right), value_set=encoded.dictionary), -1)
    return encoded.indices.to_numpy(), found.to_numpy(), max(len(encoded.dictionary), 1)


def _matches(build: Array, probe: Array, size: int) -> tuple[Array, Array]:
    """The pairs, ordered by the row of ``probe``, then that of ``build``."""
    ask((size + 1) * dtype_below(len(build)).itemsize + _PAIR * len(probe), "a join")
    rows = row_numbers(len(build))
    table = np.full(size + 1, -1, dtype=rows.dtype)
    table[build] = rows
    table[-1] = -1
    known = build >= 0
    if bool(((taken(table, build) == rows) | ~known).all()):
        del rows, known
        partnered, found = _looked_up(table, probe)
        return found, partnered
    kept = rows[known]
    order, in_order = stable_order(build[kept], size)
    order = kept[order]
    starts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]])).astype(rows.dtype)
    lengths = np.diff(starts, append=rows.dtype.type(len(kept)))
    table[in_order[starts]] = row_numbers(len(starts))
    del in_order, kept, known
    partnered, found = _looked_up(table, probe)
    each = taken(lengths, found)
    total = int(each.sum(dtype=np.int64))
    check_pairs(total)
    ask(2 * _PAIR * total, f"a join of {total} pairs of rows")
    # The first partner of each row, then the next ones: counted on from where the row's pairs begin.
    places = row_numbers(total)
    ends = np.cumsum(each, dtype=places.dtype)
    places += np.repeat(taken(starts, found).astype(places.dtype, copy=False) - (ends - each), each)
    return taken(order, places), np.repeat(partnered, each)


def _looked_up(table: Array, probe: Array) -> tuple[Array, Array]:
    """The rows of ``probe`` whose entry in the table is not -1, and the entries: block by block, within the caches."""

    dtype = dtype_below(len(probe))

    def look_up(start: int) -> tuple[Array, ...]:
        found = table.take(probe[start : start + _BLOCK])
        if len(found) and found.min() >= 0:  # as keys that refer to another table's
            return np.arange(start, start + len(found), dtype=dtype), found
        hit = np.flatnonzero(found >= 0)
        return (hit + start).astype(dtype), found.take(hit)

    rows, entries = _together(len(probe), [dtype, table.dtype], look_up)
    return rows, entries


def check_pairs(count: int) -> None:
    """Raises PairsLimit for more than ``MAX_PAIRS`` pairs, OutOfMemoryError for more than there is memory for."""
    if count > MAX_PAIRS:
        raise PairsLimit(f"a join of {count} pairs of rows: at most {MAX_PAIRS} were expected")
    ask(2 * count * dtype_below(count).itemsize, f"a join of {count} pairs of rows")
