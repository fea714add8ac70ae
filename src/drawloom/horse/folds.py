"""The value of @fold: aggregates of cells other than the reductions: quantiles, variances and regressions, bits, text
that is joined, and the row that comes first, last or n-th.

    @fold(name, option, cells) and @fold(name, option, cells, cells), one value for each cell

Variances are of deviations from the mean, in two passes; DuckDB's are in one, so that the last bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse.evaluate import floats
from drawloom.horse.memory import ask
from drawloom.horse.plain import FOLDS, INTERPOLATED, QUANTILES
from drawloom.horse.selection import at_places
from drawloom.horse.types import F32, F64, I64, STR, U32, VectorType
from drawloom.horse.values import Array, ListValue, Ragged, Value, Vector, as_vector, integers, only_text, strings
from drawloom.horse.windows import check_slices
from drawloom.horse.words import computed, picked, ranked

#: Rows of all frames together that are folded: as many as a join has pairs.
_MOST_ROWS: Final = 1 << 28
#: Bytes that finding an entry of a frame takes, and its value.
_ENTRY: Final = 40
#: Bytes of a number.
_NUMBER: Final = 8
#: Cuts a double's fraction into halves.
_HALF: Final = 134_217_729.0


class Cells:
    """Cell i is ``vector[low[i]:high[i]]``."""

    def __init__(self, vector: Vector, low: Array, high: Array) -> None:
        self.vector = vector
        self.low = low
        self.high = high

    @property
    def counts(self) -> Array:
        return np.asarray(self.high - self.low)


def fold(name: str, arguments: list[Value]) -> Value:
    """Raises DataError for what is no list of vectors."""
    function = only_text(name, arguments[0])
    return folded(function, as_vector(arguments[1]), [_cells(a) for a in arguments[2:]])


def fold_slices(name: str, arguments: list[Value]) -> Value:
    """@fold over slices: ``@fold_slices(name, option, low, high, vector ...)``."""
    function = only_text(name, arguments[0])
    low, high = [as_vector(a).data.astype(np.int64, copy=False) for a in arguments[2:4]]
    for argument in arguments[4:]:
        check_slices(name, low, high, len(as_vector(argument)))
    # Rows of one frame follow each other: what they have in common is folded once.
    differs = np.ones(len(low), dtype=bool)
    differs[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high = low[differs], high[differs]
    if int((high - low).sum()) > _MOST_ROWS:
        raise DataError(f"@{function} over frames of more than {_MOST_ROWS} rows in all")
    made = folded(function, as_vector(arguments[1]), [Cells(as_vector(a), low, high) for a in arguments[4:]])
    return made.take(np.cumsum(differs) - 1)


def folded(function: str, option: Vector, cells: list[Cells]) -> Vector:
    if FOLDS[function].lists == 2:
        return _paired(function, cells[0], cells[1])
    with np.errstate(all="ignore"):
        return _FOLDS[function](function, option, cells[0])


def _cells(value: Value) -> Cells:
    if isinstance(value, Ragged):
        offsets = value.offsets.astype(np.int64, copy=False)
        return Cells(value.flat, offsets[:-1], offsets[1:])
    if isinstance(value, ListValue) and len(value.cells) == 1:
        vector = as_vector(value.cells[0])
        return Cells(vector, np.zeros(1, dtype=np.int64), np.array([len(vector)], dtype=np.int64))
    raise DataError("@fold takes a list of cells")


def _reduced(pick: np.ufunc, data: Array, cells: Cells, nothing: Any) -> Array:
    """``pick`` over each cell, ``nothing`` for an empty one."""
    made = np.full(len(cells.low), nothing, dtype=data.dtype)
    some = cells.counts > 0
    if some.any():
        # Every second slice that reduceat makes is one of the cells; the others lie between two of them.
        bounds = np.stack([cells.low[some], cells.high[some]], axis=1).reshape(-1)
        padded = np.append(data, data[:1])
        made[some] = pick.reduceat(padded, bounds)[::2]
    return made


def _sums(data: Array, cells: Cells) -> Array:
    return _reduced(np.add, data, cells, 0.0)


def _placed(cells: Cells) -> tuple[Array, Array, Array]:
    """All cells' entries, one cell behind the other: which cell each is of, where each cell begins, and the entry's
    place in the vector."""
    counts = cells.counts
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    ask(_ENTRY * total, f"{total} rows of all frames")
    each = np.repeat(np.arange(len(counts)), counts)
    return each, ends - counts, np.arange(total) - np.repeat(ends - counts, counts) + cells.low[each]


def _packed(data: Array, cells: Cells) -> tuple[Array, Cells]:
    """Each cell's entries of ``data``, one cell behind the other; and the cells of these."""
    low, high = cells.low, cells.high
    if len(low) and bool((low[1:] == high[:-1]).all()):  # so they lie, of groups
        first = int(low[0])
        return data[first : int(high[-1])], Cells(cells.vector, low - first, high - first)
    _, starts, places = _placed(cells)
    return data[places], Cells(cells.vector, starts, starts + cells.counts)


