"""An outline to a picture of its dependence graph, kernels as clusters (thesis figure 4.12): text, DOT or SVG.

Nodes that kernels compute are bold, synchronised edges have a star. A statement that several kernels compute is drawn
in each; stored columns stand for the statements that load them. The SVG is laid out here, in layers: what reads stands
below what it reads, each layer ordered by where its inputs are (the barycentre method of Sugiyama, Tagawa and Toda,
1981), the inside of a kernel first and then kernels and control code as boxes.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.graph import Node
from drawloom.horse.ir import Call, CheckCast, Literal, Operand
from drawloom.horse.outline import Block, Outline
from drawloom.horse.printer import print_expression, print_operand
from drawloom.horse.signatures import READS_COLUMN

#: Longest label of a node, in characters.
LABEL: Final = 44

#: In the SVG, in pixels: a character, a node's height, and the space between nodes and between layers.
CHARACTER, HEIGHT, BESIDE, BELOW, MARGIN = 7.25, 24.0, 14.0, 34.0, 12.0
#: How often layers are ordered by where their neighbours are.
SWEEPS: Final = 4

_STYLE: Final = (
    "text { font: 12px monospace } .node { fill: white; stroke: #444 } .gpu { stroke: black; stroke-width: 2 } "
    ".kernel { fill: #e4e4e4; stroke: #999 } .edge { fill: none; stroke: #666; marker-end: url(#arrow) } "
    ".bold { font-weight: bold }"
)

Point = tuple[float, float]


class Vertex:
    """A statement as it is drawn: ``place`` is the kernel that it is in, "" for control code."""

    def __init__(self, node: Node, place: str, label: str) -> None:
        self.node = node
        self.place = place
        self.label = label
        self.key = f"{place}/{node.name}" if place else node.name


class Arrow:
    def __init__(self, source: int, sink: int, variable: str, is_synchronised: bool) -> None:
        self.source = source
        self.sink = sink
        self.variable = variable
        self.is_synchronised = is_synchronised


class Drawing:
    """A block's vertices, in the order of their execution, and the arrows between them, by their numbers."""

    def __init__(self, block: Block, outline: Outline) -> None:
        self.kernels = [r.kernel for r in block.regions]
        self.vertices: list[Vertex] = []
        needed = block.graph.needed()
        inside = {name for r in block.regions for name in r.members}
        for node in block.graph.nodes:
            if node.name in needed and node.name not in inside and node.function != "load_table":
                self.vertices.append(Vertex(node, "", label(node, outline)))
        for region in block.regions:
            for node in block.graph.nodes:
                if node.name in region.members:
                    self.vertices.append(Vertex(node, region.kernel, label(node, outline)))
        number = {v.key: n for n, v in enumerate(self.vertices)}
        home = {root: f"{r.kernel}/{root}" for r in block.regions for root in r.roots}
        self.arrows: list[Arrow] = []
        for sink, vertex in enumerate(self.vertices):
            for edge in block.graph.predecessors[vertex.node.name]:
                name = edge.source.name
                source = number.get(f"{vertex.place}/{name}", number.get(home.get(name, name)))
                if source is not None:
                    self.arrows.append(Arrow(source, sink, edge.variable, edge.is_synchronised))

    def into(self, sink: int) -> list[Arrow]:
        return [a for a in self.arrows if a.sink == sink]


def label(node: Node, outline: Outline) -> str:
    """What a node says: the stored column, or the statement without types."""
    stored = outline.ranges.columns.get(node.name)
    if stored is not None:
        return f"{node.name} = {stored[0]}.{stored[1]}"
    value = node.statement.value
    call = value.value if isinstance(value, CheckCast) else value
    if not isinstance(call, Call):
        return _cut(f"{node.name} = {print_expression(value)}")
    words = [_argument(a) for a in call.arguments]
    return _cut(f"{', '.join(t.name for t in node.statement.targets)} = @{call.function.name}({', '.join(words)})")


def _argument(operand: Operand) -> str:
    text = print_operand(operand)
    return text.rpartition(":")[0] if isinstance(operand, Literal) else text


def _cut(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 3] + "..."


# Text


