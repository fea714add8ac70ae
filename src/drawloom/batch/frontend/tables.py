"""Constants of file scope: their values are known while the file is parsed, and each group of a kernel has them.

    before: __constant float t[] = {0.5f, 1.5f};        after: a `__local` variable with these values

A table that is indexed at run time is a register of one row. An element whose index is known is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.frontend.objects import Array, Members, Place, Storage, Struct, Type, count_scalars
from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import Variable
from drawloom.batch.types import ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A constant of file scope. `values` are its scalars in their order, NumPy scalars of their types."""

    name: str
    type: Type
    values: tuple[np.generic, ...] = field(repr=False)
    position: Position


#: Makes a variable: its name, type, extent and values.
MakeVariable = Callable[[str, ScalarType, int, NDArray[Any]], Variable]


def build_table(table: Table, make: MakeVariable) -> Place:
    """Return a table's place, with new variables for its scalars."""
    values = np.empty((1, len(table.values)), object)
    values[0] = table.values
    return Place(build_storage(table.name, table.type, values, 0, make), None, table.type, True)


def build_storage(name: str, type: Type, values: NDArray[Any], extent: int, make: MakeVariable) -> Storage:
    """Return the variables of objects of a type, of which `values` has a row for each."""
    if isinstance(type, Array):
        extent = max(extent, 1) * type.extent
        return build_storage(name, type.element, values.reshape(extent, -1), extent, make)
    if isinstance(type, ScalarType):
        return make(name, type, extent, values[:, 0].astype(type.dtype))
    return Members(name, dict(build_fields(name, type, values, extent, make)))


def build_fields(
    name: str, struct: Struct, values: NDArray[Any], extent: int, make: MakeVariable
) -> Iterable[tuple[str, Storage]]:
    first = 0
    for field_name, type in struct.fields.items():
        count = count_scalars(type)
        columns = values[:, first : first + count]
        yield field_name, build_storage(f"{name}.{field_name}", type, columns, extent, make)
        first += count