def _each_of(values: Array, cells: Cells) -> Array:
    """For each entry of packed cells its cell's value."""
    return values if len(values) == 1 else np.repeat(values, cells.counts)


def _deviations(data: Array, cells: Cells) -> tuple[Array, Cells]:
    """Each cell's entries less their mean, one cell behind the other."""
    values, packed = _packed(data, cells)
    ask(2 * _NUMBER * len(values), "deviations")
    means = _sums(values, packed) / np.maximum(cells.counts, 1)
    return values - _each_of(means, packed), packed


def _variance(name: str, option: Vector, cells: Cells) -> Vector:
    apart, packed = _deviations(floats(cells.vector), cells)
    less = 0 if name.endswith("pop") else 1
    made = _sums(apart * apart, packed) / np.maximum(cells.counts - less, 1)
    return Vector(F64, np.sqrt(made) if name.startswith("stddev") else made)


def _paired(name: str, first: Cells, second: Cells) -> Vector:
    """Statistics of pairs (y, x)."""
    counts = first.counts
    if name == "regr_count":
        return Vector(U32, counts)
    y, x = floats(first.vector), floats(second.vector)
    with np.errstate(all="ignore"):
        some = np.maximum(counts, 1)
        if name in ("regr_avgx", "regr_avgy"):
            return Vector(F64, _sums(x, second) / some if name == "regr_avgx" else _sums(y, first) / some)
        (dy, packed), (dx, _) = _deviations(y, first), _deviations(x, second)

        def sum_of(a: Array, b: Array) -> Array:
            return _sums(a * b, packed)

        made: dict[str, Callable[[], Array]] = {
            "covar": lambda: sum_of(dx, dy) / np.maximum(counts - 1, 1), "covar_pop": lambda: sum_of(dx, dy) / some,
            "corr": lambda: sum_of(dx, dy) / np.sqrt(sum_of(dx, dx) * sum_of(dy, dy)),
            "regr_sxx": lambda: sum_of(dx, dx), "regr_sxy": lambda: sum_of(dx, dy), "regr_syy": lambda: sum_of(dy, dy),
            "regr_slope": lambda: sum_of(dx, dy) / sum_of(dx, dx),
            "regr_intercept": lambda: _sums(y, first) / some
            - sum_of(dx, dy) / sum_of(dx, dx) * (_sums(x, second) / some),
            "regr_r2": lambda: _r2(sum_of(dx, dx), sum_of(dx, dy), sum_of(dy, dy)),
        }  # fmt: skip
        return Vector(F64, made[name]())


def _r2(sxx: Array, sxy: Array, syy: Array) -> Array:
    return np.where(syy == 0, 1.0, sxy * sxy / (sxx * syy))


def _quantile(name: str, option: Vector, cells: Cells) -> Vector:
    """The value at a share of the way from the least to the greatest, between two of them in proportion, or
    (``quantile_disc``) one of them."""
    vector, counts = cells.vector, cells.counts
    share = float(option.data[0])
    if not 0 <= share <= 1:
        raise DataError(f"a quantile of {share}: a share from 0 to 1 was expected")
    some = counts > 0
    if name not in INTERPOLATED:  # as DuckDB counts
        low = high = np.maximum(counts[some] - np.floor(counts[some] - share * counts[some]).astype(np.int64), 1) - 1
        rest = np.zeros(len(low))
    else:
        at = (counts[some] - 1) * share
        low, high = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
        rest = at - low
    if name.endswith("_down"):
        last = counts[some] - 1
        low, high = last - low, last - high
    values, packed = _packed(vector.data, cells)
    below, above = [_wide(v) for v in at_places(values, packed.low[some], counts[some], [low, high])]
    made = np.zeros(len(counts), dtype=below.dtype)
    made[some] = _between(below, above, rest, vector.type)
    return Vector(vector.type, made, vector.dictionary)


