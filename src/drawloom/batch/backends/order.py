"""The order of vector instructions: each result at once, operands just before their use, so that few are live.

    before: all loads; step 0 of every row; step 1 of every row; ...; all stores
    after:  for every few stored vectors: their whole chains of steps, with the loads that only they need

Instructions are taken depth first from what the block has to do (stores and loops, in their order), the longest chain
of operands first. Loads stay on their side of the stores through the same pointer.
"""

from __future__ import annotations

from typing import Final

from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, Place

LOADS: Final = ("load", "broadcast", "gather")
STORES: Final = ("store", "scatter")
#: Stores that are computed at once: as many chains of additions as hide their latency on two units (4 cycles each).
TOGETHER: Final = 8


def order_depth_first(chunks: list[Chunk], together: int = TOGETHER) -> list[Chunk]:
    """Return a block's instructions in depth-first order; blocks of loops are ordered, too.

    Args:
        chunks: The instructions of a block.
        together: How many stores that follow each other are computed at once, step by step: their chains hide each
            other's latency and share operands.
    """
    return Ordering(chunks, together).result


class Ordering:
    """What is emitted so far, and the loads that each pointer's next store has to wait for."""

    def __init__(self, chunks: list[Chunk], together: int) -> None:
        self.result: list[Chunk] = []
        self.emitted: set[int] = set()
        self.inside = {chunk.number: chunk for chunk in chunks}
        self.heights = measure_heights(chunks)
        waiting: dict[str, list[Chunk]] = {}
        before: list[Chunk] = []
        stores: list[Chunk] = []
        for chunk in chunks:
            before.append(chunk)
            if stores and (len(stores) == together or isinstance(chunk.detail, ChunkLoop)):
                self.emit_together(stores)
                stores = []
            if chunk.op in LOADS:
                assert isinstance(chunk.detail, Place)
                waiting.setdefault(chunk.detail.pointer, []).append(chunk)
            elif chunk.op in STORES:
                for load in waiting.pop(chunk.detail.pointer, []):
                    self.emit(load)
                stores.append(chunk)
            elif isinstance(chunk.detail, ChunkLoop):
                # A loop may use all that stands before it.
                for earlier in before:
                    self.emit(earlier)
                before, waiting = [], {}
                chunk.detail.header = order_depth_first_with(chunk.detail.header, chunk.detail.conditions)
                chunk.detail.body = order_depth_first_with(chunk.detail.body, chunk.detail.next_values)
        self.emit_together(stores)

    def emit_together(self, roots: list[Chunk]) -> None:
        """Emit some instructions with all that they need, every step as late as the chains allow."""
        if len(roots) > 1:
            before = len(self.result)
            for root in roots:
                for operand in root.operands:
                    self.emit(operand)
            steps = latest_steps(self.result[before:], self.heights)
            # Equal steps stay in depth-first order.
            self.result[before:] = sorted(self.result[before:], key=lambda chunk: steps[chunk.number])
        for root in roots:
            self.emit(root)

    def emit(self, root: Chunk) -> None:
        """Emit an instruction after the operands that are not emitted yet."""
        stack = [(root, False)]
        while stack:
            chunk, is_ready = stack.pop()
            if chunk.number in self.emitted or chunk.number not in self.inside:
                continue
            if is_ready:
                self.emitted.add(chunk.number)
                self.result.append(chunk)
                continue
            stack.append((chunk, True))
            # The stack's last one comes first: the longest chain.
            for operand in sorted(chunk.operands, key=lambda operand: self.heights.get(operand.number, 0)):
                stack.append((operand, False))


def order_depth_first_with(chunks: list[Chunk], results: list[Chunk]) -> list[Chunk]:
    """Order a block whose results are used after it: in their order, then whatever is left."""
    ordering = Ordering(chunks, 1)
    for result in results:
        ordering.emit(result)
    for chunk in chunks:
        ordering.emit(chunk)
    return ordering.result


def latest_steps(chunks: list[Chunk], heights: dict[int, int]) -> dict[int, int]:
    """Return for each instruction the latest step of the longest chain at which it may stand."""
    steps: dict[int, int] = {}
    for chunk in reversed(chunks):
        step = steps.setdefault(chunk.number, heights[chunk.number])
        for operand in chunk.operands:
            steps[operand.number] = min(steps.get(operand.number, step), step - 1)
    return steps


def measure_heights(chunks: list[Chunk]) -> dict[int, int]:
    """Return the length of the longest chain of operands before each instruction."""
    heights: dict[int, int] = {}
    for chunk in chunks:
        heights[chunk.number] = 1 + max((heights.get(operand.number, 0) for operand in chunk.operands), default=0)
    return heights
