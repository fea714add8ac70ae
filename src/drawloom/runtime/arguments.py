"""From a kernel's parameters and the Python values of a call to the raw parameter block, or a LaunchError.

The block is laid out as PTX ISA 9.0 section 7.1 has it (each parameter at its own alignment); what is
refused is refused before anything runs, by the kernel's name, the parameter's index and name, and what it
expected.
"""

import ctypes
import math
import struct
from typing import Any, Final

import numpy as np

from drawloom.errors import LaunchError, count
from drawloom.ptx.ir import Function, Module, Variable
from drawloom.ptx.types import Type
from drawloom.runtime.buffers import Buffer
from drawloom.runtime.element_types import accessed_types, contradicts
from drawloom.runtime.machine import Device
from drawloom.runtime.memory import HOST, NotMemory, Span, span_of
from drawloom.runtime.pointers import written_parameters

ARRAY_WORDS: Final = "a NumPy, Arrow, DLPack or CUDA array or a Buffer"

_FLOAT_FORMATS: Final[dict[int, str]] = {2: "<e", 4: "<f", 8: "<d"}


class Parameter:
    """One parameter of a kernel: where it lies in the block, and what it accepts.

    `size` and `offset` are in bytes. `by_value` marks arrays and vectors, which take raw bytes.
    """

    def __init__(self, index: int, variable: Variable, offset: int, size: int, written: bool) -> None:
        self.index = index
        self.name = variable.name
        self.type = variable.type
        self.offset = offset
        self.size = size
        self.by_value = bool(variable.shape) or variable.vector > 1 or variable.type.bits > 64
        self.is_pointer = variable.is_pointer
        self.pointer_space = variable.pointer_space
        self.pointer_align = max(variable.pointer_align, 1)
        self.written = written
        # Only the global and constant windows of an address space lie in memory that a caller can own.
        self.takes_memory = (
            not self.by_value
            and self.size == 8
            and not self.type.is_float
            and self.pointer_space in ("", "global", "const")
        )
        #: The integers that it takes; none where it takes something else, or only some of them.
        self.integers = (0, 0)
        if not (self.by_value or self.type.is_float or (self.takes_memory and self.pointer_align > 1)):
            low, high = integer_range(self.size)
            self.integers = (low, high + 1)

    def describe(self) -> str:
        """What this parameter accepts, for messages and `drawloom run`."""
        if self.by_value:
            return f"{self.size} bytes by value"
        if self.is_pointer and self.takes_memory:
            aligned = f" aligned to {self.pointer_align} bytes" if self.pointer_align > 1 else ""
            return f"memory{aligned} ({ARRAY_WORDS})"
        if self.is_pointer:
            return f"an offset into .{self.pointer_space} memory, as an integer"
        if self.type.is_float:
            return f"a number (.{self.type.name})"
        low, high = integer_range(self.size)
        wanted = f"an integer in {low}..{high} (.{self.type.name})"
        if self.takes_memory:
            wanted += f" or memory ({ARRAY_WORDS})"
        return wanted


class Signature:
    """The parameters of one kernel, and the size in bytes of its parameter block. With `reinterpret`, arrays may have
    elements of other types than the kernel accesses."""

    def __init__(self, module: Module, kernel: Function, reinterpret: bool = False) -> None:
        from drawloom.ptx.layout import param_layout

        places, total = param_layout(kernel)
        written = written_parameters(module, kernel)
        self.kernel = kernel.name
        self.size = total
        self.parameters = [
            Parameter(index, variable, place[0], place[1], bool(written >> index & 1))
            for index, (variable, place) in enumerate(zip(kernel.params, places, strict=True))
        ]
        self.offsets = [parameter.offset for parameter in self.parameters]
        self.reinterpret = reinterpret
        self._function = kernel
        self._accessed: list[frozenset[Type] | None] | None = None
        self._checked: set[tuple[int, np.dtype[Any]]] = set()

    def accepts(self, parameter: Parameter, span: Span) -> bool:
        """Return whether accesses through the parameter may be of the elements of `span`."""
        element = span.element
        if self.reinterpret or element is None or not span.size or (parameter.index, element) in self._checked:
            return True
        if contradicts(element, self.accessed(parameter)):
            return False
        self._checked.add((parameter.index, element))
        return True

    def accessed(self, parameter: Parameter) -> frozenset[Type] | None:
        """The types of all accesses through a parameter; None where they are not all known."""
        if self._accessed is None:
            self._accessed = accessed_types(self._function)
        return self._accessed[parameter.index]

    def check_elements(self, parameter: Parameter, span: Span) -> None:
        """Raises Refused for elements that no access through the parameter can be of."""
        if not self.accepts(parameter, span):
            assert span.element is not None
            types = " and ".join(sorted(f".{type_.name}" for type_ in self.accessed(parameter) or ()))
            raise Refused(
                f"its elements are {span.element.name}, but the kernel accesses {types} through it; convert the array, "
                "or load with reinterpret=True (--reinterpret) to have its bytes taken as they are"
            )

    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]


