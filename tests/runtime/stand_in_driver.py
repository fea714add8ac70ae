"""A pytest plugin that makes a stand-in driver answer instead of a GPU's, for the real cuda-bindings.

`stand_in_driver.c` becomes a `libcuda.so.1` of this process, and its kernels run on a host device. So the GPU
tests, the driver code and every call through cuda-bindings run on machines without a GPU; what a real driver and
GPU do is only seen on one. Use it in a process of its own: `pytest -p tests.runtime.stand_in_driver tests/gpu`.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from drawloom.errors import KernelFault, MemoryAccessError, SourceError
from drawloom.runtime.arguments import Arguments
from drawloom.runtime.backend import Request
from drawloom.runtime.memory import HOST, Span
from drawloom.runtime.module import Module, load

SOURCE = Path(__file__).with_suffix(".c")
COMPUTE_CAPABILITY = 90
ILLEGAL_ADDRESS, LAUNCH_FAILED, UNKNOWN = 700, 719, 999

LoadFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint)
LaunchFn = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_void_p),
)
GlobalFn = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)


def build(folder: str) -> str:
    """Compiles the library; its soname is what cuda-bindings asks the loader for."""
    path = os.path.join(folder, "libcuda.so.1")
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, "-o", path, str(SOURCE)], check=True)
    return path


class StandIn:
    """The loaded library and the modules that its kernels come from."""

    def __init__(self, path: str, host_device: str) -> None:
        self.library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        self.library.stand_in_address.restype = ctypes.c_size_t
        self.library.stand_in_size.restype = ctypes.c_size_t
        self.host_device = host_device
        self.modules: list[Module] = []
        self.callbacks = (LoadFn(self.load), LaunchFn(self.guarded), GlobalFn(self.variable))
        self.library.stand_in_callbacks(*self.callbacks)

    def load(self, text: bytes, log: int, log_size: int) -> int:
        try:
            module = load(text, self.host_device)
            if int(module.ptx.arch.removeprefix("sm_").rstrip("af")) > COMPUTE_CAPABILITY:
                raise SourceError(f"{module.ptx.arch} is newer than this GPU")
            self.modules.append(module)
        except SourceError as refusal:
            said = f"ptxas error: {refusal.message}".encode()[: log_size - 1] + b"\0"
            if log:
                ctypes.memmove(log, said, len(said))
            return -1
        return len(self.modules) - 1

    def guarded(self, *request: object) -> int:
        """An exception cannot pass through C; a driver would report a code too."""
        try:
            self.launch(*request)
        except MemoryAccessError:
            return ILLEGAL_ADDRESS
        except KernelFault:
            return LAUNCH_FAILED
        except BaseException:
            traceback.print_exc()
            return UNKNOWN
        return 0

    def launch(self, module_id: int, name: bytes, dims: list[int], shared: int, params: list[int]) -> None:
        module = self.modules[module_id]
        signature = module[name.decode()].signature
        block = bytearray(signature.size)
        offsets = []
        for index, parameter in enumerate(signature.parameters):
            value = ctypes.string_at(params[index], parameter.size)
            block[parameter.offset : parameter.offset + parameter.size] = value
            offsets.append(parameter.offset)
        count = self.library.stand_in_live_allocations()
        spans = [
            Span(self.library.stand_in_address(i), self.library.stand_in_size(i), HOST, True, None)
            for i in range(count)
        ]
        grid, sides = (dims[0], dims[1], dims[2]), (dims[3], dims[4], dims[5])
        arguments = Arguments(block, offsets, [], spans)
        module.program.launch(Request(signature.kernel, grid, sides, shared, arguments))

    def variable(self, module_id: int, name: bytes | None, address: list[int], size: list[int]) -> int:
        """Finds a variable; without a module, whether a range lies in any module's variables."""
        if module_id < 0:
            return any(
                program.image.address <= address[0]
                and address[0] + size[0] <= program.image.address + program.image.memory.nbytes
                for program in (module.program for module in self.modules)
            )
        view = self.modules[module_id].globals[name.decode()]
        address[0], size[0] = view.ctypes.data, view.nbytes
        return 1


def start() -> StandIn:
    folder = tempfile.mkdtemp(prefix="stand-in-driver-")
    return StandIn(build(folder), os.environ.get("STAND_IN_DEVICE", "reference"))


stand_in: StandIn | None = None


def pytest_configure(config: object) -> None:
    global stand_in
    if any(name.startswith("cuda.bindings.driver") for name in sys.modules):
        raise RuntimeError("the stand-in must be there before cuda-bindings is")
    stand_in = start()


def pytest_report_header(config: object) -> str:
    return "GPU: a stand-in driver, not a GPU"


Callback = Callable[..., int]
