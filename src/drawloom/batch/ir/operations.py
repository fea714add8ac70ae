"""The lane-by-lane operations of InfReg-IR: LLVM's names, operand classes, and what each does to NumPy arrays.

Signs belong to operations, as in LLVM: an i32 is neither signed nor unsigned. Division by zero does not occur: whoever
makes a division gives it a divisor that is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch import numbers
from drawloom.batch.ir.ir import BITS, DTYPES
from drawloom.batch.types import TYPES, ScalarType

Array = NDArray[Any]


class Operation(NamedTuple):
    """`domain` of the operands is "integer", "float", "mask" or "any"; `result` is "same" or a type."""

    operands: int
    domain: str
    result: str
    apply: Callable[..., Any]


def signed(op: str) -> Callable[[Array, Array], Array]:
    return lambda left, right: numbers.binary(op, left, right)


def unsigned(op: str) -> Callable[[Array, Array], Array]:
    def apply(left: Array, right: Array) -> Array:
        result = numbers.binary(op, as_unsigned(left), as_unsigned(right))
        return result if result.dtype == np.bool_ else result.astype(left.dtype)

    return apply


def as_unsigned(value: Array) -> Array:
    return value.astype(np.dtype(f"u{value.dtype.itemsize}")) if value.dtype.kind == "i" else value


def unordered(left: Array, right: Array) -> Array:
    return np.isnan(left) | np.isnan(right)


def function(name: str) -> Callable[..., Array]:
    return lambda *arguments: numbers.call(name, list(arguments))


OPERATIONS: Final[dict[str, Operation]] = {
    "add": Operation(2, "integer", "same", signed("+")),
    "sub": Operation(2, "integer", "same", signed("-")),
    "mul": Operation(2, "integer", "same", signed("*")),
    "sdiv": Operation(2, "integer", "same", signed("/")),
    "udiv": Operation(2, "integer", "same", unsigned("/")),
    "srem": Operation(2, "integer", "same", signed("%")),
    "urem": Operation(2, "integer", "same", unsigned("%")),
    "shl": Operation(2, "integer", "same", signed("<<")),
    "lshr": Operation(2, "integer", "same", unsigned(">>")),
    "ashr": Operation(2, "integer", "same", signed(">>")),
    "and": Operation(2, "integer", "same", signed("&")),
    "or": Operation(2, "integer", "same", signed("|")),
    "xor": Operation(2, "integer", "same", signed("^")),
    "fadd": Operation(2, "float", "same", signed("+")),
    "fsub": Operation(2, "float", "same", signed("-")),
    "fmul": Operation(2, "float", "same", signed("*")),
    "fdiv": Operation(2, "float", "same", signed("/")),
    "fneg": Operation(1, "float", "same", numbers.negate),
    "icmp eq": Operation(2, "integer", "i1", signed("==")),
    "icmp ne": Operation(2, "integer", "i1", signed("!=")),
    "icmp slt": Operation(2, "integer", "i1", signed("<")),
    "icmp sle": Operation(2, "integer", "i1", signed("<=")),
    "icmp sgt": Operation(2, "integer", "i1", signed(">")),
    "icmp sge": Operation(2, "integer", "i1", signed(">=")),
    "icmp ult": Operation(2, "integer", "i1", unsigned("<")),
    "icmp ule": Operation(2, "integer", "i1", unsigned("<=")),
    "icmp ugt": Operation(2, "integer", "i1", unsigned(">")),
    "icmp uge": Operation(2, "integer", "i1", unsigned(">=")),
    "fcmp oeq": Operation(2, "float", "i1", signed("==")),
    "fcmp une": Operation(2, "float", "i1", signed("!=")),
    "fcmp olt": Operation(2, "float", "i1", signed("<")),
    "fcmp ole": Operation(2, "float", "i1", signed("<=")),
    "fcmp ogt": Operation(2, "float", "i1", signed(">")),
    "fcmp oge": Operation(2, "float", "i1", signed(">=")),
    "fcmp uno": Operation(2, "float", "i1", unordered),
    "select": Operation(3, "any", "same", np.where),
    "fma": Operation(3, "float", "same", function("fma")),
    "sqrt": Operation(1, "float", "same", function("sqrt")),
    "fabs": Operation(1, "float", "same", function("fabs")),
}

#: Conversions: the class of the operand and of the result. fptosi and fptoui saturate and take NaN to 0; bitcast is
#: between an integer and a floating-point type of one size.
CONVERSIONS: Final[dict[str, tuple[str, str]]] = {
    "trunc": ("integer", "integer"),
    "zext": ("integer", "integer"),
    "sext": ("integer", "integer"),
    "sitofp": ("integer", "float"),
    "uitofp": ("integer", "float"),
    "fptosi": ("float", "integer"),
    "fptoui": ("float", "integer"),
    "fptrunc": ("float", "float"),
    "fpext": ("float", "float"),
    "bitcast": ("number", "number"),
}


def is_float(type: str) -> bool:
    return type in ("float", "double")


def is_in(type: str, domain: str) -> bool:
    """Return whether a type belongs to an operand class; masks are integers of one bit."""
    return domain == "any" or (domain == "mask" and type == "i1") or (domain == "float") == is_float(type)


def apply_conversion(op: str, value: Array, type: str) -> Array:
    """Convert lanes to an LLVM type."""
    dtype = DTYPES[type]
    if op == "bitcast":
        return np.ascontiguousarray(value).view(dtype)
    with np.errstate(all="ignore"):
        if op in ("zext", "uitofp"):
            return np.asarray(as_unsigned(value).astype(dtype))
        if op == "trunc" and type == "i1":
            return np.asarray((value & 1) != 0)
        if op == "sext" and value.dtype == np.bool_:
            return np.asarray(-value.astype(dtype))
        if op == "fptosi":
            return numbers.convert(value, saturation_type("i", type)).astype(dtype)
        if op == "fptoui":
            return numbers.convert(value, saturation_type("u", type)).astype(dtype)
        return np.asarray(value.astype(dtype))


def saturation_type(kind: str, type: str) -> ScalarType:
    return next(t for t in TYPES.values() if t.kind == kind and t.bits == BITS[type])
