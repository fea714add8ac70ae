"""How wide a kernel may be: what has more columns and results than that into several kernels.

PTX has 4,352 bytes for parameters, eight for each column and each result. Long before these are used up a kernel takes
longer to compile than several do that share its work: the sums of 200 columns by group took 11.0 s with 128, 8.2 s with
64 and 7.2 s with 48, where what has no groups took a tenth and two tenths longer than with 128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.graph import Node
from drawloom.horse.placement import Placement
from drawloom.horse.shapes import Compressed

#: What a kernel reads and returns, at most, where it returns several values.
WIDTH: Final = 64
#: What a value is computed from, at most: so that a kernel has room for others beside a mask that they share.
_INPUTS: Final = WIDTH // 2

Slice = Callable[[Placement, list[str]], set[str]]


def parts(placed: Placement, roots: list[str], slice: Slice) -> list[list[str]]:
    """The roots of a kernel, those of each kernel that it is to be; ``slice`` tells what computes them."""
    if not roots:
        return []
    if len(_reads(placed, slice(placed, roots))) + len(roots) <= WIDTH:
        return [roots]
    made: list[list[str]] = []
    reads: set[str] = set()
    for root in roots:
        own = _reads(placed, slice(placed, [root]))
        if made and len(reads | own) + len(made[-1]) < WIDTH:
            made[-1].append(root)
            reads |= own
        else:
            made.append([root])
            reads = own
    return made


def _reads(placed: Placement, members: set[str]) -> set[str]:
    return {v for m in members for v in placed.graph.writer[m].reads if v not in members}


def too_wide(placed: Placement) -> frozenset[str]:
    """The element-wise statements that have to leave their kernels, so that no value has more than ``_INPUTS``."""
    inputs: dict[str, set[str]] = {}
    cut: set[str] = set()

    def inputs_of(node: Node) -> set[str]:
        made: set[str] = set()
        for name in node.reads:
            is_inside = name in inputs and name not in cut and not placed.gathers(node, name)
            made |= inputs[name] if is_inside else {name}
        return made

    for node in placed.graph.nodes:
        if node.name not in placed.inside or node.name in placed.roots:
            continue
        inputs[node.name] = inputs_of(node)
        # A vector that a mask selected from does not go with the rows that it was selected from.
        widest = [n for n in node.reads if n in inputs and not isinstance(placed.shapes[n].size, Compressed)]
        for name in sorted(widest, key=lambda n: -len(inputs[n])):
            if len(inputs[node.name]) > _INPUTS and len(inputs[name]) > 1 and name not in cut:
                cut.add(name)
                inputs[node.name] = inputs_of(node)
    return frozenset(cut)
