"""Everything a launch refuses, it refuses before it runs, by kernel, parameter and what was expected."""

import array
import ctypes
import math
import struct

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import drawloom
from drawloom.errors import LaunchError
from drawloom.runtime import Buffer, Kernel, Stream, device, load
from drawloom.runtime.arguments import prepare
from drawloom.runtime.memory import span_of
from tests.runtime import programs


def kernel_of(text: str, name: str) -> Kernel:
    return load(text, "reference")[name]


@pytest.fixture(scope="module")
def saxpy() -> Kernel:
    return kernel_of(programs.SAXPY, "saxpy")


@pytest.fixture(scope="module")
def many() -> Kernel:
    return kernel_of(programs.PARAMETERS, "many")


def block_of(kernel: Kernel, *values: object) -> bytes:
    return bytes(prepare(kernel.signature, values, device("reference")).block)


def refusal(kernel: Kernel, *values: object) -> str:
    with pytest.raises(LaunchError) as caught:
        kernel[1, 1](*values)
    assert caught.value.kernel == kernel.name
    return str(caught.value)


F32 = np.zeros(8, np.float32)


def test_the_count_must_match(saxpy: Kernel) -> None:
    assert refusal(saxpy) == "kernel saxpy: 0 arguments given, expected 4: a, x, y, n"
    assert refusal(saxpy, 1.0) == "kernel saxpy: 1 argument given, expected 4: a, x, y, n"
    assert "5 arguments given" in refusal(saxpy, 1.0, F32, F32, 8, 9)


REFUSED = [
    ((F32, F32, F32, 8), "parameter 0 (a): got ndarray, expected a number (.f32)"),
    (("1", F32, F32, 8), "parameter 0 (a): got str: str is no array; expected a number (.f32)"),
    ((1j, F32, F32, 8), "parameter 0 (a): got complex: complex is no array"),
    ((np.float64(1), F32, F32, 8), "parameter 0 (a): got a float64 of 8 bytes, the parameter (.f32) has 4"),
    ((np.complex64(1), F32, F32, 8), "parameter 0 (a): got a NumPy complex64"),
    ((2**24 + 1, F32, F32, 8), "parameter 0 (a): the integer 16777217 is not exact in .f32"),
    ((10**400, F32, F32, 8), "is too large for .f32"),
    ((1.0, 1.0, F32, 8), "parameter 1 (x): got the float 1.0, expected memory aligned to 4 bytes"),
    ((1.0, [1.0], F32, 8), "parameter 1 (x): got list: list is no array; expected memory aligned to 4 bytes"),
    ((1.0, -(2**63) - 1, F32, 8), "parameter 1 (x): -9223372036854775809 is out of range"),
    ((1.0, 6, F32, 8), "parameter 1 (x): the address 0x6 is not a multiple of 4"),
    ((1.0, np.zeros((8, 2), np.float32)[:, 0], F32, 8), "not contiguous; use numpy.ascontiguousarray"),
    ((1.0, np.array(["a"]), F32, 8), "parameter 1 (x): got ndarray: its elements are text"),
    ((1.0, np.array([None]), F32, 8), "parameter 1 (x): got ndarray: its elements are Python objects"),
    ((1.0, np.ma.array(F32, mask=F32 == 0), F32, 8), "parameter 1 (x): got MaskedArray: it is a masked array"),
    ((1.0, F32.astype(">f4"), F32, 8), "foreign byte order"),
    ((1.0, np.zeros(33, np.uint8)[1:], F32, 8), "is not aligned to the 4 bytes that the kernel relies on"),
    ((1.0, pa.array([1.0, None]), F32, 8), "the Arrow array has 1 nulls"),
    ((1.0, pa.array(["a"]), F32, 8), "an Arrow array of string has no fixed width"),
    ((1.0, pa.array([True]), F32, 8), "an Arrow array of bool is not whole bytes per value"),
    ((1.0, pa.chunked_array([[1.0], [2.0]]), F32, 8), "the Arrow column has 2 chunks; use combine_chunks()"),
    ((1.0, pa.array(["a"]).dictionary_encode(), F32, 8), "the Arrow array is dictionary-encoded"),
    ((1.0, pa.scalar(1.0), F32, 8), "is no Arrow array of numbers"),
    ((1.0, F32, b"12345678", 8), "parameter 2 (y): the bytes is read-only"),
    ((1.0, F32, F32, 8.0), "parameter 3 (n): got the float 8.0, expected an integer in -2147483648..4294967295"),
    ((1.0, F32, F32, np.float32(8)), "parameter 3 (n): got the float 8.0"),
    ((1.0, F32, F32, 2**32), "parameter 3 (n): 4294967296 is out of range"),
    ((1.0, F32, F32, -(2**31) - 1), "parameter 3 (n): -2147483649 is out of range"),
    ((1.0, F32, F32, np.int64(2**40)), "parameter 3 (n): 1099511627776 is out of range"),
    ((1.0, F32, F32, F32), "parameter 3 (n): got ndarray, expected an integer"),
    ((1.0, F32, F32, None), "parameter 3 (n): got None, expected an integer"),
]


