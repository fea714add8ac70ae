"""From a kernel to the types of the elements that it reads and writes behind each of its pointers.

Registers get the set of parameters that their value may point into: additions, selections and conversions of addresses
keep it, products, shifts and values from memory have none. An access belongs to a parameter if its address points into
that one alone. Where a pointer is stored, handed to a function, or cannot be told from another, nothing is claimed.
"""

from typing import Any, Final

import numpy as np

from drawloom.ptx import isa
from drawloom.ptx.ir import Address, Arguments, Function, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.types import Type

#: Instructions whose result points where their sources do.
_KEEPS: Final = frozenset({"mov", "cvta", "add", "sub", "selp", "slct", "and", "or", "min", "max", "shfl", "lop3"})
_SPACES: Final = frozenset({"", "global", "const"})
_BYTE: Final = 8  # bits
_HALF: Final = 16


def accessed_types(kernel: Function) -> list[frozenset[Type] | None]:
    """For each parameter the types of all accesses through it, none if it is no pointer; None where they are not all
    known."""
    return _Accesses(kernel).run()


def contradicts(element: np.dtype[Any], accessed: frozenset[Type] | None) -> bool:
    """Return whether no access can be of elements of that type. Bytes (`uint8`) and records may be anything."""
    return bool(accessed) and all(_is_other(element, type_) for type_ in accessed or ())


def _is_other(element: np.dtype[Any], accessed: Type) -> bool:
    if element.kind == "V" or element == np.uint8:
        return False
    is_float = element.kind in "fc"
    bits = element.itemsize * _BYTE // (2 if element.kind == "c" else 1)
    width = accessed.bits // accessed.lanes
    if width == bits:
        return accessed.kind != "b" and bits != _HALF and is_float != accessed.is_float
    if width == _BYTE:
        return accessed.is_signed  # bytes may be of anything, as in C
    # Several elements are copied as one number without a sign; no compiler makes a float or a signed number of them.
    return width < bits or accessed.is_float or accessed.is_signed or bool(width % bits)


class _Accesses:
    def __init__(self, kernel: Function) -> None:
        self.kernel = kernel
        self.params = {variable.name: index for index, variable in enumerate(kernel.params)}
        self.points_to = [0] * len(kernel.registers)  # a bit for each parameter
        self.unknown = 0
        self.changed = True
        self.found: list[set[Type]] = [set() for _ in kernel.params]

    def run(self) -> list[frozenset[Type] | None]:
        instructions = self.kernel.instructions()
        while self.changed:
            self.changed = False
            for instruction in instructions:
                self.propagate(instruction)
        for instruction in instructions:
            self.record(instruction)
        return [None if self.unknown >> i & 1 else frozenset(types) for i, types in enumerate(self.found)]

    def propagate(self, instruction: Instruction) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        pointed = 0
        if opcode.effect == isa.LOAD and opcode.space == "param":
            pointed = self.parameter_of(operands[1])
        elif opcode.name in _KEEPS:
            for operand in operands[1:]:
                pointed |= self.targets(operand)
        elif opcode.name == "mad":
            pointed = self.targets(operands[3])
        if pointed:
            for register in instruction.destinations():
                if pointed & ~self.points_to[register.id]:
                    self.points_to[register.id] |= pointed
                    self.changed = True

    def parameter_of(self, operand: Operand) -> int:
        """The bit of the parameter that is loaded whole from its first byte."""
        base = operand.base if isinstance(operand, Address) else operand
        index = self.params.get(base.name) if isinstance(base, Symbol) else None
        if index is None or (isinstance(operand, Address) and operand.offset):
            return 0
        return 1 << index

    def targets(self, operand: Operand) -> int:
        if isinstance(operand, Register):
            return 0 if operand.type.kind == "p" else self.points_to[operand.id]
        if isinstance(operand, Address):
            return self.targets(operand.base) if operand.base is not None else 0
        pointed = 0
        if isinstance(operand, (Vector, Arguments)):
            for element in operand.elements:
                pointed |= self.targets(element)
        return pointed

    def record(self, instruction: Instruction) -> None:
        """Note the type of an access; a pointer that goes where it is not followed is unknown."""
        opcode = instruction.opcode
        is_access = opcode.effect in (isa.LOAD, isa.STORE, isa.ATOMIC) and opcode.space in _SPACES
        if opcode.effect == isa.CALL:
            for operand in instruction.operands:
                self.unknown |= self.targets(operand)
            return
        for operand in instruction.operands:
            if not isinstance(operand, Address):
                if opcode.effect in (isa.STORE, isa.ATOMIC):
                    self.unknown |= self.targets(operand)
                continue
            pointed = self.targets(operand)
            if pointed & (pointed - 1) or not is_access or opcode.type is None:
                if opcode.name != "prefetch":
                    self.unknown |= pointed
            elif pointed:
                self.found[pointed.bit_length() - 1].add(opcode.type)
