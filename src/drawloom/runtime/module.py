"""From a PTX file, text or module to kernels that launch on a device.

mod = drawloom.load("saxpy.ptx", device="cpu")
mod["saxpy"][(n + 255) // 256, 256](n, 2.0, x, y)
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from drawloom.errors import DataError, DeviceError, Error, LaunchError, UnsupportedError
from drawloom.ptx.ir import Function
from drawloom.ptx.ir import Module as PtxModule
from drawloom.runtime.arguments import Parameter, Signature, prepare
from drawloom.runtime.assembler import DRAWLOOM, chosen_assembler
from drawloom.runtime.backend import Program, Request, Timing
from drawloom.runtime.geometry import Dim3, Limits, check_launch, dimensions
from drawloom.runtime.kernel_names import symbol_of
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.memory import Array
from drawloom.runtime.optimiser import Optimiser, chosen_level
from drawloom.runtime.parameter_names import ParameterNames, SourceNames
from drawloom.runtime.streams import Event, Stream
from drawloom.runtime.variables import find_variable, variable_names

Source = str | bytes | os.PathLike[str] | PtxModule

#: Files that others compile or load; named so that nobody looks for the mistake in their own file.
NOT_LOADED: Final[dict[str, str]] = {
    ".cu": "CUDA C++ (drawloom.load and drawloom.compile_cuda compile it)",
    ".cl": "OpenCL C (drawloom.load and drawloom.compile_opencl compile it)",
    ".cubin": "machine code (load the PTX it was made from)",
    ".fatbin": "a bundle of machine code (extract its PTX first: cuobjdump -ptx)",
}
#: The list that launches are added to while somebody observes them.
_observed: Final[ContextVar["list[Launch] | None"]] = ContextVar("observed", default=None)
_BINARY_MAGIC: Final = ((b"\x7fELF", ".cubin"), (b"\x50\xed\x55\xba", ".fatbin"))


def load(
    source: Source,
    device: str | Device | None = None,
    check: str | None = None,
    assembler: str | None = None,
    level: int | None = None,
    shuffle: str = "none",
    reinterpret: bool = False,
) -> "Module":
    """Makes the kernels of a PTX module ready on a device.

    `source` is the path of a `.ptx` file, PTX text (anything with a line break or a `.version` directive), or a
    `drawloom.ptx.Module`. `device` is "cpu", "reference", "cuda", "cuda:N" or a Device; None takes
    DRAWLOOM_DEVICE, else "cpu". `check="memory"` bounds-checks every access, `check="race"` looks for data races
    too (None takes DRAWLOOM_CHECK).
    `assembler` says who makes a GPU's machine code: "drawloom", our own assembler, or "driver", the driver's
    compiler (None takes DRAWLOOM_ASSEMBLER, else "drawloom"); host devices need none. `level`, 0 to 3, is how much
    `drawloom.optimize` does before (None takes DRAWLOOM_OPT, else 2, on "reference" 0). `shuffle` says which loads
    become warp shuffles after that: "none", "profitable" (those that pay on the device) or "all" that can; `ptx.report`
    of the module then says what became of each. Where accesses are checked, neither is done; the report says so.
    Launches refuse arrays whose elements are of another type than all accesses through their parameter, unless
    `reinterpret`.

    Raises DataError (unreadable file), ParseError, VerifyError, UnsupportedError, DeviceError.
    """
    where = find_device(device)
    checked, chosen = chosen_check(check), level_on(where, level)
    module = read_module(source)
    module, chosen = shuffled(module, shuffle, where, chosen, bool(checked))
    return Module(module, where, checked, chosen_assembler(assembler), chosen, reinterpret)


def shuffled(module: PtxModule, apply: str, where: Device, level: int, checked: bool = False) -> tuple[PtxModule, int]:
    """The module with warp shuffles for a device, and the level that is still to be done: they are looked for in what
    is optimised. Where accesses are ``checked`` the module stays, with a report. Raises DataError for another word than
    none, profitable and all."""
    if apply == "none":
        return module, level
    from drawloom.shuffle.cost import CPU
    from drawloom.shuffle.pipeline import APPLY, shuffle

    major, minor = where.compute
    arch = f"sm_{major}{minor}" if where.kind == "cuda" else CPU
    if checked and apply in APPLY:
        same = shuffle(module, apply="none", arch=arch)
        same.report.notes.append("nothing is rewritten, because memory accesses are checked")
        return same, level
    return shuffle(Optimiser(module, level).whole(), apply=apply, arch=arch), 0


def level_on(device: Device, level: int | None) -> int:
    """How much is optimised for a device. The interpreter, which others are compared with, runs what it is given unless
    told otherwise."""
    return chosen_level(level, 0) if device.kind == "reference" else chosen_level(level)


def chosen_check(check: str | None) -> str:
    """What is checked: "memory", "race" (and memory), or "" for nothing."""
    text = os.environ.get("DRAWLOOM_CHECK", "") if check is None else check
    if text in ("", "off"):
        return ""
    if text not in ("memory", "race"):
        raise DataError(f"check={text}: expected memory, race or off")
    return text


def read_module(source: Source) -> PtxModule:
    """The verified module of a path, text or module."""
    from drawloom.ptx.parser import parse
    from drawloom.ptx.verifier import verify

    if isinstance(source, PtxModule):
        module = source
    else:
        text, filename = read_source(source)
        module = parse(text, filename)
    verify(module)
    return module


def read_source(source: str | bytes | os.PathLike[str]) -> tuple[str, str]:
    """(text, file name) of a path or text. Raises DataError or UnsupportedError."""
    if isinstance(source, bytes):
        return decode(source, "<text>"), ""
    if isinstance(source, str) and ("\n" in source or ".version " in source):
        return source, ""
    try:
        path = os.fspath(source)
    except TypeError as refusal:
        kind = type(source).__name__
        raise DataError(f"cannot load {kind}: expected a path, PTX text or bytes, or a ptx module") from refusal
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as refusal:  # ValueError: a NUL in the path
        reason = refusal.strerror if isinstance(refusal, OSError) else str(refusal)
        raise DataError(f"cannot read {path!r}: {reason}; expected a PTX file") from refusal
    refuse_other_formats(path, data)
    return decode(data, path), path


def refuse_other_formats(path: str, data: bytes) -> None:
    extension = os.path.splitext(path)[1].lower()
    for magic, means in _BINARY_MAGIC:
        if data.startswith(magic):
            extension = means
    if extension in NOT_LOADED:
        raise UnsupportedError(f"{path}: a {extension} file is {NOT_LOADED[extension]}; expected PTX")


def decode(data: bytes, path: str) -> str:
    data = data.rstrip(b"\0")  # drivers and cuobjdump end PTX with a NUL
    if not data.strip():
        raise DataError(f"{path}: the file is empty, expected PTX")
    try:
        if b"\0" in data:
            raise DataError(f"{path}: byte {data.index(0)} is NUL: not text, expected PTX")
        return data.decode("utf-8")
    except UnicodeDecodeError as refusal:
        raise DataError(f"{path}: byte {refusal.start} is not UTF-8 text, expected PTX") from refusal


class Launch:
    """One launch. `compile_seconds` is what making machine code took (0 when it was there already),
    `run_seconds` the kernel; `cached` tells that the code came from the kernel cache.

    On a stream they are known when the launch is `done`; reading them before waits.
    """

    def __init__(self, kernel: str, where: Device, configured: "Configured") -> None:
        self.kernel = kernel
        self.device = where
        self.configured = configured
        self._timing: Timing | None = None
        self._event: Event | None = None

    def finish(self, timing: Timing) -> None:
        kernel = self.configured.kernel
        kernel.first = kernel.first or timing
        self._timing = timing

    def follow(self, event: Event) -> None:
        self._event = event

    @property
    def done(self) -> bool:
        """Whether the kernel ended. Looks, and does not wait."""
        if self._timing is None and self._event is not None:
            _ = self._event.done  # looking makes a GPU's stream report what it finished
        return self._timing is not None

    def wait(self) -> "Launch":
        """Waits until the kernel is done. Raises what it, or work before it on its stream, raised."""
        if self._timing is None and self._event is not None:
            self._event.synchronize()
        return self

    def timing(self) -> Timing:
        self.wait()
        if self._timing is None:
            raise LaunchError("did not run: work before it on its stream failed", self.kernel)
        return self._timing

    @property
    def compile_seconds(self) -> float:
        return self.timing().compile_seconds

    @property
    def run_seconds(self) -> float:
        return self.timing().run_seconds

    @property
    def cached(self) -> bool:
        return self.timing().cached

    def __repr__(self) -> str:
        if self._timing is None:
            return f"<Launch {self.kernel} on {self.device.name}: not done>"
        return f"<Launch {self.kernel} on {self.device.name}: {self._timing.run_seconds * 1e3:.3f} ms>"


class Kernel:
    """An entry of a loaded module. `kernel[grid, block](*args)` launches it.

    `grid` and `block` are ints or up to three of them; then may follow the bytes of dynamic shared memory,
    and a Stream. Without a stream the call returns when the kernel is done.
    """

    def __init__(self, module: "Module", function: Function) -> None:
        self.module = module
        self.name = function.name
        self.signature = Signature(module.ptx, function, module.reinterpret)
        self.names = ParameterNames(function.name, self.signature.names(), self._source_names)
        self.limits = Limits(module.ptx, function)
        #: What the launch that ended first took, which machine code was made for.
        self.first: Timing | None = None
        #: Where launches go that name no stream.
        self.stream: Stream | None = None

    def _source_names(self) -> dict[str, list[str]]:
        return self.module.source_names()

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters in order: name, PTX type, offset and size in bytes, and what each accepts."""
        return self.signature.parameters

    def __getitem__(self, launch: object) -> "Configured":
        items = launch if isinstance(launch, tuple) else (launch,)
        stream = self.stream
        if items and (isinstance(items[-1], Stream) or (items[-1] is None and len(items) > 2)):
            stream = items[-1]
            items = items[:-1]
        if not 2 <= len(items) <= 3:
            raise LaunchError("expected kernel[grid, block], [grid, block, shared_bytes] and a stream", self.name)
        shared_bytes = items[2] if len(items) == 3 else 0
        grid = dimensions(items[0], "grid", self.name)
        block = dimensions(items[1], "block", self.name)
        shared = check_launch(self.limits, grid, block, shared_bytes, self.module.device.backend.shared_limit)
        return Configured(self, grid, block, shared, stream)

    def __call__(self, *args: object) -> None:
        raise LaunchError("launch with kernel[grid, block](*args)", self.name)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.signature.names())}) on {self.module.device.name}>"


