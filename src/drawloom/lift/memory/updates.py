"""Decides whether a reduction step may write its result over the accumulator that it reads."""

from __future__ import annotations

from drawloom.lift.arithmetic import Nat
from drawloom.lift.codegen.launch import REDUCE
from drawloom.lift.codegen.syntax import Access, Assign, Loop, Statement, body_of, loads_of
from drawloom.lift.memory.buffers import Buffer


class Event:
    """A load of the accumulator's old value, or a store to it: where in the tree, and in which order."""

    def __init__(self, index: Nat, component: Nat | None, width: int, loops: tuple[Loop, ...], order: int) -> None:
        self.index = index
        self.component = component
        self.width = width
        self.loops = loops
        self.order = order


def is_in_place_update(statements: list[Statement], tag: int) -> bool:
    """Return True when no old element can be loaded after it has been overwritten.

    An old element is loaded safely when every store to its buffer comes later: in a later statement outside all common
    loops, or at the same index within common loops that visit each element once.

    Args:
        statements: One step of a reduction, written to the accumulator itself.
        tag: Of the loads of old elements.
    """
    loads: dict[Buffer, list[Event]] = {}
    stores: dict[Buffer, list[Event]] = {}
    collect(statements, tag, (), loads, stores, [0])
    for buffer, found in loads.items():
        for load in found:
            for store in stores.get(buffer, []):
                if not is_safe(load, store):
                    return False
    return True


def is_safe(load: Event, store: Event) -> bool:
    if load.order > store.order:
        return False
    common = [loop for loop in load.loops if loop in store.loops]
    if not common:
        return True
    if any(loop.kind == REDUCE for loop in common):
        return False
    return load.index is store.index and load.component is store.component and load.width == store.width


def collect(
    statements: list[Statement],
    tag: int,
    loops: tuple[Loop, ...],
    loads: dict[Buffer, list[Event]],
    stores: dict[Buffer, list[Event]],
    order: list[int],
) -> None:
    for statement in statements:
        for access in loads_of(statement):
            if access.tag == tag:
                loads.setdefault(access.buffer, []).append(event(access, loops, order[0]))
        if isinstance(statement, Assign):
            place = statement.place
            stores.setdefault(place.buffer, []).append(event(place, loops, order[0]))
        order[0] += 1
        body = body_of(statement)
        if body is not None:
            inner = (*loops, statement) if isinstance(statement, Loop) else loops
            collect(body, tag, inner, loads, stores, order)


def event(access: Access, loops: tuple[Loop, ...], order: int) -> Event:
    return Event(access.index, access.component, access.width, loops, order)
