"""Check that InfReg-IR is well-formed: types, formats, order of definition, lanes in range."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from drawloom.batch.ir.ir import BITS, DTYPES, MASK, Access, Block, Format, Kernel, Loop, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS, is_float, is_in
from drawloom.errors import VerifyError

#: Operations that take no operands.
SOURCES = ("group", "argument")
ACCESSES = ("load", "gather", "store", "scatter")


def verify(kernel: Kernel) -> None:
    """Check a kernel.

    Raises:
        VerifyError: A value breaks a rule; the error names the kernel and the value.
    """
    Verifier(kernel).block(kernel.body, set())


class Verifier:
    """Walks blocks with the numbers of the values that are defined."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def refuse(self, value: Value, message: str, expected: str = "") -> NoReturn:
        raise VerifyError(f"%{value.number} = {value.op}: {message}", self.kernel.name, expected=expected)

    def require(self, holds: bool, value: Value, message: str, expected: str = "") -> None:
        if not holds:
            self.refuse(value, message, expected)

    def block(self, block: Block, defined: set[int]) -> None:
        for value in block.values:
            for operand in value.operands:
                self.require(
                    operand.is_constant or operand.number in defined or operand.op == "loop",
                    value, f"%{operand.number} is used before it is defined",
                )  # fmt: skip
                if operand.is_constant:
                    self.constant(operand)
            self.value(value, defined)
            self.require(value.number not in defined, value, "the number is defined twice")
            defined.add(value.number)

    def constant(self, value: Value) -> None:
        self.require(value.detail.shape == tuple(value.format), value, "the lanes do not have the format")
        self.require(value.detail.dtype == DTYPES[value.type], value, f"the lanes are not {value.type}")

    def value(self, value: Value, defined: set[int]) -> None:
        op = value.op
        if op in OPERATIONS:
            self.operation(value)
        elif op in CONVERSIONS:
            self.conversion(value)
        elif op == "permute":
            self.permute(value)
        elif op == "lookup":
            source, index = value.operands
            self.require(value.type == source.type, value, f"{source.type} becomes {value.type}")
            self.require(index.type == "i64" and index.format == value.format, value, "the index does not fit", "i64")
        elif op in ACCESSES:
            self.access(value)
        elif op == "loop":
            self.loop(value, defined)
        elif op == "result":
            loop = value.operands[0]
            self.require(loop.op == "loop" and value.detail in loop.detail.carried, value, "no loop carries it")
        else:
            self.require(op in SOURCES and not value.operands, value, "the operation is unknown")

    def operation(self, value: Value) -> None:
        operation = OPERATIONS[value.op]
        operands = value.operands
        self.require(len(operands) == operation.operands, value, f"{len(operands)} operands", str(operation.operands))
        for operand in operands:
            self.require(operand.format == value.format, value, f"%{operand.number} has another format")
        data = operands
        if value.op == "select":
            self.require(operands[0].type == MASK, value, f"the mask is {operands[0].type}", MASK)
            data = operands[1:]
        for operand in data:
            self.require(operand.type == data[0].type, value, "operands of several types", data[0].type)
            self.require(is_in(operand.type, operation.domain), value, f"{operand.type} operand", operation.domain)
        wanted = data[0].type if operation.result == "same" else operation.result
        self.require(value.type == wanted, value, f"the result is {value.type}", wanted)

    def conversion(self, value: Value) -> None:
        source, target = CONVERSIONS[value.op]
        operand = value.operands[0]
        self.require(operand.format == value.format, value, "the operand has another format")
        if value.op == "bitcast":
            types = f"{operand.type} becomes {value.type}"
            self.require(is_float(operand.type) != is_float(value.type), value, types, "a real and an integer")
            self.require(BITS[operand.type] == BITS[value.type], value, types, "types of one size")
            return
        self.require(is_float(operand.type) == (source == "float"), value, f"{operand.type} operand", source)
        self.require(is_float(value.type) == (target == "float"), value, f"the result is {value.type}", target)

    def permute(self, value: Value) -> None:
        source = value.operands[0]
        self.require(value.type == source.type, value, f"{source.type} becomes {value.type}")
        self.require(value.detail.shape == tuple(value.format), value, "the lanes do not have the format")
        worst = int(value.detail.max())
        self.require(worst < source.format.lanes, value, f"lane {worst} is out of range for {source.format.lanes}")

    def access(self, value: Value) -> None:
        access: Access = value.detail
        parameter = next((p for p in self.kernel.parameters if p.name == access.pointer), None)
        if parameter is None or not parameter.is_pointer:
            self.refuse(value, f"{access.pointer} is not a pointer of the kernel")
        stores = value.op in ("store", "scatter")
        type = value.operands[0].type if stores else value.type
        self.require(type == parameter.type, value, f"{access.pointer} points to {parameter.type}, found {type}")
        self.require(not stores or parameter.is_written, value, f"{access.pointer} is not written")
        shapes = [access.offsets.shape, access.active.shape, *[term.coefficients.shape for term in access.terms]]
        self.require(all(Format(*shape) == value.format for shape in shapes), value, "arrays of another format")
        self.require(access.offsets.dtype == np.int64, value, f"offsets are {access.offsets.dtype}", "int64")
        rest = list(value.operands[1:] if stores else value.operands)
        if value.op in ("gather", "scatter"):
            self.require(bool(rest) and rest[0].type == "i64", value, "the index is missing", "i64")
            rest = rest[1:]
        self.require(len(rest) <= 1 and all(mask.type == MASK for mask in rest), value, "operands", "at most a mask")
        self.require(all(operand.format == value.format for operand in value.operands), value, "formats differ")

    def loop(self, value: Value, defined: set[int]) -> None:
        loop: Loop = value.detail
        lists = (value.operands, loop.carried, loop.next_values)
        self.require(len({len(row) for row in lists}) == 1, value, "carried, initial and next values differ in number")
        for rows in zip(*lists):
            kinds = {(row.type, row.format) for row in rows}
            self.require(len(kinds) == 1, value, f"%{rows[1].number} is carried with several types or formats")
        inner = defined | {carried.number for carried in loop.carried}
        self.block(loop.header, inner)
        self.require(loop.condition.type == MASK, value, f"the condition is {loop.condition.type}", MASK)
        is_defined = loop.condition.number in inner or loop.condition.is_constant
        self.require(is_defined, value, "the condition is not defined")
        self.block(loop.body, inner)
        for following in loop.next_values:
            self.require(following.is_constant or following.number in inner, value, f"%{following.number} is undefined")
