"""Expressions to InfReg-IR: every operator becomes operations on the lanes of the context's format.

    before: a[s] * shuffle(b[ix], s), assigned to c[ix]        after: %3 = permute a <s, s, ..., n+s, n+s, ...>
                                                                       %4 = permute b <s*n, s*n+1, ..., s*n, s*n+1, ...>
                                                                       %5 = fmul %3, %4
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.batch.frontend.addresses import Addresses
from drawloom.batch.frontend.contexts import Context
from drawloom.batch.frontend.syntax import (
    Binary,
    Call,
    Cast,
    Conditional,
    Constant,
    Element,
    Expression,
    Identity,
    Kernel,
    Load,
    Logical,
    Read,
    ScalarParameter,
    Shuffle,
    Unary,
    Variable,
)
from drawloom.batch.ir.builder import Builder
from drawloom.batch.ir.ir import BITS, MASK, UNDEFINED, Access, Format, Lanes, Value
from drawloom.batch.ir.ranges import Ranges
from drawloom.batch.types import BITS_AS, BOOL, ScalarType

#: C's operator -> the operation for signed integers, unsigned integers, floating point.
ARITHMETIC: Final = {
    "+": ("add", "add", "fadd"),
    "-": ("sub", "sub", "fsub"),
    "*": ("mul", "mul", "fmul"),
    "/": ("sdiv", "udiv", "fdiv"),
    "%": ("srem", "urem", ""),
    "&": ("and", "and", ""),
    "|": ("or", "or", ""),
    "^": ("xor", "xor", ""),
    "<<": ("shl", "shl", ""),
    ">>": ("ashr", "lshr", ""),
    "<": ("icmp slt", "icmp ult", "fcmp olt"),
    "<=": ("icmp sle", "icmp ule", "fcmp ole"),
    ">": ("icmp sgt", "icmp ugt", "fcmp ogt"),
    ">=": ("icmp sge", "icmp uge", "fcmp oge"),
    "==": ("icmp eq", "icmp eq", "fcmp oeq"),
    "!=": ("icmp ne", "icmp ne", "fcmp une"),
}
COLUMN: Final = {"i": 0, "u": 1, "f": 2}
INDEX: Final = "i64"


class ExpressionLowering:
    """The registers of a kernel's variables, and expressions over them."""

    def __init__(self, kernel: Kernel, contract: bool) -> None:
        self.kernel = kernel
        self.contract = contract
        self.builder = Builder()
        self.addresses = Addresses()
        self.registers: dict[Variable, Value] = {}
        self.ranges = Ranges()

    def format_of(self, variable: Variable) -> Format:
        return Format(1 if variable.is_local else self.kernel.wg_size, max(variable.extent, 1))

    def evaluate(self, expression: Expression, context: Context, mask: Value | None) -> Value:
        """Return an expression's register in the context's format; loads happen where the mask holds."""
        builder = self.builder
        format = context.format
        match expression:
            case Constant(type, _, value):
                return builder.number_of(type.llvm, format, value)
            case Read(type, _, variable):
                if variable in context.bound:
                    return builder.constant(type.llvm, context.bound[variable])
                return self.spread(self.registers[variable], context)
            case Element():
                return self.read_element(expression, context, mask)
            case Load():
                return self.load(expression, context, mask)
            case ScalarParameter(type, _, parameter):
                return builder.argument(parameter.name, type.llvm, format)
            case Identity(_, _, name):
                return self.identity(name, context)
            case Cast(type, _, operand):
                return self.convert(self.evaluate(operand, context, mask), operand.type, type)
            case Unary():
                return self.unary(expression, context, mask)
            case Binary():
                return self.binary(expression, context, mask)
            case Logical(_, _, op, left, right):
                first = self.evaluate(left, context, mask)
                second = self.evaluate(right, context, self.both(mask, first if op == "&&" else self.invert(first)))
                return builder.operate("and" if op == "&&" else "or", first, second)
            case Conditional(_, _, condition, then, otherwise):
                holds = self.evaluate(condition, context, mask)
                chosen = self.evaluate(then, context, self.both(mask, holds))
                other = self.evaluate(otherwise, context, self.both(mask, self.invert(holds)))
                return builder.operate("select", holds, chosen, other)
            case Call(_, _, name, arguments):
                values = [self.evaluate(argument, context, mask) for argument in arguments]
                return self.call(name, arguments[0].type, values)
            case Shuffle():
                return self.shuffle(expression, context, mask)
            case _:
                raise AssertionError(expression)

    # Masks.

    def both(self, mask: Value | None, condition: Value) -> Value:
        return condition if mask is None else self.builder.operate("and", mask, condition)

    def invert(self, mask: Value) -> Value:
        return self.builder.operate("xor", mask, self.builder.number_of(MASK, mask.format, True))

    # Moving data between lanes.

    def spread(self, value: Value, context: Context) -> Value:
        """Return a scalar variable's register with its number in all lanes of an item."""
        if value.format == context.format:
            return value
        items = context.items if value.format.items > 1 else np.zeros_like(context.items)
        return self.builder.permute(value, items)

    def read_element(self, element: Element, context: Context, mask: Value | None) -> Value:
        builder = self.builder
        array = self.registers[element.variable]
        index = self.element_index(element, context, mask)
        rows = context.items * array.format.extent if array.format.items > 1 else np.zeros_like(context.items)
        if index.is_constant:
            return builder.permute(array, np.where(context.lanes, rows + index.detail, UNDEFINED))
        lane = builder.operate("add", index, builder.constant(INDEX, rows))
        return builder.lookup(array, lane)

    def element_index(self, element: Element, context: Context, mask: Value | None) -> Value:
        """Return an element's index in the array's bounds: 0 where a masked item is out of them.

        Raises:
            BatchTypeError: The index is known at compile time and out of range.
        """
        builder = self.builder
        index = self.wide_index(element.index, context, mask)
        extent = element.variable.extent
        bound = builder.number_of(INDEX, context.format, extent)
        inside = builder.operate("icmp ult", index, bound)
        if index.is_constant:
            wrong = context.lanes & ~inside.detail
            if mask is not None:
                wrong = wrong & mask.detail if mask.is_constant else np.zeros_like(wrong)
            if wrong.any():
                raise self.kernel.source.type_error(
                    f"index {int(index.detail[wrong][0])} is out of range for {element.variable.name}[{extent}]",
                    element.position,
                )
        return builder.operate("select", inside, index, builder.number_of(INDEX, context.format, 0))

    def wide_index(self, index: Expression, context: Context, mask: Value | None) -> Value:
        value = self.evaluate(index, context, mask)
        if index.type.bits == 64:
            return value
        return self.builder.convert("zext" if index.type.kind == "u" else "sext", value, INDEX)

    def shuffle(self, shuffle: Shuffle, context: Context, mask: Value | None) -> Value:
        builder = self.builder
        value = self.evaluate(shuffle.value, context, mask)
        lane = self.wide_index(shuffle.lane, context, mask)
        size = self.kernel.wg_size
        wrapped = self.modulo(lane, size)
        extent = context.format.extent
        flat = builder.operate("mul", wrapped, builder.number_of(INDEX, context.format, extent))
        flat = builder.operate("add", flat, builder.constant(INDEX, context.columns))
        if flat.is_constant:
            return builder.permute(value, np.where(context.lanes, flat.detail, UNDEFINED))
        return builder.lookup(value, flat)

    def modulo(self, value: Value, size: int) -> Value:
        """Return the remainder in 0 to size - 1, of negative numbers too."""
        builder = self.builder
        bounds = self.ranges.bounds(value)
        if bounds is not None and 0 <= bounds[0] <= bounds[1] < size:
            return value
        bound = builder.number_of(INDEX, value.format, size)
        if size & (size - 1) == 0:
            return builder.operate("and", value, builder.number_of(INDEX, value.format, size - 1))
        rest = builder.operate("srem", value, bound)
        negative = builder.operate("icmp slt", rest, builder.number_of(INDEX, value.format, 0))
        return builder.operate("select", negative, builder.operate("add", rest, bound), rest)

    # Memory.

    def load(self, load: Load, context: Context, mask: Value | None) -> Value:
        access, index, condition = self.access(load, context, mask)
        value = self.builder.load(load.type.llvm, context.format, access, index, condition)
        if mask is None or not mask.is_constant:
            return value
        # What a constant mask leaves out is 0; a back end drops the select where nobody asks.
        zero = self.builder.number_of(load.type.llvm, context.format, 0)
        return self.builder.operate("select", mask, value, zero)

    def access(
        self, load: Load, context: Context, mask: Value | None
    ) -> tuple[Access, Value | None, Value | None]:
        """Return the elements that a load or store touches, a run-time index and a run-time mask where there are."""
        index = self.wide_index(load.index, context, mask)
        active: Lanes = context.lanes
        if mask is not None and mask.is_constant:
            active, mask = active & mask.detail, None
        polynomial = self.addresses.polynomial(index)
        if polynomial is not None:
            return Access(load.pointer.name, polynomial.sorted_terms(), polynomial.offsets, active), None, mask
        return Access(load.pointer.name, (), np.zeros(context.format, np.int64), active), index, mask

    # Operators.

    def identity(self, name: str, context: Context) -> Value:
        builder = self.builder
        local = builder.constant(INDEX, context.items)
        if name == "get_local_id":
            return local
        group = builder.group(context.format)
        if name == "get_group_id":
            return group
        size = builder.number_of(INDEX, context.format, self.kernel.wg_size)
        return builder.operate("add", builder.operate("mul", group, size), local)

    def convert(self, value: Value, source: ScalarType, target: ScalarType) -> Value:
        builder = self.builder
        if source.is_float:
            if target.is_float:
                return builder.convert("fpext" if target.bits > source.bits else "fptrunc", value, target.llvm)
            return builder.convert("fptosi" if target.kind == "i" else "fptoui", value, target.llvm)
        if target.is_float:
            return builder.convert("sitofp" if source.kind == "i" else "uitofp", value, target.llvm)
        if target.bits == source.bits:
            return value
        if target.bits < source.bits:
            return builder.convert("trunc", value, target.llvm)
        return builder.convert("sext" if source.kind == "i" else "zext", value, target.llvm)

    def unary(self, expression: Unary, context: Context, mask: Value | None) -> Value:
        value = self.evaluate(expression.operand, context, mask)
        if expression.op == "!":
            return self.invert(value)
        if expression.op == "~":
            return self.builder.operate("xor", value, self.builder.number_of(value.type, value.format, -1))
        return self.negate(value)

    def negate(self, value: Value) -> Value:
        if value.type in ("float", "double"):
            return self.builder.operate("fneg", value)
        return self.builder.operate("sub", self.builder.number_of(value.type, value.format, 0), value)

    def binary(self, expression: Binary, context: Context, mask: Value | None) -> Value:
        op, left, right = expression.op, expression.left, expression.right
        if self.contract and expression.type.is_float and op in "+-":
            if is_product(left):
                return self.fuse(left, right, op == "-", False, context, mask)
            if is_product(right):
                return self.fuse(right, left, False, op == "-", context, mask)
        values = self.evaluate(left, context, mask), self.evaluate(right, context, mask)
        if op in ("<<", ">>"):
            return self.shift(op, left.type, right.type, *values)
        operation = ARITHMETIC[op][COLUMN[left.type.kind]]
        if op in "/%" and not left.type.is_float:
            return self.divide(operation, left.type, *values)
        return self.builder.operate(operation, *values)

    def fuse(
        self, product: Expression, addend: Expression, minus_addend: bool, minus_product: bool, context: Context,
        mask: Value | None,
    ) -> Value:  # fmt: skip
        """Return product + addend, rounded once, with the signs that were asked for."""
        assert isinstance(product, Binary)
        left = self.evaluate(product.left, context, mask)
        right = self.evaluate(product.right, context, mask)
        third = self.evaluate(addend, context, mask)
        if minus_product:
            left = self.negate(left)
        return self.builder.operate("fma", left, right, self.negate(third) if minus_addend else third)

    def shift(self, op: str, type: ScalarType, count_type: ScalarType, value: Value, count: Value) -> Value:
        """Shift by a count modulo the width."""
        builder = self.builder
        count = self.convert(count, count_type, type)
        count = builder.operate("and", count, builder.number_of(type.llvm, value.format, type.bits - 1))
        return builder.operate(ARITHMETIC[op][COLUMN[type.kind]], value, count)

    def divide(self, operation: str, type: ScalarType, left: Value, right: Value) -> Value:
        """Divide by 1 where the divisor is zero or the quotient would overflow: no lane of a vector may trap."""
        builder = self.builder
        bad = builder.operate("icmp eq", right, builder.number_of(right.type, right.format, 0))
        if type.kind == "i":
            least = builder.number_of(left.type, left.format, -(2 ** (BITS[left.type] - 1)))
            minus_one = builder.number_of(right.type, right.format, -1)
            overflows = builder.operate(
                "and", builder.operate("icmp eq", right, minus_one), builder.operate("icmp eq", left, least)
            )
            bad = builder.operate("or", bad, overflows)
        safe = builder.operate("select", bad, builder.number_of(right.type, right.format, 1), right)
        return builder.operate(operation, left, safe)

    # Functions.

    def call(self, name: str, type: ScalarType, values: list[Value]) -> Value:
        builder = self.builder
        if name in ("max", "min"):
            return self.choose_larger(type, values[0], values[1], name == "min")
        if name in ("fmax", "fmin"):
            left, right = values
            chosen = self.choose_larger(type, left, right, name == "fmin")
            chosen = builder.operate("select", builder.operate("fcmp uno", right, right), left, chosen)
            return builder.operate("select", builder.operate("fcmp uno", left, left), right, chosen)
        if name == "abs" and not type.is_float:
            if type.kind == "u":
                return values[0]
            zero = builder.number_of(values[0].type, values[0].format, 0)
            negative = builder.operate("icmp slt", values[0], zero)
            return builder.operate("select", negative, self.negate(values[0]), values[0])
        if name == "rcp":
            return builder.operate("fdiv", builder.number_of(values[0].type, values[0].format, 1), values[0])
        if name == "isnan":
            return builder.operate("fcmp uno", values[0], values[0])
        if name in BITS_AS:
            return self.bits_as(values[0], type, BITS_AS[name])
        return builder.operate("fabs" if name == "abs" else name, *values)

    def bits_as(self, value: Value, source: ScalarType, target: ScalarType) -> Value:
        """Return a number's bits as another type of its size; those of every NaN are the same."""
        builder = self.builder
        if source.is_float == target.is_float:
            return value
        bits = builder.convert("bitcast", value, target.llvm)
        if not source.is_float:
            return bits
        not_a_number = builder.number_of(target.llvm, value.format, np.asarray(np.nan, source.dtype).view(target.dtype))
        return builder.operate("select", builder.operate("fcmp uno", value, value), not_a_number, bits)

    def choose_larger(self, type: ScalarType, left: Value, right: Value, smaller: bool) -> Value:
        """Return `left < right ? right : left`, or the same for the smaller one."""
        first, second = (right, left) if smaller else (left, right)
        less = self.builder.operate(ARITHMETIC["<"][COLUMN[type.kind]], first, second)
        return self.builder.operate("select", less, right, left)


def is_product(expression: Expression) -> bool:
    return isinstance(expression, Binary) and expression.op == "*" and expression.type is not BOOL
