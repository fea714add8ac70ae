"""The variable in shared memory that an address is computed from."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Address, Instruction, Operand, Register, Symbol
from drawloom.ptx.liveness import Uses

#: The root of an address that may be of any variable.
ANY: Final = ""


class Roots:
    """The shared variables that addresses are computed from; ``shared`` are their names."""

    def __init__(self, uses: Uses, shared: set[str]) -> None:
        self.uses = uses
        self.shared = shared
        self.unsettled = set(uses.unsettled)
        self.known: dict[int, str] = {}

    def of_access(self, access: Instruction) -> str:
        for operand in access.operands:
            if isinstance(operand, Address) and operand.base is not None:
                return self.of_operand(operand.base)
        return ANY

    def of_operand(self, operand: Operand) -> str:
        if isinstance(operand, Symbol):
            return operand.name if operand.name in self.shared else ANY
        if isinstance(operand, Register):
            return self.of_register(operand.id)
        return ANY

    def of_register(self, id: int) -> str:
        """The only variable among what a register is computed from by moves, conversions and sums."""
        known = self.known.get(id)
        if known is not None:
            return known
        self.known[id] = ANY
        definition = self.uses.definition[id]
        if id in self.unsettled or definition is None:
            return ANY
        if definition.opcode.name not in ("mov", "cvt", "cvta", "add", "sub", "mad"):
            return ANY
        found = {self.of_operand(operand) for operand in definition.operands[1:]} - {ANY}
        root = found.pop() if len(found) == 1 else ANY
        self.known[id] = root
        return root
