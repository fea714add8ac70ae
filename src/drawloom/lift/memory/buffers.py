"""Buffers: what the values of a program are stored in (thesis 4.3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.lift.arithmetic import ONE, Constant, Nat, simplify
from drawloom.lift.language.types import ScalarType, TupleType, Type, VectorType

if TYPE_CHECKING:
    from drawloom.lift.codegen.syntax import Loop

GLOBAL: Final = "global"
LOCAL: Final = "local"
PRIVATE: Final = "private"

#: From the narrowest to the widest.
SPACES: Final = (PRIVATE, LOCAL, GLOBAL)


class Distribution:
    """How work-items share a dimension of a private array: by a parallel map of a kind and a dimension."""

    def __init__(self, kind: str, dimension: int) -> None:
        self.kind = kind
        self.dimension = dimension

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and (self.kind, self.dimension) == (other.kind, other.dimension)

    def __hash__(self) -> int:
        return hash((self.kind, self.dimension))


class Buffer:
    """Memory for scalars, or for vectors and structs in private memory.

    Args:
        name: In C.
        space: `GLOBAL`, `LOCAL` or `PRIVATE`.
        element: What one element is.
        lengths: The length of each dimension, outermost first; none for a single value.
        shared: For each dimension of a private array, how work-items share it, or None.
        role: ``"input"``, ``"output"``, ``"temporary"``, ``"pointer"``, or ``"value"`` for a scalar parameter.
        aliases: The buffers that a pointer may point to.
        vector_width: The width of the vectors whose components are the last dimension, or 0.

    Attributes:
        loops: The loops around the place where the buffer is made.
        origin: The pattern whose result it holds, with the Python line.
        parts: The parallel loops around it whose iterations have a part of it each.
        memory: The buffer whose memory this one has: itself, unless the memory is reused.
        capacity: The number of elements of the memory.
    """

    def __init__(
        self,
        name: str,
        space: str,
        element: Type,
        lengths: list[Nat],
        shared: list[Distribution | None] | None = None,
        role: str = "temporary",
        aliases: list[Buffer] | None = None,
        vector_width: int = 0,
    ) -> None:
        self.name = name
        self.space = space
        self.element = element
        self.lengths = lengths
        self.shared = shared or [None] * len(lengths)
        self.role = role
        self.aliases = aliases or [self]
        self.vector_width = vector_width
        self.is_scalarised = False
        self.loops: tuple[Loop, ...] = ()
        self.origin = ""
        self.parts: tuple[Loop, ...] = ()
        self.memory = self
        self.capacity = self.count
        self.vector_access = 0  # the width of the vectors that it is declared as, or 0

    @property
    def count(self) -> Nat:
        """The number of elements."""
        product: Nat = ONE
        for length in self.lengths:
            product = product * length
        return simplify(product)

    @property
    def size_bytes(self) -> Nat:
        return simplify(self.capacity * element_bytes(self.element))

    def share(self, memory: Buffer) -> None:
        """Take the memory of another buffer, whose life is over."""
        self.memory = memory
        self.name = memory.name
        if isinstance(self.count, Constant) and isinstance(memory.capacity, Constant):
            memory.capacity = max(self.count, memory.capacity, key=lambda count: count.value)

    def may_alias(self, other: Buffer) -> bool:
        """Return True when an element of one may be an element of the other."""
        return any(one.memory is another.memory for one in self.aliases for another in other.aliases)

    def has_layout_of(self, other: Buffer) -> bool:
        """Return True when equal indices in each dimension mean equal elements, whatever pointers point to."""
        return all(one.lengths == self.lengths for one in (*self.aliases, other, *other.aliases))

    @property
    def constant_count(self) -> int | None:
        count = self.count
        return count.value if isinstance(count, Constant) else None


def element_bytes(type: Type) -> int:
    """Return the size of a scalar, vector or tuple; the widths of vectors are those of the data, also for 3."""
    if isinstance(type, ScalarType):
        return type.size_bytes
    if isinstance(type, VectorType):
        return type.element.size_bytes * type.width
    assert isinstance(type, TupleType)
    return sum([element_bytes(element) for element in type.elements])
