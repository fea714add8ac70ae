"""Makes InfReg-IR: values are shared where equal ones exist, constants are folded, permutations are composed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.batch.ir.ir import DTYPES, MASK, UNDEFINED, VOID, Access, Block, Format, Lanes, Loop, Value, splat
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS, apply_conversion

#: More instructions than this are refused: a loop that should not have been unrolled.
MOST_VALUES: Final = 400_000


class TooManyValues(Exception):
    """Unrolling made more instructions than `MOST_VALUES`."""


class Builder:
    """Appends values to the current block. `scopes` has the values that may be used again, innermost block last."""

    def __init__(self) -> None:
        self.block = Block()
        self.scopes: list[dict[Any, Value]] = [{}]
        self.constants: dict[Any, Value] = {}
        self.lanes: dict[Any, Lanes] = {}
        self.versions: dict[str, int] = {}
        self.number = 0

    # Making values.

    def make(self, op: str, type: str, format: Format, operands: tuple[Value, ...], detail: Any = None) -> Value:
        self.number += 1
        if self.number > MOST_VALUES:
            raise TooManyValues
        return Value(self.number, op, type, format, operands, detail)

    def append(self, op: str, type: str, format: Format, operands: tuple[Value, ...], detail: Any = None) -> Value:
        value = self.make(op, type, format, operands, detail)
        self.block.values.append(value)
        return value

    def shared(
        self, op: str, type: str, format: Format, operands: tuple[Value, ...], detail: Any = None, key: Any = None
    ) -> Value:
        """Return the equal value that exists, or a new one."""
        full_key = (op, type, format, key, *[operand.number for operand in operands])
        for scope in reversed(self.scopes):
            known: Value | None = scope.get(full_key)
            if known is not None:
                return known
        value = self.append(op, type, format, operands, detail)
        self.scopes[-1][full_key] = value
        return value

    def constant(self, type: str, lanes: Lanes) -> Value:
        """Return a constant register; `lanes` has the shape of the format."""
        lanes = np.ascontiguousarray(lanes, DTYPES[type])
        format = Format(*lanes.shape)
        key = (type, format, lanes.tobytes())
        known = self.constants.get(key)
        if known is None:
            lanes.flags.writeable = False
            known = self.constants[key] = self.make("constant", type, format, (), lanes)
        return known

    def number_of(self, type: str, format: Format, number: Any) -> Value:
        return self.constant(type, splat(format, type, number))

    def group(self, format: Format) -> Value:
        return self.shared("group", "i64", format, ())

    def argument(self, name: str, type: str, format: Format) -> Value:
        return self.shared("argument", type, format, (), name, name)

    def operate(self, op: str, *operands: Value) -> Value:
        """Apply a lane-by-lane operation."""
        operation = OPERATIONS[op]
        type = operands[-1].type if operation.result == "same" else operation.result
        format = operands[0].format
        if all(operand.is_constant for operand in operands):
            lanes = operation.apply(*[operand.detail for operand in operands])
            return self.constant(type, lanes)
        simpler = self.simplify(op, operands)
        return simpler if simpler is not None else self.shared(op, type, format, operands)

    def simplify(self, op: str, operands: tuple[Value, ...]) -> Value | None:
        """Return an existing value that an operation is equal to, bit for bit."""
        if op == "select":
            mask, then, otherwise = operands
            if then is otherwise:
                return then
            if mask.is_constant and mask.detail.all():
                return then
            if mask.is_constant and not mask.detail.any():
                return otherwise
        elif op in ("and", "or", "xor") and operands[0].type == MASK:
            return self.simplify_mask(op, operands[0], operands[1])
        elif op == "add":
            return next((operands[1 - i] for i in (0, 1) if is_all(operands[i], 0)), None)
        elif op == "mul":
            return next((operands[1 - i] for i in (0, 1) if is_all(operands[i], 1)), None)
        return None

    def simplify_mask(self, op: str, left: Value, right: Value) -> Value | None:
        if left is right and op != "xor":
            return left
        for one, other in ((left, right), (right, left)):
            if is_all(one, False):
                return one if op == "and" else other
            if is_all(one, True) and op != "xor":
                return other if op == "and" else one
        return None

    def convert(self, op: str, value: Value, type: str) -> Value:
        assert op in CONVERSIONS
        if value.is_constant:
            return self.constant(type, apply_conversion(op, value.detail, type))
        return self.shared(op, type, value.format, (value,))

    def permute(self, value: Value, lanes: Lanes) -> Value:
        """Return a register whose lane l is lane lanes[l] of a value; `lanes` has the shape of the new format."""
        format = Format(*lanes.shape)
        if value.op in ("group", "argument"):
            return self.shared(value.op, value.type, format, (), value.detail, value.detail)
        if value.is_constant:
            return self.constant(value.type, value.detail.reshape(-1)[lanes.clip(0)])
        if value.op == "permute":
            inner = value.detail.reshape(-1)
            lanes = np.where(lanes < 0, UNDEFINED, inner[lanes.clip(0)])
            return self.permute(value.operands[0], lanes)
        lanes = np.ascontiguousarray(lanes, np.int32)
        if format == value.format and is_identity(lanes):
            return value
        key = (lanes.shape, lanes.tobytes())
        lanes = self.lanes.setdefault(key, lanes)
        lanes.flags.writeable = False
        return self.shared("permute", value.type, format, (value,), lanes, key)

    def lookup(self, value: Value, index: Value) -> Value:
        """Return a register whose lane l is lane index[l] of a value; the index must be in range."""
        if index.is_constant:
            return self.permute(value, index.detail)
        return self.shared("lookup", value.type, index.format, (value, index))

    # Memory.

    def load(self, type: str, format: Format, access: Access, index: Value | None, mask: Value | None) -> Value:
        operands = tuple(operand for operand in (index, mask) if operand is not None)
        op = "load" if index is None else "gather"
        key = (access_key(access), mask is None, self.versions.get(access.pointer, 0))
        return self.shared(op, type, format, operands, access, key)

    def store(self, access: Access, value: Value, index: Value | None, mask: Value | None) -> None:
        operands = tuple(operand for operand in (value, index, mask) if operand is not None)
        self.append("store" if index is None else "scatter", VOID, value.format, operands, access)
        self.forget_memory(access.pointer)

    def forget_memory(self, pointer: str) -> None:
        """Make loads through a pointer different from those before."""
        self.versions[pointer] = self.versions.get(pointer, 0) + 1

    # Loops.

    def enter(self, block: Block) -> Block:
        """Make a block the current one; returns the one that was."""
        outer = self.block
        self.block = block
        self.scopes.append({})
        return outer

    def leave(self, outer: Block, scopes: int = 1) -> None:
        self.block = outer
        del self.scopes[-scopes:]

    def carried(self, initial: Value) -> Value:
        return self.make("carried", initial.type, initial.format, ())

    def close_loop(self, loop: Loop, initial: list[Value]) -> list[Value]:
        """Append a loop; returns the carried values after it."""
        value = self.append("loop", VOID, loop.condition.format, tuple(initial), loop)
        return [
            self.append("result", carried.type, carried.format, (value,), carried) for carried in loop.carried
        ]


def is_all(value: Value, number: Any) -> bool:
    return value.is_constant and bool((value.detail == number).all())


def is_identity(lanes: Lanes) -> bool:
    """Return whether a permutation of a format onto itself moves nothing that is defined."""
    flat = lanes.reshape(-1)
    return bool(((flat < 0) | (flat == np.arange(flat.size))).all())


def access_key(access: Access) -> Any:
    terms = tuple((term.factors, term.coefficients.tobytes()) for term in access.terms)
    return access.pointer, terms, access.offsets.tobytes(), access.active.tobytes()
