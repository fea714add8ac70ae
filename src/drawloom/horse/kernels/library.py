"""Calls of library functions as launches of kernels, where there are some and they are the faster choice."""

from __future__ import annotations

from typing import Final

from drawloom.errors import DataError
from drawloom.horse.kernels import cells, gather, groups, joins, like, loops, present, runs, slices, sort
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.rows import MAX_ROWS
from drawloom.horse.selection import MOST_SELECTED
from drawloom.horse.values import Enumeration, ListValue, Ragged, Value, Vector
from drawloom.runtime.machine import Device

#: Who does a library function: whoever measured faster, kernels wherever there are some, or the host always.
CHOICES: Final = ("auto", "kernels", "host")

#: The builtins that have kernels: each gives None for operands that none of its kernels takes.
CALLS: Final[LibraryCalls] = {
    **gather.CALLS,
    **sort.CALLS,
    **runs.CALLS,
    **cells.CALLS,
    **groups.CALLS,
    **joins.CALLS,
    **like.CALLS,
    **loops.CALLS,
    **slices.CALLS,
    **present.CALLS,
}


class Library:
    """The library functions on one device. ``choice`` is one of ``CHOICES``; DataError for another word.
    ``kernels`` are those that another one has loaded there."""

    def __init__(self, device: Device, choice: str = "auto", kernels: DeviceKernels | None = None) -> None:
        if choice not in CHOICES:
            raise DataError(f"library={choice!r}: expected one of {', '.join(CHOICES)}")
        self.kernels = kernels or DeviceKernels(device)
        self.choice = choice
        #: Calls that kernels would have done, by their columns' types.
        self.asked: set[str] = set()

    def call(self, name: str, arguments: list[Value]) -> Value | None:
        """The value of ``@name(arguments)`` by kernels; None where it is the host's work.

        Raises DataError where the call has no value.
        """
        made = CALLS.get(name)
        if made is None or self.choice == "host":
            return None
        if self.choice == "auto" and not self.prefers_kernels(name, arguments):
            return None
        return made(self.kernels, arguments) if all(is_flat(a) for a in arguments) else None

    def prefers_kernels(self, name: str, arguments: list[Value]) -> bool:
        """Whether kernels do the call faster than the host: off a GPU as measured, and not when such a call is the
        first, whose kernels have to be compiled: some 50 ms each."""
        if self.kernels.device.kind == "cuda":
            return any(v.deferred is not None for v in vectors_of(arguments)) or longest(arguments) >= LEAST_THERE
        if name in WIDE_ONLY and not is_wide(arguments[0]):
            return False
        if name == "order_first" and leaves_few(arguments):
            return False
        if FASTER_ON_CPU.get(name, MAX_ROWS) > longest(arguments):
            return False
        call = " ".join([name, *[str(v.dtype) for v in vectors_of(arguments)]])
        known = call in self.asked
        self.asked.add(call)
        return known


#: Rows that only the host has, from which on a GPU is worth the way there and back: some launches and waits of 10 us,
#: while NumPy takes some 20 us for a builtin.
LEAST_THERE: Final = 1 << 12


def is_flat(value: Value) -> bool:
    """Whether kernels may take the value: no enumeration, and no list of lists."""
    if isinstance(value, ListValue):
        return all(isinstance(cell, Vector) for cell in value.cells)
    return not isinstance(value, Enumeration)


def is_wide(keys: Value) -> bool:
    """Whether keys are several, floats, or of 64 bits."""
    vectors = vectors_of([keys])
    return len(vectors) > 1 or any(v.dtype.kind == "f" or v.dtype.itemsize == 8 for v in vectors)


def leaves_few(order: list[Value]) -> bool:
    """Whether the host finds the few first rows of an order by the first key: it has more than 256 values."""
    first, wanted = vectors_of(order[:1])[0], vectors_of(order[3:])
    return first.dtype.itemsize > 1 and len(wanted[0]) == 1 and int(wanted[0].data[0]) <= MOST_SELECTED


def longest(values: list[Value]) -> int:
    """The rows of the longest vector among the values, or in a list of them."""
    return max([len(v) for v in vectors_of(values)], default=0)


def vectors_of(values: list[Value]) -> list[Vector]:
    """The vectors among the values, and in lists of them."""
    flat = [v for value in values for v in (value.cells if isinstance(value, ListValue) else [value])]
    return [v for v in [v.flat if isinstance(v, Ragged) else v for v in flat] if isinstance(v, Vector)]


#: Library functions without a kernel, and why: the test of builtins holds this table and ``CALLS`` together.
HOST_ONLY: Final[dict[str, str]] = {
    "keys": "hands on what it is given", "values": "hands on what it is given",
    **dict.fromkeys(
        ["enum", "fetch", "lookup", "range", "index_of", "each_left"],
        "no query is translated to it: only programs that are written by hand call it",
    ),
}  # fmt: skip
#: Library functions whose kernels measured faster than NumPy and Arrow on a CPU, and from how many rows on: with fewer,
#: what they gain is less than loading them takes (docs/horse.md has the table). Not those that fused kernels do
#: wherever there are many rows, as ``@compress``, and not ``@each``, whose sums of doubles are rounded elsewhere: who
#: does a call must not show.
FASTER_ON_CPU: Final[dict[str, int]] = {
    "join": 1 << 20, "contains": 1 << 20, "present": 1 << 20, "group": 1 << 20, "unique": 1 << 20, "member": 1 << 20,
    "like": 1 << 20, "loop_join": 1 << 12, "search": 1 << 17, "search_after": 1 << 17, "order_first": 1 << 18,
    "run_start": 1 << 20, "run_end": 1 << 20, "before": 1 << 20, "outer_index": 1 << 20,
}  # fmt: skip
#: Those that did so with wide keys only, as NumPy sorts row numbers packed with others in vector registers.
WIDE_ONLY: Final = frozenset(["group", "order_first"])
