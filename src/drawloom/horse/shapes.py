"""The shapes of values and how two of them merge (thesis section 4.2.3, tables 4.2 and 4.3, figures 4.8 and 4.9).

    Shape ::= Vector(Size) | List(Size, [Shape]) | Enumeration(Size, Size) | Dictionary(Size, Shape)
            | Table(Size, Size) | ?
    Size  ::= Constant(k) | Symbol(table) | Compressed(Size, mask) | Dynamic(variable)

A list has as many cells as its size says, and one shape for each of them or one for all; a dictionary the shape of its
values; a table rows and columns. A dynamic size is named after the variable that first had it, so that two variables
made to one length stay equal: both rows of a join, what is picked by them, and what is computed from that.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.ir import Assign, Literal, Name, Operand, Return, Statement
from drawloom.horse.types import TABLE, DictType, EnumType, ListType, Type, VectorType


class Size:
    """A size; equal when printed alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


class Constant(Size):
    def __init__(self, count: int) -> None:
        super().__init__(str(count))
        self.count = count


class Symbol(Size):
    """The rows of a stored table, by the variable that loads it."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"`{variable}")
        self.variable = variable


class Compressed(Size):
    """The rows of ``size`` where the boolean vector ``mask`` is true."""

    def __init__(self, size: Size, mask: str) -> None:
        super().__init__(f"{size}[{mask}]")
        self.size = size
        self.mask = mask


class Dynamic(Size):
    """What only the run tells, by the variable that has so many rows; with ``is_each`` by the list whose cells have so
    many, each another number."""

    def __init__(self, variable: str, is_each: bool = False) -> None:
        super().__init__(f"?{variable}[]" if is_each else f"?{variable}")
        self.variable = variable
        self.is_each = is_each


class Shape:
    """A shape; equal when printed alike. ``size`` is that of its rows, cells, keys or groups."""

    def __init__(self, text: str, size: Size) -> None:
        self.text = text
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


class VectorShape(Shape):
    def __init__(self, size: Size) -> None:
        super().__init__(f"Vector({size})", size)


class ListShape(Shape):
    """``cells`` has the shape of each cell, or one that all have."""

    def __init__(self, size: Size, cells: list[Shape]) -> None:
        super().__init__(f"List({size}, [{', '.join([str(c) for c in cells])}])", size)
        self.cells = cells

    def each(self) -> Shape | None:
        """The shape that all cells have; None where they differ."""
        return self.cells[0] if self.cells and all(c == self.cells[0] for c in self.cells) else None


class EnumShape(Shape):
    """So many foreign keys into a column of the size ``foreign``."""

    def __init__(self, size: Size, foreign: Size) -> None:
        super().__init__(f"Enumeration({size}, {foreign})", size)
        self.foreign = foreign


class DictShape(Shape):
    def __init__(self, size: Size, values: Shape) -> None:
        super().__init__(f"Dictionary({size}, {values})", size)
        self.values = values


class TableShape(Shape):
    """``size`` rows of so many ``columns``."""

    def __init__(self, rows: Size, columns: Size) -> None:
        super().__init__(f"Table({rows}, {columns})", rows)
        self.columns = columns


class Unknown(Shape):
    """The wildcard: the greatest element. Its size is that of nothing else."""

    def __init__(self, variable: str) -> None:
        super().__init__("?", Dynamic(variable))


def dynamic_shape(type: Type, name: str) -> Shape:
    """Figure 4.9: what is known of a parameter by its type."""
    size = Dynamic(name)
    if isinstance(type, VectorType):
        return VectorShape(size)
    if isinstance(type, ListType):
        return ListShape(size, [_cells_of(type.element, name)])
    if isinstance(type, EnumType):
        return EnumShape(size, Dynamic(name + ".foreign"))
    if isinstance(type, DictType):
        is_list = isinstance(type.value, ListType)
        return DictShape(size, ListShape(size, [_cells_of(type.value, name)]) if is_list else VectorShape(size))
    return TableShape(size, Dynamic(name + ".columns")) if type == TABLE else Unknown(name)


def _cells_of(type: Type, name: str) -> Shape:
    element = type.element if isinstance(type, ListType) else type
    return VectorShape(Dynamic(name, True)) if isinstance(element, VectorType) else Unknown(name)


class Merge:
    """Figure 4.8. ``label`` names the sizes that a merge makes: the variable, and the point where its paths meet, so
    that merging what was made there before makes nothing new."""

    def __init__(self, label: str) -> None:
        self.label = label

    def shape(self, first: Shape, second: Shape, part: str = "") -> Shape:
        if first == second:
            return first
        size = self.size(first.size, second.size, part)
        if isinstance(first, VectorShape) and isinstance(second, VectorShape):
            return VectorShape(size)
        if isinstance(first, ListShape) and isinstance(second, ListShape):
            return self.lists(first, second, size, part)
        if isinstance(first, EnumShape) and isinstance(second, EnumShape):
            return EnumShape(size, self.size(first.foreign, second.foreign, part + ".foreign"))
        if isinstance(first, DictShape) and isinstance(second, DictShape):
            return DictShape(size, self.shape(first.values, second.values, part + ".values"))
        if isinstance(first, TableShape) and isinstance(second, TableShape):
            return TableShape(size, self.size(first.columns, second.columns, part + ".columns"))
        return Unknown(self.label + part)

    def lists(self, first: ListShape, second: ListShape, size: Size, part: str) -> Shape:
        if first.size == second.size and len(first.cells) == len(second.cells):
            pairs = enumerate(zip(first.cells, second.cells))
            return ListShape(size, [self.shape(a, b, f"{part}.{i}") for i, (a, b) in pairs])
        are_vectors = all(isinstance(c, VectorShape) for c in [*first.cells, *second.cells])
        return ListShape(size, [VectorShape(Dynamic(self.label + part, True)) if are_vectors else Unknown(self.label)])

    def size(self, first: Size, second: Size, part: str) -> Size:
        if first == second:
            return first
        if isinstance(first, Compressed) and isinstance(second, Compressed) and first.size == second.size:
            return Compressed(first.size, self.label + part)
        return Dynamic(self.label + part, _is_each(first) or _is_each(second))


def _is_each(size: Size) -> bool:
    return isinstance(size, Dynamic) and size.is_each


ONE: Final = Constant(1)


def element_wise(name: str, sizes: list[Size]) -> Size | None:
    """Table 4.4: scalars are spread, equal sizes are kept, others are only known at run time, by ``name``; None for two
    constants that do not go together."""
    found: Size = ONE
    for size in sizes:
        if size in (found, ONE):
            continue
        if isinstance(found, Constant) and isinstance(size, Constant) and found != ONE:
            return None
        found = size if found == ONE else Dynamic(name)
    return found


def base(size: Size) -> Symbol | Dynamic | None:
    """The rows that ``size`` counts or selects from, a stored table's or those of a run; None for a constant."""
    while isinstance(size, Compressed):
        size = size.size
    return size if isinstance(size, Symbol | Dynamic) else None


def operand_size(operand: Operand, shapes: dict[str, Shape]) -> Size | None:
    """The size of a vector operand; None for anything else."""
    if isinstance(operand, Literal):
        return Constant(len(operand.values))
    if isinstance(operand, Name):
        shape = shapes.get(operand.name)
        return shape.size if isinstance(shape, VectorShape) else None
    return None


def is_straight(body: list[Statement]) -> bool:
    """Whether the body is assignments and then one return."""
    return bool(body) and isinstance(body[-1], Return) and all(isinstance(s, Assign) for s in body[:-1])
