"""From whatever Python value stands for memory to one `Span`: its address, size, device and writability.

NumPy arrays, Arrow arrays, Series of pandas and Polars, DLPack producers, `__cuda_array_interface__`,
`__array_interface__`, and everything with the buffer protocol are borrowed in place, so what a kernel writes is seen by
the owner. Only a nullable column of pandas is copied, to memory that kernels may not write.
"""

import ctypes
import sys
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

HOST: Final = "host"

# DLPack device types (dlpack.h): plain and page-locked host memory, and memory that only a GPU reaches.
_DLPACK_HOST: Final = frozenset({1, 3, 11})
_DLPACK_CUDA: Final = frozenset({2, 13})

#: NumPy's kinds of DLPack's type codes (dlpack.h): signed and unsigned integers, floats.
_DLPACK_KINDS: Final[dict[int, str]] = {0: "i", 1: "u", 2: "f"}

ALLOCATION_ALIGNMENT: Final = 256  # what cuMemAlloc guarantees (CUDA programming guide, device memory accesses)


class NotMemory(Exception):
    """The value stands for no memory, or for memory that a kernel cannot use; the text says why."""


class Span:
    """`size` bytes at `address` on `place` ("host" or "cuda"). `owner` keeps them alive.

    `view` is the same memory as NumPy bytes when it is on the host, else None. `stream` is the CUDA stream
    that the producer asks consumers to wait for (0: none). `element` is the type of the elements where the owner has
    told it.
    """

    def __init__(
        self, address: int, size: int, place: str, writeable: bool, owner: object, view: Bytes | None = None
    ) -> None:
        self.address = address
        self.size = size
        self.place = place
        self.writeable = writeable
        self.owner = owner
        self.view = view
        self.stream = 0
        self.element: np.dtype[Any] | None = None


def aligned_bytes(size: int, alignment: int = ALLOCATION_ALIGNMENT, zero: bool = True) -> Bytes:
    """`size` bytes of host memory whose address is a multiple of `alignment`.

    Raises MemoryError when there is not that much.
    """
    make = np.zeros if zero else np.empty
    whole = make(size + alignment, dtype=np.uint8)
    start = -whole.ctypes.data % alignment
    return whole[start : start + size]


def bytes_view(array: Array) -> Bytes:
    """The memory of a contiguous array as bytes, in the order it lies in. Raises NotMemory otherwise."""
    # Naming numpy.ma imports it (10 ms); without it there are no masked arrays.
    if "numpy.ma" in sys.modules and isinstance(array, np.ma.MaskedArray):
        raise NotMemory("it is a masked array")
    if array.dtype.hasobject:
        raise NotMemory("its elements are Python objects")
    if array.dtype.kind in "US":
        raise NotMemory(f"its elements are text ({array.dtype})")
    if not array.dtype.isnative:
        raise NotMemory(f"its elements are in foreign byte order ({array.dtype.str})")
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = array.T
    if not array.flags.c_contiguous:
        raise NotMemory("it is not contiguous; use numpy.ascontiguousarray")
    return array.reshape(-1).view(np.uint8)


