"""A function of Python values over vectors: computed once for each distinct row of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.memory import Growing, growing
from drawloom.horse.types import BOOL, F64, I128, VectorType
from drawloom.horse.values import Array, Vector, bounds, narrow, taken
from drawloom.horse.words import from_python, ranked, to_python

#: What rows that are not computed have.
_NOTHING: Final[dict[str, Any]] = {"text": "", "float": 0.0, "bool": False}


#: A table over values may have this many entries for each, and this many anyway.
_SPARSE: Final = 2
_SMALL: Final = 1 << 12


def by_rows(
    function: Callable[..., Any], arguments: list[Vector], type: VectorType, mask: Vector | None = None
) -> Vector:
    """``function`` of each row's values, where ``mask`` is true: text as ``str``, exact types as integers. Other rows
    hold a zero, or no text. Raises DataError for vectors of lengths that do not go together."""
    given = arguments if mask is None else [*arguments, mask]
    rows = length(given)
    chosen = np.arange(rows) if mask is None else np.flatnonzero(np.broadcast_to(mask.data.astype(bool), (rows,)))
    codes, places = _distinct([np.broadcast_to(a.data, (rows,))[chosen] for a in arguments if len(a) != 1], len(chosen))
    columns: list[list[Any]] = []
    varying = iter(codes)
    with growing("text") as grown:
        for argument in arguments:
            if len(argument) == 1 and len(chosen):
                columns.append(_python(argument, argument.data, grown) * len(next(iter(codes), [0])))
            elif len(argument) != 1:
                columns.append(_python(argument, next(varying), grown))
        made: list[Any] = []
        if len(chosen) and type.kind == "text":
            for row in zip(*columns):
                made.append(function(*row))
                grown.take(getsizeof(made[-1]))
        elif len(chosen):
            made = [function(*row) for row in zip(*columns)]
        nothing = _NOTHING.get(type.kind, 0)
        if len(chosen) == rows and made:
            return vector_of(made, type, places)
        spread = np.zeros(rows, dtype=np.int64)
        spread[chosen] = places + 1
        return vector_of([nothing, *made], type, spread)


def length(vectors: list[Vector]) -> int:
    """The rows of vectors of which those of one element go with any length. Raises DataError."""
    rows = 1
    for vector in vectors:
        if len(vector) != 1:
            if rows not in (1, len(vector)):
                raise DataError(f"vectors of lengths {rows} and {len(vector)} do not go together")
            rows = len(vector)
    return rows


def vector_of(values: list[Any], type: VectorType, rows: Array) -> Vector:
    """The vector that has ``values[rows[i]]`` in row i."""
    if type.kind == "text":
        codes, words = ranked(from_python(values, sum([len(value) for value in values])))
        return Vector(type, codes.take(rows), words)
    if type.is_float:
        return Vector(type, np.array(values, dtype=np.float64 if type == F64 else np.float32).take(rows))
    if type == BOOL:
        return Vector(type, np.array(values, dtype=bool).take(rows))
    data = np.array(values, dtype=object)
    if type != I128:
        low, high = bounds(data)
        data = narrow(data, low, high)
    return Vector(type, data.take(rows))


def _python(argument: Vector, data: Array, grown: Growing) -> list[Any]:
    if argument.type.kind == "text":
        return to_python(argument.words.arrow, data, grown)
    return list(data.tolist())


def _distinct(columns: list[Array], rows: int) -> tuple[list[Array], Array]:
    """The distinct rows of some columns, column by column, and which of them each row is."""
    if not columns:
        return [], np.zeros(rows, dtype=np.int64)
    places, count = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        # Floats by their bits, which tell -0 from 0.
        mine, kinds = numbered(column.view(f"i{column.itemsize}") if column.dtype.kind == "f" else column)
        places, count = numbered(places * kinds + mine) if count > 1 else (mine, kinds)
    first = np.zeros(int(places.max(initial=-1)) + 1, dtype=np.int64)
    first[places] = np.arange(rows)
    return [column[first] for column in columns], places


def numbered(column: Array) -> tuple[Array, int]:
    """Which of the distinct values each one is, in their order, and how many these are: by a table over their range
    where that is not much longer than the column."""
    if column.dtype.kind in "bi":
        whole = column.astype(np.int64)
        low, high = bounds(whole)
        if len(whole) and high - low < max(_SPARSE * len(whole), _SMALL):
            whole -= low
            there = np.zeros(high - low + 1, dtype=bool)
            there[whole] = True
            numbers = np.cumsum(there) - 1
            return taken(numbers, whole), int(numbers[-1]) + 1
    kinds, places = np.unique(column, return_inverse=True)
    return places.reshape(-1), len(kinds)
