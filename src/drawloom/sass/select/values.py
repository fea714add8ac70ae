"""What a selector knows of PTX registers: written once, never written, constants, copies, how often they are read.

A register is *settled* when one unguarded instruction writes it and no path reads it before: its definition then
dominates its reads, as in SSA form, and whatever computes it may be moved down to them or forgotten for a copy.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Address, Immediate, Instruction, Register, collect_read, collect_written
from drawloom.ptx.liveness import Liveness


class Definitions:
    """Per register id: `instruction` is the one definition of a settled register, None for others; `reads` counts
    how often it is read; `block` is the block of its definition; `reader` and `reader_block` are where it is read
    last."""

    def __init__(self, cfg: Cfg, live: Liveness) -> None:
        registers = cfg.function.registers
        self.written = [0] * len(registers)
        self.reads = [0] * len(registers)
        self.block = [-1] * len(registers)
        self.reader: list[Instruction | None] = [None] * len(registers)
        self.reader_block = [-1] * len(registers)
        self.instruction: list[Instruction | None] = [None] * len(registers)
        for parameter in cfg.function.params:
            if parameter.register is not None:
                self.written[parameter.register.id] += 1
        for b in cfg.rpo:
            for instruction in cfg.blocks[b].instructions:
                self.note(instruction, b)
        for id in range(len(registers)):
            if self.written[id] != 1:
                self.instruction[id] = None
        for id in live.ids(live.into[0]):
            self.instruction[id] = None

    def note(self, instruction: Instruction, b: int) -> None:
        """What an instruction of block ``b`` writes and reads."""
        is_destination = instruction.opcode.has_destination
        if instruction.guard is not None:
            self.read(instruction.guard.id, instruction, b)
        for operand in instruction.operands:
            if isinstance(operand, Register):
                if is_destination:
                    self.define(operand.id, instruction, b)
                else:
                    self.read(operand.id, instruction, b)
            elif not isinstance(operand, Immediate):
                found: list[Register] = []
                if is_destination:
                    collect_written(operand, found)
                    for register in found:
                        self.define(register.id, instruction, b)
                    found = []
                if not is_destination or isinstance(operand, Address):
                    collect_read(operand, found)
                    for register in found:
                        self.read(register.id, instruction, b)
            is_destination = False

    def define(self, id: int, instruction: Instruction, b: int) -> None:
        self.written[id] += 1 if instruction.guard is None else 2
        self.instruction[id] = instruction
        self.block[id] = b

    def read(self, id: int, instruction: Instruction, b: int) -> None:
        self.reads[id] += 1
        self.reader[id] = instruction
        self.reader_block[id] = b

    def settled(self, register: Register) -> bool:
        return self.instruction[register.id] is not None