def span_of(value: object) -> Span:
    """The memory that `value` stands for, borrowed. Raises NotMemory when it stands for none."""
    if isinstance(value, np.ndarray):
        return host_span(value, value)
    if hasattr(value, "__cuda_array_interface__"):
        return cuda_span(value)
    package = type(value).__module__.partition(".")[0]
    if package == "pyarrow":
        return arrow_span(value)
    if package in ("pandas", "polars"):
        return column_span(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return dlpack_span(value)
    if hasattr(value, "__array_interface__") and not isinstance(value, np.generic):
        return interface_span(value)
    if isinstance(value, (str, int, float, complex, np.generic)) or value is None:
        raise NotMemory(f"{type(value).__name__} is no array")
    return buffer_span(value)


def host_span(array: Array, owner: object) -> Span:
    view = bytes_view(array)
    span = Span(view.ctypes.data, view.nbytes, HOST, bool(array.flags.writeable), owner, view)
    span.element = array.dtype
    return span


def buffer_span(value: Any) -> Span:
    """Anything with the buffer protocol; what lies behind a read-only one is read-only."""
    try:
        there = memoryview(value)
    except TypeError:
        raise NotMemory(f"{type(value).__name__} is no array") from None
    except (BufferError, ValueError) as refusal:
        raise NotMemory(f"{type(value).__name__} gives no bytes: {refusal}") from refusal
    if not there.nbytes:
        return Span(0, 0, HOST, not there.readonly, value, np.empty(0, np.uint8))
    if isinstance(value, ctypes.Structure) or not there.format:
        there = there.cast("B")
    try:
        return host_span(np.asarray(there), value)
    except (RuntimeError, TypeError, ValueError) as refusal:
        raise NotMemory(f"{type(value).__name__} gives no bytes: {refusal}") from refusal


def interface_span(value: Any) -> Span:
    """NumPy's `__array_interface__`."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as refusal:
        raise NotMemory(f"its __array_interface__ is malformed: {refusal}") from refusal
    return host_span(array, value)


def column_span(value: Any) -> Span:
    """A Series of pandas or Polars: NumPy's memory where it lies in that, else Arrow's."""
    if hasattr(value, "to_arrow"):
        return arrow_span(value.to_arrow())
    values = getattr(value, "values", None)
    if isinstance(values, np.ndarray):
        return host_span(values, value)
    if not hasattr(values, "__arrow_array__"):
        raise NotMemory(f"{type(value).__name__} is no array")
    import pyarrow as pa

    return arrow_span(pa.array(values))


def arrow_span(value: Any) -> Span:
    """The data buffer of a primitive Arrow array without nulls. Arrow memory is immutable: read-only."""
    import pyarrow as pa

    if isinstance(value, pa.ChunkedArray):
        if value.num_chunks != 1:
            raise NotMemory(f"the Arrow column has {value.num_chunks} chunks; use combine_chunks()")
        value = value.chunk(0)
    if isinstance(value, pa.Buffer):
        address = value.address if value.size else 0
        view = np.frombuffer(value, dtype=np.uint8)
        return Span(address, value.size, HOST, False, value, view)
    if not isinstance(value, pa.Array):
        raise NotMemory(f"{type(value).__name__} is no Arrow array of numbers")
    if value.null_count:
        raise NotMemory(f"the Arrow array has {value.null_count} nulls; fill_null() or drop_null() them")
    if isinstance(value, pa.DictionaryArray):
        raise NotMemory("the Arrow array is dictionary-encoded; pass its indices and dictionary apart")
    try:
        bits = value.type.bit_width
    except ValueError:
        raise NotMemory(f"an Arrow array of {value.type} has no fixed width") from None
    if value.type.num_fields or bits % 8:
        raise NotMemory(f"an Arrow array of {value.type} is not whole bytes per value")
    width = bits // 8
    data = value.buffers()[1]
    if data is None or len(value) == 0:
        return Span(0, 0, HOST, False, value, np.empty(0, np.uint8))
    view = np.frombuffer(data, dtype=np.uint8, count=len(value) * width, offset=value.offset * width)
    span = Span(view.ctypes.data, view.nbytes, HOST, False, value, view)
    if pa.types.is_integer(value.type) or pa.types.is_floating(value.type):
        span.element = np.dtype(value.type.to_pandas_dtype())
    return span


def dlpack_span(value: Any) -> Span:
    """A DLPack producer: through NumPy when it is on the host, else from its capsule."""
    kind = int(value.__dlpack_device__()[0])
    if kind in _DLPACK_HOST:
        try:
            return host_span(np.from_dlpack(value), value)
        except (BufferError, RuntimeError, TypeError, ValueError) as refusal:
            raise NotMemory(f"DLPack exchange failed: {refusal}") from refusal
    if kind not in _DLPACK_CUDA:
        raise NotMemory(f"it lives on DLPack device type {kind}, neither the host nor CUDA")
    return dlpack_device_span(value)


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def dlpack_device_span(value: Any) -> Span:
    """The DLTensor in the capsule of `value`. The capsule stays unconsumed: it frees the tensor itself."""
    capsule = value.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    width = tensor.bits * tensor.lanes // 8
    if strides is not None and not is_dense(shape, strides, 1):
        raise NotMemory("it is not contiguous")
    count = int(np.prod(shape, dtype=np.int64))
    address = (tensor.data or 0) + tensor.byte_offset
    span = Span(address, count * width, "cuda", True, (value, capsule))
    if tensor.code in _DLPACK_KINDS and tensor.lanes == 1 and tensor.bits in (8, 16, 32, 64):
        span.element = np.dtype(f"{_DLPACK_KINDS[tensor.code]}{width}")
    return span


def cuda_span(value: Any) -> Span:
    """`__cuda_array_interface__`, versions 2 and 3."""
    interface = value.__cuda_array_interface__
    shape = list(interface["shape"])
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None and not is_dense(shape, list(strides), dtype.itemsize):
        raise NotMemory("it is not contiguous")
    if interface.get("mask") is not None:
        raise NotMemory("it is a masked array")
    address, read_only = interface["data"]
    count = int(np.prod(shape, dtype=np.int64))
    span = Span(int(address or 0), count * dtype.itemsize, "cuda", not read_only, value)
    span.element = dtype
    span.stream = int(interface.get("stream") or 0)
    return span


def is_dense(shape: list[int], strides: list[int], unit: int) -> bool:
    """Whether elements of `unit` stride units lie without gaps, in C order."""
    step = unit
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True
