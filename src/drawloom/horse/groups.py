"""Finds the groups that a kernel aggregates in place, from the list of their keys to their razed reductions.

That is how ``@group`` is written down, so nothing else may read what lies between (thesis section 4.2.5):

    gl = @list(k0, k1)    g = @group(gl)    firsts = @keys(g)    rows = @values(g)
    key = @index(k0, firsts)
    cells = @each_right(@index, x, rows)    kept = @each_item(@compress, mask_cells, cells)
    sums = @each(@sum, kept)    s = @raze(sums)
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.graph import Graph, Node
from drawloom.horse.ir import Call, FunctionRef, Name, Operand
from drawloom.horse.placement import REDUCTIONS, Placement
from drawloom.horse.ranges import Facts
from drawloom.horse.shapes import base, operand_size
from drawloom.horse.types import VectorType

#: Groups that a kernel aggregates in place, by the product of the sizes of the keys' ranges: so many anyway, and as
#: many as there are rows. (6,000,000 rows take 110 ms for any number of groups from 30,000 on, where sorting them
#: takes 360; docs/horse.md.)
FEW_GROUPS: Final = 1 << 16
#: Most entries of a table of groups: 512 MiB. A reduction has three at most, and one tells which groups there are.
MAX_ENTRIES: Final = 1 << 26


def groups_in_place(graph: Graph, placed: Placement, facts: Facts) -> dict[str, tuple[str, str]]:
    """The variables of groups that are aggregated in place, each with the variable of its rows and its group's.

    ``placed`` is the graph's placement without such groups.
    """
    finder = _Finder(graph, placed, facts)
    found: dict[str, tuple[str, str]] = {}
    for node in graph.nodes:
        if node.function == "group" and node.call is not None:
            rows, members = finder.members(node, node.call)
            found.update(dict.fromkeys(members, (rows, node.name)))
    return found


class _Finder:
    def __init__(self, graph: Graph, placed: Placement, facts: Facts) -> None:
        self.graph = graph
        self.placed = placed
        self.facts = facts
        self.types = placed.types
        self.shapes = placed.shapes

    def members(self, node: Node, call: Call) -> tuple[str, list[str]]:
        """The group's rows and variables; none where it cannot be aggregated in place."""
        nothing: tuple[str, list[str]] = ("", [])
        listed = call.arguments[0]
        keys = self.call_of(listed)
        if not isinstance(listed, Name) or keys is None or keys.function.name != "list":
            return nothing
        found = self.key_rows(keys.arguments)
        if found is None or len(self.graph.readers(listed.name)) != 1:
            return nothing
        rows, groups = found
        key_names = [k.name for k in keys.arguments if isinstance(k, Name)]
        members = [listed.name, node.name]
        for user in self.graph.readers(node.name):
            members.append(user.name)
            more = self.first_rows(user.name, key_names) if user.function == "keys" else self.cells(user.name)
            if more is None or user.call is None:
                return nothing
            members.extend(more)
        reductions = [m for m in members if self.graph.writer[m].function == "each"]
        if groups * (3 * len(reductions) + 1) > MAX_ENTRIES:
            return nothing
        results = [m for m in members if self.graph.writer[m].function in ("raze", "index")]
        return nothing if self.graph.live.intersection(members).difference(results) else (rows, members)

    def call_of(self, operand: Operand) -> Call | None:
        node = self.graph.writer.get(operand.name) if isinstance(operand, Name) else None
        return None if node is None else node.call

    def key_rows(self, keys: list[Operand]) -> tuple[str, int] | None:
        """The rows of a group's keys and how many groups there can be, when they are few enough; None otherwise."""
        groups = 1
        found: set[str] = set()
        sizes: set[str] = set()
        for key in keys:
            type = self.types.get(key.name) if isinstance(key, Name) else None
            size = operand_size(key, self.shapes)
            if not isinstance(type, VectorType) or size is None or not self.placed.is_available(key, size):
                return None
            range = self.placed.ranges.of(key, type)
            rows_of_key = base(size)
            if range is None or rows_of_key is None or type.is_float:
                return None
            groups *= max(range[1] - range[0] + 1, 1)
            found.add(rows_of_key.variable)
            sizes.add(str(size))
        if len(sizes) != 1:
            return None
        rows = found.pop()
        return (rows, groups) if groups <= max(FEW_GROUPS, self.most_rows(rows)) else None

    def most_rows(self, variable: str) -> int:
        """The rows of a stored table. What else a join makes has not many more rows than the largest of its tables;
        where it has too few at run time, the launch decides again."""
        tables = self.placed.ranges.tables
        known = [tables[variable]] if variable in tables else list(tables.values())
        return max([self.facts.rows(table) for table in known], default=0)

    def first_rows(self, name: str, keys: list[str]) -> list[str] | None:
        """The keys of the groups: the only thing that may be read at the groups' first rows."""
        members: list[str] = []
        for user in self.graph.readers(name):
            if user.call is None or user.function != "index":
                return None
            key, index = user.call.arguments
            if not (isinstance(key, Name) and key.name in keys and isinstance(index, Name) and index.name == name):
                return None
            members.append(user.name)
        return members

    def cells(self, name: str) -> list[str] | None:
        """From the groups' rows through @each_right(@index), masks and @each(reduction) to @raze."""
        members: list[str] = []
        todo = [name]
        while todo:
            for user in self.graph.readers(todo.pop()):
                if user.name in members:
                    continue
                if user.call is None or not self.is_cell_step(user.call):
                    return None
                members.append(user.name)
                if user.function != "raze":
                    todo.append(user.name)
        return members

    def is_cell_step(self, call: Call) -> bool:
        name = call.function.name
        if name == "raze":
            made = self.call_of(call.arguments[0])
            return made is not None and made.function.name == "each"
        inner = call.arguments[0]
        if not isinstance(inner, FunctionRef):
            return False
        if name == "each_right":
            rows = call.arguments[1]
            size = operand_size(rows, self.shapes)
            is_row_vector = size is not None and isinstance(rows, Name) and self.placed.is_available(rows, size)
            return inner.name == "index" and is_row_vector
        if name == "each_item":
            return inner.name == "compress"
        if name != "each" or inner.name not in REDUCTIONS:
            return False
        rows_of = self.cell_rows(call.arguments[1])
        return inner.name == "len" or (rows_of is not None and self.placed.reduces(inner.name, rows_of))

    def cell_rows(self, cells: Operand) -> Operand | None:
        """The row vector whose cells an @each_right or @each_item made."""
        call = self.call_of(cells)
        if call is None or call.function.name not in ("each_right", "each_item"):
            return None
        return call.arguments[1] if call.function.name == "each_right" else self.cell_rows(call.arguments[2])
