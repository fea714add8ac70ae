"""The CUDA driver API through cuda-bindings: calls that return values or raise, and the GPUs that answer.

cuda-bindings is an extra (`pip install drawloom[cuda]`), and neither it nor a driver need be there: `probe`
then says why not. Nothing here knows about modules or launches.
"""

import gc
import threading
from collections.abc import Callable
from typing import Any, Final

from drawloom.errors import DeviceError
from drawloom.runtime.machine import Device

SUCCESS: Final = 0
OUT_OF_MEMORY: Final = 2
NOT_READY: Final = 600
#: Errors after which the context refuses everything (CUDA driver API, CUresult), and what each means.
STICKY: Final[dict[int, str]] = {
    214: "an uncorrectable memory (ECC) error",
    220: "an uncorrectable NVLink error",
    700: "an access to an illegal address",
    702: "the kernel ran longer than the display's watchdog allows",
    710: "a device-side assertion failed",
    714: "the call stack is damaged or overflowed",
    715: "an illegal instruction, or a trap",
    716: "a misaligned access",
    717: "an access in the wrong address space",
    718: "the program counter left the program",
    719: "the launch failed (a trap, or an access outside every address space)",
}
LAUNCH_OUT_OF_RESOURCES: Final = 701


class CudaError(DeviceError):
    """A driver call that failed. `code` is its CUresult."""

    def __init__(self, function: str, code: int, name: str, text: str) -> None:
        super().__init__(f"{function}: {name} ({code}): {text}")
        self.code = code
        self.name = name


class Driver:
    """The driver's functions by name. `api` is `cuda.bindings.driver`, or something that answers like it."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.functions: dict[str, Callable[..., tuple[Any, ...]]] = {}

    def function(self, name: str) -> Callable[..., tuple[Any, ...]]:
        """What calls a function of the driver: it returns the CUresult, 0 for success, and the values."""
        found = self.functions.get(name)
        if found is None:
            found = self.functions[name] = getattr(self.api, name)
        return found

    def status(self, function: str, *args: object) -> tuple[int, tuple[Any, ...]]:
        """(CUresult, values) of a call, whatever the result."""
        returned = self.function(function)(*args)
        return int(returned[0]), returned[1:]

    def call(self, function: str, *args: object) -> Any:
        """What a call returns: None, one value, or a tuple. Raises CudaError when it failed. Where the GPU has no
        memory left, what nobody has any more but Python did not free yet goes first."""
        returned = self.function(function)(*args)
        if returned[0] == OUT_OF_MEMORY:
            gc.collect()
            returned = self.function(function)(*args)
        if returned[0]:
            raise self.error(function, int(returned[0]))
        if len(returned) == 2:
            return returned[1]
        return returned[1:] or None

    def error(self, function: str, code: int) -> CudaError:
        return CudaError(function, code, self.words("cuGetErrorName", code), self.words("cuGetErrorString", code))

    def words(self, function: str, code: int) -> str:
        """The driver's own word for a code; newer codes than cuda-bindings knows have none."""
        try:
            status, values = self.status(function, self.api.CUresult(code))
        except ValueError:
            return "unknown error"
        return values[0].decode() if status == SUCCESS and values[0] else "unknown error"

    def attribute(self, device: object, name: str) -> int:
        """A device attribute by the end of its name, such as "MULTIPROCESSOR_COUNT"."""
        attribute = getattr(self.api.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_" + name)
        return int(self.call("cuDeviceGetAttribute", attribute, device))


class Probe:
    """What a look for GPUs found: the driver and its devices, or the reason why there are none."""

    def __init__(self, driver: Driver | None, devices: list[Device], reason: str) -> None:
        self.driver = driver
        self.devices = devices
        self.reason = reason


_lock = threading.Lock()
_probed: Probe | None = None


def probe() -> Probe:
    """Looks for GPUs, once per process. Raises nothing."""
    global _probed
    with _lock:
        if _probed is None:
            _probed = look()
        return _probed


def look() -> Probe:
    try:
        from cuda.bindings import driver as api
    except ImportError:
        return Probe(None, [], "cuda-bindings is not installed (pip install 'drawloom[cuda]')")
    return look_through(Driver(api))


def look_through(driver: Driver) -> Probe:
    try:
        driver.call("cuInit", 0)
        count = int(driver.call("cuDeviceGetCount"))
        found = [describe(driver, index) for index in range(count)]
    except Exception as failure:  # cuda-bindings raises its own kinds when there is no driver library
        return Probe(None, [], f"the NVIDIA driver does not answer: {str(failure) or type(failure).__name__}")
    return Probe(driver, found, "" if found else "the NVIDIA driver sees no GPU")


def describe(driver: Driver, index: int) -> Device:
    handle = driver.call("cuDeviceGet", index)
    name = driver.call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(errors="replace")
    compute = (
        driver.attribute(handle, "COMPUTE_CAPABILITY_MAJOR"),
        driver.attribute(handle, "COMPUTE_CAPABILITY_MINOR"),
    )
    cores = driver.attribute(handle, "MULTIPROCESSOR_COUNT")
    memory = int(driver.call("cuDeviceTotalMem", handle))
    return Device(f"cuda:{index}", "cuda", name, cores, memory, compute=compute)
