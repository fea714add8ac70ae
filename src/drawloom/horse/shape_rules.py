"""The shape of a builtin's value from those of its arguments: one rule per name in the table of builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.ir import FunctionRef, Name, Operand, literal_value
from drawloom.horse.shapes import (
    ONE,
    Compressed,
    Constant,
    DictShape,
    Dynamic,
    EnumShape,
    ListShape,
    Shape,
    Size,
    Symbol,
    TableShape,
    Unknown,
    VectorShape,
    element_wise,
)


class UnlikeSizes(Exception):
    """Vectors of two constant lengths that do not go together."""

    def __init__(self, sizes: list[Size]) -> None:
        super().__init__(" and ".join([str(s) for s in sizes]))
        self.sizes = sizes


class Site:
    """A call: the variable that it is made for, and its arguments with their shapes. ``masks`` are the variables that
    stand for one mask wherever they are, each with the data that it is."""

    def __init__(self, name: str, operands: list[Operand], shapes: list[Shape], masks: dict[str, str]) -> None:
        self.name = name
        self.operands = operands
        self.shapes = shapes
        self.masks = masks

    def dynamic(self) -> Dynamic:
        return Dynamic(self.name)


Rule = Callable[[Site], Shape]


def shape_of(rule: str, site: Site) -> Shape:
    """The shape of a call by the rule of that name. Raises UnlikeSizes."""
    return RULES[rule](site)


def _vector_like(site: Site, shape: Shape) -> Shape:
    """A vector of a vector's size, else of one of its own."""
    return VectorShape(shape.size if isinstance(shape, VectorShape) else site.dynamic())


def _element_wise(site: Site) -> Shape:
    sizes: list[Size] = []
    for shape in site.shapes:
        if not isinstance(shape, VectorShape):
            return VectorShape(site.dynamic())
        sizes.append(shape.size)
    size = element_wise(site.name, sizes)
    if size is None:
        raise UnlikeSizes([s for s in sizes if s != ONE])
    return VectorShape(size)


def _compress(site: Site) -> Shape:
    """The rows under a mask, or (``where``) their positions."""
    mask, rows = site.shapes[0], site.shapes[-1]
    if isinstance(mask.size, Constant) and isinstance(rows.size, Constant) and mask.size not in (rows.size, ONE):
        raise UnlikeSizes([mask.size, rows.size])
    operand = site.operands[0] if site.operands else None
    known = site.masks.get(operand.name) if isinstance(operand, Name) else None
    is_selected = known is not None and isinstance(mask, VectorShape) and mask.size == rows.size
    size: Size = Compressed(rows.size, known) if known is not None and is_selected else site.dynamic()
    return EnumShape(size, rows.foreign) if isinstance(rows, EnumShape) else VectorShape(size)


def _index(site: Site) -> Shape:
    """As many as there are positions."""
    rows = _vector_like(site, site.shapes[1])
    return EnumShape(rows.size, site.shapes[0].foreign) if isinstance(site.shapes[0], EnumShape) else rows


# Lists


def _list(site: Site) -> Shape:
    return ListShape(Constant(len(site.shapes)), list(site.shapes))


def _both_rows(site: Site) -> Shape:
    return ListShape(Constant(2), [VectorShape(site.dynamic())])


def _cell_rows(site: Site) -> Shape:
    """As many as each cell of a list of columns has rows."""
    listed = site.shapes[0]
    cell = listed.each() if isinstance(listed, ListShape) else None
    is_each = cell is not None and isinstance(cell.size, Dynamic) and cell.size.is_each
    return VectorShape(site.dynamic()) if cell is None or is_each else _vector_like(site, cell)


def _item(site: Site) -> Shape:
    listed, place = site.shapes[0], site.operands[1] if len(site.operands) > 1 else None
    if not isinstance(listed, ListShape):
        return Unknown(site.name)
    cell, number = listed.each(), None if place is None else literal_value(place)
    if cell is None and isinstance(number, int):
        cell = listed.cells[number] if 0 <= number < len(listed.cells) else None
    if cell is None:
        return Unknown(site.name)
    is_each = isinstance(cell.size, Dynamic) and cell.size.is_each
    return VectorShape(site.dynamic()) if is_each and isinstance(cell, VectorShape) else cell


