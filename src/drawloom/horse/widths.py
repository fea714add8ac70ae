"""How wide a kernel may be: what has more columns, results and tests of text than that into several kernels.

PTX has 4,352 bytes for parameters: at most sixteen for each column (with its length) and each result (with its count),
eight for each test of text. Long before columns use these up a kernel takes longer to compile than several do that
share its work: the sums of 200 columns by group took 11.0 s with 128, 8.2 s with 64 and 7.2 s with 48, where what has
no groups took a tenth and two tenths longer than with 128. Tests take what they take in however many kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.graph import Node
from drawloom.horse.ir import Literal
from drawloom.horse.placement import Placement
from drawloom.horse.shapes import Compressed
from drawloom.horse.types import Type, VectorType

#: What a kernel reads and returns, at most, where it returns several values.
WIDTH: Final = 64
#: What a value is computed from, at most: so that a kernel has room for others beside a mask that they share.
_INPUTS: Final = WIDTH // 2
#: Tests of text against literals in a kernel, at most, and in what a value is computed from.
TESTS: Final = 256
_INPUT_TESTS: Final = TESTS // 2
#: Begins what is an input for a test: no variable's name.
_TEST: Final = "test of "

Slice = Callable[[Placement, list[str]], set[str]]


def parts(placed: Placement, roots: list[str], slice: Slice) -> list[list[str]]:
    """The roots of a kernel, those of each kernel that it is to be; ``slice`` tells what computes them."""
    if not roots:
        return []
    if _is_within(_inputs(placed, slice(placed, roots)), WIDTH - len(roots), TESTS):
        return [roots]
    made: list[list[str]] = []
    inputs: set[str] = set()
    for root in roots:
        own = _inputs(placed, slice(placed, [root]))
        if made and _is_within(inputs | own, WIDTH - len(made[-1]) - 1, TESTS):
            made[-1].append(root)
            inputs |= own
        else:
            made.append([root])
            inputs = own
    return made


def _inputs(placed: Placement, members: set[str]) -> set[str]:
    """What the parameters of a kernel are for: the variables that its members read, and the tests among them."""
    nodes = [placed.graph.writer[m] for m in members]
    return {v for n in nodes for v in n.reads if v not in members}.union(*[_tests(placed, n) for n in nodes])


def _tests(placed: Placement, node: Node) -> set[str]:
    """The name of a test of text against literals, whose parameters say which codes of the dictionary pass it."""
    arguments = node.call.arguments if node.call is not None else []
    has_literal = any(isinstance(a, Literal) and _is_text(a.type) for a in arguments)
    return {_TEST + node.name} if has_literal and any(_is_text(placed.types[n]) for n in node.reads) else set()


def _is_text(type: Type) -> bool:
    return isinstance(type, VectorType) and type.kind == "text"


def _is_within(inputs: set[str], variables: int, tests: int) -> bool:
    count = sum([name.startswith(_TEST) for name in inputs])
    return len(inputs) - count <= variables and count <= tests


def too_wide(placed: Placement) -> frozenset[str]:
    """The element-wise statements that have to leave their kernels, so that no value has more than ``_INPUTS``
    and ``_INPUT_TESTS``."""
    inputs: dict[str, set[str]] = {}
    cut: set[str] = set()

    def inputs_of(node: Node) -> set[str]:
        made = _tests(placed, node)
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
            if name in cut or len(inputs[name]) < 2 or _is_within(inputs[node.name], _INPUTS, _INPUT_TESTS):
                continue
            cut.add(name)
            inputs[node.name] = inputs_of(node)
    return frozenset(cut)
