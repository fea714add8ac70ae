"""What every device must do, as tests over a `device` fixture: tests/runtime runs them on the host devices,
tests/gpu on the first GPU."""

import ctypes

import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom import KernelFault, LaunchError
from drawloom.runtime import Event, Stream, pinned_array
from tests.runtime import programs


def test_saxpy_on_numpy_arrays(device: str) -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.ones(1000, dtype=np.float32)
    launch = drawloom.load(programs.SAXPY, device)["saxpy"][8, 128](3.0, x, y, 1000)
    np.testing.assert_array_equal(y, 3 * np.arange(1000, dtype=np.float32) + 1)
    assert launch.done
    assert launch.run_seconds > 0
    assert launch.compile_seconds >= 0


SCALARS = {
    "u8": (200, "<u1"),
    "s8": (-100, "<i1"),
    "u16": (60000, "<u2"),
    "s16": (-30000, "<i2"),
    "u32": (4000000000, "<u4"),
    "s32": (-2000000000, "<i4"),
    "u64": (2**64 - 3, "<u8"),
    "s64": (-(2**62), "<i8"),
    "b32": (0xDEADBEEF, "<u4"),
    "f16": (1.5, "<f2"),
    "f32": (0.1, "<f4"),
    "f64": (0.1, "<f8"),
}


@pytest.mark.parametrize("type_name", SCALARS)
def test_a_scalar_of_every_type_arrives(device: str, type_name: str) -> None:
    value, dtype = SCALARS[type_name]
    out = np.zeros(1, dtype)
    drawloom.load(programs.store_scalar(type_name), device)["store"][1, 1](out, value)
    assert out[0] == np.array([value]).astype(dtype)[0]


def test_numpy_scalars_arrive(device: str) -> None:
    for type_name, value in (("f32", np.float32(0.1)), ("f64", np.float64(0.1)), ("s32", np.int64(-7))):
        out = np.zeros(1, value.dtype if type_name != "s32" else np.int32)
        drawloom.load(programs.store_scalar(type_name), device)["store"][1, 1](out, value)
        assert out[0] == value


def test_a_structure_by_value_arrives_from_every_form(device: str) -> None:
    class Record(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int64), ("b", ctypes.c_double), ("c", ctypes.c_uint64))

    kernel = drawloom.load(programs.STRUCTURE, device)["store"]
    kind = np.dtype([("a", "<i8"), ("b", "<f8"), ("c", "<u8")])
    record = np.array([(-1, 2.5, 3)], kind)
    for form in (record.tobytes(), bytearray(record.tobytes()), record[0], record, Record(-1, 2.5, 3)):
        out = np.zeros(24, np.uint8)
        kernel[1, 1](9, form, out)
        assert out.tobytes() == record.tobytes()


def test_module_variables_are_read_and_written(device: str) -> None:
    module = drawloom.load(programs.VARIABLES, device)
    assert list(module.globals) == ["counter", "table", "matrix"]
    assert module.globals["counter"] == 5
    np.testing.assert_array_equal(module.globals["table"], np.array([1, 2, 3, 4], np.float32))
    module.globals["matrix"] = [[0, 0, 0], [0, 0, 10]]
    out = np.zeros(8)
    module["count_up"][1, 8](out)
    np.testing.assert_array_equal(out, [11, 12, 13, 14, 11, 12, 13, 14])
    assert module.globals["counter"] == 13
    module.globals["counter"] = 0
    module["count_up"][1, 8](out)
    assert module.globals["counter"] == 8


def test_two_loads_have_their_own_variables(device: str) -> None:
    first, second = (drawloom.load(programs.VARIABLES, device) for _ in range(2))
    first["count_up"][1, 4](np.zeros(4))
    assert (int(first.globals["counter"]), int(second.globals["counter"])) == (9, 5)


def test_dynamic_shared_memory(device: str) -> None:
    data = np.arange(96, dtype=np.uint32)
    drawloom.load(programs.REVERSE, device)["reverse"][1, 96, 96 * 4](data)
    np.testing.assert_array_equal(data, np.arange(96)[::-1])


def test_grids_and_blocks_of_three_dimensions(device: str) -> None:
    out = np.full(3 * 2 * 2 * 5 * 3 * 2, 0xFFFFFFFF, np.uint32)
    drawloom.load(programs.COORDINATES, device)["coordinates"][(3, 2, 2), (5, 3, 2)](out)
    np.testing.assert_array_equal(out, np.arange(out.size))