@pytest.mark.parametrize("values, words", REFUSED, ids=[words[:60] for _, words in REFUSED])
def test_wrong_arguments_are_refused_by_name(saxpy: Kernel, values: tuple[object, ...], words: str) -> None:
    said = refusal(saxpy, *values)
    assert said.startswith("kernel saxpy: parameter ")
    assert words in said


def test_the_block_is_laid_out_as_the_parameters_are(many: Kernel) -> None:
    memory = Buffer.alloc(16, device="reference")
    block = block_of(many, memory, 4, -1, 255, 2.5, 1.0, b"abcdefgh", 2**63)
    assert block == struct.pack("<QQiB3xdf8s4xQ", memory.address, 4, -1, 255, 2.5, 1.0, b"abcdefgh", 2**63)
    assert [(p.name, p.offset, p.size) for p in many.parameters] == [
        ("aligned", 0, 8),
        ("offset", 8, 8),
        ("number", 16, 4),
        ("small", 20, 1),
        ("real", 24, 8),
        ("bits", 32, 4),
        ("record", 36, 8),
        ("plain", 48, 8),
    ]


def many_with(**changes: object) -> list[object]:
    values: dict[str, object] = {
        "aligned": None,
        "offset": 0,
        "number": 0,
        "small": 0,
        "real": 0,
        "bits": 0,
        "record": bytes(8),
        "plain": 0,
    }
    return list({**values, **changes}.values())


MANY_REFUSED = [
    ("aligned", 24, "the address 0x18 is not a multiple of 16"),
    ("offset", F32, "got ndarray, expected an offset into .shared memory"),
    ("offset", None, "got None, expected an offset into .shared memory"),
    ("small", 256, "256 is out of range, expected an integer in -128..255 (.u8)"),
    ("real", np.float32(1), "got a float32 of 4 bytes, the parameter (.f64) has 8"),
    ("record", b"1234567", "got 7 bytes, expected 8"),
    ("record", 5, "got int, expected 8 bytes by value"),
    ("record", np.zeros(3, np.uint32), "got 12 bytes, expected 8"),
    ("record", np.array([None]), "its elements are Python objects"),
    ("plain", 1.5, "got the float 1.5, expected an integer in -9223372036854775808..18446744073709551615 (.u64) or"),
    ("plain", "text", "got str: str is no array"),
]


@pytest.mark.parametrize("name, value, words", MANY_REFUSED, ids=[m[0] + ": " + m[2][:40] for m in MANY_REFUSED])
def test_wrong_forms_are_refused_by_name(many: Kernel, name: str, value: object, words: str) -> None:
    said = refusal(many, *many_with(**{name: value}))
    assert f"({name}): " in said
    assert words in said


def test_bits_take_integers_and_floats(many: Kernel) -> None:
    at = slice(32, 36)
    assert block_of(many, *many_with(bits=1))[at] == struct.pack("<i", 1)
    assert block_of(many, *many_with(bits=1.0))[at] == struct.pack("<f", 1)
    assert block_of(many, *many_with(bits=np.float32(2)))[at] == struct.pack("<f", 2)


