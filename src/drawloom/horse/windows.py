"""The value of the builtins that window functions are made of, over NumPy: where runs of equal rows begin and end,
counts of rows before a position, searches in sorted rows, and reductions of slices.

No result depends on the order in which a sum is made but that of the rows: doubles of a slice are added in pairs of
blocks whose sizes are powers of two, never as the difference of two running sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.evaluate import averages, exact
from drawloom.horse.matching import check_pairs, dtype_below, row_numbers
from drawloom.horse.memory import ask
from drawloom.horse.types import BOOL, F64, I64, I128, MAX_DIGITS, DecimalType, VectorType, scale_of
from drawloom.horse.values import (
    INT64_MAX,
    INT64_MIN,
    Array,
    ListValue,
    Ragged,
    Value,
    Vector,
    as_vector,
    bounds,
    check_positions,
    integers,
)

#: Bytes that finding a row of a slice takes.
_ENTRY: Final = 48


def run_bound(name: str, arguments: list[Value]) -> Value:
    """For each row where the run of equal rows that it is in begins, or (``run_end``) the position behind it."""
    cells = arguments[0]
    if not isinstance(cells, ListValue) or not cells.cells:
        raise DataError(f"@{name} takes a list of columns")
    columns = [as_vector(c).data for c in cells.cells]
    rows = len(columns[0])
    if any(len(c) != rows for c in columns):
        raise DataError(f"@{name} of columns of unlike lengths")
    begins = np.zeros(rows, dtype=bool)
    begins[:1] = True
    for data in columns:
        above, below = data[:-1], data[1:]
        differs = above != below
        if data.dtype.kind == "f":
            differs &= ~(np.isnan(above) & np.isnan(below))
        begins[1:] |= np.asarray(differs, dtype=bool)
    starts = np.flatnonzero(begins)
    if name == "run_end":
        starts = np.append(starts[1:], rows)
    return Vector(I64, starts[np.cumsum(begins) - 1] if rows else np.zeros(0, dtype=np.int64))


def before(name: str, arguments: list[Value]) -> Value:
    """How many entries of a mask are true before each of the positions."""
    mask, positions = as_vector(arguments[0]).data, as_vector(arguments[1]).data
    check_positions(name, positions, len(mask) + 1)
    return Vector(I64, np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])[positions])


def check_slices(name: str, low: Array, high: Array, rows: int) -> None:
    """Raises DataError for other than a lower and an upper bound of each slice, within so many rows where it has
    any."""
    if len(low) != len(high):
        raise DataError(f"@{name} of slices from {len(low)} to {len(high)} positions")
    some = high > low
    if bool((some & ((low < 0) | (high > rows))).any()):
        raise DataError(f"@{name} of slices that are not within {rows} rows")


def search(name: str, arguments: list[Value]) -> Value:
    """For each row the first position from ``low`` on, and before ``high``, whose value is not below the row's target,
    or (``search_after``) is above it; ``high`` where there is none. The values between the two ascend."""
    values, low, high, targets = [integers(as_vector(a)) for a in arguments]
    check_slices(name, low, high, len(values))
    if len(low) != len(targets):
        raise DataError(f"@{name} of {len(targets)} values in {len(low)} slices")
    low, high = low.copy(), high.copy()
    while bool((low < high).any()):
        middle = (low + high) >> 1
        found = values.take(middle, mode="clip")
        is_low = np.asarray(found <= targets if name == "search_after" else found < targets, dtype=bool)
        is_open = low < high
        low = np.where(is_open & is_low, middle + 1, low)
        high = np.where(is_open & ~is_low, middle, high)
    return Vector(I64, low)


def distinct_slices(name: str, arguments: list[Value]) -> Value:
    """The rows of each slice that repeat no value of it, as pairs of the slice's number and the row's, in this order.
    ``previous`` is where a row's value stood before. Raises DataError for slices of too many rows together."""
    previous, low, high = [integers(as_vector(a)).astype(np.int64) for a in arguments]
    check_slices(name, low, high, len(previous))
    counts = np.where(high > low, high - low, 0)
    total = int(counts.sum())
    check_pairs(total)
    ask(_ENTRY * total, "rows of all slices")
    each = np.repeat(row_numbers(len(counts)), counts)
    places = np.arange(total, dtype=dtype_below(max(total, len(previous))))
    places += np.repeat((low - np.cumsum(counts) + counts).astype(places.dtype), counts)
    if total and bounds(previous)[1] >= int(low[counts > 0].min()):
        is_first = previous[places] < low[each]
        each, places = each[is_first], places[is_first]
    return ListValue([Vector(I64, each), Vector(I64, places)])


