"""Barrier insertion and elimination by read and write sets (thesis 4.3.4).

A barrier stands between two accesses to local or global memory of one work-group where they may touch the same
element, one reads and one writes it, and different work-items may make them. (Two writes need none of their own: a
program writes an element again only after it has been read.) So no barrier stands after a parallel map whose result
nobody else reads: between the arguments of a ``zip``, after a ``mapLcl`` inside another, after the last access of a
loop that runs once. Where an element is always accessed by the same work-item, its program order suffices.

All work-items of a group must reach a barrier, so none stands inside an ``if`` or a loop of work-items unless it runs
equally often for all of them; a program that needs one there is refused.

Where only the lanes of one warp exchange data, and the device's sub-groups are warps, a barrier of the warp suffices,
which all lanes of the warp must reach. It orders nothing between warps.
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
from drawloom.lift.codegen.errors import DivergentBarrier, not_compiled
from drawloom.lift.codegen.launch import GLB, GROUP_KINDS, LANE, LCL, WARP, WRG, Threads
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
        self,
        access: Access,
        writes: bool,
        loops: tuple[Loop, ...],
        is_stale: bool = False,
        is_atomic: bool = False,
        is_ordered_in_warp: bool = False,
    ) -> None:
        self.access = access
        self.writes = writes
        self.loops = loops
        self.is_atomic = is_atomic
        self.is_stale = is_stale  # made through a pointer that has been exchanged since
        self.is_ordered_in_warp = is_ordered_in_warp  # before a barrier of the warp

    def may_meet(self, other: Event) -> bool:
        """Return True when the buffers of two accesses may be the same memory."""
        mine, yours = self.access.buffer, other.access.buffer
        if mine is yours:
            return True
        if mine.role == "pointer" and yours.role == "pointer" and not self.is_stale and not other.is_stale:
            return False
        return mine.may_alias(yours)


class Conflict:
    """The address spaces in which accesses have to be ordered, and whether those of one warp only."""

    def __init__(self) -> None:
        self.spaces: set[str] = set()
        self.is_in_warp = True

    def barrier(self) -> Barrier:
        return Barrier(LOCAL in self.spaces, GLOBAL in self.spaces, self.is_in_warp)


#: The kinds of loops whose iterations work-items share.
PARALLEL_KINDS = (GLB, *GROUP_KINDS)
#: What has been accessed since the last barrier.
Pending = list[Event]


class WorkItems:
    """Which iteration variables tell the work-items of one dimension apart: that of mapLcl, or of mapWarp and mapLane.

    Attributes:
        items: The kind, the variable and the length of each map.
    """

    def __init__(self) -> None:
        self.items: list[tuple[str, Variable, Nat]] = []

    def may_add(self, kind: str) -> bool:
        return not self.items or ([one[0] for one in self.items], kind) == ([WARP], LANE)

    def add(self, kind: str, variable: Variable, length: Nat) -> None:
        self.items.append((kind, variable, length))

    @property
    def is_complete(self) -> bool:
        return [kind for kind, _, _ in self.items] in ([LCL], [WARP, LANE])


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
                if loop.kind in GROUP_KINDS and self.threads.local_size[loop.dimension] != 1:
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
                self.require_uniform(loops, conflict)
                done.append(conflict.barrier())
                pending = ordered(pending, conflict)
            if isinstance(statement, Loop):
                pending = self.loop(statement, loops, pending)
            elif isinstance(statement, SwapPointers):
                pending = Pending([age(event) for event in pending])
            else:
                pending = Pending([*pending, *events])
            done.append(statement)
            if not self.eliminate and self.ends_phase(statement, loops):
                spaces = Conflict()
                spaces.is_in_warp = False
                spaces.spaces.update([event.access.buffer.space for event in events if event.writes])
                done.append(spaces.barrier())
                pending = Pending()
        return done, pending

    def ends_phase(self, statement: Statement, loops: tuple[Loop, ...]) -> bool:
        """Return True after an outermost loop over the work-items of a group that writes shared memory."""
        return (
            isinstance(statement, Loop)
            and statement.kind in (LCL, WARP)
            and not any(loop.kind in (LCL, WARP) for loop in loops)
            and any(event.writes for event in self.events_of(statement, loops))
        )

    def loop(self, loop: Loop, loops: tuple[Loop, ...], pending: Pending) -> Pending:
        inner = (*loops, loop)
        body, after = self.sequence(loop.body, inner, Pending())
        has_barrier = any_barrier(body)
        if loop.form == FOR and loop.kind not in PARALLEL_KINDS:
            start = leading_events(self, body, inner)
            conflict = self.conflict(after, start)
            if conflict is not None:
                self.require_uniform(inner, conflict)
                body.append(conflict.barrier())
                after = ordered(after, conflict)
                has_barrier = has_barrier or not conflict.is_in_warp
        loop.body = body
        return Pending([*([] if has_barrier and loop.form == ONCE else pending), *after])

    def conflict(self, before: Pending, events: list[Event]) -> Conflict | None:
        """Return in which address spaces events have to wait for pending ones; None where in none."""
        found = Conflict()
        for event in events:
            for one in before:
                are_alike = event.writes == one.writes and event.is_atomic == one.is_atomic
                if are_alike and (one.access.buffer is event.access.buffer or not event.writes):
                    continue
                if not one.may_meet(event) or self.same_work_item(one, event):
                    continue
                is_in_warp = self.same_warp(one, event)
                if is_in_warp and one.is_ordered_in_warp:
                    continue
                found.spaces.add(one.access.buffer.space)
                found.is_in_warp = found.is_in_warp and is_in_warp
        return found if found.spaces else None

    def same_work_item(self, one: Event, other: Event) -> bool:
        """Return True when two accesses touch the same element only if the same work-item makes them."""
        first, second = one.access, other.access
        if first.width != second.width or one.is_stale or other.is_stale or not have_same_elements(first, second):
            return False
        return self.determined(one, other, (LCL, WARP, LANE))

    def same_warp(self, one: Event, other: Event) -> bool:
        """Return True when two accesses touch the same element only if work-items of the same sub-group make them."""
        if not self.threads.sub_groups or not one.access.buffer.has_layout_of(other.access.buffer):
            return False
        if not all(self.is_sub_group(loop.dimension) for loop in one.loops if loop.kind == WARP):
            return False
        return self.determined(one, other, (WARP,))

    def determined(self, one: Event, other: Event, kinds: tuple[str, ...]) -> bool:
        """Return True when accesses to the same element have equal iteration variables of some kinds of loops."""
        names, known = self.canonical(one.loops)
        other_names, others = self.canonical(other.loops)
        if known is None or others is None or known.keys() != others.keys() or not self.dimensions <= known.keys():
            return False
        mine = [substitute(index, names) for index in one.access.path]
        yours = [substitute(index, other_names) for index in other.access.path]
        if len(mine) != len(yours):
            return False
        equal = [index for index, another in zip(mine, yours) if index is another]
        if one.access.width != other.access.width and equal and mine[-1] is yours[-1]:
            equal.pop()  # elements of vectors that begin at different elements
        for at in self.dimensions:
            items = [item for item in known[at].items if item[0] in kinds]
            if not items or items != [item for item in others[at].items if item[0] in kinds]:
                return False
            if not all(any(self.determines(index, item, length) for index in equal) for _, item, length in items):
                return False
        return True

    def canonical(self, loops: tuple[Loop, ...]) -> tuple[dict[Variable, Nat | int], dict[int, WorkItems] | None]:
        """Return shared names for iteration variables, and those that tell work-items apart by dimension.

        Loops at the same depth with the same length have the same name, so that equal loops have equal indices.
        """
        names: dict[Variable, Nat | int] = {}
        found: dict[int, WorkItems] = {}
        for at, loop in enumerate(loops):
            if loop.kind in GROUP_KINDS:
                items = found.setdefault(loop.dimension, WorkItems())
                if not items.may_add(loop.kind):
                    return names, None
                length = simplify(loop.stop)
                shared = self.shared_variable((loop.kind, loop.dimension, length, loop.form == FOR), length)
                items.add(loop.kind, shared, length)
                names[loop.variable] = shared
            elif loop.kind not in (WRG, GLB):
                stop = substitute(loop.stop, names)
                names[loop.variable] = self.shared_variable(("seq", at, stop), stop)
        if not all(items.is_complete for items in found.values()):
            return names, None
        return names, found

    def is_sub_group(self, dimension: int) -> bool:
        """Return True where the warps of a dimension are sub-groups, which hold work-items of dimension 0 first."""
        return all(self.threads.local_size[lower] == 1 for lower in range(dimension))

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

    def require_uniform(self, loops: tuple[Loop, ...], conflict: Conflict) -> None:
        """Refuse a barrier that not all work-items of a group, or lanes of a warp, would reach equally often."""
        kinds = (LANE,) if conflict.is_in_warp else (GLB, *GROUP_KINDS)
        differing: set[Variable] = set()
        for loop in loops:
            if loop.kind in kinds:
                differing.add(loop.variable)
                if loop.form == ONCE or (loop.form == FOR and loop.kind != GLB and divides(loop.step, loop.stop)):
                    continue
                found = f"{loop.stop} elements for {loop.step} {'warps' if loop.kind == WARP else 'work-items'}"
            elif differing.isdisjoint(free_variables(loop.stop)):
                continue
            else:
                found = f"it runs {loop.stop} times"
            raise not_compiled(
                f"{loop.keyword}: a barrier is needed inside it, which not all "
                f"{'lanes of a warp' if conflict.is_in_warp else 'work-items of a group'} would reach: {found}",
                loop.position,
                "a number of work-items that divides the number of elements, or the maps inside it in another order"
                + ("; or compile(..., sub_groups=True)" if loop.kind == WARP else ""),
                DivergentBarrier,
            )


def have_same_elements(first: Access, second: Access) -> bool:
    """Return True when equal indices in each dimension mean the same element of the same memory."""
    mine, yours = first.buffer, second.buffer
    if mine is yours:
        return True
    return mine.role != "pointer" != yours.role and mine.memory is yours.memory and mine.lengths == yours.lengths


def age(event: Event) -> Event:
    """Return an event after pointers have been exchanged."""
    is_pointer = event.access.buffer.role == "pointer"
    if not is_pointer:
        return event
    return Event(event.access, event.writes, event.loops, True, event.is_atomic, event.is_ordered_in_warp)


def ordered(pending: Pending, conflict: Conflict) -> Pending:
    """Return what is still pending after the barrier of a conflict."""
    if not conflict.is_in_warp:
        return Pending()
    return Pending(
        [
            Event(event.access, event.writes, event.loops, event.is_stale, event.is_atomic, True)
            if event.access.buffer.space in conflict.spaces
            else event
            for event in pending
        ]
    )


def any_barrier(statements: list[Statement]) -> bool:
    """Return True where statements hold a barrier of the work-group."""
    return any(
        (isinstance(one, Barrier) and not one.of_warp) or (isinstance(one, Loop | If) and any_barrier(one.body))
        for one in statements
    )


def leading_events(insertion: BarrierInsertion, body: list[Statement], loops: tuple[Loop, ...]) -> list[Event]:
    """Return the events of a loop's body up to its first barrier of the work-group."""
    found: list[Event] = []
    for statement in body:
        if isinstance(statement, Barrier) and not statement.of_warp:
            return found
        found.extend(insertion.events_of(statement, loops))
    return found