class Pointer:
    """An argument that is memory: the span, the parameter that holds it, and its place in the block."""

    def __init__(self, parameter: Parameter, span: Span) -> None:
        self.parameter = parameter
        self.span = span


class Arguments:
    """A checked parameter block. Host pointers stand in it already; `pointers` lists all that are memory.

    `offsets` are the parameters' places in the block, in bytes; `reaches` is memory that the kernel gets at
    through addresses stored in its data. `in_buffers` says that all of it is in Buffers.
    """

    def __init__(
        self,
        block: bytearray,
        offsets: list[int],
        pointers: list[Pointer],
        reaches: list[Span],
        in_buffers: bool = False,
    ) -> None:
        self.in_buffers = in_buffers
        self.block = block
        self.offsets = offsets
        self.pointers = pointers
        self.reaches = reaches

    def host_ranges(self) -> list[tuple[int, int]]:
        """(address, size in bytes) of every span, each once, in order of address."""
        spans = [pointer.span for pointer in self.pointers] + self.reaches
        return sorted({(span.address, span.size) for span in spans if span.size})


def prepare(
    signature: Signature, values: tuple[object, ...], device: Device, reaches: tuple[object, ...] = ()
) -> Arguments:
    """Checks `values` against the kernel's parameters and lays them out.

    `reaches` names memory that the kernel gets at through addresses stored in its data. Raises LaunchError.
    """
    parameters = signature.parameters
    if len(values) != len(parameters):
        names = ", ".join(signature.names()) or "none"
        raise LaunchError(
            f"{count(len(values), 'argument')} given, expected {len(parameters)}: {names}", signature.kernel
        )
    block = bytearray(signature.size)
    pointers: list[Pointer] = []
    in_buffers = not reaches
    for parameter, value in zip(parameters, values):
        offset, size = parameter.offset, parameter.size
        # Most arguments are integers and Buffers, which are kept short.
        if type(value) is int:
            low, high = parameter.integers
            if low <= value < high:
                block[offset : offset + size] = value.to_bytes(size, "little", signed=value < 0)
                continue
        elif type(value) is Buffer and value.device is device and parameter.takes_memory and not value.freed:
            span = value.span()
            if not span.address % parameter.pointer_align and signature.accepts(parameter, span):
                pointers.append(Pointer(parameter, span))
                block[offset : offset + size] = span.address.to_bytes(8, "little")
                continue
        in_buffers = False
        known = len(pointers)
        try:
            block[offset : offset + size] = encode(parameter, value, device, pointers)
            if len(pointers) > known:
                signature.check_elements(parameter, pointers[-1].span)
        except Refused as refusal:
            raise LaunchError(
                f"parameter {parameter.index} ({parameter.name}): {refusal}", signature.kernel
            ) from refusal
    reached = [reached_span(signature, value, device) for value in reaches]
    return Arguments(block, signature.offsets, pointers, reached, in_buffers)


def reached_span(signature: Signature, value: object, device: Device) -> Span:
    try:
        return memory_of(value, device)
    except (NotMemory, Refused) as refusal:
        raise LaunchError(f"reaches: {refusal}; expected {ARRAY_WORDS}", signature.kernel) from refusal


class Refused(Exception):
    """Why a value does not fit a parameter; becomes a LaunchError that names both."""


def encode(parameter: Parameter, value: object, device: Device, pointers: list[Pointer]) -> bytes:
    """The bytes of `value` in the parameter block; memory is noted in `pointers`."""
    if parameter.by_value:
        return encode_structure(parameter, value)
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return encode_integer(parameter, int(value))
    if isinstance(value, (float, np.floating)):
        return encode_float(parameter, value)
    if isinstance(value, np.generic):
        return encode_other_scalar(parameter, value)
    if value is None:
        if not parameter.takes_memory:
            raise Refused(f"got None, expected {parameter.describe()}")
        return bytes(parameter.size)
    return encode_memory(parameter, value, device, pointers)


def encode_integer(parameter: Parameter, value: int) -> bytes:
    if parameter.type.is_float:
        return encode_float(parameter, value)
    low, high = integer_range(parameter.size)
    if not low <= value <= high:
        raise Refused(f"{value} is out of range, expected {parameter.describe()}")
    if parameter.takes_memory and value % parameter.pointer_align:
        raise Refused(f"the address 0x{value:x} is not a multiple of {parameter.pointer_align}")
    return (value & (1 << 8 * parameter.size) - 1).to_bytes(parameter.size, "little")


