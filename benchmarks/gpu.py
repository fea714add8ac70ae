"""What feeding a GPU costs: copies, copies beside kernels, launches, and memory on the device, each beside its bound.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --device cuda:1 --megabytes 64 --json gpu.json

Sections run on their own: one that fails prints its traceback, the others go on, and the exit code is 1. Every number
is the best of some runs, because what else a machine does only adds time. It ends in under a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import drawloom  # noqa: E402
from benchmarks.common.device_copy import copy_seconds  # noqa: E402
from drawloom.runtime import Kernel, Stream, pinned_array  # noqa: E402
from drawloom.runtime.driver import Driver, probe  # noqa: E402

HEADER = ".version 7.0\n.target sm_60\n.address_size 64\n"
EMPTY = HEADER + ".visible .entry empty() { ret; }\n"
#: Four addresses and two numbers, as many as kernels of queries have, and nothing to do.
ARGUMENTS = (
    HEADER
    + """.visible .entry arguments(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 rows,
    .param .u64 chunk) { ret; }
"""
)
#: Each thread multiplies and adds ``rounds`` times: busy, without memory.
SPIN = (
    HEADER
    + """.visible .entry spin(.param .u64 out, .param .u32 rounds) {
    .reg .pred %p; .reg .u32 %r<3>; .reg .f32 %f; .reg .u64 %out;
    ld.param.u32 %r0, [rounds];
    ld.param.u64 %out, [out];
    mov.f32 %f, 0f3F800000;
LOOP:
    fma.rn.f32 %f, %f, 0f3F7FFFFF, 0f33800000;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p, %r0, 0;
    @%p bra LOOP;
    st.global.f32 [%out], %f;
    ret;
}
"""
)
#: 16 bytes a thread and round, four rounds in flight.
COPY = (
    HEADER
    + """.visible .entry copy(.param .u64 to, .param .u64 from, .param .u32 step) {
    .reg .u32 %r<3>; .reg .u64 %to, %from, %at, %step; .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mul.wide.u32 %at, %r0, 16;
    ld.param.u64 %to, [to];
    ld.param.u64 %from, [from];
    ld.param.u32 %r0, [step];
    cvt.u64.u32 %step, %r0;
    add.u64 %to, %to, %at;
    add.u64 %from, %from, %at;
    ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%from];
    add.u64 %from, %from, %step;
    ld.global.v4.b32 {%b0, %b1, %b2, %b3}, [%from];
    add.u64 %from, %from, %step;
    ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%from];
    add.u64 %from, %from, %step;
    ld.global.v4.b32 {%d0, %d1, %d2, %d3}, [%from];
    st.global.v4.b32 [%to], {%a0, %a1, %a2, %a3};
    add.u64 %to, %to, %step;
    st.global.v4.b32 [%to], {%b0, %b1, %b2, %b3};
    add.u64 %to, %to, %step;
    st.global.v4.b32 [%to], {%c0, %c1, %c2, %c3};
    add.u64 %to, %to, %step;
    st.global.v4.b32 [%to], {%d0, %d1, %d2, %d3};
    ret;
}
"""
)
SMALL_SIZES = (4, 4096, 65536, 1 << 20)


class Bench:
    """One GPU, how much it is given, and the rows of the table: what was measured, how much, in what unit."""

    def __init__(self, device: str, size: int, repeat: int) -> None:
        self.device = device
        self.size = size
        self.repeat = repeat
        self.rows: list[tuple[str, str, float, str]] = []

    def note(self, section: str, what: str, value: float, unit: str) -> None:
        self.rows.append((section, what, value, unit))

    def best(self, run: Callable[..., object], *values: object, repeat: int = 0) -> float:
        """The least seconds of a run with these arguments; the first one warms up."""
        run(*values)
        times = []
        for _ in range(repeat or self.repeat):
            start = time.perf_counter()
            run(*values)
            times.append(time.perf_counter() - start)
        return min(times)

    def bandwidth(self, section: str, what: str, seconds: float, size: int = 0) -> None:
        self.note(section, what, (size or self.size) / seconds / 1e9, "GB/s")

    @property
    def driver(self) -> Driver:
        found = probe().driver
        assert found is not None
        return found


def copies(bench: Bench) -> None:
    """Large copies, by whose memory the host's side is, and what making such memory takes."""
    size = bench.size
    start = time.perf_counter()
    locked = pinned_array(size, np.uint8, bench.device)
    bench.bandwidth("copies", "making page-locked memory", time.perf_counter() - start)
    pageable = np.ones(size, np.uint8)
    other = np.empty(size, np.uint8)
    for threads in (1, 2, 4, 8):
        seconds = bench.best(by_threads, other, pageable, threads)
        bench.bandwidth("copies", f"host to host, {threads} threads", seconds)
    with drawloom.Buffer.alloc(size, np.uint8, bench.device) as buffer:
        for name, array in (("pageable", pageable), ("page-locked", locked)):
            bench.bandwidth("copies", f"up, {name}", bench.best(buffer.copy_from, array))
            bench.bandwidth("copies", f"down, {name}", bench.best(buffer.to_array, array))
    assert (pageable == 1).all()