def as_text(outline: Outline) -> str:
    """A line a statement, kernels indented under their names; behind it the geometry, its inputs, and * for those of
    the same block that it gathers or that were scattered."""
    lines: list[str] = []
    for block in outline.blocks:
        drawing = Drawing(block, outline)
        width = max([len(v.label) for v in drawing.vertices], default=0) + 2
        wide = max([len(_where(v)) for v in drawing.vertices], default=0) + 2
        for place in ["", *drawing.kernels]:
            lines.append(f"kernel {place}" if place else "control code")
            for number, vertex in enumerate(drawing.vertices):
                if vertex.place == place:
                    lines.append("    " + _line(vertex, drawing.into(number), width, wide))
    return "\n".join(lines) + "\n"


def _where(vertex: Vertex) -> str:
    """A kernel's statement: the geometry of its threads; any that has none, and control code: its target."""
    geometry = vertex.node.geometry if vertex.place else None
    return vertex.node.target if geometry is None else str(geometry)


def _line(vertex: Vertex, arrows: list[Arrow], width: int, wide: int) -> str:
    stars = {a.variable: "*" for a in arrows if a.is_synchronised}
    is_column = vertex.node.function in READS_COLUMN
    read = " ".join([v + stars.get(v, "") for v in ([] if is_column else dict.fromkeys(vertex.node.reads))])
    return f"{vertex.label:{width}}{_where(vertex):{wide}}{'<- ' + read if read else ''}".rstrip()


# DOT