def _raze(site: Site) -> Shape:
    listed = site.shapes[0]
    cell = listed.each() if isinstance(listed, ListShape) else None
    if not isinstance(cell, VectorShape):
        are_vectors = isinstance(listed, ListShape) and all(isinstance(c, VectorShape) for c in listed.cells)
        return VectorShape(site.dynamic()) if are_vectors else Unknown(site.name)
    if cell.size == ONE:
        return VectorShape(listed.size)
    return VectorShape(cell.size if listed.size == ONE else site.dynamic())


def _each(site: Site) -> Shape:
    """The function's rule for each cell, or each pair of cells of two lists."""
    function = site.operands[0] if site.operands else None
    lists = [s for s in site.shapes[1:] if isinstance(s, ListShape)]
    if not isinstance(function, FunctionRef) or function.name not in BUILTINS or not lists or not lists[0].cells:
        return Unknown(site.name)
    count = max([len(s.cells) for s in lists])
    cells = [_cell(site, function.name, site.shapes[1:], i) for i in range(count)]
    return ListShape(lists[0].size, cells)


def _cell(site: Site, function: str, arguments: list[Shape], place: int) -> Shape:
    given = [a.cells[min(place, len(a.cells) - 1)] if isinstance(a, ListShape) and a.cells else a for a in arguments]
    made = shape_of(BUILTINS[function].shape, Site(site.name, [], given, {}))
    if isinstance(made, VectorShape) and made.size == site.dynamic():
        return VectorShape(Dynamic(site.name, True))
    return made


# Dictionaries, enumerations, tables


def _group(site: Site) -> Shape:
    size = site.dynamic()
    return DictShape(size, ListShape(size, [VectorShape(Dynamic(site.name, True))]))


def _keys(site: Site) -> Shape:
    given = site.shapes[0]
    if isinstance(given, EnumShape):
        return VectorShape(given.foreign)
    return VectorShape(given.size if isinstance(given, DictShape) else site.dynamic())


def _values(site: Site) -> Shape:
    given = site.shapes[0]
    if isinstance(given, EnumShape):
        return VectorShape(given.size)
    return given.values if isinstance(given, DictShape) else Unknown(site.name)


def _lookup(site: Site) -> Shape:
    given = site.shapes[0]
    if not isinstance(given, DictShape):
        return Unknown(site.name)
    found = _vector_like(site, site.shapes[1])
    if isinstance(given.values, VectorShape):
        return found
    return ListShape(found.size, [VectorShape(Dynamic(site.name, True))])


def _table(site: Site) -> Shape:
    """Out of its columns' names and a list of them."""
    listed = site.shapes[1]
    cell = listed.each() if isinstance(listed, ListShape) else None
    return TableShape(cell.size if isinstance(cell, VectorShape) else site.dynamic(), listed.size)


def _column_names(site: Site) -> Shape:
    given = site.shapes[0]
    return VectorShape(given.columns if isinstance(given, TableShape) else site.dynamic())


def _columns(site: Site) -> Shape:
    given = site.shapes[0]
    if not isinstance(given, TableShape):
        return Unknown(site.name)
    return ListShape(given.columns, [VectorShape(given.size)])


def _column(site: Site) -> Shape:
    return VectorShape(site.shapes[0].size if isinstance(site.shapes[0], TableShape) else site.dynamic())


RULES: Final[dict[str, Rule]] = {
    "stored": lambda site: TableShape(Symbol(site.name), Dynamic(site.name + ".columns")), "column": _column,
    "table": _table, "column_names": _column_names, "columns": _columns,
    "scalar": lambda site: VectorShape(ONE), "one": lambda site: VectorShape(ONE),
    "first": lambda site: site.shapes[0], "unary": lambda site: site.shapes[0],
    "second": lambda site: _vector_like(site, site.shapes[1]), "index": _index,
    "binary": _element_wise, "ternary": _element_wise,
    "compress": _compress, "where": _compress, "vector": lambda site: VectorShape(site.dynamic()),
    "list": _list, "pair": _both_rows, "rows": _cell_rows, "item": _item, "raze": _raze,
    "each": _each, "slices": lambda site: ListShape(site.shapes[2].size, [VectorShape(ONE)]),
    "third": lambda site: VectorShape(site.shapes[2].size), "group": _group, "keys": _keys, "values": _values,
    "enum": lambda site: EnumShape(site.shapes[0].size, site.shapes[1].size),
    "fetch": lambda site: VectorShape(site.shapes[0].size), "lookup": _lookup,
    "dict": lambda site: DictShape(site.shapes[0].size, site.shapes[1]),
}  # fmt: skip