def by_threads(to: Any, source: Any, threads: int) -> None:
    parts = zip(np.array_split(to, threads), np.array_split(source, threads), strict=True)
    running = [threading.Thread(target=np.copyto, args=pair) for pair in parts]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def small_copies(bench: Bench) -> None:
    for size in SMALL_SIZES:
        arrays = {"pageable": np.zeros(size, np.uint8), "page-locked": pinned_array(size, np.uint8, bench.device)}
        with drawloom.Buffer.alloc(size, np.uint8, bench.device) as buffer:
            for name, array in arrays.items():
                up = bench.best(buffer.copy_from, array, repeat=50)
                down = bench.best(buffer.to_array, array, repeat=50)
                bench.note("small copies", f"{size} bytes up, {name}", up * 1e6, "us")
                bench.note("small copies", f"{size} bytes down, {name}", down * 1e6, "us")


def overlap(bench: Bench) -> None:
    """A copy and a kernel of the same length, alone and together."""
    spin = drawloom.load(SPIN, bench.device)["spin"]
    out = drawloom.Buffer.alloc(1, np.float32, bench.device)
    locked = pinned_array(bench.size, np.uint8, bench.device)
    buffer = drawloom.Buffer.alloc(bench.size, np.uint8, bench.device)
    with Stream(bench.device) as copying, Stream(bench.device) as computing:

        def up() -> None:
            buffer.copy_from(locked, copying)

        def down() -> None:
            buffer.to_array(locked, copying)

        def until_done(copy: Callable[[], None] | None, rounds: int) -> None:
            if rounds:
                spin[8, 128, computing](out, rounds)
            if copy is not None:
                copy()
            copying.synchronize()
            computing.synchronize()

        seconds = min([spin[8, 128](out, 10_000).run_seconds for _ in range(3)])
        rounds = min(max(int(10_000 * bench.best(until_done, up, 0) / seconds), 100), 1 << 31)
        kernel = bench.best(until_done, None, rounds)
        bench.note("overlap", "kernel alone", kernel * 1e3, "ms")
        for copy in (up, down):
            alone = bench.best(until_done, copy, 0)
            together = bench.best(until_done, copy, rounds)
            bench.note("overlap", f"copy {copy.__name__} alone", alone * 1e3, "ms")
            bench.note("overlap", f"kernel and copy {copy.__name__}", together * 1e3, "ms")
            bench.note("overlap", f"both against the longer, {copy.__name__}", together / max(alone, kernel), "x")


