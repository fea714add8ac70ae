"""Values of read-only memory that do not fit into registers: loaded anew where they are used again.

    before: %1 = load b[0]; ... a hundred instructions ...; fma %a, %1, %c
    after:  ...; %9 = load b[0]; fma %a, %9, %c

LLVM keeps what is loaded once, on the stack if need be: a store and a load in place of an operand in memory. It also
merges equal loads. So a load that is to be a new one has an address that LLVM cannot compare: the pointers of every
`PHASE` instructions are other ones to it (`llvm.py`).
"""

from __future__ import annotations

import heapq
from typing import Final

from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram, Place
from drawloom.batch.ir.ir import MASK

#: Instructions whose loads share their addresses.
PHASE: Final = 128
LOADS: Final = ("load", "broadcast")
#: What holds no vector register.
FREE: Final = ("constant", "carried", "argument", "group")


def reload_from_memory(program: ChunkProgram, registers: int) -> None:
    """Replace late uses of loaded values by loads, as far as the values would leave their registers (Belady's rule).

    Args:
        program: Its block is changed in place; blocks of loops stay as they are.
        registers: How many vector registers there are.
    """
    if any(chunk.op == "loop" for chunk in program.block):
        return
    Reloader(program, registers).run()


class Reloader:
    """The values that are held, by their next use, and the newest load of each place."""

    def __init__(self, program: ChunkProgram, registers: int) -> None:
        self.program = program
        self.registers = registers
        self.uses: dict[int, list[int]] = {}
        for place, chunk in enumerate(program.block):
            for operand in chunk.operands:
                if operand.op not in FREE and operand.type != MASK:
                    self.uses.setdefault(operand.number, []).append(place)
        for places in self.uses.values():
            places.reverse()
        self.held: dict[int, int] = {}
        self.heap: list[tuple[int, int]] = []
        self.newest: dict[int, Chunk] = {}

    def run(self) -> None:
        result: list[Chunk] = []
        for place, chunk in enumerate(self.program.block):
            for operand in dict.fromkeys(chunk.operands):
                if operand.number in self.uses:
                    self.use(operand, place, result)
            chunk.operands = tuple(self.newest.get(operand.number, operand) for operand in chunk.operands)
            result.append(chunk)
            if self.uses.get(chunk.number):
                self.hold(chunk.number)
        self.program.block = result

    def use(self, operand: Chunk, place: int, result: list[Chunk]) -> None:
        """Take an operand from its register, or load it anew."""
        number = operand.number
        if number not in self.held and self.is_reloadable(operand):
            phase = len(result) // PHASE
            self.program.number += 1
            fresh = Chunk(
                self.program.number, operand.op, operand.type, (), operand.detail._replace(phase=phase)
            )
            self.newest[number] = fresh
            result.append(fresh)
        while self.uses[number] and self.uses[number][-1] <= place:
            self.uses[number].pop()
        self.held.pop(number, None)
        if self.uses[number]:
            self.hold(number)

    def is_reloadable(self, chunk: Chunk) -> bool:
        if chunk.op not in LOADS or chunk.operands:
            return False
        assert isinstance(chunk.detail, Place)
        return chunk.detail.pointer in self.program.read_only

    def hold(self, number: int) -> None:
        following = self.uses[number][-1]
        self.held[number] = following
        heapq.heappush(self.heap, (-following, number))
        while len(self.held) > self.registers:
            distance, evicted = heapq.heappop(self.heap)
            if self.held.get(evicted) == -distance:
                del self.held[evicted]