def as_dot(outline: Outline) -> str:
    """For Graphviz: a cluster a kernel."""
    lines = ["digraph outline {", "    node [shape=box, fontname=monospace, fontsize=10];"]
    for at, block in enumerate(outline.blocks):
        drawing = Drawing(block, outline)
        for place in ["", *drawing.kernels]:
            if place:
                lines += [
                    f"    subgraph cluster_{at}_{place} {{",
                    f'        label="{place}"; style=filled; color=gray90;',
                ]
            for vertex in drawing.vertices:
                if vertex.place == place:
                    style = ', style="bold,filled", fillcolor=white' if place else ""
                    lines.append(f"        {_quoted(f'{at}:{vertex.key}')} [label={_quoted(vertex.label)}{style}];")
            if place:
                lines.append("    }")
        for arrow in drawing.arrows:
            ends = [_quoted(f"{at}:{drawing.vertices[n].key}") for n in (arrow.source, arrow.sink)]
            star = ' [label="*"]' if arrow.is_synchronised else ""
            lines.append(f"    {ends[0]} -> {ends[1]}{star};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# SVG


def as_svg(outline: Outline) -> str:
    """A picture of its own, the blocks below each other."""
    parts: list[str] = []
    width, top = 0.0, MARGIN
    for block in outline.blocks:
        layout = _Layout(Drawing(block, outline))
        parts += layout.elements(MARGIN, top)
        width = max(width, layout.width)
        top += layout.height + BELOW
    arrow = '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * MARGIN:.0f}" height="{top:.0f}">'
    defs = f'<defs>{arrow}<path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", defs, ground, *parts, "</svg>"]) + "\n"


class _Layout:
    """Where everything of a drawing stands: each vertex by its top left corner, each kernel as a box."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        vertices = drawing.vertices
        self.sizes = [(CHARACTER * len(v.label) + 16, HEIGHT) for v in vertices]
        # A kernel, or a vertex of control code, is a box.
        members: dict[str, list[int]] = {}
        for number, vertex in enumerate(vertices):
            members.setdefault(vertex.place or "/" + vertex.key, []).append(number)
        self.boxes = list(members)
        box_of = {n: b for b, key in enumerate(self.boxes) for n in members[key]}
        inner: list[list[Point]] = []
        box_sizes: list[Point] = []
        for key in self.boxes:
            place = {n: i for i, n in enumerate(members[key])}
            ties = [(place[a.source], place[a.sink]) for a in drawing.arrows if a.source in place and a.sink in place]
            corners, size = layered([self.sizes[n] for n in members[key]], ties)
            edge = 0.0 if key.startswith("/") else MARGIN
            head = 0.0 if key.startswith("/") else HEIGHT
            inner.append([(x + edge, y + edge + head) for x, y in corners])
            box_sizes.append((size[0] + 2 * edge, size[1] + 2 * edge + head))
        outer_ties = [(box_of[a.source], box_of[a.sink]) for a in drawing.arrows if box_of[a.source] != box_of[a.sink]]
        self.box_corners, (self.width, self.height) = layered(box_sizes, outer_ties)
        self.box_sizes = box_sizes
        self.corners: list[Point] = [(0.0, 0.0)] * len(vertices)
        for b, key in enumerate(self.boxes):
            left, top = self.box_corners[b]
            for number, (x, y) in zip(members[key], inner[b]):
                self.corners[number] = (left + x, top + y)

    def elements(self, left: float, top: float) -> list[str]:
        found: list[str] = [f'<g transform="translate({left:.1f} {top:.1f})">']
        for key, (x, y), (w, h) in zip(self.boxes, self.box_corners, self.box_sizes):
            if not key.startswith("/"):
                found.append(f'<rect class="kernel" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="6"/>')
                found.append(f'<text class="bold" x="{x + 8:.1f}" y="{y + 17:.1f}">{_escaped(key)}</text>')
        for arrow in self.drawing.arrows:
            found.extend(self.arrow(arrow))
        for vertex, (x, y), (w, h) in zip(self.drawing.vertices, self.corners, self.sizes):
            kind = "node gpu" if vertex.place else "node"
            found.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="3"/>')
            weight = ' class="bold"' if vertex.place else ""
            found.append(f'<text{weight} x="{x + 8:.1f}" y="{y + 16:.1f}">{_escaped(vertex.label)}</text>')
        return [*found, "</g>"]

    def arrow(self, arrow: Arrow) -> list[str]:
        (x0, y0), (w0, h0) = self.corners[arrow.source], self.sizes[arrow.source]
        (x1, y1), (w1, _) = self.corners[arrow.sink], self.sizes[arrow.sink]
        x0, y0, x1 = x0 + w0 / 2, y0 + h0, x1 + w1 / 2
        bend = max((y1 - y0) / 2, BELOW / 2)
        path = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
        drawn = [f'<path class="edge" d="{path}"/>']
        if arrow.is_synchronised:
            drawn.append(f'<text class="bold" x="{(x0 + x1) / 2 + 3:.1f}" y="{(y0 + y1) / 2:.1f}">*</text>')
        return drawn


def layered(sizes: list[Point], ties: list[tuple[int, int]]) -> tuple[list[Point], Point]:
    """The top left corner of each box, and the width and height of all; a tie's sink is below its source."""
    layer = _layers(len(sizes), ties)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for box in range(len(sizes)):
        rows[layer[box]].append(box)
    widths = [sum([sizes[b][0] for b in row]) + BESIDE * (len(row) - 1) for row in rows]
    whole = max(widths, default=0.0)
    corners: list[Point] = [(0.0, 0.0)] * len(sizes)
    middle = [0.0] * len(sizes)
    beside: list[list[int]] = [[] for _ in sizes]
    for source, sink in ties:
        beside[sink].append(source)
        beside[source].append(sink)
    for _ in range(SWEEPS):
        y = 0.0
        for row, width in zip(rows, widths):
            row.sort(key=lambda b: (sum([middle[a] for a in beside[b]]) / max(len(beside[b]), 1), b))
            x = (whole - width) / 2
            for box in row:
                corners[box] = (x, y)
                middle[box] = x + sizes[box][0] / 2
                x += sizes[box][0] + BESIDE
            y += max([sizes[b][1] for b in row]) + BELOW
    return corners, (whole, max([c[1] + s[1] for c, s in zip(corners, sizes)], default=0.0))


def _layers(count: int, ties: list[tuple[int, int]]) -> list[int]:
    """For each box how many layers are above it: as few below it as its readers allow, so that inputs stand near."""
    below: list[list[int]] = [[] for _ in range(count)]
    for source, sink in ties:
        below[source].append(sink)
    depth = [-1] * count

    def measure(start: int) -> None:
        todo = [start]
        while todo:
            box = todo[-1]
            open_ones = [b for b in below[box] if depth[b] < 0]
            if open_ones:
                todo.extend(open_ones)
                continue
            depth[box] = max([depth[b] + 1 for b in below[box]], default=0)
            todo.pop()

    for box in range(count):
        measure(box)
    most = max(depth, default=0)
    return [most - d for d in depth]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
