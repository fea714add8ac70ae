"""A pytest plugin that makes a stand-in driver answer instead of a GPU's, for the real cuda-bindings.

`stand_in_driver.c` becomes a `libcuda.so.1` of this process. PTX runs on a host device, cubins on the interpreter of
machine code. So the GPU tests, the driver code and every call through cuda-bindings run on machines without a GPU;
what a real driver and GPU do is only seen on one. Use it in a process of its own:
`pytest -p tests.runtime.stand_in_driver tests/gpu`.
"""

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drawloom.errors import DeadlockError, Error, KernelFault, MemoryAccessError, SourceError
from drawloom.runtime.arguments import Arguments
from drawloom.runtime.backend import Request
from drawloom.runtime.memory import HOST, Span
from drawloom.runtime.module import Module, load
from drawloom.sass.assembly import GLOBAL
from drawloom.sass.cubin import read_cubin
from drawloom.sass.interpreter.launch import Launch, Machine
from drawloom.sass.interpreter.memory import GlobalMemory

SOURCE = Path(__file__).with_suffix(".c")
COMPUTE_CAPABILITY = 90
#: So many launches behind each other garbage is collected; its finalizers call the driver.
COLLECTED = 32
ILLEGAL_ADDRESS, LAUNCH_FAILED, UNKNOWN = 700, 719, 999

#: Runs a launch with these ranges of memory.
Prepared = Callable[[list[Span]], object]

LoadFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
LaunchFn = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_void_p),
)
RunFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
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


class PtxModule:
    """PTX, on a host device."""

    def __init__(self, text: bytes, host_device: str) -> None:
        self.module: Module = load(text, host_device)
        if int(self.module.ptx.arch.removeprefix("sm_").rstrip("af")) > COMPUTE_CAPABILITY:
            raise SourceError(f"{self.module.ptx.arch} is newer than this GPU")

    def prepared(self, name: str, dims: list[int], shared: int, params: list[int]) -> Prepared:
        signature = self.module[name].signature
        places = [(parameter.offset, parameter.size) for parameter in signature.parameters]
        block = parameter_block(signature.size, places, params)
        offsets = [offset for offset, _ in places]
        grid, sides = (dims[0], dims[1], dims[2]), (dims[3], dims[4], dims[5])
        launch = self.module.program.launch
        return lambda spans: launch(Request(name, grid, sides, shared, Arguments(block, offsets, [], spans)))

    def holds(self, address: int, size: int) -> bool:
        image = self.module.program.image
        return image.address <= address and address + size <= image.address + image.memory.nbytes

    def variable(self, name: str) -> tuple[int, int]:
        view = self.module.globals[name]
        return view.ctypes.data, view.nbytes


class PersistentLaunch(Launch):
    """A launch whose variables are those of the launches before it."""

    def __init__(self, module: "MachineModule", name: str, dims: list[int], shared: int, block: bytes,
                 buffers: list[tuple[int, int]]) -> None:  # fmt: skip
        self.module = module
        self.buffers = buffers
        function = module.cubin.functions[name]
        grid, sides = (dims[0], dims[1], dims[2]), (dims[3], dims[4], dims[5])
        super().__init__(module.cubin, function, grid, sides, block, shared, buffers)

    def _fill_variables(self) -> None:
        if self.module.kept is None:
            super()._fill_variables()
            self.module.kept = (self._variables, self._constants)
        self._variables, self._constants = self.module.kept
        self.memory = GlobalMemory([*self.buffers, self._variables.range, self._constants.range])


class MachineModule:
    """A cubin, on the interpreter of machine code."""

    def __init__(self, data: bytes) -> None:
        self.cubin = read_cubin(data)
        self.kept: tuple[Any, Any] | None = None
        major, minor = divmod(self.cubin.target, 10)
        if major != COMPUTE_CAPABILITY // 10 or minor > COMPUTE_CAPABILITY % 10:
            raise SourceError(f"sm_{self.cubin.target} is another GPU")
        for name, function in self.cubin.functions.items():
            size = function.parameter_bytes
            PersistentLaunch(self, name, [1, 1, 1, 1, 1, 1], 0, bytes(size), [])  # its variables are there from now on
            break

    def prepared(self, name: str, dims: list[int], shared: int, params: list[int]) -> Prepared:
        function = self.cubin.functions[name]
        places = [(parameter.offset, parameter.size) for parameter in function.parameters]
        block = parameter_block(function.parameter_bytes, places, params)

        def run(spans: list[Span]) -> None:
            buffers = [(span.address, span.size) for span in spans]
            Machine(PersistentLaunch(self, name, dims, shared, bytes(block), buffers), None, False).run()

        return run

    def holds(self, address: int, size: int) -> bool:
        ranges = [] if self.kept is None else [store.range for store in self.kept]
        return any(start <= address and address + size <= start + length for start, length in ranges)

    def variable(self, name: str) -> tuple[int, int]:
        (found,) = [v for v in self.cubin.assembly.variables if v.name == name]
        assert self.kept is not None
        store = self.kept[0 if found.space == GLOBAL else 1]
        return store.range[0] + store.places[name], found.size