@given(st.integers(-(2**31), 2**32 - 1))
def test_integers_wrap_as_two_complement(value: int) -> None:
    kernel = kernel_of(programs.store_scalar("u32"), "store")
    assert block_of(kernel, 0, value)[8:12] == (value & 0xFFFFFFFF).to_bytes(4, "little")


@given(st.floats())
def test_floats_round_as_numpy_rounds(value: float) -> None:
    for name, kind in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
        kernel = kernel_of(programs.store_scalar(name), "store")
        with np.errstate(over="ignore", invalid="ignore"):
            expected = kind(value)
        got = np.frombuffer(block_of(kernel, 0, value), kind, 1, 8)[0]
        assert got == expected or (math.isnan(value) and np.isnan(got))


def test_sixteen_bits_take_half_and_bfloat16() -> None:
    kernel = kernel_of(programs.store_scalar("b16"), "store")
    assert block_of(kernel, 0, ml_dtypes.bfloat16(1.5))[8:10] == b"\xc0\x3f"
    assert block_of(kernel, 0, np.float16(1.5))[8:10] == b"\x00\x3e"
    assert block_of(kernel, 0, 0x3FC0)[8:10] == b"\xc0\x3f"
    assert "which may be half or bfloat16; expected a NumPy scalar of either" in refusal(kernel, 0, 1.5)
    half = kernel_of(programs.store_scalar("f16"), "store")
    assert "got a NumPy bfloat16, expected a number (.f16)" in refusal(half, 0, ml_dtypes.bfloat16(1))


def test_host_memory_in_every_form(saxpy: Kernel) -> None:
    array = np.arange(8, dtype=np.float32)
    arrow = pa.array(array)
    forms = [
        (array, array.ctypes.data),
        (array[2:], array.ctypes.data + 8),
        (arrow, arrow.buffers()[1].address),
        (arrow[3:], arrow.buffers()[1].address + 12),
        (pa.chunked_array([arrow]), arrow.buffers()[1].address),
        (arrow.buffers()[1], arrow.buffers()[1].address),
        (memoryview(array), array.ctypes.data),
    ]
    raw = (ctypes.c_float * 8)()
    forms.append((raw, ctypes.addressof(raw)))
    for form, address in forms:
        block = block_of(saxpy, 1.0, form, F32, 8)
        assert int.from_bytes(block[8:16], "little") == address, form


class OnGpu:
    def __init__(self, **changes: object) -> None:
        self.__cuda_array_interface__ = {
            "shape": (8,),
            "typestr": "<f4",
            "data": (0x7000, False),
            "version": 3,
            **changes,
        }


def test_gpu_memory_is_refused_on_the_host(saxpy: Kernel) -> None:
    assert "the OnGpu lives on a GPU, the kernel on reference" in refusal(saxpy, 1.0, OnGpu(), F32, 8)
    assert "OnGpu: it is not contiguous" in refusal(saxpy, 1.0, OnGpu(strides=(8,)), F32, 8)
    assert "it is a masked array" in refusal(saxpy, 1.0, OnGpu(mask=OnGpu()), F32, 8)


class Foreign:
    def __dlpack__(self, **options: object) -> object:
        raise BufferError("busy")

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


def test_dlpack_producers_that_fail(saxpy: Kernel) -> None:
    assert "DLPack exchange failed: busy" in refusal(saxpy, 1.0, Foreign(1), F32, 8)
    assert "DLPack device type 8, neither the host nor CUDA" in refusal(saxpy, 1.0, Foreign(8), F32, 8)


