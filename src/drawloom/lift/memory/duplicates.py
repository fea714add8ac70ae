"""Leaves to one work-item what several would do alike: those of a dimension that the maps around a store do not share.

A kernel may have maps of different dimensions one after the other. All work-items of a dimension that is not mapped
then compute the same. They may keep it in private memory, but only the first may store it: the others could read what
it has overwritten, or update an element again. The condition stands around as much as possible that has no barrier in
it, and whose private values nothing else reads.
"""

from __future__ import annotations

from drawloom.lift.arithmetic import Condition, all_of, less
from drawloom.lift.codegen.launch import GLB, LCL, WARP, WRG, Threads
from drawloom.lift.codegen.syntax import (
    Assign,
    Barrier,
    If,
    Loop,
    SetIndex,
    SetPointer,
    Statement,
    SwapPointers,
    body_of,
    loads_of,
)
from drawloom.lift.memory.buffers import GLOBAL, PRIVATE, Buffer

#: Which kinds of loops share the work-items and the work-groups of a dimension.
SHARING = {LCL: (LCL, WARP, GLB), WRG: (WRG, GLB)}

#: A kind of ids, `LCL` or `WRG`, and a dimension.
Id = tuple[str, int]


class FirstOnly(If):
    """What the first work-item of some ids does for the others."""

    def __init__(self, condition: Condition, body: list[Statement], ids: tuple[Id, ...]) -> None:
        super().__init__(condition, body)
        self.ids = ids


def leave_to_first(statements: list[Statement], threads: Threads, ids: list[Id]) -> list[Statement]:
    """Return statements in which no element is stored by several work-items alike.

    Args:
        statements: Of a kernel, with barriers.
        threads: The numbers of work-items.
        ids: The ids of which there may be more than one.
    """
    if not ids:
        return statements
    return Guarding(statements, threads, ids).sequence(statements, ())


class Guarding:
    def __init__(self, statements: list[Statement], threads: Threads, ids: list[Id]) -> None:
        self.threads = threads
        self.ids = ids
        self.reads: dict[Buffer, int] = {}
        count_reads(statements, self.reads)

    def sequence(self, statements: list[Statement], loops: tuple[Loop, ...]) -> list[Statement]:
        return [self.statement(statement, loops) for statement in statements]

    def statement(self, statement: Statement, loops: tuple[Loop, ...]) -> Statement:
        found = self.unshared(statement, loops)
        if not any(found):
            return statement
        if len(found) == 1 and self.may_guard(statement, next(iter(found))):
            return FirstOnly(self.is_first(next(iter(found))), [statement], next(iter(found)))
        if isinstance(statement, Loop):
            statement.body = self.sequence(statement.body, (*loops, statement))
        elif isinstance(statement, If):
            statement.body = self.sequence(statement.body, loops)
        return statement

    def unshared(self, statement: Statement, loops: tuple[Loop, ...]) -> set[tuple[Id, ...]]:
        """Return for each store in a statement the ids that no loop around it shares."""
        if isinstance(statement, Assign):
            space = statement.place.buffer.space
            if space == PRIVATE:
                return set()
            return {
                tuple(
                    [
                        (kind, dimension)
                        for kind, dimension in self.ids
                        if not any(loop.kind in SHARING[kind] and loop.dimension == dimension for loop in loops)
                        and (kind == LCL or space == GLOBAL)
                    ]
                )
            }
        inner = (*loops, statement) if isinstance(statement, Loop) else loops
        return {found for one in body_of(statement) or [] for found in self.unshared(one, inner)}

    def may_guard(self, statement: Statement, unshared: tuple[Id, ...]) -> bool:
        """Return True when nothing but stores is missed by work-items that leave a statement out."""
        reads: dict[Buffer, int] = {}
        count_reads([statement], reads)
        written: set[Buffer] = set()
        if not self.is_plain([statement], written, any(kind == LCL for kind, _ in unshared)):
            return False
        return all(self.reads.get(buffer, 0) == reads.get(buffer, 0) for buffer in written)

    def is_plain(self, statements: list[Statement], written: set[Buffer], no_barriers: bool) -> bool:
        """Note the private buffers that statements write; return False for barriers and for what sets sizes."""
        for statement in statements:
            if isinstance(statement, SetIndex | SetPointer | SwapPointers):
                return False
            if isinstance(statement, Barrier) and no_barriers:
                return False
            if isinstance(statement, Assign) and statement.place.buffer.space == PRIVATE:
                written.add(statement.place.buffer)
            if not self.is_plain(body_of(statement) or [], written, no_barriers):
                return False
        return True

    def is_first(self, ids: tuple[Id, ...]) -> Condition:
        return all_of(*[less(self.threads.id(kind, dimension), 1) for kind, dimension in ids])


def count_reads(statements: list[Statement], found: dict[Buffer, int]) -> None:
    for statement in statements:
        for access in loads_of(statement):
            found[access.buffer] = found.get(access.buffer, 0) + 1
        count_reads(body_of(statement) or [], found)
