"""From a kernel to which of its parameters it may write through.

A flow-insensitive taint analysis over registers: bit i of a set stands for parameter i, one more bit for the
thread's own stack. It errs on one side only: a parameter that it calls unwritten is never written through.
That is what lets a launch accept read-only arrays, and a GPU launch skip copying inputs back.
"""

from typing import Final

from drawloom.ptx import isa
from drawloom.ptx.ir import (
    Address,
    Arguments,
    Function,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Vector,
)

#: Functions of the CUDA run time that only read what they are handed.
_READERS: Final = frozenset({"vprintf", "__assertfail"})
_WRITING_SPACES: Final = frozenset({"", "global"})


def written_parameters(module: Module, kernel: Function) -> int:
    """The parameters of `kernel` behind which memory may be written, as a bit set of their indices."""
    return _Analysis(module, kernel).run()


class _Analysis:
    def __init__(self, module: Module, kernel: Function) -> None:
        self.kernel = kernel
        self.params = {variable.name: index for index, variable in enumerate(kernel.params)}
        self.stack_bit = 1 << len(kernel.params)
        self.local_names = {v.name for v in kernel.variables if v.space == "local"}
        self.local_names.update(v.name for v in module.variables.values() if v.space == "local")
        self.by_value = self.generic_parameters()
        self.taint = [0] * len(kernel.registers)
        self.stack = 0  # what may lie in local memory and in .param variables of calls
        self.stack_escaped = False  # an address of the stack went to memory, and may come back from there
        self.written = 0
        self.changed = True

    def run(self) -> int:
        instructions = self.kernel.instructions()
        while self.changed:
            self.changed = False
            for instruction in instructions:
                self.step(instruction)
        return self.written & (self.stack_bit - 1)

    def generic_parameters(self) -> int:
        """The parameters that a generic load may read: all, once the address of one was made generic."""
        everything = self.stack_bit - 1
        for instruction in self.kernel.instructions():
            opcode = instruction.opcode
            if opcode.name == "cvta" and opcode.space == "param" and not opcode.has("to"):
                return everything
        return 0

    def step(self, instruction: Instruction) -> None:
        effect = instruction.opcode.effect
        if effect == isa.LOAD:
            self.load(instruction)
        elif effect == isa.STORE:
            self.store(instruction)
        elif effect == isa.ATOMIC:
            self.atomic(instruction)
        elif effect == isa.CALL:
            self.call(instruction)
        else:
            self.compute(instruction)

    def compute(self, instruction: Instruction) -> None:
        """Any instruction without memory: destinations hold what the sources do. Predicates carry nothing."""
        operands = instruction.operands
        start = 1 if instruction.opcode.has_destination else 0
        found = 0
        for operand in operands[start:]:
            found |= self.taint_of(operand)
        name = instruction.opcode.name
        if name == "discard":
            self.write_through(self.taint_of(operands[0]))
        elif name in ("alloca", "stacksave"):
            found = self.stack_bit
        for register in instruction.destinations():
            self.add(register, found)

    def load(self, instruction: Instruction) -> None:
        operand = instruction.operands[1]
        base = self.taint_of(operand)
        found = 0
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            index = self.params.get(operand.base.name)
            if index is not None:
                found = 1 << index
        space = instruction.opcode.space
        if space == "param":
            found |= base & ~self.stack_bit  # a parameter, read through its own address
        elif space == "":
            found |= base & self.by_value
        if space == "local" or (space == "param" and not found) or (space == "" and self.may_be_stack(base)):
            found |= self.stack
        for register in instruction.destinations():
            self.add(register, found)

    def may_be_stack(self, base: int) -> bool:
        """Whether a generic address of that provenance may lie in the thread's own stack."""
        return base == 0 or bool(base & self.stack_bit) or self.stack_escaped

    def store(self, instruction: Instruction) -> None:
        operand = instruction.operands[0]
        base = self.taint_of(operand)
        value = 0
        for stored in instruction.operands[1:]:
            value |= self.taint_of(stored)
        space = instruction.opcode.space
        if space in ("local", "param") or (space == "" and base == self.stack_bit):
            self.put_on_stack(value)
            return
        if space == "":
            self.put_on_stack(value)
        self.escape(value)
        if space in _WRITING_SPACES:
            self.write_through(base)

    def atomic(self, instruction: Instruction) -> None:
        operands = instruction.operands
        at = 1 if instruction.opcode.has_destination else 0
        base = self.taint_of(operands[at])
        for operand in operands[at + 1 :]:
            self.escape(self.taint_of(operand))
        if instruction.opcode.space in _WRITING_SPACES:
            self.write_through(base)
        for register in instruction.destinations():
            self.add(register, self.stack)

    def call(self, instruction: Instruction) -> None:
        """A callee may do anything with what it is handed, by register, by `.param` variable or in memory."""
        callee = instruction.operands[1]
        if isinstance(callee, Symbol) and callee.name in _READERS:
            return
        handed = 0
        for operand in instruction.operands[1:]:
            handed |= self.taint_of(operand)
        if handed & self.stack_bit or self.has_param_arguments(instruction):
            handed |= self.stack
        self.write_through(handed)
        self.put_on_stack(handed)
        for register in instruction.destinations():
            self.add(register, handed)

    def has_param_arguments(self, instruction: Instruction) -> bool:
        return any(
            isinstance(element, Symbol)
            for operand in instruction.operands[1:]
            if isinstance(operand, Arguments)
            for element in operand.elements
        )

    def taint_of(self, operand: Operand) -> int:
        if isinstance(operand, Register):
            return 0 if operand.type.kind == "p" else self.taint[operand.id]
        if isinstance(operand, Address):
            return 0 if operand.base is None else self.taint_of(operand.base)
        if isinstance(operand, Symbol):
            if operand.name in self.local_names:
                return self.stack_bit
            index = self.params.get(operand.name)
            return 0 if index is None else 1 << index
        if isinstance(operand, (Vector, Arguments)):
            found = 0
            for element in operand.elements:
                found |= self.taint_of(element)
            return found
        return 0

    def add(self, register: Register, found: int) -> None:
        if register.type.kind != "p" and found & ~self.taint[register.id]:
            self.taint[register.id] |= found
            self.changed = True

    def put_on_stack(self, found: int) -> None:
        if found & ~self.stack:
            self.stack |= found
            self.changed = True

    def write_through(self, found: int) -> None:
        """The memory behind `found` may be written."""
        self.written |= found

    def escape(self, found: int) -> None:
        """`found` goes to memory that others may load it from and write through.

        A pointer into the stack takes along what lies on the stack.
        """
        if found & self.stack_bit:
            found |= self.stack
            if not self.stack_escaped:
                self.stack_escaped = True
                self.changed = True
        self.written |= found
