"""What the parser knows about objects, pointers and structs, none of which the typed tree has.

A struct is stored as a variable for each of its scalars, an array of structs as an array for each. In the memory of a
kernel's parameter, structs are C's: their scalars, all of one type, lie side by side. A pointer is a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from drawloom.batch.frontend.syntax import Expression, Parameter, Variable
from drawloom.batch.types import ScalarType

#: Scalars of a struct, and elements of an array with those of its members.
LARGEST_EXTENT: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    name: str
    fields: dict[str, Type]

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Array:
    element: Type
    extent: int

    def __repr__(self) -> str:
        return f"{self.element}[{self.extent}]"


Type = ScalarType | Struct | Array


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The storage of a struct, by field."""

    name: str
    fields: dict[str, Storage]


#: Memory of a kernel's parameter, or variables.
Storage = Parameter | Variable | Members


@dataclass(frozen=True, slots=True)
class Place:
    """An object, or where a pointer to one points. `index` counts objects of the type, in memory scalars; None is the
    first. `extent` is the size of the array that a pointer was made of, 0 where that is not known."""

    storage: Storage
    index: Expression | None
    type: Type
    is_constant: bool
    extent: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PointerVariable:
    """A pointer by name. `index` is the variable that holds its index, None for one that never moves."""

    name: str
    pointed: ScalarType | Struct
    is_constant: bool
    index: Variable | None


@dataclass(frozen=True, slots=True)
class Pointer:
    """The value of a pointer expression."""

    place: Place


class StructValue(NamedTuple):
    """The value of a struct, or of one in it. `make` gives the expressions of a range of scalars of the whole."""

    type: Struct
    first: int
    make: Callable[[int, int], tuple[Expression, ...]]

    def scalars(self) -> tuple[Expression, ...]:
        return self.make(self.first, count_scalars(self.type))


def count_scalars(type: Type) -> int:
    if isinstance(type, Array):
        return type.extent * count_scalars(type.element)
    if isinstance(type, Struct):
        return sum(count_scalars(field) for field in type.fields.values())
    return 1


def scalar_types(type: Type) -> Iterator[ScalarType]:
    """Yield the types of an object's scalars in their order, those of an array's elements once."""
    if isinstance(type, Array):
        yield from scalar_types(type.element)
    elif isinstance(type, Struct):
        for field in type.fields.values():
            yield from scalar_types(field)
    else:
        yield type


def memory_scalar(type: ScalarType | Struct) -> ScalarType | None:
    """Return the type that memory of a type consists of; None where it consists of several."""
    found = list(scalar_types(type))
    return found[0] if all(scalar is found[0] for scalar in found) else None


def field_offset(struct: Struct, name: str) -> int:
    """Return how many scalars of a struct are before a field."""
    offset = 0
    for field, type in struct.fields.items():
        if field == name:
            return offset
        offset += count_scalars(type)
    raise KeyError(name)


def size_of(type: Type) -> int:
    """Return the bytes of an object in C's memory."""
    if isinstance(type, Array):
        return type.extent * size_of(type.element)
    if isinstance(type, ScalarType):
        return type.dtype.itemsize
    size = 0
    for field in type.fields.values():
        size += -size % alignment_of(field) + size_of(field)
    return size + -size % alignment_of(type)


def alignment_of(type: Type) -> int:
    return max(scalar.dtype.itemsize for scalar in scalar_types(type))