class Configured:
    """A kernel with its launch dimensions; calling it launches."""

    def __init__(self, kernel: Kernel, grid: Dim3, block: Dim3, shared_bytes: int, stream: Stream | None) -> None:
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.shared_bytes = shared_bytes
        self.stream = stream

    def __call__(self, *args: object, reaches: tuple[object, ...] | list[object] = (), **named: object) -> Launch:
        """Launches. Arguments stand in the order of the parameters, or under the parameters' names, with or without
        the kernel's name before them. `reaches` names memory that the kernel gets at through addresses stored in its
        data.

        Raises LaunchError before anything runs when an argument does not fit its parameter; KernelFault
        or DeviceError when the kernel fails.
        """
        module = self.kernel.module
        if named:
            args = self.kernel.names.arranged(args, named)
        arguments = prepare(self.kernel.signature, args, module.device, tuple(reaches))
        request = Request(self.kernel.name, self.grid, self.block, self.shared_bytes, arguments)
        launch = Launch(self.kernel.name, module.device, self)
        observed = _observed.get()
        if self.stream is None:
            timing = module.program.launch(request)
            launch.finish(timing)
            if observed is not None:
                observed.append(launch)
            return launch
        queue = self.stream.queue(module.device)
        launch.follow(Event(self.stream, module.program.enqueue(request, queue, launch.finish)))
        if observed is not None:
            observed.append(launch)
        return launch


