"""Barrier insertion and elimination by read and write sets (thesis 4.3.4).

A barrier stands between two accesses to local or global memory of one work-group where they may touch the same
element, one reads and one writes it, and different work-items may make them. (Two writes need none of their own: a
program writes an element again only after it has been read.) So no barrier stands after a parallel map whose result
nobody else reads: between the arguments of a ``zip``, after a ``mapLcl`` inside another, after the last access of a
loop that runs once. Where an element is always accessed by the same work-item, its program order suffices.

All work-items of a group must reach a barrier, so none stands inside an ``if`` or a loop of work-items unless it runs
equally often for all of them; a program that needs one there is refused.
"""

from __future__ import annotations

from drawloom.lift.arithmetic import (
    ONE,
    Nat,
    Variable,
    divides,
    free_variables,
    is_positive,
    simplify,
    substitute,
    variable,
)
from drawloom.lift.codegen.errors import not_compiled
from drawloom.lift.codegen.launch import GLB, LCL, WRG, Threads
from drawloom.lift.codegen.syntax import (
    FOR,
    ONCE,
    Access,
    Assign,
    AtomicUpdate,
    Barrier,
    If,
    Loop,
    Statement,
    SwapPointers,
    loads_of,
)
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE


class Event:
    """An access to local or global memory, with the loops around it."""

    def __init__(
        self, access: Access, writes: bool, loops: tuple[Loop, ...], is_stale: bool = False, is_atomic: bool = False
    ) -> None:
        self.access = access
        self.writes = writes
        self.loops = loops
        self.is_atomic = is_atomic
        self.is_stale = is_stale  # made through a pointer that has been exchanged since

    def may_meet(self, other: Event) -> bool:
        """Return True when the buffers of two accesses may be the same memory."""
        mine, yours = self.access.buffer, other.access.buffer
        if mine is yours:
            return True
        if mine.role == "pointer" and yours.role == "pointer" and not self.is_stale and not other.is_stale:
            return False
        return mine.may_alias(yours)


class Conflict:
    """The address spaces in which accesses have to be ordered."""

    def __init__(self) -> None:
        self.spaces: set[str] = set()

    def barrier(self) -> Barrier:
        return Barrier(LOCAL in self.spaces, GLOBAL in self.spaces)


class Pending(list[Event]):
    """What has been accessed since the last barrier."""


