"""The outliner: splits control code into kernels and what is left, HorseIR to HorseIR (thesis sections 4.2.5, 4.2.6).

It works on the dependence graph of a block of straight-line code, in one of three modes:

- ``none``: every statement that has a template is a kernel of its own; rows go through memory.
- ``flow``: statements of one geometry are joined along data flow where no edge is synchronised (the thesis's step 1).
- ``full``: every reduction, every reduction by group and every row vector that control code needs is the root of a
  kernel. A kernel computes its roots from stored columns and scalars; the element-wise statements between are copied
  into each kernel that needs them, so that rows never go through memory. Roots over one table whose inputs are ready
  at the same time share a kernel: each column is read once. Compression stays a mask inside, and a group whose keys
  have few values is aggregated in place.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse import ranges as ranges_module
from drawloom.horse import shapes as shapes_module
from drawloom.horse.graph import Graph, Node
from drawloom.horse.groups import groups_in_place
from drawloom.horse.infer import variable_types
from drawloom.horse.ir import (
    Assign,
    Call,
    Function,
    FunctionRef,
    Module,
    Name,
    Operand,
    Param,
    Return,
    Statement,
    Target,
)
from drawloom.horse.placement import Placement, Root
from drawloom.horse.ranges import Facts, Ranges
from drawloom.horse.shapes import Shape
from drawloom.horse.types import Type, VectorType

MODES: Final = ("none", "flow", "full")


class Region:
    """A kernel to be: the variables that it returns, in order, and all that it computes; ``kernel`` is its name."""

    def __init__(self, roots: list[str], members: set[str]) -> None:
        self.roots = roots
        self.members = members
        self.kernel = ""


class Block:
    """A block of straight-line code and its kernels, in the order of their calls."""

    def __init__(self, graph: Graph, regions: list[Region]) -> None:
        self.graph = graph
        self.regions = regions


class Outline:
    """The outlined module, and the analyses of ``main`` that code generation reads.

    ``ranges`` and ``types`` are by the variable names of ``main``, which kernels keep. ``blocks`` is what was outlined.
    """

    def __init__(self, module: Module, types: dict[str, Type], ranges: Ranges, shapes: dict[str, Shape]) -> None:
        self.module = module
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.blocks: list[Block] = []


def outline(module: Module, facts: Facts, mode: str = "full") -> Outline:
    """The module with ``main`` split into kernels, by one of ``MODES``; as it is where ``main`` has control flow."""
    assert mode in MODES, mode
    main = module.function("main")
    if main is None or not shapes_module.is_straight(main.body):
        return Outline(module, {}, Ranges(), {})
    types = variable_types(main)
    ranges = ranges_module.analyse(main, types, facts)
    shapes = shapes_module.analyse(main)
    statements: list[Assign] = [s for s in main.body if isinstance(s, Assign)]
    last = main.body[-1]
    assert isinstance(last, Return)
    graph = Graph(statements, {v.name for v in last.values if isinstance(v, Name)}, shapes)
    placed = Placement(graph, types, ranges, shapes, {})
    if mode == "full":
        placed = Placement(graph, types, ranges, shapes, groups_in_place(graph, placed, facts))
    regions = _REGIONS[mode](placed)
    kernels: list[Function] = []
    builder = _Builder(placed, regions, kernels)
    body = builder.block()
    body.append(last)
    outlined = Function("main", main.params, main.returns, body)
    others = [f for f in module.functions if f is not main]
    split = Module(module.name, module.imports, [outlined, *kernels, *others]) if kernels else module
    made = Outline(split, types, ranges, shapes)
    made.blocks.append(Block(graph, builder.called))
    return made


# The three modes


def _none(placed: Placement) -> list[Region]:
    return [Region([n.name], {n.name}) for n in placed.graph.nodes if placed.is_in_kernel(n.name)]


def _flow(placed: Placement) -> list[Region]:
    """Figure 4.14: a statement joins the kernel of its successors, where they have one and no edge is synchronised."""
    graph = placed.graph
    joined: dict[str, str] = {}
    members: dict[str, set[str]] = {}
    for node in reversed(graph.nodes):
        if placed.is_in_kernel(node.name):
            joined[node.name] = _kernel_of_successors(placed, node, joined) or node.name
            members.setdefault(joined[node.name], set()).add(node.name)
    regions: list[Region] = []
    for inner in members.values():
        outside = [n for n in inner if any(e.sink.name not in inner for e in graph.successors[n])]
        regions.append(Region(sorted([*outside, *(graph.live & inner.difference(outside))], key=graph.order), inner))
    return regions


def _kernel_of_successors(placed: Placement, node: Node, joined: dict[str, str]) -> str:
    """The kernel that all successors of a node are in, if the node can join it; "" otherwise."""
    graph = placed.graph
    edges = graph.successors[node.name]
    kernels = {joined.get(e.sink.name, "") for e in edges}
    if len(kernels) != 1 or node.name in graph.live or any(e.is_synchronised for e in edges):
        return ""
    kernel = kernels.pop()
    is_alike = kernel and node.geometry is not None and graph.writer[kernel].geometry == node.geometry
    return kernel if is_alike else ""


def _full(placed: Placement) -> list[Region]:
    """Roots that are ready at the same time, of one table and one group, and the slices that compute them."""
    graph = placed.graph
    roots = dict(placed.roots)
    for name in sorted(placed.inside, key=graph.order):
        # Row vectors that control code reads leave the kernel too.
        if name in roots or not isinstance(placed.types[name], VectorType):
            continue
        outside = [n for n in graph.readers(name) if not placed.is_in_kernel(n.name)]
        table = shapes_module.base(placed.shapes[name].size)
        if (outside or name in graph.live) and table is not None:
            roots[name] = Root(name, table.table, placed.level[name])
    alike: dict[tuple[int, int, int, str], list[str]] = {}
    for root in roots.values():
        key = (root.level, graph.order(root.table), graph.order(root.group), root.table)
        alike.setdefault(key, []).append(root.name)
    needed = graph.needed()
    regions: list[Region] = []
    for key in sorted(alike):
        names = sorted([n for n in alike[key] if n in needed], key=graph.order)
        if names:
            regions.append(Region(names, _slice(placed, names)))
    return regions


def _slice(placed: Placement, roots: list[str]) -> set[str]:
    """The roots and the inside statements that they depend on."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found and (name in roots or name in placed.inside):
            found.add(name)
            todo.extend([e.source.name for e in placed.graph.predecessors[name]])
    return found


