"""Buffers that are only read and written by whole vectors become arrays of vectors (thesis section 4.4.2).

``vload4(i, x)`` promises the alignment of an element only, so devices may read element by element. Where every access
of a buffer is the vector at a multiple of its width, the buffer is declared as an array of vectors.
"""

from __future__ import annotations

from collections.abc import Callable

from drawloom.lift.arithmetic import Constant, Nat, Variable, substitute, variable
from drawloom.lift.codegen.syntax import Access, Assign, SetPointer, Statement, SwapPointers, body_of, loads_of
from drawloom.lift.language.types import ScalarType
from drawloom.lift.memory.buffers import PRIVATE, Buffer

#: The alignment that allocations of NumPy and of OpenCL have, and the widest access of GPUs.
MOST_BYTES = 16


class VectorIndices:
    """The indices of vectors, given what divides the sizes of a kernel.

    Args:
        divisors: Of the kernel's sizes.
        fresh: Makes a name for a variable of the kernel.
    """

    def __init__(self, divisors: dict[Variable, int], fresh: Callable[[str], str]) -> None:
        self.divisors = divisors
        self.fresh = fresh
        self.quotients: dict[str, str] = {}  # in C, of sizes by a width, by the name of a variable
        self.parts: dict[int, dict[Variable, Nat]] = {}  # by width: sizes as multiples of it

    def find(self, index: Nat, width: int) -> Nat | None:
        """Return which vector of a width begins at an element, or None where one may not."""
        if width not in self.parts:
            self.parts[width] = {
                size: self.quotient(size, width) * width
                for size, divisor in self.divisors.items()
                if divisor % width == 0
            }
        parts = self.parts[width]
        found = substitute(index, parts) if parts else index
        rest = found % width
        return found // width if isinstance(rest, Constant) and rest.value == 0 else None

    def quotient(self, size: Variable, width: int) -> Variable:
        name = self.fresh(f"vectors_{size.name}")
        self.quotients[name] = f"{size.name} / {width}"
        return variable(name)


def find_vector_buffers(statements: list[Statement], indices: VectorIndices) -> None:
    """Mark the memory that becomes arrays of vectors: its `vector_access` is the width."""
    accesses: dict[Buffer, list[Access]] = {}
    scalar: set[Buffer] = set()
    collect(statements, accesses, scalar)
    for buffer, found in accesses.items():
        if buffer not in scalar and all_vectors(buffer, found, indices):
            buffer.vector_access = found[0].width


def collect(statements: list[Statement], accesses: dict[Buffer, list[Access]], scalar: set[Buffer]) -> None:
    """Note all accesses of buffers, and the buffers that are reached through pointers."""
    for statement in statements:
        found = list(loads_of(statement))
        if isinstance(statement, Assign):
            found.append(statement.place)
        for access in found:
            accesses.setdefault(access.buffer.memory, []).append(access)
        if isinstance(statement, SetPointer):
            scalar.update([statement.pointer.memory, statement.target.memory])
        elif isinstance(statement, SwapPointers):
            pointers = [statement.source, statement.target, statement.home, statement.spare]
            scalar.update([buffer.memory for buffer in pointers])
        body = body_of(statement)
        if body is not None:
            collect(body, accesses, scalar)


def all_vectors(buffer: Buffer, accesses: list[Access], indices: VectorIndices) -> bool:
    width = accesses[0].width
    if buffer.space == PRIVATE or width not in (2, 4, 8, 16) or not isinstance(buffer.element, ScalarType):
        return False
    if width * buffer.element.size_bytes > MOST_BYTES:
        return False
    return all(access.width == width and indices.find(access.index, width) is not None for access in accesses)
