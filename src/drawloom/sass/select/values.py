"""What a selector knows of PTX registers: written once, never written, constants, copies, how often they are read.

A register is *settled* when one unguarded instruction writes it and no path reads it before: its definition then
dominates its reads, as in SSA form, and whatever computes it may be moved down to them or forgotten for a copy.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, collect_read, collect_written
from drawloom.ptx.liveness import Liveness


class Definitions:
    """Per register id: `instruction` is the one definition of a settled register, None for others; `reads` counts
    how often it is read; `reader` is what reads it last."""

    def __init__(self, cfg: Cfg, live: Liveness) -> None:
        count = len(cfg.function.registers)
        self.reads = [0] * count
        self.reader: list[Instruction | None] = [None] * count
        self.instruction: list[Instruction | None] = [None] * count
        self.unsettled = live.ids(live.into[0])
        for parameter in cfg.function.params:
            if parameter.register is not None:
                self.unsettled.append(parameter.register.id)
        reads, reader = self.reads, self.reader
        for b in cfg.rpo:
            for instruction in cfg.blocks[b].instructions:
                guard = instruction.guard
                if guard is not None:
                    reads[guard.id] += 1
                    reader[guard.id] = instruction
                is_destination = instruction.opcode.has_destination
                for operand in instruction.operands:
                    if is_destination:
                        is_destination = False
                        self.define(operand, instruction)
                    elif isinstance(operand, Register):
                        reads[operand.id] += 1
                        reader[operand.id] = instruction
                    elif not isinstance(operand, Immediate):
                        found: list[Register] = []
                        collect_read(operand, found)
                        for register in found:
                            reads[register.id] += 1
                            reader[register.id] = instruction
        for id in self.unsettled:
            self.instruction[id] = None

    def define(self, operand: Operand, instruction: Instruction) -> None:
        """An instruction writes an operand."""
        found: list[Register] = []
        if isinstance(operand, Register) and instruction.guard is None and self.instruction[operand.id] is None:
            self.instruction[operand.id] = instruction
            return
        collect_written(operand, found)
        for register in found:
            if instruction.guard is not None or self.instruction[register.id] is not None:
                self.unsettled.append(register.id)
            self.instruction[register.id] = instruction

    def settled(self, register: Register) -> bool:
        return self.instruction[register.id] is not None