def each_slice(name: str, arguments: list[Value]) -> Value:
    """A reduction of ``v[low:high]`` for each ``low`` and ``high``; of an empty slice the sum is 0, the least and the
    greatest are 0 and the average is NaN."""
    from drawloom.horse.library import FunctionValue

    function, values = arguments[0], as_vector(arguments[1])
    assert isinstance(function, FunctionValue)
    if function.name not in _SLICES:
        raise DataError(f"@each_slice of @{function.name}: one of {', '.join(_SLICES)} was expected")
    low, high = [as_vector(a).data.astype(np.int64, copy=False) for a in arguments[2:]]
    check_slices(name, low, high, len(values))
    # Rows of one frame follow each other: whole partitions and peers are reduced once.
    differs = np.ones(len(low), dtype=bool)
    differs[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first = np.flatnonzero(differs)
    made = _SLICES[function.name](values, low[first], high[first], function.name)
    each = made.take(np.cumsum(differs) - 1)
    return Ragged(each, np.arange(len(low) + 1, dtype=np.int64))


def _sums(values: Vector, low: Array, high: Array, name: str) -> Vector:
    type = values.type
    if type.is_float:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = _by_blocks(np.add, values.data.astype(np.float64), np.zeros(len(low)), low, high)
        return Vector(F64, sums)
    made: VectorType = DecimalType(MAX_DIGITS, type.scale) if isinstance(type, DecimalType) else I128
    return exact(made, _exact_sums(integers(values), low, high), name)


def _exact_sums(data: Array, low: Array, high: Array) -> Array:
    least, most = bounds(data)
    count = max(len(data), 1)
    if data.dtype != object and (least * count < INT64_MIN or most * count > INT64_MAX):
        data = data.astype(object)
    totals = np.concatenate([np.zeros(1, dtype=data.dtype), np.cumsum(data)])
    return np.asarray(totals[high] - totals[low])


def _averages(values: Vector, low: Array, high: Array, name: str) -> Vector:
    counts = high - low
    if values.type.is_float:
        with np.errstate(all="ignore"):
            return Vector(F64, _sums(values, low, high, name).data / counts)
    return Vector(F64, averages(_exact_sums(integers(values), low, high), counts, scale_of(values.type)))


def _extremes(values: Vector, low: Array, high: Array, name: str) -> Vector:
    """The least and greatest of floats take NaN for what is above every number."""
    type = values.type
    data = values.data if type.is_float or type.kind == "text" or type == BOOL else integers(values)
    pick = np.maximum if name == "max" else np.fmin if type.is_float else np.minimum
    made = np.zeros(len(low), dtype=data.dtype)
    some = high > low
    made[some] = data[low[some]]
    return Vector(type, _by_blocks(pick, data, made, low, high), values.dictionary)


def _by_blocks(pick: Callable[..., Any], data: Array, made: Array, low: Array, high: Array) -> Array:
    """``made`` and each ``data[low:high]`` reduced by ``pick``: a slice is cut into blocks of 1, 2, 4, ... entries, one
    for each bit of its length."""
    at, left = low.copy(), high - low
    blocks, width = data, 1
    while bool((left >= width).any()):
        rows = np.flatnonzero(left & width)
        made[rows] = pick(made[rows], blocks[at[rows]])
        at[rows] += width
        blocks = pick(blocks[:-width], blocks[width:])
        width *= 2
    return made


_SLICES: Final[dict[str, Callable[[Vector, Array, Array, str], Vector]]] = {
    "sum": _sums, "avg": _averages, "min": _extremes, "max": _extremes,
}  # fmt: skip

WINDOWS: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    "run_start": run_bound, "run_end": run_bound, "before": before, "search": search, "search_after": search,
    "each_slice": each_slice, "distinct_slices": distinct_slices,
}  # fmt: skip
