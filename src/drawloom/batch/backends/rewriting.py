"""Rewriting the vectors of a program in place: each instruction is replaced by some of the same meaning.

A rewriter visits every instruction after its operands, those of loops too. What it returns for an instruction stands in
for it in all later operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, ChunkProgram
from drawloom.batch.ir.ir import DTYPES


class Rewriter:
    """The replacements so far by number, and the constants that they need, which come first in the program."""

    def __init__(self, program: ChunkProgram) -> None:
        self.program = program
        self.replacements: dict[int, Chunk] = {}
        self.constants: dict[tuple[str, Any], Chunk] = {}
        self.result: list[Chunk] = []

    def run(self) -> None:
        block = self.rewritten(self.program.block)
        self.program.block = [*self.constants.values(), *block]

    def rewrite(self, chunk: Chunk, before: tuple[Chunk, ...]) -> Chunk:
        """Append what replaces an instruction, and return the chunk that stands in for it.

        Args:
            chunk: The instruction with operands that stand in for those that it had.
            before: The operands that it had.
        """
        raise NotImplementedError

    def rewritten(self, block: list[Chunk]) -> list[Chunk]:
        outer, self.result = self.result, []
        for chunk in block:
            operands = chunk.operands
            chunk.operands = self.replaced(operands)
            if isinstance(chunk.detail, ChunkLoop):
                self.rewrite_loop(chunk.detail)
            self.replacements[chunk.number] = self.rewrite(chunk, operands)
        made, self.result = self.result, outer
        return made

    def rewrite_loop(self, loop: ChunkLoop) -> None:
        self.rewrite_carried(loop)
        loop.header = self.rewritten(loop.header)
        loop.conditions = [*self.replaced(tuple(loop.conditions))]
        loop.body = self.rewritten(loop.body)
        loop.next_values = [*self.replaced(tuple(loop.next_values))]

    def rewrite_carried(self, loop: ChunkLoop) -> None:
        """Change what a loop's carried chunks are; they stay as they are unless a rewriter says otherwise."""

    def replaced(self, operands: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
        return tuple(self.replacements.get(operand.number, operand) for operand in operands)

    def keep(self, chunk: Chunk) -> Chunk:
        self.result.append(chunk)
        return chunk

    def append(self, op: str, type: str, *operands: Chunk) -> Chunk:
        self.program.number += 1
        return self.keep(Chunk(self.program.number, op, type, operands, None))

    def constant(self, type: str, number: float) -> Chunk:
        """Return a constant with one number in every lane."""
        key = (type, number)
        if key not in self.constants:
            self.program.number += 1
            lanes = np.full(self.program.width, number, DTYPES[type]).tobytes()
            self.constants[key] = Chunk(self.program.number, "constant", type, (), lanes)
        return self.constants[key]