def test_a_read_only_array_is_taken_where_the_kernel_only_reads(device: str) -> None:
    x = np.ones(32, np.float32)
    x.flags.writeable = False
    y = np.ones(32, np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, x, y, 32)
    assert (y == 2).all()


def test_a_read_only_array_is_refused_where_the_kernel_writes(device: str) -> None:
    y = np.ones(32, np.float32)
    y.flags.writeable = False
    kernel = drawloom.load(programs.SAXPY, device)["saxpy"]
    with pytest.raises(LaunchError, match=r"kernel saxpy: parameter 2 \(y\): the ndarray is read-only"):
        kernel[1, 32](1.0, np.ones(32, np.float32), y, 32)
    assert (y == 1).all()


def test_arrow_columns_are_inputs_and_never_outputs(device: str) -> None:
    column = pa.array(np.arange(40, dtype=np.float32))[8:]
    y = np.zeros(32, np.float32)
    kernel = drawloom.load(programs.SAXPY, device)["saxpy"]
    kernel[1, 32](1.0, column, y, 32)
    np.testing.assert_array_equal(y, np.arange(8, 40))
    with pytest.raises(LaunchError, match="is read-only, and the kernel may write through it"):
        kernel[1, 32](1.0, y, column, 32)


class Exporter:
    """A DLPack producer that is no NumPy array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_dlpack_arrays_are_used_in_place(device: str) -> None:
    y = np.ones(32, np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, Exporter(np.ones(32, np.float32)), Exporter(y), 32)
    assert (y == 2).all()


def test_one_array_as_two_arguments_is_one_memory(device: str) -> None:
    y = np.arange(32, dtype=np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, y, y, 32)
    np.testing.assert_array_equal(y, 2 * np.arange(32))


def test_overlapping_views_stay_overlapping(device: str) -> None:
    whole = np.arange(64, dtype=np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 16](1.0, whole[8:24], whole[16:32], 8)
    expected = np.arange(64, dtype=np.float32)
    expected[16:24] += expected[8:16]
    np.testing.assert_array_equal(whole, expected)


def test_empty_arrays_and_null_pointers(device: str) -> None:
    kernel = drawloom.load(programs.SAXPY, device)["saxpy"]
    kernel[1, 32](1.0, np.empty(0, np.float32), None, 0)


def test_fortran_order_arrays_lie_as_they_are(device: str) -> None:
    y = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, y, y, 6)
    np.testing.assert_array_equal(y, 2 * np.arange(6).reshape(2, 3))


def test_buffers(device: str) -> None:
    x = np.arange(100, dtype=np.float32)
    with drawloom.Buffer.from_array(x, device) as a, drawloom.Buffer.alloc(100, np.float32, device) as b:
        assert (b.size, b.shape, b.dtype) == (400, (100,), np.float32)
        assert not b.to_array().any()
        drawloom.load(programs.SAXPY, device)["saxpy"][4, 32](2.0, a, b, 100)
        np.testing.assert_array_equal(b.to_array(), 2 * x)
        b.copy_from(x)
        out = np.empty(100, np.float32)
        assert b.to_array(out) is out
        np.testing.assert_array_equal(out, x)
    assert a.freed
    assert b.freed


def test_a_freed_buffer_is_refused(device: str) -> None:
    buffer = drawloom.Buffer.alloc(4, np.uint32, device)
    buffer.free()
    buffer.free()
    for use in (buffer.to_array, lambda: buffer.copy_from(np.zeros(4, np.uint32)), lambda: buffer.address):
        with pytest.raises(drawloom.DeviceError, match="is freed"):
            use()
    with pytest.raises(LaunchError, match=r"parameter 0 \(out\): the Buffer is freed"):
        drawloom.load(programs.COORDINATES, device)["coordinates"][1, 1](buffer)


def test_copies_must_fit_the_buffer(device: str) -> None:
    with drawloom.Buffer.alloc(4, np.uint32, device) as buffer:
        with pytest.raises(drawloom.DataError, match="the array has 12 bytes, the Buffer 16"):
            buffer.copy_from(np.zeros(3, np.uint32))
        with pytest.raises(drawloom.DataError, match="not contiguous"):
            buffer.to_array(np.zeros((4, 2), np.uint32)[:, 0])
        locked = np.zeros(4, np.uint32)
        locked.flags.writeable = False
        with pytest.raises(drawloom.DataError, match="read-only"):
            buffer.to_array(locked)


def test_addresses_in_memory_are_followed_between_buffers(device: str) -> None:
    left, right = (drawloom.Buffer.from_array(np.array([v], np.uint32), device) for v in (30, 12))
    table = drawloom.Buffer.from_array(np.array([left.address, right.address], np.uint64), device)
    out = np.zeros(1, np.uint32)
    drawloom.load(programs.POINTER_TABLE, device)["follow"][1, 1](table, out, reaches=[left, right])
    assert out[0] == 42


def test_an_integer_is_an_address(device: str) -> None:
    with drawloom.Buffer.alloc(8, np.uint32, device) as buffer:
        kernel = drawloom.load(programs.COORDINATES, device)["coordinates"]
        kernel[1, 8](buffer.address, reaches=[buffer])
        np.testing.assert_array_equal(buffer.to_array(), np.arange(8))


def test_a_stream_keeps_its_order(device: str) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    x = np.ones(256, np.float32)
    out = np.zeros(256, np.float32)
    with Stream(device) as stream, drawloom.Buffer.alloc(256, np.float32, device) as y:
        y.copy_from(np.full(256, 5, np.float32), stream)
        launches = [saxpy[2, 128, 0, stream](2.0, x, y, 256) for _ in range(10)]
        y.to_array(out, stream)
        stream.synchronize()
        assert stream.idle
        assert all(launch.done and launch.run_seconds > 0 for launch in launches)
        assert (out == 25).all()


def test_an_event_orders_two_streams(device: str) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    x = np.ones(1 << 10, np.float32)
    with Stream(device) as first, Stream(device) as second, drawloom.Buffer.alloc(x.size, np.float32, device) as y:
        start = first.record()
        for _ in range(5):
            saxpy[8, 128, first](1.0, x, y, x.size)
        written = first.record()
        assert isinstance(written, Event)
        second.wait(written)
        saxpy[8, 128, second](1.0, y, y, x.size)
        second.synchronize()
        assert written.done
        assert (y.to_array() == 10).all()
        assert written.elapsed(start) > 0


def test_waiting_for_a_launch_on_a_stream(device: str) -> None:
    y = np.ones(32, np.float32)
    with Stream(device) as stream:
        launch = drawloom.load(programs.SAXPY, device)["saxpy"][1, 32, stream](1.0, y, y, 32)
        assert launch.wait().done
        assert (y == 2).all()


def test_a_closed_stream_is_refused(device: str) -> None:
    stream = Stream(device)
    stream.close()
    stream.close()
    with pytest.raises(drawloom.DeviceError, match="is closed"):
        stream.synchronize()


def test_pinned_arrays_are_arguments(device: str) -> None:
    x = pinned_array((8, 4), np.float32, device)
    assert not x.any()
    x += 1
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32](1.0, x, x, 32)
    assert (x == 2).all()


@pytest.mark.faults
def test_a_trap_names_the_kernel_and_leaves_the_device_usable(device: str) -> None:
    with pytest.raises(KernelFault, match="kernel stop: ") as caught:
        drawloom.load(programs.TRAP, device)["stop"][1, 1]()
    assert caught.value.kernel == "stop"
    test_saxpy_on_numpy_arrays(device)
    test_module_variables_are_read_and_written(device)


@pytest.mark.faults
def test_a_trap_on_a_stream_is_raised_when_it_is_synchronized(device: str) -> None:
    stop = drawloom.load(programs.TRAP, device)["stop"]
    stream = Stream(device)
    stop[1, 1, stream]()
    with pytest.raises(KernelFault, match="kernel stop: "):
        stream.synchronize()
    y = np.ones(32, np.float32)
    drawloom.load(programs.SAXPY, device)["saxpy"][1, 32, stream](1.0, y, y, 32)
    stream.synchronize()
    assert (y == 2).all()
    stream.close()


@pytest.mark.faults
def test_a_loaded_module_survives_the_fault_of_another(device: str) -> None:
    saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
    with pytest.raises(KernelFault):
        drawloom.load(programs.TRAP, device)["stop"][1, 1]()
    y = np.ones(32, np.float32)
    saxpy[1, 32](1.0, y, y, 32)
    assert (y == 2).all()