@contextmanager
def launches() -> "Iterator[list[Launch]]":
    """The launches that this thread makes while the context is open, those that fail aside."""
    seen: list[Launch] = []
    token = _observed.set(seen)
    try:
        yield seen
    finally:
        _observed.reset(token)


class Globals:
    """The module-level variables by name.

    `globals["x"]` is a NumPy array of the variable: on host devices its memory itself, on others a read-only
    copy. `globals["x"] = value` copies a value in, on every device.
    """

    def __init__(self, module: "Module") -> None:
        self._module = module

    def __getitem__(self, name: str) -> Array:
        find_variable(self._module.ptx, name)
        return self._module.program.read_variable(name)

    def __setitem__(self, name: str, value: Any) -> None:
        find_variable(self._module.ptx, name)
        self._module.program.write_variable(name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(variable_names(self._module.ptx))

    def __len__(self) -> int:
        return len(variable_names(self._module.ptx))

    def __contains__(self, name: object) -> bool:
        return name in variable_names(self._module.ptx)

    def keys(self) -> list[str]:
        """The variables' names, in file order."""
        return variable_names(self._module.ptx)


class NoKernelError(LaunchError, KeyError):
    """A module was asked for a kernel that it does not have."""

    __str__ = LaunchError.__str__  # a KeyError's text would stand in quotes


class Module(Mapping[str, Kernel]):
    """A PTX module on a device: a mapping from the names of its kernels, in file order, to the kernels.

    `module["kernel"]` takes a name in the source, too. `ptx` is the module as parsed; `globals` its module-level
    variables; `optimiser` makes what is compiled of it.
    """

    def __init__(
        self,
        module: PtxModule,
        where: Device,
        check: str = "",
        assembler: str = DRAWLOOM,
        level: int = 0,
        reinterpret: bool = False,
    ) -> None:
        if module.address_size != 64:
            raise UnsupportedError(
                f"{module.filename or 'the module'}: .address_size {module.address_size}; devices have 64-bit addresses"
            )
        self.ptx = module
        self.device = where
        self.check = check
        self.reinterpret = reinterpret
        self.optimiser = Optimiser(module, 0 if check else level)
        self.program: Program = where.backend.program(module, check, assembler, self.optimiser)
        self.globals = Globals(self)
        #: Gives the parameters' names in the source that the PTX was compiled from; none for what came as PTX.
        self.source_names: SourceNames = dict
        self._kernels: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of that symbol, or of that name in a source: `scale`, `ns::scale`, `scale<4>`, `scale(int*)`.
        Raises NoKernelError, a LaunchError and a KeyError, with the names that there are, and LaunchError where it
        means several."""
        known = self._kernels.get(name)
        if known is not None:
            return known
        if not isinstance(name, str):
            raise TypeError(f"a module's kernels are named by text, not by {type(name).__name__}")
        function = self.ptx.functions.get(symbol_of(name, list(self)))
        if function is None or not function.is_entry or not function.has_body:
            there = ", ".join(self) or "none"
            raise NoKernelError(f"no kernel '{name}' in {self.ptx.filename or 'the module'}; there are: {there}")
        made = Kernel(self, function)
        self._kernels[name] = made
        return made

    def __iter__(self) -> Iterator[str]:
        return iter([function.name for function in self.ptx.kernels])

    def __len__(self) -> int:
        return len(self.ptx.kernels)

    def __contains__(self, name: object) -> bool:
        """Return whether `module[name]` is a kernel."""
        try:
            return isinstance(name, str) and self[name] is not None
        except LaunchError:
            return False

    #: Two modules are the same if they are one.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        names = ", ".join(function.name for function in self.ptx.kernels)
        return f"<Module {self.ptx.filename or 'of PTX text'} on {self.device.name}: {names}>"


__all__ = [
    "Configured",
    "DeviceError",
    "Error",
    "Globals",
    "Kernel",
    "Launch",
    "Module",
    "NoKernelError",
    "launches",
    "load",
]