def encode_float(parameter: Parameter, value: Any) -> bytes:
    """Python numbers round to the parameter's width; a NumPy scalar has one already and must agree."""
    type_ = parameter.type
    if type_.is_integer or (parameter.takes_memory and parameter.is_pointer):
        raise Refused(f"got the float {float(value)!r}, expected {parameter.describe()}")
    if isinstance(value, np.floating) and value.dtype.itemsize != parameter.size:
        raise Refused(
            f"got a {value.dtype.name} of {value.dtype.itemsize} bytes, the parameter (.{type_.name}) has "
            f"{parameter.size}; expected a Python number or a NumPy scalar of that size"
        )
    if type_.name == "b16" and not isinstance(value, np.floating):
        raise Refused("got a float for .b16, which may be half or bfloat16; expected a NumPy scalar of either")
    pattern = _FLOAT_FORMATS.get(parameter.size)
    if pattern is None:
        raise Refused(f"got a float, expected {parameter.describe()}")
    number = checked_float(value, parameter)
    try:
        return struct.pack(pattern, number)
    except OverflowError:  # struct does not round to infinity; the conversion in C does
        return struct.pack(pattern, math.copysign(math.inf, number))


def checked_float(value: Any, parameter: Parameter) -> float:
    if not isinstance(value, int):
        return float(value)
    try:
        number = float(value)
    except OverflowError:
        raise Refused(f"the integer {value} is too large for .{parameter.type.name}") from None
    exact = struct.unpack(_FLOAT_FORMATS[parameter.size], packed_or_zero(number, parameter.size))[0]
    if exact != value:
        raise Refused(f"the integer {value} is not exact in .{parameter.type.name}; pass a float to round it")
    return number


def packed_or_zero(number: float, size: int) -> bytes:
    try:
        return struct.pack(_FLOAT_FORMATS[size], number)
    except OverflowError:
        return bytes(size)


def encode_other_scalar(parameter: Parameter, value: np.generic) -> bytes:
    """NumPy scalars that are neither integers nor floats of NumPy's own: bfloat16, complex, records."""
    if value.dtype.name == "bfloat16" and parameter.type.name == "b16":
        return value.tobytes()
    raise Refused(f"got a NumPy {value.dtype.name}, expected {parameter.describe()}")


def encode_structure(parameter: Parameter, value: object) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.hasobject:
            raise Refused("its elements are Python objects")
        data = value.tobytes()
    elif isinstance(value, (ctypes.Structure, ctypes.Array, ctypes.Union)):
        data = bytes(value)
    else:
        raise Refused(
            f"got {type(value).__name__}, expected {parameter.size} bytes by value (bytes, a NumPy record "
            "or array, or a ctypes structure)"
        )
    if len(data) != parameter.size:
        raise Refused(f"got {len(data)} bytes, expected {parameter.size}")
    return data


def encode_memory(parameter: Parameter, value: object, device: Device, pointers: list[Pointer]) -> bytes:
    try:
        span = memory_of(value, device)
    except NotMemory as refusal:
        raise Refused(f"got {type(value).__name__}: {refusal}; expected {parameter.describe()}") from refusal
    if not parameter.takes_memory:
        raise Refused(f"got {type(value).__name__}, expected {parameter.describe()}")
    if parameter.written and not span.writeable:
        raise Refused(f"the {type(value).__name__} is read-only, and the kernel may write through it")
    if span.size and span.address % parameter.pointer_align:
        raise Refused(
            f"the memory at 0x{span.address:x} is not aligned to the {parameter.pointer_align} bytes that "
            "the kernel relies on"
        )
    pointers.append(Pointer(parameter, span))
    return span.address.to_bytes(8, "little")


def memory_of(value: object, device: Device) -> Span:
    """The span behind a value that `device` can reach. Raises NotMemory or Refused."""
    if isinstance(value, Buffer):
        if value.freed:
            raise Refused("the Buffer is freed")
        if (
            value.device is not device
            and value.device.name != device.name
            and not (value.device.is_host and device.is_host)
        ):
            raise Refused(f"the Buffer lives on {value.device.name}, the kernel on {device.name}")
        return value.span()
    span = span_of(value)
    if span.place != HOST and device.is_host:
        raise Refused(f"the {type(value).__name__} lives on a GPU, the kernel on {device.name}")
    return span


def integer_range(size: int) -> tuple[int, int]:
    """What an integer parameter of `size` bytes takes: compilers write `int` as .u32 too, so either sign."""
    return -(1 << 8 * size - 1), (1 << 8 * size) - 1
