"""Numbers that are written in a kernel, and expressions of them whose value is known while it is parsed."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np

from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import Binary, Cast, Conditional, Constant, Expression, Logical, Unary
from drawloom.batch.frontend.walk import operands_of
from drawloom.batch.numbers import binary, convert, negate
from drawloom.batch.types import DOUBLE, FLOAT, INT, LONG, UINT, ULONG

#: C's escapes of one character (C11 6.4.4.4).
ESCAPES: Final = {
    "n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63,
}  # fmt: skip


def parse_literal(text: str, kind: str, position: Position) -> Constant | None:
    """Return a number with C's type for it; None where its type does not hold it, for integers every type.

    Args:
        text: A literal of C.
        kind: What pycparser calls its type: "double", "float" and such, or an integer's.
        position: Where the literal stands.
    """
    if kind in ("float", "double", "long double"):
        return parse_real(text, position)
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    prefix = digits[:2].lower()
    base = 16 if prefix == "0x" else 2 if prefix == "0b" else 8 if digits[0] == "0" else 10
    number = int(digits[2:] if base in (2, 16) else digits, base)
    # C11 6.4.4.1p5: the first type of the list that holds the value.
    wide = [LONG, ULONG] if "l" in suffix else [INT, UINT, LONG, ULONG]
    types = [t for t in wide if (t.kind == "u" if "u" in suffix else t.kind == "i" or base != 10)]
    for scalar in types:
        if number <= np.iinfo(scalar.dtype).max:
            return Constant(scalar, position, scalar.dtype.type(number))
    return None


def parse_character(text: str) -> int | None:
    """Return the code of a character in quotes; None where it is not one of ASCII or an escape of C."""
    inner = text[1:-1]
    if len(inner) == 1:
        return ord(inner) if inner.isascii() else None
    if not inner.startswith("\\"):
        return None
    if inner[1:] in ESCAPES:
        return ESCAPES[inner[1:]]
    digits, base = (inner[2:], 16) if inner[1] == "x" else (inner[1:], 8)
    try:
        code = int(digits, base)
    except ValueError:
        return None
    # A char is signed.
    return int(np.uint8(code).astype(np.int8)) if 0 <= code < 256 else None


def parse_real(text: str, position: Position) -> Constant | None:
    is_hexadecimal = text[:2].lower() == "0x"
    # In a hexadecimal number, which has an exponent, f is a suffix only after that.
    number = text.rstrip("fFlL")
    try:
        value = float.fromhex(number) if is_hexadecimal else float(number)
    except OverflowError:
        return None
    if text[-1] not in "fF":
        return Constant(DOUBLE, position, np.float64(value)) if np.isfinite(value) else None
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if not np.isfinite(rounded):
        return None
    return Constant(FLOAT, position, rounded if is_hexadecimal else round_once(number, value, rounded))


def round_once(number: str, value: float, near: np.float32) -> np.float32:
    """Return the float next to a decimal number.

    Args:
        number: The number.
        value: The double next to the number. In the middle of two floats, it does not tell which is nearer.
        near: The float next to `value`.
    """
    with np.errstate(over="ignore", under="ignore"):
        other = np.nextafter(near, np.float32(np.inf if value > float(near) else -np.inf))
    is_middle = value != float(near) and (float(near) + float(other)) / 2 == value
    if not is_middle or Decimal(number) == Decimal(value):
        return near
    return max(near, other) if Decimal(number) > Decimal(value) else min(near, other)


def constant_value(value: Expression) -> np.generic | None:
    """Return the value of an integer expression of constants, None where it is not one."""
    return None if value.type.is_float else fold(value)


def fold(value: Expression) -> np.generic | None:
    """Return the value of an expression of constants, None where it is not one."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Cast):
        inner = fold(value.operand)
        result = None if inner is None else convert(np.asarray(inner), value.type)
    elif isinstance(value, Unary):
        inner = fold(value.operand)
        if inner is None:
            return None
        result = negate(np.asarray(inner)) if value.op == "-" else np.invert(np.asarray(inner))
    elif isinstance(value, Logical):
        left, right = fold(value.left), fold(value.right)
        if left is None or right is None:
            return None
        result = np.logical_and(left, right) if value.op == "&&" else np.logical_or(left, right)
    elif isinstance(value, Binary):
        left, right = fold(value.left), fold(value.right)
        result = None if left is None or right is None else binary(value.op, np.asarray(left), np.asarray(right))
    elif isinstance(value, Conditional):
        choice = fold(value.condition)
        return None if choice is None else fold(value.then if choice else value.otherwise)
    else:
        return None
    if result is None:
        return None
    folded: np.generic = value.type.dtype.type(result)
    return folded


def find_zero_division(value: Expression) -> Binary | None:
    """Return the first division by zero that evaluating an expression of constants meets, None without any."""
    parts = list(operands_of(value))
    if isinstance(value, Conditional):
        choice = constant_value(value.condition)
        parts = [value.condition, value.then if choice else value.otherwise]
    found = next(filter(None, map(find_zero_division, parts)), None)
    if found is None and isinstance(value, Binary) and value.op in "/%" and constant_value(value.right) == 0:
        return value
    return found
