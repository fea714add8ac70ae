"""Which lanes of each value reach memory or a condition: what a back end need not compute.

    before: %8 = select <0, 0, 1, 1>, %7, %t; store %8        after: of %7 lanes 2 and 3, of %t lanes 0 and 1
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.ir.ir import Block, Kernel, Loop, Value

Lanes = NDArray[np.bool_]


class Demand:
    """The demanded lanes of every value of a kernel, as arrays of the value's format, by number."""

    def __init__(self, kernel: Kernel) -> None:
        self.lanes: dict[int, Lanes] = {}
        self.visit(kernel.body)

    def of(self, value: Value) -> Lanes:
        lanes = self.lanes.get(value.number)
        return np.zeros(value.format, bool) if lanes is None else lanes

    def add(self, value: Value, lanes: Lanes) -> None:
        if value.is_constant:
            return
        known = self.lanes.get(value.number)
        if known is None:
            known = self.lanes[value.number] = np.zeros(value.format, bool)
        known |= lanes

    def visit(self, block: Block) -> None:
        """Hand the demand of the block's values to their operands, last ones first."""
        for value in reversed(block.values):
            self.visit_value(value)

    def visit_value(self, value: Value) -> None:
        op, operands = value.op, value.operands
        if op == "loop":
            self.visit_loop(value)
            return
        if op in ("store", "scatter"):
            active = value.detail.active
            if operands[-1].type == "i1" and len(operands) > 1 and operands[-1].is_constant:
                active = active & operands[-1].detail
            for operand in operands:
                self.add(operand, active)
            return
        wanted = self.lanes.get(value.number)
        if wanted is None:
            return
        if op == "result":
            self.add(value.detail, wanted)
        elif op == "select" and operands[0].is_constant:
            self.add(operands[1], wanted & operands[0].detail)
            self.add(operands[2], wanted & ~operands[0].detail)
        elif op == "permute":
            self.add(operands[0], self.sources(operands[0], value.detail, wanted))
        elif op == "lookup":
            self.add(operands[0], np.ones(operands[0].format, bool))
            self.add(operands[1], wanted)
        elif op in ("load", "gather"):
            for operand in operands:
                self.add(operand, wanted & value.detail.active)
        else:
            for operand in operands:
                self.add(operand, wanted)

    def sources(self, source: Value, permutation: Any, wanted: Lanes) -> Lanes:
        lanes = np.zeros(source.format.lanes, bool)
        moved = permutation[wanted]
        lanes[moved[moved >= 0]] = True
        return lanes.reshape(source.format)

    def visit_loop(self, value: Value) -> None:
        """A loop's carried values are demanded as a whole: what they hold in the next turn is not known here."""
        loop: Loop = value.detail
        self.add(loop.condition, np.ones(loop.condition.format, bool))
        for carried in loop.carried:
            self.add(carried, np.ones(carried.format, bool))
        for following in loop.next_values:
            self.add(following, np.ones(following.format, bool))
        self.visit(loop.body)
        self.visit(loop.header)
        for initial in value.operands:
            self.add(initial, np.ones(initial.format, bool))