class BarrierInsertion:
    """Inserts the barriers of one kernel.

    Args:
        threads: The numbers of work-items.
        eliminate: Leave out barriers that order nothing; otherwise one stands after every loop of a group's work-items.
    """

    def __init__(self, threads: Threads, eliminate: bool) -> None:
        self.threads = threads
        self.eliminate = eliminate
        self.dimensions: set[int] = set()
        self.shared: dict[tuple[object, ...], Variable] = {}

    def run(self, statements: list[Statement]) -> list[Statement]:
        """Return the statements of a kernel with barriers."""
        events = self.events(statements, ())
        for event in events:
            for loop in event.loops:
                if loop.kind == LCL and self.threads.local_size[loop.dimension] != 1:
                    self.dimensions.add(loop.dimension)
        if not self.dimensions:
            return statements
        done, _ = self.sequence(statements, (), Pending())
        return done

    def events(self, statements: list[Statement], loops: tuple[Loop, ...]) -> list[Event]:
        found: list[Event] = []
        for statement in statements:
            found.extend(self.events_of(statement, loops))
        return found

    def events_of(self, statement: Statement, loops: tuple[Loop, ...]) -> list[Event]:
        found = [Event(access, False, loops) for access in loads_of(statement) if access.buffer.space != PRIVATE]
        if isinstance(statement, Assign) and statement.place.buffer.space != PRIVATE:
            found.append(Event(statement.place, True, loops, False, isinstance(statement, AtomicUpdate)))
        if isinstance(statement, Loop):
            found.extend(self.events(statement.body, (*loops, statement)))
        elif isinstance(statement, If):
            found.extend(self.events(statement.body, loops))
        return found

    def sequence(
        self, statements: list[Statement], loops: tuple[Loop, ...], pending: Pending
    ) -> tuple[list[Statement], Pending]:
        """Return statements with barriers, and what is pending after them."""
        done: list[Statement] = []
        for statement in statements:
            events = self.events_of(statement, loops)
            conflict = self.conflict(pending, events)
            if conflict is not None:
                self.require_uniform(loops)
                done.append(conflict.barrier())
                pending = Pending()
            if isinstance(statement, Loop):
                pending = self.loop(statement, loops, pending)
            elif isinstance(statement, SwapPointers):
                pending = Pending([age(event) for event in pending])
            else:
                pending = Pending([*pending, *events])
            done.append(statement)
            if not self.eliminate and self.ends_phase(statement, loops):
                spaces = Conflict()
                spaces.spaces.update([event.access.buffer.space for event in events if event.writes])
                done.append(spaces.barrier())
                pending = Pending()
        return done, pending

    def ends_phase(self, statement: Statement, loops: tuple[Loop, ...]) -> bool:
        """Return True after an outermost loop over the work-items of a group that writes shared memory."""
        return (
            isinstance(statement, Loop)
            and statement.kind == LCL
            and not any(loop.kind == LCL for loop in loops)
            and any(event.writes for event in self.events_of(statement, loops))
        )

    def loop(self, loop: Loop, loops: tuple[Loop, ...], pending: Pending) -> Pending:
        inner = (*loops, loop)
        body, after = self.sequence(loop.body, inner, Pending())
        has_barrier = any_barrier(body)
        if loop.form == FOR and loop.kind not in (LCL, GLB):
            start = leading_events(self, body, inner)
            conflict = self.conflict(after, start)
            if conflict is not None:
                self.require_uniform(inner)
                body.append(conflict.barrier())
                after = Pending()
                has_barrier = True
        loop.body = body
        return Pending([*([] if has_barrier and loop.form == ONCE else pending), *after])

    def conflict(self, before: Pending, events: list[Event]) -> Conflict | None:
        """Return in which address spaces events have to wait for pending ones; None where in none."""
        found = Conflict()
        for event in events:
            for one in before:
                ordered = event.writes != one.writes or event.is_atomic != one.is_atomic
                if ordered and one.access.buffer.space not in found.spaces:
                    if one.may_meet(event) and not self.same_work_item(one, event):
                        found.spaces.add(one.access.buffer.space)
        return found if found.spaces else None

    def same_work_item(self, one: Event, other: Event) -> bool:
        """Return True when two accesses touch the same element only if the same work-item makes them."""
        first, second = one.access, other.access
        if first.buffer is not second.buffer or first.width != second.width or one.is_stale or other.is_stale:
            return False
        names, known = self.canonical(one.loops)
        other_names, others = self.canonical(other.loops)
        if known is None or others is None or known.keys() != others.keys() or not self.dimensions <= known.keys():
            return False
        if any(known[at][1] is not others[at][1] for at in known):
            return False
        mine = [substitute(index, names) for index in first.path]
        yours = [substitute(index, other_names) for index in second.path]
        if len(mine) != len(yours) or any(index is not another for index, another in zip(mine, yours)):
            return False
        return all(any(self.determines(index, *known[at]) for index in mine) for at in self.dimensions)

    def canonical(
        self, loops: tuple[Loop, ...]
    ) -> tuple[dict[Variable, Nat | int], dict[int, tuple[Variable, Nat]] | None]:
        """Return shared names for iteration variables, and those of work-items with their lengths by dimension.

        Loops at the same depth with the same length have the same name, so that equal loops have equal indices.
        """
        names: dict[Variable, Nat | int] = {}
        found: dict[int, tuple[Variable, Nat]] = {}
        for at, loop in enumerate(loops):
            if loop.kind == LCL:
                if loop.dimension in found:
                    return names, None
                length = simplify(loop.stop)
                shared = self.shared_variable(("lcl", loop.dimension, length, loop.form == FOR), length)
                found[loop.dimension] = (shared, length)
                names[loop.variable] = shared
            elif loop.kind not in (WRG, GLB):
                names[loop.variable] = self.shared_variable(("seq", at, loop.stop), loop.stop)
        return names, found

    def shared_variable(self, key: tuple[object, ...], stop: Nat) -> Variable:
        found = self.shared.get(key)
        if found is None:
            found = variable(f"shared{len(self.shared)}", 0, stop)
            self.shared[key] = found
        return found

    def determines(self, index: Nat, item: Variable, length: Nat) -> bool:
        """Return True when equal indices have equal values of a work-item's variable."""
        if simplify(length) is ONE:
            return True
        if item not in free_variables(index):
            return False
        stride = simplify(substitute(index, {item: 1}) - substitute(index, {item: 0}))
        if not is_positive(stride):
            return False
        quotient = index // stride
        return quotient is item or quotient % length is item

    def require_uniform(self, loops: tuple[Loop, ...]) -> None:
        """Refuse a barrier that not all work-items of a group would reach equally often."""
        for loop in loops:
            if loop.kind not in (LCL, GLB):
                continue
            if loop.form == ONCE or (loop.form == FOR and loop.kind == LCL and divides(loop.step, loop.stop)):
                continue
            raise not_compiled(
                f"{loop.keyword}: a barrier is needed inside it, which not all work-items of a group would reach: "
                f"{loop.stop} elements for {loop.step} work-items",
                loop.position,
                "a number of work-items that divides the number of elements, or the maps inside it in another order",
            )


def age(event: Event) -> Event:
    """Return an event after pointers have been exchanged."""
    is_pointer = event.access.buffer.role == "pointer"
    return Event(event.access, event.writes, event.loops, True, event.is_atomic) if is_pointer else event


def any_barrier(statements: list[Statement]) -> bool:
    return any(isinstance(one, Barrier) or (isinstance(one, Loop | If) and any_barrier(one.body)) for one in statements)


def leading_events(insertion: BarrierInsertion, body: list[Statement], loops: tuple[Loop, ...]) -> list[Event]:
    """Return the events of a loop's body up to its first barrier."""
    found: list[Event] = []
    for statement in body:
        if isinstance(statement, Barrier):
            return found
        found.extend(insertion.events_of(statement, loops))
    return found
