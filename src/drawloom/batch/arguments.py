"""Arguments of a launch, checked against a kernel's signature: nothing is written where any is wrong."""

from __future__ import annotations

import ctypes
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.options import is_whole_number
from drawloom.batch.packed import Packed
from drawloom.batch.signature import NOTHING, OWN_GROUP, Parameter, Signature
from drawloom.errors import LaunchError, count

Array = NDArray[Any]
#: Scalars by their kind, as ctypes takes them.
PYTHON_TYPES: Final = {"b": bool, "i": int, "u": int, "f": float}
#: DLPack's device types of host memory, pageable and page-locked.
DLPACK_HOST: Final = (1, 3)
#: How hard NumPy may look whether two strided arrays share an element; they count as sharing one where it gives up.
OVERLAP_WORK: Final = 10_000


class Launch(NamedTuple):
    """The arguments of one call.

    Args:
        values: An array, a `Packed` or a number for each parameter.
        groups: How many groups run.
        lanes: How many items lie side by side in packed arguments; 0 without any.
    """

    values: list[Any]
    groups: int
    lanes: int


def check_launch(signature: Signature, arguments: tuple[Any, ...], groups: int | None) -> Launch:
    """Return the arguments of a call as arrays and numbers.

    Args:
        signature: What the kernel takes.
        arguments: What a caller passed.
        groups: The number of work-groups; None if the arrays say it.

    Raises:
        LaunchError: A wrong number, type or shape of arguments, a read-only output, or outputs that overlap.
    """
    parameters = signature.parameters
    if len(arguments) != len(parameters):
        names = ", ".join(parameter.name for parameter in parameters)
        raise LaunchError(
            f"expected {count(len(parameters), 'argument')} ({names}), found {len(arguments)}", signature.name
        )
    values = [
        as_array(signature, parameter, value) if parameter.is_pointer else as_number(signature, parameter, value)
        for parameter, value in zip(parameters, arguments)
    ]
    check_overlaps(signature, values)
    number = count_groups(signature, values, groups)
    lanes = check_packed(signature, values, number)
    if number:
        sizes = {p.name: element_count(value) for p, value in zip(parameters, values) if p.is_pointer}
        numbers = {p.name: int(value) for p, value in zip(parameters, values) if p.is_integer}
        signature.check_reach(sizes, numbers, number)
        check_items(signature, values, number)
    return Launch(values, number, lanes)


def as_array(signature: Signature, parameter: Parameter, value: Any) -> Any:
    """Return an argument's memory as an array: NumPy's own, or a view of what another library has on the host."""
    name = parameter.name
    memory = value.data if isinstance(value, Packed) else borrow(signature, name, value)
    if memory.dtype != parameter.dtype or not memory.dtype.isnative:
        raise LaunchError(f"{name} is an array of {memory.dtype}\n  expected {parameter.dtype}", signature.name)
    if parameter.is_written and not memory.flags.writeable:
        remedy = "\n  expected an array of NumPy, or DLPack 1.0 or later" if speaks_old_dlpack(value) else ""
        why = "comes by the old DLPack protocol, which NumPy reads only" if remedy else "is read-only"
        raise LaunchError(f"{name} {why}, and the kernel writes to it{remedy}", signature.name)
    if parameter.is_written and overlaps_itself(memory):
        raise LaunchError(
            f"elements of {name} lie in one place, and the kernel writes to it: its strides are {memory.strides}",
            signature.name,
        )
    return value if isinstance(value, Packed) else memory


def borrow(signature: Signature, name: str, value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] not in DLPACK_HOST:
            raise LaunchError(f"{name} is not in this machine's memory\n  copy it to the CPU first", signature.name)
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as refusal:
            raise LaunchError(f"{name} gives no array by DLPack: {refusal}", signature.name) from refusal
    if hasattr(value, "__array_interface__") and not isinstance(value, np.generic):
        return np.asarray(value)
    try:
        if not isinstance(value, np.generic):
            return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError):
        pass
    found = type(value).__name__
    raise LaunchError(f"{name} is a {found}\n  expected a NumPy array, or one by DLPack", signature.name)


def speaks_old_dlpack(value: Any) -> bool:
    """Return whether an array comes by DLPack before version 1.0, which does not say if memory may be written."""
    if isinstance(value, np.ndarray | Packed) or not hasattr(value, "__dlpack__"):
        return False
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return True
    # The name of the capsule says which of DLPack's two structures is in it.
    return not ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), b"dltensor_versioned")


def as_number(signature: Signature, parameter: Parameter, value: Any) -> Any:
    """Return a number as Python has it."""
    dtype = parameter.dtype
    if isinstance(value, Packed) or (isinstance(value, np.ndarray) and value.ndim):
        raise LaunchError(f"{parameter.name} is an array\n  expected a number", signature.name)
    number = value[()] if isinstance(value, np.ndarray) else value
    if not isinstance(number, int | float | np.integer | np.floating | np.bool_):
        raise LaunchError(f"{parameter.name} is a {type(number).__name__}\n  expected a number", signature.name)
    if not is_held(number, dtype):
        message = f"{parameter.name} is {number}\n  expected a number of type {parameter.type}"
        raise LaunchError(message, signature.name)
    return PYTHON_TYPES[dtype.kind](number)


