"""Refuses data in global memory that work-groups, or work-items of different maps, would have to hand each other.

Work-groups cannot wait for each other, and no barrier stands between maps over all work-items. So what one work-item
has stored in global memory must be read by the same one, unless both are in a work-group, where barriers order them.
"""

from __future__ import annotations

from drawloom.lift.codegen.errors import DivergentBarrier, LiftCompileError, not_compiled
from drawloom.lift.codegen.launch import GLB, WRG
from drawloom.lift.codegen.syntax import Assign, Loop, Statement, body_of, loads_of
from drawloom.lift.language.positions import NOWHERE
from drawloom.lift.memory.buffers import GLOBAL, Buffer
from drawloom.lift.memory.duplicates import SHARING, FirstOnly, Id

#: Who makes an access, for each id: the kind of the loop that shares it, `FIRST` for the first one, or `ALL`.
Makers = tuple[str, ...]
FIRST, ALL = "first", "all"


def refuse_exchanges(statements: list[Statement], ids: list[Id]) -> None:
    """Refuse a kernel in which an element of global memory may be stored and read by work-items that cannot wait.

    Args:
        statements: Of a kernel, with barriers; what several work-items would store alike is left to the first.
        ids: The ids of which there may be more than one.

    Raises:
        LiftCompileError: With the pattern that reads and its Python line.
    """
    if ids:
        Exchanges(ids).check(statements)


class Exchanges:
    def __init__(self, ids: list[Id]) -> None:
        self.ids = ids
        self.stores: dict[Buffer, set[Makers]] = {}
        self.reads: list[tuple[Buffer, Makers, Loop | None]] = []

    def check(self, statements: list[Statement]) -> None:
        self.collect(statements, (), ())
        for buffer, readers, loop in self.reads:
            for writers in self.stores.get(buffer, set()):
                for at, (kind, _) in enumerate(self.ids):
                    if writers[at] != readers[at] and (kind == WRG or GLB in (writers[at], readers[at])):
                        raise self.refuse(loop)

    def collect(self, statements: list[Statement], loops: tuple[Loop, ...], first: tuple[Id, ...]) -> None:
        for statement in statements:
            makers = self.makers(loops, first)
            loop = loops[-1] if loops else None
            for access in loads_of(statement):
                if access.buffer.space == GLOBAL and access.buffer.role != "input":
                    self.reads.append((access.buffer.memory, makers, loop))
            if isinstance(statement, Assign) and statement.place.buffer.space == GLOBAL:
                self.stores.setdefault(statement.place.buffer.memory, set()).add(makers)
            inner = (*loops, statement) if isinstance(statement, Loop) else loops
            guard = (*first, *statement.ids) if isinstance(statement, FirstOnly) else first
            self.collect(body_of(statement) or [], inner, guard)

    def makers(self, loops: tuple[Loop, ...], first: tuple[Id, ...]) -> Makers:
        """Return who makes an access inside some loops, of which the first work-items of some ids make it alone."""
        found: list[str] = []
        for kind, dimension in self.ids:
            sharing = [loop.kind for loop in loops if loop.kind in SHARING[kind] and loop.dimension == dimension]
            found.append(sharing[0] if sharing else FIRST if (kind, dimension) in first else ALL)
        return tuple(found)

    def refuse(self, loop: Loop | None) -> LiftCompileError:
        keyword, position = (loop.keyword, loop.position) if loop is not None else ("the program", NOWHERE)
        return not_compiled(
            f"{keyword}: it reads what other work-items have stored in global memory, and cannot wait for them",
            position,
            "toPrivate around what is computed before, or two kernels: kernel(...) around each",
            DivergentBarrier,  # shared memory may be the reason
        )
