"""What the checks of a call found, kept for the next call with arguments of the same types, shapes and flags.

The checks of `arguments.py` depend on an array's type, element type, shape, flags, and address. All but the address are
the key of a plan. So a planned call reads the addresses, and repeats the checks that depend on them: outputs share no
memory with other arguments, and outputs that are stored around the caches are aligned (`Kernel.is_streaming`).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.arguments import Launch
from drawloom.batch.signature import Parameter, Signature
from drawloom.batch.staging import is_contiguous

Key = tuple[Any, ...]
#: A kernel forgets its plans when it has so many: shapes that change with every call would fill the memory.
MOST_PLANS: Final = 64


class CallPlan:
    """The checked form of calls with one key. All arrays are contiguous and aligned.

    Args:
        groups: How many groups run.
        arrays: The number of each argument that is an array.
        pairs: The numbers and sizes in bytes of two arrays of which the kernel writes one at least.
        touched_bytes: The size of all arrays.
    """

    __slots__ = ("arrays", "groups", "pairs", "passed", "touched_bytes")

    def __init__(
        self, groups: int, arrays: tuple[int, ...], pairs: tuple[tuple[int, int, int, int], ...], touched_bytes: int
    ) -> None:
        self.groups = groups
        self.arrays = arrays
        self.pairs = pairs
        self.touched_bytes = touched_bytes
        #: What the last call passed: at the same addresses, arrays of the same sizes share as little memory again.
        self.passed: list[Any] | None = None

    def pass_arguments(self, arguments: tuple[Any, ...]) -> list[Any] | None:
        """Return addresses and numbers for machine code, or None where memory may be shared."""
        passed = list(arguments)
        for number in self.arrays:
            passed[number] = data_address(passed[number])
        if passed != self.passed:
            for one, one_bytes, other, other_bytes in self.pairs:
                first, second = passed[one], passed[other]
                if first < second + other_bytes and second < first + one_bytes:
                    return None
            self.passed = passed
        return passed


def call_key(arguments: tuple[Any, ...], groups: int | None) -> Key:
    """Return what the checks of a call depend on, but for addresses."""
    key: list[Any] = [groups if groups is None or type(groups) is int else type(groups)]
    for value in arguments:
        kind = type(value)
        if kind is np.ndarray:
            key += value.dtype, value.shape, value.flags.num
        elif kind is int:
            key.append(value)
        else:
            key.append(kind)
    return tuple(key)


def make_plan(signature: Signature, arguments: tuple[Any, ...], groups: int | None, launch: Launch) -> CallPlan | None:
    """Return the plan of a call that was checked, or None if equal keys do not make its arguments alike.

    Args:
        signature: The kernel's.
        arguments: What the caller passed.
        groups: The number of work-groups that the caller passed.
        launch: What the checks made of them.
    """
    parameters = signature.parameters
    is_known = groups is None or type(groups) is int
    if not is_known or not launch.groups or not all(map(is_told_by_key, parameters, arguments)):
        return None
    arrays = tuple(number for number, parameter in enumerate(parameters) if parameter.is_pointer)
    pairs = tuple(
        (one, arguments[one].nbytes, other, arguments[other].nbytes)
        for one in arrays
        for other in arrays
        if one < other and (parameters[one].is_written or parameters[other].is_written)
    )
    return CallPlan(launch.groups, arrays, pairs, sum(arguments[number].nbytes for number in arrays))


def is_told_by_key(parameter: Parameter, value: Any) -> bool:
    """Return whether equal keys mean that machine code takes an argument in the same way."""
    if parameter.is_pointer:
        return type(value) is np.ndarray and is_contiguous(value)
    return type(value) is {"i": int, "u": int, "f": float}.get(parameter.dtype.kind)


def read_by_ctypes(array: NDArray[Any]) -> int:
    return array.ctypes.data


def find_reader() -> Callable[[NDArray[Any]], int]:
    """Return a function that reads the address of an array's elements.

    In CPython the id of an object is its address, and the first field of NumPy's `PyArrayObject_fields` after the
    object's head is `char *data` (numpy/ndarraytypes.h, which extension modules compile in). So one read of memory
    gives the address, in 0.1 us instead of the 0.7 us of `array.ctypes.data`. Arrays of two kinds confirm the layout.
    """
    if sys.implementation.name != "cpython":
        return read_by_ctypes
    head = object.__basicsize__
    pointer_at = ctypes.c_size_t.from_address

    def read_field(array: NDArray[Any]) -> int:
        return pointer_at(id(array) + head).value

    whole = np.zeros(8)
    if any(read_field(array) != read_by_ctypes(array) for array in (whole, whole[3:])):
        return read_by_ctypes
    return read_field


data_address: Final = find_reader()