def is_held(number: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a type holds a number; floating point may round the number."""
    if dtype.kind == "f":
        return not isinstance(number, int) or abs(number) <= float(np.finfo(dtype).max)
    if dtype.kind == "b":
        return True
    if isinstance(number, float | np.floating) and not np.isfinite(number):
        return False
    limits = np.iinfo(dtype)
    return int(number) == number and bool(limits.min <= int(number) <= limits.max)


def overlaps_itself(array: Array) -> bool:
    """Return whether two elements of an array may lie in one place: a dimension does not step over the lesser ones."""
    if array.flags.c_contiguous:
        return False
    reached = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < reached:
            return bool(array.size)
        reached += (length - 1) * stride
    return False


def check_overlaps(signature: Signature, values: list[Any]) -> None:
    arrays = [
        (parameter, value.data if isinstance(value, Packed) else value)
        for parameter, value in zip(signature.parameters, values)
        if parameter.is_pointer
    ]
    for number, (left, one) in enumerate(arrays):
        for right, other in arrays[number + 1 :]:
            if (left.is_written or right.is_written) and share_memory(one, other):
                raise LaunchError(
                    f"{left.name} and {right.name} overlap, and the kernel writes to one", signature.name
                )


def share_memory(one: Array, other: Array) -> bool:
    if not np.may_share_memory(one, other):
        return False
    shares_memory: Any = np.shares_memory  # NumPy's types know two of the numbers that it takes
    try:
        return bool(shares_memory(one, other, max_work=OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True


def count_groups(signature: Signature, values: list[Any], groups: Any) -> int:
    """Return how many groups run: as said, or the length that all arrays with several dimensions begin with."""
    if groups is not None:
        if not is_whole_number(groups) or groups < 0:
            raise LaunchError(f"groups is {groups!r}\n  expected a number of work-groups", signature.name)
        return int(groups)
    lengths = {
        value.shape[0]
        for value in values
        if isinstance(value, Packed) or (isinstance(value, np.ndarray) and value.ndim > 1)
    }
    if len(lengths) != 1:
        found = ", ".join(map(str, sorted(lengths)))
        why = f"arrays with several dimensions begin with {found}" if lengths else "no array has several dimensions"
        raise LaunchError(
            f"the number of groups is not known: {why}\n  pass groups=..., the number of work-groups", signature.name
        )
    return int(lengths.pop())


def check_items(signature: Signature, values: list[Any], groups: int) -> None:
    """Refuse arrays with an item for each group, of more elements than the group takes: items would be cut apart."""
    for parameter, value in zip(signature.parameters, values):
        if parameter.reach != OWN_GROUP or not isinstance(value, np.ndarray):
            continue
        if value.ndim > 1 and len(value) == groups and value.size != groups * parameter.stride:
            raise LaunchError(
                f"{parameter.name} has {count(groups, 'item')} of {value.size // groups} elements\n"
                f"  expected {parameter.stride}, as many as a group takes; an array of one dimension may be longer",
                signature.name,
            )


def check_packed(signature: Signature, values: list[Any], groups: int) -> int:
    """Return the lanes of packed arguments, 0 without any."""
    pairs = list(zip(signature.parameters, values))
    packed = [(parameter, value) for parameter, value in pairs if isinstance(value, Packed)]
    if not packed:
        return 0
    first, one = packed[0]
    for parameter, value in packed:
        if value.lanes != one.lanes:
            raise LaunchError(
                f"{first.name} is packed with {one.lanes} lanes, {parameter.name} with {value.lanes}", signature.name
            )
        if not value.data.flags.c_contiguous or not value.data.flags.aligned:
            raise LaunchError(f"the data of {parameter.name} are not contiguous", signature.name)
        elements = element_count(value) // max(1, value.count)
        if parameter.reach != OWN_GROUP or parameter.stride != elements or value.count != groups:
            needed = f"{groups} groups with {parameter.stride} elements for each"
            if parameter.reach != OWN_GROUP:
                needed = "an array: groups access other elements than their own"
            raise LaunchError(
                f"{parameter.name} is packed, {value.count} items of {elements} elements\n  expected {needed}",
                signature.name,
            )
    for parameter, value in pairs:
        if parameter.is_pointer and not isinstance(value, Packed) and not is_split_by_group(parameter, value, groups):
            if parameter.reach != NOTHING:
                raise LaunchError(
                    f"{parameter.name} is not packed, and {first.name} is\n"
                    f"  expected a packed array, or one of shape ({groups}, ...)", signature.name
                )  # fmt: skip
    return int(one.lanes)


def is_split_by_group(parameter: Parameter, array: Array, groups: int) -> bool:
    """Return whether the first dimension of an array counts the groups, each of which accesses its own item."""
    return (
        parameter.reach == OWN_GROUP
        and array.ndim > 0
        and array.shape[0] >= groups
        and array.size == parameter.stride * array.shape[0]
    )


def element_count(value: Array | Packed) -> int:
    return int(np.prod(value.shape)) if isinstance(value, Packed) else value.size
