"""The types of Lift: scalars, vectors, tuples and arrays whose lengths are symbolic natural numbers (thesis 2.4.2).

    type    ::= scalar | vector | tuple | array | ragged
    scalar  ::= 'bool' | 'char' | 'uchar' | 'short' | 'ushort' | 'int' | 'uint' | 'long' | 'ulong'
              | 'half' | 'float' | 'double'
    vector  ::= scalar ('2' | '3' | '4' | '8' | '16')       -- float4
    tuple   ::= '(' type (',' type)+ ')'                    -- (float, int)
    array   ::= '[' type ']' length                         -- [[float]M]N has N rows of M elements
    ragged  ::= '[' '[' type ']' '≤' length ']' length      -- [[float]≤m]N: N elements in chunks of at most m
    length  ::= NAME | NUMBER | '(' arithmetic ')'

A ragged array is what a guarded ``split`` makes of a length that its chunk need not divide: every chunk has the
chunk's length but the last, which holds the rest. The names of scalars are OpenCL C's.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.lift.arithmetic import Nat
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.positions import caller

#: Arrays and tuples inside each other; NumPy's arrays have at most 64 axes.
DEEPEST_TYPE: Final = 60
VECTOR_WIDTHS: Final = (2, 3, 4, 8, 16)


class Type:
    """A type of a Lift expression. Types are immutable, compare by structure and print as the grammar says.

    ``depth`` is the number of arrays and tuples inside each other.
    """

    depth = 0

    def __repr__(self) -> str:
        return str(self)


def checked_depth(depth: int) -> int:
    """Return the depth of a type, or refuse it."""
    if depth > DEEPEST_TYPE:
        raise ill_typed(f"a type of more than {DEEPEST_TYPE} arrays and tuples inside each other", caller())
    return depth


class ScalarType(Type):
    """One number or truth value. ``kind`` is ``"bool"``, ``"int"``, ``"uint"`` or ``"float"``."""

    def __init__(self, name: str, kind: str, bits: int, dtype: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.dtype = np.dtype(dtype)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def size_bytes(self) -> int:
        return self.bits // 8

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScalarType) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class VectorType(Type):
    """A vector of OpenCL C: ``width`` scalars of one type, such as ``float4``."""

    def __init__(self, element: ScalarType, width: int) -> None:
        self.element = element
        self.width = width

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorType) and self.width == other.width and self.element == other.element

    def __hash__(self) -> int:
        return hash((self.element, self.width))

    def __str__(self) -> str:
        return f"{self.element}{self.width}"


class TupleType(Type):
    """Two or more values of any types side by side."""

    def __init__(self, elements: tuple[Type, ...]) -> None:
        self.elements = elements
        self.depth = checked_depth(1 + max([element.depth for element in elements]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleType) and self.elements == other.elements

    def __hash__(self) -> int:
        return hash(("tuple", self.elements))

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.elements)) + ")"


class ArrayType(Type):
    """``length`` elements of one type; arrays of arrays have several dimensions."""

    def __init__(self, element: Type, length: Nat) -> None:
        self.element = element
        self.length = length
        self.depth = checked_depth(1 + element.depth)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and self.length == other.length and self.element == other.element

    def __hash__(self) -> int:
        return hash(("array", self.element, self.length))

    def __str__(self) -> str:
        return f"[{self.element}]{print_length(self.length)}"


class RaggedType(Type):
    """``total`` elements in chunks of ``chunk``, of which the last chunk may be shorter.

    Args:
        element: The type of one element (not of one chunk).
        chunk: The length of every chunk but the last.
        total: The number of elements of all chunks together.
    """

    def __init__(self, element: Type, chunk: Nat, total: Nat) -> None:
        self.element = element
        self.chunk = chunk
        self.total = total
        self.depth = checked_depth(1 + element.depth)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RaggedType)
            and self.chunk == other.chunk
            and self.total == other.total
            and self.element == other.element
        )

    def __hash__(self) -> int:
        return hash(("ragged", self.element, self.chunk, self.total))

    def __str__(self) -> str:
        return f"[[{self.element}]≤{print_length(self.chunk)}]{print_length(self.total)}"


class TypeVariable(Type):
    """A type that inference has not found yet. ``numeric`` allows only scalars, as a bare literal needs.

    ``default`` is what remains of a variable that nothing else decides, or None.
    """

    def __init__(self, number: int, numeric: bool = False, default: ScalarType | None = None) -> None:
        self.number = number
        self.numeric = numeric
        self.default = default

    def __str__(self) -> str:
        return "number" if self.numeric else f"?{self.number}"


def print_length(length: Nat) -> str:
    """Print a length so that it can follow ``]``: compound expressions in parentheses."""
    text = str(length)
    return text if text.replace("_", "a").replace("?", "a").isalnum() else f"({text})"


boolean: Final = ScalarType("bool", "bool", 8, "bool")
int8: Final = ScalarType("char", "int", 8, "int8")
uint8: Final = ScalarType("uchar", "uint", 8, "uint8")
int16: Final = ScalarType("short", "int", 16, "int16")
uint16: Final = ScalarType("ushort", "uint", 16, "uint16")
int32: Final = ScalarType("int", "int", 32, "int32")
uint32: Final = ScalarType("uint", "uint", 32, "uint32")
int64: Final = ScalarType("long", "int", 64, "int64")
uint64: Final = ScalarType("ulong", "uint", 64, "uint64")
float16: Final = ScalarType("half", "float", 16, "float16")
float32: Final = ScalarType("float", "float", 32, "float32")
float64: Final = ScalarType("double", "float", 64, "float64")

#: Every scalar type by its name in OpenCL C.
SCALARS: Final[dict[str, ScalarType]] = {
    scalar.name: scalar
    for scalar in (
        boolean, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64
    )
}  # fmt: skip


def named_type(name: str) -> Type | None:
    """Return the scalar or vector type of a name of OpenCL C, or None.

    Example:
        >>> named_type("float4"), named_type("uint"), named_type("float5")
        (float4, uint, None)
    """
    if name in SCALARS:
        return SCALARS[name]
    for width in VECTOR_WIDTHS:
        digits = str(width)
        if name.endswith(digits) and name[: -len(digits)] in SCALARS and name[: -len(digits)] != "bool":
            return VectorType(SCALARS[name[: -len(digits)]], width)
    return None


def rank(type: Type) -> int:
    """Return the number of NumPy axes of a value: one an array dimension, and one for a vector's components."""
    if isinstance(type, ArrayType):
        return 1 + rank(type.element)
    return 1 if isinstance(type, VectorType) else 0


def holds_arrays(type: Type) -> bool:
    """Return True for arrays and for tuples with an array in them: what no user function takes."""
    if isinstance(type, TupleType):
        return any(holds_arrays(element) for element in type.elements)
    return isinstance(type, ArrayType | RaggedType)


def lengths_of(type: Type) -> list[Nat]:
    """Return every length in a type, outermost first."""
    if isinstance(type, ArrayType):
        return [type.length, *lengths_of(type.element)]
    if isinstance(type, RaggedType):
        return [type.total, type.chunk, *lengths_of(type.element)]
    if isinstance(type, TupleType):
        return [length for element in type.elements for length in lengths_of(element)]
    return []
