"""The operations of InfReg-IR as C++ expressions, with the results that `ir/operations.py` and `numbers.py` define.

Integers are unsigned in the text, because signed overflow is undefined in C++; operations that need signs convert.
Floating-point operations are intrinsics that round to nearest, which no compiler contracts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.batch.ir.ir import BITS
from drawloom.batch.ir.operations import CONVERSIONS

#: Types of values -> their names in the text.
TYPES: Final[dict[str, str]] = {
    "i1": "bool", "i8": "u8", "i16": "u16", "i32": "u32", "i64": "u64", "float": "float", "double": "double",
}  # fmt: skip
SIGNED: Final[dict[str, str]] = {"i1": "bool", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64"}

#: U is the type, S the signed one, W the type of at least 32 bits in which no operation overflows as an int.
INTEGER: Final[dict[str, str]] = {
    "add": "(U)((W){0} + (W){1})",
    "sub": "(U)((W){0} - (W){1})",
    "mul": "(U)((W){0} * (W){1})",
    "sdiv": "(U)((S){0} / (S){1})",
    "udiv": "(U)({0} / {1})",
    "srem": "(U)((S){0} % (S){1})",
    "urem": "(U)({0} % {1})",
    "shl": "(U)((W){0} << ({1} & LAST))",
    "lshr": "(U)({0} >> ({1} & LAST))",
    "ashr": "(U)((S){0} >> ({1} & LAST))",
    "and": "(U)({0} & {1})",
    "or": "(U)({0} | {1})",
    "xor": "(U)({0} ^ {1})",
    "icmp eq": "{0} == {1}",
    "icmp ne": "{0} != {1}",
    "icmp slt": "(S){0} < (S){1}",
    "icmp sle": "(S){0} <= (S){1}",
    "icmp sgt": "(S){0} > (S){1}",
    "icmp sge": "(S){0} >= (S){1}",
    "icmp ult": "{0} < {1}",
    "icmp ule": "{0} <= {1}",
    "icmp ugt": "{0} > {1}",
    "icmp uge": "{0} >= {1}",
}

#: F is the letter of intrinsics, L the suffix of functions of C.
FLOAT: Final[dict[str, str]] = {
    "fadd": "__Fadd_rn({0}, {1})",
    "fsub": "__Fsub_rn({0}, {1})",
    "fmul": "__Fmul_rn({0}, {1})",
    "fdiv": "__Fdiv_rn({0}, {1})",
    "fneg": "-{0}",
    "fcmp oeq": "{0} == {1}",
    "fcmp une": "{0} != {1}",
    "fcmp olt": "{0} < {1}",
    "fcmp ole": "{0} <= {1}",
    "fcmp ogt": "{0} > {1}",
    "fcmp oge": "{0} >= {1}",
    "fcmp uno": "({0} != {0}) | ({1} != {1})",
    "fma": "__fmaL_rn({0}, {1}, {2})",
    "sqrt": "__Fsqrt_rn({0})",
    "fabs": "fabsL({0})",
}
FLOAT_LETTERS: Final = {"float": ("f", "f"), "double": ("d", "")}

#: Conversions: T is the result's type, R its signed one, S the operand's signed one.
CONVERTED: Final[dict[str, str]] = {
    "trunc": "(T){0}",
    "zext": "(T){0}",
    "sext": "(T)(S){0}",
    "sitofp": "(T)(S){0}",
    "uitofp": "(T){0}",
    "fptosi": "(T)saturate<R>({0})",
    "fptoui": "saturate<T>({0})",
    "fptrunc": "(T){0}",
    "fpext": "(T){0}",
}

#: The functions that take bits as another type, by the operand's type and the result's.
BITS_AS: Final[dict[tuple[str, str], str]] = {
    ("float", "i32"): "(u32)__float_as_int({0})",
    ("double", "i64"): "(u64)__double_as_longlong({0})",
    ("i32", "float"): "__int_as_float((i32){0})",
    ("i64", "double"): "__longlong_as_double((i64){0})",
}

#: What every kernel's text begins with.
PRELUDE: Final = """\
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
"""
SATURATE: Final = """
// The integer nearest to zero of x, the closest one that there is where x is out of range, 0 of NaN.
template <typename Integer, typename Real> __device__ inline Integer saturate(Real x) {
    const bool is_signed = (Integer)-1 < (Integer)0;
    const u64 top = 1ull << (8 * sizeof(Integer) - 1);
    const Real above = (Real)top * (is_signed ? (Real)1 : (Real)2);
    const Real whole = sizeof(Real) == 4 ? (Real)truncf((float)x) : (Real)trunc((double)x);
    if (!(x == x)) return 0;
    if (whole >= above) return (Integer)(is_signed ? top - 1 : ~0ull);
    if (whole < (is_signed ? -above : (Real)0)) return (Integer)(is_signed ? top : 0);
    return (Integer)whole;
}
"""


def operation_text(op: str, type: str, operands: list[str]) -> str:
    """Return an operation on operands of a type as an expression."""
    if op == "select":
        return f"{operands[0]} ? {operands[1]} : {operands[2]}"
    if type in FLOAT_LETTERS:
        letter, suffix = FLOAT_LETTERS[type]
        pattern = FLOAT[op].replace("F", letter).replace("L", suffix)
    else:
        wide = "u64" if type == "i64" else "u32"
        pattern = INTEGER[op].replace("(U)", f"({TYPES[type]})").replace("(S)", f"({SIGNED[type]})")
        pattern = pattern.replace("(W)", f"({wide})").replace("LAST", str(BITS[type] - 1))
    return pattern.format(*operands)


def conversion_text(op: str, source: str, target: str, operand: str) -> str:
    """Return a conversion as an expression."""
    if op == "trunc" and target == "i1":
        return f"({operand} & 1) != 0"
    if op == "sext" and source == "i1":
        return f"({TYPES[target]})(0 - (u64){operand})"
    if op == "bitcast":
        return BITS_AS[source, target].format(operand)
    pattern = CONVERTED[op].replace("(T)", f"({TYPES[target]})").replace("<T>", f"<{TYPES[target]}>")
    pattern = pattern.replace("<R>", f"<{SIGNED.get(target, '')}>").replace("(S)", f"({SIGNED.get(source, '')})")
    assert op in CONVERSIONS
    return pattern.format(operand)


def number_text(type: str, number: Any) -> str:
    """Return a number of a type as a literal that has all its bits."""
    if type == "i1":
        return "true" if number else "false"
    if type in FLOAT_LETTERS:
        return float_text(type, number)
    bits = int(number) & ((1 << BITS[type]) - 1)
    text = str(bits) if bits < 1 << 31 else hex(bits)
    return f"{text}ull" if type == "i64" else f"({TYPES[type]}){text}" if BITS[type] < 32 else f"{text}u"


def float_text(type: str, number: Any) -> str:
    value = float(number)
    if np.isfinite(value):
        text = repr(value) if value == int(value) and abs(value) < 1e6 else value.hex()
        text = f"{text}{'f' if type == 'float' else ''}"
        return f"({text})" if text.startswith("-") else text
    if type == "float":
        return f"__int_as_float({hex(int(np.float32(number).view(np.int32)) & 0xFFFFFFFF)})"
    return f"__longlong_as_double({hex(int(np.float64(number).view(np.int64)) & 0xFFFFFFFFFFFFFFFF)})"
