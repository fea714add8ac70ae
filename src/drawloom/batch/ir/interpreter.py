"""The second oracle: InfReg-IR run on NumPy arrays of shape (groups, items, extent), groups side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.ir.ir import DTYPES, Access, Block, Kernel, Loop, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS, apply_conversion
from drawloom.errors import KernelFault

Array = NDArray[Any]


def interpret_ir(kernel: Kernel, groups: int, arguments: Mapping[str, Any], *, first_group: int = 0) -> None:
    """Run a kernel on flat NumPy arrays, which are written in place.

    Args:
        kernel: InfReg-IR.
        groups: How many work-groups run.
        arguments: A flat array for each pointer, a number for each other parameter.
        first_group: The id of the first group.

    Raises:
        KernelFault: An access outside of an array.
    """
    run = Run(kernel, groups, first_group, arguments)
    run.execute(kernel.body)


class Run:
    """The registers of some groups."""

    def __init__(self, kernel: Kernel, groups: int, first_group: int, arguments: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.groups = groups
        self.group_ids = np.arange(first_group, first_group + groups, dtype=np.int64)
        self.registers: dict[int, Array] = {}

    def get(self, value: Value) -> Array:
        if value.is_constant:
            return np.broadcast_to(value.detail, (self.groups, *value.format))
        return self.registers[value.number]

    def execute(self, block: Block) -> None:
        for value in block.values:
            result = self.step(value)
            if result is not None:
                self.registers[value.number] = result

    def step(self, value: Value) -> Array | None:
        op = value.op
        shape = (self.groups, *value.format)
        if op in OPERATIONS:
            return np.asarray(OPERATIONS[op].apply(*[self.get(operand) for operand in value.operands]))
        if op in CONVERSIONS:
            return apply_conversion(op, self.get(value.operands[0]), value.type)
        if op == "permute":
            source = self.get(value.operands[0]).reshape(self.groups, -1)
            return source[:, value.detail.reshape(-1).clip(0)].reshape(shape)
        if op == "lookup":
            source = self.get(value.operands[0]).reshape(self.groups, -1)
            index = self.get(value.operands[1]).reshape(self.groups, -1)
            return np.take_along_axis(source, index.astype(np.int64), axis=1).reshape(shape)
        if op == "group":
            return np.broadcast_to(self.group_ids[:, None, None], shape)
        if op == "argument":
            return np.full(shape, self.arguments[value.detail], DTYPES[value.type])
        if op in ("load", "gather"):
            return self.load(value)
        if op in ("store", "scatter"):
            self.store(value)
            return None
        if op == "loop":
            self.loop(value)
            return None
        if op == "result":
            return self.registers[value.detail.number]
        raise AssertionError(op)

    def loop(self, value: Value) -> None:
        loop: Loop = value.detail
        for carried, initial in zip(loop.carried, value.operands):
            self.registers[carried.number] = self.get(initial)
        while True:
            self.execute(loop.header)
            if not self.get(loop.condition).any():
                return
            self.execute(loop.body)
            for carried, following in zip(loop.carried, [self.get(next_value) for next_value in loop.next_values]):
                self.registers[carried.number] = following

    def load(self, value: Value) -> Array:
        has_index = value.op == "gather"
        operands = value.operands
        index = self.get(operands[0]) if has_index else None
        mask = self.get(operands[-1]) if len(operands) > has_index else None
        elements, active = self.elements(value.detail, index, mask)
        result = np.zeros(active.shape, DTYPES[value.type])
        result[active] = self.memory(value.detail)[elements[active]]
        return result

    def store(self, value: Value) -> None:
        has_index = value.op == "scatter"
        operands = value.operands
        index = self.get(operands[1]) if has_index else None
        mask = self.get(operands[-1]) if len(operands) > 1 + has_index else None
        elements, active = self.elements(value.detail, index, mask)
        self.memory(value.detail)[elements[active]] = self.get(operands[0])[active]

    def memory(self, access: Access) -> Array:
        memory: Array = self.arguments[access.pointer]
        return memory

    def elements(self, access: Access, index: Array | None, mask: Array | None) -> tuple[Array, Array]:
        """Return the element of every lane and whether the lane touches it."""
        elements = np.broadcast_to(access.offsets, (self.groups, *access.offsets.shape)).copy()
        for term in access.terms:
            factor = np.ones(self.groups, np.int64)
            for name in term.factors:
                factor = factor * (self.group_ids if name == "group" else np.int64(self.arguments[name]))
            elements += factor[:, None, None] * term.coefficients
        if index is not None:
            elements += index
        active = np.broadcast_to(access.active, elements.shape)
        if mask is not None:
            active = active & mask
        outside = active & ((elements < 0) | (elements >= len(self.memory(access))))
        if outside.any():
            raise KernelFault(
                f"index {int(elements[outside][0])} is out of range for {access.pointer}, "
                f"an array of {len(self.memory(access))} elements", self.kernel.name
            )  # fmt: skip
        return elements, active
