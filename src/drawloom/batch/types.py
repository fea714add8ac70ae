"""The scalar types of kernels: OpenCL C's, with their NumPy and LLVM counterparts, and C's conversion rules.

    type ::= bool | char | uchar | short | ushort | int | uint | long | ulong | float | double

`bool` is what comparisons give; arithmetic promotes it to `int`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np


class ScalarType:
    """A scalar type. `kind` is "b", "i" (signed), "u" (unsigned) or "f"; `rank` orders the integer types of C."""

    __slots__ = ("bits", "dtype", "kind", "llvm", "name", "rank")

    def __init__(self, name: str, kind: str, bits: int, rank: int, dtype: Any, llvm: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.rank = rank
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.llvm = llvm

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    def __repr__(self) -> str:
        return self.name


BOOL: Final = ScalarType("bool", "b", 1, 0, np.bool_, "i1")
CHAR: Final = ScalarType("char", "i", 8, 1, np.int8, "i8")
UCHAR: Final = ScalarType("uchar", "u", 8, 1, np.uint8, "i8")
SHORT: Final = ScalarType("short", "i", 16, 2, np.int16, "i16")
USHORT: Final = ScalarType("ushort", "u", 16, 2, np.uint16, "i16")
INT: Final = ScalarType("int", "i", 32, 3, np.int32, "i32")
UINT: Final = ScalarType("uint", "u", 32, 3, np.uint32, "i32")
LONG: Final = ScalarType("long", "i", 64, 4, np.int64, "i64")
ULONG: Final = ScalarType("ulong", "u", 64, 4, np.uint64, "i64")
FLOAT: Final = ScalarType("float", "f", 32, 5, np.float32, "float")
DOUBLE: Final = ScalarType("double", "f", 64, 6, np.float64, "double")

TYPES: Final[dict[str, ScalarType]] = {
    t.name: t for t in (BOOL, CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, FLOAT, DOUBLE)
}

#: What each function gives that takes the bits of a number as another type of the same size.
BITS_AS: Final = {f"as_{scalar.name}": scalar for scalar in (INT, UINT, LONG, ULONG, FLOAT, DOUBLE)}

#: C's spellings with several words, each sorted, so that `long unsigned int` is found too.
C_SPELLINGS: Final[dict[tuple[str, ...], ScalarType]] = {
    tuple(sorted(words.split())): scalar
    for scalar, spellings in (
        (BOOL, "_Bool"),
        (CHAR, "char|signed char"),
        (UCHAR, "unsigned char"),
        (SHORT, "short|short int|signed short|signed short int"),
        (USHORT, "unsigned short|unsigned short int"),
        (INT, "int|signed|signed int"),
        (UINT, "unsigned|unsigned int"),
        (LONG, "long|long int|signed long|signed long int|long long|long long int|signed long long"),
        (ULONG, "unsigned long|unsigned long int|unsigned long long|unsigned long long int"),
        (FLOAT, "float"),
        (DOUBLE, "double"),
    )
    for words in spellings.split("|")
}


def promote(scalar: ScalarType) -> ScalarType:
    """Apply C's integer promotions: what is narrower than `int` becomes `int`."""
    return INT if scalar.kind != "f" and scalar.rank < INT.rank else scalar


def common_type(left: ScalarType, right: ScalarType) -> ScalarType:
    """Return the type of an arithmetic operation: C's usual arithmetic conversions."""
    if left.is_float or right.is_float:
        return left if left.rank >= right.rank else right
    left, right = promote(left), promote(right)
    if left.rank != right.rank:
        # A wider signed type holds every value of a narrower unsigned one.
        return left if left.rank > right.rank else right
    return left if left.kind == "u" else right
