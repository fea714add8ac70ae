"""Saturating conversions as comparisons, selects and conversions of numbers that are in range.

    before: %2 = fptoui %1 to i64
    after:  %p = select(%1 > 0, %1, 0); %big = %p >= 2^64; %q = select(%big, 0, %p)
            %c = fptoui in range %q to i64; %2 = select(%big, 2^64 - 1, %c)

LLVM 22 takes its own saturating conversions to 64 bits apart, lane by lane with a branch for each.
"""

from __future__ import annotations

from drawloom.batch.backends.chunk_ir import IN_RANGE, Chunk, ChunkProgram
from drawloom.batch.backends.rewriting import Rewriter
from drawloom.batch.ir.ir import BITS, MASK
from drawloom.batch.ir.printer import SATURATING


def expand_saturating_conversions(program: ChunkProgram) -> None:
    """Replace the conversions of a program that saturate. NaN becomes 0, as the kernel language has it."""
    Expansion(program).run()


class Expansion(Rewriter):
    """A saturating conversion becomes some instructions; others stay."""

    def rewrite(self, chunk: Chunk, before: tuple[Chunk, ...]) -> Chunk:
        if chunk.op not in SATURATING:
            return self.keep(chunk)
        source, real, bits = chunk.operands[0], chunk.operands[0].type, BITS[chunk.type]
        zero = self.constant(real, 0.0)
        if chunk.op == "fptoui":
            limit, largest = 2.0**bits, -1
            is_less, least = self.append("fcmp ogt", MASK, source, zero), zero
            raised = self.append("select", real, is_less, source, least)
        else:
            limit, largest = 2.0 ** (bits - 1), 2 ** (bits - 1) - 1
            is_number = self.append("fcmp oeq", MASK, source, source)
            number = self.append("select", real, is_number, source, zero)
            least = self.constant(real, -limit)
            is_more = self.append("fcmp ogt", MASK, number, least)
            raised = self.append("select", real, is_more, number, least)
        is_big = self.append("fcmp oge", MASK, raised, self.constant(real, limit))
        safe = self.append("select", real, is_big, zero, raised)
        converted = self.append(chunk.op + IN_RANGE, chunk.type, safe)
        return self.append("select", chunk.type, is_big, self.constant(chunk.type, largest), converted)
