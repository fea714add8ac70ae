"""Running a kernel where arrays do not lie as it needs them: strided arrays, and the last pack of a batch.

A worker copies the items of some groups into memory of its own, runs the kernel there and copies what was written back,
some tens of kilobytes at a time, so that the copies stay in the cache. An array of which groups access more than their
own items is copied as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.arguments import is_split_by_group
from drawloom.batch.packed import Packed
from drawloom.batch.signature import Signature

Array = NDArray[Any]
Run = Callable[[list[Any], int, int], None]

#: The copies of a worker.
STAGED_BYTES: Final = 1 << 16


class Staged(NamedTuple):
    """An array that is copied by parts: the parameter's number, the array, and whether the kernel writes to it."""

    number: int
    array: Array
    is_written: bool


class Operands:
    """The arguments of a launch as machine code takes them: `passed` has addresses and numbers. `staged` are the arrays
    whose items are copied, `split` those that may be, as the last pack of padded launches is."""

    def __init__(self, signature: Signature, values: list[Any], groups: int, is_padded: bool) -> None:
        self.passed: list[Any] = []
        self.staged: list[Staged] = []
        self.split: list[Staged] = []
        # Copies of whole arrays live as long as their addresses are used; what is written goes back.
        self.copies: list[Array] = []
        self.written: list[tuple[Array, Array]] = []
        for number, (parameter, value) in enumerate(zip(signature.parameters, values)):
            if not parameter.is_pointer:
                self.passed.append(value)
                continue
            if isinstance(value, Packed):
                self.passed.append(value.data.ctypes.data)
                continue
            contiguous = is_contiguous(value)
            is_split = (is_padded or not contiguous) and is_split_by_group(parameter, value, groups)
            if is_split:
                self.split.append(Staged(number, value, parameter.is_written))
            if contiguous:
                self.passed.append(value.ctypes.data)
            elif is_split:
                self.passed.append(0)
                self.staged.append(self.split[-1])
            else:
                copy = np.array(value, order="C")
                self.passed.append(copy.ctypes.data)
                self.copies.append(copy)
                if parameter.is_written:
                    self.written.append((value, copy))

    def put_back(self) -> None:
        """Copy what was written to copies of whole arrays to where it belongs."""
        for array, copy in self.written:
            array[...] = copy


def is_contiguous(array: Array) -> bool:
    return bool(array.flags.c_contiguous and array.flags.aligned)


def run_staged(run: Run, passed: list[Any], staged: list[Staged], first: int, last: int, step: int) -> None:
    """Run groups on copies of their items.

    Args:
        run: Runs groups, a multiple of `step`, with addresses and numbers.
        passed: The arguments; those of staged arrays are replaced.
        staged: What is copied.
        first: The first group.
        last: The group after the last one. If the last groups fill no step, copies of the last item fill it up.
        step: The groups that machine code runs together.
    """
    item_bytes = sum(array.nbytes // max(1, len(array)) for _, array, _ in staged)
    most = max(step, STAGED_BYTES // max(1, item_bytes) // step * step)
    most = min(most, -(-(last - first) // step) * step)
    copies = [np.empty((most, *array.shape[1:]), array.dtype) for _, array, _ in staged]
    values = list(passed)
    for begin in range(first, last, most):
        end = min(begin + most, last)
        padded = begin + -(-(end - begin) // step) * step
        for (number, array, _), copy in zip(staged, copies):
            copy[: end - begin] = array[begin:end]
            copy[end - begin : padded - begin] = array[end - 1]
            values[number] = copy.ctypes.data - begin * copy.strides[0]
        run(values, begin, padded)
        for (_, array, is_written), copy in zip(staged, copies):
            if is_written:
                array[begin:end] = copy[: end - begin]
