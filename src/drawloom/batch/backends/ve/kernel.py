"""A kernel as C for SX-Aurora: its layout, its functions, and the file that has them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from drawloom.batch.backends import by_lane
from drawloom.batch.backends.chunk_ir import ChunkProgram, flatten
from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import ORDERS, Layout
from drawloom.batch.backends.order import order_depth_first
from drawloom.batch.backends.ve.emit import Function, emit_function
from drawloom.batch.backends.ve.instructions import FUNCTIONS, LANES
from drawloom.batch.ir.ir import BITS, Kernel

INCLUDES: Final = ("#include <stdbool.h>", "#include <stdint.h>", "#include <velintrin.h>")
#: clang's options. Its scheduler would have more values live than there are registers, and stop.
CLANG_OPTIONS: Final = (
    "--target=ve-linux", "-O2", "-ffp-contract=off", "-fno-builtin", "-mllvm", "-enable-misched=0",
)  # fmt: skip
#: Packs that are tried by the rule that a register's lanes fill at most two vectors.
PACKS: Final = (64, 32, 16, 8, 4, 2)
VECTORS: Final = 2
#: What moves data between lanes takes a few instructions, and the elements of a gather come one by one.
MOVES: Final = ("shuffle", "read", "table", "gather", "scatter")
MOVE_COST: Final = 4


class VeKernel:
    """One kernel for one layout. `text` is its C."""

    def __init__(
        self, kernel: Kernel, order: str, pack: int, width: int = 0, *, packed: bool | None = None,
        depth_first: bool = True, streaming: bool = False, name: str = "",
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.pack = pack
        lanes = widest_register(kernel) * pack
        self.packed = is_single(kernel) and lanes > LANES if packed is None else packed
        self.layout = Layout(order, pack, width or vector_width(lanes, self.packed))
        self.program = cut_into_chunks(kernel, self.layout, moves_runs=False)
        if depth_first:
            self.program.block = order_depth_first(self.program.block)
        self.emitted = emit_function(
            kernel, self.program, pack, packed=self.packed, streaming=streaming, name=name or f"batch_{kernel.name}"
        )

    @property
    def text(self) -> str:
        return emit_file([self.emitted])


class Choice(NamedTuple):
    """A layout: the order of lanes and the groups that share vectors."""

    order: str
    pack: int


def choose_layout(kernel: Kernel) -> Choice:
    """Return the largest pack whose registers fill at most two vectors, the paper's rule, in the cheapest order."""
    lanes = widest_register(kernel)
    room = VECTORS * LANES * (1 + is_single(kernel))
    pack = next((pack for pack in PACKS if pack * lanes <= room), 1)
    packed = is_single(kernel) and lanes * pack > LANES
    width = vector_width(lanes * pack, packed)
    costs = {order: cost(cut_into_chunks(kernel, Layout(order, pack, width), moves_runs=False)) for order in ORDERS}
    return Choice(min(costs, key=costs.__getitem__), pack)


def cost(program: ChunkProgram) -> int:
    """Return roughly how many instructions a program has; what moves data counts for several."""
    return sum(MOVE_COST if chunk.op in MOVES else 1 for chunk in flatten(program.block))


def widest_register(kernel: Kernel) -> int:
    """Return the most lanes that a value of one group has."""
    return max((value.format.lanes for block in kernel.blocks() for value in block.values), default=1)


def is_single(kernel: Kernel) -> bool:
    """Return whether a kernel computes with floats: then packed registers hold twice as many."""
    pointed = {parameter.type for parameter in kernel.parameters if parameter.is_pointer}
    return "float" in pointed and all(BITS[type] <= 32 for type in pointed)


def vector_width(lanes: int, packed: bool) -> int:
    """Return the lanes of a chunk: a power of two, so that short registers are not computed as long ones."""
    return min(LANES * (1 + packed), 1 << max(1 + packed, (lanes - 1).bit_length()))


def make_kernels(kernel: Kernel, order: str, pack: int, *, streaming: bool) -> dict[int, VeKernel]:
    """Return the kernel for `pack` groups together and, for what is left of a batch, for single ones."""
    names = {pack: f"batch_{kernel.name}", 1: f"batch_{kernel.name}_1" if pack > 1 else f"batch_{kernel.name}"}
    return {size: VeKernel(kernel, order, size, streaming=streaming, name=name) for size, name in names.items()}


def emit_file(functions: list[Function]) -> str:
    """Return a C file of functions, with all that they need."""
    bodies = "\n".join(function.text for function in functions)
    available = {**by_lane.FUNCTIONS, **FUNCTIONS}
    helpers = called_functions(bodies, available)
    texts = [f"{comment(function)}\n{function.text}" for function in functions]
    top = "\n".join(INCLUDES)
    return "\n\n".join([top, *(available[name] for name in helpers), *texts]) + "\n"


def called_functions(text: str, available: dict[str, str]) -> list[str]:
    """Return the functions that a text calls, and those that these call, in the order of the table."""
    found: set[str] = set()
    pending = calls_in(text)
    while pending:
        new = {name for name in pending if name in available and name not in found}
        found |= new
        pending = {name for text in map(available.__getitem__, new) for name in calls_in(text)}
    return [name for name in available if name in found]


def calls_in(text: str) -> set[str]:
    return set(re.findall(r"\b(\w+)\(", text))


def comment(function: Function) -> str:
    kernel, pack = function.kernel, function.pack
    groups = "1 group" if pack == 1 else f"{pack} groups"
    return f"""/* {kernel.name}, work-groups of {kernel.wg_size}, for SX-Aurora: {groups} in each turn.

   {function.name} runs groups first to last - 1, where last - first is a multiple of {pack}. Pointers are the arrays of
   the whole batch, aligned to their elements. What is written must not overlap anything else. Several threads may run
   it at once for ranges that do not overlap; with -fopenmp it starts its own.

       clang {' '.join(CLANG_OPTIONS)} -c FILE.c

   The last option keeps clang's order of instructions, for it cannot spill vector registers. */"""
