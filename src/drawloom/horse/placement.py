"""The nodes of a dependence graph into those that kernels can compute, roots of kernels, and control code.

A root is a value that leaves a kernel: a reduction, or (with groups in place) a reduction by group. An element-wise
statement whose rows a kernel can have is inside. Everything else is control code, which runs after the kernels whose
rows it reads.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.graph import Graph, Node
from drawloom.horse.ir import Name, Operand
from drawloom.horse.ranges import Ranges
from drawloom.horse.shapes import Compressed, Constant, Shape, Size, Symbol, base, operand_size
from drawloom.horse.templates import S64, fits, has_template
from drawloom.horse.types import BOOL, Type, VectorType

#: What gives a column as it lies in memory.
_STORED: Final = frozenset(["column_value", "column_valid"])
#: What makes masks over a whole table as control code.
_HOST_MASKS: Final = frozenset(["like", "member", "contains", "touched"])
REDUCTIONS: Final = frozenset(["sum", "avg", "min", "max", "len"])


class Root:
    """A value that leaves a kernel: the variable, the table it runs over, when its inputs are ready, and its group.

    ``group`` is the variable of the group that it is reduced by, "" without one; a kernel has one group at most.
    """

    def __init__(self, name: str, table: str, level: int, group: str = "") -> None:
        self.name = name
        self.table = table
        self.level = level
        self.group = group


class Placement:
    """``inside`` are the statements that kernels compute and ``roots`` those whose values leave them, by variable;
    ``level`` is when a variable is first ready: the number of rounds of kernels before it.

    ``grouped`` are the members of groups that are aggregated in place, each with its table and its group.
    """

    def __init__(
        self,
        graph: Graph,
        types: dict[str, Type],
        ranges: Ranges,
        shapes: dict[str, Shape],
        grouped: dict[str, tuple[str, str]],
    ) -> None:
        self.graph = graph
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.grouped = grouped
        self.inside: set[str] = set()
        self.roots: dict[str, Root] = {}
        self.level: dict[str, int] = {}
        for node in graph.nodes:
            self.place(node)

    def place(self, node: Node) -> None:
        name = node.name
        level = max([self.level.get(n, 0) for n in node.reads], default=0)
        table = self.table_of(node)
        if name in self.grouped:
            self.inside.add(name)
            if node.function in ("raze", "index"):
                self.roots[name] = Root(name, self.grouped[name][0], level, self.grouped[name][1])
                level += 1
        elif table is not None and self.is_reduction(node):
            self.roots[name] = Root(name, table, level)
            level += 1
        elif table is not None and self.is_element_wise(node):
            self.inside.add(name)
        else:
            # Control code runs after the kernel that makes the rows it reads.
            level = max([level, *[self.level[n] + 1 for n in node.reads if n in self.inside and n not in self.roots]])
        for target in node.statement.targets:
            self.level[target.name] = level

    def is_in_kernel(self, name: str) -> bool:
        return name in self.inside or name in self.roots

    def table_of(self, node: Node) -> str | None:
        """The table whose rows the call works on, by its variable; None where it works on something else."""
        if node.call is None:
            return None
        found: Symbol | None = None
        sizes: list[Size] = []
        for argument in node.call.arguments:
            size = operand_size(argument, self.shapes)
            if size is None or (isinstance(size, Constant) and size.count == 1):
                continue
            if node.function == "member" and argument is node.call.arguments[1]:
                continue
            found = base(size)
            if found is None or not self.is_available(argument, size):
                return None
            sizes.append(size)
        if found is None or any(s != sizes[0] for s in sizes):
            return None
        return found.table

    def is_available(self, operand: Operand, size: Size) -> bool:
        """Whether a kernel can have the rows of an operand: it computes them, or they are a whole column in memory.

        Besides stored columns these are masks that control code makes, such as LIKE over a large dictionary, and what
        an earlier block made.
        """
        assert isinstance(operand, Name)
        node = self.graph.writer.get(operand.name)
        if operand.name in self.inside or node is None:
            return True
        if not isinstance(size, Symbol):
            return False
        return node.function in _STORED or (self.types[operand.name] == BOOL and node.function in _HOST_MASKS)

    def is_element_wise(self, node: Node) -> bool:
        if node.call is None or node.builtin is None or node.target != "gpu" or node.builtin.is_reduction:
            return False
        size = self.shapes[node.name].size
        return isinstance(size, Symbol | Compressed) and has_template(node.call, self.types, self.ranges)

    def is_reduction(self, node: Node) -> bool:
        return (
            node.call is not None
            and node.function in REDUCTIONS
            and self.reduces(node.function, node.call.arguments[0])
        )

    def reduces(self, name: str, operand: Operand) -> bool:
        """Whether the reduction has a template for the operand."""
        if name == "len":
            return True
        type = self.types[operand.name] if isinstance(operand, Name) else None
        if not isinstance(type, VectorType):
            return False
        if type.kind == "text":
            return name in ("min", "max") and self.ranges.of(operand, type) is not None
        return type.is_float or fits(self.ranges.of(operand, type), S64)
