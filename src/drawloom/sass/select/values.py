"""What a selector knows of PTX registers: written once, never written, constants, copies, how often they are read.

A register is *settled* when one unguarded instruction writes it and no path reads it before: its definition then
dominates its reads, as in SSA form, and whatever computes it may be moved down to them or forgotten for a copy.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Instruction, Register
from drawloom.ptx.liveness import Liveness, members


class Definitions:
    """Per register id: `instruction` is the one definition of a settled register, None for others; `reads` counts
    how often it is read; `block` is the block of its definition; `reader` and `reader_block` are where it is read
    last."""

    def __init__(self, cfg: Cfg, live: Liveness) -> None:
        registers = cfg.function.registers
        written = [0] * len(registers)
        self.reads = [0] * len(registers)
        self.block = [-1] * len(registers)
        self.reader: list[Instruction | None] = [None] * len(registers)
        self.reader_block = [-1] * len(registers)
        self.instruction: list[Instruction | None] = [None] * len(registers)
        for parameter in cfg.function.params:
            if parameter.register is not None:
                written[parameter.register.id] += 1
        for b in cfg.rpo:
            for instruction in cfg.blocks[b].instructions:
                for register in instruction.destinations():
                    written[register.id] += 1
                    self.instruction[register.id] = instruction
                    self.block[register.id] = b
                    if instruction.guard is not None:
                        written[register.id] += 1
                for register in instruction.sources():
                    self.reads[register.id] += 1
                    self.reader[register.id] = instruction
                    self.reader_block[register.id] = b
        for id in range(len(registers)):
            if written[id] != 1:
                self.instruction[id] = None
        for id in members(live.live_in[0]):
            self.instruction[id] = None

    def settled(self, register: Register) -> bool:
        return self.instruction[register.id] is not None