def parameter_block(size: int, places: list[tuple[int, int]], params: list[int]) -> bytearray:
    block = bytearray(size)
    for index, (offset, length) in enumerate(places):
        block[offset : offset + length] = ctypes.string_at(params[index], length)
    return block


def image_bytes(address: int) -> bytes:
    """A cubin as long as its section headers reach, or text up to its NUL."""
    if ctypes.string_at(address, 4) != b"\x7fELF":
        return ctypes.string_at(address)
    header = ctypes.string_at(address, 64)
    sections, count = int.from_bytes(header[40:48], "little"), int.from_bytes(header[60:62], "little")
    programs, segments = int.from_bytes(header[32:40], "little"), int.from_bytes(header[56:58], "little")
    return ctypes.string_at(address, max(sections + 64 * count, programs + 56 * segments))


class StandIn:
    """The loaded library and the modules that its kernels come from."""

    def __init__(self, path: str, host_device: str) -> None:
        self.library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        self.library.stand_in_address.restype = ctypes.c_size_t
        self.library.stand_in_size.restype = ctypes.c_size_t
        self.host_device = host_device
        self.modules: list[PtxModule | MachineModule] = []
        self.library.stand_in_called.restype = ctypes.c_char_p
        self.library.stand_in_calls.restype = ctypes.c_long
        self.launches: dict[int, Prepared] = {}
        self.last = 0
        self.callbacks = (LoadFn(self.load), LaunchFn(self.queued), RunFn(self.run), GlobalFn(self.variable))
        self.library.stand_in_callbacks(*self.callbacks)

    def load(self, image: int, log: int, log_size: int) -> int:
        data = image_bytes(image)
        try:
            is_cubin = data.startswith(b"\x7fELF")
            self.modules.append(MachineModule(data) if is_cubin else PtxModule(data, self.host_device))
        except Error as refusal:
            said = f"ptxas error: {refusal.message}".encode()[: log_size - 1] + b"\0"
            if log:
                ctypes.memmove(log, said, len(said))
            return -1
        return len(self.modules) - 1

    def queued(self, module_id: int, name: bytes, dims: list[int], shared: int, params: list[int]) -> int:
        """Keeps a launch with a copy of its parameters, to be run when its stream comes to it; its number."""
        if self.last % COLLECTED == 0:
            gc.collect(1)
        launch = self.modules[module_id].prepared(name.decode(), dims[:6], shared, params)
        self.launches[self.last] = launch
        self.last += 1
        return self.last - 1

    def run(self, number: int) -> int:
        """An exception cannot pass through C; a driver would report a code too."""
        count = self.library.stand_in_live_allocations()
        spans = [
            Span(self.library.stand_in_address(i), self.library.stand_in_size(i), HOST, True, None)
            for i in range(count)
        ]
        try:
            self.launches.pop(number)(spans)
        except MemoryAccessError:
            return ILLEGAL_ADDRESS
        except DeadlockError:
            traceback.print_exc()
            return UNKNOWN
        except KernelFault:
            return LAUNCH_FAILED
        except BaseException:
            traceback.print_exc()
            return UNKNOWN
        return 0

    def calls(self) -> Counter[str]:
        """How often each function of the driver was called so far."""
        found: Counter[str] = Counter()
        index = 0
        while (name := self.library.stand_in_called(index)) is not None:
            found[name.decode()] = self.library.stand_in_calls(index)
            index += 1
        return found

    def variable(self, module_id: int, name: bytes | None, address: list[int], size: list[int]) -> int:
        """Finds a variable; without a module, whether a range lies in any module's variables."""
        if module_id < 0:
            return any(module.holds(address[0], size[0]) for module in self.modules)
        address[0], size[0] = self.modules[module_id].variable(name.decode())
        return 1


def start() -> StandIn:
    """Garbage is collected by launches and by tests, never while a kernel runs: finalizers call the driver."""
    gc.disable()
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