def launch_costs(bench: Bench, count: int = 1000) -> None:
    """What a launch takes of the thread that makes it, alone and many in a row."""
    empty = drawloom.load(EMPTY, bench.device)["empty"]
    full = drawloom.load(ARGUMENTS, bench.device)["arguments"]
    buffers = [drawloom.Buffer.alloc(16, np.uint8, bench.device) for _ in range(4)]
    calls: list[tuple[str, Kernel, tuple[Any, ...]]] = [
        ("empty kernel", empty, ()),
        ("6 arguments", full, (*buffers, 1, 2)),
    ]
    with Stream(bench.device) as stream:
        for name, kernel, values in calls:
            seconds = bench.best(kernel[1, 32], *values, repeat=200)
            bench.note("launches", f"{name}, until it is done", seconds * 1e6, "us")
            kernel[1, 32, stream](*values)
            stream.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                kernel[1, 32, stream](*values)
            queued = time.perf_counter() - start
            stream.synchronize()
            done = time.perf_counter() - start
            bench.note("launches", f"{name}, to queue one of {count}", queued / count * 1e6, "us")
            bench.note("launches", f"{name}, until {count} are done, each", done / count * 1e6, "us")
        start = time.perf_counter()
        for _ in range(count):
            stream.synchronize()
        bench.note("launches", "synchronize an idle stream", (time.perf_counter() - start) / count * 1e6, "us")
    bench.note("launches", "cuLaunchKernel alone", plain_launches(bench, count) * 1e6, "us")


def plain_launches(bench: Bench, count: int) -> float:
    """Seconds of the driver's call through cuda-bindings, without anything of ours."""
    driver = bench.driver
    handle = driver.call("cuDeviceGet", drawloom.runtime.device(bench.device).index)
    driver.call("cuCtxPushCurrent", driver.call("cuDevicePrimaryCtxRetain", handle))
    try:
        image = EMPTY.encode() + b"\0"
        function = driver.call("cuModuleGetFunction", driver.call("cuModuleLoadDataEx", image, 0, [], []), b"empty")
        launch = driver.api.cuLaunchKernel
        start = time.perf_counter()
        for _ in range(count):
            launch(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)
        seconds = time.perf_counter() - start
        driver.call("cuCtxSynchronize")
    finally:
        driver.call("cuCtxPopCurrent")
    return seconds / count


def on_the_device(bench: Bench) -> None:
    """Bytes read and bytes written, both counted, by a kernel of ours and by the driver."""
    threads = 256
    tile = threads * 64
    size = bench.size // tile * tile
    source = drawloom.Buffer.from_array(np.arange(size // 4, dtype=np.uint32), bench.device)
    to = drawloom.Buffer.alloc(size // 4, np.uint32, bench.device)
    copy = drawloom.load(COPY, bench.device)["copy"]
    seconds = [copy[size // tile, threads](to, source, size // 4).run_seconds for _ in range(bench.repeat + 1)]
    assert (to.to_array() == np.arange(size // 4, dtype=np.uint32)).all()
    bench.bandwidth("on the device", "our kernel", min(seconds[1:]), 2 * size)
    seconds = copy_seconds(bench.device, to.address, source.address, size, bench.repeat)
    bench.bandwidth("on the device", "cuMemcpyDtoD", min(seconds), 2 * size)


SECTIONS = (copies, small_copies, overlap, launch_costs, on_the_device)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--megabytes", type=int, default=256, help="what large copies move (default: 256)")
    parser.add_argument("--repeat", type=int, default=7, help="runs of each measurement (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    parser.add_argument("--only", metavar="SECTION", help=", ".join([s.__name__ for s in SECTIONS]))
    options = parser.parse_args()
    if not probe().devices:
        print(f"no GPU: {probe().reason}", file=sys.stderr)
        return 1
    bench = Bench(options.device, options.megabytes << 20, options.repeat)
    failed = []
    for section in SECTIONS:
        if options.only not in (None, section.__name__):
            continue
        try:
            section(bench)
        except Exception:
            failed.append(section.__name__)
            traceback.print_exc()
    report(bench, failed, options.json)
    return 1 if failed else 0


def report(bench: Bench, failed: list[str], path: str | None) -> None:
    from benchmarks.common.timing import machine, markdown_table

    cells = [[section, what, f"{value:.2f}", unit] for section, what, value, unit in bench.rows]
    print(markdown_table(["section", "what", "measured", "unit"], cells))
    device = drawloom.runtime.device(bench.device)
    print(f"\n{device.description}; {machine()}; {bench.size >> 20} MiB, best of {bench.repeat}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    found = [{"section": s, "what": w, "value": v, "unit": u} for s, w, v, u in bench.rows]
    text = json.dumps({"device": device.description, "failed": failed, "measured": found})
    print(text)
    if path is not None:
        Path(path).write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
