"""Which road a call takes: compiled kernels, or NumPy itself.

Kernels take stacks of small real matrices that are long enough for a launch to pay. Everything else is NumPy's, and so
is every matrix of which a kernel is not certain: NumPy then decides whether it is singular, and gives its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.arguments import DLPACK_HOST

Function = TypeVar("Function", bound=Callable[..., Any])
Array = NDArray[Any]

#: Smaller stacks go to NumPy. A kernel takes 0.1 to 6 s to compile, once on each machine; a stack of this length takes
#: NumPy 1 to 100 ms, so compiling pays after some tens of calls, and a launch at once.
LEAST_ITEMS = 2048
#: The largest matrices that kernels are compiled for.
LARGEST_SIZE: Final = 32
#: Copies of broadcast operands that are larger go to NumPy, which needs none.
MOST_COPIED_BYTES: Final = 1 << 28
#: NumPy's functions without their types, which know options as literals only.
NUMPY: Final[Any] = np.linalg
EPSILON: Final = float(np.finfo(np.float64).eps)


def accept_dlpack(function: Function) -> Function:
    """Have a function take arrays of other libraries in this machine's memory, which it reads in place (DLPack).

    Arrays that override NumPy's functions stay what they are: NumPy hands them the call.
    """

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        return function(*map(borrow, arguments), **options)

    return cast(Function, call)


def borrow(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array_function__"):
        return value
    if not hasattr(value, "__dlpack__") or value.__dlpack_device__()[0] not in DLPACK_HOST:
        return value
    return np.from_dlpack(value)


def take_arrays(*values: Any) -> list[Array] | None:
    """Return operands as arrays that kernels may read; None where one is NumPy's alone.

    Subclasses of arrays and objects that override NumPy's functions are NumPy's, and so are complex numbers, half and
    extended precision, and objects.
    """
    if not has_parser():
        return None
    arrays = []
    for value in values:
        if type(value) is not np.ndarray:
            return None
        if value.dtype.kind not in "biuf" or (value.dtype.kind == "f" and value.dtype.char not in "fd"):
            return None
        arrays.append(value)
    return arrays


_parser: list[bool] = []


def has_parser() -> bool:
    """Return whether pycparser is there, which the extra `batch` brings."""
    if not _parser:
        _parser.append(find_spec("pycparser") is not None)
    return _parser[0]


def is_stack(array: Array, largest: int = LARGEST_SIZE) -> bool:
    """Return whether an array is a stack of small matrices that is worth a kernel."""
    return (
        array.ndim > 2
        and 1 <= array.shape[-1] <= largest
        and 1 <= array.shape[-2] <= largest
        and math.prod(array.shape[:-2]) >= LEAST_ITEMS
    )


def is_square_stack(array: Array, largest: int = LARGEST_SIZE) -> bool:
    return is_stack(array, largest) and array.shape[-1] == array.shape[-2]


def type_code(*arrays: Array) -> str:
    """Return the type of NumPy's results, "f" or "d": single precision only where every operand has it."""
    return "f" if all(array.dtype.char == "f" for array in arrays) else "d"


def flatten_stack(array: Array, code: str, batch: tuple[int, ...] | None = None) -> Array:
    """Return a contiguous array with one batch dimension, a copy where the operand is not one already."""
    if batch is not None and array.shape[:-2] != batch:
        array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return np.ascontiguousarray(array, code).reshape(-1, *array.shape[-2:])


def copied_bytes(array: Array, batch: tuple[int, ...]) -> int:
    """Return how much memory broadcasting an operand takes."""
    if array.shape[:-2] == batch:
        return 0
    return int(math.prod(batch) * array.shape[-1] * array.shape[-2] * 8)


def uncertain_items(certain: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return which matrices a kernel left to NumPy."""
    return np.flatnonzero(certain == 0)
