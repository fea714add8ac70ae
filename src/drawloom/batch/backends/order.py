"""The order of vector instructions: each result at once, operands just before their use, so that few are live.

    before: all loads; step 0 of every row; step 1 of every row; ...; all stores
    after:  for each stored vector: its whole chain of steps, with the loads that only it needs

Instructions are taken depth first from what the block has to do (stores and loops, in their order), the longest chain
of operands first. Loads stay on their side of the stores through the same pointer.
"""

from __future__ import annotations

from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, Place

LOADS = ("load", "broadcast", "gather")
STORES = ("store", "scatter")


def order_depth_first(chunks: list[Chunk]) -> list[Chunk]:
    """Return a block's instructions in depth-first order; blocks of loops are ordered, too."""
    return Ordering(chunks).result


class Ordering:
    """What is emitted so far, and the loads that each pointer's next store has to wait for."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self.result: list[Chunk] = []
        self.emitted: set[int] = set()
        self.inside = {chunk.number: chunk for chunk in chunks}
        self.heights = measure_heights(chunks)
        waiting: dict[str, list[Chunk]] = {}
        before: list[Chunk] = []
        for chunk in chunks:
            before.append(chunk)
            if chunk.op in LOADS:
                assert isinstance(chunk.detail, Place)
                waiting.setdefault(chunk.detail.pointer, []).append(chunk)
            elif chunk.op in STORES:
                for load in waiting.pop(chunk.detail.pointer, []):
                    self.emit(load)
                self.emit(chunk)
            elif isinstance(chunk.detail, ChunkLoop):
                # A loop may use all that stands before it.
                for earlier in before:
                    self.emit(earlier)
                before, waiting = [], {}
                chunk.detail.header = order_depth_first_with(chunk.detail.header, chunk.detail.conditions)
                chunk.detail.body = order_depth_first_with(chunk.detail.body, chunk.detail.next_values)

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
    ordering = Ordering(chunks)
    for result in results:
        ordering.emit(result)
    for chunk in chunks:
        ordering.emit(chunk)
    return ordering.result


def measure_heights(chunks: list[Chunk]) -> dict[int, int]:
    """Return the length of the longest chain of operands before each instruction."""
    heights: dict[int, int] = {}
    for chunk in chunks:
        heights[chunk.number] = 1 + max((heights.get(operand.number, 0) for operand in chunk.operands), default=0)
    return heights
