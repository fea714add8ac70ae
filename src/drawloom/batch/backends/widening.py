"""Integers of 8 and 16 bits as lanes of 32 bits that are sign-extended: memory alone has narrow ones.

    before: %3 = load i8 a; %4 = add i8 %3, %2
    after:  %3 = load i8 a, as i32; %s = add i32 %3, %2; %t = shl %s, 24; %4 = ashr %t, 24

No vector instructions compute with all narrow integers. LLVM 22 makes up for them, in parts with errors.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.batch.backends.chunk_ir import IN_RANGE, Chunk, ChunkLoop, ChunkProgram
from drawloom.batch.backends.rewriting import Rewriter
from drawloom.batch.ir.ir import BITS, DTYPES, MASK

NARROW: Final = ("i8", "i16")
WIDE: Final = "i32"
#: What takes narrow integers as unsigned.
UNSIGNED: Final = ("udiv", "urem", "lshr")
#: What may leave a number that has more bits than its type.
OVERFLOWING: Final = ("add", "sub", "mul", "sdiv", "shl", *UNSIGNED)
CONVERTED: Final = ("trunc", "zext", "sext", "sitofp", "uitofp", "fptosi" + IN_RANGE, "fptoui" + IN_RANGE)


def widen_narrow_integers(program: ChunkProgram) -> None:
    """Keep the narrow integers of a program in lanes of 32 bits. Places in memory keep their types."""
    Widening(program).run()


class Widening(Rewriter):
    """The types that chunks had, by number."""

    def __init__(self, program: ChunkProgram) -> None:
        super().__init__(program)
        self.types: dict[int, str] = {}

    def rewrite_carried(self, loop: ChunkLoop) -> None:
        for carried in loop.carried:
            self.widen(carried)

    def widen(self, chunk: Chunk) -> str:
        """Make a chunk one of 32-bit lanes, and return the type that it had."""
        type = self.types[chunk.number] = chunk.type
        if type in NARROW:
            chunk.type = WIDE
        return type

    def rewrite(self, chunk: Chunk, before: tuple[Chunk, ...]) -> Chunk:
        self.types[chunk.number] = chunk.type
        sources = [self.types.get(operand.number, operand.type) for operand in before]
        if chunk.type not in NARROW and not any(source in NARROW for source in sources):
            return self.keep(chunk)
        return self.convert(chunk, sources[0]) if chunk.op in CONVERTED else self.compute(chunk)

    def compute(self, chunk: Chunk) -> Chunk:
        type = self.widen(chunk)
        if chunk.op == "constant":
            chunk.detail = widened_numbers(chunk.detail, type)
        if chunk.op in UNSIGNED:
            chunk.operands = tuple(self.zero_extend(operand, type) for operand in chunk.operands)
        self.keep(chunk)
        return self.wrap(chunk, type) if chunk.op in OVERFLOWING and type in NARROW else chunk

    def convert(self, chunk: Chunk, source: str) -> Chunk:
        """Convert to or from narrow integers; between lanes of 32 bits, most conversions change nothing."""
        op, type, operand = chunk.op, chunk.type, chunk.operands[0]
        if source in NARROW and op in ("zext", "uitofp"):
            operand = self.zero_extend(operand, source)
            chunk.operands = (operand,)
            chunk.op = "sitofp" if op == "uitofp" else op
        if op == "trunc" and operand.type == WIDE and type in NARROW:
            return self.wrap(operand, type)
        if op in ("sext", "zext") and source in NARROW and type in (*NARROW, WIDE):
            return operand
        self.widen(chunk)
        if op == "fptoui" + IN_RANGE and type in NARROW:
            chunk.op = "fptosi" + IN_RANGE
        self.keep(chunk)
        return self.wrap(chunk, type) if type in NARROW and source != MASK and op != "fptosi" + IN_RANGE else chunk

    def wrap(self, chunk: Chunk, type: str) -> Chunk:
        """Sign-extend the lowest bits of every lane."""
        shift = self.constant(WIDE, BITS[WIDE] - BITS[type])
        return self.append("ashr", WIDE, self.append("shl", WIDE, chunk, shift), shift)

    def zero_extend(self, chunk: Chunk, type: str) -> Chunk:
        if type not in NARROW:
            return chunk
        return self.append("and", WIDE, chunk, self.constant(WIDE, 2 ** BITS[type] - 1))


def widened_numbers(numbers: bytes, type: str) -> bytes:
    if type not in NARROW:
        return numbers
    return np.frombuffer(numbers, DTYPES[type]).astype(DTYPES[WIDE]).tobytes()
