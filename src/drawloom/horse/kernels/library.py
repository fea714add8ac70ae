"""Calls of library functions as launches of kernels, where there are some and they are the faster choice."""

from __future__ import annotations

from typing import Final

from drawloom.errors import DataError
from drawloom.horse.kernels import cells, gather, groups, joins, like, loops, runs, sort
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.values import Enumeration, ListValue, Value, Vector
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
}


class Library:
    """The library functions on one device. ``choice`` is one of ``CHOICES``; DataError for another word.
    ``kernels`` are those that another one has loaded there."""

    def __init__(self, device: Device, choice: str = "auto", kernels: DeviceKernels | None = None) -> None:
        if choice not in CHOICES:
            raise DataError(f"library={choice!r}: expected one of {', '.join(CHOICES)}")
        self.kernels = kernels or DeviceKernels(device)
        self.choice = choice

    def call(self, name: str, arguments: list[Value]) -> Value | None:
        """The value of ``@name(arguments)`` by kernels; None where it is the host's work.

        Raises DataError where the call has no value.
        """
        made = CALLS.get(name)
        if made is None or self.choice == "host" or (self.choice == "auto" and not prefers_kernels(self.kernels, name)):
            return None
        return made(self.kernels, arguments) if all(is_flat(a) for a in arguments) else None


def is_flat(value: Value) -> bool:
    """Whether kernels may take the value: no enumeration, and no list of lists."""
    if isinstance(value, ListValue):
        return all(isinstance(cell, Vector) for cell in value.cells)
    return not isinstance(value, Enumeration)


def prefers_kernels(kernels: DeviceKernels, name: str) -> bool:
    """Whether kernels do ``@name`` faster than the host: off a GPU as measured."""
    return kernels.device.kind == "cuda" or name in FASTER_ON_CPU


#: Library functions whose kernels measured faster than NumPy and Arrow on a CPU (docs/horse.md has the table).
FASTER_ON_CPU: Final[frozenset[str]] = frozenset()