def _wide(data: Array) -> Array:
    """Integers of 64 bits at least, of which the differences count."""
    return data if data.dtype.kind in "fO" else data.astype(np.int64)


def _between(low: Array, high: Array, share: Array, type: VectorType) -> Array:
    """As DuckDB interpolates: in doubles with fused multiplications, rounded to whole numbers where the values are
    moments, cut off where they are other whole ones; of more than 64 bits only what is added to the lower one is. What
    is added to a 32-bit float is so even beside an infinity, where it is NaN."""
    same = (share == 0) | (low == high)
    if type == F32:
        wide = low.astype(np.float64)
        made = _fused(high.astype(np.float64) - wide, share, wide)
        return np.where(share == 0, low, made.astype(low.dtype))
    if type.is_float or type.kind in ("timestamp", "clock"):
        made = _fused(low.astype(np.float64), 1.0 - share, high.astype(np.float64) * share)
        if not type.is_float:
            made = np.copysign(np.floor(np.abs(made) + 0.5), made)
        return np.where(same, low, made.astype(low.dtype))
    if type.bits > 64 or low.dtype == object:
        pairs = zip(low.tolist(), high.tolist(), share.tolist())
        return np.array([a + int((b - a) * s) for a, b, s in pairs], dtype=low.dtype)
    return np.where(same, low, _fused((high - low).astype(np.float64), share, low.astype(np.float64)).astype(np.int64))


def _fused(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` with one rounding, by Dekker's product and Knuth's sum; with two where these overflow."""
    product = a * b
    big, small = a * _HALF - (a * _HALF - a), b * _HALF - (b * _HALF - b)
    rest = ((big * small - product) + big * (b - small) + (a - big) * small) + (a - big) * (b - small)
    total = product + c
    moved = total - product
    made = total + (((product - (total - moved)) + (c - moved)) + rest)
    return np.asarray(np.where(np.isfinite(made), made, total))


def _bits(name: str, option: Vector, cells: Cells) -> Vector:
    pick = {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}[name]
    return Vector(cells.vector.type, _reduced(pick, integers(cells.vector), cells, 0))


def _chosen(name: str, option: Vector, cells: Cells) -> Vector:
    """The entry at a place of each cell, -1 where the cell has no such place. Raises DataError for the only entry of a
    cell that has several."""
    if name == "only" and (cells.counts > 1).any():
        raise DataError("a subquery that stands for one value gives several rows")
    count = int(option.data[0])
    place = cells.high + count if name == "nth" and count < 0 else cells.low + max(count, 1) - 1
    if name == "last":
        place = cells.high - 1
    inside = (place >= cells.low) & (place < cells.high) & (count != 0)
    data = integers(cells.vector)
    made = np.full(len(place), -1, dtype=np.int64)
    made[inside] = data[place[inside]]
    return Vector(I64, made)


def _joined(name: str, option: Vector, cells: Cells) -> Vector:
    _, starts, places = _placed(cells)
    by = strings(option)[0]
    words = picked(cells.vector.words.arrow, cells.vector.data[places])
    lists = pa.LargeListArray.from_arrays(pa.array(np.append(starts, len(places))), words)
    codes, found = ranked(
        computed(
            words.nbytes + len(by.encode()) * len(places),
            lambda: pc.binary_join(lists, pa.scalar(by, pa.large_string())),
        )
    )
    return Vector(STR, codes, found)


_FOLDS: Final[dict[str, Callable[[str, Vector, Cells], Vector]]] = {
    **dict.fromkeys(QUANTILES, _quantile), "bit_and": _bits, "bit_or": _bits, "bit_xor": _bits,
    "first": _chosen, "last": _chosen, "nth": _chosen, "only": _chosen, "join": _joined,
    **dict.fromkeys(["stddev", "stddev_pop", "var", "var_pop"], _variance),
}  # fmt: skip
