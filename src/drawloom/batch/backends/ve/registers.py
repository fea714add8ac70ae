"""Which values are in registers: clang cannot spill vectors and masks on SX-Aurora, so the printed C does.

A value leaves for memory when the registers are full and its next use is the farthest (Belady's rule). Before a loop,
and before what may call a function, all values leave.
"""

from __future__ import annotations

from typing import Final

from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop
from drawloom.batch.backends.ve.instructions import MASK_REGISTERS, REGISTERS
from drawloom.batch.ir.ir import MASK

#: Registers left over for addresses, constants and moves within one operation, and for clang's order of instructions.
SPARE_REGISTERS: Final = 24
SPARE_MASKS: Final = 9
#: What has masked forms in every carrier; `i8` and `i16` have to be made canonical after each operation.
FUSED: Final = ("fadd", "fsub", "fmul", "fma", "add", "sub", "mul")
FUSED_TYPES: Final = ("float", "double", "i32", "i64")


class Uses:
    """Positions at which each value is used, in the order in which a program is printed."""

    def __init__(self, block: list[Chunk]) -> None:
        self.fused = find_fused(block)
        self.selects = {then.number for then in self.fused.values()}
        self.positions: dict[int, list[int]] = {}
        self.position = 0
        self.visit(block)
        for positions in self.positions.values():
            positions.reverse()
        self.position = 0

    def operands_of(self, chunk: Chunk) -> tuple[Chunk, ...]:
        """Return what a chunk reads; a select that computes its first value reads that one's operands."""
        then = self.fused.get(chunk.number)
        if then is None:
            return chunk.operands
        return (chunk.operands[0], *then.operands, chunk.operands[2])

    def is_fused(self, chunk: Chunk) -> bool:
        return chunk.number in self.selects

    def visit(self, block: list[Chunk]) -> None:
        for chunk in block:
            self.position += 1
            if not self.is_fused(chunk):
                self.add(self.operands_of(chunk))
            if isinstance(chunk.detail, ChunkLoop):
                loop = chunk.detail
                self.visit(loop.header)
                self.position += 1
                self.add(tuple(loop.conditions))
                self.visit(loop.body)
                self.position += 1
                self.add(tuple(loop.next_values))

    def add(self, operands: tuple[Chunk, ...]) -> None:
        for operand in operands:
            self.positions.setdefault(operand.number, []).append(self.position)

    def pop(self, operand: Chunk) -> bool:
        """Drop the uses up to the current position, and return whether others follow."""
        left = self.positions.get(operand.number, [])
        while left and left[-1] <= self.position:
            left.pop()
        return bool(left)

    def following(self, number: int) -> int:
        """Return the position of the next use; 0 where there is none."""
        left = self.positions.get(number)
        return left[-1] if left else 0


def find_fused(block: list[Chunk]) -> dict[int, Chunk]:
    """Return the operations that only a select after them reads, by the select's number: one masked instruction."""
    counts: dict[int, int] = {}
    count_uses(block, counts)
    fused: dict[int, Chunk] = {}
    match_selects(block, counts, fused)
    return fused


def count_uses(block: list[Chunk], counts: dict[int, int]) -> None:
    for chunk in block:
        used = list(chunk.operands)
        if isinstance(chunk.detail, ChunkLoop):
            used += chunk.detail.conditions + chunk.detail.next_values
            count_uses(chunk.detail.header, counts)
            count_uses(chunk.detail.body, counts)
        for operand in used:
            counts[operand.number] = counts.get(operand.number, 0) + 1


def match_selects(block: list[Chunk], counts: dict[int, int], fused: dict[int, Chunk]) -> None:
    own = {chunk.number for chunk in block}
    for chunk in block:
        if isinstance(chunk.detail, ChunkLoop):
            match_selects(chunk.detail.header, counts, fused)
            match_selects(chunk.detail.body, counts, fused)
        if chunk.op != "select" or chunk.type == MASK:
            continue
        then = chunk.operands[1]
        if then.op in FUSED and then.type in FUSED_TYPES and then.number in own and counts[then.number] == 1:
            fused[chunk.number] = then


class RegisterFile:
    """The values that are in registers, by number, with the names of their registers."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.names: dict[int, list[str]] = {}
        self.chunks: dict[int, Chunk] = {}

    def hold(self, chunk: Chunk, names: list[str]) -> None:
        self.names[chunk.number] = names
        self.chunks[chunk.number] = chunk

    def drop(self, chunk: Chunk) -> None:
        self.names.pop(chunk.number, None)
        self.chunks.pop(chunk.number, None)

    def clear(self) -> None:
        self.names.clear()
        self.chunks.clear()

    def surplus(self, of_masks: bool, more: int, pinned: set[int]) -> list[Chunk]:
        """Return the values that have to leave for `more` registers: those that are used last."""
        mine = [chunk for chunk in self.chunks.values() if (chunk.type == MASK) == of_masks]
        budget = MASK_REGISTERS - SPARE_MASKS if of_masks else REGISTERS - SPARE_REGISTERS
        held = sum(len(self.names[chunk.number]) for chunk in mine)
        leaving: list[Chunk] = []
        candidates = [chunk for chunk in mine if chunk.number not in pinned]
        for chunk in sorted(candidates, key=lambda chunk: self.uses.following(chunk.number), reverse=True):
            if held + more <= budget:
                break
            leaving.append(chunk)
            held -= len(self.names[chunk.number])
        return leaving


class Slots:
    """Pieces of the memory that values leave for."""

    def __init__(self) -> None:
        self.size = 0
        self.free: dict[int, list[int]] = {}

    def take(self, size: int) -> int:
        """Return the offset of a piece, in bytes."""
        known = self.free.get(size)
        if known:
            return known.pop()
        self.size += size
        return self.size - size

    def give(self, offset: int, size: int) -> None:
        self.free.setdefault(size, []).append(offset)
