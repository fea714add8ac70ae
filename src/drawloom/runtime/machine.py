"""From this machine to the list of devices that kernels run on, and from a device's name to the device.

`cpu` is always there; `reference` is the interpreter, usable by name; `cuda:N` are there when cuda-bindings is
installed and a driver answers. Probing never raises: what is missing is a reason, not an error.
"""

import os
import threading
from typing import TYPE_CHECKING, Final

from drawloom.errors import DeviceError

if TYPE_CHECKING:
    from drawloom.runtime.backend import Backend

#: The widest vector registers by the feature that brings them, widest first (LLVM's feature names).
_VECTOR_FEATURES: Final = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("sse2", 128), ("neon", 128))
#: Features worth showing: those that the lowering of kernels profits from.
_SHOWN_FEATURES: Final = (
    "sse4.2 avx avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512vbmi avx512fp16 avx512bf16 neon sve"
).split()


class Device:
    """One place where kernels run.

    `name` is what `load(device=...)` takes; `kind` is "cpu", "reference" or "cuda"; `memory` is its whole
    memory in bytes (0 when unknown). `cores` are CPU cores that this process may use, or multiprocessors.
    `vector_bits` and `features` describe a CPU; `compute` is (major, minor) of a GPU.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        description: str,
        cores: int,
        memory: int,
        vector_bits: int = 0,
        features: tuple[str, ...] = (),
        compute: tuple[int, int] = (0, 0),
    ) -> None:
        self.name = name
        self.kind = kind
        self.description = description
        self.cores = cores
        self.memory = memory
        self.vector_bits = vector_bits
        self.features = features
        self.compute = compute

    @property
    def is_host(self) -> bool:
        """Whether its kernels read and write this process's own memory."""
        return self.kind != "cuda"

    @property
    def index(self) -> int:
        """The N of `cuda:N`; 0 for host devices."""
        return int(self.name.partition(":")[2] or 0)

    @property
    def backend(self) -> "Backend":
        """What runs its kernels. Raises DeviceError when the device does not answer any more."""
        with _lock:
            backend = _backends.get(self.name)
            if backend is None:
                backend = self.make_backend()
                _backends[self.name] = backend
            return backend

    def make_backend(self) -> "Backend":
        if self.kind == "cuda":
            from drawloom.runtime.cuda import CudaBackend

            return CudaBackend(self)
        if self.kind == "reference":
            from drawloom.runtime.host import ReferenceBackend

            return ReferenceBackend(self)
        from drawloom.runtime.host import CpuBackend

        return CpuBackend(self)

    def as_dict(self) -> dict[str, object]:
        """What `drawloom devices --json` prints."""
        found: dict[str, object] = {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
            "cores": self.cores,
            "memory_bytes": self.memory,
        }
        if self.kind == "cpu":
            found["vector_bits"] = self.vector_bits
            found["features"] = list(self.features)
        if self.kind == "cuda":
            found["compute_capability"] = f"{self.compute[0]}.{self.compute[1]}"
        return found

    def __repr__(self) -> str:
        return f"<Device {self.name}: {self.description}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


_lock = threading.RLock()
_backends: dict[str, "Backend"] = {}
_known: dict[str, Device] = {}


def devices() -> list[Device]:
    """The devices of this machine: `cpu` first, then every `cuda:N`. Raises nothing."""
    from drawloom.runtime.driver import probe

    return [device("cpu"), *probe().devices]


def device(which: str | Device | None = None) -> Device:
    """The device of that name: "cpu", "reference", "cuda" (the first one) or "cuda:N".

    None means DRAWLOOM_DEVICE, else "cpu". Raises DeviceError when there is none, with the reason and the
    devices there are.
    """
    if isinstance(which, Device):
        return which
    if which is not None and not isinstance(which, str):
        raise DeviceError(f"a device is a name such as 'cpu' or 'cuda:0', not {which!r}")
    wanted = which or os.environ.get("DRAWLOOM_DEVICE") or "cpu"
    name = "cuda:0" if wanted == "cuda" else wanted
    known = _known.get(name)
    if known is None:
        known = find_device(name)
        _known[name] = known
    return known


def find_device(name: str) -> Device:
    if name == "cpu":
        return cpu_device()
    if name == "reference":
        return Device("reference", "reference", "interpreter, one thread at a time", 1, host_memory())
    if not (name.startswith("cuda:") and name[5:].isascii() and name[5:].isdigit()):
        raise DeviceError(f"unknown device '{name}': expected cpu, reference or cuda:N")
    from drawloom.runtime.driver import probe

    found = probe()
    for candidate in found.devices:
        if candidate.name == name:
            return candidate
    there = ", ".join(["cpu", "reference", *[candidate.name for candidate in found.devices]])
    raise DeviceError(f"no device {name}: {found.reason or 'no such GPU'}; there are: {there}")


def cpu_device() -> Device:
    features = cpu_features()
    bits = next((width for feature, width in _VECTOR_FEATURES if feature in features), 64)
    shown = tuple(feature for feature in _SHOWN_FEATURES if feature in features)
    return Device("cpu", "cpu", cpu_model(), usable_cores(), host_memory(), bits, shown)


def cpu_features() -> frozenset[str]:
    """LLVM's names of what kernels on this CPU are compiled for. Raises UnsupportedError for a set of features that
    DRAWLOOM_CPU_FEATURES names wrongly."""
    from drawloom.cpu.engine import host

    try:
        return host().features
    except RuntimeError:  # LLVM cannot tell on this platform
        return frozenset()


def usable_cores() -> int:
    """The cores that this process may run on, not all that the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def host_memory() -> int:
    """This machine's memory in bytes; 0 when the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def available_memory() -> int:
    """Bytes that this process can still get without swapping: what the system says is available, or what its control
    groups leave, whichever is less. Where neither says anything, the whole memory."""
    found = [available for available in (_system_available(), *_group_available()) if available is not None]
    return max(min(found), 0) if found else host_memory()


def _system_available() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name == "MemAvailable":
                    return int(value.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    return None


#: The files of a control group's memory, of version 2 and 1: the folder of all groups, the limit, and what is used.
_GROUP_FILES: Final = (
    ("", "/sys/fs/cgroup", "memory.max", "memory.current"),
    ("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def _group_available(groups: str = "/proc/self/cgroup", root: str = "") -> list[int]:
    """What each control group that this process is in, and each above it, has left, but for those without a limit.

    Cached pages of files count as left. ``root`` goes before the folders.
    """
    left: list[int] = []
    for _, controllers, path in [line.split(":", 2) for line in _text(groups).splitlines() if line.count(":") >= 2]:
        for name, folder, limit_file, used_file in _GROUP_FILES:
            if name not in controllers.split(","):
                continue
            place = path.rstrip("/")
            while True:
                group = f"{root}{folder}{place}"
                limit, used = _text(f"{group}/{limit_file}"), _text(f"{group}/{used_file}")
                if limit.isdigit() and used.isdigit() and int(limit) < 1 << 60:
                    left.append(int(limit) - int(used) + _cached(_text(f"{group}/memory.stat")))
                if not place:
                    break
                place = place.rpartition("/")[0]
    return left


def _cached(statistics: str) -> int:
    """Of a control group's ``memory.stat`` the bytes of files that are not in use and can be dropped."""
    fields = dict([line.split(" ", 1) for line in statistics.splitlines() if line.count(" ") == 1])
    return int(fields.get("total_inactive_file", fields.get("inactive_file", "0")))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def cpu_model() -> str:
    """The CPU's own name, or LLVM's name of its family."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return " ".join(value.split())
    except OSError:
        pass
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_name())
