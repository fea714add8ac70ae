"""Lets buffers whose lives do not overlap share memory (thesis 4.3.2 counts each address space apart).

A buffer lives from its first to its last access. Where a loop does not make it anew, it lives for the whole loop.
In local and global memory, two buffers share memory where both belong to the whole work-group or kernel. Those with a
part for each work-item or group share it only if their parts are the same: otherwise work-items that are not at the
same place of the program would meet. `memory/barriers.py` then orders the last reads of one before the writes of the
next. In private memory, they become the same variables.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawloom.lift.arithmetic import Constant
from drawloom.lift.codegen.syntax import (
    Assign,
    If,
    Loop,
    SetPointer,
    Statement,
    SwapPointers,
    loads_of,
)
from drawloom.lift.memory.buffers import PRIVATE, Buffer


class Life:
    """From when to when a buffer is used, as numbers of statements."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last


class Lives:
    """The lives of the temporary buffers of a kernel."""

    def __init__(self, statements: list[Statement]) -> None:
        self.found: dict[Buffer, Life] = {}
        self.uses: list[tuple[Buffer, int, tuple[Loop, ...]]] = []
        self.spans: dict[int, Life] = {}  # of loops, by identity
        self.clock = 0
        self.walk(statements, ())
        for buffer, at, loops in self.uses:
            self.extend(buffer, at, loops)

    def walk(self, statements: list[Statement], loops: tuple[Loop, ...]) -> None:
        for statement in statements:
            self.clock += 1
            for buffer in buffers_of(statement):
                self.uses.append((buffer, self.clock, loops))
            if isinstance(statement, Loop):
                start = self.clock
                self.walk(statement.body, (*loops, statement))
                self.clock += 1
                self.spans[id(statement)] = Life(start, self.clock)
            elif isinstance(statement, If):
                self.walk(statement.body, loops)

    def extend(self, buffer: Buffer, at: int, loops: tuple[Loop, ...]) -> None:
        outside = next((loop for loop in loops if not any(loop is own for own in buffer.loops)), None)
        use = Life(at, at) if outside is None else self.spans[id(outside)]
        life = self.found.setdefault(buffer, Life(use.first, use.last))
        life.first, life.last = min(life.first, use.first), max(life.last, use.last)


def buffers_of(statement: Statement) -> Iterator[Buffer]:
    """Yield the temporary buffers that a statement uses itself, also through pointers."""
    named: list[Buffer] = [access.buffer for access in loads_of(statement)]
    if isinstance(statement, Assign):
        named.append(statement.place.buffer)
    elif isinstance(statement, SetPointer):
        named += [statement.pointer, statement.target]
    elif isinstance(statement, SwapPointers):
        named += [statement.source, statement.target, statement.home, statement.spare]
    for buffer in named:
        yield from [one for one in buffer.aliases if one.role == "temporary"]


def share_memory(statements: list[Statement], buffers: list[Buffer], spaces: tuple[str, ...]) -> None:
    """Give the buffers of some address spaces the memory of others whose lives are over."""
    lives = Lives(statements).found
    waiting = [buffer for buffer in buffers if buffer in lives and buffer.space in spaces]
    waiting.sort(key=lambda buffer: lives[buffer].first)
    ends: dict[Buffer, int] = {}  # when the memory of a buffer is free
    for buffer in waiting:
        free = [one for one in ends if ends[one] < lives[buffer].first and may_share(one, buffer)]
        if free:
            buffer.share(max(free, key=lambda one: (one.lengths == buffer.lengths, -ends[one])))
        ends[buffer.memory] = lives[buffer].last


def may_share(memory: Buffer, buffer: Buffer) -> bool:
    """Return True when a buffer may have the memory of another one whose life is over."""
    if memory.space != buffer.space or memory.element != buffer.element:
        return False
    if buffer.space == PRIVATE:
        return memory.is_scalarised == buffer.is_scalarised and memory.lengths == buffer.lengths
    if buffer.parts or memory.parts:
        return memory.lengths == buffer.lengths and memory.parts == buffer.parts
    if memory.lengths == buffer.lengths:
        return True
    return isinstance(memory.capacity, Constant) and isinstance(buffer.capacity, Constant)
