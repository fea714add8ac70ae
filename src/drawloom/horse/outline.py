"""The outliner: splits control code into kernels and what is left, HorseIR to HorseIR (thesis sections 4.2.5, 4.2.6).

It works on the dependence graphs of ``main``'s blocks of straight-line code, also those inside loops and branches, in
one of three modes:

- ``none``: every statement that has a template is a kernel of its own; rows go through memory.
- ``flow``: statements of one geometry are joined along data flow where no edge is synchronised (the thesis's step 1).
- ``full``: every reduction, every reduction by group and every row vector that control code needs is the root of a
  kernel. A kernel computes its roots from stored columns and scalars; the element-wise statements between are copied
  into each kernel that needs them, so that rows never go through memory. Roots over one table whose inputs are ready
  at the same time share a kernel: each column is read once. Compression stays a mask inside, and a group whose keys
  have few values is aggregated in place. No kernel has more columns than ``widths.py`` says.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse import ranges as ranges_module
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.dataflow import Variables
from drawloom.horse.graph import Graph, Node
from drawloom.horse.groups import groups_in_place
from drawloom.horse.infer import variable_types
from drawloom.horse.ir import (
    Assign,
    Call,
    Function,
    FunctionRef,
    If,
    Loop,
    Module,
    Name,
    Operand,
    Param,
    Return,
    Statement,
    Target,
    Use,
    reads,
    with_bodies,
)
from drawloom.horse.lists import lists_in_place
from drawloom.horse.liveness import live
from drawloom.horse.placement import Placement, Root
from drawloom.horse.positions import picks_inside
from drawloom.horse.probes import with_probes
from drawloom.horse.ranges import Facts, Ranges
from drawloom.horse.shape_analysis import analyse as analyse_shapes
from drawloom.horse.shapes import ListShape, Shape, Size, base
from drawloom.horse.types import Type, VectorType
from drawloom.horse.widths import parts, too_wide

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

    ``ranges`` and ``types`` are by the variable names of ``main``, which kernels keep; ``picks_inside`` are those
    that pick only rows that are there. ``blocks`` is what was outlined.
    """

    def __init__(self, module: Module, types: dict[str, Type], ranges: Ranges, shapes: dict[str, Shape]) -> None:
        self.module = module
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.picks_inside: set[str] = set()
        self.blocks: list[Block] = []


def outline(module: Module, facts: Facts, mode: str = "full") -> Outline:
    """The checked module with ``main`` split into kernels, by one of ``MODES``."""
    assert mode in MODES, mode
    main = module.function("main")
    if main is None or any(f.name in BUILTINS for f in module.functions):
        return Outline(module, {}, Ranges(), {})
    main = _without_updates(main)
    types = variable_types(main)
    ranges = ranges_module.analyse(main, types, facts)
    shapes = analyse_shapes(main, module)
    if mode == "full":
        taken = set(types)
        probed = with_probes(main, types, ranges, shapes, facts, lambda name: _fresh(name, taken))
        if probed is not main:
            main, types = probed, variable_types(probed)
            ranges, shapes = ranges_module.analyse(main, types, facts), analyse_shapes(main, module)
    made = Outline(module, types, ranges, shapes)
    made.picks_inside = picks_inside(main, types, ranges, shapes, facts)
    splitter = _Splitter(made, main, facts, mode)
    outlined = Function("main", main.params, main.returns, splitter.body(main.body))
    others = [f for f in module.functions if f.name != "main"]
    made.module = module.with_functions([outlined, *splitter.kernels, *others])
    return made


