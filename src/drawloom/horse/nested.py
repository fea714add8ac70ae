"""Columns that are structs or lists, as columns without either.

    st: struct<x, y>     ``st->x`` and ``st->y``, NULL where the struct is; ``st->[row]``, the number of the row
    l: list<T>           ``l->[low]`` and ``l->[high]``, where the row's elements are among those of all rows;
                         ``l->[row]``; and a table of its own, ``t->l``, with the elements as its column ``item``

Numbers of rows are NULL where the struct or list is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError

INTO: Final = "->"
ROW: Final = "[row]"
LOW: Final = "[low]"
HIGH: Final = "[high]"
ITEM: Final = "item"


def is_list(type: pa.DataType) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type))


class Part:
    """A part of a column: the column's name, and the steps into it."""

    def __init__(self, column: str, steps: list[str], type: pa.DataType) -> None:
        self.column = column
        self.steps = steps
        self.type = type


def find(schema: pa.Schema, name: str) -> Part | None:
    """The column, or the part of one, that is called so; None where there is none."""
    index = schema.get_field_index(name)
    if index >= 0:
        return Part(name, [], schema.field(index).type)
    for field in schema:
        if name.startswith(field.name + INTO):
            steps: list[str] = []
            type = _inside(field.type, name[len(field.name + INTO) :], steps)
            if type is not None:
                return Part(field.name, steps, type)
    return None


def _inside(type: pa.DataType, path: str, steps: list[str]) -> pa.DataType | None:
    """The type of a part of a struct or list, whose steps are added to ``steps``."""
    if path == ROW or (path in (LOW, HIGH) and is_list(type)):
        steps.append(path)
        return pa.int64()
    if not pa.types.is_struct(type):
        return None
    for i in range(type.num_fields):
        field = type.field(i)
        if path == field.name:
            steps.append(field.name)
            return field.type
        if path.startswith(field.name + INTO):
            steps.append(field.name)
            found = _inside(field.type, path[len(field.name + INTO) :], steps)
            if found is not None:
                return found
            steps.pop()
    return None


def parts(chunks: Iterable[pa.Array], steps: list[str]) -> Iterator[pa.Array]:
    """The part of a column that ``steps`` lead to, piece by piece."""
    before = rows = 0
    for chunk in chunks:
        for step in steps:
            if step == ROW:
                chunk = _numbers(np.arange(rows, rows + len(chunk)), chunk)
            elif step in (LOW, HIGH):
                lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
                ends = before + np.cumsum(lengths, dtype=np.int64)
                before = int(ends[-1]) if len(ends) else before
                chunk = pa.array(ends if step == HIGH else ends - lengths)
            else:
                chunk = pc.struct_field(chunk, [step])
        rows += len(chunk)
        yield chunk


def _numbers(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], chunk: pa.Array) -> pa.Array:
    return pa.array(numbers, mask=None if chunk.null_count == 0 else pc.is_null(chunk).to_numpy(zero_copy_only=False))


def elements(chunks: Iterable[pa.Array], steps: list[str], what: str) -> Iterator[pa.Array]:
    """The elements of all lists of a column, or of a part of one, one list behind the other. Raises DataError."""
    try:
        for chunk in parts(chunks, steps):
            yield pc.list_flatten(chunk)
    except pa.ArrowException as problem:
        raise DataError(f"{what} cannot be read: {problem}") from None