_REGIONS: Final = {"none": _none, "flow": _flow, "full": _full}


# The builder


class _Builder:
    """Kernels out of regions, appended to ``kernels``, and the control code that calls them."""

    def __init__(self, placed: Placement, regions: list[Region], kernels: list[Function]) -> None:
        self.graph = placed.graph
        self.types = placed.types
        self.placed = placed
        self.kernels = kernels
        self.needed = placed.graph.needed()
        self.regions = [r for r in regions if self.needed.intersection(r.members)]
        #: The regions in the order of their calls.
        self.called: list[Region] = []

    def block(self) -> list[Statement]:
        """Control code and calls of kernels, each as early as its inputs are ready, control code first."""
        made: list[Statement] = []
        control = [n for n in self.graph.nodes if n.name in self.needed and not self.placed.is_in_kernel(n.name)]
        regions = self.regions
        ready: set[str] = set()
        while control or regions:
            waiting: list[Node] = []
            for node in control:
                if self.is_ready(node.name, ready):
                    made.append(node.statement)
                    ready.add(node.name)
                else:
                    waiting.append(node)
            now = [r for r in regions if all(self.is_ready(m, ready | r.members) for m in r.members)]
            assert now or len(waiting) < len(control), "kernels wait for each other"
            for region in now:
                region.kernel = f"main_{len(self.kernels)}"
                kernel = self.kernel(region)
                self.kernels.append(kernel)
                self.called.append(region)
                made.append(self.call(kernel, region.roots))
                ready.update(region.roots)
            control, regions = waiting, [r for r in regions if r not in now]
        return made

    def is_ready(self, name: str, ready: set[str]) -> bool:
        return all(e.source.name in ready for e in self.graph.predecessors[name])

    def kernel(self, region: Region) -> Function:
        """The statements of a region; its parameters are what they read and do not compute."""
        nodes = [n for n in self.graph.nodes if n.name in region.members]
        read = {v for n in nodes for v in n.reads if v not in region.members}
        params = [Param(p, self.types[p]) for p in sorted(read, key=lambda p: (self.graph.order(p), p))]
        body: list[Statement] = [n.statement for n in nodes]
        body.append(Return([Name(r) for r in region.roots]))
        return Function(region.kernel, params, [self.types[r] for r in region.roots], body, True)

    def call(self, kernel: Function, roots: list[str]) -> Assign:
        arguments: list[Operand] = [Name(p.name) for p in kernel.params]
        targets = [Target(r, self.types[r]) for r in roots]
        return Assign(targets, Call(FunctionRef(kernel.name), arguments))