class Tensor:
    """A DLPack producer of GPU memory; the capsule is NumPy's, with the device written over."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_dlpack_memory_of_a_gpu_is_understood(saxpy: Kernel) -> None:
    array = np.zeros((3, 5), np.int16)
    span = span_of(Tensor(array[1:]))
    assert (span.place, span.address, span.size) == ("cuda", array.ctypes.data + 10, 20)
    assert "it is not contiguous" in refusal(saxpy, 1.0, Tensor(array[:, 1:]), F32, 8)
    assert "the Tensor lives on a GPU, the kernel on reference" in refusal(saxpy, 1.0, Tensor(array), F32, 8)


ANYTHING = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=12),
    st.complex_numbers(),
    st.sampled_from([np.dtype(c) for c in "?bBhHiIlLefdFDSUOmM"]).map(lambda kind: np.zeros(3, kind)),
    st.sampled_from([np.dtype(c) for c in "?bBhHiIlLefdFD"]).map(lambda kind: kind.type(1)),
    st.just(F32.reshape(2, 4).T[::2]),
    st.just(pa.array([1, None])),
    st.just(pa.array([[1]])),
    st.just(object()),
    st.just(int),
)


@given(st.lists(ANYTHING, min_size=8, max_size=8))
def test_any_values_are_arguments_or_refused_fuzz(values: list[object]) -> None:
    kernel = kernel_of(programs.PARAMETERS, "many")
    try:
        block = block_of(kernel, *values)
    except LaunchError as refusal:
        assert str(refusal).startswith("kernel many: parameter ")
    else:
        assert len(block) == 56


def test_what_reaches_names_must_be_memory(saxpy: Kernel) -> None:
    with pytest.raises(LaunchError, match=r"kernel saxpy: reaches: int is no array"):
        saxpy[1, 1](1.0, F32, F32, 0, reaches=[3])


LAUNCHES = [
    (((), 1), "grid: got 0 dimensions, expected 1 to 3"),
    (((1, 1, 1, 1), 1), "grid: got 4 dimensions"),
    ((1.5, 1), "grid: got 1.5, expected an integer"),
    ((True, 1), "grid: got True"),
    (("8", 1), "grid: got '8'"),
    ((0, 1), "grid.x is 0, expected 1..2147483647"),
    ((-1, 1), "grid.x is -1"),
    ((2**31, 1), "grid.x is 2147483648"),
    (((1, 65536), 1), "grid.y is 65536, expected 1..65535"),
    (((1, 1, 65536), 1), "grid.z is 65536"),
    ((1, 0), "block.x is 0, expected 1..1024"),
    ((1, 1025), "block.x is 1025"),
    ((1, (1, 1, 65)), "block.z is 65, expected 1..64"),
    ((1, (32, 33)), "a block of (32, 33, 1) has 1056 threads, expected at most 1024"),
    ((1, 1, -4), "shared_bytes is -4"),
    ((1, 1, 1.0), "shared_bytes: got 1.0"),
    ((1, 1, 227 * 1024 + 1), "0 static + 232449 dynamic bytes of shared memory, expected at most 232448"),
    ((1,), "expected kernel[grid, block]"),
    ((1, 1, 0, 0), "expected kernel[grid, block]"),
]


@pytest.mark.parametrize("launch, words", LAUNCHES, ids=[str(launch) for launch, _ in LAUNCHES])
def test_wrong_dimensions_are_refused(saxpy: Kernel, launch: tuple[object, ...], words: str) -> None:
    with pytest.raises(LaunchError) as caught:
        saxpy[launch]
    assert str(caught.value).startswith("kernel saxpy: ")
    assert words in str(caught.value)


def test_largest_dimensions_are_accepted(saxpy: Kernel) -> None:
    configured = saxpy[(2**31 - 1, 65535, 65535), (16, 1, 64), 227 * 1024]
    assert configured.grid == (2**31 - 1, 65535, 65535)
    assert configured.block == (16, 1, 64)
    assert saxpy[np.int64(3), [4, 5]].block == (4, 5, 1)


def test_a_kernel_is_not_called_without_dimensions(saxpy: Kernel) -> None:
    with pytest.raises(LaunchError, match=r"launch with kernel\[grid, block\]"):
        saxpy(1.0)


def test_the_kernels_own_limits() -> None:
    required = kernel_of(programs.limited(".reqntid 16, 2"), "empty")
    required[1, (16, 2)]
    for block in (32, (2, 16), (16, 2, 2)):
        with pytest.raises(LaunchError, match=r"the kernel requires \(16, 2, 1\) \(.reqntid\)"):
            required[1, block]
    largest = kernel_of(programs.limited(".maxntid 8, 8, 1"), "empty")
    largest[1, 64]
    with pytest.raises(LaunchError, match=r"has 65 threads, the kernel takes at most 64 \(.maxntid\)"):
        largest[1, 65]


def test_static_shared_memory_counts() -> None:
    kernel = kernel_of(programs.static_shared(40_000), "empty")
    kernel[1, 1, 232448 - 40_000]
    with pytest.raises(LaunchError, match=r"40000 static \+ 192449 dynamic bytes"):
        kernel[1, 1, 232448 - 40_000 + 1]
    too_much = kernel_of(programs.static_shared(49_156), "empty")
    with pytest.raises(LaunchError, match="49156 bytes of static shared memory, at most 49152"):
        too_much[1, 1]


def test_a_stream_of_another_device_is_refused(saxpy: Kernel) -> None:
    with Stream("cpu") as stream:  # host devices share their memory, and so their streams
        assert saxpy[1, 1, stream].stream is stream
        assert saxpy[1, 1, 0, None].stream is None


class Exporter:
    """An object with NumPy's `__array_interface__` and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class Malformed:
    def __init__(self) -> None:
        self.__array_interface__ = {"shape": (4,)}


