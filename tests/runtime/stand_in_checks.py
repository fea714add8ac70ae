"""What only a stand-in driver can show: that nothing leaks, and a GPU that no reset brings back.

Run by test_stand_in.py, in a process that has the stand-in.
"""

import gc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom import DeviceError, KernelFault
from drawloom.runtime import Stream, pinned_array
from drawloom.sql import connect
from tests.runtime import programs, stand_in_driver
from tests.sql.compare import differences


@pytest.fixture
def library() -> object:
    assert stand_in_driver.stand_in is not None
    return stand_in_driver.stand_in.library


def held(library: object) -> tuple[int, ...]:
    """Allocations, events, streams and modules that were not given back."""
    gc.collect()
    kinds = ("allocations", "events", "streams", "modules")
    return tuple(getattr(library, "stand_in_live_" + kind)() for kind in kinds)


def use_everything() -> None:
    saxpy = drawloom.load(programs.SAXPY, "cuda:0")["saxpy"]
    y = np.ones(64, np.float32)
    saxpy[1, 64](1.0, y, y, 64)
    with Stream("cuda:0") as stream, drawloom.Buffer.alloc(64, np.float32, "cuda:0") as buffer:
        launch = saxpy[1, 64, stream](1.0, y, buffer, 64)
        while not launch.done:
            pass
        stream.record()
        buffer.to_array(y, stream)


def test_launches_streams_buffers_and_modules_leak_nothing(library: object) -> None:
    use_everything()  # pages and events that are kept for the next
    before = held(library)
    for _ in range(5):
        use_everything()
    assert held(library) == before


def test_pinned_memory_is_given_back(library: object) -> None:
    before = library.stand_in_pinned()
    array = pinned_array(1000, np.float32, "cuda:0")
    view = array[10:]
    assert library.stand_in_pinned() == before + 1
    del array
    gc.collect()
    assert library.stand_in_pinned() == before + 1
    del view
    gc.collect()
    assert library.stand_in_pinned() == before


def test_a_gpu_that_no_reset_brings_back_is_refused_and_the_process_goes_on(library: object) -> None:
    saxpy = drawloom.load(programs.SAXPY, "cuda:0")["saxpy"]
    stop = drawloom.load(programs.TRAP, "cuda:0")["stop"]
    backend = drawloom.runtime.device("cuda:0").backend
    y = np.ones(4, np.float32)
    library.stand_in_unrecoverable(1)
    try:
        with pytest.raises(KernelFault, match="kernel stop: "):
            stop[1, 1]()
        for _ in range(2):
            with pytest.raises(DeviceError, match=r"cannot use the GPU again in this process.*start a new process"):
                saxpy[1, 4](1.0, y, y, 4)
        with pytest.raises(DeviceError, match="start a new process"):
            drawloom.Buffer.alloc(4, device="cuda:0")
        drawloom.load(programs.SAXPY, "reference")["saxpy"][1, 4](1.0, y, y, 4)
        assert (y == 2).all()
    finally:
        library.stand_in_unrecoverable(0)
        backend.lost = ""


def test_a_stream_says_what_lost_the_gpu(library: object) -> None:
    """As an H100's driver has it; the fault came as the refusal of everything after it."""
    stop = drawloom.load(programs.TRAP, "cuda:0")["stop"]
    backend = drawloom.runtime.device("cuda:0").backend
    stream = Stream("cuda:0")
    library.stand_in_unrecoverable(1)
    try:
        stop[1, 1, stream]()
        with pytest.raises(KernelFault, match="kernel stop: "):
            stream.synchronize()
        with pytest.raises(DeviceError, match="start a new process"):
            stream.synchronize()
    finally:
        library.stand_in_unrecoverable(0)
        backend.lost = ""


def test_the_log_of_the_drivers_compiler_is_in_the_error(library: object) -> None:
    newest = programs.SAXPY.replace("sm_60", "sm_100").replace(".version 7.0", ".version 9.0")
    with pytest.raises(DeviceError, match=r"the driver refused the PTX: .*INVALID_PTX.*\nptxas error: sm_100 is newer"):
        drawloom.load(newest, "cuda:0", assembler="driver")


def test_a_cubin_that_the_driver_does_not_take_names_the_other_way(
    library: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drawloom.runtime.assembler.arch_for", lambda compute: "sm_80")
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    with pytest.raises(DeviceError, match="the driver refused our machine code of the PTX") as caught:
        drawloom.load(programs.SAXPY, "cuda:0")
    assert "sm_80 is another GPU" in str(caught.value)
    assert "assembler='driver'" in str(caught.value)


def test_a_fault_among_several_kernels_names_them(library: object, monkeypatch: pytest.MonkeyPatch) -> None:
    saxpy = drawloom.load(programs.SAXPY, "cuda:0")["saxpy"]
    stop = drawloom.load(programs.TRAP, "cuda:0")["stop"]
    y = np.ones(4, np.float32)
    stopping, stream = Stream("cuda:0"), Stream("cuda:0")
    # As if nobody had had the time to look: on a slow machine the first may be done before the second is queued.
    monkeypatch.setattr(drawloom.runtime.device("cuda:0").backend, "collect_done", lambda: None)
    saxpy[1, 4, stream](1.0, y, y, 4)
    stop[1, 1, stopping]()
    with pytest.raises((KernelFault, DeviceError), match="which kernel it was of saxpy, stop"):
        stopping.synchronize()


#: What a query of one kernel asks the driver for when its columns are on the GPU: a launch, what the kernel reports in
#: one copy, and a wait.
CALLS = {
    "cuCtxPushCurrent": 1, "cuCtxPopCurrent": 1, "cuMemsetD8Async": 1, "cuLaunchKernel": 1, "cuMemcpyDtoHAsync": 1,
    "cuEventRecord": 3, "cuEventElapsedTime": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        "select sum(price * discount) from t where quantity < 24 and discount between 0.05 and 0.07",
        "select flag, sum(quantity), avg(price), count(*) from t where discount < 0.09 group by flag order by flag",
    ],
)
def test_a_query_of_one_kernel_asks_the_driver_for_little(library: object, query: str) -> None:
    rows = 1500
    hundredths = pa.array([Decimal(n % 11) / 100 for n in range(rows)], pa.decimal128(15, 2))
    columns = {"flag": [f"{n % 3}" for n in range(rows)], "quantity": [n % 50 for n in range(rows)]}
    table = pa.table({**columns, "discount": hundredths, "price": hundredths})
    relation = connect("cuda:0").register("t", table).sql(query)
    assert differences(relation.arrow(), relation.query.program().interpret().to_arrow()) == []
    stand_in = stand_in_driver.stand_in
    assert stand_in is not None
    before = stand_in.calls()
    relation.arrow()
    asked = stand_in.calls() - before
    del asked["cuEventQuery"]  # as long as it waits
    assert asked == CALLS
