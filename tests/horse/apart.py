"""A device whose kernels run on this CPU and whose memory is apart from the host, like a GPU's; it counts transfers."""

from drawloom.runtime.backend import Allocation, Backend, Queue
from drawloom.runtime.host import CpuBackend, HostAllocation
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.memory import Bytes, aligned_bytes


class Apart(Device):
    """``sent`` and ``fetched`` have the bytes of every transfer, ``allocated`` those of every allocation that is not
    released; more than ``memory`` of these in all is refused."""

    def __init__(self, memory: int = 1 << 32) -> None:
        cpu = find_device("cpu")
        super().__init__(f"apart:{id(self)}", "cpu", "a device apart", cpu.cores, memory)
        self.sent: list[int] = []
        self.fetched: list[int] = []
        self.allocated: list[int] = []

    @property
    def is_host(self) -> bool:
        return False

    def make_backend(self) -> Backend:
        return ApartBackend(self)

    @property
    def transfers(self) -> tuple[int, int]:
        return len(self.sent), len(self.fetched)


class ApartBackend(CpuBackend):
    def __init__(self, device: Apart) -> None:
        super().__init__(device)
        self.apart = device

    def allocate(self, size: int, zero: bool = True) -> Allocation:
        from drawloom.errors import DeviceError

        if sum(self.apart.allocated) + size > self.apart.memory:
            raise DeviceError(f"no {size} bytes of memory left")
        return ApartAllocation(self.apart, size)


class ApartAllocation(HostAllocation):
    """Memory that begins as garbage."""

    def __init__(self, device: Apart, size: int) -> None:
        memory = aligned_bytes(size, zero=False)
        memory[:] = 0xA5
        super().__init__(memory)
        self.device = device
        device.allocated.append(size)

    def read(self, target: Bytes, offset: int, queue: Queue | None) -> None:
        self.device.fetched.append(target.nbytes)
        super().read(target, offset, queue)

    def write(self, source: Bytes, offset: int, queue: Queue | None) -> None:
        self.device.sent.append(source.nbytes)
        super().write(source, offset, queue)

    def release(self) -> None:
        self.device.allocated.remove(self.size)
        super().release()