WRITEABLE = {
    "array.array": lambda: array.array("f", [1, 2, 3, 4]),
    "bytearray": lambda: bytearray(np.arange(1, 5, dtype=np.float32).tobytes()),
    "ctypes": lambda: (ctypes.c_float * 4)(1, 2, 3, 4),
    "__array_interface__": lambda: Exporter(np.arange(1, 5, dtype=np.float32)),
}


@pytest.mark.parametrize("empty", [array.array("f"), bytearray(), (ctypes.c_float * 0)()])
def test_an_empty_array_is_as_writeable_as_its_owner(empty: object) -> None:
    """It was refused as read-only, whatever it was."""
    drawloom.load(programs.SAXPY)["saxpy"][1, 4](1.0, array.array("f"), empty, 0)
    with pytest.raises(LaunchError, match="the bytes is read-only"):
        drawloom.load(programs.SAXPY)["saxpy"][1, 4](1.0, array.array("f"), b"", 0)


@pytest.mark.parametrize("name", WRITEABLE)
def test_what_a_kernel_writes_is_seen_by_the_owner(name: str) -> None:
    y = WRITEABLE[name]()
    drawloom.load(programs.SAXPY)["saxpy"][1, 4](1.0, np.ones(4, np.float32), y, 4)
    seen = y.values if isinstance(y, Exporter) else np.frombuffer(y, np.float32)
    np.testing.assert_array_equal(seen, [2, 3, 4, 5])


READ_ONLY = {
    "pandas": lambda: pd.Series([1, 2, 3, 4], dtype="float32"),
    "pandas, nullable": lambda: pd.Series([1, 2, 3, 4], dtype="Float32"),
    "pandas, of Arrow": lambda: pd.Series([1, 2, 3, 4], dtype=pd.ArrowDtype(pa.float32())),
    "polars": lambda: pl.Series([1, 2, 3, 4], dtype=pl.Float32),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_columns_of_data_frames_are_arguments(name: str) -> None:
    y = np.zeros(4, np.float32)
    drawloom.load(programs.SAXPY)["saxpy"][1, 4](1.0, READ_ONLY[name](), y, 4)
    np.testing.assert_array_equal(y, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (pd.Series([1.0, None], dtype="Float32"), "the Arrow array has 1 nulls"),
        (pl.Series([1.0, None], dtype=pl.Float32), "the Arrow array has 1 nulls"),
        (pd.Series(["a", "b"], dtype="string[python]"), "has no fixed width"),
        (pd.Series(["a", "b"], dtype=object), "its elements are Python objects"),
        (pl.Series(["a", "b"]), "has no fixed width"),
        (array.array("d", [1.0]), "its elements are float64, but the kernel accesses .f32 through it"),
        (pd.DataFrame({"x": [1.0]}), "its elements are float64"),
        ({"x": 1}, "dict is no array"),
        (Malformed(), "its __array_interface__ is malformed"),
        ([1.0], "list is no array"),
    ],
)
def test_columns_and_arrays_that_are_refused(saxpy: Kernel, value: object, said: str) -> None:
    assert said in refusal(saxpy, 1.0, value, F32, 1)
