"""The vectors of a machine: what a kernel does once its InfRegs are cut into chunks. Every SIMD back end prints this.

    program ::= block
    block   ::= chunk*
    chunk   ::= operation chunk*                    -- lane by lane, as in InfReg-IR
              | fptosi in range chunk | fptoui in range chunk       -- of numbers that the result's type has
              | constant numbers | splat chunk of `group` plus numbers | argument NAME
              | shuffle lanes chunk [chunk]         -- lane l is lane lanes[l] of the operands side by side
              | load place [mask] | broadcast place | gather place index [mask]
              | store place value [mask] | scatter place value index [mask]
              | table chunk* | read table index     -- lanes known at run time only, through memory
              | loop carried* header condition body next*

A chunk has `width` lanes of one type. A `Place` is an address that all lanes share: a pointer, products of run-time
numbers with coefficients, and an offset in elements; the index of a gather adds to it lane by lane. Lanes may be wider
than the elements of the place that they are loaded from or stored to: those are sign-extended, and truncated.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.ir.ir import DTYPES
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS

#: What the name of a conversion ends in that does not saturate.
IN_RANGE: Final = " in range"


class Place(NamedTuple):
    """`terms` are (factors, coefficient) pairs, sorted; "group" is the first group of the pack. Equal places of several
    phases are loaded several times (`reloads.py`)."""

    pointer: str
    type: str
    terms: tuple[tuple[tuple[str, ...], int], ...]
    offset: int
    phase: int = 0


class Chunk:
    """One vector instruction and what it gives."""

    __slots__ = ("detail", "number", "op", "operands", "type")

    def __init__(self, number: int, op: str, type: str, operands: tuple[Chunk, ...], detail: Any) -> None:
        self.number = number
        self.op = op
        self.type = type
        self.operands = operands
        self.detail = detail


class ChunkLoop:
    """What a `loop` chunk runs; its operands are the initial values of the carried chunks."""

    __slots__ = ("body", "carried", "conditions", "header", "next_values")

    def __init__(self) -> None:
        self.carried: list[Chunk] = []
        self.header: list[Chunk] = []
        self.body: list[Chunk] = []
        self.conditions: list[Chunk] = []
        self.next_values: list[Chunk] = []


class ChunkProgram:
    """The vectors of a kernel for one pack of groups. What `read_only` pointers point to does not change meanwhile;
    `stack` has the elements of each type that `reloads.py` keeps on the stack."""

    def __init__(self, width: int, read_only: frozenset[str] = frozenset()) -> None:
        self.width = width
        self.read_only = read_only
        self.stack: dict[str, int] = {}
        self.block: list[Chunk] = []
        self.scopes: list[dict[Any, Chunk]] = [{}]
        self.number = 0

    def append(self, op: str, type: str, operands: tuple[Chunk, ...], detail: Any = None) -> Chunk:
        self.number += 1
        chunk = Chunk(self.number, op, type, operands, detail)
        self.block.append(chunk)
        return chunk

    def shared(self, op: str, type: str, operands: tuple[Chunk, ...], detail: Any = None, version: int = 0) -> Chunk:
        """Return the equal chunk that exists, or a new one."""
        key = (op, type, detail, version, *[operand.number for operand in operands])
        for scope in reversed(self.scopes):
            known: Chunk | None = scope.get(key)
            if known is not None:
                return known
        chunk = self.append(op, type, operands, detail)
        self.scopes[-1][key] = chunk
        return chunk

    def shuffle(self, lanes: tuple[int, ...], first: Chunk, second: Chunk | None = None) -> Chunk:
        """Return a chunk of lanes of one or two others.

        What moves nothing is the operand itself. One lane of a chunk that was loaded is loaded again for all lanes:
        x86 does that within the instruction that uses it, and no register is held.
        """
        width = self.width
        if second is first:
            lanes, second = tuple(lane % width if lane >= 0 else lane for lane in lanes), None
        if second is not None and all(lane < width for lane in lanes):
            second = None
        elif second is not None and all(lane < 0 or lane >= width for lane in lanes):
            first, second = second, None
            lanes = tuple(lane - width if lane >= 0 else lane for lane in lanes)
        if second is None and all(lane in (-1, place) for place, lane in enumerate(lanes)):
            return first
        if second is None and first.op == "load" and not first.operands and first.detail.pointer in self.read_only:
            sources = {lane for lane in lanes if lane >= 0}
            if len(sources) == 1:
                place = first.detail._replace(offset=first.detail.offset + sources.pop())
                return self.shared("broadcast", first.type, (), place)
        operands = (first,) if second is None else (first, second)
        return self.shared("shuffle", first.type, operands, lanes)

    def enter(self, block: list[Chunk]) -> list[Chunk]:
        outer = self.block
        self.block = block
        self.scopes.append({})
        return outer

    def leave(self, outer: list[Chunk], scopes: int) -> None:
        self.block = outer
        del self.scopes[-scopes:]


class Read(NamedTuple):
    """The detail of a read. `wanted` says which lanes count, a byte for each; `lane` is one of them if all are known to
    read one element of the table, which is `offset` elements behind that lane's index."""

    wanted: bytes
    lane: int | None = None
    offset: int = 0


def is_uniform(chunk: Chunk, lanes: list[int]) -> bool:
    """Return whether some lanes of a chunk are known to hold one number."""
    pending, seen = [chunk], {chunk.number}
    while pending:
        current = pending.pop()
        if current.op == "broadcast":
            continue
        if current.op == "shuffle" and len({current.detail[lane] for lane in lanes}) == 1:
            continue
        if current.op == "constant":
            numbers = np.frombuffer(current.detail, DTYPES[current.type])
            if (numbers[lanes] != numbers[lanes[0]]).any():
                return False
        elif not is_lanewise(current.op) and current.op != "argument":
            return False
        for operand in current.operands:
            if operand.number not in seen:
                seen.add(operand.number)
                pending.append(operand)
    return True


def is_lanewise(op: str) -> bool:
    return op in OPERATIONS or op.removesuffix(IN_RANGE) in CONVERSIONS


def flatten(chunks: list[Chunk]) -> list[Chunk]:
    """Return the instructions of a block and of the loops in it, each once."""
    result: list[Chunk] = []
    for chunk in chunks:
        if isinstance(chunk.detail, ChunkLoop):
            result += flatten(chunk.detail.header) + flatten(chunk.detail.body)
        else:
            result.append(chunk)
    return result


def places_in(chunks: list[Chunk]) -> list[Place]:
    """Return what chunks load and store, those in loops too."""
    return [chunk.detail for chunk in flatten(chunks) if isinstance(chunk.detail, Place)]
