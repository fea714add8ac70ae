"""The layout of a kernel: which order of lanes, how many groups share vectors, and in which order instructions stand.

Every candidate is cut into chunks and priced by `cost.py`, without being compiled or measured. So a kernel has the same
layout on every run on CPUs with the same vectors. The search begins with few groups and ends where more do not help.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.order import order_depth_first
from drawloom.batch.ir.ir import Kernel
from drawloom.batch.tuning.cost import estimate_cost

#: Packs that are tried for each order, in this sequence, until one is worse than the one before.
PACKS: Final[dict[str, tuple[int, ...]]] = {
    "rows": (1, 2, 4), "columns": (1, 2, 4, 8), "interleaved": (2, 4, 8, 16),
}  # fmt: skip
#: A candidate that is larger is not tried with more groups: compiling it takes seconds.
LARGEST_PROGRAM: Final = 6000
#: An estimate has to be lower by this much to be worth a larger program or, in the same layout, another order of
#: instructions. It has to be lower by the second number to be worth both, as the estimate of chains is less certain,
#: and by the third where the program is larger than `LARGEST_PROGRAM`, whose code leaves the first cache of code.
#: Where depth-first order is 3 to 10 % cheaper in the same layout, `gemm` of 8 doubles and of 16 floats becomes 1.2 and
#: 1.15 times as fast, and `enum` 1.07 times. Where a larger pack is 5 to 10 % cheaper, `ldus` of 16 and 20 doubles
#: becomes 1.24 times as fast, `enum` of 12 to 28 numbers 1.1 to 1.4 times, but `ldus` of 28 doubles 0.84 times, whose
#: program has 9,000 instructions.
MARGIN: Final = 0.97
DEPTH_FIRST_MARGIN: Final = 0.95
LARGE_DEPTH_FIRST_MARGIN: Final = 0.9
#: Layouts are measured, where that is asked for, whose estimate is the lowest one times this much at most, and how many
#: of them: each is compiled.
NEAR: Final = 1.7
MOST_MEASURED: Final = 6


class Choice(NamedTuple):
    """A layout, its estimated cycles for a group, and the instructions of the program."""

    order: str
    pack: int
    depth_first: bool
    cycles: float
    instructions: int = 0


def choose_layout(kernel: Kernel, width: int, vector_bits: int, registers: int) -> Choice:
    """Return the layout with the lowest estimate.

    Args:
        kernel: InfReg-IR.
        width: The lanes of a chunk.
        vector_bits: The width of a register.
        registers: How many vector registers there are.

    Example:
        >>> from drawloom.batch.frontend.lower import lower
        >>> from drawloom.batch.kernels import parse_ready
        >>> choose_layout(lower(parse_ready("ldus", wg_size=4)), 8, 512, 32)[:2]
        ('interleaved', 8)
    """
    best: Choice | None = None
    for choice in estimate_layouts(kernel, width, vector_bits, registers):
        if best is None or choice.cycles < best.cycles * margin_of(choice, best):
            best = choice
    assert best is not None
    return best


def margin_of(choice: Choice, best: Choice) -> float:
    """Return how much lower an estimate has to be than the best one before."""
    if not choice.depth_first or choice[:2] == best[:2]:
        return MARGIN
    return LARGE_DEPTH_FIRST_MARGIN if choice.instructions > LARGEST_PROGRAM else DEPTH_FIRST_MARGIN


def layouts_to_measure(kernel: Kernel, width: int, vector_bits: int, registers: int) -> list[Choice]:
    """Return the layouts whose estimates are near the lowest, lowest first."""
    choices = sorted(estimate_layouts(kernel, width, vector_bits, registers), key=lambda choice: choice.cycles)
    return [choice for choice in choices if choice.cycles <= NEAR * choices[0].cycles][:MOST_MEASURED]


def estimate_layouts(kernel: Kernel, width: int, vector_bits: int, registers: int) -> Iterator[Choice]:
    """Yield all layouts that are worth a try, with their estimates."""
    for order in PACKS:
        yield from estimate_packs(kernel, order, width, vector_bits, registers)


def estimate_packs(kernel: Kernel, order: str, width: int, vector_bits: int, registers: int) -> Iterator[Choice]:
    """Yield the choices of one order until packing more groups does not help."""
    last = float("inf")
    for pack in PACKS[order]:
        program = cut_into_chunks(kernel, Layout(order, pack, width))
        lowest = float("inf")
        for depth_first in (False, True):
            if depth_first:
                program.block = order_depth_first(program.block)
            cycles = estimate_cost(program, pack, vector_bits, registers)
            lowest = min(lowest, cycles)
            yield Choice(order, pack, depth_first, cycles, program.number)
        if lowest >= last or program.number > LARGEST_PROGRAM:
            return
        last = lowest
