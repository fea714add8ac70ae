"""The nodes of a dependence graph into those that kernels can compute, roots of kernels, and control code.

A root is a value that leaves a kernel: a reduction, or (with groups in place) a reduction by group. An element-wise
statement whose rows a kernel can have is inside: those of a stored table, those that control code made (a join's), and
what is picked by either. Everything else is control code, which runs after the kernels whose rows it reads; so does
what picks from such rows.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.graph import Graph, Node
from drawloom.horse.ir import Call, Name, Operand
from drawloom.horse.ranges import Range, Ranges
from drawloom.horse.shapes import ONE, Compressed, Dynamic, Shape, Size, Symbol, base, operand_size
from drawloom.horse.templates import S64, fits, has_template
from drawloom.horse.types import Type, VectorType

PICKS: Final = frozenset(["index", "outer_index"])
REDUCTIONS: Final = frozenset(["sum", "avg", "min", "max", "len"])


#: Element-wise calls that no kernel over lists has.
UNLISTED: Final = PICKS | {"compress", "where"}


class Root:
    """A value that leaves a kernel: the variable, the rows it runs over, when its inputs are ready, and its group.

    ``rows`` is the variable that has these rows first: a stored table's, a join's. ``group`` is that of the group that
    it is reduced by, "" without one; a kernel has one group at most.
    """

    def __init__(self, name: str, rows: str, level: int, group: str = "") -> None:
        self.name = name
        self.rows = rows
        self.level = level
        self.group = group


def is_loadable(range: Range | None, type: VectorType) -> bool:
    """Whether kernels read such elements out of memory."""
    return type.is_float or type.kind == "text" or fits(range, S64)


class Placement:
    """``inside`` are the statements that kernels compute and ``roots`` those whose values leave them, by variable;
    ``level`` is when a variable is first ready: the number of rounds of kernels before it.

    ``grouped`` are the members of groups that are aggregated in place, each with its rows and its group. ``listed`` is
    what kernels over lists compute, each with its list in memory: operations on the cells, what these reduce to, and
    what is computed of that. ``is_fused`` says that a kernel computes masks and what they select together. ``cut`` are
    the element-wise statements that leave their kernel because what reads them would have too many inputs.
    """

    def __init__(
        self,
        graph: Graph,
        types: dict[str, Type],
        ranges: Ranges,
        shapes: dict[str, Shape],
        grouped: dict[str, tuple[str, str]],
        listed: dict[str, str],
        is_fused: bool,
        cut: frozenset[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.grouped = grouped
        self.listed = dict(listed)
        self.list_steps = frozenset(listed)
        self.is_fused = is_fused
        self.cut = cut
        self.inside: set[str] = set()
        self.roots: dict[str, Root] = {}
        self.level: dict[str, int] = {}
        for node in graph.nodes:
            self.place(node)

    def place(self, node: Node) -> None:
        name = node.name
        if name not in self.listed and self.continues_list(node):
            self.listed[name] = next(iter({self.listed[n] for n in node.reads if n in self.listed}))
        gathered = {n for n in node.reads if n in self.inside and n not in self.roots and self.gathers(node, n)}
        level = max([self.level.get(n, 0) + (n in gathered) for n in node.reads], default=0)
        rows = self.rows_of(node)
        if name in self.grouped:
            self.inside.add(name)
            if node.function in ("raze", "index"):
                self.roots[name] = Root(name, self.grouped[name][0], level, self.grouped[name][1])
                level += 1
        elif name in self.list_steps:
            self.inside.add(name)
        elif rows is not None and self.is_reduction(node):
            self.roots[name] = Root(name, rows, level)
            level += 1
        elif rows is not None and self.is_element_wise(node):
            self.inside.add(name)
            if name in self.cut:
                self.roots[name] = Root(name, rows, level)
                level += 1
        else:
            # Control code runs after the kernel that makes the rows it reads.
            level = max([level, *[self.level[n] + 1 for n in node.reads if n in self.inside and n not in self.roots]])
        for target in node.statement.targets:
            self.level[target.name] = level

    def continues_list(self, node: Node) -> bool:
        """Whether a call is element-wise over what the cells of one list reduce to, in the kernel that does so."""
        lists = {self.listed[n] for n in node.reads if n in self.listed}
        if len(lists) != 1 or node.call is None or node.name in self.grouped or self.rows_of(node) is None:
            return False
        sizes = [operand_size(a, self.shapes) for a in node.call.arguments]
        if node.function in UNLISTED or any(isinstance(s, Compressed) for s in sizes):
            return False
        return self.is_element_wise(node)

    def is_in_kernel(self, name: str) -> bool:
        return name in self.inside or name in self.roots

    def rows_of(self, node: Node) -> str | None:
        """The rows that the call works on, by the variable that has them first; None for a call on anything else."""
        if node.call is None:
            return None
        found: Symbol | Dynamic | None = None
        sizes: list[Size] = []
        for place, argument in enumerate(node.call.arguments):
            size = operand_size(argument, self.shapes)
            if size == ONE and place == 0 and node.function in PICKS:
                return None  # a kernel has one value in a register
            if size is None or size == ONE:
                continue
            if place == 1 and node.function == "member":
                continue
            if place == 0 and node.function in PICKS:
                has = self.is_available(argument, size) if self.picks_itself(node) else self.is_in_memory(node.call)
                if not has:
                    return None
                continue
            found = base(size)
            if found is None or not self.is_available(argument, size):
                return None
            sizes.append(size)
        if found is None or any(s != sizes[0] for s in sizes):
            return None
        return found.variable

    def is_available(self, operand: Operand, size: Size) -> bool:
        """Whether a kernel can have the rows of an operand: it computes them, or all of them are in memory.

        Compressed rows that control code made are in memory as well, but their place there is not that of the rows
        that a kernel selects by the mask.
        """
        assert isinstance(operand, Name)
        node = self.graph.writer.get(operand.name)
        if operand.name in self.inside or node is None:
            return True
        return isinstance(size, Symbol | Dynamic) and self.is_loaded(operand)

    def is_loaded(self, operand: Name) -> bool:
        """Whether a kernel can read the elements out of memory."""
        type = self.types[operand.name]
        return isinstance(type, VectorType) and is_loadable(self.ranges.of(operand, type), type)

    def is_in_memory(self, pick: Call) -> bool:
        """Whether a kernel can pick from an operand: it is in memory before the kernel runs.

        What is computed over the very rows that pick from it would have to be read and computed under one name. Where
        rows travel through memory that does not happen, but kernels for such picks measured slower (TPC-H's Q5 and Q21
        by a tenth of the processor time); those from what cells reduce to are few.
        """
        operand, rows = pick.arguments
        if not isinstance(operand, Name) or not self.is_loaded(operand):
            return False
        size, over = [operand_size(a, self.shapes) for a in (operand, rows)]
        if size is None or over is None:
            return False
        leaves = operand.name in self.roots or (operand.name in self.listed and not self.is_fused)
        return operand.name not in self.inside or leaves or base(over) != base(size)

    def picks_itself(self, node: Node) -> bool:
        """Whether a call picks the rows that a mask of the same kernel selects: every thread has its own already."""
        if not self.is_fused or node.call is None or node.function not in PICKS:
            return False
        source, rows = node.call.arguments
        chosen = self.graph.writer.get(rows.name) if isinstance(rows, Name) else None
        if chosen is None or chosen.call is None or chosen.function != "where" or chosen.name not in self.inside:
            return False
        return operand_size(source, self.shapes) == operand_size(chosen.call.arguments[0], self.shapes)

    def gathers(self, node: Node, variable: str) -> bool:
        """Whether the statement needs all rows of the variable in memory before its kernel runs."""
        if variable in self.listed:
            return self.listed.get(node.name) != self.listed[variable]
        if node.name in self.list_steps:
            return True
        return node.gathers(variable) and node.name not in self.grouped and not self.picks_itself(node)

    def is_element_wise(self, node: Node) -> bool:
        if node.call is None or node.builtin is None or node.target != "gpu" or node.builtin.is_reduction:
            return False
        if node.function == "where" and self.is_fused and self.is_compressed(node.call.arguments[0]):
            return self.only_selects(node)
        if not isinstance(self.types[node.name], VectorType):
            return False
        return base(self.shapes[node.name].size) is not None and has_template(node.call, self.types, self.ranges)

    def only_selects(self, node: Node) -> bool:
        """Whether positions among compressed rows are only used to pick the very rows of these: a kernel over all rows
        does not count those that a mask leaves, but knows which ones they are."""
        assert node.call is not None
        size = operand_size(node.call.arguments[0], self.shapes)
        readers = self.graph.readers(node.name)
        picks = [r.call.arguments for r in readers if r.call is not None and r.function in PICKS]
        is_own = all(isinstance(a[1], Name) and a[1].name == node.name for a in picks)
        is_alike = all(operand_size(a[0], self.shapes) == size for a in picks)
        return node.name not in self.graph.live and len(picks) == len(readers) and is_own and is_alike

    def is_compressed(self, operand: Operand) -> bool:
        return isinstance(operand_size(operand, self.shapes), Compressed)

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
