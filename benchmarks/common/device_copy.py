"""What a GPU's memory gives: the driver's own copy from device to device, by the driver's clock."""

from __future__ import annotations

from typing import Any

import drawloom


def copy_seconds(device: str, to: int, source: int, size: int, repeat: int) -> list[float]:
    """Seconds of copies of ``size`` bytes between addresses of a device, ``repeat`` of them behind one that warms."""
    backend: Any = drawloom.runtime.device(device).backend
    times: list[float] = []
    with backend.active() as driver:
        events = [driver.call("cuEventCreate", 0) for _ in range(2)]
        for _ in range(repeat + 1):
            driver.call("cuEventRecord", events[0], 0)
            driver.call("cuMemcpyDtoDAsync", to, source, size, 0)
            driver.call("cuEventRecord", events[1], 0)
            driver.call("cuStreamSynchronize", 0)
            times.append(float(driver.call("cuEventElapsedTime", *events)) / 1e3)
        for event in events:
            driver.call("cuEventDestroy", event)
    return times[1:]


def bandwidth(device: str, size: int = 1 << 30, repeat: int = 5) -> float:
    """Bytes a second, read and written, of the best copy of ``size`` bytes."""
    with drawloom.Buffer.alloc(size, device=device) as to, drawloom.Buffer.alloc(size, device=device) as source:
        return 2 * size / min(copy_seconds(device, to.address, source.address, size, repeat))
