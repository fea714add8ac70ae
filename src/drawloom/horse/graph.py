"""A block of straight-line code to its augmented dependence graph (thesis section 4.2.2).

Nodes are statements; each has a target (``cpu``, ``gpu`` or ``lib``, the builtin's) and a geometry (section 4.2.4),
what its threads are laid out by: the size of vectors, or cells with the elements of each. An edge says that one
statement reads what another writes; it is synchronised where the rows written are scattered or the rows read are
gathered, so that both cannot be of one kernel. Within a block no variable is written twice, or written after it is
read: there are no other dependences than these.
"""

from __future__ import annotations

from drawloom.horse.builtins import BUILTINS, Builtin
from drawloom.horse.ir import Assign, Call, CheckCast, FunctionRef, Name, Operand, reads
from drawloom.horse.shapes import ListShape, Shape, Size, VectorShape, operand_size


class Node:
    """``name`` is the first variable that the statement writes, ``index`` its place in the block, from 0.

    ``builtin`` is None for what is no call of one, ``call`` also for a call under a cast, ``geometry`` where no size is
    known.
    """

    def __init__(self, index: int, statement: Assign, shapes: dict[str, Shape]) -> None:
        self.index = index
        self.statement = statement
        self.name = statement.targets[0].name
        self.reads = reads(statement)
        value = statement.value
        inner = value.value if isinstance(value, CheckCast) else value
        self.builtin: Builtin | None = BUILTINS.get(inner.function.name) if isinstance(inner, Call) else None
        self.call: Call | None = value if isinstance(value, Call) and self.builtin is not None else None
        self.target = "cpu" if self.builtin is None else self.builtin.target
        self.geometry = self._geometry(shapes)

    def _geometry(self, shapes: dict[str, Shape]) -> Size | ListShape | None:
        if self.call is None or self.builtin is None:
            return None
        if self.builtin.shape == "each":
            return _of_cells(self.call, shapes, shapes[self.name])
        place, arguments = self.builtin.geometry, self.call.arguments
        if place == "-" or (place != "r" and int(place) > len(arguments)):
            return None
        if place == "r":
            return shapes[self.name].size
        listed = _listed(arguments[int(place) - 1], shapes)
        if listed is None:
            return operand_size(arguments[int(place) - 1], shapes)
        if self.builtin.shape == "raze":
            return listed
        columns = listed.each()
        return columns.size if isinstance(columns, VectorShape) else None

    @property
    def function(self) -> str:
        """The builtin's name, "" for what is no call of one."""
        return "" if self.builtin is None else self.builtin.name

    def gathers(self, variable: str) -> bool:
        """Whether the statement reads the variable's rows across threads."""
        if self.call is None or self.builtin is None:
            return True
        places = [i for i, a in enumerate(self.call.arguments) if isinstance(a, Name) and a.name == variable]
        return any(place in self.builtin.reads for place in places)

    def scatters(self) -> bool:
        """Whether the statement writes its rows across threads."""
        return self.builtin is None or self.builtin.writes


def _listed(operand: Operand, shapes: dict[str, Shape]) -> ListShape | None:
    """The shape of an operand that is a list."""
    shape = shapes.get(operand.name) if isinstance(operand, Name) else None
    return shape if isinstance(shape, ListShape) else None


def _of_cells(call: Call, shapes: dict[str, Shape], result: Shape) -> ListShape | None:
    """The geometry of ``@each`` and its kin: as many cells as the list, and in each what the function's geometry is."""
    function = call.arguments[0]
    builtin = BUILTINS.get(function.name) if isinstance(function, FunctionRef) else None
    if builtin is None or builtin.geometry == "-" or not isinstance(result, ListShape):
        return None
    if builtin.geometry == "r":
        return result
    operand = call.arguments[int(builtin.geometry)]
    listed = _listed(operand, shapes)
    if listed is not None:
        return ListShape(result.size, listed.cells)
    size = operand_size(operand, shapes)
    return None if size is None else ListShape(result.size, [VectorShape(size)])


class Edge:
    """``sink`` reads ``variable``, which ``source`` writes."""

    def __init__(self, source: Node, sink: Node, variable: str) -> None:
        self.source = source
        self.sink = sink
        self.variable = variable
        self.is_synchronised = source.scatters() or sink.gathers(variable)


class Graph:
    """``nodes`` are in the block's order, which is a topological one; ``live`` are the variables read behind it.

    ``successors`` and ``predecessors`` are by a node's name, ``writer`` by variable.
    """

    def __init__(self, block: list[Assign], live: set[str], shapes: dict[str, Shape]) -> None:
        self.nodes = [Node(i, s, shapes) for i, s in enumerate(block)]
        self.live = live
        self.writer: dict[str, Node] = {t.name: n for n in self.nodes for t in n.statement.targets}
        self.successors: dict[str, list[Edge]] = {n.name: [] for n in self.nodes}
        self.predecessors: dict[str, list[Edge]] = {n.name: [] for n in self.nodes}
        for node in self.nodes:
            for variable in dict.fromkeys(node.reads):
                source = self.writer.get(variable)
                if source is not None:
                    edge = Edge(source, node, variable)
                    self.successors[source.name].append(edge)
                    self.predecessors[node.name].append(edge)

    def readers(self, variable: str) -> list[Node]:
        """The statements that read a variable of this block, in order."""
        source = self.writer[variable]
        return [e.sink for e in self.successors[source.name] if e.variable == variable]

    def order(self, variable: str) -> int:
        """Where the variable is written; -1 for one from before the block."""
        node = self.writer.get(variable)
        return -1 if node is None else node.index

    def needed(self) -> set[str]:
        """The names of the nodes that something live depends on."""
        todo = [self.writer[v].name for v in sorted(self.live) if v in self.writer]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo.extend([e.source.name for e in self.predecessors[name]])
        return found
