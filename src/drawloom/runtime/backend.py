"""What the runtime asks of a device: memory, programs made of modules, and queues of work.

`host.py` answers for `cpu` and `reference`, `cuda.py` for NVIDIA GPUs. Everything checked about a launch has
been checked before it reaches a backend.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from drawloom.errors import LaunchError
from drawloom.ptx.ir import Module
from drawloom.runtime.geometry import Dim3
from drawloom.runtime.memory import Array, Bytes, Span

if TYPE_CHECKING:
    from drawloom.runtime.arguments import Arguments
    from drawloom.runtime.optimiser import Optimiser


class Timing:
    """Seconds that a launch took, and whether its machine code came out of the kernel cache."""

    def __init__(self, compile_seconds: float, run_seconds: float, cached: bool) -> None:
        self.compile_seconds = compile_seconds
        self.run_seconds = run_seconds
        self.cached = cached


class Request:
    """One checked launch."""

    def __init__(self, kernel: str, grid: Dim3, block: Dim3, shared_bytes: int, arguments: "Arguments") -> None:
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.shared_bytes = shared_bytes
        self.arguments = arguments


class Allocation:
    """Memory that a backend handed out: `size` bytes at `address`. Raises DeviceError when it is lost."""

    address: int
    size: int

    def require(self) -> None:
        """Raises DeviceError when the memory is lost."""

    def span(self) -> Span:
        raise NotImplementedError

    def view(self) -> Bytes:
        """The memory itself. Only host devices have one; others raise DeviceError."""
        raise NotImplementedError

    def read(self, target: Bytes, offset: int, queue: "Queue | None") -> None:
        """Copies `target.nbytes` bytes from `offset` on to host memory."""
        raise NotImplementedError

    def write(self, source: Bytes, offset: int, queue: "Queue | None") -> None:
        """Copies `source` to `offset`."""
        raise NotImplementedError

    def fill(self, byte: int, offset: int, size: int, queue: "Queue | None") -> None:
        """Makes all of the `size` bytes from `offset` on `byte`."""
        raise NotImplementedError

    def shrink(self, size: int) -> None:
        """Keeps the first `size` bytes where they are; what lies behind may serve others."""

    def release(self) -> None:
        """Gives the memory back. Called once."""
        raise NotImplementedError


class Program:
    """A module made ready for a device."""

    def launch(self, request: Request) -> Timing:
        """Runs a kernel and returns when it is done. Raises KernelFault, LaunchError or DeviceError."""
        raise NotImplementedError

    def enqueue(self, request: Request, queue: "Queue", done: Callable[[Timing], None]) -> "Mark":
        """Puts a launch on `queue`; `done` is called when it finished. Its end in the queue."""
        raise NotImplementedError

    def read_variable(self, name: str) -> Array:
        """A module-level variable: the memory itself on a host device, a read-only copy elsewhere."""
        raise NotImplementedError

    def write_variable(self, name: str, value: Any) -> None:
        """Copies `value` into a module-level variable. Raises LaunchError when it does not fit."""
        raise NotImplementedError


class Mark:
    """A point in a queue."""

    def done(self) -> bool:
        raise NotImplementedError

    def wait(self) -> None:
        raise NotImplementedError

    def seconds_since(self, earlier: "Mark") -> float:
        raise NotImplementedError


class Queue:
    """Work that runs in the order it was put in, beside the caller and other queues."""

    def wait(self) -> None:
        """Until everything put in so far is done. Raises the first error of that work."""
        raise NotImplementedError

    def idle(self) -> bool:
        raise NotImplementedError

    def mark(self) -> Mark:
        raise NotImplementedError

    def wait_for(self, mark: Mark) -> None:
        """Holds what is put in from now on until `mark` of another queue is reached."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends the queue after the work in it. Raises nothing."""
        raise NotImplementedError


class Backend:
    """One device's back end."""

    #: Largest static plus dynamic shared memory of a block, in bytes.
    shared_limit: int

    def allocate(self, size: int, zero: bool = True) -> Allocation:
        """`size` bytes of memory, zeroed unless it is of no use. Raises DeviceError when there is not that much."""
        raise NotImplementedError

    def program(self, module: Module, check: str, assembler: str, optimiser: "Optimiser") -> Program:
        """Makes a verified module ready; `assembler` ("drawloom" or "driver") matters to GPUs only. Raises
        UnsupportedError or DeviceError."""
        raise NotImplementedError

    def queue(self) -> Queue:
        raise NotImplementedError

    def session(self) -> AbstractContextManager[object]:
        """Around many calls of one thread: what each of them makes ready in it is made ready once."""
        return nullcontext()

    def pin(self, memory: Bytes) -> None:
        """Makes copies between `memory` and the device run beside kernels, for as long as it lives."""
        raise NotImplementedError


def named(error: Exception, kernel: str) -> Exception:
    """`error`, with the kernel's name filled in where it has a place for one and none stands there."""
    if isinstance(error, LaunchError) and not error.kernel:
        error.kernel = kernel
    return error