def _without_updates(main: Function) -> Function:
    """``main`` with ``x = f(x)`` as ``x_next = f(x)`` and ``x = x_next``, so that a kernel may compute it.

    Each assignment declares its variables: the first one may be gone when nothing needs its value.
    """
    types = variable_types(main)
    taken = set(types)

    def declared(target: Target) -> Target:
        return target if target.type is not None else Target(target.name, types[target.name], target.pos)

    def body(statements: list[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for statement in statements:
            if isinstance(statement, If | Loop):
                made.append(with_bodies(statement, body))
            elif isinstance(statement, Assign) and {t.name for t in statement.targets}.intersection(reads(statement)):
                fresh = [Target(_fresh(t.name, taken), types[t.name]) for t in statement.targets]
                made.append(Assign(fresh, statement.value, statement.pos))
                made.extend([Assign([declared(t)], Use(Name(f.name))) for t, f in zip(statement.targets, fresh)])
            elif isinstance(statement, Assign):
                made.append(Assign([declared(t) for t in statement.targets], statement.value, statement.pos))
            else:
                made.append(statement)
        return made

    return Function("main", main.params, main.returns, body(main.body), main.is_kernel, main.pos)


def _fresh(name: str, taken: set[str]) -> str:
    count = 0
    while f"{name}_next{count or ''}" in taken:
        count += 1
    taken.add(f"{name}_next{count or ''}")
    return f"{name}_next{count or ''}"


class _Splitter:
    """Finds the blocks of ``main``, also those inside loops and branches, and outlines each.

    Of what other blocks compute, a block's kernels take scalars and rows as parameters.
    """

    def __init__(self, made: Outline, main: Function, facts: Facts, mode: str) -> None:
        self.made = made
        self.facts = facts
        self.mode = mode
        self.kernels: list[Function] = []
        self.names = {f.name for f in made.module.functions}
        self.variables = Variables(main)
        #: The variables that may be read behind each statement.
        self.behind = live(main, self.variables).at

    def body(self, statements: list[Statement]) -> list[Statement]:
        made: list[Statement] = []
        block: list[Assign] = []
        named: set[str] = set()
        for statement in statements:
            targets = {t.name for t in statement.targets} if isinstance(statement, Assign) else set()
            if not isinstance(statement, Assign) or named & targets:
                # No variable of a block is written twice, or after it was read.
                made.extend(self.block(block))
                block, named = [], set()
            if isinstance(statement, Assign):
                block.append(statement)
                named |= targets | set(reads(statement))
            elif isinstance(statement, If | Loop):
                made.append(with_bodies(statement, self.body))
            else:
                made.append(statement)
        made.extend(self.block(block))
        return made

    def block(self, statements: list[Assign]) -> list[Statement]:
        if not statements:
            return []
        types, ranges, shapes = self.made.types, self.made.ranges, self.made.shapes
        graph = Graph(statements, self.live(statements), shapes)
        is_fused = self.mode == "full"
        grouped: dict[str, tuple[str, str]] = {}
        placed = Placement(graph, types, ranges, shapes, grouped, {}, is_fused)
        if is_fused:
            grouped = groups_in_place(graph, placed, self.facts)
            placed = Placement(graph, types, ranges, shapes, grouped, {}, is_fused)
        listed = lists_in_place(graph, placed, self.mode != "none")
        placed = Placement(graph, types, ranges, shapes, grouped, listed, is_fused)
        if self.mode != "none" and (cut := too_wide(placed)):
            placed = Placement(graph, types, ranges, shapes, grouped, listed, is_fused, cut)
        builder = _Builder(placed, _REGIONS[self.mode](placed), self.kernels, self.names)
        body = builder.block()
        self.made.blocks.append(Block(graph, builder.called))
        return body

    def live(self, statements: list[Assign]) -> set[str]:
        """The variables of a block that are read behind it."""
        written = self.variables.set([t.name for s in statements for t in s.targets])
        return set(self.variables.names(written & self.behind[statements[-1]]))


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
    if len(kernels) != 1 or node.name in graph.live | placed.cut or any(e.is_synchronised for e in edges):
        return ""
    kernel = kernels.pop()
    is_alike = kernel and node.geometry is not None and _geometry(placed, graph.writer[kernel]) == node.geometry
    return kernel if is_alike else ""


def _geometry(placed: Placement, node: Node) -> Size | ListShape | None:
    """Of threads; where a kernel razes what it reduces, of the cells that it reduces (thesis section 7.5.2)."""
    if node.function == "raze" and node.name in placed.list_steps:
        return placed.graph.writer[node.reads[0]].geometry
    return node.geometry


def _full(placed: Placement) -> list[Region]:
    """Roots that are ready at the same time, over the same rows and of one group or list, and the slices that compute
    them."""
    graph = placed.graph
    needed = graph.needed()
    roots = dict(placed.roots)
    for name in sorted(placed.inside, key=graph.order):
        # Row vectors that control code reads leave the kernel too.
        if name in roots or not isinstance(placed.types[name], VectorType):
            continue
        readers = [n for n in graph.readers(name) if n.name in needed]
        outside = [n for n in readers if not placed.is_in_kernel(n.name) or placed.gathers(n, name)]
        rows = base(placed.shapes[name].size)
        if (outside or name in graph.live) and rows is not None:
            roots[name] = Root(name, rows.variable, placed.level[name])
    alike: dict[tuple[int, int, int, str, str], list[str]] = {}
    for root in roots.values():
        of = placed.listed.get(root.name, "")
        key = (root.level, graph.order(root.rows), graph.order(root.group), root.rows, of)
        alike.setdefault(key, []).append(root.name)
    regions: list[Region] = []
    for key in sorted(alike):
        names = sorted([n for n in alike[key] if n in needed], key=graph.order)
        regions.extend([Region(part, _slice(placed, part)) for part in parts(placed, names, _slice)])
    return regions


def _slice(placed: Placement, roots: list[str]) -> set[str]:
    """The roots and the inside statements that they depend on."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found and (name in roots or (name in placed.inside and name not in placed.roots)):
            found.add(name)
            before = placed.graph.predecessors[name]
            todo.extend([e.source.name for e in before if not placed.gathers(e.sink, e.variable)])
    return found


_REGIONS: Final = {"none": _none, "flow": _flow, "full": _full}


# The builder

#: Builtins that make pairs of rows.
_PAIRING: Final = frozenset(["join", "loop_join", "cross"])


class _Builder:
    """Kernels out of regions, appended to ``kernels`` and ``names``, and the control code that calls them."""

    def __init__(self, placed: Placement, regions: list[Region], kernels: list[Function], names: set[str]) -> None:
        self.graph = placed.graph
        self.types = placed.types
        self.placed = placed
        self.kernels = kernels
        self.names = names
        self.needed = placed.graph.needed()
        self.regions = [r for r in regions if self.needed.intersection(r.members)]
        #: The regions in the order of their calls.
        self.called: list[Region] = []

    def block(self) -> list[Statement]:
        """Control code and calls of kernels, each as early as its inputs are ready: control code first, but a join
        where there is nothing else to do: what comes to few rows has done so before there are pairs of rows."""
        made: list[Statement] = []
        control = [n for n in self.graph.nodes if n.name in self.needed and not self.placed.is_in_kernel(n.name)]
        regions = self.regions
        ready: set[str] = set()
        while control or regions:
            done = len(made)
            for node in control:
                if node.function not in _PAIRING and self.is_ready(node.name, ready):
                    made.append(node.statement)
                    ready.add(node.name)
            now = [r for r in regions if all(self.is_ready(m, ready | r.members) for m in r.members)]
            for region in now:
                region.kernel = self.new_name()
                kernel = self.kernel(region)
                self.kernels.append(kernel)
                self.called.append(region)
                made.append(self.call(kernel, region.roots))
                ready.update(region.roots)
            if len(made) == done:
                join = next((n for n in control if self.is_ready(n.name, ready)), None)
                assert join is not None, "kernels wait for each other"
                made.append(join.statement)
                ready.add(join.name)
            control, regions = [n for n in control if n.name not in ready], [r for r in regions if r not in now]
        return made

    def is_ready(self, name: str, ready: set[str]) -> bool:
        return all(e.source.name in ready for e in self.graph.predecessors[name])

    def new_name(self) -> str:
        count = len(self.kernels)
        while f"main_{count}" in self.names:
            count += 1
        self.names.add(f"main_{count}")
        return f"main_{count}"

    def kernel(self, region: Region) -> Function:
        """The statements of a region; its parameters are what they read and do not compute."""
        nodes = [n for n in self.graph.nodes if n.name in region.members]
        read = {v for n in nodes for v in n.reads if v not in region.members}
        params = [Param(p, self.types[p]) for p in sorted(read, key=lambda p: (self.graph.order(p), p))]
        body: list[Statement] = []
        for node in nodes:
            body.append(Assign([Target(node.name, self.types[node.name])], node.statement.value, node.statement.pos))
        body.append(Return([Name(r) for r in region.roots]))
        return Function(region.kernel, params, [self.types[r] for r in region.roots], body, True)

    def call(self, kernel: Function, roots: list[str]) -> Assign:
        arguments: list[Operand] = [Name(p.name) for p in kernel.params]
        targets = [self.graph.writer[r].statement.targets[0] for r in roots]
        return Assign(targets, Call(FunctionRef(kernel.name), arguments))
