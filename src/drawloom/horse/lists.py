"""Finds the list operations that kernels compute cell by cell, from a list in memory to razed reductions.

The geometry of lists (thesis section 4.3.3): what is computed of the elements of a list's cells has their cells, so
that nothing between is in memory. ``rows`` is a list that control code made, often a dictionary's values:

    cells = @each_right(@index, x, rows)    kept = @each_item(@compress, mask_cells, cells)
    twice = @each_item(@plus, kept, kept)   sums = @each(@sum, twice)    s = @raze(sums)

Vectors that are picked from (``x``) are read from memory. Where kernels do not compute masks and what they select
together, they are over one list in memory as well, but lists may leave them; compression of cells is control code then,
as it needs a prefix sum in each (the thesis has none either: section 7.5.2), and so is a ``@raze`` that its ``@each``
has not for its only reader, which has nothing to compute.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.evaluate import EXACT_POWERS, MAX_EXACT
from drawloom.horse.graph import Graph, Node
from drawloom.horse.ir import Call, FunctionRef, Literal, Name, Operand
from drawloom.horse.placement import PICKS, REDUCTIONS, Placement, is_loadable
from drawloom.horse.shapes import ONE, ListShape, base, operand_size
from drawloom.horse.templates import S64, fits, has_template
from drawloom.horse.types import ListType, Type, VectorType, scale_of

#: Builtins that call a function for each cell.
ELEMENTS: Final = frozenset(["each", "each_left", "each_right", "each_item"])
#: Most rows of a cell: a thread or warp takes all of them, so larger ones are the library's, which cuts them.
MAX_CELL: Final = 1 << 16


def lists_in_place(graph: Graph, placed: Placement, razes: bool) -> dict[str, str]:
    """The variables that kernels over lists compute, each with the list in memory whose cells they have.

    ``placed`` is the graph's placement without such kernels, and ``razes`` says whether a kernel razes what it reduces.
    Lists stay inside fused kernels: one that anything else reads is made by control code, and what is computed of it
    may have it for its list in memory.
    """
    if not placed.is_fused:
        return _Finder(graph, placed, set(), razes).found
    made_outside: set[str] = set()
    while True:
        finder = _Finder(graph, placed, made_outside, razes)
        found = finder.found
        wrong = {name for name in found if isinstance(placed.types[name], ListType) and not finder.stays_inside(name)}
        if not wrong:
            return found
        made_outside |= wrong


class _Finder:
    """``found`` as ``lists_in_place`` gives it; ``masks`` are the lists of booleans that select the elements of a list
    from those of its list in memory, outermost last."""

    def __init__(self, graph: Graph, placed: Placement, made_outside: set[str], razes: bool) -> None:
        self.graph = graph
        self.placed = placed
        self.razes = razes
        self.types = placed.types
        self.ranges = placed.ranges
        self.found: dict[str, str] = {}
        self.masks: dict[str, tuple[str, ...]] = {}
        for node in graph.nodes:
            if node.call is not None and node.name not in made_outside and node.name not in placed.grouped:
                self.visit(node, node.call)

    def stays_inside(self, name: str) -> bool:
        return name not in self.graph.live and all(r.name in self.found for r in self.graph.readers(name))

    def visit(self, node: Node, call: Call) -> None:
        function, first = call.function.name, call.arguments[0] if call.arguments else None
        if function == "raze" and isinstance(first, Name):
            if self.razes and first.name in self.found and self.is_reduced(first.name) and self.is_all(first.name):
                self.found[node.name] = self.found[first.name]
        elif function in ELEMENTS and isinstance(first, FunctionRef):
            lists = [a.name for a in call.arguments[1:] if isinstance(a, Name) and self.element(a.name) is not None]
            bases = {self.base_of(name) for name in lists}
            masks = {self.masks.get(name, ()) for name in lists}
            if len(bases) == 1 and len(masks) == 1 and "" not in bases and self.are_loaded(lists):
                (under,) = masks
                if self.has_template(call, first.name, node.name, lists):
                    self.found[node.name] = bases.pop()
                    self.masks[node.name] = (*under, lists[0]) if first.name == "compress" else under

    def element(self, name: str) -> VectorType | None:
        """The type of the elements of a list's cells; None for what is no list of vectors."""
        type = self.types.get(name)
        return type.element if isinstance(type, ListType) and isinstance(type.element, VectorType) else None

    def is_all(self, name: str) -> bool:
        """Whether a list needs not leave a kernel that razes it."""
        return self.placed.is_fused or (name not in self.graph.live and len(self.graph.readers(name)) == 1)

    def are_loaded(self, lists: list[str]) -> bool:
        """Whether a kernel can read the elements of lists that others leave it in memory."""
        types = [(name, self.element(name)) for name in lists]
        loaded = [t is not None and is_loadable(self.ranges.of(Name(name), t), t) for name, t in types]
        return self.placed.is_fused or all(loaded)

    def is_reduced(self, name: str) -> bool:
        node = self.graph.writer.get(name)
        call = None if node is None else node.call
        if call is None or call.function.name != "each" or not isinstance(call.arguments[0], FunctionRef):
            return False
        return call.arguments[0].name in REDUCTIONS

    def base_of(self, name: str) -> str:
        """The list in memory that a list has the cells of: itself, where control code makes it; "" where a kernel
        cannot have its elements."""
        if name in self.found and not self.is_reduced(name):
            return self.found[name]
        if name in self.found and self.placed.is_fused:
            return ""
        element, shape = self.element(name), self.placed.shapes.get(name)
        if element is None or element.kind == "text" or name in self.placed.grouped or not self.is_held(name, element):
            return ""
        return name if isinstance(shape, ListShape) and base(shape.size) is not None else ""

    def is_held(self, name: str, element: VectorType) -> bool:
        """Whether 64 bits with a sign have every element, as kernels read them."""
        range = self.ranges.of(Name(name), element)
        return element.kind not in ("int", "decimal") or (range is not None and fits(range, S64))

    def has_template(self, call: Call, inner: str, name: str, lists: list[str]) -> bool:
        """Whether a kernel can compute ``name``: the elements, or reductions, that calls of ``inner`` give."""
        function = call.function.name
        if function == "each" and inner in REDUCTIONS:
            return self.reduces(inner, lists[0])
        if function == "each_right" and inner == "index":
            return self.picks(call.arguments[1], lists[0])
        if function == "each_item" and inner == "compress":
            return self.placed.is_fused
        return self.element(name) is not None and self.computes(inner, call.arguments[1:])

    def reduces(self, function: str, cells: str) -> bool:
        """Whether the reduction has a template."""
        type = self.element(cells)
        assert type is not None
        if function == "len":
            return True
        range = self.ranges.of(Name(cells), type)
        if function in ("min", "max"):
            return type.is_float or (range is not None and fits(range, S64))
        if type.is_float:
            return True
        if range is None or type.kind == "text":
            return False
        most = max(abs(range[0]), abs(range[1])) * MAX_CELL
        if function == "sum":
            return most <= S64[1]
        scale = scale_of(type)
        return most <= MAX_EXACT and scale <= EXACT_POWERS and MAX_CELL * 10**scale <= MAX_EXACT

    def picks(self, source: Operand, rows: str) -> bool:
        by = self.element(rows)
        assert by is not None
        has = isinstance(source, Name) and self.placed.is_loaded(source)
        return has and operand_size(source, self.placed.shapes) != ONE and not by.is_float and by.kind != "text"

    def computes(self, function: str, operands: list[Operand]) -> bool:
        """An element-wise function of elements, and of scalars."""
        builtin = BUILTINS.get(function)
        if builtin is None or builtin.target != "gpu" or builtin.geometry != "r" or function in PICKS:
            return False
        types: dict[str, Type] = {}
        for operand in operands:
            if isinstance(operand, Name):
                element = self.element(operand.name)
                if element is None and operand_size(operand, self.placed.shapes) != ONE:
                    return False
                types[operand.name] = self.types[operand.name] if element is None else element
            elif isinstance(operand, Literal) and len(operand.values) != 1:
                return False
        return has_template(Call(FunctionRef(function), operands), types, self.ranges)
